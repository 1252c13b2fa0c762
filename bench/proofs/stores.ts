// 20,000 requests at random, three times each: in memory, on SQLite and on PostgreSQL every answer is the same, in its status,
// its headers and its body. Not compared are dates of now, tags, cursors, UUIDs but for their order, `Last-Modified` (it comes
// 2 s after a change: `docs/conventions.md`, Caching), and the order of properties (there, Writing).
// `npx tsx bench/proofs/stores.ts [--requests=20000] [--seed=1] [--show=5]`
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { askStores } from '../../test/equal/ask-stores.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    show: { type: 'string', default: '5' },
  },
})
const sqlite = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: reuseStatements(new Database(':memory:')) }),
})
await prepareSqlite(sqlite)
const server = await startPostgres()
const name = `stores_${process.pid}`
const pool = preparePostgres(
  new pg.Pool({ connectionString: await createDatabase(server.url, name) }),
)
const postgres = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: reuseStatements(pool) }),
})
let tables = 0
const open = {
  memory: () => memoryStore(),
  SQLite: () => sqlStore({ db: sqlite, table: `t${++tables}`, create: true }),
  PostgreSQL: () => sqlStore({ db: postgres, table: `t${++tables}`, create: true }),
}
const count = Number(values.requests)
const found = await askStores(open, {
  count,
  seed: Number(values.seed),
  size: 1500,
  onRound: () => process.stderr.write('.'),
})
process.stderr.write('\n')
console.info(
  `${found.asked} requests, ${found.differences.length} answered differently`,
  found.statuses,
)
for (const each of found.differences.slice(0, Number(values.show))) console.info(each)
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit(found.differences.length > 0 ? 1 : 0)
