// Statements that wait in PostgreSQL, and what has them wait.
import { type Kysely, sql } from 'kysely'
import { postgres } from './postgres.ts'
import { ask } from './postgres-server.ts'

/** The statements on a table that wait for a lock at this moment. */
export function waitingFor(table: string): Promise<unknown[]> {
  return ask(
    postgres().url,
    "select query from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%' and query not like 'lock%' and pid <> pg_backend_pid()",
    [`"${table}"`],
  )
}

/** Has every other statement on a table wait meanwhile, by a connection of its own. */
export function lockedBy(connect: () => Kysely<unknown>) {
  return async <T>(table: string, work: () => Promise<T>): Promise<T> => {
    const db = connect()
    try {
      return await db.transaction().execute(async transaction => {
        await sql`lock table ${sql.id(table)} in access exclusive mode`.execute(transaction)
        return work()
      })
    } finally {
      await db.destroy()
    }
  }
}
