// Counts by groups at random: each store gives by each way what plain JavaScript does.
// `npx tsx bench/proofs/groups.ts --counts=10000 --seed=7`
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { countInStores } from '../../test/questions/groups.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: { counts: { type: 'string', default: '10000' }, seed: { type: 'string', default: '7' } },
})
const sqlite = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: reuseStatements(new Database(':memory:')) }),
})
await prepareSqlite(sqlite)
const server = await startPostgres()
const name = `groups_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const postgres = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }),
})
const stores = {
  memory: memoryStore(),
  SQLite: sqlStore({ db: sqlite, migrate: true }),
  PostgreSQL: sqlStore({ db: postgres, migrate: true }),
}
const found = await countInStores(stores, Number(values.counts), Number(values.seed))
console.info(found)
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit()
