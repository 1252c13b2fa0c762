// The indexes of a table: their names, and the columns or expressions in them.
import { createHash } from 'node:crypto'
import { findField } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import { hasOneType } from '../schema/scalars.ts'
import { indexesOf } from '../store/shapes.ts'
import type { Shape } from '../store/store.ts'
import type { SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { ColumnExpression } from './table-mapping.ts'

/** Sets of fields that no two items may share, and sets that lists filter and sort by. */
export type IndexKind = 'unique' | 'by'

export class Indexes {
  readonly #table: string
  readonly #shape: Shape
  readonly #database: SqlDatabase
  readonly #find: (path: string) => ColumnExpression | undefined

  /** @param find finds the expression of the value at a dotted path. */
  constructor(
    table: string,
    shape: Shape,
    database: SqlDatabase,
    find: (path: string) => ColumnExpression | undefined,
  ) {
    this.#table = table
    this.#shape = shape
    this.#database = database
    this.#find = find
  }

  /** The sets of dotted paths to index. */
  sets(kind: IndexKind): readonly (readonly string[])[] {
    if (kind === 'unique') return this.#shape.unique
    return indexesOf(this.#shape).filter(set =>
      set.every(path => {
        const each = findField(this.#shape.fields, toPath(path))?.kind
        return hasOneType(each) || each === 'union' || each === 'any'
      }),
    )
  }

  name(set: readonly string[], kind: IndexKind): string {
    return this.#shorten(`${this.#table}_${kind}_${set.join('_')}`)
  }

  /** The parts of an index, as its statement lists them. An index that is not unique ends with the id. */
  parts(set: readonly string[], kind: IndexKind): Fragment[] {
    const id = this.#shape.identity.name
    const paths = kind === 'unique' || set.includes(id) ? set : [...set, id]
    return paths.map(path => {
      const found = this.#find(path)
      if (!found) throw new TypeError(`${this.#shape.name} has no field "${path}" to index`)
      if (found.order.values.length > 0) {
        throw new TypeError(
          `${this.#shape.name}: no index can be on "${path}", an entry of a record`,
        )
      }
      const { column, mixed, order, value, maybe, native, equal } = found
      // Compared as the column stands, save date-times: these are compared as instants.
      const plain = kind === 'unique' || native || equal ? column : undefined
      if (kind === 'unique') return plain ?? sql`(${mixed ? order : value})`
      return this.#database.orderBy(plain ?? sql`(${order})`, false, maybe)
    })
  }

  /** Finds the dotted paths of an index by its name; none for a foreign one. */
  findPaths(name: string | undefined): readonly string[] {
    for (const kind of ['unique', 'by'] as const) {
      const found = this.sets(kind).find(set => this.name(set, kind) === name)
      if (found) return found
    }
    return name === `${this.#table}_pkey` ? [this.#shape.identity.name] : []
  }

  /** A database cuts names that are too long, and two cut names may be the same. */
  #shorten(name: string): string {
    const { longestName } = this.#database
    if (Buffer.byteLength(name) <= longestName) return name
    const cut = Buffer.from(name)
      .subarray(0, longestName - 9)
      .toString()
      .replace(/\uFFFD+$/, '')
    return `${cut}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
  }
}
