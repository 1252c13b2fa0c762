// Ids that other programs take too, from a sequence of PostgreSQL: of an identity column, a serial, or a default `nextval(…)`.

import type { IdSequence } from '../databases/database.ts'
import { type Fragment, print, sql } from '../databases/sql-text.ts'
import { compile, isTrue, type Runner } from '../session/runner.ts'
import type { Advice } from '../session/start-advice.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** How many numbers a create passes over, to come up with rows whose ids the sequence has not given. */
const MAX_SKIPPED = 1000

/** The sequence of a table, and what to tell of it. */
interface FoundSequence {
  readonly sequence?: IdSequence
  readonly advice: readonly Advice[]
}

/** Finds the sequence of counted ids. */
export async function readIdSequence(
  mapping: TableMapping,
  runner: Runner,
): Promise<FoundSequence> {
  const { table } = mapping
  const row = await findSequence(mapping, runner)
  if (!row) return { advice: [] }
  const name = String(row.name)
  if (!isTrue(row.is_usable)) {
    const text =
      'this user of the database may not use the sequence of the ids, so that inserts of other programs fail after creates. Grant it usage on that sequence'
    return { advice: [{ table: `${table} (${name})`, text }] }
  }
  const shared =
    'ids come from a sequence that other programs may use too. What they insert may become visible after greater ids, so that a client that reads on by since_id misses it. Ignore this if no client does'
  const behind =
    'the sequence is behind the ids, so that inserts of other programs fail. Set migrate: true, or run this:'
  const setting = await findSetting(mapping, runner)
  const line = setting && print(setting, mapping.database).sql
  return {
    sequence: { name, cache: Number(row.cache) },
    advice: [
      { table, text: shared },
      ...(line === undefined ? [] : [{ table, text: behind, line }]),
    ],
  }
}

async function findSequence({ database, table, id }: TableMapping, runner: Runner) {
  if (!database.idSequence) return undefined
  return (await runner.run(compile(database, database.idSequence(table, id.column)))).rows[0]
}

/** Builds the statement that sets the sequence of the ids, if it is behind them. */
export async function findSetting(
  mapping: TableMapping,
  runner: Runner,
): Promise<Fragment | undefined> {
  const { database, id, from, greatestId } = mapping
  const row = await findSequence(mapping, runner)
  if (!row || !isTrue(row.is_usable)) return undefined
  const [top] = (await runner.run(compile(database, sql`select (${greatestId}) as most`))).rows
  if (Number(top?.most ?? 0) <= Number(row.last ?? 0)) return undefined
  return sql`select setval(${sql.lit(String(row.name))}, (select max(${id.ref}) from ${from}))`
}

/**
 * Selects so many numbers of a sequence, in their order, that are greater than one. They are fewer where the sequence is
 * far behind it. Not by a common table expression: an update that waited for its row would read what it had drawn before.
 */
export function drawIds({ name, cache }: IdSequence, floor: Fragment, count: Fragment): Fragment {
  const tries = sql`select generate_series(1, ${count} + ${sql.lit(cache + MAX_SKIPPED)})`
  const drawn = sql`select nextval(${sql.lit(name)}) as id from (${tries}) as tries`
  return sql`select drawn.id from (${drawn}) as drawn where drawn.id > ${floor} limit ${count}`
}
