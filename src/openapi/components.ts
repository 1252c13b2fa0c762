// What descriptions are made of: one method of a target, and the parts that several operations share.

import { isObject } from '../base/values.ts'
import { isSafe } from '../http/methods.ts'
import type { SeeRelation } from '../model/compile/relations.ts'
import type { RouteTarget } from '../model/compile/routes.ts'
import type {
  ActionDefinition,
  ApiDefinition,
  CollectionDefinition,
} from '../model/types/definition.ts'
import { FILTER_OPERATIONS } from '../model/types/operation.ts'
import type { JsonSchema } from '../schema/json-schema.ts'

/** One method of a target. */
export interface MethodDescription {
  readonly api: ApiDefinition
  readonly target: RouteTarget
  readonly method: string
  /** The name of the operation or action. */
  readonly name: string
  /** The `operationId`, unique in the api. */
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
): Record<string, unknown> {
  const main = types.find(type => type === JSON_TYPE) ?? types[0]
  const contentOf = (type: string) => {
    if (type !== main && TEXTS.test(type)) return { schema: { type: 'string' } }
    return schema && (type === main || '$ref' in schema) ? { schema } : {}
  }
  return Object.fromEntries(types.map(type => [type, contentOf(type)]))
}

/**
 * Builds a schema where it is used; in a document once, under a name.
 * @param owner what it describes.
 * @param build gets a name that no other schema of an answer to OPTIONS has.
 */
export function shareSchema(
  { components, id, target }: MethodDescription,
  name: string,
  owner: CollectionDefinition | ActionDefinition,
  part: string,
  build: (id: string) => JsonSchema,
): object {
  const { collection } = target
  const scope = collection && owner !== collection ? `${collection.name}.${owner.name}` : owner.name
  return components.refer('schemas', name, owner, () => build(`${id}.${part}`), scope)
}

/**
 * Whether the document has arrays that are created. Where no other change is whole it leaves them out: types made of it
 * would say that every POST may answer an array.
 */
export function takesArrays({ batch }: ApiDefinition, { store }: CollectionDefinition): boolean {
  return batch && store.transaction !== undefined && store.database !== undefined
}

/** One value, or an array of them. */
export function orArray(schema: object, maxItems?: number): object {
  return { anyOf: [schema, { type: 'array', items: schema, ...(maxItems && { maxItems }) }] }
}

/** Whether an operation is on all items that match a filter. */
export function isByFilter({ target, name }: Pick<MethodDescription, 'target' | 'name'>): boolean {
  return !target.action && FILTER_OPERATIONS.some(each => each === name)
}

/** Whether an operation takes an `Idempotency-Key`, which its store keeps with the items. */
export function takesKey({ target, method }: MethodDescription): boolean {
  return !isSafe(method) && target.collection?.store.idempotency === 'store'
}

// --- Shared parts --------------------------------------------------------------------------------

type ComponentKind = 'schemas' | 'parameters' | 'headers' | 'responses'

/** A part that is shared, and what it wants to be called. */
interface Shared {
  readonly owner: unknown
  readonly wanted: string
  readonly scope: string
  part: object
}

/** The shared parts of a document. */
export class Components {
  /** The parts by their kinds and by the names that they want. */
  readonly #shared: { readonly [K in ComponentKind]: Map<string, Shared[]> } = {
    schemas: new Map(),
    parameters: new Map(),
    headers: new Map(),
    responses: new Map(),
  }

  /** Whether each part stands where it is used, as in the answer to OPTIONS. */
  readonly isInline: boolean

  /** Finds the collection of a relation as the reader of the description sees it; `undefined` where it is hidden. */
  readonly see: SeeRelation

  /** @param see returns a collection as the reader sees it. Default: whole, and hidden where it hides that it exists. */
  constructor(
    isInline = false,
    see = (collection: CollectionDefinition): CollectionDefinition | undefined =>
      collection.hideExistence ? undefined : collection,
  ) {
    this.isInline = isInline
    this.see = ({ many, collection }) =>
      collection.operations.has(many ? 'list' : 'read') ? see(collection) : undefined
  }

  /**
   * Refers to a part, which is built where it is new. The reference is read when all parts are there: only
   * then it is known which names two of them want, and no name depends on the order.
   * @param owner what the part describes.
   * @param scope stands before the names that parts of several owners want.
   */
  refer(
    kind: ComponentKind,
    wanted: string,
    owner: unknown,
    build: () => object,
    scope = '',
  ): JsonSchema {
    if (this.isInline) return { ...build() }
    const plain = wanted.replace(UNUSUAL, '_')
    const group = this.#shared[kind].get(plain) ?? []
    this.#shared[kind].set(plain, group)
    const isSame = (each: Shared) => each.owner === owner && each.wanted === wanted
    const known = group.find(isSame)
    const shared: Shared = known ?? { owner, wanted, scope, part: {} }
    if (!known) {
      // Before it is built: it may refer to itself.
      group.push(shared)
      shared.part = build()
    }
    return {
      get $ref() {
        return `#/components/${kind}/${nameOf(shared, group)}`
      },
    }
  }

  /** Lists the parts by their kinds. */
  build(): Record<string, object> {
    const kinds = Object.entries(this.#shared).map(([kind, groups]) => {
      const parts = [...groups.values()].flatMap(group =>
        group.flatMap(shared => {
          const name = nameOf(shared, group)
          return kind === 'schemas' ? hoist(name, { ...shared.part }) : [[name, shared.part]]
        }),
      )
      return [kind, Object.fromEntries(parts)] as const
    })
    return Object.fromEntries(kinds.filter(([, parts]) => Object.keys(parts).length > 0))
  }
}

/** What the name of a component may not have. */
const UNUSUAL = /[^\w.-]/g

function nameOf({ wanted, scope }: Shared, group: readonly Shared[]): string {
  if (group.length === 1) return wanted.replace(UNUSUAL, '_')
  const toHex = (sign: string) => `-${sign.codePointAt(0)?.toString(16)}-`
  return `${scope}.${wanted.replace(UNUSUAL, toHex)}`
}

/** Makes the definitions of a recursive schema components: many tools do not follow an `$id`. */
function hoist(name: string, shared: JsonSchema): [string, object][] {
  const { $id: _id, $defs, ...schema } = shared
  if (!$defs) return [[name, schema]]
  const names = nameDefinitions(name, schema, $defs)
  const renamed = (part: unknown) =>
    JSON.parse(JSON.stringify(part), (key, value) =>
      key === '$ref' && names.has(value) ? `#/components/schemas/${names.get(value)}` : value,
    )
  const definitions = [...names].map(([ref, each]): [string, object] => [
    each,
    renamed($defs[ref.slice(DEFS.length)]),
  ])
  return [[name, renamed(schema)], ...definitions]
}

const DEFS = '#/$defs/'

/** Names the definitions that a schema refers to by the first property that does: `Thing.branches`. */
function nameDefinitions(
  prefix: string,
  schema: JsonSchema,
  $defs: NonNullable<JsonSchema['$defs']>,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const visit = (part: unknown, property: string): void => {
    if (Array.isArray(part)) for (const each of part) visit(each, property)
    if (!isObject(part)) return
    const { $ref, properties, ...others } = part
    const definition = typeof $ref === 'string' ? $defs[$ref.slice(DEFS.length)] : undefined
    if (typeof $ref === 'string' && definition && !names.has($ref)) {
      const plain = `${prefix}.${property.replace(UNUSUAL, '_')}`
      const taken = new Set(names.values())
      let name = plain
      for (let number = 2; taken.has(name); number++) name = `${plain}${number}`
      names.set($ref, name)
      visit(definition, property)
    }
    for (const [name, each] of Object.entries(properties ?? {})) visit(each, name)
    for (const each of Object.values(others)) visit(each, property)
  }
  visit(schema, 'value')
  return names
}

/** Prints the name of a collection's items as a type: `Car` for `cars`, `Sheep` for `sheep`. */
export function printItemType({ name, itemName }: CollectionDefinition): string {
  return toTypeName(itemName === 'item' && name !== 'items' ? name : itemName)
}

/** Prints a name as a type of a program would be called: `CarModel` for `car_model`. */
export function toTypeName(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, first: string) =>
    first.toUpperCase(),
  )
}
