// A million cars in SQLite and PostgreSQL: what pages, counts, gets and creates cost.
//   npx tsx bench/sql-million.ts [rows, default 1000000] [sqlite|postgres|both]
// PostgreSQL: the one at DATABASE_URL, in a table of its own that is dropped; else it is left out.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import type { Field } from '../src/fields.ts'
import type { Filter, SortKey } from '../src/selection.ts'
import type { Shape, Slice } from '../src/store.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../src/stores/sql.ts'

const ROWS = Number(process.argv[2] ?? 1_000_000)
const WHICH = process.argv[3] ?? 'both'
const TABLE = `bench_${process.pid}`
const plain = { nullable: false, optional: false }
const SHAPE: Shape = {
  name: 'cars',
  fields: new Map<string, Field>([
    ['id', { kind: 'integer', ...plain }],
    ['color', { kind: 'string', ...plain }],
    ['price', { kind: 'number', ...plain }],
    ['created_at', { kind: 'date-time', ...plain }],
    ['updated_at', { kind: 'date-time', ...plain }],
  ]),
  identity: { name: 'id', kind: 'integer' },
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  unique: [],
  indexes: [['color']],
}
const ID: SortKey[] = [{ path: ['id'], descending: false }]
const RED: Filter[] = [{ path: ['color'], operator: 'in', values: ['c3'] }]

/** The median of calls, in microseconds. */
async function time(call: () => Promise<unknown>, calls = 300): Promise<number> {
  for (let warm = 0; warm < calls; warm++) await call()
  const times: number[] = []
  for (let each = 0; each < calls; each++) {
    const start = process.hrtime.bigint()
    await call()
    times.push(Number(process.hrtime.bigint() - start) / 1000)
  }
  return times.sort((a, b) => a - b)[calls >> 1] ?? Number.NaN
}

async function measure(
  name: string,
  db: Kysely<unknown>,
  fill: (from: number, to: number) => Promise<void>,
  byHand: (color: string) => Promise<unknown>,
): Promise<void> {
  const store = sqlStore({ db, table: TABLE, create: true })
  store.attach(SHAPE)
  await store.count({ where: [] }, 'exact')
  const page = (where: Filter[], slice: Slice, total: 'exact' | 'none') =>
    store.list({ where, sort: ID }, slice, total)
  const start: Slice = { limit: 25, key: undefined, backward: false }
  const sizes = [1e3, 1e4, 1e5, 1e6].filter(size => size <= ROWS)
  console.log(`\n${name}, µs\n| rows | list | get | create |\n|---|---|---|---|`)
  let filled = 0
  for (const size of sizes) {
    await fill(filled + 1, size)
    filled = size
    const list = await time(() => page([], start, 'none'))
    const get = await time(() => store.get(1 + Math.floor(Math.random() * size)))
    const create = await time(() => store.create({ color: 'new', price: 1 }))
    await sql`delete from ${sql.table(TABLE)} where color = 'new'`.execute(db)
    console.log(`| ${size} | ${list.toFixed(0)} | ${get.toFixed(0)} | ${create.toFixed(0)} |`)
  }
  const first = await time(() => page([], start, 'none'))
  const deep = await time(() =>
    page([], { limit: 25, key: [Math.floor(filled * 0.9)], backward: false }, 'none'),
  )
  const red = await time(() => page(RED, start, 'none'))
  const hand = await time(() => byHand('c3'))
  const counted = await time(() => page(RED, start, 'exact'))
  console.log(`page at 90 % of the depth ÷ first page: ${(deep / first).toFixed(2)} (at most 1.5)`)
  console.log(`filtered page ÷ the same by hand: ${(red / hand).toFixed(2)} (at most 2)`)
  console.log(`page with its total, repeated ÷ page: ${(counted / red).toFixed(2)} (at most 3)`)
  // A file is removed whole.
  if (name !== 'SQLite') await sql`drop table ${sql.table(TABLE)}`.execute(db)
  await store.close()
}

async function onSqlite(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  const database = new Database(join(directory, 'cars.db'))
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: reuseStatements(database) }),
  })
  await prepareSqlite(db)
  const select = () =>
    database.prepare(`select * from ${TABLE} where color = ? order by id limit 25`)
  let prepared: ReturnType<typeof select> | undefined
  await measure(
    'SQLite',
    db,
    async (from, to) => {
      await sql`with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
        insert into ${sql.table(TABLE)} (id, color, price, created_at, updated_at, version)
        select i, 'c' || i % 12, i % 5000, '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z', 'v' || i from n`.execute(
        db,
      )
      await sql`analyze`.execute(db)
    },
    async color => {
      prepared ??= select()
      return prepared.all(color)
    },
  ).finally(() => rmSync(directory, { recursive: true, force: true }))
}

async function onPostgres(url: string): Promise<void> {
  const pool = preparePostgres(new pg.Pool({ connectionString: url, max: 4 }))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  const text = `select * from ${TABLE} where color = $1 order by id limit 25`
  await measure(
    'PostgreSQL',
    db,
    async (from, to) => {
      await sql`insert into ${sql.table(TABLE)} (id, color, price, created_at, updated_at, version)
        select i, 'c' || i % 12, i % 5000, '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z', 'v' || i
        from generate_series(${from}::bigint, ${to}::bigint) as i`.execute(db)
      await sql`analyze ${sql.table(TABLE)}`.execute(db)
    },
    color => pool.query({ name: 'by-hand', text, values: [color] }),
  )
}

if (WHICH !== 'postgres') await onSqlite()
const url = process.env.DATABASE_URL
if (WHICH !== 'sqlite' && url) await onPostgres(url)
else if (WHICH !== 'sqlite') console.log('\nPostgreSQL left out: set DATABASE_URL')
