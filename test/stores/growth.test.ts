// What lists and searches of large tables cost: totals up to a bound, counts that are slow, indexes of trigrams.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonServer } from '../../src/dialects/index.ts'
import {
  type Api,
  defineApi,
  defineCollection,
  memoryStore,
  onWork,
  type SlowCountEvent,
} from '../../src/index.ts'
import { createTableSql, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
  PostgreSQL: async () => sqlStore({ db: openPostgres(), table: 'bounded_cars', create: true }),
}

const define = (store: Store) =>
  defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ color: z.string() }),
    store,
    total: { exactUpTo: 3 },
  })

async function ask(api: Pick<Api, 'fetch'>, path: string, init?: RequestInit) {
  const response = await api.fetch(new Request(`https://api.example${path}`, init))
  const { headers } = response
  const text = await response.text()
  return {
    total: headers.get('x-result-count'),
    range: headers.get('content-range'),
    headers,
    text,
  }
}

describe.each(Object.entries(STORES))('total: { exactUpTo: 3 } in %s', (_name, makeStore) => {
  test('bounds the total of a list, and nothing else', async () => {
    const cars = define(await makeStore())
    const api = defineApi({ collections: { cars } })
    const colors = ['red', 'red', 'red', 'blue', 'blue']
    await api.collection(cars).create(colors.map(color => ({ color })))
    for (let round = 0; round < 2; round++) {
      const first = await ask(api, '/cars?limit=2')
      expect([first.total, first.range]).toEqual([null, 'cars 0-1/*'])
      expect(first.headers.get('link')).toContain('rel="next"')
      const preferred = await ask(api, '/cars?limit=2', { headers: { prefer: 'count=exact' } })
      expect([preferred.total, preferred.range]).toEqual(['5', 'cars 0-1/5'])
      const fitting = await ask(api, '/cars?limit=2&color=red')
      expect([fitting.total, fitting.range]).toEqual(['3', 'cars 0-1/3'])
    }
    for (const path of ['/cars', '/cars?offset=4', '/cars?offset=9&limit=0'])
      expect([path, (await ask(api, path)).total]).toEqual([path, null])
    expect((await ask(api, '/cars?limit=2', { method: 'HEAD' })).total).toBeNull()
    expect((await ask(api, '/cars/count')).text).toBe('{"count":5}')
    expect((await api.collection(cars).list().page()).total).toBe(5)
    await api.close()
  })
})

test('total: { exactUpTo } leaves totals to the clients of dialects', async () => {
  const cars = define(memoryStore())
  const api = defineApi({ collections: { cars }, dialects: [jsonServer] })
  await api.collection(cars).create(['a', 'b', 'c', 'd'].map(color => ({ color })))
  expect((await ask(api, '/cars?_start=0&_end=1')).headers.get('x-total-count')).toBe('4')
})

test.each([[{ exactUpTo: 0 }], [{ exactUpTo: 2.5 }], [{ upTo: 3 }], [{}], [null], ['all']])(
  'total: %j is refused',
  total => {
    const schema = z.object({ color: z.string() })
    const options = { name: 'cars', schema, store: memoryStore(), total: total as 'exact' } // as JavaScript may
    expect(() => defineCollection(options)).toThrow(
      'cars: total must be "exact", "estimated", "none" or { exactUpTo: 100_000 }',
    )
  },
)

/** Fills a table of cars by SQL. */
const fill = (db: Kysely<unknown>, table: string, rows: number) =>
  sql`insert into ${sql.table(table)} select i, 'car ' || md5(i::text) || ' w' || (i % 500), now(), now(), '1' from generate_series(1, ${sql.lit(rows)}) as i`.execute(
    db,
  )

test('a count that takes long is named by an event and by /health', async () => {
  const db = openPostgres()
  const schema = z.object({ color: z.string() })
  const shape = { name: 'slow', schema, id: 'integer' } as const
  const slow = defineCollection({ ...shape, store: sqlStore({ db, table: 'slow_cars' }) })
  for (const statement of createTableSql(slow.shape, { database: 'postgres', table: 'all_cars' }))
    await sql.raw(statement).execute(db)
  await fill(db, 'all_cars', 10_001)
  await sql`create view slow_cars as select * from all_cars where (select pg_sleep(0.06)::text) is not null`.execute(
    db,
  )
  const seen: SlowCountEvent[] = []
  const stop = onWork(event => {
    if (event.type === 'slow_count') seen.push(event)
  })
  const api = defineApi({ collections: { slow }, health: true })
  expect((await ask(api, '/slow?limit=1')).total).toBe('10001')
  stop()
  expect(seen).toMatchObject([{ table: 'slow_cars', total: 10_001 }])
  expect(seen[0]?.duration).toBeGreaterThanOrEqual(50)
  const { text } = await ask(api, '/health')
  expect(JSON.parse(text)).toEqual({ status: 'ok', slow_counts: ['slow'] })
  await api.close()
})

describe('an index of trigrams', () => {
  const define = (store: Store) =>
    defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ name: z.string() }),
      search: ['name'],
      store,
    })

  test('is made where the extension is, serves words of three letters, and finds the same', async () => {
    const statements: CompiledQuery[] = []
    const db = openPostgres({}, statement => statements.push(statement))
    const store = (table: string) => sqlStore({ db, table, create: true })
    const before = define(store('plain_texts'))
    await defineApi({ collections: [before] }).open()
    await sql`create extension pg_trgm`.execute(db)
    const after = define(store('indexed_texts'))
    const api = defineApi({ collections: [after] })
    await api.open()
    const { rows } =
      await sql`select tablename from pg_indexes where indexdef like '%gin_trgm_ops%'`.execute(db)
    expect(rows).toEqual([{ tablename: 'indexed_texts' }])

    const names = [
      '50% off',
      'a_b',
      'back\\slash',
      'Straße',
      'Crème',
      'aXb',
      '500 off',
      '日本語の車',
      'ab',
    ]
    const plain = defineApi({ collections: [before] })
    for (const each of [plain, api])
      await each.collection('cars').create(names.map(name => ({ name })))
    const words = [
      '50%',
      '0% o',
      'a_b',
      'back\\',
      '\\slash',
      'strasse',
      'creme',
      'off',
      '日本語',
      'ab',
      '%',
      '_',
      'b',
    ]
    for (const word of words) {
      const find = (from: Pick<Api, 'fetch'>) =>
        ask(from, `/cars/search?q=${encodeURIComponent(word)}&fields=name`)
      expect([word, (await find(api)).text]).toEqual([word, (await find(plain)).text])
    }

    await sql`insert into indexed_texts (id, name, created_at, updated_at, version, rest_search_name) select i, n, now(), now(), '1~1', n from (select i, 'car ' || md5(i::text) || ' w' || (i % 500) as n from generate_series(100, 20000) as i) as made`.execute(
      db,
    )
    await sql`analyze indexed_texts`.execute(db)
    statements.splice(0)
    expect((await ask(api, '/cars/search?q=w471')).total).toBe('40')
    const [search] = statements.filter(({ sql: text }) => text.includes('rest_total'))
    const plan = await db.executeQuery<object>({
      ...(search as CompiledQuery),
      sql: `explain ${search?.sql}`,
    })
    expect(JSON.stringify(plan.rows)).toMatch(
      /Bitmap Index Scan on indexed_texts_rest_search_name_trigrams/,
    )
    await api.close()
  })

  test('is named by open() if a large table lacks it', async () => {
    const db = openPostgres()
    const cars = () => define(sqlStore({ db, table: 'large_texts', create: true }))
    await sql`drop extension if exists pg_trgm cascade`.execute(db)
    await defineApi({ collections: [cars()] }).open()
    await sql`update pg_class set reltuples = 200000 where relname = 'large_texts'`.execute(db)
    const warned: string[] = []
    const listen = ({ message }: Error) => warned.push(message)
    process.on('warning', listen)
    await defineApi({ collections: [cars()] }).open()
    await new Promise(resolve => setImmediate(resolve))
    expect(warned).toEqual([
      'large_texts has about 200000 rows, and searches read all of them. Run this for an index of trigrams:\ncreate extension if not exists pg_trgm;\ncreate index concurrently if not exists "large_texts_rest_search_name_trigrams" on "large_texts" using gin ("rest_search_name" gin_trgm_ops);',
    ])
    const statements = warned[0]?.split('\n').slice(1) ?? []
    for (const statement of statements) await sql.raw(statement).execute(db)
    warned.splice(0)
    await defineApi({ collections: [cars()] }).open()
    await new Promise(resolve => setImmediate(resolve))
    process.off('warning', listen)
    expect(warned).toEqual([])
  })
})
