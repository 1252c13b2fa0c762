// Asks two builds the same random questions, in one process, and prints where their answers differ.
//   npx tsx bench/compare-builds.ts <before> <after> [--requests=100000] [--seed=1] [--show=3]
//     [--apis=open,guarded,versioned]
// Each build is the folder of a checkout with its packages. Compared are the status, the headers, the items,
// and of errors `code`, `field` and `type`; compare/answers.ts says what is not. Ends with 1 if any differ.
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type Answer, type Comparable, differencesOf, toComparable } from './compare/answers.ts'
import { APIS, type Build, type Served } from './compare/apis.ts'
import { makeQuestion, type Question, randomFrom } from './compare/requests.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    show: { type: 'string', default: '3' },
    apis: { type: 'string', default: Object.keys(APIS).join() },
  },
})
const [before, after] = positionals
if (before === undefined || after === undefined) throw new TypeError('Which two builds?')

/** New stores after so many questions: they stay small, and every seed has a fresh start. */
const QUESTIONS_OF_A_STORE = 1500
const FIRST_CREATES = 80

/** One clock for both builds: it stands still while a question is answered. */
let now = Date.UTC(2026, 5, 1)
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...given: readonly unknown[]) {
    // What `new Date` takes is handed on as it is.
    super(...((given.length === 0 ? [now] : given) as [number]))
  }
  static override now() {
    return now
  }
} as DateConstructor

performance.now = () => now - Date.UTC(2026, 5, 1)

/** One build that serves one api, and what its own words stand for. */
class Side {
  readonly uuids: string[] = []
  readonly tags = new Map<string, string>()
  links: Readonly<Record<string, string>> = {}
  readonly api: Served
  readonly server: Server
  constructor(build: Build, api: string) {
    const make = APIS[api]
    if (!make) throw new TypeError(`There is no api ${api}`)
    this.api = make(build)
    this.server = createServer(this.api.handler).listen(0, '127.0.0.1')
  }

  async ask({ method, target, headers, body, handler }: Question): Promise<Comparable | undefined> {
    const own = this.inOwnWords(target, target)
    if (own === undefined) return undefined
    const given: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      given[name] = this.inOwnWords(value, own) ?? value
    }
    const url = `http://cars.test${own}`
    const sent = body === undefined ? undefined : Buffer.from(body)
    const answer =
      handler === 'fetch' && isForFetch(url, method)
        ? await askFetch(this.api, url, method, given, sent)
        : await askNode(this.server, own, method, given, sent)
    this.learn(own, answer)
    return toComparable(method, answer, uuid => this.placeOf(uuid))
  }

  /** @returns `undefined` for a link that the last page did not have. */
  private inOwnWords(text: string, target: string): string | undefined {
    const [, relation] = /^\{link:(\w+)\}$/.exec(text) ?? []
    if (relation !== undefined) return this.links[relation]
    return text
      .replace(/\{uuid:(\d+)\}/g, (_all, place) => this.uuids[Number(place) - 1] ?? 'no-uuid')
      .replaceAll('{tag}', this.tags.get(pathOf(target)) ?? '"unknown"')
  }

  private placeOf(uuid: string): string {
    if (!this.uuids.includes(uuid)) this.uuids.push(uuid)
    return `<uuid ${this.uuids.indexOf(uuid)}>`.padEnd(36)
  }

  private learn(target: string, { headers }: Answer): void {
    for (const [name, value] of headers) {
      if (name === 'etag') this.tags.set(pathOf(target), value)
      if (name !== 'link') continue
      this.links = Object.fromEntries(
        [...value.matchAll(/<https?:\/\/[^/>]+([^>]*)>; rel="(\w+)"/g)].map(([, url, rel]) => [
          rel,
          url,
        ]),
      )
    }
  }

  async close(): Promise<void> {
    this.server.close()
    this.server.closeAllConnections()
    await this.api.close()
  }
}

function pathOf(target: string): string {
  return target.split('?')[0]?.replace(/\.\w+$/, '') ?? ''
}

/** A `Request` changes or refuses what a socket brings as it is. */
function isForFetch(url: string, method: string): boolean {
  return method !== 'TRACE' && URL.canParse(url) && new URL(url).href === url
}

async function askFetch(
  api: Served,
  url: string,
  method: string,
  headers: Record<string, string>,
  body: Buffer | undefined,
): Promise<Answer> {
  const init: RequestInit = { method, headers }
  if (body) init.body = new Uint8Array(body)
  const response = await api.fetch(new Request(url, init))
  return {
    status: response.status,
    headers: [...response.headers],
    body: Buffer.from(await response.arrayBuffer()),
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

async function askNode(
  server: Server,
  path: string,
  method: string,
  headers: Record<string, string>,
  body: Buffer | undefined,
): Promise<Answer> {
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  const length = body ? { 'Content-Length': String(body.length) } : {}
  const sent = httpRequest({
    agent,
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { Host: 'cars.test', ...headers, ...length },
  }).end(body)
  const [response] = await once(sent, 'response')
  const { rawHeaders, statusCode } = response
  const names = rawHeaders.filter((_text: string, at: number) => at % 2 === 0)
  const found = names.map((name: string, at: number) => [
    name.toLowerCase(),
    rawHeaders[2 * at + 1],
  ])
  return { status: statusCode, headers: found, body: Buffer.concat(await response.toArray()) }
}

async function load(root: string): Promise<Build> {
  const main = pathToFileURL(join(resolve(root), 'src', 'index.ts')).href
  const zod = createRequire(join(resolve(root), 'package.json')).resolve('zod')
  return {
    library: await import(main),
    dialects: await import(new URL('dialects/dialects.ts', main).href),
    z: (await import(pathToFileURL(zod).href)).z,
  }
}

interface Found {
  count: number
  readonly examples: string[]
}

const builds = [await load(before), await load(after)] as const
const found = new Map<string, Found>()
const statuses = new Map<number, number>()
const show = Number(options.show)
const apis = options.apis.split(',')
const requests = Number(options.requests)
let answered = 0
let different = 0

for (let round = 0; answered < requests; round++) {
  const random = randomFrom(Number(options.seed) * 100_003 + round)
  const api = apis[round % apis.length] ?? ''
  const [one, other] = [new Side(builds[0], api), new Side(builds[1], api)]
  await Promise.all([one, other].map(({ server }) => once(server, 'listening')))
  let question: Question | undefined
  for (let at = 0; at < QUESTIONS_OF_A_STORE && answered < requests; at++) {
    // Some come twice: with an idempotency key the second is the first answer again.
    question =
      question && random() < 0.06 ? question : makeQuestion(random, api, at < FIRST_CREATES)
    now += question.pause
    const [was, is] = [await one.ask(question), await other.ask(question)]
    if (!was || !is) {
      if (was || is) note(question, ['a link that only one of them gave'])
      continue
    }
    answered++
    statuses.set(was.status, (statuses.get(was.status) ?? 0) + 1)
    const differences = differencesOf(was, is)
    if (differences.length > 0) note(question, [...differences, `store ${round}, request ${at}`])
  }
  await Promise.all([one.close(), other.close()])
  process.stderr.write('.')
}

function note(question: Question, differences: readonly string[]): void {
  different++
  // The same kind: the method, and what differs, without the values of headers and bodies.
  const kind = `${question.method} ${differences
    .filter(each => !each.startsWith('store '))
    .map(each => (each.startsWith('status') ? each : each.split(': ')[0]))
    .join(', ')}`
  const known = found.get(kind) ?? { count: 0, examples: [] }
  known.count++
  if (known.examples.length < show) {
    known.examples.push(`${JSON.stringify(question)}\n      ${differences.join('\n      ')}`)
  }
  found.set(kind, known)
}

console.log(`\n${answered} requests, ${different} answered differently`)
console.log(
  [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', '),
)
for (const [kind, { count, examples }] of [...found].sort(([, a], [, b]) => b.count - a.count)) {
  console.log(`\n${count} × ${kind}\n    ${examples.join('\n    ')}`)
}
process.exit(different > 0 ? 1 : 0)
