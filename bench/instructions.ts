// How many instructions one request takes of ours, without a socket: counted, so on a machine that does
// nothing else the same comes out each time; on a busy one 4 % more. Not how long they take: for that
// there is run.ts.
//   npx tsx bench/instructions.ts [--works=W1,W2,W3,W4,patch] [--store=sqlite|postgres] [--build=<folder>]
// With a store those of Node alone: PostgreSQL has processes of its own.
// Needs valgrind (a Debian package).
import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { type Engine, openDatabases } from './databases.ts'
import { prepare } from './processes.ts'
import { printSetting, printTable } from './tables.ts'
import { works } from './works.ts'

const { values: options } = parseArgs({
  options: {
    works: { type: 'string', default: Object.keys(works).join() },
    store: { type: 'string', default: 'memory' },
    build: { type: 'string' },
  },
})
/** The first requests compile the code; what is counted is what the others add. */
const FEW = 8000
const MANY = 24_000

if (spawnSync('valgrind', ['--version']).status !== 0) {
  console.error('This bench needs valgrind: apt-get install valgrind')
  process.exit(1)
}
prepare(options.build)
const { store } = options
if (!/^(?:memory|sqlite|postgres)$/.test(store)) throw new TypeError(`There is no store ${store}`)
const databases = store === 'memory' ? undefined : await openDatabases(store as Engine) // just checked
const rows: string[][] = []
for (const name of options.works.split(',')) {
  const [few, many] = await Promise.all([FEW, MANY].map(times => instructionsOf(name, times)))
  const each = (Number(many) - Number(few)) / (MANY - FEW)
  rows.push([`${name} ${works[name]?.title ?? 'one property, 303'}`, (each / 1000).toFixed(1)])
  process.stderr.write('.')
}
process.stderr.write('\n')
await databases?.close()
printTable('Instructions of one request', ['work', 'thousands'], rows)
printSetting(`between ${FEW} and ${MANY} requests, no garbage collected`, ['zod'])

/** Of a whole process that repeats a work so many times. */
async function instructionsOf(work: string, times: number): Promise<number> {
  const args = [
    ...['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null'],
    '--smc-check=all-non-file',
    process.execPath,
    // One thread and a nursery that holds everything: the same instructions each time.
    ...['--single-threaded', '--predictable'],
    ...['--min-semi-space-size=1024', '--max-semi-space-size=1024'],
    ...[fileURLToPath(new URL('repeat.js', import.meta.url)), work, String(times), store],
  ]
  const env = { ...process.env, DATABASE: await databases?.fresh() }
  const { stderr } = await promisify(execFile)('valgrind', args, { env })
  const counted = /I +refs: +([\d,]+)/.exec(stderr)?.[1]
  if (counted === undefined) throw new Error(`valgrind counted nothing: ${stderr}`)
  return Number(counted.replaceAll(',', ''))
}
