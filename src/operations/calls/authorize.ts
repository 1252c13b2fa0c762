// Who may do what: the access rules of an api and its collections, applied to one principal.
import { findAccessRules, insufficientScope, satisfies } from '../../auth/access.ts'
import { unauthorized } from '../../auth/scheme.ts'
import { type Item, isUuid } from '../../base/values.ts'
import { HttpError, nearest, quote } from '../../errors.ts'
import { splitBase } from '../../http/base-url.ts'
import { DOWNLOAD, printPath, type RouteTarget, SEARCH } from '../../model/compile/routes.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { Operation } from '../../model/types/operation.ts'
import type { CallContext, OperationContext } from './context.ts'

type Caller = Readonly<CallContext>

export function collectionOf(target: RouteTarget): CollectionDefinition | undefined {
  return target.kind === 'root' ? undefined : target.collection
}

/**
 * Refuses a client that may do none of these operations. There are several where the body, which is read
 * later, says which one is requested.
 * @throws HttpError 401, 403, or 404 where the collection hides what exists
 */
export function authorize(context: Caller, operations: readonly string[]): void {
  const { target } = context
  if (target) requireAccess(context, collectionOf(target), operations)
}

/**
 * Refuses a client that may do none of these operations to a collection, or to the root.
 * @throws HttpError as {@link authorize} does.
 */
export function requireAccess(
  context: Caller,
  collection: CollectionDefinition | undefined,
  operations: readonly string[],
): void {
  const { api, request, authenticated, principal, base } = context
  if (context.inProcess || api.schemes.length === 0) return
  const unmet = operations.map(operation =>
    findAccessRules(api, collection, operation).find(rule => !satisfies(rule, principal)),
  )
  // A form may name an operation that does not exist here: that is a 405, once it is read.
  const [needed] = unmet
  if (!needed || needed === 'public' || unmet.includes(undefined)) return
  const metadata = metadataAddress(api, base)
  if (!authenticated) throw unauthorized(api.schemes, request, metadata)
  if (collection?.hideExistence) throw hideTarget(context)
  throw insufficientScope(authenticated, needed, metadata)
}

/** Whether the principal may do anything to a collection. */
export function canAnything(context: Caller, collection: CollectionDefinition): boolean {
  const { operations, actions, search, blobs } = collection
  const own = [
    ...operations,
    ...(search && operations.has('list') ? [SEARCH] : []),
    ...(blobs && operations.has('read') ? [DOWNLOAD] : []),
    ...actions.keys(),
  ]
  // What lies below its items needs a parent that may be read.
  return (own.length > 0 ? own : ['read']).some(name => context.can(collection, name))
}

/** Whether the collection has one of these operations, and the client may do it. */
export function offers(context: OperationContext, ...operations: Operation[]): boolean {
  const { collection } = context.target
  return operations.some(name => collection.operations.has(name) && context.can(collection, name))
}

/** @throws HttpError 401 without a principal. */
export function requirePrincipal({ api, request, principal, base }: Caller): void {
  if (principal) return
  throw unauthorized(api.schemes, request, metadataAddress(api, base))
}

/** Lists the methods of a target that a client may use; all of them where it has not authenticated. */
export function listAuthorizedMethods(
  context: Caller,
  target: RouteTarget,
  methods: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (!context.authenticated) return methods
  const collection = collectionOf(target)
  return new Map([...methods].filter(([, operation]) => context.can(collection, operation)))
}

/** Whether a target hides that it exists from a client, which may do nothing there. */
export function isHidden(
  context: Caller,
  { target, methods }: { target: RouteTarget; methods: ReadonlyMap<string, string> },
): boolean {
  const collection = collectionOf(target)
  return (
    collection?.hideExistence === true &&
    ![...methods.values()].some(operation => context.can(collection, operation))
  )
}

/** Hides the target: the 404 is the same as where nothing exists. */
export function hideTarget(context: Caller): HttpError {
  context.forgetTarget()
  return noSuchPath(context)
}

export function noSuchPath(context: Caller): HttpError {
  const { api, request } = context
  const mount = request.prefix || hiddenMount(api)
  const [own = ''] = request.target.split('?', 1)
  const meant = findMeant(context, own)
  const hint = meant
    ? `: did you mean ${mount}${api.prefix}${meant}?`
    : (describeNear(context, own) ?? `. GET ${mount}${api.prefix}/ lists the collections.`)
  const message =
    describeBelow(context, own) ?? `Nothing exists at ${quote(mount + own, 128)}${hint}`
  return new HttpError(404, [{ message, type: 'no_such_path' }])
}

/** Says what is wrong at a list or an item: an extension, or an id that is no number. */
function describeBelow(context: Caller, path: string): string | undefined {
  const named = findNamed(context, path)
  const collection = named?.known.find(({ name }) => name === named.given)
  const [, , id, extension] =
    /^([^/.]*)(?:\/([^/.]*))?(?:\.(\w{1,16}))?$/.exec(named?.own ?? '') ?? []
  if (!collection || (id === undefined && extension === undefined)) return undefined
  const { name } = collection
  const extensions = context.api.formats.flatMap(format =>
    format.write ? format.extensions.slice(0, 1) : [],
  )
  if (extension !== undefined && !extensions.includes(extension))
    return `${name} has no format "${extension}". Use ${extensions.map(each => `.${each}`).join(', ')}.`
  if (id === 'search') return `${name} has no search. To add one, declare search: [<its fields>].`
  return id && collection.shape.identity.kind === 'integer' && !/^\d+$/.test(id)
    ? describeMissing(collection, id)
    : undefined
}

/** Says that no item has an id, and how an id looks if this is not one. */
export function describeMissing(
  { itemName, shape: { identity } }: CollectionDefinition,
  id: string,
): string {
  const missing = `No ${itemName} has the id ${quote(id)}`
  if (identity.kind === 'integer' && !/^\d+$/.test(id)) return `${missing}: ids are whole numbers.`
  return identity.kind === 'uuid' && !isUuid(id) ? `${missing}: ids are UUIDs.` : missing
}

/** Says what is below an item, where nothing has the name that the path gives; or that there are no batches. */
function describeNear(context: Caller, path: string): string | undefined {
  const { own = '', given, known = [] } = findNamed(context, path) ?? {}
  if (own === 'batch' && !context.api.batch)
    return '. This API takes no batches. To add them, set batch: true in defineApi.'
  const collection = known.find(({ name }) => name === given)
  const [, , below = ''] = own.split('/')
  const names = collection && below ? listBelow(context, collection, known) : []
  return names.length > 0 && !names.includes(below)
    ? `. Below an item of ${given} there are: ${names.join(', ')}.`
    : undefined
}

/** Lists the collections and actions below an item that the client may use. */
function listBelow(
  context: Caller,
  collection: CollectionDefinition,
  known: readonly CollectionDefinition[],
): string[] {
  const { name, actions } = collection
  return [
    ...known.filter(each => each.parents.has(name)).map(each => each.name),
    ...[...actions.values()]
      .filter(each => each.on === 'item' && context.can(collection, each.name))
      .map(each => each.name),
  ]
}

/** Splits a path into its version and what follows, with the collections that this client's root lists there. */
function findNamed(context: Caller, path: string) {
  const { prefix, defaultVersion, versions } = context.api
  if (!path.startsWith(`${prefix}/`) || !context.can(undefined, 'describe')) return undefined
  const below = path.slice(prefix.length + 1)
  const [first = ''] = below.split(/[/.]/, 1)
  const version = versions.find(({ name }) => name === first)
  const { collections } = version ?? defaultVersion
  const known = [...collections.values()].filter(each => isKnown(context, each))
  // A version that does not exist is left out too.
  const isVersion = version || (/^v\d+$/.test(first) && !known.some(({ name }) => name === first))
  const own = isVersion ? below.slice(first.length + 1) : below
  const [given = ''] = own.split(/[/.]/, 1)
  return { version, own, given, known }
}

/** Finds the path of the collection that was meant: without its version, or misspelt. Only of those that this client's root lists. */
export function findMeant(context: Caller, path: string): string | undefined {
  const { formats, defaultVersion, prefix } = context.api
  const named = findNamed(context, path)
  if (!named) return undefined
  const { version, own, given, known } = named
  const name =
    nearest(
      given,
      known.map(each => each.name),
    ) ?? ''
  const collection = known.find(each => each.name === name)
  if (!collection) return undefined
  const at = { version: version ?? defaultVersion, collection }
  const whole = printPath({ kind: 'collection', ...at }, formats)
  if (name !== given || !path.startsWith(prefix + whole)) return whole
  // What is not there is below it.
  const [, id = '', below = ''] = own.split('/')
  const child = below && nearest(below, listBelow(context, collection, known))
  return child && id.length <= 64 ? `${whole}/${id}/${child}` : undefined
}

/** Whether the client may know of a collection: nothing names another one to it. A program knows all of them. */
export function isKnown(context: Caller, collection: CollectionDefinition): boolean {
  const { addressable, hideExistence } = collection
  if (!context.forClient) return true
  return addressable && (!hideExistence || canAnything(context, collection))
}

/** Finds the path that a host server or a proxy removes: what `baseUrl` has before the api's prefix. */
function hiddenMount({ baseUrl = '', prefix }: ApiDefinition): string {
  const { path } = splitBase(baseUrl)
  return path.endsWith(prefix) ? path.slice(0, path.length - prefix.length) : ''
}

/** The path of the protected resource's metadata (RFC 9728). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Prints the address of the protected resource's metadata (RFC 9728); `undefined` without an issuer. */
export function metadataAddress({ schemes }: ApiDefinition, base: string): string | undefined {
  return schemes.some(({ issuer }) => issuer !== undefined) ? base + METADATA_PATH : undefined
}

/** Whether the principal may change an item. */
export function mayChange(
  { principal, inProcess, system }: Pick<OperationContext, 'principal' | 'inProcess' | 'system'>,
  { owner }: CollectionDefinition,
  item: Item,
): boolean {
  if (!owner || system || (inProcess && !principal)) return true
  const { field, except = [] } = owner
  const owns = principal !== undefined && item[field] === principal.id
  return owns || except.some(scope => principal?.scopes?.includes(scope))
}
