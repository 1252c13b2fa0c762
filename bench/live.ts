// Live lists beside server-sent events by hand on node:http, with the same watchers and changes:
//   npx tsx bench/live.ts [--watchers=1000] [--changes=200] [--rounds=3] [--filters]
//   npx tsx bench/live.ts --bound=10000     memory at as many watchers, while more are refused
//   npx tsx bench/live.ts --writes=20000 [--rounds=7] [--url=postgres://…]     what a write pays for the log, and for a watcher
// `--filters`: each watcher has a filter of its own, which lets all items through.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { preparePostgres, prepareSqlite, sqlStore } from '../src/sql/index.ts'
import { inDirectory } from './memory.ts'
import { median, printSetting, printTable } from './tables.ts'

const { values } = parseArgs({
  options: {
    watchers: { type: 'string', default: '1000' },
    changes: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    filters: { type: 'boolean', default: false },
    bound: { type: 'string' },
    writes: { type: 'string' },
    url: { type: 'string' },
    serve: { type: 'string' },
  },
})

const schema = z.object({ color: z.string(), price: z.number(), sent_at: z.number() })

/** What the parent asks a server: to make a change, or how it is. */
type Question = 'change' | 'usage'

interface Usage {
  readonly port: number
  /** Bytes. */
  readonly memory: number
  /** Microseconds. */
  readonly cpu: number
}

const item = (at: number) => ({
  color: 'red',
  price: at,
  sent_at: performance.timeOrigin + performance.now(),
})

/** @returns what makes the change of a number. */
function serveOurs() {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema,
    store: memoryStore(),
    live: true,
  })
  // What is refused is told to its client.
  const api = defineApi({ collections: { cars }, onError() {} })
  const resource = api.asSystem().collection(cars)
  return {
    handler: api.handler,
    change: async (at: number) => void (await resource.create(item(at))),
  }
}

/** By hand: no rights, no list that is resumed, no filters. */
function serveByHand() {
  const watchers = new Set<ServerResponse>()
  return {
    handler: (request: object, response: ServerResponse) => {
      void request
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      response.write('event: ready\ndata: {}\n\n')
      watchers.add(response)
      response.on('close', () => watchers.delete(response))
    },
    async change(at: number) {
      const text = `event: items\nid: ${at}\ndata: [${JSON.stringify({ id: at, ...item(at) })}]\n\n`
      for (const watcher of watchers) watcher.write(text)
    },
  }
}

async function serve(kind: string): Promise<void> {
  const { handler, change } = kind === 'ours' ? serveOurs() : serveByHand()
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let changes = 0
  process.on('message', async (question: Question) => {
    if (question === 'change') await change(++changes)
    else
      for (let pass = 0; pass < 3; pass++) {
        globalThis.gc?.()
        await new Promise(resolve => setImmediate(resolve))
      }
    const { user, system } = process.cpuUsage()
    const { heapUsed, external } = process.memoryUsage()
    process.send?.({ port, memory: heapUsed + external, cpu: user + system } satisfies Usage)
  })
  process.send?.('ready')
}

/** One watcher: how many changes it has read, and the latencies of those that it looks at. */
class Watcher {
  readonly socket: Socket
  readonly ready: Promise<unknown>
  seen = 0
  readonly latencies: number[] = []

  constructor(port: number, at: number) {
    this.socket = connect(port, '127.0.0.1').setEncoding('latin1')
    const path = values.filters ? `/cars?price[gte]=-${at}` : '/cars'
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n`)
    this.ready = new Promise<void>(resolve => {
      this.socket.on('data', (text: unknown) => {
        if (String(text).includes('event: ready')) resolve()
        for (const [, sent] of String(text).matchAll(/"sent_at":([\d.]+)/g)) {
          this.seen++
          this.latencies.push(performance.timeOrigin + performance.now() - Number(sent))
        }
      })
    })
  }
}

interface Round {
  readonly kilobytes: number
  readonly cpu: number
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

async function startServer(kind: string) {
  const child = fork(fileURLToPath(import.meta.url), [`--serve=${kind}`], {
    execArgv: [...process.execArgv, '--expose-gc'],
  })
  await once(child, 'message')
  const ask = async (question: Question): Promise<Usage> => {
    child.send(question)
    const [usage] = await once(child, 'message')
    return usage
  }
  return { child, ask }
}

async function openWatchers(port: number, all: number): Promise<Watcher[]> {
  const watchers: Watcher[] = []
  for (let at = 0; at < all; at++) {
    const watcher = new Watcher(port, at)
    watchers.push(watcher)
    // In small groups: the backlog of a server is short.
    if (at % 50 === 49) await watcher.ready
  }
  await Promise.all(watchers.map(({ ready }) => ready))
  return watchers
}

async function measure(kind: string): Promise<Round> {
  const { child, ask } = await startServer(kind)
  const first = await ask('usage')
  const [all, changes] = [Number(values.watchers), Number(values.changes)]
  const watchers = await openWatchers(first.port, all)
  const open = await ask('usage')
  const start = performance.now()
  for (let at = 1; at <= changes; at++) {
    await ask('change')
    while (watchers.some(({ seen }) => seen < at))
      await new Promise(resolve => setImmediate(resolve))
  }
  const time = performance.now() - start
  const last = await ask('usage')
  for (const { socket } of watchers) socket.destroy()
  child.kill()
  await once(child, 'close')
  const latencies = watchers.flatMap(each => each.latencies).toSorted((a, b) => a - b)
  const at = (part: number) => latencies[Math.floor(part * (latencies.length - 1))] ?? 0
  return {
    kilobytes: (open.memory - first.memory) / all / 1024,
    cpu: (last.cpu - open.cpu) / changes / 1000,
    p50: at(0.5),
    p99: at(0.99),
    perSecond: (changes * 1000) / time,
  }
}

async function compare(): Promise<void> {
  const rounds: Record<string, Round[]> = { ours: [], 'by hand': [] }
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [kind, all] of Object.entries(rounds)) all.push(await measure(kind))
  const figures = ['kilobytes', 'cpu', 'p50', 'p99', 'perSecond'] as const
  printTable(
    'Live lists, and server-sent events by hand',
    [
      `${values.watchers} watchers`,
      ...['KiB a watcher', 'CPU of a change, ms', 'p50, ms', 'p99, ms', 'changes a second'],
    ],
    Object.entries(rounds).map(([kind, all]) => [
      kind,
      ...figures.map(figure => median(all.map(each => each[figure])).toFixed(1)),
    ]),
  )
  printSetting(`${values.rounds} rounds in turns, the median of each figure`, [])
}

/** How many requests are sent beyond the bound. */
const REFUSED = 5000

/** Opens as many streams as there may be, and asks for more again and again. */
async function reachBound(bound: number): Promise<void> {
  const { child, ask } = await startServer('ours')
  const first = await ask('usage')
  const watchers = await openWatchers(first.port, bound)
  const full = await ask('usage')
  const headers = { Accept: 'text/event-stream' }
  const statuses = new Set<string>()
  const url = `http://127.0.0.1:${first.port}/cars`
  const refuse = async () => {
    const response = await fetch(url, { headers })
    const text = (await response.text()).slice(0, 200)
    statuses.add(`${response.status}, Retry-After: ${response.headers.get('retry-after')}, ${text}`)
  }
  for (let at = 0; at < REFUSED; at += 50) await Promise.all(Array.from({ length: 50 }, refuse))
  const refused = await ask('usage')
  await ask('change')
  while (watchers.some(({ seen }) => seen < 1)) await new Promise(resolve => setImmediate(resolve))
  for (const { socket } of watchers) socket.destroy()
  await new Promise(resolve => setTimeout(resolve, 5000))
  const freed = await ask('usage')
  const [again] = await openWatchers(first.port, 1)
  again?.socket.destroy()
  child.kill()
  const mebibytes = ({ memory }: Usage) => (memory / 2 ** 20).toFixed(1)
  printTable(
    `${bound} streams, and ${REFUSED} more requests`,
    ['', 'before', 'all open', 'after the refusals', 'all gone'],
    [['memory, MiB', ...[first, full, refused, freed].map(mebibytes)]],
  )
  printSetting([...statuses].join(' or '), [])
}

const KINDS = ['without', 'with the log', 'while somebody follows'] as const

/** What a patch pays for the log, and for one who follows the list, in turns: time, and CPU of this process. */
async function compareWrites(directory: string): Promise<void> {
  const least = new Map<string, { time: number; cpu: number }>()
  const writes = Number(values.writes)
  const SIZE = 100
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [at, kind] of KINDS.entries()) {
      const db = await openDatabase(join(directory, `${at}-${round}.db`))
      const table = `live_${process.pid}_${at}_${round}`
      const store = sqlStore({ db, table, create: true, changes: kind !== 'without' })
      const live = kind === 'while somebody follows'
      const cars = defineCollection({ name: 'cars', id: 'integer', schema, store, live })
      const api = defineApi({ collections: { cars } })
      await api.open()
      const resource = api.asSystem().collection(cars)
      await resource.create(item(0))
      const following = live ? await follow(api.fetch) : undefined
      const used = process.cpuUsage()
      const start = performance.now()
      for (let done = 0; done < writes; done += SIZE)
        await Promise.all(
          Array.from({ length: SIZE }, (_, each) => resource.patch(1, { price: done + each })),
        )
      const time = (performance.now() - start) / writes
      const { user, system } = process.cpuUsage(used)
      const known = least.get(kind) ?? { time: Infinity, cpu: Infinity }
      const cpu = (user + system) / 1000 / writes
      least.set(kind, { time: Math.min(known.time, time), cpu: Math.min(known.cpu, cpu) })
      await api.close()
      await following?.ended
      await db.destroy()
    }
  const first = least.get('without') ?? { time: 1, cpu: 1 }
  printTable(
    `A patch by ${values.url ? 'PostgreSQL' : 'SQLite'}, µs`,
    ['', 'time', '×', 'CPU here', '×'],
    [...least].map(([kind, { time, cpu }]) => [
      kind,
      ...[(time * 1000).toFixed(0), (time / first.time).toFixed(2)],
      ...[(cpu * 1000).toFixed(0), (cpu / first.cpu).toFixed(2)],
    ]),
  )
  printSetting(`${values.rounds} rounds in turns, the least of each`, [
    'kysely',
    values.url ? 'pg' : 'libsql',
  ])
}

/** Follows the cars until the stream ends. */
async function follow(ask: (request: Request) => Promise<Response>) {
  const headers = { Accept: 'text/event-stream' }
  const { body } = await ask(new Request('http://a/cars', { headers }))
  const reader = body?.getReader()
  let text = ''
  while (reader && !text.includes('event: ready'))
    text += Buffer.from((await reader.read()).value ?? []).toString()
  const read = async () => {
    while (reader && !(await reader.read()).done);
  }
  return { ended: read() }
}

async function openDatabase(file: string): Promise<Kysely<unknown>> {
  if (values.url) {
    const pool = preparePostgres(new pg.Pool({ connectionString: values.url, max: 10 }))
    return new Kysely({ dialect: new PostgresDialect({ pool }) })
  }
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Database(file) }) })
  await prepareSqlite(db)
  return db
}

if (values.serve) await serve(values.serve)
else if (values.bound) await reachBound(Number(values.bound))
else if (values.writes) await inDirectory(compareWrites)
else await compare()
