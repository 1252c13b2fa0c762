// Groups of items as plain values: what a count by the values of fields asks for, and what it finds.

import type { Path } from '../base/paths.ts'
import type { Scalar } from '../base/values.ts'
import { HttpError } from '../errors.ts'

/** A part of a date, in UTC. */
export type DatePart = 'day' | 'month' | 'year'

/** What items are grouped by: the value of a field, or the day, month or year of a date. */
export interface GroupKey {
  readonly path: Path
  readonly part?: DatePart | undefined
}

/** `sum` and `avg` of numbers; `min` and `max` of numbers and dates. */
export type AggregateWord = 'sum' | 'avg' | 'min' | 'max'

/** What is computed of the values of a field in each group; absent and null values do not count. */
export interface Aggregate {
  readonly of: AggregateWord
  readonly path: Path
}

/** How items are grouped. Without keys all items are one group, also where there are none. */
export interface Grouping {
  readonly keys: readonly GroupKey[]
  readonly aggregates: readonly Aggregate[]
  /** Of more groups than this the store may stop, and returns one more: any of them, with any numbers. */
  readonly limit: number
}

/** Items with the same keys. */
export interface Group {
  /**
   * The value of each key, null where the items have none. A date-time is as `toISOString()` prints it, the part of a date
   * `2026`, `2026-11` or `2026-11-07`. A text of more than 256 characters may be cut after the next one.
   */
  readonly keys: readonly (Scalar | null)[]
  readonly count: number
  /**
   * The value of each aggregate; of no values a sum is 0, the others are null. Sums of whole numbers are exact up to
   * 2^53; one that no number can be is infinite. A date-time is as `toISOString()` prints it.
   */
  readonly values: readonly (number | string | null)[]
}

/** The most characters of a text that is the key of a group. */
export const MAX_KEY_LENGTH = 256

/** Where the parts of a date end in a text of `toISOString()`, whose year may have more than four digits. */
const INSTANT_ENDS: Readonly<Record<DatePart, number>> = { year: -20, month: -17, day: -14 }

/** Where the parts of a date end, which begins with four digits. */
export const DATE_ENDS: Readonly<Record<DatePart, number>> = { year: 4, month: 7, day: 10 }

/** Prints an instant as it stands in a group, whole or its part; null for an invalid one. */
export function printGroupDate(time: number, part?: DatePart): string | null {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return null
  const text = date.toISOString()
  return part ? text.slice(0, INSTANT_ENDS[part]) : text
}

/** The error of a sum that no number can be. @param name of the sum. */
export function tooGreat(name: string, field?: string): HttpError {
  const message = `${name} is greater than any number. Use filters, or leave it out.`
  return new HttpError(400, [{ message, ...(field !== undefined && { field }), type: 'too_big' }])
}
