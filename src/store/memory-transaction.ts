// Transactions in memory: each store's changes lie over its items until all of them are applied at once.

import type { Item, Json } from '../base/values.ts'
import { untilAborted } from './abort.ts'
import { countGroups } from './count-groups.ts'
import { UniqueError } from './errors.ts'
import { chosenId, nextId } from './ids.ts'
import type { MemoryRows } from './memory-rows.ts'
import { findSlice } from './memory-select.ts'
import { BATCH_ITEMS, toPage } from './page.ts'
import { cutPage } from './printed.ts'
import { matcher, type Selection } from './selection.ts'
import { areAtVersions, findUnchanged, writeEach } from './sets.ts'
import { sliceItems } from './slice-items.ts'
import {
  type Id,
  type KeepOptions,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type StorePage,
  type StoreWriteOptions,
  throwIfAborted,
} from './store.ts'
import { keepTransactions, refuseInTransaction, runInTurn, type StoreQueue } from './store-queue.ts'
import { TransactionQueue } from './transaction-queue.ts'
import { UniqueValues } from './unique-values.ts'
import { buildAnswer } from './written.ts'

/** What a write keeps under its idempotency key. */
interface KeptAnswer {
  readonly answer: Json | undefined
  readonly options: KeepOptions | undefined
}

/** A store in memory, as its transactions see it. */
export interface MemoryBase {
  readonly rows: MemoryRows
  readonly turns: StoreQueue
  /** @throws UnavailableError for a key without a claim. */
  readonly requireClaim: (key: string) => void
  readonly complete: (key: string, answer: Json | undefined, options?: KeepOptions) => void
}

/** All stores in memory are one database. */
export const MEMORY: object = { name: 'memory' }
/** Their transactions run one after another. */
export const MEMORY_QUEUE = new TransactionQueue(() => 1)

const bases = new WeakMap<Store, () => MemoryBase>()

/** Lets a store take part in transactions. @param open throws where the store takes no calls. */
export function registerMemoryStore(store: Store, open: () => MemoryBase): void {
  bases.set(store, open)
  keepTransactions(store)
}

/** `Store.transaction` of a store in memory. */
export async function runMemoryTransaction<T>(
  stores: readonly Store[],
  work: (stores: readonly Store[]) => Promise<T>,
  options: StoreOptions = {},
): Promise<T> {
  const bound = stores.map(store => {
    const open = bases.get(store)
    if (open) return open
    throw new TypeError(
      'A transaction in memory takes stores that memoryStore() has made, and no copies of them',
    )
  })
  const run = async (members: readonly MemoryBase[]) => {
    throwIfAborted(options)
    const overlays = members.map(base => new Overlay(base))
    try {
      const returned = await untilAborted(work(overlays.map(({ store }) => store)), options)
      for (const overlay of overlays) overlay.check()
      for (const overlay of overlays) overlay.apply()
      return returned
    } finally {
      for (const overlay of overlays) overlay.ended = true
    }
  }
  return MEMORY_QUEUE.run(() => {
    const members = bound.map(open => open())
    return runInTurn(
      members.map(({ turns }) => turns),
      () => run(members),
    )
  }, options)
}

const WHOLE = { limit: Number.POSITIVE_INFINITY, offset: 0 }

/** What one transaction does to one store. */
class Overlay {
  readonly store: Store
  ended = false
  readonly #base: MemoryBase
  readonly #rows: MemoryRows
  readonly #changes = new Map<Id, Stored | undefined>()
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #uniques: readonly UniqueValues[]
  #last: Id | undefined

  constructor(base: MemoryBase) {
    this.#base = base
    this.#rows = base.rows
    this.#last = base.rows.last
    this.#uniques = base.rows.uniques.map(({ set }) => new UniqueValues(set))
    this.store = this.#createStore()
  }

  /** @throws UnavailableError where a claim has expired meanwhile. */
  check(): void {
    for (const [key, { answer }] of this.#answers) {
      if (answer !== undefined) this.#base.requireClaim(key)
    }
  }

  apply(): void {
    this.#rows.last = this.#last
    this.#rows.apply(this.#changes)
    for (const [key, { answer, options }] of this.#answers) {
      this.#base.complete(key, answer, options)
    }
  }

  #open(options: StoreOptions | undefined): void {
    throwIfAborted(options)
    if (this.ended) throw new TypeError('The transaction has ended: its stores take no more calls')
  }

  #get(id: Id): Stored | undefined {
    return this.#changes.has(id) ? this.#changes.get(id) : this.#rows.get(id)
  }

  #create(values: Item): Stored {
    const { shape, clock } = this.#rows
    const { identity } = shape
    const id = chosenId(identity, values) ?? nextId(identity, this.#last, clock())
    if (this.#get(id)) throw new UniqueError([identity.name])
    const row = this.#put(id, values)
    if (id !== values[identity.name]) this.#last = id
    return row
  }

  #put(id: Id, values: Item): Stored {
    const old = this.#get(id)?.item
    const row = this.#rows.build(id, values, old)
    for (const [at, unique] of this.#rows.uniques.entries()) {
      const owner = unique.ownerOf(row.item)
      if (owner !== undefined && owner !== id && !this.#changes.has(owner)) {
        throw new UniqueError(unique.set)
      }
      this.#uniques[at]?.check(row.item, id)
    }
    this.#set(id, row)
    return row
  }

  #set(id: Id, row: Stored | undefined): void {
    const before = this.#changes.get(id)
    for (const unique of this.#uniques) unique.replace(before?.item, row?.item, id)
    this.#changes.set(id, row)
  }

  /** Lists the items of the store with the changes: as many more are read as the changes may replace. */
  #list(selection: Selection, slice: Slice, wantsTotal: boolean): StorePage {
    const { source } = this.#rows
    const limit = slice.limit === 0 ? 0 : slice.limit + 1
    const offset = 'offset' in slice ? slice.offset : 0
    const wide = 'offset' in slice ? { ...slice, offset: 0 } : slice
    const reach = limit === 0 ? 0 : offset + limit + this.#changes.size
    const found = findSlice(selection, wide, reach, wantsTotal, source)
    const matches = matcher(selection, source.fields)
    const items = found.items.filter(({ id }) => !this.#changes.has(id))
    let total = found.total ?? 0
    for (const [id, row] of this.#changes) {
      const old = this.#rows.get(id)
      if (old && matches(old.item)) total--
      if (!row || !matches(row.item)) continue
      total++
      items.push(row)
    }
    const sliced = sliceItems(items, selection.sort, slice, limit, source.fields)
    return toPage(sliced, slice, wantsTotal ? total : undefined)
  }

  #openWrite(options: StoreWriteOptions | undefined): void {
    this.#open(options)
    const key = options?.idempotencyKey
    if (key !== undefined) this.#base.requireClaim(key)
  }

  #answer(options: StoreWriteOptions | undefined, row: Stored | undefined): void {
    const key = options?.idempotencyKey
    if (key === undefined) return
    this.#answers.set(key, { answer: buildAnswer(options, row), options })
  }

  #createStore(): Store {
    const base = this.#base
    return {
      pages: 'key',
      idempotency: 'store',
      database: MEMORY,
      attach: refuseInTransaction,
      claim: refuseInTransaction,
      close: refuseInTransaction,
      get: (id, options) => {
        this.#open(options)
        return this.#get(id)
      },
      list: (selection, slice, mode, options) => {
        this.#open(options)
        return cutPage(this.#list(selection, slice, mode !== 'none'), slice, options?.maxBytes)
      },
      count: (filters, mode, options) => {
        this.#open(options)
        if (mode === 'none') return undefined
        return this.#list({ ...filters, sort: [] }, { limit: 0, offset: 0 }, true).total
      },
      countBy: (filters, grouping, options) => {
        this.#open(options)
        const { items } = this.#list({ ...filters, sort: [] }, WHOLE, false)
        return countGroups(items, () => true, grouping, this.#rows.source.fields, options)
      },
      stream: (selection, options) => this.#stream(selection, options),
      create: (values, options) => {
        this.#openWrite(options)
        const row = this.#create(values)
        this.#answer(options, row)
        return row
      },
      update: (id, version, values, options) => {
        this.#openWrite(options)
        if (this.#get(id)?.version !== version) return undefined
        const row = this.#put(id, values)
        this.#answer(options, row)
        return row
      },
      delete: (id, version, options) => {
        this.#openWrite(options)
        if (this.#get(id)?.version !== version) return false
        this.#answer(options, undefined)
        this.#set(id, undefined)
        return true
      },
      getMany: (ids, options) => {
        this.#open(options)
        return ids.map(id => this.#get(id))
      },
      createAll: (values, options) => {
        this.#open(options)
        return writeEach(
          values,
          each => this.#create(each),
          ({ id }) => this.#set(id, undefined),
        )
      },
      updateAll: (changes, options) => {
        this.#open(options)
        const found = findUnchanged(changes, id => this.#get(id))
        return (
          found &&
          writeEach(
            found,
            ({ before, values }) => this.#put(before.id, values),
            ({ id }, { before }) => this.#set(id, before),
          )
        )
      },
      deleteAll: (items, options) => {
        this.#open(options)
        if (!areAtVersions(items, id => this.#get(id))) return false
        for (const { id } of items) this.#set(id, undefined)
        return true
      },
      complete: (key, answer, options) => {
        this.#open(options)
        if (answer !== undefined) base.requireClaim(key)
        this.#answers.set(key, { answer, options })
      },
    }
  }

  async *#stream(...[selection, options]: Parameters<Store['stream']>) {
    this.#open(options)
    const { items } = this.#list(selection, WHOLE, false)
    for (let at = 0; at < items.length; at += BATCH_ITEMS) {
      this.#open(options)
      yield items.slice(at, at + BATCH_ITEMS)
    }
  }
}
