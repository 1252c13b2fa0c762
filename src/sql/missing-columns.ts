// Columns that a table lacks after a change of the schema: the statements that add them.
import { type Column, encodeValue } from './columns.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'

/** Whether the rows that are there can have a value: the default of the schema, or none. */
export function isAddable({ field }: Column): boolean {
  return field.default !== undefined || field.optional || field.nullable
}

/** Builds the statement that adds a column; `undefined` where nothing says the value of the rows that are there. */
export function addColumn(column: Column, { database, from }: TableMapping): Fragment | undefined {
  if (!isAddable(column)) return undefined
  const { field, made } = column
  const add = sql`alter table ${from} add column ${sql.id(column.column)} ${sql.raw(made)}`
  if (field.default === undefined) return add
  const required = field.optional || field.nullable ? '' : ' not null'
  return sql`${add}${sql.raw(required)} default ${toLiteral(encodeValue(field.default, column, database))}`
}

function toLiteral(value: unknown): Fragment {
  if (typeof value === 'string' || typeof value === 'number') return sql.lit(value)
  return sql.raw(String(value))
}
