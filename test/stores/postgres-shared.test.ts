// One PostgreSQL, several stores, and what happens when it stops.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createTableSql, preparePostgres, sqlStore } from '../../src/sql/index.ts'
import { UnavailableError } from '../../src/store/errors.ts'
import type { Shape, Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { servesCarPool } from './car-pool.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { lockedBy, waitingFor } from './postgres-locks.ts'
import { ask } from './postgres-server.ts'
import { by, is, SHAPE } from './selections.ts'
import { car, closing, type Database, newTable, opener, severalStores } from './several.ts'

usePostgres()

const database: Database = {
  connect: (connections = 8) => openPostgres({ max: connections }),
  waiting: waitingFor,
  locked: lockedBy(() => openPostgres()),
}
const open = opener(database)

severalStores(database)

/** Stands between a pool and the database; has the connections of a moment go silent at a text, without an end. */
async function silencing(text: string) {
  const { hostname, port, pathname } = new URL(postgres().url)
  const sockets = new Set<Socket>()
  let dying: ReadonlySet<Socket> = new Set()
  const server = createServer(client => {
    const backend = connect(Number(port), hostname)
    for (const socket of [client, backend]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    let heard = false
    client.on('data', bytes => {
      heard ||= dying.has(client) && bytes.includes(text)
      if (!heard) backend.write(bytes)
    })
    backend.on('data', bytes => client.write(bytes))
    client.on('close', () => backend.destroy())
    backend.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(`postgres://127.0.0.1${pathname}`)
  Object.assign(url, { port: typeof address === 'object' && address?.port })
  const { username, password } = new URL(postgres().url)
  Object.assign(url, { username, password })
  return {
    connectionString: url.href,
    silence: () => {
      dying = new Set(sockets)
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test.each<[string, string, (store: Store) => unknown[]]>([
  ['a read', 'select', store => [findOne(store, 1)]],
  ['all that there are', 'select', store => [1, 2, 3].map(id => findOne(store, id))],
  ['creates', 'insert', store => ['a', 'b'].map(color => createOne(store, car(color)))],
])(
  'connections that go silent are given up, and others take their place: %s',
  async (_, text, ask) => {
    const { connectionString, silence, close } = await silencing(text)
    const pool = preparePostgres(new pg.Pool({ connectionString, max: 3 }), {
      socketTimeout: 1000,
    })
    // Statements go by their text, not by a name.
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    const store = sqlStore({ db, table: newTable(), create: true, timeout: 100 })
    store.attach(SHAPE)
    await Promise.all([createOne(store, car('red')), findOne(store, 0), findOne(store, 0)])
    silence()
    for (const end of await Promise.allSettled(ask(store))) {
      expect(end).toMatchObject({ reason: expect.any(UnavailableError) })
    }
    // Whatever connections are left.
    while (
      (await Promise.allSettled([store.count({ where: [] }, 'exact')]))[0]?.status === 'rejected'
    );
    expect(await store.count({ where: [] }, 'exact')).toBe(1)
    await store.close()
    close()
  },
)

test('a total is counted once while nothing changes', async () => {
  const table = newTable()
  const statements: string[] = []
  const db = openPostgres({}, query => statements.push(query.sql))
  const store = sqlStore({ db, table, create: true })
  store.attach(SHAPE)
  await closing([store], async () => {
    await createOne(store, car('red'))
    const red = { where: [is('color', 'in', 'red')], sort: by('') }
    const counts = async () => {
      statements.length = 0
      expect((await store.list(red, { limit: 1, offset: 0 }, 'exact')).total).toBe(1)
      return statements.filter(each => each.includes('count(')).length
    }
    // Other sessions of the server, its own included, may change something in between.
    let least = await counts()
    for (let round = 0; round < 20 && least > 0; round++) least = Math.min(least, await counts())
    expect(least).toBe(0)
  })
})

test('a table whose columns change their types meanwhile is served as before', async () => {
  const table = newTable()
  const db = openPostgres({ max: 3 })
  const store = sqlStore({ db, table, create: true })
  store.attach(SHAPE)
  await closing([store], async () => {
    const calls = async (price: number) => {
      const { id, version } = await createOne(store, { ...car('red'), price })
      const reads = await Promise.all(Array.from({ length: 6 }, () => findOne(store, id)))
      expect(reads.map(read => read?.item.price)).toEqual(Array(6).fill(price))
      const next = await updateOne(store, { id, version }, { ...car('blue'), price })
      expect(next?.item.price).toBe(price)
      expect(await deleteOne(store, { id, version: next?.version ?? '' })).toBe(true)
    }
    await calls(1.5)
    for (const type of ['numeric', 'double precision']) {
      await ask(postgres().url, `alter table ${table} alter column price type ${type}`)
      await calls(2.5)
    }
    await db.executeQuery(CompiledQuery.raw('deallocate all'))
    await calls(3.5)
  })
})

test('a table that exists is served by its own names, in its own types', async () => {
  await servesCarPool(openPostgres(), [
    'create table "Car Pool" (car_id varchar(40) primary key, paint varchar(20), doors integer, price numeric(10,2), more text, model jsonb)',
    'create unique index pool_paint on "Car Pool" (paint, doors)',
    `insert into "Car Pool" values ('k-1', 'red', 4, 10.50, '"null"', '{"name": "Clio"}')`,
  ])
})

test('a text too long for an index is refused by the name of its field', async () => {
  const shape: Shape = { ...SHAPE, unique: [['note']] }
  const store = open(newTable(), shape)
  await closing([store], async () => {
    const long = Array.from({ length: 1800 }, (_, at) =>
      String.fromCodePoint(0x4e00 + ((at * 7919) % 20000)),
    ).join('')
    const refused = { status: 400 }
    await expect(createOne(store, car(long))).rejects.toMatchObject({
      ...refused,
      fields: ['color'],
    })
    // So long that the database does not say for which index.
    const longest = createOne(store, car(long.repeat(3)))
    await expect(longest).rejects.toMatchObject({ ...refused, fields: [] })
    const note = createOne(store, { ...car('x'), note: long })
    await expect(note).rejects.toMatchObject({ ...refused, fields: ['note'] })
  })
})

test('an estimated total is the planner’s if counting costs much', async () => {
  const table = newTable()
  const store = open(table)
  await closing([store], async () => {
    const all = { where: [], sort: by('') }
    expect(await store.list(all, { limit: 5, offset: 0 }, 'estimated')).toEqual({
      items: [],
      more: false,
      total: 0,
    })
    expect(await store.count(all, 'estimated')).toBe(0)
    const { url } = postgres()
    await ask(
      url,
      `insert into ${table} (id, color, year, created_at, updated_at, version) select n, 'c' || n % 7, 1, now(), now(), '' from generate_series(1, 60000) as n`,
    )
    await ask(url, `analyze ${table}`)
    await ask(url, `delete from ${table} where id <= 10`)
    expect(await store.count(all, 'estimated')).toBe(60_000)
    expect(await store.count(all, 'exact')).toBe(59_990)
    const page = await store.list(all, { limit: 5, offset: 59_988 }, 'estimated')
    expect([page.items.length, page.total]).toEqual([2, 59_990])
    const red = await store.count({ where: [is('color', 'in', 'c1')] }, 'estimated')
    expect(Math.abs((red ?? 0) - 8570)).toBeLessThan(2000)
  })
})

test('tables print as statements for a migration', () => {
  const shape: Shape = {
    ...SHAPE,
    fields: new Map([...SHAPE.fields].filter(([name]) => /^(id|color|price|model|at)$/.test(name))),
    unique: [['color', 'model.name']],
    indexes: [['price'], ['model.year'], [`${'x'.repeat(10)}`]].slice(0, 2),
  }
  const { createdAt, updatedAt, ...undated } = shape
  const [table, ...others] = createTableSql(undated, { database: 'postgres' })
  expect(table).toBe(
    'create table if not exists "cars" ("id" bigint primary key not null, "color" text collate "C" not null, "price" double precision, "at" text collate "C", "model" json, "rest_search_model.name" text collate "C", "version" text collate "C" not null)',
  )
  expect(others.slice(0, 3)).toEqual([
    `create unique index if not exists "cars_unique_color_model.name" on "cars" ("color", ((("model")::json ->> 'name') collate "C"))`,
    'create index if not exists "cars_by_price" on "cars" ("price" nulls first, "id")',
    `create index if not exists "cars_by_model.year" on "cars" ((case json_typeof(("model")::json -> 'year') when 'number' then (("model")::json ->> 'year')::double precision end) nulls first, "id")`,
  ])
})

describe('what the host has made', () => {
  /** A pool of one connection, and a store on it. */
  async function openOne(options: { readonly timeout?: number } = {}) {
    const pool = preparePostgres(new pg.Pool({ connectionString: postgres().url, max: 1 }))
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    const store = sqlStore({ db, table: newTable(), create: true, ...options })
    store.attach(SHAPE)
    return { pool, db, store }
  }

  test('keeps its time-out: that of a store is for its own statements', async () => {
    const { pool, db, store } = await openOne({ timeout: 1234 })
    const shown = async () => (await pool.query('show statement_timeout')).rows[0]
    const { id, version } = await createOne(store, car('red'))
    const both = [createOne(store, car('a')), createOne(store, car('b'))]
    await Promise.all(both)
    await store.transaction?.([store], async ([inside]) => inside && findOne(inside, id))
    await store.list({ where: [], sort: by('') }, { limit: 1, offset: 0 }, 'exact')
    await updateOne(store, { id, version }, car('blue'))
    expect(await shown()).toEqual({ statement_timeout: '0' })
    await pool.query("set statement_timeout = '7s'")
    await findOne(store, id)
    await store.transaction?.([store], async ([inside]) => inside && findOne(inside, id))
    expect(await shown()).toEqual({ statement_timeout: '7s' })
    await db.destroy()
  })

  test('is not hurt by a time-out longer than there are timers', async () => {
    const { db, store } = await openOne({ timeout: Number.MAX_SAFE_INTEGER })
    await Promise.all([createOne(store, car('a')), createOne(store, car('b'))])
    expect(await store.count({ where: [] }, 'exact')).toBe(2)
    await db.destroy()
  })

  test('stays open when a store is closed, and so do the stores beside it', async () => {
    const { pool, db, store } = await openOne()
    const beside = sqlStore({ db, table: newTable(), create: true })
    beside.attach(SHAPE)
    await createOne(store, car('red'))
    await store.close()
    await expect(findOne(store, 1)).rejects.toThrow(UnavailableError)
    expect((await createOne(beside, car('red'))).id).toBe(1)
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
    expect(pool.ended).toBe(false)
    await db.destroy()
  })
})

describe('warnings', () => {
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

  test.each(['no signal', 'one signal for all', 'a signal each'])(
    'there is none for 1,000 parallel calls, with %s',
    async kind => {
      const store = open(newTable())
      const { id } = await createOne(store, car('red'))
      const { signal } = new AbortController()
      const calls = {
        'no signal': () => ({}),
        'one signal for all': () => ({ signal }),
        'a signal each': () => ({ signal: new AbortController().signal }),
      }
      const { [kind as keyof typeof calls]: call } = calls
      const codes = await warningsDuring(() =>
        Promise.all(
          Array.from({ length: 1000 }, (_, at) => {
            if (at % 10 === 1) return createOne(store, car('blue'), call())
            if (at % 50 === 2) {
              return store.transaction?.(
                [store],
                async ([inside]) => inside && findOne(inside, id),
                call(),
              )
            }
            return findOne(store, id, call())
          }),
        ),
      )
      expect(codes).toEqual([])
      await store.close()
    },
  )

  test('a pool that was not prepared says once that nothing is cancelled; its reads end at once', async () => {
    const pool = new pg.Pool({ connectionString: postgres().url, max: 4 })
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    const table = newTable()
    const stores = [0, 1].map(() => sqlStore({ db, table, create: true, timeout: 200 }))
    for (const store of stores) store.attach(SHAPE)
    const [store] = stores
    if (!store) throw new Error('There is a store')
    const codes = await warningsDuring(async () => {
      for (const each of stores) await each.open?.()
      await Promise.all(stores.map(each => createOne(each, car('red'))))
    })
    expect(codes).toEqual(['REST_CONVENTIONS_NO_CANCEL'])
    await database.locked(table, async () => {
      const controller = new AbortController()
      const list = store.count({ where: [] }, 'exact', { signal: controller.signal })
      while ((await database.waiting(table)).length === 0);
      controller.abort()
      await expect(list).rejects.toThrow('aborted')
      // In a transaction the server ends it.
      const late = store.transaction?.([store], async ([inside]) => inside && findOne(inside, 1))
      await expect(late).rejects.toThrow(UnavailableError)
      expect(await database.waiting(table)).toHaveLength(1)
    })
    await db.destroy()
  })
})

test('a prepared client answers programs beside as pg does: promises, callbacks, queries that are submitted', async () => {
  const connectionString = postgres().url
  const pool = new pg.Pool({ connectionString, max: 1 })
  preparePostgres(pool)
  const client = await pool.connect()
  try {
    const rows = [{ one: 1 }]
    expect(await client.query('select 1 as one')).toMatchObject({ rows })
    expect(await client.query('select $1::int as one', [1])).toMatchObject({ rows })
    expect(await client.query({ text: 'select $1::int as one', values: [1] })).toMatchObject({
      rows,
    })
    // A wrapper hands on a callback that it was not given; a configuration is used again.
    const ask = client.query.bind(client) as (...input: unknown[]) => Promise<unknown>
    const prepared = Object.freeze({ name: 'one', text: 'select $1::int as one' })
    expect(await ask('select $1::int as one', [1], undefined)).toMatchObject({ rows })
    expect(await ask(prepared, [1], undefined)).toMatchObject({ rows })
    expect(await ask(prepared, [1])).toMatchObject({ rows })
    const called = new Promise(resolve =>
      client.query('select 1 as one', (_error: Error, result: unknown) => resolve(result)),
    )
    expect(await called).toMatchObject({ rows })
    const configured = new Promise(resolve => {
      const callback = (_error: Error, result: unknown) => resolve(result)
      client.query({ text: 'select 1 as one', callback } as pg.QueryConfig)
    })
    expect(await configured).toMatchObject({ rows })
    // As cursors and streams of rows are: the client hands them back.
    const query = new pg.Query('select 1 as one')
    const ended = new Promise(resolve => query.on('row', resolve))
    expect(client.query(query)).toBe(query)
    expect(await ended).toEqual({ one: 1 })
    const askInVain = async () => {
      await client.query('select wrong')
    }
    await expect(askInVain()).rejects.toMatchObject({
      code: '42703',
      stack: expect.stringContaining('askInVain'),
    })
    expect(() => client.query(null as never)).toThrow(TypeError)
  } finally {
    client.release()
    await pool.end()
  }
})
