// kill -9 under transfers with nested, caught, outside and forgotten calls: the sum is right in every read, and each transfer is whole or not there.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { ACCOUNTS, bankOf, EACH } from './bank.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

/** How often the bank is killed: `KILL_ROUNDS=6` before a release. */
const ROUNDS = Number(process.env.KILL_ROUNDS || 1)
/** Transfers before the kill. */
const TRANSFERS = 60

const started = new Set<ReturnType<typeof spawn>>()
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
})

/** Runs the bank until it has done so many transfers, then kills it in the middle of others. */
async function runUntilKilled(database: string, transfers: number): Promise<void> {
  const file = fileURLToPath(new URL('bank.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', file], {
    env: { ...process.env, BANK: database },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.add(child)
  let done = 0
  child.stdout.on('data', (dots: Buffer) => {
    done += dots.length
    if (done >= transfers) child.kill('SIGKILL')
  })
  const [code, signal] = await once(child, 'close')
  expect([code, signal]).toEqual([null, 'SIGKILL'])
}

const DATABASES = {
  async SQLite() {
    const file = newFile()
    return { db: await openDatabase(file), address: file }
  },
  PostgreSQL: async () => ({ db: openPostgres(), address: postgres().url }),
}

test.each(Object.entries(DATABASES))(
  `%s: kill -9 under transfers, ${ROUNDS} times`,
  async (_name, open) => {
    const { db, address } = await open()
    const makeStore = (name: string) => sqlStore({ db, create: true, table: `bank_${name}` })
    const { api, sum: readAll } = bankOf(makeStore)
    const check = async () => {
      const { balances, transfers } = await api.transaction(async tx => ({
        balances: await tx.collection('accounts').list().toArray(),
        transfers: await tx.collection('transfers').list().toArray(),
      }))
      if (balances.length === 0) return -1
      const booked = new Map(balances.map(({ id }) => [id, EACH]))
      for (const { from_id, to_id, amount } of transfers) {
        booked.set(from_id, Number(booked.get(from_id)) - amount)
        booked.set(to_id, Number(booked.get(to_id)) + amount)
      }
      expect(balances.map(({ id, balance }) => [id, balance])).toEqual([...booked])
      return transfers.length
    }
    let before = 0
    for (let round = 0; round < ROUNDS; round++) {
      const bank = runUntilKilled(address, TRANSFERS + 13 * round)
      let running = true
      const ended = bank.finally(() => {
        running = false
      })
      let reads = 0
      while (running) {
        const sum = await readAll()
        if (sum > 0) expect([sum, ++reads]).toEqual([ACCOUNTS * EACH, reads])
        await new Promise(resolve => setTimeout(resolve, 5))
      }
      await ended
      expect(reads).toBeGreaterThan(3)
      const after = await check()
      expect(after).toBeGreaterThan(before)
      before = after
    }
    await api.close()
  },
  60_000 * ROUNDS,
)

test(
  'memory: the sum is right in every read, until kill -9',
  () => runUntilKilled('memory', 20 * TRANSFERS),
  60_000,
)
