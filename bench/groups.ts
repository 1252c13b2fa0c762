// Counts by groups over a million rows, against the SQL by hand on the same driver: CPU of Node and of PostgreSQL, and
// how long reads of other requests wait meanwhile.
//   npx tsx bench/groups.ts [--rows=1000000] [--rounds=5] [--stores=sqlite,postgres] [--build=<folder>]
import { deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CompiledQuery, type Kysely } from 'kysely'
import { z } from 'zod'
import type { Filter } from '../src/rules/index.ts'
import { findOne } from '../src/store/writes.ts'
import type { Grouping, Store } from '../src/store-authors/index.ts'
import { type Engine, openDatabases, openKysely } from './databases.ts'
import { prepare, published } from './processes.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    build: { type: 'string' },
  },
})
const rows = Number(options.rows)
const rounds = Number(options.rounds)

/** A count: what is asked of the store, and the SQL by hand. */
interface Work {
  readonly title: string
  readonly where: readonly Filter[]
  readonly by: readonly string[]
  readonly sum: readonly string[]
  readonly hand: (engine: Engine) => string
}

const month = (engine: Engine) =>
  engine === 'sqlite'
    ? 'substr(created_at, 1, 7)'
    : "date_trunc('month', created_at at time zone 'UTC')"
const since = new Date(Date.UTC(2020, 0, 1) + rows * 59_000).toISOString()

const WORKS: readonly Work[] = [
  {
    title: 'by color, with the sum of prices',
    where: [],
    by: ['color'],
    sum: ['price'],
    hand: () => 'select color, count(*) as count, sum(price) as sum from cars group by color',
  },
  {
    title: 'by month, with the sum of prices',
    where: [],
    by: ['created_at:month'],
    sum: ['price'],
    hand: engine =>
      `select ${month(engine)} as month, count(*) as count, sum(price) as sum from cars group by 1`,
  },
  {
    title: 'of the unsold, by color and kind, without sums',
    where: [{ path: ['sold'], operator: 'in', values: [false] }],
    by: ['color', 'kind'],
    sum: [],
    hand: engine =>
      `select color, kind, count(*) as count from cars where sold = ${engine === 'sqlite' ? 0 : false} group by color, kind`,
  },
  {
    title: 'by kind, which has an index, without sums',
    where: [],
    by: ['kind'],
    sum: [],
    hand: () => 'select kind, count(*) as count from cars group by kind',
  },
  {
    title: 'of the newest hundredth, by an index on the time, by color',
    where: [{ path: ['created_at'], operator: 'gte', values: [since] }],
    by: ['color'],
    sum: ['price'],
    hand: () =>
      `select color, count(*) as count, sum(price) as sum from cars where created_at >= '${since}' group by color`,
  },
]

const toPath = (text: string) => text.split('.')

function toGrouping({ by, sum }: Work): Grouping {
  return {
    keys: by.map(text => {
      const [path = '', part] = text.split(':')
      return { path: toPath(path), ...(part === 'month' && { part }) }
    }),
    aggregates: sum.map(path => ({ of: 'sum' as const, path: toPath(path) })),
    limit: 1000,
  }
}

async function openStore(engine: Engine, address: string) {
  const { sqlStore, defineCollection } = await published()
  const parallel = '?options=-c%20max_parallel_workers_per_gather%3D0'
  const db = await openKysely(engine, engine === 'postgres' ? address + parallel : address)
  const store = sqlStore({ db, create: true })
  defineCollection({
    name: 'cars',
    schema: z.object({
      color: z.string(),
      kind: z.string(),
      price: z.int(),
      sold: z.boolean(),
      note: z.string(),
    }),
    store,
    indexes: ['kind', 'created_at'],
  })
  await store.count({ where: [] }, 'none')
  await store.open?.()
  return { db, store }
}

/** Fills the table: a car each minute, in an order of ids that is theirs. */
async function fill(engine: Engine, db: Kysely<unknown>): Promise<void> {
  const start = Date.UTC(2020, 0, 1)
  const sqlite = `insert into cars (id, color, kind, price, sold, note, created_at, updated_at, version)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    select printf('%08x-0000-7000-8000-000000000000', i), 'c' || (i * 7919 % 20), 'k' || (i * 104729 % 12), i * 31 % 5000, i % 3 = 0,
      'a note of some length', strftime('%Y-%m-%dT%H:%M:%fZ', ${start / 1000} + i * 60, 'unixepoch'), '2024-01-01T00:00:00.000Z', 'v' || i from n`
  const postgres = `insert into cars (id, color, kind, price, sold, note, created_at, updated_at, version)
    select (lpad(to_hex(i), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'c' || (i * 7919 % 20), 'k' || (i * 104729 % 12), i * 31 % 5000, i % 3 = 0,
      'a note of some length', to_timestamp(${start / 1000} + i * 60), now(), 'v' || i from generate_series(1::bigint, ${rows}) as n(i)`
  await db.executeQuery(CompiledQuery.raw(engine === 'sqlite' ? sqlite : postgres))
  await db.executeQuery(CompiledQuery.raw(engine === 'sqlite' ? 'analyze' : 'vacuum analyze cars'))
}

/** The CPU time of this process and of the PostgreSQL that serves it, in milliseconds. */
async function usage(engine: Engine, db: Kysely<unknown>): Promise<number> {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1000
  if (engine === 'sqlite') return own
  const text = 'select pid from pg_stat_activity where datname = current_database()'
  const found = await db.executeQuery<{ pid: number }>(CompiledQuery.raw(text))
  const spent = found.rows.map(({ pid }) =>
    Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]),
  )
  return own + spent.reduce((sum, each) => sum + each, 0) / 1e6
}

/** Reads items of the store while work runs: how many, and the longest wait in milliseconds. */
async function beside(store: Store, work: Promise<unknown>): Promise<[number, number]> {
  let ended = false
  const end = work.finally(() => {
    ended = true
  })
  let reads = 0
  let longest = 0
  while (!ended) {
    const started = performance.now()
    await new Promise(resolve => setImmediate(resolve))
    await findOne(store, '00000001-0000-7000-8000-000000000000')
    longest = Math.max(longest, performance.now() - started)
    reads++
  }
  await end
  return [reads, longest]
}

prepare(options.build)
const table: string[][] = []
for (const engine of ['sqlite', 'postgres'] as const) {
  if (!options.stores.split(',').includes(engine)) continue
  const databases = await openDatabases(engine)
  const { db, store } = await openStore(engine, await databases.fresh())
  await fill(engine, db)
  for (const work of WORKS) {
    const grouping = toGrouping(work)
    const ours = async () => store.countBy?.({ where: work.where }, grouping)
    const hand = async () => (await db.executeQuery(CompiledQuery.raw(work.hand(engine)))).rows
    const numbers = async () => {
      const counts = (await ours())?.map(({ count, values }) => `${count} ${values[0] ?? ''}`)
      const byHand = (await hand()).map(row => {
        const { count, sum = '' } = Object(row)
        return `${count} ${sum}`
      })
      deepStrictEqual(counts?.sort(), byHand.sort())
    }
    await numbers()
    const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as [number, number]
    for (let round = 0; round < rounds; round++) {
      for (const [at, run] of [ours, hand].entries()) {
        const before = await usage(engine, db)
        await run()
        const spent = (await usage(engine, db)) - before
        best[at as 0 | 1] = Math.min(best[at as 0 | 1], spent)
      }
    }
    const [reads, longest] = await beside(store, ours())
    table.push([
      databases.title,
      work.title,
      best[0].toFixed(0),
      best[1].toFixed(0),
      (best[0] / best[1]).toFixed(2),
      `${reads}, ${longest.toFixed(0)} ms`,
    ])
  }
  await db.destroy()
  await databases.close()
}
printTable(
  `Counts by groups of ${rows} rows: CPU of Node and of the database, ms`,
  ['store', 'count', 'here', 'by hand', '÷ by hand (at most 1.2)', 'reads meanwhile, longest wait'],
  table,
)
printSetting(`least of ${rounds}, alternating`, ['kysely', 'libsql', 'pg'])
process.exit()
