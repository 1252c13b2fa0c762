// Lists, counts and streams in memory that look at many items: in turns of the event loop, with the items as they were
// at the start.
import { setImmediate as nextPass } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { memoryStore } from '../../src/memory/memory-store.ts'
import type { Field } from '../../src/schema/fields.ts'
import type { Filter } from '../../src/store/filter.ts'
import { comparer, sortKeyOf, withTieBreak } from '../../src/store/selection.ts'
import { parseSort } from '../../src/store/sort.ts'
import type { Shape, Store, Stored } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { runs } from '../random.ts'

const plain = { nullable: false, optional: false }
const SHAPE: Shape = {
  name: 'cars',
  fields: new Map<string, Field>([
    ['id', { kind: 'integer', ...plain }],
    ['color', { kind: 'string', ...plain }],
    ['price', { kind: 'number', ...plain, nullable: true }],
    ['made', { kind: 'date-time', ...plain }],
  ]),
  identity: { name: 'id', kind: 'integer' },
  unique: [],
  indexes: [],
}
/** More than two turns look at. */
const COUNT = 20_001
const isDear = ({ item }: Stored) => Number(item.price) > 500
const idsOf = (items: readonly Stored[]) => items.map(({ id }) => id).join()
const COLORS = ['red', 'Green', 'blue', 'écru', 'Éclair', '', 'red ', '😀', '\uffee']
const DEAR: Filter = { path: ['price'], operator: 'gt', values: [500] }

async function filled(): Promise<Store> {
  const store = memoryStore()
  store.attach(SHAPE)
  for (let at = 0; at < COUNT; at++) {
    await createOne(store, {
      color: COLORS[(at * 31) % COLORS.length] ?? '',
      price: at % 7 === 0 ? null : (at * 7919) % 1009,
      // The same instants, in several zones.
      made: `2026-01-${10 + (at % 9)}T0${at % 5}:00:00+0${at % 5}:00`,
    })
  }
  return store
}

const by = (sort: string) => withTieBreak(parseSort(sort), { name: 'id' })

async function readAll(store: Store, where: readonly Filter[] = []): Promise<Stored[]> {
  const { items } = await store.list({ where, sort: [] }, { limit: COUNT + 1, offset: 0 }, 'none')
  return [...items]
}

function sortPlainly(items: readonly Stored[], sort: string): readonly Stored[] {
  const compare = comparer(by(sort), SHAPE.fields)
  return items.toSorted((one, other) => compare(one.item, other.item))
}

let store: Store
let all: readonly Stored[]
beforeAll(async () => {
  store = await filled()
  all = await readAll(store)
})

test('a list in turns has the order of a plain sort', async () => {
  const lists = [[], [DEAR]].flatMap(where =>
    ['price', '-color', '-made,price', 'color,-price,-id'].map(sort => {
      const found = where.length === 0 ? all : all.filter(isDear)
      return { where, sort: by(sort), sorted: sortPlainly(found, sort) }
    }),
  )
  const cases = fc.record({
    list: fc.constantFrom(...lists),
    at: fc.nat(COUNT),
    limit: fc.constantFrom(1, 25, 4000, COUNT),
    kind: fc.constantFrom('offset', 'after', 'before', 'first', 'last'),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ list: { where, sort, sorted }, at, limit, kind }) => {
      const place = at % sorted.length
      const key = sortKeyOf(sorted[place]?.item ?? {}, sort)
      const [slice, from, to] = {
        offset: [{ offset: place, limit }, place, place + limit] as const,
        after: [{ key, backward: false, limit }, place + 1, place + 1 + limit] as const,
        before: [{ key, backward: true, limit }, Math.max(0, place - limit), place] as const,
        first: [{ key: undefined, backward: false, limit }, 0, limit] as const,
        last: [{ key: undefined, backward: true, limit }, -limit, sorted.length] as const,
      }[kind]
      const list = store.list({ where, sort }, slice, 'exact')
      expect(list).toBeInstanceOf(Promise)
      const { items, total } = await list
      expect(idsOf(items)).toEqual(idsOf(sorted.slice(from, to)))
      expect(total).toBe(sorted.length)
    }),
    { numRuns: runs(16) },
  )
})

test('lists, counts and streams in turns have the items of their start, whatever is written meanwhile', async () => {
  const own = await filled()
  const before = await readAll(own)
  const dear = before.filter(isDear)
  const selection = { where: [], sort: by('-price') }
  let done = false
  const written = new Set<unknown>()
  const writing = (async () => {
    for (let at = 1; !done; at += 97) {
      const id = (at % COUNT) + 1
      const row = await findOne(own, id)
      if (row && at % 2 === 0) await deleteOne(own, { id, version: row.version })
      else if (row)
        await updateOne(own, { id, version: row.version }, { ...row.item, price: 100_000 + at })
      await createOne(own, { color: 'new', price: 2000 + at, made: '2026-01-01T00:00:00Z' })
      written.add(id)
      await nextPass()
    }
  })()
  const stream = own.stream(selection)[Symbol.asyncIterator]()
  const [page, far, count, first] = await Promise.all([
    own.list(selection, { limit: 30, offset: 0 }, 'exact'),
    own.list({ where: [DEAR], sort: by('color') }, { limit: 9000, offset: 300 }, 'exact'),
    own.count({ where: [DEAR] }, 'exact'),
    stream.next(),
  ])
  const writes = written.size
  const streamed: Stored[] = [...(first.value ?? [])]
  for (let part = await stream.next(); !part.done; part = await stream.next())
    streamed.push(...part.value)
  done = true
  await writing
  expect(writes).toBeGreaterThan(5)
  expect(page).toMatchObject({ total: COUNT })
  expect(page.items).toEqual(sortPlainly(before, '-price').slice(0, 30))
  expect(far.total).toBe(dear.length)
  expect(far.items).toEqual(sortPlainly(dear, 'color').slice(300, 9300))
  expect(count).toBe(dear.length)
  expect(streamed).toEqual(sortPlainly(before, '-price'))
  // What begins later has what is written.
  const [dearest] = (await own.list(selection, { limit: 1, offset: 0 }, 'none')).items
  expect(dearest?.item.price).toBeGreaterThan(100_000)
})

test('others are served between the turns of a sort in memory, and its time-out ends it', async () => {
  let passes = 0
  let done = false
  const counting = (async () => {
    for (; !done; passes++) await nextPass()
  })()
  const selection = { where: [], sort: by('-color') }
  await store.list(selection, { limit: COUNT, offset: 0 }, 'exact')
  done = true
  await counting
  expect(passes).toBeGreaterThan(3)
  const reason = new Error('too late')
  const ending = new AbortController()
  const list = store.list(selection, { limit: 3, offset: 0 }, 'exact', { signal: ending.signal })
  ending.abort(reason)
  await expect(list).rejects.toBe(reason)
})

test('a walk along an index that finds little takes turns, and finds what a plain filter does', async () => {
  const rare: Filter = { path: ['price'], operator: 'gt', values: [1006] }
  const own = await filled()
  const found = (await readAll(own)).filter(({ item }) => Number(item.price) > 1006)
  for (const sort of ['id', '-id'])
    for (const [offset, limit] of [
      [0, 9],
      [4, 7],
      [0, 5000],
    ] as const) {
      let done = false
      let passes = 0
      const writing = (async () => {
        for (; !done; passes++) {
          await createOne(own, { color: 'new', price: 2000, made: '2026-01-01T00:00:00Z' })
          await nextPass()
        }
      })()
      // One item is read beyond the limit.
      const list = own.list(
        { where: [rare, { path: ['color'], operator: 'in', values: ['blue'] }], sort: by(sort) },
        { offset, limit },
        'none',
      )
      expect(list).toBeInstanceOf(Promise)
      const { items } = await list
      done = true
      await writing
      expect(passes).toBeGreaterThan(1)
      const wanted = sortPlainly(found, sort).filter(({ item }) => item.color === 'blue')
      expect(wanted.length).toBeLessThan(offset + limit + 9)
      expect(idsOf(items)).toEqual(idsOf(wanted.slice(offset, offset + limit)))
    }
})

test('few items, what an index answers, and all items of a filter are there at once', async () => {
  const few = memoryStore()
  few.attach(SHAPE)
  for (const price of [3, 1, 2])
    createOne(few, { color: 'red', price, made: '2026-01-01T00:00:00Z' })
  const first = { limit: 5, offset: 0 }
  const sorted = few.list({ where: [], sort: by('-price') }, first, 'exact')
  expect(sorted).toMatchObject({ items: [{ id: 1 }, { id: 3 }, { id: 2 }], total: 3 })
  expect(few.count({ where: [DEAR] }, 'exact')).toBe(0)
  expect(store.list({ where: [], sort: by('-id') }, first, 'exact')).toMatchObject({ total: COUNT })
  expect(store.list({ where: [DEAR], sort: [] }, first, 'none')).not.toBeInstanceOf(Promise)
})
