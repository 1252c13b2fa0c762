// Items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.
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
import { type Scalar, sameJson } from '../schema/values.ts'
import { createVersion } from '../store/ids.ts'
import { sortKeyOf } from '../store/selection.ts'
import { BATCH, mergeShapes } from '../store/shapes.ts'
import {
  assemble,
  type Id,
  type Page,
  ReferenceConflictError,
  type Shape,
  type Store,
  type Stored,
  type StoreOptions,
  throwIfAborted,
  toPage,
  UniqueError,
  UnstorableError,
} from '../store/store.ts'
import { type Known, readCatalog, UNKNOWN } from './catalog.ts'
import { decodeValue } from './columns.ts'
import { SqlCreates } from './creates.ts'
import { type DatabaseName, findDatabase } from './database.ts'
import { SqlIdempotencyRecords } from './idempotency.ts'
import { PoolSession } from './pool.ts'
import { SqlReads } from './reads.ts'
import { compileFor, type Runner, type Session } from './session.ts'
import { SerialSession } from './single-connection.ts'
import { buildStatements, type Statements } from './statements.ts'
import { TABLE_MAPPING_RULES, TableMapping, type TableMappingOptions } from './table-mapping.ts'
import { DIALECTS, tableStatements } from './tables.ts'

export type { ColumnOptions } from './columns.ts'
export type { DatabaseName } from './database.ts'
export { reuseStatements } from './prepared-statements.ts'
export type { TableMappingOptions } from './table-mapping.ts'
export {
  createTableSql,
  type PostgresClient,
  type PostgresPool,
  preparePostgres,
  prepareSqlite,
} from './tables.ts'

export interface SqlStoreOptions<Database = unknown> extends TableMappingOptions {
  /**
   * The user's own. `close()` destroys it. For SQLite, see {@link prepareSqlite}; a pool of pg must
   * have gone through {@link preparePostgres} .
   */
  readonly db: Kysely<Database>
  /** Which database it is. Default: by what the dialect of the Kysely says of itself. */
  readonly dialect?: DatabaseName | undefined
  /**
   * Whether tables and indexes that are not there are made at first use; they are never altered.
   * Default false: {@link createTableSql} prints what to put into a migration.
   */
  readonly create?: boolean | undefined
  /**
   * How long a call may take in PostgreSQL, in milliseconds, before it is cancelled
   * there and throws an `UnavailableError`; the wait for a connection not counted. Each connection is
   * told it for its statements, whoever sends them: give all stores of a pool the same. Default: no
   * limit, and a call that was given up is cancelled only where a connection is free.
   */
  readonly timeout?: number | undefined
  /**
   * Whether exact totals are remembered until the database changes. Default true; say false for a
   * database that is not plain PostgreSQL although it says so. Never in effect on a standby, on a view
   * (of which rows may come and go by the time), a foreign table or one with row security.
   */
  readonly rememberTotals?: boolean | undefined
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined
}

const RULES: Rules<SqlStoreOptions> = {
  ...TABLE_MAPPING_RULES,
  db: needed(having('a Kysely', 'getExecutor')),
  dialect: oneOf(...Object.keys(DIALECTS)),
  create: BOOLEAN,
  timeout: wholeFrom(1),
  rememberTotals: BOOLEAN,
  clock: FUNCTION,
}

/** What a store makes of its collections. */
interface Attached {
  readonly layout: TableMapping
  readonly statements: Statements
  readonly attempts: SqlIdempotencyRecords
  readonly creates: SqlCreates
  readonly reads: SqlReads
  /** What was learned of the table, by now. */
  readonly known: { -readonly [Name in keyof Known]: Known[Name] }
}

/**
 * A store in a table of a SQL database: a column for each top-level field. SQLite as of 3.38,
 * PostgreSQL as of 13 with the encoding UTF8.
 * Dates of creation and update are `toISOString()` text. At first use the database is asked for the
 * columns: a call of a table that lacks one, or of which one cannot be served as it is declared, throws
 * an `Error` that says so. Not checked: that values are what the schema says. Without a version column
 * a version is a hash of the values, which comes again when the values do.
 */
export function sqlStore<Database>(options: SqlStoreOptions<Database>): Store {
  checkOptions('sqlStore', options, RULES)
  const {
    db,
    create = false,
    clock = Date.now,
    dialect: kind = findDatabase(db),
    timeout,
    rememberTotals = true,
  } = options
  if (kind === undefined) {
    throw new TypeError('This Kysely is for neither SQLite nor PostgreSQL; say which: dialect')
  }
  const dialect = DIALECTS[kind]
  let own: Attached | undefined
  /** Makes what is not there yet, if that is asked for, and learns what is there. */
  const prepare = async (runner: Runner) => {
    if (!own) return
    for (const statement of create ? tableStatements(own.layout) : []) {
      await runner.run(compileFor(dialect, statement))
    }
    Object.assign(own.known, await readCatalog(own.layout, runner))
  }
  // To learn takes no lock, which a standby or a pooler may refuse.
  const words = dialect.pool && !create && { ...dialect.pool, lock: dialect.beginRead }
  const session: Session = dialect.pool
    ? new PoolSession(db, dialect, words || dialect.pool, prepare, timeout)
    : new SerialSession(db, dialect, prepare)

  function attached(): Attached {
    if (!own) throw new TypeError('The store belongs to no collection yet')
    return own
  }

  async function find(id: Id, runner: Runner, locked = false): Promise<Stored | undefined> {
    const { layout, statements } = attached()
    const given = layout.idGiven(id)
    if (given === undefined) return undefined
    const [row] = (await runner.run(locked ? statements.lock : statements.get, [given])).rows
    return row && layout.stored(row)
  }

  /** Replaces the values of a row of the store's own table, if it is at a version. */
  async function replace(
    id: Id,
    version: string,
    values: Stored['item'],
    runner: Runner,
  ): Promise<Stored | undefined> {
    const { layout, statements } = attached()
    const date = new Date(clock()).toISOString()
    const item = assemble(layout.shape, id, values, date, date)
    const given = layout.idGiven(id)
    const next = createVersion()
    const row = layout.encode(item, layout.changing)
    const parameters = [...row, next, given, version]
    const [found] = (await runner.run(statements.update, parameters)).rows
    if (!found) return undefined
    if (layout.created) {
      item[layout.created.name] = String(decodeValue(Object.values(found)[0], layout.created))
    }
    return layout.storedItem(item, next)
  }

  /**
   * Sets what is to be another value than was read of a row, which is locked: what is kept may be more
   * than was read of it, such as digits beyond those of a double.
   * @returns what is kept then.
   */
  async function change(
    before: Stored,
    values: Stored['item'],
    runner: Runner,
  ): Promise<Stored | undefined> {
    const { layout, statements } = attached()
    const { id } = before
    const date = new Date(clock()).toISOString()
    const item = assemble(layout.shape, id, values, date, date)
    const columns = layout.changing.filter(({ name }) => !sameJson(item[name], before.item[name]))
    const next = layout.versionColumn === undefined ? [] : [createVersion()]
    const set = [...layout.encode(item, columns), ...next]
    if (set.length === 0) return before
    const parameters = [...set, layout.idGiven(id)]
    const { rows } = await runner.run(statements.change(columns), parameters)
    atMostOne(id, rows.length)
    return rows[0] && layout.stored(rows[0])
  }

  /** @throws Error, which undoes the transaction, where several rows have the id. */
  function atMostOne(id: Id, rows: number | bigint | undefined): void {
    if (rows === undefined || rows <= 1) return
    throw new Error(
      `${attached().layout.table} has ${rows} rows with the id ${id}: none of them was changed`,
    )
  }

  /**
   * Does something to a row if it is at a version: a statement on the store's own table compares, else
   * a transaction does.
   */
  function atVersion<T>(
    id: Id,
    version: string,
    otherwise: T,
    work: (runner: Runner, before: Stored | undefined) => Promise<T>,
    given: StoreOptions | undefined,
  ): Promise<T> {
    const { layout, known } = attached()
    if (layout.idGiven(id) === undefined) return Promise.resolve(otherwise)
    if (known.own) return session.write(runner => work(runner, undefined), given, true)
    return session.write(async runner => {
      const before = await find(id, runner, true)
      return before?.version === version ? work(runner, before) : otherwise
    }, given)
  }

  /** What a rule of the table refuses, with the fields of a unique set, or of a value too long for its index. */
  function named(error: unknown): never {
    const failure = dialect.failure(error)
    const { layout } = attached()
    if (failure?.kind === 'unstorable') {
      throw new UnstorableError(layout.indexed(failure.index, failure.column), { cause: error })
    }
    if (failure?.kind === 'conflict') throw new ReferenceConflictError({ cause: error })
    if (failure?.kind !== 'unique') throw error
    const { index, columns } = failure
    const set = layout.uniqueSet(index, columns)
    throw new UniqueError(set, { cause: error })
  }

  return {
    pages: 'key',
    idempotency: 'store',
    attach(next) {
      const shape: Shape = own ? mergeShapes(own.layout.shape, next) : next
      const layout = new TableMapping(shape, dialect, options)
      const statements = buildStatements(layout)
      const attempts = new SqlIdempotencyRecords(session, dialect, layout.table, clock)
      const known = { ...UNKNOWN }
      const creates = new SqlCreates(session, layout, statements, attempts, known, clock)
      const reads = new SqlReads(session, layout, known, rememberTotals)
      own = { layout, statements, attempts, creates, reads, known }
      session.renew()
    },
    async get(id, given) {
      return session.read(runner => find(id, runner), given)
    },
    async list(selection, slice, mode, given): Promise<Page> {
      const { reads } = attached()
      if (slice.limit === 0) {
        return mode === 'none'
          ? { items: [], more: false }
          : { items: [], more: false, total: await reads.total(selection, mode, given) }
      }
      const wanted = { ...slice, limit: slice.limit + 1 }
      if (mode === 'none') {
        return toPage(await reads.items(selection, wanted, given), slice, undefined)
      }
      const { items, total } = await (mode === 'exact'
        ? reads.page(selection, wanted, given)
        : reads.estimatedPage(selection, wanted, given))
      return toPage(items, slice, total)
    },
    async count(filters, mode, given) {
      throwIfAborted(given)
      if (mode === 'none') return undefined
      return attached().reads.total(filters, mode, given)
    },
    async *stream(selection, given) {
      for (let key: Scalar[] | undefined; ; ) {
        const slice = { limit: BATCH, key, backward: false }
        const items = await attached().reads.items(selection, slice, given)
        if (items.length > 0) yield items
        const end = items.at(-1)
        if (!end || items.length < BATCH) return
        // The values of sort keys are scalars or null.
        key = sortKeyOf(end.item, selection.sort) as Scalar[]
      }
    },
    async create(values, given) {
      return attached().creates.create(values, given).catch(named)
    },
    async update(id, version, values, given) {
      return atVersion(
        id,
        version,
        undefined,
        (runner, before) =>
          before ? change(before, values, runner) : replace(id, version, values, runner),
        given,
      ).catch(named)
    },
    async delete(id, version, given) {
      const { layout, statements } = attached()
      const key = layout.idGiven(id)
      const parameters = layout.versionColumn === undefined ? [key] : [key, version]
      return atVersion(
        id,
        version,
        false,
        async ({ run }) => {
          const { numAffectedRows } = await run(statements.remove, parameters)
          atMostOne(id, numAffectedRows)
          return numAffectedRows === 1n
        },
        given,
      ).catch(named)
    },
    async claim(key, fingerprint, given) {
      return attached().attempts.claim(key, fingerprint, given)
    },
    async complete(key, answer, given) {
      return attached().attempts.complete(key, answer, given)
    },
    async close() {
      await session.close()
    },
  }
}
