// Opens a database to read its catalog, by the driver that the user's project has.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { postgres } from '../../sql/databases/postgres.ts'
import { type Fragment, print } from '../../sql/databases/sql-text.ts'
import { sqlite } from '../../sql/databases/sqlite.ts'
import type { Row } from '../../sql/session/runner.ts'
import { CommandError } from '../output/command-error.ts'
import { isSqliteFile } from './sqlite-file.ts'

/** A database, open to be read. */
export interface CatalogConnection {
  readonly database: 'postgres' | 'sqlite'
  /** The package that opened it. */
  readonly driver: 'pg' | SqliteDriver
  /** The path of a file; `undefined` for PostgreSQL. */
  readonly file: string | undefined
  select(statement: Fragment): Promise<readonly Row[]>
  close(): Promise<void>
}

const SQLITE_DRIVERS = ['libsql', 'better-sqlite3', 'node:sqlite'] as const
type SqliteDriver = (typeof SQLITE_DRIVERS)[number]

interface SqliteFile {
  prepare(text: string): { all(...values: readonly unknown[]): readonly Row[] }
  close(): void
}
type SqliteConstructor = new (file: string, options: object) => SqliteFile

/** A client of pg, as far as it is used here. */
interface CatalogClient {
  connect(): Promise<void>
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>
  end(): Promise<void>
}

/**
 * Opens a database, to be read alone.
 * @param source the URL of a PostgreSQL, or the path of a file of SQLite.
 * @param folder where the packages of the user's project are found.
 * @throws CommandError
 */
export function connect(source: string, folder = process.cwd()): Promise<CatalogConnection> {
  const load = createRequire(join(folder, 'package.json'))
  if (/^postgres(?:ql)?:/i.test(source)) return connectPostgres(source, load)
  return openFile(source, load)
}

async function connectPostgres(url: string, load: NodeJS.Require): Promise<CatalogConnection> {
  const pg = tryLoad('pg', load)
  if (!pg) throw new CommandError('pg is not installed here. Run npm install pg')
  // The package has such a class.
  const { Client } = pg as { Client: new (options: object) => CatalogClient }
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  await client.connect().catch(error => {
    throw new CommandError(
      `Cannot connect to the database. ${error.message || error.code}. Check that it runs, and its URL`,
    )
  })
  await client.query('begin isolation level repeatable read read only')
  return {
    ...{ database: 'postgres', driver: 'pg', file: undefined },
    async select(statement) {
      const { sql, parameters } = print(statement, postgres)
      return (await client.query(sql, parameters)).rows
    },
    close: () => client.end(),
  }
}

async function openFile(file: string, load: NodeJS.Require): Promise<CatalogConnection> {
  if (!isSqliteFile(file))
    throw new CommandError(`${file} is not a SQLite file. Give another path, or a URL`)
  for (const driver of SQLITE_DRIVERS) {
    const found = tryLoad(driver, load)
    if (!found) continue
    // Each of the packages is such a class, or has one.
    const Database = ('DatabaseSync' in found ? found.DatabaseSync : found) as SqliteConstructor
    const opened = new Database(file, { readonly: true, readOnly: true })
    return {
      ...{ database: 'sqlite', driver, file },
      async select(statement) {
        const { sql, parameters } = print(statement, sqlite)
        return opened.prepare(sql).all(...parameters)
      },
      close: async () => opened.close(),
    }
  }
  throw new CommandError('No driver of SQLite is installed here. Run npm install libsql')
}

/** Loads the driver that has opened a database before. @throws CommandError */
export function loadDriver(
  name: CatalogConnection['driver'],
  folder: string = process.cwd(),
): object {
  const loaded = tryLoad(name, createRequire(join(folder, 'package.json')))
  if (loaded) return loaded
  throw new CommandError(`${name} is not installed here. Run npm install ${name}`)
}

/** Loads a package of the user's project; `undefined` if it has none of that name. */
function tryLoad(name: string, load: NodeJS.Require): object | undefined {
  try {
    return load(name)
  } catch {
    return undefined
  }
}
