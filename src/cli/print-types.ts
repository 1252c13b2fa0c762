// A module of types that `createClient` takes, of an OpenAPI document of this library.
import {
  type DescribedAction,
  type DescribedProperty,
  type FoundCollection,
  findCollections,
  listProperties,
} from './collections.ts'
import { findReference, getBelow, type JsonObject, listTexts, toList } from './json.ts'
import { CommandError } from './output/command-error.ts'
import { printComment, printName, printText, TypeNames } from './output/source-text.ts'
import { SchemaTypes } from './schema-types.ts'

const HEAD = `// The types of an API, of its OpenAPI document: \`npx rest-conventions types\` made them, and makes them anew.
import type { DescribedCollection } from 'rest-conventions/client'
`

/** The names that the module has besides those of components. */
const TAKEN = ['Api', 'Blob', 'Collections', 'DescribedCollection']

/** The operations of a collection for which nothing else is said. */
const OPERATIONS = ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete']

/** What a property includes. */
interface Inclusion {
  /** The name of the other collection. */
  readonly to: string
  readonly isMany: boolean
}

/** What is known when a collection is printed. */
interface Printing {
  readonly document: JsonObject
  readonly types: SchemaTypes
  /** Finds what a property of an item includes; `undefined` for one that every item has. */
  readonly findInclusion: (schema: unknown) => Inclusion | undefined
  /** The properties of the items of each collection. */
  readonly propertiesOf: ReadonlyMap<string, readonly DescribedProperty[]>
}

/**
 * Prints the types of an API. Whatever the document says, the module declares types, and imports those of this library.
 * @throws CommandError where no collection is described, and for types that would be too large
 */
export function printTypes(document: JsonObject): string {
  const { version, collections } = findCollections(document)
  if (collections.length === 0)
    throw new CommandError('The document describes no collection of an API of rest-conventions')
  const names = new TypeNames(TAKEN)
  const byItem = new Map(collections.map(({ item, name }) => [findReference(item), name]))
  const findInclusion = (schema: unknown): Inclusion | undefined => {
    const many = findReference(getBelow(schema, 'items'))
    const one = findReference(getBelow(schema, 'anyOf', 0))
    const to = getBelow(schema, 'readOnly') === true ? byItem.get(many ?? one) : undefined
    return to === undefined ? undefined : { to, isMany: many !== undefined }
  }
  const types = new SchemaTypes(document, names, schema => findInclusion(schema) !== undefined)
  const propertiesOf = new Map(
    collections.map(({ name, item }) => [name, listProperties(document, item)]),
  )
  const printing: Printing = { document, types, findInclusion, propertiesOf }
  const printed = collections.map(collection => {
    const lines = printCollection(collection, printing)
    const type = names.give(`${collection.name}-collection`)
    const comment = printComment(collection.description, '  ')
    return {
      declaration: `export interface ${type} {\n${lines}}`,
      line: `${comment}  ${printName(collection.name)}: DescribedCollection<${type}>\n`,
    }
  })
  const api = version === undefined ? 'Collections' : `{ ${version}: { collections: Collections } }`
  return [
    HEAD,
    ...types.declarations,
    ...printed.map(({ declaration }) => declaration),
    `export type Collections = {\n${printed.map(({ line }) => line).join('')}}`,
    `${printComment(getBelow(document, 'info', 'title'))}export interface Api {\n  ${version === undefined ? 'collections' : 'versions'}: ${api}\n}\n`,
  ].join('\n')
}

function printCollection(collection: FoundCollection, printing: Printing): string {
  const { name, item, create, replace, patch, id, files, operations, count } = collection
  const { document, types, propertiesOf } = printing
  const properties = propertiesOf.get(name) ?? []
  const input = create ?? replace ?? patch
  const taken = new Set(listProperties(document, patch).map(([each]) => each))
  const inputs = patch === undefined ? [] : listProperties(document, input).map(([each]) => each)
  const isFile = (each: string) => files.has(each.replace(/_(?:url|data)$/, '')) || files.has(each)
  const nullable = properties
    .filter(([, schema]) => toList(getBelow(schema, 'type')).includes('null'))
    .map(([each]) => each.replace(/_url$/, ''))
  const known = [...operations].filter(each => each !== 'search')
  const isUsual =
    known.length === OPERATIONS.length && OPERATIONS.every(each => operations.has(each))
  const by = count.find(parameter => getBelow(parameter, 'name') === 'by')
  const groups = listTexts(getBelow(by, 'schema', 'items', 'enum'))
  const key = findKey(collection, properties, document)
  const lines: readonly (readonly [string, string | false])[] = [
    ['name', printText(name)],
    ['item', types.print(item)],
    ['input', input !== undefined && types.print(input, nullable)],
    ['id', getBelow(id, 'schema', 'type') === 'integer' && printText('integer')],
    ['key', key !== 'id' && printText(key)],
    ['immutable', printTexts(inputs.filter(each => !taken.has(each)))],
    ['files', printTexts(properties.map(([each]) => each).filter(isFile))],
    ['operations', !isUsual && printTexts(known)],
    ['search', operations.has('search') && 'true'],
    ['groups', printTexts(groups.map(each => each.replace(/:.*/, '')))],
    ...printRelations(name, printing),
    ['actions', printActions(collection, types)],
  ]
  return lines.map(([each, type]) => (type === false ? '' : `  ${each}: ${type}\n`)).join('')
}

/** Prints the union of texts; none without any. */
function printTexts(texts: readonly string[]): string | false {
  return texts.length > 0 && [...new Set(texts)].map(printText).join(' | ')
}

/** Finds the name of the id: the only read-only property that is no date, or what only a create takes. */
function findKey(
  { create, replace }: FoundCollection,
  properties: readonly DescribedProperty[],
  document: JsonObject,
): string {
  if (properties.length === 0 || properties.some(([name]) => name === 'id')) return 'id'
  const replaced = listProperties(document, replace)
  const isNeeded = (name: string) => replaced.some(([each, , needed]) => each === name && needed)
  const made = properties.find(
    ([, schema, isThere]) =>
      isThere &&
      getBelow(schema, 'readOnly') === true &&
      getBelow(schema, 'format') !== 'date-time',
  )
  const chosen = listProperties(document, create).find(
    ([name, , isThere]) => isThere && replaced.length > 0 && !isNeeded(name),
  )
  return (chosen ?? made)?.[0] ?? 'id'
}

/** Prints the collections that properties refer to. Those of parents include the items that refer to them. */
function printRelations(name: string, { propertiesOf, findInclusion }: Printing) {
  const listRelations = (of: string) =>
    (propertiesOf.get(of) ?? []).flatMap(([property, schema, isThere]) => {
      const relation = isThere ? undefined : findInclusion(schema)
      return relation ? [{ property, ...relation }] : []
    })
  const isParent = (other: string) =>
    listRelations(other).some(({ to, isMany }) => isMany && to === name)
  const print = (isWanted: (to: string) => boolean) => {
    const found = listRelations(name).filter(({ to, isMany }) => !isMany && isWanted(to))
    // The options of a union may have the same.
    const byName = new Map(found.map(({ property, to }) => [`${property}_id`, to]))
    const lines = [...byName].map(([field, to]) => `${printName(field)}: ${printText(to)}`)
    return lines.length > 0 && `{ ${lines.join('; ')} }`
  }
  return [
    ['parents', print(isParent)],
    ['references', print(to => !isParent(to))],
  ] as const
}

function printActions({ actions, item }: FoundCollection, types: SchemaTypes): string | false {
  if (actions.size === 0) return false
  const itself = findReference(item)
  const print = ({ on, input, output, method }: DescribedAction) => {
    const isItem = itself !== undefined && findReference(output) === itself
    const parts: readonly (readonly [string, string | false])[] = [
      ['on', printText(on)],
      ['input', input !== undefined && types.print(input)],
      ['output', output !== undefined && (isItem ? printText('item') : types.print(output))],
      ['method', method !== 'POST' && printText(method)],
    ]
    const texts = parts.flatMap(([name, type]) => (type === false ? [] : [`${name}: ${type}`]))
    return `{ ${texts.join('; ')} }`
  }
  const lines = [...actions].map(
    ([name, action]) =>
      `${printComment(action.description, '    ')}    ${printName(name)}: ${print(action)}\n`,
  )
  return `{\n${lines.join('')}  }`
}
