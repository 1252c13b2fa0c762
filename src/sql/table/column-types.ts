// The types that `columns` may ask for in a new table, instead of those that the store would choose.

import type { Rule } from '../../options.ts'
import { DATABASES } from '../databases/databases.ts'

/** A type of PostgreSQL for a new column, or the form of the values of any column that its type does not tell. */
export type NewColumnType =
  | 'jsonb'
  | 'timestamp utc'
  | 'datetime utc'
  | 'unix seconds'
  | 'unix milliseconds'
  | 't/f'
  | 'true/false'
  | 'Y/N'
  | 'yes/no'
  | 'timestamptz'
  | `timestamptz(${number})`
  | `numeric(${number})`
  | `numeric(${number},${number})`

const TIMESTAMPTZ = /^timestamptz(?:\([0-6]\))?$/
const NUMERIC = /^numeric\((\d+)(?:,(\d+))?\)$/
/** What a client's numbers hold exactly. */
const MAX_DIGITS = 15

const FORMS = [...new Set(Object.values(DATABASES).flatMap(({ forms }) => Object.keys(forms)))]

/** Whether a type is the form of values in some database. */
export function isForm(type: string): boolean {
  return FORMS.includes(type)
}

/** What is no name of a column, though it may be no type that a column can have. */
const TYPE_LIKE = /^(?:jsonb|timestamptz|numeric|decimal|\w+ ?\([\d, ]*\))$/i

export const NEW_COLUMN_TYPE: Rule = {
  wanted: `"jsonb", "timestamptz(3)", a numeric of at most ${MAX_DIGITS} digits, such as "numeric(12,2)", or the form of values that exist: ${FORMS.map(each => `"${each}"`).join(', ')}`,
  fits(value) {
    if (value === 'jsonb' || isForm(String(value))) return true
    if (TIMESTAMPTZ.test(String(value))) return true
    const [, precision = 0, scale = 0] = NUMERIC.exec(String(value)) ?? []
    const digits = Number(precision)
    return digits >= 1 && digits <= MAX_DIGITS && Number(scale) <= digits
  },
}

/** Reads what `columns` says of a field: a text is its type if it reads as one, otherwise its name. */
export function readDeclared(declared: string | object): object {
  if (typeof declared !== 'string') return declared
  return TYPE_LIKE.test(declared) ? { type: declared } : { name: declared }
}
