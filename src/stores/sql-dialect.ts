// What differs from one database to another: all of it stands behind `SqlDialect`. Fragments are
// parts of a statement with their values bound.
import { type RawBuilder, sql } from 'kysely'
import type { Kind, Path } from '../fields.ts'
import type { LikeStep } from '../selection.ts'

/** A part of a statement. */
export type Fragment = RawBuilder<unknown>

/** A path inside a JSON column; `declared` where its names come from the schema and not from a request. */
export interface JsonPath {
  readonly names: Path
  readonly declared: boolean
}

/** What a column holds. `json` is JSON text. */
export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'json'

/** The type of a JSON value, for values of which a schema does not say it. */
export type JsonType = 'string' | 'number' | 'boolean'

/** A value of unknown type, as {@link SqlDialect.mixed} and {@link SqlDialect.anyElement} give it. */
export interface Mixed {
  readonly value: Fragment
  /** A condition: that the value is of this type. */
  is(type: JsonType): Fragment
}

/** What an error of a driver means to a store. */
export type Failure =
  /** The constraint's or index's name, or the columns of it. */
  | { readonly kind: 'unique'; readonly index?: string; readonly columns?: readonly string[] }
  | { readonly kind: 'unavailable' }

export interface SqlDialect {
  readonly types: Readonly<Record<ColumnType, string>>
  /** Begins a transaction that no other writer gets into. */
  readonly begin: string
  /** Begins a transaction that sees the database as it is at its first read. */
  readonly beginRead: string
  /** What the driver binds for a boolean. */
  boolean(value: boolean): unknown
  /** The value of one type inside a JSON column, comparable; SQL's null where it is null or absent. */
  json(column: Fragment, path: JsonPath, kind: Kind): Fragment
  /** The value of any type inside a JSON column; in an order of numbers, texts, and the rest as equals. */
  mixed(column: Fragment, path: JsonPath): Mixed
  /** A condition: that there is a value other than null inside a JSON column; never null itself. */
  has(column: Fragment, path: JsonPath): Fragment
  /** A condition: that there is an object (or an array) inside a JSON column. */
  holds(column: Fragment, path: JsonPath, what: 'object' | 'array'): Fragment
  /** A condition: that some element of the array inside a JSON column, other than null, passes a test. */
  anyElement(column: Fragment, path: JsonPath, test: (element: Mixed) => Fragment): Fragment
  /** An RFC 3339 text as milliseconds since 1970, finer ones cut: what `instantOf` gives. */
  instant(text: Fragment): Fragment
  /** A condition: that a text matches a pattern, case counting. */
  like(text: Fragment, pattern: readonly LikeStep[]): Fragment
  /** A condition: that a text holds a word (ASCII letters of it in lower case), ASCII letters in either case. */
  contains(text: Fragment, word: string): Fragment
  /** Sorts null first upwards, last downwards; texts by code point. */
  orderBy(value: Fragment, descending: boolean): Fragment
  /**
   * A text that is another after every change to the database, whoever made it; absent where there
   * is none. Totals are remembered by it.
   */
  readonly state?: Fragment
  /** What an error means; `undefined` for any other failure. */
  failure(error: unknown): Failure | undefined
}

/**
 * A JSON path as SQLite reads it: a literal where the schema names it, so that an index on the same
 * expression serves it, else bound. `undefined` where a name cannot stand in a path: SQLite has no
 * escape for these characters.
 */
function sqlitePath({ names, declared }: JsonPath): Fragment | undefined {
  if (names.some(name => /["\\\p{Cc}]/u.test(name))) return undefined
  const text = names.reduce((path, name) => `${path}."${name}"`, '$')
  return declared ? sql.lit(text) : sql`${text}`
}

/** `json_extract` or `json_type`; for names that no path can say, a walk through the members. */
function sqliteInside(column: Fragment, path: JsonPath, what: 'value' | 'type'): Fragment {
  const inside = sqlitePath(path)
  if (inside) {
    return what === 'value'
      ? sql`json_extract(${column}, ${inside})`
      : sql`json_type(${column}, ${inside})`
  }
  const parent = sqlitePath({ names: path.names.slice(0, -1), declared: false })
  if (!parent) return sql`null`
  const name = path.names.at(-1) ?? ''
  return sql`(select ${sql.raw(what)} from json_each(${column}, ${parent}) where key = ${name})`
}

const SQLITE_TYPES: Readonly<Record<JsonType, string>> = {
  string: "('text')",
  number: "('integer', 'real')",
  boolean: "('true', 'false')",
}

function sqliteMixed(value: Fragment, type: Fragment): Mixed {
  return {
    // A blob comes after every text.
    value: sql`case when ${type} in ('object', 'array') then x'' else ${value} end`,
    is: wanted => sql`${type} in ${sql.raw(SQLITE_TYPES[wanted])}`,
  }
}

const UNIQUE = /UNIQUE constraint failed: (?:index '(.+)'|(.+))$/
const UNAVAILABLE = /^SQLITE_(?:BUSY|LOCKED|CANTOPEN|IOERR|FULL|PROTOCOL|READONLY)/
const CLOSED = /connection is not open|database is not open|already been destroyed/

/** SQLite 3.38 and later, by a driver with the interface of better-sqlite3: it, libsql, node:sqlite. */
export const sqlite: SqlDialect = {
  types: { text: 'TEXT', integer: 'INTEGER', real: 'REAL', boolean: 'INTEGER', json: 'TEXT' },
  begin: 'begin immediate',
  beginRead: 'begin',
  boolean: Number,
  json: (column, path) => sqliteInside(column, path, 'value'),
  mixed: (column, path) =>
    sqliteMixed(sqliteInside(column, path, 'value'), sqliteInside(column, path, 'type')),
  has: (column, path) => sql`coalesce(${sqliteInside(column, path, 'type')}, 'null') <> 'null'`,
  holds: (column, path, what) => sql`${sqliteInside(column, path, 'type')} = ${sql.lit(what)}`,
  anyElement(column, path, test) {
    const inside = sqlitePath(path)
    if (!inside) return sql`1 = 0`
    const element = sqliteMixed(sql.raw('e.value'), sql.raw('e.type'))
    return sql`exists (select 1 from json_each(${column}, ${inside}) as e where e.type <> 'null' and ${test(element)})`
  },
  /** Counted by hand: `julianday` rounds milliseconds, and refuses offsets beyond 14 hours. */
  instant:
    text => sql`(cast(round((julianday(substr(${text}, 1, 10) || ' ' || substr(${text}, 12, 5)) - 2440587.5) * 1440) as integer) * 60000
    + case when substr(${text}, 17, 1) = ':' then cast(round(cast(substr(${text}, 18, 6) as real) * 1000) as integer) else 0 end
    - case when ${text} glob '*[+-][0-9][0-9]:[0-9][0-9]' then (case substr(${text}, -6, 1) when '-' then -1 else 1 end) * (substr(${text}, -5, 2) * 60 + substr(${text}, -2)) * 60000 else 0 end)`,
  like: (text, pattern) => sql`${text} glob ${pattern.map(globOf).join('')}`,
  contains: (text, word) => sql`instr(lower(${text}), ${word}) > 0`,
  orderBy: (value, descending) => (descending ? sql`${value} desc` : value),
  // The changes of this connection, and those of all others.
  state: sql`(total_changes() || '-' || (select data_version from pragma_data_version))`,
  failure(error) {
    if (!(error instanceof Error)) return undefined
    const unique = UNIQUE.exec(error.message)
    if (unique?.[1] !== undefined) return { kind: 'unique', index: unique[1] }
    if (unique?.[2] !== undefined) {
      // `table.column, table.column`; neither has a comma and a space in its name.
      const columns = unique[2].split(', ').map(each => each.slice(each.indexOf('.') + 1))
      return { kind: 'unique', columns }
    }
    const code = 'code' in error ? String(error.code) : ''
    const lost = UNAVAILABLE.test(code) || CLOSED.test(error.message)
    return lost ? { kind: 'unavailable' } : undefined
  },
}

function globOf(step: LikeStep): string {
  if (step === 'run') return '*'
  if (step === 'one') return '?'
  return /[[*?]/.test(step.char) ? `[${step.char}]` : step.char
}
