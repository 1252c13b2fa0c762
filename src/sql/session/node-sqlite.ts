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
  setReadBigInts(enabled: boolean): unknown
}

/** A `DatabaseSync` of `node:sqlite`, as far as it is used here. */
export interface NodeSqliteDatabase {
  prepare(text: string): NodeStatement
  close(): void
}

const WRITES = /\b(?:insert|update|delete|replace)\b/i

/** Has numbers for the BigInts that they are exactly. */
function toNumbers(row: unknown): unknown {
  const entries = Object.entries(Object(row)).map(([name, value]) => {
    const isNumber = typeof value === 'bigint' && Number.isSafeInteger(Number(value))
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(entries)
}

/**
 * Wraps a database of `node:sqlite`, of Node.js 22.16 or later, for Kysely's `SqliteDialect`: no native package is
 * needed. Each statement is prepared once, as with {@link reuseStatements}. A whole number beyond 2^53 is a BigInt.
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
      const reader = statement.columns().length > 0
      return {
        reader,
        all: reader && WRITES.test(text) ? readExact : readAll,
        run: values => statement.run(...values),
        iterate: values => statement.iterate(...values),
      }

      function readAll(values: readonly unknown[]): unknown[] {
        try {
          return statement.all(...values)
        } catch (error) {
          if (Object(error).code !== 'ERR_OUT_OF_RANGE') throw error
          return readExact(values)
        }
      }

      /** Node.js throws for a row with a number beyond 2^53, after the statement has written. So it must not run again. */
      function readExact(values: readonly unknown[]): unknown[] {
        statement.setReadBigInts(true)
        try {
          return statement.all(...values).map(toNumbers)
        } finally {
          statement.setReadBigInts(false)
        }
      }
    },
    close: () => database.close(),
  })
}
