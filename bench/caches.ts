// What a stranger can grow: the heap after many requests of which no two are alike in one respect.
//   npx tsx bench/caches.ts [--requests=100000] [--stores=sqlite (and memory)] [--kinds=accept,…]
//     [--build=<folder>]
// Compared after garbage was collected: once the first thousands were answered, and at the end. What
// is remembered within a limit does not show.
import { Agent, createServer, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { openKysely } from './databases.ts'
import { inDirectory, type Watched, watched } from './memory.ts'
import { CONNECTIONS, prepare, published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

/** A request by its number; `GET /cars/1` where nothing else is said. */
interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly localAddress?: string
}

const JSON_TYPE = { 'content-type': 'application/json' }
/** A body that is refused: what is stored is no cache. */
const REFUSED = { method: 'POST', path: '/cars', body: '{"color":1}' }

const KINDS: Readonly<Record<string, (at: number) => Ask>> = {
  // The same each time: what all others are to be compared with.
  nothing: () => ({}),
  accept: at => ({ headers: { accept: `application/x-${at}, application/json` } }),
  'accept-parameter': at => ({ headers: { accept: `application/json;level=${at}` } }),
  'content-type': at => ({ ...REFUSED, headers: { 'content-type': `application/x-${at}` } }),
  prefer: at => ({ headers: { prefer: `return=minimal; a=${at}` } }),
  'if-none-match': at => ({ headers: { 'if-none-match': `"${at}"` } }),
  'if-modified-since': at => ({
    headers: { 'if-modified-since': new Date(at * 1e6).toUTCString() },
  }),
  range: at => ({ path: '/cars', headers: { range: `cars=${at}-${at}` } }),
  host: at => ({ headers: { host: `host-${at}.example` } }),
  'x-forwarded-for': at => ({ headers: { 'x-forwarded-for': addressOf(at) } }),
  origin: at => ({ headers: { origin: `https://${at}.example` } }),
  authorization: at => ({ headers: { authorization: basicOf(at) } }),
  'idempotency-key': at => ({
    ...REFUSED,
    headers: { ...JSON_TYPE, 'idempotency-key': `key-${at}` },
  }),
  path: at => ({ path: `/${at}` }),
  id: at => ({ path: `/cars/${1000 + at}` }),
  'filter-value': at => ({ path: `/cars?price[gt]=${at}&limit=1` }),
  'filter-set': at => ({ path: `/cars?limit=1&${filtersOf(at)}` }),
  search: at => ({ path: `/cars/search?q=${at}` }),
  fields: at => ({ path: `/cars?fields=f${at}` }),
  sort: at => ({ path: `/cars?sort=f${at}` }),
  offset: at => ({ path: `/cars?offset=${at}&limit=1` }),
  parameter: at => ({ path: `/cars?p${at}=1` }),
  member: at => ({ ...REFUSED, headers: JSON_TYPE, body: `{"m${at}":1}` }),
  address: at => ({ localAddress: addressOf(at) }),
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '100000' },
    stores: { type: 'string', default: 'sqlite' },
    kinds: { type: 'string', default: Object.keys(KINDS).join() },
    build: { type: 'string' },
  },
})
const requests = Number(options.requests)
const FIRST = 5000
const kinds = options.kinds.split(',')
const [store, file = ''] = positionals

if (process.send && store !== undefined) await serve()
else await inDirectory(measure)

async function serve(): Promise<void> {
  const { basic, defineApi, defineCollection, memoryStore, sqlStore } = await published()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string(), price: z.number() }),
    store:
      store === 'sqlite'
        ? sqlStore({ db: await openKysely('sqlite', file), create: true })
        : memoryStore(),
    id: 'integer',
    indexes: ['color'],
    search: ['color'],
    access: { default: 'public' },
  })
  const { create } = defineApi({ collections: [cars] }).collection('cars')
  for (let at = 0; at < 100; at++) await create({ color: 'red', price: at })
  const api = defineApi({
    collections: [cars],
    cors: { origins: '*' },
    rateLimit: { policies: [{ limit: 1_000_000_000, window: 3600 }] },
    schemes: [basic({ verify: () => undefined })],
  })
  await answerQuestions(createServer(api.handler).listen(0, '127.0.0.1'), { heap })
}

/** Bytes in use once all garbage is collected. */
function heap(): number {
  // What the first leaves for finalizers the second takes.
  for (let times = 0; times < 2; times++) global.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function measure(directory: string): Promise<void> {
  prepare(options.build)
  const stores = options.stores.split(',')
  const rows = new Map(kinds.map(kind => [kind, [kind]]))
  for (const name of stores) {
    const server = await watched(
      fileURLToPath(import.meta.url),
      [name, join(directory, 'cars.db')],
      0,
    )
    for (const [kind, cells] of rows) cells.push(...(await grown(server, kind)))
    server.process.kill()
    process.stderr.write(` ${name}\n`)
  }
  printTable(
    `The heap after ${requests} more requests`,
    [
      'different in each',
      ...stores.flatMap(name => [`${name}: answers`, 'grown, kB', 'bytes a request']),
    ],
    [...rows.values()],
  )
  printSetting(`beyond the first ${FIRST} of each kind`, ['kysely', 'libsql'])
}

/** The statuses, and how much the heap has grown by requests of a kind. */
async function grown(server: Watched, kind: string): Promise<string[]> {
  const of = KINDS[kind]
  if (!of) throw new TypeError(`There is no kind ${kind}`)
  await askAll(server.port, 0, FIRST, of)
  const before = await server.ask<number>('heap')
  const statuses = await askAll(server.port, FIRST, FIRST + requests, of)
  const growth = (await server.ask<number>('heap')) - before
  process.stderr.write('.')
  return [statuses, (growth / 1e3).toFixed(0), (growth / requests).toFixed(1)]
}

/** @returns every status that was answered. @throws where a connection breaks. */
async function askAll(
  port: number,
  from: number,
  to: number,
  of: (at: number) => Ask,
): Promise<string> {
  const most = { maxSockets: CONNECTIONS, maxTotalSockets: CONNECTIONS }
  const agent = new Agent({ keepAlive: true, ...most })
  const statuses = new Set<number | undefined>()
  const ask = ({ path = '/cars/1', headers, body, ...others }: Ask) =>
    new Promise<void>((resolve, reject) => {
      const all = { accept: 'application/json', ...headers }
      httpRequest({ agent, port, host: '127.0.0.1', path, headers: all, ...others })
        .once('error', reject)
        .once('response', response => {
          statuses.add(response.statusCode)
          response.resume().once('end', resolve)
        })
        .end(body)
    })
  let next = from
  const askInTurn = async () => {
    while (next < to) await ask(of(next++))
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, askInTurn))
  agent.destroy()
  return [...statuses].join(' ')
}

/** One of the addresses of this machine: Linux answers for all of 127.0.0.0/8. */
function addressOf(at: number): string {
  return `127.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`
}

function basicOf(at: number): string {
  return `Basic ${Buffer.from(`user-${at}:secret`).toString('base64')}`
}

/** Another choice of filters for each number, over and over the same fields. */
function filtersOf(at: number): string {
  const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte']
  return ['id', 'price']
    .flatMap((field, row) =>
      operators.map((operator, column) =>
        (at >> (row * operators.length + column)) & 1 ? `${field}[${operator}]=${at}` : '',
      ),
    )
    .filter(filter => filter !== '')
    .join('&')
}
