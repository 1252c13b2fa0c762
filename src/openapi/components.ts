// The shared parts of a document: each stands once, under a name that does not depend on the order.

import { isObject } from '../base/values.ts'
import { hashTexts } from '../http/conditional.ts'
import { type SeeRelation, seeRelations } from '../model/compile/relations.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/types/definition.ts'
import { idOf, isUnnamed, type JsonSchema, type PrintedSchemas } from '../schema/json-schema.ts'
import { printItemType, printSchemaName, toTypeName } from './names.ts'

export type ComponentKind = 'schemas' | 'parameters' | 'headers' | 'responses'

/** What a part describes, and how it is called. */
export interface Naming {
  /** What the part describes. */
  readonly owner: unknown
  /** What stands before the names that parts of several owners want. */
  readonly scope?: string
  /** What the names of its own parts begin with. Default: its name. */
  readonly prefix?: string
  /** The names of its recursive parts by their texts: those of the properties where they are met first. */
  readonly names?: Map<string, string>
  /** Whether no other part gets its name. Default false. */
  readonly isFirst?: boolean
}

/** A part that is shared, and what it wants to be called. */
interface Shared extends Naming {
  readonly kind: ComponentKind
  readonly wanted: string
  readonly number: number
  part: object
}

export interface ComponentsOptions {
  /** Whether each part stands where it is used, as in the answer to OPTIONS. Default false. */
  readonly isInline?: boolean
  /** Whether it is a document for programs that generate clients: what they do not use is left out. Default false. */
  readonly isLight?: boolean
  /** The version of the collections, by which their items are named. */
  readonly version?: VersionDefinition
  /** Returns a collection as the reader sees it. Default: whole, and hidden where it hides that it exists. */
  readonly see?: (collection: CollectionDefinition) => CollectionDefinition | undefined
}

/** The shared parts of a document. */
export class Components {
  readonly #parts: Shared[] = []
  /** By what they want to be called, then by what they describe. */
  readonly #known = new Map<string, Map<unknown, Shared>>()
  /** Those that want the same name. */
  readonly #groups = new Map<string, Shared[]>()
  /** What refers to each part. A new part may change the name of another. */
  #references: string[] = []

  readonly isInline: boolean
  readonly isLight: boolean
  readonly version: VersionDefinition | undefined

  /** What zod has printed of the schemas here: one is that of several bodies. */
  readonly printed: PrintedSchemas = new WeakMap()

  /** Finds the collection of a relation as the reader of the description sees it; `undefined` where it is hidden. */
  readonly see: SeeRelation

  constructor({
    isInline = false,
    isLight = false,
    version,
    see = collection => (collection.hideExistence ? undefined : collection),
  }: ComponentsOptions = {}) {
    this.isInline = isInline
    this.isLight = isLight
    this.version = version
    this.see = seeRelations(see)
  }

  /**
   * Refers to a part, which is built where it is new. The reference has its name when it is printed: only then it is
   * known which names two of them want.
   */
  refer(kind: ComponentKind, wanted: string, naming: Naming, build: () => object): JsonSchema {
    if (this.isInline) return { ...build() }
    return { $ref: this.#share(kind, wanted, naming, build) }
  }

  /** Refers to the schema of a collection's items, as they are given. */
  referToItem(collection: CollectionDefinition, build: () => object): JsonSchema {
    const name = this.version ? printSchemaName(this.version, collection) : collection.name
    const prefix = printItemType(collection)
    // Items in a trash have the same schema.
    const owner = collection.view ? collection : (collection.trashOf ?? collection)
    return this.refer('schemas', name, { owner, prefix, isFirst: true }, build)
  }

  /** Finds the schema that a reference leads to. */
  findSchema({ $ref = '' }: { readonly $ref?: string }): JsonSchema | undefined {
    return this.#parts[Number($ref.slice(1))]?.part as JsonSchema | undefined // schemas refer to schemas
  }

  /** Prints a part as JSON, with the names of what it refers to. */
  print(part: unknown): string {
    if (this.#references.length < this.#parts.length)
      this.#references = this.#parts.map(
        shared => `"#/components/${shared.kind}/${this.#nameOf(shared)}"`,
      )
    return JSON.stringify(part).replace(MARKS, (_, number) => this.#references[number] ?? '')
  }

  /** Lists the parts of a kind by their names. */
  list(kind: ComponentKind): (readonly [name: string, part: object])[] {
    return this.#parts
      .filter(shared => shared.kind === kind)
      .map(shared => [this.#nameOf(shared), shared.part])
  }

  /** @returns what stands for a reference until it is printed. */
  #share(kind: ComponentKind, wanted: string, naming: Naming, build: () => object): string {
    const { owner } = naming
    const own = `${kind} ${wanted}`
    const byOwner = this.#known.get(own) ?? new Map<unknown, Shared>()
    const known = byOwner.get(owner)
    if (known) return MARK + known.number
    const shared: Shared = { ...naming, kind, wanted, number: this.#parts.length, part: {} }
    // Before it is built: it may refer to itself.
    this.#known.set(own, byOwner.set(owner, shared))
    const key = toKey(kind, wanted)
    const group = this.#groups.get(key) ?? []
    group.push(shared)
    this.#groups.set(key, group)
    this.#parts.push(shared)
    const part = build()
    // A part of this kind is a schema.
    shared.part = kind === 'schemas' ? this.#link(shared, part as JsonSchema) : part
    return MARK + shared.number
  }

  #nameOf(shared: Shared): string {
    const { kind, wanted, scope = '', isFirst } = shared
    const group = this.#groups.get(toKey(kind, wanted)) ?? []
    if (isFirst || group.length === 1) return toComponentName(wanted)
    const toHex = (sign: string) => `-${sign.codePointAt(0)?.toString(16)}-`
    return `${scope}.${wanted.replace(UNUSUAL, toHex)}`
  }

  /** Makes the definitions of a schema, and the options of its unions, parts of their own: many tools do not follow an `$id`. */
  #link({ wanted, prefix = wanted, names = new Map() }: Shared, whole: JsonSchema): object {
    const { $id: _id, $defs = {}, ...schema } = whole
    const share = (name: string, text: string, part: JsonSchema, inner: string) => {
      const naming = { owner: text, scope: hashTexts([text]), prefix: inner, names }
      return this.#share('schemas', name, naming, () => ({ ...part, $defs }))
    }
    const shareDefinition = (name: string, property: string): string => {
      const text = printWithDefinitions(name, $defs)
      const definition = $defs[name] ?? {}
      if (!isUnnamed(name)) return share(idOf(name), text, definition, idOf(name))
      const id = names.get(text) ?? `${toTypeName(property)}Of${prefix}`
      names.set(text, id)
      return share(id, text, definition, prefix)
    }
    const toOption = (option: JsonSchema, name: string, property: string): string => {
      const { $ref } = option
      if ($ref !== undefined) return shareDefinition($ref.slice(DEFS.length), property)
      return share(name, printWithDefinitions(option, $defs), option, prefix)
    }
    const linkUnion = (union: JsonSchema, property: string, isRoot: boolean): object => {
      const { discriminator, oneOf = [], ...rest } = union
      const { propertyName } = Object(discriminator)
      const values = oneOf.map(option => listValues(option, propertyName, $defs))
      // Some options have no value of their own.
      if (values.some(each => each.length === 0)) return linkSchema({ oneOf, ...rest }, property)
      const name = isRoot ? wanted : prefix + toTypeName(property)
      const marks = oneOf.map((option, at) =>
        toOption(option, name + values[at]?.map(toTypeName).join(''), property),
      )
      const mapping = values.flatMap((each, at) => each.map(value => [value, marks[at]]))
      // A patch need not have the value.
      const isThere = oneOf.every(option =>
        resolve(option, $defs).required?.includes(String(propertyName)),
      )
      return {
        ...linkSchema(rest, property),
        oneOf: marks.map($ref => ({ $ref })),
        ...(isThere && { discriminator: { propertyName, mapping: Object.fromEntries(mapping) } }),
      }
    }
    const link = (part: unknown, property: string): unknown => {
      if (Array.isArray(part)) return part.map(each => link(each, property))
      return isObject(part) ? linkSchema(part, property) : part
    }
    const linkSchema = (part: JsonSchema, property: string, isRoot = false): object => {
      if (part.discriminator !== undefined) return linkUnion(part, property, isRoot)
      const linked = Object.entries(part).map(([name, each]) => {
        if (VALUES.has(name)) return [name, each]
        if (name === '$ref' && String(each).startsWith(DEFS))
          return [name, shareDefinition(String(each).slice(DEFS.length), property)]
        if (name !== 'properties') return [name, link(each, property)]
        const properties = Object.entries(Object(each))
        return [name, Object.fromEntries(properties.map(([own, inner]) => [own, link(inner, own)]))]
      })
      return Object.fromEntries(linked)
    }
    return linkSchema(schema, 'value', true)
  }
}

/** Stands before the number of a part, where no text of a schema begins. */
const MARK = '\u0001'
const MARKS = /"\\u0001(\d+)"/g

/** What the name of a component may not have. */
const UNUSUAL = /[^\w.-]/g

/** Prints a name as that of a component. */
export function toComponentName(wanted: string): string {
  return wanted.replace(UNUSUAL, '_')
}

function toKey(kind: ComponentKind, wanted: string): string {
  return `${kind} ${toComponentName(wanted)}`
}

const DEFS = '#/$defs/'

/** The keywords whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'examples', 'const', 'enum', 'required'])

/** Prints a schema with the definitions that it needs: equal texts are one part. */
function printWithDefinitions(
  schema: string | JsonSchema,
  $defs: Readonly<Record<string, JsonSchema>>,
  known = new Set<string>(),
): string {
  const text = JSON.stringify(typeof schema === 'string' ? $defs[schema] : schema)
  const refs = [...text.matchAll(/"#\/\$defs\/([^"]+)"/g)].flatMap(([, name = '']) => {
    if (known.has(name)) return []
    known.add(name)
    return [name, printWithDefinitions(name, $defs, known)]
  })
  return [text, ...refs].join(' ')
}

/** Lists the values of a property that tell an option of a union apart; empty where it has none of its own. */
function listValues(
  option: JsonSchema,
  propertyName: string,
  $defs: Readonly<Record<string, JsonSchema>>,
): string[] {
  const { const: value, enum: values = [value] } =
    resolve(option, $defs).properties?.[propertyName] ?? {}
  const all = [values].flat()
  const texts = all.filter(each => typeof each === 'string')
  return texts.length === all.length ? texts : []
}

/** Finds what an option is. */
function resolve(option: JsonSchema, $defs: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return $defs[(option.$ref ?? '').slice(DEFS.length)] ?? option
}
