// An old program that inserts, updates and deletes rows of PostgreSQL beside clients of an api:
// `npx tsx bench/proofs/beside.ts [--statements=10000] [--seed=1]`, a share for each kind of ids. None of either may fail, and
// each row ends as the last write left it.
import { parseArgs } from 'node:util'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { preparePostgres, reuseStatements } from '../../src/sql/index.ts'
import { SHARED_IDS, writeBeside } from '../../test/stores/old-program.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    statements: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
})
const server = await startPostgres()
const name = `beside_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const pool = preparePostgres(new pg.Pool({ connectionString, max: 8 }))
const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
const other = new pg.Pool({ connectionString, max: 4 })
const statements = Math.ceil(Number(values.statements) / SHARED_IDS.length)
for (const [at, id] of SHARED_IDS.entries()) {
  const table = `notes_${at}`
  await db.executeQuery(CompiledQuery.raw(`create table ${table} (${id}, name text unique)`))
  const say = async (text: string) => (await other.query(text.replaceAll('TABLE', table))).rows
  const wrong = await writeBeside({ db, table, say, statements, seed: Number(values.seed) })
  console.log(`${id}: ${statements} statements of the old program, ${wrong.length} wrong`)
  for (const each of wrong.slice(0, 10)) console.log(`WRONG ${each}`)
  if (wrong.length > 0) process.exitCode = 1
}
await db.destroy()
await other.end()
await dropDatabase(server.url, name)
