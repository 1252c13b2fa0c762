// Items in memory: the reference for how a store behaves. Every write is done at once, so each is atomic; a list that
// has to look at many items takes several turns of the event loop, and has them as they were at its start.

import type { Json } from '../base/values.ts'
import { checkOptions, FUNCTION, type Rules } from '../options.ts'
import type { StoreChanges } from '../store/changes.ts'
import { UnavailableError } from '../store/errors.ts'
import { createIdempotencyRecords } from '../store/idempotency.ts'
import { BATCH_ITEMS, toPage } from '../store/page.ts'
import { cutPage } from '../store/printed.ts'
import type { Selection } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import {
  type Changes,
  type KeepOptions,
  type ListOptions,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type StorePage,
  type StoreWriteOptions,
  throwIfAborted,
} from '../store/store.ts'
import { StoreQueue } from '../store/store-queue.ts'
import { writeRows } from '../store/writes.ts'
import { buildAnswer } from '../store/written.ts'
import type { ChangeLog } from './change-log.ts'
import { copyFrozen, MemoryRows } from './memory-rows.ts'
import {
  countSelection,
  findEach,
  findSliceInTurns,
  groupSelection,
  type SelectedItems,
} from './memory-select.ts'
import {
  MEMORY,
  MEMORY_QUEUE,
  registerMemoryStore,
  runMemoryTransaction,
} from './memory-transaction.ts'
import { takeRow } from './take-row.ts'

export interface MemoryStoreOptions {
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined
}

const RULES: Rules<MemoryStoreOptions> = { clock: FUNCTION }

/**
 * A store in memory, gone with the process. An item is frozen, and the same object until the next
 * write of it. Lists and counts that an index answers cost the same at any size; others look at all that
 * match, 10,000 of them in one turn of the event loop. An index answers a sort in one direction.
 * @example
 * import { defineCollection, memoryStore } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions('memoryStore', options, RULES)
  return new MemoryStore(options.clock)
}

/** Its methods are fields: a program may copy them into a store of its own (`{ ...store, find }`). */
export class MemoryStore implements Store {
  readonly pages = 'key'
  readonly idempotency = 'store'
  readonly database = MEMORY
  readonly #clock: () => number
  readonly #records: ReturnType<typeof createIdempotencyRecords>
  /** Transactions, and the writes that wait for their end. */
  readonly #turns = new StoreQueue()
  /** Absent until the store belongs to a collection. */
  #rows: MemoryRows | undefined
  #closed = false

  constructor(clock: (() => number) | undefined) {
    this.#clock = clock ?? Date.now
    this.#records = createIdempotencyRecords(clock)
    registerMemoryStore(this, () => ({
      rows: this.#open(),
      turns: this.#turns,
      requireClaim: this.#records.requireClaim,
      complete: (...answer) => this.#complete(...answer),
    }))
  }

  /** The number of items that lists, counts and streams have looked at: few where an index serves them. */
  get examined(): number {
    return this.#rows?.source.examined ?? 0
  }

  readonly attach: Required<Store>['attach'] = shape => {
    if (this.#rows) this.#rows.reshape(mergeShapes(this.#rows.shape, shape))
    else this.#rows = new MemoryRows(shape, this.#clock)
  }

  readonly find: Required<Store>['find'] = (ids, options) => {
    const rows = this.#open(options)
    return ids.map(id => rows.get(id))
  }

  readonly list: Required<Store>['list'] = (selection, slice, mode, options) => {
    const { source } = this.#open(options)
    const limit = slice.limit === 0 ? 0 : slice.limit + 1
    const wantsTotal = mode !== 'none'
    const found = findSliceInTurns({ selection, slice, limit, wantsTotal }, source, options)
    if (found instanceof Promise)
      return found.then(late => buildPage(late, slice, wantsTotal, options))
    return buildPage(found, slice, wantsTotal, options)
  }

  readonly count: Required<Store>['count'] = (filters, mode, options) => {
    const { source } = this.#open(options)
    return mode === 'none' ? undefined : countSelection(filters, source, options)
  }

  readonly countBy: Required<Store>['countBy'] = (filters, grouping, options) =>
    groupSelection(filters, grouping, this.#open(options).source, options)

  readonly stream: Required<Store>['stream'] = (selection, options) =>
    this.#stream(selection, options)

  /** At once, without a promise, unless a transaction has to end before. */
  readonly write: Required<Store>['write'] = (changes, options) =>
    this.#turns.waiting === 0
      ? this.#write(changes, options)
      : this.#turns.run(() => this.#write(changes, options))

  readonly listEach: Required<Store>['listEach'] = (...[path, ids, selection, limit, options]) => {
    const rows = this.#open(options)
    return findEach([path, ids, selection, limit], rows.source, id => rows.get(id), options)
  }

  readonly take: Required<Store>['take'] = (request, options) =>
    this.#turns.run(() => takeRow(this.#open(options), request))

  readonly claim: Required<Store>['claim'] = (key, fingerprint, options) => {
    this.#open(options)
    return this.#records.claim(key, fingerprint)
  }

  readonly renew: Required<Store>['renew'] = (key, claim) => {
    this.#open()
    return this.#records.renew(key, claim)
  }

  readonly complete: Required<Store>['complete'] = (key, answer, options) => {
    this.#open(options)
    this.#complete(key, answer, options)
  }

  /** By closures: it may be looked at before the store belongs to a collection. */
  readonly changes: StoreChanges = {
    position: async () => (await this.#openLog()).position(),
    read: async after => (await this.#openLog()).read(after),
    listen: wake => this.#open().log?.listen(wake) ?? (() => {}),
  }

  readonly transaction = runMemoryTransaction

  readonly close = async (): Promise<void> => {
    // Transactions in line end first.
    if (MEMORY_QUEUE.busy) await MEMORY_QUEUE.run(async () => undefined, {})
    if (this.#turns.waiting > 0) await this.#turns.last
    this.#closed = true
    this.#rows = undefined
    this.#records.clear()
  }

  #open(options?: StoreOptions): MemoryRows {
    throwIfAborted(options)
    if (this.#closed) throw new UnavailableError('The store is closed')
    if (!this.#rows) throw new TypeError('The store belongs to no collection yet')
    return this.#rows
  }

  /** Notes changes from now on. */
  async #openLog(): Promise<ChangeLog> {
    const { ChangeLog } = await import('./change-log.ts')
    const rows = this.#open()
    rows.log ??= new ChangeLog()
    return rows.log
  }

  #write(changes: Changes, options: StoreWriteOptions | undefined): readonly Stored[] | undefined {
    const rows = this.#open(options)
    const key = options?.idempotencyKey
    if (key === undefined) return writeRows(changes, rows)
    this.#records.requireClaim(key)
    const written = writeRows(changes, rows)
    if (written) this.#complete(key, buildAnswer(options, written), options)
    return written
  }

  async *#stream(selection: Selection, options: StoreOptions | undefined) {
    const { source, size } = this.#open(options)
    const slice = { limit: size, offset: 0 }
    const whole = { selection, slice, limit: size, wantsTotal: false }
    const { items } = await findSliceInTurns(whole, source, options)
    for (let at = 0; at < items.length; at += BATCH_ITEMS) {
      this.#open(options)
      yield items.slice(at, at + BATCH_ITEMS)
    }
  }

  #complete(key: string, answer: Json | undefined, options?: KeepOptions): void {
    this.#records.complete(key, answer === undefined ? undefined : copyFrozen(answer), options)
  }
}

function buildPage(
  { items, total }: SelectedItems,
  slice: Slice,
  wantsTotal: boolean,
  options: ListOptions | undefined,
): StorePage {
  return cutPage(toPage(items, slice, wantsTotal ? total : undefined), slice, options?.maxBytes)
}
