// Keeps items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.
import type { Kysely } from 'kysely'
import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  having,
  needed,
  oneOf,
  type Rules,
  wholeFrom,
} from '../options.ts'
import type { Scalar } from '../schema/values.ts'
import { cutPage } from '../store/printed.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import { BATCH, BATCH_BYTES, mergeShapes } from '../store/shapes.ts'
import {
  type Page,
  ReferenceConflictError,
  type Shape,
  type Store,
  throwIfAborted,
  toPage,
  UnavailableError,
  UniqueError,
  UnstorableError,
} from '../store/store.ts'
import { keepTransactions, refuseInTransaction } from '../store/turns.ts'
import { type DatabaseName, findDatabase } from './database.ts'
import { listStores, setMapping } from './mappings.ts'
import { openTable, type Table } from './open-table.ts'
import { Session, type StatementSession } from './session.ts'
import { findSharedDatabase, type SharedDatabase } from './shared-database.ts'
import { TABLE_MAPPING_RULES, TableMapping, type TableMappingOptions } from './table-mapping.ts'
import { DATABASES, tableStatements } from './tables.ts'
import { runTransaction } from './transaction.ts'

export { alterTableSql } from './alter-table.ts'
export type { ColumnOptions } from './columns.ts'
export type { DatabaseName } from './database.ts'
export {
  type PostgresClient,
  type PostgresPool,
  type PreparePostgresOptions,
  preparePostgres,
} from './postgres-pool.ts'
export { reuseStatements } from './prepared-statements.ts'
export type { TableMappingOptions } from './table-mapping.ts'
export { createTableSql, prepareSqlite } from './tables.ts'

/** What `sqlStore` takes. */
export interface SqlStoreOptions<Database = unknown> extends TableMappingOptions {
  /**
   * The user's own. `close()` destroys it. For SQLite, see {@link prepareSqlite}; a pool of pg must
   * have gone through {@link preparePostgres}.
   */
  readonly db: Kysely<Database>
  /** Which database it is. Default: what the adapter of the Kysely says. */
  readonly database?: DatabaseName | undefined
  /**
   * Whether missing tables and indexes are made at first use; existing ones are never altered.
   * Default false: {@link createTableSql} prints the statements for a migration.
   */
  readonly create?: boolean | undefined
  /**
   * Whether columns that a table lacks are added at first use, each with the default of its schema; nothing is
   * ever removed or changed. It makes what is missing besides, as `create` does. A required column without a
   * default is an error still. Default false: {@link alterTableSql} prints the statements.
   */
  readonly migrate?: boolean | undefined
  /**
   * How long a statement may take in PostgreSQL, in milliseconds: its `statement_timeout`. A call that
   * takes longer throws an `UnavailableError`; the wait for a connection does not count. It is set for
   * each connection, so give all stores of a pool the same. Default: no limit.
   */
  readonly timeout?: number | undefined
  /**
   * Whether exact totals are remembered until the database changes. Default true; set false for a
   * database that is not plain PostgreSQL although it says so. Never in effect on a standby, on a view,
   * whose rows may change with the time, a foreign table, or one with row security.
   */
  readonly rememberTotals?: boolean | undefined
  /**
   * How many rows of SQLite one statement may look at where no index serves a list or a count: its driver
   * cannot be stopped. More are looked at in slices of some milliseconds, between which others are served;
   * what is written meanwhile is found or not. Default 100,000.
   */
  readonly maxScan?: number | undefined
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined
}

const RULES: Rules<SqlStoreOptions> = {
  ...TABLE_MAPPING_RULES,
  db: needed(having('a Kysely', 'getExecutor')),
  database: oneOf(...Object.keys(DATABASES)),
  create: BOOLEAN,
  migrate: BOOLEAN,
  timeout: wholeFrom(1),
  maxScan: wholeFrom(1),
  rememberTotals: BOOLEAN,
  clock: FUNCTION,
}

/** A store, as its transactions see it. */
interface Member {
  readonly shared: SharedDatabase
  /** Has `close` wait for `leave`. @throws UnavailableError where the store is closed. */
  enter(): void
  leave(): void
  open(): Table | Promise<Table>
  /** The store within a transaction; where its table could not be opened, each call throws why. */
  bind(opened: PromiseSettledResult<Table>, transaction: StatementSession): Store
}

const members = new WeakMap<Store, Member>()

async function list(
  { reads }: Table,
  ...[selection, slice, mode, given]: Parameters<Store['list']>
): Promise<Page> {
  if (slice.limit === 0) {
    const none = { items: [], more: false }
    if (mode === 'none') return none
    return { ...none, total: await reads.total(selection, mode, given) }
  }
  const wanted = { ...slice, limit: slice.limit + 1 }
  const maxBytes = given?.maxBytes
  const found =
    mode === 'none'
      ? { ...(await reads.items(selection, wanted, given, maxBytes)), total: undefined }
      : await (mode === 'exact'
          ? reads.page(selection, wanted, given)
          : reads.estimatedPage(selection, wanted, given))
  const page = toPage(found.items, slice, found.total)
  if (found.leftOut === undefined) return page
  return cutPage(found.leftOut > 0 ? { ...page, more: true } : page, slice, maxBytes)
}

/**
 * Creates a store in a table of a SQL database: a column for each top-level field. SQLite as of 3.43,
 * PostgreSQL as of 13 with the encoding UTF8. At first use it reads the catalog: a table that lacks a
 * column, or has one that cannot be served as it is declared, makes each call throw an `Error` that says
 * so. Not checked: that values match the schema. Without a version column a version is a hash of the
 * values, which returns when the values do.
 * @example
 * import Database from 'libsql'
 * import { Kysely, SqliteDialect } from 'kysely'
 * import { prepareSqlite, reuseStatements, sqlStore } from 'rest-conventions/sql'
 * const database = reuseStatements(new Database(':memory:'))
 * const db = new Kysely({ dialect: new SqliteDialect({ database }) })
 * await prepareSqlite(db)
 * const store = sqlStore({ db, create: true })
 */
export function sqlStore<Database>(options: SqlStoreOptions<Database>): Store {
  checkOptions('sqlStore', options, RULES)
  const { db, timeout } = options
  const name = options.database ?? findDatabase(db)
  if (name === undefined) {
    throw new TypeError('This Kysely is neither for SQLite nor for PostgreSQL: set `database`')
  }
  const database = DATABASES[name]
  const shared = findSharedDatabase(db)
  const session = new Session(shared, database, timeout)
  let shape: Shape | undefined
  let table: Table | undefined
  let preparing: Promise<Table> | undefined
  let running = 0
  let onIdle = () => {}
  let closed = false

  async function prepare(own: Shape): Promise<Table> {
    const prepared = await openTable(own, session, database, options)
    setMapping(store, prepared.mapping)
    // Another collection may have been attached meanwhile.
    if (own === shape) table = prepared
    return prepared
  }

  function open(): Table | Promise<Table> {
    if (table) return table
    if (!shape) throw new TypeError('The store belongs to no collection yet')
    preparing ??= prepare(shape).finally(() => {
      preparing = undefined
    })
    return preparing
  }

  /** Throws what a rule of the table refuses, with the fields that it is about. */
  function rethrow(error: unknown, { mapping }: Table): never {
    const failure = database.failure(error)
    if (failure?.kind === 'unstorable') {
      const fields = mapping.findIndexed(failure.index, failure.column)
      throw new UnstorableError(fields, { cause: error })
    }
    if (failure?.kind === 'conflict') throw new ReferenceConflictError({ cause: error })
    if (failure?.kind !== 'unique') throw error
    throw new UniqueError(mapping.findUnique(failure.index, failure.columns), { cause: error })
  }

  function enter(): void {
    if (closed) throw new UnavailableError('The store is closed')
    running++
  }

  function leave(): void {
    running--
    if (running === 0) onIdle()
  }

  /** Runs work that `close` waits for. */
  async function use<T>(work: (table: Table) => Promise<T>): Promise<T> {
    enter()
    try {
      return await work(table ?? (await open()))
    } finally {
      leave()
    }
  }

  /** Runs work on a table and those that its filters reach into. */
  function reach<T>(
    access: <R>(work: (table: Table) => Promise<R>) => Promise<R>,
    { where }: Pick<Selection, 'where'>,
    work: (table: Table) => Promise<T>,
  ): Promise<T> {
    const others = listStores(where)
    if (others.length === 0) return access(work)
    return Promise.all(others.map(each => members.get(each)?.open())).then(() => access(work))
  }

  /** The methods of a store on a table that some function opens. */
  function methodsOn(access: <T>(work: (table: Table) => Promise<T>) => Promise<T>) {
    const write = <T>(work: (table: Table) => Promise<T>) =>
      access(opened => work(opened).catch(error => rethrow(error, opened)))
    const methods: Omit<Store, 'attach' | 'claim' | 'close'> = {
      pages: 'key',
      idempotency: 'store',
      database: shared,
      get: (id, given) => access(({ changes }) => changes.get(id, given)),
      list: (...input) => reach(access, input[0], opened => list(opened, ...input)),
      async count(filters, mode, given) {
        throwIfAborted(given)
        if (mode === 'none') return undefined
        return reach(access, filters, ({ reads }) => reads.total(filters, mode, given))
      },
      async *stream(selection, given) {
        for (let key: Scalar[] | undefined; ; ) {
          const slice = { limit: BATCH, key, backward: false }
          const { items, leftOut = 0 } = await reach(access, selection, ({ reads }) =>
            reads.items(selection, slice, given, BATCH_BYTES),
          )
          if (items.length > 0) yield items
          const end = items.at(-1)
          if (!end || (items.length < BATCH && leftOut === 0)) return
          // The values of sort keys are scalars or null.
          key = sortKeyOf(end.item, selection.sort) as Scalar[]
        }
      },
      create: (values, given) => write(({ creates }) => creates.create(values, given)),
      update: (id, version, values, given) =>
        write(({ changes }) => changes.update(id, version, values, given)),
      delete: (id, version, given) => write(({ changes }) => changes.delete(id, version, given)),
      complete: (key, answer, given) =>
        access(({ records }) => records.complete(key, answer, given)),
    }
    return methods
  }

  const store: Store = {
    ...methodsOn(use),
    attach(next) {
      const merged = shape ? mergeShapes(shape, next) : next
      // Throws for what no table can hold.
      tableStatements(new TableMapping(merged, database, options))
      shape = merged
      table = undefined
      preparing = undefined
    },
    open: () => use(async () => undefined),
    claim: (key, fingerprint, given) =>
      use(({ records }) => records.claim(key, fingerprint, given)),
    async transaction(stores, work, given = {}) {
      const taking = stores.map(each => {
        const member = members.get(each)
        if (member?.shared === shared) return member
        throw new TypeError(
          'A transaction takes stores of one database: those with the same Kysely',
        )
      })
      const entered: Member[] = []
      try {
        for (const member of taking) {
          member.enter()
          entered.push(member)
        }
        // Before it begins: it may have the only connection.
        const opened = await Promise.allSettled(taking.map(async member => member.open()))
        const run = (transaction: StatementSession) =>
          work(opened.map((each, at) => (taking[at] as Member).bind(each, transaction))) // one for each
        return await runTransaction(session, shared, database, run, given)
      } finally {
        for (const member of entered) member.leave()
      }
    },
    async close() {
      if (closed) return
      closed = true
      if (running > 0) {
        await new Promise<void>(resolve => {
          onIdle = resolve
        })
      }
      await shared.reader?.destroy()
      await db.destroy()
    },
  }
  keepTransactions(store)
  members.set(store, {
    shared,
    enter,
    leave,
    open,
    bind(opened, transaction) {
      const refused = {
        attach: refuseInTransaction,
        claim: refuseInTransaction,
        close: refuseInTransaction,
      }
      if (opened.status === 'rejected') {
        return { ...methodsOn(() => Promise.reject(opened.reason)), ...refused }
      }
      const bound = opened.value.within(transaction)
      const within: Store = {
        ...methodsOn(work => work(bound)),
        ...refused,
        complete: (key, answer, given) => bound.records.completeClaimed(key, answer, given),
      }
      setMapping(within, bound.mapping)
      return within
    },
  })
  return store
}
