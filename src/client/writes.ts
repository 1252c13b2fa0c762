// The writes of one collection over HTTP: each is conditional on the version of its target.
import type { CallOptions, WriteOptions } from '../model/types/resource.ts'
import { ConflictError, HttpError, notAnAnswer } from './errors.ts'
import {
  type ClientState,
  COLLECTION,
  type CollectionPlace,
  printPath,
  remember,
  tagOf,
} from './place.ts'
import { isObject, printQuery } from './query-string.ts'
import { type CollectionReads, type Get, isList, type UntypedItem } from './reads.ts'
import { backOff } from './time.ts'
import { hashOf, versionOf } from './versions.ts'

/** Sends a write to an item or the collection. @param path what follows the path of the target. */
export type SendWrite = (
  method: string,
  target: unknown,
  body?: unknown,
  options?: WriteOptions,
  path?: string,
) => Promise<unknown>

/** An entity tag that no item has: the server refuses the write. */
const NO_TAG = '""'

/** The writes of a collection. */
export function createWrites(
  place: CollectionPlace,
  { send }: ClientState,
  get: Get,
  { read }: CollectionReads,
) {
  /** How often `change` tries, and the milliseconds before it tries again: each wait is twice as long, up to 1 s. */
  const MAX_CHANGES = 100
  const FIRST_CHANGE_WAIT = 10

  const { name } = place

  /** Finds the entity tag for the condition of a write; of an item that has changed one that no item has. */
  const findTag = async (target: unknown, options: WriteOptions): Promise<string | undefined> => {
    if (options.ifMatch || options.unconditional) return options.ifMatch
    const version = options.version ?? versionOf(target as object) // of an id it knows none
    if (version === undefined) {
      if (isObject(target)) throw foreignObject(name)
      return undefined
    }
    const path = printPath(target, place)
    const [source, of, hash] = version.split(' ')
    if (of !== path) return NO_TAG
    if (!hash) return source
    // An item of a list has no tag: it is read again.
    const { value, headers } = await get(path + source, options)
    return hashOf(value) === hash ? tagOf(headers) : NO_TAG
  }

  /** Writes on the condition of its target or its options. On a conflict it reads the current item for the error. */
  const write: SendWrite = async (method, target, body, options = {}, path = '') => {
    const at = (path && place.trashOf) || place
    try {
      const reply = await send(method, printPath(target, at) + path, {
        headers: {
          'if-match': await findTag(target, options),
          prefer: `return=representation${options.dryRun ? ',tx=rollback' : ''}`,
        },
        body: toBody(body),
        options,
      })
      // An action may give anything.
      const { value, headers } = reply
      const fits = Array.isArray(body) ? isList(value) : isObject(value)
      if (path[0] !== '/' && !fits) throw notAnAnswer(reply)
      remember(value, at, tagOf(headers))
      return value
    } catch (error) {
      if (!(error instanceof HttpError) || target === COLLECTION) throw error
      const { status, errors } = error
      const isGone = status === 404 && isObject(target) && !options.unconditional
      if (!isGone && status !== 412 && errors[0]?.type !== 'changed_meanwhile') throw error
      const theirs = await read(target, options).catch(reason => {
        if (Object(reason).status !== 404) throw reason
      })
      // A 404 of an action may be about something else.
      throw isGone && theirs ? error : new ConflictError({ ...error, mine: body, theirs })
    }
  }

  const change = async (
    target: unknown,
    decide: (item: UntypedItem) => unknown,
    options: CallOptions = {},
  ) => {
    for (let count = 1; ; count++) {
      const item = await read(target, options)
      const body = await decide(item)
      try {
        return await write('PATCH', item, body, options)
      } catch (error) {
        if (!(error instanceof ConflictError) || count >= MAX_CHANGES) throw error
      }
      await backOff(FIRST_CHANGE_WAIT, count, options.signal)
    }
  }

  const writes = {
    create: (item: unknown, options?: WriteOptions) => write('POST', COLLECTION, item, options),
    replace: (target: unknown, item: unknown, options?: WriteOptions) =>
      write('PUT', target, item, options),
    upsert: (key: object, item: unknown, options?: WriteOptions) =>
      write('PUT', COLLECTION, item, options, printQuery(key, place)),
    patch: (target: unknown, changes: unknown, options?: WriteOptions) =>
      write('PATCH', target, changes, options),
    change,
    delete: (target: unknown, options?: WriteOptions) =>
      write('DELETE', target, undefined, options),
  }
  return [write, writes] as const
}

/** Creates the error for a copy, and for an item of another library. */
export const foreignObject = (name: string): TypeError =>
  new TypeError(
    `client.${name}: this object has no version. Pass what it returned, or add { version: versionOf(it) }`,
  )

/** Converts a value with files to a form; its other properties are texts of JSON. */
function toBody(value: unknown): unknown {
  const entries = Object.entries(Object(value))
  if (!entries.some(([, each]) => each instanceof Blob)) return value
  const form = new FormData()
  for (const [name, each] of entries) {
    if (each instanceof Blob) form.append(name, each)
    else if (each !== undefined) form.append(`${name}:json`, JSON.stringify(each))
  }
  return form
}
