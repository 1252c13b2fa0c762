// What descriptions are made of: one method of a target, and the parts that several operations share.

import { isRead } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { Target } from '../model/routes.ts'
import type { JsonSchema } from '../schema/json-schema.ts'

/** One method of a target. */
export interface MethodDescription {
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
  { components, id }: MethodDescription,
  name: string,
  owner: object,
  part: string,
  build: (id: string) => JsonSchema,
): object {
  return components.refer('schemas', name, owner, () => build(`${id}.${part}`))
}

/** Whether an operation takes an `Idempotency-Key`, which its store keeps with the items. */
export function takesKey({ target, method }: MethodDescription): boolean {
  return !isRead(method) && target.collection?.store.idempotency === 'store'
}

// --- Shared parts --------------------------------------------------------------------------------

type Kind = 'schemas' | 'parameters' | 'headers' | 'responses'

/** The shared parts of a document. */
export class Components {
  /** The owners of the parts, by their kind and name. */
  readonly #owners = new Map<string, unknown>()
  readonly #built: { readonly [K in Kind]: Record<string, object> } = {
    schemas: {},
    parameters: {},
    headers: {},
    responses: {},
  }

  /** Whether each part stands where it is used, as in the answer to OPTIONS. */
  readonly isInline: boolean

  constructor(isInline = false) {
    this.isInline = isInline
  }

  /**
   * Refers to a part, which is built where it is new.
   * @param owner what the part describes: parts of two owners with one name are told apart by a number.
   */
  refer(kind: Kind, wanted: string, owner: unknown, build: () => object): object {
    if (this.isInline) return build()
    const plain = wanted.replace(/[^\w.-]/g, '_')
    const isTaken = (name: string) => (this.#owners.get(`${kind}/${name}`) ?? owner) !== owner
    let name = plain
    for (let number = 2; isTaken(name); number++) name = `${plain}${number}`
    const key = `${kind}/${name}`
    if (!this.#owners.has(key)) {
      this.#owners.set(key, owner)
      this.#built[kind][name] = kind === 'schemas' ? this.#hoist(name, { ...build() }) : build()
    }
    return { $ref: `#/components/${key}` }
  }

  /** Makes the definitions of a recursive schema components: many tools do not follow an `$id`. */
  #hoist(name: string, { $id: _id, $defs, ...schema }: JsonSchema): object {
    if (!$defs) return schema
    const renamed = (part: unknown) =>
      JSON.parse(JSON.stringify(part), (key, value) =>
        key === '$ref' && typeof value === 'string'
          ? value.replace('#/$defs/', `#/components/schemas/${name}.`)
          : value,
      )
    for (const [each, definition] of Object.entries($defs))
      this.#built.schemas[`${name}.${each}`] = renamed(definition)
    return renamed(schema)
  }

  /** Lists the parts by their kinds. */
  build(): Record<string, object> {
    return Object.fromEntries(
      Object.entries(this.#built).filter(([, parts]) => Object.keys(parts).length > 0),
    )
  }
}

/** Prints a name as a type of a program would be called: `CarModel` for `car_model`. */
export function toTypeName(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, first: string) =>
    first.toUpperCase(),
  )
}
