// Ids that other programs take too, from a sequence of PostgreSQL: of an identity column, a serial, or a default `nextval(…)`.

import type { IdSequence } from '../databases/database.ts'
import { type Fragment, print, sql } from '../databases/sql-text.ts'
import { compile, isTrue, type Runner } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** How many numbers a create passes over, to come up with rows whose ids the sequence has not given. */
const MAX_SKIPPED = 1000

/** The sequence of a table, and what to tell of it. */
interface FoundSequence {
  readonly sequence?: IdSequence
  readonly advice: readonly string[]
}

/** Finds the sequence of counted ids. */
export async function readIdSequence(
  mapping: TableMapping,
  runner: Runner,
): Promise<FoundSequence> {
  const { database, table, id, from, greatestId } = mapping
  if (!database.idSequence) return { advice: [] }
  const [row] = (await runner.run(compile(database, database.idSequence(table, id.column)))).rows
  if (!row) return { advice: [] }
  const name = String(row.name)
  if (!isTrue(row.is_usable)) {
    return {
      advice: [
        `${table} has the sequence ${name} for its ids, which this user of the database may not use, so that inserts of other programs fail after creates. Grant it usage on that sequence`,
      ],
    }
  }
  const advice = [
    `${table} has the sequence ${name} for its ids, which other programs may use too. What they insert may become visible after greater ids, so that a client that reads on by since_id misses it`,
  ]
  const [top] = (await runner.run(compile(database, sql`select (${greatestId}) as most`))).rows
  if (Number(top?.most ?? 0) > Number(row.last ?? 0)) {
    const line = sql`select setval(${sql.lit(name)}, (select max(${id.ref}) from ${from}))`
    advice.push(
      `The sequence ${name} is behind the ids of ${table}, so that inserts of other programs fail. Run this:\n${print(line, database).sql};`,
    )
  }
  return { sequence: { name, cache: Number(row.cache) }, advice }
}

/**
 * Selects so many numbers of a sequence, in their order, that are greater than one. They are fewer where the sequence is
 * far behind it.
 */
export function drawIds({ name, cache }: IdSequence, floor: Fragment, count: Fragment): Fragment {
  const next = sql`nextval(${sql.lit(name)})`
  const found = sql`found + case when drawn.id > ${floor} then 1 else 0 end`
  const most = sql`${count} + ${sql.lit(cache + MAX_SKIPPED)}`
  return sql`with recursive drawn (id, found, tries) as (select ${next}, 0, 1 union all select ${next}, ${found}, tries + 1 from drawn where ${found} < ${count} and tries < ${most}) select drawn.id from drawn where drawn.id > ${floor} order by drawn.id`
}
