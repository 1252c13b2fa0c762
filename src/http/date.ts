// HTTP dates (RFC 9110 §5.6.7).

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** IMF-fixdate, and the obsolete forms of RFC 850 and asctime. */
const FORMS = [
  /^(?<weekday>\w{3}), (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) GMT$/,
  /^(?<weekday>\w{6,9}), (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) GMT$/,
  /^(?<weekday>\w{3}) (?<month>\w{3}) (?<day>[ \d]\d) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) (?<year>\d{4})$/,
]

/** The texts of up to 1,000 seconds: printing one is dear (docs/decisions/kept-results.md). */
const dates = new Map<number, string>()

/** Prints an HTTP date from milliseconds since 1970, floored to the second. */
export function printHttpDate(time: number): string {
  const second = Math.floor(time / 1000)
  const known = dates.get(second)
  if (known !== undefined) return known
  const text = new Date(second * 1000).toUTCString()
  if (dates.size >= 1000) dates.clear()
  dates.set(second, text)
  return text
}

/**
 * Parses an HTTP date in any of its three forms to milliseconds since 1970; `undefined` for another
 * form or a day that does not exist. Whether the weekday is the right one is not checked.
 */
export function parseHttpDate(text: string): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return toTime(parts)
  }
  return undefined
}

function toTime(parts: Readonly<Record<string, string | undefined>>): number | undefined {
  const { weekday = '', month = '', year = '' } = parts
  const [day = 0, hour = 0, minute = 0, second = 0] = [
    parts.day,
    parts.hour,
    parts.minute,
    parts.second,
  ].map(Number)
  const monthIndex = MONTHS.indexOf(month)
  if (!DAYS.includes(weekday.slice(0, 3)) || monthIndex === -1) return undefined
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const fullYear = year.length === 2 ? century(Number(year)) : Number(year)
  // Only the day is compared: second 60, a leap second, belongs to the next one.
  if (new Date(Date.UTC(fullYear, monthIndex, day)).getUTCDate() !== day) return undefined
  return Date.UTC(fullYear, monthIndex, day, hour, minute, second)
}

/** "More than 50 years in the future" means the past century. */
function century(year: number): number {
  const now = new Date().getUTCFullYear()
  const full = now - (now % 100) + year
  return full > now + 50 ? full - 100 : full
}
