// Columns that keep texts folded for searches: in new tables, in those of earlier releases, and beside other programs.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { createTableSql, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

interface Kind {
  open(onStatement?: (statement: CompiledQuery) => void): Promise<Kysely<unknown>>
  readonly database: 'sqlite' | 'postgres'
  /** The table as a release from before folded columns has made it, by its `create: true`. */
  earlier(table: string): string
}

const KINDS: [string, Kind][] = [
  [
    'SQLite',
    {
      open: onStatement => openDatabase(undefined, onStatement),
      database: 'sqlite',
      earlier: table =>
        `create table "${table}" ("id" INTEGER primary key not null, "name" TEXT not null, "note" TEXT, "seats" INTEGER, "model" TEXT, "created_at" TEXT not null, "updated_at" TEXT not null, "version" TEXT not null)`,
    },
  ],
  [
    'PostgreSQL',
    {
      open: async onStatement => openPostgres({}, onStatement),
      database: 'postgres',
      earlier: table =>
        `create table "${table}" ("id" bigint primary key not null, "name" text collate "C" not null, "note" text collate "C", "seats" bigint, "model" json, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "version" text collate "C" not null)`,
    },
  ],
]

const FIELDS = {
  name: z.string(),
  note: z.string().optional(),
  seats: z.int().optional(),
  model: z.object({ name: z.string(), year: z.int().optional() }).optional(),
}
const SEARCH = ['name', 'note', 'model.name'] as const
const COLUMNS = SEARCH.map(path => `rest_search_${path}`)

type Search = Parameters<typeof define>[2]

function define(
  db: Kysely<unknown>,
  options: Partial<SqlStoreOptions>,
  search: readonly ('name' | 'note' | 'model.name')[] | { fields: ['name']; fold: false } = SEARCH,
  fields: Partial<typeof FIELDS> & Pick<typeof FIELDS, 'name'> = FIELDS,
) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object(fields as typeof FIELDS),
    store: sqlStore({ db, ...options }),
    search,
    maxLimit: 1000,
  })
  const api = defineApi({ collections: { cars }, onError: () => undefined })
  const resource = api.collection(cars)
  const find = async (words: string, query = {}) => {
    const items = await resource.search(words, query).toArray()
    return items.map(({ name }) => name).sort()
  }
  return { api, shape: cars.shape, cars: resource, find }
}

describe.each(KINDS)('%s', (name, { open, database, earlier }) => {
  let reads = 0
  const run = (db: Kysely<unknown>, text: string) => sql.raw(text).execute(db)
  const columnsOf = async (db: Kysely<unknown>, table: string) => {
    const [found] = (await db.introspection.getTables()).filter(each => each.name === table)
    return found?.columns.map(each => each.name).filter(each => each.startsWith('rest_')) ?? []
  }
  const readRow = async (db: Kysely<unknown>, table: string, id: number) => {
    // Not by a prepared statement: its columns may be others by now.
    const { rows } = await run(db, `select * from "${table}" where id = ${id} -- ${++reads}`)
    return Object(rows[0])
  }
  const serve = async (search?: Search) => {
    const db = await open()
    const table = newTable()
    return { db, table, ...define(db, { table, create: true }, search) }
  }
  /** A table of an earlier release, with cars that it has made. */
  const serveEarlier = async (names: readonly string[]) => {
    const db = await open()
    const table = newTable()
    await run(db, earlier(table))
    for (const [at, each] of names.entries())
      await sql`insert into ${sql.id(table)} (id, name, created_at, updated_at, version) values (${at + 1}, ${each}, '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z', ${`v${at}`})`.execute(
        db,
      )
    return { db, table }
  }
  const fill = (db: Kysely<unknown>, table: string, from: number, count: number) =>
    run(
      db,
      `insert into "${table}" (id, name, seats, created_at, updated_at, version)
        with recursive numbers (n) as (select ${from} union all select n + 1 from numbers where n < ${from + count - 1})
        select n, 'Mégane ' || n, n % 1000, '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z', '' from numbers`,
    )

  test.each(['create', 'printed'] as const)('a new table keeps them: %s', async how => {
    const db = await open()
    const table = newTable()
    const { shape, cars, find } = define(db, { table, create: how === 'create' })
    const printed = how === 'printed' ? createTableSql(shape, { database, table }) : []
    for (const text of [...printed, ...printed]) await run(db, text)
    const { id } = await cars.create({ name: 'Mégane', model: { name: 'Électrique' } })
    expect(await columnsOf(db, table)).toEqual(COLUMNS)
    expect(await readRow(db, table, id)).toMatchObject({
      rest_search_name: 'megane',
      rest_search_note: '',
      'rest_search_model.name': 'electrique',
    })
    expect(await find('MEGANE electr')).toEqual(['Mégane'])
    await cars.patch(id, { name: 'MÉGANE', model: { name: 'Électrique', year: 2024 } })
    expect(await find('megane electr')).toEqual(['MÉGANE'])
    const row = await readRow(db, table, id)
    expect([row.rest_search_name, row['rest_search_model.name']]).toEqual(['megane', 'electrique'])
  })

  test('SQL beside the api empties what it changes, whichever version it leaves', async () => {
    const { db, table, cars, find } = await serve()
    const { id } = await cars.create({ name: 'Mégane', note: 'à', model: { name: 'Un' } })
    const changes: [set: string, found: string, emptied: string[]][] = [
      [`seats = 4`, 'megane un a', []],
      [`name = 'Zoé'`, 'ZOE', ['rest_search_name']],
      [`model = '{"name":"Deux"}', version = 'mine'`, 'deux zoe', COLUMNS.slice(2)],
      [`note = null, name = 'Clïo', version = 'other'`, 'clio deux', COLUMNS],
      [`name = 'Twïngo'`, 'twingo deux', COLUMNS],
    ]
    for (const [set, found] of changes) {
      const before = await readRow(db, table, id)
      await run(db, `update "${table}" set ${set} where id = ${id}`)
      expect(await find(found), set).toHaveLength(1)
      expect(await cars.search(found).toArray(), set).toMatchObject([{ id }])
      const { version } = await readRow(db, table, id)
      const [, own = version] = /version = '(\w+)'/.exec(set) ?? []
      expect(version, set).toBe(own)
      expect(version, set).not.toBe(before.version)
    }
    expect(await find('megane')).toEqual([])
    const emptied = await readRow(db, table, id)
    expect(COLUMNS.map(column => emptied[column])).toEqual([null, null, null])
    await cars.patch(id, { name: 'Twingo', note: 'Ü', model: { name: 'Drei' } })
    const filled = await readRow(db, table, id)
    expect(COLUMNS.map(column => filled[column])).toEqual(['twingo', 'u', 'drei'])
  })

  test('rows that SQL has put in are found, with filters, pages and totals, and folded once', async () => {
    const { db, table, api, cars, find } = await serve()
    await cars.create({ name: 'Mégane', seats: 1 })
    await fill(db, table, 101, 1500)
    const first = await api.fetch(new Request('http://x/cars/search?q=MEGANE&sort=-id&limit=2'))
    expect(await first.json()).toMatchObject([{ name: 'Mégane 1600' }, { name: 'Mégane 1599' }])
    expect(first.headers.get('x-result-count')).toBe('1501')
    const [, next = ''] = /<([^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? []
    const second = await api.fetch(new Request(new URL(next, 'http://x')))
    expect(await second.json()).toMatchObject([{ name: 'Mégane 1598' }, { name: 'Mégane 1597' }])
    expect(await find('megane', { seats: 1 })).toEqual(['Mégane', 'Mégane 1001'])
    expect(await find('megane 1600')).toEqual(['Mégane 1600'])
    const before = await readRow(db, table, 101)
    await define(db, { table, migrate: true }).api.open()
    const after = await readRow(db, table, 101)
    expect(after).toEqual({
      ...before,
      rest_search_name: 'megane 101',
      rest_search_note: '',
      'rest_search_model.name': '',
    })
    expect(await find('megane 1600')).toEqual(['Mégane 1600'])
  })

  test('a search among too many rows of others says so, and one with a filter finds', async () => {
    const { db, table, api, cars, find } = await serve()
    await cars.create({ name: 'Clio' })
    await fill(db, table, 101, 10_100)
    const answer = await api.fetch(new Request('http://x/cars/search?q=megane'))
    expect(answer.status).toBe(503)
    expect(JSON.stringify(await answer.json())).toContain('takes too long')
    expect(await find('megane', { seats: 300 })).toHaveLength(10)
    expect(await find('CLIO')).toEqual(['Clio'])
  })

  test('a table of an earlier release is searched as before, and migrate: true folds it', async () => {
    const { db, table } = await serveEarlier(['Mégane', 'ZOÉ'])
    const names = Array.from({ length: 450 }, (_, at) => `Nº ${at}`)
    const old = define(db, { table, create: true })
    await Promise.all(names.map(each => old.cars.create({ name: each })))
    expect(await columnsOf(db, table)).toEqual([])
    expect([await old.find('mégane'), await old.find('megane'), await old.find('zoÉ')]).toEqual([
      ['Mégane'],
      [],
      ['ZOÉ'],
    ])
    const before = await readRow(db, table, 1)
    const migrated = define(db, { table, migrate: true })
    await Promise.all([migrated.api.open(), define(db, { table, migrate: true }).api.open()])
    expect(await migrated.find('megane')).toEqual(['Mégane'])
    expect(await migrated.find('no 449')).toEqual(['Nº 449'])
    expect(await readRow(db, table, 1)).toEqual({ ...before, ...folded('megane') })
    const { rows } =
      await sql`select id from ${sql.id(table)} where rest_search_name is null or rest_search_note is null`.execute(
        db,
      )
    expect(rows).toEqual([])
    // One that was opened before the migration goes on, and what it writes is found.
    await old.cars.patch(1, { name: 'Kangoó' })
    await old.cars.create({ name: 'Twïngo' })
    expect(await migrated.find('kangoo')).toEqual(['Kangoó'])
    expect([await migrated.find('twingo'), await migrated.find('megane')]).toEqual([['Twïngo'], []])
  })

  test('one that searches fewer fields, or knows fewer, keeps what others search', async () => {
    const { db, table, cars, find } = await serve()
    const { id } = await cars.create({ name: 'Mégane', note: 'É', model: { name: 'Un' } })
    const fewer = define(db, { table }, ['name'])
    await fewer.cars.patch(id, { note: 'Ü' })
    expect(await find('u')).toEqual(['Mégane'])
    const { name: text } = FIELDS
    const blind = define(db, { table }, ['name'], { name: text })
    await blind.cars.patch(id, { name: 'Zoé' })
    expect([await find('zoe u'), await find('zoe un')]).toEqual([['Zoé'], ['Zoé']])
    const row = await readRow(db, table, id)
    expect(COLUMNS.map(column => row[column])).toEqual(['zoe', 'u', 'un'])
    // To this one the model is JSON of any form.
    const open = z.record(z.string(), z.json()).optional()
    const vague = define(db, { table }, ['name'], { name: text, model: open as never })
    await vague.cars.patch(id, { model: { name: 'Deux' } })
    expect([await find('zoe deux'), await find('un')]).toEqual([['Zoé'], []])
  })

  test('one from before a further searched field writes what that finds', async () => {
    const { db, table, cars } = await serve(['name'])
    const { id } = await cars.create({ name: 'Mégane', note: 'É' })
    const further = define(db, { table, migrate: true })
    expect(await further.find('megane e')).toEqual(['Mégane'])
    await cars.patch(id, { note: 'Ü' })
    expect([await further.find('u'), await further.find('e')]).toEqual([['Mégane'], ['Mégane']])
    await cars.patch(id, { name: 'Zoo' })
    expect([await further.find('zoo u'), await further.find('e')]).toEqual([['Zoo'], []])
  })

  test('fold: false, and a table without versions, search as texts are', async () => {
    const plain = await serve({ fields: ['name'], fold: false })
    await plain.cars.create({ name: 'MÉgane' })
    expect(await columnsOf(plain.db, plain.table)).toEqual([])
    expect([await plain.find('mÉ'), await plain.find('mé'), await plain.find('megane')]).toEqual([
      ['MÉgane'],
      [],
      [],
    ])
    const db = await open()
    const table = newTable()
    const bare = define(db, { table, create: true, version: false })
    await bare.cars.create({ name: 'MÉgane' })
    expect(await columnsOf(db, table)).toEqual([])
    expect([await bare.find('mÉ'), await bare.find('megane')]).toEqual([['MÉgane'], []])
  })

  test('a trigger of others with the name of ours is left alone, and so is the table', async () => {
    const { db, table } = await serveEarlier(['Mégane'])
    const trigger = `${table}_renew_version`
    const texts =
      name === 'SQLite'
        ? [`create trigger ${trigger} after update on "${table}" begin select 1; end`]
        : [
            `create function ${trigger}() returns trigger language plpgsql as 'begin return new; end'`,
            `create trigger ${trigger} before update on "${table}" for each row execute function ${trigger}()`,
          ]
    for (const each of texts) await run(db, each)
    const { find } = define(db, { table, migrate: true })
    expect([await find('mégane'), await find('megane')]).toEqual([['Mégane'], []])
    expect(await columnsOf(db, table)).toEqual([])
  })
})

test('with recursive triggers SQLite renews and empties once', async () => {
  const db = await openDatabase()
  const { cars, find } = define(db, { create: true })
  const { id } = await cars.create({ name: 'Mégane' })
  await sql`pragma recursive_triggers = on`.execute(db)
  await sql`update cars set name = 'Zoé', version = 'mine' where id = ${id}`.execute(db)
  expect(await find('zoe')).toEqual(['Zoé'])
  await sql`update cars set name = 'Clïo' where id = ${id}`.execute(db)
  expect(await find('clio')).toEqual(['Clïo'])
})

function folded(name: string) {
  return { rest_search_name: name, rest_search_note: '', 'rest_search_model.name': '' }
}
