// Responses that are written to a connection itself, where Node has no request that could be answered.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { HttpError, type Issue } from '../errors.ts'
import { type HeaderList, NOSNIFF } from '../http/message.ts'
import { SUPPRESS_PARAMETER, suppressedStatus } from '../http/method-override.ts'
import { belowPrefix, splitTarget } from '../http/target.ts'
import { allowedMethods } from '../openapi/path-item.ts'
import type { Dialect } from '../query.ts'
import type { ServerRuntime } from '../server/handle.ts'

/** What Node's parser reports of a request that it cannot read: the bytes at hand, and where it stopped. */
export type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }

export interface RawResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string
}

const COMMON = ['Content-Type', 'application/json', ...NOSNIFF, 'Cache-Control', 'no-store']

export const ALLOW_ALL: HeaderList = ['Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']

/** What is wrong with a request, by the code of Node's parser. */
const PARSER_ISSUES: Readonly<Record<string, readonly [status: number, issue: Issue]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    { message: 'The header fields are too large together', type: 'headers_too_large' },
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    { message: 'The chunk extensions are too large', type: 'chunk_extensions_too_large' },
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    { message: 'The request arrived too slowly', type: 'request_too_slow' },
  ],
}

const MALFORMED: Issue = {
  message: 'This is not a well-formed HTTP request',
  type: 'malformed_request',
}

const UNESCAPED: Issue = {
  message: 'Escape characters beyond ASCII in the URL, such as ë as %C3%AB',
  type: 'malformed_request',
}

/** A request line of HTTP/1 (RFC 9112 §3), maybe behind the body of another request. */
const REQUEST_LINE = /^[^ ]*[!#$%&'*+.^_`|~0-9a-z-] [^ ]+ HTTP\/1\.[01]$/i

/**
 * Builds the response to a request that Node's parser cannot read.
 * @param served the api behind the server, where that is known.
 */
export function toRawResponse(error: ParserError, served?: ServerRuntime): RawResponse {
  const [firstLine = ''] = error.rawPacket?.toString('latin1').split('\r\n', 1) ?? []
  const { code = '' } = error
  const dialects = served?.api.dialects
  const line = findBrokenLine(error)
  if (/^HPE_INVALID_(?:METHOD|CONSTANT)$/.test(code) && REQUEST_LINE.test(line)) {
    const [, target = ''] = line.split(' ')
    const message = 'The method is unknown'
    const issue: Issue = { message, type: 'method_not_allowed' }
    return buildRawResponse(405, issue, firstLine, listAllowed(target, served), dialects)
  }
  const [status, issue] = PARSER_ISSUES[code] ?? [400, isUnescaped(error) ? UNESCAPED : MALFORMED]
  return buildRawResponse(status, issue, firstLine, [], dialects)
}

/** Lists the methods of a path, where anybody may know what is there. */
function listAllowed(target: string, served: ServerRuntime | undefined): HeaderList {
  if (!served) return ALLOW_ALL
  const { api, router } = served
  try {
    const below = belowPrefix(splitTarget(target).path, api.prefix, 'GET')
    const match = below === undefined ? undefined : router.match(below)
    if (!match || match.target.collection?.hideExistence) return ALLOW_ALL
    return ['Allow', allowedMethods(match.methods)]
  } catch {
    return ALLOW_ALL // a malformed path
  }
}

/** Whether the parser stopped at a byte beyond ASCII in the URL, as curl sends what is typed. */
function isUnescaped({ code, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  return code === 'HPE_INVALID_URL' && (rawPacket?.[bytesParsed] ?? 0) > 127
}

/** Finds the line in which the parser stopped. */
function findBrokenLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString('latin1') ?? ''
  const start = text.lastIndexOf('\n', bytesParsed - 1) + 1
  return text.slice(start).split('\r\n', 1)[0] ?? ''
}

/** @param target the request target, or the line that it stands in. */
export function buildRawResponse(
  status: number,
  issue: Issue,
  target: string,
  headers: HeaderList = [],
  dialects: readonly Dialect[] = [],
): RawResponse {
  const { errors } = new HttpError(status, [issue])
  const message = dialects.length > 0 ? issue.message : undefined
  const theirs = dialects.find(dialect => dialect.errors)?.errors
  const body = JSON.stringify({ message, errors: theirs?.print(errors, undefined) ?? errors })
  return {
    status: target.includes(SUPPRESS_PARAMETER) ? suppressedStatus(status) : status,
    headers: [...headers, ...COMMON, 'Content-Length', String(Buffer.byteLength(body))],
    body,
  }
}

/** Writes a response to a connection, and ends the connection. */
export function writeRawResponse(socket: Socket, { status, headers, body }: RawResponse): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  lines.push(`Date: ${new Date().toUTCString()}`, 'Connection: close', '', body)
  socket.on('error', () => socket.destroy())
  socket.end(lines.join('\r\n'))
  // What still arrives is read and dropped for a moment: closing at once would lose the response.
  socket.resume()
  setTimeout(() => socket.destroy(), 1000).unref()
}
