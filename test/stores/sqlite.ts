// Databases for the tests: files in a directory of their own, removed at the end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { prepareSqlite, reuseStatements } from '../../src/sql/index.ts'
import { cleanUps } from '../clean-up.ts'

let directory: string | undefined
let files = 0
cleanUps.add(() => {
  if (directory) rmSync(directory, { recursive: true, force: true })
  directory = undefined
})

export function newFile(): string {
  directory ??= mkdtempSync(join(tmpdir(), 'rest-conventions-'))
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
