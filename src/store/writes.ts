// The kinds of changes in a write, and how a store that writes items one by one makes them.
import { type Awaitable, andThen } from '../base/values.ts'
import { placeError } from './errors.ts'
import type {
  Changes,
  Creation,
  Deletion,
  Id,
  ItemVersion,
  Store,
  Stored,
  StoreOptions,
  Update,
} from './store.ts'

/** The maximum of changes of one write, of ids that are found at once, and of ids in a filter. */
export const MAX_SET = 500

/** Whether changes add items. Those of one write are of one kind. */
export function areCreations(changes: Changes): changes is readonly Creation[] {
  return changes[0] !== undefined && 'create' in changes[0]
}

/** Whether changes replace values; if they do not, and add no items either, they remove them. */
export function areUpdates(changes: Changes): changes is readonly Update[] {
  return changes[0] !== undefined && 'update' in changes[0]
}

/** The item that a change is about, at its version. */
export function itemOf(change: Update | Deletion): ItemVersion {
  return 'update' in change ? change.before : change.delete
}

/** Whether an array of items can be created as a whole. */
export function takesArrays({ transaction, database }: Store): boolean {
  return transaction !== undefined && database !== undefined
}

/** Finds an item by its id. */
export function findOne(
  store: Store,
  id: Id,
  options?: StoreOptions,
): Awaitable<Stored | undefined> {
  return andThen(store.find([id], options), first)
}

function first(found: readonly (Stored | undefined)[]): Stored | undefined {
  return found[0]
}

/** Items that are written one by one, each at once. */
export interface Rows {
  get(id: Id): Stored | undefined
  create(values: Creation['create']): Stored
  update(before: Stored, values: Update['update']): Stored
  remove(row: Stored): void
  /** Undoes an update. */
  restore(before: Stored, row: Stored): void
}

/**
 * Makes changes of items that are written at once: all of them, or none.
 * @returns as {@link Store.write} does.
 */
export function writeRows(changes: Changes, rows: Rows): readonly Stored[] | undefined {
  if (areCreations(changes)) return writeEach(changes, NO_ROWS, rows)
  const current = findCurrent(changes, rows)
  if (!current) return undefined
  if (areUpdates(changes)) return writeEach(changes, current, rows)
  for (const row of current) rows.remove(row)
  return NO_ROWS
}

const NO_ROWS: readonly Stored[] = []

/** Finds the items as they are; `undefined` if one is not at its version, or is named twice. */
function findCurrent(
  changes: readonly Update[] | readonly Deletion[],
  rows: Rows,
): readonly Stored[] | undefined {
  const found: Stored[] = []
  for (const change of changes) {
    const { id, version } = itemOf(change)
    const row = rows.get(id)
    if (row?.version !== version) return undefined
    found.push(row)
  }
  if (found.length === 1) return found
  return new Set(found.map(({ id }) => id)).size === found.length ? found : undefined
}

/**
 * Writes one item after another; after an error it takes them back, the last one first.
 * @param befores the items that are updated.
 */
function writeEach(
  changes: readonly (Creation | Update)[],
  befores: readonly Stored[],
  rows: Rows,
): Stored[] {
  const written: Stored[] = []
  try {
    for (const change of changes) {
      const before = befores[written.length]
      if ('create' in change) written.push(rows.create(change.create))
      else if (before) written.push(rows.update(before, change.update))
    }
    return written
  } catch (error) {
    for (const [at, row] of [...written.entries()].reverse()) {
      const before = befores[at]
      if (before) rows.restore(before, row)
      else rows.remove(row)
    }
    throw placeError(error, written.length)
  }
}
