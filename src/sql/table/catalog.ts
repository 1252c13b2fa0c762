// What a database says about an existing table: its columns, their types, and what keeps it from being exact.

import type { Kind } from '../../schema/fields.ts'
import type { Shape } from '../../store/store.ts'
import type { ColumnType, KeyTarget, NativeType, SqlDatabase } from '../databases/database.ts'
import { print, sql } from '../databases/sql-text.ts'
import { compile, isTrue, type Row, type Runner } from '../session/runner.ts'
import type { Column, Filled } from './columns.ts'
import { addColumn, isAddable } from './create-table.ts'
import { findFilled, isLeftToDatabase } from './filled.ts'
import { isFolded } from './folded.ts'
import type { TableMapping } from './table-mapping.ts'
/** The columns of a table, as the catalog lists them. */
export type Catalog = Awaited<ReturnType<typeof readCatalog>>

/**
 * Reads the catalog. A row has the `name` and `type` of a column; `is_unique`, whether a unique index is on
 * this column only, null if that is unknown; `is_table`, false for a view or row security; `triggers`, as JSON.
 * `is_required`, for one that is never null and has no default; `is_not_null`; `preset`, its default as SQL; `is_generated`;
 * `is_view`, and `is_writable`, false for what a view computes. Of SQLite `makes_time`, for one whose default is the time as
 * SQLite prints it. Of PostgreSQL also `has_nulls_last`, whether all indexes on the column have it so, `is_readable` and `is_insertable`, false if the role may not read or insert it, `bare_type` without a
 * length, and `inserts_all` and `tells_changes`, which are constants of the table and of the server.
 * @throws Error for a table that does not exist, with what creates it.
 */
export async function readCatalog(table: string, database: SqlDatabase, runner: Runner) {
  const rows = await readRows(table, database, runner)
  const [first] = rows
  if (!first) await requireTable(table, database, runner)
  const find = (column: string) => findRow(column, rows)
  const isTable = isTrue(first?.is_table)
  /** Finds the columns that the table lacks. A temporary table of SQLite is not in the catalog: it is not checked. */
  const findMissing = ({ stored }: TableMapping) =>
    first ? stored.filter(({ column }) => !find(column)) : []
  /** Whether the database may keep a write out or make another one of it: by a trigger, a rule, a policy, a view. */
  const mayAlter = (mapping: TableMapping, by: Fired) =>
    !isTable || listFired(first, mapping).includes(by)
  /** Lists the columns that the mapping does not have. */
  const listOthers = ({ columns, versionColumn }: TableMapping) => {
    const known = new Set([...columns.map(({ column }) => find(column)), find(versionColumn ?? '')])
    return rows.filter(row => !known.has(row))
  }
  return {
    typeOf(column: string): string | undefined {
      const type = (database.serves ?? database.converts) && find(column)?.type
      return type === undefined ? undefined : String(type)
    },
    /** Finds what the database puts into a column by itself. */
    filledOf(column: Column, shape: Shape): Filled | undefined {
      const row = find(column.column)
      return row && findFilled(column, row, shape)
    },
    findMissing,
    /**
     * Checks that a mapping fits the table.
     * @throws Error that names every column that is missing or cannot be served, with the SQL that adds them,
     * and an id that is not unique.
     */
    check(mapping: TableMapping): void {
      if (!first) return
      const issues = findTableIssues(mapping, find)
      if (issues.length === 0) return
      const advice = isTable ? adviseColumns(findMissing(mapping), mapping) : ''
      throw new Error(`The table ${table}:${printIssues(issues)}${advice}`)
    },
    /**
     * Whether the table returns exactly what was written, and has one row for each id.
     * @param by the writes that it is about: triggers of others do not count.
     */
    isExact(mapping: TableMapping, by: Fired): boolean {
      const { columns, versionColumn, id, parts } = mapping
      if (versionColumn === undefined || parts || mayAlter(mapping, by)) return false
      const written = by === 'insert' ? 'created' : 'changed'
      const keeps = (column: string, as: ColumnType, native?: NativeType) =>
        native ? native.exact === true : database.keepsExactly(String(find(column)?.type), as)
      return (
        isTrue(find(id.column)?.is_unique) &&
        keeps(versionColumn, 'text') &&
        columns.every(
          each => keeps(each.column, each.type, each.native) && !isLeftToDatabase(each, written),
        )
      )
    },
    /** Whether a row may be another one than the statement that writes it returns. */
    changesLater(mapping: TableMapping, by: 'inserted' | 'changed'): boolean {
      return isTrue(first?.is_view) || listFired(first, mapping).includes(by)
    },
    /** Lists the columns that no create fills in, though they need a value; a trigger on insert may do it. */
    listUnfilled(mapping: TableMapping): string[] {
      if (mayAlter(mapping, 'insert')) return []
      return nameRows(listOthers(mapping).filter(row => isTrue(row.is_required)))
    },
    listUngranted: ({ written }: TableMapping) => listUngranted(written, find),
    mayAlter,
    fillsId: ({ id }: TableMapping) => isFilled(find(id.column)),
    makesRandomIds: (mapping: TableMapping) => makesRandomIds(mapping, find(mapping.id.column)),
    /** Lists the columns that the store does not serve, where a deletion may change one of them in place of the row. */
    listUnserved(mapping: TableMapping): string[] {
      if (!mayAlter(mapping, 'change')) return []
      return nameRows(listOthers(mapping).filter(row => row.is_readable !== false))
    },
    /** The ids, for keys of other tables; `undefined` where none can name them. */
    targetOf({ table: name, id: { column, made } }: TableMapping): KeyTarget | undefined {
      const row = find(column)
      if (!isTable || !isTrue(row?.is_unique)) return undefined
      // A text is compared by code point, as its column is made.
      const type = made === 'text' ? database.types.text : made
      return { table: name, column: String(row?.name), type }
    },
    isTable,
    /** The names of the columns that keep texts folded. */
    folded: nameRows(rows).filter(isFolded),
    /** Whether the table has a trigger of ours; `undefined` where another one has its name. */
    hasTrigger({ trigger }: TableMapping): boolean | undefined {
      const named = listTriggers(first).find(({ name }) => name === trigger?.name)
      return named !== undefined && (trigger?.texts.includes(named.text) || undefined)
    },
    /** The name of the number that each row of SQLite has; `undefined` where it has none. */
    rowid: isTrue(first?.has_rowid) && !find('_rowid_') ? '_rowid_' : undefined,
    /** Whether its rows change by writes alone, of which the database tells: those of a view may change with the time. */
    tellsChanges: isTable && isTrue(first?.tells_changes ?? true),
    /** Whether no trigger or rule skips a row that is inserted, or makes it another one. */
    insertsAll: isTrue(first?.inserts_all),
  }
}

async function readRows(table: string, database: SqlDatabase, runner: Runner) {
  const { rows } = await runner.run(compile(database, database.catalog(table)))
  const { typeOf } = database
  return typeOf ? rows.map((row): Row => ({ ...row, type: typeOf(row) })) : rows
}

/** Lists the columns that the role may not insert, though it may insert others. */
function listUngranted(written: readonly Column[], find: (column: string) => Row | undefined) {
  const lacks = ({ column }: Column) => find(column)?.is_insertable === false
  return written.every(lacks) ? [] : written.filter(lacks)
}

/** Functions that make a UUID of random bits, or of a time whose first bits are not the first. */
const RANDOM = /\b(?:gen_random_uuid|uuidv4|uuid_generate_v[14])\(/

/** Whether the database makes the ids of other programs, in no order, though the store makes its own in one. */
function makesRandomIds({ shape: { identity } }: TableMapping, row: Row | undefined): boolean {
  return identity.kind === 'uuid' && identity.ordered !== false && RANDOM.test(String(row?.preset))
}

function nameRows(rows: readonly Row[]): string[] {
  return rows.map(({ name }) => String(name))
}

/** The SQL that adds the missing columns, for a message. */
function adviseColumns(missing: readonly Column[], mapping: TableMapping): string {
  const statements = missing.flatMap(column => addColumn(column, mapping) ?? [])
  if (statements.length === 0) return ''
  const printed = statements.map(each => `\n${print(each, mapping.database).sql};`)
  const names = missing.filter(isAddable).map(({ column }) => `"${column}"`)
  const add = `To add ${names.join(', ')} set migrate: true, or run:${printed.join('')}`
  return statements.length < missing.length ? `\nThen the rest. ${add}` : `\n${add}`
}

function holdsText(row: Row | undefined, database: SqlDatabase): boolean {
  return row !== undefined && (database.serves?.(String(row.type)).as.includes('text') ?? true)
}

/**
 * A write that fires a trigger. `skip` is an insert whose row the trigger may keep out: in PostgreSQL not one that fires after
 * it. `inserted` and `changed` are those of which the statement returns nothing that the trigger does.
 */
type Fired = 'insert' | 'skip' | 'change' | 'inserted' | 'changed'

/** One trigger of the catalog, or a rule; SQLite tells the events of a trigger in its text alone. */
interface FoundTrigger {
  readonly name: string
  readonly text: string
  readonly events?: readonly string[]
}

const SQLITE_TRIGGER =
  /^create trigger (?:"(?:[^"]|"")*"\s*|[\w$]+\s+)(?:(?:before|after)\s+)?(insert|update|delete)\b/i

/** Lists the triggers as `catalog` selects them. */
function listTriggers(row: Row | undefined): readonly FoundTrigger[] {
  return JSON.parse(String(row?.triggers ?? null)) ?? []
}

/** Whether a trigger logs changes, for live lists: it leaves the row as it is. */
function isLogTrigger(name: string): boolean {
  return /_rest_changes(?:_[a-f\d]{8})?_?(?:insert|update|move|delete)?$/i.test(name)
}

/** Lists the writes that fire triggers which the library did not make. */
function listFired(row: Row | undefined, { trigger: own }: TableMapping): readonly string[] {
  const foreign = listTriggers(row).filter(
    ({ name, text }) => (name !== own?.name || !own.texts.includes(text)) && !isLogTrigger(name),
  )
  return foreign.flatMap(({ text, events }) => {
    if (events) return events
    const [, event] = SQLITE_TRIGGER.exec(text) ?? []
    // One that cannot be read counts for all.
    if (!event) return ['insert', 'skip', 'inserted', 'change', 'changed']
    return event.toLowerCase() === 'insert' ? ['insert', 'skip', 'inserted'] : ['change', 'changed']
  })
}

/** Finds the row of a column, in either case if none has exactly this name. */
function findRow(column: string, rows: readonly Row[]): Row | undefined {
  return (
    rows.find(({ name }) => name === column) ??
    rows.find(({ name }) => String(name).toLowerCase() === column.toLowerCase())
  )
}

function findTableIssues(
  { stored, versionColumn, id, parts, database, shape }: TableMapping,
  find: (column: string) => Row | undefined,
): string[] {
  const issues = stored.flatMap(column =>
    findIssues(column, find(column.column), { database, shape }),
  )
  const trashed = stored.find(({ name, preset }) => name === shape.trash && preset)
  if (trashed) {
    issues.push(
      `its column "${trashed.column}" has a default, which puts each new item into the trash; declare ${trashed.name}: z.iso.datetime().nullable().default(null), or leave out the default of the column`,
    )
  }
  const key = parts ? undefined : find(id.column)
  if (key && key.is_unique !== null && !isTrue(key.is_unique)) {
    issues.push(
      `its column "${id.column}" is the id, but no unique index is on it alone, so that several rows may have the same id; use another column, create such an index, or serve a view of the rows that are meant`,
    )
  }
  if (versionColumn !== undefined && !holdsText(find(versionColumn), database)) {
    issues.push(
      `it has no text column "${versionColumn}" for the version; set version: false, or name another column`,
    )
  }
  return issues
}

/** Whether the database can fill a column in. */
function isFilled(row: Row | undefined): boolean {
  return row !== undefined && !isTrue(row.is_required)
}

function findIssues(
  column: Column,
  row: Row | undefined,
  { database, shape }: Pick<TableMapping, 'database' | 'shape'>,
): string[] {
  const { name, type, field, native, tellsNull } = column
  if (!row) return [`it has no column "${column.column}"${explainMissing(column, shape)}`]
  const found = String(row.type)
  const isJson = /^jsonb?$/i.test(found) || found === database.types.json
  if (tellsNull && !isJson) {
    return [
      `its column "${row.name}" is ${found}, but ${name} may be both null and absent, which only JSON tells apart; set { json: false } for it in columns, or use .nullable() alone in the schema; set { json: true } where the column holds JSON`,
    ]
  }
  const served = database.serves?.(found) ?? database.converts?.(found)
  const wanted = native ? native.as : type
  if (!served || !wanted || served.as.includes(wanted)) return []
  const { as, natives = [] } = served
  const kinds = [...as.map(each => HOLDS[each]), ...natives.map(({ kind }) => HELD[kind] ?? kind)]
  const others = [...new Set(kinds)]
    .filter(each => each !== HOLDS[type])
    .map(each => `declare ${each}`)
    .concat(served.instead?.(field.kind) ?? [])
  return [
    `its column "${row.name}" is ${found}, which cannot be read, compared and sorted as ${HELD[field.kind] ?? HOLDS[type]}; ${[...others, 'serve a view that casts it'].join(', or ')}`,
  ]
}

const HELD: Readonly<Partial<Record<Kind, string>>> = {
  string: 'a string',
  number: 'a number',
  date: 'a date',
  'date-time': 'a date and time',
}

/** Prints one issue in the line, and several each in its own. */
const printIssues = (issues: readonly string[]): string =>
  issues.length > 1 ? `\n- ${issues.join('\n- ')}` : ` ${issues[0]}`

/** Says why no statement adds a column to rows that are there. */
function explainMissing(column: Column, { createdAt, updatedAt }: Shape): string {
  if (isAddable(column)) return ''
  return column.name === createdAt || column.name === updatedAt
    ? ', which the server sets: add it with a value for the rows that are there, or set timestamps: false'
    : ', which is required and has no default: give it one in the schema, or add it with a value for the rows that are there'
}

const HOLDS: Readonly<Record<ColumnType, string>> = {
  text: 'a string',
  integer: 'a whole number',
  real: 'a number',
  boolean: 'a boolean',
  json: 'JSON',
}

/** @throws Error for a table that does not exist. A temporary table of SQLite is there, and not in the catalog. */
async function requireTable(table: string, database: SqlDatabase, runner: Runner): Promise<void> {
  const probe = compile(database, sql`select 1 from ${sql.table(table)} where 1 = 0`)
  try {
    await runner.run(probe)
  } catch (error) {
    throw toMissingTable(error, table, database)
  }
}

/** Says how to create a table that does not exist; returns any other error as it is. */
function toMissingTable(error: unknown, table: string, { name }: SqlDatabase): unknown {
  const { code, message = '' }: { code?: unknown; message?: string } = Object(error) // of any driver
  if (code !== '42P01' && !message.includes('no such table')) return error
  return new Error(
    `The table ${table} does not exist. Set create: true on sqlStore, or run createTableSql(cars.shape, { table: '${table}', database: '${name}' }).`,
    { cause: error },
  )
}
