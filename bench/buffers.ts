// What nineteen requests on PostgreSQL read when there are more rows: pages of 8 KiB, as `explain (analyze, buffers)` counts them.
//   npx tsx bench/buffers.ts [--rows=10000,100000,1000000]
// Then what the index of trigrams costs writes. `DATABASE_URL` names another PostgreSQL.
import { parseArgs } from 'node:util'
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { z } from 'zod'
import type { Api } from '../src/index.ts'
import { openDatabases } from './databases.ts'
import { prepare, published } from './processes.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '10000,100000,1000000' }, build: { type: 'string' } },
})
prepare(options.build)
const { defineApi, defineCollection, preparePostgres, sqlStore } = await published()

type Write = (text: string) => RequestInit
const writing = (method: string, value: object) => ({ method, body: JSON.stringify(value) })
const withoutTotal: Write = () => ({ headers: { prefer: 'count=none' } })
const REQUESTS: readonly (readonly [string, (rows: number) => string, Write?])[] = [
  ['get', rows => `/cars/${rows / 2}`],
  ['first page', () => '/cars'],
  ['first page, `exactUpTo: 100_000`', () => '/bounded'],
  ['a page by cursor', () => '/cars'],
  ['a page by `offset=1000`', () => '/bounded?offset=1000'],
  ['a page by `sort=-price`', () => '/bounded?sort=-price'],
  ['a list of a twelfth, `color=c3`', () => '/bounded?color=c3'],
  ['a list of 25, `price[gte]`', () => '/cars?price[gte]=4711&price[lt]=4712&limit=25'],
  ['search for a word in 1 row', rows => `/cars/search?q=x${rows / 2}x`],
  ['search for a word in 40 rows', () => '/cars/search?q=rare7'],
  ['search for two words', () => '/cars/search?q=rare7%20green'],
  ['search for a word of 2 letters', () => '/bounded/search?q=w4'],
  ['search for a word in a 500th of the rows', () => '/cars/search?q=w123'],
  ['search for a word in 97 % of the rows', () => '/cars/search?q=blue'],
  ['the same, `exactUpTo: 100_000`', () => '/bounded/search?q=blue'],
  ['the same, `Prefer: count=none`', () => '/cars/search?q=blue', withoutTotal],
  ['poll by `since_id`', rows => `/bounded?since_id=${rows - 10}`],
  ['create', () => '/cars', text => writing('POST', { color: 'c1', price: 1, text })],
  ['patch', rows => `/cars/${rows / 2}`, text => writing('PATCH', { text })],
]

const databases = await openDatabases('postgres')
const sizes = options.rows.split(',').map(Number)
const counts = new Map<string, number[]>(REQUESTS.map(([title]) => [title, []]))
const writes: string[][] = []
try {
  for (const rows of sizes) await measure(rows)
} finally {
  await databases.close()
}
printTable(
  'Buffers of a request, by the number of rows',
  ['request', ...sizes.map(String)],
  [...counts].map(([title, found]) => [title, ...found.map(String)]),
)
printTable(
  'An insert of a row, and of 1,000 rows',
  [
    'rows before',
    'index of trigrams',
    'buffers',
    'bytes of WAL',
    'buffers of 1,000',
    'WAL of 1,000',
    'ms of 1,000',
  ],
  writes,
)
printSetting('sums of all statements of a request', ['kysely', 'pg'])

/** Makes a table of so many rows, and asks it. */
async function measure(rows: number): Promise<void> {
  const pool = preparePostgres(new pg.Pool({ connectionString: await databases.fresh() }))
  const statements: CompiledQuery[] = []
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void statements.push(query),
  })
  await sql`create extension if not exists pg_trgm`.execute(db)
  const schema = z.object({ color: z.string(), price: z.int(), text: z.string() })
  const define = (name: string, exactUpTo?: number) =>
    defineCollection({
      name,
      schema,
      id: 'integer',
      indexes: ['color', 'price'],
      search: ['text'],
      ...(exactUpTo !== undefined && { total: { exactUpTo } }),
      store: sqlStore({ db, table: 'cars', create: true, rememberTotals: false }),
    })
  const api = defineApi({ collections: [define('cars'), define('bounded', 100_000)] })
  await api.open()
  await fill(db, rows)
  await sql`vacuum (analyze) cars`.execute(db)
  for (const [title, path, write] of REQUESTS) {
    let url = `https://bench.example${path(rows)}`
    let response = await ask(api, url, write?.('a'))
    if (title.includes('cursor'))
      url = /<([^>]+)>; rel="?next/.exec(response.headers.get('link') ?? '')?.[1] ?? url
    statements.splice(0)
    response = await ask(api, url, write?.('b'))
    await response.arrayBuffer()
    let buffers = 0
    for (const statement of statements.splice(0)) buffers += (await explain(db, statement)).buffers
    counts.get(title)?.push(buffers)
    statements.splice(0)
  }
  for (const has of ['yes', 'no']) {
    const one = await explain(db, insert(rows + 1001, rows + 1001).compile(db))
    const many = await explain(db, insert(rows + 2000, rows + 2999).compile(db))
    const cells = [one.buffers, one.wal, many.buffers, many.wal, many.time.toFixed(1)]
    writes.push([String(rows), has, ...cells.map(String)])
    await sql`drop index if exists cars_rest_search_text_trigrams`.execute(db)
  }
  await api.close()
  await db.destroy()
  process.stderr.write('.')
}

async function ask(api: Pick<Api, 'fetch'>, url: string, write?: RequestInit): Promise<Response> {
  const headers = new Headers(write?.headers)
  headers.set('content-type', 'application/json')
  const response = await api.fetch(new Request(url, { ...write, headers }))
  if (response.status >= 400) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response
}

/** @param every how many rows there are for one with a rare word. */
function insert(from: number, to: number, every = 100) {
  return sql`insert into cars (id, color, price, text, created_at, updated_at, version, rest_search_text)
    select i, 'c' || i % 12, i % 40000, made, now(), now(), '1~' || i, made from (
      select i, 'car ' || md5(i::text) || ' x' || i || 'x w' || i % 500 || case when i % ${sql.lit(every)} = 7
        then ' rare7 green' else ' blue' end as made
      from generate_series(${sql.lit(from)}, ${sql.lit(to)}) as i) as rows`
}

/** A connection that is silent for a minute is closed: a part takes less. */
async function fill(db: Kysely<unknown>, rows: number): Promise<void> {
  const PART = 50_000
  for (let from = 1; from <= rows; from += PART)
    await insert(from, Math.min(rows, from + PART - 1), rows / 40).execute(db)
}

/** Runs a statement once more, undone, and counts what it touches. */
async function explain(db: Kysely<unknown>, { sql: text, parameters }: CompiledQuery) {
  if (!/^\s*(?:select|with|insert|update|delete)/i.test(text))
    return { buffers: 0, wal: 0, time: 0 }
  const client = await db.connection().execute(async connection => {
    await sql`begin`.execute(connection)
    try {
      const explained = { sql: `explain (analyze, buffers, wal, format json) ${text}`, parameters }
      return await connection.executeQuery<{ 'QUERY PLAN': [Plan] }>(
        // With its own text; the rest is that of a statement of the same parameters.
        { ...sql`select 1`.compile(connection), ...explained },
      )
    } finally {
      await sql`rollback`.execute(connection)
    }
  })
  const [plan] = client.rows[0]?.['QUERY PLAN'] ?? []
  const { Plan: root, 'Execution Time': time = 0 } = plan ?? {}
  const buffers = (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0)
  return { buffers, wal: root?.['WAL Bytes'] ?? 0, time }
}

interface Plan {
  readonly Plan: { readonly [name: string]: number }
  readonly 'Execution Time': number
}
