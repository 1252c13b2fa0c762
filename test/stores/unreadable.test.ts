// Values that no answer can say, of tables of others: a list, a read by id, a live list and the trash have one judge, the
// database, and pages go on behind them.
import { CompiledQuery, type Kysely } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { Board } from '../live/events.ts'
import { runs } from '../random.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { MADE, POSTGRES, proveShown, SQLITE } from './shown-values.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

it('what a read shows is found in PostgreSQL, whatever the type', async () => {
  const db = openPostgres()
  for (const text of MADE) await db.executeQuery(CompiledQuery.raw(text))
  expect((await proveShown(db, POSTGRES, { count: runs(500) })).wrong).toEqual([])
})

it('what a read shows is found in SQLite, whatever the type', async () => {
  expect((await proveShown(await openDatabase(), SQLITE, { count: runs(500) })).wrong).toEqual([])
})

const NOW = '2026-01-01T00:00:00.000Z'

/** The database, the type of `ends`, a value that a read shows, one that it does not show, and is greater. */
const ENDS = [
  ['PostgreSQL', 'timestamptz', "'2025-01-01Z'", "'infinity'"],
  ['SQLite', 'datetime', "'2025-01-01 00:00:00'", "'2099-01-01 10:00 h'"],
] as const

describe.each(ENDS)('in %s a %s', (database, type, readable, unreadable) => {
  const apis: { close(): Promise<void> }[] = []
  afterAll(() => Promise.all(apis.map(api => api.close())))

  /** Rows 1 and 2 of Ann, 3 of Bob: 1 has ended, the ends of 2 and 3 cannot be read. */
  async function serve(options: object, more: object = {}) {
    const db: Kysely<unknown> = database === 'SQLite' ? await openDatabase() : openPostgres()
    const table = newTable()
    const say = (text: string) =>
      db.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text.replaceAll('TABLE', `"${table}"`)),
      )
    await say(
      `create table TABLE (id integer primary key, name text not null, owner text not null, ends ${type}, version text not null default 'v')`,
    )
    const insert = (id: number, owner: string, ends: string) =>
      say(`insert into TABLE (id, name, owner, ends) values (${id}, 'n', '${owner}', ${ends})`)
    await insert(1, 'ann', readable)
    await insert(2, 'ann', unreadable)
    await insert(3, 'bob', unreadable)
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({
        name: z.string(),
        owner: z.string(),
        ends: z.iso.datetime().nullable().default(null),
      }),
      store: sqlStore({ db, table, version: false, create: 'records', ...more }),
      id: 'integer',
      timestamps: false,
      ...options,
    })
    const api = defineApi({ collections: { notes } })
    apis.push(api)
    const ask = async (path: string, method = 'GET', body?: object) => {
      const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      const answer = await api.fetch(new Request(new URL(path, 'http://x'), init))
      const text = await answer.text()
      return {
        status: answer.status,
        // biome-ignore lint/suspicious/noExplicitAny: an item, a list or errors, of which each test compares what it asked for
        json: (text === '' ? undefined : JSON.parse(text)) as any,
        next: /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1],
      }
    }
    const ids = async (path: string) =>
      (await ask(path)).json.map(({ id }: { id: number }) => id) as number[]
    return { api, say, insert, ask, ids }
  }

  it.each([
    [{ ends: { gt: NOW } }, [2, 3]],
    [{ not: { ends: { gt: NOW } } }, [1]],
    [{ ends: { exists: true } }, [1, 2, 3]],
    [{ ends: { exists: false } }, []],
    [{ or: [{ owner: 'ann' }, { ends: { lt: NOW } }] }, [1, 2]],
  ])('that cannot be read is judged by the database: the policy %j', async (policy, expected) => {
    const { ask, ids } = await serve({ visible: () => policy })
    expect(await ids('/notes?sort=id')).toEqual(expected)
    for (const id of [1, 2, 3]) {
      const status = expected.includes(id as never) ? 200 : 404
      expect([id, (await ask(`/notes/${id}`)).status]).toEqual([id, status])
      expect([id, (await ask(`/notes/${id}`, 'PATCH', { name: 'new' })).status]).toEqual([
        id,
        status,
      ])
    }
    expect(await ids('/notes?name=new&sort=id')).toEqual(expected)
  })

  it('that cannot be read stays with a write that leaves it, and takes no item out of sight', async () => {
    const { ask, ids, say } = await serve({
      visible: () => ({ owner: { in: ['ann', 'bob'] }, ends: { gt: NOW } }),
    })
    const patch = (id: number, body: object) => ask(`/notes/${id}`, 'PATCH', body)
    expect((await patch(2, { name: 'b' })).json).toMatchObject({ name: 'b', ends: null })
    expect((await patch(2, { ends: '2025-01-01T00:00:00Z' })).status).toBe(403)
    // Whether it would be seen then only the database can tell.
    expect((await patch(2, { owner: 'bob' })).status).toBe(403)
    expect((await patch(2, { owner: 'bob', ends: '2027-01-01T00:00:00Z' })).status).toBe(200)
    expect((await say('select ends from TABLE where id = 3')).rows[0]?.ends).not.toBe(null)
    expect(await ids('/notes?sort=id')).toEqual([2, 3])
  })

  it('that cannot be read has its place in a sort: pages go on behind it', async () => {
    const { ask, ids, insert } = await serve({})
    for (let id = 4; id < 12; id++)
      await insert(id, 'ann', [readable, unreadable, 'null'][id % 3] ?? 'null')
    for (const sort of ['ends', '-ends', 'owner,ends', 'owner,-ends', '-owner,-ends,id']) {
      for (const filter of ['', '&ends[exists]=true']) {
        const whole = await ids(`/notes?sort=${sort}${filter}`)
        const paged: number[] = []
        let path: string | undefined = `/notes?limit=1&sort=${sort}${filter}`
        while (path !== undefined && paged.length < 20) {
          const page: Awaited<ReturnType<typeof ask>> = await ask(path)
          paged.push(page.json[0].id)
          path = page.next
        }
        expect([sort, paged]).toEqual([sort, whole])
      }
    }
  })

  it('that cannot be read, as the date of a deletion, is in the trash alone', async () => {
    const { ask, ids } = await serve({ trash: 'ends' })
    expect(await ids('/notes')).toEqual([])
    expect((await ask('/notes/2')).status).toBe(404)
    expect(await ids('/notes/trash?sort=id')).toEqual([1, 2, 3])
    expect((await ask('/notes/trash/2')).status).toBe(200)
  })

  it('that cannot be read is in a live list where it is in the list', async () => {
    const { api, say, insert } = await serve(
      { live: true },
      { version: 'version', changes: true, create: true },
    )
    await api.open()
    const path = `http://x/notes?ends[gt]=${NOW}`
    const board = new Board()
    await board.connect((headers, signal) => api.fetch(new Request(path, { headers, signal })))
    const isList = async () => {
      const found = await (await api.fetch(new Request(path))).text()
      const shown = [...board.items.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
      return board.isReady && JSON.stringify(shown) === found
    }
    await board.until(isList)
    expect(board.items.size).toBe(2)
    const harms = [
      () => insert(4, 'ann', unreadable),
      () => insert(5, 'ann', readable),
      () => say(`update TABLE set ends = ${unreadable} where id = 1`),
      () => say(`update TABLE set name = 'x' where id = 2`),
      () => say(`update TABLE set ends = ${readable} where id = 2`),
      () => say('delete from TABLE where id = 3'),
    ]
    for (const harm of harms) {
      await harm()
      await board.until(isList)
    }
    await board.disconnect()
  })
})

it('a text in a collation of SQLite is compared by code point, and is no id', async () => {
  const db = await openDatabase()
  const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await say(
    `create table users (id integer primary key, "order" varchar(9) COLLATE "NoCase" unique, name text not null)`,
  )
  await say(`insert into users values (1, 'Ann', 'x'), (2, 'bob', 'X')`)
  const users = defineCollection({
    name: 'users',
    schema: z.object({ order: z.string().nullable(), name: z.string() }),
    store: sqlStore({ db, version: false, create: 'records' }),
    id: 'integer',
    timestamps: false,
    unique: ['order'],
  })
  const api = defineApi({ collections: { users } })
  await api.open()
  const find = async (query: string) => {
    const found = await api.fetch(new Request(`http://x/users?fields=id&${query}`))
    return ((await found.json()) as { id: number }[]).map(({ id }) => id)
  }
  expect(await find('order=Ann')).toEqual([1])
  expect(await find('order=ann')).toEqual([])
  expect(await find('order[gt]=B')).toEqual([2])
  expect(await find('name=x')).toEqual([1])
  await api.close()
  await say('create table codes (id text collate nocase primary key)')
  const codes = defineCollection({
    name: 'codes',
    schema: z.object({ id: z.string() }),
    store: sqlStore({ db, version: false, create: 'records' }),
    timestamps: false,
  })
  await expect(defineApi({ collections: { codes } }).open()).rejects.toThrow(
    /"id" is TEXT COLLATE, which cannot be read, compared and sorted as a string/,
  )
})

it('a key of SQLite that is null is refused by its name', async () => {
  const db = await openDatabase()
  const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await say('create table codes (code text primary key, name text not null)')
  await say("insert into codes values (null, 'x')")
  const errors: unknown[] = []
  const codes = defineCollection({
    name: 'codes',
    schema: z.object({ id: z.string(), name: z.string() }),
    store: sqlStore({ db, columns: { id: 'code' }, version: false, create: 'records' }),
    timestamps: false,
  })
  const { fetch } = defineApi({
    collections: { codes },
    onError: error => void errors.push(String(error)),
  })
  expect((await fetch(new Request('http://x/codes'))).status).toBe(500)
  expect(errors[0]).toMatch(/codes: its column "code" holds null, which is no id of this kind/)
})

describe.each([
  ['PostgreSQL', "'infinity'", "'0044-01-01 BC'", "'NaN'", 'bigint'],
  ['SQLite', "'soon'", '5', "'1,5'", 'bigint'],
] as const)('groups in %s', (database, time, day, number, integer) => {
  it('have null for what no answer can say', async () => {
    const db = database === 'SQLite' ? await openDatabase() : openPostgres()
    const table = newTable()
    const type = database === 'SQLite' ? 'datetime' : 'timestamptz'
    for (const text of [
      `create table ${table} (id int primary key, at ${type}, day date, n real, m ${integer})`,
      `insert into ${table} values (1, ${time}, ${day}, ${number}, 9007199254740993), (2, null, null, null, null), (3, '2026-05-01T12:00:00Z', '2026-05-01', 1.5, 7)`,
    ])
      await db.executeQuery(CompiledQuery.raw(text))
    const rows = defineCollection({
      name: 'rows',
      schema: z.object({
        at: z.iso.datetime().nullable(),
        day: z.iso.date().nullable(),
        n: z.number().nullable(),
        m: z.int().nullable(),
      }),
      store: sqlStore({ db, table, version: false, create: 'records' }),
      id: 'integer',
      timestamps: false,
      groups: ['at', 'day', 'n', 'm'],
    })
    const { fetch } = defineApi({ collections: { rows } })
    const count = async (query: string) => {
      const found = await fetch(new Request(`http://x/rows/count?${query}`))
      return [found.status, JSON.parse(await found.text())] as const
    }
    const KEYS = {
      at: '2026-05-01T12:00:00.000Z',
      'at:month': '2026-05',
      day: '2026-05-01',
      'day:month': '2026-05',
      'day:year': '2026',
      n: 1.5,
      m: 7,
    }
    for (const [by, key] of Object.entries(KEYS)) {
      const [name = ''] = by.split(':')
      const [status, groups] = await count(`by=${by}`)
      const sorted = groups.toSorted(
        (a: { count: number }, b: { count: number }) => b.count - a.count,
      )
      expect([by, status, sorted]).toEqual([
        by,
        200,
        [
          { [name]: null, count: 2 },
          { [name]: key, count: 1 },
        ],
      ])
    }
    expect((await count('by=at&max=m&min=m'))[0]).toBe(200)
  })
})
