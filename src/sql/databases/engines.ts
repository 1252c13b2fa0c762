// Engines with the protocol of PostgreSQL that lack a part of it. Tests run behind a proxy that refuses those parts, not on the engines.

import type { DatabaseName, SqlDatabase } from './database.ts'
import { buildRenewVersion, postgres } from './postgres.ts'
import { sql } from './sql-text.ts'

const { lockTransaction: _lock, inUtc: _utc, searchIndex: _search, ...shared } = postgres

/** Without table locks, advisory locks, and the snapshots that find changes. A conflict ends in 40001. */
export const yugabyte: SqlDatabase = {
  ...shared,
  name: 'yugabyte',
  beginSetup: shared.beginSetup.filter(each => !each.includes('pg_advisory')),
  state: sql`null`,
  ordersIds: false,
}

const { plan: _plan, ...withoutPlan } = yugabyte

/** It also always compares strings by bytes, has only `jsonb`, and needs parentheses around a row to read a field. */
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
