// Where a collection's items lie in a table: a column for each top-level field, JSON text for what
// is no scalar.
import { createHash } from 'node:crypto'
import { FILLED_TEXT, OBJECT, type Rules } from '../options.ts'
import { type Field, findField, type Kind } from '../schema/fields.ts'
import { type Path, toPath } from '../schema/paths.ts'
import type { Item } from '../schema/values.ts'
import type { Id, Shape, Stored } from '../store/store.ts'
import {
  buildColumn,
  type Column,
  type ColumnOptions,
  type Declared,
  decodeValue,
  encodeValue,
  holdsText,
} from './columns.ts'
import type { JsonPath, Mixed, SqlDatabase } from './database.ts'
import { Indexes } from './indexes.ts'
import { type Fragment, sql } from './sql-text.ts'
import { toColumnText } from './types.ts'

export interface TableMappingOptions {
  /** Default the collection's name. */
  readonly table?: string | undefined
  /** By field name: the column's name, or more of it. */
  readonly columns?: Readonly<Record<string, string | ColumnOptions>> | undefined
  /** The column of the version; false where the table has none. Default `version`. */
  readonly version?: string | false | undefined
}

export const TABLE_MAPPING_RULES: Rules<TableMappingOptions> = {
  table: FILLED_TEXT,
  columns: OBJECT,
  version: {
    wanted: 'the name of a column, or false',
    fits: value => value === false || FILLED_TEXT.fits(value),
  },
}

/** A value of an item in SQL. */
export interface Place {
  readonly kind: Kind
  /** Whether it may be null or absent. */
  readonly maybe: boolean
  /** Its column, where it has one of its own and is compared as it stands there. */
  readonly column?: Fragment | undefined
  /** As it is stored. */
  readonly value: Fragment
  /** As it is compared and sorted: date-times as milliseconds, save the store's own. */
  readonly order: Fragment
  /** Whether a date-time is compared as the text of `toISOString()`. */
  readonly canonical: boolean
  /** As it is compared for being equal, where an index serves that of which the order is another. */
  readonly equal?: Fragment
  readonly declared?: Declared
  /** Where the value may be of more than one type. */
  readonly mixed?: Mixed
  /** Inside of which column it lies, if that is JSON. */
  readonly json?: { readonly column: Fragment; readonly path: JsonPath }
}

export class TableMapping {
  readonly shape: Shape
  readonly dialect: SqlDatabase
  readonly table: string
  readonly columns: readonly Column[]
  readonly id: Column
  readonly versionColumn: string | undefined
  /** The table's name, quoted. */
  readonly from: Fragment
  /** Every column to read, the version last. */
  readonly all: Fragment
  readonly indexes: Indexes
  readonly #byName: ReadonlyMap<string, Column>
  readonly #owner: Fragment

  /** @throws TypeError for fields that a table cannot hold, and for columns that there cannot be. */
  constructor(shape: Shape, dialect: SqlDatabase, options: TableMappingOptions = {}) {
    const { table = shape.name, columns = {}, version = 'version' } = options
    if (shape.open) {
      throw new TypeError(
        `${shape.name}: its schema takes properties that it does not name, and a table has no column for them; say z.object() or z.strictObject(), and give the others a property of their own, such as extra: z.record(z.string(), z.json())`,
      )
    }
    this.shape = shape
    this.dialect = dialect
    this.table = table
    this.versionColumn = version === false ? undefined : version
    for (const name of Object.keys(columns)) {
      if (!shape.fields.has(name)) throw new TypeError(`${shape.name} has no field "${name}"`)
    }
    this.columns = [...shape.fields].map(([name, given], at) => {
      const field = ownField(name, shape) ?? given
      return buildColumn(name, field, columns[name], at, shape.name, dialect)
    })
    this.#byName = new Map(this.columns.map(column => [column.name, column]))
    const id = this.#byName.get(shape.identity.name)
    if (!id) throw new TypeError(`${shape.name} has no field "${shape.identity.name}" for its ids`)
    this.id = id
    this.from = sql.table(table)
    this.#owner = sql`${this.from}.`
    const all = this.columns.map(({ column, readable, read }) =>
      read === column ? readable : sql`${readable} as ${sql.id(read)}`,
    )
    if (version !== false) all.push(sql.id(version))
    this.all = sql.join(all)
    this.indexes = new Indexes(table, shape, dialect, path => this.#expressed(toPath(path)))
    // SQL does not tell `Name` from `name`.
    const seen = new Set<string>()
    for (const each of [...this.columns.map(({ column }) => column), version]) {
      if (each === false) continue
      if (seen.has(each.toLowerCase())) {
        throw new TypeError(
          `${table} would have the column "${each}" twice; name one in the options`,
        )
      }
      seen.add(each.toLowerCase())
      if (Buffer.byteLength(each) > (dialect.longestName ?? each.length * 4)) {
        throw new TypeError(
          `${table}: the name of the column "${each}" is too long for the database`,
        )
      }
    }
  }

  /** The columns that an update writes: not the id, nor the creation date. */
  get changing(): readonly Column[] {
    const { identity, createdAt } = this.shape
    return this.columns.filter(({ name }) => name !== identity.name && name !== createdAt)
  }

  /** Where the value at a path lies; `undefined` where no field is there. */
  at(path: Path): Place | undefined {
    return this.#expressed(path, this.#owner)
  }

  /** @param owner stands before the name of a JSON column: the functions that take it apart have columns of their own. */
  #expressed(path: Path, owner = sql``): Place | undefined {
    const [name = '', ...inner] = path
    const column = this.#byName.get(name)
    const field = inner.length === 0 ? column?.field : findField(this.shape.fields, path)
    if (!column || !field) return undefined
    const { dialect } = this
    const { ref, cast } = column
    const { kind } = field
    if (column.type !== 'json') {
      const maybe = field.nullable || field.optional
      const own = name === this.shape.createdAt || name === this.shape.updatedAt
      const { declared } = column
      if (declared) {
        const value = declared.own.text(ref)
        return { kind, maybe, column: ref, value, order: ref, canonical: false, declared }
      }
      const value = column.type === 'text' ? dialect.text(ref) : ref
      if (kind === 'date-time' && !own) {
        return { kind, maybe, column: ref, value, order: dialect.instant(ref), canonical: false }
      }
      const equal = dialect.equalsAnyhow ? ref : value
      const plain = cast ? undefined : ref
      return { kind, maybe, column: plain, value, order: value, equal, canonical: own }
    }
    const maybe = path.some((_, at) => isMaybe(this.shape.fields, path.slice(0, at + 1)))
    const declared = path.every((_, at) => !isEntry(this.shape.fields, path.slice(0, at + 1)))
    const whole = sql`${owner}${ref}`
    const json = { column: whole, path: { names: inner, declared } }
    if (kind === 'any' || kind === 'union') {
      const mixed = dialect.mixed(whole, json.path)
      return {
        kind,
        maybe: true,
        value: mixed.value,
        order: mixed.order,
        canonical: false,
        mixed,
        json,
      }
    }
    const value = dialect.json(whole, json.path, kind)
    const order = kind === 'date-time' ? dialect.instant(value) : value
    return { kind, maybe, value, order, canonical: false, json }
  }

  /**
   * The values of an item, in the order of the columns without the version.
   * @throws TypeError for a property that has no column: it would be lost.
   */
  encode(item: Item, columns = this.columns): unknown[] {
    for (const name of Object.keys(item)) {
      if (!this.#byName.has(name)) throw new TypeError(`${this.table} has no column for "${name}"`)
    }
    return columns.map(column => encodeValue(item[column.name], column, this.dialect))
  }

  /** What stands for the id in a statement of one item. */
  get idValue(): Fragment {
    const { declared } = this.id
    if (declared) return declared.own.bind('')
    // Greater ones than the column holds are found nowhere.
    return this.shape.identity.kind === 'integer' ? this.dialect.bind(0, 'integer') : sql`${''}`
  }

  /**
   * What is given to the driver for an id; null where the column cannot hold it, `undefined` where
   * nothing can: SQLite would find the integer 5 under the text '5'.
   */
  idGiven(id: Id): Id | null | undefined {
    if (this.shape.identity.kind === 'integer') return Number.isSafeInteger(id) ? id : undefined
    if (typeof id !== 'string' || id.includes('\0')) return undefined
    const { declared } = this.id
    return declared ? (toColumnText(id, declared.type) ?? null) : id
  }

  /** The column of the creation date, where there is one. */
  get created(): Column | undefined {
    const { createdAt } = this.shape
    return createdAt === undefined ? undefined : this.#byName.get(createdAt)
  }

  /** A query of the greatest id that is there. */
  get greatestId(): Fragment {
    const { ref, readable, declared } = this.id
    // Not every type has a `max`.
    return declared
      ? sql`select ${readable} from ${this.from} order by ${ref} desc limit 1`
      : sql`select max(${ref}) from ${this.from}`
  }

  /** An item of a row's columns: what is null and may not be null is absent. */
  decode(row: Readonly<Record<string, unknown>>): Item {
    const item: Item = {}
    for (const column of this.columns) {
      const value = decodeValue(row[column.read], column)
      if (value !== undefined) item[column.name] = value
    }
    return item
  }

  /** A row as it is stored; its version is of its values where the table has no column for one. */
  stored(row: Readonly<Record<string, unknown>>): Stored {
    return this.#storedAs(this.decode(row), this.versionColumn && String(row[this.versionColumn]))
  }

  /** An item in the order of the columns, so that it prints as it will when it is read. */
  storedItem(given: Item, version: string | undefined): Stored {
    const item: Item = {}
    for (const column of this.columns) {
      const value = given[column.name]
      if (value !== undefined) item[column.name] = holdsText(value, column) ?? value
    }
    return this.#storedAs(item, version)
  }

  #storedAs(item: Item, version: string | undefined): Stored {
    const { identity, updatedAt } = this.shape
    const id = item[identity.name]
    const time = updatedAt === undefined ? Number.NaN : Date.parse(String(item[updatedAt]))
    return {
      id: typeof id === 'number' ? id : String(id),
      item,
      version: version ?? hashOf(item),
      ...(!Number.isNaN(time) && { updatedAt: time }),
    }
  }

  /**
   * The dotted paths of the unique set that a database names, or the identity's name. Of somebody else's
   * index those columns that are fields: clients know of no other, nor of an index's name.
   */
  uniqueSet(index: string | undefined, columns: readonly string[] = []): readonly string[] {
    const { unique, identity } = this.shape
    const named = unique.find(set => this.indexes.name(set, 'unique') === index)
    if (named) return named
    if (columns.length === 0 && index === undefined) return [identity.name]
    const names = this.columns
      .filter(({ column }) => columns.includes(column))
      .map(each => each.name)
    return unique.find(set => [...set].sort().join() === [...names].sort().join()) ?? names
  }

  /** The dotted paths of the index or the column that a database names; none for somebody else's. */
  indexed(index: string | undefined, column?: string): readonly string[] {
    if (column === undefined) return this.indexes.pathsOf(index)
    const own = this.columns.find(each => each.column === column)?.name
    return own === undefined ? [] : [own]
  }
}

/** The id and the dates are the store's own, whatever the schema says of them. */
function ownField(name: string, { identity, createdAt, updatedAt }: Shape): Field | undefined {
  if (name === identity.name) {
    return { kind: identity.kind === 'integer' ? 'integer' : 'string', ...REQUIRED }
  }
  return name === createdAt || name === updatedAt ? { kind: 'date-time', ...REQUIRED } : undefined
}

const REQUIRED = { nullable: false, optional: false }

function isMaybe(fields: Shape['fields'], path: Path): boolean {
  const field = findField(fields, path)
  return !field || field.nullable || field.optional || isEntry(fields, path)
}

/** Whether a path ends at an entry of a record, whose name the schema does not say. */
function isEntry(fields: Shape['fields'], path: Path): boolean {
  return path.length > 1 && findField(fields, path.slice(0, -1))?.kind === 'record'
}

/** A version of values: 96 bits, as 16 characters. */
function hashOf(item: Item): string {
  return createHash('sha256').update(JSON.stringify(item)).digest('base64url').slice(0, 16)
}
