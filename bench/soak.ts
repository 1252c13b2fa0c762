// Ten minutes at half of what the server can do: whether its memory and its times stay as they are.
//   npx tsx bench/soak.ts [--minutes=10] [--minute=60 (seconds)] [--rate=<answers a second>]
// The api of the example on a SQLite file, by its source; reads, revalidations, changes, no growth.
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { carsApi } from '../examples/cars-api.ts'
import { MEMORY } from '../examples/options.ts'
import { seed } from '../examples/seed.ts'
import { openStores } from '../examples/stores.ts'
import { harden } from '../src/node/index.ts'
import { inDirectory, residentOf, watched } from './memory.ts'
import { askProcess, child, startLoad } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printSize, printTable } from './tables.ts'
import type { Request } from './works.ts'

/** Of twenty requests so many are of this kind, each on another car. */
const KINDS: readonly (readonly [share: number, of: (id: number) => Request])[] = [
  [9, id => get(`/cars/${id}`)],
  [4, id => get(`/cars?color=${['red', 'blue', 'white'][id % 3]}&sort=-price&limit=25`)],
  [2, id => get(`/accounts?limit=${1 + (id % 10)}`)],
  [1, id => get(`/cars/${id}/options`)],
  [1, () => get('/cars/count?sold=false')],
  [1, () => get('/cars?limit=25', { Accept: 'application/xml' })],
  [1, id => get(`/cars/${id}`, { 'If-None-Match': '*' })],
  [1, id => patch(`/cars/${id}`, { mileage: 1000 * id })],
]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    minute: { type: 'string', default: '60' },
    rate: { type: 'string' },
  },
})
const minutes = Number(options.minutes)
const minute = Number(options.minute)
const [file] = positionals

if (process.send && file !== undefined) await serve(file)
else await inDirectory(soak)

async function serve(database: string): Promise<void> {
  const stores = await openStores(database, MEMORY)
  const rateLimit = { policies: [{ limit: 1_000_000_000, window: 60 }] }
  const cars = carsApi(stores.storeFor, stores.blobs, { rateLimit })
  await seed(cars, stores.seeding)
  await answerQuestions(harden(createServer(cars.api.handler)).listen(0, '127.0.0.1'))
}

async function soak(directory: string): Promise<void> {
  const server = await watched(fileURLToPath(import.meta.url), [join(directory, 'cars.db')], 0)
  const requests = mixed()
  const most = await mostOf(server.port, requests)
  const rate = Math.round(Number(options.rate ?? most / 2))
  const { process: pace } = await child('pace.js', [], 1)
  const rows: string[][] = []
  for (let at = 1; at <= minutes; at++) {
    const round = askProcess<RoundResult>(pace, {
      port: server.port,
      requests,
      rate,
      seconds: minute,
    })
    const memory: number[] = []
    const timer = setInterval(() => memory.push(residentOf(server.process.pid)), minute * 500)
    const { answers, wrong, p50, p99, most } = await round
    clearInterval(timer)
    const times = [p50, p99, most].map(time => time.toFixed(2))
    const [half = 0, end = residentOf(server.process.pid)] = memory
    rows.push(
      [at, answers, printOthers(wrong), ...times, printSize(half), printSize(end)].map(String),
    )
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  pace.kill()
  server.process.kill()
  printTable(
    `${rate} requests a second, of ${Math.round(most)} at most`,
    [
      'minute',
      'answers',
      'others',
      'p50, ms',
      'p99, ms',
      'most, ms',
      'resident after the half, MB',
      'after it, MB',
    ],
    rows,
  )
  printSetting(`minutes of ${minute} s`, ['kysely', 'libsql'])
}

/** What bench/pace.js says of a round. */
interface RoundResult {
  readonly answers: number
  /** How many there were of every other status and error. */
  readonly wrong: Readonly<Record<string, number>>
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly most: number
}

function printOthers(wrong: RoundResult['wrong']): string {
  const others = Object.entries(wrong).map(([what, times]) => `${times} × ${what}`)
  return others.join(', ') || '–'
}

/** Answers a second without a limit. */
async function mostOf(port: number, requests: readonly Request[]): Promise<number> {
  const load = await startLoad()
  const server = { name: 'the example', port, requests }
  // Once for the code to be compiled.
  await load.round(server, minute / 12)
  const { rate } = await load.round(server, minute / 6)
  load.end()
  return rate
}

function mixed(): Request[] {
  const kinds = KINDS.flatMap(([share, of]) => Array.from({ length: share }, () => of))
  return Array.from({ length: 20 }, (_, at) => at).flatMap(turn =>
    kinds.map((of, at) => of(1 + ((37 * (turn * kinds.length + at)) % 150))),
  )
}

function get(path: string, headers: Record<string, string> = {}): Request {
  return { method: 'GET', path: `/v1${path}`, headers: { Accept: 'application/json', ...headers } }
}

function patch(path: string, change: object): Request {
  const type = { 'Content-Type': 'application/merge-patch+json' }
  return { ...get(path, type), method: 'PATCH', body: JSON.stringify(change) }
}
