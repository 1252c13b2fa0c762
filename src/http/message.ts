// HTTP messages as plain data (RFC 9110 §6).

import type { TextBudget } from '../base/text-budget.ts'
import type { Awaitable } from '../base/values.ts'

/** Header fields of a request: names in lower case, repeated fields joined with `, `. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Header fields of a response, name and value alternating: what `writeHead` takes at once. */
export type HeaderList = string[]

/** The bytes of a body, read once. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** Reads the whole body where all of it arrived with the head; otherwise it reads nothing. To be called first. */
  readonly whole?: () => Awaitable<Uint8Array | undefined>
}

/**
 * The body of a request: bytes to be read, or the value that a host server has parsed already, which may
 * have stored files elsewhere.
 */
export type RequestBody = BodyStream | { readonly parsed: unknown; readonly withoutFiles?: boolean }

/** A request as plain data, the same from node:http and from fetch. */
export interface HttpRequest {
  /** As sent; methods are case-sensitive (RFC 9110 §9.1). */
  readonly method: string
  /** The request target below `prefix`, as sent: raw path and query. Not validated. */
  readonly target: string
  /** The path under which a host server has mounted the handler; `''` or `/api`, no slash at its end. */
  readonly prefix: string
  readonly headers: RequestHeaders
  /**
   * The id for logs: the `X-Request-Id` of a trusted proxy, the `id` that a host such as pino-http has given the request, or
   * a new one, made when it is first read. Then the response has it too.
   */
  readonly id: string
  readonly body: RequestBody | undefined
  /** The address of the client, from the socket or the policy `clientAddress`, or as trusted proxies forward it. */
  readonly address: string | undefined
  /** Whether the client's connection is over TLS; `undefined` where a trusted proxy does not say. */
  readonly secure: boolean | undefined
  /** Aborted when the client goes away, or the work takes too long. Created when it is first read. */
  readonly signal: AbortSignal
  /** Whether the signal is aborted; does not create it. */
  readonly aborted: boolean
}

/** A request as the server has it: with what its handler knows of the connection. */
export interface ReceivedRequest extends HttpRequest {
  /** The id if it is known. It does not create one, so a request that is not logged does not get one. */
  readonly knownId: string | undefined
  /** What its patterns and searches may still compare; that of a step of a batch is that of the batch. */
  readonly textBudget: TextBudget
  /** How many header fields were sent. */
  readonly headerCount: number
  /** Whether it must have a `Host`: all of HTTP/1.1 must (RFC 9112 §3.2), HTTP/1.0 has none. */
  readonly needsHost: boolean
  /** Aborts the signal. */
  readonly abort: (reason: Error) => void
  /** Bytes of answers that clients have not read yet, over all connections; absent where the host bounds them. */
  readonly unsent?: number
  /** Waits until a piece of a stream may be read; absent where the host is fair by itself. */
  readonly takeTurn?: () => Promise<void> | undefined
}

export type BodyChunk = Uint8Array | string

/** A body that is produced while it is sent. */
export type StreamBody = AsyncIterable<BodyChunk>

/** A body that goes on until the client or the server ends it. It writes its pieces as they come: no promise is made of each. */
export interface LiveBody {
  /** Where it writes, once it is resumed. */
  sink: LiveSink | undefined
  /** Writes what has waited, and goes on: the client has read what was written. */
  resume(): void
  /** Ends it; what has waited is still written. */
  end(): void
}

export interface LiveSink {
  /** @returns whether it takes more at once. Otherwise the body waits until it is resumed. */
  write(text: string): boolean
  end(): void
}

export type ResponseBody = BodyChunk | StreamBody

export function isLive(body: SentBody | undefined): body is LiveBody {
  return typeof body === 'object' && 'resume' in body
}

/** The same, and a long body in pieces. */
type SentBody = ResponseBody | LiveBody | Uint8Array[]

export interface HttpResponse {
  status: number
  headers: HeaderList
  body: SentBody | undefined
  /** The bytes of the body, where the number is known. */
  length?: number | undefined
}

export function isStream(body: SentBody | undefined): body is StreamBody {
  return typeof body === 'object' && Symbol.asyncIterator in body
}

/** Ends a body that will not be read. */
export async function endBody(body: SentBody | undefined): Promise<void> {
  if (isStream(body)) await body[Symbol.asyncIterator]().return?.()
  else if (isLive(body)) body.end()
}

/** Browsers must not guess another type than `Content-Type` says (Fetch standard). */
export const NOSNIFF: readonly string[] = ['X-Content-Type-Options', 'nosniff']

/** Adds headers to a flat list. A loop: to spread them in a call takes ten times as long. */
export function addHeaders(headers: HeaderList, added: readonly string[]): void {
  for (const part of added) headers.push(part)
}

/** Finds the value of a header in a flat list; names are compared without case. */
export function getHeader(headers: HeaderList, name: string): string | undefined {
  const wanted = name.toLowerCase()
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === wanted) return headers[at + 1]
  }
  return undefined
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
