// A table as the declaration of a collection: what is printed, and what is left out with the reason.
import type { Scalar } from '../../base/values.ts'
import type { Operation } from '../../model/types/operation.ts'
import { readPredicate } from '../../sql/table/predicates.ts'
import type { CatalogConnection } from './connect.ts'
import { type ColumnKind, describeColumn, findKind, GUID } from './describe-column.ts'
import type { FoundColumn, FoundTable } from './found-tables.ts'
import { type CollectionName, isSecret, Names, nameProperty } from './names.ts'
import { findBounds } from './read-checks.ts'
import type { SchemaCalls } from './schema-calls.ts'
import type { KeyPair, TableKey, Tables } from './table-key.ts'

/** `now` is that of a date which the server sets at create. */
export type DescribedRole = 'readOnly' | 'writeOnly' | 'now'

/** A collection to print. */
export interface DescribedTable extends CollectionName {
  readonly table: FoundTable
  /** The kind of the id, or two references that are the key together. */
  readonly id: 'integer' | 'uuid' | 'text' | KeyPair
  readonly hasDates: boolean
  /** By property: its schema. */
  readonly properties: ReadonlyMap<string, SchemaCalls>
  /** By property: its column, if that has another name, or a form to say. */
  readonly columns: ReadonlyMap<string, DescribedMapping>
  readonly fields: ReadonlyMap<string, DescribedRole>
  readonly references: readonly DescribedReference[]
  readonly unique: readonly DescribedSet[]
  readonly indexes: readonly (readonly string[])[]
  readonly operations: readonly Operation[] | undefined
  /** The columns that it lacks, with the reason. */
  readonly leftOut: readonly string[]
  /** What a reader should know of it. */
  readonly notes: readonly string[]
  /** Whether times without a zone are served. */
  readonly isLocal: boolean
}

/** What `columns` says of a property. */
export interface DescribedMapping {
  readonly name: string | undefined
  readonly form: string | undefined
}

/** A unique set, in the form of the option `unique`. */
export type DescribedSet = readonly string[] | DescribedPartial

interface DescribedPartial {
  readonly fields: readonly string[]
  readonly where: Readonly<Record<string, Scalar | { readonly exists: boolean }>>
}

export interface DescribedReference {
  readonly property: string
  readonly collection: string
  readonly onDelete: string
}

/** A table without a collection, and why. */
export interface LeftOut {
  readonly table: FoundTable
  readonly reason: string
}

/**
 * Describes a table that has a key.
 * @param key the column of the id, or those of two references.
 */
export function describeTable(
  table: FoundTable,
  named: CollectionName,
  key: TableKey | KeyPair,
  tables: Tables,
): DescribedTable {
  const single = 'column' in key ? key : undefined
  const pair: readonly string[] = 'column' in key ? [] : key
  const dates = findDates(table, tables.database)
  const bounds = findBounds(table.checks)
  const boundsOf = ({ name }: FoundColumn) => bounds.get(name.toLowerCase())
  const kinds = new Map(
    table.columns.map(each => [each.name, findKind(each, tables.database, boundsOf(each))]),
  )
  const names = new Names()
  for (const taken of ['id', ...dates.keys()]) names.give(taken)
  const properties = new Map<string, SchemaCalls>()
  const columns = new Map<string, DescribedMapping>()
  const fields = new Map<string, DescribedRole>()
  const leftOut: string[] = []
  const notes: string[] = []
  const propertyOf = new Map<string, string>()
  const take = (property: string, { name }: FoundColumn) => {
    propertyOf.set(name, property)
    const own = property === name ? undefined : name
    const form = kinds.get(name)?.form
    if (own !== undefined || form !== undefined) columns.set(property, { name: own, form })
  }
  // Of a view that cannot be written all is read-only.
  const isWritten = !table.isView || !single?.column.generated
  const isKeyReference = table.references.some(each => each.columns.join() === single?.column.name)
  const toRequired = (column: FoundColumn) => ({ ...column, notNull: true, preset: undefined })
  const kindOfId = single && findId(single.kind, isKeyReference)
  if (single) take('id', single.column)
  if (single && kindOfId === 'text')
    properties.set('id', describeColumn(toRequired(single.column), single.kind).schema)
  for (const [property, column] of dates) take(property, column)
  let takesCreates = !(isKeyReference && kindOfId === 'integer')
  if (!takesCreates) notes.push('Its id is the id of another table, which no create can choose.')
  for (const column of table.columns) {
    if (propertyOf.has(column.name) || column.name === '') continue
    const kind = kinds.get(column.name)
    const isHidden = isSecret(column.name) && kind?.kind === 'string' && !kind.labels
    if (!kind || (isHidden && column.generated)) {
      leftOut.push(`${column.name} (${kind ? 'a secret' : column.type || 'no type'})`)
      if (isUnfilled(column) && !table.fills) takesCreates = false
      continue
    }
    const property = nameProperty(column.name, names)
    take(property, column)
    const own = pair.includes(column.name) ? toRequired(column) : column
    const described = describeColumn(own, kind, boundsOf(column), !table.isView)
    properties.set(property, described.schema)
    if (single && !table.isView && DELETED.test(column.name))
      notes.push(...explainDeleted(property, column, kind))
    if (isHidden) fields.set(property, 'writeOnly')
    else if (kind.kind === 'date-time' && isUnset(column) && isWritten) fields.set(property, 'now')
    else if (described.isReadOnly && isWritten) fields.set(property, 'readOnly')
  }
  const listed = { table, propertyOf, fields, kinds }
  // The store makes the other ids: they are no fields of the schema.
  const references = listReferences(listed, tables).filter(
    ({ property }) => property !== 'id' || kindOfId === 'text',
  )
  const [one = '', other = ''] = pair.map(each => propertyOf.get(each) ?? '')
  const id = kindOfId ?? ([one, other] as const)
  return {
    ...{ name: named.name, itemName: named.itemName },
    ...{ table, id, properties, columns, fields, references },
    isLocal: [...propertyOf.keys()].some(each => kinds.get(each)?.isLocal),
    hasDates: dates.size > 0,
    ...listIndexes(listed, references, id, notes),
    operations: table.isView
      ? ['list', 'count', 'read']
      : takesCreates
        ? undefined
        : ['list', 'count', 'read', 'replace', 'patch', 'delete'],
    leftOut,
    notes,
  }
}

/** Whether a create must give a value. */
const isUnfilled = ({ notNull, preset, generated }: FoundColumn) =>
  notNull && preset === undefined && !generated

/** Whether a column is the date of a create, which the program alone sets. */
const isUnset = (column: FoundColumn) => isUnfilled(column) && CREATED.test(column.name)

function findId({ kind, schema }: ColumnKind, isReference: boolean): DescribedTable['id'] {
  if (kind === 'integer') return 'integer'
  return schema === GUID && !isReference ? 'uuid' : 'text'
}

const CREATED =
  /^(?:created|inserted)(?:_?at|_?on|_?date|_?time)?$|^(?:date|time)_?created$|^create_?(?:date|time)$/i
const UPDATED =
  /^(?:updated|modified|changed)(?:_?at|_?on|_?date|_?time)?$|^(?:date|time)_?(?:updated|modified)$|^(?:last_?)?(?:update|modified)(?:_?date|_?time|_?at)?$/i

const DELETED = /^(?:is_?)?(?:soft_?)?(?:deleted|removed|trashed)(?:_?(?:at|on|date|time))?$/i

/** Says how a DELETE can set the column that marks deleted rows, where it would delete the row. */
function explainDeleted(property: string, { notNull }: FoundColumn, { kind }: ColumnKind) {
  const mark = kind === 'date-time' && !notNull ? `add trash: '${property}'` : ''
  const way = kind === 'boolean' ? 'see docs/existing-database.md, Soft delete' : mark
  return way ? [`DELETE deletes the row. To set ${property} instead, ${way}.`] : []
}

/** Finds the two dates that the server sets, if the table has both. */
function findDates({ columns, isView }: FoundTable, database: CatalogConnection['database']) {
  const isTime = (each: FoundColumn) =>
    !each.generated &&
    findKind(each, database)?.kind === 'date-time' &&
    // Its texts would sort before those of the server.
    (database === 'postgres' || each.preset === undefined || findKind(each, database)?.form)
  const times = isView ? [] : columns.filter(isTime)
  const created = times.find(({ name }) => CREATED.test(name))
  const updated = times.find(({ name }) => UPDATED.test(name))
  return new Map(
    created && updated
      ? [
          ['created_at', created],
          ['updated_at', updated],
        ]
      : [],
  )
}

/** What the sets of a table are read of. */
interface ListedTable {
  readonly table: FoundTable
  readonly propertyOf: ReadonlyMap<string, string>
  readonly fields: ReadonlyMap<string, DescribedRole>
  readonly kinds: ReadonlyMap<string, ColumnKind | undefined>
}

function listReferences(
  { table, propertyOf, fields, kinds }: ListedTable,
  { served }: Tables,
): DescribedReference[] {
  const found = new Map<string, DescribedReference>()
  for (const { columns, table: target, to, onDelete } of table.references) {
    const [column = '', ...others] = columns
    const other = served.get(target)
    const property = propertyOf.get(column)
    const isKey = to.length === 0 || to.join() === other?.column.name
    if (!other || !isKey || others.length > 0 || property === undefined) continue
    if (fields.get(property) === 'writeOnly' || kinds.get(column)?.kind !== other.kind.kind)
      continue
    found.set(property, { property, collection: other.name, onDelete })
  }
  // In the order of the properties.
  return [...propertyOf.values()].flatMap(property => found.get(property) ?? [])
}

/** Lists the sets of columns that have an index; those that a declaration cannot say become notes. */
function listIndexes(
  listed: ListedTable,
  references: readonly DescribedReference[],
  id: DescribedTable['id'],
  notes: string[],
) {
  const { table, propertyOf, fields, kinds } = listed
  const unique: DescribedSet[] = []
  const indexes: string[][] = []
  const has = (set: readonly string[]) => (other: readonly string[]) => other.join() === set.join()
  const isWhole = (set: readonly string[]) =>
    unique.some(each => !('where' in each) && has(set)(each))
  for (const { unique: isUnique, columns, where, text } of table.indexes) {
    const set = columns.map(each => (each === null ? '' : (propertyOf.get(each) ?? '')))
    const isPlain = columns.every(
      (each, at) =>
        each !== null &&
        set[at] !== '' &&
        fields.get(set[at] ?? '') !== 'writeOnly' &&
        !/^(?:json|list)$/.test(kinds.get(each)?.kind ?? ''),
    )
    const described =
      isUnique && isPlain && where !== null ? describeWhere(where, listed) : undefined
    if (described) unique.push({ fields: set, where: described })
    else if (isUnique && (!isPlain || where !== null))
      notes.push(`Unique in the database: ${findDefinition(text) ?? columns.join(', ')}.`)
    const isKey =
      set.length === 1 &&
      (set[0] === 'id' || references.some(({ property }) => property === set[0]))
    const isId = set.join() === 'id' || [...set].sort().join() === [id].flat().sort().join()
    if (!isPlain || where !== null || isId) continue
    if (isUnique && !isWhole(set)) unique.push(set)
    else if (!isKey && !indexes.some(has(set)) && !isWhole(set)) indexes.push(set)
  }
  return { unique, indexes: indexes.filter(set => !isWhole(set)) }
}

/** Describes the condition of a partial index; `undefined` if the option `unique` cannot express it. */
function describeWhere(
  condition: string,
  { propertyOf, fields, kinds }: ListedTable,
): DescribedPartial['where'] | undefined {
  const found = readPredicate(condition)?.map(({ column, exists, value = '' }) => {
    const property = propertyOf.get(column) ?? ''
    const kind = kinds.get(column)?.kind ?? 'json'
    if (property === '' || fields.get(property) === 'writeOnly') return undefined
    if (exists !== undefined)
      return /^(?:json|list|number)$/.test(kind) ? undefined : ([property, { exists }] as const)
    // SQLite stores booleans as numbers.
    const own = kind === 'boolean' && typeof value === 'number' ? value === 1 : value
    const fits = typeof own === (kind === 'integer' ? 'number' : kind)
    return fits ? ([property, own] as const) : undefined
  })
  return found?.every(each => each !== undefined) ? Object.fromEntries(found) : undefined
}

/** Takes the columns and the condition out of an index as SQL: `(slug) WHERE (deleted_at IS NULL)`. */
function findDefinition(text: string | null): string | undefined {
  const from = text?.indexOf('(') ?? -1
  return from < 0 ? undefined : text?.slice(from)
}

/** Finds the references that are the key, if each is to another collection. */
export function findRelation({ id, references }: DescribedTable): readonly DescribedReference[] {
  const pair = references.filter(({ property }) => typeof id !== 'string' && id.includes(property))
  return pair[0]?.collection === pair[1]?.collection ? [] : pair
}
