// A database by the number of connections that clients keep: `npx tsx bench/connections.ts`, which needs wrk.
//   --store=sqlite            default: postgres
//   --works=read,list,create  these works
//   --connections=1,16        these numbers of connections
//   --rounds=5 --seconds=1
//   --build=<folder>          ours as it is there, instead of built anew
//   --before=<folder>         an earlier build beside it
// The contestants alternate. Each round tells the CPU time of Node and of PostgreSQL for one answer, answers a second,
// and p99.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { ask } from '../test/stores/postgres-server.ts'
// @ts-expect-error: plain JavaScript, as the contestants are.
import { COLORS, targetOf, valuesOf } from './cars.js'
import { openDatabases } from './databases.ts'
import { askProcess, type Child, child, pinned, prepare } from './processes.ts'
import { median, printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    works: { type: 'string', default: 'read,list,create' },
    connections: { type: 'string', default: '1,16,64,256' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    build: { type: 'string' },
    before: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const connections = options.connections.split(',').map(Number)

/** What wrk asks, in Lua: each request is made once, before the round. */
const REQUESTS: Readonly<Record<string, readonly string[]>> = {
  read: Array.from({ length: 100 }, (_, at) => get(`/cars/${1 + ((at * 7919) % 10_000)}`)),
  list: Array.from({ length: 12 }, (_, at) =>
    get(targetOf(COLORS[at % COLORS.length], Math.floor(at / COLORS.length))),
  ),
  create: Array.from({ length: 100 }, (_, at) => {
    const body = JSON.stringify(JSON.stringify(valuesOf(at * 79)))
    return `wrk.format("POST", "/cars", {["Content-Type"] = "application/json"}, ${body})`
  }),
}

function get(path: string): string {
  return `wrk.format("GET", "${path}")`
}

/** A script of wrk that asks in turn, and prints the round as JSON. */
function scriptOf(requests: readonly string[]): string {
  return `wrk.headers["Accept"] = "application/json"
local at = 0
local texts
function init() texts = {${requests.join(', ')}} end
function request() at = at % #texts + 1; return texts[at] end
function done(summary, latency)
  local errors = summary.errors
  print(string.format('{"answers": %d, "microseconds": %d, "wrong": %d, "p99": %d}', summary.requests,
    summary.duration, errors.status + errors.read + errors.connect + errors.timeout, latency:percentile(99)))
end`
}

interface Round {
  readonly node: number
  readonly postgres: number
  readonly rate: number
  readonly p99: number
}

interface Server extends Child {
  readonly name: string
  readonly database: string
}

prepare(options.build)
const { BUILD: built } = process.env
const store = options.store === 'sqlite' ? 'sqlite' : 'postgres'
const databases = await openDatabases(store)
const directory = await mkdtemp(join(tmpdir(), 'connections-'))
const contestants = [
  { name: 'Fastify by hand', file: `fastify-${store}`, build: built },
  ...(options.before
    ? [{ name: 'before', file: `ours-${store}`, build: addressOf(options.before) }]
    : []),
  { name: 'ours', file: `ours-${store}`, build: built },
]
const rows: string[][] = []
try {
  for (const work of options.works.split(',')) await run(work)
} finally {
  await databases.close()
  await rm(directory, { recursive: true })
}
printTable(
  'Median of the rounds; ratios are those of each round to the same round of Fastify by hand',
  [
    'work',
    'connections',
    'contestant',
    'answers/s',
    '÷',
    'Node µs',
    'database µs',
    '÷ both',
    'p99 ms',
  ],
  rows,
)
printSetting(
  `${rounds} rounds of ${options.seconds} s by wrk, ${databases.title}, server and wrk ${pinned ? 'pinned to a core each' : 'not pinned to cores'}`,
  ['fastify', '@fastify/etag', store === 'sqlite' ? 'libsql' : 'pg', 'kysely'],
)

function addressOf(folder: string): string {
  return pathToFileURL(`${resolve(folder)}/index.js`).href
}

async function run(work: string): Promise<void> {
  const requests = REQUESTS[work]
  if (!requests) throw new TypeError(`There is no work ${work}`)
  const script = join(directory, `${work}.lua`)
  writeFileSync(script, scriptOf(requests))
  const servers: Server[] = []
  for (const { name, file, build } of contestants) {
    const database = await databases.fresh()
    const started = await child('serve.js', [file, 'W1'], 0, { DATABASE: database, BUILD: build })
    servers.push({ ...started, name, database })
  }
  for (const server of servers) await load(server, script, 32, '1')
  for (const count of connections) {
    const found = new Map<string, Round[]>(servers.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      // Backwards every second time, so that nobody always follows the same one.
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        found.get(server.name)?.push(await load(server, script, count, options.seconds))
      }
    }
    const [reference = []] = found.values()
    for (const [name, all] of found)
      rows.push([work, String(count), ...describe(name, all, reference)])
    process.stderr.write(`${work} ${count}\n`)
  }
  for (const server of servers) server.process.kill()
}

function describe(name: string, all: readonly Round[], reference: readonly Round[]): string[] {
  const middle = (of: (round: Round, at: number) => number) => median(all.map(of))
  const both = ({ node, postgres }: Round) => node + postgres
  const least = (one: readonly Round[]) => Math.min(...one.map(both))
  return [
    name,
    middle(({ rate }) => rate).toFixed(0),
    middle(({ rate }, at) => rate / (reference[at]?.rate ?? Number.NaN)).toFixed(2),
    middle(({ node }) => node).toFixed(0),
    middle(({ postgres }) => postgres).toFixed(0),
    (least(reference) / least(all)).toFixed(2),
    middle(({ p99 }) => p99).toFixed(1),
  ]
}

/** The CPU time of each process of PostgreSQL that serves a database, in microseconds; SQLite has none. */
async function usageOf(database: string): Promise<ReadonlyMap<number, number>> {
  if (store === 'sqlite') return new Map()
  const name = new URL(database).pathname.slice(1)
  const text = 'select pid from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()'
  const found = await ask(database, text, [name])
  const spent = (pid: unknown) => readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]
  return new Map(found.map(({ pid }) => [Number(pid), Number(spent(pid)) / 1000]))
}

/** What processes have spent since; one that was idle for long has ended meanwhile. */
function spentSince(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
): number {
  return [...after].reduce((sum, [pid, spent]) => sum + spent - (before.get(pid) ?? 0), 0)
}

async function load(
  server: Server,
  script: string,
  count: number,
  seconds: string,
): Promise<Round> {
  const usage = async () => {
    const { cpu } = await askProcess<{ cpu: number }>(server.process, 'usage')
    return { node: cpu, postgres: await usageOf(server.database) }
  }
  const before = await usage()
  const url = `http://127.0.0.1:${server.port}`
  const words = ['wrk', '-t1', `-c${count}`, `-d${seconds}s`, '-s', script, url]
  const [program = 'wrk', ...rest] = pinned ? ['taskset', '-c', '1', ...words] : words
  const { stdout } = await promisify(execFile)(program, rest)
  const after = await usage()
  const { answers, microseconds, wrong, p99 } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  if (wrong > 0 || answers === 0) throw new Error(`${server.name}: ${wrong} wrong answers`)
  return {
    node: (after.node - before.node) / answers,
    postgres: spentSince(before.postgres, after.postgres) / answers,
    rate: (answers / microseconds) * 1e6,
    p99: p99 / 1000,
  }
}
