// The options of `sqlStore`.
import type { Kysely } from 'kysely'
import * as rule from '../options.ts'
import { isPlain, type Rules } from '../options.ts'
import type { Store } from '../store/store.ts'
import type { DatabaseName } from './databases/database.ts'
import { DATABASES } from './databases/databases.ts'
import { TABLE_MAPPING_RULES, type TableMappingOptions } from './table/mapping-options.ts'

/** What `sqlStore` takes. */
export interface SqlStoreOptions<Database = unknown> extends TableMappingOptions {
  /**
   * The user's Kysely. It stays open after `close()`. For SQLite, see {@link prepareSqlite}; a pool of pg must
   * have gone through {@link preparePostgres}.
   */
  readonly db: Kysely<Database>
  /** Which database it is. Default: what the adapter of the Kysely says. */
  readonly database?: DatabaseName | undefined
  /**
   * Whether missing tables and their indexes are made at first use; existing ones are never altered. An index that a table
   * of PostgreSQL lacks is made only if the table has no rows, because all writes wait meanwhile; else a warning
   * (`REST_CONVENTIONS_TABLE`) prints its statement. If nothing is missing, no lock is taken. `'records'` makes only the
   * tables that the store keeps beside yours, `rest_sequences` and `rest_idempotency`: for a table of another program.
   * Default false: {@link createTableSql} prints the statements for a migration.
   */
  readonly create?: boolean | 'records' | undefined
  /**
   * Whether columns that a table lacks are added at first use, each with the default of its schema; nothing is
   * ever removed or changed. It also makes missing tables, as `create` does, and all missing indexes. A required column
   * without a default is still an error. Default false: {@link alterTableSql} prints the statements.
   */
  readonly migrate?: boolean | undefined
  /**
   * The zone of the times of an existing table whose type has none, such as `timestamp` in PostgreSQL. No other zone is
   * taken: where clocks change, an hour comes twice. Default: a column of such a type is refused.
   */
  readonly timezone?: 'UTC' | undefined
  /**
   * How long a statement of this store may take in PostgreSQL, in milliseconds; then it is cancelled, and the
   * call throws an `UnavailableError`. The wait for a connection does not count. Other statements on the
   * same pool are not limited, nor are those by which the store looks at its tables and makes them. Outside of
   * transactions it needs {@link preparePostgres}. Default: no limit.
   */
  readonly timeout?: number | undefined
  /**
   * Whether exact totals are remembered until the database changes. Default true; set false for a
   * database that calls itself PostgreSQL but is another. It never applies to a standby, a view, whose rows may
   * change with the time, a foreign table, or a table with row security.
   */
  readonly rememberTotals?: boolean | undefined
  /**
   * Whether clients read the message of an error that your trigger or function raises: P0001, `PT402`, `insufficient_privilege`
   * and codes of your own in PostgreSQL, `raise(abort, …)` in SQLite. Only for functions whose messages are meant for clients.
   * Default false: clients read a general text.
   */
  readonly databaseMessages?: boolean | undefined
  /**
   * How many rows of SQLite one statement may read for a list or a count that no index serves: its driver
   * cannot be stopped. More rows are read in slices of some milliseconds, with other requests in between;
   * rows written meanwhile may be found or not. Default 100,000.
   */
  readonly maxScan?: number | undefined
  /**
   * Whether triggers log each change of the table, of whatever program, for live lists (`live: true`): see docs/live.md. With
   * `create` or `migrate` they are made at first use, and otherwise by {@link createTableSql}. `keep` is how long the log is
   * kept, at least, in milliseconds, default a day; no more than 1,000,000 rows are. Default false.
   */
  readonly changes?: boolean | { readonly keep?: number | undefined } | undefined
  /**
   * The time in milliseconds since 1970. Default `Date.now`, and for idempotency keys the clock of the database.
   */
  readonly clock?: (() => number) | undefined
}

/** What `sqlStore` returns. Its type carries that of your Kysely, for `sql(cars)` in a transaction. */
export interface KyselyStore<Database = unknown> extends Store {
  readonly sql?: Kysely<Database>
}

/** The options of a store, but for its database. */
export type TableOptions = Omit<SqlStoreOptions<never>, 'db'>

const KEEP = rule.wholeFrom(1000)

export const SQL_STORE_RULES: Rules<SqlStoreOptions> = {
  ...TABLE_MAPPING_RULES,
  db: rule.needed(
    rule.having(
      'an instance of Kysely, such as new Kysely({ dialect: new SqliteDialect({ database }) })',
      'getExecutor',
    ),
  ),
  database: rule.oneOf(...Object.keys(DATABASES)),
  create: {
    wanted: 'true, false or "records"',
    fits: value => value === 'records' || rule.BOOLEAN.fits(value),
  },
  migrate: rule.BOOLEAN,
  timezone: {
    wanted: '"UTC": in other zones an hour comes twice a year, so that a time may be two',
    fits: value => value === 'UTC',
  },
  timeout: rule.wholeFrom(1, 'milliseconds'),
  maxScan: rule.wholeFrom(1, 'rows'),
  rememberTotals: rule.BOOLEAN,
  databaseMessages: rule.BOOLEAN,
  changes: {
    wanted: 'true, false, or { keep } in milliseconds',
    fits: value =>
      typeof value === 'boolean' ||
      (isPlain(value) &&
        Object.entries(value).every(([name, each]) => name === 'keep' && KEEP.fits(each))),
  },
  clock: rule.FUNCTION,
}
