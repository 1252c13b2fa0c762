// Questions to a store of which the store in memory knows the answers: items, filters, searches,
// sorts and slices at random.
import fc from 'fast-check'
import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import type { Item, Json, Scalar } from '../../src/base/values.ts'
import { memoryStore } from '../../src/memory/memory-store.ts'
import type { Field } from '../../src/schema/fields.ts'
import type { Filter, Operator } from '../../src/store/filter.ts'
import { type Selection, sortKeyOf, withTieBreak } from '../../src/store/selection.ts'
import { parseSort } from '../../src/store/sort.ts'
import type { Shape, Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne } from '../../src/testing/write-items.ts'

export const plain = { nullable: false, optional: false }
export const maybe = { nullable: true, optional: true }
export const text: Field = { kind: 'string', ...plain }
export const SHAPE: Shape = {
  name: 'cars',
  fields: new Map<string, Field>([
    ['id', { kind: 'integer', ...plain }],
    ['color', text],
    ['price', { kind: 'number', ...plain, nullable: true }],
    ['year', { kind: 'integer', ...plain }],
    ['note', { kind: 'string', ...maybe }],
    ['sold', { kind: 'boolean', ...plain, optional: true }],
    ['at', { kind: 'date-time', ...plain, optional: true }],
    [
      'model',
      {
        kind: 'object',
        ...maybe,
        properties: new Map<string, Field>([
          ['name', text],
          ['year', { kind: 'integer', ...maybe }],
        ]),
      },
    ],
    ['tags', { kind: 'array', ...plain, optional: true, element: text }],
    ['seen', { kind: 'array', ...plain, optional: true, element: { kind: 'date-time', ...plain } }],
    ['counts', { kind: 'array', ...plain, optional: true, element: { kind: 'integer', ...maybe } }],
    ['extra', { kind: 'record', ...plain, optional: true, element: { kind: 'number', ...plain } }],
    ['free', { kind: 'any', ...maybe }],
    ['created_at', { kind: 'date-time', ...plain }],
    ['updated_at', { kind: 'date-time', ...plain }],
  ]),
  identity: { name: 'id', kind: 'integer' },
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  unique: [],
  indexes: [['color'], ['price'], ['year'], ['color', 'year'], ['model.year'], ['at']],
  search: ['note', 'model.name'],
}

export const by = (sort: string) => withTieBreak(parseSort(sort), { name: 'id' })
export const is = (path: string, operator: Operator, ...values: Scalar[]): Filter => ({
  path: path.split('.'),
  operator,
  values,
})

const letters = fc.constantFrom(
  'a',
  'B',
  'b',
  'é',
  '\uFF5E',
  '\u{1F600}',
  '%',
  '_',
  '*',
  '?',
  '[',
  ']',
  '\\',
  "'",
  '"',
  ' ',
  '-',
)
const word = fc.string({ unit: letters, maxLength: 4 })
const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 0.1, 1e21, 1e-7, 9007199254740991),
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const integer = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(9007199254740991, -9007199254740991),
)
const dateTime = fc.oneof(
  fc.constantFrom(
    '2024-02-29T23:00:00Z',
    '2024-03-01T01:00:00+02:00',
    '2024-02-29T23:00',
    '2024-02-29T23:00:00.0009Z',
    '2024-02-29T22:59:59.999-00:00',
  ),
  fc
    .tuple(
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom('Z', '', '+23:59', '-12:30'),
      fc.constantFrom('', '.5', '.123', '.1239', '.999999999'),
    )
    .map(([day, offset, fraction]) => `2024-02-2${day + 6}T12:34:56${fraction}${offset}`),
)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const item = fc
  .record({
    color: fc.constantFrom('red', 'blue', 'Red'),
    price: fc.option(number),
    year: integer,
    note: optional(fc.option(word)),
    sold: optional(fc.boolean()),
    at: optional(dateTime),
    model: optional(fc.option(fc.record({ name: word, year: optional(fc.option(integer)) }))),
    tags: optional(fc.array(word, { maxLength: 3 })),
    seen: optional(fc.array(dateTime, { maxLength: 2 })),
    extra: optional(
      fc.dictionary(
        fc.oneof(
          word.filter(name => name !== ''),
          fc.constantFrom('a', 'x y'),
        ),
        number,
        { maxKeys: 3 },
      ),
    ),
    counts: optional(fc.array(fc.option(integer), { maxLength: 3 })),
    free: optional(fc.option(fc.oneof(word, number, fc.constantFrom<Json>({ a: 1 }, [1, 'a'])))),
  })
  // A member that is `undefined` is absent, also inside of another.
  .map((candidate): Item => JSON.parse(JSON.stringify(candidate)))

const instant = dateTime.map(each =>
  new Date(Date.parse(/Z|[+-]\d\d:\d\d$/.test(each) ? each : `${each}Z`)).toISOString(),
)
const compare = fc.constantFrom<Operator>('gt', 'gte', 'lt', 'lte')
const some = <T>(value: fc.Arbitrary<T>) => fc.uniqueArray(value, { maxLength: 3 })
const set = fc.constantFrom<Operator>('in', 'nin')
const on = (
  path: fc.Arbitrary<string>,
  value: fc.Arbitrary<string | number | boolean>,
  ordered = true,
) => [
  fc.tuple(path, set, some(value)).map(([at, operator, values]) => is(at, operator, ...values)),
  ...(ordered
    ? [fc.tuple(path, compare, value).map(([at, operator, bound]) => is(at, operator, bound))]
    : []),
]
const texts = fc.constantFrom('color', 'note', 'model.name', 'tags')
const filter = fc.oneof(
  ...on(texts, fc.oneof(word, fc.constantFrom('red', 'blue'))),
  ...on(fc.constant('price'), number),
  ...on(fc.constantFrom('year', 'model.year', 'id', 'counts'), integer),
  ...on(fc.constantFrom('at', 'seen'), instant),
  ...on(fc.constant('sold'), fc.boolean(), false),
  fc.tuple(texts, word).map(([path, value]) => is(path, 'prefix', value)),
  fc.tuple(texts, word).map(([path, value]) => is(path, 'like', value)),
  fc
    .tuple(fc.constantFrom(...SHAPE.fields.keys(), 'model.year'), fc.boolean())
    .map(([path, wanted]) => is(path, 'exists', wanted)),
)
/** A condition, or a tree of some, at most four deep. */
const { tree } = fc.letrec<{ tree: Filter }>(tie => {
  const filters = fc.array(tie('tree'), { maxLength: 3 })
  return {
    tree: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      { weight: 3, arbitrary: filter },
      filters.map(each => ({ operator: 'any' as const, filters: each })),
      filters.map(each => ({ operator: 'all' as const, filters: each })),
      tie('tree').map(each => ({ operator: 'not' as const, filter: each })),
    ),
  }
})
const keys = ['id', 'color', 'price', 'year', 'note', 'sold', 'at', 'model.name', 'model.year']
const sort = fc
  .array(
    fc.tuple(fc.constantFrom('', '-'), fc.constantFrom(...keys)).map(each => each.join('')),
    { maxLength: 3 },
  )
  .map(each => by(each.join(',')))
const search = fc.record({
  text: word.filter(each => each.trim() !== ''),
  paths: fc.constant([['note'], ['model', 'name']]),
  fold: fc.boolean(),
})
const run = fc.record({
  items: fc.array(item, { minLength: 1, maxLength: 15 }),
  questions: fc.array(
    fc.record({
      where: fc.array(tree, { maxLength: 2 }),
      search: fc.option(search, { nil: undefined }),
      sort,
      offset: fc.nat(6),
      limit: fc.nat(5),
      from: fc.option(fc.nat(15)),
      backward: fc.boolean(),
    }),
    { minLength: 10, maxLength: 20 },
  ),
})

/** Values of which the items are listed at once. */
const EACH = [
  { path: 'color', ids: ['blue', 'Red', 'none', 'red'] },
  { path: 'year', ids: [1, 0, 3, -1, 9007199254740991] },
  { path: 'note', ids: ['', 'a', 'B', 'b', '\u{1F600}', '\uFF5E'] },
  { path: 'id', ids: [3, 1, 99, 2] },
]

/** Asks a store, in a new table each time, and the store in memory. */
export async function agrees(
  open: (table: string) => Store,
  db: Kysely<unknown>,
  numRuns: number,
): Promise<void> {
  let tables = 0
  await fc.assert(
    fc.asyncProperty(run, async ({ items, questions }) => {
      const table = `cars_${++tables}`
      const memory = memoryStore({ clock: () => 1e12 })
      const stored = open(table)
      for (const store of [memory, stored]) store.attach(SHAPE)
      for (const each of items) {
        const made = await createOne(memory, each)
        const other = await createOne(stored, each)
        expect(other.item).toEqual(made.item)
        const read = await findOne(stored, made.id)
        expect(JSON.stringify(read?.item)).toBe(JSON.stringify(other.item))
      }
      for (const {
        where,
        search: words,
        sort: order,
        offset,
        limit,
        from,
        backward,
      } of questions) {
        const selection: Selection = { where, sort: order, ...(words && { search: words }) }
        const place = from === null ? undefined : (await findOne(memory, from))?.item
        const key = place && (sortKeyOf(place, order) as number[])
        for (const slice of [
          { limit, offset },
          { limit, key, backward },
        ]) {
          const one = await memory.list(selection, slice, 'exact')
          const other = await stored.list(selection, slice, 'exact')
          const shown = (page: typeof one) => [page.total, page.items.map(each => each.id)]
          expect(shown(other)).toEqual(shown(one))
        }
        expect(await stored.count(selection, 'exact')).toBe(await memory.count(selection, 'exact'))
        for (const { path, ids } of EACH) {
          const limits = { each: limit + 1, all: 1 + offset * 2 }
          const list = async (store: Store) => store.listEach?.([path], ids, selection, limits)
          const shown = (pages: Awaited<ReturnType<typeof list>>) =>
            pages?.map(({ items: found, more }) => [more, found.map(each => each.id)])
          expect(shown(await list(stored))).toEqual(shown(await list(memory)))
        }
      }
      await sql`drop table ${sql.id(table)}`.execute(db)
    }),
    { numRuns },
  )
}
