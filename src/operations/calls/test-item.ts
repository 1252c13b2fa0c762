// Whether filters hold for one item at hand, which its store may not have yet. What they reach in other collections is
// looked up.

import { getValue } from '../../base/paths.ts'
import { type Awaitable, andThen, type Item } from '../../base/values.ts'
import type { Fields } from '../../schema/fields.ts'
import {
  type Filter,
  type FilteredOptions,
  isLeaf,
  listLeaves,
  type WithinFilter,
} from '../../store/filter.ts'
import { matcher } from '../../store/selection.ts'
import { isListed, needsStore } from '../../store/unreadable.ts'

export type ItemTest = (item: Item) => Awaitable<boolean>

/** @param options of the calls of stores. */
export function testOf(
  where: readonly Filter[],
  fields: Fields,
  options: FilteredOptions,
): ItemTest {
  if (listLeaves(where).every(({ operator }) => operator !== 'within'))
    return matcher({ where }, fields)
  return all(
    where.map(filter => testOne(filter, fields, options)),
    true,
  )
}

function testOne(filter: Filter, fields: Fields, options: FilteredOptions): ItemTest {
  if (isLeaf(filter)) {
    return filter.operator === 'within'
      ? testWithin(filter, options)
      : matcher({ where: [filter] }, fields)
  }
  if (filter.operator === 'not') {
    const test = testOne(filter.filter, fields, options)
    return item => andThen(test(item), holds => !holds)
  }
  const tests = filter.filters.map(each => testOne(each, fields, options))
  return all(tests, filter.operator === 'all')
}

/** Holds where all tests hold; with `false` where any does. The first one that decides ends it. */
function all(tests: readonly ItemTest[], expected: boolean): ItemTest {
  const from = (at: number, item: Item): Awaitable<boolean> => {
    const test = tests[at]
    if (!test) return expected
    return andThen(test(item), holds => (holds === expected ? from(at + 1, item) : holds))
  }
  return item => from(0, item)
}

function testWithin({ path, within }: WithinFilter, options: FilteredOptions): ItemTest {
  const { store, fields, identity, where, key } = within
  const test = testOf(where, fields, options)
  return item => {
    const value = getValue(item, path)
    if (typeof value !== 'string' && typeof value !== 'number') return false
    if (!key)
      return andThen(store.find([value], options), ([found]) => {
        if (!found || !needsStore(found.item, where, fields))
          return found ? test(found.item) : false
        return isListed(value, where, { store, identity, options })
      })
    const own: Filter = { path: key, operator: 'in', values: [value] }
    const selection = { where: [own, ...where], sort: [{ path: key, descending: false }] }
    const found = store.list(selection, ONE, 'none', options)
    return andThen(found, ({ items }) => items.length > 0)
  }
}

const ONE = { limit: 1, offset: 0 }
