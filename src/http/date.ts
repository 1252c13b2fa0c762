// HTTP dates (RFC 9110 §5.6.7).

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const IMF_FIXDATE = /^(\w{3}), (\d{2}) (\w{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/
const RFC850_DATE = /^(\w{6,9}), (\d{2})-(\w{3})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/
const ASCTIME_DATE = /^(\w{3}) (\w{3}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/

/** The texts of up to 1,000 seconds: printing one costs as much as finding the route. */
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
  const fixed = IMF_FIXDATE.exec(text)
  if (fixed) return httpDate(fixed.slice(5, 8), Number(fixed[4]), fixed[1], fixed[3], fixed[2])
  const rfc850 = RFC850_DATE.exec(text)
  if (rfc850) {
    return httpDate(rfc850.slice(5, 8), century(Number(rfc850[4])), rfc850[1], rfc850[3], rfc850[2])
  }
  const asctime = ASCTIME_DATE.exec(text)
  if (!asctime) return undefined
  return httpDate(asctime.slice(4, 7), Number(asctime[7]), asctime[1], asctime[2], asctime[3])
}

/** "More than 50 years in the future" means the past century. */
function century(year: number): number {
  const now = new Date().getUTCFullYear()
  const full = now - (now % 100) + year
  return full > now + 50 ? full - 100 : full
}

function httpDate(
  [hour, minute, second]: string[],
  year: number,
  weekday = '',
  month = '',
  day = '',
): number | undefined {
  const monthIndex = MONTHS.indexOf(month)
  if (!DAYS.includes(weekday.slice(0, 3)) || monthIndex === -1) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  // Only the day is compared: second 60, a leap second, belongs to the next one.
  if (new Date(Date.UTC(year, monthIndex, Number(day))).getUTCDate() !== Number(day)) {
    return undefined
  }
  return Date.UTC(year, monthIndex, Number(day), Number(hour), Number(minute), Number(second))
}
