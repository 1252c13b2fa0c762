// A page of an array: what a list handler of one's own needs beside the rules.
import type { Item } from '../base/values.ts'
import type { Found, Window } from '../pagination.ts'
import type { ParsedQuery } from '../query.ts'
import type { Fields } from '../schema/fields.ts'
import { comparer, keyComparer, matcher, sortKeyOf } from '../store/selection.ts'

/**
 * Finds the items of a page in an array: those that the query matches, sorted, from the window's offset or cursor.
 * Include, search and filters through relations are not done.
 */
export function findPage(
  items: readonly Item[],
  query: ParsedQuery,
  window: Window,
  fields: Fields,
): { readonly page: readonly Item[]; readonly found: Found } {
  const { sort } = query
  const matching = items.filter(matcher(query, fields)).sort(comparer(sort, fields))
  const { key, backward = false } = (window.by === 'cursor' && window.cursor) || {}
  const compare = keyComparer(sort, fields)
  const isBeyond = (item: Item) =>
    !key || compare(sortKeyOf(item, sort), key) * (backward ? -1 : 1) > 0
  const rest = window.by === 'cursor' ? matching.filter(isBeyond) : matching.slice(window.offset)
  const page = backward
    ? rest.slice(Math.max(0, rest.length - window.limit))
    : rest.slice(0, window.limit)
  const [firstKey, lastKey] = [page[0], page.at(-1)].map(item => item && sortKeyOf(item, sort))
  const [count, more, total] = [page.length, rest.length > page.length, matching.length]
  return { page, found: { count, more, total, firstKey, lastKey } }
}
