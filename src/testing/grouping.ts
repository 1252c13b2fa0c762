// The store contract, counts by groups: keys of each kind, parts of dates, aggregates.
import assert from 'node:assert/strict'
import { toPath } from '../base/paths.ts'
import type { Scalar } from '../base/values.ts'
import type { AggregateWord, DatePart, Group, Grouping } from '../store/groups.ts'
import type { FilterSet } from '../store/selection.ts'
import type { Store } from '../store/store.ts'
import { type CheckGroup, type Checks, fill, filter } from './sample.ts'
import { createOne } from './write-items.ts'

/** A group as it is expected: its keys, its number of items, its aggregates. */
type Expected = readonly [
  keys: readonly (Scalar | null)[],
  count: number,
  ...values: readonly (number | string | null)[],
]

/** What the samples are grouped by, what is computed, and the groups. */
type ExpectedGroups = readonly [
  by: readonly string[],
  aggregates: readonly string[],
  groups: readonly Expected[],
]
const GROUPINGS: readonly ExpectedGroups[] = [
  [
    ['sold'],
    ['sum seats', 'avg seats', 'min price', 'max price'],
    [
      [[null], 4, 9007199254740991, 9007199254740991, -1e-7, 1e21],
      [[false], 2, 6, 3, 10, 10.5],
      [[true], 1, 2, 2, 10, 10],
    ],
  ],
  [
    ['model.name'],
    ['min model.year', 'max model.built', 'sum model.year', 'avg model.year'],
    [
      [[null], 4, null, null, 0, null],
      [['Clio'], 2, 1990, '1989-12-31T23:00:00.000Z', 1990, 1990],
      [['Twingo'], 1, null, null, 0, null],
    ],
  ],
  [
    ['at'],
    [],
    [
      [[null], 4],
      [['2024-02-29T22:30:00.000Z'], 1],
      [['2024-02-29T23:00:00.000Z'], 2],
    ],
  ],
  [
    ['at:day'],
    ['min at', 'max at'],
    [
      [[null], 4, null, null],
      [['2024-02-29'], 3, '2024-02-29T22:30:00.000Z', '2024-02-29T23:00:00.000Z'],
    ],
  ],
  [
    ['model.built:month'],
    [],
    [
      [[null], 6],
      [['1989-12'], 1],
    ],
  ],
  [
    ['day'],
    [],
    [
      [[null], 4],
      [['0001-01-01'], 1],
      [['2024-02-29'], 1],
      [['2024-03-01'], 1],
    ],
  ],
  [
    ['day:day'],
    [],
    [
      [[null], 4],
      [['0001-01-01'], 1],
      [['2024-02-29'], 1],
      [['2024-03-01'], 1],
    ],
  ],
  [
    ['day:month'],
    [],
    [
      [[null], 4],
      [['0001-01'], 1],
      [['2024-02'], 1],
      [['2024-03'], 1],
    ],
  ],
  [
    ['day:year'],
    ['min day', 'max day'],
    [
      [[null], 4, null, null],
      [['0001'], 1, '0001-01-01', '0001-01-01'],
      [['2024'], 2, '2024-02-29', '2024-03-01'],
    ],
  ],
  [
    ['price'],
    [],
    [
      [[null], 1],
      [[-1e-7], 1],
      [[0.1], 1],
      [[10], 2],
      [[10.5], 1],
      [[1e21], 1],
    ],
  ],
  [
    ['seats', 'sold'],
    [],
    [
      [[null, null], 3],
      [[2, false], 1],
      [[2, true], 1],
      [[4, false], 1],
      [[9007199254740991, null], 1],
    ],
  ],
  [
    ['sold', 'day:year', 'model.name'],
    [],
    [
      [[null, null, null], 2],
      [[null, null, 'Twingo'], 1],
      [[null, '2024', null], 1],
      [[false, '0001', null], 1],
      [[false, '2024', 'Clio'], 1],
      [[true, null, 'Clio'], 1],
    ],
  ],
  [[], ['max day'], [[[], 7, '2024-03-01']]],
]

/** Reads `at:month` and `sum price` as a request has them. */
function readGrouping(
  by: readonly string[],
  aggregates: readonly string[],
  limit = 1000,
): Grouping {
  return {
    keys: by.map(text => {
      const [path = '', part] = text.split(':')
      return { path: toPath(path), part: part as DatePart | undefined } // the parts of above
    }),
    aggregates: aggregates.map(text => {
      const [of, path = ''] = text.split(' ')
      return { of: of as AggregateWord, path: toPath(path) } // the words of above
    }),
    limit,
  }
}

async function countBy(
  store: Store,
  grouping: Grouping,
  filters: FilterSet = { where: [] },
): Promise<readonly Group[]> {
  // The cases need it.
  return (await store.countBy?.(filters, grouping)) ?? []
}

/** Prints groups in one order. */
function print(groups: readonly Group[]): string[] {
  return groups.map(({ keys, count, values }) => JSON.stringify([keys, count, ...values])).sort()
}

/** Asserts the groups of some items. */
async function groups(
  store: Store,
  [by, aggregates, expected]: ExpectedGroups,
  filters?: FilterSet,
): Promise<void> {
  const found = await countBy(store, readGrouping(by, aggregates), filters)
  const shown = JSON.stringify([by, aggregates, filters])
  assert.deepEqual(print(found), expected.map(each => JSON.stringify(each)).sort(), shown)
}

const grouping: Checks = {
  async 'items are counted by values of each kind, null and absent alike, with aggregates'(store) {
    await fill(store)
    for (const each of GROUPINGS) await groups(store, each)
  },
  async 'filters and a search leave items out of their groups'(store) {
    await fill(store)
    const where = [filter('price', 'gte', 10)]
    const some: Expected[] = [
      [[null], 1, 1e21],
      [[false], 2, 20.5],
      [[true], 1, 10],
    ]
    await groups(store, [['sold'], ['sum price'], some], { where })
    const search = { text: 'CLIO', paths: [['model', 'name']], fold: true }
    const clios: Expected[] = [[['Clio'], 2, 20.5]]
    await groups(store, [['model.name'], ['sum price'], clios], { where, search })
    const nothing = [filter('code', 'in', 'none')]
    await groups(store, [['sold'], ['sum price'], []], { where: nothing })
    const none: Expected = [[], 0, 0, null, null, null]
    const all = ['sum price', 'avg price', 'min price', 'max price']
    await groups(store, [[], all, [none]], { where: nothing })
  },
  async 'the dates that the store sets have parts, and so have those before 1970'(store) {
    const { item } = await createOne(store, {
      code: 'old',
      price: 1,
      at: '1969-12-31T23:59:59.999Z',
    })
    await createOne(store, { code: 'older', price: 2, at: '0001-01-01T00:30:00+01:00' })
    const created = String(item.created_at)
    await groups(store, [['created_at:year'], ['sum price'], [[[created.slice(0, 4)], 2, 3]]])
    const first = [filter('code', 'in', 'old')]
    const newest: Expected[] = [[[created], 1, created]]
    await groups(store, [['created_at'], ['max updated_at'], newest], { where: first })
    const days: Expected[] = [
      [['0000-12-31'], 1],
      [['1969-12-31'], 1],
    ]
    await groups(store, [['at:day'], [], days])
  },
  async 'of more groups than wanted there is one more'(store) {
    await fill(store)
    assert.equal((await countBy(store, readGrouping(['code'], [], 7))).length, 7)
    assert.equal((await countBy(store, readGrouping(['code'], [], 6))).length, 7)
    assert.equal((await countBy(store, readGrouping(['code'], [], 1))).length, 2)
  },
  async 'sums of whole numbers are exact, and a long text may be cut after 257 characters'(store) {
    const name = '\u{1F600}'.repeat(300)
    await createOne(store, { code: 'A', name, price: 0.1, seats: 2 ** 52 })
    await createOne(store, { code: 'B', name, price: 0.2, seats: 2 ** 52 - 1 })
    const [found] = await countBy(store, readGrouping(['name'], ['sum seats', 'avg seats']))
    assert.deepEqual(found?.values, [2 ** 53 - 1, (2 ** 53 - 1) / 2])
    assert.equal(found?.count, 2)
    const [key] = found?.keys ?? []
    assert.ok(typeof key === 'string' && name.startsWith(key) && [...key].length > 256)
  },
}

/** What a store must do where it counts by groups. */
export const GROUPING: readonly CheckGroup[] = [['integer', grouping, 'countBy']]
