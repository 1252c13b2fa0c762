// Documents beside the collections: what describes the api (`/openapi.json`, `/docs`, and the catalog of
// them, RFC 9727), its health, and the metadata of a protected resource (RFC 9728).

import { type AccessRule, listScopes } from '../auth/access.ts'
import type { Awaitable, Json } from '../base/values.ts'
import { type Issue, throwIfAny } from '../errors.ts'
import { evaluateRead } from '../http/conditional.ts'
import { printLink } from '../http/link.ts'
import type { HeaderList } from '../http/message.ts'
import { isConditional } from '../http/methods.ts'
import { single } from '../http/parameters.ts'
import type { ApiDefinition, VersionDefinition } from '../model/types/definition.ts'
import { AS_JSON } from '../negotiate.ts'
import { DOCS_PATH, OPENAPI_PATH, TRY_PATH } from '../openapi/document.ts'
import { findFormats } from '../openapi/formats.ts'
import { GUIDE_PATH } from '../openapi/guide.ts'
import { METADATA_PATH } from '../operations/calls/authorize.ts'
import type { DocsPrinter, Pages, RequestContext, Step } from '../operations/calls/context.ts'
import { reportFailure } from '../operations/calls/report-failure.ts'
import { DiskFullError, UnavailableError } from '../store/errors.ts'
import { admissionSteps } from './admission.ts'
import { Descriptions, findOpenApiVersion, OPENAPI_TYPE } from './descriptions.ts'
import { answerOptionsByHeaders, type FixedEndpoint, methodNotAllowed } from './endpoint.ts'
import { Health, notReady } from './health.ts'
import { readConditions } from './request-head.ts'
import { respond } from './respond.ts'
import { type AnswerRequest, compileTry } from './try-it.ts'

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
  /** The text; a function where it is made only if the client lacks it. */
  readonly text: string | (() => string)
  /** Its entity tag. Absent: the client gets the whole each time. */
  readonly tag?: string
  readonly headers?: HeaderList
  /** Its media type, where the request chooses it. */
  readonly type?: string | undefined
  /** The request headers that it depends on. */
  readonly vary?: readonly string[]
}

/** What `shutDown` tells an api. */
export interface Lifetime {
  /** Whether its server is to end: `/health?ready` is then a 503. */
  ends: boolean
}

/** Compiles the documents of an api by their paths, each with and without a slash at its end. */
export function compileDocuments(
  api: ApiDefinition,
  pages: Pages | undefined,
  answer: AnswerRequest,
  lifetime: Lifetime,
): ReadonlyMap<string, FixedEndpoint> {
  const compiled = [...listDocuments(api, pages?.docs, lifetime)].map(
    ([path, document]) => [path, compileDocument(api, path, document)] as const,
  )
  const tries = listTries(api, pages?.docs, answer)
  return new Map(
    [...compiled, ...tries].flatMap(([path, endpoint]) => [
      [path, endpoint],
      [`${path}/`, endpoint],
    ]),
  )
}

function listTries(
  api: ApiDefinition,
  printer: DocsPrinter | undefined,
  answer: AnswerRequest,
): (readonly [path: string, FixedEndpoint])[] {
  if (!printer?.printAnswer) return []
  return listRoots(api).map(([root]) => {
    const route = api.prefix + root + TRY_PATH
    const endpoints = compileTry(api, root, printer, answer)
    return [route, { route, addressed: true, ...endpoints }]
  })
}

/** Lists the roots that are described: that of the api, and that of each version that has one. */
function listRoots({ versions }: ApiDefinition) {
  return [undefined, ...versions.filter(({ name }) => name !== '')].map(
    version => [version ? printRoot(version) : '', version] as const,
  )
}

const METHODS = 'GET, HEAD, OPTIONS'
const ALLOW = ['Allow', METHODS, 'Access-Control-Allow-Methods', METHODS]

function compileDocument(
  api: ApiDefinition,
  route: string,
  { read, uncounted, addressed = true, ...document }: ServedDocument,
): FixedEndpoint {
  const serve: Step = async context => {
    // As if its path had the extension: nothing else is consulted.
    context.extension = 'json'
    context.negotiated = AS_JSON
    if (!isConditional(context.method)) throw methodNotAllowed(context.method, METHODS)
    readConditions(context)
    const { text, tag, headers = [], type = document.type, vary } = await read(context)
    if (type) context.negotiated = { ...AS_JSON, type, contentType: type }
    const validators = tag === undefined ? undefined : { tag }
    const isKnown = validators && evaluateRead(context.preconditions, context.method, validators)
    const printed = typeof text === 'string' ? text : isKnown ? '' : text()
    context.result = {
      status: 200,
      headers: [...headers],
      representation: { kind: 'document', name: 'document', data: null, text: printed },
      validators,
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
  lifetime: Lifetime,
): Generator<readonly [path: string, ServedDocument]> {
  const { prefix } = api
  const metadata = describeResource(api)
  if (metadata) {
    // RFC 9728 §3.1 puts the resource's path behind the well-known one; below a mount only the other can be reached.
    yield [prefix + METADATA_PATH, metadata]
    yield [METADATA_PATH + prefix, metadata]
  }
  for (const [root, version] of listRoots(api)) {
    const descriptions = new Descriptions(api, version)
    yield [prefix + root + OPENAPI_PATH, openApi(api, descriptions)]
    yield [prefix + root + GUIDE_PATH, guide(descriptions)]
    if (printer) {
      yield [prefix + root + DOCS_PATH, docs(root, descriptions, printer)]
      yield [`${prefix}${root}${DOCS_PATH}/style.css`, style(printer)]
    }
  }
  yield [prefix + CATALOG_PATH, catalog(api, printer !== undefined)]
  if (api.health) yield [`${prefix}/health`, describeHealth(api, lifetime)]
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
  const all = versions.flatMap(({ collections }) =>
    [...collections.values()].filter(({ addressable }) => addressable),
  )
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

const VARY_ACCEPT: readonly string[] = ['Accept']

function openApi(api: ApiDefinition, descriptions: Descriptions): ServedDocument {
  return {
    async read(context) {
      const { base, request } = context
      const wanted = findOpenApiVersion(request.headers.accept)
      const formats = readFormats(api, context)
      const kept = await descriptions.findDocument(context, { openapi: wanted, formats })
      const type = wanted && `${OPENAPI_TYPE};version=${wanted}`
      return { tag: kept.tag(base), text: () => kept.print(base), type, vary: VARY_ACCEPT }
    },
  }
}

/** Reads which formats are described: `formats=json`. @throws HttpError 400 */
function readFormats(api: ApiDefinition, { parameters }: RequestContext): string[] | undefined {
  const issues: Issue[] = []
  const text = single(parameters, 'formats', issues)
  const formats = text === undefined ? undefined : [...new Set(text.split(','))].sort()
  const unknown = formats && findFormats(api, formats).unknown
  if (unknown) issues.push({ message: unknown, field: 'formats', type: 'invalid_value' })
  throwIfAny(issues)
  return formats
}

function docs(root: string, descriptions: Descriptions, printer: DocsPrinter): ServedDocument {
  return {
    type: 'text/html; charset=utf-8',
    async read(context) {
      const kept = await descriptions.findDocument(context)
      const document = kept.read(context.base)
      return { text: printer.print(document, root, context), headers: printer.headers }
    },
  }
}

function guide(descriptions: Descriptions): ServedDocument {
  return {
    type: 'text/markdown; charset=utf-8',
    async read(context) {
      const { base } = context
      const kept = await descriptions.findGuide(context)
      return { tag: kept.tag(base), text: () => kept.print(base) }
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

/** `/health`: the process serves. `/health?ready`: it takes requests, from its first open until it is to end. */
function describeHealth(api: ApiDefinition, lifetime: Lifetime): ServedDocument {
  const health = new Health(api)
  return {
    uncounted: true,
    addressed: false,
    async read(context) {
      const state = await health.check(error => {
        const cause = new UnavailableError('The check of the health has failed', { cause: error })
        reportFailure(context, error instanceof DiskFullError ? error : cause)
      })
      const asksReady = context.parameters.some(({ name }) => name === 'ready')
      if (asksReady && (lifetime.ends || !health.hasOpened)) throw notReady()
      return toJson({ ...state })
    },
  }
}
