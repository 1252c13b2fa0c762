// Items in memory: the reference for what a store means.
import type { Item, Json, Scalar } from '../fields.ts'
import { comparer, keyComparer, matcher, type Selection, sortKeyOf } from '../selection.ts'
import {
  type Attempt,
  assemble,
  IDEMPOTENCY_ANSWER,
  IDEMPOTENCY_CLAIM,
  type Id,
  type Page,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type TotalMode,
  UnavailableError,
  UniqueError,
} from '../store.ts'
import { newVersion, nextInteger, nextUuid } from './ids.ts'
import { mergeShapes } from './shapes.ts'

export interface MemoryStoreOptions {
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: () => number
}

/** A store in memory: items are frozen, and the same object until the next write of theirs. */
export function memoryStore({ clock = Date.now }: MemoryStoreOptions = {}): Store {
  const rows = new Map<Id, Stored>()
  const attempts = new Map<string, { fingerprint: string; answer?: Json; at: number }>()
  let shape: Shape | undefined
  let last: Id | undefined
  let closed = false

  function begin(options?: StoreOptions): Shape {
    options?.signal?.throwIfAborted()
    if (closed) throw new UnavailableError('The store is closed')
    if (!shape) throw new TypeError('The store belongs to no collection yet')
    return shape
  }

  function checkUnique({ unique, identity }: Shape, item: Item): void {
    for (const set of unique) {
      const key = uniqueKey(item, set)
      if (key === undefined) continue
      for (const other of rows.values()) {
        if (other.id !== item[identity.name] && uniqueKey(other.item, set) === key) {
          throw new UniqueError(set)
        }
      }
    }
  }

  function select(own: Shape, { where, search, sort }: Selection): Stored[] {
    const test = matcher({ where, ...(search && { search }) }, own.fields)
    const compare = comparer(sort, own.fields)
    return [...rows.values()]
      .filter(row => test(row.item))
      .sort((one, other) => compare(one.item, other.item))
  }

  return {
    attach(next) {
      shape = shape ? mergeShapes(shape, next) : next
    },
    async get(id, options) {
      begin(options)
      return rows.get(id)
    },
    async list(selection, slice, total, options): Promise<Page> {
      const own = begin(options)
      const all = select(own, selection)
      const items = cut(all, selection, slice, own)
      return total === 'none' ? { items } : { items, total: all.length }
    },
    async count(selection, total: TotalMode, options) {
      const own = begin(options)
      return total === 'none' ? undefined : select(own, { ...selection, sort: [] }).length
    },
    async *stream(selection, options) {
      const own = begin(options)
      const all = select(own, selection)
      for (let at = 0; at < all.length; at += 500) {
        options?.signal?.throwIfAborted()
        yield all.slice(at, at + 500)
      }
    },
    async create(values, options) {
      const own = begin(options)
      const id = newId(own, values, last, clock())
      if (rows.has(id)) throw new UniqueError([own.identity.name])
      const now = clock()
      const date = new Date(now).toISOString()
      const item = frozen(assemble(own, id, values, date, date))
      checkUnique(own, item)
      if (id !== values[own.identity.name]) last = id
      const row = Object.freeze({ id, item, version: newVersion(), updatedAt: now })
      rows.set(id, row)
      const key = options?.idempotencyKey
      const attempt = key === undefined ? undefined : attempts.get(key)
      if (attempt) {
        attempt.answer = { ...row }
        attempt.at = now
      }
      return row
    },
    async update(id, version, values, options) {
      const own = begin(options)
      const old = rows.get(id)
      if (old?.version !== version) return undefined
      const now = clock()
      const created = own.createdAt === undefined ? '' : String(old.item[own.createdAt])
      const item = frozen(assemble(own, id, values, created, new Date(now).toISOString()))
      checkUnique(own, item)
      const row = Object.freeze({ id, item, version: newVersion(), updatedAt: now })
      rows.set(id, row)
      return row
    },
    async delete(id, version, options) {
      begin(options)
      return rows.get(id)?.version === version && rows.delete(id)
    },
    async begin(key, fingerprint, options): Promise<Attempt> {
      begin(options)
      const known = attempts.get(key)
      const age = known ? clock() - known.at : 0
      if (known?.answer !== undefined && age < IDEMPOTENCY_ANSWER) {
        return { state: 'done', fingerprint: known.fingerprint, answer: known.answer }
      }
      if (known && known.answer === undefined && age < IDEMPOTENCY_CLAIM) {
        return { state: 'running', fingerprint: known.fingerprint }
      }
      attempts.set(key, { fingerprint, at: clock() })
      return { state: 'new' }
    },
    async finish(key, answer, options) {
      begin(options)
      const known = attempts.get(key)
      if (answer === undefined) attempts.delete(key)
      else if (known) Object.assign(known, { answer: frozen(answer), at: clock() })
    },
    async close() {
      closed = true
      rows.clear()
      attempts.clear()
    },
  }
}

function cut(all: readonly Stored[], { sort }: Selection, slice: Slice, own: Shape): Stored[] {
  if ('offset' in slice) return all.slice(slice.offset, slice.offset + slice.limit)
  const { key, backward, limit } = slice
  const compare = keyComparer(sort, own.fields)
  const order = (row: Stored, place: readonly (Scalar | null)[]) =>
    compare(sortKeyOf(row.item, sort), place)
  if (backward) {
    const before = key ? all.filter(row => order(row, key) < 0) : all
    return before.slice(Math.max(0, before.length - limit))
  }
  return (key ? all.filter(row => order(row, key) > 0) : all).slice(0, limit)
}

function newId({ identity }: Shape, values: Item, last: Id | undefined, now: number): Id {
  const chosen = values[identity.name]
  if (identity.kind === 'text' && typeof chosen === 'string') return chosen
  if (identity.kind === 'integer') return nextInteger(typeof last === 'number' ? last : undefined)
  return nextUuid(typeof last === 'string' ? last : undefined, now)
}

function uniqueKey(item: Item, set: readonly string[]): string | undefined {
  const values = set.map(path => sortKeyOf(item, [{ path: path.split('.'), descending: false }])[0])
  return values.some(value => value === null) ? undefined : JSON.stringify(values)
}

/** A copy that nobody can change, at any depth. */
function frozen<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const copy = Array.isArray(value)
    ? value.map(frozen)
    : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, frozen(each)]))
  // A copy of a JSON value has its type.
  return Object.freeze(copy) as T
}
