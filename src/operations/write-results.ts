// What a write is answered with: the representation, a redirect, or nothing, as preferred and permitted.

import type { HeaderList } from '../http/message.ts'
import { cannotFollow } from '../http/method-override.ts'
import { printPreferences } from '../http/prefer.ts'
import type { Operation } from '../model/definition.ts'
import { type Awaitable, andThen } from '../schema/values.ts'
import type { Stored } from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { atCurrentParent } from './items.ts'
import { itemValidators } from './read.ts'
import { representChanged } from './serialize.ts'

const VARY_PREFER: readonly string[] = ['Prefer']

/** Decides what a change is answered with; `undefined` is a redirect to the item, of an action to its collection. */
export function chooseWriteResponse(context: OperationContext): OperationContext['returns'] {
  const { target, operation, suppressed, preferences, api, negotiated } = context
  const preferred = preferences.return
  const { collection, id } = target
  const gives = (name: Operation) =>
    collection.operations.has(name) && context.can(collection, name)
  const creates = operation === 'create'
  // A change shows an item to no client that could not read it; one that creates it has sent it.
  if (!creates && !gives('read') && !gives('list')) return 'minimal'
  if (suppressed) return 'representation'
  if (preferred) return preferred
  // A client that follows the redirect would repeat If-Match on the GET, and read 412 after a success.
  if (cannotFollow(context.request.headers)) return 'representation'
  // A page is left by a redirect, so that to load it again does not send its form again.
  if (api.changes === 'representation' && id !== undefined && !negotiated?.format.page)
    return 'representation'
  // Nor can a redirect be followed to where nothing is given.
  if (creates || gives(id === undefined ? 'list' : 'read')) return undefined
  return id === undefined ? 'minimal' : 'representation'
}

/** 201 with the created item. */
export function buildCreatedResult(
  request: OperationContext,
  stored: Stored,
): Awaitable<OperationResult> {
  const context = request.target.parent ? atCurrentParent(request, stored.item) : request
  context.keepUploads(stored.item)
  const { target, returns } = context
  const location = context.href({ ...target, kind: 'item', id: stored.id })
  const headers: HeaderList = ['Location', location]
  const minimal = returns === 'minimal'
  if (!minimal) headers.push('Content-Location', location)
  addApplied(headers, context)
  return andThen(minimal ? undefined : representChanged(context, stored), representation => ({
    status: 201,
    headers,
    representation,
    validators: itemValidators(stored, context.variant),
    vary: VARY_PREFER,
    value: stored.item,
    stored,
  }))
}

/**
 * `context.returns` was chosen by {@link chooseWriteResponse} when the head was read.
 * PUT and PATCH are answered 303 to the item, so that no client sends the write again; `Prefer` chooses
 * otherwise, and a client that could not follow gets the item at once.
 */
export async function buildChangedResult(
  request: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const context = atCurrentParent(request, stored.item)
  const { target, operation, returns } = context
  const item = { ...target, kind: 'item' } as const
  const common = { vary: VARY_PREFER, value: stored.item, stored }
  if (returns === 'representation') {
    return {
      ...common,
      status: 200,
      headers: addApplied(['Content-Location', context.href(item)], context),
      representation: await representChanged(context, stored),
      validators: itemValidators(stored, context.variant),
    }
  }
  if (returns === 'minimal') {
    // After a PUT no validator may be sent where the server added to what it was sent (RFC 9110 §9.3.4).
    const validators = operation === 'patch' ? itemValidators(stored, context.variant) : undefined
    return { ...common, status: 204, headers: addApplied([], context), validators }
  }
  return { ...common, status: 303, headers: ['Location', context.hrefAsRequested(item)] }
}

/** 200 with the last representation of a deleted item. */
export async function buildDeletedResult(
  context: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const minimal = context.returns === 'minimal'
  return {
    status: minimal ? 204 : 200,
    headers: addApplied([], context),
    representation: minimal ? undefined : await representChanged(context, stored),
    vary: VARY_PREFER,
    value: stored.item,
    stored,
  }
}

/** Adds `Preference-Applied` where the preference decided the answer (RFC 7240 §3). */
export function addApplied(
  headers: HeaderList,
  { preferences, returns }: OperationContext,
): HeaderList {
  if (returns && preferences.return === returns)
    headers.push('Preference-Applied', printPreferences({ return: returns }))
  return headers
}
