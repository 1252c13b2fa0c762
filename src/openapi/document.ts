// The OpenAPI document of an api, or of one of its versions.

import { memoize } from '../base/memoize.ts'
import { type Item, omit } from '../base/values.ts'
import { listRoutes, type Route, type RouteTarget, toUriTemplate } from '../model/compile/routes.ts'
import { type AnyApi, findApiDefinition } from '../model/definitions.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../model/types/definition.ts'
import { fieldSchema } from '../schema/json-schema.ts'
import { BATCH_PATH, buildBatch, hasBatch } from './batch.ts'
import { Components } from './components.ts'
import { buildPathItem, toPlainItem } from './path-item.ts'
import { describeSchemes } from './security.ts'

export const OPENAPI_PATH = '/openapi.json'
export const DOCS_PATH = '/docs'

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
}

/**
 * Builds the OpenAPI document of an api: what `GET /openapi.json` answers, with every collection.
 * @throws TypeError for an unknown version
 * @example
 * import { defineApi, defineCollection, memoryStore, openApiDocument } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 * const document = openApiDocument(defineApi({ collections: { cars } }), { baseUrl: 'https://api.example' })
 */
export function openApiDocument(
  api: AnyApi,
  { version, baseUrl, openapi }: OpenApiOptions = {},
): Item {
  const definition = findApiDefinition(api)
  const found = definition.versions.find(({ number }) => number === version)
  if (version !== undefined && !found) throw new TypeError(`The api has no version ${version}`)
  const described = version === undefined ? undefined : found
  const document = buildDocument(definition, described, collection => collection)
  return withServer(document, baseUrl ?? definition.baseUrl ?? definition.prefix, openapi)
}

/** Adds the version of OpenAPI and the address of the api's root to a document. */
export function withServer(document: Item, base: string, version: OpenApiVersion = '3.1'): Item {
  const described = version === '3.1' ? withoutQuery(document) : document
  return { openapi: PATCHES[version], servers: [{ url: base || '/' }], ...described }
}

/** Leaves the method QUERY out: a path item has it since OpenAPI 3.2. */
const withoutQuery = memoize((document: Item): Item => {
  const paths = Object.entries(document.paths as Item).map(([path, item]) => {
    return [path, omit(item as Item, QUERY)] // as `describePath` builds them
  })
  return { ...document, paths: Object.fromEntries(paths) }
})

const QUERY: ReadonlySet<string> = new Set(['query'])

/**
 * Builds a document without its servers.
 * @param version absent for the root of the api, which describes the default version.
 * @param view returns a collection as the client sees it; `undefined` where it is hidden from it.
 */
export function buildDocument(
  api: ApiDefinition,
  version: VersionDefinition | undefined,
  view: (collection: CollectionDefinition) => CollectionDefinition | undefined,
): Item {
  const described = version ?? api.defaultVersion
  const schemes = describeSchemes(api.schemes)
  const components = new Components(false, view)
  const paths: Record<string, object> = {}
  for (const route of listRoutes(api.versions)) {
    const { target, methods, pattern } = route
    const seen = target.collection && view(target.collection)
    const isHere = target.version === described || (!version && !target.version)
    if (!isHere || methods.size === 0 || !collectionsOf(target).every(view)) continue
    const path = toUriTemplate(pattern)
    const viewed = seen ? { ...route, target: { ...target, collection: seen } } : route
    paths[path] ??= describePath(api, viewed, components)
  }
  if (hasBatch(api, described))
    paths[(described.name === '' ? '' : `/${described.name}`) + BATCH_PATH] = buildBatch(
      api,
      described,
      components,
    )
  const collections = [...described.collections.values()].filter(view)
  return toPlainItem({
    info: { ...api.info, version: String(described.number ?? 1) },
    tags: collections.map(({ name, description }) => ({ name, description })),
    paths,
    // An empty list says that no operation needs credentials.
    ...(schemes.size === 0 && { security: [] }),
    components: {
      ...components.build(),
      ...(schemes.size > 0 && { securitySchemes: Object.fromEntries(schemes) }),
    },
  })
}

/** Lists the collections that a path names. */
function collectionsOf({ collection, parent }: RouteTarget): readonly CollectionDefinition[] {
  return [collection, parent?.collection].filter(each => each !== undefined)
}

function describePath(api: ApiDefinition, route: Route, components: Components): object {
  const [collection, parent] = collectionsOf(route.target)
  const parameters = [
    ...(parent ? [idParameter('parent', parent)] : []),
    ...(collection && route.pattern.includes('/:id') ? [idParameter('id', collection)] : []),
  ]
  return {
    ...(parameters.length > 0 && { parameters }),
    ...buildPathItem(api, route, components),
  }
}

function idParameter(name: string, { shape, itemName }: CollectionDefinition): object {
  const field = shape.fields.get(shape.identity.name)
  return {
    name,
    in: 'path',
    required: true,
    description: `The id of the ${itemName}`,
    schema: field ? fieldSchema(field) : { type: 'string' },
  }
}
