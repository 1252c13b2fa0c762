// Jobs of an outbox in a process of its own, for the test and the proof that kill it: each says what it begins and ends.
import { type Kysely, PostgresDialect, sql } from 'kysely'
import { z } from 'zod'
import { ConflictError, defineApi, defineCollection, HttpError } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'

export function openOutbox(store: Store) {
  const outbox = defineCollection({
    name: 'outbox',
    schema: z.object({
      text: z.string(),
      taken_until: z.iso.datetime().optional(),
      attempts: z.int().default(0),
    }),
    id: 'integer',
    store,
    lease: 'taken_until',
    attempts: 'attempts',
  })
  const api = defineApi({ collections: { outbox } })
  return { api, outbox: api.asSystem().collection(outbox) }
}

/** @param address of PostgreSQL, or the file of SQLite. */
export async function openJobs(address: string): Promise<Kysely<unknown>> {
  const { Kysely, SqliteDialect } = await import('kysely')
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = preparePostgres(new pg.Pool({ connectionString: address, max: 4 }))
    return new Kysely({ dialect: new PostgresDialect({ pool }) })
  }
  const { default: Database } = await import('libsql')
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: new Database(address) }),
  })
  await prepareSqlite(db)
  return db
}

/** Fills the outbox by SQL. */
export async function fillOutbox(db: Kysely<unknown>, rows: number): Promise<void> {
  for (let from = 1; from <= rows; from += 500) {
    const ids = Array.from({ length: Math.min(500, rows - from + 1) }, (_, at) => from + at)
    const values = ids.map(
      id =>
        sql`(${id}, 'mail', 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', ${`v${id}`})`,
    )
    await sql`insert into jobs_outbox (id, text, attempts, created_at, updated_at, version) values ${sql.join(values)}`.execute(
      db,
    )
  }
}

/**
 * Works until nothing is left: `+7` begins the work of row 7, `-7` says that it is done and deleted, `!7` that the lease was lost.
 * @param slow every so many rows the body outlasts its lease four times.
 * @param hold the body of the row that is begun as this one never ends.
 */
async function work(address: string, lease: number, slow: number, hold: number): Promise<void> {
  const db = await openJobs(address)
  const { api, outbox } = openOutbox(sqlStore({ db, table: 'jobs_outbox' }))
  let begun = 0
  const takeAll = async () => {
    for await (const mail of outbox.take({ lease })) {
      process.stdout.write(`+${mail.id}\n`)
      if (++begun === hold) await new Promise(() => {})
      if (mail.id % slow === 0) await new Promise(resolve => setTimeout(resolve, lease * 4000))
      const isDeleted = await outbox.delete(mail).then(
        () => true,
        error => {
          if (error instanceof ConflictError) return false
          throw error
        },
      )
      process.stdout.write(`${isDeleted ? '-' : '!'}${mail.id}\n`)
    }
    return outbox.count()
  }
  // A writer of SQLite that waits for more than 5 s for others gets a 503.
  const waiting = (error: unknown) => {
    if (error instanceof HttpError && error.status === 503) return 1
    throw error
  }
  while ((await takeAll().catch(waiting)) > 0)
    await new Promise(resolve => setTimeout(resolve, 100))
  await api.close()
  await db.destroy()
}

if (process.env.JOBS !== undefined) {
  const { JOBS, LEASE = '1', SLOW = '0', HOLD = '0' } = process.env
  await work(JOBS, Number(LEASE), Number(SLOW) || Number.POSITIVE_INFINITY, Number(HOLD))
}
