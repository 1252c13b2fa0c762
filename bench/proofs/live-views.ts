// Field rules, row policies, filters and writes at random, followed while rights and policies change: nobody is sent an item or
// a property that he may not read, and each board is the list.
//   npx tsx bench/proofs/live-views.ts [--cases=1000] [--seed=7]    of which one in ten on SQLite
import { mock } from 'node:test'
import { parseArgs } from 'node:util'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { tryLive } from '../../test/live/worlds.ts'

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '1000' }, seed: { type: 'string', default: '7' } },
})
const [cases, seed] = [Number(values.cases), Number(values.seed)]
let skew = 0
const now = performance.now.bind(performance)
performance.now = () => now() + skew
mock.timers.enable({ apis: ['setInterval'] })
const advance = (time: number) => {
  skew += time
  mock.timers.tick(1000)
}
console.info('memory', await tryLive(cases * 0.9, { open: () => memoryStore(), advance, seed }))
const open = async () => {
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: new Database(':memory:') }),
  })
  await prepareSqlite(db)
  return sqlStore({ db, create: true, changes: true })
}
console.info('SQLite', await tryLive(cases * 0.1, { open, advance, seed: seed + 1 }))
process.exit()
