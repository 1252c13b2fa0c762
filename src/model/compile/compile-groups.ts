// The fields by which items may be counted: the option `groups`.

import { toPath } from '../../base/paths.ts'
import { assertValid } from '../../options.ts'
import { GROUP_NAMES, type GroupKeys, listGroupKeys } from '../../query/groups.ts'
import type { Fields } from '../../schema/fields.ts'
import { invalidSortReason } from '../../store/sort.ts'
import type { Declaration } from '../types/declaration.ts'
import { requireField } from './require-field.ts'

/**
 * Compiles the keys of counts.
 * @throws TypeError for a field by which no items can be counted, and for a store that cannot count by groups.
 */
export function compileGroups(
  { name, groups = [], store }: Declaration,
  fields: Fields,
): GroupKeys {
  assertValid(
    groups.length === 0 || store.countBy,
    `${name}: groups needs a store that counts by groups, such as memoryStore() or sqlStore({ db })`,
  )
  for (const dotted of groups) {
    const reason = invalidSortReason(requireField(name, fields, 'groups', dotted))
    assertValid(!reason, `${name}: groups: "${dotted}" ${reason}: no items are counted by it`)
    const [head = ''] = toPath(dotted)
    assertValid(
      !GROUP_NAMES.has(head),
      `${name}: groups: "${dotted}" would stand beside the ${head} of each group. Rename the property, or leave it out`,
    )
  }
  return listGroupKeys(groups, fields)
}
