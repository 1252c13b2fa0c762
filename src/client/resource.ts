// One collection over HTTP: its reads, its writes, its actions.
import type { Resource, WriteOptions } from '../model/types/resource.ts'
import { type ClientState, COLLECTION, type CollectionPlace, printPath } from './place.ts'
import { isObject, printQuery } from './query-string.ts'
import { type CollectionReads, createReads } from './reads.ts'
import { versionOf } from './versions.ts'
import { createWrites, foreignObject, type SendWrite } from './writes.ts'

const OPTIONS = ['signal', 'ifMatch', 'unconditional', 'principal', 'dryRun', 'version', 'headers']

/**
 * Creates the resource of a collection. Every other name of a property is an action.
 * @param methods of actions that are not POST.
 */
export function createResource(
  name: string,
  state: ClientState,
  methods: Readonly<Record<string, string>> = {},
): Resource {
  const place = { name, id: state.ids[name] ?? 'id' }
  const { get, ...reads } = createReads(place, state)
  const { write, ...writes } = createWrites(place, state, { get, ...reads })
  const actions = createProxy<Record<string, unknown>>(
    {},
    action =>
      (...words: readonly unknown[]) =>
        act({ place, get, write }, action, methods[action] ?? 'POST', words),
  )
  // The types of the collection describe these untyped functions.
  return createProxy<Resource>({ ...reads, ...writes, actions }, action => actions[action])
}

interface Acting {
  readonly place: CollectionPlace
  readonly get: CollectionReads['get']
  readonly write: SendWrite
}

/**
 * Runs an action. Its target is an id, an item that a client returned, or a copy with its version in the options; the
 * input and the options follow. A single object with the names of options alone is the options.
 */
async function act(
  { place, get, write }: Acting,
  action: string,
  method: string,
  words: readonly unknown[],
): Promise<unknown> {
  const [first] = words
  const { name } = place
  const isOptions = (value: unknown): value is WriteOptions =>
    isObject(value) &&
    Object.keys(value).every(key => OPTIONS.includes(key)) &&
    // An input may have a version too.
    (value.version === undefined || `${value.version}`.includes(` ${name}/`))
  const last = words.at(-1)
  const hasTarget =
    words.length > 2 ||
    (isObject(first)
      ? versionOf(first) || (words.length > 1 && isOptions(last) && last.version)
      : first !== undefined)
  const rest = hasTarget ? words.slice(1) : words
  const [body = {}, options = {}] = rest.length === 1 && isOptions(rest[0]) ? [{}, rest[0]] : rest
  const target = hasTarget ? first : COLLECTION
  if (rest.length > 2 || !isOptions(options)) throw foreignObject(name)
  if (method !== 'GET') return write(method, target, body, options, `/${action}`)
  const path = `${printPath(target, place)}/${action}${printQuery(Object(body))}`
  return (await get(path, options)).value
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
