// `npm run bench`: every contestant against a reference, in alternating rounds.
//   -- --full            more rounds, of servers that are warm for longer
//   -- --store=sqlite    ours and Fastify on a database; postgres likewise. Default: memory, where
//                        node:http by hand is the reference
//   -- --only=ours,hono  these contestants beside the reference
//   -- --works=W1,W2     these works
//   -- --build=<folder>  ours as it is there, instead of built anew
// Each server and the load generator are processes of their own, on a core of their own where
// `taskset` exists. The answers are checked before anything is timed.
import type { ChildProcess } from 'node:child_process'
import { parseArgs } from 'node:util'
import { requestsOf } from './asking.ts'
import { openDatabases } from './databases.ts'
import bench from './package.json' with { type: 'json' }
import {
  askProcess,
  CONNECTIONS,
  child,
  pinned,
  prepare,
  type Rounds,
  startLoad,
} from './processes.ts'
import { printSamples, type Sample } from './samples.ts'
import { printSetting } from './tables.ts'
import { type Contestant, type Work, works } from './works.ts'

/** Who takes part; the first is the reference. */
const CONTESTANTS: Readonly<Record<string, readonly string[]>> = {
  memory: [
    'node',
    'node-no-etag',
    'ours',
    'fastify',
    'fastify-same',
    'hono',
    'koa',
    'express',
    'feathers',
    'json-server',
    'constant',
    'constant-ours',
  ],
  sqlite: ['fastify-sqlite', 'ours-sqlite'],
  postgres: ['fastify-postgres', 'ours-postgres'],
}

/** The packages whose versions are printed. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  memory: Object.keys(bench.dependencies),
  sqlite: ['fastify', '@fastify/etag', 'libsql', 'kysely', 'autocannon'],
  postgres: ['fastify', '@fastify/etag', 'pg', 'kysely', 'autocannon'],
}

const { values: options } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    store: { type: 'string', default: 'memory' },
    only: { type: 'string' },
    works: { type: 'string', default: Object.keys(works).join() },
    build: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const rounds = Number(options.rounds ?? (options.full ? 25 : 5))
const seconds = Number(options.seconds ?? 1)
const { store } = options
const all = CONTESTANTS[store]
if (!all) throw new TypeError(`There is no store ${store}`)
const only = options.only?.split(',') ?? all
const files = all.filter((file, at) => at === 0 || only.includes(file))

prepare(options.build)
const databases =
  store === 'sqlite' || store === 'postgres' ? await openDatabases(store) : undefined
// PostgreSQL needs the second core too.
const load = await startLoad(pinned && store !== 'postgres')
const samples: Sample[] = []
try {
  for (const title of options.works.split(',')) {
    const work = works[title]
    if (!work) throw new TypeError(`There is no work ${title}`)
    samples.push(...(await run(title, work)))
  }
} finally {
  load.end()
  await databases?.close()
}
printSamples(samples, samples[0]?.name ?? '')
printSetting(
  `${rounds} rounds of ${seconds} s, ${CONNECTIONS} connections, no pipelining, ${databases?.title ?? 'items in memory'},
server and load generator ${pinned ? 'pinned to a core each' : 'not pinned to cores'}`,
  PACKAGES[store] ?? [],
)

interface Server extends Rounds {
  readonly process: ChildProcess
}

async function run(title: string, work: Work): Promise<Sample[]> {
  const servers: Server[] = []
  for (const file of files) {
    const contestant: Contestant = await import(`./contestants/${file}.js`)
    if (contestant.works && !contestant.works.includes(title)) continue
    servers.push(await started(file, contestant, title, work))
  }
  for (const server of servers) await warmUp(server)
  const found: Sample[] = []
  for (let round = 0; round < rounds; round++) {
    // Backwards every second time, so that nobody always follows the same one.
    const order = round % 2 === 0 ? servers : servers.toReversed()
    for (const server of order) {
      const { rate, cpu } = await load.round(server, seconds)
      found.push({ work: title, title: work.title, round, name: server.name, rate, cpu })
    }
    process.stderr.write('.')
  }
  for (const server of servers) {
    const { memory } = await askProcess<{ memory: number }>(server.process, 'collect')
    for (const sample of found) if (sample.name === server.name) sample.memory = memory
    server.process.kill()
  }
  process.stderr.write(` ${title}\n`)
  return found
}

async function started(
  file: string,
  contestant: Contestant,
  title: string,
  work: Work,
): Promise<Server> {
  const env = databases && { DATABASE: await databases.fresh() }
  const { process: server, port } = await child('serve.js', [file, title], 0, env)
  const requests = await requestsOf(title, work, contestant, port)
  return { name: contestant.name, process: server, port, requests, status: work.status }
}

/** Until the code is compiled: so long, and so many requests, but no slow contestant for ever. */
async function warmUp(server: Rounds): Promise<void> {
  const [least, most, enough] = options.full ? [5, 30, 50_000] : [0.8, 4, 20_000]
  let answers = 0
  for (let time = 0; time < most && (time < least || answers < enough); time += least) {
    const { rate } = await load.round(server, least)
    answers += rate * least
  }
}
