// The log of changes in SQL: what other programs do is in it as the store reads it, and tables that cannot have one are
// refused.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { createTableSql, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import type { Change } from '../../src/store/changes.ts'
import type { Store } from '../../src/store/store.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { openPostgres, postgres, usePostgres } from '../stores/postgres.ts'
import { ask } from '../stores/postgres-server.ts'
import { by } from '../stores/selections.ts'
import { newTable } from '../stores/several.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { Board } from './events.ts'

usePostgres()

const DATABASES = {
  PostgreSQL: async () => openPostgres(),
  SQLite: () => openDatabase(),
} satisfies Record<string, () => Promise<Kysely<unknown>>>
type Name = keyof typeof DATABASES
const NAMES = Object.keys(DATABASES) as Name[]

const schema = z.object({
  name: z.string(),
  price: z.number().nullable().default(null),
  day: z.iso.date().optional(),
  sold: z.boolean().default(false),
  extra: z.json().optional(),
  secret: z.string().default('s'),
})

/** A store of cars, and a connection of another program beside it. */
async function open(name: Name, options: Partial<SqlStoreOptions> = {}) {
  const db = options.db ?? (await DATABASES[name]())
  const table = options.table ?? newTable()
  const store = sqlStore({ create: true, changes: true, ...options, db, table })
  const { shape } = defineCollection({
    name: 'cars',
    id: 'integer',
    schema,
    store,
    fields: { secret: 'writeOnly' },
  })
  const say = async (text: string) =>
    (
      await db.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text.replaceAll('TABLE', `"${table}"`)),
      )
    ).rows
  return { db, table, store, shape, say }
}

async function readAll(store: Store, from: string): Promise<Change[]> {
  const all: Change[] = []
  for (let position = from; ; ) {
    const read = await store.changes?.read(position, 50)
    if (!read || read === 'gone') throw new Error(String(read))
    all.push(...read.changes)
    position = read.position
    if (read.current) return all
  }
}

const start = async (store: Store) => String(await store.changes?.position())

async function list(store: Store) {
  const page = await store.list({ where: [], sort: by('') }, { limit: 1000, offset: 0 }, 'none')
  return new Map(page.items.map(({ id, item: { secret, ...item } }) => [id, item]))
}

/** What changes leave. */
function fold(changes: readonly Change[]) {
  const left = new Map<unknown, unknown>()
  for (const { id, after } of changes) {
    if (after) left.set(id, after)
    else left.delete(id)
  }
  return left
}

describe.each(NAMES)('%s', name => {
  const insert = `insert into TABLE (id, name, price, sold, secret, created_at, updated_at, version)`
  const row = (id: number, price = '1.5', sold = name === 'SQLite' ? '1' : 'true') =>
    `(${id}, 'a', ${price}, ${sold}, 's', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'v')`

  test('writes of other programs are logged as the store reads them', async () => {
    const { store, say } = await open(name)
    const position = await start(store)
    await say(`${insert} values ${row(1)}, ${row(2, '0.1 + 0.2')}, ${row(3, 'null')}`)
    await say(`update TABLE set name = 'it''s "b"\n\u{1F600}', day = '2024-02-29' where id = 2`)
    await say(`update TABLE set extra = '{"a":[1,null,"x"]}' where id = 1`)
    await say('update TABLE set id = 9 where id = 3')
    await say("update TABLE set secret = 't' where id = 1")
    await say('delete from TABLE where id = 2')
    const changes = await readAll(store, position)
    expect(fold(changes)).toEqual(await list(store))
    expect(JSON.stringify(changes)).not.toContain('secret')
    expect(changes.filter(({ id }) => id === 3).map(({ after }) => after?.name)).toEqual([
      'a',
      undefined,
    ])
  })

  test('numbers are logged with all their digits', async () => {
    const { store } = await open(name)
    const position = await start(store)
    const prices = [5e-324, 1.7976931348623157e308, -0.1, 1e21, 2 ** 53, 123456789.12345679]
    for (let at = 0; at < 200; at++) prices.push(((at * 7919) % 1013) / 997 / 3 ** (at % 40))
    for (const price of prices)
      await createOne(store, { name: 'n', price, secret: 's', sold: false })
    expect(fold(await readAll(store, position))).toEqual(await list(store))
  })

  test('a trigger that changes the row once more is logged as it left the row', async () => {
    const { store, say, table } = await open(name)
    await store.open?.()
    if (name === 'SQLite') {
      await say(
        `create trigger z_touch after update on TABLE when new.price is 1 begin update TABLE set price = 2 where id = new.id; end`,
      )
    } else {
      await say(
        `create function touch_${table}() returns trigger language plpgsql as $$ begin if new.price = 1 then update TABLE set price = 2 where price = 1; end if; return null; end $$`,
      )
      await say(
        `create trigger a_touch after update on TABLE for each row execute function touch_${table}()`,
      )
    }
    const position = await start(store)
    await say(`${insert} values ${row(1)}, ${row(2)}, ${row(3)}`)
    await say('update TABLE set price = 1')
    expect(fold(await readAll(store, position))).toEqual(await list(store))
    expect([...(await list(store)).values()].map(({ price }) => price)).toEqual([2, 2, 2])
  })

  test('what a foreign key deletes is logged', async () => {
    const { store, say } = await open(name)
    await store.open?.()
    const parents = newTable()
    await say(`create table ${parents} (id integer primary key)`)
    await say(
      `alter table TABLE add column parent_id integer references ${parents} (id) on delete cascade`,
    )
    await say(`insert into ${parents} values (1)`)
    await say(`${insert} values ${row(1)}, ${row(2)}`)
    await say('update TABLE set parent_id = 1 where id = 2')
    const position = await start(store)
    await say(`delete from ${parents}`)
    expect(await readAll(store, position)).toMatchObject([{ id: 2, after: undefined }])
  })

  test('a log that is pruned is gone for those who are too far behind', async () => {
    const { store } = await open(name, { changes: { keep: 1000 } })
    const old = await start(store)
    await createOne(store, { name: 'n', secret: 's', sold: false })
    const { LogReader } = await import('../../src/sql/changes/log-reader.ts')
    const { Session } = await import('../../src/sql/session/session.ts')
    const { DATABASES: all } = await import('../../src/sql/databases/databases.ts')
    const database = name === 'SQLite' ? all.sqlite : all.postgres
    const session = new Session(Object(store).database, database, undefined)
    const position = (await store.changes?.read(old, 9)) ?? 'gone'
    if (position === 'gone') throw new Error(position)
    await new LogReader(session, database, 1000).prune(-3600)
    expect(await store.changes?.read(old, 9)).toBe('gone')
    expect(await store.changes?.read(position.position, 9)).toMatchObject({ changes: [] })
    await createOne(store, { name: 'm', secret: 's', sold: false })
    expect((await readAll(store, position.position)).map(({ after }) => after?.name)).toEqual(['m'])
  })

  test('a log that gets another name, as after a restore, is gone for all', async () => {
    const { store, say } = await open(name)
    const position = await start(store)
    await say(`update rest_changes set id = '${'f'.repeat(32)}' where seq = 0`)
    expect(await store.changes?.read(position, 9)).toBe('gone')
    await createOne(store, { name: 'n', secret: 's', sold: false })
    expect(await readAll(store, await start(store))).toEqual([])
  })

  test('a process with more columns logs them, and one with fewer reads what it knows', async () => {
    const { db, table, store, say } = await open(name)
    await store.open?.()
    const wide = sqlStore({ db, table, migrate: true, changes: true })
    const { shape } = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: schema.extend({ color: z.string().default('red') }),
      store: wide,
      fields: { secret: 'writeOnly' },
    })
    expect(shape.fields.has('color')).toBe(true)
    await wide.open?.()
    const position = await start(store)
    const created = await createOne(wide, { name: 'n', secret: 's', sold: false, color: 'blue' })
    expect((await readAll(wide, position)).map(({ after }) => after?.color)).toEqual(['blue'])
    expect((await readAll(store, position)).map(({ after }) => after?.name)).toEqual(['n'])
    const again = await open(name, { db, table })
    await again.store.open?.()
    await say(`update TABLE set name = 'x' where id = ${created.id}`)
    const last = (await readAll(wide, position)).at(-1)
    expect(last).toMatchObject({ before: { color: 'blue' }, after: { color: 'blue', name: 'x' } })
  })

  test.each(['one store', 'a store each, of which one renames a column'])(
    'versions over one table with %s: each follows what the other writes',
    async way => {
      const db = await DATABASES[name]()
      const options = { db, table: newTable(), create: true, migrate: true, changes: true } as const
      const store = sqlStore(options)
      const renames = way !== 'one store'
      const other = renames ? sqlStore({ ...options, columns: { shade: 'color' } }) : store
      const color = z.string()
      const each = { name: 'cars', id: 'integer', live: true, timestamps: false } as const
      const first = renames
        ? defineCollection({ ...each, store: other, schema: z.object({ shade: color }) })
        : defineCollection({ ...each, store, schema: z.object({ color }) })
      const doors = z.int().default(5)
      const second = defineCollection({ ...each, store, schema: z.object({ color, doors }) })
      const api = defineApi({
        versions: [
          { version: 1, collections: [first] },
          { version: 2, collections: [second] },
        ],
      })
      // The old version was there first: who makes the table decides what the other may leave out.
      await other.open?.()
      await api.open()
      const ask = (path: string, init: RequestInit = {}) =>
        api.fetch(new Request(`http://api.example${path}`, init))
      const send = async (path: string, method: string, body?: object) => {
        const headers = { 'Content-Type': 'application/json' }
        const response = await ask(path, { method, headers, body: JSON.stringify(body) ?? null })
        expect(response.status).toBeLessThan(400)
      }
      const of = renames ? 'shade' : 'color'
      const boards = { [`/v1/cars?${of}=red`]: new Board(), '/v2/cars?color=red': new Board() }
      for (const [path, board] of Object.entries(boards))
        await board.connect((headers, signal) => ask(path, { headers, signal }))
      const areLists = async () => {
        for (const [path, board] of Object.entries(boards))
          await board.until(async () => {
            const shown = [...board.items.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
            return board.isReady && JSON.stringify(shown) === (await (await ask(path)).text())
          })
      }
      const harms = [
        () => send('/v2/cars', 'POST', { color: 'red', doors: 3 }),
        () => send('/v1/cars', 'POST', { [of]: 'red' }),
        () => send('/v1/cars/1', 'PATCH', { [of]: 'blue' }),
        () => send('/v2/cars/1', 'PATCH', { color: 'red' }),
        () => send('/v2/cars/2', 'PATCH', { doors: 7 }),
        () => send('/v1/cars/2', 'DELETE'),
      ]
      for (const harm of harms) {
        await harm()
        await areLists()
      }
      const events = Object.values(boards).flatMap(board => board.events)
      expect(events.filter(({ event }) => event === 'reset')).toHaveLength(2)
      for (const board of Object.values(boards)) await board.disconnect()
      await api.close()
    },
  )

  test('tables whose changes nobody logs are refused when they are opened', async () => {
    const { store, shape, say, db, table } = await open(name, { changes: false })
    expect(store.changes).toBeUndefined()
    await store.open?.()
    const bare = sqlStore({ db, table, changes: true })
    defineCollection({
      name: 'cars',
      id: 'integer',
      schema,
      store: bare,
      fields: { secret: 'writeOnly' },
    })
    await expect(bare.open?.()).rejects.toThrow(
      /createTableSql\(cars.shape, { .* changes: true }\)/,
    )
    const view = newTable()
    await say(`create view "${view}" as select * from TABLE`)
    const over = sqlStore({ db, table: view, changes: true, create: true, version: false })
    defineCollection({ name: 'cars', id: 'integer', schema, store: over })
    await expect(over.open?.()).rejects.toThrow(/cannot log its changes: it is no table/)
    const database = name === 'SQLite' ? 'sqlite' : 'postgres'
    for (const each of createTableSql(shape, { database, table, changes: true })) await say(each)
    await bare.open?.()
    expect(await start(bare)).toMatch(/^[\da-f]{32,40}-\d+$/)
  })

  test.each([[{ keep: 10 }], [{ keep: '1d' }], [{ keeps: 10_000 }], ['yes'], [1]])(
    'changes: %j is a TypeError',
    async changes => {
      const options = { db: await DATABASES[name](), changes: changes as never }
      expect(() => sqlStore(options)).toThrow(/changes must be true, false, or { keep }/)
    },
  )
})

test('a role of its own follows a table if it may use the log, and is told how', async () => {
  const { store, say, table } = await open('PostgreSQL')
  await store.open?.()
  const role = `guest_${table}`
  await say(`create role ${role} login password 'p'`)
  await say(`grant select, insert, update on TABLE to ${role}`)
  const url = new URL(postgres().url)
  url.username = role
  url.password = 'p'
  const db = openPostgres({ connectionString: url.href })
  const attach = (options: Partial<SqlStoreOptions> = {}) => {
    const other = sqlStore({ db, table, changes: true, ...options })
    const fields = { secret: 'writeOnly' } as const
    defineCollection({ name: 'cars', id: 'integer', schema, store: other, fields })
    return other
  }
  const refusal = await Promise.resolve(attach().open?.()).catch(String)
  const [, statements = ''] = /as its owner run: (.*)\. Leave it out/.exec(String(refusal)) ?? []
  await say(statements)
  const other = attach()
  const position = await start(other)
  await createOne(store, { name: 'n', secret: 's', sold: false })
  expect((await readAll(other, position)).map(({ after }) => after?.name)).toEqual(['n'])
  await say(`drop trigger "${table}_rest_changes" on TABLE`)
  await expect(attach({ create: true }).open?.()).rejects.toThrow(
    /needs triggers and rest_changes. As the owner of the table run/,
  )
  await say('alter table TABLE enable row level security')
  await expect(attach().open?.()).rejects.toThrow(/it has row security/)
  await say(`drop owned by ${role}`)
  await say(`drop role ${role}`)
})

test('a truncated table of PostgreSQL is gone for all who followed it', async () => {
  const { store, say } = await open('PostgreSQL')
  const position = await start(store)
  await createOne(store, { name: 'n', secret: 's', sold: false })
  await say('truncate TABLE')
  expect(await store.changes?.read(position, 9)).toBe('gone')
  expect(await readAll(store, await start(store))).toEqual([])
})

test('a role that may write the table alone is logged, and reads nothing of the log', async () => {
  const { store, say, table } = await open('PostgreSQL')
  const position = await start(store)
  const role = `clerk_${table}`
  await say(`create role ${role} login password 'p'`)
  await say(`grant select, insert, update on TABLE to ${role}`)
  const url = new URL(postgres().url)
  url.username = role
  url.password = 'p'
  // A table of its own in the place of the log changes nothing.
  const trap =
    'create temp table rest_changes (seq int, name text, id text, before text, after text)'
  const values = `(id, name, sold, secret, created_at, updated_at, version) values (1, 'a', true, 's', now(), now(), 'v')`
  await ask(url.href, `${trap}; insert into "${table}" ${values}`)
  expect((await readAll(store, position)).map(({ id }) => id)).toEqual([1])
  await expect(ask(url.href, 'select * from public.rest_changes')).rejects.toThrow(/permission/)
  await say(`grant select on rest_changes to ${role}`)
  expect(await ask(url.href, 'select * from public.rest_changes')).toEqual([])
  const own = openPostgres({ connectionString: url.href })
  const other = sqlStore({ db: own, table, changes: true })
  defineCollection({ name: 'cars', id: 'integer', schema, store: other })
  await expect(other.open?.()).rejects.toThrow(/its role may not use rest_changes/)
  await say(`drop owned by ${role}`)
  await say(`drop role ${role}`)
})

test('a long transaction holds changes back, and none is lost', async () => {
  const { store, table } = await open('PostgreSQL')
  const position = await start(store)
  const slow = openPostgres({ max: 1 })
  const text = (each: string) => slow.executeQuery(CompiledQuery.raw(each))
  await text('begin')
  await text(
    `insert into "${table}" (id, name, sold, secret, created_at, updated_at, version) values (7, 'slow', true, 's', now(), now(), 'v')`,
  )
  await createOne(store, { name: 'fast', secret: 's', sold: false })
  const during = await store.changes?.read(position, 9)
  expect(during).toMatchObject({ changes: [], position, current: false })
  expect(store.changes?.late?.()).toBeGreaterThan(0)
  await text('commit')
  const names = (await readAll(store, position)).map(({ after }) => after?.name)
  expect(names.toSorted()).toEqual(['fast', 'slow'])
  expect(store.changes?.late?.()).toBe(0)
})

test.each([
  ['citext', 'red', 'RED', 'blue'],
  ['numeric(9,2)', '1.50', '-1.50', '2'],
  ['inet', '10.0.0.1', '10.0.0.1/8', '::1'],
])(
  'a filter of %s, which the database judges, finds what the list finds',
  async (type, value, near, other) => {
    const db = openPostgres()
    const table = newTable()
    const run = (text: string) =>
      db.executeQuery(CompiledQuery.raw(text.replaceAll('TABLE', `"${table}"`)))
    await run('create extension if not exists citext')
    await run(
      `create table TABLE (id int primary key, color ${type} not null, size int, version text not null)`,
    )
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ color: z.string(), size: z.int().nullable().default(null) }),
      store: sqlStore({ db, table, create: true, changes: true }),
      timestamps: false,
      live: true,
    })
    const api = defineApi({ collections: { cars } })
    await api.open()
    const insert = (id: number, color: string) =>
      run(`insert into TABLE (id, color, version) values (${id}, '${color}', 'v')`)
    await insert(1, value)
    await insert(2, other)
    const board = new Board()
    const open = (headers: Record<string, string>, signal: AbortSignal) =>
      api.fetch(new Request(`http://api.example/cars?color=${value}`, { headers, signal }))
    await board.connect(open)
    const isList = async () => {
      const found = await api.fetch(new Request(`http://api.example/cars?color=${value}`))
      const shown = [...board.items.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
      return board.isReady && JSON.stringify(shown) === (await found.text())
    }
    await board.until(isList)
    expect(board.items.size).toBe(1)
    const harms = [
      () => insert(3, near),
      () => insert(4, value),
      () => run(`update TABLE set color = '${value}' where id = 2`),
      () => run(`update TABLE set color = '${other}' where id = 1`),
      () => run(`update TABLE set size = 7 where id = 4`),
      () => run('delete from TABLE where id = 2'),
    ]
    for (const harm of harms) {
      await harm()
      await board.until(isList)
    }
    // Its past is not known: who comes again begins anew.
    await board.disconnect()
    const seen = board.events.length
    await board.connect(open)
    await board.until(isList)
    expect(board.events[seen]?.event).toBe('reset')
    await board.disconnect()
    await api.close()
  },
)

test('a row policy of citext, and a filter of an enum, show what the list shows', async () => {
  const db = openPostgres()
  const table = newTable()
  const run = (text: string) =>
    db.executeQuery(CompiledQuery.raw(text.replaceAll('TABLE', `"${table}"`)))
  await run('create extension if not exists citext')
  await run(`create type "${table}_state" as enum ('new', 'used', 'old')`)
  await run(
    `create table TABLE (id int primary key, owner citext not null, state "${table}_state" not null, version text not null)`,
  )
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ owner: z.string(), state: z.enum(['new', 'used', 'old']) }),
    store: sqlStore({ db, table, create: true, changes: true }),
    timestamps: false,
    live: true,
    visible: () => ({ owner: 'ann' }),
  })
  const api = defineApi({ collections: { cars } })
  await api.open()
  for (const query of ['', '?state=used', '?state[nin]=new']) {
    await run('delete from TABLE')
    const board = new Board()
    await board.connect((headers, signal) =>
      api.fetch(new Request(`http://api.example/cars${query}`, { headers, signal })),
    )
    const harms = [
      `insert into TABLE values (1, 'ANN', 'used', 'v'), (2, 'ann', 'new', 'v'), (3, 'Bob', 'used', 'v')`,
      `update TABLE set owner = 'aNN' where id = 3`,
      `update TABLE set state = 'old' where id < 3`,
      `update TABLE set owner = 'bob' where id = 1`,
      'delete from TABLE where id = 3',
    ]
    for (const harm of harms) {
      await run(harm)
      await board.until(async () => {
        const found = await api.fetch(new Request(`http://api.example/cars${query}`))
        const shown = [...board.items.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
        return board.isReady && JSON.stringify(shown) === (await found.text())
      })
    }
    expect(JSON.stringify(board.events)).not.toMatch(/bob/i)
    await board.disconnect()
  }
  await api.close()
})
