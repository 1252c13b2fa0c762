// The changes of one table, read from the log of its database.
import { setTimeout as delay } from 'node:timers/promises'
import type { Change, ReadChanges, StoreChanges } from '../../store/changes.ts'
import type { Session } from '../session/session.ts'
import type { SharedDatabase } from '../session/shared-database.ts'
import { decodeRow } from '../table/column-values.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { LogReader, type LogRow, type Mark } from './log-reader.ts'
import { isListed } from './log-shape.ts'

/** How often a first mark is looked for, in milliseconds, while a transaction that began before goes on. */
const PAUSE_MS = 100

/** One reader for each database. */
const readers = new WeakMap<SharedDatabase, LogReader>()

/** What the changes of a table are read by. */
export interface ChangedTable {
  readonly mapping: TableMapping
  /** Its name in the log. */
  readonly name: string
  readonly session: Session
  readonly shared: SharedDatabase
  /** How long the log is kept, in milliseconds. */
  readonly keep: number | undefined
}

export class TableChanges implements Pick<StoreChanges, 'position' | 'read' | 'late'> {
  readonly #table: ChangedTable
  readonly #reader: LogReader

  constructor(table: ChangedTable) {
    const { shared, session, mapping, keep } = table
    this.#table = table
    this.#reader = readers.get(shared) ?? new LogReader(session, mapping.database, keep)
    readers.set(shared, this.#reader)
  }

  async position(): Promise<string> {
    for (;;) {
      const { log, number } = await this.#reader.mark()
      // An older one does: what is read twice is the same.
      if (number !== undefined) return `${log}-${number}`
      await delay(PAUSE_MS)
    }
  }

  late(): number {
    return this.#reader.late
  }

  async read(after: string, limit: number): Promise<ReadChanges | 'gone'> {
    const mark = await this.#reader.mark()
    const from = parsePosition(after, mark)
    if (from === undefined) return 'gone'
    const { log, number = 0, last } = mark
    if (number <= from) return { changes: [], position: after, current: from >= last }
    const { rows, pruned } = await this.#reader.rows(this.#table.name, from, number, limit)
    // Without an id it says that the table was emptied at once.
    if (from < pruned || rows.some(({ id }) => id === null)) return 'gone'
    const isAll = rows.length < limit
    const to = isAll ? number : (rows.at(-1)?.seq ?? number)
    const changes = this.#decode(rows)
    if (!changes) return 'gone'
    return { changes, position: `${log}-${to}`, current: isAll && number >= last }
  }

  /** Decodes rows; `undefined` where one lacks a column, as before it was added: what it held is not known. */
  #decode(rows: readonly LogRow[]): Change[] | undefined {
    const { mapping } = this.#table
    const columns = mapping.columns
      .filter(each => isListed(each, mapping))
      .map(each => ({ ...each, read: each.column }))
    const isCounted = mapping.shape.identity.kind === 'integer'
    let isWhole = true
    const changes = rows.map(({ id: key, before, after }) => {
      const read = (text: unknown) => {
        if (text === null) return undefined
        const row = JSON.parse(String(text)) // what the trigger printed: an object
        isWhole &&= columns.every(({ column }) => column in row)
        return decodeRow(row, columns)
      }
      return { id: isCounted ? Number(key) : String(key), before: read(before), after: read(after) }
    })
    return isWhole ? changes : undefined
  }
}

/** Reads the number of a position; `undefined` for one of another log, or of the future. */
function parsePosition(position: string, { log, last }: Mark): number | undefined {
  const number = Number(position.slice(log.length + 1))
  const isOwn = position === `${log}-${number}` && Number.isSafeInteger(number)
  return isOwn && number >= 0 && number <= last ? number : undefined
}
