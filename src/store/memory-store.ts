// Items in memory: the reference for how a store behaves. Every method answers at once, so each is atomic.

import type { Awaitable, Item, Json } from '../base/values.ts'
import { checkOptions, FUNCTION, type Rules } from '../options.ts'
import { UnavailableError, UniqueError } from './errors.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import { chosenId, createVersion, nextId } from './ids.ts'
import { MemoryIndex } from './memory-index.ts'
import {
  countSelection,
  findEach,
  findSlice,
  groupSelection,
  type Source,
} from './memory-select.ts'
import {
  MEMORY,
  MEMORY_QUEUE,
  registerMemoryStore,
  runMemoryTransaction,
} from './memory-transaction.ts'
import { BATCH_ITEMS, toPage } from './page.ts'
import { cutPage, type PrintedStored } from './printed.ts'
import { areAtVersions, findUnchanged, writeEach } from './sets.ts'
import { indexesOf, mergeShapes } from './shapes.ts'
import {
  type Id,
  type KeepOptions,
  type Shape,
  type Store,
  type Stored,
  type StoredChange,
  type StoreOptions,
  throwIfAborted,
} from './store.ts'
import { StoreQueue } from './store-queue.ts'
import { UniqueValues } from './unique-values.ts'
import { assemble, buildAnswer } from './written.ts'

export interface MemoryStoreOptions {
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined
}

const RULES: Rules<MemoryStoreOptions> = { clock: FUNCTION }

type Writes = Required<
  Pick<Store, 'create' | 'update' | 'delete' | 'createAll' | 'updateAll' | 'deleteAll'>
>

/** A memory store as tests of its indexes see it. */
export interface MemoryStore extends Store {
  /** The number of items that lists, counts and streams have looked at: few where an index serves them. */
  readonly examined: number
}

/**
 * A store in memory, gone with the process. An item is frozen, and the same object until the next
 * write of it. Lists and counts that an index answers cost the same at any size; others look at all that
 * match. An index answers a sort in one direction.
 * @example
 * import { defineCollection, memoryStore } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions('memoryStore', options, RULES)
  const { clock = Date.now } = options
  const rows = new Map<Id, Stored>()
  const records = createIdempotencyRecords(options.clock)
  const turns = new StoreQueue()
  /** Made at the first write: Workers refuse randomness before the first request. */
  let prefix: string | undefined
  let written = 0
  /** The time of the last write, and its text: many writes come in one millisecond. */
  let time = Number.NaN
  let date = ''
  let attached: Shape | undefined
  let source: Source = { fields: new Map(), identity: '', indexes: [], revision: 0, examined: 0 }
  let uniques: readonly UniqueValues[] = []
  let last: Id | undefined
  let closed = false

  function open(options?: StoreOptions): Shape {
    throwIfAborted(options)
    if (closed) throw new UnavailableError('The store is closed')
    if (!attached) throw new TypeError('The store belongs to no collection yet')
    return attached
  }

  /** Makes the next state of an item. */
  function build(shape: Shape, id: Id, values: Item, old: Item | undefined): PrintedStored {
    const now = clock()
    if (now !== time) {
      time = now
      date = new Date(now).toISOString()
    }
    const created = (old && shape.createdAt && old[shape.createdAt]) || date
    const item = Object.freeze(assemble(shape, id, values, String(created), date, frozen))
    // Versions never come again: the prefix is of this store, the count of this process.
    prefix ??= createVersion().slice(0, 8)
    const version = `${prefix}${(written++).toString(36)}`
    // With `printed` all rows have one hidden class.
    return { id, item, version, updatedAt: now, printed: undefined }
  }

  /** Writes an item; an error leaves indexes and items untouched. */
  function put(shape: Shape, before: Stored | undefined, id: Id, values: Item): Stored {
    const old = before?.item
    const row = build(shape, id, values, old)
    for (const unique of uniques) unique.check(row.item, id)
    for (const unique of uniques) unique.replace(old, row.item, id)
    if (before) replaceRow(before, row)
    else addRow(row)
    return row
  }

  function createRow(shape: Shape, values: Item): Stored {
    const { identity } = shape
    const id = chosenId(identity, values) ?? nextId(identity, last, clock())
    if (rows.has(id)) throw new UniqueError([identity.name])
    const row = put(shape, undefined, id, values)
    if (id !== values[identity.name]) last = id
    return row
  }

  function addRow(row: Stored): void {
    for (const index of source.indexes) index.add(row)
    rows.set(row.id, row)
    source.revision++
  }

  function replaceRow(old: Stored, row: Stored): void {
    for (const index of source.indexes) if (index.replace(old, row)) source.revision++
    rows.set(row.id, row)
  }

  function removeRow(row: Stored): boolean {
    for (const index of source.indexes) index.remove(row)
    for (const unique of uniques) unique.replace(row.item, undefined, row.id)
    source.revision++
    return rows.delete(row.id)
  }

  function complete(key: string, answer: Json | undefined, options?: KeepOptions): void {
    records.complete(key, answer === undefined ? undefined : frozen(answer), options)
  }

  const writes: Writes = {
    create(values, options) {
      const shape = open(options)
      const key = options?.idempotencyKey
      if (key !== undefined) records.requireClaim(key)
      const row = createRow(shape, values)
      if (key !== undefined) complete(key, buildAnswer(options, row), options)
      return row
    },
    update(id, version, values, options) {
      const shape = open(options)
      const before = rows.get(id)
      if (before?.version !== version) return undefined
      const key = options?.idempotencyKey
      if (key !== undefined) records.requireClaim(key)
      const row = put(shape, before, id, values)
      if (key !== undefined) complete(key, buildAnswer(options, row), options)
      return row
    },
    delete(id, version, options) {
      open(options)
      const row = rows.get(id)
      if (row?.version !== version) return false
      const key = options?.idempotencyKey
      if (key !== undefined) {
        records.requireClaim(key)
        complete(key, buildAnswer(options, undefined), options)
      }
      return removeRow(row)
    },
    createAll(values, options) {
      const shape = open(options)
      return writeEach(values, each => createRow(shape, each), removeRow)
    },
    updateAll(changes, options) {
      const shape = open(options)
      const found = findUnchanged(changes, id => rows.get(id))
      const update = ({ before, values }: StoredChange) => put(shape, before, before.id, values)
      return (
        found &&
        writeEach(found, update, (row, { before }) => {
          for (const unique of uniques) unique.replace(row.item, before.item, row.id)
          replaceRow(row, before)
        })
      )
    },
    deleteAll(items, options) {
      open(options)
      if (!areAtVersions(items, id => rows.get(id))) return false
      for (const { id } of items) removeRow(rows.get(id) as Stored) // just found
      return true
    },
  }

  /** Runs work at once, without a promise, unless a transaction has to end before. */
  function inTurn<T>(work: () => Awaitable<T>): Awaitable<T> {
    return turns.waiting === 0 ? work() : turns.run(work)
  }

  const store: MemoryStore = {
    pages: 'key',
    idempotency: 'store',
    database: MEMORY,
    get examined() {
      return source.examined
    },
    attach(next) {
      const merged = attached ? mergeShapes(attached, next) : next
      const indexes = [[], ...indexesOf(merged)].map(paths => new MemoryIndex(merged, paths))
      source = { ...source, fields: merged.fields, identity: merged.identity.name, indexes }
      uniques = merged.unique.map(set => new UniqueValues(set))
      attached = merged
      for (const row of rows.values()) {
        for (const unique of uniques) unique.replace(undefined, row.item, row.id)
        addRow(row)
      }
    },
    get(id, options) {
      open(options)
      return rows.get(id)
    },
    list(selection, slice, mode, options) {
      open(options)
      const limit = slice.limit === 0 ? 0 : slice.limit + 1
      const { items, total } = findSlice(selection, slice, limit, mode !== 'none', source)
      const page = toPage(items, slice, mode === 'none' ? undefined : total)
      return cutPage(page, slice, options?.maxBytes)
    },
    count(filters, mode, options) {
      open(options)
      return mode === 'none' ? undefined : countSelection(filters, source)
    },
    countBy(filters, grouping, options) {
      open(options)
      return groupSelection(filters, grouping, source, options)
    },
    async *stream(selection, options) {
      open(options)
      const whole = { limit: rows.size, offset: 0 }
      const { items } = findSlice(selection, whole, rows.size, false, source)
      for (let at = 0; at < items.length; at += BATCH_ITEMS) {
        open(options)
        yield items.slice(at, at + BATCH_ITEMS)
      }
    },
    create: (values, options) => inTurn(() => writes.create(values, options)),
    update: (id, version, values, options) =>
      inTurn(() => writes.update(id, version, values, options)),
    delete: (id, version, options) => inTurn(() => writes.delete(id, version, options)),
    getMany(ids, options) {
      open(options)
      return ids.map(id => rows.get(id))
    },
    listEach(...[path, ids, selection, limit, options]) {
      open(options)
      return findEach([path, ids, selection, limit], source, id => rows.get(id))
    },
    createAll: (values, options) => inTurn(() => writes.createAll(values, options)),
    updateAll: (changes, options) => inTurn(() => writes.updateAll(changes, options)),
    deleteAll: (items, options) => inTurn(() => writes.deleteAll(items, options)),
    claim(key, fingerprint, options) {
      open(options)
      return records.claim(key, fingerprint)
    },
    complete(key, answer, options) {
      open(options)
      complete(key, answer, options)
    },
    transaction: runMemoryTransaction,
    async close() {
      // Transactions in line end first.
      if (MEMORY_QUEUE.busy) await MEMORY_QUEUE.run(async () => undefined, {})
      if (turns.waiting > 0) await turns.last
      closed = true
      rows.clear()
      records.clear()
      source = { ...source, indexes: [] }
      uniques = []
    },
  }
  registerMemoryStore(store, () => {
    const shape = open()
    return {
      turns,
      shape,
      source,
      uniques,
      now: clock,
      get last() {
        return last
      },
      set last(id) {
        last = id
      },
      get: id => rows.get(id),
      build: (id, values, old) => build(shape, id, values, old),
      requireClaim: records.requireClaim,
      apply(changes, answers) {
        for (const id of changes.keys()) {
          const row = rows.get(id)
          if (row) removeRow(row)
        }
        for (const row of changes.values()) {
          if (!row) continue
          for (const unique of uniques) unique.replace(undefined, row.item, row.id)
          addRow(row)
        }
        for (const [key, { answer, options: kept }] of answers) complete(key, answer, kept)
      },
    }
  })
  return store
}

/** Copies a value, frozen at any depth. */
function frozen(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const copy = value.map(frozen)
    Object.freeze(copy)
    return copy
  }
  // Not by a spread: V8 gives each clone that is frozen its own hidden class.
  const copy: Item = {}
  for (const [name, property] of Object.entries(value)) copy[name] = frozen(property)
  return Object.freeze(copy)
}
