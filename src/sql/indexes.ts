// What stands in the indexes of a table: columns, expressions, or columns made for them.
import { createHash } from 'node:crypto'
import { findField, type Kind } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import { hasOneType } from '../schema/scalars.ts'
import { indexesOf } from '../store/shapes.ts'
import type { Shape } from '../store/store.ts'
import type { ColumnType, SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

/** Of sets that no two items may share, and of those that lists filter and sort by: upwards, and down to the id. */
export type IndexKind = 'unique' | 'by' | 'down'

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

/** A column for what stands in an index and has none of its own. */
export interface Generated {
  readonly name: string
  readonly path: string
  readonly type: ColumnType
  readonly value: Fragment
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
  /** Empty where the database indexes expressions. */
  readonly generated: readonly Generated[]

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
    this.generated = dialect.generates ? [...this.#generate('unique'), ...this.#generate('by')] : []
  }

  /** The sets of dotted paths to index. */
  sets(kind: IndexKind): readonly (readonly string[])[] {
    if (kind === 'unique') return this.#shape.unique
    if (kind === 'down') {
      return this.#dialect.sortsEquals
        ? []
        : this.sets('by').filter(set => !set.includes(this.#shape.identity.name))
    }
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
      const down = kind === 'down' && path !== this.#shape.identity.name
      const { value, column, maybe } = this.#part(path, kind)
      const part = this.column(path, kind) ?? column ?? sql`(${value})`
      return kind === 'unique' ? part : this.#dialect.orderBy(part, down, maybe)
    })
  }

  /** The column made for the value at a path. */
  column(path: string, kind: IndexKind): Fragment | undefined {
    if (this.generated.length === 0) return undefined
    const name = this.#columnName(path, kind)
    return this.generated.some(each => each.name === name) ? sql.id(name) : undefined
  }

  /** How many characters of the text at a path are kept at most; `undefined` for any number. */
  longest(path: string): number | undefined {
    const { identity } = this.#shape
    const sets = [
      [identity.name],
      ...this.#shape.unique,
      ...this.sets('by').map(set => this.#paths(set, 'by')),
    ]
    const lengths = sets.filter(set => set.includes(path)).map(set => set.length)
    return lengths.length === 0 ? undefined : this.#dialect.keys?.longest(Math.max(...lengths))
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
    return { value, column: plain ? column : undefined, maybe, kind: place.kind }
  }

  #generate(kind: IndexKind): Generated[] {
    const paths = new Set(this.sets(kind).flatMap(set => this.#paths(set, kind)))
    return [...paths].flatMap(path => {
      const { value, column, kind: of } = this.#part(path, kind)
      if (column) return []
      // Numbers inside JSON are numbers of one type; instants are milliseconds.
      const plain = of === 'integer' ? 'real' : (COLUMN_TYPES[of] ?? 'text')
      const type = kind === 'by' && of === 'date-time' ? 'integer' : plain
      return [{ name: this.#columnName(path, kind), path, type, value }]
    })
  }

  #columnName(path: string, kind: IndexKind): string {
    return this.#cut(`rest_${kind === 'down' ? 'by' : kind}_${path}`)
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
