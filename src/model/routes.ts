// Paths to targets with their methods, and targets back to paths. path-to-regexp, whose syntax templates
// have, is used here and nowhere else.
import { parse } from 'path-to-regexp'
import { HttpError } from '../errors.ts'
import { percentDecode } from '../http/message.ts'
import { listBlobFields } from '../schema/blob.ts'
import { isUuid } from '../schema/values.ts'
import type { Id } from '../store/store.ts'
import type {
  ActionDefinition,
  ApiDefinition,
  CollectionDefinition,
  Operation,
  VersionDefinition,
} from './definition.ts'

/** The item whose sub-collection is meant. */
export interface Parent {
  readonly collection: CollectionDefinition
  readonly id: Id
  /** The field of the sub-collection's items that names it. */
  readonly field: string
}

/** The whole api, or one of its versions. */
export interface RootTarget {
  readonly kind: 'root'
  readonly version: VersionDefinition | undefined
}

/** Something of a collection, maybe below a parent. */
export interface CollectionTarget {
  readonly kind: 'collection' | 'count' | 'item' | 'search' | 'action' | 'blob'
  readonly version: VersionDefinition
  readonly collection: CollectionDefinition
  readonly parent?: Parent | undefined
  /** Of an item, and of an action on an item. */
  readonly id?: Id | undefined
  readonly action?: ActionDefinition | undefined
  /** Of a blob: the binary property. */
  readonly property?: string | undefined
}

export type Target = RootTarget | CollectionTarget

export interface Match {
  readonly target: Target
  /** The path's pattern, such as `/v1/cars/:id`: for logs and metrics, where ids do not belong. */
  readonly template: string
  /** What each method does, by the name of the operation or action; HEAD stands where GET does. */
  readonly methods: ReadonlyMap<string, string>
  /** The registered extension at the end of the path. */
  readonly extension: string | undefined
}

export interface Router {
  /**
   * The target of a raw path, or `undefined` where there is none. A slash at the end does not count.
   * @throws HttpError 400 for an escape that is no UTF-8, or a segment that can be no id.
   */
  match(path: string): Match | undefined
  /** The registered extension at the end of a raw path, whether or not anything stands there. */
  extensionOf(path: string): string | undefined
}

/** The segment that a collection's own names take from its ids. */
export const COUNT = 'count'
export const SEARCH = 'search'

/** The operation that gives the bytes of a binary property. */
export const DOWNLOAD = 'download'

/** What stands in a path for the parameters of a template, in their order. */
type Params = readonly string[]

interface Route {
  readonly template: string
  readonly methods: ReadonlyMap<string, string>
  /** The template's segments; `undefined` is a parameter. */
  readonly segments: readonly (string | undefined)[]
  readonly target: (params: Params) => Target | undefined
}

/** Compiles the routes of an api once. */
export function buildRouter(api: Pick<ApiDefinition, 'versions' | 'formats'>): Router {
  const versionNames = new Set(api.versions.map(version => version.name))
  const table = new Map<string, Route[]>()
  for (const route of routesOf(api.versions)) {
    const key = tableKey(route.segments)
    table.set(key, [...(table.get(key) ?? []), route])
  }
  const extensions = new Set(api.formats.flatMap(format => format.extensions))

  /**
   * A path's length and first segments, which are no parameters, lead to the few templates that can
   * fit: four times cheaper than asking forty, one after another.
   */
  function tableKey(segments: readonly (string | undefined)[]): string {
    const [first = '', second = ''] = segments
    const versioned = first !== '' && versionNames.has(first)
    return `${segments.length} ${first}${versioned ? `/${second}` : ''}`
  }

  return {
    match(path) {
      if (!path.startsWith('/') || path.startsWith('//')) return undefined
      const { segments, extension } = readPath(path, extensions)
      for (const route of table.get(tableKey(segments)) ?? []) {
        const params = paramsOf(route, segments)
        const target = params && route.target(params)
        if (target) return { target, template: route.template, methods: route.methods, extension }
      }
      return undefined
    },
    extensionOf: path => extensionIn(withoutSlashes(path), extensions),
  }
}

/** What stands for the parameters in a path as long as the template; `undefined` where it does not fit. */
function paramsOf({ segments: wanted }: Route, segments: readonly string[]): Params | undefined {
  const params: string[] = []
  let at = 0
  for (const segment of segments) {
    const known = wanted[at++]
    if (known === undefined && segment !== '') params.push(segment)
    else if (known !== segment) return undefined
  }
  return params
}

/** The decoded segments of a raw path, and its extension. */
function readPath(path: string, extensions: ReadonlySet<string>) {
  const raw = withoutSlashes(path)
  const extension = extensionIn(raw, extensions)
  const bare = extension === undefined ? raw : raw.slice(0, -1 - extension.length)
  const segments = bare.split('/')
  // Most paths hold nothing to decode, and nothing to refuse.
  return { segments: PLAIN.test(bare) ? segments : segments.map(decodeSegment), extension }
}

function withoutSlashes(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(1, -1) : path.slice(1)
}

/** The extension of a path where it is a registered one, read before decoding. */
function extensionIn(raw: string, extensions: ReadonlySet<string>): string | undefined {
  const dot = raw.lastIndexOf('.')
  const ending = raw.slice(dot + 1)
  return dot > raw.lastIndexOf('/') + 1 && extensions.has(ending) ? ending : undefined
}

const PLAIN = /^[\w.~/-]*$/

const NOT_IN_SEGMENT = /[/\\\p{Cc}]/u

function decodeSegment(raw: string): string {
  const segment = percentDecode(raw)
  if (segment === undefined) {
    throw new HttpError(400, [
      { message: 'The path has an escape that is no UTF-8', type: 'invalid_path' },
    ])
  }
  if (NOT_IN_SEGMENT.test(segment)) {
    const message = 'A path segment may hold no slash, backslash or control character'
    throw new HttpError(400, [{ message, type: 'invalid_path' }])
  }
  return segment
}

function* routesOf(versions: readonly VersionDefinition[]): Generator<Route> {
  yield route('/', rootMethods, () => ({ kind: 'root', version: undefined }))
  for (const version of versions) {
    const prefix = version.name === '' ? '' : `/${version.name}`
    if (prefix !== '') yield route(prefix, rootMethods, () => ({ kind: 'root', version }))
    for (const collection of version.collections.values()) {
      yield* collectionRoutes(version, collection, `${prefix}/${collection.name}`)
      for (const [parentName, field] of collection.parents) {
        const parent = version.collections.get(parentName)
        if (!parent) continue
        yield* collectionRoutes(
          version,
          collection,
          `${prefix}/${parentName}/:parent/${collection.name}`,
          ([text = '']) => {
            const id = idIn(parent, text)
            return id === undefined ? undefined : { collection: parent, id, field }
          },
        )
      }
    }
  }
}

const rootMethods = new Map([['GET', 'describe']])

/** The routes of one collection at one place; its own names come before its ids. */
function* collectionRoutes(
  version: VersionDefinition,
  collection: CollectionDefinition,
  path: string,
  parentOf?: (params: Params) => Parent | undefined,
): Generator<Route> {
  type Rest = Pick<CollectionTarget, 'kind' | 'action' | 'property'>
  /** All of one shape: a spread would cost a tenth of a read. */
  const targetOf = ({ kind, action, property }: Rest, id: Id | undefined, params: Params) => {
    const parent = parentOf?.(params)
    if (parentOf && !parent) return undefined
    return { kind, version, collection, parent, id, action, property }
  }
  const fixed = (rest: Rest) => (params: Params) => targetOf(rest, undefined, params)
  const item = (rest: Rest) => (params: Params) => {
    const id = idIn(collection, String(params.at(-1)))
    return id === undefined ? undefined : targetOf(rest, id, params)
  }
  const allowed = (methods: Record<string, Operation>) =>
    new Map(Object.entries(methods).filter(([, name]) => collection.operations.has(name)))

  yield route(path, allowed({ GET: 'list', POST: 'create' }), fixed({ kind: 'collection' }))
  yield route(`${path}/${COUNT}`, allowed({ GET: 'count' }), fixed({ kind: 'count' }))
  if (collection.search) {
    const methods = collection.operations.has('list') ? new Map([['GET', SEARCH]]) : new Map()
    yield route(`${path}/${SEARCH}`, methods, fixed({ kind: 'search' }))
  }
  for (const action of collection.actions.values()) {
    const methods = new Map([[action.method, action.name]])
    if (action.on === 'collection') {
      yield route(`${path}/${action.name}`, methods, fixed({ kind: 'action', action }))
    } else {
      yield route(`${path}/:id/${action.name}`, methods, item({ kind: 'action', action }))
    }
  }
  for (const property of listBlobFields(collection.shape.fields)) {
    const methods = collection.operations.has('read') ? new Map([['GET', DOWNLOAD]]) : new Map()
    yield route(`${path}/:id/${property}`, methods, item({ kind: 'blob', property }))
  }
  const itemMethods: Record<string, Operation> = {
    GET: 'read',
    PUT: 'replace',
    PATCH: 'patch',
    DELETE: 'delete',
  }
  yield route(`${path}/:id`, allowed(itemMethods), item({ kind: 'item' }))
}

function route(
  template: string,
  methods: ReadonlyMap<string, string>,
  target: Route['target'],
): Route {
  const read = methods.get('GET')
  return {
    template,
    methods: read === undefined ? methods : new Map([...methods, ['HEAD', read]]),
    segments: segmentsOf(template),
    target,
  }
}

/** The segments of a template, each a text or a parameter as a whole. */
function segmentsOf(template: string): (string | undefined)[] {
  const { tokens } = parse(template)
  const text = tokens.map(token => (token.type === 'text' ? token.value : PARAMETER)).join('')
  return text
    .slice(1)
    .split('/')
    .map(segment => (segment === PARAMETER ? undefined : segment))
}

/** No path holds it. */
const PARAMETER = '\0'

/** The id that a segment of a path means. */
function idIn(collection: CollectionDefinition, segment: string): Id | undefined {
  const id = parseId(collection, segment)
  return id === undefined ? undefined : normalizeId(collection, id)
}

/** An id as items have it: a UUID is taken in either case (RFC 9562 §4), and kept in lower case. */
export function normalizeId({ shape }: CollectionDefinition, id: Id): Id {
  const text = String(id)
  return shape.identity.kind === 'uuid' && isUuid(text) ? text.toLowerCase() : id
}

/** The id that a text means in a collection; `undefined` where it can be none of its ids. */
export function parseId({ shape }: CollectionDefinition, text = ''): Id | undefined {
  if (shape.identity.kind !== 'integer') return text === '' ? undefined : text
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
    ? Number(text)
    : undefined
}

/** The path of a target below the api's root. */
export function printPath(target: Target, formats: ApiDefinition['formats']): string {
  if (target.kind === 'root') return target.version?.name ? `/${target.version.name}/` : '/'
  const { version, collection, parent, id, kind, action, property } = target
  const segments = version.name === '' ? [] : [version.name]
  if (parent) segments.push(parent.collection.name, idSegment(parent.id, []))
  segments.push(collection.name)
  // Only the end of a path can be taken for an extension.
  if (id !== undefined) segments.push(idSegment(id, kind === 'item' ? formats : []))
  if (kind === 'count') segments.push(COUNT)
  if (kind === 'search') segments.push(SEARCH)
  if (action) segments.push(action.name)
  if (property !== undefined) segments.push(property)
  return `/${segments.join('/')}`
}

/** An id in a path; a dot that would make its end an extension is escaped. */
function idSegment(id: Id, formats: ApiDefinition['formats']): string {
  const text = encodeURIComponent(id)
  const dot = text.lastIndexOf('.')
  const end = text.slice(dot + 1)
  if (dot === -1 || !formats.some(({ extensions }) => extensions.includes(end))) return text
  return `${text.slice(0, dot)}%2E${text.slice(dot + 1)}`
}

/**
 * Why a text can be no id of a collection, or `undefined` where it can: ids stand in paths, where
 * `count` and the names of actions mean something else.
 */
export function invalidIdReason(
  { actions, search }: CollectionDefinition,
  id: string,
): string | undefined {
  const taken = id === COUNT || (search && id === SEARCH) || actions.get(id)?.on === 'collection'
  if (taken) return `${JSON.stringify(id)} is the name of an action here`
  if (id === '' || id === '.' || id === '..') return 'An id may not be empty, "." or ".."'
  if (id.length > 255) return 'An id may have at most 255 characters'
  return NOT_IN_SEGMENT.test(id)
    ? 'An id may hold no slash, backslash or control character'
    : undefined
}
