// The items of several ids, in stores that list them at once and in those that do not.
import type { Path } from '../base/paths.ts'
import type { Selection } from './selection.ts'
import type { EachLimit, Id, ListOptions, Store, StorePage } from './store.ts'
import { MAX_SET } from './writes.ts'

/**
 * Lists the items of each id, as `Store.listEach` does, for any number of ids. A store without it lists them one by one.
 * @param identity the name of the id.
 */
export async function listEach(
  store: Store,
  identity: string,
  [path, ids, selection, { each, all }]: EachParameters,
  options?: ListOptions,
): Promise<readonly StorePage[]> {
  const isPlain = selection.where.length === 0 && !selection.search
  if (!store.listEach && isPlain && path.join('.') === identity) {
    const found: StorePage[] = []
    for (let at = 0; at < ids.length; at += MAX_SET) {
      const set = await store.find(ids.slice(at, at + MAX_SET), options)
      found.push(...set.map(item => ({ items: item ? [item] : [], more: false })))
    }
    return found
  }
  const size = store.listEach ? MAX_SET : 1
  const pages: StorePage[] = []
  let left = all
  for (let at = 0; at < ids.length; at += size) {
    const set = ids.slice(at, at + size)
    const found = store.listEach
      ? await store.listEach(path, set, selection, { each, all: left }, options)
      : [
          await store.list(
            addFilter(selection, path, set),
            { limit: each, offset: 0 },
            'none',
            options,
          ),
        ]
    for (const page of found) {
      left -= page.items.length
      if (left < 0 && pages.length > 0) return pages
      pages.push(page)
    }
    if (found.length < set.length) return pages
  }
  return pages
}

/** Adds the filter that the value at a path is one of these ids. */
export function addFilter(selection: Selection, path: Path, values: readonly Id[]): Selection {
  const filter = { path, operator: 'in', values } as const
  return { ...selection, where: [filter, ...selection.where] }
}

/** The parameters of `Store.listEach` but its options. */
export type EachParameters = readonly [
  path: Path,
  ids: readonly Id[],
  selection: Selection,
  limit: EachLimit,
]
