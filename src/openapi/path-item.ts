// The OpenAPI 3.1 path item of a target, for OPTIONS and for the document.

import { findAccessRules } from '../auth/access.ts'
import { memoize } from '../base/memoize.ts'
import type { Item } from '../base/values.ts'
import type { Format } from '../formats/format.ts'
import type { HeaderList } from '../http/message.ts'
import { DOWNLOAD, type Route, type RouteTarget } from '../model/compile/routes.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import { readTypes } from '../negotiate.ts'
import { QUERY_TYPES } from '../query/body.ts'
import { Components, type MethodDescription } from './components.ts'
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
): HeaderList {
  const allowed = allowedMethods(methods)
  const headers = ['Allow', allowed, 'Access-Control-Allow-Methods', allowed]
  const types = readTypes(formats)
  if (methods.has('POST')) headers.push('Accept-Post', types.join(', '))
  if (methods.has('QUERY')) headers.push('Accept-Query', QUERY_TYPES)
  if (methods.has('PATCH')) headers.push('Accept-Patch', [...types, ...PATCH_TYPES].join(', '))
  return headers
}

/** Describes a route for OPTIONS, once. */
export const describeRoute = memoize((api: ApiDefinition) =>
  memoize((route: Route) => toPlainItem(buildPathItem(api, route, new Components(true)))),
)

export function buildPathItem(
  api: ApiDefinition,
  { target, methods }: Route,
  components: Components,
): object {
  const entries = [...methods].map(([method, name]) => {
    const id = operationId(target, method, name)
    const described = { api, target, method, name, id, components }
    return [method.toLowerCase(), describeMethod(described)]
  })
  return { summary: summaryOf(target), ...Object.fromEntries(entries) }
}

function summaryOf(target: RouteTarget): string {
  if (target.kind === 'root') return 'The resources of the api'
  const { collection, parent, kind, action } = target
  const place = parent ? `${collection.name} of one ${parent.collection.itemName}` : collection.name
  if (kind === 'item') return `One ${collection.itemName}`
  if (kind === 'blob') return `The ${target.property} of one ${collection.itemName}`
  if (kind === 'count') return `The number of ${place}`
  return action?.description ?? collection.description ?? `The ${place}`
}

const SUMMARIES: Readonly<Record<string, string>> = {
  list: 'A page of the list',
  search: 'A page of what a text search finds',
  count: 'The total number of items',
  read: 'One item',
  create: 'Creates an item',
  replace: 'Replaces an item: what is absent is removed or takes its default',
  patch: 'Changes an item by a JSON Merge Patch or a JSON Patch',
  delete: 'Removes an item',
  patchMany: 'Changes all items that match the filters, or none',
  deleteMany: 'Removes all items that match the filters, or none',
  [DOWNLOAD]: 'The content, whole or in ranges',
  describe: 'The available resources',
}

function describeMethod(described: MethodDescription): Record<string, unknown> {
  const { api, target, name, id, components } = described
  const { collection, action, version } = target
  return {
    operationId: id,
    summary: action ? (action.description ?? name) : SUMMARIES[name],
    deprecated: version?.deprecated !== undefined || undefined,
    ...buildRequest(described),
    responses: buildResponses(described),
    ...(!components.isInline && {
      ...(collection && { tags: [collection.name] }),
      ...(api.schemes.length > 0 && {
        security: describeRules(findAccessRules(api, collection, name), api.schemes),
      }),
    }),
  }
}

/** Builds an `operationId`. It is unique: its parts have no dot, and each kind of target has its own number of them. */
function operationId(target: RouteTarget, method: string, name: string): string {
  const { version, parent, collection, action, property } = target
  const parts = [
    version?.name,
    method === 'HEAD' && 'head',
    method === 'QUERY' && 'query',
    action ? 'act' : name,
    parent?.collection.name,
    collection?.name,
    action?.name,
    property,
  ]
  return parts.filter(part => part).join('.')
}

/** Converts a value to plain JSON, without `undefined`. */
export function toPlainItem(value: object): Item {
  return JSON.parse(JSON.stringify(value))
}
