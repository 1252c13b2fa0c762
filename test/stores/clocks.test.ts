// Servers with different clocks on one database: dates of an item never go back, and no condition on them is wrong.
import { type Kysely, sql } from 'kysely'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { findNextDate } from '../../src/store/written.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

/** By the true clock. */
const START = Date.parse('2026-03-01T12:00:00.300Z')
const HOUR = 3_600_000

afterEach(() => void vi.useRealTimers())

test.each([
  ['a later second', 1_000, 999, 1_000],
  ['the same second', 1_900, 1_000, 2_000],
  ['a clock that is behind', 1_000, 7_200_500, 7_201_000],
  ['no date before', 1_000, undefined, 1_000],
  ['changes more often than once a second', 1_200, 10_000, 11_000],
  ['many more: it runs no further ahead', 1_200, 11_000, 11_000],
  ['a clock that is further behind', 1_200, 13_000, 14_000],
])('the date of a change, with %s', (_name, now, before, date) => {
  expect(findNextDate(now, before)).toBe(date)
})

const STORES: Record<
  string,
  () => Promise<{ make: () => Store; db?: Kysely<unknown>; table: string }>
> = {
  memory: async () => {
    const store = memoryStore()
    return { make: () => store, table: '' }
  },
  SQLite: async () => {
    const [db, table] = [await openDatabase(), newTable()]
    return { make: () => sqlStore({ db, table, create: true }), db, table }
  },
  PostgreSQL: async () => {
    const [db, table] = [openPostgres(), newTable()]
    return { make: () => sqlStore({ db, table, create: true }), db, table }
  },
  'PostgreSQL with a foreign trigger': async () => {
    const [db, table] = [openPostgres(), newTable()]
    const made = { make: () => sqlStore({ db, table, create: true }), db, table }
    await server(made.make(), 0).cars.count()
    await sql`create function ${sql.id(`${table}_f`)}() returns trigger language plpgsql as 'begin return new; end'`.execute(
      db,
    )
    await sql`create trigger other before update on ${sql.id(table)} for each row execute function ${sql.id(`${table}_f`)}()`.execute(
      db,
    )
    return made
  },
}

/** A server whose clock differs from the true one. */
function server(store: Store, skew: number) {
  const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store })
  const api = defineApi({ collections: { cars } })
  const setClock = (now: number) => void vi.setSystemTime(now + skew)
  return {
    setClock,
    cars: api.collection(cars),
    async ask(now: number, method: string, path: string, headers = {}, body?: object) {
      setClock(now)
      const type = { 'content-type': 'application/json', prefer: 'return=representation' }
      const init = { method, headers: { ...type, ...headers }, body: body && JSON.stringify(body) }
      const request = new Request(`http://a.example${path}`, init as RequestInit)
      const response = await api.fetch(request)
      const text = await response.text()
      return {
        status: response.status,
        date: response.headers.get('last-modified') ?? undefined,
        item: Object(text === '' ? {} : JSON.parse(text)),
      }
    },
  }
}

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  const start = async (skews: readonly [number, number]) => {
    vi.useFakeTimers({ toFake: ['Date'], now: START })
    const { make, db, table } = await open()
    const [one, other] = [server(make(), skews[0]), server(make(), skews[1])] as const
    const { item } = await one.ask(START, 'POST', '/cars', {}, { color: 'red' })
    return { servers: [one, other], one, other, path: `/cars/${item.id}`, db, table }
  }

  it.each([[[0, 2 * HOUR]], [[0, -2 * HOUR]], [[0, 800]], [[0, -800]], [[800, -800]]] as const)(
    'no date is repeated, and no condition on one holds after a change: %j',
    async skews => {
      const { servers, path } = await start(skews)
      let now = START
      let dates: string[] = []
      const told = new Set<string>()
      for (const [at, step] of [0, 50, 300, 900, 2100, 10, 5000, 1200].entries()) {
        now += step
        // Each server in its turn, and twice the same one.
        const writer = servers[(at >> 1) % 2]
        const { item } = (await writer?.ask(now, 'PATCH', path, {}, { color: `${at}` })) ?? {}
        dates = [...dates, item.updated_at]
        for (const reader of servers) {
          for (const date of told) {
            const since = await reader.ask(now, 'GET', path, { 'if-modified-since': date })
            expect([since.status, since.item.color]).toEqual([200, `${at}`])
            const unless = { 'if-unmodified-since': date }
            expect((await reader.ask(now, 'PATCH', path, unless, { color: 'lost' })).status).toBe(
              412,
            )
          }
        }
        for (const wait of [0, 400, 1900]) {
          for (const reader of servers) {
            const { date } = await reader.ask(now + wait, 'GET', path)
            if (date) told.add(date)
          }
        }
        now += 400
      }
      const seconds = dates.map(date => date.slice(0, 19))
      expect(seconds).toEqual([...new Set(seconds)].sort())
    },
  )

  it('a date is told two seconds after the change, and is good for both conditions then', async () => {
    const { one, path } = await start([0, 0])
    expect((await one.ask(START + 1999, 'GET', path)).date).toBeUndefined()
    const { date } = await one.ask(START + 2000, 'GET', path)
    const headers = { 'if-modified-since': date }
    expect((await one.ask(START + 2000, 'GET', path, headers)).status).toBe(304)
    const write = { 'if-unmodified-since': date }
    expect((await one.ask(START + 2000, 'PATCH', path, write, { color: 'b' })).status).toBe(200)
  })

  it('a date ahead of this clock fails If-Unmodified-Since, whatever it is compared with', async () => {
    const { one, other, path } = await start([0, 2 * HOUR])
    await other.ask(START, 'PATCH', path, {}, { color: 'ahead' })
    const headers = { 'if-unmodified-since': new Date(START + 9 * HOUR).toUTCString() }
    expect((await one.ask(START, 'PATCH', path, headers, { color: 'b' })).status).toBe(412)
  })

  it('changes of many, and in SQL beside, have later dates too', async () => {
    const { one, other, path, db, table } = await start([0, -2 * HOUR])
    const { item: before } = await one.ask(START, 'GET', path)
    other.setClock(START)
    await other.cars.patchMany({ color: 'red' }, { color: 'all' })
    const { item: after } = await one.ask(START, 'GET', path)
    expect(after.updated_at > before.updated_at).toBe(true)
    if (!db) return
    const ahead = '2099-01-01T00:00:00.500Z'
    await sql`update ${sql.id(table)} set updated_at = ${ahead}, version = 'mine'`.execute(db)
    await sql`update ${sql.id(table)} set color = 'beside'`.execute(db)
    const { item } = await one.ask(START, 'GET', path)
    expect(item).toMatchObject({ color: 'beside', updated_at: '2099-01-01T00:00:01.000Z' })
  })
})
