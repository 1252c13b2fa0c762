// Documents beside the collections: `/health`, and the metadata of a protected resource (RFC 9728).

import { HttpError } from '../errors.ts'
import { type HeaderList, isRead } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { AS_JSON } from '../negotiate.ts'
import { METADATA_PATH } from '../operations/authorize.ts'
import type { OperationResult, RequestContext, Step } from '../operations/context.ts'
import type { Awaitable, Json } from '../schema/values.ts'
import { admissionSteps } from './admission.ts'
import { methodNotAllowed } from './body.ts'
import { listDescriptions } from './descriptions.ts'
import type { Endpoints } from './endpoint.ts'
import { preflight } from './preflight.ts'
import { respond } from './respond.ts'

export interface ServedDocument {
  readonly name: string
  /** Its path, for logs and metrics. */
  readonly template: string
  /** Whether it is asked for too often to be counted for rate limits. */
  readonly uncounted: boolean
  /** Whether addresses stand in it: without a `baseUrl` they need a `Host`. */
  readonly addressed: boolean
  /** Its media type. Default `application/json`. */
  readonly type?: string
  read(context: RequestContext): Awaitable<DocumentContent>
}

export interface DocumentContent {
  readonly data: Json
  /** The data as JSON, where it is printed already. */
  readonly text?: string
  readonly headers?: HeaderList
  /** Its media type, where the request chooses it. */
  readonly type?: string
  /** The request headers that it depends on. */
  readonly vary?: readonly string[]
}

export interface DocumentEndpoint {
  readonly document: ServedDocument
  readonly endpoints: Endpoints
}

/** The documents of an api with the steps that serve each, by their paths. */
export function compileDocuments(api: ApiDefinition): ReadonlyMap<string, DocumentEndpoint> {
  const compile = (document: ServedDocument): DocumentEndpoint => {
    const admission = document.uncounted ? [skipCounting] : admissionSteps(api)
    const read: Step = async context => {
      context.result = await readDocument(context, document)
    }
    const otherwise = [...admission, read, respond]
    const byMethod = new Map([['OPTIONS', [preflight(api, ALLOW), ...otherwise]]])
    return { document, endpoints: { byMethod, otherwise } }
  }
  return new Map([...buildDocuments(api)].map(([path, document]) => [path, compile(document)]))
}

function skipCounting(context: RequestContext): void {
  context.counted = true
}

const METHODS = 'GET, HEAD, OPTIONS'
const ALLOW = ['Allow', METHODS, 'Access-Control-Allow-Methods', METHODS]

/** Reads a document: JSON, whatever is accepted. @throws HttpError 405, and what the document throws */
async function readDocument(
  context: RequestContext,
  { name, read, ...served }: ServedDocument,
): Promise<OperationResult> {
  const { method, api } = context
  const isDescription = method === 'OPTIONS'
  context.negotiated = AS_JSON
  // Its format is given as if by an extension: nothing else is consulted.
  context.extension = 'json'
  if (!isDescription && !isRead(method)) throw methodNotAllowed(method, METHODS)
  if (isDescription) {
    const representation = { kind: 'document', name, data: {} } as const
    return { status: 200, headers: [...ALLOW, ...api.cors.preflight], representation, value: {} }
  }
  const { data, text, headers = [], type = served.type, vary } = await read(context)
  if (type) context.negotiated = { ...AS_JSON, type, contentType: type }
  return {
    status: 200,
    headers,
    representation: { kind: 'document', name, data, text },
    ...(vary && { vary }),
    value: data,
  }
}

/** The documents of an api by their paths, the api's own prefix included, each with and without a slash at its end. */
function buildDocuments(api: ApiDefinition): ReadonlyMap<string, ServedDocument> {
  const documents = new Map<string, ServedDocument>()
  const issuers = [...new Set(api.schemes.flatMap(({ issuer }) => issuer ?? []))]
  if (issuers.length > 0) {
    const scopes = scopesOf(api)
    const document: ServedDocument = {
      name: 'metadata',
      template: METADATA_PATH,
      uncounted: false,
      addressed: true,
      read: ({ base }) => ({
        data: {
          resource: base,
          authorization_servers: issuers,
          ...(scopes.length > 0 && { scopes_supported: scopes }),
          bearer_methods_supported: ['header'],
        },
      }),
    }
    // RFC 9728 §3.1 puts the resource's path behind the well-known one; below a mount only the other can be reached.
    documents.set(api.prefix + METADATA_PATH, document).set(METADATA_PATH + api.prefix, document)
  }
  for (const [path, document] of listDescriptions(api)) documents.set(api.prefix + path, document)
  if (api.health) documents.set(`${api.prefix}/health`, health(api))
  for (const [path, document] of [...documents]) documents.set(`${path}/`, document)
  return documents
}

function scopesOf({ versions, access }: ApiDefinition): string[] {
  const tables = versions.flatMap(({ collections }) =>
    [...collections.values()].map(collection => collection.access),
  )
  const rules = [access, ...tables].flatMap(table => Object.values(table))
  return [...new Set(rules.flatMap(rule => (rule === 'public' ? [] : rule)))].sort()
}

/** How long an answer about the stores holds, and how long a store may take for it; milliseconds. */
const HEALTH_PAUSE = 1000

/** Asks each store for an item that does not exist, at most once a second whoever asks. */
function health({ versions }: ApiDefinition): ServedDocument {
  const collections = versions.flatMap(version => [...version.collections.values()])
  let checked = 0
  let last: Promise<void> | undefined

  async function check(): Promise<void> {
    const signal = AbortSignal.timeout(HEALTH_PAUSE)
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    // What one throws at once is its answer too.
    const asked = collections.map(async ({ store, shape }) =>
      store.get(shape.identity.kind === 'integer' ? 0 : '-', { signal }),
    )
    await Promise.race([Promise.all(asked), late])
  }

  return {
    name: 'health',
    template: '/health',
    uncounted: true,
    addressed: false,
    async read() {
      if (!last || performance.now() - checked > HEALTH_PAUSE) {
        checked = performance.now()
        last = check()
      }
      try {
        await last
      } catch (cause) {
        throw new HttpError(503, [{ message: 'A store cannot be reached', type: 'unavailable' }], {
          headers: ['Retry-After', '5'],
          cause,
        })
      }
      return { data: { status: 'ok' } }
    },
  }
}
