// PostgreSQL behind a pooler that gives the processes of the server to one transaction after another.
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import * as library from '../../src/sql/index.ts'
import { preparePostgres, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { UnavailableError } from '../../src/store/errors.ts'
import { findOne } from '../../src/store/writes.ts'
import { storeCases } from '../../src/testing/index.ts'
import { createOne, updateOne } from '../../src/testing/write-items.ts'
import { Board } from '../live/events.ts'
import { abortBesideOthers } from './neighbours.ts'
import { hasPgBouncer, type PgBouncer, type PgBouncerOptions, startPgBouncer } from './pgbouncer.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { lockedBy, waitingFor } from './postgres-locks.ts'
import { ask } from './postgres-server.ts'
import { by, is, SHAPE } from './selections.ts'
import { car, newTable, severalStores } from './several.ts'
import { testCases } from './test-cases.ts'

// CI must have a pgbouncer.
const missing = !hasPgBouncer()
if (missing && process.env.CI === 'true') throw new Error('There is no pgbouncer')
if (missing) console.warn('Skipped: there is no pgbouncer')

/** Collects the warnings of a moment by their codes. */
async function warningsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const codes: string[] = []
  const listen = (warning: Error & { code?: string }) => codes.push(warning.code ?? warning.name)
  process.on('warning', listen)
  await work()
  // They are told in the next tick.
  await new Promise(resolve => setImmediate(resolve))
  process.off('warning', listen)
  return codes
}

describe.skipIf(missing)('behind PgBouncer, a pool of 4 in transaction mode', () => {
  usePostgres()

  let bouncer: PgBouncer
  const opened: Kysely<unknown>[] = []
  beforeAll(async () => {
    bouncer = await startPgBouncer(postgres().url)
  })
  afterAll(async () => {
    await Promise.all(opened.map(db => db.destroy()))
    await bouncer.stop()
  })

  function open({ reuse = false, connectionString = bouncer.url, ...options } = {}) {
    const config = { connectionString, max: 8, idleTimeoutMillis: 500, ...options }
    const pool = preparePostgres(new pg.Pool(config))
    const dialect = new PostgresDialect({ pool: reuse ? reuseStatements(pool) : pool })
    const db = new Kysely<unknown>({ dialect })
    opened.push(db)
    return { db, pool }
  }

  async function through<T>(options: PgBouncerOptions, work: (url: string) => Promise<T>) {
    const other = await startPgBouncer(postgres().url, options)
    try {
      return await work(other.url)
    } finally {
      await other.stop()
    }
  }

  describe.each([false, true])('with reuseStatements: %s', reuse => {
    let tables = 0
    let db: Kysely<unknown>
    beforeAll(() => {
      db = open({ reuse }).db
    })
    const make = () =>
      sqlStore({ db, table: `pooled_${reuse}_${++tables}`, create: true, changes: true })
    // Without statements that are kept, each third case.
    const cases = storeCases(make)
    if (reuse) testCases(cases)
    else for (const { name, run } of cases.filter((_, at) => at % 3 === 0)) test(name, () => run())

    test('aborted lists end no statement of others, and leave them no setting', async () => {
      const harm = await abortBesideOthers({
        sql: library,
        direct: postgres().url,
        pooled: bouncer.url,
        lists: 150,
        others: 40,
        reuse,
      })
      const whole = { aborted: 150, otherEnds: [], ended: 0, failures: [], left: 0 }
      expect(harm).toMatchObject({ ...whole, timeouts: ['0'] })
      expect(harm.asked).toBeGreaterThan(80)
    })

    test('what takes too long is ended, and says so', async () => {
      const table = newTable()
      const store = sqlStore({ db, table, create: true, timeout: 200 })
      store.attach(SHAPE)
      const { id, version } = await createOne(store, car('red'))
      const holder = openPostgres()
      await holder.transaction().execute(async transaction => {
        await sql`lock table ${sql.id(table)} in access exclusive mode`.execute(transaction)
        const calls = [
          findOne(store, id),
          store.count({ where: [] }, 'exact'),
          updateOne(store, { id, version }, car('late')),
          createOne(store, car('late')),
          store.transaction?.([store], async ([inside]) => inside && findOne(inside, id)),
        ]
        for (const each of await Promise.allSettled(calls)) {
          expect(each).toMatchObject({ reason: expect.any(UnavailableError) })
        }
      })
      expect(await findOne(store, id)).toMatchObject({ version })
      expect(await store.count({ where: [] }, 'exact')).toBe(1)
    })
  })

  // Its tests hold locks while as many statements wait as that pool has processes.
  describe('as many processes as its tests hold', () => {
    let wide: PgBouncer
    beforeAll(async () => {
      wide = await startPgBouncer(postgres().url, { size: 12 })
    })
    afterAll(() => wide.stop())
    severalStores({
      connect: (max = 8) => open({ connectionString: wide.url, max } as object).db,
      waiting: waitingFor,
      locked: lockedBy(() => openPostgres()),
    })
  })

  test('open says that reuseStatements is of no use, and requests are answered', async () => {
    await through({}, async connectionString => {
      const { db, pool } = open({ reuse: true, connectionString })
      const table = newTable()
      const store = sqlStore({ db, table, create: true })
      store.attach(SHAPE)
      const codes = await warningsDuring(async () => store.open?.())
      expect(codes).toEqual(['REST_CONVENTIONS_POOLER'])
      await createOne(store, car('red'))
      const red = { where: [is('color', 'in', 'red')], sort: by('') }
      const lists = Array.from({ length: 60 }, async () => [
        await store.list(red, { limit: 1, offset: 0 }, 'exact'),
        await findOne(store, 1),
      ])
      expect(await Promise.all(lists)).toHaveLength(60)
      const prepared = await ask(
        connectionString,
        'select count(*)::int as n from pg_prepared_statements',
      )
      expect(prepared[0]?.n).toBeLessThanOrEqual(1)
      expect(pool.totalCount).toBeGreaterThan(1)
    })
  })

  test('statements of the host are sent without a name as soon as one name is taken', async () => {
    await through({ size: 2 }, async connectionString => {
      const { db } = open({ reuse: true, connectionString })
      const ask = async (at: number) => {
        const { rows } = await sql<{ n: number }>`select ${at}::int as n`.execute(db)
        return rows[0]?.n
      }
      const all = Array.from({ length: 180 }, (_, at) => at)
      const codes = await warningsDuring(async () => {
        expect(await Promise.all(all.map(ask))).toEqual(all)
      })
      expect(codes).toEqual(['REST_CONVENTIONS_POOLER'])
    })
  })

  test('an aborted list is ended over TLS', async () => {
    await through({ tls: true }, async connectionString => {
      const { db } = open({ connectionString, ssl: { rejectUnauthorized: false } } as object)
      const table = newTable()
      const store = sqlStore({ db, table, create: true })
      store.attach(SHAPE)
      await createOne(store, car('red'))
      const holder = openPostgres()
      await holder.transaction().execute(async transaction => {
        await sql`lock table ${sql.id(table)} in access exclusive mode`.execute(transaction)
        const controller = new AbortController()
        const list = store.count({ where: [] }, 'exact', { signal: controller.signal })
        const waiting = async () =>
          (
            await ask(
              postgres().url,
              `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${table}"%'`,
            )
          ).length
        while ((await waiting()) === 0);
        controller.abort()
        await expect(list).rejects.toThrow('aborted')
        while ((await waiting()) > 0);
      })
    })
  })

  test.each([1, 4])('a live list is the list, in a pool of %i', async size => {
    await through({ size }, async connectionString => {
      const { db } = open({ reuse: true, connectionString })
      const table = newTable()
      const store = sqlStore({ db, table, create: true, changes: true })
      const schema = z.object({ color: z.string() })
      const cars = defineCollection({ name: 'cars', id: 'integer', schema, store, live: true })
      const api = defineApi({ collections: { cars } })
      const resource = api.asSystem().collection(cars)
      const boards = [new Board(), new Board()]
      const follow = (board: Board) =>
        board.connect((headers, signal) =>
          api.fetch(new Request('http://api.example/cars?color=red', { headers, signal })),
        )
      const expectLists = async (ids: readonly number[]) => {
        for (const board of boards)
          await board.until(() => board.isReady && String([...board.items.keys()]) === String(ids))
      }
      await resource.create({ color: 'red' })
      for (const each of boards) await follow(each)
      await expectLists([1])
      await resource.create({ color: 'red' })
      // Another program, beside the pooler and through it.
      await ask(postgres().url, `update "${table}" set color = 'blue' where id = 1`)
      await expectLists([2])
      await boards[1]?.disconnect()
      await ask(connectionString, `update "${table}" set color = 'red' where id = 1`)
      await resource.delete(2)
      if (boards[1]) await follow(boards[1])
      await expectLists([1])
      const resets = boards.map(({ events }) => events.filter(({ event }) => event === 'reset'))
      expect(resets.map(({ length }) => length)).toEqual([1, 1])
      for (const each of boards) await each.disconnect()
      await api.close()
    })
  })

  test('one connection is enough', async () => {
    const { db } = open({ reuse: true, max: 1 } as object)
    const store = sqlStore({ db, table: newTable(), create: true })
    store.attach(SHAPE)
    await store.open?.()
    expect((await createOne(store, car('red'))).id).toBe(1)
  })
})
