// Items of tables that exist already may have ids that no address can name: lists show them, and no request reads them.

import { COUNT, SEARCH } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { Filter, ValueFilter } from '../../store/filter.ts'

/** How long the search may take in one collection, in milliseconds. */
const MAX_TIME = 1000

/** Warns of items whose ids no address names, with their number; what cannot be counted within a second is left out. */
export async function warnOfUnaddressed(collection: CollectionDefinition): Promise<void> {
  const { name, store, shape } = collection
  const signal = AbortSignal.timeout(MAX_TIME)
  try {
    const count = await store.count({ where: [unaddressed(collection)] }, 'exact', { signal })
    if (!count) return
    const message = `${name}: no URL names ${count} ${count === 1 ? 'item' : 'items'}, because the ${shape.identity.name} is empty, contains a slash or a backslash, or is a name such as "count". Change these ids, or serve another column by idField.`
    process.emitWarning?.(message, { type: 'RestConventionsWarning', code: 'UNADDRESSED_IDS' })
  } catch {
    // It is advice: the first request tells what is wrong with the store.
  }
}

/** Finds ids as `invalidIdReason` refuses them, as far as filters can. */
function unaddressed({ shape, search, actions }: CollectionDefinition): Filter {
  const path = [shape.identity.name]
  const onCollection = [...actions.values()].filter(({ on }) => on === 'collection')
  const names = [COUNT, ...(search ? [SEARCH] : []), ...onCollection.map(each => each.name)]
  const filters: readonly ValueFilter[] = [
    { path, operator: 'in', values: [...names, '', '.', '..'] },
    { path, operator: 'like', values: ['%/%'] },
    { path, operator: 'like', values: ['%\\\\%'] },
  ]
  return { operator: 'any', filters }
}
