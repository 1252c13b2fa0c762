// The files and functions of ours that one warm request of each kind passes, counted by V8.
//   npm run bench:path -- [--list=GET,PATCH (their names too)] [--build=<folder of a file for each module>]
// To open are the files of `server/` and `operations/`: the others are rules and models whose names say what they do.
// Nothing fails where more are opened.
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { type Profiler, Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { compileModules, prepare } from './processes.ts'
import { printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: { list: { type: 'string', default: '' }, build: { type: 'string' } },
})
const listed = options.list.split(',')

interface Kind {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string
  readonly status: number
  /** At most so many files of `server/` and `operations/`. */
  readonly most?: number
}

const JSON_TYPE = 'application/json'
const PHOTO = [
  '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nMine\r\n',
  '--b\r\nContent-Disposition: form-data; name="photo"; filename="a.txt"\r\n',
  'Content-Type: text/plain\r\n\r\nhello\r\n--b--\r\n',
].join('')

const STEPS = [
  { method: 'POST', path: '/cars', body: { color: 'red', price: 1 } },
  { method: 'PATCH', path: '/cars/7', body: { color: 'blue' } },
]

const KINDS: readonly Kind[] = [
  { name: 'GET', method: 'GET', path: '/cars/7', status: 200, most: 13 },
  { name: 'list', method: 'GET', path: '/cars?color=red', status: 200, most: 15 },
  {
    ...{ name: 'PATCH', method: 'PATCH', path: '/cars/7', status: 303, most: 20 },
    ...{ type: JSON_TYPE, body: '{"color":"blue"}' },
  },
  {
    ...{ name: 'multipart', method: 'POST', path: '/photos', status: 201, most: 24 },
    ...{ type: 'multipart/form-data; boundary=b', body: PHOTO },
  },
  {
    ...{ name: 'create', method: 'POST', path: '/cars', status: 201 },
    ...{ type: JSON_TYPE, body: '{"color":"red","price":1}' },
  },
  {
    ...{ name: 'batch', method: 'POST', path: '/batch', status: 200, most: 26 },
    ...{ type: JSON_TYPE, body: JSON.stringify(STEPS) },
  },
]

/** Until nothing is done for the first time any more. */
const WARM = 200

prepare(options.build ?? compileModules())
const { BUILD = '' } = process.env
// What is built has the types of its source.
const ours = (await import(BUILD)) as typeof import('../src/index.ts')
const cars = ours.defineCollection({
  name: 'cars',
  schema: z.object({ color: z.string(), price: z.number() }),
  store: ours.memoryStore(),
  id: 'integer',
  indexes: ['color'],
})
const photos = ours.defineCollection({
  name: 'photos',
  schema: z.object({ title: z.string(), photo: ours.blob() }),
  store: ours.memoryStore(),
  blobs: ours.memoryBlobs(),
})
const rateLimit = { policies: [{ limit: 1_000_000_000, window: 3600 }] }
const api = ours.defineApi({ collections: [cars, photos], batch: true, rateLimit })
for (let at = 0; at < 100; at++) await api.collection(cars).create({ color: 'red', price: at })
const server = createServer(api.handler).listen(0, '127.0.0.1')
await once(server, 'listening')
// A server that listens on a port has an address with a port.
const { port } = server.address() as AddressInfo

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const rows: string[][] = []
const names: string[] = []
for (const kind of KINDS) {
  for (let at = 0; at < WARM; at++) await ask(kind)
  await session.post('Profiler.takePreciseCoverage')
  await ask(kind)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const passed = passedIn(result)
  const functions = passed.flatMap(({ functions }) => functions)
  const calls = functions.reduce((sum, { count }) => sum + count, 0)
  const toOpen = passed.filter(({ file }) => /^(?:server|operations)\//.test(file))
  rows.push([
    kind.name,
    `${toOpen.length}`,
    `${kind.most ?? '–'}`,
    `${passed.length}`,
    `${functions.length}`,
    `${calls}`,
  ])
  if (!listed.includes(kind.name)) continue
  names.push(`\n${kind.name}`)
  for (const { file, functions } of passed) {
    names.push(
      `  ${file}: ${functions.map(({ name, count }) => name + (count > 1 ? ` × ${count}` : '')).join(', ')}`,
    )
  }
}
printTable(
  'One warm request of each kind',
  ['kind', 'to open', 'at most', 'all files', 'functions', 'calls'],
  rows,
)
if (names.length > 0) console.log(names.join('\n'))
process.exit()

async function ask({ name, method, path, type, body, status }: Kind): Promise<void> {
  const headers = { Accept: JSON_TYPE, ...(type && { 'Content-Type': type }) }
  const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers }).end(body)
  const [response] = await once(sent, 'response')
  const text = (await response.toArray()).join('')
  if (response.statusCode !== status) throw new Error(`${name}: ${response.statusCode} ${text}`)
}

interface Passed {
  readonly file: string
  readonly functions: readonly { readonly name: string; readonly count: number }[]
}

function passedIn(scripts: readonly Profiler.ScriptCoverage[]): Passed[] {
  // V8 names a file where it is, not by a link to it.
  const root = pathToFileURL(realpathSync(fileURLToPath(new URL('.', BUILD)))).href
  return scripts
    .filter(({ url }) => url.startsWith(root))
    .map(({ url, functions }) => ({
      file: url.slice(root.length + 1),
      functions: functions
        .map(({ functionName, ranges }) => ({
          name: functionName || '(anonymous)',
          count: ranges[0]?.count ?? 0,
        }))
        .filter(({ count }) => count > 0),
    }))
    .filter(({ functions }) => functions.length > 0)
    .sort((one, other) => one.file.localeCompare(other.file))
}
