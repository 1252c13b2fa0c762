// One collection over HTTP.
import type {
  CallOptions,
  ManyOptions,
  ReadOptions,
  Resource,
  WriteOptions,
} from '../model/types/resource.ts'
import { ConflictError, HttpError, notAnAnswer } from './errors.ts'
import { createList, findLink, type ReadPage } from './list.ts'
import { isObject, printQuery } from './query.ts'
import { type Reply, type Send, wait } from './send.ts'

/** What the resources of a client share. */
export interface ClientState {
  readonly send: Send
  /** Replies that may still be current, by preference and address; the oldest first. */
  readonly cache: Map<string, Reply>
  readonly max: number
  /**
   * The entity tags of received items by their collection, with quotes; of an item of a list the query that selects
   * its fields, and after a `#` the names of what it includes.
   */
  readonly sources: Map<string, WeakMap<object, string>>
}

/** Finds the entity tags of the items of a collection. */
export function findSources({ sources }: Pick<ClientState, 'sources'>, name: string) {
  const found = sources.get(name) ?? new WeakMap<object, string>()
  sources.set(name, found)
  return found
}

/** Prints the id of an item of a collection as a segment of a path. @throws TypeError for what is none. */
export function toSegment(value: unknown, name: string, id = 'id'): string {
  // A URL cannot have the segments `.` and `..`, escaped or not.
  if (typeof value === 'number' || (typeof value === 'string' && !/^\.{0,2}$/.test(value))) {
    // A dot would begin the extension of a format.
    return encodeURIComponent(value).replaceAll('.', '%2E')
  }
  throw new TypeError(
    `${name}: the ${id} must be a number, or a text that a URL can have, not ${JSON.stringify(value)}`,
  )
}

export interface ResourcePlace {
  readonly name: string
  readonly url: string
  /** The name of the id. */
  readonly id: string
  /** The methods of actions that are not POST. */
  readonly methods: Readonly<Record<string, string>>
}

type UntypedItem = Readonly<Record<string, unknown>>
type UntypedQuery = UntypedItem & {
  readonly limit?: number
  readonly fields?: readonly string[]
  readonly include?: readonly string[]
}

/** The target of a create, and of an action on the collection. */
const COLLECTION = Symbol()

const OPTIONS = ['signal', 'ifMatch', 'unconditional', 'principal', 'dryRun']

/** How often `change` tries, and the first and the longest wait before it tries again, in milliseconds. */
const MAX_CHANGES = 100
const FIRST_CHANGE_WAIT = 10
const MAX_CHANGE_WAIT = 1_000

/** Creates the resource of a collection. Every other name of a property is an action. */
export function createResource(place: ResourcePlace, state: ClientState): Resource {
  const { send, cache, max } = state
  const { name, url, id, methods } = place
  const sources = findSources(state, name)

  const toUrl = (target: unknown): string => {
    const value = isObject(target) ? target[id] : target
    if (value === COLLECTION) return url
    return `${url}/${toSegment(value, name, id)}`
  }

  /** Reads an address through the cache. A page of a walk is cached only if it is the whole list. */
  async function get<T>(
    address: string,
    signal: AbortSignal | undefined,
    fits: (value: unknown) => value is T = (_value): _value is T => true,
    prefer?: string,
    walks?: boolean,
  ): Promise<Reply<T>> {
    const entry = `${prefer} ${address}`
    const known = cache.get(entry)
    const headers = { prefer, 'if-none-match': known && tagOf(known.headers) }
    const fresh = await send({ method: 'GET', url: address, headers, signal })
    const reply = fresh.status === 304 && known ? known : fresh
    if (!fits(reply.value)) throw notAnAnswer(reply)
    const keeps = reply.headers.has('etag') && !(walks && findLink(reply.headers, 'next'))
    cache.delete(entry)
    if (keeps) cache.set(entry, reply)
    // The first one was not used for the longest time.
    for (const oldest of cache.keys()) if (cache.size > max) cache.delete(oldest)
    return reply as Reply<T> // it fits
  }

  /** Remembers the version of an item, and returns the item. */
  const remember = <T>({ value, headers }: Reply<T>): T => {
    if (isObject(value) && id in value) sources.set(value, tagOf(headers) ?? '')
    return value
  }

  const read = async (
    target: unknown,
    { signal, include }: ReadOptions = {},
  ): Promise<UntypedItem> =>
    remember(await get(toUrl(target) + printQuery({ include }, place), signal, isObject))

  function list(path: string, query: UntypedQuery, { signal }: CallOptions = {}, words?: string) {
    const headOf = (path: string) => path.split(/[.(]/)[0]
    const included = query.include?.map(headOf) ?? []
    const fields = query.fields?.filter(path => !included.includes(headOf(path)))
    const source = [printQuery({ fields }, place), ...included].join('#')
    const readPage: ReadPage<UntypedItem> = async (text, signal, counts, walks) => {
      const prefer = counts ? undefined : 'count=none'
      const received = await get(url + path + text, signal, isList, prefer, walks)
      for (const item of received.value) {
        if (!sources.has(item)) sources.set(item, source)
      }
      return received
    }
    const print = (limit?: number) => printQuery({ ...query, limit }, place, words)
    return createList(readPage, print, query.limit, signal)
  }

  /**
   * Finds the version of an item. An item of a list has none: it is read again.
   * @throws HttpError 412 if it has changed since it was listed.
   */
  async function findTag(target: UntypedItem, signal?: AbortSignal): Promise<string | undefined> {
    const source = sources.get(target)
    if (source === undefined) throw foreignObject(name)
    if (source.startsWith('"')) return source
    const [selected, ...included] = source.split('#')
    const now = await get(toUrl(target) + selected, signal, isObject).catch(toUndefined)
    // JSON has no property that is undefined.
    const own = { ...target, ...Object.fromEntries(included.map(name => [name])) }
    if (JSON.stringify(now?.value) === JSON.stringify(own)) return now && tagOf(now.headers)
    const message = 'The item was changed since the list'
    throw new HttpError(412, [{ message, code: 412, type: 'changed_meanwhile' }], new Headers())
  }

  /** Sends a write, with the condition of its target or its options. */
  async function write(
    method: string,
    target: unknown,
    body?: unknown,
    { signal, ifMatch, unconditional, dryRun }: WriteOptions = {},
    path = '',
  ): Promise<unknown> {
    const depends = isObject(target) && !ifMatch && !unconditional
    const tag = depends ? await findTag(target, signal) : ifMatch
    const reply = await send({
      method,
      url: toUrl(target) + path,
      place: name + path,
      headers: { 'if-match': tag, prefer: `return=representation${dryRun ? ', tx=rollback' : ''}` },
      body: toBody(body),
      signal,
    })
    // An action may give anything.
    const { value } = reply
    const isMany = Array.isArray(body) && isList(value)
    if (!path && !isMany && !isObject(value)) throw notAnAnswer(reply)
    // They have no version, as those of a list.
    if (isMany) for (const each of value) sources.set(each, '')
    return remember(reply)
  }

  /** Writes; on a conflict it reads the current item for the error. */
  const writeOnce: typeof write = async (method, target, mine, options, path) => {
    try {
      return await write(method, target, mine, options, path)
    } catch (error) {
      const isGone = isObject(target) && isStatus(error, 404) && !options?.unconditional
      if (target === COLLECTION || !(isGone || isConflict(error))) throw error
      const theirs = await read(target, { signal: options?.signal }).catch(toUndefined)
      // A 404 of an action may be about something else.
      throw isGone && theirs ? error : new ConflictError(error, { mine, theirs })
    }
  }

  /** Changes or deletes all items that match. */
  async function writeMany(
    method: string,
    filters: UntypedItem,
    body: unknown,
    { signal, maxAffected, dryRun }: ManyOptions = {},
  ): Promise<number> {
    const max = maxAffected === undefined ? [] : `max-affected=${maxAffected}`
    const prefer = [max, dryRun ? 'tx=rollback' : []].flat().join() || undefined
    const reply = await send({
      method,
      url: url + printQuery(filters, place),
      place: `${name}?`,
      headers: { prefer },
      body,
      signal,
    })
    if (!isCount(reply.value)) throw notAnAnswer(reply)
    return reply.value.count
  }

  async function change(
    target: unknown,
    decide: (item: UntypedItem) => unknown,
    options: CallOptions = {},
  ) {
    for (let count = 1; ; count++) {
      const item = await read(target, options)
      const body = await decide(item)
      try {
        return await (count < MAX_CHANGES ? write : writeOnce)('PATCH', item, body, options)
      } catch (error) {
        if (!isConflict(error) || count >= MAX_CHANGES) throw error
      }
      const most = Math.min(FIRST_CHANGE_WAIT * 2 ** count, MAX_CHANGE_WAIT)
      await wait(Math.random() * most, options.signal)
    }
  }

  /**
   * Runs an action. Its target is an id or an item that this client returned; the input and the options
   * follow. A single object with the names of options alone is the options.
   */
  async function act(action: string, words: readonly unknown[]): Promise<unknown> {
    const [first] = words
    const hasTarget = typeof first === 'object' ? sources.has(Object(first)) : first !== undefined
    const rest = hasTarget ? words.slice(1) : words
    const [body = {}, options = {}] = rest.length === 1 && isOptions(rest[0]) ? [{}, rest[0]] : rest
    const target = hasTarget ? first : COLLECTION
    const method = methods[action] ?? 'POST'
    if (rest.length > 2 || !isOptions(options)) throw foreignObject(name)
    if (method !== 'GET') return writeOnce(method, target, body, options, `/${action}`)
    const address = `${toUrl(target)}/${action}${printQuery(body as object)}`
    return (await get(address, options.signal)).value
  }

  const actions = createProxy<Record<string, unknown>>(
    {},
    action =>
      (...words: readonly unknown[]) =>
        act(action, words),
  )

  const resource = {
    list: (query: UntypedQuery = {}, options?: CallOptions) => list('', query, options),
    search: (words: string, query: UntypedQuery = {}, options?: CallOptions) =>
      list('/search', query, options, words),
    async count(filters: UntypedItem = {}, { signal }: CallOptions = {}) {
      const query = printQuery(filters, place, undefined, true)
      const { value } = await get(`${url}/count${query}`, signal, isCountOrGroups)
      return value.count ?? value
    },
    read,
    create: (item: unknown, options?: WriteOptions) => writeOnce('POST', COLLECTION, item, options),
    replace: (target: unknown, item: unknown, options?: WriteOptions) =>
      writeOnce('PUT', target, item, options),
    patch: (target: unknown, changes: unknown, options?: WriteOptions) =>
      writeOnce('PATCH', target, changes, options),
    change,
    delete: (target: unknown, options?: WriteOptions) =>
      writeOnce('DELETE', target, undefined, options),
    patchMany: (filters: UntypedItem, changes: unknown, options?: ManyOptions) =>
      writeMany('PATCH', filters, changes, options),
    deleteMany: (filters: UntypedItem, options?: ManyOptions) =>
      writeMany('DELETE', filters, undefined, options),
    actions,
  }
  // The types of the collection describe these untyped functions.
  return createProxy<Resource>(resource, action => actions[action])
}

/** Creates an object that makes its unknown properties when they are first read; the caller knows its type. */
export function createProxy<T extends object>(known: object, make: (name: string) => unknown): T {
  return new Proxy(known, {
    get(made: Record<PropertyKey, unknown>, name) {
      // A promise would call `then`, and `JSON.stringify` `toJSON`.
      if (typeof name !== 'symbol' && name !== 'then' && name !== 'toJSON' && !(name in made)) {
        made[name] = make(name)
      }
      return made[name]
    },
  }) as T // no type says what a proxy makes
}

function foreignObject(name: string): TypeError {
  return new TypeError(
    `client.${name} did not give this object. Give the object itself, or its id and { ifMatch }`,
  )
}

/** Reads the entity tag as a strong one: a proxy that compresses makes it weak, and `If-Match` needs it strong. */
function tagOf(headers: Headers): string | undefined {
  return headers.get('etag')?.replace(/^W\//, '')
}

export const isList = (value: unknown): value is readonly UntypedItem[] =>
  Array.isArray(value) && value.every(isObject)

const isCount = (value: unknown): value is { readonly count: number } =>
  typeof Object(value).count === 'number'

const isCountOrGroups = (value: unknown): value is { readonly count?: number } =>
  isCount(value) || isList(value)

function isOptions(value: unknown): value is WriteOptions {
  return isObject(value) && Object.keys(value).every(name => OPTIONS.includes(name))
}

function isStatus(error: unknown, status: number): error is HttpError {
  return error instanceof HttpError && error.status === status
}

function isConflict(error: unknown): error is HttpError {
  return (
    isStatus(error, 412) || (isStatus(error, 409) && error.errors[0]?.type === 'changed_meanwhile')
  )
}

/** Returns nothing for a 404, and throws any other error. */
function toUndefined(error: unknown): undefined {
  if (!isStatus(error, 404)) throw error
}

/** Converts a value with files to a form; its other properties are parts of JSON. */
function toBody(value: unknown): unknown {
  if (!isObject(value) || !Object.values(value).some(each => each instanceof Blob)) return value
  const form = new FormData()
  for (const [name, each] of Object.entries(value)) {
    const type = 'application/json'
    if (each !== undefined) {
      form.append(name, each instanceof Blob ? each : new Blob([JSON.stringify(each)], { type }))
    }
  }
  return form
}
