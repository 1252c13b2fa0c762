// The statements of one item, printed once for a table.
import type { Column } from './columns.ts'
import { compileFor, type Prepared } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import { SEQUENCES } from './tables.ts'

/** Each with what its parameters are, in their order. */
export interface Statements {
  /** `[id]` */
  readonly get: Prepared
  /** The same, and keeps the row as it is until the transaction ends. */
  readonly lock: Prepared
  /**
   * `[...columns, version]` of each row; gives the ids as `made`, if the database chains.
   * @param rows how many; each number is a statement of its own.
   * @param whole has it give all columns of the rows instead.
   */
  insert(rows: number, whole: boolean): Prepared
  /**
   * `[...columns but the id and the creation date, version, id, old version]`; gives the creation
   * date.
   */
  readonly update: Prepared
  /** `[...columns, version, id]`; gives all columns. */
  change(columns: readonly Column[]): Prepared
  /** `[id, version]` */
  readonly remove: Prepared
  /**
   * `[table]`; gives `last`, the last id made, and `most`, the greatest there is, and has other makers
   * of ids wait until the transaction ends. No row where no id was made yet.
   */
  readonly last: Prepared
  /** `[id, table]` */
  readonly keepLast: Prepared
  /** `[table]`; the row that `last` gives, where there is none. */
  readonly startLast: Prepared
}

/** Without a version column there is none to give: the caller compares beforehand. */
export function buildStatements(layout: TableMapping): Statements {
  const compile = (statement: Fragment) => compileFor(layout.dialect, statement)
  const { shape, from } = layout
  const id = sql.id(layout.id.column)
  const version = layout.versionColumn === undefined ? undefined : sql.id(layout.versionColumn)
  // Only its place counts: the values are given at each run.
  const value = sql`${''}`
  const columns = layout.columns.map(({ column }) => sql.id(column))
  const changed = layout.changing.map(({ column }) => sql.id(column))
  if (version) {
    columns.push(version)
    changed.push(version)
  }
  const same = sql`${layout.id.ref} = ${layout.idValue}`
  const which = version ? sql`${same} and ${version} = ${value}` : same
  const { chains, forUpdate, overriding } = layout.dialect
  const given = (layout.created ?? layout.id).readable
  const counted = shape.identity.kind !== 'text'
  const none = shape.identity.kind === 'integer' ? '0' : ''
  const row = sql`(${sql.join(columns.map(() => value))})`
  const inserts = new Map<string, Prepared>()
  const chained = chains ? sql` returning ${id} as made` : sql``
  const [name, lastId] = [sql.id('name'), sql.id('last_id')]
  return {
    get: compile(sql`select ${layout.all} from ${from} where ${same}`),
    lock: compile(sql`select ${layout.all} from ${from} where ${same}${forUpdate}`),
    insert(rows, whole) {
      const key = `${rows} ${whole}`
      const known = inserts.get(key)
      if (known) return known
      const all = sql.join(Array.from({ length: rows }, () => row))
      const made = compile(
        sql`insert into ${from} (${sql.join(columns)})${overriding} values ${all}${whole ? sql` returning ${layout.all}` : chained}`,
      )
      inserts.set(key, made)
      return made
    },
    update: compile(
      sql`update ${from} set ${sql.join(changed.map(column => sql`${column} = ${value}`))} where ${which} returning ${given}`,
    ),
    change(columns) {
      const set = columns.map(({ column }) => sql.id(column))
      if (version) set.push(version)
      return compile(
        sql`update ${from} set ${sql.join(set.map(column => sql`${column} = ${value}`))} where ${same} returning ${layout.all}`,
      )
    },
    remove: compile(sql`delete from ${from} where ${which}`),
    last: compile(
      sql`select ${lastId} as ${sql.id('last')}, (${counted ? layout.greatestId : sql`null`}) as ${sql.id('most')} from ${sql.table(SEQUENCES)} where ${name} = ${value}${forUpdate}`,
    ),
    keepLast: compile(
      sql`update ${sql.table(SEQUENCES)} set ${lastId} = ${value} where ${name} = ${value}`,
    ),
    startLast: compile(
      sql`insert into ${sql.table(SEQUENCES)} (${name}, ${lastId}) values (${value}, ${sql.lit(none)}) on conflict do nothing`,
    ),
  }
}
