// What a database puts into columns by itself: their defaults, and the values that it generates.

import type { Shape } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { isTrue, type Row } from '../session/runner.ts'
import type { Column, Filled, Preset } from './columns.ts'

/** A number, a text with the casts of a type, or a boolean: not what each evaluation may make anew. */
const CONSTANT =
  /^\(?(?:[+-]?[\d.]+|'(?:[^']|'')*'|true|false)\)?(?:::(?:"[^"]+"|[\w\s.[\]])+(?:\([\d,]+\))?)*$/i
const NULL = /^null(?:::|$)/i

/** Finds what the database does for a column, by its row of the catalog. */
export function findFilled(column: Column, row: Row, shape: Shape): Filled {
  const { field, name } = column
  const notNull = isTrue(row.is_not_null)
  const unwritable = !isTrue(row.is_writable)
  // The store makes the ids. What clients send to a view is never left out without a word.
  const isLeftOut = isTrue(row.is_generated) || (unwritable && !isSent(column, shape))
  const generated = isLeftOut && name !== shape.identity.name
  const preset = generated || !field.optional ? undefined : findPreset(column, row)
  // The store sets the dates of its writes, and other programs leave them out.
  const isDate = name === shape.createdAt || name === shape.updatedAt
  const mayLack = isDate && !notNull
  return {
    field: mayLack ? { ...field, nullable: true } : field,
    generated,
    notNull,
    unwritable,
    preset,
    nullsLast: isTrue(row.has_nulls_last),
    untyped: row.type === '' || String(row.type).includes('BLOB'),
    makesTime: isTrue(row.makes_time),
  }
}

function findPreset({ field, ref }: Column, row: Row): Preset | undefined {
  const text = String(row.preset ?? 'null')
  if (field.default !== undefined || NULL.test(text)) return undefined
  const created = sql`(${sql.raw(text)})`
  const constant = CONSTANT.test(text) ? created : ref
  return {
    cast: sql.raw(row.bare_type === undefined ? '' : `::${row.bare_type}`),
    created,
    changed: isTrue(row.is_not_null) ? constant : undefined,
  }
}

/** Whether clients may send values of a column. */
export function isSent({ name, field }: Column, { readOnly }: Shape): boolean {
  return !field.serverOwned && !readOnly?.includes(name)
}

/** Whether a write of a column may store another value than it names. */
export function isLeftToDatabase(
  { generated, preset }: Column,
  by: 'created' | 'changed',
): boolean {
  return generated === true || preset?.[by] !== undefined
}

/** Builds the value that a write stores in a column. @param value as it is bound. */
export function fillIn({ preset }: Column, value: Fragment, by: 'created' | 'changed'): Fragment {
  const instead = preset?.[by]
  return preset && instead ? sql`coalesce(${value}${preset.cast}, ${instead})` : value
}
