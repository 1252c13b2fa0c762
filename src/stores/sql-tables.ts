// The tables of a SQL store: the collection's own, and two small ones that all stores of a database share.
import { type Kysely, sql } from 'kysely'
import { fieldAt, toPath } from '../fields.ts'
import { indexable } from './memory-index.ts'
import { indexesOf } from './shapes.ts'
import type { Fragment } from './sql-dialect.ts'
import type { Layout } from './sql-layout.ts'

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'

/** Statements that make what is not there yet, in their order. Every one may be run again. */
export function tableStatements(layout: Layout): Fragment[] {
  const { dialect, shape } = layout
  const { text, integer } = dialect.types
  const columns = layout.columns.map(({ name, column, field, type }) => {
    const required = !field.nullable && !field.optional
    const constraint = name === shape.identity.name ? ' primary key not null' : required ? ' not null' : ''
    return sql`${sql.ref(column)} ${sql.raw(dialect.types[type] + constraint)}`
  })
  if (layout.versionColumn !== undefined) {
    columns.push(sql`${sql.ref(layout.versionColumn)} ${sql.raw(text)} not null`)
  }
  return [
    sql`create table if not exists ${layout.from} (${sql.join(columns)})`,
    ...shape.unique.map(set => indexStatement(layout, set, 'unique')),
    ...indexesOf(shape)
      .filter(set => set.every(path => isOrdered(layout, path)))
      .map(set => indexStatement(layout, set, 'by')),
    sql`create table if not exists ${sql.table(SEQUENCES)} (${sql.ref('name')} ${sql.raw(text)} primary key not null, ${sql.ref('last_id')} ${sql.raw(text)} not null)`,
    sql`create table if not exists ${sql.table(IDEMPOTENCY)} (${sql.ref('name')} ${sql.raw(text)} not null, ${sql.ref('key')} ${sql.raw(text)} not null, ${sql.ref('fingerprint')} ${sql.raw(text)} not null, ${sql.ref('answer')} ${sql.raw(text)}, ${sql.ref('expires_at')} ${sql.raw(integer)} not null, primary key (${sql.ref('name')}, ${sql.ref('key')}))`,
    sql`create index if not exists ${sql.ref(`${IDEMPOTENCY}_by_expires_at`)} on ${sql.table(IDEMPOTENCY)} (${sql.ref('expires_at')})`,
  ]
}

function isOrdered({ shape }: Layout, path: string): boolean {
  const field = fieldAt(shape.fields, toPath(path))
  return indexable(field) || field?.kind === 'union' || field?.kind === 'any'
}

/** An index of `set` and then the id, or one that keeps the set unique. */
function indexStatement(layout: Layout, set: readonly string[], kind: 'unique' | 'by'): Fragment {
  const { identity } = layout.shape
  const paths = kind === 'unique' || set.includes(identity.name) ? set : [...set, identity.name]
  const parts = paths.map(path => {
    const place = layout.at(toPath(path))
    if (!place) throw new TypeError(`${layout.shape.name} has no field "${path}" to index`)
    const part = kind === 'unique' ? place.value : place.order
    return place.json || part !== place.value ? sql`(${part})` : part
  })
  const what = sql.raw(kind === 'unique' ? 'unique index' : 'index')
  const name = sql.ref(layout.indexName(set, kind))
  return sql`create ${what} if not exists ${name} on ${layout.from} (${sql.join(parts)})`
}

/** Makes what is not there yet. */
export async function createTables(layout: Layout, db: Kysely<unknown>): Promise<void> {
  for (const statement of tableStatements(layout)) await statement.execute(db)
}
