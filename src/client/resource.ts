// One collection over HTTP: its reads, its writes, its actions.
import type { Resource, WriteOptions } from '../model/types/resource.ts'
import { type ClientState, COLLECTION, type CollectionPlace, printPath, states } from './place.ts'
import { isObject, printQuery } from './query-string.ts'
import { createReads } from './reads.ts'
import { toPlain } from './send.ts'
import { versionOf } from './versions.ts'
import { createWrites, foreignObject } from './writes.ts'

const OPTIONS = /^(signal|ifMatch|unconditional|principal|dryRun|version|headers)$/

/** Creates the resources of a client. The types name the collections; the server answers any other name with 404. */
export function createResources<C extends object>(state: ClientState): C {
  const client = createProxy<C>({}, name => createResource(name, state))
  states.set(client, state)
  return client
}

/**
 * Creates the resource of a collection. Every other name of a property is an action.
 * @param trashOf for a trash: its collection. `restore` is called there.
 */
function createResource(name: string, state: ClientState, trashOf?: CollectionPlace): Resource {
  const place = { name, id: trashOf?.id ?? state.ids[name] ?? 'id', trashOf }
  const [get, reads] = createReads(place, state)
  const [write, writes] = createWrites(place, state, get, reads)
  const createAction =
    (action: string) =>
    async (...words: readonly unknown[]) => {
      const [target, body, options] = readWords(name, words)
      const method = state.methods[name]?.[action] ?? 'POST'
      if (method !== 'GET') return write(method, target, body, options, `/${action}`)
      const path = `${printPath(target, place)}/${action}${printQuery(toPlain(body))}`
      return (await get(path, options)).value
    }
  const actions = createProxy<Record<string, unknown>>({}, createAction)
  // The types of the collection describe these untyped functions.
  return createProxy<Resource>({ ...reads, ...writes, actions }, other =>
    other === 'trash' ? createResource(`${name}/trash`, state, place) : createAction(other),
  )
}

/**
 * Reads the arguments of an action. Its target is an id, an item that a client returned, or a copy with its version in the
 * options; the input and the options follow. A single object with the names of options alone is the options.
 */
function readWords(
  name: string,
  words: readonly unknown[],
): [target: unknown, body: unknown, options: WriteOptions] {
  const isOptions = (value: unknown): value is WriteOptions =>
    isObject(value) &&
    Object.keys(value).every(key => OPTIONS.test(key)) &&
    // An input may have a version too.
    (value.version === undefined || `${value.version}`.includes(` ${name}/`))
  const [first, second] = words
  const hasTarget =
    words.length > 2 ||
    (isObject(first)
      ? versionOf(first) || (isOptions(second) && second.version)
      : first !== undefined)
  const rest = hasTarget ? words.slice(1) : words
  const [body = {}, options = {}] = rest.length === 1 && isOptions(rest[0]) ? [{}, ...rest] : rest
  if (rest.length > 2 || !isOptions(options)) throw foreignObject(name)
  return [hasTarget ? first : COLLECTION, body, options]
}

/** Creates an object that makes its unknown properties when they are first read; the caller knows its type. */
export function createProxy<T extends object>(known: object, make: (name: string) => unknown): T {
  return new Proxy(known, {
    get(made: Record<PropertyKey, unknown>, name) {
      // A promise would call `then`, and `JSON.stringify` `toJSON`.
      if (typeof name === 'string' && !/^(then|toJSON)$/.test(name)) made[name] ??= make(name)
      return made[name]
    },
  }) as T // no type says what a proxy makes
}
