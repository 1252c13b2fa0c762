// Three formats against what they are made of:
//   an XML list against the same JSON list, no text kept of either     at least 1.0
//   an upload as multipart/form-data against busboy alone              at least 0.9, and its memory
//   the NDJSON export of a table against reading its rows alone        at least 0.8
//   npx tsx bench/formats.ts [--rounds=7] [--seconds=1] [--size=256 (MiB)] [--rows=200000]
//     [--only=lists,uploads,export] [--build=<folder>]
// Alternating rounds; a ratio is the median of the rounds' own.
import { get } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openKysely } from './databases.ts'
import { inDirectory, type Watched, watched } from './memory.ts'
import { prepare, type Rounds, startLoad } from './processes.ts'
import { fill } from './rows.ts'
import { median, printSetting, printSize, printSpread, printTable } from './tables.ts'
import { MIB, upload } from './uploads.ts'
import { works } from './works.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    size: { type: 'string', default: '256' },
    rows: { type: 'string', default: '200000' },
    only: { type: 'string', default: 'lists,uploads,export' },
    build: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const only = options.only.split(',')
const SERVER = 'formats-server.ts'

/** One round: how much was done in a second of time, and in a second of the server's CPU time. */
interface Speed {
  readonly rate: number
  readonly byCpu: number
}

/** Two that do the same, round about; the second is the reference. */
interface Duel {
  readonly title: string
  readonly goal: string
  readonly unit: string
  readonly sides: readonly [() => Promise<Speed>, () => Promise<Speed>]
}

prepare(options.build)
const results: string[][] = []
const memory: string[][] = []
if (only.includes('lists')) await lists()
if (only.includes('uploads')) {
  await inDirectory(folder => uploads('into files', folder))
  await uploads('kept nowhere', '')
}
if (only.includes('export')) await inDirectory(exports)

printTable(
  'Each round against the same round of the reference: median (quartiles)',
  ['what', 'goal', 'by CPU time', 'by time', 'median', 'reference', 'unit'],
  results,
)
if (memory.length > 0) {
  const columns = ['upload', 'ours, most MB above idle', 'busboy']
  printTable(`The memory of an upload of ${options.size} MiB`, columns, memory)
}
printSetting(`${rounds} rounds`, ['busboy', 'libsql', 'kysely', 'autocannon'])

async function run({ title, goal, unit, sides }: Duel): Promise<void> {
  // Once for the code to be compiled.
  for (const side of sides) await side()
  const found: [Speed, Speed][] = []
  for (let round = 0; round < rounds; round++) {
    const [ours, reference] = sides
    // Backwards every second time, so that nobody always follows the same one.
    if (round % 2 === 0) found.push([await ours(), await reference()])
    else found.push(swapped([await reference(), await ours()]))
    process.stderr.write('.')
  }
  process.stderr.write(` ${title}\n`)
  results.push([
    title,
    goal,
    printSpread(found.map(([ours, reference]) => ours.byCpu / reference.byCpu)),
    printSpread(found.map(([ours, reference]) => ours.rate / reference.rate)),
    median(found.map(([ours]) => ours.rate)).toFixed(0),
    median(found.map(([, reference]) => reference.rate)).toFixed(0),
    unit,
  ])
}

function swapped<T>([one, other]: [T, T]): [T, T] {
  return [other, one]
}

/** What some work did in a second, of time and of the server's CPU time. */
async function timed(server: Watched, amount: number, work: () => Promise<unknown>) {
  const before = await server.ask<{ cpu: number }>('usage')
  const start = performance.now()
  await work()
  const took = (performance.now() - start) / 1000
  const after = await server.ask<{ cpu: number }>('usage')
  return { rate: amount / took, byCpu: (amount * 1e6) / (after.cpu - before.cpu) }
}

async function lists(): Promise<void> {
  const server = await watched(SERVER, ['lists'], 0)
  const load = await startLoad()
  const pages = (await works.W2?.requests({ name: '' }, () => Promise.reject())) ?? []
  for (const limit of [25, 100]) {
    const side = (accept: string) => async (): Promise<Speed> => {
      const requests = pages.map(({ method, path }) => ({
        method,
        path: path.replace('limit=25', `limit=${limit}`),
        headers: { Accept: accept },
      }))
      const rounds: Rounds = { name: accept, ...server, requests, status: 200 }
      const { rate, cpu } = await load.round(rounds, seconds)
      return { rate, byCpu: 1e6 / cpu }
    }
    await run({
      title: `XML list of ${limit} ÷ JSON list`,
      goal: '1.0',
      unit: 'lists/s',
      sides: [side('application/xml'), side('application/json')],
    })
  }
  load.end()
  server.process.kill()
}

async function uploads(how: string, folder: string): Promise<void> {
  const size = Number(options.size)
  const ours = await watched(SERVER, ['ours', folder], 0)
  const busboy = await watched(SERVER, ['busboy', folder], 0)
  const most = new Map([ours, busboy].map(server => [server, 0]))
  const side = (server: Watched) => async (): Promise<Speed> => {
    const { most: above, result } = await server.watch(() =>
      timed(server, size, () => upload(server.port, size * MIB)),
    )
    most.set(server, Math.max(most.get(server) ?? 0, above))
    return result
  }
  await run({
    title: `multipart upload of ${size} MiB, ${how} ÷ busboy alone`,
    goal: '0.9',
    unit: 'MiB/s',
    sides: [side(ours), side(busboy)],
  })
  memory.push([how, ...[ours, busboy].map(server => printSize(most.get(server) ?? 0))])
  for (const { process } of [ours, busboy]) process.kill()
}

async function exports(folder: string): Promise<void> {
  const rows = Number(options.rows)
  const file = join(folder, 'cars.db')
  const server = await watched(SERVER, ['rows', file], 0)
  const db = await openKysely('sqlite', file)
  await fill('sqlite', db, 1, rows)
  await db.destroy()
  const read = async (count: () => Promise<number>) => {
    const found = await count()
    if (found !== rows) throw new Error(`${found} rows instead of ${rows}`)
  }
  const ndjson = () =>
    timed(server, rows, () => read(() => linesOf(`http://127.0.0.1:${server.port}/cars.ndjson`)))
  for (const [alone, question] of [
    ['by the driver', 'driver'],
    ['by the store', 'store'],
  ] as const) {
    const counted = async () => (await server.ask<{ rows: number }>(question)).rows
    await run({
      title: `NDJSON export of ${rows} rows ÷ reading them ${alone} alone`,
      goal: '0.8',
      unit: 'rows/s',
      sides: [ndjson, () => timed(server, rows, () => read(counted))],
    })
  }
  server.process.kill()
}

function linesOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, async response => {
      let lines = 0
      for await (const chunk of response) {
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
      }
      resolve(lines)
    }).once('error', reject)
  })
}
