// A bank that moves money by SQL of its own beside calls, in processes that are killed by kill -9:
//   npx tsx bench/proofs/sql-bank.ts [--database=sqlite|postgres] [--kills=100]
// The sum is right in every read, and each account has what its transfers say.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { ACCOUNTS, bankOf, EACH, openDatabase } from '../../test/stores/bank.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '100' },
  },
})
const root = join(import.meta.dirname, '../..')
// As a bundle it starts in a quarter of the time.
const folder = mkdtempSync(join(root, 'node_modules', '.bank-'))
const bank = join(folder, 'bank.mjs')
await build({
  entryPoints: [join(root, 'test/stores/bank.ts')],
  outfile: bank,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})

const name = `bank_${process.pid}`
const server = values.database === 'postgres' ? (await startPostgres()).url : undefined
const address = server ? await createDatabase(server, name) : join(folder, 'bank.db')
const db = await openDatabase(address)
if (!server) await prepareSqlite(db)
const { api, sum } = bankOf(table => sqlStore({ db, create: true, table: `bank_${table}` }))
await api.open()

/** Runs the bank until it has moved money some times, and kills it a moment later. */
async function killOne(): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [bank], {
    env: { ...process.env, BANK: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let left = 10 + Math.floor(Math.random() * 60)
  child.stdout?.on('data', (dots: Buffer) => {
    const before = left
    left -= dots.length
    if (before > 0 && left <= 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10)
  })
  const [code, signal] = await once(child, 'close')
  if (signal !== 'SIGKILL') throw new Error(`The bank ended by itself: ${code}`)
}

/** Compares each account with its transfers. @returns the number of transfers. */
async function check(): Promise<number> {
  const { balances, transfers } = await api.transaction(async tx => ({
    balances: await tx.collection('accounts').list().toArray(),
    transfers: await tx.collection('transfers').list().toArray({ max: 1_000_000 }),
  }))
  const booked = new Map(balances.map(({ id }) => [id, EACH]))
  for (const { from_id, to_id, amount } of transfers) {
    booked.set(from_id, Number(booked.get(from_id)) - amount)
    booked.set(to_id, Number(booked.get(to_id)) + amount)
  }
  const wrong = balances.filter(({ id, balance }) => booked.get(id) !== balance)
  if (wrong.length > 0 || balances.length !== ACCOUNTS)
    throw new Error(`These accounts are wrong: ${JSON.stringify(wrong)}`)
  return transfers.length
}

let [reads, kills, transfers] = [0, 0, 0]
while (kills < Number(values.kills)) {
  let running = true
  const killed = Promise.all(Array.from({ length: server ? 2 : 1 }, killOne)).finally(() => {
    running = false
  })
  for (; running; reads++) {
    const total = await sum()
    if (total !== ACCOUNTS * EACH && total + kills > 0) throw new Error(`The bank has ${total}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  kills += (await killed).length
  transfers = await check()
}
console.log({ database: values.database, kills, reads, transfers, wrong: 0 })
await api.close()
await db.destroy()
if (server) await dropDatabase(server, name)
rmSync(folder, { recursive: true })
process.exit(0)
