// What a collection whose lists may be followed needs.

import { assertValid } from '../../options.ts'
import type { CollectionDefinition } from '../types/definition.ts'

/** @throws TypeError */
export function checkLive({ name, store, visible, operations }: CollectionDefinition): void {
  assertValid(
    store.changes,
    `${name}: live: true needs a store that tells its changes. Use memoryStore(), or sqlStore({ db, create: true, changes: true }).`,
  )
  assertValid(
    typeof visible !== 'object',
    `${name}: live: true cannot follow visible: { through }, because a change of the other item would change the list. Give visible a function.`,
  )
  assertValid(operations.has('list'), `${name}: live: true needs the operation list. Add it.`)
}
