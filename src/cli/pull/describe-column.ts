// A column as a property of a zod schema: its kind, bounds, and default.

import { isDate, isDateTime } from '../../base/dates.ts'
import type { ServedType } from '../../sql/databases/database.ts'
import { serves } from '../../sql/databases/postgres-types.ts'
import type { CatalogConnection } from './connect.ts'
import type { FoundColumn } from './found-tables.ts'
import type { CheckBounds } from './read-checks.ts'
import type { SchemaCall, SchemaCalls } from './schema-calls.ts'

/** What a column holds. */
export interface ColumnKind {
  readonly kind:
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'date'
    | 'date-time'
    | 'json'
    | 'list'
  /** The schema without bounds. */
  readonly schema: SchemaCalls
  readonly labels?: readonly string[]
  /** The most characters. */
  readonly length?: number
  /** How `columns` says the form of its values. */
  readonly form?: string
  /** Whether it is a time without a zone. */
  readonly isLocal?: boolean
  /** Whether the database compares its texts in a way of its own, so that it cannot be an id. */
  readonly isAlike?: boolean
}

const STRING: ColumnKind = { kind: 'string', schema: [['string']] }
export const GUID: SchemaCalls = [['guid']]
const INTEGER: ColumnKind = { kind: 'integer', schema: [['int']] }
const NUMBER: ColumnKind = { kind: 'number', schema: [['number']] }
const BOOLEAN: ColumnKind = { kind: 'boolean', schema: [['boolean']] }
const DATE: ColumnKind = { kind: 'date', schema: [['iso.date']] }
const TIME: ColumnKind = { kind: 'date-time', schema: [['iso.datetime']] }
const JSON_VALUE: ColumnKind = { kind: 'json', schema: [['json']] }

/** Finds what a column holds; `undefined` for a type that no property can be. */
export function findKind(
  { type, preset }: FoundColumn,
  database: CatalogConnection['database'],
  bounds: CheckBounds = {},
): ColumnKind | undefined {
  if (bounds.isJson) return JSON_VALUE
  if (database === 'postgres') return findPostgresKind(type)
  return findPresetKind(type, preset ?? '') ?? findSqliteKind(type)
}

/** Finds what a column of SQLite holds by what its default writes. */
function findPresetKind(type: string, preset: string): ColumnKind | undefined {
  if (/CHAR|CLOB|TEXT/.test(type))
    return PRINTED_NOW.test(preset) ? { ...TIME, form: 'datetime utc' } : undefined
  if (!/INT/.test(type)) return undefined
  if (/^\(?(?:true|false)\)?$/i.test(preset)) return BOOLEAN
  if (!UNIX_NOW.test(preset)) return undefined
  return {
    ...TIME,
    form: /\* ?(?:1000|86400000)\b/.test(preset) ? 'unix milliseconds' : 'unix seconds',
  }
}

const PRINTED_NOW = /^\(?(?:current_timestamp|datetime\('now'\))\)?$/i
const UNIX_NOW = /\b(?:unixepoch\(|strftime\('%s', ?'now'|julianday\('now')/i

function findPostgresKind(type: string): ColumnKind | undefined {
  const { as, natives = [], listOf } = serves(type, true)
  const [native] = natives
  if (native?.kind === 'date') return DATE
  if (native?.kind === 'date-time') return serves(type).natives ? TIME : { ...TIME, isLocal: true }
  if (type === 'uuid') return { ...STRING, schema: GUID }
  if (as.includes('boolean')) return BOOLEAN
  if (type === 'integer') return { ...INTEGER, schema: [['int32']] }
  if (/^(?:smallint|bigint|numeric\(\d+,0\))$/.test(type)) return INTEGER
  if (as.includes('real') || native?.kind === 'number') return NUMBER
  if (as.includes('text')) return { ...STRING, ...findLength(type) }
  if (as.includes('json')) return JSON_VALUE
  if (listOf) return findListKind(type.slice(0, -2), listOf)
  // What a search reads is no property.
  if (!native || type === 'tsvector') return undefined
  const labels = type.indexOf(' ["')
  if (labels < 0) return { ...STRING, ...findLength(type), isAlike: true }
  return { ...STRING, labels: JSON.parse(type.slice(labels + 1)), isAlike: true }
}

function findListKind(
  type: string,
  listOf: NonNullable<ServedType['listOf']>,
): ColumnKind | undefined {
  const each = findPostgresKind(type)
  if (!each || each.kind === 'json' || each.kind === 'list' || !listOf(each.kind)) return undefined
  const element = each.labels ? toEnum(each.labels) : each.schema
  return { ...each, kind: 'list', schema: [['array', { element }]] }
}

/** By the words of a type, as SQLite itself finds its affinity. */
function findSqliteKind(type: string): ColumnKind | undefined {
  if (/BOOL|^TINYINT\(1\)$/.test(type)) return BOOLEAN
  if (/INT/.test(type)) return INTEGER
  if (/CHAR|CLOB|TEXT/.test(type)) return { ...STRING, ...findLength(type) }
  if (/REAL|FLOA|DOUB|NUMERIC|DECIMAL/.test(type)) return NUMBER
  if (/^DATE$/.test(type)) return DATE
  if (/^(?:DATETIME|TIMESTAMP)/.test(type)) return TIME
  if (/^JSON/.test(type)) return JSON_VALUE
  return /^(?:TIME|UUID|STRING|ENUM)/.test(type) ? STRING : undefined
}

function findLength(type: string): { length?: number } {
  const [, length] = /char(?:acter)?(?: varying)?\((\d+)\)$/i.exec(type) ?? []
  return length === undefined ? {} : { length: Number(length) }
}

/** How a property is declared. */
interface DescribedColumn {
  readonly schema: SchemaCalls
  /** Whether the server sets it: what the database makes, or a date of writing. */
  readonly isReadOnly: boolean
}

/**
 * Describes a column as a property.
 * @param isWritten whether clients write it; those of a view, for one, do not.
 */
export function describeColumn(
  { comment, ...column }: FoundColumn,
  kind: ColumnKind,
  bounds: CheckBounds = {},
  isWritten = true,
): DescribedColumn {
  const all: CheckBounds = { ...bounds, maxLength: leastOf(kind.length, bounds.maxLength) }
  const labels = kind.kind === 'string' ? (kind.labels ?? bounds.labels) : undefined
  const known = { ...all, ...(labels && { labels }) }
  const whole = labels ? toEnum(labels) : kind.schema
  const meta: SchemaCalls = comment ? [['meta', { description: comment }]] : []
  const end = isWritten ? findEnd(column, kind, known) : column.notNull ? [] : NULLABLE
  const isTime = kind.kind === 'date-time' && end === OPTIONAL && WRITING.test(column.name)
  return {
    schema: [...whole, ...listBounds(kind, known), ...end, ...meta],
    isReadOnly: column.generated || isTime,
  }
}

/** The names of dates that a program sets, not a person. */
const WRITING = /^(?:created|inserted|updated|modified|last_?update|last_?modified)/i

const leastOf = (one = Number.POSITIVE_INFINITY, other = Number.POSITIVE_INFINITY) =>
  Math.min(one, other)

const toEnum = (labels: readonly string[]): SchemaCalls => [['enum', labels]]

function listBounds({ kind }: ColumnKind, bounds: CheckBounds): SchemaCalls {
  const { min, max, above, below, minLength, maxLength = Number.POSITIVE_INFINITY, labels } = bounds
  if (kind === 'string' && !labels) {
    const least: SchemaCalls = minLength !== undefined && minLength > 0 ? [['min', minLength]] : []
    return Number.isFinite(maxLength) ? [...least, ['max', maxLength]] : least
  }
  if (kind !== 'integer' && kind !== 'number') return []
  const parts = [
    ['min', min],
    ['max', max],
    ['gt', above],
    ['lt', below],
  ] as const
  return parts.flatMap(([name, value]): SchemaCall[] =>
    value === undefined ? [] : [[name, value]],
  )
}

const OPTIONAL: SchemaCalls = [['optional']]
const NULLABLE: SchemaCalls = [['nullable']]
const NULL_BY_DEFAULT: SchemaCalls = [...NULLABLE, ['default', null]]

/** Finds whether a value may be absent or null, and the default. */
function findEnd(
  column: Omit<FoundColumn, 'comment'>,
  kind: ColumnKind,
  bounds: CheckBounds,
): SchemaCalls {
  const { preset, notNull, generated } = column
  const hasPreset = preset !== undefined && !/^null(?:::|$)/i.test(preset)
  if (generated) return OPTIONAL
  // An absent one is NULL, a null is JSON's.
  if (kind.kind === 'json' && !notNull) return OPTIONAL
  if (kind.kind === 'json' || kind.kind === 'list') {
    const [, value] = /^'(\{\}|\[\])'/.exec(preset ?? '') ?? []
    const empty = value === '[]' || kind.kind === 'list' ? [] : {}
    if (value || hasPreset) return value && notNull ? [['default', empty]] : OPTIONAL
    return notNull ? [] : NULL_BY_DEFAULT
  }
  if (!hasPreset) return notNull ? [] : NULL_BY_DEFAULT
  const value = readConstant(preset, kind)
  if (value === undefined || !isWithin(value, bounds)) return OPTIONAL
  return [...(notNull ? [] : NULLABLE), ['default', value]]
}

/** A number, a text or a boolean, with the casts of a type. */
const CONSTANT = /^\(*(?:(-?\d+(?:\.\d+)?)|'((?:[^']|'')*)'|(true|false))\)*(?:::[\w\s."[\]()]+)?$/i

/** Reads a default that is a constant; `undefined` for any other. */
function readConstant(
  preset: string,
  { kind, schema }: ColumnKind,
): string | number | boolean | undefined {
  const [found, digits, quoted, word] = CONSTANT.exec(preset) ?? []
  if (found === undefined) return undefined
  const text = quoted?.replaceAll("''", "'") ?? word ?? digits ?? ''
  if (kind === 'boolean') {
    if (/^(?:t|true|1)$/i.test(text)) return true
    return /^(?:f|false|0)$/i.test(text) ? false : undefined
  }
  if (kind === 'integer' || kind === 'number') {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    return (kind === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number))
      ? number
      : undefined
  }
  if (kind === 'date') return isDate(text) ? text : undefined
  if (kind === 'date-time') return isDateTime(text) && text.endsWith('Z') ? text : undefined
  return schema === STRING.schema ? text : undefined
}

/** Whether a default passes the bounds that are printed for its column. */
function isWithin(value: string | number | boolean, bounds: CheckBounds): boolean {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = bounds
  if (typeof value === 'boolean') return true
  if (typeof value === 'number') {
    const { above = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = bounds
    return value >= min && value <= max && value > above && value < below
  }
  const { labels, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = bounds
  if (labels) return labels.includes(value)
  return value.length >= minLength && value.length <= maxLength
}
