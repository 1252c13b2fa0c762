// Programs that share a pooler with a store: what becomes of their statements while lists are aborted.
import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type * as Sql from '../../src/sql/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { ask } from './postgres-server.ts'
import { by, SHAPE } from './selections.ts'

export interface Neighbours {
  /** The library: its source, or a build. */
  readonly sql: Pick<typeof Sql, 'preparePostgres' | 'reuseStatements' | 'sqlStore'>
  /** The database without the pooler, and through it. */
  readonly direct: string
  readonly pooled: string
  /** How many lists are aborted, and how many clients of others ask meanwhile. */
  readonly lists: number
  readonly others: number
  readonly reuse?: boolean
  /** How long a list would take, in seconds. Default an hour: then none may be left to its end. */
  readonly wait?: number
}

export interface Harm {
  /** The lists that were aborted, and those of them that ended in another way than by their signal. */
  readonly aborted: number
  readonly otherEnds: readonly unknown[]
  /** The statements of others, and those that somebody ended. */
  readonly asked: number
  readonly ended: number
  /** The errors of others for another reason. */
  readonly failures: readonly string[]
  /** What `show statement_timeout` said to others. */
  readonly timeouts: readonly string[]
  /** How many statements of aborted lists still ran at the end. */
  readonly left: number
}

const VIEW = 'slow_cars'

/** Aborts lists that would take long, while others run short statements through the same pooler. */
export async function abortBesideOthers(options: Neighbours): Promise<Harm> {
  const { sql, direct, pooled, lists, others, reuse = false, wait = 3600 } = options
  const pool = sql.preparePostgres(new pg.Pool({ connectionString: pooled, max: 20 }))
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: reuse ? sql.reuseStatements(pool) : pool }),
  })
  const first = sql.sqlStore({ db, create: true, table: 'cars', timeout: 3_600_000 })
  first.attach(SHAPE)
  const { id } = await createOne(first, { color: 'red', year: 1 })
  await ask(
    direct,
    `create or replace view ${VIEW} as select cars.* from cars, lateral (select pg_sleep(case when cars.id = ${id} then ${wait} end) offset 0) as wait`,
  )
  const store = sql.sqlStore({ db, table: VIEW, timeout: 3_600_000 })
  store.attach(SHAPE)
  await store.open?.()

  let running = true
  let asked = 0
  let ended = 0
  const failures = new Set<string>()
  const timeouts = new Set<string>()
  const client = async () => {
    const connection = new pg.Client({ connectionString: pooled })
    connection.on('error', error => failures.add(error.message))
    await connection.connect()
    const query = async (text: string) => {
      asked++
      try {
        return (await connection.query(text)).rows[0]
      } catch (error) {
        if (Object(error).code === '57014') ended++
        else failures.add(String(error))
        return undefined
      }
    }
    do {
      await query('select pg_sleep(0.02)')
      const shown = await query('show statement_timeout')
      if (shown) timeouts.add(String(shown.statement_timeout))
      await delay(Math.random() * others)
    } while (running)
    await connection.end()
  }
  const clients = Promise.all(Array.from({ length: others }, client))

  let begun = 0
  let aborted = 0
  const otherEnds: unknown[] = []
  const reason = new Error('the client has left')
  const aborter = async () => {
    while (begun++ < lists) {
      const controller = new AbortController()
      const selection = { where: [], sort: by('') }
      const call = { signal: controller.signal }
      const end = (async () => {
        await store.list(selection, { limit: 9, offset: 0 }, 'none', call)
        return 'a page'
      })().catch((error: unknown) => error)
      await delay(Math.random() * 40)
      controller.abort(reason)
      if ((await end) === reason) aborted++
      else otherEnds.push(await end)
    }
  }
  await Promise.all(Array.from({ length: 8 }, aborter))
  running = false
  await clients
  // What was cancelled a moment ago ends in a moment.
  let left = 1
  for (let round = 0; round < 200 && left > 0; round++) {
    const text = `select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%${VIEW}%' and pid <> pg_backend_pid()`
    left = Number((await ask(direct, text))[0]?.n)
    await delay(20)
  }
  const stop = `select pg_terminate_backend(pid) from pg_stat_activity where query like '%${VIEW}%' and pid <> pg_backend_pid()`
  if (left > 0) await ask(direct, stop)
  await store.close()
  await db.destroy()
  return {
    aborted,
    otherEnds,
    asked,
    ended,
    failures: [...failures],
    timeouts: [...timeouts],
    left,
  }
}
