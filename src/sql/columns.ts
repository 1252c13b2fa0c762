// One column of a table: which field it holds, and how a value goes in and comes out.
import { BOOLEAN, checkOptions, FILLED_TEXT, oneOf, type Rules } from '../options.ts'
import type { Field, Kind } from '../schema/fields.ts'
import type { Item, Json } from '../schema/values.ts'
import { type Shape, UnstorableError } from '../store/store.ts'
import type { ColumnType, NativeType, SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

/** The types of PostgreSQL that can be asked for, instead of `text` or `json`. */
const MADE_TYPES = { uuid: 'uuid', date: 'date', timestamptz: 'timestamptz(3)', jsonb: 'jsonb' }

/** How one field is kept in its column. */
export interface ColumnOptions {
  /** The column's name. Default: the field's. */
  readonly name?: string | undefined
  /**
   * Whether the column holds JSON text. Default: true for objects, records, arrays, unions and any, and
   * for a scalar that may be both null and absent. With false such a scalar is null where it is absent.
   */
  readonly json?: boolean | undefined
  /**
   * The type of a new column in PostgreSQL. Default: `uuid` for ids that the store makes, `timestamptz`
   * for its own two dates, `date` for dates; text, numbers, booleans and `json` for all other fields.
   * The types of an existing table are found by themselves.
   */
  readonly type?: keyof typeof MADE_TYPES | undefined
}

export interface Column {
  readonly name: string
  readonly field: Field
  readonly column: string
  /** `text` for a native type. */
  readonly type: ColumnType
  readonly native?: NativeType | undefined
  /** The type that the store makes. */
  readonly made: string
  readonly ref: Fragment
  /** What is selected of it, and under which name. */
  readonly readable: Fragment
  readonly read: string
  /** Whether its values may be of any length. */
  readonly long: boolean
  /** Whether it is JSON only so that a scalar may be both null and absent, by default. */
  readonly tellsNull: boolean
}

const RULES: Rules<ColumnOptions> = {
  name: FILLED_TEXT,
  json: BOOLEAN,
  type: oneOf(...Object.keys(MADE_TYPES)),
}

export const COLUMN_TYPES: Partial<Record<Kind, ColumnType>> = {
  string: 'text',
  date: 'text',
  'date-time': 'text',
  integer: 'integer',
  number: 'real',
  boolean: 'boolean',
}

/**
 * Builds the column of a field.
 * @param given its name, its options, or `jsonb`.
 * @param found the type of an existing column.
 * @throws TypeError for a column that cannot hold the field.
 */
export function buildColumn(
  name: string,
  given: string | ColumnOptions = {},
  shape: Shape,
  database: SqlDatabase,
  found: string | undefined,
): Column {
  const field = ownField(name, shape)
  const where = `${shape.name}, the column of ${name}`
  const options: ColumnOptions =
    given === 'jsonb' ? { type: given } : typeof given === 'string' ? { name: given } : given
  checkOptions(where, options, RULES)
  const plain = COLUMN_TYPES[field.kind]
  const json = options.json ?? (plain === undefined || isAmbiguous(field))
  if (!json && !plain) throw new TypeError(`${where}: ${field.kind} values need a JSON column`)
  const wanted = wantedType(field, json, options, name, shape, database)
  if (wanted !== undefined && !database.serves) {
    throw new TypeError(`${where}: ${database.name} has no columns of the type ${options.type}`)
  }
  const type = json || !plain ? 'json' : plain
  const native = json ? undefined : database.serves?.(found ?? wanted ?? '').native
  const fits = native?.kinds.includes(field.kind) ? native : undefined
  if (found === undefined && options.type !== undefined && !fits && options.type !== 'jsonb') {
    throw new TypeError(
      `${where}: the type ${options.type} cannot hold ${json ? 'JSON' : field.kind} values`,
    )
  }
  if (options.type === 'jsonb' && !json) {
    throw new TypeError(`${where}: the type jsonb cannot hold ${field.kind} values`)
  }
  const column = options.name ?? name
  const ref = sql.id(column)
  const readable = fits ? fits.read(ref) : database.read(ref, type)
  const long = type === 'json' || (type === 'text' && !fits && !isShort(name, shape))
  return {
    name,
    field,
    column,
    type,
    native: fits,
    made: wanted ?? database.types[type],
    ref,
    readable,
    // Under its own name, an order by the column would be by what is selected.
    read: readable === ref && !long ? column : `rest_${name}`,
    long,
    tellsNull: json && plain !== undefined && options.json === undefined,
  }
}

function wantedType(
  field: Field,
  json: boolean,
  { type }: ColumnOptions,
  name: string,
  { identity, createdAt, updatedAt }: Shape,
  database: SqlDatabase,
): string | undefined {
  if (type) return MADE_TYPES[type]
  if (json) return undefined
  if (name === identity.name) return database.nativeFor(field, identity.kind === 'uuid' && 'id')
  return database.nativeFor(field, (name === createdAt || name === updatedAt) && 'time')
}

/** Whether the store makes the values of a field: they are short. */
function isShort(name: string, { identity, createdAt, updatedAt }: Shape): boolean {
  if (name === identity.name) return identity.kind === 'uuid'
  return name === createdAt || name === updatedAt
}

/** The field of a name. The id and the dates are the store's own, whatever the schema says of them. */
function ownField(name: string, { fields, identity, createdAt, updatedAt }: Shape): Field {
  const required = { nullable: false, optional: false }
  if (name === identity.name) {
    return { kind: identity.kind === 'integer' ? 'integer' : 'string', ...required }
  }
  if (name === createdAt || name === updatedAt) return { kind: 'date-time', ...required }
  // The name is one of the fields.
  return fields.get(name) as Field
}

/** Whether null and absent are two things. */
function isAmbiguous({ kind, nullable, optional }: Field): boolean {
  return (nullable && optional) || kind === 'any' || kind === 'union'
}

/** Converts a value to the one that will be read; `undefined` where the column cannot hold it. */
export function toColumnValue(value: Json, { native }: Column): Json | undefined {
  if (!native || value === null) return value
  return typeof value === 'string' ? native.toColumnText(value) : undefined
}

/**
 * Converts a value to what the driver is given.
 * @throws UnstorableError for one that the column's type cannot hold.
 */
export function encodeValue(value: Json | undefined, column: Column, database: SqlDatabase) {
  const { name, type, field, native } = column
  if (value === undefined) return null
  if (native && value !== null) {
    const text = toColumnValue(value, column)
    if (typeof text !== 'string') throw new UnstorableError([name])
    return native.encode(text)
  }
  if (type === 'json') {
    return value === null && !isAmbiguous(field) ? null : JSON.stringify(value)
  }
  return typeof value === 'boolean' ? database.boolean(value) : value
}

/**
 * Converts what was selected to the value: absent where it is null and may not be.
 * @throws Error for a whole number beyond 2^53, which would be read as another one.
 */
export function decodeValue(value: unknown, column: Column): Json | undefined {
  const { type, field, native } = column
  if (value === null || value === undefined) {
    return field.nullable && (!isAmbiguous(field) || type !== 'json') ? null : undefined
  }
  if (native) return native.parse(value)
  // The column holds what `encodeValue` gave, or what the owner of the table says is JSON.
  if (type === 'json') return typeof value === 'string' ? parseJson(value, column) : (value as Json)
  if (type === 'boolean') return value === true || value === 1 || value === 1n
  if (type === 'text') return String(value)
  const number = Number(value)
  if (type === 'integer' && Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw new Error(
      `The column "${column.column}" holds ${value}, beyond 2^53, which no JavaScript number is exactly: serve a view that casts it to text, and declare z.string()`,
    )
  }
  return number
}

function parseJson(text: string, { column }: Column): Json {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(
      `The column "${column}" holds invalid JSON; set { json: false } for it in columns, or declare what it holds`,
      { cause },
    )
  }
}

/** Decodes the columns of a row: what is null and may not be null is absent. */
export function decodeRow(
  row: Readonly<Record<string, unknown>>,
  columns: readonly Column[],
): Item {
  const item: Item = {}
  for (const column of columns) {
    const value = decodeValue(row[column.read], column)
    if (value !== undefined) item[column.name] = value
  }
  return item
}
