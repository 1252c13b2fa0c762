// A module with a collection for each table, of what the catalog says: names, values and comments, never code.
import type { Scalar } from '../../base/values.ts'
import { readDeclared } from '../../sql/table/column-types.ts'
import { printName, printNote, printQuoted } from '../output/source-text.ts'
import type { CatalogConnection } from './connect.ts'
import {
  type DescribedMapping,
  type DescribedReference,
  type DescribedRole,
  type DescribedSet,
  type DescribedTable,
  findRelation,
} from './describe-table.ts'
import { describeTables } from './describe-tables.ts'
import type { FoundTable } from './found-tables.ts'
import { printSchema } from './schema-calls.ts'

const ROLES: Readonly<Record<DescribedRole, string>> = {
  readOnly: "'readOnly'",
  writeOnly: "'writeOnly'",
  now: '{ readOnly: () => new Date().toISOString() }',
}

const WIDTH = 100

/** Prints the module. @param tables as the database has them, in the order to print. */
export function printCollections(
  tables: readonly FoundTable[],
  connection: Pick<CatalogConnection, 'database' | 'driver' | 'file'>,
): string {
  const { described, leftOut } = describeTables(tables, connection.database)
  const isLocal = described.some(each => each.isLocal)
  const collections = described.map(({ name }) => name)
  return [
    printHead(connection, isLocal),
    ...described.map(printCollection),
    leftOut.map(({ table, reason }) => printNote(`${table.name} is left out: ${reason}.`)).join(''),
    `export const api = defineApi({\n  collections: ${printShort(`{ ${collections.join(', ')} }`, collections, '  ')},\n})\n`,
  ]
    .filter(part => part !== '')
    .join('\n')
}

const HEAD = `// The tables of a database as collections. \`npx rest-conventions pull\` printed them; they are yours to change.
// \`npx rest-conventions pull --diff <this file>\` shows what has changed in the database.
// There are no \`schemes\`: everybody may do everything. It is an ES module: run \`npm pkg set type=module\`.
`

function printHead(
  { database, driver, file }: Pick<CatalogConnection, 'database' | 'driver' | 'file'>,
  isLocal: boolean,
) {
  const options = `{ db, table: name, columns, version: false, create: 'records'${isLocal ? ", timezone: 'UTC'" : ''} }`
  const zone = isLocal ? ', and its times without a zone are UTC' : ''
  const table = `/** A table that was there before: it has no column for versions${zone}. */
const table = (name: string, columns?: TableMappingOptions['columns']) =>
  sqlStore(${options})
`
  const api = "import { defineApi, defineCollection } from 'rest-conventions'\n"
  if (database === 'postgres')
    return `${HEAD}import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
${api}import { preparePostgres, reuseStatements, sqlStore, type TableMappingOptions } from 'rest-conventions/sql'
import { z } from 'zod'

const connectionString = process.env.DATABASE_URL
if (!connectionString) throw new Error('Set DATABASE_URL to the URL of the database')
const pool = preparePostgres(new pg.Pool({ connectionString, connectionTimeoutMillis: 5000 }))
const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })

${table}`
  const path = printQuoted(file ?? '')
  const [from, wrap, open] =
    driver === 'node:sqlite'
      ? ["import { DatabaseSync } from 'node:sqlite'\n", 'nodeSqlite', `new DatabaseSync(${path})`]
      : ['', 'reuseStatements', `new Database(${path})`]
  const own = driver === 'node:sqlite' ? '' : `import Database from '${driver}'\n`
  return `${HEAD}${from}${own}import { Kysely, SqliteDialect } from 'kysely'
${api}import { ${wrap === 'nodeSqlite' ? 'nodeSqlite, prepareSqlite' : 'prepareSqlite, reuseStatements'}, sqlStore, type TableMappingOptions } from 'rest-conventions/sql'
import { z } from 'zod'

const database = ${wrap}(${open})
const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
await prepareSqlite(db)

${table}`
}

function printCollection(described: DescribedTable): string {
  const { name, itemName, table, columns, id, properties, operations, references } = described
  const pair = findRelation(described)
  const schema = [...properties].map(
    ([property, calls]) => `    ${printName(property)}: ${printSchema(calls)},\n`,
  )
  const mapped = [...columns].map(
    ([property, column]) => `${printName(property)}: ${printMapping(column)}`,
  )
  const store = [printQuoted(table.name), ...(mapped.length > 0 ? [printObject(mapped)] : [])]
  const fields = [...described.fields].map(
    ([property, role]) => `${printName(property)}: ${ROLES[role]}`,
  )
  const lines: readonly (readonly [string, string | false | undefined])[] = [
    ['name', printQuoted(name)],
    ['itemName', itemName !== undefined && printQuoted(itemName)],
    ['description', table.comment !== undefined && printQuoted(table.comment)],
    ['schema', schema.length > 0 ? `z.object({\n${schema.join('')}  })` : 'z.object({})'],
    ['store', `table(${store.join(', ')})`],
    [
      'id',
      id === 'integer' ? "'integer'" : typeof id !== 'string' && printList(id.map(printQuoted)),
    ],
    ['ordered', id === 'uuid' && 'false'],
    ['timestamps', !described.hasDates && 'false'],
    ['operations', operations && printList(operations.map(printQuoted))],
    ['relation', printReferences(pair)],
    ['references', printReferences(references.filter(each => !pair.includes(each)))],
    ['unique', printSets(described.unique)],
    ['indexes', printSets(described.indexes)],
    ['fields', fields.length > 0 && printObject(fields)],
  ]
  const printed = lines.map(([option, text]) => (text ? `  ${option}: ${text},\n` : ''))
  return `${printNotes(described)}export const ${name} = defineCollection({\n${printed.join('')}})\n`
}

/** Prints what `columns` says of a property: a name alone, if it does not read as a type. */
function printMapping({ name, form }: DescribedMapping): string {
  if (form === undefined && name !== undefined && !('type' in readDeclared(name)))
    return printQuoted(name)
  const parts = [
    ...(name === undefined ? [] : [`name: ${printQuoted(name)}`]),
    ...(form === undefined ? [] : [`type: ${printQuoted(form)}`]),
  ]
  return `{ ${parts.join(', ')} }`
}

function printNotes({ notes, references, table, leftOut }: DescribedTable): string {
  const others = references
    .filter(({ onDelete }) => onDelete.startsWith('set '))
    .map(
      ({ property, onDelete }) =>
        `A deletion that would ${onDelete} ${property} in the database is refused here.`,
    )
  const own = [
    ...(table.isView ? ['A view: it is only read.'] : []),
    ...(leftOut.length > 0 ? [`Left out: ${leftOut.join(', ')}.`] : []),
  ]
  return [...own, ...notes, ...others].map(note => printNote(note)).join('')
}

function printReferences(references: readonly DescribedReference[]): string | false {
  const parts = references.map(({ property, collection, onDelete }) => {
    const cascade = `{ collection: ${printQuoted(collection)}, onDelete: 'cascade' }`
    return `${printName(property)}: ${onDelete === 'cascade' ? cascade : printQuoted(collection)}`
  })
  return parts.length > 0 && printObject(parts)
}

function printSets(sets: readonly DescribedSet[]): string | false {
  const parts = sets.map(set => {
    const names = ('where' in set ? set.fields : set).map(printQuoted)
    if (!('where' in set)) return names.length === 1 ? (names[0] ?? '') : `[${names.join(', ')}]`
    const conditions = Object.entries(set.where).map(
      ([property, condition]) => `${printName(property)}: ${printCondition(condition)}`,
    )
    return `{ fields: [${names.join(', ')}], where: { ${conditions.join(', ')} } }`
  })
  return parts.length > 0 && printList(parts)
}

function printCondition(condition: Scalar | { readonly exists: boolean }): string {
  if (typeof condition === 'object') return `{ exists: ${condition.exists} }`
  return typeof condition === 'string' ? printQuoted(condition) : String(condition)
}

const printObject = (parts: readonly string[]) => printShort(`{ ${parts.join(', ')} }`, parts, '  ')
const printList = (parts: readonly string[]) => printShort(`[${parts.join(', ')}]`, parts, '  ')

/** Prints parts on one line, or each on its own if that would be long. */
function printShort(line: string, parts: readonly string[], indent: string): string {
  if (line.length + 2 * indent.length + 12 <= WIDTH) return line
  const lines = parts.map(part => `${indent}  ${part},\n`).join('')
  return `${line.charAt(0)}\n${lines}${indent}${line.charAt(line.length - 1)}`
}
