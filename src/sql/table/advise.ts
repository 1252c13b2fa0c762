// What to tell of columns that a database fills in, or that no write fills: each with the line to declare.

import { print, sql } from '../databases/sql-text.ts'
import { type Column, mayBeNull } from './columns.ts'
import { printIndex } from './create-table.ts'
import { isSent } from './filled.ts'
import type { TableMapping } from './table-mapping.ts'

/** Says which fields clients may write though the database alone makes their values. */
export function adviseGenerated({ table, columns, shape }: TableMapping): string[] {
  const written = columns.filter(each => each.generated && isSent(each, shape))
  if (written.length === 0) return []
  const line = written.map(({ name }) => `${JSON.stringify(name)}: 'readOnly'`).join(', ')
  return [
    `${table} makes the values of ${nameAll(written)} itself, so that what clients send there is ignored. Declare fields: { ${line} }`,
  ]
}

/** Says which columns refuse that their fields are absent or null. */
export function adviseNarrow({ database, from, table, columns }: TableMapping): string[] {
  const narrow = columns.filter(
    each => each.notNull && !each.generated && !each.preset && mayBeNull(each),
  )
  if (narrow.length === 0) return []
  const lines = narrow.map(
    ({ ref }) =>
      `\n${print(sql`alter table ${from} alter column ${ref} drop not null`, database).sql};`,
  )
  const widen = database.serial
    ? 'give the columns a default'
    : `let them be null:${lines.join('')}`
  return [
    `${table} has columns that are never null, though the schema lets their properties be absent or null, so that a write without a value fails: ${nameAll(narrow)}. Leave out .optional() and .nullable() there, or ${widen}`,
  ]
}

/** Names the indexes for lists in the order of a column that has nulls, if those of the column have them last. */
export function adviseNulls(mapping: TableMapping): string[] {
  const { table, from, columns, indexes, database } = mapping
  const holed = columns.filter(each => each.nullsLast && !each.notNull && mayBeNull(each))
  const missing = indexes.filter(
    ({ unique, paths: [first] }) => !unique && holed.some(({ name }) => name === first),
  )
  if (missing.length === 0) return []
  const firsts = holed.filter(({ name }) => missing.some(({ paths: [first] }) => name === first))
  const lines = missing.map(
    each => `\n${print(printIndex({ ...each, from }, ' concurrently'), database).sql};`,
  )
  return [
    `${table} has no index in the order of its lists, which have nulls first, on ${nameAll(firsts)}. The ones that are there serve filters and lists without nulls. Run this, or leave the fields out of indexes:${lines.join('')}`,
  ]
}

/** Lists the columns that a view computes, and that writes name. */
export function listUnwritable({ id, columns, shape }: TableMapping): Column[] {
  return columns.filter(each => each.unwritable && (each === id || isSent(each, shape)))
}

/** Says which columns of a view no write reaches. */
export function adviseUnwritable(
  unwritable: readonly Column[],
  { table, id }: TableMapping,
): string[] {
  // A view of which nothing can be written is there to be read.
  if (unwritable.length === 0 || unwritable.includes(id)) return []
  return [
    `${table} is a view that computes columns, so that each write of them fails: ${nameAll(unwritable)}. Give the view triggers "instead of insert or update", or declare these fields 'readOnly'; where the collection is only read, all is well`,
  ]
}

/** Says which columns a role may not insert, which may insert others. */
export function adviseGrants(columns: readonly Column[], { table, from, database }: TableMapping) {
  if (columns.length === 0) return []
  const names = sql.join(columns.map(({ ref }) => ref))
  const { sql: grant } = print(sql`grant insert (${names}) on ${from} to`, database)
  return [
    `${table} has columns that the role of the store may not insert, so that each create fails: ${nameAll(columns)}. Leave the fields out of the schema, or run this with the name of the role; if the collection creates nothing, all is well:\n${grant} …;`,
  ]
}

function nameAll(columns: readonly Column[]): string {
  return columns.map(({ column }) => `"${column}"`).join(', ')
}
