// One method of a target, as OPTIONS or a document describes it.

import { isRead } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { Target } from '../model/routes.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'

/** One method of a target. */
export interface Described {
  readonly api: ApiDefinition
  readonly target: Target
  readonly method: string
  /** The name of the operation or action. */
  readonly name: string
  /** The `operationId`, unique in the api. */
  readonly id: string
  readonly components: Components
}

export const JSON_TYPE = 'application/json'

/**
 * Builds the content of a body or an answer. The schema, which is that of every media type, stands with
 * JSON, else with the first. A reference stands with each: tools that generate types take a body without
 * a schema for anything.
 */
export function buildContent(
  types: readonly string[],
  schema: object | undefined,
): Record<string, unknown> {
  const main = types.find(type => type === JSON_TYPE) ?? types[0]
  const hasSchema = (type: string) => schema && (type === main || '$ref' in schema)
  return Object.fromEntries(types.map(type => [type, hasSchema(type) ? { schema } : {}]))
}

/**
 * Builds a schema where it is used; in a document once, under a name.
 * @param build gets a name that no other schema of an answer to OPTIONS has.
 */
export function shareSchema(
  { components, id }: Described,
  name: string,
  owner: object,
  part: string,
  build: (id: string) => JsonSchema,
): object {
  return components.refer('schemas', name, owner, () => build(`${id}.${part}`))
}

/** Whether an operation takes an `Idempotency-Key`, which its store keeps with the items. */
export function takesKey({ target, method }: Described): boolean {
  return !isRead(method) && target.collection?.store.idempotency === 'store'
}
