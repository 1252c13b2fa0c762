// `npm run bench`: every contestant against node:http by hand, in alternating rounds.
//   -- --full            long rounds, and more of them
//   -- --only=ours,hono  these contestants beside node
//   -- --works=W1,W2     these works
//   -- --build=<folder>  ours as it is there, instead of built anew
// Each server and the load generator are processes of their own, on a core of their own where
// `taskset` exists. The answers are checked before anything is timed.
import { type ChildProcess, execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { printTables, type Sample } from './tables.ts'
import { type Answer, type Contestant, type Request, type Work, works } from './works.ts'

const FILES = [
  'node',
  'ours',
  'fastify',
  'hono',
  'koa',
  'express',
  'feathers',
  'json-server',
  'constant',
]
const CONNECTIONS = 32

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const { values: options } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    only: { type: 'string', default: FILES.join() },
    works: { type: 'string', default: Object.keys(works).join() },
    build: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const rounds = Number(options.rounds ?? (options.full ? 25 : 5))
const seconds = Number(options.seconds ?? (options.full ? 2 : 0.4))
const build = options.build ?? here('../node_modules/.bench')
const only = options.only.split(',')
const files = FILES.filter(file => file === 'node' || only.includes(file))
const hasTaskset = spawnSync('taskset', ['-c', '0', 'true']).status === 0 && cpus().length > 1

prepare()
const { process: load } = await child('load.js', [], 1)
const samples: Sample[] = []
for (const work of options.works.split(',')) {
  const known = works[work]
  if (!known) throw new TypeError(`There is no work ${work}`)
  samples.push(...(await run(work, known)))
}
load.kill()
printTables(samples, { rounds, seconds, connections: CONNECTIONS, pinned: hasTaskset })

/** The contestants' packages, and ours as it is published. */
function prepare(): void {
  if (!existsSync(here('node_modules'))) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here('.'), stdio: 'inherit' })
  }
  if (options.build !== undefined) return
  const tsc = here('../node_modules/.bin/tsc')
  const config = here('../tsconfig.build.json')
  const args = ['-p', config, '--declaration', 'false', '--outDir', build]
  execFileSync(tsc, args, { stdio: 'inherit' })
}

/** A process that has said that it is ready, and what it said. */
async function child(file: string, args: string[], core: number) {
  const started = fork(here(file), args, {
    execArgv: ['--expose-gc'],
    env: { ...process.env, NODE_ENV: 'production', BUILD: `${resolve(build)}/index.js` },
  })
  if (hasTaskset) execFileSync('taskset', ['-acp', String(core), String(started.pid)])
  const [{ port }] = await once(started, 'message')
  return { process: started, port: Number(port) }
}

/** Sends a question to a process and awaits its answer. */
async function asked<T>(process: ChildProcess, question: unknown): Promise<T> {
  const answer = once(process, 'message')
  process.send(Object(question) === question ? Object(question) : String(question))
  // The two scripts answer each question with what the caller asked for.
  return (await answer)[0] as T
}

interface Server {
  readonly contestant: Contestant
  readonly process: ChildProcess
  readonly port: number
  readonly requests: readonly Request[]
}

async function run(title: string, work: Work): Promise<Sample[]> {
  const servers: Server[] = []
  for (const file of files) {
    const contestant: Contestant = await import(`./contestants/${file}.js`)
    if (contestant.works && !contestant.works.includes(title)) continue
    servers.push(await started(file, contestant, title, work))
  }
  for (const server of servers) await warmUp(server, work)
  const found: Sample[] = []
  for (let round = 0; round < rounds; round++) {
    // Backwards every second time, so that nobody always follows the same one.
    const order = round % 2 === 0 ? servers : servers.toReversed()
    for (const server of order) {
      const { rate, cpu } = await measured(server, work)
      found.push({ work: title, title: work.title, round, name: server.contestant.name, rate, cpu })
    }
    process.stderr.write('.')
  }
  for (const server of servers) {
    const { memory } = await asked<{ memory: number }>(server.process, 'collect')
    for (const sample of found) if (sample.name === server.contestant.name) sample.memory = memory
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
  const { process: server, port } = await child('serve.js', [file, title], 0)
  const ask = (request: Request) => asking(port, request)
  const bare = await work.requests(contestant.constant ? { name: '' } : contestant, ask)
  // As every client that is no test sends one.
  const requests = bare.map(request => ({
    ...request,
    headers: { Accept: 'application/json', ...request.headers },
  }))
  for (const request of requests) {
    const answer = await ask(request)
    if (answer.status !== work.status) {
      throw new Error(`${contestant.name}: ${title} ${request.path} gave ${answer.status}`)
    }
    if (!contestant.constant) work.check(contestant, request, answer)
  }
  return { contestant, process: server, port, requests }
}

/** Not by `fetch`: it adds a `Cache-Control` to conditional requests, and Express then answers 200. */
async function asking(port: number, { body: sent, ...options }: Request): Promise<Answer> {
  const request = httpRequest({ port, host: '127.0.0.1', ...options }).end(sent)
  const [response] = await once(request, 'response')
  const text = (await response.toArray()).join('')
  const body: unknown = text === '' ? undefined : JSON.parse(text)
  return { status: response.statusCode, headers: new Headers(response.headers), body }
}

/** Until the code is compiled: so long, and so many requests, but no slow contestant for ever. */
async function warmUp(server: Server, work: Work): Promise<void> {
  const [least, most, enough] = options.full ? [5, 30, 50_000] : [0.8, 2.4, 8000]
  let answers = 0
  for (let time = 0; time < most && (time < least || answers < enough); time += least) {
    const { rate } = await measured(server, work, least)
    answers += rate * least
  }
}

/** What the load generator tells of a round. */
interface Round {
  readonly seconds: number
  readonly answers: number
  /** How many answers had another status. */
  readonly wrong: Record<string, { count: number }>
}

/** One round: answers a second, and what each cost the server in CPU time (µs). */
async function measured(
  { contestant, process: server, port, requests }: Server,
  { status }: Work,
  duration = seconds,
): Promise<{ rate: number; cpu: number }> {
  const before = await asked<{ cpu: number }>(server, 'usage')
  const message = { port, requests, connections: CONNECTIONS, duration, status }
  const { seconds: took, answers, wrong } = await asked<Round>(load, message)
  const after = await asked<{ cpu: number }>(server, 'usage')
  if (Object.keys(wrong).length > 0 || answers === 0) {
    throw new Error(`${contestant.name}: other answers under load: ${JSON.stringify(wrong)}`)
  }
  return { rate: answers / took, cpu: (after.cpu - before.cpu) / answers }
}
