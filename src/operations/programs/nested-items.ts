// Items with what they include, for programs: each included item is one of its collection, with its version.

import type { Item, Json } from '../../base/values.ts'
import { type Issue, throwIfAny } from '../../errors.ts'
import type { NestedItem } from '../../formats/nested.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { parseInclude } from '../../query/include.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { requireItem } from '../calls/items.ts'
import { findProgramScope } from '../calls/program-filters.ts'
import { type ProgramItem, toProgramItem } from '../calls/program-items.ts'
import { protect } from '../calls/protect.ts'
import { runBefore } from '../calls/run-hooks.ts'
import { type Level, prepareIncludes, readIncluded } from '../reads/include.ts'

/** Prepares an item and what it includes for a program. */
export function toProgramNested(
  collection: CollectionDefinition,
  { stored, item, names, parts }: NestedItem,
  levels: readonly Level[],
): ProgramItem {
  const own = item === stored.item ? protect(collection, item) : item
  if (levels.length === 0) return toProgramItem(collection, stored, own)
  // With the properties that are protected, and enumerated nowhere.
  const nested: Item = Object.create(Object.prototype, Object.getOwnPropertyDescriptors(own))
  for (const [at, level] of levels.entries()) {
    const part = parts[at] ?? null
    const { collection: related } = level.context.target
    const toItem = (each: NestedItem) => toProgramNested(related, each, level.inner) as Json // an item is JSON
    nested[names.names[at] ?? ''] = part && ('stored' in part ? toItem(part) : part.map(toItem))
  }
  return toProgramItem(collection, stored, nested)
}

/** Reads an item of the target with what a program wants it to include. @throws HttpError 400, 404 */
export async function readWithIncluded(
  context: OperationContext,
  names: readonly string[],
): Promise<OperationResult> {
  const { collection } = context.target
  const issues: Issue[] = []
  const include = parseInclude(names.join(','), findProgramScope(collection), issues)
  throwIfAny(issues)
  const levels = prepareIncludes(context, include)
  const stored = await requireItem(context)
  await runBefore(context, { stored }, undefined)
  const { nested } = await readIncluded(context, levels, [stored], { include })
  const view = context.resultView(collection)
  const value = nested.map(each => toProgramNested(view, each, levels))[0]
  return { status: 200, headers: [], stored, value }
}
