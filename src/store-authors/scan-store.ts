// A whole store made of the four things that the simplest place can do with items.
import type { Awaitable, Item, Json } from '../schema/values.ts'
import { chosenId, createVersion, nextId } from '../store/ids.ts'
import { keyComparer, matcher, type Selection, sortKeyOf } from '../store/selection.ts'
import { BATCH, mergeShapes } from '../store/shapes.ts'
import {
  assemble,
  type Id,
  type Page,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  throwIfAborted,
  toPage,
  UnavailableError,
  UniqueError,
} from '../store/store.ts'
import { UniqueValues } from '../store/unique-values.ts'

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
  let shape: Shape | undefined
  let last: Id | undefined
  let closed = false
  let turn: Promise<unknown> = Promise.resolve()

  function open(options?: StoreOptions): Shape {
    throwIfAborted(options)
    if (closed) throw new UnavailableError('The store is closed')
    if (!shape) throw new TypeError('The store belongs to no collection yet')
    return shape
  }

  async function select(
    filters: Pick<Selection, 'where' | 'search'>,
    options?: StoreOptions,
  ): Promise<Stored[]> {
    const passes = matcher(filters, open(options).fields)
    const found: Stored[] = []
    for await (const stored of place.all()) if (passes(stored.item)) found.push(stored)
    throwIfAborted(options)
    return found
  }

  /** @returns the items in their order, each with its place in it. */
  async function sorted(selection: Selection, options?: StoreOptions) {
    const compare = keyComparer(selection.sort, open(options).fields)
    const found = (await select(selection, options)).map(stored => ({
      stored,
      key: sortKeyOf(stored.item, selection.sort),
    }))
    return { found: found.sort((one, other) => compare(one.key, other.key)), compare }
  }

  async function find(id: Id, options?: StoreOptions): Promise<Stored | undefined> {
    open(options)
    if (place.get) return place.get(id)
    for await (const stored of place.all()) if (stored.id === id) return stored
    return undefined
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work)
    turn = result.catch(() => {})
    return result
  }

  async function write(id: Id, values: Item, old: Stored | undefined, all: readonly Stored[]) {
    const own = open()
    const now = Date.now()
    const date = new Date(now).toISOString()
    const created = String((own.createdAt && old?.item[own.createdAt]) || date)
    const item = assemble(own, id, structuredClone(values), created, date)
    for (const set of own.unique) {
      const unique = new UniqueValues(set)
      for (const other of all) unique.replace(undefined, other.item, other.id)
      unique.check(item, id)
    }
    const stored: Stored = { id, item, version: createVersion(), updatedAt: now }
    await place.put(stored)
    return copyOf(stored)
  }

  return {
    pages: 'key',
    idempotency: 'process',
    attach(next) {
      shape = shape ? mergeShapes(shape, next) : next
    },
    async get(id, options) {
      const found = await find(id, options)
      return found && copyOf(found)
    },
    async list(selection, slice, mode, options) {
      const { found, compare } = await sorted(selection, options)
      return cut(found, compare, slice, mode === 'none' ? undefined : found.length)
    },
    async count(filters, mode, options) {
      open(options)
      return mode === 'none' ? undefined : (await select(filters, options)).length
    },
    async *stream(selection, options) {
      const { found } = await sorted(selection, options)
      for (let at = 0; at < found.length; at += BATCH) {
        open(options)
        yield found.slice(at, at + BATCH).map(({ stored }) => copyOf(stored))
      }
    },
    create: (values, options) =>
      inTurn(async () => {
        const { identity } = open(options)
        const all = await select({ where: [] }, options)
        const newest = all.reduce<Id | undefined>((max, { id }) => later(max, id), last)
        // Ids that clients choose say nothing of the next one.
        const before = identity.kind === 'text' ? last : newest
        const id = chosenId(identity, values) ?? nextId(identity, before, Date.now())
        if (all.some(stored => stored.id === id)) throw new UniqueError([identity.name])
        const stored = await write(id, values, undefined, all)
        if (id !== values[identity.name]) last = id
        return stored
      }),
    update: (id, version, values, options) =>
      inTurn(async () => {
        const all = await select({ where: [] }, options)
        const old = all.find(stored => stored.id === id)
        return old?.version === version ? write(id, values, old, all) : undefined
      }),
    delete: (id, version, options) =>
      inTurn(async () => {
        const old = await find(id, options)
        if (old?.version !== version) return false
        await place.remove(old)
        return true
      }),
    async close() {
      closed = true
      await turn
      await place.close?.()
    },
  }
}

/** The server keeps the printed item in what it gets: what the place keeps stays without. */
function copyOf({ printed: _printed, ...stored }: Stored): Stored {
  return stored
}

function later(one: Id | undefined, other: Id): Id {
  return one === undefined || other > one ? other : one
}

type Compare = ReturnType<typeof keyComparer>

/** Cuts a slice out of all items of a list. */
function cut(
  found: readonly { readonly stored: Stored; readonly key: readonly Json[] }[],
  compare: Compare,
  slice: Slice,
  total: number | undefined,
): Page {
  let rest = found
  if ('offset' in slice) rest = found.slice(slice.offset)
  else {
    const { key, backward } = slice
    if (key) {
      rest = found.filter(each =>
        backward ? compare(each.key, key) < 0 : compare(each.key, key) > 0,
      )
    }
  }
  const size = slice.limit + 1
  const part = 'key' in slice && slice.backward ? rest.slice(-size) : rest.slice(0, size)
  const items = slice.limit === 0 ? [] : part.map(({ stored }) => copyOf(stored))
  return toPage(items, slice, total)
}
