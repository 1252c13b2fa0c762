// `defineCollection`: checks a declaration once and makes its definition and handlers.

import { buildAccess } from './auth/access.ts'
import type { Principal } from './auth/scheme.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import { addContentPlaces } from './blobs/content-places.ts'
import { toPrivateCacheControl } from './http/private-cache-control.ts'
import { buildApi } from './model/compile/build-api.ts'
import { buildShape } from './model/compile/build-shape.ts'
import { checkBlobs } from './model/compile/check-blobs.ts'
import { checkLive } from './model/compile/check-live.ts'
import { COLLECTION_RULES, THROUGH_RULES } from './model/compile/collection-rules.ts'
import { compileActions, completeActions } from './model/compile/compile-actions.ts'
import {
  buildFieldAccess,
  buildFieldRoles,
  buildOwner,
  checkWriteOnly,
  listBodyFields,
  omitFields,
  toInputFields,
} from './model/compile/compile-field-roles.ts'
import { compileGroups } from './model/compile/compile-groups.ts'
import { compileHooks } from './model/compile/compile-hooks.ts'
import { compileLease } from './model/compile/compile-lease.ts'
import { compileOperations } from './model/compile/compile-operations.ts'
import {
  findParents,
  findReferences,
  relateCollections,
} from './model/compile/compile-references.ts'
import { compileSearch, readSearchOption } from './model/compile/compile-search.ts'
import {
  compileTrash,
  type ExpandedDeclaration,
  expandTrash,
  RESTORE,
  reachAll,
  reachOutside,
  TRASH,
} from './model/compile/compile-trash.ts'
import { checkViews } from './model/compile/compile-views.ts'
import { requireField } from './model/compile/require-field.ts'
import { DOWNLOAD, SEARCH } from './model/compile/routes.ts'
import { singular } from './model/compile/singular.ts'
import { keepCollectionDefinition } from './model/definitions.ts'
import type { CollectionOptions, Places, Timestamps } from './model/types/collection-options.ts'
import type { AnyCollection, MadeIds } from './model/types/collection-types.ts'
import type { Declaration } from './model/types/declaration.ts'
import type { CollectionDefinition } from './model/types/definition.ts'
import { FILTER_OPERATIONS, OPERATIONS, type Operation } from './model/types/operation.ts'
import { assertValid, checkOptions } from './options.ts'
import { checkObjectSchema } from './schema/accepted.ts'
import { type BinaryForm, toReadableFields } from './schema/blob-forms.ts'
import { type Fields, isFilterable } from './schema/fields.ts'
import { buildValidator } from './schema/validate.ts'
import { validateChanged } from './schema/validate-changed.ts'
import { fieldsOf, type SomeSchema } from './schema/zod-fields.ts'
import { createHandlers, type Handlers } from './server/handlers/create-handlers.ts'
import { toKeyedStore } from './store/keyed-store.ts'
import { findOperator } from './store/operators.ts'
import { withTieBreak } from './store/selection.ts'
import { listSetFields, uniquesOf } from './store/shapes.ts'
import { invalidSortReason, parseSort } from './store/sort.ts'
import type { Identity } from './store/store.ts'
// From there, so that declarations of programs find them by that name.
import type { Def, DefChanges, DefInput, DefItem, Made, NoBlobs, None } from './types/index.ts'

/** A declared collection: give it to `defineApi`, or serve it alone by its handlers. */
export interface Collection<D extends Def = Def> extends AnyCollection, Handlers {
  readonly name: D['name']
  readonly schema: D['schema']
  /** For the type checker alone: `undefined` at run time. */
  readonly def: D
}

/** An item of a collection, as operations return it: `ItemOf<typeof cars>`. */
export type ItemOf<C extends AnyCollection> = DefItem<C['def']>

/** The input of `create` and `replace` of a collection: `NewOf<typeof cars>`. */
export type NewOf<C extends AnyCollection> = DefInput<C['def']>

/** The input of `patch` of a collection: `ChangesOf<typeof cars>`. */
export type ChangesOf<C extends AnyCollection> = DefChanges<C['def']>

/**
 * Defines a collection: its items and the store where they live. Its handlers serve it alone, at
 * `/<name>`; `defineApi` serves it among others.
 * @throws TypeError for an issue in the declaration.
 * @example
 * import { defineCollection, memoryStore } from 'rest-conventions'
 * import { z } from 'zod'
 * const schema = z.object({ color: z.string() })
 * const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), indexes: ['color'] })
 */
export function defineCollection<
  const N extends string, // the name
  S extends SomeSchema, // the schema of items
  I extends keyof MadeIds = 'uuid', // the ids that the store makes
  On extends Places = None, // by action: whether it is of an item or of the collection
  In extends object = None, // by action: the schema of its input
  const Out extends object = None, // by action: the schema of its output, or `item`
  const Roles = None, // by field: its role
  const Owner extends string = never, // the field of the owner
  const Methods extends object = None, // by action: its method
  Key extends 'id' | 'identifier' = 'id', // the name of the id
  Operations extends Operation = never, // the operations, if they are named
  Search extends string = never, // the paths that a search looks through
  Blobs extends BlobStore = NoBlobs, // the store of contents
  Binary extends BinaryForm = never, // the form of files in responses
  const Parents = None, // by field: the collection of the parent
  const Relation = None, // by field: the two collections that a relation links
  const References = None, // by field: the collection that it refers to
  Rows = never, // what the row policy returns
  Groups extends string = never, // the paths by which items are counted
  Sql = unknown, // the query builder of the store
  Lease extends string = never, // the field of the lease
  const Trash extends string = never, // the fields of the deletion
  const Dates extends boolean | Timestamps = true, // the dates that the server sets
>(
  options: CollectionOptions<
    N,
    S,
    I,
    On,
    In,
    Out,
    Roles,
    Owner,
    Methods,
    Key,
    Operations,
    Search,
    Blobs,
    Binary,
    Parents,
    Relation,
    References,
    Rows,
    Principal,
    Groups,
    Sql,
    Lease,
    Trash,
    Dates
  >,
): Collection<
  Made<
    N,
    S,
    I,
    On,
    In,
    Out,
    Roles,
    NoInfer<Owner>,
    Methods,
    Key,
    Operations,
    Search,
    Blobs,
    Binary,
    Parents & Relation,
    References,
    Principal,
    Groups,
    Sql,
    Lease,
    NoInfer<Trash>,
    Dates
  >
>
export function defineCollection(options: object): unknown {
  const declaration = options as Declaration // the types of its fields, and `def`, are for the type checker alone
  const title = typeof declaration?.name === 'string' ? declaration.name : 'defineCollection'
  checkOptions(title, declaration, COLLECTION_RULES)
  const definition = buildDefinition(declaration)
  if (definition.live) checkLive(definition)
  declaration.store.attach(definition.shape)
  let handlers: Handlers | undefined
  /** Made on first use: a collection of a larger api is not served alone. */
  const alone = () => {
    completeActions(definition)
    handlers ??= createHandlers(buildApi([aloneVersion(definition)], {}))
    return handlers
  }
  const collection: Omit<Collection, 'def'> = {
    name: declaration.name,
    schema: declaration.schema,
    shape: definition.shape,
    get handler() {
      return alone().handler
    },
    get fetch() {
      return alone().fetch
    },
  }
  keepCollectionDefinition(collection, definition)
  return collection
}

function aloneVersion(definition: CollectionDefinition) {
  const collections = relateCollections(new Map([[definition.name, definition]]))
  return { name: '', number: undefined, collections, deprecated: undefined, sunset: undefined }
}

function buildDefinition(declared: Declaration): CollectionDefinition {
  const options = expandTrash(declared)
  const { name, schema, store } = options
  assertValid(
    /^(?!(?:openapi|docs)$)[A-Za-z][A-Za-z0-9_-]*$/.test(name),
    `A collection's name is made of letters, digits, _ and -, and is neither openapi nor docs; not ${JSON.stringify(name)}`,
  )
  checkObjectSchema(name, schema)
  const { shape, keys } = buildShape(options)
  const trash = compileTrash(options, shape)
  const { fields, identity, createdAt } = shape
  checkOperatorNames(name, fields)
  const defaultOrder = identity.kind === 'text' && createdAt !== undefined ? createdAt : ''
  const sort = parseSort(String(options.sort ?? defaultOrder))
  for (const { path } of sort) {
    const dotted = path.join('.')
    const reason = invalidSortReason(requireField(name, fields, 'sort', dotted))
    assertValid(!reason, `${name}: sort: "${dotted}" ${reason}: it has no order`)
  }
  const { maxLimit = 100, defaultLimit = Math.min(25, maxLimit) } = options
  assertValid(defaultLimit <= maxLimit, `${name}: defaultLimit may not be above maxLimit`)
  const { binary = 'flat', cacheControl = 'no-cache, max-age=0' } = options
  const inputs = fieldsOf(schema, 'input')
  const references = findReferences(options, fields)
  const owner = buildOwner(options)
  const fieldAccess = buildFieldAccess(options)
  const roles = buildFieldRoles(options, owner, inputs, identity)
  if (roles) {
    checkWriteOnly(name, roles, {
      sort: sort.map(({ path }) => path.join('.')),
      search: readSearchOption(options)?.fields ?? [],
      groups: options.groups ?? [],
      indexes: shape.indexes.flat(),
      unique: uniquesOf(shape).flatMap(listSetFields),
    })
  }
  const inputFields = toInputFields(inputs, roles)
  const hidden = roles?.writeOnly ?? new Set<string>()
  const queryFields = omitFields(fields, hidden)
  const selectableFields = toReadableFields(queryFields, binary, true)
  const blobs = checkBlobs(options, fields)
  const keyedStore = toKeyedStore(store)
  checkTogether(options, identity)
  const definition: CollectionDefinition = Object.freeze({
    name,
    itemName: options.itemName ?? singular(name),
    schema,
    shape,
    inputFields,
    queryFields,
    roles,
    hidden,
    unknown: new Set<string>(),
    fieldAccess,
    view: undefined,
    owner,
    readableFields: toReadableFields(queryFields, binary, false),
    selectableFields,
    bodyFields: listBodyFields(selectableFields, inputFields, roles, new Set<string>()),
    blobs,
    contents: addContentPlaces(keyedStore, fields, blobs),
    binary,
    validator: buildItemValidator(options, fieldAccess !== undefined),
    store: keyedStore,
    ...(trash ? reachOutside(name, keyedStore, trash, shape) : reachAll(keyedStore)),
    trash,
    trashOf: undefined,
    path: name,
    keys,
    defaultLimit,
    maxLimit,
    sort: withTieBreak(sort, identity),
    search: compileSearch(options, readSearchOption(options), fields),
    groups: compileGroups(options, fields),
    lease: compileLease(options, fields),
    ...compileTotal(options),
    live: options.live ?? false,
    parents: findParents(name, references),
    references,
    relations: new Map<string, never>(),
    targets: new Map<string, never>(),
    children: [],
    addressable: true,
    operations: compileOperations(options),
    actions: compileActions(options),
    hooks: compileHooks(`${name}: hooks`, options.hooks, listVerbs(options), store),
    putCreates: options.putCreates ?? false,
    requirePrecondition: options.requirePrecondition ?? false,
    cacheControl,
    privateCacheControl: toPrivateCacheControl(cacheControl),
    access: buildAccess(options.access, listGuarded(options), name),
    visible: options.visible,
    hideExistence: options.hideExistence ?? false,
    description: options.description,
  })
  checkViews(definition)
  return definition
}

/** Compiles how lists are counted. */
function compileTotal({ total = 'exact' }: ExpandedDeclaration) {
  return typeof total === 'string'
    ? { total, exactUpTo: undefined }
    : { total: 'exact' as const, exactUpTo: total.exactUpTo }
}

/** Checks options that depend on each other. */
function checkTogether(options: ExpandedDeclaration, identity: Identity): void {
  const { name } = options
  if (typeof options.visible === 'object')
    checkOptions(`${name}: visible`, options.visible, THROUGH_RULES)
  assertValid(
    !options.visible || !options.hideExistence,
    `${name}: hideExistence answers a missing scope, and visible hides items from everybody else already: leave hideExistence out`,
  )
  assertValid(
    !options.putCreates || (identity.kind === 'text' && !identity.parts),
    `${name}: putCreates needs ids chosen by clients: give the schema a text property "${identity.name}"`,
  )
}

/** What access rules may name besides actions. */
const GUARDED = [...OPERATIONS, ...FILTER_OPERATIONS, SEARCH, DOWNLOAD]

function listGuarded({ actions = {}, trash }: ExpandedDeclaration): string[] {
  return [...GUARDED, ...(trash ? [TRASH] : []), ...Object.keys(actions)]
}

/** Lists the names in addition to operations that hooks for every operation run for. */
function listVerbs({ actions = {}, trash }: ExpandedDeclaration): string[] {
  return [...Object.keys(actions), ...(trash ? [RESTORE] : [])]
}

/** In a filter `{ range: { gte: 5 } }` is an operator: no property below another may have its name. */
function checkOperatorNames(name: string, fields: Fields, above = ''): void {
  for (const [property, field] of fields) {
    assertValid(
      above === '' || !isFilterable(field) || !findOperator(property),
      `${name}: "${above}${property}" has the name of a filter's operator. Rename the property: in { ${above.slice(0, -1)}: { ${property}: … } } it would be the operator`,
    )
    if (field.properties) checkOperatorNames(name, field.properties, `${above}${property}.`)
  }
}

function buildItemValidator({ name, schema, checks }: Declaration, hasViews: boolean) {
  const strict = buildValidator(schema)
  if (checks !== 'changed') return strict
  assertValid(
    !hasViews,
    `${name}: checks: 'changed' cannot stand with read and write rules in fields. Leave one of them out.`,
  )
  return validateChanged(name, schema, strict)
}
