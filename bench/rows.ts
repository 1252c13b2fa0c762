// What the benches of large tables share: cars of two fields in twelve colours, made by the database.
import { type Kysely, sql } from 'kysely'
import { z } from 'zod'
import type { Store } from '../src/index.ts'
import type { Engine } from './databases.ts'
import { published } from './processes.ts'
import { median } from './tables.ts'

const Car = z.object({ color: z.string(), price: z.number() })

/** The collection `cars` on a store. */
export async function carsOn(store: Store, maxLimit = 100) {
  const { defineCollection } = await published()
  return defineCollection({
    name: 'cars',
    schema: Car,
    store,
    id: 'integer',
    indexes: ['color'],
    maxLimit,
  })
}

export const carOf = (id: number) => ({ color: `c${id % 12}`, price: id % 5000 })

/** Adds the cars with the ids from one to another, both included. */
export async function fill(
  engine: Engine,
  db: Kysely<unknown>,
  from: number,
  to: number,
): Promise<void> {
  const date = '2024-01-01T00:00:00.000Z'
  // SQLite takes a bound number for a real one.
  const first = sql`cast(${from} as bigint)`
  const numbers =
    engine === 'sqlite'
      ? sql`(with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${to})
          select i from n) as numbers`
      : sql`generate_series(${first}, ${to}) as numbers(i)`
  await sql`insert into cars (id, color, price, created_at, updated_at, version)
    select i, 'c' || (i % 12), i % 5000, '${sql.raw(date)}', '${sql.raw(date)}', 'v' || i
    from ${numbers}`.execute(db)
  await sql`analyze cars`.execute(db)
}

/**
 * The median of calls, in microseconds.
 * @param before done before each, and not timed.
 */
export async function time(
  call: () => Promise<unknown>,
  {
    calls = 60,
    warm = 5,
    before,
  }: { calls?: number; warm?: number; before?: () => Promise<unknown> } = {},
): Promise<number> {
  const times: number[] = []
  for (let at = -warm; at < calls; at++) {
    await before?.()
    const start = performance.now()
    await call()
    if (at >= 0) times.push((performance.now() - start) * 1000)
  }
  return median(times)
}
