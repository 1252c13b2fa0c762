// Makes a whole store of a place that can list, read, write and remove items.

import type { Awaitable, Item } from '../base/values.ts'
import { countGroups } from '../store/count-groups.ts'
import { UnavailableError, UniqueError } from '../store/errors.ts'
import type { Group, Grouping } from '../store/groups.ts'
import { chosenId, createVersion, nextId } from '../store/ids.ts'
import { BATCH_ITEMS, toPage } from '../store/page.ts'
import type { PrintedStored } from '../store/printed.ts'
import { listIdFields } from '../store/relation-ids.ts'
import { type FilterSet, matcher, type Selection } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import { sliceItems } from '../store/slice-items.ts'
import {
  type Changes,
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
import { type Rows, writeRows } from '../store/writes.ts'
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

  readonly find = async (ids: readonly Id[], options?: StoreOptions) => {
    this.#open(options)
    const all = this.#place.get ? [] : await this.#all(options)
    const found: (Stored | undefined)[] = []
    for (const id of ids) {
      const stored = this.#place.get ? await this.#place.get(id) : all.find(each => each.id === id)
      found.push(stored && copy(stored))
    }
    return found
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

  readonly write = (changes: Changes, options?: StoreOptions) =>
    this.#turns.run(async () => {
      const shape = this.#open(options)
      const rows = new ScannedRows(shape, await this.#all(options), this.#last)
      const written = writeRows(changes, rows)
      if (!written) return undefined
      this.#last = rows.last
      for (const row of rows.removed) await this.#place.remove(row)
      for (const row of written) await this.#place.put(row)
      return written.map(copy)
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
}

/** All items, as one write sees and makes them. */
class ScannedRows implements Rows {
  /** The last id that the store has made, or has found. */
  last: Id | undefined
  readonly removed: Stored[] = []
  readonly #shape: Shape
  readonly #rows = new Map<Id, Stored>()
  readonly #uniques: readonly UniqueValues[]

  constructor(shape: Shape, all: readonly Stored[], last: Id | undefined) {
    this.#shape = shape
    this.#uniques = UniqueValues.of(shape)
    this.last = last
    for (const row of all) {
      this.restore(row)
      // Ids that clients choose say nothing of the next one.
      const { kind } = shape.identity
      if (kind !== 'text' && (this.last === undefined || row.id > this.last)) this.last = row.id
    }
  }

  get(id: Id): Stored | undefined {
    return this.#rows.get(id)
  }

  create(values: Item): Stored {
    const { identity } = this.#shape
    const id = chosenId(identity, values) ?? nextId(identity, this.last, Date.now())
    if (this.#rows.has(id)) throw new UniqueError(listIdFields(identity))
    const row = this.#build(id, values, undefined)
    if (id !== values[identity.name]) this.last = id
    return row
  }

  update(before: Stored, values: Item): Stored {
    return this.#build(before.id, values, before)
  }

  remove(row: Stored): void {
    for (const unique of this.#uniques) unique.replace(row.item, undefined, row.id)
    this.#rows.delete(row.id)
    this.removed.push(row)
  }

  restore(row: Stored): void {
    const { id, item } = row
    for (const unique of this.#uniques) unique.replace(this.#rows.get(id)?.item, item, id)
    this.#rows.set(id, row)
  }

  #build(id: Id, values: Item, before: Stored | undefined): Stored {
    const shape = this.#shape
    const now = findNextDate(Date.now(), before?.updatedAt)
    const date = new Date(now).toISOString()
    const created = String((shape.createdAt && before?.item[shape.createdAt]) || date)
    const item = assemble(shape, id, structuredClone(values), created, date)
    for (const unique of this.#uniques) unique.check(item, id)
    const updatedAt = shape.updatedAt === undefined ? undefined : now
    const row: Stored = { id, item, version: createVersion(), updatedAt }
    this.restore(row)
    return row
  }
}

/** Copies an item for the server, which keeps its printed form in it. */
function copy({ printed: _printed, ...stored }: PrintedStored): Stored {
  return stored
}
