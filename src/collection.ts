// `defineCollection`: checks a declaration once and makes its definition and handlers.

import { buildAccess } from './auth/access.ts'
import { suggestion } from './errors.ts'
import { splitList } from './http/message.ts'
import { buildApi } from './model/build-api.ts'
import {
  ACTION_RULES,
  COLLECTION_RULES,
  type CollectionOptions,
  HOOK_RULES,
} from './model/collection-options.ts'
import {
  type Action,
  type ActionDefinition,
  type CollectionDefinition,
  type MadeIds,
  OPERATIONS,
} from './model/definition.ts'
import {
  buildFieldRoles,
  checkWriteOnly,
  ignoredFields,
  normalizeOwner,
  omitFields,
  toInputFields,
} from './model/field-roles.ts'
import { findParents, relateCollections } from './model/parents.ts'
import { DOWNLOAD, SEARCH } from './model/routes.ts'
import { checkOptions } from './options.ts'
import { RESERVED } from './query.ts'
import { checkObjectSchema, checkSchema } from './schema/accepted.ts'
import { listBlobFields } from './schema/blob.ts'
import { toReadableFields } from './schema/blob-forms.ts'
import { type Field, type Fields, findField, listPaths } from './schema/fields.ts'
import { toPath } from './schema/paths.ts'
import { buildChecker, buildValidator } from './schema/validate.ts'
import { buildField, fieldsOf, type Schema, type SomeSchema, toZod } from './schema/zod-fields.ts'
import { createHandlers, type Handlers } from './server/handlers.ts'
import { toKeyedStore } from './store/keyed-store.ts'
import { withTieBreak } from './store/selection.ts'
import { invalidSortReason, parseSort } from './store/sort.ts'
import type { Identity, Shape } from './store/store.ts'

export interface Collection<
  S extends SomeSchema = SomeSchema,
  Ids extends keyof MadeIds = keyof MadeIds,
> extends Handlers {
  readonly name: string
  readonly schema: S
  /** What ids its store makes. */
  readonly ids: Ids
  readonly definition: CollectionDefinition
}

/**
 * Defines a collection: what its items are and where they live. Its handlers serve it alone, at
 * `/<name>`; `defineApi` serves it among others.
 * @throws TypeError for a mistake in the declaration.
 */
export function defineCollection<S extends SomeSchema, Ids extends keyof MadeIds = 'uuid'>(
  options: CollectionOptions<S, Ids>,
): Collection<S, Ids> {
  const title = typeof options?.name === 'string' ? options.name : 'A collection'
  checkOptions(title, options, COLLECTION_RULES)
  const { name, hooks } = options
  if (hooks) checkOptions(`${name}, hooks`, hooks, HOOK_RULES)
  const definition = definitionOf({ ...options, schema: toZod(options.schema) })
  options.store.attach(definition.shape)
  let handlers: Handlers | undefined
  /** Made on first use: a collection of a larger api is not served alone. */
  const alone = () => {
    handlers ??= createHandlers(buildApi([aloneVersion(definition)], {}))
    return handlers
  }
  return {
    name,
    schema: options.schema,
    ids: options.id ?? ('uuid' as Ids), // what it is by default, of options that do not say
    definition,
    get handler() {
      return alone().handler
    },
    get fetch() {
      return alone().fetch
    },
  }
}

const NO_NAMES: ReadonlySet<string> = new Set()

function aloneVersion(definition: CollectionDefinition) {
  const collections = relateCollections(new Map([[definition.name, definition]]))
  return { name: '', number: undefined, collections, deprecated: undefined, sunset: undefined }
}

function definitionOf(options: CollectionOptions<Schema>): CollectionDefinition {
  const { name, schema, store } = options
  if (!/^(?!(?:openapi|docs)$)[A-Za-z][A-Za-z0-9_-]*$/.test(name)) {
    throw new TypeError(
      `A collection's name is made of letters, digits, _ and -, and is neither openapi nor docs; not ${JSON.stringify(name)}`,
    )
  }
  checkObjectSchema(name, schema)
  const shape = shapeOf(options)
  const { fields, identity, createdAt } = shape
  const defaultOrder = identity.kind === 'text' && createdAt !== undefined ? createdAt : ''
  const sort = parseSort(options.sort ?? defaultOrder)
  for (const { path } of sort) {
    const dotted = path.join('.')
    const objection = invalidSortReason(requireField(name, fields, 'sort', dotted))
    if (objection) throw new TypeError(`${name}: sort: "${dotted}" ${objection}: it has no order`)
  }
  const { maxLimit = 100, defaultLimit = Math.min(25, maxLimit) } = options
  if (defaultLimit > maxLimit) {
    throw new TypeError(`${name}: defaultLimit may not be above maxLimit`)
  }
  const { binary = 'flat', cacheControl = 'no-cache, max-age=0' } = options
  const inputs = fieldsOf(schema, 'input')
  const roles = buildFieldRoles(options, inputs, identity.name)
  if (roles) checkWriteOnly(name, roles, { ...shape, sort, search: options.search })
  const inputFields = toInputFields(inputs, roles)
  const hidden = roles?.writeOnly ?? NO_NAMES
  const queryFields = omitFields(fields, hidden)
  const selectableFields = toReadableFields(queryFields, binary, true)
  const hasBlobs = checkBlobs(options, fields)
  if (options.putCreates && identity.kind !== 'text') {
    throw new TypeError(
      `${name}: putCreates needs ids chosen by clients: give the schema a text property "${identity.name}"`,
    )
  }
  return Object.freeze({
    name,
    itemName: options.itemName ?? singular(name),
    schema,
    shape,
    inputFields,
    queryFields,
    roles,
    hidden,
    owner: normalizeOwner(options),
    readableFields: toReadableFields(queryFields, binary, false),
    selectableFields,
    bodyFields: new Map([...selectableFields, ...inputFields, ...ignoredFields(roles)]),
    blobs: hasBlobs ? options.blobs : undefined,
    binary,
    validator: buildValidator(schema),
    store: toKeyedStore(store),
    defaultLimit,
    maxLimit,
    sort: withTieBreak(sort, identity.name),
    search: options.search?.map(dotted => {
      if (holdsText(requireField(name, fields, 'search', dotted))) return toPath(dotted)
      throw new TypeError(`${name}: search looks through texts; "${dotted}" holds none`)
    }),
    total: options.total ?? 'exact',
    parents: findParents(options, fields),
    operations: new Set(options.operations ?? OPERATIONS),
    actions: actionsOf(options),
    hooks: options.hooks ?? {},
    putCreates: options.putCreates ?? false,
    requirePrecondition: options.requirePrecondition ?? false,
    cacheControl,
    privateCacheControl: privately(cacheControl),
    access: buildAccess(
      options.access,
      [...OPERATIONS, SEARCH, DOWNLOAD, ...Object.keys(options.actions ?? {})],
      name,
    ),
    visible: options.visible,
    hideExistence: options.hideExistence ?? false,
    description: options.description,
  })
}

/** Finds the field that an option names. */
function requireField(name: string, fields: Fields, option: string, dotted: string): Field {
  const field = findField(fields, toPath(dotted))
  if (field) return field
  const hint = /^(?:parents|relation)$/.test(option)
    ? `; it takes { <a field of ${name}>: '<a collection>' }`
    : suggestion(dotted, listPaths(fields))
  throw new TypeError(`${name}: ${option} names no field: "${dotted}"${hint}`)
}

/** @returns whether there are any. */
function checkBlobs(
  { name, blobs, actions = {} }: CollectionOptions<Schema>,
  fields: Fields,
): boolean {
  const names = listBlobFields(fields)
  for (const blob of names) {
    const twin = [`${blob}_url`, `${blob}_data`].find(other => fields.has(other))
    const checks: readonly (readonly [wrong: boolean, right: string])[] = [
      [!blobs, "say where contents live: blobs: fileBlobs('…')"],
      [twin !== undefined, `it is given and taken as "${twin}" too: call that property otherwise`],
      [actions[blob]?.on === 'item', 'an action has the path of its content: call that otherwise'],
    ]
    for (const [wrong, right] of checks) {
      if (wrong) throw new TypeError(`${name}: "${blob}" is a blob(); ${right}`)
    }
  }
  return names.length > 0
}

const DATE_TIME: Field = { kind: 'date-time', nullable: false, optional: false, serverOwned: true }

function shapeOf(options: CollectionOptions<Schema>): Shape {
  const { name, schema, idField = 'id', timestamps = true } = options
  const own = fieldsOf(schema, 'output')
  const chosen = fieldsOf(schema, 'input').get(idField)
  if (chosen && chosen.kind !== 'string') {
    throw new TypeError(
      `${name}: an id that clients choose must be a text; for counted ids leave it out and say id: 'integer'`,
    )
  }
  if (chosen && options.id === 'integer') {
    throw new TypeError(
      `${name}: with a text property "${idField}" clients choose ids; leave it out, or leave out id: 'integer'`,
    )
  }
  const identity: Identity = { name: idField, kind: chosen ? 'text' : (options.id ?? 'uuid') }
  const id: Field = {
    kind: identity.kind === 'integer' ? 'integer' : 'string',
    nullable: false,
    optional: false,
    ...(identity.kind === 'uuid' && { uuid: true }),
    ...(!chosen && { serverOwned: true }),
  }
  const fields = new Map<string, Field>([[idField, id]])
  for (const [property, field] of own) {
    if (property !== idField) fields.set(property, field)
    if (timestamps && (property === 'created_at' || property === 'updated_at')) {
      throw new TypeError(
        `${name}: ${property} is set by the server; leave it out of the schema, or say timestamps: false`,
      )
    }
  }
  if (timestamps) fields.set('created_at', DATE_TIME).set('updated_at', DATE_TIME)
  const { parents = {}, relation, unique = [], indexes = [], fields: roles = {} } = options
  const writeOnly = Object.keys(roles).filter(property => roles[property] === 'writeOnly')
  const setsOf = (option: string, sets: readonly (string | readonly string[])[]) =>
    sets.map(set => setOf(name, fields, option, typeof set === 'string' ? [set] : set))
  const pair = relation ? setsOf('relation', [Object.keys(relation)]) : []
  const shape: Shape = {
    name,
    fields,
    identity,
    unique: [...pair, ...setsOf('unique', unique)],
    indexes: [
      ...setsOf('parents', Object.keys({ ...parents, ...relation })),
      ...setsOf('indexes', indexes),
    ],
    ...(timestamps && { createdAt: 'created_at', updatedAt: 'updated_at' }),
    ...(buildField(schema, 'output').open && { open: true }),
    ...(writeOnly.length > 0 && { writeOnly }),
  }
  return Object.freeze(shape)
}

/** Whether a search finds anything in a field. */
function holdsText({ kind, options = [] }: Field): boolean {
  return /^(?:string|date|date-time|any)$/.test(kind) || options.some(holdsText)
}

/** Fields that an index is on, by the option that names them. */
function setOf(
  name: string,
  fields: Fields,
  option: string,
  paths: readonly string[],
): readonly string[] {
  for (const dotted of paths) {
    const objection = invalidSortReason(requireField(name, fields, option, dotted))
    if (objection) throw new TypeError(`${name}: "${dotted}" ${objection} and cannot be indexed`)
  }
  return paths
}

function actionsOf({ name, actions = {}, search }: CollectionOptions<Schema>) {
  // Rules, hooks and bodies go by the name of what is done: it is one thing's.
  const operations = new Set<string>([...OPERATIONS, DOWNLOAD, ...(search ? [SEARCH] : [])])
  const found = new Map<string, ActionDefinition>()
  for (const [verb, action] of Object.entries(actions)) {
    if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(verb)) {
      throw new TypeError(
        `${name}: an action's name is a verb of letters, digits, _ and -, not ${JSON.stringify(verb)}`,
      )
    }
    if (operations.has(verb)) {
      throw new TypeError(
        `${name}: an action may not be called "${verb}": that is an operation; take another verb`,
      )
    }
    checkOptions(`${name}, the action ${verb}`, action, ACTION_RULES)
    const output = action.output && toZod(action.output)
    const input = action.input && toZod(action.input)
    if (input) checkObjectSchema(`${name}, the input of ${verb}`, input)
    if (output) checkSchema(`${name}, the output of ${verb}`, output)
    const inputFields = input && fieldsOf(input, 'input')
    const method = action.method ?? 'POST'
    for (const field of method === 'GET' ? (inputFields?.keys() ?? []) : []) {
      if (RESERVED.has(field)) {
        throw new TypeError(
          `${name}: the input of ${verb} may not have the property "${field}": in a query that name has another meaning. Rename the property, or use method: 'POST'`,
        )
      }
    }
    found.set(verb, {
      name: verb,
      on: action.on,
      method,
      input,
      inputFields,
      check: input && buildChecker(input),
      output,
      outputFields: output?._zod.def.type === 'object' ? fieldsOf(output) : undefined,
      description: action.description,
      run: action.run,
    })
  }
  return found
}

/** A `Cache-Control` for who has credentials: nothing in it lets a shared cache keep the answer (RFC 9111 §5.2.2). */
function privately(cacheControl: string): string {
  const others = splitList(cacheControl).filter(
    directive => !/^(?:public|private|s-maxage)(?:=|$)/i.test(directive),
  )
  return ['private', ...others].join(', ')
}

/** `cars` → `car`, `entries` → `entry`, `boxes` → `box`; a name without a plural ending → `item`. */
export function singular(name: string): string {
  if (/[^aeiou]ies$/.test(name)) return `${name.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|z)es$/.test(name)) return name.slice(0, -2)
  return /[^s]s$/.test(name) ? name.slice(0, -1) : 'item'
}

/** An action with the type of its input known to its `run`. */
export function defineAction<S extends SomeSchema>(action: Action<S>): Action {
  // The core checks the input by `action.input` before it calls `run`: see operations/actions.ts.
  return action as unknown as Action
}
