// The items of one store in memory, with their indexes and unique values.

import type { Item, Json } from '../base/values.ts'
import { UniqueError } from '../store/errors.ts'
import { chosenId, createVersion, nextId } from '../store/ids.ts'
import type { PrintedStored } from '../store/printed.ts'
import { listIdFields } from '../store/relation-ids.ts'
import { indexesOf } from '../store/shapes.ts'
import type { Id, Shape, Stored } from '../store/store.ts'
import { UniqueValues } from '../store/unique-values.ts'
import type { Rows } from '../store/writes.ts'
import { assemble, findNextDate } from '../store/written.ts'
import type { ChangeLog } from './change-log.ts'
import { MemoryIndex } from './memory-index.ts'
import type { Source } from './memory-select.ts'

/** What a transaction makes of the items of a store: `undefined` of one that it removes. */
export type RowChanges = ReadonlyMap<Id, Stored | undefined>

/** The items of a store. An error leaves them and their indexes as they are. */
export class MemoryRows implements Rows {
  /** The time in milliseconds since 1970. */
  readonly clock: () => number
  /** The last id that the store has made. */
  last: Id | undefined
  /** Notes changes; absent until somebody looks at them. */
  log: ChangeLog | undefined
  readonly #rows = new Map<Id, Stored>()
  #shape: Shape
  #source: Source
  #uniques: readonly UniqueValues[]
  /** Made at the first write: Workers refuse randomness before the first request. */
  #prefix: string | undefined
  #written = 0
  /** The time of the last write, and its text: many writes come in one millisecond. */
  #time = Number.NaN
  #date = ''

  constructor(shape: Shape, clock: () => number) {
    this.clock = clock
    this.#shape = shape
    this.#source = { ...buildSource(shape), revision: 0, examined: 0 }
    this.#uniques = UniqueValues.of(shape)
  }

  get shape(): Shape {
    return this.#shape
  }

  get source(): Source {
    return this.#source
  }

  get uniques(): readonly UniqueValues[] {
    return this.#uniques
  }

  get size(): number {
    return this.#rows.size
  }

  get(id: Id): Stored | undefined {
    return this.#rows.get(id)
  }

  values(): Iterable<Stored> {
    return this.#rows.values()
  }

  /** Changes an item whose dates stay, as no client has changed it. */
  touch(before: Stored, changes: Item): Stored {
    const { id, item } = before
    const { createdAt = '', updatedAt = '' } = this.#shape
    const dates = [String(item[createdAt]), String(item[updatedAt])] as const
    const next = assemble(this.#shape, id, { ...item, ...changes }, ...dates, copyFrozen)
    const row = { ...before, item: Object.freeze(next), version: this.#makeVersion() }
    this.#replace(before, Object.assign(row, { printed: undefined }))
    return row
  }

  /** Gives the items the indexes and unique sets of another shape. */
  reshape(shape: Shape): void {
    this.#shape = shape
    this.#source = { ...this.#source, ...buildSource(shape) }
    this.#uniques = UniqueValues.of(shape)
    for (const row of this.#rows.values()) this.#put(row)
  }

  /** @throws UniqueError where another item has the id, or values of a unique set. */
  create(values: Item): Stored {
    const { identity } = this.#shape
    const id = chosenId(identity, values) ?? nextId(identity, this.last, this.clock())
    if (this.#rows.has(id)) throw new UniqueError(listIdFields(identity))
    const row = this.build(id, values, undefined)
    this.#claimUniques(undefined, row)
    this.#add(row)
    this.log?.add({ id, after: row.item })
    if (id !== values[identity.name]) this.last = id
    return row
  }

  /** @throws UniqueError where another item has values of a unique set. */
  update(before: Stored, values: Item): Stored {
    const row = this.build(before.id, values, before)
    this.#claimUniques(before.item, row)
    this.#replace(before, row)
    this.log?.add({ id: row.id, before: before.item, after: row.item })
    return row
  }

  remove(row: Stored): void {
    for (const index of this.#source.indexes) index.remove(row)
    for (const unique of this.#uniques) unique.replace(row.item, undefined, row.id)
    this.#source.revision++
    this.log?.add({ id: row.id, before: row.item })
    this.#rows.delete(row.id)
  }

  /** Undoes an update, which nothing has followed. */
  restore(before: Stored, row: Stored): void {
    for (const unique of this.#uniques) unique.replace(row.item, before.item, row.id)
    this.#replace(row, before)
    this.log?.add({ id: row.id, before: row.item, after: before.item })
  }

  /** Applies what a transaction has changed; never fails. */
  apply(changes: RowChanges): void {
    for (const id of changes.keys()) {
      const row = this.#rows.get(id)
      if (row) this.remove(row)
    }
    for (const row of changes.values()) {
      if (!row) continue
      this.#put(row)
      this.log?.add({ id: row.id, after: row.item })
    }
  }

  /** Makes the next state of an item. */
  build(id: Id, values: Item, before: Stored | undefined): PrintedStored {
    const now = findNextDate(this.clock(), before?.updatedAt)
    const old = before?.item
    if (now !== this.#time) {
      this.#time = now
      this.#date = new Date(now).toISOString()
    }
    const { createdAt, updatedAt } = this.#shape
    const created = String((old && createdAt && old[createdAt]) || this.#date)
    const item = Object.freeze(assemble(this.#shape, id, values, created, this.#date, copyFrozen))
    const version = this.#makeVersion()
    // With `printed` all rows have one hidden class. Items without dates have none here either, as in a table.
    return {
      id,
      item,
      version,
      updatedAt: updatedAt === undefined ? undefined : now,
      printed: undefined,
    }
  }

  /** Versions never come again: the prefix is of this store, the count of this process. */
  #makeVersion(): string {
    this.#prefix ??= createVersion().slice(0, 8)
    return `${this.#prefix}${(this.#written++).toString(36)}`
  }

  /** Reserves the unique values of a row in place of those of its old item. */
  #claimUniques(old: Item | undefined, { id, item }: Stored): void {
    for (const unique of this.#uniques) unique.check(item, id)
    for (const unique of this.#uniques) unique.replace(old, item, id)
  }

  #add(row: Stored): void {
    for (const index of this.#source.indexes) index.add(row)
    this.#rows.set(row.id, row)
    this.#source.revision++
  }

  #replace(old: Stored, row: Stored): void {
    for (const index of this.#source.indexes) if (index.replace(old, row)) this.#source.revision++
    this.#rows.set(row.id, row)
  }

  /** Adds a row that is known to fit. */
  #put(row: Stored): void {
    for (const unique of this.#uniques) unique.replace(undefined, row.item, row.id)
    this.#add(row)
  }
}

function buildSource(shape: Shape): Pick<Source, 'fields' | 'identity' | 'indexes'> {
  const indexes = [[], ...indexesOf(shape)].map(paths => new MemoryIndex(shape, paths))
  return { fields: shape.fields, identity: shape.identity.name, indexes }
}

/** Copies a value, frozen at any depth. */
export function copyFrozen(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const copy = value.map(copyFrozen)
    Object.freeze(copy)
    return copy
  }
  // Not by a spread: V8 gives each clone that is frozen its own hidden class.
  const copy: Item = {}
  for (const [name, property] of Object.entries(value)) copy[name] = copyFrozen(property)
  return Object.freeze(copy)
}
