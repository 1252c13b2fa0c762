// The key of a link table: its id is two columns together. Conditions name both columns, so that their index is used.

import { parseRelationId } from '../../store/relation-ids.ts'
import type { Id, Shape } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { toColumnValue } from './column-values.ts'
import type { Column } from './columns.ts'

/** Builds the id as a computed column, in the form of `printRelationId`. */
export function buildRelationId(
  { identity }: Shape,
  parts: readonly Column[],
  onUnreadable: Column['onUnreadable'],
): Column {
  const texts = parts.map(({ ref, type, native }) => {
    const text = sql`cast(${ref} as text)`
    return type === 'text' && !native
      ? sql`replace(replace(${text}, '%', '%25'), '~', '%7E')`
      : text
  })
  const ref = sql`(${sql.join(texts, " || '~' || ")})`
  const field = { kind: 'string', nullable: false, optional: false, serverOwned: true } as const
  return {
    ...{ name: identity.name, field, column: identity.name, type: 'text', made: 'text' },
    ...{ ref, readable: ref, read: `rest_${identity.name}`, long: false, takesAny: false },
    ...{ generated: true, onUnreadable, tellsNull: false },
  }
}

/** Builds the condition of rows with these ids, each bound as {@link encodeRelationId} encodes it. */
export function matchRelation(
  parts: readonly Column[],
  operator: '=' | 'in',
  size: number,
  { serves }: SqlDatabase,
): Fragment {
  const given = sql.raw('rest_given.column1')
  const values = parts.map(({ type, native, made }, at) => {
    if (!serves) return sql`json_extract(${given}, ${sql.lit(`$[${at}]`)})`
    const as = type === 'integer' ? 'bigint' : native ? made : 'text'
    return sql`(${given}::json ->> ${sql.lit(at)})::${sql.raw(as)}`
  })
  const rows = sql.join(Array.from({ length: size }, () => sql`(${PLACEHOLDER})`))
  return sql`(${sql.join(parts.map(({ ref }) => ref))}) ${sql.raw(operator)} (select ${sql.join(values)} from (values ${rows}) as rest_given)`
}

/** Encodes an id as JSON of its values; null for one that the columns cannot hold. */
export function encodeRelationId(
  id: Id,
  names: readonly string[],
  parts: readonly Column[],
  { fields }: Shape,
): string | null {
  const text = String(id)
  const values = parseRelationId(names, text, fields)
  if (!values || text.includes('\0') || !text.isWellFormed()) return null
  const held = parts.map((column, at) => toColumnValue(values[at] ?? null, column))
  return held.includes(undefined) ? null : JSON.stringify(held)
}
