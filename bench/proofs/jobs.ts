// Jobs of four processes on one outbox, some of which are killed by kill -9 in the middle of their work:
//   npx tsx bench/proofs/jobs.ts [--database=sqlite|postgres] [--rows=10000] [--kills=40] [--lease=5] [--slow=2000]
// Each row is done at least once, and begun twice only by a kill; a body that outlasts its lease four times keeps its row.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { sqlStore } from '../../src/sql/index.ts'
import { fillOutbox, openJobs, openOutbox } from '../../test/stores/jobs.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    rows: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '40' },
    lease: { type: 'string', default: '5' },
    slow: { type: 'string', default: '2000' },
  },
})
const [rows, kills] = [Number(values.rows), Number(values.kills)]
const root = join(import.meta.dirname, '../..')
// As a bundle it starts in a quarter of the time.
const folder = mkdtempSync(join(root, 'node_modules', '.jobs-'))
const jobs = join(folder, 'jobs.mjs')
await build({
  entryPoints: [join(root, 'test/stores/jobs.ts')],
  outfile: jobs,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})

const name = `jobs_${process.pid}`
const server = values.database === 'postgres' ? (await startPostgres()).url : undefined
const address = server ? await createDatabase(server, name) : join(folder, 'jobs.db')
const db = await openJobs(address)
const { api, outbox } = openOutbox(sqlStore({ db, table: 'jobs_outbox', create: true }))
await api.open()
await fillOutbox(db, rows)

/** How often each row was begun, and how often that was ended by a kill. */
const begun = new Map<number, number>()
const killed = new Map<number, number>()
const add = (counts: Map<number, number>, id: number) => counts.set(id, (counts.get(id) ?? 0) + 1)
const found = { kills: 0, lost: 0 }

/** Runs a process until it ends, or has begun so many rows. @returns whether it was killed. */
async function run(killAfter: number): Promise<boolean> {
  const child = spawn(process.execPath, [jobs], {
    env: { ...process.env, JOBS: address, LEASE: values.lease, SLOW: values.slow },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [left, printed, current] = [killAfter, '', 0]
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk
    const lines = printed.split('\n')
    printed = lines.pop() ?? ''
    for (const line of lines) {
      const id = Number(line.slice(1))
      if (line.startsWith('+')) add(begun, id)
      if (line.startsWith('!')) found.lost++
      current = line.startsWith('+') ? id : 0
      if (line.startsWith('+') && --left === 0)
        setTimeout(() => child.kill('SIGKILL'), Math.random() * 20)
    }
  })
  const [code, signal] = await once(child, 'close')
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`A process ended by itself: ${code}`)
  if (signal === 'SIGKILL') found.kills++
  // The row that it had, or the next one, which it had not printed yet.
  if (signal === 'SIGKILL' && current) add(killed, current)
  return signal === 'SIGKILL'
}

async function runOn(): Promise<void> {
  while (
    await run(found.kills < kills ? 20 + Math.floor(Math.random() * 200) : Number.POSITIVE_INFINITY)
  );
}

const started = performance.now()
await Promise.all([runOn(), runOn(), runOn(), runOn()])
const seconds = Math.round((performance.now() - started) / 1000)
const twice = [...begun].filter(([, count]) => count > 1)
const unexplained = twice.filter(([id, count]) => count - 1 > (killed.get(id) ?? 0))
const missing = rows - begun.size
const left = await outbox.count()
console.log({
  database: values.database,
  rows,
  ...found,
  seconds,
  missing,
  left,
  twice: twice.length,
  'twice without a kill': unexplained.length,
})
await api.close()
await db.destroy()
if (server) await dropDatabase(server, name)
rmSync(folder, { recursive: true })
process.exit(missing + left + unexplained.length === 0 ? 0 : 1)
