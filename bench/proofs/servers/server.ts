// One of the processes of run.ts: transfers between accounts, an outbox that jobs empty, JWTs, and a stop that drains.
import { createServer } from 'node:http'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { z } from 'zod'
import { bearerJwt, defineApi, defineCollection, HttpError } from '../../../src/index.ts'
import { harden, shutDown } from '../../../src/node/index.ts'
import { preparePostgres, reuseStatements, sqlStore } from '../../../src/sql/index.ts'

export const ACCOUNTS = 200
export const BALANCE = 1000

/** @param keys the public keys of the tokens. */
export function openBank(url: string, keys: readonly Readonly<Record<string, unknown>>[]) {
  const pool = preparePostgres(new pg.Pool({ connectionString: url, max: 8 }), {
    socketTimeout: 15_000,
  })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  const store = (table: string) => sqlStore({ db, table, create: true })
  const accounts = defineCollection({
    name: 'accounts',
    id: 'integer',
    schema: z.object({ balance: z.int() }),
    store: store('accounts'),
  })
  const outbox = defineCollection({
    name: 'outbox',
    id: 'integer',
    schema: z.object({ mark: z.string(), taken_until: z.iso.datetime().optional() }),
    store: store('outbox'),
    lease: 'taken_until',
    operations: [],
  })
  const sent = defineCollection({
    name: 'sent',
    id: 'integer',
    schema: z.object({ mark: z.string() }),
    store: store('sent'),
    operations: [],
  })
  const transfers = defineCollection({
    name: 'transfers',
    id: 'integer',
    schema: z.object({ mark: z.string(), payer: z.int(), payee: z.int(), amount: z.int() }),
    store: store('transfers'),
    access: { create: ['pay'] },
    hooks: {
      transaction: true,
      after: {
        async create({ collection }, { mark, payer, payee, amount }) {
          const all = collection(accounts)
          const add = async (id: number, by: number) => {
            const { balance } = await all.read(id)
            await all.patch(id, { balance: balance + by })
          }
          if (payer === payee) throw new HttpError(400, 'One account')
          await add(payer, -amount)
          await add(payee, amount)
          await collection(outbox).create({ mark })
        },
      },
    },
  })
  const api = defineApi({
    collections: { accounts, transfers, outbox, sent },
    schemes: [bearerJwt({ issuer: 'https://issuer.example', audience: 'bank', keys })],
    health: true,
    prefix: '/api',
    baseUrl: 'http://bank.example/api',
    trustProxy: 1,
    onError: () => {},
  })
  return { api, db, accounts, transfers, outbox, sent }
}

async function serve(url: string, port: number, keys: string): Promise<void> {
  const { api, db, outbox, sent } = openBank(url, JSON.parse(keys))
  const server = createServer(api.handler)
  harden(server, { keepAliveTimeout: 75_000 })
  server.listen(port, '127.0.0.1')
  let ends = false
  const system = api.asSystem()
  const work = async () => {
    while (!ends) {
      try {
        for await (const mail of system.collection(outbox).take({ lease: 5, limit: 100 })) {
          await system.transaction(async tx => {
            await tx.collection(sent).create({ mark: mail.mark })
            await tx.collection(outbox).delete(mail)
          })
        }
      } catch {
        // The lease ends, and another process takes it.
      }
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const working = work()
  process.once('SIGTERM', async () => {
    ends = true
    await shutDown(server, { drain: 3000, time: 10_000 })
    await working
    await api.close()
    await db.destroy()
    process.exit(0)
  })
}

const { BANK, PORT, KEYS } = process.env
if (BANK && PORT && KEYS) await serve(BANK, Number(PORT), KEYS)
