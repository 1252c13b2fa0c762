// A million cars in SQLite and PostgreSQL: what pages cost the store, against the same by hand.
//   npx tsx bench/sql-million.ts [--rows=1000000] [--stores=sqlite,postgres] [--build=<folder>]
import { deepStrictEqual } from 'node:assert'
import { parseArgs } from 'node:util'
import Database from 'libsql'
import pg from 'pg'
import type { Filter, Slice, SortKey } from '../src/index.ts'
import { type Databases, type Engine, openDatabases, openKysely } from './databases.ts'
import { prepare, published } from './processes.ts'
import { carsOn, fill, time } from './rows.ts'
import { printSetting, printTable, printTime } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    build: { type: 'string' },
  },
})
const rows = Number(options.rows)
const ID: SortKey[] = [{ path: ['id'], descending: false }]
const RED: Filter[] = [{ path: ['color'], operator: 'in', values: ['c3'] }]

prepare(options.build)
const found: string[][] = []
for (const engine of ['sqlite', 'postgres'] as const) {
  if (!options.stores.split(',').includes(engine)) continue
  const databases = await openDatabases(engine)
  try {
    found.push(await measure(engine, databases))
  } finally {
    await databases.close()
  }
}
printTable(
  `Pages of 25 of ${rows} rows, µs`,
  [
    'store',
    'first',
    'at 90 % of the depth',
    '÷ first (at most 1.5)',
    'filtered',
    'by hand',
    '÷ by hand (at most 2)',
    'filtered, with its total, repeated',
    '÷ filtered (at most 3)',
  ],
  found,
)
printSetting('calls of the store, medians of 200', ['kysely', 'libsql', 'pg'])

async function measure(engine: Engine, databases: Databases): Promise<string[]> {
  const { sqlStore } = await published()
  const address = await databases.fresh()
  const db = await openKysely(engine, address)
  const store = sqlStore({ db, create: true })
  await carsOn(store)
  await store.count({ where: [] }, 'exact')
  await fill(engine, db, 1, rows)
  const hand = await byHand(engine, address)
  const page = (where: Filter[], slice: Slice, total: 'exact' | 'none') =>
    store.list({ where, sort: ID }, slice, total)
  const start: Slice = { limit: 25, key: undefined, backward: false }
  const depth: Slice = { ...start, key: [Math.floor(rows * 0.9)] }

  const { items } = await page(RED, start, 'none')
  deepStrictEqual([items.length, (await hand.page('c3')).length], [25, 25])
  const first = await time(() => page([], start, 'none'))
  const deep = await time(() => page([], depth, 'none'))
  const filtered = await time(() => page(RED, start, 'none'))
  const same = await time(() => hand.page('c3'))
  const counted = await time(() => page(RED, start, 'exact'))
  await hand.close()
  await store.close()
  const ratio = (one: number, other: number) => (one / other).toFixed(2)
  return [
    databases.title,
    printTime(first),
    printTime(deep),
    ratio(deep, first),
    printTime(filtered),
    printTime(same),
    ratio(filtered, same),
    printTime(counted),
    ratio(counted, filtered),
  ]
}

/** The filtered page by a prepared statement on the driver. */
async function byHand(engine: Engine, address: string) {
  const text = 'select * from cars where color = ? order by id limit 25'
  if (engine === 'sqlite') {
    const database = new Database(address)
    const statement = database.prepare(text)
    return {
      page: async (color: string) => statement.all(color),
      close: async () => void database.close(),
    }
  }
  const pool = new pg.Pool({ connectionString: address, max: 1 })
  const query = { name: 'by-hand', text: text.replace('?', '$1') }
  return {
    page: async (color: string) => (await pool.query({ ...query, values: [color] })).rows,
    close: () => pool.end(),
  }
}
