// The store contract, the items of several ids at once: `listEach`, which a store may leave out.
import assert from 'node:assert/strict'
import type { Filter } from '../store/filter.ts'
import type { Selection } from '../store/selection.ts'
import type { EachLimit, Id, Store } from '../store/store.ts'
import { MAX_SET } from '../store/writes.ts'
import {
  by,
  type CheckGroup,
  type Checks,
  change,
  codes,
  createMany,
  fails,
  fill,
  filter,
  find,
  idsOf,
  listAll,
  present,
} from './sample.ts'
import { createOne, deleteOne } from './write-items.ts'

const MANY: EachLimit = { each: 100, all: 10_000 }

/** Lists the codes of each id; a `+` says that there are more. */
async function codesOf(
  store: Store,
  field: string,
  ids: readonly Id[],
  { limit = MANY, ...selection }: Partial<Selection> & { readonly limit?: EachLimit } = {},
): Promise<string[]> {
  const whole = { where: [], sort: by(), ...selection }
  const pages = await present(store.listEach).call(store, [field], ids, whole, limit)
  return pages.map(({ items, more }) => codes(items) + (more ? '+' : ''))
}

const NAMES = ['Alpha romeo', 'alpha', 'nobody', '', '\uFF5E', '\u{1F600}', 'ALPHA']

const listings: Checks = {
  async 'listEach lists the items of each id, in the order of the ids and of the sort'(store) {
    await fill(store)
    for (const code of ['h', 'i']) await createOne(store, { code, price: 10, name: 'alpha' })
    const found = ['B', 'Ahi', '', 'F', 'E', 'D', '']
    assert.deepEqual(await codesOf(store, 'name', NAMES), found)
    for (const sort of ['-code', 'price', '-price,code', 'seats', '-seats']) {
      const [own] = await codesOf(store, 'name', ['alpha', 'x'], { sort: by(sort) })
      assert.equal(own, codes(await listAll(store, [filter('name', 'in', 'alpha')], sort)))
    }
    assert.deepEqual(await codesOf(store, 'seats', [2, 9007199254740991, 4, 3]), [
      'BF',
      'E',
      'A',
      '',
    ])
    assert.deepEqual(await codesOf(store, 'name', []), [])
  },
  async 'listEach lists the items whose id it is'(store) {
    const [a, b, c] = await fill(store)
    await deleteOne(store, b)
    assert.deepEqual(await codesOf(store, 'id', [c.id, b.id, a.id]), ['C', '', 'A'])
  },
  async 'listEach applies filters and the search'(store) {
    await fill(store)
    for (const code of ['h', 'i']) await createOne(store, { code, price: 10, name: 'alpha' })
    const where: Filter[] = [filter('price', 'gt', 10)]
    assert.deepEqual(await codesOf(store, 'name', NAMES, { where }), ['', 'A', '', '', 'E', '', ''])
    const either = { operator: 'any', filters: [filter('code', 'in', 'h'), ...where] } as const
    assert.deepEqual(await codesOf(store, 'name', ['alpha'], { where: [either] }), ['Ah'])
    const search = { text: 'I', paths: [['code']], fold: true }
    assert.deepEqual(await codesOf(store, 'name', ['alpha', ''], { search }), ['i', ''])
  },
  async 'listEach lists at most so many of each id, and of all ids together but of one'(store) {
    await fill(store)
    for (const code of ['h', 'i', 'j']) await createOne(store, { code, price: 10, name: 'alpha' })
    const list = (each: number, all: number, sort = '') =>
      codesOf(store, 'name', NAMES, { limit: { each, all }, sort: by(sort) })
    assert.deepEqual(await list(2, 100), ['B', 'Ah+', '', 'F', 'E', 'D', ''])
    assert.deepEqual(await list(2, 100, '-code'), ['B', 'ji+', '', 'F', 'E', 'D', ''])
    assert.deepEqual(await list(4, 100), ['B', 'Ahij', '', 'F', 'E', 'D', ''])
    assert.deepEqual(await list(100, 5), ['B', 'Ahij', ''])
    assert.deepEqual(await list(100, 4), ['B'])
    assert.deepEqual(await list(3, 4), ['B', 'Ahi+', ''])
    assert.deepEqual(await list(1, 2), ['B', 'A+', ''])
    const first = { limit: { each: 100, all: 1 } }
    assert.deepEqual(await codesOf(store, 'name', ['alpha', ''], first), ['Ahij'])
  },
  async 'listEach finds what was changed, created and deleted before'(store) {
    const [a, b] = await fill(store)
    const work = async (each: Store) => {
      await createOne(each, { code: 'h', price: 1, name: 'alpha' })
      await change(each, await find(each, b.id), { code: 'B', price: 1, name: 'alpha' })
      await deleteOne(each, a)
      // A store may leave it out within transactions.
      if (each.listEach) assert.deepEqual(await codesOf(each, 'name', ['alpha', '']), ['Bh', 'F'])
    }
    if (store.transaction) await store.transaction([store], async ([tx]) => work(present(tx)))
    else await work(store)
    assert.deepEqual(await codesOf(store, 'name', ['alpha', '']), ['Bh', 'F'])
    const reason = new Error('enough')
    const aborted = { signal: AbortSignal.abort(reason) }
    const all = { where: [], sort: by() }
    await fails(() => store.listEach?.(['name'], ['alpha', ''], all, MANY, aborted), reason)
  },
}

const manyListings: Checks = {
  async 'listEach takes 500 ids'(store) {
    const created = await createMany(store, 20)
    const ids = Array.from({ length: MAX_SET }, (_, at) => at + 1).toReversed()
    const pages = await present(store.listEach).call(
      store,
      ['id'],
      ids,
      { where: [], sort: by() },
      MANY,
    )
    assert.equal(pages.length, MAX_SET)
    const found = pages.flatMap(({ items }) => items)
    assert.deepEqual(
      idsOf(found),
      idsOf(created).toSorted((one, other) => Number(other) - Number(one)),
    )
  },
}

/** What a store must do that lists the items of several ids. */
export const EACH: readonly CheckGroup[] = [
  ['uuid', listings, 'listEach'],
  ['integer', manyListings, 'listEach'],
]
