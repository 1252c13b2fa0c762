// The forms of values in SQLite that no type of a column tells: times as numbers, booleans as words.

import { parseInstant } from '../../base/dates.ts'
import type { NativeType, SqlDatabase, ValueForm } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

/** @param unit in milliseconds. */
function unix(unit: number): ValueForm {
  const seconds = sql.lit(1000 / unit)
  const print = (column: Fragment) =>
    sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / ${seconds}.0, 'unixepoch')`
  const native: NativeType = {
    kind: 'date-time',
    toColumnText: text => (Number.isNaN(parseInstant(text)) ? undefined : text),
    encode: value => Math.floor(parseInstant(String(value)) / unit),
    read: column => column,
    parse(value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return undefined
      const time = new Date(Math.round(Number(value) * unit))
      return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
    },
    bind: text => sql`${parseInstant(text) / unit}`,
    text: print,
    instant: {
      read: print,
      write: instant =>
        sql`cast(round((julianday(${instant}) - 2440587.5) * 86400000) / ${sql.lit(unit)} as integer)`,
    },
    toUtc: column => sql`cast(${column} * ${sql.lit(unit)} as integer)`,
  }
  return { made: 'INTEGER', native: () => native }
}

/** @param no sorts first. */
function words(no: string, yes: string): ValueForm {
  const native: NativeType = {
    kind: 'boolean',
    toColumnText: text => text,
    encode: value => (value === true ? yes : no),
    read: column => column,
    parse: value => (value === yes ? true : value === no ? false : undefined),
    bind: text => sql`${text === 'true' ? yes : no}`,
    text: column => column,
  }
  return { made: 'TEXT', native: () => native }
}

export const FORMS: SqlDatabase['forms'] = {
  'unix seconds': unix(1000),
  'unix milliseconds': unix(1),
  't/f': words('f', 't'),
  'true/false': words('false', 'true'),
  'Y/N': words('N', 'Y'),
  'yes/no': words('no', 'yes'),
}
