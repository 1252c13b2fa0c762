// Defines collections from the catalog of a database, as `pull` prints them, without columns that look like secrets.
import { z } from 'zod'
import { defineCollection } from '../../collection.ts'
import type { Operation } from '../../model/types/operation.ts'
import { sqlStore } from '../../sql/sql-store.ts'
import { CommandError } from '../output/command-error.ts'
import { type DescribedTable, findRelation } from '../pull/describe-table.ts'
import { describeTables } from '../pull/describe-tables.ts'
import { readCatalog } from '../pull/pull.ts'
import { isList, type SchemaCalls } from '../pull/schema-calls.ts'
import { openKysely } from './open-kysely.ts'
import type { ServedSource } from './served.ts'

export interface DatabaseOptions {
  /** The URL of a PostgreSQL database, or the path of a SQLite file. */
  readonly source: string
  /** Default: the first schema of the search path. */
  readonly schema?: string | undefined
  readonly isWritten: boolean
}

/** Defines the collections of a database. @throws CommandError */
export async function describeDatabase(options: DatabaseOptions): Promise<ServedSource> {
  const { tables, connection } = await readCatalog(options)
  const { described, leftOut } = describeTables(tables, connection.database)
  const { db, close } = await openKysely(options.source, connection, options.isWritten)
  const open = described.map(omitSecrets)
  return {
    collections: open.map(each => define(each, db, options.isWritten)),
    leftOut: [
      ...leftOut.map(({ table, reason }) => `${table.name} is left out: ${reason}.`),
      ...open.flatMap(each =>
        each.leftOut.map(column => `${each.name}: the column ${column} is left out.`),
      ),
    ],
    singles: new Set(),
    close,
  }
}

const READS: readonly Operation[] = ['list', 'count', 'read']
const WRITES: readonly Operation[] = ['create', 'replace', 'patch', 'delete']

/** Leaves out columns such as passwords and tokens. If one of them is required, items cannot be created. */
function omitSecrets(table: DescribedTable): DescribedTable {
  const secrets = [...table.fields].flatMap(([name, role]) => (role === 'writeOnly' ? [name] : []))
  const isLeft = ([name]: readonly [string, unknown]) => !secrets.includes(name)
  const isRequired = (name: string) =>
    !table.properties.get(name)?.some(([call]) => call === 'optional' || call === 'default')
  const operations = (table.operations ?? [...READS, ...WRITES]).filter(
    each => each !== 'create' || !secrets.some(isRequired),
  )
  const properties = new Map([...table.properties].filter(isLeft))
  const fields = new Map([...table.fields].filter(isLeft))
  const leftOut = [...secrets.map(name => `${name} (a secret)`), ...table.leftOut]
  return { ...table, properties, fields, operations, leftOut }
}

function define(
  described: DescribedTable,
  db: Parameters<typeof sqlStore>[0]['db'],
  isWritten: boolean,
) {
  const { name, itemName, table, id, operations = READS, unique, indexes } = described
  const shape = Array.from(described.properties, ([property, calls]) => [
    property,
    buildSchema(calls),
  ])
  const columns = Array.from(described.columns, ([property, { name: column, form }]) => [
    property,
    { name: column, type: form },
  ])
  const roles = Array.from(described.fields, ([property, role]) => [
    property,
    role === 'now' ? { readOnly: () => new Date().toISOString() } : role,
  ])
  const pair = findRelation(described)
  const others = described.references.filter(each => !pair.includes(each))
  const toReferences = (all: typeof pair) =>
    Object.fromEntries(
      all.map(({ property, collection, onDelete }) => [
        property,
        {
          collection,
          ...(onDelete === 'cascade' && isWritten && { onDelete: 'cascade' as const }),
        },
      ]),
    )
  return defineCollection({
    ...{ name, itemName, unique, indexes, description: table.comment },
    schema: z.object(Object.fromEntries(shape)),
    store: sqlStore({
      ...{ db, table: table.name, columns: Object.fromEntries(columns), version: false },
      create: isWritten ? 'records' : false,
      ...(described.isLocal && { timezone: 'UTC' }),
    }),
    ...((id === 'integer' || typeof id !== 'string') && { id }),
    ...(id === 'uuid' && { ordered: false }),
    timestamps: described.hasDates,
    operations: operations.filter(each => isWritten || READS.includes(each)),
    ...(pair.length > 0 && { relation: toReferences(pair) }),
    references: toReferences(others),
    fields: Object.fromEntries(roles),
  })
}

/** Builds a zod schema from its calls. */
export function buildSchema(calls: SchemaCalls): z.ZodType {
  let made: unknown = z
  for (const [name, ...args] of calls) {
    const path = name.split('.')
    const method = path.pop() ?? ''
    const on = path.reduce((found, each) => Reflect.get(Object(found), each), made)
    const given = args.map(each => {
      const { element } = isList(each) ? {} : Object(each)
      return element ? buildSchema(element) : each
    })
    made = Reflect.apply(Reflect.get(Object(on), method), on, given)
  }
  if (made instanceof z.ZodType) return made
  throw new CommandError('A column has no schema')
}
