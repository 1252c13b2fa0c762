// The store contract, reading: filters, search, order, slices, counts, streams.
import assert from 'node:assert/strict'
import {
  comparer,
  type Filter,
  type Selection,
  type SortKey,
  sortKeyOf,
} from '../store/selection.ts'
import type { KeySlice, Slice, Store, Stored, StoreOptions, TotalMode } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  codes,
  countAll,
  createMany,
  fails,
  fill,
  filter,
  find,
  idsOf,
  listAll,
  MAX_BATCH,
  present,
  readStream,
  SAMPLES,
  shapeWith,
} from './sample.ts'

/** Filters, and the codes of the samples that they let through. */
const FILTERS: readonly (readonly [Filter, string])[] = [
  [filter('code', 'in', 'A', 'G', 'none'), 'AG'],
  [filter('code', 'in'), ''],
  [filter('code', 'nin', 'A', 'B'), 'CDEFG'],
  [filter('code', 'gt', 'D'), 'EFG'],
  [filter('code', 'lte', 'C'), 'ABC'],
  [filter('name', 'in', 'ALPHA'), ''],
  [filter('name', 'in', ''), 'F'],
  [filter('name', 'in', SAMPLES[6]?.name as string), 'G'],
  [filter('name', 'gt', '\uFF5E'), 'D'],
  [filter('name', 'lt', '\u{1F600}'), 'ABCEFG'],
  [filter('name', 'prefix', 'alp'), 'A'],
  [filter('name', 'prefix', '100%_*?['), 'C'],
  [filter('name', 'prefix', '100_'), ''],
  [filter('name', 'prefix', ''), 'ABCDEFG'],
  [filter('name', 'prefix', '\u{1F600}'), 'D'],
  [filter('name', 'like', '%lpha*'), 'AB'],
  [filter('name', 'like', 'ALPHA'), ''],
  [filter('name', 'like', '_'), 'DE'],
  [filter('name', 'like', '100\\%\\_\\*?[a]\\\\'), 'C'],
  [filter('name', 'like', '100[%]%'), ''],
  [filter('name', 'like', 'alpha%%*%'), 'A'],
  [filter('name', 'like', '*]\\'), 'C'],
  [filter('price', 'in', 10), 'BF'],
  [filter('price', 'in', 10, 0.1, 1e21), 'BEFG'],
  [filter('price', 'nin', 10), 'ADEG'],
  [filter('price', 'gte', 10), 'ABEF'],
  [filter('price', 'gt', 10), 'AE'],
  [filter('price', 'lt', 0), 'D'],
  [filter('price', 'exists', true), 'ABDEFG'],
  [filter('price', 'exists', false), 'C'],
  [filter('seats', 'in', 9007199254740991), 'E'],
  [filter('seats', 'lt', 5), 'ABF'],
  [filter('seats', 'exists', false), 'CDG'],
  [filter('sold', 'in', true), 'B'],
  [filter('sold', 'nin', true), 'AF'],
  [filter('sold', 'in', true, false), 'ABF'],
  [filter('day', 'gte', '2024-03-01'), 'G'],
  [filter('day', 'lt', '2024-03-01'), 'AF'],
  [filter('day', 'exists', false), 'BCDE'],
  [filter('at', 'in', '2024-02-29T23:00:00.000Z'), 'BC'],
  [filter('at', 'nin', '2024-02-29T23:00:00.000Z'), 'A'],
  [filter('at', 'lt', '2024-02-29T22:30:00.001Z'), 'A'],
  [filter('at', 'gte', '2024-02-29T23:00:00.000Z'), 'BC'],
  [filter('at', 'gt', '2024-02-29T23:00:00.000Z'), ''],
  [filter('model.name', 'in', 'Clio'), 'AB'],
  [filter('model.name', 'nin', 'Clio'), 'C'],
  [filter('model.name', 'prefix', 'Tw'), 'C'],
  [filter('model.year', 'in', 1990), 'A'],
  [filter('model.year', 'nin', 1991), 'A'],
  [filter('model.year', 'exists', true), 'A'],
  [filter('model.year', 'exists', false), 'BC'],
  [filter('model.built', 'in', '1989-12-31T23:00:00.000Z'), 'A'],
  [filter('model', 'exists', true), 'ABC'],
  [filter('model', 'exists', false), 'DEFG'],
  [filter('tags', 'in', 'fast'), 'AC'],
  [filter('tags', 'in', 'red', '\u{1F600}'), 'AE'],
  [filter('tags', 'nin', 'red'), 'BCE'],
  [filter('tags', 'gt', 'g'), 'AE'],
  [filter('tags', 'prefix', 're'), 'A'],
  [filter('tags', 'like', '_a%'), 'AC'],
  [filter('tags', 'exists', true), 'ABCE'],
  [filter('rates', 'exists', true), 'AB'],
  [filter('extra', 'exists', true), 'ACDEF'],
  [filter('extra', 'exists', false), 'BG'],
]

/** Sorts, and the codes of all samples in that order. */
const SORTS: readonly (readonly [sort: string, expected: string])[] = [
  ['', 'ABCDEFG'],
  ['-id', 'GFEDCBA'],
  ['price', 'CDGBFAE'],
  ['-price', 'EAFBGDC'],
  ['-price,id', 'EABFGDC'],
  ['name', 'FCBAGED'],
  ['-name', 'DEGABCF'],
  ['seats,price', 'CDGBFAE'],
  ['-seats,price', 'EABFCDG'],
  ['sold', 'CDEGAFB'],
  ['-sold,-code', 'BFAGEDC'],
  ['day,-code', 'EDCBFAG'],
  ['at', 'DEFGABC'],
  ['-at,-code', 'CBAGFED'],
  ['model.name,-code', 'GFEDBAC'],
  ['model.year,model.name', 'DEFGBCA'],
]

/** Filters that must all hold, and the codes of the samples that they let through. */
const FILTER_SETS: readonly (readonly [Filter[], string])[] = [
  [[filter('price', 'gte', 10), filter('seats', 'in', 2)], 'BF'],
  [[filter('price', 'gte', 0), filter('price', 'lt', 10.5), filter('code', 'nin', 'F')], 'BG'],
  [[filter('price', 'in', 10), filter('price', 'in', 0.1)], ''],
  [[filter('name', 'in', '', 'alpha'), filter('seats', 'gt', 2)], 'A'],
  [[filter('tags', 'in', 'red'), filter('tags', 'in', 'fast')], 'A'],
]

/** Texts of a search, and the codes of the samples before G that it finds. */
const SEARCHES: readonly (readonly [text: string, expected: string])[] = [
  ['ALPHA', 'AB'],
  ['romeo alpha', 'B'],
  ['alpha b', 'B'],
  ['%', 'C'],
  ['_*', 'C'],
  ['clio', 'AB'],
]

type Filters = Pick<Selection, 'where' | 'search'>

/** Asserts that a list and a count find the items with these codes. */
async function finds(store: Store, filters: Filters, expected: string): Promise<void> {
  const { items, total } = await store.list({ ...filters, sort: by() }, ALL, 'exact')
  const shown = JSON.stringify(filters)
  assert.equal(codes(items), expected, shown)
  assert.equal(total, expected.length, shown)
  assert.equal(await store.count(filters, 'exact'), expected.length, shown)
}

const filters: Checks = {
  async 'each operator finds and counts the right items, for each kind of field'(store) {
    await fill(store)
    for (const [each, expected] of FILTERS) await finds(store, { where: [each] }, expected)
  },
  async 'all filters must hold'(store) {
    await fill(store)
    for (const [where, expected] of FILTER_SETS) await finds(store, { where }, expected)
  },
  async 'a search finds every word in one of the fields, ASCII letters in either case'(store) {
    await fill(store)
    const where = [filter('code', 'lt', 'G')]
    const paths = [['name'], ['code'], ['model', 'name']]
    for (const [text, expected] of SEARCHES) {
      await finds(store, { where, search: { text, paths } }, expected)
    }
  },
  async 'filters bound the creation date and the id'(store) {
    const [, , { id, version, item }] = await fill(store)
    const created = String(item.created_at)
    const list = async (...condition: Parameters<typeof filter>) =>
      codes(await listAll(store, [filter(...condition)]))
    assert.equal(await list('id', 'gt', id), 'DEFG')
    assert.equal(await list('id', 'lte', id), 'ABC')
    assert.match(await list('created_at', 'gte', created), /CDEFG/)
    assert.match(await list('created_at', 'lte', created), /^ABC/)
    assert.equal(await list('created_at', 'lt', '2000-01-01T00:00:00.000Z'), '')
    assert.equal(await list('created_at', 'gte', '0000-01-01T00:00:00.000Z'), 'ABCDEFG')
    assert.equal(await list('created_at', 'lte', '9999-12-31T23:59:59.999Z'), 'ABCDEFG')
    assert.ok(await store.delete(id, version))
    assert.equal(await list('id', 'gt', id), 'DEFG')
  },
}

const SEARCH = { text: 'a', paths: [['name'], ['code']] }

/** Selections, and the codes of the samples in them. */
const SELECTIONS: readonly (readonly [Filters, string])[] = [
  [{ where: [] }, 'ABCDEFG'],
  [{ where: [filter('price', 'in', 10, 10.5, 0.1)] }, 'ABFG'],
  [{ where: [filter('seats', 'gte', 2)] }, 'ABEF'],
  [{ where: [], search: SEARCH }, 'ABCG'],
  [{ where: [filter('seats', 'exists', false)], search: SEARCH }, 'CG'],
]

const order: Checks = {
  async 'sorts: null and absent first, texts by code point, date-times by instant, ties by id in the direction of the last key'(
    store,
  ) {
    await fill(store)
    for (const [sort, expected] of SORTS) {
      assert.equal(codes(await listAll(store, [], sort)), expected, sort)
    }
  },
  async 'each slice of each sort is the right part of the list: forward, backward and by offset'(
    store,
  ) {
    await fill(store)
    for (const [filters, some] of SELECTIONS) {
      for (const [text, order] of SORTS) {
        const selection = { ...filters, sort: by(text) }
        const whole = (await store.list(selection, ALL, 'none')).items
        const shown = `${text} ${JSON.stringify(filters)}`
        assert.equal(codes(whole), [...order].filter(code => some.includes(code)).join(''), shown)
        for (const [slice, from, to, mode] of slicesOf(whole, selection.sort)) {
          if ('key' in slice && store.pages === 'offset') continue
          const page = await store.list(selection, slice, mode)
          const rest = 'key' in slice && slice.backward ? from : whole.length - to
          const each = `${shown} ${JSON.stringify(slice)}`
          assert.equal(codes(page.items), codes(whole.slice(from, to)), each)
          assert.equal(page.more, rest > 0, each)
          assert.equal(page.total, mode === 'exact' ? whole.length : undefined, each)
        }
      }
    }
  },
  async 'limit 0 gives the total without items; the mode none gives no total, estimated a number'(
    store,
  ) {
    await fill(store)
    const selection = { where: [filter('seats', 'gt', 2)], sort: by('code') }
    const none = { limit: 0, offset: 0 }
    const empty = { items: [], more: false, total: 2 }
    assert.deepEqual(await store.list(selection, none, 'exact'), empty)
    assert.deepEqual(await store.list(selection, none, 'none'), { items: [], more: false })
    assert.equal(await store.count(selection, 'none'), undefined)
    const beyond = { limit: 5, offset: 50 }
    assert.deepEqual(await store.list(selection, beyond, 'exact'), empty)
    const all = await store.list({ where: [], sort: by() }, ALL, 'estimated')
    const { total } = await store.list(selection, none, 'estimated')
    for (const estimate of [await store.count({ where: [] }, 'estimated'), all.total, total])
      assert.equal(typeof estimate, 'number')
  },
  async 'a stream yields the whole selection in order, in batches'(store) {
    await createMany(store, 803)
    const search = { text: '1', paths: [['code']] }
    const selections: readonly Selection[] = [
      { where: [], sort: by('-price') },
      { where: [filter('price', 'gt', 2)], sort: by() },
      { where: [filter('price', 'in', 3, 4)], sort: by('code') },
      { where: [], search, sort: by('price') },
      { where: [filter('price', 'gt', 2)], search, sort: by() },
    ]
    for (const selection of selections) {
      const whole = await readStream(store, selection)
      const { items } = await store.list(selection, { limit: 5000, offset: 0 }, 'none')
      assert.deepEqual(idsOf(whole), idsOf(items))
      const compare = comparer(selection.sort, shapeWith('uuid').fields)
      for (const [at, { item }] of whole.entries()) {
        assert.ok(at === 0 || compare(present(whole[at - 1]).item, item) < 0)
      }
    }
  },
  async 'a stream may be left early, and writes go on while it is open'(store) {
    await createMany(store, 600)
    let seen = 0
    for await (const batch of store.stream({ where: [], sort: by() })) {
      seen += batch.length
      await store.create({ code: `during ${seen}`, price: 1 })
      break
    }
    assert.ok(seen > 0 && seen <= MAX_BATCH)
    assert.equal(await countAll(store), 601)
  },
  async 'an aborted signal ends the work with its reason'(store) {
    const [first] = await createMany(store, 600)
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    const selection = { where: [], sort: by() }
    const { id, version } = present(first)
    const values = { code: 'x', price: 1 }
    // Options as a request gives them: a copy loses them.
    const inherited: StoreOptions = Object.create({ signal, aborted: true })
    for (const options of [{ signal }, inherited]) {
      await fails(() => store.get(id, options), reason)
      await fails(() => store.list(selection, ALL, 'exact', options), reason)
      await fails(() => store.count(selection, 'exact', options), reason)
      await fails(() => store.create(values, options), reason)
      await fails(() => store.update(id, version, values, options), reason)
      await fails(() => store.delete(id, version, options), reason)
    }
    const later = new AbortController()
    await fails(async () => {
      for await (const _ of store.stream(selection, { signal: later.signal })) later.abort(reason)
    }, reason)
    assert.equal(await countAll(store), 600)
    assert.equal((await find(store, id)).version, version)
  },
}

/**
 * Slices of two items at each place of the whole list, at every second one of a part of it.
 * @returns which part of the list each slice is, and whether to count.
 */
function* slicesOf(
  whole: readonly Stored[],
  sort: readonly SortKey[],
): Generator<readonly [slice: Slice, from: number, to: number, mode: TotalMode]> {
  const step = whole.length === SAMPLES.length ? 1 : 2
  for (let at = 0; at <= whole.length; at += step) {
    const item = whole[at]?.item
    // Sort keys are scalars. After the last item there is none: a slice from the start, or the end.
    const key = item && (sortKeyOf(item, sort) as KeySlice['key'])
    const start = key ? at + 1 : 0
    yield [{ limit: 2, offset: at }, at, at + 2, 'none']
    yield [{ limit: 2, key, backward: false }, start, start + 2, 'exact']
    yield [{ limit: 2, key, backward: true }, Math.max(0, at - 2), at, 'none']
  }
}

const seeks: Checks = {
  async 'a slice continues from the key of a deleted item, or from a key that no item had'(store) {
    const [, { id, version, item }] = await fill(store)
    const sort = by('price')
    const key = [Number(item.price), id]
    await store.delete(id, version)
    const list = async (slice: Slice) =>
      codes((await store.list({ where: [], sort }, slice, 'none')).items)
    assert.equal(await list({ limit: 2, key, backward: false }), 'FA')
    assert.equal(await list({ limit: 2, key, backward: true }), 'DG')
    assert.equal(await list({ limit: 9, key: [5, id], backward: false }), 'FAE')
    assert.equal(await list({ limit: 9, key: [null, id], backward: true }), '')
  },
}

/** What a store must do where it is read. */
export const READING: readonly CheckGroup[] = [
  ['uuid', filters],
  ['uuid', order],
  ['uuid', seeks, 'seeks'],
]
