// The lines of the documentation to copy: a request for curl, and a call of the client.
import type { Scheme } from '../../auth/scheme.ts'
import { type Item, isObject, type Json } from '../../base/values.ts'
import { describeSchemes, type SecurityScheme } from '../../openapi/security.ts'

/** A request as curl sends it. */
interface CurlRequest {
  readonly method: string
  readonly url: string
  /** The parameters of a query. */
  readonly query?: Item | undefined
  /** The media type and the value of a body. */
  readonly type?: string | undefined
  readonly body?: Json | undefined
  /** The properties of the body that are files: it is sent as multipart. */
  readonly files?: readonly string[]
  /** The option for credentials. */
  readonly credentials: string | undefined
  /** Whether the operation takes `If-Match`. */
  readonly isConditional?: boolean
}

/** One operation with the values that its lines have. */
export interface Sample extends CurlRequest {
  /** The name of the operation or action. */
  readonly name: string
  readonly collection: string
  /** The id in the path: empty while the reader has chosen none. */
  readonly id: string | undefined
  readonly files: readonly string[]
}

/** Prints a request for curl, in the syntax of a POSIX shell. */
export function printCurl(request: CurlRequest): string {
  const { method, url, query, type, body, files = [], credentials, isConditional } = request
  const parts = ['curl']
  if (method !== 'GET') parts.push(`-X ${method}`)
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) parameters.set(name, String(value))
  parts.push(quote(query ? `${url}?${parameters}` : url))
  if (credentials !== undefined) parts.push(credentials)
  if (isConditional) parts.push(`-H ${quote('If-Match: "ETAG"')}`)
  if (files.length > 0) {
    for (const [name, value] of Object.entries(Object(body))) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      parts.push(`-F ${quote(`${name}=${files.includes(name) ? '@file' : text}`)}`)
    }
  } else if (type !== undefined) {
    parts.push(`-H ${quote(`Content-Type: ${type}`)}`, `-d ${quote(JSON.stringify(body))}`)
  }
  return parts.join(' ')
}

/** Chooses the option for credentials: those of a bearer scheme, which a form cannot send, else of the first scheme. */
export function chooseCredentials(schemes: readonly Scheme[]): string | undefined {
  const [first, ...others] = [...describeSchemes(schemes).values()].map(printCredentials)
  return others.find(option => option === BEARER) ?? first
}

const BEARER = '-H "Authorization: Bearer $TOKEN"'

/** The shell puts `$TOKEN` in: the line can be shown and kept. Of a password curl asks for it. */
function printCredentials({ type, scheme = '', name }: SecurityScheme): string {
  if (type === 'apiKey') return `-H "${name}: $TOKEN"`
  return scheme === 'basic' ? '-u "$USER"' : BEARER
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Prints a call of the client; `undefined` for an operation that the client does not have. */
export function printCall({ name, collection, id, query, body, files }: Sample) {
  const resource = `client${printMember(collection)}`
  const input = body ?? (query && unfold(query))
  const values = [
    ...(id === undefined ? [] : [printId(id)]),
    ...(input === undefined ? [] : [printValue(input, files)]),
  ]
  switch (name) {
    case 'list':
      return `for await (const item of ${resource}.list(${values})) console.log(item)`
    case 'search':
      return `for await (const item of ${resource}.search('words')) console.log(item)`
    case 'download':
      return undefined
    default:
      return `await ${resource}${printMember(name)}(${values.join(', ')})`
  }
}

/** Makes objects of dotted names: `{ 'model.name': 'Clio' }` → `{ model: { name: 'Clio' } }`. */
function unfold(query: Item): Item {
  const unfolded: Item = {}
  for (const [name, value] of Object.entries(query)) {
    const path = name.split('.')
    const last = path.pop() ?? ''
    let place = unfolded
    for (const each of path) {
      const known = place[each]
      const inner = isObject(known) ? known : {}
      place[each] = inner
      place = inner
    }
    place[last] = value
  }
  return unfolded
}

function printMember(name: string): string {
  return IDENTIFIER.test(name) ? `.${name}` : `[${printValue(name)}]`
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

function printId(id: string): string {
  if (id === '') return 'id'
  return /^[1-9]\d{0,14}$/.test(id) ? id : printValue(id)
}

/** Prints a value as TypeScript. @param files properties that are files. */
function printValue(value: Json, files: readonly string[] = []): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(each => printValue(each)).join(', ')}]`
  if (!isObject(value)) return String(value)
  const entries = Object.entries(value).map(([name, each]) => {
    const key = IDENTIFIER.test(name) ? name : printValue(name)
    return `${key}: ${files.includes(name) ? 'file' : printValue(each)}`
  })
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}
