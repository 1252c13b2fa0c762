// The store contract, reading: order, slices, counts, streams.
import assert from 'node:assert/strict'
import {
  comparer,
  type FilterSet,
  type Selection,
  type SortKey,
  sortKeyOf,
} from '../store/selection.ts'
import type { Slice, Stored, StoreOptions, TotalMode } from '../store/store.ts'
import { findOne } from '../store/writes.ts'
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
import { createOne, deleteOne, updateOne } from './write-items.ts'

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

const SEARCH = { text: 'a', paths: [['name'], ['code']], fold: true }

/** Selections, and the codes of the samples in them. */
const SELECTIONS: readonly (readonly [FilterSet, string])[] = [
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
    const uncounted = await store.list(selection, none, 'none')
    assert.deepEqual({ total: undefined, ...uncounted }, { ...empty, total: undefined })
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
    const search = { text: '1', paths: [['code']], fold: true }
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
      await createOne(store, { code: `during ${seen}`, price: 1 })
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
      await fails(() => findOne(store, id, options), reason)
      await fails(() => store.list(selection, ALL, 'exact', options), reason)
      await fails(() => store.count(selection, 'exact', options), reason)
      await fails(() => createOne(store, values, options), reason)
      await fails(() => updateOne(store, { id, version }, values, options), reason)
      await fails(() => deleteOne(store, { id, version }, options), reason)
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
    const key = item && sortKeyOf(item, sort)
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
    await deleteOne(store, { id, version })
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
  ['uuid', order],
  ['uuid', seeks, 'seeks'],
]
