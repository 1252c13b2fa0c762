// The store contract, reading: filters, search, order, slices, counts, streams.
import assert from 'node:assert/strict'
import { comparer, type Filter, type Selection, sortKeyOf } from '../store/selection.ts'
import type { Slice, Store, Stored, StoreOptions } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  codes,
  createMany,
  fill,
  filter,
  idsOf,
  present,
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
  [filter('rates.daily', 'gt', 1), 'A'],
  [filter('rates.a', 'exists', false), 'AB'],
  [filter('extra', 'in', '7'), 'D'],
  [filter('extra', 'in', 'null'), 'C'],
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

type Filters = Pick<Selection, 'where' | 'search'>

/** Asserts that a list and a count find the items with these codes. */
async function finds(store: Store, filters: Filters, expected: string): Promise<void> {
  const page = await store.list({ ...filters, sort: by() }, ALL, 'exact')
  const shown = JSON.stringify(filters)
  assert.equal(codes(page.items), expected, shown)
  assert.equal(page.total, expected.length, shown)
  assert.equal(await store.count(filters, 'exact'), expected.length, shown)
}

const filters: Checks = {
  async 'every operator on every kind lets through what it says, and counts it'(store) {
    await fill(store)
    for (const [each, expected] of FILTERS) {
      await finds(store, { where: [each] }, expected)
    }
  },
  async 'all filters must hold'(store) {
    await fill(store)
    const cases: [Filter[], string][] = [
      [[filter('price', 'gte', 10), filter('seats', 'in', 2)], 'BF'],
      [[filter('price', 'gte', 0), filter('price', 'lt', 10.5), filter('code', 'nin', 'F')], 'BG'],
      [[filter('price', 'in', 10), filter('price', 'in', 0.1)], ''],
      [[filter('name', 'in', '', 'alpha'), filter('seats', 'gt', 2)], 'A'],
      [[filter('tags', 'in', 'red'), filter('tags', 'in', 'fast')], 'A'],
    ]
    for (const [where, expected] of cases) {
      await finds(store, { where }, expected)
    }
  },
  async 'a search finds every word in one of the fields, ASCII letters in either case'(store) {
    await fill(store)
    const cases = {
      ALPHA: 'AB',
      'romeo alpha': 'B',
      'alpha b': 'B',
      '%': 'C',
      '_*': 'C',
      clio: 'AB',
    }
    for (const [text, expected] of Object.entries(cases)) {
      const search = { text, paths: [['name'], ['code'], ['model', 'name']] }
      const where = [filter('code', 'lt', 'G')]
      await finds(store, { where, search }, expected)
    }
  },
  async 'bounds on the creation date and on the id'(store) {
    const made = await fill(store)
    const third = present(made[2])
    const created = String(third.item.created_at)
    const lists = async (each: Filter) =>
      codes((await store.list({ where: [each], sort: by() }, ALL, 'exact')).items)
    assert.equal(await lists(filter('id', 'gt', third.id)), 'DEFG')
    assert.equal(await lists(filter('id', 'lte', third.id)), 'ABC')
    assert.ok((await lists(filter('created_at', 'gte', created))).includes('CDEFG'))
    assert.ok((await lists(filter('created_at', 'lte', created))).startsWith('ABC'))
    assert.equal(await lists(filter('created_at', 'lt', '2000-01-01T00:00:00.000Z')), '')
    assert.equal(await lists(filter('created_at', 'gte', '0000-01-01T00:00:00.000Z')), 'ABCDEFG')
    assert.equal(await lists(filter('created_at', 'lte', '9999-12-31T23:59:59.999Z')), 'ABCDEFG')
    assert.ok(await store.delete(third.id, third.version))
    assert.equal(await lists(filter('id', 'gt', third.id)), 'DEFG')
  },
}

const order: Checks = {
  async 'sorts: null and absent first, texts by code point, date-times by instant, ties by id in the direction of the last key'(
    store,
  ) {
    await fill(store)
    for (const [sort, expected] of SORTS) {
      const { items } = await store.list({ where: [], sort: by(sort) }, ALL, 'none')
      assert.equal(codes(items), expected, sort)
    }
  },
  async 'any slice of any sort, forward, backward and by offset, is a part of the whole'(store) {
    await fill(store)
    const search = { text: 'a', paths: [['name'], ['code']] }
    const found: [Filters, string][] = [
      [{ where: [] }, 'ABCDEFG'],
      [{ where: [filter('price', 'in', 10, 10.5, 0.1)] }, 'ABFG'],
      [{ where: [filter('seats', 'gte', 2)] }, 'ABEF'],
      [{ where: [], search }, 'ABCG'],
      [{ where: [filter('seats', 'exists', false)], search }, 'CG'],
    ]
    for (const [selected, some] of found) {
      for (const [text, order] of SORTS) {
        const sort = by(text)
        const whole = (await store.list({ ...selected, sort }, ALL, 'none')).items
        const shown = `${text} ${JSON.stringify(selected)}`
        assert.equal(codes(whole), [...order].filter(code => some.includes(code)).join(''), shown)
        for (let at = 0; at <= whole.length; at++) {
          const place = whole[at]
          const key = place && (sortKeyOf(place.item, sort) as (string | null)[])
          const start = key ? at + 1 : 0
          const { length } = whole
          const parts: [slice: Slice, from: number, to: number, more: boolean][] = [
            [{ limit: 2, offset: at }, at, at + 2, at + 2 < length],
          ]
          if (store.pages === 'key') {
            parts.push(
              [{ limit: 2, key, backward: false }, start, start + 2, start + 2 < length],
              [{ limit: 2, key, backward: true }, Math.max(0, at - 2), at, at > 2],
            )
          }
          for (const [slice, from, to, more] of parts) {
            const page = await store.list({ ...selected, sort }, slice, 'exact')
            const each = `${shown} ${JSON.stringify(slice)}`
            assert.equal(codes(page.items), codes(whole.slice(from, to)), each)
            assert.deepEqual([page.more, page.total], [more, length], each)
          }
        }
      }
    }
  },
  async 'limit 0 gives no items but the total; mode none gives no total, an estimate some'(store) {
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
  async 'a stream gives the whole selection in its order, a batch at a time'(store) {
    await createMany(store, 1203)
    const search = { text: '1', paths: [['code']] }
    const selections: readonly Selection[] = [
      { where: [], sort: by('-price') },
      { where: [filter('price', 'gt', 2)], sort: by() },
      { where: [filter('price', 'in', 3, 4)], sort: by('code') },
      { where: [], search, sort: by('price') },
      { where: [filter('price', 'gt', 2)], search, sort: by() },
    ]
    for (const selection of selections) {
      const { sort } = selection
      const whole: Stored[] = []
      let most = 0
      for await (const batch of store.stream(selection)) {
        most = Math.max(most, batch.length)
        whole.push(...batch)
      }
      const { items } = await store.list(selection, { limit: 5000, offset: 0 }, 'none')
      assert.deepEqual(idsOf(whole), idsOf(items))
      assert.ok(most <= 1000, `a batch of ${most}`)
      const compare = comparer(sort, shapeWith('uuid').fields)
      for (const [at, { item }] of whole.entries()) {
        assert.ok(at === 0 || compare(present(whole[at - 1]).item, item) < 0)
      }
    }
  },
  async 'a stream may be left early, and writes go on while it is open'(store) {
    await createMany(store, 1100)
    let seen = 0
    for await (const batch of store.stream({ where: [], sort: by() })) {
      seen += batch.length
      await store.create({ code: `during ${seen}`, price: 1 })
      break
    }
    assert.ok(seen > 0 && seen <= 1000)
    assert.equal(await store.count({ where: [] }, 'exact'), 1101)
  },
  async 'an aborted signal ends the work with its reason'(store) {
    const [first] = await createMany(store, 600)
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    const selection = { where: [], sort: by() }
    const { id, version } = present(first)
    // Options as a request gives them: a copy loses them.
    const inherited: StoreOptions = Object.create({ signal, aborted: true })
    const isReason = (error: unknown) => error === reason
    for (const options of [{ signal }, inherited]) {
      for (const call of [
        () => store.get(id, options),
        () => store.list(selection, ALL, 'exact', options),
        () => store.count(selection, 'exact', options),
        () => store.create({ code: 'x', price: 1 }, options),
        () => store.update(id, version, { code: 'x', price: 1 }, options),
        () => store.delete(id, version, options),
      ]) {
        await assert.rejects(async () => call(), isReason)
      }
    }
    const later = new AbortController()
    await assert.rejects(async () => {
      for await (const _ of store.stream(selection, { signal: later.signal })) later.abort(reason)
    }, isReason)
    assert.equal(await store.count(selection, 'exact'), 600)
    assert.equal((await store.get(id))?.version, version)
  },
}

const seeks: Checks = {
  async 'a slice goes on from the key of an item that is gone, or was never there'(store) {
    const made = await fill(store)
    const { id, version, item } = present(made[1])
    const sort = by('price')
    // Sort keys of a price and an id are scalars.
    const key = sortKeyOf(item, sort) as (string | number)[]
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
