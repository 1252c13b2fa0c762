// Types of columns that hold no JSON value as such: which texts they hold, and as what they are read.
import { isDate, parseInstant } from '../schema/dates.ts'
import type { Kind } from '../schema/fields.ts'
import { isUuid } from '../schema/values.ts'

/** A type that a column of a table which exists may have: of PostgreSQL. */
export type DeclaredType = 'uuid' | 'timestamp' | 'date'

/** Columns of other types are read, compared and sorted as texts by code point, or as doubles. */
export type CastType = 'text' | 'double'

/** How many digits of a second a database's types hold at most. */
const MICROSECONDS = 6

/** What kinds of field a column of each type holds. */
export const KINDS_OF: Readonly<Record<DeclaredType | CastType, readonly Kind[]>> = {
  uuid: ['string'],
  timestamp: ['date-time'],
  date: ['date'],
  text: ['string'],
  double: ['number', 'integer'],
}

export function isCast(type: DeclaredType | CastType | undefined): type is CastType {
  return type === 'text' || type === 'double'
}

/**
 * A text as a column of a type gives it back, or `undefined` for one that it cannot hold: a UUID in
 * lower case, a day, a date-time as {@link timestampText}.
 * @param digits of a second that the column keeps; finer ones are cut.
 */
export function toColumnText(
  text: string,
  type: DeclaredType,
  digits = MICROSECONDS,
): string | undefined {
  switch (type) {
    case 'uuid':
      return isUuid(text) ? text.toLowerCase() : undefined
    case 'date':
      return isDate(text) ? text : undefined
    case 'timestamp': {
      const time = parseInstant(text)
      if (Number.isNaN(time)) return undefined
      const [, fraction = ''] = /[.](\d+)/.exec(text) ?? []
      const kept = fraction.slice(0, digits).padEnd(MICROSECONDS, '0')
      return timestampText(time, kept)
    }
  }
}

/**
 * The text of an instant: that of `toISOString()`, with six digits of a second where three do not say it.
 * @param time in milliseconds since 1970.
 * @param fraction six digits of a second, which count instead of those of `time`.
 */
export function timestampText(time: number, fraction: string): string {
  const finer = fraction.endsWith('000') ? '' : fraction.slice(3)
  return `${new Date(time).toISOString().slice(0, -4)}${fraction.slice(0, 3)}${finer}Z`
}
