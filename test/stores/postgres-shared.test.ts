// One PostgreSQL, several stores, and what happens when it stops.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Item } from '../../src/fields.ts'
import { type Id, type Shape, type Store, UnavailableError } from '../../src/store.ts'
import { createTableSql, sqlStore } from '../../src/stores/sql.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { ask } from './postgres-server.ts'
import { by, is, maybe, plain, SHAPE, text } from './questions.ts'

usePostgres()

let tables = 0
const newTable = () => `shared_${++tables}`

function open(table: string, shape: Shape = SHAPE, options: { timeout?: number } = {}): Store {
  const store = sqlStore({ db: openPostgres(), table, create: true, ...options })
  store.attach(shape)
  return store
}

async function closing<T>(stores: readonly Store[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    for (const store of stores) await store.close()
  }
}

const car = (color: string, year = 1): Item => ({ color, year })

describe('several stores on one database', () => {
  test('make its tables at the same time', async () => {
    const table = newTable()
    const stores = Array.from({ length: 6 }, () => open(table))
    await closing(stores, async () => {
      await Promise.all(stores.map((store, at) => store.create(car('red', at))))
      expect(await stores[0]?.count({ where: [] }, 'exact')).toBe(6)
    })
  })

  test.each(['integer', 'uuid'] as const)(
    'a reader by %s id sees all items of 12 writers, in order',
    async kind => {
      const table = newTable()
      const shape: Shape = { ...SHAPE, identity: { name: 'id', kind } }
      const stores = Array.from({ length: 3 }, () => open(table, shape))
      await closing(stores, async () => {
        const [reader = open(table)] = stores
        const seen: Id[] = []
        const read = async () => {
          const last = seen.at(-1)
          const where = last === undefined ? [] : [is('id', 'gt', last)]
          const slice = { limit: 1000, offset: 0 }
          const { items } = await reader.list({ where, sort: by('') }, slice, 'none')
          seen.push(...items.map(({ id }) => id))
          return items.length
        }
        let writing = true
        const writers = Array.from({ length: 12 }, async (_, at) => {
          const made: Id[] = []
          for (let n = 0; n < 25; n++) {
            const given = await stores[at % 3]?.create(car(`w${at}`, n))
            if (given) made.push(given.id)
          }
          // One after another: a writer's own are in its order.
          expect([...made].sort(compareIds)).toEqual(made)
          return made
        })
        const all = Promise.all(writers).finally(() => {
          writing = false
        })
        while (writing) await read()
        const made = (await all).flat()
        while ((await read()) > 0);
        expect([...seen].sort(compareIds)).toEqual(seen)
        expect(new Set(seen)).toEqual(new Set(made))
        expect(seen).toHaveLength(300)
      })
    },
  )

  test('of many writers at one version one wins, wherever they write', async () => {
    const table = newTable()
    const stores = [open(table), open(table)]
    await closing(stores, async () => {
      for (let round = 0; round < 5; round++) {
        const made = await stores[0]?.create(car('red'))
        const { id = 0, version = '' } = made ?? {}
        const wins = await Promise.all(
          Array.from({ length: 32 }, (_, at) => stores[at % 2]?.update(id, version, car(`${at}`))),
        )
        expect(wins.filter(Boolean)).toHaveLength(1)
      }
    })
  })

  test('a total is counted again after a change by anybody', async () => {
    const table = newTable()
    const stores = [open(table), open(table)]
    await closing(stores, async () => {
      const [one = open(table), other = open(table)] = stores
      const red = { where: [is('color', 'in', 'red')], sort: by('') }
      const total = async () => {
        const page = await one.list(red, { limit: 1, offset: 0 }, 'exact')
        expect(await one.count(red, 'exact')).toBe(page.total)
        return page.total
      }
      await other.create(car('red'))
      expect(await total()).toBe(1)
      const { url } = postgres()
      for (let expected = 2; expected < 12; expected++) {
        if (expected % 2) await other.create(car('red'))
        else {
          const insert = `insert into ${table} (id, color, year, created_at, updated_at, version) values ($1, 'red', 1, '', '', '')`
          await ask(url, insert, [1000 + expected])
        }
        expect(await total()).toBe(expected)
        expect(await total()).toBe(expected)
      }
      await ask(url, `delete from ${table}`)
      expect(await total()).toBe(0)
    })
  })
})

function compareIds(one: Id, other: Id): number {
  return one < other ? -1 : Number(one > other)
}

test('a total is counted once while nobody changes anything', async () => {
  const table = newTable()
  const statements: string[] = []
  const db = openPostgres({}, query => statements.push(query.sql))
  const store = sqlStore({ db, table, create: true })
  store.attach(SHAPE)
  await closing([store], async () => {
    await store.create(car('red'))
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

describe('a call', () => {
  /** Holds the row of the last id, which every maker of ids waits for. */
  async function blocked<T>(table: string, work: () => Promise<T>): Promise<T> {
    const db = openPostgres()
    try {
      return await db.transaction().execute(async transaction => {
        await sql`select * from rest_sequences where name = ${table} for update`.execute(
          transaction,
        )
        return work()
      })
    } finally {
      await db.destroy()
    }
  }

  test('that takes too long is cancelled in the database, and nothing of it is done', async () => {
    const table = newTable()
    const patient = open(table)
    const store = open(table, SHAPE, { timeout: 100 })
    await closing([store, patient], async () => {
      await patient.create(car('first'))
      await blocked(table, async () => {
        await expect(store.create(car('late'))).rejects.toThrow(UnavailableError)
        const both = await Promise.allSettled([store.create(car('a')), store.create(car('b'))])
        expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
        expect(await running(table)).toEqual([])
      })
      expect((await store.create(car('second'))).id).toBe(2)
      expect(await patient.count({ where: [] }, 'exact')).toBe(2)
    })
  })

  test('that is aborted is cancelled in the database', async () => {
    const table = newTable()
    const store = open(table)
    await closing([store], async () => {
      await store.create(car('red'))
      const db = openPostgres()
      const reason = new Error('enough')
      await db.transaction().execute(async transaction => {
        await sql`lock table ${sql.id(table)} in access exclusive mode`.execute(transaction)
        const controller = new AbortController()
        const { signal } = controller
        const selection = { where: [], sort: by('') }
        const list = store.list(selection, { limit: 1, offset: 0 }, 'exact', { signal })
        const update = store.update(1, 'v', car('x'), { signal })
        const ended = Promise.allSettled([list, update])
        while ((await running(table)).length < 2);
        controller.abort(reason)
        for (const result of await ended)
          expect(result).toMatchObject({ status: 'rejected', reason })
        while ((await running(table)).length > 0);
      })
      await db.destroy()
      expect((await store.get(1))?.item.color).toBe('red')
    })
  })

  /** The statements on a table that run at this moment and wait. */
  async function running(table: string): Promise<unknown[]> {
    return ask(
      postgres().url,
      "select query from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%' and query not like 'lock%' and pid <> pg_backend_pid()",
      [`"${table}"`],
    )
  }
})

describe('a table that exists', () => {
  test('is served by its own names, by varchar, integer, text and jsonb columns', async () => {
    const db = openPostgres()
    await sql`create table "Car Pool" (car_id varchar(40) primary key, paint varchar(20), doors integer, more text, model jsonb)`.execute(
      db,
    )
    await sql`create unique index pool_paint on "Car Pool" (paint, doors)`.execute(db)
    await sql`insert into "Car Pool" values ('k-1', 'red', 4, '"null"', '{"name": "Clio"}')`.execute(
      db,
    )
    const columns = {
      id: 'car_id',
      color: 'paint',
      doors: { name: 'doors', json: false },
      extra: 'more',
    }
    const store = sqlStore({ db, table: 'Car Pool', columns, version: false })
    store.attach({
      name: 'cars',
      fields: new Map([
        ['id', text],
        ['color', text],
        ['doors', { kind: 'integer', ...maybe }],
        ['extra', { kind: 'any', ...maybe }],
        ['model', { kind: 'object', ...maybe, members: new Map([['name', text]]) }],
      ]),
      identity: { name: 'id', kind: 'text' },
      unique: [['color', 'doors']],
      indexes: [],
    })
    await closing([store], async () => {
      const old = await store.get('k-1')
      expect(old?.item).toEqual({
        id: 'k-1',
        color: 'red',
        doors: 4,
        extra: 'null',
        model: { name: 'Clio' },
      })
      for (const where of [
        [is('color', 'gte', 'red')],
        [is('doors', 'lt', 4.5)],
        [is('extra', 'in', 'null')],
        [is('model.name', 'prefix', 'Cl')],
      ]) {
        expect(await store.count({ where }, 'exact')).toBe(1)
      }
      const version = old?.version ?? ''
      const wins = await Promise.all(
        ['blue', 'green', 'grey'].map(color => store.update('k-1', version, { color, doors: 3 })),
      )
      expect(wins.filter(Boolean)).toHaveLength(1)
      const { color = '' } = (await store.get('k-1'))?.item ?? {}
      const taken = store.create({ id: 'k-2', color, doors: 3 })
      await expect(taken).rejects.toMatchObject({ fields: ['color', 'doors'] })
      const again = store.create({ id: 'k-1', color: 'x' })
      await expect(again).rejects.toMatchObject({ fields: ['id'] })
    })
  })

  test('goes on after the greatest id that is there', async () => {
    const table = newTable()
    const store = open(table)
    await closing([store], async () => {
      const insert = `insert into ${table} (id, color, year, created_at, updated_at, version) values (41, 'a', 1, '', '', '')`
      await store.count({ where: [] }, 'exact')
      await ask(postgres().url, insert)
      expect((await store.create(car('red'))).id).toBe(42)
      await ask(postgres().url, insert.replace('41', '50'))
      expect((await store.create(car('red'))).id).toBe(51)
    })
  })
})

test('no value that a client may send is an error of the database', async () => {
  const shape: Shape = { ...SHAPE, unique: [['note']] }
  const store = open(newTable(), shape)
  await closing([store], async () => {
    const long = Array.from({ length: 1800 }, (_, at) =>
      String.fromCodePoint(0x4e00 + ((at * 7919) % 20000)),
    ).join('')
    const refused = { name: 'UnstorableError' }
    await expect(store.create(car(long))).rejects.toMatchObject({ ...refused, fields: ['color'] })
    // So long that the database does not say for which index.
    const longest = store.create(car(long.repeat(3)))
    await expect(longest).rejects.toMatchObject({ ...refused, fields: [] })
    const note = store.create({ ...car('x'), note: long })
    await expect(note).rejects.toMatchObject({ ...refused, fields: ['note'] })
    expect(await store.get('1')).toBeUndefined()
    expect(await store.get(1e300)).toBeUndefined()
    expect(await store.get(0.5)).toBeUndefined()
    await store.create({ ...car('x'), extra: { a: 1 }, either: 'x', price: 1e300 })
    const odd = ['\0', 'a\0b', '\ud800', '\\', "'", '%', '1e999', 1e300, -1e300, 0.5, 2 ** 53, true]
    for (const path of [
      'id',
      'color',
      'price',
      'year',
      'sold',
      'at',
      'tags',
      'seen',
      'extra.a',
      "extra.'\\",
      'either',
      'model',
      'free',
      'model.year',
    ]) {
      for (const operator of ['in', 'nin', 'gt', 'lte', 'prefix', 'like'] as const) {
        for (const value of odd) {
          await store.count({ where: [is(path, operator, value)] }, 'exact')
        }
      }
      for (const value of odd) {
        const slice = { limit: 1, key: [value, value], backward: false }
        await store.list({ where: [], sort: by(`-${path}`) }, slice, 'none')
      }
    }
  })
})

test('a guess of the total is the planner’s where counting would cost much', async () => {
  const table = newTable()
  const store = open(table)
  await closing([store], async () => {
    const all = { where: [], sort: by('') }
    expect(await store.list(all, { limit: 5, offset: 0 }, 'estimated')).toEqual({
      items: [],
      total: 0,
    })
    expect(await store.count(all, 'estimated')).toBe(0)
    const { url } = postgres()
    await ask(
      url,
      `insert into ${table} (id, color, year, created_at, updated_at, version) select n, 'c' || n % 7, 1, '', '', '' from generate_series(1, 60000) as n`,
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
  const [table, ...others] = createTableSql(undated, { dialect: 'postgres' })
  expect(table).toBe(
    'create table if not exists "cars" ("id" bigint primary key not null, "color" text collate "C" not null, "price" double precision, "at" text collate "C", "model" json, "version" text collate "C" not null)',
  )
  expect(others.slice(0, 3)).toEqual([
    `create unique index if not exists "cars_unique_color_model.name" on "cars" ("color", ((("model")::json ->> 'name') collate "C"))`,
    'create index if not exists "cars_by_price" on "cars" ("price" nulls first, "id")',
    `create index if not exists "cars_by_model.year" on "cars" ((case json_typeof(("model")::json -> 'year') when 'number' then (("model")::json ->> 'year')::double precision end) nulls first, "id")`,
  ])
})

test('indexes whose names are too long for the database are told apart', async () => {
  const [one, other] = ['a', 'b'].map(end => `${'long'.repeat(15)}${end}`)
  const fields = new Map(SHAPE.fields)
  for (const name of [one, other]) if (name) fields.set(name, { kind: 'string', ...plain })
  const store = open(newTable(), { ...SHAPE, fields, unique: [[`${one}`], [`${other}`]] })
  await closing([store], async () => {
    await store.create({ ...car('a'), [`${one}`]: 'x', [`${other}`]: 'x' })
    const taken = store.create({ ...car('a'), [`${one}`]: 'y', [`${other}`]: 'x' })
    await expect(taken).rejects.toMatchObject({ fields: [other] })
  })
})
