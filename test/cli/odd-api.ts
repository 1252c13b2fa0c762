// An api of what types find hard: unions, tuples, recursion, records, files, and every option that changes a type.
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'

interface Tree {
  name: string
  branches?: Tree[] | undefined
}
const Tree: z.ZodType<Tree, Tree> = z.lazy(() =>
  z.object({ name: z.string(), branches: z.array(Tree).optional() }),
)
const Address = z
  .object({ street: z.string(), city: z.string().optional() })
  .meta({ id: 'Address' })

const shapes = defineCollection({
  name: 'shapes',
  schema: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number().default(2) }),
    z.object({ kind: z.literal('square'), side: z.number(), note: z.string().optional() }),
  ]),
  store: memoryStore(),
  actions: {
    measure: {
      on: 'item',
      description: 'Measures the shape */',
      input: z.object({ unit: z.enum(['mm', 'cm']), digits: z.int().default(2) }),
      output: z.object({ size: z.tuple([z.number(), z.number()]), unit: z.string() }),
      run: ({ input }) => ({ size: [1, 2] as [number, number], unit: input.unit }),
    },
    reset: { on: 'collection', method: 'PUT', run: () => undefined },
  },
})

const places = defineCollection({
  name: 'places',
  schema: z.object({
    at: z.tuple([z.number(), z.number()]),
    path: z.tuple([z.string()], z.number()),
    rates: z.record(z.string(), z.number()),
    days: z.record(z.enum(['sat', 'sun']), z.boolean()),
    tree: Tree,
    parts: z.array(z.object({ size: z.union([z.string(), z.int()]) })).default([]),
    home: Address,
    work: Address.nullable().default(null),
    level: z.union([z.literal(1), z.literal('top'), z.null()]),
    code: z.string(),
    made: z.string().default('x'),
    secret: z.string(),
  }),
  store: memoryStore(),
  id: 'integer',
  fields: { code: 'immutable', made: 'readOnly', secret: 'writeOnly' },
  search: ['code'],
})

const files = defineCollection({
  name: 'files',
  schema: z.object({ comment: z.string(), scan: blob(), thumb: blob().nullable().default(null) }),
  store: memoryStore(),
  blobs: memoryBlobs(),
})

const notes = defineCollection({
  name: 'notes',
  schema: z.object({
    text: z.string(),
    color: z.enum(['red', 'blue']),
    stars: z.int(),
    place_id: z.int(),
    author_id: z.uuid().nullable().default(null),
  }),
  store: memoryStore(),
  operations: ['list', 'read', 'create', 'patch', 'patchMany', 'count'],
  groups: ['color', 'created_at'],
  parents: { place_id: 'places' },
  references: { author_id: { collection: 'authors', as: 'writer' } },
  actions: {
    find: {
      on: 'collection',
      method: 'GET',
      input: z.object({
        near: z.object({ x: z.number(), y: z.number().optional() }),
        words: z.array(z.string()),
      }),
      output: z.array(z.object({ x: z.number() })),
      run: ({ input }) => [{ x: input.near.x }],
    },
  },
})

/** Neither its id nor its dates are those that all others have. */
const authors = defineCollection({
  name: 'authors',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
  idField: 'identifier',
  timestamps: false,
})

export const odd = defineApi({
  title: 'Odd',
  collections: { shapes, places, files, notes, authors },
  batch: true,
})
