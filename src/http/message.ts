// HTTP messages as plain data (RFC 9110 §6), and the syntaxes that every other file needs: the request
// target (RFC 9112 §3.2), hosts (RFC 9110 §7.2), lists in headers (§5.6.1), and parameters of queries
// and forms.

/** Header fields of a request: names in lower case, repeated fields joined with `, `. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Header fields of a response, name and value alternating: what `writeHead` takes at once. */
export type HeaderList = string[]

/**
 * The body of a request: bytes to be read, or the value that a host server has parsed already, which may
 * have stored files elsewhere.
 */
export type RequestBody =
  | AsyncIterable<Uint8Array>
  | { readonly parsed: unknown; readonly withoutFiles?: boolean }

export interface HttpRequest {
  /** As sent; methods are case-sensitive (RFC 9110 §9.1). */
  readonly method: string
  /** The request target below `prefix`, as sent: raw path and query. Not validated. */
  readonly target: string
  /** The path under which a host server has mounted the handler; `''` or `/api`, no slash at its end. */
  readonly prefix: string
  readonly headers: RequestHeaders
  /** How many header fields were sent. */
  readonly headerCount: number
  readonly body: RequestBody | undefined
  /** The address of the client, from the socket or the policy `clientAddress`. */
  readonly address: string | undefined
  /** Whether the connection to this process is over TLS. */
  readonly secure: boolean
  /** Whether it must have a `Host`: all of HTTP/1.1 must (RFC 9112 §3.2), HTTP/1.0 has none. */
  readonly needsHost: boolean
  /** Aborted when the client goes away, or the work takes too long. Created when it is first read. */
  readonly signal: AbortSignal
  /** Whether the signal is aborted; does not create it. */
  readonly aborted: boolean
  /** Aborts the signal. */
  readonly abort: (reason: Error) => void
}

export type BodyChunk = Uint8Array | string

/** A body that is produced while it is sent. */
export type StreamBody = AsyncIterable<BodyChunk>

export type ResponseBody = BodyChunk | StreamBody

export interface HttpResponse {
  status: number
  headers: HeaderList
  body: ResponseBody | undefined
  /** The bytes of the body, where the number is known. */
  length?: number | undefined
}

export function isStream(body: ResponseBody | undefined): body is StreamBody {
  return body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)
}

/** Ends a body that will not be read. */
export async function endBody(body: StreamBody): Promise<void> {
  await body[Symbol.asyncIterator]().return?.()
}

/** A request target in two parts; `query` has no `?` and may be `''`. */
export interface RequestTarget {
  readonly path: string
  readonly query: string
}

/**
 * Splits a request target (RFC 9112 §3.2): origin form, or absolute form, whose authority is
 * dropped. A path of `//evil.example/x` stays a path. Nothing is decoded and nothing throws.
 */
export function splitTarget(target: string): RequestTarget {
  const start = target.startsWith('/') ? 0 : absolutePathStart(target)
  const fragment = target.indexOf('#', start)
  const end = fragment === -1 ? target.length : fragment
  const question = target.indexOf('?', start)
  if (question === -1 || question > end) return { path: target.slice(start, end) || '/', query: '' }
  return { path: target.slice(start, question) || '/', query: target.slice(question + 1, end) }
}

function absolutePathStart(target: string): number {
  return ABSOLUTE.exec(target)?.[0].length ?? 0
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Parses the authority of a target in absolute form, not validated: it counts in place of `Host`. */
export function parseAuthority(target: string): string | undefined {
  return ABSOLUTE.exec(target)?.[1]
}

const HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i

/** Whether a text can be a `Host` (RFC 9110 §7.2): a name or address, maybe with a port, which may be empty. */
export function isHost(text: string): boolean {
  return HOST.test(text)
}

/** Decodes a percent-encoded text; `undefined` for malformed encoding or UTF-8. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Splits a comma-separated list (RFC 9110 §5.6.1); quoted strings stay whole. */
export function splitList(text: string): string[] {
  const members: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at <= text.length; at++) {
    const char = text[at]
    if (quoted && char === '\\') at++
    else if (char === '"') quoted = !quoted
    else if (char === undefined || (char === ',' && !quoted)) {
      const member = text.slice(start, at).trim()
      if (member !== '') members.push(member)
      start = at + 1
    }
  }
  return members
}

/** Whether a method reads a representation (RFC 9110 §9.3.1, §9.3.2). */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Finds the value of a header in a flat list; names are compared without case. */
export function getHeader(headers: HeaderList, name: string): string | undefined {
  const wanted = name.toLowerCase()
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === wanted) return headers[at + 1]
  }
  return undefined
}

/** One `name=value` of a query or of an urlencoded form; `raw` is the pair as sent. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/**
 * Parses `a=1&b=2`, as in a query or in `application/x-www-form-urlencoded`: `+` is a space; every other
 * character that RFC 3986 allows may be unescaped. Empty pairs are skipped.
 * @returns `undefined` for malformed encoding or UTF-8.
 */
export function parseParameters(text: string): Parameter[] | undefined {
  if (text === '') return []
  const parameters: Parameter[] = []
  for (const raw of text.split('&')) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const name = unescapeParameter(equals === -1 ? raw : raw.slice(0, equals))
    const value = equals === -1 ? '' : unescapeParameter(raw.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    parameters.push({ name, value, raw })
  }
  return parameters
}

function unescapeParameter(text: string): string | undefined {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Prints parameters so that {@link parseParameters} gives them back. */
export function printParameters(parameters: Iterable<readonly [string, string]>): string {
  return Array.from(
    parameters,
    ([name, value]) => `${escapeParameter(name)}=${escapeParameter(value)}`,
  ).join('&')
}

function escapeParameter(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+').replaceAll('%2C', ',')
}
