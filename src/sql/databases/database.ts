// The interface of a database: everything that differs between SQLite and PostgreSQL.

import type { Path } from '../../base/paths.ts'
import type { Json, Scalar } from '../../base/values.ts'
import type { Field, Kind } from '../../schema/fields.ts'
import type { DatePart } from '../../store/groups.ts'
import type { LikeStep } from '../../store/selection.ts'
import type { Fragment, PlaceholderStyle } from './sql-text.ts'
/** The kind of values in a column. `json` is JSON text, or a JSON type of the database. */
export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'json'

/** The ids of a table, as foreign keys of others name them. */
export interface KeyTarget {
  readonly table: string
  readonly column: string
  /** The SQL type of the column. */
  readonly type: string
}

/** A reference of a table, and the ids that it names. */
export interface ForeignKey extends KeyTarget {
  readonly field: string
  readonly onDelete: 'cascade' | 'restrict'
  /** Whether the other table refers back, so that neither can be made first with its key. */
  readonly circular?: boolean | undefined
}

/** The columns of a table whose rows have versions. */
export interface VersionedRow {
  readonly table: string
  /** The columns that name a row. */
  readonly ids: readonly string[]
  readonly version: string
  /** The time of the last write, where rows have one. */
  readonly updated: string | undefined
  /** How that column holds it. */
  readonly instant?: NativeType['instant']
  /** The columns that keep texts folded. */
  readonly folded: readonly FoldedText[]
  /** How a version ends whose writer has folded all these texts. */
  readonly sign: string
}

/** A trigram index, by the extension `pg_trgm` of PostgreSQL. */
interface SearchIndex {
  /** Makes the index if the extension is there. */
  create(index: Fragment): Fragment
  /** The statement of the index. */
  print(name: string, from: Fragment, column: Fragment, how?: ' concurrently'): Fragment
  /** Selects about how many `rows` a table has, and which columns are `indexed`: a list as JSON. */
  look(table: string): Fragment
}

/** A column that keeps a text folded, and the column that the text is in. */
export interface FoldedText {
  readonly column: string
  readonly source: string
}

export interface VersionTrigger {
  /** In their order; they may run again. */
  readonly statements: readonly Fragment[]
  readonly name: string
  /** What the catalog has as its text; those that earlier releases made come behind. */
  readonly texts: readonly string[]
}

/** A type of the database for texts of a certain form: `uuid`, `date`, `timestamptz`, an enum. */
export interface NativeType {
  /** The kind of field that it holds. */
  readonly kind: Kind
  /** Whether a later read returns exactly what was written, or what `toColumnText` says. */
  readonly exact?: boolean
  /** What a column of SQLite must hold for it, where not each does. */
  readonly as?: ColumnType
  /** Whether its times have digits that only the database compares. */
  readonly finer?: boolean
  /** Whether the store compares texts of it, since the database compares in a way of its own. */
  readonly byText?: boolean
  /** The column as the database compares it then: an index finds texts by it, among others that are equal to the database. */
  own?(column: Fragment): Fragment
  /** Whether `own` finds a text; default: each. */
  indexes?(text: string): boolean
  /** Converts a text to the one that a later read returns; `undefined` if the column cannot hold it. */
  toColumnText(text: string): string | undefined
  /** The expression to select: every driver returns the same value for it. */
  read(column: Fragment): Fragment
  /** Converts a value to what a write binds; `undefined` if the column cannot hold it. Default: `toColumnText`. */
  encode?(value: Json): string | number | undefined
  /** Converts a selected value to that of the item; `undefined` for one that has none, such as infinity. */
  parse(value: unknown): Json | undefined
  /** Binds a text to compare with the column; one of another form is bound as null. */
  bind(text: string): Fragment
  /** The column as a text, for patterns and searches. */
  text(column: Fragment): Fragment
  /** What to compare and sort by, as `bind` binds it. Default: the column. */
  order?(column: Fragment): Fragment
  /** A date or a time as a time in UTC without a zone; of SQLite in milliseconds since 1970. */
  toUtc?(column: Fragment): Fragment
  /** Converts a time to what `nextDate` computes with, and back; absent where it is that. */
  readonly instant?: {
    read(column: Fragment): Fragment
    write(instant: Fragment): Fragment
  }
}

/** A type of the database for lists of scalars. */
export interface ListType extends NativeType {
  /** The list as JSON. */
  toJson(column: Fragment): Fragment
  /** The condition that the list has one of the values, by an index; absent where JSON tells it. */
  overlap?(column: Fragment, values: readonly Scalar[]): Fragment
}

/** The role of a field whose values the store itself makes: an id, or the time of a write. */
export type MadeRole = 'id' | 'time'

/** What a column of an existing table can hold. */
export interface ServedType {
  readonly as: readonly ColumnType[]
  /** By the kind of the field, how it is read otherwise than in `as`. */
  readonly natives?: readonly NativeType[]
  /** How it is read as a list of elements of a kind. */
  readonly listOf?: (kind: Kind) => ListType | undefined
  /** What to make of the column for fields of a kind that `as` does not hold, for a message. */
  readonly instead?: (kind: Kind) => string | undefined
  /** Whether a later read of `as` returns exactly what was written. */
  readonly exact?: boolean
}

/** A form of values that the type of a column does not tell. */
export interface ValueForm {
  /** The type of a new column. */
  readonly made: string
  /** How a column of a type holds it; `undefined` where it cannot. */
  native(type: string): NativeType | undefined
}

/** The sequence of the database that other programs take the ids of a table from. */
export interface IdSequence {
  /** Quoted, as SQL takes it. */
  readonly name: string
  /** How many numbers a connection takes at a time, so that those of another one are greater. */
  readonly cache: number
}

/** What an error of a driver means to a store. */
export type DriverFailure =
  | { readonly kind: 'unavailable' }
  /** The disk, or a quota of it, is full. */
  | { readonly kind: 'full' }
  /** It takes no writes: a standby, or a file that may not be written. */
  | { readonly kind: 'read-only' }
  /**
   * Another row has the same values, or excludes them; a value is too long or out of range; a column has no value and
   * needs one. In an index or in columns.
   */
  | {
      readonly kind: 'unique' | 'excluded' | 'unstorable' | 'missing'
      readonly index?: string | undefined
      readonly columns?: readonly string[] | undefined
    }
  /** A foreign key forbids it: the columns name no row, or it is not known that they do. */
  | { readonly kind: 'conflict'; readonly columns?: readonly string[] | undefined }
  /** A policy, a view or a trigger refuses it, with a status of HTTP. */
  | {
      readonly kind: 'refused'
      readonly status: number
      /** What a trigger says. */
      readonly message?: string | undefined
    }
  /** It was in conflict with another transaction: the same work may succeed if it runs again. */
  | { readonly kind: 'again' }
  /** A lock was not free within `lock_timeout`: nothing is done. */
  | { readonly kind: 'locked' }
  /** It was ended by a timeout or a signal. */
  | { readonly kind: 'cancelled' }

export interface SqlDatabase extends PlaceholderStyle {
  readonly name: DatabaseName
  /** The same where times without a zone are UTC; absent where they always are. */
  readonly inUtc?: SqlDatabase
  /** Whether all work shares one connection. */
  readonly serial: boolean
  /** The statement that limits each later one of a transaction, in milliseconds. */
  limit?(timeout: number): string
  /** Begins a write: the only one in SQLite, `read committed` in PostgreSQL. */
  readonly begin: readonly string[]
  /** Begins a transaction of the user's program, isolated from all others. */
  readonly beginTransaction: readonly string[]
  /** Locks a table after `beginTransaction`; absent if transactions never run at the same time. */
  readonly lockTransaction?: (table: string, exclusive: boolean) => string
  /** Begins a transaction that sees the database as it is at its first read. */
  readonly beginRead: readonly string[]
  /** Begins a transaction that makes or alters tables, in one process at a time. It waits 3 s for the lock of a table. */
  readonly beginSetup: readonly string[]
  /** The longest name of a table, a column or an index, in bytes. */
  readonly longestName: number
  /** The types of columns that the store makes. */
  readonly types: Readonly<Record<ColumnType, string>>
  /** The native type of a new column: for a date, an id, or a time that the store sets. */
  nativeFor(field: Field, role: MadeRole | undefined): string | undefined
  /** Selects a row for each column of a table; see `readCatalog`. */
  catalog(table: string): Fragment
  /**
   * Selects a row for a table that is where `create table` would make it, and for each of its indexes that is there: `name` as
   * it was given, `is_valid`, and of the table its `kind`: `table`, or `view` for what has no indexes; of PostgreSQL
   * also `partitioned`, and `guarded` for one with row security.
   */
  relations(table: string, indexes: readonly string[]): Fragment
  /** Selects the unique indexes of a table, its key too: `name`, `columns` as JSON with null for an expression, and the `condition` of a partial one. */
  uniqueIndexes(table: string): Fragment
  /** Selects the process that has held a lock on one of the tables for the longest time: `pid`, `state`. */
  blocker?(tables: readonly string[]): Fragment
  /**
   * Builds the trigger that renews the version of a row which a statement changes without a new one. It empties the
   * folded texts of what other programs change: their versions do not end in the sign.
   */
  renewVersion(row: VersionedRow): VersionTrigger
  /**
   * The date of a change, as `findNextDate` finds it.
   * @param native whether the dates are of a type of the database; else they are texts of `toISOString()`.
   */
  nextDate(now: Fragment, before: Fragment, native: boolean): Fragment
  /**
   * Selects the sequence of a column, where it has one: its `name`, `cache` and `last` number, and whether the
   * user of the database may use it (`is_usable`).
   */
  idSequence?(table: string, column: string): Fragment
  /**
   * The condition that a column has a foreign key of its own to another, which each statement checks.
   * @param deferred whether one counts too that is checked at the commit.
   */
  hasKey(table: string, column: string, target: KeyTarget, deferred?: boolean): Fragment
  /** Whether foreign keys are enforced on the connection. */
  readonly enforcesKeys: Fragment
  /** What a column of a type can hold; absent where each holds values of any type. */
  serves?(type: string): ServedType
  /** What a column of a type can hold though the database keeps any value in it: it converts some. Absent beside `serves`. */
  converts?(type: string): ServedType
  /** The type of a row of the catalog, if that says more than its `type`. */
  typeOf?(row: Readonly<Record<string, unknown>>): string
  /** The types that `columns` asks for by words of their own. */
  readonly forms: Readonly<Record<string, ValueForm>>
  /** Whether a column of a type returns exactly the values that were written. */
  keepsExactly(type: string, as: ColumnType): boolean
  /** Whether an `update` in the `with` of an `insert` may return rows to it. */
  readonly supportsDmlInCte: boolean
  /** Whether ids become visible in their order. Default true. */
  readonly ordersIds?: false
  /** The words before VALUES that let an insert name an id in an identity column. */
  readonly overriding: Fragment
  /** The words after a `select` that lock its rows until the transaction ends. */
  readonly forUpdate: Fragment
  /** The time by the clock of the database, which its processes share, in whole milliseconds since 1970. */
  readonly now: Fragment
  /** Converts a boolean to a parameter for the driver. */
  boolean(value: boolean): unknown
  /** Binds a value to compare with values of a kind. No value makes the statement fail. */
  bind(value: Scalar, kind: Kind): Fragment
  /** The expression to select for a column: every driver returns the same value for it. */
  read(column: Fragment, type: ColumnType): Fragment
  /** Prints the value of a column of any type as a text. */
  print(column: Fragment): Fragment
  /** Makes a text comparable by code point. */
  text(value: Fragment): Fragment
  /** The value of one kind inside a JSON column, comparable; SQL's null where it is null or absent. */
  json(column: Fragment, path: Path, kind: Kind): Fragment
  /** The condition that a value other than null is inside a JSON column; never null itself. */
  has(column: Fragment, path: Path): Fragment
  /** The condition that an object (or an array) is inside a JSON column. */
  holds(column: Fragment, path: Path, what: 'object' | 'array'): Fragment
  /** The condition that some element of the array inside a JSON column passes a test of a value of one kind. */
  anyElement(
    column: Fragment,
    path: Path,
    kind: Kind,
    test: (element: Fragment) => Fragment,
  ): Fragment
  /** Converts an RFC 3339 text to whole milliseconds since 1970, as `parseInstant` does. */
  instant(text: Fragment): Fragment
  /** The condition that a text matches a pattern, case-sensitive. */
  like(text: Fragment, pattern: readonly LikeStep[]): Fragment
  /**
   * The condition that a string contains another one.
   * @param indexed whether an index of {@link SqlDatabase.searchIndex} may be on the string.
   */
  contains(text: Fragment, part: string, indexed: boolean): Fragment
  /** The index that finds parts of strings. */
  readonly searchIndex?: SearchIndex | undefined
  /** The sum of numbers; where they overflow it may be an error. */
  sum(value: Fragment): Fragment
  /** JSON, or null for a text that is not JSON, which would be an error; absent if columns hold only JSON. */
  toValidJson?(column: Fragment): Fragment
  /**
   * The start (UTC) of the day, month or year of an instant: of a date, a native time, or milliseconds since 1970.
   * @param native the type of the value, where it has one.
   */
  startOf(part: DatePart, value: Fragment, native: NativeType | undefined): Fragment
  /** Selects such a start as seconds since 1970. */
  startInSeconds(start: Fragment): Fragment
  /** Sorts null first if ascending, last if descending. @param nullable whether the value may be null. */
  orderBy(value: Fragment, descending: boolean, nullable: boolean): Fragment
  /** A text that changes with every change to the database by anyone, or null if unknown. Totals are remembered while it stays the same. */
  readonly state: Fragment
  /** Turns a statement into one that gives the planner's estimate of it. */
  readonly plan?: {
    statement(statement: Fragment): Fragment
    read(row: Readonly<Record<string, unknown>>): { readonly rows: number; readonly cost: number }
  }
  /** Finds the meaning of an error; `undefined` for any other failure. */
  failure(error: unknown): DriverFailure | undefined
}

/** The databases that `sqlStore` knows. */
export type DatabaseName = 'sqlite' | 'postgres' | 'cockroach' | 'yugabyte'
