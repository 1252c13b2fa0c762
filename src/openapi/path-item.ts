// What each method of a target takes and gives, as an OpenAPI 3.1 path item: read by OPTIONS, and by
// whatever else describes the api.

import type { Format } from '../formats/format.ts'
import type { HeaderList } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { DOWNLOAD, type Match, type Target } from '../model/routes.ts'
import { readTypes } from '../negotiate.ts'
import type { Item } from '../schema/values.ts'
import type { Components } from './components.ts'
import type { Described } from './described.ts'
import { buildHeaderParameters } from './headers.ts'
import { buildRequest, PATCH_TYPES } from './requests.ts'
import { buildResponses } from './responses.ts'

/** The methods of a target in the order of printing, OPTIONS last. */
export function allowedMethods(methods: ReadonlyMap<string, string>): string {
  return [...methods.keys(), 'OPTIONS'].join(', ')
}

/** What OPTIONS says in headers: the methods, and what bodies may be (`Accept-Patch`: RFC 5789 §3.1). */
export function methodHeaders(
  methods: ReadonlyMap<string, string>,
  formats: readonly Format[],
): HeaderList {
  const allowed = allowedMethods(methods)
  const headers = ['Allow', allowed, 'Access-Control-Allow-Methods', allowed]
  const types = readTypes(formats)
  if (methods.has('POST')) headers.push('Accept-Post', types.join(', '))
  if (methods.has('PATCH')) headers.push('Accept-Patch', [...types, ...PATCH_TYPES].join(', '))
  return headers
}

const descriptions = new WeakMap<Match['methods'], Item>()

/** The path item of a target for OPTIONS; made once for each route. */
export function describeTarget(
  { target, methods }: Pick<Match, 'target' | 'methods'>,
  api: ApiDefinition,
): Item {
  const known = descriptions.get(methods)
  if (known !== undefined) return known
  const description = toPlainItem(buildPathItem({ target, methods }, api))
  descriptions.set(methods, description)
  return description
}

interface PathItemOptions {
  /** Where shared parts go. */
  readonly components?: Components
  /** Gives more properties of the operation with this name. */
  readonly extend?: (name: string) => object
}

export function buildPathItem(
  { target, methods }: Pick<Match, 'target' | 'methods'>,
  api: ApiDefinition,
  { components, extend }: PathItemOptions = {},
): object {
  const entries = [...methods].map(([method, name]) => {
    const id = operationId(target, method, name)
    const operation = describeMethod({ target, api, method, name, id, components })
    return [method.toLowerCase(), { ...operation, ...extend?.(name) }]
  })
  return { summary: summaryOf(target), ...Object.fromEntries(entries) }
}

function summaryOf(target: Target): string {
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
  [DOWNLOAD]: 'The content, whole or in ranges',
  describe: 'The available resources',
}

function describeMethod(described: Described): Record<string, unknown> {
  const { target, name, id } = described
  const action = target.kind === 'root' ? undefined : target.action
  const takes =
    target.kind === 'root'
      ? { parameters: buildHeaderParameters(described) }
      : buildRequest({ ...described, target })
  return {
    operationId: id,
    summary: action ? (action.description ?? name) : SUMMARIES[name],
    ...(target.version?.deprecated !== undefined && { deprecated: true }),
    ...takes,
    responses: buildResponses(described),
  }
}

/** Unique in the api: its parts are names without a dot, and as many as the kind of the target has. */
function operationId(target: Target, method: string, name: string): string {
  const parts = target.version?.name ? [target.version.name] : []
  if (method === 'HEAD') parts.push('head')
  parts.push(target.kind === 'action' ? 'act' : name)
  if (target.kind === 'root') return parts.join('.')
  const { parent, collection, action, property } = target
  if (parent) parts.push(parent.collection.name)
  parts.push(collection.name)
  if (action) parts.push(action.name)
  if (property !== undefined) parts.push(property)
  return parts.join('.')
}

/** Keeps what JSON keeps: no `undefined`, no functions. */
export function toPlainItem(value: object): Item {
  return JSON.parse(JSON.stringify(value))
}
