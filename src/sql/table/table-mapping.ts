// Maps a collection to a table: a column for each top-level field, JSON for objects, lists and unions.
import { emitWarning } from 'node:process'
import { getValue, type Path, toPath } from '../../base/paths.ts'
import { type Item, sameJson } from '../../base/values.ts'
import { createVersion, LAST_UUID } from '../../store/ids.ts'
import { listIdFields } from '../../store/relation-ids.ts'
import { uniquesOf } from '../../store/shapes.ts'
import type { Id, Shape, Stored } from '../../store/store.ts'
import type { FoldedText, ForeignKey, SqlDatabase, VersionTrigger } from '../databases/database.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { buildExpression, type ColumnExpression } from './column-expression.ts'
import { decodeRow, encodeValue, toColumnValue } from './column-values.ts'
import { buildColumn, type Column, type ColumnOwner, type Filled, findForm } from './columns.ts'
import { fillIn } from './filled.ts'
import { foldValue, listFolded, printSign, toFoldedText } from './folded.ts'
import { buildIndexes, type TableIndex } from './indexes.ts'
import { checkShape, type TableMappingOptions } from './mapping-options.ts'
import { printPredicate } from './predicates.ts'
import { buildRelationId, encodeRelationId, matchRelation } from './relation-key.ts'
import { toStored } from './stored.ts'

/** What the columns of a table follow from. */
export interface TableDeclaration {
  readonly shape: Shape
  readonly database: SqlDatabase
  readonly options?: TableMappingOptions
  /** Its references: a new column has the type of what it names. */
  readonly keys?: readonly ForeignKey[]
}

/** What a mapping takes of the catalog of an existing table. */
export interface FoundColumns {
  /** Finds the type of a column. */
  typeOf(column: string): string | undefined
  /** Finds what the database puts into a column by itself. */
  filledOf(column: Column, shape: Shape): Filled | undefined
  /** The names of all columns that keep folded strings. */
  readonly folded: readonly string[]
}

export class TableMapping {
  readonly shape: Shape
  readonly database: SqlDatabase
  readonly table: string
  readonly columns: readonly Column[]
  /** The columns that the table has: those of a relation lack the id. */
  readonly stored: readonly Column[]
  /** The columns that make up the id; absent if the id has a column. */
  readonly parts: readonly Column[] | undefined
  readonly id: Column
  /** The column of the creation date, where there is one. */
  readonly created: Column | undefined
  /** The column of the date of the last change, where there is one. */
  readonly updated: Column | undefined
  /** The columns that keep texts folded: they are written with the others, and never read. */
  readonly folded: readonly Column[]
  /** The columns that a create writes. */
  readonly written: readonly Column[]
  /** The columns that an update writes: not the id, nor the creation date. */
  readonly changing: readonly Column[]
  readonly versionColumn: string | undefined
  /** The trigger that renews versions for other programs; absent without versions. */
  readonly trigger: VersionTrigger | undefined
  /** The table's name, quoted. */
  readonly from: Fragment
  /** Every column to select, the version last. */
  readonly all: Fragment
  readonly indexes: readonly TableIndex[]
  /** The paths of the key, and of each index of all rows: one of some rows serves no list. */
  readonly orders: readonly (readonly string[])[]
  /** The references that a foreign key can keep. */
  readonly keys: readonly ForeignKey[]
  /** The columns that hold values which could not be read: each is told of once, and left as it is by writes. */
  readonly unreadable = new Set<Column>()
  readonly #byName: ReadonlyMap<string, Column>
  readonly #owner: Fragment
  /** How the versions of changed rows end. */
  readonly #sign: string
  /** By their paths: only declared fields have one, so that few are kept. */
  readonly #expressions = new Map<string, ColumnExpression>()

  /**
   * @param found the columns of an existing table; `undefined` for a new one.
   * @param folded those of them that keep folded strings.
   * @throws TypeError for fields that a table cannot hold, and for impossible columns.
   */
  constructor(
    { shape, database, options = {}, keys = [] }: TableDeclaration,
    found?: FoundColumns,
    folded = found?.folded,
  ) {
    const { table = shape.name, columns = {}, version = 'version' } = options
    checkShape(shape)
    this.shape = shape
    this.database = database
    this.table = table
    this.versionColumn = version === false ? undefined : version
    for (const name of Object.keys(columns)) {
      if (!shape.fields.has(name)) throw new TypeError(`${shape.name} has no field "${name}"`)
    }
    const { identity, createdAt, updatedAt } = shape
    const types = new Map(database.serves && keys.map(({ field, type }) => [field, type]))
    const owner: ColumnOwner = {
      shape,
      database,
      typeOf: (column, field) => found?.typeOf(column) ?? types.get(field),
      onUnreadable: (column, value) => this.#tellUnreadable(column, value),
    }
    const names = [...shape.fields.keys()].filter(name => !identity.parts || name !== identity.name)
    this.stored = names.map(name => {
      const column = buildColumn(name, columns[name], owner)
      return found ? { ...column, ...found.filledOf(column, shape) } : column
    })
    this.parts = identity.parts?.flatMap(
      part => this.stored.find(({ name }) => name === part) ?? [],
    )
    this.columns = this.parts
      ? [buildRelationId(shape, this.parts, owner.onUnreadable), ...this.stored]
      : this.stored
    this.#byName = new Map(this.columns.map(column => [column.name, column]))
    const id = this.#byName.get(identity.name)
    if (!id) throw new TypeError(`${shape.name} has no field "${identity.name}" for its ids`)
    this.id = id
    this.keys = keys.filter(({ field }) => (this.#byName.get(field)?.type ?? 'json') !== 'json')
    this.created = createdAt === undefined ? undefined : this.#byName.get(createdAt)
    this.updated = updatedAt === undefined ? undefined : this.#byName.get(updatedAt)
    const isSearched = (path: Path) => shape.search?.includes(path.join('.')) === true
    this.folded = listFolded(shape, this.columns, database).filter(
      // Without a version nothing tells what other programs change.
      ({ column, folds = [] }) =>
        version !== false &&
        !identity.parts &&
        (folded ? folded.includes(column) : isSearched(folds)),
    )
    this.written = [...this.columns.filter(({ generated }) => !generated), ...this.folded]
    this.changing = this.written.filter(column => column !== id && column !== this.created)
    const kept = (folded ?? this.folded.map(({ column }) => column)).map(toFoldedText)
    const sign = printSign(kept)
    this.trigger = this.#buildTrigger(kept, sign)
    this.#sign = kept.every(each => this.#writesWith(each)) ? sign : ''
    this.from = sql.table(table)
    this.#owner = sql`${this.from}.`
    this.all = this.select(({ readable }) => readable)
    this.indexes = buildIndexes(table, shape, database, {
      express: path => this.#express(toPath(path)),
      where: where => printPredicate(where, this),
    })
    const whole = this.indexes.filter(({ where }) => !where)
    this.orders = [listIdFields(identity), ...whole.map(({ paths }) => paths)]
    this.#checkNames()
  }

  /** Whether a folded text is written whenever its text may be. */
  #writesWith({ column, source }: FoldedText): boolean {
    const isFolded = this.folded.some(each => each.column === column)
    return isFolded || this.columns.every(each => each.column !== source)
  }

  /** @param folded the columns of the table that keep texts folded. */
  #buildTrigger(folded: readonly FoldedText[], sign: string): VersionTrigger | undefined {
    const { table, id, parts, versionColumn, database } = this
    if (versionColumn === undefined) return undefined
    return database.renewVersion({
      table,
      ids: (parts ?? [id]).map(({ column }) => column),
      version: versionColumn,
      updated: this.updated?.column,
      instant: this.updated?.native?.instant,
      // The catalog has no order.
      folded: folded.toSorted((one, other) => (one.column < other.column ? -1 : 1)),
      sign,
    })
  }

  /** Makes the version of a changed row; `undefined` where the table has none. */
  makeVersion(): string | undefined {
    if (this.versionColumn === undefined) return undefined
    const version = createVersion()
    // Signed or not, it is as long.
    return version.slice(this.#sign.length) + this.#sign
  }

  /** Finds the column that keeps the text at a path folded. */
  findFolded(path: Path): Column | undefined {
    return this.folded.find(({ folds }) => folds?.join('.') === path.join('.'))
  }

  /** Whether two items have the same value for a column. */
  isSame(column: Column, one: Item, other: Item): boolean {
    const { name, folds } = column
    const [value, before] = folds
      ? [getValue(one, folds), getValue(other, folds)]
      : [one[name], other[name]]
    // Null stands for a value that could not be read: a write that does not name it leaves it.
    if (this.unreadable.has(column)) return sameJson(value ?? null, before ?? null)
    return sameJson(value, before)
  }

  /** @param value the first one. */
  #tellUnreadable(column: Column, value: unknown): void {
    if (this.unreadable.has(column)) return
    this.unreadable.add(column)
    const form = findForm(value, column.field, this.database)
    const name = JSON.stringify(column.name)
    const advice =
      form !== undefined
        ? `declare columns: { ${name}: { type: '${form}' } }`
        : column.type === 'json'
          ? 'declare what the column holds, or set { json: false } for it in columns'
          : 'declare what the column holds, or serve a view that casts them'
    emitWarning(
      `${this.table}: its column "${column.column}" holds values that cannot be read as ${column.name} is declared, and are null in responses. Correct them, or ${advice}`,
      { code: 'REST_CONVENTIONS_TABLE' },
    )
  }

  /** Selects all columns under the names by which they are read, and the version last. */
  select(toValue: (column: Column) => Fragment): Fragment {
    const all = this.columns.map(each => {
      const value = toValue(each)
      return each.read === each.column ? value : sql`${value} as ${sql.id(each.read)}`
    })
    if (this.versionColumn !== undefined) all.push(sql.id(this.versionColumn))
    return sql.join(all)
  }

  #checkNames(): void {
    const { versionColumn } = this
    const names = this.written.map(({ column }) => column)
    if (versionColumn !== undefined) names.push(versionColumn)
    // SQL ignores the case of names.
    const seen = new Set<string>()
    for (const name of names) {
      if (seen.has(name.toLowerCase())) {
        throw new TypeError(
          `${this.table} would have the column "${name}" twice; rename one in the options`,
        )
      }
      seen.add(name.toLowerCase())
      if (Buffer.byteLength(name) > this.database.longestName) {
        throw new TypeError(
          `${this.table}: the name of the column "${name}" is too long for the database`,
        )
      }
    }
  }

  /**
   * Finds the expression of the value at a path.
   * @throws TypeError where no field is there.
   */
  find(path: Path): ColumnExpression {
    const name = path.join('\0')
    const known = this.#expressions.get(name)
    if (known) return known
    const expression = this.#express(path, this.#owner)
    this.#expressions.set(name, expression)
    return expression
  }

  #express(path: Path, owner?: Fragment): ColumnExpression {
    const column = this.#byName.get(path[0] ?? '')
    if (!column) throw new TypeError(`${this.table} has no field "${path.join('.')}"`)
    return buildExpression(path, column, this, owner)
  }

  /** @throws TypeError for a name that is no field. */
  columnOf(field: string): Column {
    const column = this.#byName.get(field)
    if (!column) throw new TypeError(`${this.table} has no column for "${field}"`)
    return column
  }

  /** Names columns in a statement that writes them, the version last. */
  nameColumns(columns: readonly Column[]): Fragment[] {
    const names = columns.map(({ ref }) => ref)
    return this.versionColumn === undefined ? names : [...names, sql.id(this.versionColumn)]
  }

  /** Builds the values of columns in a statement that writes them, in the order of their names. */
  fillColumns(columns: readonly Column[], by: 'created' | 'changed'): Fragment[] {
    const values = columns.map(column => fillIn(column, PLACEHOLDER, by))
    return this.versionColumn === undefined ? values : [...values, PLACEHOLDER]
  }

  /**
   * Encodes the values of an item in the order of the columns, the version last.
   * @throws TypeError for a property that has no column: it would be lost.
   */
  encode(item: Item, columns: readonly Column[], version: string | undefined): unknown[] {
    for (const name of Object.keys(item)) {
      if (!this.#byName.has(name)) throw new TypeError(`${this.table} has no column for "${name}"`)
    }
    const values = columns.map(column =>
      column.folds
        ? this.#fold(item, column.folds)
        : encodeValue(item[column.name], column, this.database),
    )
    return version === undefined ? values : [...values, version]
  }

  /** Folds the text at a path; null where the database may have another one. */
  #fold(item: Item, path: Path): string | null {
    const [name = ''] = path
    const isPreset = item[name] === undefined && this.#byName.get(name)?.preset !== undefined
    return isPreset ? null : foldValue(item, path)
  }

  /** The condition of the row with a bound id. */
  get isRow(): Fragment {
    const { parts, database, id, idValue } = this
    return parts ? matchRelation(parts, '=', 1, database) : sql`${id.ref} = ${idValue}`
  }

  /** Builds the condition of the rows with so many bound ids. */
  isOneOf(size: number): Fragment {
    const { parts, database, id, idValue } = this
    if (parts) return matchRelation(parts, 'in', size, database)
    return sql`${id.ref} in (${sql.join(Array.from({ length: size }, () => idValue))})`
  }

  /** The bound value of the id in a statement for one item. */
  get idValue(): Fragment {
    if (this.id.native) return this.id.native.bind('')
    // A number beyond the column's type is not found, rather than an error.
    return this.shape.identity.kind === 'integer' ? this.database.bind(0, 'integer') : PLACEHOLDER
  }

  /**
   * Encodes an id for the driver: null if the column cannot hold it, `undefined` if it is of the wrong type.
   * SQLite would find the integer 5 by the text '5'.
   */
  encodeId(id: Id): Id | null | undefined {
    const { kind, parts } = this.shape.identity
    if (kind === 'integer') return Number.isSafeInteger(id) ? id : undefined
    if (this.parts && parts) return encodeRelationId(id, parts, this.parts, this.shape)
    if (typeof id !== 'string' || id.includes('\0')) return undefined
    return this.id.native ? (this.id.native.toColumnText(id) ?? null) : id
  }

  /** The condition of UUIDs after which greater ones may exist. */
  get isInOrder(): Fragment {
    const { ref, native } = this.id
    return sql`${ref} < ${sql.lit(LAST_UUID)}${sql.raw(native ? '::uuid' : '')}`
  }

  /** The query for the greatest id. */
  get greatestId(): Fragment {
    const { ref, readable, native } = this.id
    if (this.shape.identity.kind !== 'uuid') return sql`select max(${ref}) from ${this.from}`
    // PostgreSQL has no `max` of a UUID, and finds the greatest by its index if they are sorted.
    return sql`select ${native ? readable : ref} from ${this.from} where ${this.isInOrder} order by ${ref} desc limit 1`
  }

  /** Decodes a row; its version is a hash of its values where the table has no column for one. */
  decode(row: Readonly<Record<string, unknown>>): Stored {
    const item = decodeRow(row, this.columns)
    // A text that is the key may be null in SQLite.
    if ((item[this.id.name] ?? null) === null) {
      throw new Error(
        `${this.table}: its column "${this.id.column}" holds ${row[this.id.read]}, which is no id of this kind`,
      )
    }
    return toStored(item, this.shape, this.versionColumn && String(row[this.versionColumn]))
  }

  /** Predicts the item of a row that was just written, in a table that stores values exactly. */
  predict(written: Item, version: string | undefined): Stored {
    const item: Item = {}
    for (const column of this.columns) {
      const value = written[column.name]
      if (value !== undefined) item[column.name] = toColumnValue(value, column) ?? value
    }
    return toStored(item, this.shape, version)
  }

  /** Finds the dotted paths of the index or the columns that a database names: clients know only fields. */
  findFields(index: string | undefined, columns: readonly string[] = []): readonly string[] {
    const { identity } = this.shape
    const unique = uniquesOf(this.shape).map(({ fields }) => fields)
    const named = this.indexes.find(({ name }) => name === index)
    if (named) return named.fields
    if (index === `${this.table}_pkey`) return listIdFields(identity)
    const found = this.columns.filter(({ column }) => columns.includes(column))
    const names = found.map(({ name }) => name)
    return unique.find(set => [...set].sort().join() === [...names].sort().join()) ?? names
  }
}
