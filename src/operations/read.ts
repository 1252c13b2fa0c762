// read (specification, "Resource operations"), and the validators of an item.
import { type Issue, throwIfAny } from '../errors.ts'
import { itemTag, type Validators } from '../http/conditional.ts'
import { checksum } from '../pagination.ts'
import { CACHE_BUSTER, RESERVED, readFields } from '../query.ts'
import type { Path } from '../schema/paths.ts'
import { type Awaitable, andThen } from '../schema/values.ts'
import type { Stored } from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { runBefore } from './hooks.ts'
import { requireItem } from './items.ts'
import { representItem, requireDownload, requireRoom } from './serialize.ts'

/** `GET /<collection>/<id>`. */
export function read(context: OperationContext): Awaitable<OperationResult> {
  const fields = context.parameters.length === 0 ? undefined : readItemFields(context)
  if (fields) requireDownload(context, fields)
  return andThen(requireItem(context), stored => {
    const { before } = context.target.collection.hooks
    if (before.size === 0) return buildItemResult(context, stored, fields)
    return andThen(runBefore(context, { stored }, undefined), () =>
      buildItemResult(context, stored, fields),
    )
  })
}

/** The `fields` of an item; no other parameter has a meaning there. @throws HttpError 400 */
function readItemFields({ parameters, target, api }: OperationContext): Path[] | undefined {
  const issues: Issue[] = []
  const fields = readFields(parameters, target.collection.selectableFields, issues, api.limits)
  for (const { name } of parameters) {
    if (RESERVED.has(name) || name === CACHE_BUSTER) continue
    const field = name.slice(0, 64)
    const message = `${field} has no meaning for a single item`
    issues.push({ message, field, type: 'unknown_parameter' })
  }
  throwIfAny(issues)
  return fields
}

function buildItemResult(
  context: OperationContext,
  stored: Stored,
  fields: readonly Path[] | undefined,
): Awaitable<OperationResult> {
  if (fields) requireRoom(context, [stored], fields)
  return andThen(representItem(context, stored, fields), representation => ({
    status: 200,
    headers: [],
    representation,
    validators: itemValidators(stored, context.variant, fields),
    value: stored.item,
    stored,
  }))
}

/** The validators of an item's representation: its version, its format, its selection of fields. */
export function itemValidators(
  stored: Stored,
  variant: string,
  fields?: readonly Path[],
): Validators {
  const selected = fields ? `${variant}.${checksum(fields.map(path => path.join('.')))}` : variant
  return { tag: itemTag(stored.version, selected), lastModified: lastModifiedOf(stored) }
}

/** The date for `Last-Modified`; none within the second of the change, where it says too little (RFC 9110 §8.8.2.1). */
export function lastModifiedOf({ updatedAt }: Pick<Stored, 'updatedAt'>): number | undefined {
  if (updatedAt === undefined) return undefined
  return Math.floor(updatedAt / 1000) < Math.floor(Date.now() / 1000) ? updatedAt : undefined
}
