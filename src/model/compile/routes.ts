// Paths to targets with their methods, and targets back to paths. path-to-regexp matches them and prints templates.
import { compile, type PathFunction, pathToRegexp, stringify } from 'path-to-regexp'
import { isUuid } from '../../base/values.ts'
import { HttpError, quote } from '../../errors.ts'
import type { Format } from '../../formats/format.ts'
import { percentDecode } from '../../http/parameters.ts'
import { listBlobFields } from '../../schema/blob.ts'
import type { Id } from '../../store/store.ts'
import type {
  ActionDefinition,
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../types/definition.ts'
import type { Operation } from '../types/operation.ts'
import { findTrash, TRASH } from './compile-trash.ts'
import { listKeys, UPSERT } from './unique-keys.ts'

/** The item whose sub-collection is requested. */
export interface Parent {
  readonly collection: CollectionDefinition
  readonly id: Id
  /** The field of the sub-collection's items that names it. */
  readonly field: string
}

/** The whole api, or one of its versions. It has nothing that a target of a collection has. */
export interface RootTarget extends Absent {
  readonly kind: 'root'
  readonly version: VersionDefinition | undefined
}

/** Something of a collection, maybe below a parent. */
export interface CollectionTarget {
  readonly kind: 'collection' | 'count' | 'item' | 'search' | 'action' | 'blob'
  readonly version: VersionDefinition
  readonly collection: CollectionDefinition
  readonly parent?: Parent | undefined
  /** The id of an item, and of the item that an action acts on. */
  readonly id?: Id | undefined
  readonly action?: ActionDefinition | undefined
  /** The binary property whose content is requested. */
  readonly property?: string | undefined
}

type Absent = { readonly [K in Exclude<keyof CollectionTarget, 'kind' | 'version'>]?: undefined }

export type RouteTarget = RootTarget | CollectionTarget

/** One path pattern: what each method does there. */
export interface Route {
  /** The pattern for path-to-regexp, such as `/v1/cars/:id`: logs and metrics have it too, since ids do not belong there. */
  readonly pattern: string
  /** The target of its requests, without the ids. */
  readonly target: RouteTarget
  /** The name of the operation or action for each method; HEAD is there where GET is. */
  readonly methods: ReadonlyMap<string, string>
  /** Builds the target of a request from the ids in its path; `undefined` where one of them cannot be an id. */
  readonly resolve: (
    idText: string | undefined,
    parentText: string | undefined,
  ) => RouteTarget | undefined
}

/** The route of a request; `target` has the ids of its path. */
export interface Match<Compiled = unknown> extends Omit<Route, 'resolve'> {
  /** The registered extension at the end of the path. */
  readonly extension: string | undefined
  /** What {@link buildRouter}'s `compileRoute` made of the route. */
  readonly compiled: Compiled
}

export interface Router<Compiled = unknown> {
  /**
   * Finds the target of a raw path; `undefined` where nothing is there. A trailing slash does not count.
   * @throws HttpError 400 for an escape that is not UTF-8, or a segment that cannot be an id.
   */
  match(path: string): Match<Compiled> | undefined
  /** The registered extension at the end of a raw path, whether or not the path exists. */
  extensionOf(path: string): string | undefined
}

/** Path segments of a collection that cannot be ids. */
export const COUNT = 'count'
export const SEARCH = 'search'

/** The operation that gives the bytes of a binary property. */
export const DOWNLOAD = 'download'

interface CompiledRoute<Compiled> extends Route {
  /** Absent where the pattern is the path. */
  readonly regexp: RegExp | undefined
  /** Absent until the first request: a program defines all routes at its start, and may use few of them. */
  compiled: Compiled | undefined
}

/** Compiles the routes of an api once. @param compileRoute is called at the first request of a route. */
export function buildRouter<Compiled>(
  api: Pick<ApiDefinition, 'versions' | 'formats'>,
  compileRoute: (route: Route) => Compiled,
): Router<Compiled> {
  const versions = new Set(api.versions.map(({ name }) => name).filter(name => name !== ''))
  const extensions = new Set(api.formats.flatMap(format => format.extensions))
  /** By the head of their path, then by its number of slashes: few routes that can match. */
  const routes = new Map<string, CompiledRoute<Compiled>[][]>()
  const listed = [...listRoutes(api.versions)]
  // Paths without parameters win over ids.
  for (const route of [...listed.filter(isFixed), ...listed.filter(each => !isFixed(each))]) {
    const { pattern } = route
    const regexp = isFixed(route) ? undefined : pathToRegexp(pattern, MATCHING).regexp
    const head = headOf(pattern, versions)
    const bySlashes = routes.get(head) ?? []
    routes.set(head, bySlashes)
    const slashes = countSlashes(pattern)
    bySlashes[slashes] ??= []
    bySlashes[slashes].push({ ...route, regexp, compiled: undefined })
  }

  return {
    match(path) {
      if (!path.startsWith('/') || path.startsWith('//')) return undefined
      const raw = path.length > 1 && path[path.length - 1] === '/' ? path.slice(0, -1) : path
      const extension = findExtension(raw, extensions)
      const bare = extension === undefined ? raw : raw.slice(0, -1 - extension.length)
      const canonical = PLAIN.test(bare) ? bare : bare.split('/').map(recode).join('/')
      const candidates = routes.get(headOf(canonical, versions))?.[countSlashes(canonical)]
      for (const route of candidates ?? []) {
        const { pattern, methods, regexp } = route
        // The bytes of a property have no other format.
        if (extension !== undefined && route.target.kind === 'blob') continue
        const found = regexp ? regexp.exec(canonical) : canonical === pattern && NO_IDS
        // The id is the last parameter, its parent the one before.
        const target = found && route.resolve(found.at(-1), found[1])
        if (!target) continue
        route.compiled ??= compileRoute(route)
        return { pattern, methods, compiled: route.compiled, target, extension }
      }
      return undefined
    },
    extensionOf: path => findExtension(path.endsWith('/') ? path.slice(0, -1) : path, extensions),
  }
}

const NO_IDS: readonly string[] = []

const isFixed = ({ pattern }: Route) => !pattern.includes(':')

const MATCHING = { sensitive: true, trailing: false, encodePath: encodeURI }

/** The version of a path and the collection that it begins with, which are never parameters. */
function headOf(path: string, versions: ReadonlySet<string>): string {
  let end = path.indexOf('/', 1)
  if (versions.size > 0 && end !== -1 && versions.has(path.slice(1, end)))
    end = path.indexOf('/', end + 1)
  return end === -1 ? path : path.slice(0, end)
}

function countSlashes(path: string): number {
  let count = 0
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) count++
  return count
}

/** Finds the registered extension of a raw path, before decoding, so that `%2E` escapes a dot. */
function findExtension(raw: string, extensions: ReadonlySet<string>): string | undefined {
  if (!raw.includes('.')) return undefined
  const dot = raw.lastIndexOf('.')
  const ending = raw.slice(dot + 1)
  return dot > raw.lastIndexOf('/') + 1 && extensions.has(ending) ? ending : undefined
}

/** Paths with nothing to decode and nothing to refuse. */
const PLAIN = /^[\w.~/-]*$/

const NOT_IN_SEGMENT = /[/\\\p{Cc}]/u

/** Prints a segment with the escapes that a pattern's own text has. */
function recode(segment: string): string {
  return encodeURIComponent(decodeSegment(segment))
}

function decodeSegment(raw: string): string {
  if (!raw.includes('%') && PLAIN.test(raw)) return raw
  const segment = percentDecode(raw)
  if (segment === undefined) {
    const message = `The path has an escape that is not valid UTF-8: ${quote(raw)}. Encode segments by encodeURIComponent.`
    throw new HttpError(400, [{ message, type: 'invalid_path' }])
  }
  if (NOT_IN_SEGMENT.test(segment)) {
    const message = 'A path segment must not contain a slash, a backslash or a control character.'
    throw new HttpError(400, [{ message, type: 'invalid_path' }])
  }
  return segment
}

/** Lists the routes of versions: their roots, and all places of their collections. */
export function* listRoutes(versions: readonly VersionDefinition[]): Generator<Route> {
  yield rootRoute(undefined)
  for (const version of versions) {
    if (version.name !== '') yield rootRoute(version)
    for (const collection of version.collections.values()) {
      if (!collection.addressable) continue
      yield* collectionRoutes(version, collection)
      for (const [parentName, field] of collection.parents) {
        const parent = version.collections.get(parentName)
        if (parent) yield* collectionRoutes(version, collection, { collection: parent, field })
      }
    }
  }
}

function rootRoute(version: VersionDefinition | undefined): Route {
  const target: RouteTarget = { kind: 'root', version }
  const methods = withHead([['GET', 'describe']])
  return { pattern: printPattern(target), target, methods, resolve: () => target }
}

type RouteMethod = readonly [method: string, operation: string]

function withHead(methods: readonly RouteMethod[]): ReadonlyMap<string, string> {
  const found = new Map(methods)
  const read = found.get('GET')
  return read === undefined ? found : found.set('HEAD', read)
}

type RoutePlace = Pick<CollectionTarget, 'kind' | 'action' | 'property'>

/** The routes of one collection at one place; its own names come before its ids. */
function* collectionRoutes(
  version: VersionDefinition,
  collection: CollectionDefinition,
  under?: Pick<Parent, 'collection' | 'field'>,
): Generator<Route> {
  const on = (method: string, operation: Operation, name: string = operation): RouteMethod[] =>
    collection.operations.has(operation) ? [[method, name]] : []
  const route = (place: RoutePlace, methods: readonly RouteMethod[]): Route => {
    const { kind, action, property } = place
    const hasId = isAddressedById(place)
    const parent = under && { ...under, id: '' }
    const target = { kind, version, collection, parent, id: undefined, action, property }
    return {
      pattern: printPattern(target, hasId),
      target,
      methods: withHead(methods),
      resolve(idText, parentText) {
        const parentId = under && parsePathId(under.collection, parentText)
        if (under && parentId === undefined) return undefined
        const id = hasId ? parsePathId(collection, idText) : undefined
        if (hasId && id === undefined) return undefined
        // Literals of one shape for all targets: what reads them is compiled for one shape.
        const parent =
          under && parentId !== undefined
            ? { collection: under.collection, id: parentId, field: under.field }
            : undefined
        return { kind, version, collection, parent, id, action, property }
      },
    }
  }

  const { deleted } = (under ? undefined : findTrash(collection)) ?? {}
  if (deleted) yield* collectionRoutes(version, deleted)
  const query = (operation: Operation, name?: string) => [
    ...on('GET', operation, name),
    ...on('QUERY', operation, name),
  ]
  const many = [...on('PATCH', 'patchMany'), ...on('DELETE', 'deleteMany')]
  const upsert = !under && listKeys(collection).length > 0 ? on('PUT', 'replace', UPSERT) : []
  const writesOfList = [...on('POST', 'create'), ...upsert, ...many]
  yield route({ kind: 'collection' }, [...query('list'), ...writesOfList])
  yield route({ kind: 'count' }, query('count'))
  if (collection.search) yield route({ kind: 'search' }, query('list', SEARCH))
  for (const action of collection.actions.values())
    yield route({ kind: 'action', action }, [[action.method, action.name]])
  for (const property of listBlobFields(collection.shape.fields))
    yield route({ kind: 'blob', property }, on('GET', 'read', DOWNLOAD))
  const writes = [...on('PUT', 'replace'), ...on('PATCH', 'patch'), ...on('DELETE', 'delete')]
  yield route({ kind: 'item' }, [...on('GET', 'read'), ...writes])
}

/** Whether a place of a collection is addressed by an id. */
function isAddressedById({ kind, action }: RoutePlace): boolean {
  return kind === 'item' || kind === 'blob' || action?.on === 'item'
}

/** @param segment of a canonical path: what is not plain has escapes. */
function parsePathId(collection: CollectionDefinition, segment = ''): Id | undefined {
  const id = parseId(collection, segment.includes('%') ? decodeSegment(segment) : segment)
  return id === undefined ? undefined : normalizeId(collection, id)
}

/** Normalizes an id to the form that items have: a UUID is accepted in either case (RFC 9562 §4), and kept in lower case. */
export function normalizeId({ shape }: CollectionDefinition, id: Id): Id {
  if (shape.identity.kind !== 'uuid') return id
  const text = String(id)
  return isUuid(text) ? text.toLowerCase() : id
}

/** Parses an id of a collection; `undefined` where the text cannot be one of its ids. */
export function parseId({ shape }: CollectionDefinition, text = ''): Id | undefined {
  if (shape.identity.kind !== 'integer') return text === '' ? undefined : text
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** Prints the pattern of a target; a target with an id, or one that stands for all of its route, has `:id`. */
function printPattern(target: RouteTarget, withId = false): string {
  if (target.kind === 'root') return target.version?.name ? `/${target.version.name}` : '/'
  const { version, parent } = target
  const prefix = version.name === '' ? '' : `/${version.name}`
  const above = parent ? `/${parent.collection.name}/:parent` : ''
  const id = withId || target.id !== undefined ? '/:id' : ''
  const last = lastSegment(target)
  return `${prefix}${above}/${pathOf(target)}${id}${last === undefined ? '' : `/${escapeText(last)}`}`
}

/** The path of a collection. `restore` of a trash has the path of its collection. */
const pathOf = ({ kind, collection }: CollectionTarget) =>
  kind === 'action' ? collection.name : collection.path

/** The name behind a collection or an item. */
function lastSegment({ kind, action, property }: RoutePlace): string | undefined {
  return kind === 'count' || kind === 'search' ? kind : (action?.name ?? property)
}

/** Escapes what path-to-regexp gives a meaning: names of properties may hold anything. */
function escapeText(text: string): string {
  return /^[\w-]*$/.test(text) ? text : stringify({ tokens: [{ type: 'text', value: text }] })
}

/** Prints a pattern as a URI template (RFC 6570) with `{parent}` and `{id}`. */
export function toUriTemplate(pattern: string): string {
  return findPrinter(pattern)({ parent: '{parent}', id: '{id}' })
}

/** By pattern: as many as all apis have routes. */
const printers = new Map<string, PathFunction<Record<string, string>>>()

/** Prints the path of a target below the api's root. */
export function printPath(target: RouteTarget, formats: readonly Format[]): string {
  const { version, kind } = target
  const prefix = version && version.name !== '' ? `/${version.name}` : ''
  if (kind === 'root') return `${prefix}/`
  const { parent, id } = target
  const above = parent ? `/${parent.collection.name}/${encodeURIComponent(parent.id)}` : ''
  // Only the end of a path can be taken for an extension.
  const own = id === undefined ? '' : `/${printIdSegment(id, kind === 'item' ? formats : [])}`
  const last = lastSegment(target)
  // Of all names only those of properties hold anything.
  return `${prefix}${above}/${pathOf(target)}${own}${last === undefined ? '' : `/${encodeURI(last)}`}`
}

function findPrinter(pattern: string): PathFunction<Record<string, string>> {
  const known = printers.get(pattern)
  if (known) return known
  const print = compile(pattern, { encode: false, encodePath: encodeURI })
  printers.set(pattern, print)
  return print
}

/** Prints the URI template of a target; `{id}` stands for its id, or its parent's, where that is absent or empty. */
export function printUriTemplate(target: CollectionTarget): string {
  const print = (id: Id = '') => (id === '' ? '{id}' : encodeURIComponent(id))
  const params = { id: print(target.id), parent: print(target.parent?.id) }
  return findPrinter(printPattern(target, isAddressedById(target)))(params)
}

/** Prints an id in a path; a dot that would make its end an extension is escaped. */
function printIdSegment(id: Id, formats: readonly Format[]): string {
  if (typeof id === 'number') return String(id)
  const text = encodeURIComponent(id)
  const dot = text.lastIndexOf('.')
  if (dot === -1) return text
  const end = text.slice(dot + 1)
  if (!formats.some(({ extensions }) => extensions.includes(end))) return text
  return `${text.slice(0, dot)}%2E${end}`
}

/**
 * Says why a text cannot be an id of a collection; `undefined` where it can. Ids stand in paths, where
 * `count` and the names of actions have another meaning.
 */
export function invalidIdReason(
  { actions, search, trash }: CollectionDefinition,
  id: string,
): string | undefined {
  const taken =
    id === COUNT ||
    (trash && id === TRASH) ||
    (search && id === SEARCH) ||
    actions.get(id)?.on === 'collection'
  if (taken) return `${JSON.stringify(id)} is already a path here. Choose another id.`
  if (id === '' || id === '.' || id === '..') return 'An id must not be empty, "." or ".."'
  if (id.length > 255) return 'An id must have at most 255 characters'
  return NOT_IN_SEGMENT.test(id)
    ? 'An id must not contain a slash, a backslash or a control character'
    : undefined
}
