import { CompiledQuery, type Kysely, sql } from 'kysely'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { DiskFullError } from '../../src/store/errors.ts'
import { toKeyedStore } from '../../src/store/keyed-store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, updateOne } from '../../src/testing/write-items.ts'
import { SERVER_LISTS } from './plans.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { agrees, by, SHAPE } from './selections.ts'

usePostgres()

/** How many rounds of random questions: `DIFFERENTIAL_RUNS=300` before a release. */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS || 25)

describe('PostgreSQL gives the answer of the store in memory', () => {
  test('for any items, filters, searches, sorts and slices', async () => {
    const db = openPostgres()
    await agrees(table => sqlStore({ db, create: true, table, clock: () => 1e12 }), db, RUNS)
    await db.destroy()
  }, 600_000)
})

test('a server whose clock is ahead leaves the claims of others alone', async () => {
  const db = openPostgres()
  const [here, there] = [0, 1].map(() =>
    toKeyedStore(sqlStore({ db, table: 'ahead', create: true })),
  )
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
  await db.destroy()
})

test('a full disk is one', async () => {
  const db = openPostgres()
  const store = sqlStore({ db, table: 'filled', create: true })
  store.attach(SHAPE)
  const values = { color: 'c', price: 1, year: 1 }
  const { id, version } = await createOne(store, values)
  await sql`create function refuse() returns trigger language plpgsql as
    'begin raise exception ''no space'' using errcode = ''53100''; end'`.execute(db)
  await sql`create trigger refuse before insert or update on filled execute function refuse()`.execute(
    db,
  )
  await expect(createOne(store, values)).rejects.toBeInstanceOf(DiskFullError)
  await expect(updateOne(store, { id, version }, values)).rejects.toBeInstanceOf(DiskFullError)
  await expect(
    store.transaction?.([store], async ([tx]) => tx && createOne(tx, values)),
  ).rejects.toBeInstanceOf(DiskFullError)
  expect(await findOne(store, id)).toMatchObject({ version })
  await db.destroy()
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Plan[]
}

function stepsOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(stepsOf)]
}

describe('PostgreSQL answers by an index', () => {
  const seen: CompiledQuery[] = []
  let db: Kysely<unknown>
  let store: ReturnType<typeof sqlStore>
  beforeAll(async () => {
    db = openPostgres({}, query => seen.push(query))
    store = sqlStore({ db, create: true, table: 'planned' })
    store.attach(SHAPE)
    await createOne(store, { color: 'c1', price: 1, year: 1 })
    await sql`insert into planned (id, color, price, year, at, model, created_at, updated_at, version)
      select n, 'c' || n % 500, n % 3000, n, '2024-01-01T00:00:00Z', json_build_object('name', 'x', 'year', n),
        timestamptz '2024-01-01T00:00:00Z' + n * interval '1 second', '2024-01-01T00:00:00.000Z', 'v'
      from generate_series(2, 20000) as n`.execute(db)
    await sql`analyze planned`.execute(db)
    return () => store.close()
  })

  test.each(SERVER_LISTS)('%s and its total', async (_name, where, sort, slice) => {
    seen.length = 0
    const { items, total } = await store.list({ where, sort: by(sort) }, slice, 'exact')
    const statements = seen.filter(each => each.sql.includes('planned'))
    // A null may stand for a value that JSON cannot say, such as infinity: then the row of the place is asked.
    const isVague = 'key' in slice && slice.key?.includes(null) === true
    expect(statements).toHaveLength(isVague ? 2 : 1)
    const statement = statements.at(-1)
    expect(total).toBeGreaterThanOrEqual(items.length)
    const explained = CompiledQuery.raw(`explain (format json) ${statement?.sql}`, [
      ...(statement?.parameters ?? []),
    ])
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained)
    const steps = rows.flatMap(row => stepsOf(row['QUERY PLAN'][0].Plan))
    const scans = steps.filter(step => step['Relation Name'] === 'planned')
    for (const step of scans) {
      // A count without filters is of the whole table.
      if (where.length > 0) expect(step['Node Type']).not.toBe('Seq Scan')
    }
    const page = steps.filter(step => step['Index Name'] !== undefined)
    expect(page.length).toBeGreaterThan(0)
    if ('key' in slice) expect(page.some(step => step['Index Cond'] !== undefined)).toBe(true)
    // A few matches may be sorted, the whole table may not.
    const sorts = steps.filter(step => step['Node Type'] === 'Sort')
    const ofAll = sorts.filter(step => step.Plans?.[0]?.['Node Type'] !== 'Limit')
    if (where.length === 0) expect(ofAll).toEqual([])
    // The same index backwards, not one sort for each group of equals.
    const types = steps.map(step => step['Node Type'])
    if (/^-\w+$/.test(sort)) expect(types).not.toContain('Incremental Sort')
  })
})
