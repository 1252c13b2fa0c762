// The types that `columns` may ask for in a new table, instead of those that the store would choose.

import type { Rule } from '../../options.ts'

/** A type of PostgreSQL for a new column. */
export type NewColumnType =
  | 'jsonb'
  | 'timestamptz'
  | `timestamptz(${number})`
  | `numeric(${number})`
  | `numeric(${number},${number})`

const TIMESTAMPTZ = /^timestamptz(?:\([0-6]\))?$/
const NUMERIC = /^numeric\((\d+)(?:,(\d+))?\)$/
/** What a client's numbers hold exactly. */
const MAX_DIGITS = 15

/** What is no name of a column, though it may be no type that a column can have. */
const TYPE_LIKE = /^(?:jsonb|timestamptz|numeric|decimal|\w+ ?\([\d, ]*\))$/i

export const NEW_COLUMN_TYPE: Rule = {
  wanted: `"jsonb", "timestamptz(3)", or a numeric of at most ${MAX_DIGITS} digits, such as "numeric(12,2)"`,
  fits(value) {
    if (value === 'jsonb') return true
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
