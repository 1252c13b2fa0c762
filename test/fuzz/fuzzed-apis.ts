// The apis that are asked at random: the example, and one with whatever a schema and a declaration may have.
import { z } from 'zod'
import { COLLECTIONS } from '../../examples/auth.ts'
import { carsApi } from '../../examples/cars-api.ts'
import {
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  type Principal,
  type Scheme,
} from '../../src/index.ts'
import { FILTER_OPERATIONS, OPERATIONS } from '../../src/model/types/operation.ts'
import type { Fuzzed } from './fuzz.ts'

type Fetch = { fetch(request: Request): Promise<Response> }

const asking = (api: Fetch) => (path: string, init: RequestInit) =>
  api.fetch(new Request(`https://api.example${path}`, init))

/** `Bearer <scopes, joined by +>`. */
const scheme: Scheme = {
  name: 'Bearer',
  challenge: () => 'Bearer',
  async authenticate({ headers: { authorization } }): Promise<Principal | undefined> {
    const [, scopes] = /^Bearer (.+)$/.exec(authorization ?? '') ?? []
    return scopes === undefined ? undefined : { id: scopes, scopes: scopes.split('+') }
  },
}

const onError = () => {}

/** Each principal at each version. */
function crossed(
  name: string,
  ask: Fuzzed['ask'],
  roots: readonly string[],
  principals: Readonly<Record<string, string>>,
): Fuzzed[] {
  return roots.flatMap(root =>
    // The first one may do most.
    Object.entries(principals).map(([who, authorization], at) => ({
      name: `${name}, ${who}`,
      root,
      headers: authorization === '' ? {} : { authorization },
      ask,
      weight: at === 0 ? 5 : 1,
    })),
  )
}

export function openExample(): Fuzzed[] {
  const { api } = carsApi(() => memoryStore(), memoryBlobs(), { schemes: [scheme], onError })
  const scopes = (kind: string) => COLLECTIONS.map(each => `${each}:${kind}`).join('+')
  const all = `Bearer ${scopes('read')}+${scopes('write')}`
  return crossed('the example', asking(api), ['/v1', '/v2'], {
    all,
    reads: `Bearer ${scopes('read')}`,
    nobody: '',
  })
}

export function openOdd(): Fuzzed[] {
  const Tree = z.object({
    name: z.string().regex(/^[a-z]+$/i),
    get children() {
      return z.array(Tree).max(3).default([])
    },
  })
  const odds = defineCollection({
    name: 'odds',
    id: 'integer',
    schema: z.object({
      line: z.string().regex(/^a.b$/s).optional(),
      begin: z.string().regex(/^x/m).nullable().default(null),
      tree: Tree.optional(),
      any: z.json().optional(),
      either: z.union([z.string(), z.int(), z.null()]).optional(),
      kind: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('a'), size: z.int() }),
          z.object({ type: z.literal('b'), when: z.iso.datetime() }),
        ])
        .optional(),
      pair: z.tuple([z.string(), z.number()]).optional(),
      by: z.record(z.string(), z.number()).optional(),
      nested: z
        .object({ name: z.string(), deep: z.object({ on: z.boolean() }).nullable() })
        .nullable()
        .optional(),
      limit: z.number().multipleOf(0.5).optional(),
      day: z.iso.date().optional(),
      time: z.iso.time().optional(),
      mail: z.email().optional(),
      link: z.url().optional(),
      level: z.enum(['low', 'high']).default('low'),
      big: z.int().optional(),
      secret: z.string().default('s'),
      password: z.string().optional(),
      where: z.string().optional(),
    }),
    store: memoryStore(),
    fields: {
      secret: { read: ['admin'], write: ['admin'] },
      password: 'writeOnly',
      big: 'immutable',
    },
    unique: ['line'],
    search: ['line', 'mail'],
    groups: ['level', 'day'],
    live: true,
    operations: [...OPERATIONS, ...FILTER_OPERATIONS],
    access: { delete: ['admin'], default: { any: ['admin', 'user'] } },
    actions: {
      twice: {
        on: 'item',
        method: 'GET',
        input: z.object({ times: z.coerce.number().int().max(9).default(2) }),
        output: z.object({ text: z.string() }),
        run: ({ input }) => ({ text: 'x'.repeat(Math.max(0, input.times)) }),
      },
      raise: {
        on: 'item',
        output: 'item',
        run: ({ item, update }) => update({ limit: (item.limit ?? 0) + 0.5 }),
      },
    },
  })
  const files = defineCollection({
    name: 'files',
    schema: z.object({
      odd_id: z.int().nullable().default(null),
      data: blob().nullable().default(null),
    }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    references: { odd_id: { collection: 'odds', onDelete: 'restrict' } },
    access: { default: { any: ['admin', 'user'] } },
  })
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    idField: 'identifier',
    schema: z.object({ odd_id: z.int(), text: z.string().max(20) }),
    store: memoryStore(),
    parents: { odd_id: { collection: 'odds', onDelete: 'cascade' } },
    visible: principal =>
      principal?.scopes?.includes('admin') ? undefined : { text: { ne: 'hidden' } },
    access: { default: { any: ['admin', 'user'] } },
  })
  const api = defineApi({
    collections: { odds, files, notes },
    schemes: [scheme],
    batch: true,
    health: true,
    onError,
  })
  return crossed('an odd api', asking(api), [''], {
    admin: 'Bearer admin+user',
    user: 'Bearer user',
    other: 'Bearer other',
    nobody: '',
  })
}
