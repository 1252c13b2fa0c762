// Statements of PostgreSQL that make ids and insert their rows at once: one row, or any number of them.

import type { IdSequence } from '../databases/database.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { SEQUENCES } from '../databases/table-names.ts'
import { compile, type Statement } from '../session/runner.ts'
import { fillIn } from '../table/filled.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { drawIds } from './id-sequence.ts'

const sequences = sql.table(SEQUENCES)

/** The characters of the rows that one parameter has, where there are several. */
const MAX_JSON = 1_000_000

/** A row as it is written. */
type Encoded = readonly unknown[]

/**
 * Compiles a statement that makes an id and inserts its row. Its parameters are `[table, …]` for integers,
 * `[uuid, table, uuid, uuid, …]` for others, then the columns without the id, and the version. It inserts nothing
 * if the table has no last id yet, or if the last id is the greater one.
 */
export function compileInsertNext(
  mapping: TableMapping,
  returning: Fragment,
  sequence?: IdSequence,
): Statement {
  const { database } = mapping
  const made = sql`made as (${makeIds(mapping, sql`1`, sequence)})`
  return compile(database, sql`with ${made} ${insertMade(mapping, returning)}`)
}

/** Compiles the same for a table that may keep the row out: it tells the id that it has made, as `rest_made`. */
export function compileInsertAndTell(
  mapping: TableMapping,
  returning: Fragment,
  sequence?: IdSequence,
): Statement {
  const { database } = mapping
  const made = sql`made as (${makeIds(mapping, sql`1`, sequence)})`
  const written = sql`written as (${insertMade(mapping, returning)})`
  return compile(
    database,
    sql`with ${made}, ${written} select made.last as rest_made, written.* from made left join written on true${inRange(mapping)}`,
  )
}

/** Inserts one row under the id that is made. */
function insertMade(mapping: TableMapping, returning: Fragment): Fragment {
  const { database, from, id, others, values: filled } = named(mapping)
  const values = sql.join([sql`made.last`, ...filled])
  return sql`insert into ${from} (${sql.join([id.ref, ...others])})${database.overriding} select ${values} from made${inRange(mapping)} returning ${returning}`
}

function named(mapping: TableMapping) {
  const { database, from, id, written } = mapping
  const columns = written.filter(column => column !== id)
  const others = mapping.nameColumns(columns)
  return { database, from, id, others, values: mapping.fillColumns(columns, 'created') }
}

/** Makes ids by writing the last one. */
function makeIds(
  { from, id, shape, greatestId, idValue, isInOrder }: TableMapping,
  count: Fragment,
  sequence?: IdSequence,
): Fragment {
  const { kind } = shape.identity
  if (kind === 'integer') {
    const floor = sql`greatest(kept.last_id::bigint, top.most, 0)`
    const next = sql`${floor} + ${count}`
    // What is set is computed again once the row is locked.
    const last = sequence ? sql`coalesce((${drawIds(sequence, floor, count)}), ${next})` : next
    return sql`update ${sequences} as kept set last_id = (${last})::text from (select (${greatestId}) as most) as top where kept.name = ${PLACEHOLDER} returning kept.last_id::bigint as last`
  }
  const hasGreaterId =
    kind === 'text'
      ? sql`${PLACEHOLDER}::text is null`
      : // Sorted, so that an index finds it: for `exists` the planner reads the whole table.
        sql`coalesce((select ${id.ref} from ${from} where ${isInOrder} order by ${id.ref} desc limit 1) > ${idValue}, false)`
  return sql`update ${sequences} as kept set last_id = ${PLACEHOLDER} where kept.name = ${PLACEHOLDER} and kept.last_id < ${PLACEHOLDER} and not ${hasGreaterId} returning kept.last_id${sql.raw(id.native ? '::uuid' : '')} as last`
}

/** JavaScript cannot represent greater numbers exactly. */
function inRange({ shape }: TableMapping): Fragment {
  const { kind } = shape.identity
  return kind === 'integer' ? sql` where made.last <= ${sql.lit(Number.MAX_SAFE_INTEGER)}` : sql``
}

export type InsertMany = ReturnType<typeof buildInsertMany>

/**
 * Builds a statement that makes ids and inserts any number of rows, which are one parameter. It inserts nothing as that
 * of one row does; it fails where a trigger that is newer than the catalog keeps a row out, or changes its id.
 */
export function buildInsertMany(mapping: TableMapping, returning: Fragment) {
  const { shape, table, versionColumn } = mapping
  const { database, from, id, others } = named(mapping)
  const isInteger = shape.identity.kind === 'integer'
  const written = mapping.written.filter(column => column !== id || !isInteger)
  const keys = written.map(({ column }) => `${JSON.stringify(column)}:`)
  if (versionColumn !== undefined) keys.push(`${JSON.stringify(versionColumn)}:`)
  // A value of JSON is taken as it is: a record has SQL's null in place of its own.
  const values = mapping.written.flatMap(column => {
    if (column === id) return []
    const isJson = column.type === 'json'
    const value = isJson
      ? sql`(given.item -> ${sql.lit(column.column)})`
      : sql`filled.${column.ref}`
    return fillIn(column, value, 'created')
  })
  if (versionColumn !== undefined) values.push(sql`filled.${sql.id(versionColumn)}`)
  const count = sql`${PLACEHOLDER}::bigint`
  const last = sql`(select last from made)`
  const [newId, isMade] = isInteger
    ? [
        sql`made.last - ${count} + given.at`,
        sql`rest_made > ${last} - ${count} and rest_made <= ${last}`,
      ]
    : [
        sql`filled.${id.ref}`,
        sql`rest_made::text collate "C" between ${PLACEHOLDER}::text and ${last}::text`,
      ]
  // Only an error undoes a statement.
  const isWhole = sql`(select 1 / case when count(*) = 0 or count(*) filter (where ${isMade}) = ${count} then 1 else 0 end from written) = 1`
  const compiled = compile(
    database,
    sql`with made as (${makeIds(mapping, count)}), written as (insert into ${from} (${sql.join([id.ref, ...others])})${database.overriding} select ${sql.join([newId, ...values])} from made, json_array_elements(${PLACEHOLDER}::json) with ordinality as given (item, at), json_populate_record(null::${from}, given.item) as filled${inRange(mapping)} order by given.at returning ${id.ref} as rest_made, ${returning}) select * from written where ${isWhole}`,
  )
  return {
    compiled,
    written,
    /**
     * Prints rows until they are long, the first in any case.
     * @returns JSON, and the number of its rows.
     */
    print(rows: Iterable<Encoded>): { readonly json: string; readonly count: number } {
      let all = ''
      let count = 0
      for (const row of rows) {
        const text = printRow(row)
        if (count > 0 && all.length + text.length > MAX_JSON) break
        all += count === 0 ? text : `,${text}`
        count++
      }
      return { json: `[${all}]`, count }
    },
    /** The parameters of so many rows, from the first id to the last one. */
    bind(rows: string, count: number, first: unknown, end: unknown): unknown[] {
      return isInteger
        ? [count, table, count, rows, count, count]
        : [end, table, first, first, rows, first, count]
    },
  }

  function printRow(row: Encoded): string {
    let text = ''
    for (const [at, value] of row.entries()) {
      if (value === null) continue
      const printed = written[at]?.type === 'json' ? String(value) : JSON.stringify(value)
      text += `${text === '' ? '' : ','}${keys[at]}${printed}`
    }
    return `{${text}}`
  }
}
