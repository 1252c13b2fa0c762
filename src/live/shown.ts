// What one stream shows: which items of a list, which of their properties, and how both are told of a change.

import { printJson } from '../base/exact-numbers.ts'
import { type Awaitable, andThen, type Item } from '../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { hashTexts } from '../http/conditional.ts'
import type { OperationContext } from '../operations/calls/context.ts'
import { authorizeInlineContents, toReadableItems } from '../operations/calls/represent.ts'
import { compileReaders, prepareQuery } from '../operations/reads/query.ts'
import type { ParsedQuery } from '../query.ts'
import type { StoreChanges } from '../store/changes.ts'
import { listLeaves } from '../store/filter.ts'
import { matcher } from '../store/selection.ts'
import type { Id, Stored } from '../store/store.ts'
import { namesUnreadable } from '../store/unreadable.ts'

/** What a principal sees of a list, at one moment. */
export interface Shown {
  /** Equal streams have the same. It changes with all that a client's copy of the list depends on. */
  readonly key: string
  /** @throws HttpError 400 for too many items. */
  requireShort(): Promise<void>
  /** Prints items, joined by commas. */
  print(items: readonly Pick<Stored, 'id' | 'item'>[]): Awaitable<string>
  /** Whether an item is in the list; absent where the store alone can tell, which nobody can resume: it knows no past. */
  readonly matches?: ((item: Item) => boolean) | undefined
  /** Whether it is unknown if the list has had an item, since a value of it cannot be read. */
  isUnknown(item: Item): boolean
  /** Finds which of these ids are in the list now, for a store that alone can tell. */
  find(ids: readonly Id[]): Promise<readonly Stored[]>
  /** Reads the whole list. */
  list(signal: AbortSignal): AsyncIterable<readonly Stored[]>
}

/**
 * Reads what the request of a list asks for.
 * @throws HttpError 400 for parameters that a live list cannot have; as a list does.
 */
export async function readShown(context: OperationContext): Promise<Shown> {
  const { api, target, parameters, queryKey, base } = context
  const { collection } = target
  const { fields, identity } = collection.shape
  refuseUnlive(context)
  const { query } = compileReaders(api)(collection)(context).list(parameters, undefined, queryKey)
  if (query.related) throwIfAny([refuse('where', 'has no filters through other collections')])
  // Clients put and remove items by their ids.
  const id = [identity.name]
  const { fields: named } = query
  const selected = named?.some(path => path.join() === id.join()) ? named : named && [...named, id]
  authorizeInlineContents(context, selected)
  const own = await prepareQuery(context, query)
  const selection = { ...own, where: [...collection.rows, ...own.where] }
  const store = context.storeOf(collection)
  const { changes } = store
  const isJudged = requireFollowed(context, selection, changes)
  // Only contents have URLs, which begin with the base.
  const start = collection.blobs ? base : ''
  const shape = [target.version.name, collection.name, collection.view?.tag ?? '', start]
  const asked = [JSON.stringify(selection.where), JSON.stringify(selected ?? null)]
  return {
    key: hashTexts([...shape, ...asked]),
    async requireShort() {
      const { maxLive } = api.limits
      const beyond = { limit: 1, offset: maxLive }
      const { items } = await store.list(selection, beyond, 'none', context.listOptions)
      if (items.length > 0) throw tooLong(maxLive)
    },
    print: items =>
      andThen(toReadableItems(context, items as readonly Stored[], selected), readable =>
        readable.map(each => printJson(each)).join(','),
      ),
    matches: isJudged ? undefined : matcher(selection, fields),
    isUnknown: item => namesUnreadable(item, selection.where),
    async find(ids) {
      const one = { path: [identity.name], operator: 'in', values: ids } as const
      const where = [one, ...selection.where]
      const page = { limit: ids.length, offset: 0 }
      return (await store.list({ ...selection, where }, page, 'none')).items
    },
    list: signal => store.stream(selection, { signal }),
  }
}

/** Parameters of a list that a live one cannot have, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  sort: 'has no order',
  limit: 'has no pages',
  offset: 'has no pages',
  cursor: 'has no pages',
  include: 'has no related items',
  q: 'has no search',
}

/** Parameters that are filters where a field has their name. */
const FILTERS = new Set(['include', 'q'])

/** @throws HttpError 400 */
function refuseUnlive({ parameters, target }: OperationContext): void {
  const { queryFields } = target.collection
  const names = new Set(parameters.map(({ name }) => name))
  const refused = Object.entries(REFUSED).filter(
    ([name]) => names.has(name) && !(FILTERS.has(name) && queryFields.has(name)),
  )
  throwIfAny(refused.map(([name, why]) => refuse(name, why)))
}

function refuse(field: string, why: string): Issue {
  const message = `${field} cannot be used with text/event-stream: a live list ${why}. Leave it out.`
  return { message, field, type: 'unknown_parameter' }
}

/**
 * Whether the store alone can tell what is in the list.
 * @throws TypeError for a row policy that reaches into other collections: their changes would change this list.
 */
function requireFollowed(
  { target: { collection } }: OperationContext,
  { where }: ParsedQuery,
  changes: StoreChanges | undefined,
): boolean {
  const leaves = listLeaves(where)
  if (leaves.some(({ operator }) => operator === 'within')) {
    throw new TypeError(
      `${collection.name}: visible compares items of other collections, whose changes live: true does not follow. Compare fields of this collection.`,
    )
  }
  return leaves.some(({ path: [name = ''] }) => changes?.judges?.(name))
}

function tooLong(most: number): HttpError {
  const message = `The list has more than ${most} items. Narrow it by filters.`
  return new HttpError(400, [{ message, type: 'too_many_live' }])
}
