// Compares the partial unique sets of a collection, and the key of a link table, with the unique indexes of its table.

import { uniquesOf } from '../../store/shapes.ts'
import type { PartialSet } from '../../store/store.ts'
import { print, sql } from '../databases/sql-text.ts'
import { compile, type Runner } from '../session/runner.ts'
import { printIndex } from './create-table.ts'
import { type IndexCondition, printPredicate, readPredicate, toConditions } from './predicates.ts'
import type { TableMapping } from './table-mapping.ts'

/** A unique index of the catalog. */
interface FoundUnique {
  readonly name: string
  readonly columns: readonly (string | null)[]
  /** Its condition; null for one of all rows. */
  readonly condition: string | null
}

/**
 * Compares the partial sets of a table with its unique indexes.
 * @returns advice for the indexes that the table lacks.
 * @throws TypeError for an index on the same columns that has all rows.
 */
export async function comparePartial(mapping: TableMapping, runner: Runner): Promise<string[]> {
  const { shape } = mapping
  const { partial = [] } = shape
  if (partial.length === 0) return []
  const found = await readUniques(mapping, runner)
  return partial.flatMap(set => {
    const alike = found.filter(({ columns }) => isOn(columns, set.fields, mapping))
    const whole = alike.find(({ condition }) => condition === null)
    const isDeclaredToo = uniquesOf(shape).some(
      ({ fields, where }) => where.length === 0 && isSame(fields, set.fields),
    )
    if (whole && !isDeclaredToo) throw wholeIndex(set, whole, mapping)
    return whole || alike.some(each => hasCondition(each, set, mapping))
      ? []
      : adviseSet(set, alike, mapping)
  })
}

/** @throws Error where several rows may have the same two references, which are their id. */
export async function requireUniqueKey(mapping: TableMapping, runner: Runner): Promise<void> {
  const { table, parts, shape } = mapping
  const { parts: fields } = shape.identity
  if (!parts || !fields) return
  const found = await readUniques(mapping, runner)
  if (found.some(each => each.condition === null && isOn(each.columns, fields, mapping))) return
  const names = parts.map(({ column }) => column).join('" and "')
  throw new Error(
    `The table ${table}: its columns "${names}" need a unique index on both, as they are the id. Create one`,
  )
}

async function readUniques({ database, table }: TableMapping, runner: Runner) {
  const { rows } = await runner.run(compile(database, database.uniqueIndexes(table)))
  return rows.map(
    (row): FoundUnique => ({
      name: String(row.name),
      columns: JSON.parse(String(row.columns)) ?? [],
      condition: row.condition === null ? null : String(row.condition),
    }),
  )
}

function isOn(columns: FoundUnique['columns'], fields: readonly string[], mapping: TableMapping) {
  const lower = (name: string | null) => name?.toLowerCase() ?? ''
  // A path inside of JSON is an expression, which the catalog does not name.
  if (fields.some(path => path.includes('.'))) return false
  return isSame(
    columns.map(lower),
    fields.map(path => lower(mapping.columnOf(path).column)),
  )
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return [...some].sort().join('\0') === [...others].sort().join('\0')
}

function hasCondition({ condition }: FoundUnique, { where }: PartialSet, mapping: TableMapping) {
  const { database } = mapping
  const print = ({ column, exists, value }: IndexCondition) =>
    `${column.toLowerCase()} ${exists ?? `= ${typeof value === 'boolean' ? database.boolean(value) : value}`}`
  const read = readPredicate(condition ?? '')
  return read !== undefined && isSame(read.map(print), toConditions(where, mapping).map(print))
}

function wholeIndex(
  { fields }: PartialSet,
  { name }: FoundUnique,
  mapping: TableMapping,
): TypeError {
  const { shape, table, database } = mapping
  const [, schema] = table.split('.').reverse()
  const dotted = schema === undefined ? name : `${schema}.${name}`
  const line = print(sql`drop index ${sql.table(dotted)}`, database).sql
  const advice = name.startsWith('sqlite_autoindex_')
    ? 'Make the table anew without this constraint.'
    : `Drop the index or its constraint:\n${line};`
  return new TypeError(
    `${shape.name}: ${fields} is unique among all rows by the index "${name}", not only among some. ${advice}`,
  )
}

function adviseSet(
  { fields, where }: PartialSet,
  alike: readonly FoundUnique[],
  mapping: TableMapping,
): string[] {
  const { table, from, database, indexes } = mapping
  const condition = printPredicate(where, mapping).text
  const index = indexes.find(each => each.where?.text === condition && isSame(each.fields, fields))
  const line = index ? `\n${print(printIndex({ ...index, from }), database).sql};` : ''
  const others = alike.map(each => ` Its index "${each.name}" has another: ${each.condition}.`)
  return [
    `${table} has no unique index on ${fields.join(' and ')} with the condition ${condition}, so two rows can have equal values.${others.join('')} Run this, or declare the condition of its index:${line}`,
  ]
}
