// `rest-conventions pull`: the tables of a database as collections, or what has changed of them.
import { readFile } from 'node:fs/promises'
import { CommandError } from '../output/command-error.ts'
import { type CatalogConnection, connect } from './connect.ts'
import { diffLines } from './diff-lines.ts'
import type { FoundTable } from './found-tables.ts'
import { printCollections } from './print-collections.ts'
import { readPostgres } from './read-postgres.ts'
import { readSqlite } from './read-sqlite.ts'

export interface PullOptions {
  /** The URL of a PostgreSQL, or the path of a file. */
  readonly source: string
  /** Default: the first of the search path. */
  readonly schema?: string | undefined
  /** The file to compare with. */
  readonly diff?: string | undefined
}

/** Reads the catalog of a database, and prints its collections. It reads no rows. @throws CommandError */
export async function pull({ diff, ...options }: PullOptions): Promise<string> {
  const { tables, connection } = await readCatalog(options)
  const text = printCollections(tables, connection)
  if (diff === undefined) return text
  const file = await readFile(diff, 'utf8').catch(() => {
    throw new CommandError(`Cannot read ${diff}. There is no such file`)
  })
  return diffLines(file, text)
}

/** Reads the tables of a database, and closes it. @throws CommandError if it has none. */
export async function readCatalog({ source, schema }: PullOptions): Promise<{
  readonly tables: readonly FoundTable[]
  readonly connection: Pick<CatalogConnection, 'database' | 'driver' | 'file'>
}> {
  const connection = await connect(source)
  try {
    const tables = await readTables(connection, schema).catch(error => {
      throw error instanceof CommandError
        ? error
        : new CommandError(`Cannot read the tables. ${error.message}`)
    })
    if (tables.length === 0)
      throw new CommandError(
        `${schema ? `The schema ${schema}` : 'The database'} has no tables. Give another file, URL or --schema`,
      )
    return { tables, connection }
  } finally {
    await connection.close()
  }
}

function readTables(connection: CatalogConnection, schema: string | undefined) {
  return connection.database === 'postgres'
    ? readPostgres(connection, schema)
    : readSqlite(connection)
}
