// An import of 100,000 lines by examples/import.ts, which is killed by kill -9 and run again, and those beside it:
//   npx tsx bench/proofs/imports.ts [--database=sqlite|postgres] [--lines=100000] [--kills=5]
// No line is lost or doubled. Good requests wait no longer beside it than beside plain creates, and the memory of both
// processes does not grow with the file.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type Engine, openDatabases, openKysely } from '../databases.ts'
import { prepare, published } from '../processes.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    lines: { type: 'string', default: '100000' },
    kills: { type: 'string', default: '5' },
  },
})
const engine: Engine = values.database === 'postgres' ? 'postgres' : 'sqlite'
const lines = Number(values.lines)
const directory = mkdtempSync(join(tmpdir(), 'imports-'))

async function carsOf(database: string) {
  const { defineApi, defineCollection, sqlStore } = await published()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ code: z.string(), color: z.string(), price: z.number(), note: z.string() }),
    store: sqlStore({ db: await openKysely(engine, database), create: true }),
    unique: ['code'],
    id: 'integer',
  })
  const api = defineApi({ collections: { cars } })
  await api.open()
  return api
}

/** Serves the cars, and tells its memory when asked. */
async function serve(database: string): Promise<void> {
  const api = await carsOf(database)
  const server = createServer(api.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.on('message', () => process.send?.(process.memoryUsage.rss()))
  process.send?.((server.address() as AddressInfo).port)
}

async function writeTable(): Promise<string> {
  const file = join(directory, 'cars.csv')
  const stream = createWriteStream(file)
  stream.write('code,color,price,note\r\n')
  for (let at = 0; at < lines; at++) {
    const note = at % 10 === 0 ? '"two\r\nlines, ""quoted"""' : `note ${at}`
    if (!stream.write(`car ${at},color ${at % 12},${at % 500},${note}\r\n`))
      await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'close')
  return file
}

function start(file: string, url: string): ChildProcess {
  const script = fileURLToPath(new URL('../../examples/import.ts', import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', script, file, url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function readMemory({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  // One that has just ended has none.
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
}

/** Sends a read and a create each 20 ms until something has ended. @returns their times in milliseconds, sorted. */
async function sendBeside(url: string, done: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  let isDone = false
  void done.finally(() => {
    isDone = true
  })
  for (let at = 0; !isDone; at++) {
    const started = performance.now()
    const body = JSON.stringify({ code: `own ${started} ${at}`, color: 'red', price: 1, note: '' })
    const headers = { 'content-type': 'application/json' }
    const answers = await Promise.all([
      fetch(`${url}?limit=10`),
      fetch(url, { method: 'POST', body, headers }),
    ])
    for (const answer of answers) {
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`Beside the import: ${answer.status}`)
    }
    times.push(performance.now() - started)
    await wait(20)
  }
  return times.toSorted((one, other) => one - other)
}

function describe(times: readonly number[]): string {
  const at = (part: number) => times[Math.floor(part * (times.length - 1))]?.toFixed(0)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms of ${times.length}`
}

/** Creates as many cars one by one, eight at a time: the same work without arrays. */
async function createPlainly(url: string, count: number): Promise<void> {
  let next = 0
  const one = async () => {
    for (let at = next++; at < count; at = next++) {
      const body = JSON.stringify({ code: `plain ${at}`, color: 'red', price: 1, note: 'note' })
      const headers = { 'content-type': 'application/json' }
      await (await fetch(url, { method: 'POST', body, headers })).arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 8 }, one))
}

async function prove(): Promise<void> {
  prepare()
  const databases = await openDatabases(engine)
  const database = await databases.fresh()
  const server = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
    env: { ...process.env, IMPORT_DATABASE: database },
    execArgv: ['--import', 'tsx'],
  })
  const [port] = (await once(server, 'message')) as [number]
  const url = `http://127.0.0.1:${port}/cars`
  const file = await writeTable()
  const plain = await sendBeside(url, createPlainly(url, Math.min(lines, 10_000)))
  const memory = { atStart: readMemory(server), server: 0, client: 0 }
  const started = performance.now()
  const run = async () => {
    for (let kills = Number(values.kills); ; kills--) {
      const child = start(file, url)
      const timer = setInterval(() => {
        memory.server = Math.max(memory.server, readMemory(server))
        if (child.exitCode === null && child.signalCode === null)
          memory.client = Math.max(memory.client, readMemory(child))
      }, 100)
      if (kills > 0) setTimeout(() => child.kill('SIGKILL'), 1000 + Math.random() * 2000)
      const [code] = await once(child, 'exit')
      clearInterval(timer)
      if (code === 0) return
      if (kills <= 0) throw new Error(`The import ended with ${code}`)
    }
  }
  const beside = await sendBeside(url, run())
  const seconds = (performance.now() - started) / 1000
  const api = await carsOf(database)
  const count = await api.collection('cars').count({ code: { prefix: 'car ' } })
  const mega = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`
  console.log({
    database: databases.title,
    lines,
    found: count,
    kills: Number(values.kills),
    seconds: Number(seconds.toFixed(1)),
    besideCreates: describe(plain),
    besideTheImport: describe(beside),
    serverBefore: mega(memory.atStart),
    serverMost: mega(memory.server),
    importMost: mega(memory.client),
  })
  server.kill()
  await databases.close()
  process.exit(count === lines ? 0 : 1)
}

if (process.env.IMPORT_DATABASE) await serve(process.env.IMPORT_DATABASE)
else await prove()
