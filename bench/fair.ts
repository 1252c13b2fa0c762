// How long a good request waits while ordinary clients ask for much, or read nothing: the slowest of
// those sent one after another, and the most memory. 60,000 small items and 100 texts of 1 MB in SQLite.
//   npx tsx bench/fair.ts [--build=<folder>] [--seconds=5]
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { z } from 'zod'
import { residentOf } from './memory.ts'
import { child, prepare, published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    build: { type: 'string' },
    seconds: { type: 'string', default: '5' },
  },
})

const ITEMS = 60_000
const TEXTS = 100

if (process.send) await serveItems()
else await measure()

async function serveItems(): Promise<void> {
  const { DEFAULT_FORMATS, defineApi, defineCollection, sqlStore } = await published()
  // What is built has the types of its source.
  const built = (path: string) => import(new URL(path, process.env.BUILD).href)
  const { harden } = (await built('node/node.js')) as typeof import('../src/node/node.ts')
  const { html } = (await built('html/html.js')) as typeof import('../src/html/html.ts')
  const dialect = new SqliteDialect({ database: new Database(':memory:') })
  const db = new Kysely<unknown>({ dialect })
  const define = (name: string, maxLimit: number) =>
    defineCollection({
      name,
      schema: z.object({ text: z.string(), price: z.number() }),
      store: sqlStore({ db, table: name, create: true }),
      id: 'integer',
      maxLimit,
    })
  const [items, texts] = [define('items', 100), define('texts', 100)]
  const api = defineApi({ collections: [items, texts], formats: [...DEFAULT_FORMATS, html] })
  // Reading makes the tables.
  for (const path of ['items', 'texts']) await api.fetch(new Request(`http://a.example/${path}`))
  for (const [name, count, text] of [
    ['items', ITEMS, sql`'item ' || n`],
    ['texts', TEXTS, sql`${'ab'.repeat(500_000)}`],
  ] as const) {
    await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})
      insert into ${sql.table(name)} (id, text, price, created_at, updated_at, version)
      select n, ${text}, n, '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z', 'v' || n from numbers`.execute(
      db,
    )
  }
  await answerQuestions(harden(createServer(api.handler)).listen(0, '127.0.0.1'))
}

/** A row: what is asked of the server on a port, until it is answered or the time is over. */
type Attack = (port: number) => Promise<unknown>

async function measure(): Promise<void> {
  prepare(options.build)
  const pipelined = (path: string, times: number) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(times)
  const closing = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
  const reading =
    (clients: number, bytes: string): Attack =>
    port =>
      Promise.all(Array.from({ length: clients }, () => once(send(port, bytes).resume(), 'close')))
  const unread =
    (clients: number, bytes: string): Attack =>
    async port => {
      const sockets = Array.from({ length: clients }, () => send(port, bytes).pause())
      await wait(Number(options.seconds) * 1000)
      for (const socket of sockets) socket.destroy()
    }
  const pattern = encodeURIComponent(`%${'ab'.repeat(48)}z`)
  const attacks: readonly (readonly [name: string, attack: Attack])[] = [
    [
      '1 connection, 900 pipelined lists of 100',
      reading(1, pipelined('/items?limit=100', 899) + closing('/items?limit=100')),
    ],
    [
      'the same as .html',
      reading(1, pipelined('/items.html?limit=100', 899) + closing('/items.html?limit=100')),
    ],
    [
      '50 connections × 50 pipelined that never read',
      unread(50, pipelined('/items?limit=100', 50)),
    ],
    ['20 downloads of NDJSON', reading(20, closing('/items.ndjson'))],
    ['300 clients of CSV that never read', unread(300, closing('/items.csv'))],
    [
      'one [like] over 60 texts of 1 MB',
      reading(1, closing(`/texts?id[lte]=60&text[like]=${pattern}`)),
    ],
    ['24 clients of 100 MB that never read', unread(24, closing('/texts?limit=100'))],
  ]
  const rows: string[][] = []
  for (const [name, attack] of attacks) rows.push([name, ...(await suffer(attack))])
  printTable('A good request meanwhile', ['', 'slowest ms', 'requests', 'memory MiB'], rows)
  printSetting('one server process, its clients in another', ['kysely', 'libsql'])
}

function send(port: number, bytes: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  socket.write(bytes)
  return socket
}

/** Sends good requests one after another until an attack ends. */
async function suffer(attack: Attack): Promise<string[]> {
  const { process: server, port } = await child(fileURLToPath(import.meta.url), [])
  for (let warm = 0; warm < 200; warm++) await askForItem(port)
  let ended = false
  let memory = 0
  const watch = setInterval(() => {
    memory = Math.max(memory, residentOf(server.pid))
  }, 20)
  const attacked = attack(port).finally(() => {
    ended = true
  })
  // Its bytes are on their way first.
  await wait(5)
  let slowest = 0
  let requests = 0
  while (!ended) {
    const started = performance.now()
    await askForItem(port)
    slowest = Math.max(slowest, performance.now() - started)
    requests++
  }
  await attacked
  clearInterval(watch)
  server.kill()
  return [slowest.toFixed(0), String(requests), (memory / 2 ** 20).toFixed(0)]
}

function askForItem(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: '/items/7', agent: false }, response => {
      if (response.statusCode !== 200) reject(new Error(`Status ${response.statusCode}`))
      response.resume().once('end', resolve)
    }).once('error', reject)
  })
}
