// What requests pay for live lists that nobody declared: which functions of them V8 counts while items are written and read.
//   npx tsx bench/proofs/live-unused.ts
import { Session } from 'node:inspector/promises'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { z } from 'zod'
import { type Api, defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { printTable } from '../tables.ts'

const REQUESTS = 100
/** The rooms of live lists in `src`. */
const ROOMS = /\/src\/(?:live\/|sql\/changes\/|memory\/change-log|server\/follow-list)/

async function openApi(isSql: boolean, live: boolean): Promise<Api> {
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: new Database(':memory:') }),
  })
  await prepareSqlite(db)
  const store = isSql ? sqlStore({ db, create: true, changes: live }) : memoryStore()
  const schema = z.object({ price: z.number() })
  const cars = defineCollection({ name: 'cars', id: 'integer', schema, store, live })
  const api = defineApi({ collections: { cars } })
  await api.open()
  return api as unknown as Api // of any collections
}

async function send(api: Api, path: string, method = 'GET', body?: object): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const headers = { 'Content-Type': type }
  const init = { method, headers, body: body ? JSON.stringify(body) : null }
  const response = await api.fetch(new Request(`http://a${path}`, init))
  await response.text()
  if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status}`)
}

async function ask(api: Api, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    await send(api, '/cars', 'POST', { price: at })
    await send(api, '/cars/1', 'PATCH', { price: at + 1 })
    await send(api, '/cars?limit=5')
    await send(api, '/cars/1')
  }
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
const rows: string[][] = []
for (const isSql of [false, true])
  for (const live of [false, true]) {
    const api = await openApi(isSql, live)
    await ask(api, 2)
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await ask(api, REQUESTS)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    await api.close()
    const countIn = (room: RegExp) =>
      result
        .filter(({ url }) => room.test(url))
        .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
        .reduce((sum, count) => sum + count, 0)
    const name = `${isSql ? 'SQLite' : 'memory'}, ${live ? 'live, and nobody follows' : 'not live'}`
    rows.push([name, String(countIn(/\/src\//)), String(countIn(ROOMS))])
  }
printTable(
  `Calls of functions in ${4 * REQUESTS} requests: creates, patches, lists, reads`,
  ['', 'of src', 'of live lists'],
  rows,
)
