// What a session has to know about a PostgreSQL before its first statement: it is asked once.
import { setTimeout as delay } from 'node:timers/promises'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { findLink, sendMarker } from './cancel.ts'
import { findPreparing } from './prepared.ts'
import type { SharedDatabase } from './shared-database.ts'

/** How long the check of a pooler waits for a second connection, in milliseconds. */
const CHECK_MS = 1000

/** Prepared as all are, it tells whether its name has come to the server unchanged. */
const IS_NAMED = CompiledQuery.raw(
  "select count(*) > 0 as named from pg_prepared_statements where name like 'rest!_%' escape '!'",
)

/** Each database is asked once. */
const checks = new WeakMap<SharedDatabase, Promise<void>>()

/** Notes that a server has one connection alone, and finds a pooler that keeps no prepared statements. */
export function checkServer(shared: SharedDatabase): Promise<void> {
  const known = checks.get(shared)
  if (known) return known
  const check = shared.executor
    .provideConnection(async connection => {
      // So PGlite is compiled.
      const { version } = await sendMarker(connection)
      shared.version = version
      shared.single = /emscripten/i.test(version)
      if (!shared.single) await checkPooler(shared, connection)
    })
    // What it does not find, a statement that fails does.
    .catch(() => undefined)
  checks.set(shared, check)
  return check
}

/**
 * Has a pool prepare no statements where a pooler gives one process of the server to several of its connections.
 * One that keeps the statements of each of its clients gives them names of its own.
 */
async function checkPooler(
  { executor }: SharedDatabase,
  connection: DatabaseConnection,
): Promise<void> {
  const link = await findLink(connection)
  const ofPool = link?.pooled ? findPreparing(link.client) : undefined
  if (!ofPool) return
  const { rows } = await connection.executeQuery<{ named: boolean }>(IS_NAMED)
  if (!rows[0]?.named) return
  const first = await sendMarker(connection)
  // A pooler gives the process that was free last, unless each connection has its own.
  const second = executor.provideConnection(sendMarker)
  const found = await Promise.race([second, delay(CHECK_MS, undefined, { ref: false })])
  if (found?.processId === first.processId) ofPool.stop()
}
