// The OpenAPI document of an api, or of one of its versions.

import type { Item } from '../base/values.ts'
import { listRoutes, type Route, type RouteTarget, toUriTemplate } from '../model/compile/routes.ts'
import { type AnyApi, findApiDefinition } from '../model/definitions.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../model/types/definition.ts'
import { fieldSchema } from '../schema/json-schema.ts'
import { BATCH_PATH, buildBatch, hasBatch } from './batch.ts'
import { type ComponentKind, Components, toComponentName } from './components.ts'
import { findFormats } from './formats.ts'
import { printItemType, printSchemaName } from './names.ts'
import { API_TAG, buildPathItem } from './path-item.ts'
import { describeSchemes } from './security.ts'

export const OPENAPI_PATH = '/openapi.json'
export const DOCS_PATH = '/docs'

/** Where the forms of the documentation send requests, and the parameter that names the path they are for. */
export const TRY_PATH = `${DOCS_PATH}/try`
export const TRY_PARAMETER = '_path'

/** The versions of OpenAPI that a document is printed as. */
export const OPENAPI_VERSIONS = ['3.1', '3.2'] as const

export type OpenApiVersion = (typeof OPENAPI_VERSIONS)[number]

const PATCHES: Readonly<Record<OpenApiVersion, string>> = { '3.1': '3.1.1', '3.2': '3.2.0' }

/** Which document `openApiDocument` prints. */
export interface OpenApiOptions {
  /** The number of a version. Default: the root of the api, with the newest version that is not deprecated. */
  readonly version?: number | undefined
  /** The public address of the api's root. Default: that of the api, else a relative one. */
  readonly baseUrl?: string | undefined
  /** The version of OpenAPI. Default `3.1`. */
  readonly openapi?: OpenApiVersion | undefined
  /**
   * The names of the formats that are described, such as `['json']`: a light document for programs that generate
   * clients. Default: all.
   */
  readonly formats?: readonly string[] | undefined
}

/**
 * Builds the OpenAPI document of an api: what `GET /openapi.json` answers, with every collection.
 * @throws TypeError for an unknown version or format
 * @example
 * import { defineApi, defineCollection, memoryStore, openApiDocument } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 * const document = openApiDocument(defineApi({ collections: { cars } }), { baseUrl: 'https://api.example' })
 */
export function openApiDocument(
  api: AnyApi,
  { version, baseUrl, openapi, formats }: OpenApiOptions = {},
): Item {
  const definition = findApiDefinition(api)
  const found = definition.versions.find(({ number }) => number === version)
  if (version !== undefined && !found) throw new TypeError(`The api has no version ${version}`)
  const unknown = formats && findFormats(definition, formats).unknown
  if (unknown) throw new TypeError(unknown)
  const printing = printDocument(definition, {
    version: version === undefined ? undefined : found,
    openapi,
    formats,
    see: collection => collection,
  })
  let step = printing.next()
  while (!step.done) step = printing.next()
  const base = baseUrl ?? definition.baseUrl ?? definition.prefix
  return JSON.parse(withServer(step.value, base))
}

/** Prints where the schema of a collection's items is, below the root of the api: in the document of its version. */
export function printSchemaPath(
  version: VersionDefinition,
  collection: CollectionDefinition,
): string {
  const root = version.name === '' ? '' : `/${version.name}`
  const name = toComponentName(printSchemaName(version, collection))
  return `${root}${OPENAPI_PATH}#/components/schemas/${name}`
}

/** A printed document up to its servers, and behind them. */
export interface PrintedDocument {
  readonly head: string
  readonly tail: string
}

/** Adds the address of the api's root to a document. */
export function withServer({ head, tail }: PrintedDocument, base: string): string {
  return `${head}"servers":${JSON.stringify([{ url: base || '/' }])},${tail}`
}

/** Whose paths are listed, and to whom. */
export interface PathOptions {
  /** Absent for the root of the api, which describes the default version. */
  readonly version: VersionDefinition | undefined
  /** Returns a collection as the client sees it; `undefined` where it is hidden from it. */
  readonly see: (collection: CollectionDefinition) => CollectionDefinition | undefined
  /** Whether paths below a parent are left out that are elsewhere too. Default false. */
  readonly isLight?: boolean
}

/** Which document is printed. */
interface DocumentOptions extends PathOptions, Pick<OpenApiOptions, 'openapi' | 'formats'> {}

/** Prints a document; each step is a small part of the work. */
export function* printDocument(
  whole: ApiDefinition,
  options: DocumentOptions,
): Generator<undefined, PrintedDocument> {
  const { version, openapi = '3.1', formats, see } = options
  const described = version ?? whole.defaultVersion
  const isLight = formats !== undefined
  const api = formats ? { ...whole, formats: findFormats(whole, formats).formats } : whole
  const schemes = describeSchemes(api.schemes)
  const components = new Components({ isLight, version: described, see })
  const collections = listSeen(described, see)
  const paths: [string, object][] = []
  for (const route of listPaths(api, { version, see, isLight })) {
    // A path item has QUERY since OpenAPI 3.2.
    const methods = [...route.methods].filter(([method]) => method !== 'QUERY' || openapi !== '3.1')
    const path = toUriTemplate(route.pattern)
    paths.push([path, describePath(api, { ...route, methods: new Map(methods) }, components)])
    yield
  }
  if (hasBatch(api, described)) {
    const root = described.name === '' ? '' : `/${described.name}`
    paths.push([root + BATCH_PATH, buildBatch(api, described, components)])
  }
  const print = (part: unknown) => components.print(part)
  const printEntries = function* (entries: readonly (readonly [string, unknown])[]) {
    const printed: string[] = []
    for (const [name, part] of entries) {
      printed.push(`${JSON.stringify(name)}:${print(part)}`)
      yield
    }
    return `{${printed.join()}}`
  }
  const info = { ...api.info, version: String(described.number ?? 1) }
  const tags = [
    { name: API_TAG, description: 'Its collections' },
    ...collections.map(({ name, description }) => ({ name, description })),
  ]
  const parts = [`"info":${print(info)}`, `"tags":${print(tags)}`]
  parts.push(`"paths":${yield* printEntries(paths)}`)
  // An empty list says that no operation needs credentials.
  if (schemes.size === 0) parts.push('"security":[]')
  const shared: string[] = []
  for (const kind of KINDS) {
    const listed = components.list(kind)
    if (listed.length > 0) shared.push(`"${kind}":${yield* printEntries(listed)}`)
  }
  if (schemes.size > 0) shared.push(`"securitySchemes":${print(Object.fromEntries(schemes))}`)
  parts.push(`"components":{${shared.join()}}`)
  return { head: `{"openapi":"${PATCHES[openapi]}",`, tail: `${parts.join()}}` }
}

/** Lists the collections that a description names, as the client sees them. */
export function listSeen(
  { collections }: VersionDefinition,
  see: PathOptions['see'],
): readonly CollectionDefinition[] {
  return [...collections.values()].flatMap(each => (each.addressable && see(each)) || [])
}

const KINDS: readonly ComponentKind[] = ['schemas', 'parameters', 'headers', 'responses']

/** Lists the routes of a document, in what the client sees; each path once. */
export function* listPaths(
  api: ApiDefinition,
  { version, see, isLight }: PathOptions,
): Generator<Route> {
  const known = new Set<string>()
  for (const route of listRoutes(version ? [version] : [api.defaultVersion])) {
    const { target, methods, pattern } = route
    if (target.version === undefined && version) continue
    const isVisible = collectionsOf(target).every(see)
    // Whatever is below a parent is at a path of its own too; only there is a list by its parent.
    const isTwice = isLight && target.parent && target.kind !== 'collection'
    if (methods.size === 0 || known.has(pattern) || !isVisible || isTwice) continue
    known.add(pattern)
    const seen = target.collection && see(target.collection)
    yield seen ? { ...route, target: { ...target, collection: seen } } : route
  }
}

/** Lists the collections that a path names. */
function collectionsOf({ collection, parent }: RouteTarget): readonly CollectionDefinition[] {
  return [collection, parent?.collection].filter(each => each !== undefined)
}

function describePath(api: ApiDefinition, route: Route, components: Components): object {
  const [collection, parent] = collectionsOf(route.target)
  const parameters = [
    ...(parent ? [idParameter('parent', parent, components)] : []),
    ...(collection && route.pattern.includes('/:id')
      ? [idParameter('id', collection, components)]
      : []),
  ]
  return {
    ...(parameters.length > 0 && { parameters }),
    ...buildPathItem(api, route, components),
  }
}

function idParameter(
  name: string,
  collection: CollectionDefinition,
  components: Components,
): object {
  const { shape, itemName } = collection
  const field = shape.fields.get(shape.identity.name)
  const wanted = `${printItemType(collection)}${name === 'id' ? '' : 'Parent'}Id`
  const build = () => ({
    name,
    in: 'path',
    required: true,
    description: `The id of the ${itemName}`,
    schema: field ? fieldSchema(field) : { type: 'string' },
  })
  return components.refer('parameters', wanted, { owner: shape, scope: collection.name }, build)
}
