// Field rules, row policies and requests at random, in all formats: what a principal may not read changes no answer.
// `npx tsx bench/proofs/views.ts --cases=10000 --seed=7`, of which one in ten on SQLite.
import { parseArgs } from 'node:util'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { tryViews } from '../../test/views/worlds.ts'

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '10000' }, seed: { type: 'string', default: '7' } },
})
const cases = Number(values.cases)
const seed = Number(values.seed)
console.info('memory', await tryViews(cases * 0.9, clock => memoryStore({ clock }), seed))
const onSqlite = await tryViews(
  cases * 0.1,
  async clock => {
    const db = new Kysely<unknown>({
      dialect: new SqliteDialect({ database: new Database(':memory:') }),
    })
    await prepareSqlite(db)
    return sqlStore({ db, migrate: true, clock })
  },
  seed + 1,
)
console.info('SQLite', onSqlite)
