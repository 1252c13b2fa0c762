import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Item, Scalar } from '../../src/base/values.ts'
import { type MemoryStore, memoryStore } from '../../src/memory/memory-store.ts'
import { SortedList } from '../../src/memory/sorted-list.ts'
import type { Field } from '../../src/schema/fields.ts'
import { UnavailableError } from '../../src/store/errors.ts'
import type { Filter, Operator } from '../../src/store/filter.ts'
import { createIdempotencyRecords } from '../../src/store/idempotency.ts'
import { createVersion, nextId, nextUuid } from '../../src/store/ids.ts'
import { toKeyedStore } from '../../src/store/keyed-store.ts'
import { matcher, sortKeyOf, withTieBreak } from '../../src/store/selection.ts'
import { parseSort } from '../../src/store/sort.ts'
import type { Identity, Shape, Slice } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { shapeWith } from '../../src/testing/sample.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { runs } from '../random.ts'

const plain = { nullable: false, optional: false }
const SHAPE: Shape = {
  name: 'cars',
  fields: new Map<string, Field>([
    ['id', { kind: 'integer', ...plain }],
    ['color', { kind: 'string', ...plain }],
    ['price', { kind: 'number', ...plain, nullable: true }],
    ['note', { kind: 'string', ...plain }],
    ['created_at', { kind: 'date-time', ...plain }],
  ]),
  identity: { name: 'id', kind: 'integer' },
  createdAt: 'created_at',
  unique: [],
  indexes: [['color'], ['price'], ['color', 'price']],
}
const COLORS = ['red', 'green', 'blue', 'white', 'black', 'grey', 'pink', 'gold', 'cyan', 'lime']
const by = (sort: string) => withTieBreak(parseSort(sort), { name: 'id' })
const is = (path: string, operator: Operator, ...values: Scalar[]): Filter => ({
  path: [path],
  operator,
  values,
})

async function filled(count: number) {
  const store = memoryStore() as MemoryStore // not a part of the public type
  store.attach(SHAPE)
  for (let at = 0; at < count; at++) {
    await createOne(store, {
      color: COLORS[at % 10] ?? '',
      price: at % 1000 === 0 ? null : (at * 7919) % 10_007,
      note: `note ${at}`,
    })
  }
  return store
}

describe('an index answers', async () => {
  const COUNT = 20_000
  const store = await filled(COUNT)
  const looksOf = async (work: () => unknown) => {
    const before = store.examined
    await work()
    return store.examined - before
  }
  const CASES: [name: string, where: Filter[], sort: string, slice: Slice, most: number][] = [
    ['the default list', [], '', { limit: 25, offset: 0 }, 25],
    ['a deep offset', [], '', { limit: 25, offset: 19_000 }, 25],
    ['the last page', [], '', { limit: 25, key: undefined, backward: true }, 25],
    ['a cursor page', [], '', { limit: 25, key: [15_000], backward: false }, 25],
    ['an equality', [is('color', 'in', 'red')], '', { limit: 25, offset: 1500 }, 25],
    ['an equality, newest first', [is('color', 'in', 'red')], '-id', { limit: 25, offset: 0 }, 25],
    ['some ids', [is('id', 'in', 9, 7, 8)], '-id', { limit: 25, offset: 1 }, 2],
    [
      'two of one column, by it',
      [is('color', 'in', 'red', 'blue')],
      'color,price',
      { limit: 25, offset: 0 },
      25,
    ],
    [
      'an equality, by the next column',
      [is('color', 'in', 'red')],
      'price',
      { limit: 25, offset: 9 },
      25,
    ],
    ['a sort', [], 'price', { limit: 25, offset: 10_000 }, 25],
    ['a sort downwards', [], '-price', { limit: 25, offset: 10_000 }, 25],
    ['a narrow range by id', [is('price', 'lt', 20)], '', { limit: 25, offset: 0 }, 50],
    ['a wide range by id', [is('price', 'gt', 5000)], '', { limit: 25, offset: 0 }, 200],
    ['a range by its own order', [is('price', 'gte', 100)], '-price', { limit: 25, offset: 0 }, 25],
    [
      'equality and range',
      [is('color', 'in', 'red'), is('price', 'lt', 500)],
      'price',
      { limit: 25, offset: 0 },
      25,
    ],
    ['ids after one', [is('id', 'gt', 19_000)], '', { limit: 25, offset: 0 }, 25],
    ['creation dates', [is('created_at', 'gte', '2000-01-01')], '', { limit: 25, offset: 0 }, 25],
  ]
  test.each(CASES)('%s and its total without a scan', async (_name, where, sort, slice, most) => {
    const looks = await looksOf(() => store.list({ where, sort: by(sort) }, slice, 'exact'))
    // One item further tells whether more follow.
    expect(looks).toBeLessThanOrEqual(most + 1)
    expect(await looksOf(() => store.count({ where }, 'exact'))).toBe(0)
  })

  test('a filter that no index answers looks at all items', async () => {
    const where = [is('note', 'in', 'note 7')]
    expect(await looksOf(() => store.count({ where }, 'exact'))).toBe(COUNT)
  })

  const [note, price] = [is('note', 'in', 'note 7'), is('price', 'lt', 20)]
  const joined = (...filters: Filter[]): Filter => ({ operator: 'any', filters })
  test.each<[name: string, where: Filter[], most: number]>([
    ['two indexes', [joined(is('id', 'in', 9, 7), price)], 50],
    ['one index twice', [joined(is('id', 'in', 9, 7), is('id', 'in', 7, 8))], 3],
    ['an index with another filter', [note, joined(is('id', 'in', 9, 7), price)], 50],
    ['an index for one branch alone', [joined(is('id', 'in', 9, 7), note)], COUNT],
  ])('an or of %s looks at what its branches find', async (_name, where, most) => {
    const all = { limit: COUNT, offset: 0 }
    const list = async (filters: Filter[]) =>
      (await store.list({ where: filters, sort: by('-id') }, all, 'exact')).items
    const matches = matcher({ where }, SHAPE.fields)
    expect(await list(where)).toEqual((await list([])).filter(({ item }) => matches(item)))
    const looks = await looksOf(() => store.count({ where }, 'exact'))
    expect(looks).toBeLessThanOrEqual(most)
  })
})

describe('an index', () => {
  const KEYS = { ...SHAPE, indexes: [['color', 'price']] }
  const few = async (count: number) => {
    const store = memoryStore()
    store.attach(KEYS)
    for (let at = 0; at < count; at++) {
      await createOne(store, { color: COLORS[at % 3] ?? '', price: at % 4, note: `note ${at}` })
    }
    return store
  }
  const idsOf = async (...parameters: Parameters<Awaited<ReturnType<typeof few>>['list']>) =>
    (await (await few(24)).list(...parameters)).items.map(({ item }) => item.id)

  test('is walked for a search without a total', async () => {
    const search = { text: 'note 1', paths: [['note']], fold: true }
    const found = await idsOf({ where: [], sort: by(''), search }, { limit: 3, offset: 1 }, 'none')
    expect(found).toEqual([11, 12, 13])
  })

  test('of an empty store gives no items', async () => {
    const store = await few(0)
    const selection = { where: [is('color', 'in', 'red')], sort: by('color,price') }
    const slice = { limit: 5, key: ['red', 1, 1], backward: false }
    expect((await store.list(selection, slice, 'exact')).items).toEqual([])
  })
})

describe('a store in memory', () => {
  test('gives the same frozen item until it is written', async () => {
    const store = await filled(3)
    const first = await findOne(store, 1)
    expect((await findOne(store, 1))?.item).toBe(first?.item)
    const page = await store.list({ where: [], sort: by('') }, { limit: 1, offset: 0 }, 'none')
    expect(page.items[0]).toBe(first)
    expect(() => Object.assign(first?.item ?? {}, { color: 'x' })).toThrow(TypeError)
  })

  test.each([
    ['an index walks', 'price', []],
    ['no index knows', '-note', []],
    ['no index knows, filtered', 'note', [is('note', 'prefix', 'note ')]],
  ])('streams in an order that %s: each item once, a batch at a time', async (_, sort, where) => {
    const store = await filled(1234)
    const selection = { where, sort: by(sort) }
    const whole = await store.list(selection, { limit: 1234, offset: 0 }, 'none')
    const batches: number[] = []
    const ids: unknown[] = []
    for await (const items of store.stream(selection)) {
      batches.push(items.length)
      ids.push(...items.map(({ id }) => id))
    }
    expect(ids).toEqual(whole.items.map(({ id }) => id))
    expect(Math.max(...batches)).toBe(200)
  })

  test.each(['price', 'note'])('a stream by %s ends when its signal is aborted', async sort => {
    const store = await filled(1234)
    const controller = new AbortController()
    const { signal } = controller
    const read = async () => {
      for await (const _items of store.stream({ where: [], sort: by(sort) }, { signal }))
        controller.abort(new Error('gone'))
    }
    await expect(read()).rejects.toThrow('gone')
  })

  test('serves two collections that agree on the identity', async () => {
    const store = await filled(30)
    const wheels: Field = { kind: 'integer', ...plain }
    store.attach({
      ...SHAPE,
      name: 'v2',
      fields: new Map([...SHAPE.fields, ['wheels', wheels]]),
      unique: [['wheels']],
      indexes: [['wheels']],
    })
    await createOne(store, { color: 'red', price: 1, note: '', wheels: 4 })
    const where = [is('wheels', 'in', 4)]
    expect(await store.count({ where }, 'exact')).toBe(1)
    expect(await store.count({ where: [is('color', 'in', 'red')] }, 'exact')).toBe(4)
    expect(() => createOne(store, { color: 'x', wheels: 4 })).toThrow('same wheels')
  })

  test.each([
    ['identity', { identity: { name: 'id', kind: 'uuid' } }],
    ['dates', { createdAt: 'made' }],
  ] as const)('refuses a collection with another %s', async (_name, other) => {
    const store = await filled(1)
    expect(() => store.attach({ ...SHAPE, ...other })).toThrow(TypeError)
  })

  test('refuses work before it is attached and after it is closed', async () => {
    expect(() => findOne(memoryStore(), 1)).toThrow(TypeError)
    const store = await filled(1)
    await store.close()
    expect(() => findOne(store, 1)).toThrow(UnavailableError)
  })

  test('frees a claim after ten seconds and an answer after a day, and keeps only so many', () => {
    let now = 0
    const records = createIdempotencyRecords(() => now, 3)
    records.claim('a', 'p')
    now = 9_999
    expect(records.claim('a', 'p')).toMatchObject({ state: 'running' })
    now = 10_000
    expect(records.claim('a', 'p')).toMatchObject({ state: 'new' })
    records.complete('a', 1)
    now += 86_399_999
    expect(records.claim('a', 'p')).toMatchObject({ state: 'done', answer: 1 })
    now += 1
    expect(records.claim('a', 'p')).toMatchObject({ state: 'new' })
    for (const key of ['b', 'c', 'd', 'e']) {
      records.claim(key, 'p')
      records.complete(key, 1)
    }
    expect(records.claim('b', 'p')).toMatchObject({ state: 'new' })
    expect(records.claim('e', 'p')).toMatchObject({ state: 'done' })
  })

  test('frees a claim after ten seconds, also where the clock is set back', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    try {
      const store = toKeyedStore(memoryStore())
      store.attach(SHAPE)
      await store.claim('a', 'p')
      vi.setSystemTime(Date.now() - 3_600_000)
      vi.advanceTimersByTime(9_999)
      expect(await store.claim('a', 'p')).toMatchObject({ state: 'running' })
      vi.advanceTimersByTime(1)
      expect(await store.claim('a', 'p')).toMatchObject({ state: 'new' })
    } finally {
      vi.useRealTimers()
    }
  })

  test('an index agrees with a scan for any items, filters, sorts and slices', async () => {
    const price = fc.constantFrom(null, 0, 1, 2, -1.5, 1e9)
    const item = fc.record({
      color: fc.constantFrom('red', 'blue', 'x'),
      price,
      note: fc.constant(''),
    })
    const values = fc.uniqueArray(fc.constantFrom(0, 1, 2, 7), { maxLength: 3 })
    const filter = fc.oneof(
      fc
        .uniqueArray(fc.constantFrom('red', 'blue', 'no'), { maxLength: 3 })
        .map(each => is('color', 'in', ...each)),
      values.map(each => is('price', 'in', ...each)),
      fc
        .tuple(fc.constantFrom('gt', 'gte', 'lt', 'lte'), fc.constantFrom(-2, 0, 1, 1e9))
        .map(([operator, value]) => is('price', operator, value)),
      fc.integer({ min: 0, max: 40 }).map(id => is('id', 'gt', id)),
    )
    const sort = fc.constantFrom(
      '',
      '-id',
      'price',
      '-price',
      '-price,id',
      'color,-price',
      '-color,price,-id',
      'price,color',
    )
    const run = fc.record({
      items: fc.array(item, { maxLength: 40 }),
      writes: fc.array(fc.tuple(fc.nat(39), fc.option(item)), { maxLength: 20 }),
      where: fc.array(filter, { maxLength: 3 }),
      sort: sort.map(by),
      offset: fc.nat(12),
      limit: fc.nat(6),
      from: fc.option(fc.nat(39)),
      backward: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        run,
        async ({ items, writes, where, sort: keys, offset, limit, from, backward }) => {
          const indexed = memoryStore()
          indexed.attach(SHAPE)
          const bare = memoryStore()
          bare.attach({ ...SHAPE, indexes: [], createdAt: 'made' })
          for (const store of [indexed, bare]) {
            for (const each of items) await createOne(store, each as Item)
            for (const [id, next] of writes) {
              const old = await findOne(store, id)
              if (!old) continue
              if (next) await updateOne(store, { id, version: old.version }, next as Item)
              else await deleteOne(store, { id, version: old.version })
            }
          }
          const place = from === null ? undefined : (await findOne(bare, from))?.item
          const key = place && (sortKeyOf(place, keys) as number[])
          for (const slice of [
            { limit, offset },
            { limit, key, backward },
          ]) {
            const one = await indexed.list({ where, sort: keys }, slice, 'exact')
            const other = await bare.list({ where, sort: keys }, slice, 'exact')
            const ids = (page: typeof one) => page.items.map(each => each.id)
            expect([one.total, ids(one)]).toEqual([other.total, ids(other)])
            const total = await indexed.list({ where, sort: keys }, slice, 'none')
            expect(ids(total)).toEqual(ids(one))
          }
        },
      ),
      { numRuns: runs(300) },
    )
  })
})

test('a sorted list agrees with a sorted array', () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 600, maxLength: 2500 })
  fc.assert(
    fc.property(numbers, fc.nat(5000), fc.nat(2500), (inserted, probe, from) => {
      const list = new SortedList<number, number>()
      const at = (place: number) => (key: number) => key - place
      for (const each of inserted) list.add(each, each, at(each))
      const removed = inserted.filter((_, at) => at % 3 === 0)
      for (const each of [...removed, -1]) list.remove(at(each))
      const kept = inserted.filter((_, at) => at % 3 !== 0).sort((one, other) => one - other)
      expect(list.slice(0, Number.POSITIVE_INFINITY)).toEqual(kept)
      expect([...list.walk(0, kept.length)]).toEqual(kept)
      expect([...list.walk(0, kept.length, true)]).toEqual(kept.toReversed())
      expect([...list.slice(from, from + 700)]).toEqual(kept.slice(from, from + 700))
      expect([...list.slice(from, from + 700, true)]).toEqual(
        kept.slice(from, from + 700).reverse(),
      )
      expect(list.rank(at(probe))).toBe(kept.filter(each => each < probe).length)
      expect(list.at(from)).toBe(kept[from])
      list.replace(-7, at(kept[0] ?? 0))
      expect(list.at(0)).toBe(-7)
    }),
    { numRuns: runs(25) },
  )
})

describe('ids', () => {
  const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

  test('a UUIDv7 is greater than the last, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 50, maxLength: 200 }), times => {
        let last: string | undefined
        for (const time of times) {
          const next = nextUuid(last, 1_700_000_000_000 + time)
          expect(next).toMatch(UUID7)
          expect(last === undefined || next > last).toBe(true)
          last = next
        }
      }),
    )
  })

  test.each([
    [
      'at the end of its millisecond',
      '018bcfe5-6800-7fff-bfff-ffffffffffff',
      '018bcfe5-6801-7000-8000-',
    ],
    ['of version 4', 'f81d4fae-7dec-4dd0-a765-00a0c91e6bf6', 'f81d4fae-7dec-7dd0-a765-'],
  ])('goes on from an id %s', (_name, last, start) => {
    const next = nextUuid(last, 1_700_000_000_000)
    expect(next).toMatch(UUID7)
    expect(next.startsWith(start)).toBe(true)
    expect(next > last).toBe(true)
  })

  test('a UUIDv7 carries the time; a last id that is not a UUID is ignored', () => {
    expect(nextUuid('car-1', 0x018bcfe56800).slice(0, 13)).toBe('018bcfe5-6800')
    expect(nextUuid(undefined, 5).slice(0, 13)).toBe('00000000-0005')
  })

  test('integers count from 1; versions are 16 characters, each its own', () => {
    const identity: Identity = { name: 'id', kind: 'integer' }
    expect([nextId(identity, undefined, 0), nextId(identity, 41, 0)]).toEqual([1, 42])
    const versions = Array.from({ length: 2000 }, createVersion)
    expect(new Set(versions).size).toBe(2000)
    expect(versions.every(version => /^[\w-]{16}$/.test(version))).toBe(true)
  })
})

test('a transaction streams more than a batch', async () => {
  const store = memoryStore()
  store.attach(shapeWith('integer'))
  await store.transaction?.([store], async ([tx]) => {
    for (let at = 0; at < 1100; at++) await (tx && createOne(tx, { code: `c${at}`, price: 1 }))
    const sizes: number[] = []
    const sort = [{ path: ['id'], descending: false }]
    for await (const batch of tx?.stream({ where: [], sort }) ?? []) sizes.push(batch.length)
    expect(sizes).toEqual([...Array(5).fill(200), 100])
  })
  await store.close()
})
