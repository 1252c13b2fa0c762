// Field roles: properties that the server sets, that no client reads, or that never change.

import { ACCESS_RULE } from '../../auth/access.ts'
import { toPath } from '../../base/paths.ts'
import { listNames, suggestion } from '../../errors.ts'
import * as rules from '../../options.ts'
import { assertValid, checkOptions, type Rules } from '../../options.ts'
import { listBlobFields } from '../../schema/blob.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import type { Identity, Store } from '../../store/store.ts'
import type { Declaration } from '../types/declaration.ts'
import type { CollectionDefinition, VersionDefinition } from '../types/definition.ts'
import type {
  FieldContext,
  FieldRoles,
  FieldRules,
  OwnerOptions,
  ReadOnlyField,
  ReadOnlyRole,
} from '../types/field-roles.ts'

const ROLE_RULES: Rules<Record<keyof FieldRules, unknown>> = {
  readOnly: rules.FUNCTION,
  read: ACCESS_RULE,
  write: ACCESS_RULE,
}
const OWNER_RULES: Rules<OwnerOptions> = {
  field: rules.needed(rules.TEXT),
  except: rules.listOf(rules.TEXT),
}

const ROLE = rules.oneOf('readOnly', 'writeOnly', 'immutable')

export const ROLES = rules.recordOf(
  rules.either(
    `${ROLE.wanted}, { readOnly: ({ principal }) => … } or { read: ['staff'], write: ['staff'] }`,
    ROLE,
    rules.OBJECT,
  ),
)

export const OWNER = rules.either(
  "a property, or { field: 'owner_id', except: ['posts:admin'] }",
  rules.TEXT,
  rules.OBJECT,
)

/**
 * Builds the owner of a collection's items.
 * @throws TypeError for invalid options.
 */
export function buildOwner({ name, owner }: Declaration): OwnerOptions | undefined {
  if (owner === undefined) return undefined
  const options = typeof owner === 'string' ? { field: owner } : owner
  checkOptions(`${name}, owner`, options, OWNER_RULES)
  return options
}

/**
 * Builds the roles of a collection's properties; `undefined` where none has one.
 * @param inputs the properties of the schema, as it takes them.
 * @param identity its parts are immutable.
 * @throws TypeError for a name that is not a property, and for a property that cannot have its role.
 */
export function buildFieldRoles(
  { name, fields = {} }: Declaration,
  owner: OwnerOptions | undefined,
  inputs: Fields,
  { name: id, parts }: Identity,
): FieldRoles | undefined {
  const readOnly = new Map<string, ReadOnlyField>()
  const writeOnly = new Set<string>()
  const immutable = new Set(parts)
  const properties = omitFields(inputs, new Set([id]))
  const requireProperty = (option: string, property: string): Field => {
    const field = properties.get(property)
    const hint = suggestion(property, properties.keys()) || listNames([...properties.keys()])
    assertValid(field, `${name}: ${option} names no property of the schema: "${property}"${hint}`)
    assertValid(field.kind !== 'blob', `${name}: "${property}" is a blob(), which has no role`)
    return field
  }
  for (const [property, role] of Object.entries(fields)) {
    const field = requireProperty('fields', property)
    if (role === 'writeOnly') writeOnly.add(property)
    else if (role === 'immutable') immutable.add(property)
    else if (role === 'readOnly' || role.readOnly) {
      const compute = role === 'readOnly' ? undefined : role.readOnly
      readOnly.set(property, buildReadOnly(`${name}: "${property}"`, field, compute))
    }
  }
  if (owner) {
    const field = requireProperty('owner', owner.field)
    assertValid(
      field.kind === 'string' && !Object.hasOwn(fields, owner.field),
      `${name}: the owner "${owner.field}" must be a string, and have no role in fields: it is read-only`,
    )
    const compute = ({ principal }: FieldContext) => principal?.id
    readOnly.set(owner.field, { compute, empty: emptyValue(field) })
  }
  const count = readOnly.size + writeOnly.size + immutable.size
  return count === 0 ? undefined : { readOnly, writeOnly, immutable }
}

function buildReadOnly(
  where: string,
  field: Field,
  compute: ReadOnlyRole['readOnly'] | undefined,
): ReadOnlyField {
  const empty = emptyValue(field)
  if (compute) return { compute, empty }
  assertValid(
    field.optional || field.nullable,
    `${where} is read-only and required: no item could be created. Give it a .default(), make it .optional(), or say { readOnly: ({ principal }) => … }`,
  )
  return { compute: undefined, empty }
}

/**
 * Builds who reads and who writes a property, by its name; `undefined` where that is the same for everybody.
 * @throws TypeError for an invalid rule.
 */
export function buildFieldAccess({
  name,
  fields = {},
}: Declaration): ReadonlyMap<string, FieldRules> | undefined {
  const found = new Map<string, FieldRules>()
  for (const [property, role] of Object.entries(fields)) {
    if (typeof role === 'string') continue
    const where = `${name}: "${property}"`
    checkOptions(where, role, ROLE_RULES)
    const { readOnly, read, write } = role
    assertValid(
      readOnly ?? read ?? write,
      `${where} has no role: say { read: ['staff'] }, { write: ['staff'] } or both`,
    )
    assertValid(
      !readOnly || !write,
      `${where} is read-only: nobody writes it. Leave out its write rule`,
    )
    if (read ?? write) found.set(property, { read, write })
  }
  return found.size === 0 ? undefined : found
}

/** The value of an item that has none: null where the schema needs it. */
export function emptyValue({ optional, nullable }: Field): null | undefined {
  return nullable && !optional ? null : undefined
}

/**
 * Checks that no list uses a write-only property, and that no 409 reveals its value.
 * @param used the fields that each option names.
 * @throws TypeError
 */
export function checkWriteOnly(
  name: string,
  { writeOnly }: FieldRoles,
  used: Readonly<Record<string, readonly string[]>>,
): void {
  for (const [option, paths] of Object.entries(used)) {
    const hidden = paths.find(dotted => writeOnly.has(toPath(dotted)[0] ?? ''))
    assertValid(
      hidden === undefined,
      `${name}: "${hidden}" is write-only and cannot be in ${option}`,
    )
  }
}

/** Returns the fields without these. */
export function omitFields(fields: Fields, names: ReadonlySet<string>): Fields {
  return names.size === 0 ? fields : new Map([...fields].filter(([name]) => !names.has(name)))
}

/** Lists the fields that a body may have: read-only ones take any value, since it is ignored. */
export function listBodyFields(
  selectable: Fields,
  inputs: Fields,
  roles: FieldRoles | undefined,
  unknown: ReadonlySet<string>,
): Fields {
  const ignored = [...(roles?.readOnly.keys() ?? [])].filter(name => !unknown.has(name))
  return new Map([...selectable, ...inputs, ...ignored.map(name => [name, ANY] as const)])
}

const ANY: Field = { kind: 'any', nullable: true, optional: true }

/**
 * Builds the fields that clients may write: without read-only ones, and with the roles of the others.
 * @param unread the role of those that are not read, where they have none yet.
 */
export function toInputFields(
  inputs: Fields,
  roles: FieldRoles | undefined,
  unread: 'writeOnly' | 'unreadable' = 'writeOnly',
): Fields {
  if (!roles) return inputs
  const writable = [...inputs].filter(([name]) => !roles.readOnly.has(name))
  return new Map(
    writable.map(([name, field]) => {
      if (roles.writeOnly.has(name)) return [name, { role: unread, ...field }] as const
      return [name, roles.immutable.has(name) ? { ...field, role: 'immutable' } : field] as const
    }),
  )
}

/**
 * Hides in all versions on the same store what some version does not show to everybody. A version that declares such a
 * property by itself says so by itself.
 */
export function hideFromVersions(versions: readonly VersionDefinition[]): VersionDefinition[] {
  const byStore = new Map<Store, readonly string[]>()
  for (const { collections } of versions) {
    for (const { store, shape, hidden, fieldAccess = [] } of collections.values()) {
      const limited = [...fieldAccess].flatMap(([name, { read }]) => (read ? [name] : []))
      // A version without the property would show where its content lies.
      const blobs = listBlobFields(shape.fields)
      byStore.set(store, [...(byStore.get(store) ?? []), ...hidden, ...limited, ...blobs])
    }
  }
  const hide = (definition: CollectionDefinition): CollectionDefinition => {
    const { shape, store, hidden } = definition
    const others = byStore.get(store)?.filter(name => !shape.fields.has(name)) ?? []
    if (others.length === 0) return definition
    return Object.freeze({ ...definition, hidden: new Set([...hidden, ...others]) })
  }
  return versions.map(version => ({
    ...version,
    collections: new Map([...version.collections].map(([name, each]) => [name, hide(each)])),
  }))
}
