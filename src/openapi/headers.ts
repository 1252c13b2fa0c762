// The header fields of requests and responses, in the terms of OpenAPI 3.1.
import { isRead } from '../http/message.ts'
import type { ApiDefinition, VersionDefinition } from '../model/definition.ts'
import { DOWNLOAD, SEARCH } from '../model/routes.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'
import { type Described, takesKey } from './described.ts'

const TEXT: JsonSchema = { type: 'string' }
const WHOLE: JsonSchema = { type: 'integer', minimum: 0 }
const TAG = '(W/)?"[\\x21\\x23-\\x7e]*"'
const TAGS: JsonSchema = { type: 'string', pattern: `^(\\*|${TAG}(, ${TAG})*)$` }
const KEY: JsonSchema = { type: 'string', pattern: '^[\\x21\\x23-\\x7e]{1,255}$' }

interface Header {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
}

/** `Accept`, `Authorization` and `Content-Type` are no parameters (OpenAPI 3.1, "Parameter Object"). */
const REQUEST = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    description: 'Makes the request safe to repeat: with the same key it gets the first answer',
    schema: KEY,
  },
  IfMatch: {
    name: 'If-Match',
    description: 'The ETag of the item that was read; 412 where it is in another state by now',
    schema: TAGS,
  },
  IfModifiedSince: {
    name: 'If-Modified-Since',
    description: '304 where nothing changed since this date',
    schema: TEXT,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    description: 'The ETag that is known; 304 where the state is the same',
    schema: TAGS,
  },
  IfNoneMatchAny: {
    name: 'If-None-Match',
    description: 'With * the item is created, and 412 where there is one',
    schema: { const: '*' },
  },
  IfRange: {
    name: 'If-Range',
    description: 'The ETag of the content of which a part is known',
    schema: TEXT,
  },
  IfUnmodifiedSince: {
    name: 'If-Unmodified-Since',
    description: '412 where the item changed since this date',
    schema: TEXT,
  },
  Prefer: {
    name: 'Prefer',
    description: 'return=representation or return=minimal (RFC 7240)',
    schema: TEXT,
  },
  PreferCount: {
    name: 'Prefer',
    description: 'count=exact, count=estimated or count=none (RFC 7240)',
    schema: TEXT,
  },
  Range: {
    name: 'Range',
    description: 'A part of the content, such as bytes=0-1023',
    schema: TEXT,
  },
} satisfies Readonly<Record<string, Header>>

type RequestHeader = keyof typeof REQUEST

function listRequestHeaders(described: Described): readonly RequestHeader[] {
  const { target, method, name } = described
  if (target.kind === 'root') return ['IfNoneMatch']
  const { action, collection } = target
  if (isRead(method)) {
    if (action) return ['IfNoneMatch', 'Prefer']
    if (name === 'read') return ['IfNoneMatch', 'IfModifiedSince']
    if (name !== DOWNLOAD) return ['IfNoneMatch', 'PreferCount']
    return ['IfNoneMatch', 'IfModifiedSince', ...(method === 'GET' ? RANGES : [])]
  }
  const guards: readonly RequestHeader[] =
    target.kind === 'item' || action?.on === 'item' ? ['IfMatch', 'IfUnmodifiedSince'] : []
  const creates = name === 'replace' && collection.putCreates
  return [
    ...guards,
    ...(creates ? (['IfNoneMatchAny'] as const) : []),
    ...(takesKey(described) ? (['IdempotencyKey'] as const) : []),
    'Prefer',
  ]
}

const RANGES: readonly RequestHeader[] = ['Range', 'IfRange']

/** Builds the header parameters of an operation. */
export function buildHeaderParameters(described: Described): object[] {
  const { components, method, name, target } = described
  const parameters: object[] = listRequestHeaders(described).map(key => {
    const parameter = { in: 'header', ...REQUEST[key] }
    return components?.refer('parameters', key, 'header', () => parameter) ?? parameter
  })
  if (method === 'GET' && (name === 'list' || name === SEARCH) && target.kind !== 'root') {
    const description = `A part of the list, such as ${target.collection.name}=0-24`
    parameters.push({ in: 'header', ...REQUEST.Range, description })
  }
  return parameters
}

const RESPONSE: Readonly<Record<string, readonly [description: string, schema: JsonSchema]>> = {
  'Accept-Ranges': ['The unit of Range', TEXT],
  Allow: ['The methods that exist here', TEXT],
  'Content-Disposition': ['The name of the file', TEXT],
  'Content-Location': ['The address of the item', { ...TEXT, format: 'uri' }],
  'Content-Range': ['The positions of what is given, and the total', TEXT],
  Deprecation: ['Since when the version is deprecated (RFC 9745)', TEXT],
  ETag: ['The state: for If-Match and If-None-Match', TEXT],
  'Last-Modified': ['When it last changed', TEXT],
  Link: ['Addresses of other pages or documents (RFC 8288)', TEXT],
  Location: ['The address of the item', { ...TEXT, format: 'uri' }],
  'Preference-Applied': ['The preference that was followed', TEXT],
  RateLimit: ['What is left of each limit', TEXT],
  'RateLimit-Policy': ['The limits', TEXT],
  'Retry-After': ['In how many seconds to try again', WHOLE],
  Sunset: ['When the version ends (RFC 8594)', TEXT],
  'WWW-Authenticate': ['Which credentials are taken', TEXT],
  'X-RateLimit-Limit': ['How many requests are allowed', WHOLE],
  'X-RateLimit-Remaining': ['How many requests are left', WHOLE],
  'X-RateLimit-Reset': ['When the limit starts anew', TEXT],
  'X-Result-Count': ['The total', WHOLE],
}

/** Refers to response headers by their names. */
export function referToHeaders(
  components: Components,
  names: readonly string[],
): { headers?: Record<string, object> } {
  if (names.length === 0) return {}
  const refer = (name: string) =>
    components.refer('headers', name, 'header', () => {
      const [description, schema] = RESPONSE[name] ?? ['', TEXT]
      return { description, schema }
    })
  return { headers: Object.fromEntries(names.map(name => [name, refer(name)])) }
}

const PAGE = [
  'Accept-Ranges',
  'Content-Range',
  'ETag',
  'Link',
  'Preference-Applied',
  'X-Result-Count',
]
const ITEM = ['ETag', 'Last-Modified']
const CHANGED = ['Content-Location', ...ITEM, 'Preference-Applied']
const CONTENT = ['Accept-Ranges', 'Content-Disposition', ...ITEM]
const LIMITS = [
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** The response headers of each operation; of a change they depend on the status too. */
const BY_OPERATION: Readonly<Record<string, readonly string[]>> = {
  describe: ['Link'],
  list: PAGE,
  search: PAGE,
  count: ['Preference-Applied'],
  read: ITEM,
  delete: ['Preference-Applied'],
  [DOWNLOAD]: CONTENT,
}

/** Builds the headers of a successful response. */
export function buildResponseHeaders(
  { api, target, name, components }: Described,
  status: string,
): { headers?: Record<string, object> } {
  if (!components) return {}
  const own = target.kind === 'action' ? undefined : BY_OPERATION[name]
  const names = new Set(own ?? (status === '303' ? ['Location'] : CHANGED))
  if (status === '201') names.add('Location')
  if (status === '206' || (status === '304' && name === DOWNLOAD)) names.add('Content-Range')
  for (const common of listCommonHeaders(api, target.version)) names.add(common)
  return referToHeaders(components, [...names].sort())
}

/** The headers of every response: of the rate limits, and of a version that is deprecated. */
export function listCommonHeaders(
  { rateLimit }: ApiDefinition,
  version: VersionDefinition | undefined,
): string[] {
  return [
    ...(version?.deprecated === undefined ? [] : ['Deprecation', 'Link']),
    ...(rateLimit ? LIMITS : []),
    ...(version?.sunset === undefined ? [] : ['Sunset']),
  ]
}
