// One MariaDB, several stores, and what happens when it stops.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Field } from '../../src/fields.ts'
import { type Shape, UnavailableError } from '../../src/store.ts'
import { createTableSql } from '../../src/stores/sql.ts'
import { servesCarPool } from './car-pool.ts'
import { ask, mariadb, noMariadb, openMariadb, useMariadb } from './mariadb.ts'
import { by, is, SHAPE } from './questions.ts'
import { car, closing, type Database, newTable, opener, severalStores } from './several.ts'

useMariadb()

const database: Database = {
  connect: (connections = 8) => openMariadb({ connectionLimit: connections }),
  async waiting(table) {
    const query =
      "select info from information_schema.processlist where command = 'Query' and info like concat('%`', ?, '`%') and info not like 'lock%' and id <> connection_id()"
    const rows = await ask(mariadb().url, query, [table])
    return Array.isArray(rows) ? rows : []
  },
  async locked(table, work) {
    const db = openMariadb()
    try {
      return await db.connection().execute(async connection => {
        await sql`lock tables ${sql.id(table)} write`.execute(connection)
        return work()
      })
    } finally {
      await db.destroy()
    }
  },
}
const open = opener(database)

describe.skipIf(noMariadb)('on MariaDB', () => {
  severalStores(database)

  test('a text too long for its column is refused by the name of its field', async () => {
    const fields = new Map(SHAPE.fields)
    const shape: Shape = { ...SHAPE, fields, unique: [['note'], ['model.name']] }
    const store = open(newTable(), shape)
    await closing([store], async () => {
      const refused = (field: string) => ({ name: 'UnstorableError', fields: [field] })
      const long = '\u{1F600}'.repeat(256)
      await expect(store.create(car(long))).rejects.toMatchObject(refused('color'))
      const note = store.create({ ...car('x'), note: long })
      await expect(note).rejects.toMatchObject(refused('note'))
      const model = store.create({ ...car('x'), model: { name: long } })
      await expect(model).rejects.toMatchObject(refused('model.name'))
      const most = '\u{1F600}'.repeat(192)
      const made = await store.create({
        ...car(most),
        price: 1,
        note: most,
        tags: [long.repeat(100)],
      })
      expect(await store.get(made.id)).toEqual(made)
      const taken = store.create({ ...car('x'), note: most })
      await expect(taken).rejects.toMatchObject({ name: 'UniqueError', fields: ['note'] })
      // Blanks at the end and letters' cases count.
      await store.create({ ...car('x'), note: `${most.slice(2)} ` })
      await store.create({ ...car('x'), note: most.slice(2) })
      for (const note of ['a', 'A', 'á', 'a ']) await store.create({ ...car('x'), note })
      const where = [is('note', 'in', 'a')]
      expect(await store.count({ where }, 'exact')).toBe(1)
    })
  })

  test('an index and a unique set below a name that is not ASCII are of its values', async () => {
    const name: Field = { kind: 'string', nullable: false, optional: false }
    const members = new Map([['größe', name]])
    const size: Field = { kind: 'object', nullable: false, optional: false, members }
    const fields = new Map([...SHAPE.fields, ['maß', size] as const])
    const sets = [['maß.größe']]
    const store = open(newTable(), { ...SHAPE, fields, unique: sets, indexes: sets })
    await closing([store], async () => {
      await store.create({ ...car('x'), maß: { größe: 'L' } })
      const again = store.create({ ...car('x'), maß: { größe: 'L' } })
      await expect(again).rejects.toMatchObject({ name: 'UniqueError', fields: ['maß.größe'] })
      expect(await store.count({ where: [is('maß.größe', 'in', 'L')] }, 'exact')).toBe(1)
    })
  })

  test('a word is found whatever is around it, and however long it is', async () => {
    const store = open(newTable())
    await closing([store], async () => {
      const long = 'Aß\u{1F600}'.repeat(5000)
      for (const note of ['Été À la K\u212A', `x${long}y`, '']) {
        await store.create({ ...car('x'), note })
      }
      const count = (text: string) =>
        store.count({ where: [], search: { text, paths: [['note']] } }, 'exact')
      const cases = { té: 1, é: 1, É: 1, à: 0, 'LA k\u212A': 1, kk: 0, [long]: 1, [`${long}z`]: 0 }
      for (const [word, expected] of Object.entries(cases)) expect(await count(word)).toBe(expected)
    })
  })

  test('what the server is set to changes nothing', async ({ skip }) => {
    const { url, own } = mariadb()
    if (!own) skip()
    const settings = {
      sql_mode: "'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE'",
      tx_isolation: "'SERIALIZABLE'",
      max_sort_length: '64',
      collation_connection: "'utf8mb4_general_ci'",
      default_regex_flags: "'EXTENDED'",
    }
    const set = async (values: Readonly<Record<string, string>>) => {
      for (const [name, value] of Object.entries(values))
        await ask(url, `set global ${name} = ${value}`)
    }
    await set(settings)
    const store = open(newTable())
    await closing([store], async () => {
      const odd = ["\\' or 1=1 -- ", '\\', "'", '"', 'a || b', '\\\\"', 'É', 'é', 'e']
      for (const color of odd) {
        const made = await store.create({ ...car(color), price: 1, note: color, tags: [color] })
        expect(await store.get(made.id)).toEqual(made)
      }
      for (const path of ['color', 'note', 'tags']) {
        for (const value of odd) {
          expect(await store.count({ where: [is(path, 'in', value)] }, 'exact')).toBe(1)
        }
      }
      const long = (end: string) => ({ ...car('x'), extra: {}, free: `${'a'.repeat(3000)}${end}` })
      for (const end of ['b', 'a', 'c']) await store.create(long(end))
      const where = [is('free', 'prefix', 'aaa')]
      const { items } = await store.list(
        { where, sort: by('free') },
        { limit: 3, offset: 0 },
        'exact',
      )
      expect(items.map(({ item }) => String(item.free).at(-1))).toEqual(['a', 'b', 'c'])
      const dated = { ...car('dated'), at: '2024-02-29T23:00:00Z' }
      await store.create(dated)
      const instant = [is('at', 'in', '2024-02-29T23:00:00.000Z')]
      expect(await store.count({ where: instant }, 'exact')).toBe(1)
    }).finally(() => set(Object.fromEntries(Object.keys(settings).map(name => [name, 'default']))))
  })

  test('a server that stops makes calls unavailable, and later ones work', async ({ skip }) => {
    const server = mariadb()
    if (!server.own) skip()
    const store = open(newTable())
    await closing([store], async () => {
      const kept = await store.create({ ...car('red'), price: 0.1 + 0.2 })
      const writing = Array.from({ length: 20 }, (_, at) => store.create(car(`w${at}`)))
      const ended = Promise.allSettled(writing)
      await server.crash()
      const made = []
      for (const result of await ended) {
        if (result.status === 'fulfilled') made.push(result.value.id)
        else expect(result.reason).toBeInstanceOf(UnavailableError)
      }
      for (const call of [
        () => store.get(kept.id),
        () => store.list({ where: [], sort: by('') }, { limit: 1, offset: 0 }, 'exact'),
        () => store.create(car('blue')),
        () => store.update(kept.id, kept.version, car('blue')),
        () => store.begin('key', 'print'),
      ]) {
        await expect(call()).rejects.toBeInstanceOf(UnavailableError)
      }
      await server.start()
      expect(await store.get(kept.id)).toEqual(kept)
      for (const id of made) expect((await store.get(id))?.id).toBe(id)
      expect((await store.create(car('blue'))).item.color).toBe('blue')
    })
    await expect(store.get(1)).rejects.toBeInstanceOf(UnavailableError)
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
      const { url } = mariadb()
      await ask(
        url,
        `insert into ${table} (id, color, year, created_at, updated_at, version) select seq, concat('c', seq % 7), 1, '', '', '' from seq_1_to_60000`,
      )
      await ask(url, `analyze table ${table}`)
      const guess = (await store.count(all, 'estimated')) ?? 0
      expect(Math.abs(guess - 60_000)).toBeLessThan(20_000)
      expect(guess).not.toBe(60_000)
      expect(await store.count(all, 'exact')).toBe(60_000)
      const page = await store.list(all, { limit: 5, offset: 59_998 }, 'estimated')
      expect([page.items.length, page.total]).toEqual([2, 60_000])
      const few = { where: [is('id', 'lte', 500)] }
      expect(await store.count(few, 'estimated')).toBe(500)
    })
  }, 60_000)

  test('a table that exists is served by its own names, in its own types', async () => {
    const made = [
      'create table `Car Pool` (`car_id` varchar(40) primary key, paint varchar(20), doors integer, price decimal(10,2), more text, model json) character set latin1',
      'create unique index pool_paint on `Car Pool` (paint, doors)',
      `insert into \`Car Pool\` values ('k-1', 'red', 4, 10.50, '"null"', '{"name": "Clio"}')`,
    ]
    await servesCarPool(openMariadb(), made, { create: true })
  })
})

test('tables print as statements for a migration', () => {
  const { createdAt, updatedAt, ...undated } = SHAPE
  const shape: Shape = {
    ...undated,
    fields: new Map([...SHAPE.fields].filter(([name]) => /^(id|color|price|model|at)$/.test(name))),
    unique: [['color', 'model.name']],
    indexes: [['price'], ['model.year']],
  }
  const collate = ' collate /*M!100201 utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */'
  const printed = createTableSql(shape, { dialect: 'mysql' })
  expect(printed.slice(0, 8).map(each => each.replaceAll(collate, ' C'))).toEqual([
    'create table if not exists `cars` (`id` bigint primary key not null, `color` varchar(255) C not null, `price` double, `at` longtext C, `model` longtext C, `version` longtext C not null)',
    "alter table `cars` add column /*M! if not exists */ `rest_unique_model.name` varchar(255) C as ((case when json_type(json_extract(`model`, '$.\"name\"')) = 'STRING' then convert(json_unquote(json_extract(`model`, '$.\"name\"')) using utf8mb4) C end)) virtual",
    "alter table `cars` add column /*M! if not exists */ `rest_by_model.year` double as ((case when json_type(json_extract(`model`, '$.\"year\"')) in ('INTEGER', 'DOUBLE', 'UNSIGNED INTEGER', 'DECIMAL') then cast(convert(json_unquote(json_extract(`model`, '$.\"year\"')) using utf8mb4) C as double) end)) virtual",
    'create unique index /*M! if not exists */ `cars_unique_color_model.name` on `cars` (`color`, `rest_unique_model.name`)',
    'create index /*M! if not exists */ `cars_by_price` on `cars` (`price`, `id`)',
    'create index /*M! if not exists */ `cars_by_model.year` on `cars` (`rest_by_model.year`, `id`)',
    'create index /*M! if not exists */ `cars_down_price` on `cars` (`price` desc, `id`)',
    'create index /*M! if not exists */ `cars_down_model.year` on `cars` (`rest_by_model.year` desc, `id`)',
  ])
})
