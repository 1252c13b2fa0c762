// Lists that include and filter by related items, in worlds at random: each store answers any principal as plain JavaScript
// does. `npx tsx bench/proofs/related.ts --questions=10000 --seed=7`
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { askWorlds } from '../../test/include/worlds.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    questions: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '7' },
  },
})
const sqlite = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: reuseStatements(new Database(':memory:')) }),
})
await prepareSqlite(sqlite)
const server = await startPostgres()
const name = `related_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const postgres = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }),
})
let tables = 0
const open = {
  memory: () => memoryStore(),
  SQLite: () => sqlStore({ db: sqlite, table: `world_${++tables}`, create: true }),
  PostgreSQL: () => sqlStore({ db: postgres, table: `world_${++tables}`, create: true }),
}
console.info(await askWorlds(open, Number(values.questions), Number(values.seed)))
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit()
