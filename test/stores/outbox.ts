// A shop in a process of its own, for the test and the proof that kill it: each order has its audit row and its mail.
import { type Kysely, PostgresDialect, sql } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, sqlStore } from '../../src/sql/index.ts'

/** The shop in the tables of a database. */
export function openShop(db: Kysely<unknown>) {
  const makeStore = (name: string) => sqlStore({ db, create: true, table: `shop_${name}` })
  const audit = defineCollection({
    name: 'audit',
    schema: z.object({ order_id: z.string(), what: z.string(), amount: z.int() }),
    store: makeStore('audit'),
  })
  const outbox = defineCollection({
    name: 'outbox',
    schema: z.object({ order_id: z.string() }),
    store: makeStore('outbox'),
  })
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ amount: z.int() }),
    store: makeStore('orders'),
    hooks: {
      transaction: true,
      after: {
        async create({ value, collection }, { id }) {
          await collection(audit).create({ order_id: id, what: 'create', amount: value.amount })
          await collection(outbox).create({ order_id: id })
        },
        async patch({ value, id, collection }) {
          await collection(audit).create({ order_id: id, what: 'patch', amount: value.amount })
        },
      },
    },
  })
  return defineApi({ collections: { audit, outbox, orders } })
}

interface Tables {
  readonly orders: readonly { readonly id: string; readonly amount: number }[]
  readonly audit: readonly { readonly id: string; readonly what: string; readonly amount: number }[]
  readonly outbox: readonly { readonly id: string }[]
}

/** Reads the tables by plain SQL, while nobody writes. `id` is that of the order. */
async function readTables(db: Kysely<unknown>): Promise<Tables> {
  const read = async (query: string) => (await sql.raw(query).execute(db)).rows as never // it names the columns
  return {
    orders: await read('select id, amount from shop_orders'),
    audit: await read('select order_id as id, what, amount from shop_audit'),
    outbox: await read('select order_id as id from shop_outbox'),
  }
}

/**
 * Finds what is broken: an order without its rows of the audit or without its mail, and these without the order.
 * @param sent the orders whose mails were sent.
 */
export async function findBroken(db: Kysely<unknown>, sent: ReadonlySet<string>) {
  const { orders, audit, outbox } = await readTables(db)
  const wanted = orders.flatMap(({ id, amount }) =>
    // An order is created with a positive amount, and a change makes it negative.
    amount < 0 ? [`${id} create ${-amount}`, `${id} patch ${amount}`] : [`${id} create ${amount}`],
  )
  const found = audit.map(({ id, what, amount }) => `${id} ${what} ${amount}`)
  const waiting = new Set(outbox.map(({ id }) => id))
  const known = new Set(orders.map(({ id }) => id))
  const lost = [...known].filter(id => !waiting.has(id) && !sent.has(id))
  const unfounded = [...waiting, ...sent].filter(id => !known.has(id))
  return {
    orders: orders.length,
    broken: [
      ...subtract(wanted, found).map(row => `no row of the audit: ${row}`),
      ...subtract(found, wanted).map(row => `a row without its change: ${row}`),
      ...lost.map(id => `no mail of the order ${id}`),
      ...unfounded.map(id => `a mail without the order ${id}`),
    ],
  }
}

/** Lists what a list has more often than the other one. */
function subtract(list: readonly string[], other: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const each of other) left.set(each, (left.get(each) ?? 0) + 1)
  return list.filter(each => {
    const count = left.get(each) ?? 0
    left.set(each, count - 1)
    return count <= 0
  })
}

/** Takes orders and changes some; sends mails, each on a line of its own. */
async function run(address: string): Promise<void> {
  const api = openShop(await openDatabase(address))
  await api.open()
  let amount = 0
  const take = async () => {
    const ordered = ++amount
    const order = await api.collection('orders').create({ amount: ordered })
    if (ordered % 3 === 0) await api.collection('orders').patch(order, { amount: -ordered })
  }
  const send = async () => {
    for await (const { id, order_id } of api.collection('outbox').list({ limit: 10 })) {
      // A pipe is written at once: what is printed is sent.
      process.stdout.write(`${order_id}\n`)
      await api.collection('outbox').delete(id)
    }
  }
  await Promise.all([take, take, send].map(repeat))
}

/** Goes on after a mail that another process has sent, and after a wait for it that was too long. */
async function repeat(work: () => Promise<void>): Promise<never> {
  for (;;) {
    await work().catch(error => {
      if (!(error instanceof HttpError)) throw error
    })
    // Others may write meanwhile.
    await new Promise(resolve => setTimeout(resolve, 5 * Math.random()))
  }
}

export async function openDatabase(address: string): Promise<Kysely<unknown>> {
  const { Kysely: Database, SqliteDialect } = await import('kysely')
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: address, max: 4 }))
    return new Database({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Sqlite } = await import('libsql')
  const db = new Database<unknown>({
    dialect: new SqliteDialect({ database: new Sqlite(address) }),
  })
  await prepareSqlite(db)
  return db
}

if (process.env.OUTBOX) await run(process.env.OUTBOX)
