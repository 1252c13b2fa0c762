// The databases by their names.
import type { Kysely } from 'kysely'
import type { DatabaseName, SqlDatabase } from './database.ts'
import { cockroach, yugabyte } from './engines.ts'
import { postgres } from './postgres.ts'
import { sqlite } from './sqlite.ts'

export const DATABASES: Readonly<Record<DatabaseName, SqlDatabase>> = {
  sqlite,
  postgres,
  cockroach,
  yugabyte,
}

/** Finds which database a Kysely connects to, by its adapter; `undefined` for an unknown one. */
export function findDatabase(db: Pick<Kysely<unknown>, 'getExecutor'>): DatabaseName | undefined {
  const { supportsReturning, supportsTransactionalDdl } = db.getExecutor().adapter
  if (!supportsReturning) return undefined
  return supportsTransactionalDdl ? 'postgres' : 'sqlite'
}
