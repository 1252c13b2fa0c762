// Trees of filters at random: each store finds by each way what plain JavaScript does.
// `npx tsx bench/proofs/trees.ts --trees=10000 --seed=7`
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { askStores } from '../../test/questions/ask.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: { trees: { type: 'string', default: '10000' }, seed: { type: 'string', default: '7' } },
})
const sqlite = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: reuseStatements(new Database(':memory:')) }),
})
await prepareSqlite(sqlite)
const server = await startPostgres()
const name = `trees_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const postgres = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }),
})
const stores = {
  memory: memoryStore(),
  SQLite: sqlStore({ db: sqlite, migrate: true }),
  PostgreSQL: sqlStore({ db: postgres, migrate: true }),
}
const found = await askStores(stores, Number(values.trees), Number(values.seed))
console.info(found)
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit()
