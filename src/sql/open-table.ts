// Opens the table of a collection: what serves it, once it is set up.

import type { StoreFacts } from '../store/store.ts'
import type { KeyTarget } from './databases/database.ts'
import type { Session } from './session/session.ts'
import type { Advice } from './session/start-advice.ts'
import { type OwnTable, setUpTable } from './set-up-table.ts'
import { buildChangeAlike } from './statements/change-alike.ts'
import { buildCountBy, type CountRows } from './statements/count-by.ts'
import { Creates } from './statements/creates.ts'
import { EachReader } from './statements/each-reader.ts'
import { buildFinder } from './statements/find-rows.ts'
import { readIdSequence } from './statements/id-sequence.ts'
import { createRecords, type IdempotencyRecords } from './statements/idempotency.ts'
import { LockedRows } from './statements/locked-rows.ts'
import { PageReader } from './statements/page-reader.ts'
import { RowAccess } from './statements/row-access.ts'
import { sampleRows } from './statements/sample-rows.ts'
import { TableWalk } from './statements/table-walk.ts'
import { buildTakeRow, type TakeRow } from './statements/take-rows.ts'
import { Totals } from './statements/totals.ts'
import { UnfoldedRows } from './statements/unfolded-rows.ts'
import { Writes } from './statements/writes.ts'
import {
  adviseGenerated,
  adviseGrants,
  adviseNarrow,
  adviseNulls,
  adviseUnwritable,
  listUnwritable,
} from './table/advise.ts'
import type { Column } from './table/columns.ts'
import type { TableMapping } from './table/table-mapping.ts'

/** The operations on a table, once its catalog is read. */
export interface Table {
  readonly mapping: TableMapping
  readonly finder: ReturnType<typeof buildFinder>
  readonly writes: Writes
  readonly totals: Totals
  readonly reads: PageReader
  readonly each: EachReader
  readonly countBy: CountRows
  readonly unfolded: UnfoldedRows
  readonly take: TakeRow
  readonly records: IdempotencyRecords
  /** Its ids, for foreign keys of other tables; `undefined` where none can name them. */
  readonly target: KeyTarget | undefined
  readonly facts: StoreFacts
  /** Whether clients read what triggers say. */
  readonly databaseMessages: boolean
  /** What to tell the one who runs the program. */
  readonly advice: readonly (Advice | string)[]
}

export async function openTable(declared: OwnTable, session: Session): Promise<Table> {
  const { shape, database, options } = declared
  const { clock = Date.now, rememberTotals = true, maxScan = 100_000 } = options
  const { mapping, catalog, kept, advice, lacksRecords } = await setUpTable(declared, session)
  const unfolded = new UnfoldedRows(mapping)
  if (options.migrate) await unfolded.fold(session)
  const isUnfolded = !options.migrate && (await unfolded.exist(session))
  if (database.converts && catalog.isTable) await sampleRows(mapping, catalog.rowid, session)
  const isExact = catalog.isExact(mapping, 'change')
  const counts = shape.identity.kind === 'integer' && catalog.fillsId(mapping)
  const ids = counts
    ? await session.read(runner => readIdSequence(mapping, runner))
    : { advice: catalog.makesRandomIds(mapping) ? [adviseRandom(mapping)] : [] }
  const unfilled = catalog.listUnfilled(mapping)
  const unwritable = listUnwritable(mapping)
  const ungranted = catalog.listUngranted(mapping)
  const records = createRecords(database, mapping.table, options.clock)
  // A walk gives the table's name to a subquery, whose name cannot have a schema.
  const walks = database.serial && catalog.isTable && !mapping.table.includes('.')
  const walk = walks ? new TableWalk(mapping, maxScan, catalog.rowid) : undefined
  const locked = new LockedRows(mapping, catalog.listUnserved(mapping))
  const changesLater = catalog.changesLater(mapping, 'changed')
  const creates = new Creates(
    mapping,
    records,
    {
      isExact: catalog.isExact(mapping, 'insert'),
      insertsAll: catalog.insertsAll,
      mayKeep: catalog.mayAlter(mapping, 'skip'),
      changesLater: catalog.changesLater(mapping, 'inserted'),
      sequence: ids.sequence,
    },
    clock,
  )
  const rows = new RowAccess(mapping, locked, changesLater, clock)
  const changeAlike = buildChangeAlike(mapping, clock)
  const totals = new Totals(mapping, rememberTotals && catalog.tellsChanges, walk)
  const reads = new PageReader(mapping, totals, walk)
  return {
    mapping,
    records,
    target: catalog.targetOf(mapping),
    facts: {
      keptReferences: kept,
      takesCreates: unfilled.length + unwritable.length + ungranted.length === 0,
      get countsSlowly() {
        return totals.isSlow
      },
    },
    databaseMessages: options.databaseMessages === true,
    advice: [
      ...advice,
      ...ids.advice,
      ...(lacksRecords ? [adviseRecords(mapping)] : []),
      ...adviseOrder(mapping),
      ...(isUnfolded ? [adviseFolding(mapping)] : []),
      ...adviseUnfilled(unfilled, mapping),
      ...adviseTimes(listForeignTimes(mapping), mapping),
      ...adviseUnwritable(unwritable, mapping),
      ...adviseGenerated(mapping),
      ...adviseGrants(ungranted, mapping),
      ...adviseNulls(mapping),
      // A trigger may fill them in.
      ...(catalog.mayAlter(mapping, 'insert') ? [] : adviseNarrow(mapping)),
    ],
    finder: buildFinder(mapping),
    writes: new Writes({ mapping, records, creates, rows, changeAlike, locked, isExact }),
    totals,
    reads,
    each: new EachReader(mapping, reads),
    countBy: buildCountBy(mapping, walk),
    unfolded,
    take: buildTakeRow(mapping, options.clock),
  }
}

/** Says what readers by `since_id` cannot count on. */
function adviseOrder({ database, shape: { name, identity } }: TableMapping): string[] {
  if (database.ordersIds !== false || identity.ordered === false) return []
  return [
    `${name}: in ${database.name} ids may become visible in another order, so that since_id may miss items. Set ordered: false, or let no client read by since_id`,
  ]
}

function adviseRecords({ table }: TableMapping): Advice {
  const text =
    "the tables rest_sequences and rest_idempotency are missing, so that creates fail, and writes with an Idempotency-Key. Set create: 'records', which makes these two alone; if the collection is only read, all is well"
  return { table, text }
}

function adviseRandom({ table }: TableMapping): Advice {
  const text =
    'the database makes random ids for other programs, so that a client that reads on by since_id misses what they insert, and creates wait for each other in vain. Declare ordered: false'
  return { table, text }
}

function adviseFolding({ table }: TableMapping): string {
  return `${table} has rows of other programs whose texts are not folded for searches, so that each search folds them. Set migrate: true, which folds them at the start`
}

/** Lists the dates of writes that the database fills in by a text of another form. */
function listForeignTimes({ columns, shape }: TableMapping): Column[] {
  const isDate = ({ name }: Column) => name === shape.createdAt || name === shape.updatedAt
  return columns.filter(each => each.makesTime && !each.native && isDate(each))
}

function adviseTimes(columns: readonly Column[], { table }: TableMapping): string[] {
  if (columns.length === 0) return []
  const time = `strftime('%Y-%m-%dT%H:%M:%fZ'`
  const lines = columns.map(
    ({ column }) =>
      `\nupdate "${table}" set "${column}" = ${time}, "${column}") where "${column}" like '% %';`,
  )
  const forms = columns.map(({ name }) => `${JSON.stringify(name)}: { type: 'datetime utc' }`)
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  return [
    `${table} has dates whose default writes 2026-01-31 12:00:00, beside 2026-01-31T12:00:00.000Z of the store: ${names}. Lists compare them as times, which an ordinary index does not serve, and other programs compare them as strings. Declare columns: { ${forms.join(', ')} }, so that the store writes as the default. Or make the default (${time}, 'now')), and run:${lines.join('')}`,
  ]
}

function adviseUnfilled(unfilled: readonly string[], { table }: TableMapping): string[] {
  if (unfilled.length === 0) return []
  const names = unfilled.map(name => `"${name}"`)
  return [
    `${table} has columns that need a value and are not in the schema, so that each create fails: ${names.join(', ')}. Declare them, or give them a default; where the collection is only read, all is well`,
  ]
}
