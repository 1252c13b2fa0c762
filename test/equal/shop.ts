// A shop with what bench/compare's apis lack: arrays and changes by filter, batches, counts by groups, references that cascade,
// field rules, hooks that write in the transaction, and ids that clients choose, in two versions.
import { z } from 'zod'
import {
  defineApi,
  type Item,
  type OperationEvent,
  type Scheme,
  type Store,
} from '../../src/index.ts'
import { defineUntyped } from '../untyped.ts'

export const COLORS = ['red', 'blue', 'green'] as const
export const WHO = ['ann', 'ben staff', 'root staff'] as const

const WRITES = ['create', 'replace', 'patch', 'delete', 'patchMany', 'deleteMany'] as const

const scheme: Scheme = {
  name: 'Who',
  challenge: () => 'Who',
  authenticate: async ({ headers }) => {
    const [id, ...scopes] = headers.authorization?.split(' ').slice(1) ?? []
    return id === undefined ? undefined : { id, scopes }
  },
}

async function book({ operation, collection }: OperationEvent, item?: Item) {
  if (!WRITES.some(each => each === operation)) return
  await collection('audit').create({ what: `${operation} ${item?.plate ?? ''}` })
}

/** @param openStore opens the store of a collection. */
export function openShop(openStore: (collection: string) => Store) {
  const stores = new Map(['cars', 'parts', 'makers', 'audit'].map(name => [name, openStore(name)]))
  const base = (name: string) => ({
    name,
    store: stores.get(name) as Store, // one was opened for each name
    operations: ['list', 'count', 'read', ...WRITES] as const,
  })
  const Old = z.object({
    plate: z.string().min(1).max(12),
    color: z.enum(COLORS),
    owner: z.string().default('ann'),
    maker_id: z.string().nullable().optional(),
  })
  const Car = Old.extend({
    price: z.number().nullable().default(null),
    doors: z.int().min(0).max(5).optional(),
    sold: z.boolean().default(false),
    seen: z.iso.datetime({ offset: true }).optional(),
    tags: z.array(z.string()).max(3).optional(),
    spec: z.object({ name: z.string(), year: z.int().optional() }).optional(),
    note: z.string().max(20).optional(),
  })
  const cars = {
    ...base('cars'),
    id: 'integer',
    unique: ['plate'],
    references: { maker_id: { collection: 'makers', onDelete: 'restrict' } },
    visible: (principal?: { readonly id: string }) =>
      principal?.id === 'root' ? {} : { owner: { in: [principal?.id ?? '', 'ann'] } },
    hooks: { transaction: true, after: book as never },
  } as const
  const newCars = defineUntyped({
    ...cars,
    schema: Car,
    indexes: ['color', 'price'],
    search: ['plate', 'color'],
    groups: ['color', 'sold', 'price', 'seen', 'spec.name'],
    fields: { note: { read: ['staff'], write: ['staff'] } },
    actions: {
      buy: {
        on: 'item',
        input: z.object({ offer: z.number().min(1) }),
        run: ({ input, update }) => update({ sold: true, price: input.offer }),
      },
    },
  })
  const parts = defineUntyped({
    ...base('parts'),
    schema: z.object({ car_id: z.int(), name: z.string().min(1), n: z.int().default(0) }),
    search: ['name'],
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
  })
  const makers = defineUntyped({
    ...base('makers'),
    schema: z.object({
      id: z.string().min(1).max(8),
      name: z.string(),
      over_id: z.string().optional(),
    }),
    putCreates: true,
    defaultLimit: 3,
    maxLimit: 10,
    search: ['name'],
    references: { over_id: { collection: 'makers', onDelete: 'restrict' } },
  })
  const audit = defineUntyped({
    ...base('audit'),
    operations: ['list', 'count'],
    schema: z.object({ what: z.string() }),
  })
  return defineApi({
    versions: [
      {
        version: 1,
        collections: [defineUntyped({ ...cars, schema: Old, search: ['plate'] }), makers],
      },
      { version: 2, collections: [newCars, parts, makers, audit] },
    ],
    schemes: [scheme],
    access: { default: 'public', root: 'public' },
    batch: true,
    limits: { steps: 6, body: 6000 },
    onError: () => {},
  })
}
