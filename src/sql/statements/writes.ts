// The one entry of writes: changes of one kind, all of them or none, with the answer of their key.

import { inPlace } from '../../store/errors.ts'
import type {
  Changes,
  Deletion,
  Stored,
  StoreOptions,
  StoreWriteOptions,
  Update,
} from '../../store/store.ts'
import { areCreations, areUpdates, itemOf } from '../../store/writes.ts'
import { PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { bySize, repeat } from './by-size.ts'
import type { buildChangeAlike } from './change-alike.ts'
import type { Creates } from './creates.ts'
import { type IdempotencyRecords, keepWritten } from './idempotency.ts'
import type { LockedRows } from './locked-rows.ts'
import type { RowAccess } from './row-access.ts'

/** What writes consist of. */
interface WriteParts {
  readonly mapping: TableMapping
  readonly records: IdempotencyRecords
  readonly creates: Creates
  readonly rows: RowAccess
  readonly changeAlike: ReturnType<typeof buildChangeAlike>
  readonly locked: LockedRows
  /** Whether the table returns exactly what was written, and has one row for each id. */
  readonly isExact: boolean
}

/** Thrown to undo a write in which not every row was at its version. */
const NOT_ALL = new Error('Not every item was at its version')

/** Writes rows. It throws the driver's error where a row would break a rule of the table. */
export class Writes {
  readonly #parts: WriteParts
  /** Parameters: `[id]`, or `[id, version]` if there is a version column. */
  readonly #removeOne: Statement
  /** Removes rows at their versions, by their ids and pairs of an id and a version. */
  readonly #removeAll: ReturnType<typeof bySize>

  constructor(parts: WriteParts) {
    this.#parts = parts
    const { database, from, versionColumn, id, idValue } = parts.mapping
    const version = versionColumn === undefined ? undefined : sql.id(versionColumn)
    const isAtVersion = version ? sql` and ${version} = ${PLACEHOLDER}` : sql``
    this.#removeOne = compile(
      database,
      sql`delete from ${from} where ${parts.mapping.isRow}${isAtVersion}`,
    )
    // The ids alone too: by the pairs PostgreSQL may read, and lock, the whole table.
    this.#removeAll = bySize(
      database,
      size =>
        sql`delete from ${from} where ${parts.mapping.isOneOf(size)} and (${id.ref}, ${version ?? sql``}) in (values ${repeat(sql`(${idValue}, ${PLACEHOLDER})`, size)})`,
    )
  }

  async write(
    session: StatementSession,
    changes: Changes,
    options?: StoreWriteOptions,
  ): Promise<readonly Stored[] | undefined> {
    const { creates, records } = this.#parts
    if (areCreations(changes)) return creates.write(session, changes, options)
    if (changes.length === 0) {
      const keep = (runner: Runner) => keepWritten(records, [], runner, options)
      if (options?.idempotencyKey !== undefined) await session.write(keep, options)
      return []
    }
    if (!this.#haveKeys(changes)) return undefined
    const locks = this.#locks(changes, options)
    const write = async (runner: Runner) => {
      const written = areUpdates(changes)
        ? await this.#update(changes, runner, locks)
        : await this.#remove(changes, runner, locks)
      if (written) await keepWritten(records, written, runner, options)
      else if (changes.length > 1) throw NOT_ALL
      return written
    }
    const isSingle = changes.length === 1 && !locks && options?.idempotencyKey === undefined
    try {
      return await session.write(write, options, isSingle)
    } catch (error) {
      if (error === NOT_ALL) return undefined
      throw error
    }
  }

  /** Whether the ids can be those of rows, and none is named twice. */
  #haveKeys(changes: readonly Update[] | readonly Deletion[]): boolean {
    const { mapping } = this.#parts
    if (changes[0] && changes.length === 1)
      return mapping.encodeId(itemOf(changes[0]).id) !== undefined
    const keys = new Set(changes.map(each => mapping.encodeId(itemOf(each).id)))
    return keys.size === changes.length && !keys.has(undefined)
  }

  /** Whether rows are read and locked before they are written. In an exact table the statement itself compares versions. */
  #locks({ length }: Changes, options: StoreOptions | undefined): boolean {
    const { isExact, mapping } = this.#parts
    // Of several rows only what differs is written in any case.
    const isPartial = length === 1 && mapping.unreadable.size > 0
    return !isExact || options?.repeated === true || isPartial
  }

  async #update(
    changes: readonly Update[],
    runner: Runner,
    locks: boolean,
  ): Promise<readonly Stored[] | undefined> {
    const { rows, changeAlike } = this.#parts
    if (!locks && changes.length > 1) return changeAlike(changes, runner)
    const written: Stored[] = []
    for (const [at, each] of changes.entries()) {
      const row = await inPlace(at, () =>
        locks ? rows.changeLocked(each, runner) : rows.replace(each, runner),
      )
      if (!row) return undefined
      written.push(row)
    }
    return written
  }

  async #remove(
    changes: readonly Deletion[],
    runner: Runner,
    locks: boolean,
  ): Promise<readonly Stored[] | undefined> {
    const { mapping, locked } = this.#parts
    const items = changes.map(each => each.delete)
    if (locks) return (await locked.deleteAll(items, runner)) ? [] : undefined
    const keys = items.map(({ id }) => mapping.encodeId(id))
    const [first] = items
    const { numAffectedRows } =
      first && items.length === 1
        ? await runner.run(
            this.#removeOne,
            mapping.versionColumn === undefined ? keys : [...keys, first.version],
          )
        : await this.#removeAll(
            runner,
            keys,
            items.map(({ version }, at) => [keys[at], version]),
          )
    return numAffectedRows === BigInt(items.length) ? [] : undefined
  }
}
