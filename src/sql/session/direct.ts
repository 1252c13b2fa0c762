// Reads of SQLite without the promises of Kysely, which hides the database: a statement of its own tells which it is.
import { CompiledQuery, type QueryExecutor, type SqliteDatabase } from 'kysely'
import type { Row } from './runner.ts'

/** A database that tells whether a transaction is open on its connection, whoever began it. */
export interface DirectDatabase extends SqliteDatabase {
  readonly inTransaction: unknown
}

const MARKER = 'select 1 /* rest-conventions '

/** The databases of the markers that were just sent. */
const marked = new Map<string, DirectDatabase>()
/** The database of each Kysely, found once; null if it cannot be found. */
const found = new WeakMap<QueryExecutor, DirectDatabase | null>()
/** The number of the next marker. */
let marks = 0

/** Has a database tell that it is the one that got a marker. */
export function noteMarker(text: string, database: DirectDatabase): void {
  if (text.startsWith(MARKER)) marked.set(text, database)
}

/** Looks for the database of a Kysely, once. One that did not go through `reuseStatements` is not found. */
export async function findDirect(executor: QueryExecutor): Promise<void> {
  if (found.has(executor)) return
  const text = `${MARKER}${++marks} */`
  await executor.provideConnection(each => each.executeQuery(CompiledQuery.raw(text)))
  found.set(executor, marked.get(text) ?? null)
  marked.delete(text)
}

/** The rows of a reading statement; `undefined` where it has to wait, or fails: then it is to be read as others are. */
export function readAtOnce(
  executor: QueryExecutor,
  text: string,
  parameters: readonly unknown[],
): readonly Row[] | undefined {
  const database = found.get(executor)
  // Within a transaction it would see what is not committed yet.
  if (database?.inTransaction !== false) return undefined
  try {
    return database.prepare(text).all(parameters) as Row[] // what the driver gives for a select
  } catch {
    return undefined
  }
}
