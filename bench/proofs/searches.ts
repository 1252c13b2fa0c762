// Texts at random in many scripts: each store finds by parts of them what plain JavaScript does, also where another
// program has written them with SQL. `npx tsx bench/proofs/searches.ts --texts=10000 --seed=7`
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { searchStores } from '../../test/questions/searches.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: { texts: { type: 'string', default: '10000' }, seed: { type: 'string', default: '7' } },
})
const sqlite = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: reuseStatements(new Database(':memory:')) }),
})
await prepareSqlite(sqlite)
const server = await startPostgres()
const name = `searches_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const postgres = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }),
})
const searched = (db: Kysely<unknown>) => ({
  store: sqlStore({ db, create: true }),
  write: (id: number, title: string) =>
    sql`update books set title = ${title} where id = ${id}`.execute(db),
})
const stores = {
  memory: { store: memoryStore() },
  SQLite: searched(sqlite),
  PostgreSQL: searched(postgres),
}
const found = await searchStores(stores, Number(values.texts), Number(values.seed))
console.info(found)
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit()
