// Makes a whole store of a place that can list, read, write and remove items.
import type { Awaitable, Item } from '../base/values.ts'
import { UnavailableError, UniqueError } from '../store/errors.ts'
import { chosenId, createVersion, nextId } from '../store/ids.ts'
import { sliceItems } from '../store/memory-select.ts'
import type { PrintedStored } from '../store/printed.ts'
import { matcher, type Selection } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import {
  BATCH_ITEMS,
  type Id,
  type Shape,
  type Store,
  type Stored,
  type StoreOptions,
  throwIfAborted,
  toPage,
} from '../store/store.ts'
import { StoreQueue } from '../store/store-queue.ts'
import { UniqueValues } from '../store/unique-values.ts'
import { assemble } from '../store/written.ts'

/** A place that holds items: a file, a key-value store, another program. */
export interface ItemPlace {
  /** Reads all items, in any order. */
  all(): AsyncIterable<Stored> | Iterable<Stored>
  /** Reads one item. Default: it is looked for among all. */
  get?(id: Id): Awaitable<Stored | undefined>
  /** Writes an item in place of the one with its id, if there is one. */
  put(item: Stored): Awaitable<unknown>
  /** Removes an item that is there. */
  remove(item: Stored): Awaitable<unknown>
  /** Frees what the place holds. Default: nothing. */
  close?(): Awaitable<unknown>
}

/**
 * Makes a store of a place that can do little: filters, sorts, pages, ids, versions, dates and unique values
 * are made here. Each list and each write reads all items: it is for some thousand of them. Writes wait for
 * each other, so one process alone may write. Idempotency keys, and the newest counted id if its item is
 * deleted, are lost at a restart.
 */
export function scanStore(place: ItemPlace): Store {
  let attached: Shape | undefined
  let last: Id | undefined
  let closed = false
  const turns = new StoreQueue()

  function open(options?: StoreOptions): Shape {
    throwIfAborted(options)
    if (closed) throw new UnavailableError('The store is closed')
    if (!attached) throw new TypeError('The store belongs to no collection yet')
    return attached
  }

  async function select(
    filters: Pick<Selection, 'where' | 'search'>,
    options?: StoreOptions,
  ): Promise<Stored[]> {
    const passes = matcher(filters, open(options).fields)
    const found: Stored[] = []
    for await (const stored of place.all()) if (passes(stored.item)) found.push(copy(stored))
    throwIfAborted(options)
    return found
  }

  async function find(id: Id, options?: StoreOptions): Promise<Stored | undefined> {
    open(options)
    if (!place.get) return (await select({ where: [] }, options)).find(stored => stored.id === id)
    const found = await place.get(id)
    return found && copy(found)
  }

  async function write(id: Id, values: Item, old: Stored | undefined, all: readonly Stored[]) {
    const shape = open()
    const now = Date.now()
    const date = new Date(now).toISOString()
    const created = String((shape.createdAt && old?.item[shape.createdAt]) || date)
    const item = assemble(shape, id, structuredClone(values), created, date)
    for (const set of shape.unique) {
      const unique = new UniqueValues(set)
      for (const other of all) unique.replace(undefined, other.item, other.id)
      unique.check(item, id)
    }
    const stored: Stored = { id, item, version: createVersion(), updatedAt: now }
    await place.put(stored)
    return copy(stored)
  }

  return {
    pages: 'key',
    idempotency: 'process',
    attach(next) {
      attached = attached ? mergeShapes(attached, next) : next
    },
    get: find,
    async list(selection, slice, mode, options) {
      const found = await select(selection, options)
      const limit = slice.limit === 0 ? 0 : slice.limit + 1
      const items = sliceItems(found, selection.sort, slice, limit, open().fields)
      return toPage(items, slice, mode === 'none' ? undefined : found.length)
    },
    async count(filters, mode, options) {
      open(options)
      return mode === 'none' ? undefined : (await select(filters, options)).length
    },
    async *stream(selection, options) {
      const found = await select(selection, options)
      const whole = { limit: found.length, offset: 0 }
      const items = sliceItems(found, selection.sort, whole, found.length, open().fields)
      for (let at = 0; at < items.length; at += BATCH_ITEMS) {
        open(options)
        yield items.slice(at, at + BATCH_ITEMS)
      }
    },
    create: (values, options) =>
      turns.run(async () => {
        const { identity } = open(options)
        const all = await select({ where: [] }, options)
        let newest = last
        for (const { id } of all) {
          // Ids that clients choose say nothing of the next one.
          if (identity.kind !== 'text' && (newest === undefined || id > newest)) newest = id
        }
        const id = chosenId(identity, values) ?? nextId(identity, newest, Date.now())
        if (all.some(stored => stored.id === id)) throw new UniqueError([identity.name])
        const stored = await write(id, values, undefined, all)
        if (id !== values[identity.name]) last = id
        return stored
      }),
    update: (id, version, values, options) =>
      turns.run(async () => {
        const all = await select({ where: [] }, options)
        const old = all.find(stored => stored.id === id)
        return old?.version === version ? write(id, values, old, all) : undefined
      }),
    delete: (id, version, options) =>
      turns.run(async () => {
        const old = await find(id, options)
        if (old?.version !== version) return false
        await place.remove(old)
        return true
      }),
    async close() {
      closed = true
      await turns.last
      await place.close?.()
    },
  }
}

/** Copies an item for the server, which keeps its printed form in it. */
function copy({ printed: _printed, ...stored }: PrintedStored): Stored {
  return stored
}
