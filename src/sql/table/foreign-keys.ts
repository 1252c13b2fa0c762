// Foreign keys: a reference that the database itself keeps, whoever writes.

import type { ForeignKey, SqlDatabase } from '../databases/database.ts'
import { type Fragment, print, sql } from '../databases/sql-text.ts'
import { compile, isTrue, type Runner } from '../session/runner.ts'
import type { TableMapping } from './table-mapping.ts'

/** Builds what a column's definition says of its key. It is checked by each statement: no other write shares its failure. */
export function printKey({ table, column, onDelete }: ForeignKey, database: SqlDatabase): Fragment {
  // In SQLite a key stays within its schema, and names none.
  const parent = database.serial ? sql.id(table.split('.').at(-1) ?? '') : sql.table(table)
  const action = onDelete === 'cascade' ? ' on delete cascade' : ''
  return sql`references ${parent} (${sql.id(column)})${sql.raw(action)}`
}

/** Builds the statement that adds a key to a table of PostgreSQL. */
export function addKey(key: ForeignKey, mapping: TableMapping): Fragment {
  const column = sql.id(mapping.columnOf(key.field).column)
  return sql`alter table ${mapping.from} add foreign key (${column}) ${printKey(key, mapping.database)}`
}

/** The keys that a table has, and what to tell of the others. */
export interface KeptKeys {
  /** The fields whose values name rows that are there. */
  readonly kept: ReadonlySet<string>
  readonly advice: readonly string[]
}

/** Reads which references of an existing table are keys. @param typeOf finds the type of a column. */
export async function readKeys(
  mapping: TableMapping,
  typeOf: (column: string) => string | undefined,
  runner: Runner,
): Promise<KeptKeys> {
  const { database, table, keys } = mapping
  if (keys.length === 0) return { kept: new Set(), advice: [] }
  const has = keys.map((key, at) => {
    const { column } = mapping.columnOf(key.field)
    return sql`${database.hasKey(table, column, key)} as ${sql.id(`key_${at}`)}`
  })
  const [row] = (
    await runner.run(
      compile(database, sql`select ${database.enforcesKeys} as enforced, ${sql.join(has)}`),
    )
  ).rows
  const made = keys.filter((_, at) => isTrue(row?.[`key_${at}`]))
  if (!isTrue(row?.enforced)) {
    const off = `${table}: foreign keys are off on this connection, so that other programs may leave references to nothing. Run: pragma foreign_keys = on`
    return { kept: new Set(), advice: made.length > 0 ? [off] : [] }
  }
  const unkept = database.serial ? [] : keys.filter(key => !made.includes(key))
  const isDeferred = await Promise.all(unkept.map(key => findDeferred(key, mapping, runner)))
  const lacking = unkept.filter((_, at) => !isDeferred[at])
  return {
    kept: new Set(made.map(({ field }) => field)),
    advice: lacking.map(key => adviseKey(key, mapping, typeOf)),
  }
}

/** Whether a reference is a key that is checked at the commit: another one would not make it cheaper. */
async function findDeferred(key: ForeignKey, mapping: TableMapping, runner: Runner) {
  const { database, table } = mapping
  const { column } = mapping.columnOf(key.field)
  const condition = database.hasKey(table, column, key, true)
  const { rows } = await runner.run(compile(database, sql`select ${condition} as found`))
  return isTrue(rows[0]?.found)
}

function adviseKey(
  key: ForeignKey,
  mapping: TableMapping,
  typeOf: (column: string) => string | undefined,
): string {
  const { column } = mapping.columnOf(key.field)
  const type = typeOf(column)
  const same = type === undefined || key.type.startsWith(type)
  const change = sql`alter table ${mapping.from} alter column ${sql.id(column)} type ${sql.raw(key.type)} using ${sql.id(column)}::${sql.raw(key.type)}`
  const statements = [...(same ? [] : [change]), addKey(key, mapping)]
  const text = statements.map(each => `\n${print(each, mapping.database).sql};`).join('')
  return `${mapping.table} has no foreign key on "${column}": each write of it takes a transaction, and other programs may leave references to nothing. A key makes it cheap. Run this, and restart what serves the table:${text}`
}
