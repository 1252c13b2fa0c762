// The statements that create tables, and those that add missing columns.
import { type Fragment, shorten, sql } from '../databases/sql-text.ts'
import { IDEMPOTENCY, SEQUENCES } from '../databases/table-names.ts'
import { encodeValue } from './column-values.ts'
import type { Column } from './columns.ts'
import { listFolded } from './folded.ts'
import { printKey } from './foreign-keys.ts'
import type { TableMapping } from './table-mapping.ts'

/** A table, and the indexes that are made with it. */
export interface TablePlan {
  readonly table: string
  readonly create: Fragment
  readonly indexes: readonly IndexPlan[]
}

/** An index of a table. */
export interface IndexPlan {
  readonly name: string
  readonly unique: boolean
  readonly from: Fragment
  readonly parts: readonly Fragment[]
  /** The condition of a partial index. */
  readonly where?: Fragment
}

/** Prints the statement that makes an index. @param how `concurrently`: writes go on meanwhile. It cannot run in a transaction. */
export function printIndex(
  { name, unique, from, parts, where }: IndexPlan,
  how: '' | ' concurrently' = '',
): Fragment {
  const create = sql.raw(`create ${unique ? 'unique index' : 'index'}${how}`)
  const condition = where ? sql` where ${where}` : sql``
  return sql`${create} if not exists ${sql.id(name)} on ${from} (${sql.join(parts)})${condition}`
}

/** Builds the statements that create missing tables and indexes, in order. Each may run again. */
export function tableStatements(mapping: TableMapping): Fragment[] {
  return planTables(mapping).flatMap(listStatements)
}

/** Builds the statements that create one table and its indexes. */
export function listStatements({ create, indexes }: TablePlan): Fragment[] {
  return [create, ...indexes.map(index => printIndex(index))]
}

/** Plans the table of a collection, and the tables beside it that all collections of its database share. */
export function planTables(mapping: TableMapping): TablePlan[] {
  const { database, shape, table, from, indexes, versionColumn } = mapping
  const { text, integer } = database.types
  const columns = mapping.written.map(({ name, column, field, made }) => {
    const required = !field.nullable && !field.optional
    const constraint =
      name === shape.identity.name ? ' primary key not null' : required ? ' not null' : ''
    const key = mapping.keys.find(({ field, circular }) => field === name && !circular)
    return sql`${sql.id(column)} ${sql.raw(made + constraint)}${key ? sql` ${printKey(key, database)}` : sql``}`
  })
  if (versionColumn !== undefined) {
    columns.push(sql`${sql.id(versionColumn)} ${sql.raw(text)} not null`)
  }
  if (mapping.parts)
    columns.push(sql`primary key (${sql.join(mapping.parts.map(each => each.ref))})`)
  return [
    {
      table,
      create: sql`create table if not exists ${from} (${sql.join(columns)})`,
      indexes: indexes.map(index => ({ ...index, from })),
    },
    {
      table: SEQUENCES,
      create: sql.raw(
        `create table if not exists "${SEQUENCES}" ("name" ${text} primary key not null, "last_id" ${text} not null)`,
      ),
      indexes: [],
    },
    {
      table: IDEMPOTENCY,
      create: sql.raw(
        `create table if not exists "${IDEMPOTENCY}" ("name" ${text} not null, "key" ${text} not null, "fingerprint" ${text} not null, "answer" ${text}, "expires_at" ${integer} not null, primary key ("name", "key"))`,
      ),
      indexes: [
        {
          name: `${IDEMPOTENCY}_by_expires_at`,
          unique: false,
          from: sql.id(IDEMPOTENCY),
          parts: [sql.id('expires_at')],
        },
      ],
    },
  ]
}

/** Builds what a new table has besides: its trigger, and indexes for its folded texts. Each may run again. */
export function extraStatements(mapping: TableMapping): Fragment[] {
  return [...foldedIndexes(mapping), ...(mapping.trigger?.statements ?? [])]
}

/** Builds the indexes that find rows whose strings are not folded, which are usually empty, and the trigram indexes. */
function foldedIndexes(mapping: TableMapping): Fragment[] {
  const { folded, table, from, id, database } = mapping
  const { searchIndex } = database
  return folded.flatMap(each => {
    const { column, ref } = each
    const name = sql.id(shorten(`${table}_${column}_is_null`, database.longestName))
    const ofNull = sql`create index if not exists ${name} on ${from} (${id.ref}) where ${ref} is null`
    return searchIndex ? [ofNull, searchIndex.create(printSearchIndex(each, mapping))] : [ofNull]
  })
}

/** Prints the index that finds parts of a folded string. */
export function printSearchIndex(
  { column, ref }: Column,
  { table, from, database }: TableMapping,
  how?: ' concurrently',
): Fragment {
  const name = shorten(`${table}_${column}_trigrams`, database.longestName)
  return database.searchIndex?.print(name, from, ref, how) ?? sql``
}

/** Lists the columns that searches want and a table lacks. */
export function listUnfolded(mapping: TableMapping): Column[] {
  const { shape, columns, database, versionColumn } = mapping
  if (versionColumn === undefined || shape.identity.parts) return []
  return listFolded(shape, columns, database).filter(
    ({ folds = [] }) => shape.search?.includes(folds.join('.')) && !mapping.findFolded(folds),
  )
}

/** Whether a column can be added to existing rows: they get the default of the schema, or null. */
export function isAddable({ field }: Column): boolean {
  return field.default !== undefined || field.optional || field.nullable
}

/** Builds the statement that adds a column; `undefined` if existing rows would have no value. */
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
