// What a write is answered with: the representation, a redirect, or nothing, as preferred and permitted.

import { getValue } from '../../base/paths.ts'
import { type Awaitable, andThen } from '../../base/values.ts'
import type { HeaderList } from '../../http/message.ts'
import { cannotFollow } from '../../http/method-override.ts'
import { printPreferences } from '../../http/prefer.ts'
import type { CollectionTarget } from '../../model/compile/routes.ts'
import { UPSERT } from '../../model/compile/unique-keys.ts'
import type { Stored } from '../../store/store.ts'
import { offers } from '../calls/authorize.ts'
import type { OperationContext, OperationResult, WriteResponse } from '../calls/context.ts'
import { itemValidators, representChanged } from '../calls/represent.ts'
import { VARY_PREFER } from '../reads/page.ts'
import type { Write } from './steps.ts'

/** Decides what a change is answered with; a redirect leads to the item, of an action to its collection. */
export function chooseWriteResponse(context: OperationContext): WriteResponse {
  const { target, operation, suppressed, preferences, api, negotiated } = context
  const preferred = preferences.return
  // An upsert also returns one item.
  const id = target.id ?? (operation === UPSERT ? '' : undefined)
  const creates = operation === 'create'
  // A client that cannot read an item does not get it after a change. One that creates it knows it.
  if (!creates && !offers(context, 'read', 'list')) return 'minimal'
  if (suppressed) return 'representation'
  if (preferred) return preferred
  // A client that follows the redirect would repeat If-Match on the GET, and read 412 after a success.
  if (cannotFollow(context.request.headers)) return 'representation'
  // An HTML form is answered by a redirect, so that reloading does not send it again.
  if (api.changes === 'representation' && id !== undefined && !negotiated?.format.page)
    return 'representation'
  // A redirect needs a target that the client may read, and that is there: what is only tried is not.
  if (creates || offers(context, id === undefined ? 'list' : 'read'))
    return preferences.tx === undefined ? 'redirect' : 'representation'
  return id === undefined ? 'minimal' : 'representation'
}

/** The address of an item: a hook or an action may have given it another parent than that of the path. */
export function toItemTarget(
  { version, collection, parent }: CollectionTarget,
  { id, item }: Stored,
): CollectionTarget {
  const below = parent && getValue(item, [parent.field]) === parent.id ? parent : undefined
  return { kind: 'item', version, collection, id, parent: below }
}

/** Answers 201 with the created item. */
export function buildCreatedResult(
  context: OperationContext,
  stored: Stored,
): Awaitable<OperationResult> {
  const { target, writeResponse } = context
  const location = context.href(toItemTarget(target, stored))
  const headers: HeaderList = ['Location', location]
  const minimal = writeResponse === 'minimal'
  if (!minimal) headers.push('Content-Location', location)
  addReturnApplied(headers, context)
  return andThen(minimal ? undefined : representChanged(context, stored), representation => ({
    status: 201,
    headers,
    representation,
    validators: itemValidators(stored, context.variant),
    vary: VARY_PREFER,
    stored,
  }))
}

/**
 * Answers a change as {@link chooseWriteResponse} has decided. PUT and PATCH are answered by a 303 to the item,
 * so that no client repeats the write; `Prefer` may choose otherwise.
 */
export function buildChangedResult(
  context: OperationContext,
  stored: Stored,
): Awaitable<OperationResult> {
  const { operation, writeResponse } = context
  const item = toItemTarget(context.target, stored)
  const common = { vary: VARY_PREFER, stored }
  if (writeResponse === 'representation') {
    return andThen(representChanged(context, stored), representation => ({
      ...common,
      status: 200,
      headers: addReturnApplied(['Content-Location', context.href(item)], context),
      representation,
      validators: itemValidators(stored, context.variant),
    }))
  }
  if (writeResponse === 'minimal') {
    // After a PUT no validator may be sent where the server added to what it was sent (RFC 9110 §9.3.4).
    const validators = operation === 'patch' ? itemValidators(stored, context.variant) : undefined
    return { ...common, status: 204, headers: addReturnApplied([], context), validators }
  }
  return { ...common, status: 303, headers: ['Location', context.hrefAsRequested(item)] }
}

/** Answers 200 with the last representation of a deleted item. */
export async function buildDeletedResult(
  context: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const minimal = context.writeResponse === 'minimal'
  return {
    status: minimal ? 204 : 200,
    headers: addReturnApplied([], context),
    representation: minimal ? undefined : await representChanged(context, stored),
    vary: VARY_PREFER,
    stored,
  }
}

export function answerCreated({ call, stored }: Write<'stored'>): Awaitable<OperationResult> {
  return buildCreatedResult(call, stored)
}

export function answerChanged({ call, stored }: Write<'stored'>): Awaitable<OperationResult> {
  return buildChangedResult(call, stored)
}

/** Answers a PUT, which may have created the item. */
export function answerReplaced(write: Write<'stored'>): Awaitable<OperationResult> {
  return write.current ? answerChanged(write) : answerCreated(write)
}

export function answerDeleted({ call, stored }: Write<'stored'>): Awaitable<OperationResult> {
  return buildDeletedResult(call, stored)
}

/** Adds `Preference-Applied` where the preference decided the answer (RFC 7240 §3). */
export function addReturnApplied(
  headers: HeaderList,
  { preferences, writeResponse }: OperationContext,
): HeaderList {
  if (preferences.return === writeResponse)
    headers.push('Preference-Applied', printPreferences({ return: writeResponse }))
  return headers
}
