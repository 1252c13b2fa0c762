// Keeps items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.

import { emitWarning } from 'node:process'
import { iterate } from '../base/iterate.ts'
import { checkOptions } from '../options.ts'
import {
  ReferenceConflictError,
  UnavailableError,
  UniqueError,
  UnstorableError,
} from '../store/errors.ts'
import { BATCH_BYTES, BATCH_ITEMS } from '../store/page.ts'
import { type FilterSet, sortKeyOf } from '../store/selection.ts'
import { mergeShapes } from '../store/shapes.ts'
import {
  type KeySlice,
  type ListOptions,
  type Shape,
  type Store,
  throwIfAborted,
} from '../store/store.ts'
import { keepTransactions, refuseInTransaction } from '../store/store-queue.ts'
import { DATABASES, findDatabase } from './databases/databases.ts'
import { openTable, type Table } from './open-table.ts'
import { SQL_STORE_RULES, type SqlStoreOptions } from './options.ts'
import { Relations, registerRelated } from './relations.ts'
import type { StatementSession } from './session/runner.ts'
import { Session } from './session/session.ts'
import { findSharedDatabase, type SharedDatabase } from './session/shared-database.ts'
import { runTransaction } from './session/transaction.ts'
import { listStores, setMapping } from './statements/where.ts'
import { tableStatements } from './table/create-table.ts'
import { TableMapping } from './table/table-mapping.ts'

/** Runs work on the table of a store, once it is open. */
type WithTable = <T>(work: (table: Table, session: StatementSession) => Promise<T>) => Promise<T>

/** A store, as its transactions see it. */
interface Participant {
  readonly shared: SharedDatabase
  /** Has `close` wait for `leave`. @throws UnavailableError where the store is closed. */
  enter(): void
  leave(): void
  open(): Table | Promise<Table>
  /** Returns the store within a transaction; if its table could not be opened, each call throws the reason. */
  bind(opened: PromiseSettledResult<Table>, transaction: StatementSession): Store
}

const members = new WeakMap<object, Participant>()

/** The error of a write to a table with a column that the schema lacks and that needs a value. */
function adviseColumn({ table }: TableMapping, column: string, cause: unknown): Error {
  return new Error(
    `The column "${column}" of ${table} needs a value, and is not in the schema: declare it, or give it a default`,
    { cause },
  )
}

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
export function sqlStore<Database>(options: SqlStoreOptions<Database>): Store {
  checkOptions('sqlStore', options, SQL_STORE_RULES)
  const { db, timeout } = options
  const name = options.database ?? findDatabase(db)
  if (name === undefined) {
    throw new TypeError('This Kysely is neither for SQLite nor for PostgreSQL: set `database`')
  }
  const database = DATABASES[name]
  const shared = findSharedDatabase(db)
  const session = new Session(shared, database, timeout)
  let attached: Shape | undefined
  let table: Table | undefined
  let opening: Promise<Table> | undefined
  let running = 0
  let onIdle = () => {}
  let closed = false
  const relations = new Relations()

  async function openFor(shape: Shape): Promise<Table> {
    const keys = await relations.findKeys(store)
    const opened = await openTable(shape, session, database, options, keys)
    for (const each of opened.advice) emitWarning(each, { code: 'REST_CONVENTIONS_TABLE' })
    setMapping(store, opened.mapping)
    // Another collection may be attached by now.
    if (shape === attached) table = opened
    return opened
  }

  function attachedShape(): Shape {
    if (!attached) throw new TypeError('The store belongs to no collection yet')
    return attached
  }

  function open(): Table | Promise<Table> {
    if (table) return table
    opening ??= openFor(attachedShape()).finally(() => {
      opening = undefined
    })
    return opening
  }

  /** Translates an error of the database to one of stores, with the fields that it is about. */
  function rethrow(error: unknown, { mapping }: Table): never {
    const failure = database.failure(error)
    const cause = { cause: error }
    switch (failure?.kind) {
      case 'conflict':
        throw new ReferenceConflictError(cause)
      case 'unique':
        throw new UniqueError(mapping.findFields(failure.index, failure.columns), cause)
      case 'unstorable': {
        const fields = mapping.findFields(failure.index, failure.columns)
        const [column] = failure.columns ?? []
        // No client can fill a column in that is not in the schema.
        if (column !== undefined && fields.length === 0) throw adviseColumn(mapping, column, error)
        throw new UnstorableError(fields, cause)
      }
      default:
        throw error
    }
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
  const use: WithTable = async work => {
    enter()
    try {
      return await work(table ?? (await open()), session)
    } finally {
      leave()
    }
  }

  /** Builds the methods of a store. @param access gives them its table and a session. */
  function methodsOn(access: WithTable) {
    const write: WithTable = work =>
      access((opened, on) => work(opened, on).catch(error => rethrow(error, opened)))
    /** Reads the table and those that its filters reach into. */
    const read = <S extends FilterSet, T>(
      selection: S,
      work: (table: Table, on: StatementSession, selection: S) => Promise<T>,
      call?: ListOptions,
    ): Promise<T> => {
      const run = () =>
        selection.search
          ? access(async (opened, on) =>
              work(opened, on, await opened.unfolded.prepare(on, selection, call)),
            )
          : access((opened, on) => work(opened, on, selection))
      const others = listStores(selection.where)
      if (others.length === 0) return run()
      return Promise.all(others.map(each => members.get(each)?.open())).then(run)
    }
    const methods: Omit<Store, 'attach' | 'claim' | 'close'> = {
      pages: 'key',
      idempotency: 'store',
      database: shared,
      hashesValues: options.version === false,
      get: (...input) => access(({ sets }, on) => sets.get(on, ...input)),
      list: (selection, slice, mode, call) =>
        read(selection, ({ reads }, on, wanted) => reads.list(on, wanted, slice, mode, call), call),
      async count(filters, mode, call) {
        throwIfAborted(call)
        if (mode === 'none') return undefined
        return read(filters, ({ totals }, on, wanted) => totals.count(on, wanted, mode, call), call)
      },
      countBy: (filters, grouping, call) =>
        read(filters, ({ countBy }, on, wanted) => countBy(on, wanted, grouping, call), call),
      stream(selection, call) {
        let key: KeySlice['key']
        let ended = false
        return iterate(async () => {
          if (ended) return undefined
          const slice = { limit: BATCH_ITEMS, key, backward: false }
          const { items, more } = await read(selection, ({ reads }, on, wanted) =>
            reads.list(on, wanted, slice, 'none', call, BATCH_BYTES),
          )
          const end = items.at(-1)
          if (!end) return undefined
          key = sortKeyOf(end.item, selection.sort)
          ended = !more
          return items
        })
      },
      create: (...input) => write(({ creates }, on) => creates.create(on, ...input)),
      update: (...input) => write(({ rows }, on) => rows.update(on, ...input)),
      delete: (...input) => write(({ rows }, on) => rows.delete(on, ...input)),
      getMany: (...input) => access(({ sets }, on) => sets.getMany(on, ...input)),
      listEach: (path, ids, selection, limit, call) =>
        read(
          selection,
          ({ each }, on, wanted) => each.list(on, [path, ids, wanted, limit], call),
          call,
        ),
      createAll: (...input) => write(({ creates }, on) => creates.createAll(on, ...input)),
      updateAll: (...input) => write(({ updateAll }, on) => updateAll(on, ...input)),
      deleteAll: (...input) => write(({ sets }, on) => sets.deleteAll(on, ...input)),
      complete: (...input) => access(({ records }, on) => records.complete(on, ...input)),
    }
    return methods
  }

  const methods = methodsOn(use)
  const store: Store = {
    ...methods,
    get(id, call) {
      const found = closed ? undefined : table?.sets.getAtOnce(session, id, call)
      return found ? found.stored : methods.get(id, call)
    },
    attach(next) {
      const merged = attached ? mergeShapes(attached, next) : next
      // Throws a TypeError for fields that no table can hold.
      tableStatements(new TableMapping(merged, database, options))
      attached = merged
      table = undefined
      opening = undefined
    },
    relate(references) {
      if (!relations.add(references, table !== undefined)) return
      table = undefined
      opening = undefined
    },
    keepsReference: field => table?.kept.has(field) ?? false,
    takesCreates: () => table?.takesCreates ?? true,
    open: () => use(async () => undefined),
    claim: (...input) => use(({ records }, on) => records.claim(on, ...input)),
    async transaction(stores, work, call = {}) {
      const participants = stores.map(each => {
        const member = members.get(each)
        if (member?.shared === shared) return member
        throw new TypeError(
          'A transaction takes stores of one database: those with the same Kysely',
        )
      })
      const entered: Participant[] = []
      try {
        for (const member of participants) {
          member.enter()
          entered.push(member)
        }
        // A transaction may occupy the only connection: tables are opened before it begins.
        const opened = await Promise.allSettled(participants.map(async member => member.open()))
        const run = (transaction: StatementSession) =>
          work(opened.map((each, at) => (participants[at] as Participant).bind(each, transaction))) // one for each
        return await runTransaction(session, database, run, call)
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
    },
  }
  keepTransactions(store)
  registerRelated(store, {
    relations,
    findTarget: async () => (await open()).target,
    describe: () => ({ shape: attachedShape(), options, database: database.name }),
  })
  members.set(store, {
    shared,
    enter,
    leave,
    open,
    bind(opened, transaction) {
      const inside: Store = {
        ...methodsOn(async work => {
          if (opened.status === 'rejected') throw opened.reason
          return work(opened.value, transaction)
        }),
        attach: refuseInTransaction,
        claim: refuseInTransaction,
        close: refuseInTransaction,
        keepsReference: field => opened.status === 'fulfilled' && opened.value.kept.has(field),
      }
      if (opened.status === 'fulfilled') setMapping(inside, opened.value.mapping)
      return inside
    },
  })
  return store
}
