// Opens the table of a collection: makes or alters it where that is asked for, and reads its catalog.
import type { Shape } from '../store/store.ts'
import { type Catalog, readCatalog } from './catalog.ts'
import { SqlChanges } from './changes.ts'
import { SqlCreates } from './creates.ts'
import type { SqlDatabase } from './database.ts'
import { SqlIdempotencyRecords } from './idempotency.ts'
import { addColumn, isAddable } from './missing-columns.ts'
import { SqlReads } from './reads.ts'
import { compile, type Runner, type Session } from './session.ts'
import type { SqlStoreOptions } from './sql-store.ts'
import type { Fragment } from './sql-text.ts'
import { TableMapping } from './table-mapping.ts'
import { TableWalk } from './table-walk.ts'
import { tableStatements } from './tables.ts'

/** The operations on a table, once its catalog is read. */
export interface Table {
  readonly mapping: TableMapping
  readonly changes: SqlChanges
  readonly creates: SqlCreates
  readonly reads: SqlReads
  readonly records: SqlIdempotencyRecords
}

type Options = Omit<SqlStoreOptions<never>, 'db'>

export async function openTable(
  shape: Shape,
  session: Session,
  database: SqlDatabase,
  options: Options,
): Promise<Table> {
  const { clock = Date.now, rememberTotals = true, maxScan = 100_000 } = options
  const { mapping, catalog } = await prepare(shape, session, database, options)
  const isOwn = catalog.isOwn(mapping)
  const records = new SqlIdempotencyRecords(database, mapping.table, clock)
  // A part of a table stands under its name, which with a schema in front is none.
  const walks = database.serial && catalog.base && !mapping.table.includes('.')
  const walk = walks ? new TableWalk(mapping, maxScan) : undefined
  return {
    mapping,
    records,
    changes: new SqlChanges(mapping, records, isOwn, clock),
    creates: new SqlCreates(mapping, records, isOwn, clock),
    reads: new SqlReads(mapping, rememberTotals && catalog.base, walk),
  }
}

async function prepare(
  shape: Shape,
  session: Session,
  database: SqlDatabase,
  options: Options,
): Promise<{ readonly mapping: TableMapping; readonly catalog: Catalog }> {
  const { create = false, migrate = false } = options
  const makes = create || migrate
  const blank = new TableMapping(shape, database, options)
  return session.prepare(async (runner: Runner) => {
    const [makeTable, ...others] = makes ? tableStatements(blank) : []
    const run = async (statement: Fragment | undefined) =>
      statement && runner.run(compile(database, statement))
    await run(makeTable)
    let catalog = await readCatalog(blank.table, database, runner)
    const missing = catalog.findMissing(blank)
    if (migrate && missing.length > 0 && missing.every(isAddable)) {
      for (const column of missing) await run(addColumn(column, blank))
      catalog = await readCatalog(blank.table, database, runner)
    }
    const mapping = new TableMapping(shape, database, options, catalog.typeOf)
    // An index on a column that is not there would be an error of the database.
    catalog.check(mapping)
    for (const statement of others) await run(statement)
    return { mapping, catalog }
  }, makes)
}
