// A million cars in SQLite and PostgreSQL: what pages cost the store, against the same by hand, and
// what a deep page costs that is reached by `Link`.
//   npx tsx bench/sql-million.ts [--rows=1000000] [--stores=sqlite,postgres] [--build=<folder>]
import { deepStrictEqual } from 'node:assert'
import { parseArgs } from 'node:util'
import Database from 'libsql'
import pg from 'pg'
import { type Filter, parseLink, type SortKey } from '../src/rules/index.ts'
import type { Slice } from '../src/store-authors/index.ts'
import { type Databases, type Engine, openDatabases, openKysely } from './databases.ts'
import { prepare, published } from './processes.ts'
import { carsOn, fill, time as timeCalls } from './rows.ts'
import { printSetting, printTable, printTime } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    build: { type: 'string' },
  },
})
const rows = Number(options.rows)
/** Until the code is compiled: before that a page takes up to half as long again. */
const time = (call: () => Promise<unknown>) => timeCalls(call, { calls: 300, warm: 1500 })
const ID: SortKey[] = [{ path: ['id'], descending: false }]
const FIRST = 'http://a.example/cars?limit=25'
const RED: Filter[] = [{ path: ['color'], operator: 'in', values: ['c3'] }]

prepare(options.build)
const found: string[][] = []
const linked: string[][] = []
for (const engine of ['sqlite', 'postgres'] as const) {
  if (!options.stores.split(',').includes(engine)) continue
  const databases = await openDatabases(engine)
  try {
    const { store, links } = await measure(engine, databases)
    found.push(store)
    linked.push(links)
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
printTable(
  'Whole requests for pages of 25, each with its total, in process by `fetch`, µs',
  ['store', 'first', 'at 90 % of the depth, by `Link`: last, then prev', '÷ first (at most 1.5)'],
  linked,
)
printSetting('calls of the store and requests, medians of 300', ['kysely', 'libsql', 'pg'])

async function measure(
  engine: Engine,
  databases: Databases,
): Promise<{ store: string[]; links: string[] }> {
  const { sqlStore } = await published()
  const address = await databases.fresh()
  const db = await openKysely(engine, address)
  const store = sqlStore({ db, create: true })
  const { fetch } = await carsOn(store)
  await store.count({ where: [] }, 'exact')
  await fill(engine, db, 1, rows)
  const hand = await byHand(engine, address)
  const page = async (where: Filter[], slice: Slice, total: 'exact' | 'none') =>
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
  const read = async (url: string) => (await fetch(new Request(url))).text()
  const deepest = await deepLink(fetch)
  const shallow = await time(() => read(FIRST))
  const linkedPage = await time(() => read(deepest))
  await hand.close()
  await store.close()
  const ratio = (one: number, other: number) => (one / other).toFixed(2)
  const links = [
    databases.title,
    printTime(shallow),
    printTime(linkedPage),
    ratio(linkedPage, shallow),
  ]
  const pages = [
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
  return { store: pages, links }
}

/** The address of the page at nine tenths of the list: from the first to the last, then back. */
async function deepLink(fetch: (request: Request) => Promise<Response>): Promise<string> {
  const follow = async (url: string, rel: string) => {
    const answer = await fetch(new Request(url))
    // What a list of cars is.
    const items = (await answer.json()) as { id: number }[]
    const link = parseLink(answer.headers.get('link') ?? '')?.find(each => each.rel === rel)
    if (!link) throw new Error(`${url} has no link ${rel}`)
    return { href: new URL(link.href, url), id: items[0]?.id ?? 0 }
  }
  const last = (await follow(FIRST.replace('25', '100'), 'last')).href
  for (let at = last; ; ) {
    const { href, id } = await follow(at.href, 'prev')
    if (id <= rows * 0.9) {
      at.searchParams.set('limit', '25')
      return at.href
    }
    at = href
  }
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
