// Writers and readers of the log of changes that take turns by chance, many times: after each the readers have what the list has.
//   npx tsx bench/proofs/interleavings.ts [--store=postgres|pgbouncer|sqlite|memory] [--times=2500] [--seed=1] [--url=<server>]
//   … --reader='by the numbers of the log'      how often a reader is wrong that is usual elsewhere
import { AssertionError } from 'node:assert'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import type { StoreChanges } from '../../src/store/changes.ts'
import type { Store } from '../../src/store/store.ts'
import {
  addParents,
  attach,
  interleave,
  PATIENCE_MS,
  PostgresWriter,
  StoreWriter,
  sqliteWriter,
  WRONG,
  type Writer,
  wrongChanges,
} from '../../test/live/interleaving.ts'
import { startPgBouncer } from '../../test/stores/pgbouncer.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    times: { type: 'string', default: '2500' },
    seed: { type: 'string', default: '1' },
    url: { type: 'string' },
    reader: { type: 'string' },
  },
})
const TABLE = 'cars'
const SQL_WRITERS = 6

interface Setting {
  readonly store: Store
  readonly writers: () => readonly Writer[]
  readonly changes?: StoreChanges | undefined
  close(): Promise<unknown>
}

async function openMemory(): Promise<Setting> {
  const store = attach(memoryStore())
  const writers = [new StoreWriter(store)]
  return { store, writers: () => writers, close: async () => {} }
}

async function openSqlite(): Promise<Setting> {
  const file = join(tmpdir(), `interleavings_${process.pid}.db`)
  const database = new Database(file)
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  const store = attach(sqlStore({ db, table: TABLE, create: true, changes: true }))
  await store.open?.()
  const others = [new Database(file), new Database(file)]
  for (const each of addParents(TABLE)) others[0]?.exec(each)
  for (const each of [database, ...others]) each.exec('pragma synchronous = off')
  const writers = [...others.map(each => sqliteWriter(each, TABLE)), new StoreWriter(store)]
  return {
    store,
    writers: () => writers,
    async close() {
      for (const each of others) each.close()
      await db.destroy()
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    },
  }
}

async function openPostgres(): Promise<Setting> {
  const server = values.url ?? (await startPostgres()).url
  const name = `interleavings_${process.pid}`
  const url = await createDatabase(server, name)
  const bouncer = values.store === 'pgbouncer' ? await startPgBouncer(url, { size: 12 }) : undefined
  const pool = preparePostgres(new pg.Pool({ connectionString: bouncer?.url ?? url, max: 5 }))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  const store = attach(sqlStore({ db, table: TABLE, create: true, changes: true }))
  await store.open?.()
  const clients: pg.Client[] = []
  for (let at = 0; at < SQL_WRITERS; at++) {
    // Some of them write beside the pooler.
    const client = new pg.Client({ connectionString: at % 2 === 0 ? (bouncer?.url ?? url) : url })
    await client.connect()
    clients.push(client)
  }
  for (const each of addParents(TABLE)) await clients[0]?.query(each)
  const own = [1, 2].map(() => new StoreWriter(store, PATIENCE_MS))
  const wrong = Object.entries(WRONG).find(([each]) => each === values.reader)?.[1]
  return {
    store,
    writers: () => [...clients.map(client => new PostgresWriter(client, TABLE)), ...own],
    changes: wrong && wrongChanges(pool, TABLE, wrong),
    async close() {
      for (const client of clients) await client.end()
      await db.destroy()
      await bouncer?.stop()
      await dropDatabase(server, name)
    },
  }
}

const STORES = {
  memory: openMemory,
  sqlite: openSqlite,
  postgres: openPostgres,
  pgbouncer: openPostgres,
}
const open = Object.entries(STORES).find(([name]) => name === values.store)?.[1]
if (!open) throw new TypeError(`--store is one of ${Object.keys(STORES).join(', ')}`)
const { store, writers, changes, close } = await open()
const [times, first] = [Number(values.times), Number(values.seed)]
const begin = performance.now()
let wrong = 0
try {
  for (let at = 0; at < times; at++) {
    const seed = first + at
    const readers = changes && { changes }
    await interleave({ store, writers: writers(), seed, steps: 60, ...readers }).catch(error => {
      if (!(error instanceof AssertionError)) throw error
      if (!readers) console.error(`--seed=${seed}: ${error.message}`)
      wrong++
    })
  }
} finally {
  await close()
}
const seconds = ((performance.now() - begin) / 1000).toFixed(0)
const by = values.reader ? `, read ${values.reader}` : ''
console.log(
  `${values.store}${by}: ${times} interleavings as of seed ${first}, ${wrong} wrong, ${seconds} s`,
)
if (wrong > 0 && !values.reader) process.exitCode = 1
process.exit()
