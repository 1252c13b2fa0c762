// Columns of each type, with null and with values that no answer can say, asked at random: what a read shows is found by `=`, and
// by `[gte]` with `[lte]`, and not by `[gt]`; every operator finds what the matcher finds; a row policy lists what it lets read;
// pages have what the list has. `npx tsx bench/proofs/values.ts [--database=postgres|libsql|node:sqlite] [--cases=10000] [--seed=1]`
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CompiledQuery, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import {
  type NodeSqliteDatabase,
  nodeSqlite,
  preparePostgres,
  prepareSqlite,
  reuseStatements,
} from 'rest-conventions/sql'
import { cleanUps } from '../../test/clean-up.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'
import { MADE, POSTGRES, proveShown, type Shown, SQLITE } from '../../test/stores/shown-values.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'postgres,libsql,node:sqlite' },
    cases: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
})
// Of each value that is null in answers.
process.removeAllListeners('warning')

async function prove(title: string, db: Kysely<unknown>, tables: readonly Shown[]) {
  const options = { count: Number(values.cases), seed: Number(values.seed) }
  const { tried, wrong } = await proveShown(db, tables, options)
  console.log(`${title}: ${tried} cases, ${wrong.length} wrong`)
  for (const each of wrong.slice(0, 40)) console.log(`WRONG ${each}`)
  if (wrong.length > 0) process.exitCode = 1
}

async function onPostgres() {
  const server = await startPostgres()
  const name = `values_${process.pid}`
  const connectionString = await createDatabase(server.url, name)
  const pool = preparePostgres(new pg.Pool({ connectionString, max: 2 }))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  for (const text of MADE) await db.executeQuery(CompiledQuery.raw(text))
  const { rows } = await pool.query('show server_version')
  await prove(`PostgreSQL ${rows[0].server_version}`, db, POSTGRES)
  await db.destroy()
  await dropDatabase(server.url, name)
}

async function onLibsql() {
  const dialect = new SqliteDialect({ database: reuseStatements(new Database(':memory:')) })
  const db = new Kysely<unknown>({ dialect })
  await prepareSqlite(db)
  await prove('libsql', db, SQLITE)
}

/** In this Node.js, or in a newer one that the tests have. */
async function onNodeSqlite() {
  const { getBuiltinModule } = process
  const found: unknown = getBuiltinModule?.('node:sqlite')
  if (found) {
    const { DatabaseSync } = found as { DatabaseSync: new (file: string) => NodeSqliteDatabase } // what Node.js has there
    const database = nodeSqlite(new DatabaseSync(':memory:'))
    const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
    await prepareSqlite(db)
    return prove(`node:sqlite of Node.js ${process.version}`, db, SQLITE)
  }
  const program = new URL(
    '../../test/client/runtimes/node_modules/node22/bin/node',
    import.meta.url,
  )
  if (!existsSync(program)) return console.log(`node:sqlite: there is no ${program.pathname}`)
  // Only here: the script itself is what is bundled.
  const { bundle } = await import('../../test/bundle.ts')
  const script = bundle(new URL(import.meta.url).pathname)
  const { cases, seed } = values
  const options = [script, '--database=node:sqlite', `--cases=${cases}`, `--seed=${seed}`]
  try {
    execFileSync(program.pathname, options, { stdio: 'inherit' })
  } catch {
    process.exitCode = 1
  } finally {
    for (const cleanUp of cleanUps) cleanUp()
  }
}

const databases = values.database.split(',')
if (databases.includes('postgres')) await onPostgres()
if (databases.includes('libsql')) await onLibsql()
if (databases.includes('node:sqlite')) await onNodeSqlite()
