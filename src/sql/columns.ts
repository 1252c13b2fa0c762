// One column of a table: which field it holds, and how a value goes in and comes out.

import { BOOLEAN, checkOptions, FILLED_TEXT, oneOf, type Rules, wholeFrom } from '../options.ts'
import type { Field } from '../schema/fields.ts'
import type { Json } from '../schema/values.ts'
import { UnstorableError } from '../store/store.ts'
import type { ColumnType, OwnType, SqlDatabase } from './database.ts'
import { COLUMN_TYPES } from './indexes.ts'
import { type Fragment, sql } from './sql-text.ts'
import { type CastType, type DeclaredType, isCast, KINDS_OF, toColumnText } from './types.ts'

/** How a field lies in a table that exists already. */
export interface ColumnOptions {
  /** The column's name. Default the field's. */
  readonly name?: string | undefined
  /**
   * Whether the column holds JSON text. Default true for objects, records, arrays, unions and any,
   * and for a scalar that may be both null and absent; with false such a scalar is null where it is absent.
   * Say it of such a scalar where the column is not as the store makes it.
   */
  readonly json?: boolean | undefined
  /**
   * What the column is, where it is none of text, numbers, booleans and JSON: `uuid` (PostgreSQL),
   * `timestamp` (with or without a time zone), `date`.
   * A `timestamp` without a time zone is taken for UTC. Not in SQLite: `text` for what is read and
   * sorted as a text, such as an enum; `double` for a number of another type, such as `real` or
   * `numeric` of any precision. No index on the column serves these two.
   */
  readonly type?: DeclaredType | CastType | undefined
  /** How many digits of a second a `timestamp` keeps. Default 6. */
  readonly digits?: number | undefined
}

export interface Column {
  readonly name: string
  readonly field: Field
  readonly column: string
  /** Of what is declared: `text`. */
  readonly type: ColumnType
  readonly declared?: Declared
  /** As it is compared and sorted. */
  readonly ref: Fragment
  readonly cast?: CastType
  /** Whether it is JSON only so that a scalar may be both null and absent, and nobody has said so. */
  readonly tellsNull: boolean
  /** What is read of it, and what that is called among the columns read. */
  readonly readable: Fragment
  readonly read: string
}

/** A type that a column was declared to have. */
export interface Declared {
  readonly type: DeclaredType
  readonly own: OwnType
  /** Digits of a second. */
  readonly digits: number | undefined
}

const RULES: Rules<ColumnOptions> = {
  name: FILLED_TEXT,
  json: BOOLEAN,
  type: oneOf(...Object.keys(KINDS_OF)),
  digits: wholeFrom(0),
}

/**
 * @param at the column's place among the others.
 * @throws TypeError for a column that cannot hold the field.
 */
export function buildColumn(
  name: string,
  field: Field,
  given: string | ColumnOptions = {},
  at: number,
  collection: string,
  dialect: SqlDatabase,
): Column {
  const options: ColumnOptions = typeof given === 'string' ? { name: given } : given
  checkOptions(`${collection}, the column of ${name}`, options, RULES)
  const column = options.name ?? name
  const id = sql.id(column)
  if (options.type) checkType(name, field, options, options.type, collection)
  const own = isCast(options.type) ? undefined : options.type
  const cast = isCast(options.type) ? options.type : undefined
  const declared = own && declaredOf(name, options, own, collection, dialect)
  const type = declared ? 'text' : typeOf(name, field, options, collection)
  const ref = cast ? offered(dialect.casts[cast], name, cast, collection, dialect)(id) : id
  const readable = declared ? declared.own.read(id) : dialect.read(ref, type)
  // Under its own name, an order by the column would be by what is read.
  const read = readable === id ? column : `rest_${at}`
  const scalar = COLUMN_TYPES[field.kind] !== undefined
  const tellsNull = type === 'json' && scalar && options.json === undefined
  const more = { ...(declared && { declared }), ...(cast && { cast }), tellsNull }
  return { name, field, column, type, ref, readable, read, ...more }
}

function typeOf(
  name: string,
  field: Field,
  options: ColumnOptions,
  collection: string,
): ColumnType {
  const plain = COLUMN_TYPES[field.kind]
  const json = options.json ?? (plain === undefined || isAmbiguous(field))
  if (json) return 'json'
  if (plain) return plain
  throw new TypeError(`${name} of ${collection} is no scalar: its column must hold JSON`)
}

function checkType(
  name: string,
  { kind }: Field,
  { json }: ColumnOptions,
  type: DeclaredType | CastType,
  collection: string,
): void {
  const kinds = KINDS_OF[type]
  if (kinds.includes(kind) && json !== true) return
  throw new TypeError(
    `${name} of ${collection}: a column of the type ${type} holds ${kinds.join(' or ')}, not ${json ? 'JSON' : kind}`,
  )
}

function declaredOf(
  name: string,
  { digits }: ColumnOptions,
  type: DeclaredType,
  collection: string,
  dialect: SqlDatabase,
): Declared {
  const own = offered(dialect.own[type], name, type, collection, dialect)
  return { type, own, digits: type === 'timestamp' ? (digits ?? dialect.digits) : undefined }
}

/** What a dialect has of a type. @throws TypeError where that is nothing. */
function offered<T>(
  given: T | undefined,
  name: string,
  type: DeclaredType | CastType,
  collection: string,
  dialect: SqlDatabase,
): T {
  if (given !== undefined) return given
  throw new TypeError(
    `${name} of ${collection}: ${dialect.name} has no columns of the type ${type}; what it has needs no declaration`,
  )
}

/** A value as it will be read: `undefined` where the column cannot hold it. */
export function holdsText(value: Json, { declared }: Column): Json | undefined {
  if (!declared || value === null) return value
  return typeof value === 'string' ? toColumnText(value, declared.type, declared.digits) : undefined
}

/** Whether null and absent are two things. */
function isAmbiguous({ kind, nullable, optional }: Field): boolean {
  return (nullable && optional) || kind === 'any' || kind === 'union'
}

/**
 * What is given to the driver for a value.
 * @throws UnstorableError for one that the column's type cannot hold.
 */
export function encodeValue(
  value: Json | undefined,
  column: Column,
  dialect: SqlDatabase,
): unknown {
  const { name, type, field, declared } = column
  if (value === undefined) return null
  if (declared && value !== null) {
    const held = holdsText(value, column)
    if (typeof held !== 'string') throw new UnstorableError([name])
    return declared.own.write(held)
  }
  if (type === 'json') {
    return value === null && !isAmbiguous(field) ? null : JSON.stringify(value)
  }
  return typeof value === 'boolean' ? dialect.boolean(value) : value
}

/**
 * The value of what was read: absent where it is null and may not be.
 * @throws Error for a whole number that is no number of JavaScript's: it would be another one.
 */
export function decodeValue(value: unknown, column: Column): Json | undefined {
  const { type, field, declared } = column
  if (value === null || value === undefined) {
    return field.nullable && (!isAmbiguous(field) || type !== 'json') ? null : undefined
  }
  if (declared) return declared.own.parse(String(value))
  // The column holds what `encode` put there, or what the owner of the table says is JSON.
  if (type === 'json') return typeof value === 'string' ? parsed(value, column) : (value as Json)
  if (type === 'boolean') return value === true || value === 1 || value === 1n
  if (type === 'text') return String(value)
  const number = Number(value)
  if (type === 'integer' && Math.abs(number) > Number.MAX_SAFE_INTEGER) {
    throw new Error(
      `The column "${column.column}" holds ${value}, beyond 2^53: no number of JavaScript's is exactly that; as a text it is: z.string() in the schema, and { type: 'text' } in columns or a view that casts it`,
    )
  }
  return number
}

function parsed(text: string, { column }: Column): Json {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(
      `The column "${column}" holds a text that is no JSON; say { json: false } of it in columns, or declare what it holds`,
      { cause },
    )
  }
}
