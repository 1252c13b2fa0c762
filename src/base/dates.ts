// Dates and date-times as texts (ISO 8601, RFC 3339), and the instants that they name.

/**
 * Parses a date-time (RFC 3339) to milliseconds since 1970, `NaN` where it is invalid. Without an offset
 * it is UTC; digits below a millisecond are cut.
 */
export function parseInstant(text: string): number {
  if (text === last.text) return last.time
  // A date alone is UTC by ECMA-262; with a `Z` behind it V8 reads a year below 100 as 19xx.
  const isZoned = text.endsWith('Z') || DATE.test(text) || /(?:z|[+-]\d\d:?\d\d)$/i.test(text)
  last = { text, time: Date.parse(isZoned ? text : `${text}Z`) }
  return last.time
}

/** Many items are created in one millisecond, and have one date. */
let last = { text: '', time: Number.NaN }

/** The last instant that a date-time in UTC can print. */
export const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')
const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00.000Z')

/** Prints an instant as a date-time in UTC with milliseconds, within the years 0000 to 9999. */
export function printInstant(time: number): string {
  return new Date(Math.min(Math.max(time, FIRST_INSTANT), LAST_INSTANT)).toISOString()
}

/** Prints a date-time in UTC, with its digits below a millisecond where they are not zero. */
export function toUtc(text: string): string {
  const printed = printInstant(parseInstant(text))
  const [, finer] = /[.]\d{3}(\d*[1-9])/.exec(text) ?? []
  return finer === undefined ? printed : `${printed.slice(0, -1)}${finer}Z`
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/

/** Whether a text is a day of the calendar, ISO 8601 short form; `2024-02-30` is not. */
export function isDate(text: string): boolean {
  const parts = DATE.exec(text)
  if (!parts) return false
  // `Date.UTC` takes years below 100 as those of 19xx; the calendar repeats every 400 years.
  const day = new Date(Date.UTC(2000 + Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])))
  return day.getUTCDate() === Number(parts[3]) && day.getUTCMonth() === Number(parts[2]) - 1
}

/** Whether a text is a date and time, ISO 8601 full form, with or without an offset. */
export function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text)
  return parts?.[1] !== undefined && isDate(parts[1])
}
