// The OpenAPI 3.1 path item of a target, for OPTIONS and for the document.

import { findAccessRules } from '../auth/access.ts'
import { memoize } from '../base/memoize.ts'
import type { Item } from '../base/values.ts'
import type { Format } from '../formats/format.ts'
import type { HeaderList } from '../http/message.ts'
import type { Route } from '../model/compile/routes.ts'
import { UPSERT } from '../model/compile/unique-keys.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/types/definition.ts'
import { readTypes } from '../negotiate.ts'
import { QUERY_TYPES } from '../query/body.ts'
import { takesArrays } from '../store/writes.ts'
import { Components } from './components.ts'
import { createsItems, type MethodDescription } from './method.ts'
import { printOperationId, printSummary } from './operation-names.ts'
import { buildRequest, PATCH_TYPES } from './requests.ts'
import { buildResponses } from './responses.ts'
import { describeRules } from './security.ts'

/** Prints the methods of a target as `Allow` has them, OPTIONS last. */
export function allowedMethods(methods: ReadonlyMap<string, string>): string {
  return [...methods.keys(), 'OPTIONS'].join(', ')
}

/** Builds the headers of OPTIONS: methods, and media types of bodies (`Accept-Patch`: RFC 5789 §3.1). */
export function methodHeaders(
  methods: ReadonlyMap<string, string>,
  formats: readonly Format[],
  collection?: CollectionDefinition,
): HeaderList {
  const allowed = allowedMethods(methods)
  const headers = ['Allow', allowed, 'Access-Control-Allow-Methods', allowed]
  const types = readTypes(formats)
  const post = methods.get('POST')
  if (post !== undefined) {
    const takesItems = post === 'create' && collection && takesArrays(collection.store)
    headers.push('Accept-Post', readTypes(formats, takesItems).join(', '))
  }
  if (methods.has('QUERY')) headers.push('Accept-Query', QUERY_TYPES)
  if (methods.has('PATCH')) headers.push('Accept-Patch', [...types, ...PATCH_TYPES].join(', '))
  return headers
}

/** Describes a route for OPTIONS, once. */
export const describeRoute = memoize((api: ApiDefinition) =>
  memoize((route: Route) =>
    toPlainItem(buildPathItem(api, route, new Components({ isInline: true }))),
  ),
)

/** Builds the operations of a route. HEAD is where GET is. */
export function buildPathItem(
  api: ApiDefinition,
  { target, methods, pattern }: Route,
  components: Components,
): Record<string, object> {
  const entries = [...methods].flatMap(([method, name]) => {
    // Generated clients would have a second function for each create and replacement.
    if (method === 'HEAD' || (name === UPSERT && components.isLight)) return []
    const id = printOperationId(target, pattern, method, name)
    const described = { api, target, method, name, id, components }
    return [[method.toLowerCase(), describeMethod(described)]]
  })
  return Object.fromEntries(entries)
}

function describeMethod(described: MethodDescription): Record<string, unknown> {
  const { api, target, name, id, method, components } = described
  const { collection, action, version } = target
  return {
    operationId: id,
    summary: printSummary(target, method, name),
    description: action ? action.description : describe(described),
    deprecated: version?.deprecated !== undefined || undefined,
    ...(!components.isInline && { tags: [collection?.name ?? API_TAG] }),
    ...buildRequest(described),
    responses: buildResponses(described),
    ...(!components.isInline &&
      api.schemes.length > 0 && {
        security: describeRules(findAccessRules(api, collection, name), api.schemes),
      }),
  }
}

/** The tag of what is of no collection, where none has its name. */
export const API_TAG = 'API'

function describe(described: MethodDescription): string | undefined {
  const { api, name } = described
  if (!createsItems(described)) return DESCRIPTIONS[name]
  return `An array of at most ${api.limits.arrayItems} items is created whole, or not at all`
}

/** What a summary does not say. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  replace: 'What is absent is removed or takes its default',
  upsert: 'The properties of a unique set name the item: all of a set, and no other parameter',
  patchMany: 'All items that match the filters, or none',
  deleteMany: 'All items that match the filters, or none',
}

/** Converts a value to plain JSON, without `undefined`. */
export function toPlainItem(value: object): Item {
  return JSON.parse(JSON.stringify(value))
}
