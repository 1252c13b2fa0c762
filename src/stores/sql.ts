// Items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Item, Json, Scalar } from '../fields.ts'
import { type Selection, sortKeyOf } from '../selection.ts'
import {
  assemble,
  type Id,
  type Page,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  UniqueError,
} from '../store.ts'
import { newVersion, nextInteger, nextUuid } from './ids.ts'
import { BATCH, mergeShapes } from './shapes.ts'
import { SqlAttempts } from './sql-attempts.ts'
import { type Fragment, sqlite } from './sql-dialect.ts'
import { Layout, type LayoutOptions } from './sql-layout.ts'
import { type Prepared, type Row, type Runner, Session } from './sql-session.ts'
import { statementsOf } from './sql-statements.ts'
import { createTables, SEQUENCES, tableStatements } from './sql-tables.ts'
import { afterCondition, all, conditionOf, orderOf } from './sql-where.ts'

export interface SqlStoreOptions extends LayoutOptions {
  /** The user's own; `close()` destroys it. SQLite's should first be given to {@link prepareSqlite}. */
  // Any Kysely: the names of its tables are not the store's business.
  readonly db: SqlDatabase
  /** Makes tables and indexes that are not there, at first use. Default false: see {@link createTableSql}. */
  readonly create?: boolean
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: () => number
}
