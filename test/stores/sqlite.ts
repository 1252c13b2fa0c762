// Databases for the tests: files in a directory of their own, removed at the end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { afterAll } from 'vitest'
import { prepareSqlite, reuseStatements } from '../../src/sql/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'rest-conventions-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
let files = 0

export function newFile(): string {
  return join(directory, `${++files}.db`)
}

export async function openDatabase(
  file = newFile(),
  onStatement?: (statement: CompiledQuery) => void,
): Promise<Kysely<unknown>> {
  const database = reuseStatements(new Database(file))
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database }),
    log: ({ query }) => onStatement?.(query),
  })
  await prepareSqlite(db)
  return db
}
