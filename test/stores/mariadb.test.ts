import { CompiledQuery, type Kysely } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { sqlStore } from '../../src/stores/sql.ts'
import { noMariadb, openMariadb, useMariadb } from './mariadb.ts'
import { SERVER_LISTS } from './plans.ts'
import { agrees, by, SHAPE } from './questions.ts'

useMariadb()

/** How many rounds of random questions: `DIFFERENTIAL_RUNS=300` before a release. */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS || 25)

describe.skipIf(noMariadb)('MariaDB gives the answer of the store in memory', () => {
  test('for any items, filters, searches, sorts and slices', async () => {
    const db = openMariadb()
    await agrees(table => sqlStore({ db, create: true, table, clock: () => 1e12 }), db, RUNS)
    await db.destroy()
  }, 600_000)
})

/** What `explain` says of a table. */
interface Step {
  readonly select_type: string
  readonly type: string
  readonly key: string | null
  readonly Extra: string
}

describe.skipIf(noMariadb)('MariaDB answers by an index', () => {
  const seen: CompiledQuery[] = []
  let db: Kysely<unknown>
  let store: ReturnType<typeof sqlStore>
  beforeAll(async () => {
    if (noMariadb) return
    db = openMariadb({}, query => seen.push(query))
    store = sqlStore({ db, create: true, table: 'planned' })
    store.attach(SHAPE)
    await store.create({ color: 'c1', price: 1, year: 1 })
    const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
    await say(`insert into planned (id, color, price, year, at, model, created_at, updated_at, version)
        select seq, concat('c', seq % 500), seq % 3000, seq, '2024-01-01T00:00:00Z', json_object('name', 'x', 'year', seq),
          concat(date_format('2024-01-01' + interval seq second, '%Y-%m-%dT%H:%i:%s'), '.000Z'), '2024-01-01T00:00:00.000Z', 'v'
        from seq_2_to_20000`)
    await say('analyze table planned')
    return () => store.close()
  })

  test.each(SERVER_LISTS)('%s and its total', async (name, where, sort, slice) => {
    seen.length = 0
    const { items, total } = await store.list({ where, sort: by(sort) }, slice, 'exact')
    const [statement, ...others] = seen.filter(each => each.sql.includes('planned'))
    expect(others).toEqual([])
    expect(total).toBeGreaterThanOrEqual(items.length)
    const explained = CompiledQuery.raw(`explain ${statement?.sql}`, [
      ...(statement?.parameters ?? []),
    ])
    const { rows: steps } = await db.executeQuery<Step>(explained)
    expect(steps).toHaveLength(2)
    for (const step of steps) {
      // Of a whole index: the total without filters.
      if (where.length > 0) expect(['range', 'ref', 'const']).toContain(step.type)
    }
    const page = steps.find(step => step.select_type === 'PRIMARY')
    const sorted = page?.Extra.includes('filesort')
    // A few matches may be sorted, the whole table may not.
    expect(sorted).toBe(name === 'one of several')
    if (!sorted) expect(page?.key).not.toBeNull()
    if ('key' in slice) expect(page?.type).toBe('range')
  })
})
