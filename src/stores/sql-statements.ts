// The statements of one item, compiled once for a table: compiling is half of what they cost.

import type { Layout } from './sql-layout.ts'
import type { Prepared } from './sql-session.ts'
import { SEQUENCES } from './sql-tables.ts'
import { type Fragment, sql } from './sql-text.ts'

/** Each with what its parameters are, in their order. */
export interface Statements {
  /** `[id]` */
  readonly get: Prepared
  /** The same, and keeps the row as it is until the transaction ends. */
  readonly lock: Prepared
  /** `[...columns, version]` */
  readonly insert: Prepared
  /** `[...columns but the id and the creation date, version, id, old version]`; gives the creation date. */
  readonly update: Prepared
  /** `[id, version]` */
  readonly remove: Prepared
  /** `[table]`; gives `last`, the last id made, and `most`, the greatest there is. */
  readonly last: Prepared
  /** `[id, table]` */
  readonly keepLast: Prepared
  /** `[table, id]` */
  readonly firstLast: Prepared
}

/** Without a version column `update` and `remove` take no version: the caller compares beforehand. */
export function statementsOf(
  layout: Layout,
  compile: (statement: Fragment) => Prepared,
): Statements {
  const { shape, from } = layout
  const id = sql.id(layout.idColumn)
  const version = layout.versionColumn === undefined ? undefined : sql.id(layout.versionColumn)
  // Only its place counts: the values are given at each run.
  const value = sql`${''}`
  const columns = layout.columns.map(({ column }) => sql.id(column))
  const changed = layout.changing.map(({ column }) => sql.id(column))
  if (version) {
    columns.push(version)
    changed.push(version)
  }
  const created = layout.columns.find(({ name }) => name === shape.createdAt)
  const which = version ? sql`${id} = ${value} and ${version} = ${value}` : sql`${id} = ${value}`
  const counted = shape.identity.kind !== 'text'
  return {
    get: compile(sql`select ${layout.all} from ${from} where ${id} = ${value}`),
    lock: compile(
      sql`select ${layout.all} from ${from} where ${id} = ${value}${layout.dialect.forUpdate}`,
    ),
    insert: compile(
      sql`insert into ${from} (${sql.join(columns)}) values (${sql.join(columns.map(() => value))})`,
    ),
    update: compile(
      sql`update ${from} set ${sql.join(changed.map(column => sql`${column} = ${value}`))} where ${which} returning ${created ? sql.id(created.column) : id}`,
    ),
    remove: compile(sql`delete from ${from} where ${which}`),
    last: compile(
      sql`select (select ${sql.id('last_id')} from ${sql.table(SEQUENCES)} where ${sql.id('name')} = ${value}) as ${sql.id('last')}, (${counted ? sql`select max(${id}) from ${from}` : sql`null`}) as ${sql.id('most')}`,
    ),
    keepLast: compile(
      sql`update ${sql.table(SEQUENCES)} set ${sql.id('last_id')} = ${value} where ${sql.id('name')} = ${value}`,
    ),
    firstLast: compile(
      sql`insert into ${sql.table(SEQUENCES)} (${sql.id('name')}, ${sql.id('last_id')}) values (${value}, ${value})`,
    ),
  }
}
