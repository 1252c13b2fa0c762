// kill -9 in the middle of orders: never an order without its audit row, and each mail is sent at least once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { findBroken, openShop } from './outbox.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

/** How often the shop is killed; bench/proofs/outbox.ts does it 1,000 times. */
const ROUNDS = 2

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
    const api = openShop(db)
    await api.open()
    const sent = new Set<string>()
    let before = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const id of await runUntilKilled(address, 10 + 20 * round)) sent.add(id)
      const { orders, broken } = await findBroken(db, sent)
      expect(broken).toEqual([])
      expect(orders).toBeGreaterThan(before)
      before = orders
    }
    await api.close()
  },
  60_000 + 5000 * ROUNDS,
)
