// What the database tells of a table that the store may not have made: whether each column is served
// as it is declared, and what may be taken for granted of its rows.
import type { Kind } from '../schema/fields.ts'
import type { Column } from './columns.ts'
import type { ColumnType } from './database.ts'
import { compileFor, type Row, type Runner } from './session.ts'
import { sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import { madeType } from './tables.ts'
import { KINDS_OF } from './types.ts'

/** What is known of a table: nothing, before the database was asked. */
export interface Known {
  /**
   * Whether it is as the store makes it: it keeps what it is given, gives back what it keeps, and has
   * one row for each id.
   */
  readonly own: boolean
  /** Whether its rows change by changes alone: those of a view may by the time. */
  readonly base: boolean
}

export const UNKNOWN: Known = { own: false, base: false }

/**
 * Asks the database for what it tells of the table, which may be nothing: to whom it shows no columns
 * it may show rows.
 * @throws Error for a column that is not there or not served as it is declared, and for ids of which
 * there may be two; the database's own for a table that is not there.
 */
export async function readCatalog(layout: TableMapping, { run }: Runner): Promise<Known> {
  const { dialect, table, from, versionColumn } = layout
  const { rows } = await run(compileFor(dialect, dialect.catalog.columns(table)))
  const [first] = rows
  if (!first) {
    await run(compileFor(dialect, sql`select 1 from ${from} where 1 = 0`))
    return UNKNOWN
  }
  const issues = layout.columns.flatMap(column => mistakesOf(column, rows, layout))
  if (versionColumn !== undefined) {
    issues.push(...versionMistakes(versionColumn, rows, layout))
  }
  if (issues.length > 0) throw new Error(`The table ${table}: ${issues.join('; ')}`)
  return { own: isOwn(rows, first, layout), base: isTrue(first.base) }
}

function isTrue(value: unknown): boolean {
  return value === true || Number(value) === 1
}

/** Names are the same in either case, unless both are there. */
function rowOf(column: string, rows: readonly Row[]): Row | undefined {
  return (
    rows.find(({ name }) => name === column) ??
    rows.find(({ name }) => String(name).toLowerCase() === column.toLowerCase())
  )
}

function mistakesOf(column: Column, rows: readonly Row[], layout: TableMapping): string[] {
  const row = rowOf(column.column, rows)
  if (!row) return [`it has no column "${column.column}"`]
  const { declared, cast, type, field, tellsNull } = column
  const issues =
    tellsNull && !isMadeOf(row, madeType(layout, column)) && !isJson(row)
      ? [nullMistake(row, column)]
      : typeMistakes(row, declared?.type ?? cast, type, field.kind, layout)
  if (column === layout.id && row.alone !== null && !isTrue(row.alone)) {
    issues.push(
      `its column "${row.name}" is the id, but no unique index is on it alone, so that several rows may have the same; take another column, make such an index, or serve a view of the rows that are meant`,
    )
  }
  return issues
}

function nullMistake({ name, type }: Row, { name: field }: Column): string {
  return `its column "${name}" is ${type}, but ${field} may be both null and absent, which only JSON tells apart; say { json: false } of it in columns, or .nullable() alone in the schema; say { json: true } where the column holds JSON`
}

function versionMistakes(column: string, rows: readonly Row[], layout: TableMapping): string[] {
  const row = rowOf(column, rows)
  if (row) return typeMistakes(row, undefined, 'text', 'string', layout)
  return [`it has no column "${column}" for the version; say version: false, or another one`]
}

/**
 * @param declared the type that the column was declared to have.
 * @param type what the column holds of the field.
 */
function typeMistakes(
  { name, type: found, category }: Row,
  declared: keyof typeof KINDS_OF | undefined,
  type: ColumnType,
  kind: Kind,
  { dialect }: TableMapping,
): string[] {
  const served = dialect.catalog.serves?.(String(found), String(category))
  if (!served) return []
  if (declared ? served.types.includes(declared) : served.as.includes(type)) return []
  const wanted = declared ? `the type ${declared}` : HOLDS[type]
  const remedies = [
    ...served.types
      .filter(each => each !== declared && KINDS_OF[each].includes(kind))
      .map(each => `say { type: '${each}' } of it in columns`),
    ...served.as.filter(each => declared || each !== type).map(each => `declare ${HOLDS[each]}`),
    'alter it',
    'serve a view that casts it',
  ]
  return [
    `its column "${name}" is ${found}, which is not read, compared and sorted alike as ${wanted}; ${remedies.join(', or ')}`,
  ]
}

const HOLDS: Readonly<Record<ColumnType, string>> = {
  text: 'a text',
  integer: 'a whole number',
  real: 'a number',
  boolean: 'a boolean',
  json: 'JSON',
}

/** Whether all columns are what the store makes of them. */
function isOwn(rows: readonly Row[], { base, ruled }: Row, layout: TableMapping): boolean {
  const { versionColumn, dialect, columns, id } = layout
  if (versionColumn === undefined || !isTrue(base) || isTrue(ruled)) return false
  const isMade = (column: string, made: string) => {
    const row = rowOf(column, rows)
    return (
      row !== undefined &&
      isMadeOf(row, made) &&
      (typeof row.collation !== 'string' || made.includes(row.collation))
    )
  }
  return (
    isTrue(rowOf(id.column, rows)?.alone) &&
    isMade(versionColumn, dialect.types.text) &&
    columns.every(column => isMade(column.column, madeType(layout, column)))
  )
}

/** Whether a column has the type that the store would make. */
function isMadeOf({ type }: Row, made: string): boolean {
  return type === made.split(' collate ')[0]
}

/** Whether a column has a type of the database's own for JSON: `json`, `jsonb`. */
function isJson({ type }: Row): boolean {
  return String(type).toLowerCase().startsWith('json')
}
