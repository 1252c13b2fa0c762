// One method of a target, as it is described.

import { isSafe } from '../http/methods.ts'
import type { RouteTarget } from '../model/compile/routes.ts'
import { listArrayKeys } from '../model/compile/unique-keys.ts'
import type {
  ActionDefinition,
  ApiDefinition,
  CollectionDefinition,
} from '../model/types/definition.ts'
import { FILTER_OPERATIONS } from '../model/types/operation.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import { takesArrays } from '../store/writes.ts'
import type { Components, Naming } from './components.ts'

/** One method of a target. */
export interface MethodDescription {
  readonly api: ApiDefinition
  readonly target: RouteTarget
  readonly method: string
  /** The name of the operation or action. */
  readonly name: string
  /** The `operationId`, unique in its version. */
  readonly id: string
  readonly components: Components
}

export const JSON_TYPE = 'application/json'

/** The media types whose bodies are texts of their own, and no values of a schema. */
const TEXTS = /^text\/|[/+]xml$|ndjson$/

/**
 * Builds the content of a body or an answer. The schema stands with JSON, else with the first media type. A
 * reference stands with each that has such values: tools that generate types take a body without a schema
 * for anything.
 */
export function buildContent(
  types: readonly string[],
  schema: object | undefined,
): Record<string, object> {
  const main = types.find(type => type === JSON_TYPE) ?? types[0]
  const contentOf = (type: string) => {
    if (type !== main && TEXTS.test(type)) return { schema: { type: 'string' } }
    return schema && (type === main || '$ref' in schema) ? { schema } : {}
  }
  return Object.fromEntries(types.map(type => [type, contentOf(type)]))
}

/** A schema of a collection or an action, and what it is part of: `body`, `200`. */
interface SchemaNaming extends Naming {
  readonly owner: CollectionDefinition | ActionDefinition
  readonly part: string
}

/**
 * Builds a schema where it is used; in a document once, under a name.
 * @param build gets a name that no other schema of an answer to OPTIONS has.
 */
export function shareSchema(
  { components, id, target }: MethodDescription,
  name: string,
  { part, ...naming }: SchemaNaming,
  build: (id: string) => JsonSchema,
): JsonSchema {
  const { owner } = naming
  const { collection } = target
  const scope = collection && owner !== collection ? `${collection.name}.${owner.name}` : owner.name
  return components.refer('schemas', name, { scope, ...naming }, () => build(`${id}.${part}`))
}

/** Whether an operation creates lists of items too, which a light document leaves out. */
export function createsItems({ target, name, components }: MethodDescription): boolean {
  const { collection } = target
  const creates = name === 'create' && collection !== undefined
  return creates && !components.isLight && takesArrays(collection.store)
}

/** Whether schemas have such arrays: where no other change is whole, types would say that every POST may answer one. */
export function hasArrays(described: MethodDescription): boolean {
  return described.api.batch && createsItems(described)
}

/** Whether an array may also change items that exist. Only its parameters say so, where schemas have no arrays. */
export function upsertsArrays(described: MethodDescription): boolean {
  const { collection } = described.target
  return createsItems(described) && collection !== undefined && listArrayKeys(collection).length > 0
}

/** One value, or an array of them. */
export function orArray(schema: object, maxItems?: number): object {
  // A recursive schema has an `$id`, which may stand once.
  const items = '$id' in schema ? { $ref: schema.$id } : schema
  return { anyOf: [schema, { type: 'array', items, ...(maxItems && { maxItems }) }] }
}

/** Whether an operation is on all items that match a filter. */
export function isByFilter({ target, name }: Pick<MethodDescription, 'target' | 'name'>): boolean {
  return !target.action && FILTER_OPERATIONS.some(each => each === name)
}

/** Whether an operation takes an `Idempotency-Key`, which its store keeps with the items. */
export function takesKey({ target, method }: MethodDescription): boolean {
  return !isSafe(method) && target.collection?.store.idempotency === 'store'
}
