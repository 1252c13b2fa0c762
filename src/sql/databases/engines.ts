// Engines that speak as PostgreSQL does, but lack a part of it. Neither could be started here: tests put a proxy in between.

import type { DatabaseName, SqlDatabase } from './database.ts'
import { buildRenewVersion, postgres } from './postgres.ts'
import { sql } from './sql-text.ts'

const { lockTransaction: _lock, inUtc: _utc, searchIndex: _search, ...shared } = postgres

/** No lock of a table, none of the program's own, and no snapshot that tells of changes. A conflict ends in 40001. */
export const yugabyte: SqlDatabase = {
  ...shared,
  name: 'yugabyte',
  beginSetup: shared.beginSetup.filter(each => !each.includes('pg_advisory')),
  state: sql`null`,
  ordersIds: false,
}

const { plan: _plan, ...withoutPlan } = yugabyte

/** Beyond that it compares texts by bytes in any case, has `jsonb` alone, and reads fields of a row in parentheses. */
export const cockroach: SqlDatabase = {
  ...withoutPlan,
  name: 'cockroach',
  types: { ...shared.types, text: 'text', json: 'jsonb' },
  overriding: sql``,
  supportsDmlInCte: false,
  renewVersion(row) {
    const made = buildRenewVersion((of, column) => sql`(${sql.raw(of)}).${sql.id(column)}`)(row)
    const [replace = sql``, drop = sql``, ...create] = made.statements
    // It replaces no function that a trigger uses.
    return { ...made, statements: [drop, replace, ...create] }
  },
}

/** Finds the engine that calls itself PostgreSQL, by its `version()`. */
export function findEngine(version: string): DatabaseName | undefined {
  if (/CockroachDB/.test(version)) return 'cockroach'
  return /-YB-/.test(version) ? 'yugabyte' : undefined
}
