// The statements that create all tables of an api, as text.

import { type AnyApi, findApiDefinition } from '../model/definitions.ts'
import { checkOptions, oneOf } from '../options.ts'
import { mergeShapes } from '../store/shapes.ts'
import type { Store } from '../store/store.ts'
import type { DatabaseName, ForeignKey } from './databases/database.ts'
import { DATABASES } from './databases/databases.ts'
import { type Fragment, print } from './databases/sql-text.ts'
import { describeStore, type StoreDescription } from './references.ts'
import { extraStatements, tableStatements } from './table/create-table.ts'
import { addKey } from './table/foreign-keys.ts'
import { TableMapping } from './table/table-mapping.ts'

/** A table to print, and what its rows refer to. */
interface Planned extends Omit<StoreDescription, 'database'> {
  readonly references: Map<
    string,
    { readonly store: Store; readonly onDelete: ForeignKey['onDelete'] }
  >
}

/**
 * Prints the statements that create the tables of an api, their indexes, foreign keys and triggers, in their order: a
 * table that refers to others comes after them. Where tables of PostgreSQL refer to each other in a circle, keys are
 * added at the end. A collection whose store is no `sqlStore` gets a table with its own name.
 * @param api what `defineApi` gave.
 * @param options.database default: that of the stores, or `sqlite`.
 * @throws TypeError for fields that no table can hold.
 * @example console.log(`${createTablesSql(api).join(';\n')};`)
 */
export function createTablesSql(
  api: AnyApi,
  options: { readonly database?: DatabaseName | undefined } = {},
): string[] {
  checkOptions('createTablesSql', options, { database: oneOf(...Object.keys(DATABASES)) })
  const planned = new Map<Store, Planned>()
  const collections = findApiDefinition(api).versions.flatMap(({ collections: all }) => [
    ...all.values(),
  ])
  let name = options.database
  for (const { store, shape } of collections) {
    const known = planned.get(store)
    const described = describeStore(store)
    name ??= described?.database
    const merged = known ? mergeShapes(known.shape, shape) : shape
    planned.set(store, {
      options: {},
      ...described,
      shape: described?.shape ?? merged,
      references: new Map(),
    })
  }
  for (const { store, children } of collections) {
    for (const { collection, field, onDelete } of children) {
      planned.get(collection.store)?.references.set(field, { store, onDelete })
    }
  }
  const database = DATABASES[name ?? 'sqlite']
  const statements: Fragment[] = []
  const last: Fragment[] = []
  const done = new Map<Store, boolean>()
  function visit(store: Store, { shape, options: table, references }: Planned): void {
    done.set(store, false)
    const keys: ForeignKey[] = []
    for (const [field, { store: parent, onDelete }] of references) {
      const found = planned.get(parent)
      if (!found) continue
      if (!done.has(parent)) visit(parent, found)
      const { table: name, id } = new TableMapping({ ...found, database })
      // SQLite takes the name of a table that does not exist yet.
      const circular = parent !== store && done.get(parent) === false && !database.serial
      keys.push({ table: name, column: id.column, type: id.made, field, onDelete, circular })
    }
    const mapping = new TableMapping({ shape, database, options: table, keys })
    statements.push(...tableStatements(mapping), ...extraStatements(mapping))
    last.push(...mapping.keys.filter(key => key.circular).map(key => addKey(key, mapping)))
    done.set(store, true)
  }
  for (const [store, table] of planned) if (!done.has(store)) visit(store, table)
  const texts = [...statements, ...last].map(each => print(each, database).sql)
  return [...new Set(texts)]
}
