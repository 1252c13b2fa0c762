// Makes a whole store of a place that can list, read, write and remove items.

import type { Awaitable, Item } from '../base/values.ts'
import { countGroups } from '../store/count-groups.ts'
import { UnavailableError, UniqueError } from '../store/errors.ts'
import type { Group, Grouping } from '../store/groups.ts'
import { chosenId, createVersion, nextId } from '../store/ids.ts'
import { BATCH_ITEMS, toPage } from '../store/page.ts'
import type { PrintedStored } from '../store/printed.ts'
import { type FilterSet, matcher, type Selection } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import { sliceItems } from '../store/slice-items.ts'
import {
  type Id,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type StorePage,
  type TotalMode,
  throwIfAborted,
} from '../store/store.ts'
import { StoreQueue } from '../store/store-queue.ts'
import { UniqueValues } from '../store/unique-values.ts'
import { assemble, findNextDate } from '../store/written.ts'

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
  return new ScanStore(place)
}

/** Its methods are fields, so that `{ ...scanStore(place), list }` is a store too. */
class ScanStore implements Store {
  readonly pages = 'key'
  readonly idempotency = 'process'
  readonly #place: ItemPlace
  readonly #turns = new StoreQueue()
  #attached: Shape | undefined
  #last: Id | undefined
  #closed = false

  constructor(place: ItemPlace) {
    this.#place = place
  }

  readonly attach = (next: Shape): void => {
    this.#attached = this.#attached ? mergeShapes(this.#attached, next) : next
  }

  readonly get = async (id: Id, options?: StoreOptions): Promise<Stored | undefined> => {
    this.#open(options)
    if (!this.#place.get) return (await this.#all(options)).find(stored => stored.id === id)
    const found = await this.#place.get(id)
    return found && copy(found)
  }

  readonly list = async (
    selection: Selection,
    slice: Slice,
    mode: TotalMode,
    options?: StoreOptions,
  ): Promise<StorePage> => {
    const found = await this.#select(selection, options)
    const limit = slice.limit === 0 ? 0 : slice.limit + 1
    const items = sliceItems(found, { selection, slice, limit }, this.#open().fields)
    return toPage(items, slice, mode === 'none' ? undefined : found.length)
  }

  readonly count = async (
    filters: FilterSet,
    mode: TotalMode,
    options?: StoreOptions,
  ): Promise<number | undefined> => {
    this.#open(options)
    return mode === 'none' ? undefined : (await this.#select(filters, options)).length
  }

  readonly countBy = async (
    filters: FilterSet,
    grouping: Grouping,
    options?: StoreOptions,
  ): Promise<Group[]> => {
    const found = await this.#select(filters, options)
    return countGroups(found, () => true, grouping, this.#open().fields, options)
  }

  readonly stream = (selection: Selection, options?: StoreOptions): AsyncIterable<Stored[]> =>
    this.#stream(selection, options)

  async *#stream(selection: Selection, options?: StoreOptions): AsyncGenerator<Stored[]> {
    const found = await this.#select(selection, options)
    const limit = found.length
    const whole = { selection, slice: { limit, offset: 0 }, limit }
    const items = sliceItems(found, whole, this.#open().fields)
    for (let at = 0; at < items.length; at += BATCH_ITEMS) {
      this.#open(options)
      yield items.slice(at, at + BATCH_ITEMS)
    }
  }

  readonly create = (values: Item, options?: StoreOptions): Promise<Stored> =>
    this.#turns.run(async () => {
      const { identity } = this.#open(options)
      const all = await this.#all(options)
      let newest = this.#last
      for (const { id } of all) {
        // Ids that clients choose say nothing of the next one.
        if (identity.kind !== 'text' && (newest === undefined || id > newest)) newest = id
      }
      const id = chosenId(identity, values) ?? nextId(identity, newest, Date.now())
      if (all.some(stored => stored.id === id)) throw new UniqueError([identity.name])
      const stored = await this.#write(id, values, undefined, all)
      if (id !== values[identity.name]) this.#last = id
      return stored
    })

  readonly update = (
    id: Id,
    version: string,
    values: Item,
    options?: StoreOptions,
  ): Promise<Stored | undefined> =>
    this.#turns.run(async () => {
      const all = await this.#all(options)
      const old = all.find(stored => stored.id === id)
      return old?.version === version ? this.#write(id, values, old, all) : undefined
    })

  readonly delete = (id: Id, version: string, options?: StoreOptions): Promise<boolean> =>
    this.#turns.run(async () => {
      const old = await this.get(id, options)
      if (old?.version !== version) return false
      await this.#place.remove(old)
      return true
    })

  readonly close = async (): Promise<void> => {
    this.#closed = true
    await this.#turns.last
    await this.#place.close?.()
  }

  #open(options?: StoreOptions): Shape {
    throwIfAborted(options)
    if (this.#closed) throw new UnavailableError('The store is closed')
    if (!this.#attached) throw new TypeError('The store belongs to no collection yet')
    return this.#attached
  }

  #all(options?: StoreOptions): Promise<Stored[]> {
    return this.#select({ where: [] }, options)
  }

  async #select(filters: FilterSet, options?: StoreOptions): Promise<Stored[]> {
    const passes = matcher(filters, this.#open(options).fields)
    const found: Stored[] = []
    for await (const stored of this.#place.all()) if (passes(stored.item)) found.push(copy(stored))
    throwIfAborted(options)
    return found
  }

  async #write(id: Id, values: Item, old: Stored | undefined, all: readonly Stored[]) {
    const shape = this.#open()
    const now = findNextDate(Date.now(), old?.updatedAt)
    const date = new Date(now).toISOString()
    const created = String((shape.createdAt && old?.item[shape.createdAt]) || date)
    const item = assemble(shape, id, structuredClone(values), created, date)
    for (const set of shape.unique) {
      const unique = new UniqueValues(set)
      for (const other of all) unique.replace(undefined, other.item, other.id)
      unique.check(item, id)
    }
    const stored: Stored = { id, item, version: createVersion(), updatedAt: now }
    await this.#place.put(stored)
    return copy(stored)
  }
}

/** Copies an item for the server, which keeps its printed form in it. */
function copy({ printed: _printed, ...stored }: PrintedStored): Stored {
  return stored
}
