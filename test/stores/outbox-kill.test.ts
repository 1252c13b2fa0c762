// kill -9 in the middle of orders: never an order without its audit row, and each mail is sent at least once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { shopOf } from './outbox.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

/** How often the shop is killed: `KILL_ROUNDS=500` for a proof. */
const ROUNDS = Number(process.env.KILL_ROUNDS || 2)

const started = new Set<ReturnType<typeof spawn>>()
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
})

/** Runs the shop until it has sent so many mails, then kills it in the middle of others. @returns whose mails it sent. */
async function runUntilKilled(address: string, mails: number): Promise<string[]> {
  const file = fileURLToPath(new URL('outbox.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', file], {
    env: { ...process.env, OUTBOX: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.add(child)
  let sent = ''
  child.stdout.on('data', (lines: Buffer) => {
    sent += lines
    if (sent.split('\n').length > mails) child.kill('SIGKILL')
  })
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL'])
  return sent.split('\n').slice(0, -1)
}

const DATABASES = {
  async SQLite() {
    const file = newFile()
    return { db: await openDatabase(file), address: file }
  },
  PostgreSQL: async () => ({ db: openPostgres(), address: postgres().url }),
}

test.each(Object.entries(DATABASES))(
  `%s: kill -9 in the middle of orders, ${ROUNDS} times`,
  async (_name, open) => {
    const { db, address } = await open()
    const api = shopOf(name => sqlStore({ db, create: true, table: `shop_${name}` }))
    await api.open()
    const sent = new Set<string>()
    let before = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const id of await runUntilKilled(address, 10 + (round % 37))) sent.add(id)
      const { orders, audit, outbox } = await api.transaction(async tx => ({
        orders: await tx.collection('orders').list().toArray(),
        audit: await tx.collection('audit').list().toArray(),
        outbox: await tx.collection('outbox').list().toArray(),
      }))
      expect(orders.length).toBeGreaterThan(before)
      before = orders.length
      // One row for each order, and one more for each that was changed.
      const rows = (what: string) => audit.filter(row => row.what === what)
      const ids = orders.map(({ id }) => id).sort()
      expect(
        rows('create')
          .map(({ order_id }) => order_id)
          .sort(),
      ).toEqual(ids)
      const changed = orders.filter(({ amount }) => amount < 0)
      expect(
        rows('patch')
          .map(({ order_id, amount }) => [order_id, amount])
          .sort(),
      ).toEqual(changed.map(({ id, amount }) => [id, amount]).sort())
      const waiting = new Set(outbox.map(({ order_id }) => order_id))
      expect(ids.filter(id => !sent.has(id) && !waiting.has(id))).toEqual([])
      // No mail of an order that is not there.
      expect([...sent, ...waiting].filter(id => !ids.includes(id))).toEqual([])
    }
    await api.close()
  },
  60_000 + 5000 * ROUNDS,
)
