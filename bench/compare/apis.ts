// The apis that two builds answer the same requests with: each build makes them with its own zod.

import type { z as Zod } from 'zod'
import type { Api, HttpRequest, Scheme, Store } from '../../src/index.ts'

export type Library = typeof import('../../src/index.ts')
type Dialects = typeof import('../../src/dialects/dialects.ts')

export interface Build {
  readonly library: Library
  readonly dialects: Dialects
  readonly z: typeof Zod
  /** Opens the store of a collection. Default: in memory. */
  readonly openStore?: (collection: string) => Store
  /** How many requests a minute the guarded api takes. Default: 60. */
  readonly rateLimit?: number
}

export type Served = Pick<Api, 'handler' | 'fetch' | 'close'>

/** Every declaration, by the name that requests choose it by. */
export const APIS: Readonly<Record<string, (build: Build) => Served>> = { open, guarded, versioned }

/** Cars with nested values, their options, relations, notes with UUIDs, photos. Everything is public. */
function open(build: Build): Served {
  const { library, dialects, z, openStore = () => library.memoryStore() } = build
  const { blob, defineApi, defineCollection, HttpError } = library
  const cars = defineCollection({
    name: 'cars',
    schema: carOf(z),
    store: openStore('cars'),
    id: 'integer',
    unique: ['plate'],
    indexes: ['color', 'price'],
    search: ['plate', 'color', 'model.name'],
    actions: {
      buy: {
        on: 'item',
        input: z.object({ offer: z.number().min(1) }),
        run({ input, item, update }) {
          if (Object(item).sold === true) throw new HttpError(409, 'This car is sold')
          return update({ sold: true, price: input.offer })
        },
      },
      cheapest: {
        on: 'collection',
        method: 'GET',
        input: z.object({ color: z.string().optional() }),
        output: z.object({ color: z.string(), count: z.int() }),
        run: async ({ input, collection }) => ({
          color: input.color ?? 'any',
          count: await collection('cars').count(input.color ? { color: input.color } : {}),
        }),
      },
    },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int(), name: z.string().min(1), price: z.number().default(0) }),
    store: openStore('options'),
    id: 'integer',
    parents: { car_id: 'cars' },
  })
  const models = defineCollection({
    name: 'models',
    schema: z.object({ id: z.string().min(1).max(8), name: z.string(), since: z.iso.date() }),
    store: openStore('models'),
    putCreates: true,
    maxLimit: 10,
    defaultLimit: 4,
    total: 'none',
  })
  const relation = defineCollection({
    name: 'cars_models',
    schema: z.object({ car_id: z.int(), model_id: z.string() }),
    store: openStore('relations'),
    id: 'integer',
    relation: { car_id: 'cars', model_id: 'models' },
  })
  const Note = z.object({ text: z.string().trim(), stars: z.int().min(0).max(5).default(3) })
  const notes = defineCollection({
    name: 'notes',
    // Tables have no column for properties that the schema does not name.
    schema: build.openStore ? Note.extend({ more: z.json().optional() }) : Note.loose(),
    store: openStore('notes'),
    requirePrecondition: true,
    hooks: {
      before({ operation, value }) {
        if (operation === 'create' && Object(value).text === 'spam') {
          throw new HttpError(403, [{ message: 'No spam', field: 'text', type: 'spam' }])
        }
      },
    },
  })
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ title: z.string(), photo: blob({ accept: ['image/*', 'text/plain'] }) }),
    store: openStore('photos'),
    id: 'integer',
    blobs: library.memoryBlobs(),
  })
  return defineApi({
    collections: [cars, options, models, relation, notes, photos],
    ...policies(library),
    dialects: [dialects.simpleRest, dialects.jsonServer],
    limits: { body: 4000, depth: 8, parameters: 40, upload: 2000 },
  })
}

/** Two schemes, scopes, row policies, a limit that is reached. */
function guarded({
  library,
  z,
  openStore = () => library.memoryStore(),
  rateLimit = 60,
}: Build): Served {
  const { basic, defineApi, defineCollection } = library
  const cars = defineCollection({
    name: 'cars',
    schema: carOf(z).extend({ owner: z.string().default('ann') }),
    store: openStore('cars'),
    id: 'integer',
    indexes: ['owner', 'color'],
    unique: [['owner', 'plate']],
    access: { list: 'public', create: ['cars:write'], delete: ['cars:delete'], default: [] },
    visible: principal => (principal?.id === 'root' ? {} : { owner: principal?.id ?? 'ann' }),
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int(), name: z.string() }),
    store: openStore('options'),
    id: 'integer',
    parents: { car_id: 'cars' },
    access: { default: ['options:all'] },
    hideExistence: true,
  })
  return defineApi({
    collections: [cars, options],
    ...policies(library),
    schemes: [
      basic({
        verify: (user, password) =>
          password === 'secret' ? { id: user, scopes: SCOPES[user] ?? [] } : undefined,
      }),
      new KeyScheme(),
    ],
    rateLimit: { policies: [{ limit: rateLimit, window: 60 }] },
    cors: { origins: ['https://app.test'], credentials: true },
    clientAddress: () => '127.0.0.1',
    trustProxy: 1,
  })
}

/** Two versions on one store, one deprecated, under a fixed address. */
function versioned({ library, z, openStore = () => library.memoryStore() }: Build): Served {
  const { defineApi, defineCollection } = library
  const store = openStore('cars')
  const common = { name: 'cars', store, id: 'integer', cacheControl: 'max-age=60' } as const
  const one = defineCollection({
    ...common,
    schema: z.object({ plate: z.string(), color: z.string() }),
  })
  const two = defineCollection({
    ...common,
    schema: z.object({ plate: z.string(), color: z.string(), price: z.number().default(0) }),
  })
  const logs = defineCollection({
    name: 'logs',
    schema: z.object({ line: z.string(), level: z.enum(['info', 'warn']).nullable() }),
    store: openStore('logs'),
    id: 'integer',
    idField: 'identifier',
    timestamps: false,
    operations: ['list', 'count', 'read', 'create'],
    total: 'estimated',
  })
  return defineApi({
    versions: [
      {
        version: 1,
        collections: [one],
        deprecated: new Date('2026-01-01'),
        sunset: new Date('2027-01-01'),
      },
      { version: 2, collections: [two, logs] },
    ],
    ...policies(library),
    baseUrl: 'https://api.test/base',
    health: true,
  })
}

const SCOPES: Readonly<Record<string, readonly string[]>> = {
  ann: ['cars:write', 'options:all'],
  ben: ['cars:write', 'cars:delete'],
  root: ['cars:write', 'cars:delete', 'options:all'],
}

class KeyScheme implements Scheme {
  readonly name = 'Key'
  readonly headers = ['X-Api-Key']
  challenge() {
    return 'Key realm="cars"'
  }
  async authenticate({ headers }: HttpRequest) {
    const key = headers['x-api-key']
    return typeof key === 'string' && key in SCOPES
      ? { id: key, scopes: SCOPES[key] ?? [] }
      : undefined
  }
}

function carOf(z: typeof Zod) {
  return z.object({
    plate: z.string().min(1).max(12),
    color: z.enum(['blue', 'green', 'red']),
    model: z.object({ name: z.string(), year: z.int().optional() }).default({ name: 'Clio' }),
    price: z.number().nonnegative(),
    sold: z.boolean().default(false),
    built: z.iso.date().nullable().default(null),
    tags: z.array(z.string()).max(4).optional(),
    extra: z
      .discriminatedUnion('kind', [
        z.object({ kind: z.literal('van'), volume: z.number() }),
        z.object({ kind: z.literal('bus'), seats: z.int() }),
      ])
      .optional(),
  })
}

/** Without HTML: what is printed there is not compared. Errors are answers here, not lines of a log. */
function policies({ DEFAULT_FORMATS }: Library) {
  return {
    formats: DEFAULT_FORMATS.filter(({ name }) => name !== 'html'),
    onError: () => {},
  }
}
