// Throughput against the number of processes that share one PostgreSQL and one port (node:cluster).
//   npx tsx bench/cluster.ts [--processes=4] [--works=W1,W2,W4] [--rounds=5] [--seconds=2]
//     [--build=<folder>]
// Where there are fewer cores than processes, the database and the load generator, they share them.
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { requestsOf } from './asking.ts'
import { openDatabases } from './databases.ts'
import { CONNECTIONS, prepare, startLoad } from './processes.ts'
import { median, printSetting, printTable } from './tables.ts'
import { type Contestant, works } from './works.ts'

const { values: options } = parseArgs({
  options: {
    processes: { type: 'string', default: '4' },
    works: { type: 'string', default: 'W1,W2,W4' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    build: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const titles = options.works.split(',')
const FILE = 'ours-postgres'

prepare(options.build)
const contestant: Contestant = await import(`./contestants/${FILE}.js`)
const databases = await openDatabases('postgres')
const load = await startLoad()
const found: number[][] = []
try {
  for (let processes = 1; processes <= Number(options.processes); processes++) {
    found.push(await measure(processes))
    process.stderr.write('.')
  }
} finally {
  load.end()
  await databases.close()
}
process.stderr.write('\n')
printTable(
  'Answers a second by the number of processes, and times what one gives',
  ['processes', ...titles.flatMap(title => [`${title} ${works[title]?.title}`, '×'])],
  found.map((rates, at) => [
    String(at + 1),
    ...rates.flatMap((rate, work) => [
      rate.toFixed(0),
      (rate / (found[0]?.[work] ?? Number.NaN)).toFixed(2),
    ]),
  ]),
)
printSetting(
  `medians of ${rounds} rounds of ${seconds} s, ${CONNECTIONS} connections, ${databases.title}`,
  ['pg', 'kysely', 'autocannon'],
)

/** The rates of all works by so many processes on a database of their own. */
async function measure(processes: number): Promise<number[]> {
  const DATABASE = await databases.fresh()
  const workers: Worker[] = []
  let port = 0
  // One after another: the first puts the cars there.
  while (workers.length < processes) {
    const worker = started(DATABASE)
    const [ready] = await once(worker, 'message')
    port = ready.port
    workers.push(worker)
  }
  const rates: number[] = []
  for (const title of titles) {
    const work = works[title]
    if (!work) throw new TypeError(`There is no work ${title}`)
    const requests = await requestsOf(title, work, contestant, port)
    const server = { name: `${processes} processes`, port, requests, status: work.status }
    // Once for the code to be compiled.
    await load.round(server, seconds)
    const own: number[] = []
    for (let round = 0; round < rounds; round++) own.push((await load.round(server, seconds)).rate)
    rates.push(median(own))
  }
  await Promise.all(workers.map(stopped))
  return rates
}

function started(DATABASE: string): Worker {
  const exec = fileURLToPath(new URL('serve.js', import.meta.url))
  cluster.setupPrimary({ exec, args: [FILE, 'W1'], execArgv: [] })
  return cluster.fork({ NODE_ENV: 'production', DATABASE })
}

async function stopped(worker: Worker): Promise<void> {
  const exit = once(worker, 'exit')
  worker.kill()
  await exit
}
