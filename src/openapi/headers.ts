// The header fields of requests and responses, as OpenAPI 3.1.
import { isConditional } from '../http/methods.ts'
import { DOWNLOAD, SEARCH } from '../model/compile/routes.ts'
import { UPSERT } from '../model/compile/unique-keys.ts'
import type { ApiDefinition, VersionDefinition } from '../model/types/definition.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'
import { isByFilter, type MethodDescription, takesKey, upsertsArrays } from './method.ts'

const TEXT: JsonSchema = { type: 'string' }
const WHOLE: JsonSchema = { type: 'integer', minimum: 0 }
const TAG = '(W/)?"[\\x21\\x23-\\x7e]*"'
const TAGS: JsonSchema = { type: 'string', pattern: `^(\\*|${TAG}(, ${TAG})*)$` }
/** In quotes, as the draft has it, or bare. */
const KEY: JsonSchema = {
  type: 'string',
  pattern: '^("[\\x20-\\x7e]{1,255}"|[\\x21\\x23-\\x7e]{1,255})$',
}

type Headers = Readonly<Record<string, readonly [description: string, schema: JsonSchema]>>

/** `Accept`, `Authorization` and `Content-Type` are no parameters (OpenAPI 3.1, "Parameter Object"). */
const REQUEST: Headers = {
  'Idempotency-Key': ['A repeated request with the same key gets the first answer again', KEY],
  'If-Match': ['The ETag of the item that was read; 412 where it has changed', TAGS],
  'If-Modified-Since': ['304 where nothing has changed since this date', TEXT],
  'If-None-Match': ['Known ETags: 304 where one is current. A PUT with * only creates', TAGS],
  'If-Range': ['The ETag of the content of which a part is known', TEXT],
  'If-Unmodified-Since': ['412 where the item has changed since this date', TEXT],
  Prefer: ['return=representation or minimal; count=exact, estimated or none (RFC 7240)', TEXT],
  Range: ['A part: bytes=0-1023 of a file, cars=0-24 of a list', TEXT],
}

/** Those of OPTIONS alone: an ETag says more than a date. */
const DATES: ReadonlySet<string> = new Set(['If-Modified-Since', 'If-Unmodified-Since'])

/** Those that a light document has: they keep changes from being lost or made twice. */
const LIGHT: ReadonlySet<string> = new Set(['Idempotency-Key', 'If-Match'])

/** That of an upsert of an array. */
const OF_ARRAY: Headers = {
  Prefer: [
    'resolution=merge-duplicates or ignore-duplicates of an array: what happens to items that exist; return=representation or minimal (RFC 7240)',
    TEXT,
  ],
}

/** Those of a write by filter. */
const BY_FILTER: Headers = {
  'If-Match': ['The ETag of the list with the same filter; 412 where it has changed', TAGS],
  Prefer: ['max-affected=50: 400 where more items match; return=minimal (RFC 7240)', TEXT],
}

function listRequestHeaders(described: MethodDescription): readonly string[] {
  const { target, method, name } = described
  if (name === 'batch') return ['Idempotency-Key', 'Prefer']
  if (target.kind === 'root') return ['If-None-Match']
  const { action, collection, kind } = target
  if (isConditional(method)) {
    const isGet = method === 'GET'
    if (name === 'read') return ['If-None-Match', 'If-Modified-Since']
    if (name === DOWNLOAD) return ['If-None-Match', 'If-Modified-Since', 'Range', 'If-Range']
    const isList = name === 'list' || name === SEARCH
    return ['If-None-Match', 'Prefer', ...(isGet && isList ? ['Range'] : [])]
  }
  return [
    ...(kind === 'item' || action?.on === 'item' || name === UPSERT
      ? ['If-Match', 'If-Unmodified-Since']
      : []),
    ...(isByFilter(described) ? ['If-Match'] : []),
    ...(name === UPSERT || (name === 'replace' && collection.putCreates) ? ['If-None-Match'] : []),
    ...(takesKey(described) ? ['Idempotency-Key'] : []),
    'Prefer',
  ]
}

/** Builds the header parameters of an operation. */
export function buildHeaderParameters(described: MethodDescription): object[] {
  const { components, name: operation } = described
  const upserts = upsertsArrays(described)
  const own = isByFilter(described) ? BY_FILTER : upserts ? OF_ARRAY : {}
  const suffix = upserts ? 'OfArray' : 'OfFilter'
  const isRequired = (name: string) => operation === 'deleteMany' && name === 'Prefer'
  const { isInline, isLight } = components
  const names = listRequestHeaders(described).filter(name =>
    isLight ? LIGHT.has(name) || isRequired(name) : isInline || !DATES.has(name),
  )
  return names.map(name => {
    const [description, schema] = own[name] ?? REQUEST[name] ?? []
    const required = isRequired(name)
    const as = required ? 'OfDeletion' : own[name] ? suffix : ''
    const wanted = name.replaceAll('-', '') + as
    return components.refer('parameters', wanted, { owner: 'header' }, () => {
      return { in: 'header', name, description, ...(required && { required }), schema }
    })
  })
}

const RESPONSE: Headers = {
  'Accept-Query': ['The media types of a QUERY here (RFC 10008)', TEXT],
  'Accept-Ranges': ['The unit of Range', TEXT],
  Allow: ['The allowed methods', TEXT],
  'Content-Disposition': ['The name of the file', TEXT],
  'Content-Location': ['The address of the item', { ...TEXT, format: 'uri' }],
  'Content-Range': ['The positions of the items or bytes, and the total', TEXT],
  Deprecation: ['Since when the version is deprecated (RFC 9745)', TEXT],
  ETag: ['The state: for If-Match and If-None-Match', TEXT],
  'Last-Modified': ['When it last changed', TEXT],
  Link: ['Addresses of other pages or documents (RFC 8288)', TEXT],
  Location: ['The address of the item, or of the same query as a GET', { ...TEXT, format: 'uri' }],
  'Preference-Applied': ['The preference that was applied', TEXT],
  RateLimit: ['What is left of each limit', TEXT],
  'RateLimit-Policy': ['The limits', TEXT],
  'Retry-After': ['In how many seconds to try again', WHOLE],
  Sunset: ['When the version ends (RFC 8594)', TEXT],
  'WWW-Authenticate': ['The accepted credentials', TEXT],
  'X-RateLimit-Limit': ['How many requests are allowed', WHOLE],
  'X-RateLimit-Remaining': ['How many requests are left', WHOLE],
  'X-RateLimit-Reset': ['When the limit is reset', TEXT],
  'X-Result-Count': ['The total', WHOLE],
}

/** Refers to response headers by their names. */
export function referToHeaders(
  components: Components,
  names: readonly string[],
): { headers?: Record<string, object> } {
  if (names.length === 0) return {}
  const refer = (name: string) =>
    components.refer('headers', name, { owner: 'header' }, () => {
      const [description, schema] = RESPONSE[name] ?? []
      return { description, schema }
    })
  return { headers: Object.fromEntries(names.map(name => [name, refer(name)])) }
}

const PAGE = [
  // Of a table.
  'Content-Disposition',
  'Accept-Query',
  'Accept-Ranges',
  'Content-Range',
  'ETag',
  'Link',
  // Of a QUERY.
  'Location',
  'Preference-Applied',
  'X-Result-Count',
]
/** Of an item, also one that a change is answered with. */
const ITEM = ['Content-Location', 'ETag', 'Last-Modified', 'Location', 'Preference-Applied']
const LIMITS = [
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** The response headers of each operation; of a change they depend on the status too. */
const BY_OPERATION: Readonly<Record<string, readonly string[]>> = {
  batch: ['Preference-Applied'],
  describe: ['Link'],
  list: PAGE,
  search: PAGE,
  count: ['Accept-Query', 'Location', 'Preference-Applied'],
  read: ITEM,
  patchMany: ['Preference-Applied'],
  deleteMany: ['Preference-Applied'],
  [DOWNLOAD]: ['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'ETag', 'Last-Modified'],
}

/** Of the answers that all operations share. */
const BY_STATUS: Readonly<Record<string, readonly string[]>> = {
  204: ITEM,
  303: ['Location', 'Preference-Applied'],
  304: [...PAGE, 'Last-Modified'],
}

/** Builds the headers of a successful response. */
export function buildResponseHeaders(
  { api, target, name, components }: MethodDescription,
  status: string,
): { headers?: Record<string, object> } {
  if (components.isInline) return {}
  const own = target.kind === 'action' ? undefined : BY_OPERATION[name]
  const names = new Set(BY_STATUS[status] ?? own ?? ITEM)
  const counts = name === 'count' && target.collection
  if (counts && counts.groups.size > 0) names.add('ETag').add('X-Result-Count')
  for (const common of listCommonHeaders(api, components.version)) names.add(common)
  return referToHeaders(components, [...names].sort())
}

/** Lists the headers of every response: of rate limits, and of a deprecated version. */
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
