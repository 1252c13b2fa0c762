// Sets up the table of a collection at a start: finds what is missing, makes it if the options allow it, reads the catalog.
import { emitWarning } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { UnavailableError } from '../store/errors.ts'
import type { SqlDatabase } from './databases/database.ts'
import { type Fragment, print, sql } from './databases/sql-text.ts'
import type { TableOptions } from './options.ts'
import { compile, isTrue, type Runner } from './session/runner.ts'
import type { Session } from './session/session.ts'
import { findSetting } from './statements/id-sequence.ts'
import { type Catalog, readCatalog } from './table/catalog.ts'
import type { Column } from './table/columns.ts'
import {
  addColumn,
  extraStatements,
  type IndexPlan,
  isAddable,
  listStatements,
  listUnfolded,
  planTables,
  printIndex,
  printSearchIndex,
  type TablePlan,
} from './table/create-table.ts'
import { type KeptKeys, readKeys } from './table/foreign-keys.ts'
import { type TableDeclaration, TableMapping } from './table/table-mapping.ts'
import { comparePartial, requireUniqueKey } from './table/unique-indexes.ts'

/** How long a statement is tried again whose table others have locked, and the pause in between; milliseconds. */
const LOCKED_TIMEOUT_MS = 60_000
const LOCKED_PAUSE_MS = 500

/** The table of a store. */
export interface OwnTable extends TableDeclaration {
  readonly options: TableOptions
}

/** A table that has all that it needs, and what to tell of the rest. */
interface SetUpTable extends KeptKeys {
  readonly mapping: TableMapping
  readonly catalog: Catalog
  /** Whether a table is missing that the store keeps beside it. */
  readonly lacksRecords: boolean
}

/** A table, or the statements that it needs first, in one transaction. */
type TableState = SetUpTable | { readonly next: readonly Fragment[] }

/** The lock of a table was not free in time. */
class LockedError extends Error {}

/**
 * Sets up a table. Where nothing is missing it takes no lock. What an existing table lacks is made by transactions as short
 * as can be: each holds the lock of the table for one statement, or for several that belong together.
 * @throws Error for a table that does not fit.
 * @throws UnavailableError that names the process which has kept the table locked for a minute.
 */
export async function setUpTable(declared: OwnTable, session: Session): Promise<SetUpTable> {
  const { database, options } = declared
  const blank = new TableMapping(declared)
  const look = (runner: Runner) => lookAtTable(blank, options, runner)
  const make = (runner: Runner) =>
    makeNext(look, blank, runner).catch(error => {
      throw database.failure(error)?.kind === 'locked'
        ? new LockedError('', { cause: error })
        : error
    })
  let found = await session.inspect(look).catch(adviseTransactions)
  while ('next' in found) {
    found = await retryLocked(
      () => session.setUp(make),
      () => findBlocker(session, blank),
    )
  }
  return found
}

/** What Cloudflare D1 says of `begin`. */
const NO_TRANSACTIONS = /instead of the SQL BEGIN TRANSACTION/i

function adviseTransactions(cause: unknown): never {
  if (!NO_TRANSACTIONS.test(String(Object(cause).message))) throw cause
  throw new Error(
    'The db of sqlStore refuses transactions, as Cloudflare D1 does. Use SQLite in a file, libsql or PostgreSQL.',
    { cause },
  )
}

/** Makes what a table needs next. */
async function makeNext(
  look: (runner: Runner) => Promise<TableState>,
  { table, database }: TableMapping,
  runner: Runner,
): Promise<TableState> {
  // Another process may have made it meanwhile.
  const found = await look(runner)
  if (!('next' in found)) return found
  for (const statement of found.next) await runner.run(compile(database, statement))
  const after = await look(runner)
  const [done] = found.next
  if (done && 'next' in after && after.next[0]?.text === done.text) {
    throw new Error(`${table}: this statement has no effect: ${print(done, database).sql}`)
  }
  return after
}

/** Runs work again while others have its table locked. @param toReason says who. */
async function retryLocked<T>(work: () => Promise<T>, toReason: () => Promise<string>): Promise<T> {
  const until = performance.now() + LOCKED_TIMEOUT_MS
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof LockedError)) throw error
      const reason = await toReason()
      if (performance.now() >= until) throw new UnavailableError(reason, error)
      if (tries === 1)
        emitWarning(`${reason}. It is tried again for a minute`, { code: 'REST_CONVENTIONS_TABLE' })
      // What waited behind it goes on.
      await delay(LOCKED_PAUSE_MS)
    }
  }
}

async function findBlocker(
  session: Session,
  { table, database, keys }: TableMapping,
): Promise<string> {
  const statement = database.blocker?.([table, ...keys.map(key => key.table)])
  const [row] = statement
    ? (await session.read(runner => runner.run(compile(database, statement)))).rows
    : []
  const who = row ? `the process ${row.pid} of the database (${row.state})` : 'another process'
  const tables = keys.length === 0 ? 'it' : 'it or a table that it refers to'
  return `${table} cannot be set up, because ${who} has locked ${tables}. End its transaction`
}

/** Finds the table, or the next that it lacks of what the options have made. */
async function lookAtTable(
  blank: TableMapping,
  options: TableOptions,
  runner: Runner,
): Promise<TableState> {
  const { shape, database, table, keys } = blank
  const { create = false, migrate = false } = options
  const makesTable = create === true || migrate
  const makes = makesTable || create === 'records'
  const isMade = (plan: TablePlan) => makesTable || plan.table !== table
  const plans = planTables(blank).filter(isMade)
  const relations = await readRelations(plans, database, runner)
  const lacking = plans.filter(plan => !relations.has(plan.table))
  // All at once: nobody waits for the locks of new tables.
  const next = makes ? lacking.flatMap(listStatements) : []
  if (makesTable && !relations.has(table)) next.push(...extraStatements(blank))
  if (next.length > 0) return { next }
  const catalog = await readCatalog(table, database, runner)
  const missing = catalog.findMissing(blank)
  if (migrate && missing.length > 0 && missing.every(isAddable)) {
    return { next: addColumns(missing, blank) }
  }
  const map = (folded: readonly string[]) =>
    new TableMapping({ shape, database, options, keys }, catalog, folded)
  const mapping = map(catalog.folded)
  // Before the indexes: one on a missing column would be an error of the database.
  catalog.check(mapping)
  if (catalog.isTable) await requireUniqueKey(mapping, runner)
  const compared = await comparePartial(mapping, runner)
  // Indexes that are made now are not missing.
  const advice = makesTable ? [] : compared
  for (const plan of makes ? planTables(mapping) : []) {
    const there = relations.get(plan.table)
    if (!there || there.kind === 'view') continue
    const [missing] = listMissing(plan, there)
    // In PostgreSQL all writes wait while it is made.
    const makesIndex = database.serial || migrate
    if (missing && (makesIndex || (await isEmpty(plan, there, database, runner)))) {
      return { next: [printIndex(missing)] }
    }
    advice.push(...adviseIndexes(plan, there, database))
  }
  const hasTrigger = catalog.hasTrigger(mapping)
  const unfolded =
    migrate && catalog.isTable && hasTrigger !== undefined ? listUnfolded(mapping) : []
  if (unfolded.length > 0) {
    const folded = map([...catalog.folded, ...unfolded.map(({ column }) => column)])
    // Together: a trigger that does not fit the columns is taken for one of others.
    return { next: [...addColumns(unfolded, mapping), ...extraStatements(folded)] }
  }
  const counts = migrate && shape.identity.kind === 'integer' && catalog.fillsId(mapping)
  const setting = counts ? await findSetting(mapping, runner) : undefined
  if (setting) {
    // No other program inserts in between.
    return { next: [sql`lock table ${mapping.from} in share row exclusive mode`, setting] }
  }
  const used = !hasTrigger && catalog.folded.length > 0 ? map([]) : mapping
  const kept = await readKeys(used, catalog.typeOf, runner)
  advice.push(...(await adviseSearch(used, runner)))
  const lacksRecords = lacking.length > 0
  return {
    ...{ mapping: used, catalog, lacksRecords, kept: kept.kept },
    advice: [...advice, ...kept.advice],
  }
}

/** About how many rows a search may read before a missing index is named. */
const MANY_ROWS = 100_000

/** Says which indexes of trigrams a large table lacks. */
async function adviseSearch(mapping: TableMapping, runner: Runner): Promise<string[]> {
  const { table, folded, database } = mapping
  if (!database.searchIndex || folded.length === 0) return []
  const { rows } = await runner.run(compile(database, database.searchIndex.look(table)))
  const [found] = rows
  if (!found || Number(found.rows) < MANY_ROWS) return []
  const indexed: readonly unknown[] = JSON.parse(String(found.indexed))
  const lines = folded
    .filter(({ column }) => !indexed.includes(column))
    .map(each => `\n${print(printSearchIndex(each, mapping, ' concurrently'), database).sql};`)
  if (lines.length === 0) return []
  return [
    `${table} has about ${found.rows} rows, and searches read all of them. Run this for an index of trigrams:\ncreate extension if not exists pg_trgm;${lines.join('')}`,
  ]
}

function addColumns(columns: readonly Column[], mapping: TableMapping): Fragment[] {
  return columns.flatMap(column => addColumn(column, mapping) ?? [])
}

/** What the database says of a table, and which of its indexes are valid, by their names. */
interface Relations {
  readonly kind: unknown
  readonly valid: ReadonlyMap<string, boolean>
}

/** Reads what is there of tables and their indexes, by the names of the tables. */
async function readRelations(
  plans: readonly TablePlan[],
  database: SqlDatabase,
  runner: Runner,
): Promise<ReadonlyMap<string, Relations>> {
  const found = new Map<string, Relations>()
  for (const { table, indexes } of plans) {
    const names = indexes.map(({ name }) => name)
    const { rows } = await runner.run(compile(database, database.relations(table, names)))
    const own = rows.find(({ kind }) => kind !== null)
    if (!own) continue
    const valid = new Map(rows.map(({ name, is_valid }) => [String(name), isTrue(is_valid)]))
    found.set(table, { kind: own.kind, valid })
  }
  return found
}

function listMissing({ indexes }: TablePlan, { valid }: Relations): readonly IndexPlan[] {
  return indexes.filter(({ name }) => !valid.has(name))
}

/** Whether a table has no rows, as far as that can be seen. */
async function isEmpty(
  { table }: TablePlan,
  { kind }: Relations,
  database: SqlDatabase,
  runner: Runner,
): Promise<boolean> {
  if (kind !== 'table') return false
  const one = sql`select 1 from ${sql.table(table)} limit 1`
  return (await runner.run(compile(database, one))).rows.length === 0
}

/** Says how to make the indexes of a table with rows, and names those that are invalid. */
function adviseIndexes(plan: TablePlan, there: Relations, database: SqlDatabase): string[] {
  const { table, indexes } = plan
  const how = there.kind === 'partitioned' ? '' : ' concurrently'
  const toLines = (statements: readonly Fragment[]) =>
    statements.map(each => `\n${print(each, database).sql};`).join('')
  const advice: string[] = []
  const missing = listMissing(plan, there)
  if (missing.length > 0) {
    const lines = toLines(missing.map(index => printIndex(index, how)))
    const isUnique = missing.some(({ unique }) => unique)
    const until = isUnique ? ' Until then two rows can have equal values that must be unique.' : ''
    advice.push(
      `${table} lacks indexes. create: true makes them only in an empty table, because all writes wait meanwhile.${until} Run this, or set migrate: true:${lines}`,
    )
  }
  const invalid = indexes.filter(({ name }) => there.valid.get(name) === false)
  if (invalid.length > 0) {
    const schema = table.split('.').slice(0, -1)
    const lines = invalid.flatMap(index => [
      sql`drop index${sql.raw(how)} ${sql.join([...schema, index.name].map(sql.id), '.')}`,
      printIndex(index, how),
    ])
    advice.push(
      `${table} has invalid indexes, which serve no read: they are being made, or that failed. If it failed, run:${toLines(lines)}`,
    )
  }
  return advice
}
