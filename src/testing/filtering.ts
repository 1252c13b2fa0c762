// The store contract, filtering: each operator, groups of conditions, search.
import assert from 'node:assert/strict'
import type { Scalar } from '../base/values.ts'
import type { Filter, Operator } from '../store/filter.ts'
import { type FilterSet, matcher } from '../store/selection.ts'
import type { Store } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  codes,
  fill,
  filter,
  listAll,
  SAMPLES,
} from './sample.ts'
import { createOne, deleteOne, updateOne } from './write-items.ts'

/** The codes of all samples. */
const EVERY = 'ABCDEFG'

/** Conditions by operator: a path, values, and the codes of the samples that they let through. */
const CONDITIONS: Readonly<
  Record<
    Operator,
    readonly (readonly [path: string, values: readonly Scalar[], expected: string])[]
  >
> = {
  in: [
    ['code', ['A', 'G', 'none'], 'AG'],
    ['code', [], ''],
    ['name', ['ALPHA'], ''],
    ['name', [''], 'F'],
    ['name', [SAMPLES[6]?.name as string], 'G'],
    ['price', [10], 'BF'],
    ['price', [10, 0.1, 1e21], 'BEFG'],
    ['seats', [9007199254740991], 'E'],
    ['sold', [true], 'B'],
    ['sold', [true, false], 'ABF'],
    ['at', ['2024-02-29T23:00:00.000Z'], 'BC'],
    ['model.name', ['Clio'], 'AB'],
    ['model.year', [1990], 'A'],
    ['model.built', ['1989-12-31T23:00:00.000Z'], 'A'],
    ['tags', ['fast'], 'AC'],
    ['tags', ['red', '\u{1F600}'], 'AE'],
  ],
  nin: [
    ['code', ['A', 'B'], 'CDEFG'],
    ['price', [10], 'ADEG'],
    ['sold', [true], 'AF'],
    ['at', ['2024-02-29T23:00:00.000Z'], 'A'],
    ['model.name', ['Clio'], 'C'],
    ['model.year', [1991], 'A'],
    ['tags', ['red'], 'BCE'],
  ],
  gt: [
    ['code', ['D'], 'EFG'],
    ['name', ['\uFF5E'], 'D'],
    ['price', [10], 'AE'],
    ['at', ['2024-02-29T23:00:00.000Z'], ''],
    ['tags', ['g'], 'AE'],
  ],
  gte: [
    ['price', [10], 'ABEF'],
    ['day', ['2024-03-01'], 'G'],
    ['at', ['2024-02-29T23:00:00.000Z'], 'BC'],
  ],
  lt: [
    ['name', ['\u{1F600}'], 'ABCEFG'],
    ['price', [0], 'D'],
    ['seats', [5], 'ABF'],
    ['day', ['2024-03-01'], 'AF'],
    ['at', ['2024-02-29T22:30:00.001Z'], 'A'],
  ],
  lte: [['code', ['C'], 'ABC']],
  prefix: [
    ['name', ['alp'], 'A'],
    ['name', ['100%_*?['], 'C'],
    ['name', ['100_'], ''],
    ['name', [''], 'ABCDEFG'],
    ['name', ['\u{1F600}'], 'D'],
    ['model.name', ['Tw'], 'C'],
    ['tags', ['re'], 'A'],
  ],
  like: [
    ['name', ['%lpha*'], 'AB'],
    ['name', ['ALPHA'], ''],
    ['name', ['_'], 'DE'],
    ['name', ['100\\%\\_\\*?[a]\\\\'], 'C'],
    ['name', ['100[%]%'], ''],
    ['name', ['alpha%%*%'], 'A'],
    ['name', ['*]\\'], 'C'],
    ['tags', ['_a%'], 'AC'],
  ],
  exists: [
    ['price', [true], 'ABDEFG'],
    ['price', [false], 'C'],
    ['seats', [false], 'CDG'],
    ['day', [false], 'BCDE'],
    ['model.year', [true], 'A'],
    ['model.year', [false], 'BC'],
    ['model', [true], 'ABC'],
    ['model', [false], 'DEFG'],
    ['tags', [true], 'ABCE'],
    ['rates', [true], 'AB'],
    ['extra', [true], 'ACDEF'],
    ['extra', [false], 'BG'],
  ],
}

/** Filters of one condition, and the codes of the samples that they let through. */
const LEAVES = Object.entries(CONDITIONS).flatMap(([operator, cases]) =>
  cases.map(
    // The keys of the record are operators.
    ([path, values, expected]) =>
      [filter(path, operator as Operator, ...values), expected] as const,
  ),
)

/** Filters that must all hold, and the codes of the samples that they let through. */
const FILTER_SETS: readonly (readonly [Filter[], string])[] = [
  [[filter('price', 'gte', 10), filter('seats', 'in', 2)], 'BF'],
  [[filter('price', 'gte', 0), filter('price', 'lt', 10.5), filter('code', 'nin', 'F')], 'BG'],
  [[filter('price', 'in', 10), filter('price', 'in', 0.1)], ''],
  [[filter('name', 'in', '', 'alpha'), filter('seats', 'gt', 2)], 'A'],
  [[filter('tags', 'in', 'red'), filter('tags', 'in', 'fast')], 'A'],
]

const any = (...filters: Filter[]): Filter => ({ operator: 'any', filters })
const all = (...filters: Filter[]): Filter => ({ operator: 'all', filters })
const not = (each: Filter): Filter => ({ operator: 'not', filter: each })

/** Filters of several conditions, and the codes of the samples that they let through. */
const TREES: readonly (readonly [Filter, string])[] = [
  [any(), ''],
  [all(), EVERY],
  [not(any()), EVERY],
  [not(all()), ''],
  [any(filter('code', 'in', 'A'), filter('price', 'in', 0.1)), 'AG'],
  [any(filter('code', 'in', 'A'), filter('code', 'in', 'A', 'B')), 'AB'],
  [
    any(filter('seats', 'gt', 2), all(filter('price', 'in', 10), filter('sold', 'in', true))),
    'ABE',
  ],
  [
    all(filter('price', 'gte', 10), any(filter('sold', 'in', true), filter('seats', 'gt', 4))),
    'BE',
  ],
  // An absent value, and null: no condition holds but `exists`, so that `not` of each does.
  [not(filter('seats', 'in', 2)), 'ACDEG'],
  [not(filter('seats', 'nin', 2)), 'BCDFG'],
  [not(filter('seats', 'gt', 2)), 'BCDFG'],
  [not(filter('seats', 'in')), EVERY],
  [not(filter('price', 'lt', 10)), 'ABCEF'],
  [not(filter('sold', 'in', true)), 'ACDEFG'],
  [not(filter('day', 'gte', '2024-03-01')), 'ABCDEF'],
  [not(filter('at', 'in', '2024-02-29T23:00:00.000Z')), 'ADEFG'],
  [not(filter('name', 'prefix', 'alp')), 'BCDEFG'],
  [not(filter('name', 'like', '%lpha*')), 'CDEFG'],
  [not(filter('price', 'exists', true)), 'C'],
  [not(filter('price', 'exists', false)), 'ABDEFG'],
  [not(filter('model.year', 'exists', false)), 'ADEFG'],
  [not(filter('model.year', 'exists', true)), 'BCDEFG'],
  [not(filter('model.year', 'in', 1990)), 'BCDEFG'],
  [not(filter('model.name', 'nin', 'Clio')), 'ABDEFG'],
  [not(filter('tags', 'in', 'fast')), 'BDEFG'],
  [not(filter('tags', 'nin', 'red')), 'ADFG'],
  [not(filter('extra', 'exists', true)), 'BG'],
  [not(not(filter('seats', 'gt', 2))), 'AE'],
  [not(any(filter('seats', 'gt', 2), filter('price', 'in', 10))), 'CDG'],
  [not(all(filter('seats', 'gt', 2), filter('price', 'lt', 100))), 'BCDEFG'],
  [any(not(filter('seats', 'exists', true)), filter('sold', 'in', true)), 'BCDG'],
  [all(not(filter('sold', 'in', false)), not(filter('sold', 'in', true))), 'CDEG'],
]

/**
 * Makes trees of {@link LEAVES}, at most five deep, the same at each run. The codes that they let through follow from
 * those of their conditions.
 */
export function* growTrees(count: number): Generator<readonly [Filter[], string]> {
  let state = 1
  // The generator of Park and Miller.
  const below = (limit: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
  const grow = (depth: number): readonly [Filter, string] => {
    const kind = depth === 0 ? 0 : below(5)
    if (kind < 2) return LEAVES[below(LEAVES.length)] ?? [all(), EVERY]
    if (kind === 2) {
      const [each, found] = grow(depth - 1)
      return [not(each), keep(code => !found.includes(code))]
    }
    const parts = Array.from({ length: below(4) }, () => grow(depth - 1))
    const inner = parts.map(([each]) => each)
    return kind === 3
      ? [all(...inner), keep(code => parts.every(([, found]) => found.includes(code)))]
      : [any(...inner), keep(code => parts.some(([, found]) => found.includes(code)))]
  }
  for (let at = 0; at < count; at++) {
    const [leaf, some] = grow(0)
    const [tree, others] = grow(4)
    yield [[leaf, tree], keep(code => some.includes(code) && others.includes(code))]
  }
}

/** Keeps the codes of samples that pass. */
function keep(passes: (code: string) => boolean): string {
  return [...EVERY].filter(passes).join('')
}

/** Texts of a search, and the codes of the samples before G that it finds. */
const SEARCHES: readonly (readonly [text: string, expected: string])[] = [
  ['ALPHA', 'AB'],
  ['romeo alpha', 'B'],
  ['alpha b', 'B'],
  ['%', 'C'],
  ['_*', 'C'],
  ['clio', 'AB'],
]

/** Names, and words that find them: folded, and as they are but for capital letters of ASCII. */
const FOLDED: readonly (readonly [
  name: string,
  folded: readonly string[],
  plain: readonly string[],
])[] = [
  ['Mégane', ['megane', 'MÉGANE', 'me\u0301gane', 'gane'], ['mégane', 'MéGANE', 'gane']],
  ['STRASSE', ['strasse', 'ｓｔｒａｓｓｅ'], ['strasse']],
  ['Straße', ['STRAẞE', 'straße', 'stra'], ['straße', 'stra']],
  ['İzmir Ilık ı', ['izmir', 'i\u0307zmir', 'ilık', 'ı'], ['ilık', 'ı', 'İ']],
  ['한국어', ['한국', '\u1112\u1161\u11ab', 'ᄒ'], ['한국', '국어']],
  ['ΟΔΟΣ οδός', ['οδος', 'ΟΔΌΣ', 'οδοσ', 'σ'], ['ΟΔΟΣ', 'δό']],
  ['ﬁn Ⅷ ½ ¨x', ['fin', 'viii', '1⁄2', '¨x', 'x'], ['ﬁn', '½', '¨x']],
  ['हिन्दी ไทย', ['हिन्दी', 'ไทย'], ['हिन्दी', 'ไทย']],
  ['が ❤\ufe0f', ['か', '❤', '❤\ufe0f'], ['が', '❤']],
  ['Å Ω K', ['å', 'a', 'ω', 'k'], ['Å', 'Ω', 'K']],
  ['\u{10FFFF}\u0301 z\u0338', ['\u{10FFFF}', 'z'], ['\u{10FFFF}', 'z\u0338']],
]

/** Asserts that a list and a count find the items with these codes. */
export async function finds(store: Store, filters: FilterSet, expected: string): Promise<void> {
  const { items, total } = await store.list({ ...filters, sort: by() }, ALL, 'exact')
  const shown = JSON.stringify(filters)
  assert.equal(codes(items), expected, shown)
  assert.equal(total, expected.length, shown)
  assert.equal(await store.count(filters, 'exact'), expected.length, shown)
}

const filters: Checks = {
  async 'each operator finds and counts the right items, for each kind of field'(store) {
    await fill(store)
    for (const [each, expected] of LEAVES) await finds(store, { where: [each] }, expected)
  },
  async 'all filters must hold'(store) {
    await fill(store)
    for (const [where, expected] of FILTER_SETS) await finds(store, { where }, expected)
  },
  async 'groups and not: a condition holds or does not, also on an absent value and null'(store) {
    await fill(store)
    for (const [each, expected] of TREES) await finds(store, { where: [each] }, expected)
    for (const [where, expected] of growTrees(50)) await finds(store, { where }, expected)
  },
  async 'a search finds every word in one of the fields, ASCII letters in either case'(store) {
    await fill(store)
    const where = [filter('code', 'lt', 'G')]
    const paths = [['name'], ['code'], ['model', 'name']]
    for (const [text, expected] of SEARCHES) {
      await finds(store, { where, search: { text, paths, fold: true } }, expected)
    }
  },
  async 'a search that folds regards neither diacritics nor capital letters, whatever the script'(
    store,
  ) {
    for (const [at, [name]] of FOLDED.entries())
      await createOne(store, { code: `F${at}`, name, price: 0 })
    const { items } = await store.list({ where: [], sort: by() }, ALL, 'none')
    for (const fold of [true, false]) {
      const words = new Set(FOLDED.flatMap(([, folded, plain]) => (fold ? folded : plain)))
      for (const text of words) {
        const search = { text, paths: [['name']], fold }
        const found = await store.list({ where: [], search, sort: by() }, ALL, 'exact')
        const matches = matcher({ where: [], search }, new Map())
        const expected = items.filter(({ item }) => matches(item))
        assert.equal(codes(found.items), codes(expected), JSON.stringify(search))
        assert.equal(found.total, expected.length)
        const isOwn = ([, folded, plain]: (typeof FOLDED)[number]) =>
          (fold ? folded : plain).includes(text)
        const own = FOLDED.findIndex(isOwn)
        assert.ok(codes(found.items).includes(`F${own}`), JSON.stringify([text, fold]))
      }
    }
  },
  async 'a change is searched as it is, not as it was'(store) {
    const { id, version } = await createOne(store, { code: 'A', name: 'Mégane', price: 0 })
    const finds = async (text: string) => {
      const search = { text, paths: [['name'], ['model', 'name']], fold: true }
      return (await store.count({ where: [], search }, 'exact')) === 1
    }
    const values = { code: 'A', name: 'Zoé', price: 0, model: { name: 'Électrique' } }
    const changed = await updateOne(store, { id, version }, values)
    assert.deepEqual(
      [await finds('MEGANE'), await finds('zoe'), await finds('electrique zoe')],
      [false, true, true],
    )
    await updateOne(store, { id, version: changed?.version ?? '' }, { code: 'A', price: 0 })
    assert.deepEqual([await finds('zoe'), await finds('electrique')], [false, false])
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
    assert.ok(await deleteOne(store, { id, version }))
    assert.equal(await list('id', 'gt', id), 'DEFG')
  },
}

/** What a store must do where it filters. */
export const FILTERING: readonly CheckGroup[] = [['uuid', filters]]
