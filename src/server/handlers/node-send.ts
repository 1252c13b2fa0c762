// Answers on their way to a connection of node:http: whole, in pieces, or as a stream.
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type BodyChunk,
  endBody,
  getHeader,
  type HeaderList,
  type HttpResponse,
  isLive,
  isStream,
  type LiveBody,
  type StreamBody,
} from '../../http/message.ts'

/** Requests that wait for `100 Continue` before they send a body: see harden.ts. */
export const expecting = new WeakSet<IncomingMessage>()

/** Asks a client that waits for `100 Continue` for the body; a request refused for its headers is never asked for its body. */
export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (expecting.delete(request) && !response.headersSent) response.writeContinue()
}

/** Responses that may not be written any more: harden.ts has refused the rest of their request. */
export const takenOver = new WeakSet<ServerResponse>()

/** Sends an answer; the promise ends with its body, where that takes longer. */
export function sendAnswer(
  request: IncomingMessage,
  unread: number,
  response: ServerResponse,
  { status, headers, body, length }: HttpResponse,
): Promise<unknown> | undefined {
  if (response.destroyed || takenOver.has(response)) {
    return endBody(body)
  }
  // A client that waits for `100 Continue` sends nothing after a refusal.
  const waits = expecting.has(request)
  const ends = waits || unread > LINGER_BYTES
  if (ends && getHeader(headers, 'connection') === undefined) headers.push('Connection', 'close')
  try {
    writeHead(response, status, headers)
  } catch (error) {
    // A host server may have sent a head already.
    endBody(body).catch(() => undefined)
    throw error
  }
  if (isLive(body)) return sendLive(response, body)
  if (isStream(body)) {
    const closes = length === undefined && request.httpVersion === '1.0'
    return sendStream(response, closes ? untilClose(body, response) : body)
  }
  if (Array.isArray(body)) return sendPieces(response, body, length)
  if (!waits && unread > LINGER_BYTES) return linger(request, response, body)
  if (!body) response.end()
  else {
    // A text of as many bytes as characters is ASCII, and faster to write as such (docs/decisions/node-answers.md).
    response.write(body, body.length === length ? 'latin1' : 'utf8')
    // Ending at once would write an empty text too, by `writev`.
    process.nextTick(endSent, response)
  }
  if (!request.readableEnded) drain(request, unread)
  return undefined
}

export function isClosed(response: ServerResponse): boolean {
  return response.closed || response.destroyed
}

/** Sends a long body: what was sent of it takes no memory while the client reads no more. */
async function sendPieces(response: ServerResponse, pieces: Uint8Array[], length = 0) {
  unsent += length
  try {
    await sendStream(response, takeOut(pieces))
  } finally {
    unsent -= length
  }
}

function* takeOut(pieces: Uint8Array[]): Generator<Uint8Array> {
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) yield piece
}

/** Sends a stream: the next piece is not begun before the client has read what was written. */
async function sendStream(
  response: ServerResponse,
  body: StreamBody | Iterable<BodyChunk>,
): Promise<void> {
  let wake: (() => void) | undefined
  const onReady = () => wake?.()
  response.on('drain', onReady).on('close', onReady)
  for await (const piece of body) {
    if (isClosed(response)) return
    if (writeTo(response, piece)) continue
    await new Promise<void>(resolve => {
      wake = resolve
    })
  }
  endSent(response)
}

/** Writes a piece. @returns whether it takes more; middleware that replaces `write` may forget to return it. */
function writeTo(response: ServerResponse, piece: BodyChunk): boolean {
  const isTaken: boolean | undefined = response.write(piece)
  return isTaken ?? !response.writableNeedDrain
}

/** Sends a body that goes on: each piece at once, without a promise, as there may be thousands of them. */
function sendLive(response: ServerResponse, body: LiveBody): undefined {
  const { server }: { server?: object } = Object(response.socket) // of node:http, and not of a wrapper
  if (server) keepUntilEnd(server, body, response)
  body.sink = { write: text => writeTo(response, text), end: () => endSent(response) }
  response.on('drain', () => body.resume()).on('close', () => body.end())
  body.resume()
}

/**
 * Resets the connection where a body fails that ends with its connection (RFC 9112 §6.3), as bodies of
 * unknown length do in HTTP/1.0, which proxies speak: a plain close would mean that the body is whole.
 */
async function* untilClose(
  body: StreamBody,
  { socket }: ServerResponse,
): AsyncGenerator<BodyChunk> {
  try {
    yield* body
  } catch (error) {
    // Only TCP can be reset. TLS that ends without `close_notify` is known to be broken off (RFC 8446 §6.1).
    if (socket?.remoteAddress !== undefined && !('encrypted' in socket)) socket.resetAndDestroy()
    throw error
  }
}

/** Bodies that go on, by the server that sends them: it ends them when it is shut down. */
const liveBodies = new WeakMap<object, Set<LiveBody>>()
/** Servers that shut down: what begins there ends at once. */
const ending = new WeakSet<object>()

function keepUntilEnd(server: object, body: LiveBody, response: ServerResponse): void {
  const bodies = liveBodies.get(server) ?? new Set()
  liveBodies.set(server, bodies.add(body))
  if (ending.has(server)) body.end()
  response.once('close', () => bodies.delete(body))
}

/** Ends the bodies of a server that would go on. */
export function endLive(server: object): void {
  ending.add(server)
  for (const body of liveBodies.get(server) ?? []) body.end()
}

/** The bytes of all connections that wait: a limit of the process. */
let unsent = 0

/** Counts the bytes of answers that clients have not read yet, over all connections. */
export function countUnsent(): number {
  return unsent
}

/** Ends an answer when its bytes have left: Node closes the connection of an ended one as idle when the server stops. */
function endSent(response: ServerResponse): void {
  const { socket } = response
  if (!socket || socket.writableLength === 0) response.end()
  else {
    const waiting = socket.writableLength
    unsent += waiting
    socket.write('', () => {
      unsent -= waiting
      response.end()
    })
  }
}

/** How much of a refused body is still read, and for how long: ending at once would reset the connection and lose the answer. */
const LINGER_BYTES = 256 * 1024
const LINGER_MS = 2000

/** Reads the rest of a short body, so that the connection can be used again; a client that does not send it is cut off. */
function drain(request: IncomingMessage, unread: number): void {
  request.resume()
  if (unread === 0) return
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
}

/** Sends the whole answer, reads on for a bounded time and size, then ends the connection. */
async function linger(
  request: IncomingMessage,
  response: ServerResponse,
  body: string | Uint8Array | undefined,
): Promise<void> {
  if (body === undefined || body.length === 0) response.flushHeaders()
  else response.write(body)
  await new Promise<void>(resolve => {
    let left = 8 * LINGER_BYTES
    const timer = setTimeout(resolve, LINGER_MS)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    request.on('data', (chunk: Uint8Array) => {
      left -= chunk.length
      if (left < 0) done()
    })
    request.once('end', done).once('error', done).once('close', done)
    request.resume()
  })
  response.end()
}

/**
 * Writes the head. Headers that a host server has set stay: of those that both have ours count, but for its CORS
 * headers and its `Vary`.
 */
function writeHead(response: ServerResponse, status: number, headers: HeaderList): void {
  // Middleware that replaces `writeHead` (on-headers 1.0, which compression and morgan used) reads a list as pairs.
  const replaced = Object.hasOwn(response, 'writeHead')
  if (!replaced && response.getHeaderNames().length === 0) {
    response.writeHead(status, headers)
    return
  }
  const hasCors = response.hasHeader('access-control-allow-origin')
  const known = new Set(['vary'])
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2)
    if (hasCors && name.startsWith('Access-Control-')) continue
    if (known.has(name.toLowerCase())) response.appendHeader(name, value)
    else response.setHeader(name, value)
    known.add(name.toLowerCase())
  }
  response.writeHead(status)
}
