// A database of SQLite before its first use: what it keeps through a loss of power, and who reads it.
import { CompiledQuery, type Kysely } from 'kysely'
import { findSharedDatabase } from './shared-database.ts'

/**
 * Prepares a database of SQLite once after it is opened, so that what is acknowledged survives a loss
 * of power: WAL with `synchronous=FULL`. Foreign keys are enforced. A driver that waits for a lock blocks the
 * whole process: stores wait up to 5 s for it by themselves, other statements on this Kysely get
 * `SQLITE_BUSY` after 10 ms.
 * @param reader another connection to the same file: while a transaction runs, it reads, so that reads do
 * not wait. It never writes. Default: reads wait.
 */
export async function prepareSqlite<Database>(
  db: Kysely<Database>,
  { reader }: { readonly reader?: Kysely<Database> | undefined } = {},
): Promise<void> {
  for (const pragma of [
    // Others may open it at the same time.
    'busy_timeout = 5000',
    'journal_mode = wal',
    'synchronous = full',
    'foreign_keys = on',
    'busy_timeout = 10',
  ]) {
    await db.executeQuery(CompiledQuery.raw(`pragma ${pragma}`))
  }
  if (!reader) return
  await reader.executeQuery(CompiledQuery.raw('pragma query_only = 1'))
  findSharedDatabase(db).reader = findSharedDatabase(reader).executor
}
