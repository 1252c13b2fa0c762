// What stands in the indexes of a table: columns, expressions, or columns made for them.
import { createHash } from 'node:crypto'
import { findField, type Kind } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import { hasOneType } from '../schema/scalars.ts'
import { indexesOf } from '../store/shapes.ts'
import type { Shape } from '../store/store.ts'
import type { ColumnType, SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

/** Of sets that no two items may share, and of those that lists filter and sort by. */
export type IndexKind = 'unique' | 'by'

/** What an index has to know of a value's place. */
export interface Indexed {
  readonly kind: Kind
  readonly maybe: boolean
  /** Its column, where it has one of its own and is compared as it stands there. */
  readonly column?: Fragment | undefined
  readonly value: Fragment
  /** As it is compared and sorted. */
  readonly order: Fragment
  /** Where the value may be of more than one type. */
  readonly mixed?: unknown
}

export const COLUMN_TYPES: Partial<Record<Kind, ColumnType>> = {
  string: 'text',
  date: 'text',
  'date-time': 'text',
  integer: 'integer',
  number: 'real',
  boolean: 'boolean',
}

export class Indexes {
  readonly #table: string
  readonly #shape: Shape
  readonly #dialect: SqlDatabase
  readonly #place: (path: string) => Indexed | undefined

  /** @param place where the value at a dotted path lies. */
  constructor(
    table: string,
    shape: Shape,
    dialect: SqlDatabase,
    place: (path: string) => Indexed | undefined,
  ) {
    this.#table = table
    this.#shape = shape
    this.#dialect = dialect
    this.#place = place
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
    return this.#cut(`${this.#table}_${kind}_${set.join('_')}`)
  }

  /** What stands in an index, as its statement lists it. */
  parts(set: readonly string[], kind: IndexKind): Fragment[] {
    return this.#paths(set, kind).map(path => {
      const { value, column, maybe } = this.#part(path, kind)
      const part = column ?? sql`(${value})`
      return kind === 'unique' ? part : this.#dialect.orderBy(part, false, maybe)
    })
  }

  /** The dotted paths of an index, by its name; none for somebody else's. */
  pathsOf(name: string | undefined): readonly string[] {
    const kinds = ['unique', 'by'] as const
    for (const kind of kinds) {
      const found = this.sets(kind).find(set => this.name(set, kind) === name)
      if (found) return found
    }
    return name === `${this.#table}_pkey` ? [this.#shape.identity.name] : []
  }

  /** The id stands at the end of what need not be unique. */
  #paths(set: readonly string[], kind: IndexKind): readonly string[] {
    const { name } = this.#shape.identity
    return kind === 'unique' || set.includes(name) ? set : [...set, name]
  }

  /** What an index holds of the value at a path; its column, where that is a column. */
  #part(path: string, kind: IndexKind) {
    const place = this.#place(path)
    if (!place) throw new TypeError(`${this.#shape.name} has no field "${path}" to index`)
    const { column, mixed, order, maybe } = place
    const value = kind === 'unique' && !mixed ? place.value : order
    const plain = column && (kind === 'unique' || order === place.value || order === column)
    return { value, column: plain ? column : undefined, maybe }
  }

  #cut(name: string): string {
    const { longestName = Number.POSITIVE_INFINITY } = this.#dialect
    if (Buffer.byteLength(name) <= longestName) return name
    // A database cuts longer ones, and two that are cut may be the same.
    const cut = Buffer.from(name)
      .subarray(0, longestName - 9)
      .toString()
      .replace(/\uFFFD+$/, '')
    return `${cut}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
  }
}
