// A bank whose transfers are batches, while its servers are killed by kill -9:
//   npx tsx bench/proofs/batches.ts [--database=sqlite|postgres] [--seconds=60] [--clients=16] [--servers=3] [--kill=5]
// Clients repeat what got no answer with its key, at any server. The sum is right in every read, no transfer is half,
// and each key is done once.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Kysely, PostgresDialect } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, sqlStore } from '../../src/sql/index.ts'

const ACCOUNTS = 8
const EACH = 1000

async function openDatabase(url: string): Promise<Kysely<unknown>> {
  const { Kysely: Database, SqliteDialect } = await import('kysely')
  if (url.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url, max: 8 })
    preparePostgres(pool)
    return new Database<unknown>({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Sqlite } = await import('libsql')
  const db = new Database<unknown>({ dialect: new SqliteDialect({ database: new Sqlite(url) }) })
  await prepareSqlite(db)
  return db
}

async function bankOf(url: string) {
  const db = await openDatabase(url)
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int().min(0) }),
    id: 'integer',
    store: sqlStore({ db, table: 'accounts', create: true }),
  })
  const transfers = defineCollection({
    name: 'transfers',
    schema: z.object({ from_id: z.int(), to_id: z.int(), amount: z.int(), key: z.string() }),
    store: sqlStore({ db, table: 'transfers', create: true }),
  })
  const api = defineApi({ collections: { accounts, transfers }, batch: true })
  await api.open()
  return api
}

/** Serves the bank until it is killed. */
async function serve(url: string): Promise<void> {
  const api = await bankOf(url)
  const server = createServer(api.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.((server.address() as AddressInfo).port)
}

interface Slot {
  child: ChildProcess
  port: number
}

async function start(url: string): Promise<Slot> {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, BATCH_BANK: url },
    execArgv: ['--import', 'tsx'],
  })
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

async function prove(): Promise<void> {
  const { values } = parseArgs({
    options: {
      database: { type: 'string', default: 'sqlite' },
      seconds: { type: 'string', default: '60' },
      clients: { type: 'string', default: '16' },
      servers: { type: 'string', default: '3' },
      kill: { type: 'string', default: '5' },
    },
  })
  let url = join(mkdtempSync(join(tmpdir(), 'batches-')), 'bank.db')
  if (values.database === 'postgres') {
    const { createDatabase, startPostgres } = await import('../../test/stores/postgres-server.ts')
    url = await createDatabase((await startPostgres()).url, `batches_${process.pid}`)
  }
  const bank = await bankOf(url)
  await bank
    .collection('accounts')
    .create(Array.from({ length: ACCOUNTS }, () => ({ balance: EACH })))
  const slots = await Promise.all(Array.from({ length: Number(values.servers) }, () => start(url)))
  const end = performance.now() + Number(values.seconds) * 1000
  const done = new Set<string>()
  const refused = new Set<string>()
  const found = { reads: 0, wrongSums: 0, kills: 0, repeated: 0, errors: 0 }
  const anyPort = () => slots[Math.floor(Math.random() * slots.length)]?.port ?? 0

  const request = async (path: string, init?: RequestInit): Promise<Response | undefined> => {
    try {
      return await fetch(`http://127.0.0.1:${anyPort()}${path}`, init)
    } catch {
      return undefined
    }
  }
  const read = async () => {
    const answer = await request('/accounts?limit=100')
    if (!answer?.ok) return []
    const items = (await answer.json().catch(() => [])) as { id: number; balance: number }[]
    if (items.length === 0) return []
    found.reads++
    const sum = items.reduce((total, { balance }) => total + balance, 0)
    if (sum !== ACCOUNTS * EACH || items.length !== ACCOUNTS) found.wrongSums++
    return items
  }
  const transfer = async (key: string): Promise<void> => {
    const items = (await read()).toSorted(() => Math.random() - 0.5)
    const [from, to] = items
    if (!from || !to) return
    const steps = async () => {
      const tags = await Promise.all([from.id, to.id].map(async id => request(`/accounts/${id}`)))
      const [one, other] = await Promise.all(
        tags.map(async tag => ({
          tag: tag?.headers.get('etag'),
          item: (await tag?.json().catch(() => undefined)) as typeof from | undefined,
        })),
      )
      if (!one?.item || !other?.item || one.item.balance === 0) return undefined
      const amount = 1 + Math.floor(Math.random() * one.item.balance)
      return [
        {
          method: 'PATCH',
          path: `/accounts/${from.id}`,
          'if-match': one.tag,
          body: { balance: one.item.balance - amount },
        },
        {
          method: 'POST',
          path: '/transfers',
          body: { from_id: from.id, to_id: to.id, amount, key },
        },
        {
          method: 'PATCH',
          path: `/accounts/${to.id}`,
          'if-match': other.tag,
          body: { balance: other.item.balance + amount },
        },
      ]
    }
    const body = JSON.stringify(await steps())
    if (body === undefined) return
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    // Until there is an answer: a claim of a server that was killed lasts a minute.
    for (let count = 0; ; count++) {
      const answer = await request('/batch', { method: 'POST', headers, body })
      const text = await answer?.text().catch(() => undefined)
      if (answer && text !== undefined && answer.status !== 503) {
        if (answer.status === 200) {
          done.add(key)
          if (count > 0) found.repeated++
          return
        }
        if (answer.status === 412) {
          refused.add(key)
          return
        }
        // The first request may still run, or its server was killed.
        if (answer.status !== 409) found.errors++
      }
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  }
  const client = async (name: number) => {
    for (let at = 0; performance.now() < end; at++) await transfer(`${name}.${at}`)
  }
  const kill = async () => {
    while (performance.now() < end) {
      await new Promise(resolve => setTimeout(resolve, Number(values.kill) * 1000))
      const at = found.kills++ % slots.length
      slots[at]?.child.kill('SIGKILL')
      slots[at] = await start(url)
    }
  }
  const clients = Array.from({ length: Number(values.clients) }, (_, at) => client(at))
  await Promise.all([...clients, kill()])
  for (const { child } of slots) child.kill('SIGKILL')

  const booked = new Map<string, number>()
  const balances = new Map<number, number>()
  for await (const { key, from_id, to_id, amount } of bank.collection('transfers').list()) {
    booked.set(key, (booked.get(key) ?? 0) + 1)
    balances.set(from_id, (balances.get(from_id) ?? EACH) - amount)
    balances.set(to_id, (balances.get(to_id) ?? EACH) + amount)
  }
  let half = 0
  for await (const { id, balance } of bank.collection('accounts').list())
    if (balance !== (balances.get(id) ?? EACH)) half++
  console.log({
    database: values.database,
    ...found,
    transfers: done.size,
    refused: refused.size,
    lost: [...done].filter(key => !booked.has(key)).length,
    twice: [...booked.values()].filter(times => times > 1).length,
    doneThoughRefused: [...refused].filter(key => booked.has(key)).length,
    accountsThatDiffer: half,
  })
  process.exit()
}

if (process.env.BATCH_BANK) await serve(process.env.BATCH_BANK)
else await prove()
