// Items in a SQL database, by the Kysely instance that the user brings: `rest-conventions/sql`.
import type { Kysely } from 'kysely'
import type { Scalar } from '../fields.ts'
import { sortKeyOf } from '../selection.ts'
import {
  assemble,
  type Id,
  type Page,
  type Shape,
  type Store,
  type Stored,
  type StoreOptions,
  UniqueError,
} from '../store.ts'
import { newVersion, nextInteger, nextUuid } from './ids.ts'
import { BATCH, mergeShapes } from './shapes.ts'
import { SqlAttempts } from './sql-attempts.ts'
import { sqlite } from './sql-dialect.ts'
import { Layout, type LayoutOptions } from './sql-layout.ts'
import { SqlReads } from './sql-reads.ts'
import { type Runner, Session } from './sql-session.ts'
import { type Statements, statementsOf } from './sql-statements.ts'
import { createTables } from './sql-tables.ts'

export type { ColumnOptions, LayoutOptions } from './sql-layout.ts'
export { createTableSql, prepareSqlite } from './sql-tables.ts'

export interface SqlStoreOptions<Database = unknown> extends LayoutOptions {
  /** The user's own. `close()` destroys it. For SQLite, see {@link prepareSqlite}. */
  readonly db: Kysely<Database>
  /**
   * Whether tables and indexes that are not there are made at first use; they are never altered.
   * Default false: {@link createTableSql} prints what to put into a migration.
   */
  readonly create?: boolean
  /** The time in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: () => number
}

/** What a store makes of its collections. */
interface Attached {
  readonly layout: Layout
  readonly statements: Statements
  readonly attempts: SqlAttempts
  readonly reads: SqlReads
}

/**
 * A store in a table of a SQL database: a column for each top-level field. SQLite as of 3.38.
 * Dates of creation and update are `toISOString()` text. Not checked: that a table which exists has
 * the columns, and that its values are what the schema says. Without a version column a version is a
 * hash of the values, which comes again when the values do.
 */
export function sqlStore<Database>({
  db,
  create = false,
  clock = Date.now,
  ...options
}: SqlStoreOptions<Database>): Store {
  let own: Attached | undefined
  const session = new Session(db, sqlite, async runner => {
    if (create && own) await createTables(own.layout, runner)
  })

  function attached(): Attached {
    if (!own) throw new TypeError('The store belongs to no collection yet')
    return own
  }

  async function find(id: Id, runner: Runner): Promise<Stored | undefined> {
    const { layout, statements } = attached()
    // SQLite would find the integer 5 under the text '5'.
    if ((typeof id === 'number') !== (layout.shape.identity.kind === 'integer')) return undefined
    const [row] = (await runner.run(statements.get, [id])).rows
    return row && layout.stored(row)
  }

  async function insert(id: Id, values: Stored['item'], runner: Runner): Promise<Stored> {
    const { layout, statements } = attached()
    const date = new Date(clock()).toISOString()
    const item = assemble(layout.shape, id, values, date, date)
    const version = layout.versionColumn === undefined ? undefined : newVersion()
    const row = layout.encode(item)
    await runner.run(statements.insert, version === undefined ? row : [...row, version])
    return layout.storedItem(item, version)
  }

  async function nextId(runner: Runner): Promise<Id> {
    const { layout, statements } = attached()
    const [row] = (await runner.run(statements.last, [layout.table])).rows
    // What another program put into the table counts as made.
    const known = [row?.last, row?.most].filter(id => id !== null && id !== undefined)
    const id =
      layout.shape.identity.kind === 'integer'
        ? nextInteger(Math.max(0, ...known.map(Number)))
        : nextUuid(known.map(String).sort().at(-1), clock())
    const kept = await runner.run(statements.keepLast, [String(id), layout.table])
    if (kept.numAffectedRows === 0n)
      await runner.run(statements.firstLast, [layout.table, String(id)])
    return id
  }

  /** Replaces the values of a row at a version; where it has no column for one, the caller compared it. */
  async function replace(
    id: Id,
    version: string,
    values: Stored['item'],
    runner: Runner,
  ): Promise<Stored | undefined> {
    const { layout, statements } = attached()
    const { shape } = layout
    const date = new Date(clock()).toISOString()
    const item = assemble(shape, id, values, date, date)
    const next = layout.versionColumn === undefined ? undefined : newVersion()
    const row = layout.encode(item, layout.changing)
    const [found] = (
      await runner.run(
        statements.update,
        next === undefined ? [...row, id] : [...row, next, id, version],
      )
    ).rows
    if (!found) return undefined
    if (shape.createdAt !== undefined) item[shape.createdAt] = String(Object.values(found)[0])
    return layout.storedItem(item, next)
  }

  /** Does something to a row if it is at a version: the statement compares, or a transaction does. */
  function atVersion<T>(
    id: Id,
    version: string,
    otherwise: T,
    work: (runner: Runner) => Promise<T>,
    given: StoreOptions | undefined,
  ): Promise<T> {
    const { layout } = attached()
    const integer = layout.shape.identity.kind === 'integer'
    if ((typeof id === 'number') !== integer) return Promise.resolve(otherwise)
    if (layout.versionColumn !== undefined) return session.write(work, given, true)
    return session.write(
      async runner => ((await find(id, runner))?.version === version ? work(runner) : otherwise),
      given,
    )
  }

  /** Names the fields of a unique set that a write would break. */
  function named(error: unknown): never {
    const failure = sqlite.failure(error)
    if (failure?.kind !== 'unique') throw error
    const { layout } = attached()
    throw new UniqueError(layout.uniqueSet(failure.index, failure.columns), { cause: error })
  }

  return {
    attach(next) {
      const shape: Shape = own ? mergeShapes(own.layout.shape, next) : next
      const layout = new Layout(shape, sqlite, options)
      const statements = statementsOf(layout, statement => session.compile(statement))
      const attempts = new SqlAttempts(session, layout.table, clock)
      own = { layout, statements, attempts, reads: new SqlReads(session, layout) }
      session.renew()
    },
    async get(id, given) {
      return session.read(runner => find(id, runner), given)
    },
    async list(selection, slice, mode, given): Promise<Page> {
      const { reads } = attached()
      const wanted = mode !== 'none'
      if (slice.limit > 0) {
        return wanted
          ? reads.page(selection, slice, given)
          : { items: await reads.items(selection, slice, given) }
      }
      return wanted ? { items: [], total: await reads.count(selection, given) } : { items: [] }
    },
    async count(filters, mode, given) {
      given?.signal?.throwIfAborted()
      return mode === 'none' ? undefined : attached().reads.count(filters, given)
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
      const { layout, attempts } = attached()
      const { identity } = layout.shape
      const wish = identity.kind === 'text' ? values[identity.name] : undefined
      const chosen = typeof wish === 'string' ? wish : undefined
      const key = given?.idempotencyKey
      if (chosen !== undefined && key === undefined) {
        return session.write(runner => insert(chosen, values, runner), given, true).catch(named)
      }
      return session
        .write(async runner => {
          const stored = await insert(chosen ?? (await nextId(runner)), values, runner)
          if (key !== undefined) await attempts.answer(key, { ...stored }, runner)
          return stored
        }, given)
        .catch(named)
    },
    async update(id, version, values, given) {
      return atVersion(
        id,
        version,
        undefined,
        runner => replace(id, version, values, runner),
        given,
      ).catch(named)
    },
    async delete(id, version, given) {
      const { layout, statements } = attached()
      const parameters = layout.versionColumn === undefined ? [id] : [id, version]
      return atVersion(
        id,
        version,
        false,
        async ({ run }) => (await run(statements.remove, parameters)).numAffectedRows === 1n,
        given,
      )
    },
    async begin(key, fingerprint, given) {
      return attached().attempts.begin(key, fingerprint, given)
    },
    async finish(key, answer, given) {
      return attached().attempts.finish(key, answer, given)
    },
    async close() {
      await session.close()
    },
  }
}
