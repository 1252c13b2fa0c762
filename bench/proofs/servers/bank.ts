// The api of the proof: transfers with hooks in a transaction, an outbox, notes, and files in a bucket and in a folder.
import { S3Client } from '@aws-sdk/client-s3'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { z } from 'zod'
import {
  bearerJwt,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  HttpError,
  type Policies,
} from '../../../src/index.ts'
import { s3Blobs } from '../../../src/s3/index.ts'
import { preparePostgres, reuseStatements, sqlStore } from '../../../src/sql/index.ts'

export const ACCOUNTS = 200
export const BALANCE = 1000

/** Where everything is. */
export interface Places {
  readonly database: string
  /** Ports. */
  readonly redis: number
  readonly s3: number
  /** The folder of scans. */
  readonly scans: string
  /** The public keys of the tokens. */
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

export function openBank(places: Places, rateLimit?: Policies['rateLimit']) {
  const config = { connectionString: places.database, max: 8, connectionTimeoutMillis: 5000 }
  const pool = preparePostgres(new pg.Pool(config), { socketTimeout: 15_000 })
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
    ordered: false,
    schema: z.object({ mark: z.string(), taken_until: z.iso.datetime().optional() }),
    store: store('outbox'),
    lease: 'taken_until',
    operations: [],
  })
  const sent = defineCollection({
    name: 'sent',
    ordered: false,
    schema: z.object({ mark: z.string() }),
    store: store('sent'),
    operations: [],
  })
  const transfers = defineCollection({
    name: 'transfers',
    ordered: false,
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
  /** One for each client, which counts its own patches. */
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    schema: z.object({ count: z.int() }),
    store: store('notes'),
  })
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${places.s3}`,
    forcePathStyle: true,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    // This server knows no checksums in trailers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const file = z.object({ mark: z.string(), content: blob() })
  const photos = defineCollection({
    name: 'photos',
    id: 'integer',
    schema: file,
    store: store('photos'),
    blobs: s3Blobs({ client, bucket: 'photos' }),
  })
  const scans = defineCollection({
    name: 'scans',
    id: 'integer',
    schema: file,
    store: store('scans'),
    blobs: fileBlobs(places.scans),
  })
  const api = defineApi({
    collections: { accounts, transfers, outbox, sent, notes, photos, scans },
    schemes: [bearerJwt({ issuer: 'https://issuer.example', audience: 'bank', keys: places.keys })],
    ...(rateLimit && { rateLimit }),
    health: true,
    prefix: '/api',
    baseUrl: 'http://bank.example/api',
    trustProxy: 1,
    onError(error, { kind }) {
      if (kind === 'bug') console.error(error)
    },
  })
  const close = async () => {
    await api.close()
    await db.destroy()
    client.destroy()
  }
  return { api, db, accounts, outbox, sent, notes, photos, scans, close }
}
