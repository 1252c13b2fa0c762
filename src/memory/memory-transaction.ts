// Transactions in memory: each store's changes lie over its items until all of them are applied at once.

import { takeTurnIfDue } from '../base/turns.ts'
import { type Awaitable, andThen, type Item, type Json } from '../base/values.ts'
import { untilAborted } from '../store/abort.ts'
import { countGroups } from '../store/count-groups.ts'
import { UniqueError } from '../store/errors.ts'
import { chosenId, nextId } from '../store/ids.ts'
import { BATCH_ITEMS, toPage } from '../store/page.ts'
import { cutPage } from '../store/printed.ts'
import { listIdFields } from '../store/relation-ids.ts'
import { type FilterSet, matcher, type Selection } from '../store/selection.ts'
import { sliceItems } from '../store/slice-items.ts'
import {
  type Id,
  type KeepOptions,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type StorePage,
  throwIfAborted,
} from '../store/store.ts'
import {
  keepTransactions,
  refuseInTransaction,
  runInTurn,
  type StoreQueue,
} from '../store/store-queue.ts'
import { TransactionQueue } from '../store/transaction-queue.ts'
import { UniqueValues } from '../store/unique-values.ts'
import { type Rows, writeRows } from '../store/writes.ts'
import { buildAnswer } from '../store/written.ts'
import type { MemoryRows } from './memory-rows.ts'
import { countSelection, findSliceInTurns } from './memory-select.ts'

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

/** What a transaction needs of each store: the contract of a store does not say it. */
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
  /** The turn that its calls wait for. */
  #turn: Promise<void> | undefined

  constructor(base: MemoryBase) {
    this.#base = base
    this.#rows = base.rows
    this.#last = base.rows.last
    this.#uniques = UniqueValues.of(base.rows.shape)
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

  /** Its rows, as a write sees and makes them. */
  readonly #own: Rows = {
    get: id => this.#get(id),
    create: values => this.#create(values),
    update: ({ id }, values) => this.#put(id, values),
    remove: ({ id }) => this.#set(id, undefined),
    restore: before => this.#set(before.id, before),
  }

  #get(id: Id): Stored | undefined {
    return this.#changes.has(id) ? this.#changes.get(id) : this.#rows.get(id)
  }

  #create(values: Item): Stored {
    const { shape, clock } = this.#rows
    const { identity } = shape
    const id = chosenId(identity, values) ?? nextId(identity, this.#last, clock())
    if (this.#get(id)) throw new UniqueError(listIdFields(identity))
    const row = this.#put(id, values)
    if (id !== values[identity.name]) this.#last = id
    return row
  }

  #put(id: Id, values: Item): Stored {
    const row = this.#rows.build(id, values, this.#get(id))
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

  /**
   * Does work where the transaction is open. Where it has worked for long others have a turn first: they read meanwhile,
   * and its time may end.
   */
  #run<T>(options: StoreOptions | undefined, work: () => Awaitable<T>): Awaitable<T> {
    this.#open(options)
    const turn = this.#turn ?? takeTurnIfDue()
    if (!turn) return work()
    // Calls keep their order: what comes meanwhile waits for the same turn.
    this.#turn ??= turn.then(() => {
      this.#turn = undefined
    })
    return this.#turn.then(() => {
      this.#open(options)
      return work()
    })
  }

  /** Lists the items of the store with the changes: as many more are read as the changes may replace. */
  #list(
    selection: Selection,
    slice: Slice,
    wantsTotal: boolean,
    options: StoreOptions | undefined,
  ): Awaitable<StorePage> {
    const limit = slice.limit === 0 ? 0 : slice.limit + 1
    const offset = 'offset' in slice ? slice.offset : 0
    const wide = 'offset' in slice ? { ...slice, offset: 0 } : slice
    const reach = limit === 0 ? 0 : offset + limit + this.#changes.size
    // A copy: other calls of the transaction may write before all of it is looked at.
    const changes = new Map(this.#changes)
    const wider = { selection, slice: wide, limit: reach, wantsTotal }
    const found = findSliceInTurns(wider, this.#rows.source, options)
    return andThen(found, ({ items, total = 0 }) => {
      const merged = this.#merge(selection, { items, total }, changes, options)
      const request = { selection, slice, limit }
      const sliced = sliceItems(merged.items, request, this.#rows.source.fields)
      return toPage(sliced, slice, wantsTotal ? merged.total : undefined)
    })
  }

  /** Puts changes in the place of the items that they change. */
  #merge(
    filters: FilterSet,
    found: { readonly items: readonly Stored[]; readonly total: number },
    changes: ReadonlyMap<Id, Stored | undefined>,
    options: StoreOptions | undefined,
  ): { readonly items: Stored[]; readonly total: number } {
    const matches = matcher(filters, this.#rows.source.fields, options?.textBudget)
    const items = found.items.filter(({ id }) => !changes.has(id))
    let { total } = found
    for (const [id, row] of changes) {
      const old = this.#rows.get(id)
      if (old && matches(old.item)) total--
      if (!row || !matches(row.item)) continue
      total++
      items.push(row)
    }
    return { items, total }
  }

  #count(filters: FilterSet, options: StoreOptions | undefined): Awaitable<number> {
    const changes = new Map(this.#changes)
    const found = countSelection(filters, this.#rows.source, options)
    return andThen(
      found,
      count => this.#merge(filters, { items: [], total: count }, changes, options).total,
    )
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
      // A filter reads at once: neither this nor a list without a sort waits.
      find: (ids, options) => {
        this.#open(options)
        return ids.map(id => this.#get(id))
      },
      list: (selection, slice, mode, options) => {
        const list = () =>
          andThen(this.#list(selection, slice, mode !== 'none', options), page =>
            cutPage(page, slice, options?.maxBytes),
          )
        if (selection.sort.length > 0) return this.#run(options, list)
        this.#open(options)
        return list()
      },
      count: (filters, mode, options) =>
        this.#run(options, () => (mode === 'none' ? undefined : this.#count(filters, options))),
      countBy: (filters, grouping, options) =>
        this.#run(options, () => {
          const { fields } = this.#rows.source
          const found = this.#list({ ...filters, sort: [] }, WHOLE, false, options)
          return andThen(found, ({ items }) =>
            countGroups(items, () => true, grouping, fields, options),
          )
        }),
      stream: (selection, options) => this.#stream(selection, options),
      write: (changes, options) =>
        this.#run(options, () => {
          const key = options?.idempotencyKey
          if (key !== undefined) base.requireClaim(key)
          const written = writeRows(changes, this.#own)
          if (key !== undefined && written)
            this.#answers.set(key, { answer: buildAnswer(options, written), options })
          return written
        }),
      complete: (key, answer, options) => {
        this.#open(options)
        if (answer !== undefined) base.requireClaim(key)
        this.#answers.set(key, { answer, options })
      },
    }
  }

  async *#stream(...[selection, options]: Parameters<Store['stream']>) {
    this.#open(options)
    const { items } = await this.#list(selection, WHOLE, false, options)
    for (let at = 0; at < items.length; at += BATCH_ITEMS) {
      this.#open(options)
      yield items.slice(at, at + BATCH_ITEMS)
    }
  }
}
