// Documents beside the collections: what describes the api (`/openapi.json`, `/docs`, and the catalog of
// them, RFC 9727), its health, and the metadata of a protected resource (RFC 9728).

import { type AccessRule, listScopes } from '../auth/access.ts'
import { Remembered } from '../base/remembered.ts'
import type { Awaitable, Item, Json } from '../base/values.ts'
import { printLink } from '../http/link.ts'
import { type HeaderList, splitList } from '../http/message.ts'
import { isConditional } from '../http/methods.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../model/types/definition.ts'
import { AS_JSON, parseMediaType } from '../negotiate.ts'
import {
  buildDocument,
  DOCS_PATH,
  OPENAPI_PATH,
  OPENAPI_VERSIONS,
  type OpenApiVersion,
  withServer,
} from '../openapi/document.ts'
import { canAnything, METADATA_PATH } from '../operations/authorize.ts'
import type { DocsPrinter, Pages, RequestContext, Step } from '../operations/context.ts'
import { DiskFullError, UnavailableError } from '../store/errors.ts'
import { admissionSteps } from './admission.ts'
import { requireDiskSpace } from './disk-full.ts'
import { answerOptionsByHeaders, type Endpoints, methodNotAllowed } from './endpoint.ts'
import { respond } from './respond.ts'

/** A document at a path. */
interface ServedDocument {
  /** Its media type. Default `application/json`. */
  readonly type?: string
  /** Whether no rate limit counts it, since it is read often. Default false. */
  readonly uncounted?: boolean
  /** Whether it contains addresses: without a `baseUrl` they need a `Host`. Default true. */
  readonly addressed?: boolean
  /** @throws HttpError */
  read(context: RequestContext): Awaitable<Content>
}

interface Content {
  readonly text: string
  readonly headers?: HeaderList
  /** Its media type, where the request chooses it. */
  readonly type?: string | undefined
  /** The request headers that it depends on. */
  readonly vary?: readonly string[]
}

export interface DocumentEndpoint extends Endpoints {
  /** Its path, for logs and metrics. */
  readonly route: string
  readonly addressed: boolean
}

/** Compiles the documents of an api by their paths, each with and without a slash at its end. */
export function compileDocuments(
  api: ApiDefinition,
  pages: Pages | undefined,
): ReadonlyMap<string, DocumentEndpoint> {
  const endpoints = [...listDocuments(api, pages?.docs)].flatMap(([path, document]) => {
    const endpoint = compileDocument(api, path, document)
    return [[path, endpoint] as const, [`${path}/`, endpoint] as const]
  })
  return new Map(endpoints)
}

const METHODS = 'GET, HEAD, OPTIONS'
const ALLOW = ['Allow', METHODS, 'Access-Control-Allow-Methods', METHODS]

function compileDocument(
  api: ApiDefinition,
  route: string,
  { read, uncounted, addressed = true, ...document }: ServedDocument,
): DocumentEndpoint {
  const serve: Step = async context => {
    // As if its path had the extension: nothing else is consulted.
    context.extension = 'json'
    context.negotiated = AS_JSON
    if (!isConditional(context.method)) throw methodNotAllowed(context.method, METHODS)
    const { text, headers = [], type = document.type, vary } = await read(context)
    if (type) context.negotiated = { ...AS_JSON, type, contentType: type }
    context.result = {
      status: 200,
      headers: [...headers],
      representation: { kind: 'document', name: 'document', data: null, text },
      ...(vary && { vary }),
    }
  }
  const otherwise = [...(uncounted ? [skipCounting] : admissionSteps(api)), serve, respond]
  const byMethod = new Map([['OPTIONS', answerOptionsByHeaders(api, ALLOW)]])
  return { route, addressed, byMethod, otherwise }
}

function skipCounting(context: RequestContext): void {
  context.counted = true
}

function* listDocuments(
  api: ApiDefinition,
  printer: DocsPrinter | undefined,
): Generator<readonly [path: string, ServedDocument]> {
  const { prefix, versions } = api
  const metadata = describeResource(api)
  if (metadata) {
    // RFC 9728 §3.1 puts the resource's path behind the well-known one; below a mount only the other can be reached.
    yield [prefix + METADATA_PATH, metadata]
    yield [METADATA_PATH + prefix, metadata]
  }
  for (const version of [undefined, ...versions.filter(({ name }) => name !== '')]) {
    const root = version ? printRoot(version) : ''
    const find = createFinder(api, version)
    yield [prefix + root + OPENAPI_PATH, openApi(find)]
    if (printer) {
      yield [prefix + root + DOCS_PATH, docs(root, find, printer)]
      yield [`${prefix}${root}${DOCS_PATH}/style.css`, style(printer)]
    }
  }
  yield [prefix + CATALOG_PATH, catalog(api, printer !== undefined)]
  if (api.health) yield [`${prefix}/health`, health(api)]
}

function toJson(data: Json): Content {
  return { text: JSON.stringify(data) }
}

/** Describes the protected resource, where a scheme names its authorization server. */
function describeResource(api: ApiDefinition): ServedDocument | undefined {
  const issuers = [...new Set(api.schemes.flatMap(({ issuer }) => issuer ?? []))]
  if (issuers.length === 0) return undefined
  const scopes = listSupportedScopes(api)
  return {
    read: ({ base }) =>
      toJson({
        resource: base,
        authorization_servers: issuers,
        ...(scopes.length > 0 && { scopes_supported: scopes }),
        bearer_methods_supported: ['header'],
      }),
  }
}

function listSupportedScopes({ versions, access }: ApiDefinition): string[] {
  const all = versions.flatMap(({ collections }) => [...collections.values()])
  const rules = [
    ...[access, ...all.map(collection => collection.access)].flatMap(Object.values<AccessRule>),
    ...all.flatMap(({ fieldAccess = [] }) =>
      [...fieldAccess].flatMap(([, { read = [], write = [] }]) => [read, write]),
    ),
  ]
  return [
    ...new Set(rules.flatMap(rule => (rule === 'public' ? [] : listScopes(rule).flat()))),
  ].sort()
}

/** The path of a version's root below the api's prefix. */
function printRoot({ name }: VersionDefinition): string {
  return name === '' ? '' : `/${name}`
}

/** Finds the OpenAPI document for a client; it is built once for each set of collections and views that principals see. */
type Finder = (context: RequestContext) => Item

/** How many documents of a version are kept. */
const MAX_DOCUMENTS = 100

function createFinder(api: ApiDefinition, version: VersionDefinition | undefined): Finder {
  const { collections } = version ?? api.defaultVersion
  const differing = [...collections.values()].filter(
    ({ hideExistence, fieldAccess }) => hideExistence || fieldAccess,
  )
  const numbers = new Map<CollectionDefinition | undefined, number>()
  const built = new Remembered<Item>(MAX_DOCUMENTS, Number.POSITIVE_INFINITY)
  return context => {
    context.version = version
    const views = new Map(
      differing.map(collection => {
        const isHidden = collection.hideExistence && !canAnything(context, collection)
        return [collection, isHidden ? undefined : context.view(collection)]
      }),
    )
    const key = [...views.values()].map(view => {
      const number = numbers.get(view) ?? numbers.size
      numbers.set(view, number)
      return number
    })
    const view = (collection: CollectionDefinition) =>
      views.has(collection) ? views.get(collection) : collection
    return built.get(key.join(), () => buildDocument(api, version, view))
  }
}

const OPENAPI_TYPE = 'application/vnd.oai.openapi+json'
const VARY_ACCEPT: readonly string[] = ['Accept']

function openApi(find: Finder): ServedDocument {
  return {
    read(context) {
      const wanted = findOpenApiVersion(context.request.headers.accept)
      return {
        ...toJson(withServer(find(context), context.base, wanted)),
        type: wanted && `${OPENAPI_TYPE};version=${wanted}`,
        vary: VARY_ACCEPT,
      }
    },
  }
}

/** Finds the version of OpenAPI that `Accept` names; `undefined` where it does not name its media type. */
function findOpenApiVersion(accept = ''): OpenApiVersion | undefined {
  const types = splitList(accept).flatMap(each => parseMediaType(each) ?? [])
  const named = types.filter(({ type }) => type === OPENAPI_TYPE)
  if (named.length === 0) return undefined
  const wanted = named.map(({ parameters }) => parameters.get('version') ?? '')
  return OPENAPI_VERSIONS.find(version => wanted.some(text => text.startsWith(version))) ?? '3.1'
}

function docs(root: string, find: Finder, printer: DocsPrinter): ServedDocument {
  return {
    type: 'text/html; charset=utf-8',
    read(context) {
      const document = withServer(find(context), context.base)
      return { text: printer.print(document, root, context), headers: printer.headers }
    },
  }
}

function style({ style: text }: DocsPrinter): ServedDocument {
  return { type: 'text/css; charset=utf-8', addressed: false, read: () => ({ text }) }
}

const CATALOG_PATH = '/.well-known/api-catalog'
const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

function catalog(api: ApiDefinition, hasDocs: boolean): ServedDocument {
  const { versions, health } = api
  return {
    type: CATALOG_TYPE,
    read({ base }) {
      const linkset = versions.map(version => {
        const root = base + printRoot(version)
        return {
          anchor: `${root}/`,
          'service-desc': [{ href: root + OPENAPI_PATH, type: 'application/json' }],
          ...(hasDocs && { 'service-doc': [{ href: root + DOCS_PATH, type: 'text/html' }] }),
          ...(health && { status: [{ href: `${base}/health`, type: 'application/json' }] }),
        }
      })
      const link = printLink([{ rel: 'api-catalog', href: base + CATALOG_PATH }])
      return { ...toJson({ linkset }), headers: ['Link', link] }
    },
  }
}

/** How long an answer about the stores holds, and how long a store may take for it; milliseconds. */
const HEALTH_MS = 1000

/**
 * Reads an item that does not exist from each store, at most once a second for all clients. After a disk was full it
 * writes too.
 */
function health(api: ApiDefinition): ServedDocument {
  const { versions } = api
  const collections = versions.flatMap(version => [...version.collections.values()])
  let checked = 0
  let last: Promise<Content> | undefined

  async function check(): Promise<Content> {
    const signal = AbortSignal.timeout(HEALTH_MS)
    const late = new Promise<never>((_, reject) => {
      signal.onabort = () => reject(signal.reason)
    })
    // Async: what a store throws at once fails the check too.
    const reads = collections.map(async ({ store, shape }) =>
      store.get(shape.identity.kind === 'integer' ? 0 : '-', { signal }),
    )
    const work = Promise.all([...reads, requireDiskSpace(api, { signal })])
    await Promise.race([work, late]).catch(cause => {
      if (cause instanceof DiskFullError) throw cause
      throw new UnavailableError('A store failed the check of its health', { cause })
    })
    const fail = collections.filter(
      ({ operations, store }) => operations.has('create') && store.takesCreates?.() === false,
    )
    if (fail.length === 0) return toJson({ status: 'ok' })
    // The rest is served: no reason to take the server away. What is missing is in the warning of `open()`.
    return toJson({
      status: 'degraded',
      creates_fail: [...new Set(fail.map(({ name }) => name))],
    })
  }

  return {
    uncounted: true,
    addressed: false,
    read() {
      if (!last || performance.now() - checked > HEALTH_MS) {
        checked = performance.now()
        last = check()
      }
      return last
    },
  }
}
