// What differs from one database to another: all of it stands behind `SqlDialect`.
import type { Kysely } from 'kysely'
import type { Kind } from '../schema/fields.ts'
import type { Path } from '../schema/paths.ts'
import type { Scalar } from '../schema/values.ts'
import type { LikeStep } from '../store/selection.ts'
import { type Fragment, type Spelling, sql } from './sql-text.ts'
import type { CastType, DeclaredType } from './types.ts'

/** A path inside a JSON column; `declared` where its names come from the schema and not from a request. */
export interface JsonPath {
  readonly names: Path
  readonly declared: boolean
}

/** What a column holds. `json` is JSON text. */
export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'json'

/** The type of a JSON value, for values of which a schema does not say it. */
export type JsonType = 'string' | 'number' | 'boolean'

/** A value of unknown type, as {@link SqlDatabase.mixed} and {@link SqlDatabase.anyElement} give it. */
export interface Mixed {
  /** As a text, where it is one. */
  readonly value: Fragment
  /** Comparable with what `bind` gives for `any`: numbers, texts, and the rest as equals. */
  readonly order: Fragment
  /** A condition: that the value is of this type. */
  is(type: JsonType): Fragment
  /** The value of one kind. */
  as(kind: Kind): Fragment
}

/** How a column of a declared type is made, read, written and compared: in its own type, so that an index on it serves. */
export interface OwnType {
  /** Of columns that the store makes. */
  made(digits: number): string
  /** A text for the driver to read, whatever it makes of the type itself. */
  read(column: Fragment): Fragment
  /** What was read, as `heldText` gives it. */
  parse(text: string): string
  /** What is given to the driver for a text of `heldText`. */
  write(text: string): string
  /** A value to compare with the column: what `write` gives, or null, which is found nowhere. */
  bind(text: string | null): Fragment
  /** The column as a text, for patterns and searches, which no index serves. */
  text(column: Fragment): Fragment
}

/** What a column of some type may hold. */
export interface ServedColumn {
  /** Of the fields whose columns need no declaration. */
  readonly as: readonly ColumnType[]
  /** What it may be declared to be. */
  readonly types: readonly (DeclaredType | CastType)[]
}

/** What the database itself tells of a table. */
export interface Catalog {
  /**
   * A row for each column, with what the table is: `name`, `type`, `category` (PostgreSQL's), `collation`;
   * `alone`, whether an index keeps it unique, null where that cannot be told or asked for; `base`,
   * whether the table's rows change by changes alone, as those of a view do not; `ruled`, whether it
   * has triggers. No row where there is no table, or it is not told of.
   */
  columns(table: string): Fragment
  /** Absent where a column holds values of any type. */
  serves?(type: string, category: string): ServedColumn
}

/** A number of so many decimal digits, `scale` of them behind the point, is read as it is by a double. */
export function servedDecimal(precision: number, scale: number): ServedColumn {
  const types = ['double', 'text'] as const
  if (precision <= 15) return { as: ['integer', 'real'], types }
  return { as: scale === 0 ? ['integer'] : [], types }
}

/** What an error of a driver means to a store. */
export type Failure =
  /** The constraint's or index's name, or the columns of it. */
  | { readonly kind: 'unique'; readonly index?: string; readonly columns?: readonly string[] }
  | { readonly kind: 'unavailable' }
  /** A value is too long, or out of range: for which index, or which column. */
  | { readonly kind: 'unstorable'; readonly index?: string; readonly column?: string }
  /** A foreign key, or another rule about several rows, forbids it. */
  | { readonly kind: 'conflict' }
  /** Others were in the way: the same work may succeed at once. */
  | { readonly kind: 'again' }
  /** It was ended by a timeout or a signal. */
  | { readonly kind: 'cancelled' }

/** What a pool of connections is told. */
export interface SessionCommands {
  /**
   * Said to each new connection; the last one's row has its `backend`, by which it is cancelled.
   * @param timeout after how many milliseconds the database itself ends a statement, 0 for never;
   * `undefined` for whatever it is set to.
   */
  meet(timeout: number | undefined): readonly string[]
  /** Said by another connection: cancels what a backend does at the moment. */
  cancel(backend: number): string
  /** Breaks the connection to a backend off, where that is known: what waits for it fails then. */
  hangUp?(backend: number): void
  /** Begin what tables are made in, by one process at a time. */
  readonly lock: readonly string[]
}

export interface SqlDatabase extends Spelling {
  readonly name: DatabaseName
  /** Of columns that the store makes. */
  readonly types: Readonly<Record<ColumnType, string>>
  /** Other types that columns may be declared to have. */
  readonly own: Readonly<Partial<Record<DeclaredType, OwnType>>>
  /** A column of another type as one of these. */
  readonly casts: Readonly<Partial<Record<CastType, (column: Fragment) => Fragment>>>
  readonly catalog: Catalog
  /** How many digits of a second a `timestamp` keeps where nothing is said. */
  readonly digits: number
  /** The longest name of a table or an index, in bytes; absent where there is no limit. */
  readonly longestName?: number
  /** Begin a transaction that no other writer gets into, or in which each statement sees what is committed. */
  readonly begin: readonly string[]
  /** Begin a transaction that sees the database as it is at its first read. */
  readonly beginRead: readonly string[]
  /** Absent where there is one connection. */
  readonly pool?: SessionCommands
  /** Whether an `insert` may take the rows that an `update` in its `with` returns. */
  readonly chains: boolean
  /** Stands before the values of an `insert` that gives an id which the table might make itself. */
  readonly overriding: Fragment
  /** Stands at the end of a `select` whose rows nobody shall change until the transaction ends. */
  readonly forUpdate: Fragment
  /** What the driver is given for a boolean that goes into a column. */
  boolean(value: boolean): unknown
  /**
   * A value to compare with one of a kind, bound so that no value is an error; of any type for `any`,
   * where an object stands for every object and array.
   */
  bind(value: Scalar | object, kind: Kind): Fragment
  /** What is read of a column: it itself, or what the driver reads without a loss. */
  read(column: Fragment, type: ColumnType): Fragment
  /** Whether equality of texts is the same in any order of theirs, so that any index on a text serves it. */
  readonly equalsAnyhow: boolean
  /** A text, comparable by code point. */
  text(value: Fragment): Fragment
  /** The value of one kind inside a JSON column, comparable; SQL's null where it is null or absent. */
  json(column: Fragment, path: JsonPath, kind: Kind): Fragment
  /** The value of any type inside a JSON column. */
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
  /**
   * Sorts null first upwards, last downwards; texts by code point.
   * @param maybe whether there may be null.
   */
  orderBy(value: Fragment, descending: boolean, maybe: boolean): Fragment
  /**
   * A text that is another after every change to the database, whoever made it, or null; absent where
   * there is none. Totals are remembered by it.
   */
  readonly state?: Fragment
  /** Turns a statement into one that gives the planner's `{ rows, cost }` of it; absent where it has none. */
  readonly plan?: {
    statement(statement: Fragment): Fragment
    read(row: Readonly<Record<string, unknown>>): { readonly rows: number; readonly cost: number }
  }
  /** What an error means; `undefined` for any other failure. */
  failure(error: unknown): Failure | undefined
}

export type DatabaseName = 'sqlite' | 'postgres'

/** Which database a Kysely speaks to, by what its adapter says of it; `undefined` for one not known here. */
export function findDatabase(db: Pick<Kysely<unknown>, 'getExecutor'>): DatabaseName | undefined {
  const { supportsReturning, supportsTransactionalDdl } = db.getExecutor().adapter
  if (!supportsReturning) return undefined
  return supportsTransactionalDdl ? 'postgres' : 'sqlite'
}

/** The name of a property, as a literal where the schema has it, so that an index on the same expression serves it. */
export function literalOrBound(text: string, declared: boolean): Fragment {
  return declared ? sql.lit(text) : sql`${text}`
}
