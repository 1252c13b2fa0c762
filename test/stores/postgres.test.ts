import { CompiledQuery, type Kysely, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Filter } from '../../src/selection.ts'
import type { Slice } from '../../src/store.ts'
import { sqlStore } from '../../src/stores/sql.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { agrees, by, is, SHAPE } from './questions.ts'

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
    await store.create({ color: 'c1', price: 1, year: 1 })
    await sql`insert into planned (id, color, price, year, at, model, created_at, updated_at, version)
      select n, 'c' || n % 500, n % 3000, n, '2024-01-01T00:00:00Z', json_build_object('name', 'x', 'year', n),
        to_char(timestamp '2024-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), '2024-01-01T00:00:00.000Z', 'v'
      from generate_series(2, 20000) as n`.execute(db)
    await sql`analyze planned`.execute(db)
    return () => store.close()
  })

  const first = { limit: 25, offset: 0 }
  const red = is('color', 'in', 'c1')
  const after = (key: (number | string | null)[], backward = false): Slice => ({
    limit: 25,
    key,
    backward,
  })
  const CASES: [name: string, where: Filter[], sort: string, slice: Slice][] = [
    ['the default list', [], '', first],
    ['the default list backwards', [], '-id', first],
    ['a cursor page', [], '', after([15_000])],
    ['the page before', [], '', after([15_000], true)],
    ['a sort', [], 'year', first],
    ['a sort with nulls', [], 'price', first],
    ['a sort with nulls, downwards', [], '-price', first],
    ['a cursor page of a sort', [], 'year', after([15_000, 15_000])],
    ['a cursor page in many equals', [], 'color', after(['c250', 15_000])],
    ['the page before, of a sort', [], 'year', after([15_000, 15_000], true)],
    ['a cursor page downwards', [], '-year,-id', after([15_000, 15_000])],
    ['a cursor page both ways', [], '-year', after([15_000, 15_000])],
    ['a cursor page of a sort with nulls', [], 'price', after([1500, 15_000])],
    ['a cursor page of a sort with nulls, downwards', [], '-price', after([1500, 15_000])],
    ['the page before, of a sort with nulls', [], 'price', after([1500, 15_000], true)],
    ['an equality', [red], '', first],
    ['one of several', [is('color', 'in', 'c1', 'c2')], '', first],
    ['a cursor page of an equality', [red], '', after([15_000])],
    ['an equality by the next column', [red], 'year', first],
    ['a range by its own order', [is('price', 'gte', 2990)], 'price', first],
    ['a date-time', [is('at', 'gt', '2024-01-02T00:00:00.000Z')], 'at', first],
    ['a dotted path', [is('model.year', 'in', 20)], '', first],
    ['a dotted path by its order', [], 'model.year', after([20, 20])],
    ['a prefix', [is('color', 'prefix', 'c11')], 'color,year', first],
    ['ids after one', [is('id', 'gt', 19_000)], '', first],
    ['creation dates', [is('created_at', 'gte', '2024-01-01T05:00:00.000Z')], 'created_at', first],
  ]
  test.each(CASES)('%s and its total', async (_name, where, sort, slice) => {
    seen.length = 0
    const { items, total } = await store.list({ where, sort: by(sort) }, slice, 'exact')
    const [statement] = seen.filter(each => each.sql.includes('planned'))
    expect(seen.filter(each => each.sql.includes('planned'))).toHaveLength(1)
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
  })
})
