// Requests at random through both versions of an api whose hooks write an audit that only the second has: no answer is a
// 5xx, and the audit has a row for each write. `npx tsx bench/proofs/versions.ts --requests=2000 --seed=7`, in memory and
// on SQLite.
import { parseArgs } from 'node:util'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { tryVersions } from '../../test/versions/worlds.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '7' },
  },
})
const requests = Number(values.requests)
const seed = Number(values.seed)
const dialect = new SqliteDialect({ database: new Database(':memory:') })
const db = new Kysely<unknown>({ dialect })
await prepareSqlite(db)
const stores = { memory: () => memoryStore(), SQLite: () => sqlStore({ db, create: true }) }
for (const [name, open] of Object.entries(stores)) {
  const { statuses, writes, rows, failures } = await tryVersions(requests, open, seed)
  console.info(name, { statuses, writes, rows, failures: failures.length })
  if (failures.length > 0 || rows !== writes) process.exitCode = 1
}
