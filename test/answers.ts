// Answers held to the OpenAPI document of the api that gave them: status, headers, media type, JSON.

import { ERROR_TYPES } from '../src/errors.ts'
import { defineApi, openApiDocument } from '../src/index.ts'
import { type AnyApi, findApiDefinition, isCollection } from '../src/model/definitions.ts'
import { checkedDocument, type Described, follow, type Part } from './openapi.ts'

/** What was sent and what came back. */
export interface Exchange {
  readonly method: string
  /** The path and query below the api's root. */
  readonly target: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Says what an answer has that the document does not; `undefined` where all is documented. */
export type Check = (exchange: Exchange) => string | undefined

interface Path {
  readonly pattern: RegExp
  readonly template: string
  readonly item: Part
  readonly described: Omit<Described, 'ask'>
}

const HEADERS = [
  'accept-ranges',
  'allow',
  'content-disposition',
  'content-location',
  'content-range',
  'etag',
  'last-modified',
  'link',
  'location',
  'preference-applied',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-result-count',
]

const checks = new Map<string, Check>()

/** Creates the check for an api, or for a collection that is served alone; `undefined` for anything else. */
export function checkOf(served: object): Check | undefined {
  const api = isCollection(served) ? alone(served) : served
  // Anything else throws there.
  if (!('collections' in api)) return undefined
  const definition = findApiDefinition(api as AnyApi)
  // Many tests declare the same api: its document is made once.
  const signature = sign(definition)
  const known = checks.get(signature)
  if (known) return known
  // The document of the root is that of the only version.
  const versions = definition.versions.filter(({ name }) => name !== '')
  const numbers = [undefined, ...versions.map(({ number }) => number)]
  // JSON is made of such parts.
  const documents = numbers.map(
    version => openApiDocument(api as AnyApi, { version }) as unknown as Part,
  )
  const check = createCheck(documents, definition.prefix)
  checks.set(signature, check)
  return check
}

/** Prints a definition: schemas by their structure, functions and the content of stores by nothing. */
function sign(definition: unknown): string {
  const stores = new Map<object, number>()
  const schemas = new Map<object, number>()
  return JSON.stringify(definition, (name, value: unknown) => {
    // They are collections again, which may refer to each other.
    if (name === 'children' || name === 'targets') return name
    if (name === 'relations' && value instanceof Map) return [...value.keys()]
    if (typeof value === 'function' || typeof value === 'bigint') return String(value)
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof RegExp) return String(value)
    if ('consume' in value) return 'limiter'
    if (value instanceof Map || value instanceof Set) return [...value]
    if ('attach' in value) {
      const number = stores.get(value) ?? stores.size
      stores.set(value, number)
      return `store ${number} ${'idempotency' in value ? value.idempotency : ''}`
    }
    if (!('_zod' in value && 'def' in value)) return value
    // A recursive schema comes back to itself.
    const known = schemas.get(value)
    schemas.set(value, known ?? schemas.size)
    return known === undefined ? value.def : `schema ${known}`
  })
}

function alone(collection: object): object {
  const collections = [collection] as unknown as NonNullable<
    Parameters<typeof defineApi>[0]['collections']
  >
  return defineApi({ collections })
}

export function createCheck(documents: readonly Part[], prefix = ''): Check {
  const paths = documents
    .flatMap(document => {
      const described = checkedDocument(document)
      return Object.entries(document.paths ?? {}).map(([template, item]): Path => {
        const escaped = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
        const pattern = new RegExp(`^${escaped.replace(/\{\w+\}/g, '[^/]+')}/?$`)
        return { pattern, template, item, described }
      })
    })
    .sort((one, other) => countIds(one) - countIds(other))
  return exchange => check(paths, prefix, exchange)
}

function countIds({ template }: Path): number {
  return template.split('{').length
}

function check(paths: readonly Path[], prefix: string, exchange: Exchange): string | undefined {
  const { method, target, status, headers, text } = exchange
  const [whole = '', ...rest] = target.split('?')
  const query = rest.join('?').replaceAll('%5F', '_')
  const path = whole.slice(prefix.length)
  if (method === 'OPTIONS' || /suppress_error_codes|_method/.test(query)) return undefined
  const bare = path.replace(/(?<=[^/])\.(?:json|xml|csv|ndjson|html)$/, '')
  const find = (text: string) => paths.find(({ pattern }) => pattern.test(text))
  const found = find(bare) ?? find(path)
  if (!found || status === 405 || text.includes('"type":"no_such_path"')) return undefined
  const { item, template, described } = found
  // HEAD is where GET is.
  const documented = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = item[documented]
  const about = `${method} ${target} (${template}): ${status} ${text.slice(0, 300)}`
  // A form may stand for another method, and a rate limit counts unknown methods too.
  if (!operation && (method === 'POST' || status === 429)) return undefined
  // The form of an action is a page at the address of its POST.
  const isPage = headers.get('content-type')?.startsWith('text/html')
  if (!operation && documented === 'get' && isPage && item.post) return undefined
  if (!operation) return `${about}: the method is not documented`
  const { document } = described
  const place = ['paths', template, documented, 'responses']
  const known = operation.responses ?? ({} as Part)
  const ours = isOurs(exchange)
  const key = String(status) in known ? String(status) : 'default'
  if (!(key in known)) return `${about}: the status is not documented`
  const response = follow(document, known[key] as Part)
  // A program may throw any error: those of ours must be documented one by one, or named by the default.
  const isNamed =
    key !== 'default' || new RegExp(`\\b${status}\\b`).test(String(response.description))
  if (ours && !isNamed) return `${about}: the status is not documented`
  const named = Object.keys(response.headers ?? {}).map(name => name.toLowerCase())
  const others = HEADERS.filter(name => headers.has(name) && !named.includes(name))
  if (ours && others.length > 0) return `${about}: headers ${others}`
  if (text === '' || method === 'HEAD') return undefined
  // The older name of XML is given to clients that ask for it.
  const type =
    headers.get('content-type')?.split(';')[0]?.replace('text/xml', 'application/xml') ?? ''
  const { content } = response
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  if (!ranges.some(range => content && range in content)) return `${about}: ${type}`
  const { $ref }: { readonly $ref?: unknown } = known[key] ?? {}
  const at = typeof $ref === 'string' ? $ref.split('/').slice(1) : [...place, key]
  // Selected fields are a part of the item, for which there is no schema.
  if (
    !JSON_TYPES.test(type) ||
    !content?.[type]?.schema ||
    /(?:^|&)fields(?:\[\d*\])?=/.test(query)
  )
    return undefined
  const issues = described.findIssues(JSON.parse(text), ...at, 'content', type, 'schema')
  return issues === undefined ? undefined : `${about}: ${JSON.stringify(issues)}`
}

const JSON_TYPES = /^application\/(?:problem\+)?json/

/** Whether an error is one of the library's own. */
function isOurs({ status, headers, text }: Exchange): boolean {
  if (status < 400 || !JSON_TYPES.test(headers.get('content-type') ?? '') || text === '')
    return status < 400
  const types: Readonly<Record<number, object>> = ERROR_TYPES
  const { errors } = JSON.parse(text) as { errors?: readonly { readonly type?: string }[] }
  // A dialect may print another thing than a list.
  if (!Array.isArray(errors)) return false
  return errors.every(({ type }) => type !== undefined && type in (types[status] ?? {}))
}
