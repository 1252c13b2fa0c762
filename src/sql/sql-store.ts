// Keeps items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.

import type { Kysely } from 'kysely'
import { iterate } from '../base/iterate.ts'
import { checkOptions } from '../options.ts'
import { UnavailableError } from '../store/errors.ts'
import { BATCH_BYTES, BATCH_ITEMS } from '../store/page.ts'
import { type FilterSet, sortKeyOf } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import {
  type Id,
  type KeySlice,
  type ListOptions,
  type Shape,
  type Store,
  type Stored,
  type StoreOptions,
  throwIfAborted,
} from '../store/store.ts'
import { keepTransactions, refuseInTransaction } from '../store/store-queue.ts'
import { followChanges } from './changes/follow.ts'
import { FollowedSession } from './changes/followed-session.ts'
import type { ChangedTable } from './changes/table-changes.ts'
import type { SqlDatabase } from './databases/database.ts'
import { DATABASES, findDatabase } from './databases/databases.ts'
import { openTable, type Table } from './open-table.ts'
import {
  type KyselyStore,
  SQL_STORE_RULES,
  type SqlStoreOptions,
  type TableOptions,
} from './options.ts'
import { registerRelated, TableReferences } from './references.ts'
import { findTable, rethrow } from './rethrow.ts'
import { createProgramSql } from './session/program-sql.ts'
import type { StatementSession } from './session/runner.ts'
import { Session } from './session/session.ts'
import {
  type AnyKysely,
  findSharedDatabase,
  type SharedDatabase,
} from './session/shared-database.ts'
import { runTransaction } from './session/transaction.ts'
import { listStores, setMapping } from './statements/where.ts'
import { tableStatements } from './table/create-table.ts'
import { TableMapping } from './table/table-mapping.ts'

/** What a call does with the table of a store, once it is open. */
type TableWork<T> = (table: Table, session: StatementSession) => Promise<T>

/**
 * Creates a store in a table of a SQL database: a column for each top-level field. SQLite as of 3.43,
 * PostgreSQL as of 13 with the encoding UTF8. At first use it reads the catalog: a table that lacks a
 * column, or has one that cannot be served as it is declared, makes each call throw an `Error` that says
 * so. It does not check that values match the schema. Without a version column a version is a hash of
 * the values: equal values have the same version again.
 * @example
 * import Database from 'libsql'
 * import { Kysely, SqliteDialect } from 'kysely'
 * import { prepareSqlite, reuseStatements, sqlStore } from 'rest-conventions/sql'
 * const database = reuseStatements(new Database(':memory:'))
 * const db = new Kysely({ dialect: new SqliteDialect({ database }) })
 * await prepareSqlite(db)
 * const store = sqlStore({ db, create: true })
 */
export function sqlStore<Database>(options: SqlStoreOptions<Database>): KyselyStore<Database> {
  checkOptions('sqlStore', options, SQL_STORE_RULES)
  const name = options.database ?? findDatabase(options.db)
  if (name === undefined) {
    throw new TypeError('This Kysely is neither for SQLite nor for PostgreSQL: set `database`')
  }
  const database = DATABASES[name]
  const known = (options.timezone && database.inUtc) || database
  const store = new SqlStore(findSharedDatabase(options.db), known, options, options.db)
  return store as KyselyStore<Database> // in a transaction its `sql` is made of this Kysely
}

/** The calls that a store has within a transaction too. They are fields: a program may copy them (`{ ...store }`). */
abstract class TableCalls {
  readonly pages = 'key'
  readonly idempotency = 'store'
  readonly database: SharedDatabase
  readonly hashesValues: boolean

  constructor(database: SharedDatabase, hashesValues: boolean) {
    this.database = database
    this.hashesValues = hashesValues
  }

  /** Runs work on the table. */
  protected abstract use<T>(work: TableWork<T>): Promise<T>

  /** What `find` finds without waiting; `undefined` if it has to wait. */
  protected abstract findAtOnce(
    ...input: Parameters<Store['find']>
  ): readonly (Stored | undefined)[] | undefined

  /** Reads the table and those that its filters reach into. */
  #read<S extends FilterSet, T>(
    selection: S,
    work: (table: Table, session: StatementSession, selection: S) => Promise<T>,
    call?: ListOptions,
  ): Promise<T> {
    const run = () =>
      selection.search
        ? this.use(async (table, on) =>
            work(table, on, await table.unfolded.prepare(on, selection, call)),
          )
        : this.use((table, on) => work(table, on, selection))
    const others = listStores(selection.where).filter(store => store instanceof SqlStore)
    if (others.length === 0) return run()
    return Promise.all(others.map(store => store.openTable())).then(run)
  }

  readonly find: Required<Store>['find'] = (...input) =>
    this.findAtOnce(...input) ?? this.use(({ finder }, on) => finder.find(on, ...input))

  readonly list: Required<Store>['list'] = (selection, slice, mode, call) =>
    this.#read(
      selection,
      ({ reads }, on, wanted) => reads.list(on, wanted, slice, mode, call),
      call,
    )

  readonly count: Required<Store>['count'] = async (filters, mode, call) => {
    throwIfAborted(call)
    if (mode === 'none') return undefined
    return this.#read(
      filters,
      ({ totals }, on, wanted) => totals.count(on, wanted, mode, call),
      call,
    )
  }

  readonly countBy: Required<Store>['countBy'] = (filters, grouping, call) =>
    this.#read(filters, ({ countBy }, on, wanted) => countBy(on, wanted, grouping, call), call)

  readonly stream: Required<Store>['stream'] = (selection, call) => {
    let key: KeySlice['key']
    let ended = false
    return iterate(async () => {
      if (ended) return undefined
      const slice = { limit: BATCH_ITEMS, key, backward: false }
      const { items, more } = await this.#read(selection, ({ reads }, on, wanted) =>
        reads.list(on, wanted, slice, 'none', call, BATCH_BYTES),
      )
      const end = items.at(-1)
      if (!end) return undefined
      key = sortKeyOf(end.item, selection.sort)
      ended = !more
      return items
    })
  }

  readonly write: Required<Store>['write'] = (...input) =>
    this.use((table, on) => table.writes.write(on, ...input).catch(error => rethrow(error, table)))

  readonly listEach: Required<Store>['listEach'] = (path, ids, selection, limit, call) =>
    this.#read(
      selection,
      ({ each }, on, wanted) => each.list(on, [path, ids, wanted, limit], call),
      call,
    )

  readonly complete: Required<Store>['complete'] = (...input) =>
    this.use(({ records }, on) => records.complete(on, ...input))
}

class SqlStore extends TableCalls implements Store {
  readonly changes: Store['changes']
  readonly #options: TableOptions
  readonly #sql: SqlDatabase
  readonly #session: Session
  readonly #references = new TableReferences()
  #shape: Shape | undefined
  /** Absent until it is open. */
  #table: Table | undefined
  #opening: Promise<Table> | undefined
  /** How many calls run: `close` waits for them. */
  #running = 0
  #onIdle = () => {}
  #closed = false
  /** The name of the table in the log of changes. */
  #logged = ''

  readonly #db: AnyKysely

  constructor(shared: SharedDatabase, sql: SqlDatabase, options: TableOptions, db: AnyKysely) {
    super(shared, options.version === false)
    this.#db = db
    this.#options = options
    this.#sql = sql
    this.#session = new (options.changes ? FollowedSession : Session)(shared, sql, options.timeout)
    if (options.changes) this.changes = followChanges(shared, () => this.#followTable())
    keepTransactions(this)
    registerRelated(this, {
      references: this.#references,
      findTarget: async () => (await this.openTable()).target,
      describe: () => ({ shape: this.#requireShape(), options, database: sql.name }),
    })
  }

  readonly attach: Required<Store>['attach'] = next => {
    const merged = this.#shape ? mergeShapes(this.#shape, next) : next
    if (merged.identity.parts && this.#options.changes)
      throw new TypeError(`${merged.name}: changes needs an id of one column. Leave it out`)
    // Throws a TypeError for fields that no table can hold.
    tableStatements(
      new TableMapping({ shape: merged, database: this.#sql, options: this.#options }),
    )
    this.#shape = merged
    this.#forgetTable()
  }

  readonly relate: Required<Store>['relate'] = references => {
    if (this.#references.add(references, this.#table !== undefined)) this.#forgetTable()
  }

  readonly facts: Required<Store>['facts'] = () => this.#table?.facts

  readonly open: Required<Store>['open'] = () => this.use(async () => undefined)

  readonly take: Required<Store>['take'] = (...input) =>
    this.use(({ take }, on) => take(on, ...input))

  readonly claim: Required<Store>['claim'] = (...input) =>
    this.use(({ records }, on) => records.claim(on, ...input))

  readonly renew: Required<Store>['renew'] = (...input) =>
    this.use(({ records }, on) => records.renew(on, ...input))

  readonly transaction: Required<Store>['transaction'] = async (stores, work, call = {}) => {
    const participants = stores.map(each => {
      if (each instanceof SqlStore && each.database === this.database) return each
      throw new TypeError('A transaction takes stores of one database: those with the same Kysely')
    })
    const entered: SqlStore[] = []
    try {
      for (const store of participants) {
        store.#enter()
        entered.push(store)
      }
      // A transaction may occupy the only connection: tables are opened before it begins.
      const tables = await Promise.allSettled(participants.map(async store => store.openTable()))
      const run = (transaction: StatementSession) =>
        work(
          participants.map((store, at) => {
            const table = tables[at] as PromiseSettledResult<Table> // one for each
            return new StoreInTransaction(store, table, transaction)
          }),
        )
      const opened = tables.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
      const rethrowCommit = (error: unknown) => rethrow(error, findTable(error, opened))
      return await runTransaction(this.#session, this.#sql, run, call, rethrowCommit)
    } finally {
      for (const store of entered) store.#leave()
    }
  }

  readonly close: Required<Store>['close'] = async () => {
    if (this.#closed) return
    this.#closed = true
    if (this.#running === 0) return
    await new Promise<void>(resolve => {
      this.#onIdle = resolve
    })
  }

  /** Creates what runs statements of the program's own in a transaction. */
  createSql(transaction: StatementSession): Kysely<unknown> {
    return createProgramSql(this.#db, transaction, this.#sql)
  }

  /** Opens the table at first use. */
  openTable(): Table | Promise<Table> {
    if (this.#table) return this.#table
    this.#opening ??= this.#openFor(this.#requireShape()).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openFor(shape: Shape): Promise<Table> {
    const keys = await this.#references.findKeys(this)
    const declared = { shape, database: this.#sql, options: this.#options, keys }
    const opened = await this.database.advice.gather(() => openTable(declared, this.#session))
    setMapping(this, opened.mapping)
    if (this.#options.changes) {
      const { setUpLog } = await import('./changes/set-up.ts')
      this.#logged = await setUpLog(opened.mapping, this.#session, this.#options)
    }
    // Another collection may be attached by now.
    if (shape === this.#shape) this.#table = opened
    return opened
  }

  async #followTable(): Promise<ChangedTable> {
    const { mapping } = await this.openTable()
    const { changes } = this.#options
    return {
      mapping,
      name: this.#logged,
      session: this.#session,
      shared: this.database,
      keep: typeof changes === 'object' ? changes.keep : undefined,
    }
  }

  #forgetTable(): void {
    this.#table = undefined
    this.#opening = undefined
  }

  #requireShape(): Shape {
    if (!this.#shape) throw new TypeError('The store belongs to no collection yet')
    return this.#shape
  }

  /** Has `close` wait for `leave`. @throws UnavailableError where the store is closed. */
  #enter(): void {
    if (this.#closed) throw new UnavailableError('The store is closed')
    this.#running++
  }

  #leave(): void {
    this.#running--
    if (this.#running === 0) this.#onIdle()
  }

  protected override async use<T>(work: TableWork<T>): Promise<T> {
    this.#enter()
    try {
      return await work(this.#table ?? (await this.openTable()), this.#session)
    } finally {
      this.#leave()
    }
  }

  protected override findAtOnce([id, other]: readonly Id[], call?: StoreOptions) {
    if (this.#closed || id === undefined || other !== undefined) return undefined
    return this.#table?.finder.findAtOnce(this.#session, id, call)
  }
}

/** A store within a transaction; if its table could not be opened, each call throws the reason. */
class StoreInTransaction extends TableCalls implements Store {
  readonly #table: PromiseSettledResult<Table>
  readonly #transaction: StatementSession
  readonly #store: SqlStore
  readonly attach = refuseInTransaction
  readonly claim = refuseInTransaction
  readonly close = refuseInTransaction

  constructor(store: SqlStore, table: PromiseSettledResult<Table>, transaction: StatementSession) {
    super(store.database, store.hashesValues)
    this.#store = store
    this.#table = table
    this.#transaction = transaction
    if (table.status === 'fulfilled') setMapping(this, table.value.mapping)
  }

  get sql(): Kysely<unknown> {
    return this.#store.createSql(this.#transaction)
  }

  readonly facts: Required<Store>['facts'] = () =>
    this.#table.status === 'fulfilled' ? this.#table.value.facts : undefined

  // It waits for the calls of the transaction before it.
  protected override findAtOnce(): undefined {}

  protected override async use<T>(work: TableWork<T>): Promise<T> {
    if (this.#table.status === 'rejected') throw this.#table.reason
    return work(this.#table.value, this.#transaction)
  }
}
