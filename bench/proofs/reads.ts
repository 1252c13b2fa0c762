// Reads, writes, deletions and aborts at random on PostgreSQL, against a model:
// `npx tsx bench/proofs/reads.ts --operations=100000 [--seed=34] [--width=64]`. No read is older than the last
// write that was acknowledged before it began.
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { preparePostgres, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'
import { readBesideWrites } from '../../test/stores/read-beside-writes.ts'
import { SHAPE, text } from '../../test/stores/selections.ts'

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '34' },
    width: { type: 'string', default: '64' },
  },
})
const server = await startPostgres()
const name = `reads_${process.pid}`
const connectionString = await createDatabase(server.url, name)
const pool = preparePostgres(new pg.Pool({ connectionString, max: 10 }))
const db = new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
const store = sqlStore({ db, create: true })
const fields = new Map([...SHAPE.fields, ['id', text] as const])
store.attach({ ...SHAPE, identity: { name: 'id', kind: 'text' }, fields })
const begin = performance.now()
const { wrong, ...found } = await readBesideWrites(store, {
  operations: Number(values.operations),
  seed: Number(values.seed),
  width: Number(values.width),
})
const seconds = ((performance.now() - begin) / 1000).toFixed(1)
console.log({ ...found, wrong: wrong.length, seconds })
for (const each of wrong.slice(0, 10)) console.log(each)
await db.destroy()
await dropDatabase(server.url, name)
process.exitCode = wrong.length > 0 ? 1 : 0
