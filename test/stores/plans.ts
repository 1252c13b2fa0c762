// Lists that a database must answer by an index, of 20,000 cars. From the second on, car n has the
// year n, the price n % 3000, the color c(n % 500), and is made n seconds after 2024 began.
import type { Filter } from '../../src/store/filter.ts'
import type { Slice } from '../../src/store/store.ts'
import { is } from './selections.ts'

const first: Slice = { limit: 25, offset: 0 }
const after = (...key: (number | string | null)[]): Slice => ({ limit: 25, key, backward: false })
const before = (...key: (number | string)[]): Slice => ({ limit: 25, key, backward: true })
const red = is('color', 'in', 'c1')

type List = [name: string, where: Filter[], sort: string, slice: Slice]

export const LISTS: readonly List[] = [
  ['the default list', [], '', first],
  ['the default list backwards', [], '-id', first],
  ['a cursor page', [], '', after(15_000)],
  ['the page before', [], '', before(15_000)],
  ['a sort', [], 'year', first],
  ['a cursor page of a sort', [], 'year', after(15_000, 15_000)],
  ['a cursor page in many equals', [], 'color', after('c250', 15_000)],
  ['the page before, of a sort', [], 'year', before(15_000, 15_000)],
  ['a cursor page downwards', [], '-year', after(15_000, 15_000)],
  ['a sort downwards, in many equals', [], '-color', first],
  ['a cursor page downwards, in many equals', [], '-color', after('c250', 15_000)],
  ['the page before, downwards in many equals', [], '-color', before('c250', 15_000)],
  ['a sort downwards, with nulls', [], '-price', first],
  ['a sort with nulls', [], 'price', first],
  ['a cursor page of a sort with nulls', [], 'price', after(1500, 15_000)],
  ['an equality', [red], '', first],
  ['a cursor page of an equality', [red], '', after(15_000)],
  ['an equality by the next column', [red], 'year', first],
  ['a range by its own order', [is('price', 'gte', 2990)], 'price', first],
  ['a date-time', [is('at', 'gt', '2024-01-02T00:00:00.000Z')], 'at', first],
  ['a dotted path', [is('model.year', 'in', 20)], '', first],
  ['a dotted path by its order', [], 'model.year', after(20, 20)],
  ['a prefix', [is('color', 'prefix', 'c11')], 'color,year', first],
  ['ids after one', [is('id', 'gt', 19_000)], '', first],
  ['creation dates', [is('created_at', 'gte', '2024-01-01T05:00:00.000Z')], 'created_at', first],
]

/** With those of which SQLite sorts a part or merges two answers, and the others do not. */
export const SERVER_LISTS: readonly List[] = [
  ...LISTS,
  ['a cursor page both ways', [], '-year,id', after(15_000, 15_000)],
  ['a cursor page from null', [], 'price', after(null, 150)],
  ['a cursor page of a sort with nulls, downwards', [], '-price', after(1500, 15_000)],
  ['the page before, of a sort with nulls', [], 'price', before(1500, 15_000)],
  ['one of several', [is('color', 'in', 'c1', 'c2')], '', first],
]
