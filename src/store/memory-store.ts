// Items in memory: the reference for what a store means. Every method answers at once, so each is atomic.

import { checkOptions, FUNCTION, type Rules, wholeFrom } from '../options.ts'
import { findField } from '../schema/fields.ts'
import { getValue, toPath } from '../schema/paths.ts'
import { hasOneType } from '../schema/scalars.ts'
import type { Item, Json, Scalar } from '../schema/values.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import { chosenId, createVersion, nextId } from './ids.ts'
import { MemoryIndex } from './memory-index.ts'
import { countOf, isWalkable, type Source, sliceOf } from './memory-select.ts'
import { sortKeyOf } from './selection.ts'
import { BATCH, indexesOf, mergeShapes } from './shapes.ts'
import {
  assemble,
  type Id,
  type Page,
  type Shape,
  type Store,
  type Stored,
  type StoreOptions,
  throwIfAborted,
  toAnswer,
  toPage,
  UnavailableError,
  UniqueError,
} from './store.ts'

export interface MemoryStoreOptions {
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined
  /** How many idempotency keys are kept, a day at most: the oldest go first. Default 100,000. */
  readonly keys?: number | undefined
}

const RULES: Rules<MemoryStoreOptions> = { clock: FUNCTION, keys: wholeFrom(1) }

/** What a store in memory is besides, for tests of its indexes. */
export interface MemoryStore extends Store {
  /** How many items lists, counts and streams have looked at so far: few where an index serves them. */
  readonly examined: number
}

/** The items that have the values of a unique set. */
interface Unique {
  readonly set: readonly string[]
  readonly owners: Map<string, Id>
}

/**
 * A store in memory, gone with the process. An item is frozen, and the same object until the next
 * write of it. Lists and counts that an index answers cost the same at any size; others look at all.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions('memoryStore', options, RULES)
  const { clock = Date.now, keys = 100_000 } = options
  const rows = new Map<Id, Stored>()
  const known = createIdempotencyRecords(clock, keys)
  let shape: Shape | undefined
  let indexes: readonly MemoryIndex[] = []
  let uniques: readonly Unique[] = []
  let last: Id | undefined
  let examined = 0
  let closed = false

  function open(options?: StoreOptions): Shape {
    throwIfAborted(options)
    if (closed) throw new UnavailableError('The store is closed')
    if (!shape) throw new TypeError('The store belongs to no collection yet')
    return shape
  }

  function source(options?: StoreOptions): Source {
    const { fields } = open(options)
    return {
      fields,
      indexes,
      read(id) {
        examined++
        return rows.get(id) as Stored // what an index names is there
      },
    }
  }

  /** Puts an item in the place of another, or of none; with neither index nor row touched on an error. */
  function put(own: Shape, old: Stored | undefined, id: Id, values: Item) {
    const now = clock()
    const date = new Date(now).toISOString()
    const created = (old && own.createdAt && getValue(old.item, [own.createdAt])) || date
    const item = freeze(assemble(own, id, values, String(created), date))
    for (const { set, owners } of uniques) {
      const key = uniqueKey(item, set)
      if (key !== undefined && (owners.get(key) ?? id) !== id) throw new UniqueError(set)
    }
    const stored = { id, item, version: createVersion(), updatedAt: now, printed: undefined }
    reindex(old?.item, item, id)
    rows.set(id, stored)
    return stored
  }

  function reindex(old: Item | undefined, item: Item | undefined, id: Id): void {
    for (const index of indexes) {
      const before = old && index.keysOf(old)
      const after = item && index.keysOf(item)
      if (before && after && before.every((value, at) => value === after[at])) continue
      if (before) index.remove(before)
      if (after) index.add(after)
    }
    for (const { set, owners } of uniques) {
      const before = old && uniqueKey(old, set)
      const after = item && uniqueKey(item, set)
      if (before !== undefined) owners.delete(before)
      if (after !== undefined) owners.set(after, id)
    }
  }

  const store: MemoryStore = {
    get examined() {
      return examined
    },
    attach(next) {
      const merged = shape ? mergeShapes(shape, next) : next
      const { fields, unique } = merged
      indexes = [[], ...indexesOf(merged)]
        .filter(paths => paths.every(path => hasOneType(findField(fields, toPath(path))?.kind)))
        .map(paths => new MemoryIndex(merged, paths))
      uniques = unique.map(set => ({ set, owners: new Map() }))
      shape = merged
      for (const { id, item } of rows.values()) reindex(undefined, item, id)
    },
    pages: 'key',
    idempotency: 'store',
    get(id, options) {
      open(options)
      return rows.get(id)
    },
    list(selection, slice, mode, options): Page {
      const wanted = slice.limit === 0 ? slice : { ...slice, limit: slice.limit + 1 }
      const { items, total } = sliceOf(selection, wanted, mode !== 'none', source(options))
      return toPage(items, slice, mode === 'none' ? undefined : total)
    },
    count(filters, mode, options) {
      const from = source(options)
      return mode === 'none' ? undefined : countOf(filters, from)
    },
    async *stream(selection, options) {
      const steps = isWalkable(selection, source(options))
      const limit = steps ? BATCH : rows.size
      for (let key: Json[] | undefined; ; ) {
        const from = source(options)
        // A key of what was just read, so of the types that the sort wants.
        const slice = { limit, key: key as Scalar[] | undefined, backward: false }
        const { items } = sliceOf(selection, slice, false, from)
        for (let at = 0; at < items.length; at += BATCH) {
          throwIfAborted(options)
          yield items.slice(at, at + BATCH)
        }
        const end = items.at(-1)
        if (!steps || !end || items.length < limit) return
        key = sortKeyOf(end.item, selection.sort)
      }
    },
    create(values, options) {
      const own = open(options)
      const key = options?.idempotencyKey
      if (key !== undefined) known.requireClaim(key)
      const id = chosenId(own.identity, values) ?? nextId(own.identity, last, clock())
      if (rows.has(id)) throw new UniqueError([own.identity.name])
      const stored = put(own, undefined, id, values)
      if (id !== values[own.identity.name]) last = id
      if (key !== undefined) known.complete(key, toAnswer(stored))
      return stored
    },
    update(id, version, values, options) {
      const own = open(options)
      const old = rows.get(id)
      if (old?.version !== version) return undefined
      return put(own, old, id, values)
    },
    delete(id, version, options) {
      open(options)
      const old = rows.get(id)
      if (old?.version !== version) return false
      reindex(old.item, undefined, id)
      return rows.delete(id)
    },
    claim(key, fingerprint, options) {
      open(options)
      return known.claim(key, fingerprint)
    },
    complete(key, answer, options) {
      open(options)
      known.complete(key, answer === undefined ? undefined : frozen(answer))
    },
    async close() {
      closed = true
      rows.clear()
      known.clear()
      indexes = []
      uniques = []
    },
  }
  return store
}

/** The values that no other item may have; `undefined` where one of them is null or absent. */
function uniqueKey(item: Item, set: readonly string[]): string | undefined {
  const values = set.map(path => getValue(item, toPath(path)) ?? null)
  return values.includes(null) ? undefined : JSON.stringify(values)
}

/** A copy that nobody can change, at any depth. */
function frozen<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  // A copy of a JSON value has its type.
  return (Array.isArray(value) ? Object.freeze(value.map(frozen)) : freeze({ ...value })) as T
}

/** Freezes an object of our own, with copies of what it holds. */
function freeze(own: Item): Item {
  for (const name of Object.keys(own)) {
    const value = own[name]
    if (typeof value === 'object' && value !== null) own[name] = frozen(value)
  }
  return Object.freeze(own)
}
