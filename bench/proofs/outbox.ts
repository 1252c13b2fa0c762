// A shop whose processes are killed by kill -9 in the middle of orders, each with an audit row and a mail in an outbox:
//   npx tsx bench/proofs/outbox.ts [--database=sqlite|postgres] [--kills=1000]
// No order is without its audit row and no row without its order; each mail is sent at least once. Plain SQL compares.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { findBroken, openDatabase, openShop } from '../../test/stores/outbox.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '1000' },
  },
})
const root = join(import.meta.dirname, '../..')
// As a bundle it starts in a quarter of the time.
const folder = mkdtempSync(join(root, 'node_modules', '.outbox-'))
const shop = join(folder, 'shop.mjs')
await build({
  entryPoints: [join(root, 'test/stores/outbox.ts')],
  outfile: shop,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})

const name = `outbox_${process.pid}`
const server = values.database === 'postgres' ? (await startPostgres()).url : undefined
const address = server ? await createDatabase(server, name) : join(folder, 'shop.db')
const db = await openDatabase(address)
const api = openShop(db)
await api.open()

/** Writers of SQLite wait for each other; on PostgreSQL several shops run at once. */
const processes = server ? 3 : 1
const sent = new Set<string>()
const found = { kills: 0, orders: 0, mails: 0, sentAgain: 0 }

/** Runs the shop until it has sent some mails, and kills it a moment later. */
async function killOne(): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [shop], {
    env: { ...process.env, OUTBOX: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  let left = 1 + Math.floor(Math.random() * 40)
  child.stdout?.on('data', (lines: Buffer) => {
    printed += lines
    const before = left
    left -= lines.toString().split('\n').length - 1
    if (before > 0 && left <= 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10)
  })
  const [code, signal] = await once(child, 'close')
  if (signal !== 'SIGKILL') throw new Error(`The shop ended by itself: ${code}`)
  found.kills++
  for (const id of printed.split('\n').slice(0, -1)) {
    found.mails++
    if (sent.has(id)) found.sentAgain++
    sent.add(id)
  }
}

let broken: readonly string[] = []
while (found.kills < Number(values.kills) && broken.length === 0) {
  await Promise.all(Array.from({ length: processes }, killOne))
  ;({ orders: found.orders, broken } = await findBroken(db, sent))
  if (found.kills % 100 < processes) console.error(found)
}
const waiting = await api.collection('outbox').count()
console.log({ database: values.database, ...found, waiting, broken: broken.slice(0, 10) })
await api.close()
await db.destroy()
if (server) await dropDatabase(server, name)
rmSync(folder, { recursive: true })
process.exit(broken.length === 0 ? 0 : 1)
