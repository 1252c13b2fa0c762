// The writes of one collection over HTTP: each is conditional on the version of its target.
import type {
  CallOptions,
  CreateOptions,
  ManyOptions,
  WriteOptions,
} from '../model/types/resource.ts'
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
import { type CollectionReads, isCount, isList, type UntypedItem } from './reads.ts'
import { wait } from './time.ts'
import { hashOf, versionOf } from './versions.ts'

/** Sends a write to an item or the collection. @param path what follows the path of the target. */
export type SendWrite = (
  method: string,
  target: unknown,
  body?: unknown,
  options?: WriteOptions,
  path?: string,
) => Promise<unknown>

/** How often `change` tries, and the first and the longest wait before it tries again, in milliseconds. */
const MAX_CHANGES = 100
const FIRST_CHANGE_WAIT = 10
const MAX_CHANGE_WAIT = 1_000

/** An entity tag that no item has: the server refuses the write. */
const NO_TAG = '""'

/** The writes of a collection. */
export function createWrites(
  place: CollectionPlace,
  { send }: ClientState,
  { get, read }: CollectionReads,
) {
  const { name } = place

  /** Finds the entity tag for the condition of a write; of an item that has changed one that no item has. */
  async function findTag(target: unknown, options: WriteOptions): Promise<string | undefined> {
    const { ifMatch, unconditional } = options
    if (ifMatch || unconditional) return ifMatch
    const version = options.version ?? (isObject(target) ? versionOf(target) : undefined)
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
    try {
      const reply = await send(method, printPath(target, place) + path, {
        place: name + path,
        headers: {
          'if-match': await findTag(target, options),
          prefer: printPreferences('return=representation', options),
        },
        body: toBody(body),
        options,
      })
      // An action may give anything.
      const { value, headers } = reply
      const fits = Array.isArray(body) ? isList(value) : isObject(value)
      if (!path && !fits) throw notAnAnswer(reply)
      remember([value].flat(), place, tagOf(headers))
      return value
    } catch (error) {
      if (!(error instanceof HttpError) || target === COLLECTION) throw error
      const { status, errors } = error
      const isGone = status === 404 && isObject(target) && !options.unconditional
      if (!isGone && status !== 412 && errors[0]?.type !== 'changed_meanwhile') throw error
      const theirs = await read(target, options).catch(toUndefined)
      // A 404 of an action may be about something else.
      throw isGone && theirs ? error : new ConflictError(error, { mine: body, theirs })
    }
  }

  /** Changes or deletes all items that match. */
  async function writeMany(
    method: string,
    filters: UntypedItem,
    body: unknown,
    options: ManyOptions = {},
  ): Promise<number> {
    const { maxAffected } = options
    const most = maxAffected === undefined ? '' : `max-affected=${maxAffected}`
    const reply = await send(method, name + printQuery(filters, place), {
      place: `${name}?`,
      headers: { prefer: printPreferences(most, options) },
      body,
      options,
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
        return await write('PATCH', item, body, options)
      } catch (error) {
        if (!(error instanceof ConflictError) || count >= MAX_CHANGES) throw error
      }
      const most = Math.min(FIRST_CHANGE_WAIT * 2 ** count, MAX_CHANGE_WAIT)
      await wait(Math.random() * most, options.signal)
    }
  }

  return {
    write,
    create: (item: unknown, options?: WriteOptions) => write('POST', COLLECTION, item, options),
    replace: (target: unknown, item: unknown, options?: WriteOptions) =>
      write('PUT', target, item, options),
    patch: (target: unknown, changes: unknown, options?: WriteOptions) =>
      write('PATCH', target, changes, options),
    change,
    delete: (target: unknown, options?: WriteOptions) =>
      write('DELETE', target, undefined, options),
    patchMany: (filters: UntypedItem, changes: unknown, options?: ManyOptions) =>
      writeMany('PATCH', filters, changes, options),
    deleteMany: (filters: UntypedItem, options?: ManyOptions) =>
      writeMany('DELETE', filters, undefined, options),
  }
}

/** Prints `Prefer` (RFC 7240). */
function printPreferences(preference: string, { dryRun }: CreateOptions): string | undefined {
  return [preference, dryRun && 'tx=rollback'].filter(Boolean).join() || undefined
}

/** Creates the error for a copy, and for an item of another library. */
export function foreignObject(name: string): TypeError {
  return new TypeError(
    `client.${name} did not give this object. Give the object itself, or { version: versionOf(it) } beside a copy`,
  )
}

/** Returns nothing for a 404, and throws any other error. */
function toUndefined(error: unknown): undefined {
  if (Object(error).status !== 404) throw error
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
