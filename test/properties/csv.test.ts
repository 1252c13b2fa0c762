// A table that was exported is an import: of generated schemas and items, but for what CSV cannot say.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item, type Json, memoryStore } from '../../src/index.ts'
import { openHandler } from '../handlers.ts'

/** A schema and its values; `undefined` stands for a property that is left out. */
interface Sample {
  readonly schema: z.ZodType
  readonly values: fc.Arbitrary<Json | undefined>
}

const PIECES = ['=', '+', "'", '"', '""', ',', ';', '\t', '\r\n', '\n', ' ', 'TRUE', '1e5', 'null']
const text = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme', maxLength: 3 })), {
    maxLength: 4,
  })
  .map(parts => parts.join('').toWellFormed())
const REFUSED = /__proto__|prototype|constructor/g
const json = fc
  .jsonValue({ maxDepth: 2 })
  .map(value => JSON.parse(JSON.stringify(value).replace(REFUSED, 'p')) as Json)

const LEAVES: readonly Sample[] = [
  { schema: z.string(), values: text },
  { schema: z.enum(['', 'red', '=blue']), values: fc.constantFrom('', 'red', '=blue') },
  { schema: z.int(), values: fc.integer() },
  { schema: z.number(), values: fc.double({ noNaN: true, noDefaultInfinity: true }).map(Number) },
  { schema: z.boolean(), values: fc.boolean() },
  { schema: z.iso.date(), values: fc.constantFrom('2024-02-29', '0001-01-01') },
  { schema: z.array(z.string()), values: fc.array(text, { maxLength: 3 }) },
  { schema: z.record(z.string(), z.int()), values: fc.constantFrom({}, { a: 1, 'b.c': 2 }) },
  { schema: z.looseObject({ a: z.int() }), values: fc.constantFrom({ a: 1 }, { a: 2, b: null }) },
  { schema: z.union([z.int(), z.string()]), values: fc.oneof(fc.integer(), text) },
  { schema: z.tuple([z.int(), z.string().nullable()]), values: fc.constantFrom([1, null]) },
  { schema: z.json(), values: json },
]

/** Null and absent are both an empty cell: a property may be one of them. */
const OUTER: readonly ((sample: Sample) => Sample)[] = [
  sample => sample,
  ({ schema, values }) => ({
    schema: schema.nullable(),
    values: fc.option(values, { nil: null, freq: 2 }),
  }),
  ({ schema, values }) => ({
    schema: schema.optional(),
    values: fc.option(values, { nil: undefined, freq: 2 }),
  }),
]
const outer = fc.constantFrom(...OUTER)
const isNullable = ({ schema }: Sample) => schema.safeParse(null).success
const leaf = fc.constantFrom(...LEAVES)
/** An optional value that may be null has two empty cells. */
const wrapped = fc
  .tuple(leaf, outer)
  .map(([sample, wrap]) => (isNullable(sample) ? sample : wrap(sample)))

/** An object that may be null or absent has a property that is neither: else it might have none. */
const object = fc
  .tuple(fc.array(wrapped, { minLength: 1, maxLength: 3 }), outer)
  .map(([parts, wrap]) => {
    const [, ...wraps] = OUTER
    const shown = wraps.includes(wrap) ? [LEAVES[0] as Sample, ...parts] : parts
    return wrap(toObject(shown))
  })

function toObject(parts: readonly Sample[]): Sample {
  const named = parts.map((part, at) => [`p${at}`, part] as const)
  const shape = Object.fromEntries(named.map(([name, { schema }]) => [name, schema]))
  const values = Object.fromEntries(named.map(([name, part]) => [name, part.values]))
  const drop = (item: Record<string, Json | undefined>) =>
    Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as Item
  return { schema: z.object(shape), values: fc.record(values).map(drop) }
}

const tables = fc
  .array(fc.oneof(wrapped, object), { minLength: 1, maxLength: 6 })
  .map(toObject)
  .chain(({ schema, values }) =>
    fc.record({ schema: fc.constant(schema), items: fc.array(values, { maxLength: 4 }) }),
  )

async function serve(schema: z.ZodType) {
  const items = defineCollection({
    name: 'items',
    schema: schema as z.ZodObject,
    store: memoryStore(),
  })
  const { request } = await openHandler('fetch', defineApi({ collections: [items], batch: true }))
  const list = async () => {
    const { json: found } = await request('/items')
    return (found as Item[]).map(({ id: _id, created_at: _c, updated_at: _u, ...own }) => own)
  }
  return { request, list }
}

test('a table that was exported is an import', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(tables, async ({ schema, items }) => {
      const one = await serve(schema)
      const made = await one.request('/items', { method: 'POST', json: items })
      expect(made.status).toBe(items.length === 0 ? 200 : 201)
      const exported = await one.request('/items.csv')
      const other = await serve(schema)
      const headers = { 'content-type': 'text/csv' }
      const answer = await other.request('/items', { method: 'POST', headers, body: exported.text })
      expect([answer.status, exported.text, answer.text]).toEqual([
        made.status,
        exported.text,
        expect.not.stringContaining('"errors"'),
      ])
      expect(await other.list()).toEqual(await one.list())
    }),
    { numRuns: 60, seed: 44 },
  )
})
