// The SQL expressions of one value of an item, to select, compare and sort.
import type { Path } from '../../base/paths.ts'
import { findField, type Kind } from '../../schema/fields.ts'
import type { Shape } from '../../store/store.ts'
import type { ListType, NativeType, SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { Column } from './columns.ts'

export interface ColumnExpression {
  readonly kind: Kind
  /** Whether it may be null or absent. */
  readonly nullable: boolean
  /** Its column, unless it lies in a JSON column. */
  readonly column?: Fragment
  /** Whether its indexes have nulls last, and not first as the lists. */
  readonly nullsLast?: boolean | undefined
  /** The stored value; native types as text. */
  readonly value: Fragment
  /** The value to compare and sort by: a client's date-time in milliseconds since 1970. */
  readonly order: Fragment
  /** The value to compare for equality, if an index serves that better than `order`. */
  readonly equal?: Fragment
  /** Whether a date-time is compared as the string of `toISOString()`. */
  readonly canonical?: boolean
  readonly native?: NativeType | undefined
  /** The type of strings that the database compares by its own rules, such as `citext`. */
  readonly alike?: NativeType | undefined
  /** The type of lists that it is of. */
  readonly list?: ListType
  /** The JSON that it lies in. */
  readonly json?: { readonly column: Fragment; readonly path: Path }
}

/** The table that an expression is of. */
interface ExpressedTable {
  readonly shape: Shape
  readonly database: SqlDatabase
  readonly table: string
  /** Absent in a table of others, whose JSON may be none. */
  readonly versionColumn: string | undefined
}

/**
 * Builds the expressions of the value at a path.
 * @param column that of the first name.
 * @param owner stands before the name of a JSON column: functions of JSON have columns of the same names.
 * @throws TypeError if the path does not lead to a field.
 */
export function buildExpression(
  path: Path,
  column: Column,
  { shape, database, table, versionColumn }: ExpressedTable,
  owner = sql``,
): ColumnExpression {
  const [name, ...inner] = path
  const field = inner.length === 0 ? column.field : findField(shape.fields, path)
  if (!field) throw new TypeError(`${table} has no field "${path.join('.')}"`)
  const { ref, native, list } = column
  const { kind } = field
  if (column.type !== 'json') {
    const nullable = field.nullable || field.optional
    const plain = { kind, nullable, column: ref, nullsLast: column.nullsLast }
    if (list) {
      const value = list.toJson(ref)
      return { ...plain, value, order: value, json: { column: value, path: [] }, list }
    }
    if (native?.byText) {
      const text = native.text(ref)
      return { ...plain, value: text, order: text, alike: native }
    }
    if (native) {
      return { ...plain, value: native.text(ref), order: native.order?.(ref) ?? ref, native }
    }
    const value = column.type === 'text' ? database.text(ref) : ref
    const isDate = name === shape.createdAt || name === shape.updatedAt
    const canonical = isDate && !column.makesTime
    if (kind === 'date-time' && !canonical) {
      return { ...plain, value, order: database.instant(ref) }
    }
    // `equal` has no collation, so that any index on the column serves it.
    return { ...plain, value, order: value, equal: ref, canonical }
  }
  const own = sql`${owner}${ref}`
  const toValid = versionColumn === undefined ? database.toValidJson : undefined
  const json = { column: toValid?.(own) ?? own, path: inner }
  const nullable = path.some((_, at) => {
    const above = findField(shape.fields, path.slice(0, at + 1))
    return !above || above.nullable || above.optional
  })
  const value = database.json(json.column, inner, kind)
  const order = kind === 'date-time' ? database.instant(value) : value
  return { kind, nullable, value, order, json }
}
