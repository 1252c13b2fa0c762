// The indexes of a table: their names, and the columns or expressions in them.
import type { ValueFilter } from '../../store/filter.ts'
import { listIdFields } from '../../store/relation-ids.ts'
import { indexesOf, uniquesOf } from '../../store/shapes.ts'
import type { Shape } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, shorten, sql } from '../databases/sql-text.ts'
import type { ColumnExpression } from './column-expression.ts'

export interface TableIndex {
  readonly unique: boolean
  readonly name: string
  /** The dotted paths that the collection declares. */
  readonly fields: readonly string[]
  /** The dotted paths in the index: one that is not unique ends with the id. */
  readonly paths: readonly string[]
  /** The parts of the index, as its statement lists them. */
  readonly parts: readonly Fragment[]
  /** The condition of a partial index. */
  readonly where?: Fragment
}

/**
 * Builds the unique sets of a shape, then the sets that lists filter and sort by.
 * @param build.express builds the expression of the value at a dotted path, and `where` the conditions of a partial set.
 * @throws TypeError for a path that no index can be on.
 */
export function buildIndexes(
  table: string,
  shape: Shape,
  { longestName, orderBy }: SqlDatabase,
  build: {
    express(path: string): ColumnExpression
    where(where: readonly ValueFilter[]): Fragment
  },
): TableIndex[] {
  const { parts: key } = shape.identity
  const ids = listIdFields(shape.identity)
  // The key of a relation is an index already.
  const isNew = (set: readonly string[]) => !key || set.join() !== key.join()
  const wanted = uniquesOf(shape).filter(({ fields, where }) => where.length > 0 || isNew(fields))
  const unique = wanted.map(({ fields, where }) => ({
    unique: true,
    name: shorten(
      `${table}_unique_${[...fields, ...where.map(nameFilter)].join('_')}`,
      longestName,
    ),
    fields,
    paths: fields,
    parts: fields.map(path => {
      const { column, value } = build.express(path)
      return column ?? sql`(${value})`
    }),
    ...(where.length > 0 && { where: build.where(where) }),
  }))
  const sets = indexesOf(shape).filter(fields => isNew([...new Set([...fields, ...ids])]))
  const by = sets.map(fields => {
    const paths = [...new Set([...fields, ...ids])]
    const parts = paths.map(path => {
      const { column, order, nullable, native, equal, alike } = build.express(path)
      // The column itself, unless it is compared as an expression, such as a date-time as an instant.
      const plain = native || equal || alike ? column : undefined
      return orderBy(plain ?? sql`(${order})`, false, nullable)
    })
    return {
      unique: false,
      name: shorten(`${table}_by_${fields.join('_')}`, longestName),
      fields,
      paths,
      parts,
    }
  })
  return [...unique, ...by]
}

/** Names a condition in the name of its index. */
function nameFilter({ path, operator, values: [value] }: ValueFilter): string {
  if (operator !== 'exists') return `${path.join('_')}_is_${value}`
  return value === true ? `with_${path.join('_')}` : `without_${path.join('_')}`
}
