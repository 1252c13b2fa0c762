import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/memory-store.ts'
import type { Field } from '../../src/schema/fields.ts'
import { createTableSql, sqlStore } from '../../src/sql/index.ts'
import { DiskFullError, UnavailableError } from '../../src/store/errors.ts'
import { toKeyedStore } from '../../src/store/keyed-store.ts'
import type { Shape } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { LISTS } from './plans.ts'
import { agrees, by, is, maybe, plain, SHAPE, text } from './selections.ts'
import { newFile, openDatabase } from './sqlite.ts'

describe('SQLite gives the answer of the store in memory', () => {
  test('for any items, filters, searches, sorts and slices', async () => {
    const db = await openDatabase(':memory:')
    await agrees(table => sqlStore({ db, create: true, table, clock: () => 1e12 }), db, 40)
    await db.destroy()
  })

  test.each(['value', 'Type', 'key', 'path', 'parent', 'root', 'json', 'rowid'])(
    'for a list with the name of a column of json_each: %s',
    async name => {
      const list: Field = { kind: 'array', ...plain, optional: true, element: text }
      const shape: Shape = { ...SHAPE, fields: new Map([...SHAPE.fields, [name, list]]) }
      for (const table of ['cars', 'e']) {
        const db = await openDatabase(':memory:')
        const stores = [memoryStore(), sqlStore({ db, create: true, table })]
        for (const store of stores) {
          store.attach(shape)
          for (const item of [{ [name]: ['x', 'y'] }, { [name]: ['y'] }, {}])
            await createOne(store, { color: 'red', price: 1, year: 1, ...item })
        }
        for (const filter of [
          is(name, 'in', 'x'),
          is(name, 'nin', 'x'),
          is(name, 'prefix', 'x'),
          is(name, 'exists', true),
          is(name, 'exists', false),
        ]) {
          const [memory, sqlite] = await Promise.all(
            stores.map(each => each.count({ where: [filter] }, 'exact')),
          )
          expect([filter, sqlite]).toEqual([filter, memory])
        }
        await db.destroy()
      }
    },
  )
})

/** Whether a statement asks how many rows a table may have, which is remembered for some seconds. */
const asksSize = ({ sql }: { readonly sql: string }) => sql.endsWith(' as numbers')

describe('SQLite answers by an index', async () => {
  const seen: { sql: string; parameters: readonly unknown[] }[] = []
  const database = new Database(newFile())
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database }),
    log: ({ query }) => {
      if (!asksSize(query)) seen.push(query)
    },
  })
  const store = sqlStore({ db, create: true })
  store.attach(SHAPE)
  await createOne(store, { color: 'c1', price: 1, year: 1 })
  database.exec(`
    with recursive rows (n) as (select 2 union all select n + 1 from rows where n < 20000)
    insert into cars (id, color, price, year, at, model, created_at, updated_at, version)
    select n, 'c' || (n % 500), n % 3000, n, '2024-01-01T00:00:00Z', json_object('name', 'x', 'year', n),
      strftime('%Y-%m-%dT%H:%M:%S.000Z', '2024-01-01', n || ' seconds'), '2024-01-01T00:00:00.000Z', 'v'
    from rows`)

  test.each(LISTS)('%s and its total', async (_name, where, sort, slice) => {
    seen.length = 0
    await store.list({ where, sort: by(sort) }, slice, 'exact')
    expect(seen.length).toBe(1)
    for (const statement of [...seen]) {
      // Bound as the driver binds them.
      const plan = database.prepare(`explain query plan ${statement.sql}`).all(statement.parameters)
      const steps = plan.map(step => String((step as { detail: string }).detail))
      for (const step of steps) {
        expect(step).toMatch(
          /^(?:SEARCH|SCAN) cars(?: USING|$)|^SCALAR SUBQUERY|^SCAN (?:pragma_data_version|CONSTANT ROW)/,
        )
        // Whole, in the order of ids: what the default list and a count without filters are.
        if (step === 'SCAN cars') expect([_name, where]).toEqual([_name, []])
      }
      if (where.length > 0) expect(steps.join()).toContain('SEARCH')
    }
  })

  test.each([
    ['downwards', '-price', false],
    ['downwards, its ids upwards', '-price,id', false],
    ['back from a place', 'price', true],
  ])(
    'a cursor page %s finds its place among values that may be null',
    async (_name, sort, backward) => {
      seen.length = 0
      const slice = { limit: 25, key: [20, 150], backward }
      const { items } = await store.list({ where: [], sort: by(sort) }, slice, 'none')
      expect(items).toHaveLength(25)
      const statement = seen.at(-1)
      const plan = database
        .prepare(`explain query plan ${statement?.sql}`)
        .all(statement?.parameters ?? [])
      const steps = plan.map(step => String((step as { detail: string }).detail))
      const reads = steps.filter(step => step.includes(' cars'))
      expect(reads).toEqual([
        'SEARCH cars USING INDEX cars_by_price (price<?)',
        'SEARCH cars USING INDEX cars_by_price (price=?)',
      ])
    },
  )
})

describe('a total', () => {
  test('is counted once, and again after any change', async () => {
    const file = newFile()
    const seen: string[] = []
    const database = new Database(file)
    const dialect = new SqliteDialect({ database })
    const log = ({ query }: { query: { sql: string } }) => {
      seen.push(query.sql)
    }
    const store = sqlStore({ db: new Kysely<unknown>({ dialect, log }), create: true })
    store.attach(SHAPE)
    const red = { where: [is('color', 'in', 'red')], sort: by('') }
    const totals = async () => {
      seen.length = 0
      const { total } = await store.list(red, { limit: 1, offset: 0 }, 'exact')
      const counted = seen.some(each => each.includes('count('))
      expect(await store.count(red, 'exact')).toBe(total)
      return [total, counted]
    }
    const insert =
      "insert into cars (color, year, created_at, updated_at, version) values ('red', 1, '', '', '')"
    await createOne(store, { color: 'red', year: 1 })
    expect(await totals()).toEqual([1, true])
    expect(await totals()).toEqual([1, false])
    await createOne(store, { color: 'red', year: 2 })
    expect(await totals()).toEqual([2, true])
    database.exec(insert)
    expect(await totals()).toEqual([3, true])
    const other = new Database(file)
    other.exec(insert)
    expect(await totals()).toEqual([4, true])
    expect(await totals()).toEqual([4, false])
    other.exec('delete from cars')
    expect(await totals()).toEqual([0, true])
    other.close()
    await store.close()
  })
})

describe('a total while others write', () => {
  test('is counted with its page, until the database rests', async () => {
    const seen: string[] = []
    const dialect = new SqliteDialect({ database: new Database(':memory:') })
    const log = ({ query }: { query: { sql: string } }) => {
      if (!asksSize(query)) seen.push(query.sql)
    }
    const store = sqlStore({ db: new Kysely<unknown>({ dialect, log }), create: true })
    store.attach(SHAPE)
    const all = { where: [is('color', 'in', 'red')], sort: by('') }
    /** Lists, and says how many statements that took, and how many of them count. */
    const list = async () => {
      seen.length = 0
      const { total } = await store.list(all, { limit: 1, offset: 0 }, 'exact')
      const counts = seen.filter(each => each.includes('count('))
      return [total, seen.length, counts.length]
    }
    const found = []
    for (let at = 0; at < 5; at++) {
      await createOne(store, { color: 'red', year: at })
      found.push(await list())
    }
    const single = Number(found[0]?.[1])
    expect(
      found.map(([total, statements, counts]) => [total, Number(statements) / single, counts]),
    ).toEqual([
      [1, 1, 1],
      [2, 2, 1],
      [3, 2, 1],
      [4, 1, 1],
      [5, 1, 1],
    ])
    // It rests: the next list counts once more, and those behind it do not.
    expect(await list()).toEqual([5, single, 1])
    expect(await list()).toEqual([5, single, 0])
    await store.close()
  })
})

describe('a SQLite file', () => {
  test('returns items, versions, ids and idempotency answers when it is opened again', async () => {
    const file = newFile()
    const open = async () => {
      const store = sqlStore({ db: await openDatabase(file), create: true })
      store.attach(SHAPE)
      return toKeyedStore(store)
    }
    const before = await open()
    const kept = await createOne(before, {
      color: 'red',
      year: 1,
      price: 0.1 + 0.2,
      tags: ['\u{1F600}'],
    })
    await before.claim('key', 'print')
    const newest = await createOne(before, { color: 'blue', year: 2 }, { idempotencyKey: 'key' })
    await deleteOne(before, newest)
    await before.close()
    const after = await open()
    expect(await findOne(after, kept.id)).toEqual(kept)
    expect(await after.claim('key', 'other')).toEqual({
      state: 'done',
      fingerprint: 'print',
      answer: [newest],
    })
    expect((await createOne(after, { color: 'x', year: 3 })).id).toBe(3)
    expect(await updateOne(after, kept, { color: 'y', year: 1 })).toBeDefined()
    await after.close()
  })

  test('is shared by two stores at once: ids stay in order, versions win once', async () => {
    const file = newFile()
    const stores = await Promise.all(
      [1, 2].map(async () => {
        const store = sqlStore({ db: await openDatabase(file), create: true })
        store.attach(SHAPE)
        return store
      }),
    )
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        stores.map(store => createOne(store, { color: `${at}`, year: at })),
      ).flat(),
    )
    expect(new Set(made.map(each => each?.id)).size).toBe(60)
    const { id = 0, version = '' } = made[0] ?? {}
    const wins = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        stores.map(store => updateOne(store, { id, version }, { color: 'w', year: at })),
      ).flat(),
    )
    expect(wins.filter(Boolean).length).toBe(1)
    for (const store of stores) await store.close()
  })

  test('forgets claims after ten seconds and answers after a day', async () => {
    let now = 1e12
    const store = toKeyedStore(
      sqlStore({ db: await openDatabase(), create: true, clock: () => now }),
    )
    store.attach(SHAPE)
    await store.claim('a', 'p')
    now += 9_999
    expect(await store.claim('a', 'p')).toMatchObject({ state: 'running' })
    now += 1
    expect(await store.claim('a', 'p')).toMatchObject({ state: 'new' })
    await store.complete('a', { x: 1 })
    now += 86_399_999
    expect(await store.claim('a', 'p')).toMatchObject({ state: 'done', answer: { x: 1 } })
    now += 1
    expect(await store.claim('a', 'p')).toMatchObject({ state: 'new' })
    await store.close()
  })

  test('a server whose clock is ahead leaves the claims of others alone', async () => {
    const db = await openDatabase()
    const [here, there] = [0, 1].map(() => toKeyedStore(sqlStore({ db, create: true })))
    here?.attach(SHAPE)
    there?.attach(SHAPE)
    await here?.claim('a', 'p')
    await here?.complete('a', { x: 1 })
    await here?.claim('b', 'p')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 86_400_000 })
    try {
      expect(await there?.claim('a', 'p')).toMatchObject({ state: 'done', answer: { x: 1 } })
      expect(await there?.claim('b', 'p')).toMatchObject({ state: 'running' })
    } finally {
      vi.useRealTimers()
    }
    await here?.close()
    await there?.close()
  })

  async function openLocked() {
    const file = newFile()
    const store = sqlStore({ db: await openDatabase(file), create: true })
    store.attach(SHAPE)
    const first = await createOne(store, { color: 'red', year: 1 })
    const other = new Database(file)
    const colors = () =>
      other
        .prepare('select color from cars order by id')
        .all([])
        .map(row => (row as { color: string }).color)
    other.exec('begin immediate')
    return { store, first, other, colors }
  }

  /** Some turns of the loop, which a driver that waits for a lock would not let go round. */
  const later = () => new Promise(resolve => setTimeout(resolve, 50))

  test('that another process has locked blocks only writes', async () => {
    const { store, first, other, colors } = await openLocked()
    const settled: unknown[] = []
    const write = async (work: unknown) => settled.push(await work)
    const writes = [write(updateOne(store, first, { color: 'blue', year: 1 }))]
    await later()
    for (const color of ['a', 'b', 'c']) writes.push(write(createOne(store, { color, year: 2 })))
    for (let round = 0; round < 5; round++) {
      await later()
      expect((await findOne(store, first.id))?.item.color).toBe('red')
    }
    expect(settled).toEqual([])
    other.exec('rollback')
    await Promise.all(writes)
    // Committed, as others see it.
    expect(colors()).toEqual(['blue', 'a', 'b', 'c'])
    const { id, version } = await createOne(store, { color: 'd', year: 2 })
    await updateOne(store, { id, version }, { color: 'e', year: 2 })
    expect(colors()).toEqual(['blue', 'a', 'b', 'c', 'e'])
    other.close()
    await store.close()
  })

  test('that another process has locked ends aborted writes, and writes nothing of them', async () => {
    const { store, first, other, colors } = await openLocked()
    const controller = new AbortController()
    const { signal } = controller
    const { id, version } = first
    const update = updateOne(store, { id, version }, { color: 'late', year: 1 }, { signal })
    await later()
    const create = createOne(store, { color: 'late', year: 1 }, { signal })
    const patient = createOne(store, { color: 'patient', year: 1 })
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(update).rejects.toBe(reason)
    await expect(create).rejects.toBe(reason)
    other.exec('rollback')
    await patient
    const next = await updateOne(store, { id, version }, { color: 'next', year: 1 })
    expect(colors()).toEqual(['next', 'patient'])
    expect(next?.item.color).toBe('next')
    const last = updateOne(store, { id, version: next?.version ?? '' }, { color: 'last', year: 1 })
    other.exec('begin immediate')
    await later()
    const closing = store.close()
    other.exec('rollback')
    await closing
    expect(await last).toBeDefined()
    expect(colors()).toEqual(['last', 'patient'])
    other.close()
  })

  test('that another process has locked for long makes a write unavailable; a later one works', async () => {
    const { store, first, other, colors } = await openLocked()
    const ended = Promise.allSettled([
      updateOne(store, first, { color: 'late', year: 2 }),
      createOne(store, { color: 'late', year: 2 }),
    ])
    for (const result of await ended) {
      expect(result).toMatchObject({ reason: expect.any(UnavailableError) })
    }
    expect(await store.count({ where: [] }, 'exact')).toBe(1)
    other.exec('rollback')
    await updateOne(store, first, { color: 'blue', year: 2 })
    expect(colors()).toEqual(['blue'])
    expect((await createOne(store, { color: 'green', year: 2 })).id).toBe(2)
    expect(colors()).toEqual(['blue', 'green'])
    other.close()
    await store.close()
    await expect(findOne(store, 1)).rejects.toThrow(UnavailableError)
    await expect(createOne(store, { color: 'red', year: 3 })).rejects.toThrow(UnavailableError)
    await store.close()
  })

  test('that may not be written says so at once, alone and in a batch; reads work', async () => {
    const file = newFile()
    const open = (pragma: string) => {
      const database = new Database(file)
      database.exec(pragma)
      const db = new Kysely({ dialect: new SqliteDialect({ database }) })
      const schema = z.object({ color: z.string(), year: z.int() })
      const store = sqlStore({ db, create: true })
      const cars = defineCollection({ name: 'cars', schema, store, id: 'integer' })
      return defineApi({ collections: { cars } })
    }
    const writable = open('pragma query_only = off')
    await writable.collection('cars').create({ color: 'red', year: 1 })
    await writable.close()
    const api = open('pragma query_only = on')
    const sent: string[] = []
    const client = createClient<typeof api>('https://api.example', {
      fetch: (...words) => {
        const request = new Request(...words)
        sent.push(request.method)
        return api.fetch(request)
      },
    })
    const refused = { status: 503, errors: [{ type: 'read_only' }] }
    await expect(client.cars.create({ color: 'blue', year: 2 })).rejects.toMatchObject(refused)
    expect(sent.filter(method => method === 'POST')).toEqual(['POST'])
    const calls = [client.cars.patch(1, { year: 3 }), client.cars.delete(1)]
    for (const call of await Promise.allSettled(calls))
      expect(call).toMatchObject({ reason: refused })
    expect(await client.cars.list().toArray()).toMatchObject([{ color: 'red', year: 1 }])
    await api.close()
  })

  test('that is full makes writes unavailable, alone and in a batch; reads work', async () => {
    // Without a log Kysely throws at once, before there is a promise.
    const dialect = new SqliteDialect({ database: new Database(newFile()) })
    const db = new Kysely<unknown>({ dialect })
    const store = sqlStore({ db, create: true })
    store.attach(SHAPE)
    const { id, version } = await createOne(store, { color: 'red', year: 1 })
    await sql`pragma max_page_count = 1`.execute(db)
    const large = { color: 'r'.repeat(1_000_000), year: 2 }
    await expect(updateOne(store, { id, version }, large)).rejects.toThrow(DiskFullError)
    await expect(createOne(store, large)).rejects.toThrow(DiskFullError)
    const calls = [createOne(store, { color: 'blue', year: 3 }), createOne(store, large)]
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: expect.any(DiskFullError) })
    }
    expect(await store.count({ where: [] }, 'exact')).toBe(1)
    await store.close()
  })

  test('without its tables fails each call separately', async () => {
    const store = sqlStore({ db: await openDatabase() })
    store.attach(SHAPE)
    const calls = [
      createOne(store, { color: 'a', year: 1 }),
      createOne(store, { color: 'b', year: 1 }),
      findOne(store, 1),
    ]
    for (const call of await Promise.allSettled(calls)) expect(call.status).toBe('rejected')
    await store.close()
  })

  test('undoes only the failed write of those that share a commit', async () => {
    const store = sqlStore({ db: await openDatabase(), create: true })
    store.attach({ ...SHAPE, unique: [['color']] })
    const calls = ['a', 'b', 'a', 'c'].map(color => createOne(store, { color, year: 1 }))
    const states = (await Promise.allSettled(calls)).map(({ status }) => status)
    expect(states).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(await store.count({ where: [] }, 'exact')).toBe(3)
    await store.close()
  })
})

describe('a table that exists', () => {
  const LEGACY: Shape = {
    name: 'cars',
    fields: new Map<string, Field>([
      ['id', { kind: 'string', ...plain }],
      ['color', text],
      ['note', { kind: 'string', ...maybe }],
      ['extra', { kind: 'any', ...maybe }],
    ]),
    identity: { name: 'id', kind: 'text' },
    unique: [['color', 'note']],
    indexes: [],
  }

  test('is served by its own names, without dates and without a version column', async () => {
    const db = await openDatabase()
    await sql`create table "Car Pool" (car_id text primary key, paint text not null, remark text, more text)`.execute(
      db,
    )
    await sql`create unique index pool_paint on "Car Pool" (paint, remark)`.execute(db)
    await sql`insert into "Car Pool" values ('k-1', 'red', null, '{"a": 1}')`.execute(db)
    const columns = {
      id: 'car_id',
      color: 'paint',
      note: { name: 'remark', json: false },
      extra: 'more',
    }
    const store = sqlStore({ db, table: 'Car Pool', columns, version: false, create: true })
    store.attach(LEGACY)
    const old = await findOne(store, 'k-1')
    expect(old).toEqual({
      id: 'k-1',
      item: { id: 'k-1', color: 'red', note: null, extra: { a: 1 } },
      version: expect.stringMatching(/^[\w-]{16}$/),
    })
    const version = old?.version ?? ''
    const next = await updateOne(store, { id: 'k-1', version }, { color: 'blue', note: 'n' })
    expect(next?.version).not.toBe(version)
    expect(await findOne(store, 'k-1')).toEqual(next)
    expect(await updateOne(store, { id: 'k-1', version }, { color: 'x' })).toBeUndefined()
    expect(await deleteOne(store, { id: 'k-1', version })).toBe(false)
    const conflicting = createOne(store, { id: 'k-2', color: 'blue', note: 'n' })
    await expect(conflicting).rejects.toMatchObject({
      status: 409,
      fields: ['color', 'note'],
    })
    await expect(createOne(store, { id: 'k-1', color: 'z' })).rejects.toMatchObject({
      fields: ['id'],
    })
    expect(await deleteOne(store, { id: 'k-1', version: next?.version ?? '' })).toBe(true)
    await store.close()
  })

  test('continues after the greatest existing id', async () => {
    const db = await openDatabase()
    await sql`create table cars (id integer primary key, color text)`.execute(db)
    await sql`insert into cars values (41, 'red')`.execute(db)
    const store = sqlStore({ db, version: false, create: true })
    const fields = new Map<string, Field>([
      ['id', { kind: 'integer', ...plain }],
      ['color', text],
    ])
    store.attach({ ...LEGACY, fields, identity: { name: 'id', kind: 'integer' }, unique: [] })
    expect((await createOne(store, { color: 'blue' })).id).toBe(42)
    await sql`insert into cars values (50, 'red')`.execute(db)
    expect((await createOne(store, { color: 'blue' })).id).toBe(51)
    await store.close()
  })

  test('stores no property without a column', async () => {
    const store = sqlStore({ db: await openDatabase(), create: true })
    store.attach(LEGACY)
    await expect(createOne(store, { id: 'a', color: 'red', wheels: 4 })).rejects.toThrow(
      'no column for "wheels"',
    )
    expect(await store.count({ where: [] }, 'exact')).toBe(0)
    await store.close()
  })

  const INVALID: [string, Shape, object, string][] = [
    ['a column for no field', LEGACY, { columns: { colour: 'paint' } }, 'no field "colour"'],
    ['two fields in one column', LEGACY, { columns: { color: 'NOTE' } }, 'twice'],
    [
      'a field in the column of the version',
      { ...LEGACY, fields: new Map([...LEGACY.fields, ['version', text]]) },
      {},
      'twice',
    ],
    [
      'a list in a column that is no JSON',
      SHAPE,
      { columns: { tags: { json: false } } },
      'array values need a JSON column',
    ],
    ['properties without a name', { ...LEGACY, open: true }, {}, 'extra: z.record('],
    [
      'a property inside an object with a quote in its name',
      {
        ...LEGACY,
        fields: new Map([
          ...LEGACY.fields,
          ['size', { kind: 'object', ...maybe, properties: new Map([['"', text]]) }],
        ]),
      },
      {},
      'the property "size.\\""',
    ],
    [
      'no field for the id',
      { ...LEGACY, identity: { name: 'key', kind: 'text' } },
      {},
      'no field "key"',
    ],
  ]
  test.each(INVALID)('refuses %s at definition', async (_name, shape, options, message) => {
    const store = sqlStore({ db: await openDatabase(), ...options })
    expect(() => store.attach(shape)).toThrow(TypeError)
    expect(() => store.attach(shape)).toThrow(message)
    await store.close()
  })
})

test('a new field needs its column; the version without it works meanwhile', async () => {
  const db = await openDatabase(':memory:')
  const schema = z.object({ color: z.string() })
  const version = (of: z.ZodObject) => {
    const store = sqlStore({ db, create: true })
    return defineCollection({ name: 'cars', schema: of, indexes: Object.keys(of.shape), store })
  }
  const create = ({ fetch }: ReturnType<typeof version>) =>
    fetch(
      new Request('http://x/cars', { method: 'POST', body: '{"color":"red"}', headers: JSON_TYPE }),
    )
  const [before, after] = [version(schema), version(schema.extend({ doors: z.int().default(5) }))]
  expect((await create(before)).status).toBe(201)
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  expect((await create(after)).status).toBe(500)
  expect(String(log.mock.calls[0]?.[1])).toContain('add column "doors" INTEGER not null default 5;')
  log.mockRestore()
  expect(createTableSql(after.shape)[0]).toContain('"doors" INTEGER not null')
  await sql`alter table cars add column doors integer not null default 5`.execute(db)
  expect([(await create(after)).status, (await create(before)).status]).toEqual([201, 201])
  const listed = await after.fetch(new Request('http://x/cars?doors=5&fields=color,doors'))
  expect(await listed.json()).toEqual(Array(3).fill({ color: 'red', doors: 5 }))
  await db.destroy()
})

const JSON_TYPE = { 'content-type': 'application/json' }

test('a collection with a loose schema is a TypeError at definition', () => {
  const store = sqlStore({
    db: new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Database(':memory:') }) }),
  })
  const open = z.looseObject({ color: z.string() })
  expect(() => defineCollection({ name: 'cars', schema: open, store })).toThrow(TypeError)
  const schema = z.object({ color: z.string(), extra: z.record(z.string(), z.json()).optional() })
  expect(defineCollection({ name: 'cars', schema, store }).name).toBe('cars')
})

test('tables print as statements for a migration', () => {
  const shape: Shape = {
    ...SHAPE,
    fields: new Map(
      [...SHAPE.fields].filter(([name]) => /^(id|color|model|at|created_at)$/.test(name)),
    ),
    unique: [['color', 'model.name']],
    indexes: [['color'], ['model.year'], ['tags']],
  }
  const printed = { ...shape, indexes: [['color'], ['model.year']] }
  const [table, ...others] = createTableSql(printed, { database: 'sqlite' })
  const [unnamed] = createTableSql(printed)
  expect(unnamed).toBe(
    `-- SQLite, because no database is named: { database: 'postgres' } prints for PostgreSQL\n${table}`,
  )
  expect(table).toBe(
    'create table if not exists "cars" ("id" INTEGER primary key not null, "color" TEXT not null, "at" TEXT, "model" TEXT, "created_at" TEXT not null, "rest_search_model.name" TEXT, "version" TEXT not null)',
  )
  expect(others.slice(0, 4)).toEqual([
    `create unique index if not exists "cars_unique_color_model.name" on "cars" ("color", (json_extract("model", '$."name"')))`,
    'create index if not exists "cars_by_color" on "cars" ("color", "id")',
    `create index if not exists "cars_by_model.year" on "cars" ((json_extract("model", '$."year"')), "id")`,
    'create index if not exists "cars_by_created_at" on "cars" ("created_at", "id")',
  ])
  expect(others.slice(4).map(each => each.slice(0, 48))).toEqual([
    'create table if not exists "rest_sequences" ("na',
    'create table if not exists "rest_idempotency" ("',
    'create index if not exists "rest_idempotency_by_',
    'create index if not exists "cars_rest_search_mod',
    'drop trigger if exists "cars_renew_version"',
    'create trigger "cars_renew_version" after update',
  ])
})
