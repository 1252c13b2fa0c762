// How long a good request waits while ordinary clients ask for much, or read nothing: the slowest of
// those sent one after another, and the most memory. 60,000 small items and 100 texts of 1 MB; the last
// rows have 150,000 items more, and indexes only where the rows say so.
//   npx tsx bench/fair.ts [--store=postgres] [--build=<folder>] [--seconds=5] [--rows=1,2]
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { z } from 'zod'
import { type Engine, openDatabases, openKysely } from './databases.ts'
import { residentOf } from './memory.ts'
import { child, compile, prepare, published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options, positionals } = parseArgs({
  options: {
    build: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    seconds: { type: 'string', default: '5' },
    rows: { type: 'string' },
  },
  allowPositionals: true,
})

const ITEMS = 60_000
const TEXTS = 100
const MANY = 150_000

const engine: Engine = options.store === 'postgres' ? 'postgres' : 'sqlite'

if (process.send) await serveItems(positionals[0] ?? '', positionals[1] === 'many')
else await measure()

/** @param many whether the rows with many items are asked for. */
async function serveItems(database: string, many: boolean): Promise<void> {
  const { defineApi, defineCollection, sqlStore } = await published()
  // What is built has the types of its source.
  const built = (path: string) => import(new URL(path, process.env.BUILD).href)
  const { harden } = (await built('node/harden.js')) as typeof import('../src/node/harden.ts')
  const { html } = (await built('html/index.js')) as typeof import('../src/html/index.ts')
  const db = await openKysely(engine, database)
  const define = (name: string) =>
    defineCollection({
      name,
      schema: z.object({ text: z.string(), price: z.number() }),
      search: ['text'],
      store: sqlStore({
        db,
        table: name,
        create: true,
        ...(engine === 'postgres' && { timeout: 5000 }),
      }),
      id: 'integer',
      maxLimit: 100,
    })
  const collections = [define('items'), define('texts'), define('many')]
  const api = defineApi({ collections, pages: html, onError: () => undefined })
  const overriding = engine === 'postgres' ? sql`overriding system value` : sql``
  for (const [name, count, text] of [
    ['items', ITEMS, 'item'],
    ['texts', TEXTS, 'ab'.repeat(500_000)],
    ['many', many ? MANY : 1, 'one of many'],
  ] as const) {
    // The first is created by a request, and copied.
    const body = JSON.stringify({ text, price: 1 })
    const headers = { 'content-type': 'application/json' }
    await api.fetch(new Request(`http://a.example/${name}`, { method: 'POST', headers, body }))
    await sql`insert into ${sql.table(name)} (id, text, price, created_at, updated_at, version) ${overriding}
      with recursive numbers(n) as (select 2 union all select n + 1 from numbers where n < ${sql.lit(count)})
      select n, ${name === 'texts' ? sql`text` : sql`text || ' ' || (n * 7919 % ${sql.lit(count)})`}, n, created_at, updated_at, version || n
      from ${sql.table(name)} cross join numbers where n <= ${sql.lit(count)}`.execute(db)
  }
  if (engine === 'postgres') await sql`vacuum analyze`.execute(db)
  await answerQuestions(harden(createServer(api.handler)).listen(0, '127.0.0.1'))
}

/** A row: what is asked of the server on a port, until it is answered or the time is over. Gives the statuses. */
type Attack = (port: number) => Promise<string>

async function measure(): Promise<void> {
  prepare(options.build)
  const script = compile(fileURLToPath(import.meta.url))
  const databases = await openDatabases(engine)
  const pipelined = (path: string, times: number) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(times)
  const closing = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
  const reading =
    (clients: number, bytes: string): Attack =>
    async port => {
      const statuses = new Map<string, number>()
      const sockets = Array.from({ length: clients }, () => send(port, bytes))
      for (const socket of sockets) {
        socket.on('data', data => {
          for (const [, status = ''] of data.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g))
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
        })
      }
      await Promise.all(sockets.map(socket => once(socket, 'close')))
      return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
    }
  const unread =
    (clients: number, bytes: string): Attack =>
    async port => {
      const sockets = Array.from({ length: clients }, () => send(port, bytes).pause())
      await wait(Number(options.seconds) * 1000)
      for (const socket of sockets) socket.destroy()
      return 'unread'
    }
  const pattern = encodeURIComponent(`%${'ab'.repeat(48)}z`)
  const words = Array.from({ length: 16 }, (_, n) => `${'ab'.repeat(40)}z${n}`).join('+')
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
    ['10 searches of 16 words in texts of 1 MB', reading(10, closing(`/texts/search?q=${words}`))],
    ['20 lists sorted without an index', reading(20, closing('/many?sort=text'))],
    [
      '20 counts of a filter without an index',
      reading(20, closing('/many/count?text[like]=*9*9*')),
    ],
    ['20 searches that find nothing', reading(20, closing('/many/search?q=nothing'))],
  ]
  const wanted = options.rows?.split(',').map(Number)
  const rows: string[][] = []
  for (const [at, [name, attack]] of attacks.entries()) {
    if (wanted && !wanted.includes(at + 1)) continue
    const database = await databases.fresh()
    rows.push([`${at + 1}. ${name}`, ...(await suffer(attack, script, database, at >= 8))])
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  await databases.close()
  printTable(
    'A good request meanwhile',
    ['', 'slowest ms', 'requests', 'failed', 'RSS before, MiB', 'at most', 'its answers'],
    rows,
  )
  printSetting(`${databases.title}, one server process, its clients in another`, [
    'kysely',
    'libsql',
  ])
}

function send(port: number, bytes: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  socket.write(bytes)
  return socket
}

/** Sends good requests one after another until an attack ends. */
async function suffer(
  attack: Attack,
  script: string,
  database: string,
  many: boolean,
): Promise<string[]> {
  const args = [`--store=${engine}`, database, many ? 'many' : '']
  const { process: server, port } = await child(script, args)
  for (let warm = 0; warm < 200; warm++) await askForItem(port)
  let ended = false
  const before = residentOf(server.pid)
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
  let failed = 0
  while (!ended) {
    const started = performance.now()
    if (!(await askForItem(port))) failed++
    slowest = Math.max(slowest, performance.now() - started)
    requests++
  }
  const answers = await attacked
  clearInterval(watch)
  server.kill()
  return [
    slowest.toFixed(0),
    String(requests),
    String(failed),
    ...[before, memory].map(bytes => (bytes / 2 ** 20).toFixed(0)),
    answers,
  ]
}

/** Whether a good request is answered as it should be. */
function askForItem(port: number): Promise<boolean> {
  return new Promise(resolve => {
    get({ port, host: '127.0.0.1', path: '/items/7', agent: false }, response => {
      response.resume().once('end', () => resolve(response.statusCode === 200))
    }).once('error', () => resolve(false))
  })
}
