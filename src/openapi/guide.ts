// `/llms.txt`: an api in one short text, for language models and for people in a hurry (llmstxt.org).

import { CollectionScope, seeRelations } from '../model/compile/relations.ts'
import { type Route, toUriTemplate } from '../model/compile/routes.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../model/types/definition.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { OPERATOR_WORDS } from '../store/operators.ts'
import { hasBatch } from './batch.ts'
import { listPaths, listSeen, OPENAPI_PATH, type PathOptions } from './document.ts'
import { describeSchemes } from './security.ts'

export const GUIDE_PATH = '/llms.txt'

/** Prints the guide up to the address of the api's root, and behind it. */
export function printGuide(
  api: ApiDefinition,
  options: PathOptions,
): { readonly head: string; readonly tail: string } {
  const { info } = api
  const version = options.version ?? api.defaultVersion
  const collections = listSeen(version, options.see)
  const known = new Set(collections.map(({ name }) => name))
  const root = version.name === '' ? '' : `/${version.name}`
  const routes = groupRoutes(api, options)
  const description = info.description === undefined ? '' : `\n> ${info.description}\n`
  const tail = [
    '',
    `The whole, as OpenAPI: ${root}${OPENAPI_PATH}?formats=json. It is short for programs; without \`formats\` it has all.`,
    '',
    ...listRules(api, version, collections),
    ...collections.flatMap(each =>
      describeCollection(each, routes.get(each.name) ?? [], options, known),
    ),
    '',
  ]
  return { head: `# ${info.title}\n${description}\nAddress: `, tail: tail.join('\n') }
}

function listRules(
  api: ApiDefinition,
  version: VersionDefinition,
  collections: readonly CollectionDefinition[],
): string[] {
  const schemes = [...describeSchemes(api.schemes).keys()]
  const hasRelations = collections.some(({ relations }) => relations.size > 0)
  const hasFiles = collections.some(({ blobs }) => blobs !== undefined)
  const hasGroups = collections.some(({ groups }) => groups.size > 0)
  return [
    '## Requests',
    '',
    '- Bodies and answers are JSON: send `Content-Type: application/json`.',
    ...(schemes.length > 0 ? [`- Credentials: \`Authorization\` (${schemes.join(', ')}).`] : []),
    '- A list is an array. `?sort=-price,name&limit=25&fields=id,name`; `Link: rel="next"` is the next page, `X-Result-Count` the total.',
    `- Filters are parameters: \`?color=red&color=blue&price[gte]=10&model.name[prefix]=Cl\`. Operators: ${OPERATOR_WORDS.join(', ')}.`,
    '- `?where={"or":[{"color":"red"},{"price":{"lt":1000}}]}` combines filters by or, and, not.',
    ...(hasRelations ? ['- `?include=` adds the related items that a collection names.'] : []),
    ...(hasGroups ? ['- `/count?by=color&sum=price` counts by groups.'] : []),
    '- POST creates: 201 with `Location`. PATCH changes the properties that are sent, PUT replaces the item. Both answer 303 to the item; `Prefer: return=representation` gives it at once.',
    '- `If-Match: <ETag of the read>` on a write: 412 where somebody changed the item meanwhile. `Idempotency-Key` makes a POST safe to repeat.',
    ...(hasFiles ? ['- An item with a file is sent as `multipart/form-data`.'] : []),
    ...(hasBatch(api, version) ? ['- `POST /batch` does several changes as one.'] : []),
    '- Errors: `{"errors":[{"message","code","field","type"}]}`; all problems of a request at once.',
    '',
    'In the items below `*` is set by the server, `?` may be absent, `= value` is a default, `→` names the collection of an id.',
    '',
  ]
}

/** Lists the routes of each collection by its name, without those of files. */
function groupRoutes(api: ApiDefinition, options: PathOptions): ReadonlyMap<string, Route[]> {
  const groups = new Map<string, Route[]>()
  for (const route of listPaths(api, { ...options, isLight: true })) {
    const { collection, kind } = route.target
    if (!collection || kind === 'blob') continue
    const group = groups.get(collection.name) ?? []
    group.push(route)
    groups.set(collection.name, group)
  }
  return groups
}

function describeCollection(
  collection: CollectionDefinition,
  routes: readonly Route[],
  options: PathOptions,
  known: ReadonlySet<string>,
): string[] {
  const { name, description, actions } = collection
  const paths = routes.map(({ pattern, methods }) => {
    const listed = [...methods].filter(([method]) => method !== 'HEAD' && method !== 'QUERY')
    const words = listed.map(([method, operation]) => {
      const isPlain = !actions.has(operation)
      return isPlain ? method : `${method} ${actions.get(operation)?.description ?? operation}`
    })
    return `- ${toUriTemplate(pattern)} ${words.join(', ')}`
  })
  const inputs = [...actions.values()].flatMap(({ name: action, inputFields }) =>
    inputFields ? [`Input of ${action}: ${printFields(inputFields)}`] : [],
  )
  const included = [...new CollectionScope(collection, seeRelations(options.see)).relations.keys()]
  return [
    `## ${name}`,
    '',
    ...(description === undefined ? [] : [description, '']),
    ...paths,
    '',
    `Item: ${printItem(collection, name => known.has(name))}`,
    ...inputs,
    ...(included.length > 0 ? [`Include: ${included.join(', ')}`] : []),
    '',
  ]
}

/** Prints the properties of an item, those that only the server sets with a star. */
function printItem(
  collection: CollectionDefinition,
  isKnown: (collection: string) => boolean,
): string {
  const { readableFields, inputFields, references } = collection
  const all = new Map([...readableFields, ...inputFields])
  const printed = [...all].map(([name, field]) => {
    const to = references.get(name)
    const reference = to && isKnown(to.collection) ? ` → ${to.collection}` : ''
    return printField(name, field, inputFields.has(name) ? '' : '*') + reference
  })
  return `{ ${printed.join(', ')} }`
}

function printFields(fields: Fields): string {
  return `{ ${[...fields].map(([name, field]) => printField(name, field)).join(', ')} }`
}

function printField(name: string, field: Field, mark = ''): string {
  const hasDefault = field.default !== undefined && mark === ''
  const suffix = mark || (field.optional && !hasDefault ? '?' : '')
  const value = hasDefault ? ` = ${JSON.stringify(field.default)}` : ''
  return `${name}${suffix}: ${printType(field)}${value}`
}

function printType(field: Field): string {
  const { kind, choices, element, properties, nullable, uuid } = field
  const type = () => {
    if (choices) return choices.map(choice => JSON.stringify(choice)).join('|')
    if (properties) return printFields(properties)
    if (kind === 'array') return `${element ? printType(element) : 'any'}[]`
    if (kind === 'record') return `{ [name]: ${element ? printType(element) : 'any'} }`
    if (kind === 'blob') return 'file'
    return uuid ? 'uuid' : kind
  }
  return type() + (nullable ? '|null' : '')
}
