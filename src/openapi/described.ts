// What is described: one method of a target, for OPTIONS or for a document.

import { isRead } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { Target } from '../model/routes.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'

/** One method of a target. */
export interface Described<T extends Target = Target> {
  readonly api: ApiDefinition
  readonly target: T
  readonly method: string
  /** The operation's or action's name. */
  readonly name: string
  /** The `operationId`, which no other one in the api has. */
  readonly id: string
  /** Where shared parts go. Absent for OPTIONS, whose answer has no place for them: it is shorter. */
  readonly components: Components | undefined
}

export const JSON_TYPE = 'application/json'

/**
 * Media types; the schema, which is of every one of them, stands with JSON, else with the first. A reference
 * stands with each: tools that generate types take a body without a schema for anything.
 */
export function buildContent(
  types: readonly string[],
  schema: object | undefined,
): Record<string, unknown> {
  const main = types.find(type => type === JSON_TYPE) ?? types[0]
  const stands = (type: string) => schema && (type === main || '$ref' in schema)
  return Object.fromEntries(types.map(type => [type, stands(type) ? { schema } : {}]))
}

/**
 * Builds a schema where it is used; in a document once, under a name.
 * @param build is given a name that no other schema of the document has.
 */
export function shareSchema(
  { components, id }: Described,
  name: string,
  owner: object,
  part: string,
  build: (id: string) => JsonSchema,
): object {
  return components
    ? components.refer('schemas', name, owner, () => build(name))
    : build(`${id}.${part}`)
}

/** Whether an operation takes an `Idempotency-Key`, which its store keeps with the items. */
export function takesKey({ target, method }: Described): boolean {
  if (target.kind === 'root' || isRead(method)) return false
  return target.collection.store.idempotency === 'store'
}
