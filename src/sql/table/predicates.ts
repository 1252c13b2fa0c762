// The conditions of partial indexes: printed for a new index, and read from the catalog.

import type { Scalar } from '../../base/values.ts'
import type { ValueFilter } from '../../store/filter.ts'
import type { Shape } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { encodeValue } from './column-values.ts'
import type { Column } from './columns.ts'
import { NAME, nameOf, takeStrings } from './condition-text.ts'

/** A condition of an index: whether a column has a value, or the value that it has. */
export interface IndexCondition {
  readonly column: string
  readonly exists?: boolean
  readonly value?: Scalar
}

/** The part of a mapping that conditions need. */
interface Columns {
  readonly database: SqlDatabase
  readonly shape: Pick<Shape, 'name'>
  columnOf(field: string): Column
}

/**
 * Prints the conditions of a partial index.
 * @throws TypeError for a field that a JSON column holds.
 */
export function printPredicate(where: readonly ValueFilter[], mapping: Columns): Fragment {
  const printed = toConditions(where, mapping).map(({ column, exists, value }) => {
    if (value === undefined)
      return sql`${sql.id(column)} is ${sql.raw(exists ? 'not null' : 'null')}`
    const literal = typeof value === 'boolean' ? sql.raw(String(value)) : sql.lit(value)
    return sql`${sql.id(column)} = ${literal}`
  })
  return sql.join(printed, ' and ')
}

/** @throws TypeError for a field that a JSON column holds. */
export function toConditions(where: readonly ValueFilter[], mapping: Columns): IndexCondition[] {
  const { database, shape } = mapping
  return where.map(({ path: [name = ''], operator, values: [value = true] }) => {
    const column = mapping.columnOf(name)
    if (column.type === 'json')
      throw new TypeError(
        `${shape.name}: a unique set compares ${name}, which is in a JSON column. Leave json: true out of columns.${name}`,
      )
    if (operator === 'exists') return { column: column.column, exists: value === true }
    // A form of the column may say it in another way. All that is left is a scalar.
    return { column: column.column, value: encodeValue(value, column, database) as Scalar }
  })
}

const EXISTS = new RegExp(`^${NAME} is (not )?null$`, 'i')
/** Numbers that are JSON, and exact. */
const EQUALS = new RegExp(`^${NAME} ?= ?('\\d+'|-?(?:0|[1-9]\\d{0,14})|true|false)$`, 'i')
const FLAG = new RegExp(`^(not )?${NAME}( is (?:true|false))?$`, 'i')

/** Longer ones are not plain. */
const MAX_PREDICATE = 2_000

/** Reads the condition of an index as the catalog prints it; `undefined` for anything but equality with constants and `is null`. */
export function readPredicate(text: string): IndexCondition[] | undefined {
  // Without brackets `not (a and b)` would be another condition.
  if (text.length > MAX_PREDICATE || /\bnot\s*\(/i.test(text)) return undefined
  const { text: plain, literalOf } = takeStrings(text)
  // Without brackets `and` binds more than `or`, which is none of the forms.
  const parts = plain.replace(/[\s()]+/g, ' ').split(/ and /i)
  const found = parts.map(part => readCondition(part.trim(), literalOf))
  return found.every(each => each !== undefined) ? found : undefined
}

function readCondition(
  text: string,
  literalOf: (quoted: string) => string,
): IndexCondition | undefined {
  const exists = EXISTS.exec(text)
  if (exists) return { column: nameOf(exists.slice(1, 5)), exists: exists[5] !== undefined }
  const equals = EQUALS.exec(text)
  if (equals) {
    const [literal = ''] = equals.slice(5)
    const value = literal.startsWith("'") ? literalOf(literal) : JSON.parse(literal.toLowerCase())
    return { column: nameOf(equals.slice(1, 5)), value }
  }
  const flag = FLAG.exec(text)
  // `not a is true` holds of null too.
  if (!flag || (flag[1] && flag[6])) return undefined
  const isFalse = (flag[1] !== undefined) !== / is false$/i.test(flag[6] ?? '')
  return { column: nameOf(flag.slice(2, 6)), value: !isFalse }
}
