// The shop in a process of its own, for the test that kills it.
import { createServer } from 'node:http'
import { type Kysely, PostgresDialect } from 'kysely'
import { buildShop, type Payment } from '../../examples/shop.ts'
import { memoryStore, type Principal, type Scheme } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'

/** Whoever a request says that it comes from. */
export const customers: Scheme = {
  name: 'Customer',
  challenge: () => 'Customer',
  async authenticate({ headers }): Promise<Principal | undefined> {
    const [, id] = /^Customer (.+)$/.exec(headers.authorization ?? '') ?? []
    return id === undefined ? undefined : { id, scopes: id === 'admin' ? ['shop:admin'] : [] }
  },
}

/** Opens the database at an address: `memory`, a file of SQLite, or a PostgreSQL. */
export async function storesAt(address: string, prefix = 'shop') {
  if (address === 'memory') return () => memoryStore()
  const db = await open(address)
  return (collection: string) => sqlStore({ db, create: true, table: `${prefix}_${collection}` })
}

async function open(address: string): Promise<Kysely<unknown>> {
  const { Kysely, SqliteDialect } = await import('kysely')
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: address, max: 8 }))
    return new Kysely({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Database } = await import('libsql')
  const database = reuseStatements(new Database(address))
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  return db
}

const { SHOP, PAYMENTS = '' } = process.env
if (SHOP !== undefined) {
  const ask = async (path: string): Promise<Payment | undefined> => {
    const answer = await fetch(`${PAYMENTS}${path}`, { method: 'POST' })
    return ((await answer.json()) as { payment?: Payment }).payment
  }
  const { api, sweep } = buildShop(
    await storesAt(SHOP, 'killed'),
    {
      charge: async (key, amount) => (await ask(`charge/${key}?amount=${amount}`)) ?? 'declined',
      close: key => ask(`close/${key}`),
    },
    { schemes: [customers], limits: { workTime: 30_000 } },
  )
  await sweep(0)
  const server = createServer(api.handler).listen(0, () => {
    process.stdout.write(`${Object(server.address()).port}\n`)
  })
}
