// A bank in a process of its own, for the test that kills it: transfers until it ends.
import { type Kysely, PostgresDialect } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { preparePostgres, sqlStore } from '../../src/sql/sql-store.ts'

export const ACCOUNTS = 6
export const EACH = 100

export function bankOf(db: Kysely<unknown>, prefix: string) {
  const options = { db, create: true }
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int().min(0) }),
    id: 'integer',
    store: sqlStore({ ...options, table: `${prefix}_accounts` }),
  })
  const transfers = defineCollection({
    name: 'transfers',
    schema: z.object({ from_id: z.int(), to_id: z.int(), amount: z.int() }),
    id: 'integer',
    store: sqlStore({ ...options, table: `${prefix}_transfers` }),
  })
  const api = defineApi({ collections: { accounts, transfers } })
  /** Moves an amount, from the one to the other account, and books it in between. */
  const transfer = () =>
    api.transaction(async tx => {
      const from = 1 + Math.floor(Math.random() * ACCOUNTS)
      const to = 1 + (from % ACCOUNTS)
      const amount = Math.floor(Math.random() * 10)
      const { balance } = await tx.collection('accounts').read(from)
      if (balance < amount) return
      await tx.collection('accounts').patch(from, { balance: balance - amount })
      await tx.collection('transfers').create({ from_id: from, to_id: to, amount })
      await tx.collection('accounts').change(to, each => ({ balance: each.balance + amount }))
    })
  return { api, transfer }
}

async function openDatabase(): Promise<Kysely<unknown>> {
  const { BANK = '' } = process.env
  const { Kysely, SqliteDialect } = await import('kysely')
  if (BANK.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: BANK, max: 4 }))
    return new Kysely({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Database } = await import('libsql')
  return new Kysely({ dialect: new SqliteDialect({ database: new Database(BANK) }) })
}

if (process.env.BANK !== undefined) {
  const { api, transfer } = bankOf(await openDatabase(), 'bank')
  const accounts = api.collection('accounts')
  await api.transaction(async tx => {
    if ((await tx.collection('accounts').count()) > 0) return
    for (let at = 0; at < ACCOUNTS; at++) await tx.collection('accounts').create({ balance: EACH })
  })
  if ((await accounts.count()) !== ACCOUNTS) throw new Error('the bank is half there')
  const clerk = async () => {
    for (;;) {
      await transfer()
      process.stdout.write('.')
    }
  }
  await Promise.all([clerk(), clerk(), clerk(), clerk()])
}
