// Where a collection and its items are, and what the resources of a client share.

import type { FetchOptions, Reply } from './fetch-reply.ts'
import { isObject } from './query-string.ts'
import type { Send } from './send.ts'
import { hashOf, versions } from './versions.ts'

/** What the resources of a client share. */
export interface ClientState {
  readonly send: Send
  /** The `fetch` of the options. */
  readonly fetch: FetchOptions['fetch']
  /** The address of the api, with its version. */
  readonly url: string
  /** Replies that may still be current, by what was requested; the oldest first. */
  readonly cache: Map<string, Reply>
  readonly max: number
  /** The names of ids that are not `id`, by collection. */
  readonly ids: Readonly<Record<string, string>>
  /** The methods of actions that are not POST, by collection and action. */
  readonly methods: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The states of clients, for what is not part of each. */
export const states = new WeakMap<object, ClientState>()

/** Finds the state of a client. @throws TypeError for anything else, and for a resource of a client */
export function stateOf(client: object, caller: string): ClientState {
  const state = states.get(client)
  if (!state) throw new TypeError(`${caller} takes a client first, what createClient returned`)
  return state
}

/** A collection of an api. */
export interface CollectionPlace {
  readonly name: string
  /** The name of the id. */
  readonly id: string
  /** For a trash: its collection. */
  readonly trashOf?: CollectionPlace | undefined
}

/** The target of a create, and of an action on the collection. */
export const COLLECTION = Symbol()

/**
 * Prints the path of an item, given by itself or by its id: `cars/7`; `cars` for the collection.
 * @throws TypeError for what is no id
 */
export function printPath(target: unknown, { name, id }: CollectionPlace): string {
  if (target === COLLECTION) return name
  const value = isObject(target) ? target[id] : target
  // A URL cannot have the segments `.` and `..`, escaped or not.
  if (typeof value === 'number' || (typeof value === 'string' && !/^\.{0,2}$/.test(value))) {
    // A dot would begin the extension of a format.
    return `${name}/${encodeURIComponent(value).replace(/\./g, '%2E')}`
  }
  throw new TypeError(
    `${name}: the ${id} must be a number or a string for URLs, not ${JSON.stringify(value)}`,
  )
}

/**
 * Remembers the versions of items, or of one.
 * @param source their entity tag; of items that were received without one the query that selects their fields.
 * @param included the names of what was added to each.
 */
export function remember(
  items: unknown,
  place: CollectionPlace,
  source = '',
  included: readonly string[] = [],
): void {
  const print = (item: object) => {
    const version = `${source} ${printPath(item, place)}`
    // JSON has no property that is undefined.
    const own = { ...item, ...Object.fromEntries(included.map(name => [name])) }
    return source[0] === '"' ? version : `${version} ${hashOf(own)}`
  }
  for (const item of [items].flat())
    if (isObject(item) && place.id in item) versions.set(item, print)
}

/** Reads the entity tag as a strong one: a proxy that compresses makes it weak, and `If-Match` needs it strong. */
export function tagOf(headers: Headers): string | undefined {
  return headers.get('etag')?.replace(/^W\//, '')
}
