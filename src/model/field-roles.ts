// Field roles: which properties the server sets, which nobody reads, and which never change.
import type { Principal } from '../auth/scheme.ts'
import { suggestion } from '../errors.ts'
import {
  checkOptions,
  FUNCTION,
  listOf,
  needed,
  OBJECT,
  oneOf,
  type Rule,
  type Rules,
  recordOf,
  TEXT,
} from '../options.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import type { SortKey } from '../store/selection.ts'
import type { Shape, Store } from '../store/store.ts'
import type { CollectionDefinition, VersionDefinition } from './definition.ts'

/** What the function of a read-only property is called with. */
export interface FieldContext {
  /** Who creates the item; `undefined` without credentials. */
  readonly principal: Principal | undefined
}

/**
 * What a property is besides its schema.
 *
 * - `'readOnly'`: the server sets it. What a client sends for it is ignored. A program may give a value, in
 *   process and in hooks.
 * - `{ readOnly: fn }`: the same; `fn` gives the value at create, at once, where a program gives none.
 * - `'writeOnly'`: no answer has it, and no filter, sort, search or `fields` reaches it. A PUT without it
 *   keeps it.
 * - `'immutable'`: set at create; 400 when changed. A PUT without it keeps it.
 */
export type FieldRole =
  | 'readOnly'
  | 'writeOnly'
  | 'immutable'
  | { readonly readOnly: (context: FieldContext) => unknown }

/** Whose an item is. */
export interface OwnerOptions<F extends string = string> {
  /** The property that holds the id of the principal who created the item. */
  readonly field: F
  /** Scopes whose holders may change and delete the items of others: one of them is enough. */
  readonly except?: readonly string[] | undefined
}

/** A property that the server sets. */
export interface ReadOnlyField {
  /** Gives the value at create; absent where the schema does. */
  readonly compute: FieldRoleFunction | undefined
  /** What it is without a value: null where the schema needs one, else absent. */
  readonly empty: null | undefined
}

type FieldRoleFunction = (context: FieldContext) => unknown

/** The roles of a collection's properties, by name. */
export interface FieldRoles {
  readonly readOnly: ReadonlyMap<string, ReadOnlyField>
  readonly writeOnly: ReadonlySet<string>
  readonly immutable: ReadonlySet<string>
}

const READ_ONLY_RULES: Rules<Exclude<FieldRole, string>> = { readOnly: needed(FUNCTION) }
const OWNER_RULES: Rules<OwnerOptions> = { field: needed(TEXT), except: listOf(TEXT) }

const ROLE = oneOf('readOnly', 'writeOnly', 'immutable')

export const ROLES: Rule = recordOf({
  wanted: `${ROLE.wanted} or { readOnly: ({ principal }) => … }`,
  fits: value => ROLE.fits(value) || OBJECT.fits(value),
})

export const OWNER: Rule = {
  wanted: "a property, or { field: 'owner_id', except: ['posts:admin'] }",
  fits: value => TEXT.fits(value) || OBJECT.fits(value),
}

/** What roles are declared with. */
interface Declared {
  readonly name: string
  readonly fields?: Readonly<Record<string, FieldRole>> | undefined
  readonly owner?: string | OwnerOptions | undefined
}

/** @throws TypeError for options of an owner that are invalid. */
export function normalizeOwner({ name, owner }: Declared): OwnerOptions | undefined {
  if (owner === undefined || typeof owner === 'string')
    return owner === undefined ? owner : { field: owner }
  checkOptions(`${name}, owner`, owner, OWNER_RULES)
  return owner
}

/**
 * Builds the roles of a collection's properties; `undefined` where none has one.
 * @param inputs the properties of the schema, as it takes them.
 * @param id the name of the identifying property.
 * @throws TypeError for a name that is not a property, and for a property that cannot have its role.
 */
export function buildFieldRoles(
  declared: Declared,
  inputs: Fields,
  id: string,
): FieldRoles | undefined {
  const { name, fields = {} } = declared
  const owner = normalizeOwner(declared)
  const readOnly = new Map<string, ReadOnlyField>()
  const writeOnly = new Set<string>()
  const immutable = new Set<string>()
  for (const [property, role] of Object.entries(fields)) {
    const field = requireProperty(name, 'fields', inputs, id, property)
    if (role === 'writeOnly') writeOnly.add(property)
    else if (role === 'immutable') immutable.add(property)
    else readOnly.set(property, buildReadOnly(`${name}: "${property}"`, field, role))
  }
  if (owner) {
    const { field: property } = owner
    const field = requireProperty(name, 'owner', inputs, id, property)
    if (field.kind !== 'string' || Object.hasOwn(fields, property)) {
      throw new TypeError(
        `${name}: the owner "${property}" must be a text, and have no role in fields: it is read-only`,
      )
    }
    const compute: FieldRoleFunction = ({ principal }) => principal?.id
    readOnly.set(property, { compute, empty: emptyValue(field) })
  }
  return readOnly.size + writeOnly.size + immutable.size === 0
    ? undefined
    : { readOnly, writeOnly, immutable }
}

function requireProperty(
  name: string,
  option: 'fields' | 'owner',
  inputs: Fields,
  id: string,
  property: string,
): Field {
  const field = property === id ? undefined : inputs.get(property)
  if (!field) {
    const names = [...inputs.keys()].filter(each => each !== id)
    throw new TypeError(
      `${name}: ${option} names no property of the schema: "${property}"${suggestion(property, names)}`,
    )
  }
  if (field.kind === 'blob')
    throw new TypeError(`${name}: "${property}" is a blob(), which has no role`)
  return field
}

function buildReadOnly(
  where: string,
  field: Field,
  role: Exclude<FieldRole, 'writeOnly' | 'immutable'>,
): ReadOnlyField {
  if (role === 'readOnly') {
    if (field.optional || field.nullable) return { compute: undefined, empty: emptyValue(field) }
    throw new TypeError(
      `${where} is read-only and required: no item could be created. Give it a .default(), make it .optional(), or say { readOnly: ({ principal }) => … }`,
    )
  }
  checkOptions(where, role, READ_ONLY_RULES)
  return { compute: role.readOnly, empty: emptyValue(field) }
}

function emptyValue({ optional, nullable }: Field): null | undefined {
  return nullable && !optional ? null : undefined
}

/**
 * Checks that no list reaches a write-only property, and that no 409 tells that another item has its value.
 * @throws TypeError
 */
export function checkWriteOnly(
  name: string,
  { writeOnly }: FieldRoles,
  { sort, search = [], indexes, unique }: Reached,
): void {
  const used = {
    sort: sort.map(({ path }) => path.join('.')),
    search,
    indexes: indexes.flat(),
    unique: unique.flat(),
  }
  for (const [option, paths] of Object.entries(used)) {
    const hidden = paths.find(dotted => writeOnly.has(toPath(dotted)[0] ?? ''))
    if (hidden !== undefined)
      throw new TypeError(`${name}: "${hidden}" is write-only and cannot be in ${option}`)
  }
}

/** What names fields of lists, and of 409s. */
interface Reached extends Pick<Shape, 'indexes' | 'unique'> {
  readonly sort: readonly SortKey[]
  readonly search: readonly string[] | undefined
}

const NOTHING: ReadonlySet<string> = new Set()

/** The fields without these. */
export function omitFields(fields: Fields, names: ReadonlySet<string> = NOTHING): Fields {
  return names.size === 0 ? fields : new Map([...fields].filter(([name]) => !names.has(name)))
}

/** The read-only properties in a body: any text will do for what is ignored. */
export function ignoredFields(roles: FieldRoles | undefined): Fields {
  const names = [...(roles?.readOnly.keys() ?? [])]
  return new Map(names.map(name => [name, { kind: 'any', nullable: true, optional: true }]))
}

/** What a client may write: without read-only properties, and with the roles of the others. */
export function toInputFields(inputs: Fields, roles: FieldRoles | undefined): Fields {
  if (!roles) return inputs
  const writable = [...inputs].filter(([name]) => !roles.readOnly.has(name))
  return new Map(
    writable.map(([name, field]) => {
      if (roles.writeOnly.has(name)) return [name, { ...field, role: 'writeOnly' }] as const
      return [name, roles.immutable.has(name) ? { ...field, role: 'immutable' } : field] as const
    }),
  )
}

/**
 * Hides the write-only properties of a collection in all versions on the same store. A version that
 * declares such a property without the role shows it.
 */
export function hideWriteOnly(versions: readonly VersionDefinition[]): VersionDefinition[] {
  const hidden = new Map<Store, readonly string[]>()
  for (const { collections } of versions) {
    for (const { store, hidden: own } of collections.values())
      hidden.set(store, [...(hidden.get(store) ?? []), ...own])
  }
  const hide = (definition: CollectionDefinition): CollectionDefinition => {
    const { shape, store, hidden: own } = definition
    const others = hidden.get(store)?.filter(name => !shape.fields.has(name)) ?? []
    if (others.length === 0) return definition
    return Object.freeze({ ...definition, hidden: new Set([...own, ...others]) })
  }
  return versions.map(version => ({
    ...version,
    collections: new Map([...version.collections].map(([name, each]) => [name, hide(each)])),
  }))
}
