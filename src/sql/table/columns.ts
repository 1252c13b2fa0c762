// One column of a table: its field, and how its values are encoded and decoded.

import { isDate, isDateTime } from '../../base/dates.ts'
import { parseKept, printJson } from '../../base/exact-numbers.ts'
import type { Path } from '../../base/paths.ts'
import type { Item, Json } from '../../base/values.ts'
import { BOOLEAN, checkOptions, FILLED_TEXT, type Rules } from '../../options.ts'
import type { Field, Kind } from '../../schema/fields.ts'
import { UnstorableError } from '../../store/errors.ts'
import type { Id, Shape } from '../../store/store.ts'
import { markUnreadable } from '../../store/unreadable.ts'
import type {
  ColumnType,
  ListType,
  MadeRole,
  NativeType,
  SqlDatabase,
} from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { isForm, NEW_COLUMN_TYPE, type NewColumnType, readDeclared } from './column-types.ts'
/** How a column stores one field. */
export interface ColumnOptions {
  /** The column's name. Default: the field's. */
  readonly name?: string | undefined
  /**
   * Whether the column holds JSON text. Default: true for objects, records, arrays, unions and any, and
   * for a scalar that may be both null and absent. With false such a scalar is null where it is absent.
   */
  readonly json?: boolean | undefined
  /**
   * The type of a new column in PostgreSQL: `jsonb` instead of `json`, `timestamptz(3)` for a date-time, whose offset
   * and finer digits are not kept, or `numeric(12,2)` for a number, of at most 15 digits and rounded to its scale. The
   * types of an existing table are found by themselves, unless they do not tell the form of the values: `timestamp utc` in
   * PostgreSQL; in SQLite `unix seconds` or `unix milliseconds` for a date-time, and `t/f`, `true/false`, `Y/N` or `yes/no`
   * for a boolean.
   */
  readonly type?: NewColumnType | undefined
}

/** What a database does for a column of an existing table. */
export interface Filled {
  /** The field, where the table allows null that the declaration does not know. */
  readonly field: Field
  /** Whether the store never writes it, as a generated column. */
  readonly generated: boolean
  readonly notNull: boolean
  /** Whether a view computes it. */
  readonly unwritable: boolean
  readonly preset: Preset | undefined
  /** Whether all indexes on it have nulls last, as PostgreSQL makes them by default. */
  readonly nullsLast: boolean
}

/** The values of a column whose field is absent. */
export interface Preset {
  /** Casts what is bound, of which a default alone does not tell the type. */
  readonly cast: Fragment
  /** The default, which a create stores. */
  readonly created: Fragment
  /** What an update stores; `undefined` for null. */
  readonly changed: Fragment | undefined
}

export interface Column extends Partial<Filled> {
  readonly name: string
  readonly field: Field
  readonly column: string
  /** `text` for a native type. */
  readonly type: ColumnType
  readonly native?: NativeType | undefined
  /** The native type, where it is one of lists. */
  readonly list?: ListType | undefined
  /** The SQL type of a column that the store makes. */
  readonly made: string
  readonly ref: Fragment
  /** The expression to select, and the name of its result. */
  readonly readable: Fragment
  readonly read: string
  /** Whether its values may be of any length. */
  readonly long: boolean
  /** Whether the database keeps values of any type in it, as SQLite does. */
  readonly takesAny: boolean
  /** Tells that it holds a value which is not of the declared form, or which JSON cannot say. */
  readonly onUnreadable: (column: Column) => void
  /** Whether it holds a scalar as JSON by default, to tell null from absent. */
  readonly tellsNull: boolean
  /** The path of the text that it keeps folded; absent for a column of a field. */
  readonly folds?: Path | undefined
}

const RULES: Rules<ColumnOptions> = {
  name: FILLED_TEXT,
  json: BOOLEAN,
  type: NEW_COLUMN_TYPE,
}

export const COLUMN_TYPES: Partial<Record<Kind, ColumnType>> = {
  string: 'text',
  date: 'text',
  'date-time': 'text',
  integer: 'integer',
  number: 'real',
  boolean: 'boolean',
}

/** The table that columns are built for. */
export interface ColumnOwner {
  readonly shape: Shape
  readonly database: SqlDatabase
  /** Finds the type of a column, of an existing table or of what a foreign key of the field names. */
  readonly typeOf: (column: string, field: string) => string | undefined
  /** Is called with a column that holds a value which cannot be read. */
  readonly onUnreadable: (column: Column) => void
}

/**
 * Builds the column of a field.
 * @param declared its name, its options, or the type of a new column.
 * @throws TypeError for a column that cannot hold the field.
 */
export function buildColumn(
  name: string,
  declared: string | ColumnOptions = {},
  { shape, database, typeOf, onUnreadable }: ColumnOwner,
): Column {
  const field = ownField(name, shape)
  const where = `${shape.name}, the column of ${name}`
  const options: ColumnOptions = readDeclared(declared)
  checkOptions(where, options, RULES)
  const plain = COLUMN_TYPES[field.kind]
  const column = options.name ?? name
  const present = typeOf(column, name)
  const list = options.json === undefined ? findList(field, present, database) : undefined
  const json = options.json ?? (!list && (plain === undefined || isAmbiguous(field)))
  if (!json && !plain && !list)
    throw new TypeError(`${where}: ${field.kind} values need a JSON column`)
  const type = json ? 'json' : (plain ?? 'text')
  const form = database.forms[options.type ?? '']
  const problem = form ? undefined : findTypeProblem(options.type, type, field, database)
  if (problem !== undefined) throw new TypeError(`${where}: ${problem}`)
  const role = findRole(name, shape)
  const wanted = form?.made ?? options.type ?? (json ? undefined : database.nativeFor(field, role))
  const found = json ? undefined : present
  const held = found ?? wanted ?? ''
  const natives = form ? [form.native(held)] : (database.serves?.(held).natives ?? [])
  const served = json ? undefined : (list ?? natives.find(each => each?.kind === field.kind))
  if (form && !served) {
    const there = found ? ` in a column of ${found}` : ''
    const message = `${where}: ${options.type} is not for ${field.kind} values${there}`
    throw new TypeError(message)
  }
  // One that the database takes for equal would be read by another id.
  const isId = name === shape.identity.name
  const native = isId && served?.byText ? undefined : served
  const ref = sql.id(column)
  const readable = native ? native.read(ref) : database.read(ref, type)
  const long =
    type === 'json' ||
    (type === 'text' && (!native || native.byText === true) && role === undefined)
  return {
    name,
    field,
    column,
    type,
    native,
    list,
    made: found ?? wanted ?? database.types[type],
    ref,
    readable,
    // Under the column's own name, ORDER BY would use the selected expression.
    read: readable === ref && !long ? column : `rest_${name}`,
    long,
    takesAny: !database.serves,
    onUnreadable,
    tellsNull: json && plain !== undefined && options.json === undefined,
  }
}

/** Finds how a column holds a list of scalars by a type of its own. */
function findList({ kind, element }: Field, type = '', { serves }: SqlDatabase) {
  return kind === 'array' && element ? serves?.(type).listOf?.(element.kind) : undefined
}

/** Says why a new column cannot have a type, or cannot hold the field by it; `undefined` if it can. */
function findTypeProblem(
  asked: NewColumnType | undefined,
  type: ColumnType,
  { kind }: Field,
  database: SqlDatabase,
): string | undefined {
  if (asked === undefined) return undefined
  if (!database.serves || isForm(asked))
    return `${database.name} has no columns of the type ${asked}; leave it out there`
  const { as, natives = [] } = database.serves(asked)
  if (type !== 'json' && natives.some(each => each.kind === kind)) return undefined
  if (as.includes(type)) return undefined
  const nullish =
    type === 'json' && asked !== 'jsonb' && COLUMN_TYPES[kind]
      ? ' that may be both null and absent; use .nullable() alone in the schema, or set { json: false }'
      : ''
  return `the type ${asked} cannot hold ${kind} values${nullish}`
}

/** Finds the role of a field whose values the store itself makes; such values are short. */
function findRole(name: string, { identity, createdAt, updatedAt }: Shape): MadeRole | undefined {
  if (name === identity.name) return identity.kind === 'uuid' ? 'id' : undefined
  return name === createdAt || name === updatedAt ? 'time' : undefined
}

/** Finds the field of a name. The store itself sets the id and the dates, so the schema does not decide on them. */
function ownField(name: string, { fields, identity, createdAt, updatedAt }: Shape): Field {
  const required = { nullable: false, optional: false }
  if (name === identity.name) {
    return { kind: identity.kind === 'integer' ? 'integer' : 'string', ...required }
  }
  if (name === createdAt || name === updatedAt) return { kind: 'date-time', ...required }
  // The name is one of the fields.
  return fields.get(name) as Field
}

/** Whether null and absent are different values. */
function isAmbiguous({ kind, nullable, optional }: Field): boolean {
  return (nullable && optional) || kind === 'any' || kind === 'union'
}

/** Whether an item may have nothing that the column holds. */
export function mayBeNull({ field, type }: Column): boolean {
  return field.optional || (field.nullable && !(type === 'json' && isAmbiguous(field)))
}

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
  column.onUnreadable(column)
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
      // The column holds what `encodeValue` returned, or JSON of another program.
      return typeof value === 'string' ? parseJson(value) : (value as Json)
    case 'boolean':
      if (value === true || value === 1 || value === 1n) return true
      return value === false || value === 0 || value === 0n ? false : undefined
    case 'text': {
      // A number under a string is its digits; bytes are none, and no date is a number.
      const isDigits = column.field.kind === 'string' && typeof value !== 'object'
      if (column.takesAny && typeof value !== 'string' && !isDigits) return undefined
      return readText(String(value), column)
    }
    default: {
      // A text that is empty, or bytes, would be zero; a numeric may have more digits than a number of JavaScript.
      const isNumber =
        typeof value === 'string'
          ? value.trim() !== '' && (column.takesAny || isExactNumber(value))
          : typeof value !== 'object'
      if (!isNumber) return undefined
      const number = Number(value)
      const isExact = column.type !== 'integer' || Math.abs(number) <= Number.MAX_SAFE_INTEGER
      return isExact && Number.isFinite(number) ? number : undefined
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

/** The date of a change in a column, which is later than the one there. */
export function nextDate({ ref, native }: Column, now: Fragment, database: SqlDatabase): Fragment {
  const { read = asItIs, write = asItIs } = native?.instant ?? {}
  return write(database.nextDate(now, read(ref), native !== undefined))
}

const asItIs = (value: Fragment) => value

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
