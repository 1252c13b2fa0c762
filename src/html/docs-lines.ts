// The lines of a documentation page that people copy: the request for curl, and for the client.
import type { Json } from '../schema/values.ts'

export interface Line {
  readonly method: string
  readonly url: string
  /** The media type and the value of a body. */
  readonly type?: string | undefined
  readonly body?: Json | undefined
  /** The file properties of a multipart body. */
  readonly files: readonly string[]
  /** Whether credentials are needed. */
  readonly secured: boolean
  /** Whether the write should name the state that was read. */
  readonly conditional: boolean
}

/** Prints a request for curl, in the syntax of a POSIX shell. */
export function printCurl({ method, url, type, body, files, secured, conditional }: Line): string {
  const parts = ['curl']
  if (method === 'HEAD') parts.push('-I')
  else if (method !== 'GET') parts.push(`-X ${method}`)
  parts.push(quote(url))
  if (secured) parts.push(`-H ${quote('Authorization: Bearer TOKEN')}`)
  if (conditional) parts.push(`-H ${quote('If-Match: "ETAG"')}`)
  if (body !== undefined && files.length > 0) {
    const names = Object.entries(Object(body)).filter(([name]) => !files.includes(name))
    for (const [name, value] of names)
      parts.push(
        `-F ${quote(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`,
      )
    for (const name of files.filter(each => each in Object(body)))
      parts.push(`-F ${quote(`${name}=@file`)}`)
  } else if (body !== undefined && type !== undefined) {
    parts.push(`-H ${quote(`Content-Type: ${type}`)}`, `-d ${quote(JSON.stringify(body))}`)
  }
  return parts.join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

export interface Call {
  readonly collection: string
  readonly method: string
  /** The path below the collection: `''`, `'/{id}'`, `'/count'`, `'/{id}/buy'`. */
  readonly below: string
  readonly id: string | undefined
  readonly body?: Json | undefined
  /** The file properties of the body. */
  readonly files: readonly string[]
  /** A filter of a list, and its value. */
  readonly filter?: Json | undefined
}

const CHANGES: Readonly<Record<string, string>> = {
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Prints a call of the client. */
export function printCall({ collection, method, below, id, body, files, filter }: Call): string {
  const resource = `client${printMember(collection)}`
  const given = body === undefined ? undefined : printValue(body, files)
  const filtered = filter === undefined ? '' : printValue(filter)
  if (below === '' && method === 'GET')
    return `for await (const item of ${resource}.list(${filtered})) console.log(item)`
  if (below === '/count') return `await ${resource}.count(${filtered})`
  if (below === '/search')
    return `for await (const item of ${resource}.search('words')) console.log(item)`
  const [first = '', second] = below.slice(1).split('/')
  const named = first === '{id}' ? second : first
  const change = method === 'GET' ? 'read' : (CHANGES[method] ?? 'create')
  const called = named ? printMember(named) : `.${change}`
  const values = [first === '{id}' ? printId(id) : undefined, given]
  return `await ${resource}${called}(${values.filter(each => each !== undefined).join(', ')})`
}

function printMember(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${printValue(name)}]`
}

function printId(id: string | undefined): string {
  if (id === undefined) return 'id'
  return /^[1-9]\d{0,14}$/.test(id) ? id : printValue(id)
}

/** Prints a value as TypeScript. @param files properties that are files. */
function printValue(value: Json, files: readonly string[] = []): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(each => printValue(each)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).map(([name, each]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : printValue(name)
    return `${key}: ${files.includes(name) ? 'file' : printValue(each)}`
  })
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}
