// What the catalog of a database says of its tables, in one form for PostgreSQL and SQLite.
import type { Row } from '../../sql/session/runner.ts'

export interface FoundColumn {
  readonly name: string
  /** As `readCatalog` reads it: below a domain, an enum with its labels; in capitals of SQLite. */
  readonly type: string
  readonly notNull: boolean
  /** The default as SQL. */
  readonly preset: string | undefined
  /** Whether the database alone makes its values. */
  readonly generated: boolean
  readonly comment: string | undefined
}

export interface FoundReference {
  readonly columns: readonly string[]
  readonly table: string
  /** The columns that it names; empty for the primary key. */
  readonly to: readonly string[]
  readonly onDelete: string
}

export interface FoundIndex {
  readonly unique: boolean
  /** null for an expression. */
  readonly columns: readonly (string | null)[]
  /** The condition of a partial index. */
  readonly where: string | null
  /** The index as SQL, for a comment; null for one that SQLite made itself. */
  readonly text: string | null
}

export interface FoundTable {
  /** As `sqlStore` takes it. */
  readonly name: string
  readonly isView: boolean
  /** Whether no index of it is unique without the columns of its partitions. */
  readonly isPartitioned?: boolean
  /** Whether a trigger may fill in what is inserted. */
  readonly fills: boolean
  readonly comment: string | undefined
  readonly columns: readonly FoundColumn[]
  /** The columns of the primary key. */
  readonly key: readonly string[]
  readonly references: readonly FoundReference[]
  readonly indexes: readonly FoundIndex[]
  /** The conditions of checks, as SQL. */
  readonly checks: readonly string[]
}

/** Builds a column from its row of the catalog. */
export function toColumn(row: Row, comment: unknown): FoundColumn {
  return {
    name: String(row.name),
    type: String(row.type),
    notNull: Number(row.is_not_null) === 1,
    preset: row.preset === null ? undefined : String(row.preset),
    generated: Number(row.is_generated) === 1 || Number(row.is_writable) === 0,
    comment: typeof comment === 'string' ? comment : undefined,
  }
}

/** Whether a row of the catalog tells of triggers on insert; those of SQLite may be any. */
export function hasTriggers({ triggers }: Row): boolean {
  const found: readonly { readonly events?: readonly string[] }[] =
    JSON.parse(String(triggers ?? null)) ?? []
  return found.some(({ events }) => !events || events.includes('insert'))
}
