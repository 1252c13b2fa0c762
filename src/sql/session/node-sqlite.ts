// Node's own SQLite, with the interface of better-sqlite3 that Kysely and this store know.
import type { SqliteDatabase } from 'kysely'
import { reuseStatements } from './drivers.ts'

/** A statement of `node:sqlite`. */
interface NodeStatement {
  columns(): readonly unknown[]
  all(...values: readonly unknown[]): unknown[]
  run(...values: readonly unknown[]): {
    readonly changes: number | bigint
    readonly lastInsertRowid: number | bigint
  }
  iterate(...values: readonly unknown[]): IterableIterator<unknown>
}

/** A `DatabaseSync` of `node:sqlite`, as far as it is used here. */
export interface NodeSqliteDatabase {
  prepare(text: string): NodeStatement
  close(): void
}

/**
 * Wraps a database of `node:sqlite`, of Node.js 22.16 or later, for Kysely's `SqliteDialect`: no native package is
 * needed. Each statement is prepared once, as with {@link reuseStatements}.
 * @throws TypeError for a database of an older Node.js.
 * docs/databases.md has an example.
 */
export function nodeSqlite(database: NodeSqliteDatabase): SqliteDatabase {
  if (typeof database.prepare('select 1').columns !== 'function') {
    throw new TypeError(
      'nodeSqlite needs Node.js 22.16 or later: statements of this one do not tell their columns',
    )
  }
  return reuseStatements({
    prepare(text) {
      const statement = database.prepare(text)
      return {
        reader: statement.columns().length > 0,
        all: values => statement.all(...values),
        run: values => statement.run(...values),
        iterate: values => statement.iterate(...values),
      }
    },
    close: () => database.close(),
  })
}
