// What names the rows of a table: a column, or two references.
import type { CatalogConnection } from './connect.ts'
import { type ColumnKind, findKind } from './describe-column.ts'
import type { FoundColumn, FoundIndex, FoundTable } from './found-tables.ts'
import { type CollectionName, isSecret } from './names.ts'

/** The names of two references that are a key. */
export type KeyPair = readonly [string, string]

/** The key of a table, which names its items. */
export interface TableKey {
  readonly column: FoundColumn
  readonly kind: ColumnKind
}

/** What is known of all tables. */
export interface Tables {
  readonly database: CatalogConnection['database']
  /** The names and keys of those that become collections, by their tables. */
  readonly served: ReadonlyMap<string, CollectionName & TableKey>
}

/** Finds the column that names the rows of a table, or says why none does. */
export function findKey(
  { columns, key, indexes, isView, isPartitioned, name }: FoundTable,
  database: CatalogConnection['database'],
): TableKey | string {
  if (name === '' || name.split('.').length > 2) return 'a store takes no such name'
  const single = (each: FoundIndex) =>
    each.unique && each.where === null && each.columns.length === 1 ? [each.columns[0]] : []
  const chosen = isView ? ['id'] : key.length === 1 ? key : indexes.flatMap(single)
  const column = chosen
    .map(each => columns.find(({ name: own }) => own === each))
    .find(each => each && (isView || key.length === 1 || each.notNull))
  if (!column) {
    if (isView) return 'it has no column "id"'
    const others = key.length > 1 ? `: ${key.join(', ')}` : ''
    const way = isPartitioned ? 'Add' : 'Add a column for an id, or'
    return `it has no key of one column, or of two references${others}. ${way} a view that has a column "id"`
  }
  const kind = findKind(column, database)
  const isId = column.name !== '' && kind && /^(?:string|integer)$/.test(kind.kind) && !kind.isAlike
  if (!isId) return `its key "${column.name}" is ${column.type}, which cannot be an id`
  return isSecret(column.name) ? `its key "${column.name}" is a secret` : { column, kind }
}

/** Finds two references that are the key of a table together; `undefined` if it has no such key. */
export function findPair(
  { columns, key, indexes, references, isView }: FoundTable,
  { served, database }: Tables,
): KeyPair | undefined {
  const unique = indexes.filter(each => each.unique && each.where === null)
  const isPart = (name: string | null) => {
    const column = columns.find(each => each.name === name)
    const reference = references.find(each => each.columns.join() === name)
    const target = served.get(reference?.table ?? '')
    const isKey = !reference?.to.length || reference.to.join() === target?.column.name
    return (
      isKey &&
      (column?.notNull || key.includes(String(name))) &&
      target &&
      column &&
      findKind(column, database)?.kind === target.kind.kind
    )
  }
  const sets = isView ? [] : [key, ...unique.map(each => each.columns)]
  const [one, other] = sets.find(set => set.length === 2 && set.every(isPart)) ?? []
  return one && other ? [one, other] : undefined
}
