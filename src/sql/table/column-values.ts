// The values of columns: as parameters of the driver, and as it returns them.

import { isDate, isDateTime } from '../../base/dates.ts'
import { parseKept, printJson } from '../../base/exact-numbers.ts'
import type { Item, Json } from '../../base/values.ts'
import type { Kind } from '../../schema/fields.ts'
import { UnstorableError } from '../../store/errors.ts'
import type { Id } from '../../store/store.ts'
import { markUnreadable } from '../../store/unreadable.ts'
import type { ColumnType, SqlDatabase } from '../databases/database.ts'
import { type Column, isAmbiguous } from './columns.ts'

/** Converts a value to the one that a later read returns; `undefined` if the column cannot hold it. */
export function toColumnValue(value: Json, { native }: Column): Json | undefined {
  if (!native || value === null) return value
  return typeof value === 'string' ? native.toColumnText(value) : undefined
}

/**
 * Converts a value to a parameter for the driver.
 * @throws UnstorableError for one that the column's type cannot hold.
 */
export function encodeValue(value: Json | undefined, column: Column, database: SqlDatabase) {
  const { name, type, field, native } = column
  if (value === undefined) return null
  if (native && value !== null) {
    const bound = native.encode ? native.encode(value) : toColumnValue(value, column)
    if (bound === undefined) throw new UnstorableError([name])
    return bound
  }
  if (type === 'json') {
    return value === null && !isAmbiguous(field) ? null : printJson(value)
  }
  return typeof value === 'boolean' ? database.boolean(value) : value
}

/**
 * Converts a selected value to one of the item. Null becomes absent where the field cannot be null. What is not of the
 * declared form, or what JSON cannot say, is null: it is never another value, and no row makes a list fail.
 */
export function decodeValue(value: unknown, column: Column, item?: Item): Json | undefined {
  const { type, field, native, name } = column
  if (value === null || value === undefined) {
    return field.nullable && (!field.optional || type !== 'json') ? null : undefined
  }
  const decoded = native ? native.parse(value) : decodeOwn(value, column)
  if (decoded !== undefined) return decoded
  column.onUnreadable(column, value)
  if (item) markUnreadable(item, name)
  return null
}

/** Decodes the id of a row. */
export function decodeId(row: Readonly<Record<string, unknown>>, id: Column): Id {
  return decodeValue(row[id.read], id) as Id // no id is null
}

/** Converts a value of a type that is not native; `undefined` for one that cannot be read. */
function decodeOwn(value: unknown, column: Column): Json | undefined {
  switch (column.type) {
    case 'json':
      // The column holds what `encodeValue` returned, or JSON of another program: bytes are none.
      if (column.takesAny && typeof value === 'object') return undefined
      return typeof value === 'string' ? parseJson(value) : (value as Json)
    case 'boolean':
      if (value === true || value === 1 || value === 1n) return true
      return value === false || value === 0 || value === 0n ? false : undefined
    case 'text': {
      // A string that reads as a number is one in a column of numbers; bytes are none, and no date is a number.
      const isDigits =
        column.field.kind === 'string' && typeof value !== 'object' && !column.untyped
      if (column.takesAny && typeof value !== 'string' && !isDigits) return undefined
      return readText(String(value), column)
    }
    default: {
      // Bytes would be zero. PostgreSQL sends a numeric as a text, of more digits perhaps than a number of JavaScript; in
      // SQLite a text compares with no number.
      const isNumber =
        typeof value === 'string'
          ? value.trim() !== '' && !column.takesAny && isExactNumber(value)
          : typeof value !== 'object'
      if (!isNumber) return undefined
      const number = Number(value)
      const isWhole = column.type !== 'integer' || Number.isSafeInteger(number)
      return isWhole && Number.isFinite(number) ? number : undefined
    }
  }
}

/** Whether a text is a number that JavaScript prints with the same digits. */
function isExactNumber(text: string): boolean {
  const digits = digitsOf(text)
  return digits.length <= 15 || digits === digitsOf(String(Number(text)))
}

/** The digits of a number, from the first to the last that is not 0. */
function digitsOf(text: string): string {
  const digits = text.replace(/e.*|[^\d]/gi, '')
  let [first, end] = [0, digits.length]
  while (digits[first] === '0') first++
  while (end > first && digits[end - 1] === '0') end--
  return digits.slice(first, end)
}

/** What SQLite's `current_timestamp` and `datetime()` print, in UTC. */
const SQLITE_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/

/** Reads a text; a date, or a date and time, only of its form. */
function readText(text: string, { field: { kind }, takesAny }: Column): string | undefined {
  if (kind === 'date') return isDate(text) ? text : undefined
  if (kind !== 'date-time') return text
  // As the store itself prints them, without a closer look.
  if (text.length === 24 && text[10] === 'T' && text[23] === 'Z') return text
  const time = takesAny ? text.replace(SQLITE_TIME, '$1T$2Z') : text
  return isDateTime(time) || isDate(time) ? time : undefined
}

/** Converts a selected number. @throws Error for a whole number beyond 2^53, which would be another one. */
export function decodeNumber(value: unknown, kind: Kind | ColumnType, column: string): number {
  const number = Number(value)
  if (kind === 'integer' && Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw new Error(
      `The column "${column}" holds ${value}, beyond 2^53, which no JavaScript number is exactly: serve a view that casts it to text, and declare z.string()`,
    )
  }
  return number
}

function parseJson(text: string): Json | undefined {
  try {
    return parseKept(text)
  } catch {
    return undefined
  }
}

/** Decodes the columns of a row. */
export function decodeRow(
  row: Readonly<Record<string, unknown>>,
  columns: readonly Column[],
): Item {
  const item: Item = {}
  for (const column of columns) {
    const value = decodeValue(row[column.read], column, item)
    if (value !== undefined) item[column.name] = value
  }
  return item
}
