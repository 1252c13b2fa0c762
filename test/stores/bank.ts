// A bank in a process of its own, for the test that kills it: transfers of every kind until it ends.
import { type Kysely, PostgresDialect, sql } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'
import { type KyselyStore, preparePostgres, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'

export const ACCOUNTS = 6
export const EACH = 100

const transfer = z.object({ from_id: z.int(), to_id: z.int(), amount: z.int() })

/** The table of accounts, in the bank that moves money by SQL of its own too. */
interface Tables {
  readonly bank_accounts: { readonly id: number; readonly balance: number }
}

/**
 * @param makeStore makes a store by the name of its table.
 * @param bySql whether some of the transfers are statements of the program's own, on the table `bank_accounts`.
 */
export function bankOf(makeStore: (name: string) => Store, bySql = false, random = Math.random) {
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int().min(0) }),
    id: 'integer',
    store: makeStore('accounts') as KyselyStore<Tables>, // of another it is without `bySql`
    actions: {
      /** Gives, books, then takes: it is refused when it has given. */
      pay: {
        on: 'collection',
        input: transfer,
        transaction: true,
        async run({ input: { from_id, to_id, amount }, collection }) {
          await collection().change(to_id, each => ({ balance: Number(each.balance) + amount }))
          await collection('transfers').create({ from_id, to_id, amount })
          await collection().change(from_id, each => ({ balance: Number(each.balance) - amount }))
        },
      },
      /** The same by SQL, beside a call. */
      wire: {
        on: 'collection',
        input: transfer,
        transaction: true,
        async run({ input, collection, sql: db }) {
          await add(db(), input.to_id, input.amount)
          await collection('transfers').create(input)
          await add(db(), input.from_id, -input.amount)
        },
      },
    },
  })
  const transfers = defineCollection({
    name: 'transfers',
    schema: transfer,
    id: 'integer',
    store: makeStore('transfers'),
  })
  /** Paid by a hook, in one transaction with the order. */
  const orders = defineCollection({
    name: 'orders',
    schema: transfer,
    id: 'integer',
    store: makeStore('orders'),
    hooks: {
      transaction: true,
      after: {
        async create({ collection }, { from_id, to_id, amount }) {
          await collection(accounts).pay({ from_id, to_id, amount })
        },
      },
    },
  })
  const collections = { accounts, transfers, orders }
  const api = defineApi({ collections, batch: true, onError: () => {} })
  /** Pays several times as one change. */
  const batch = async (...all: readonly z.infer<typeof transfer>[]) => {
    const steps = all.map(body => ({ method: 'POST', path: '/accounts/pay', body }))
    const answer = await api.fetch(
      new Request('http://bank.example/batch', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(steps),
      }),
    )
    if (answer.status !== 200) throw new HttpError(answer.status, await answer.text())
  }
  const more = (amount: number) => (each: { balance: number }) => ({
    balance: each.balance + amount,
  })
  type Work = Parameters<typeof api.transaction>[0]
  const works: ((order: z.infer<typeof transfer>) => Work)[] = [
    // Booked in between, with a call that is refused alone.
    ({ from_id, to_id, amount }) =>
      async tx => {
        const { balance } = await tx.collection('accounts').read(from_id)
        if (balance < amount) return
        await tx.collection('accounts').patch(from_id, { balance: balance - amount })
        await tx.collection('transfers').create({ from_id, to_id, amount })
        await tx.collection('accounts').patch(to_id, { balance: -1 }).catch(only(400))
        await tx.collection('accounts').change(to_id, more(amount))
      },
    // Nested, the second refused and caught.
    order => async tx => {
      await tx.collection('accounts').pay(order)
      await tx
        .collection('accounts')
        .pay({ ...order, amount: 10_000 })
        .catch(only(400))
    },
    order => tx => tx.collection('accounts').pay(order),
    // A call outside, refused and caught.
    order => async tx => {
      await tx.collection('accounts').pay(order)
      await api.collection('accounts').change(order.to_id, more(1)).catch(only(TypeError))
    },
    // Nobody awaits the last call.
    ({ from_id, to_id, amount }) =>
      async tx => {
        await tx.collection('transfers').create({ from_id, to_id, amount })
        await tx.collection('accounts').change(to_id, more(amount))
        void tx.collection('accounts').change(from_id, more(-amount))
      },
    // Paid by hooks of a single order, and of several, of which the last is refused.
    order => tx => tx.collection('orders').create(order),
    order => async tx => {
      await tx.collection('orders').create([order, { ...order, amount: 10_000 }])
    },
  ]
  const bySqlOnly: ((order: z.infer<typeof transfer>) => Work)[] = [
    // By SQL beside calls; a statement that fails in between is caught.
    ({ from_id, to_id, amount }) =>
      async tx => {
        const db = tx.sql('accounts')
        await add(db, from_id, -amount)
        await db
          .insertInto('bank_accounts')
          .values({ id: to_id, balance: 1 })
          .execute()
          .catch(noMatter)
        await tx.collection('transfers').create({ from_id, to_id, amount })
        await tx.collection('accounts').patch(from_id, { balance: -1 }).catch(only(400))
        await sql`update no_table set balance = 0`.execute(db).catch(noMatter)
        await add(db, to_id, amount)
      },
    // Nested; a part that fails undoes all, even if it is caught.
    order => async tx => {
      await tx.collection('accounts').wire(order)
      if (order.amount % 3 === 0)
        await tx
          .collection('accounts')
          .wire({ ...order, amount: 10_000 })
          .catch(noMatter)
    },
    // Several at the same time, each in its turn.
    ({ from_id, to_id, amount }) =>
      async tx => {
        await Promise.all([
          add(tx.sql('accounts'), from_id, -amount),
          tx.collection('transfers').create({ from_id, to_id, amount }),
          add(tx.sql('accounts'), to_id, amount),
        ])
      },
    // Refused at the end.
    ({ to_id }) =>
      async tx => {
        await add(tx.sql('accounts'), to_id, 1)
        throw new TypeError('declined')
      },
  ]
  if (bySql) works.push(...bySqlOnly)
  /** Moves an amount, from the one to the other account, in one of these ways; some are refused. */
  const move = async () => {
    const from_id = 1 + Math.floor(random() * ACCOUNTS)
    const to_id = 1 + (from_id % ACCOUNTS)
    const amount = Math.floor(random() * 10)
    const order = { from_id, to_id, amount }
    const way = Math.floor(random() * (works.length + 2))
    const work = works[way]?.(order)
    const dear = { ...order, amount: 10_000 }
    const moved = work ? api.transaction(work) : batch(order, way > works.length ? dear : order)
    await moved.catch(only(400, TypeError))
  }
  const sum = async () => {
    const all = await api.collection('accounts').list().toArray()
    return all.reduce((total, { balance }) => total + balance, 0)
  }
  return { api, move, sum }
}

/** @throws HttpError 400 where the account has not that much. */
async function add(db: Kysely<Tables>, id: number, amount: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('bank_accounts')
    .set(each => ({ balance: each('balance', '+', amount) }))
    .where('id', '=', id)
    .where('balance', '>=', -amount)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw new HttpError(400, 'Too little money')
}

function noMatter(): void {}

/** Catches these errors alone. */
function only(...expected: readonly (400 | typeof TypeError)[]) {
  return (error: unknown) => {
    if (error instanceof TypeError && expected.includes(TypeError)) return
    // What a hook did not catch is the cause of an error.
    const refused = error instanceof HttpError ? error : Object(error).cause
    if (refused instanceof HttpError && refused.status === 400 && expected.includes(400)) return
    throw error
  }
}

/** @param address of PostgreSQL, or the file of SQLite. */
export async function openDatabase(address: string): Promise<Kysely<Tables>> {
  const { Kysely, SqliteDialect } = await import('kysely')
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: address, max: 4 }))
    return new Kysely({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Database } = await import('libsql')
  return new Kysely({ dialect: new SqliteDialect({ database: new Database(address) }) })
}

/** @returns what makes stores on the database that `BANK` names. */
async function openStores(): Promise<Parameters<typeof bankOf>[0]> {
  if (process.env.BANK === 'memory') return () => memoryStore()
  const db = await openDatabase(process.env.BANK ?? '')
  return name => sqlStore({ db, create: true, table: `bank_${name}` })
}

if (process.env.BANK !== undefined) {
  const { api, move, sum } = bankOf(await openStores(), process.env.BANK !== 'memory')
  const accounts = api.collection('accounts')
  await api.transaction(async tx => {
    if ((await tx.collection('accounts').count()) > 0) return
    for (let at = 0; at < ACCOUNTS; at++) await tx.collection('accounts').create({ balance: EACH })
  })
  if ((await accounts.count()) !== ACCOUNTS) throw new Error('the bank is half there')
  const clerk = async () => {
    for (;;) {
      // On a machine that does much else a transaction may take longer than it may.
      await move().catch(error => {
        if (!(error instanceof HttpError && error.status === 503)) throw error
      })
      process.stdout.write('.')
    }
  }
  const auditor = async () => {
    for (;;) {
      const total = await sum()
      if (total !== ACCOUNTS * EACH) throw new Error(`the bank has ${total}`)
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  await Promise.all([clerk(), clerk(), clerk(), clerk(), auditor()])
}
