// One column of a table: its field, its type and its default.

import type { Path } from '../../base/paths.ts'
import { BOOLEAN, checkOptions, FILLED_TEXT, type Rules } from '../../options.ts'
import type { Field, Kind } from '../../schema/fields.ts'
import type { Shape } from '../../store/store.ts'
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
   * PostgreSQL; in SQLite `datetime utc`, `unix seconds` or `unix milliseconds` for a date-time, and `t/f`, `true/false`, `Y/N` or `yes/no`
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
  /** Whether SQLite converts no value that it takes. */
  readonly untyped: boolean
  /** Whether its default is the time as SQLite prints it. */
  readonly makesTime: boolean
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
  readonly onUnreadable: (column: Column, value: unknown) => void
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
  readonly onUnreadable: (column: Column, value: unknown) => void
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
  const natives = form
    ? [form.native(held)]
    : ((database.serves ?? database.converts)?.(held).natives ?? [])
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

/** Finds the form of a value; `undefined` if it does not have one. */
export function findForm(
  value: unknown,
  { kind }: Field,
  { forms }: SqlDatabase,
): string | undefined {
  const named = Object.entries(forms).find(([, form]) => {
    const native = form.native('')
    return native?.kind === kind && native.parse(value) !== undefined
  })
  return named?.[0]
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
export function isAmbiguous({ kind, nullable, optional }: Field): boolean {
  return (nullable && optional) || kind === 'any' || kind === 'union'
}

/** Whether an item may have nothing that the column holds. */
export function mayBeNull({ field, type }: Column): boolean {
  return field.optional || (field.nullable && !(type === 'json' && isAmbiguous(field)))
}

/** The date of a change in a column, which is later than the one there. */
export function nextDate({ ref, native }: Column, now: Fragment, database: SqlDatabase): Fragment {
  const { read = asItIs, write = asItIs } = native?.instant ?? {}
  return write(database.nextDate(now, read(ref), native !== undefined))
}

const asItIs = (value: Fragment) => value
