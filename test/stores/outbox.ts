// A shop in a process of its own, for the test that kills it: each order has its audit row and its mail.
import { type Kysely, PostgresDialect } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { preparePostgres, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'

/** @param makeStore makes a store by the name of its table. */
export function shopOf(makeStore: (name: string) => Store) {
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

/** Takes orders and changes some; sends mails, each on a line of its own. */
async function run(address: string): Promise<void> {
  const db = await open(address)
  const api = shopOf(name => sqlStore({ db, create: true, table: `shop_${name}` }))
  await api.open()
  const take = async () => {
    for (let amount = 1; ; amount++) {
      const order = await api.collection('orders').create({ amount })
      if (amount % 3 === 0) await api.collection('orders').patch(order, { amount: -amount })
    }
  }
  const send = async () => {
    for (;;) {
      for await (const { id, order_id } of api.collection('outbox').list({ limit: 10 })) {
        // A pipe is written at once: what is printed is sent.
        process.stdout.write(`${order_id}\n`)
        await api.collection('outbox').delete(id)
      }
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  await Promise.all([take(), take(), send()])
}

async function open(address: string): Promise<Kysely<unknown>> {
  const { Kysely: Database, SqliteDialect } = await import('kysely')
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: address, max: 4 }))
    return new Database({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Sqlite } = await import('libsql')
  return new Database({ dialect: new SqliteDialect({ database: new Sqlite(address) }) })
}

if (process.env.OUTBOX) await run(process.env.OUTBOX)
