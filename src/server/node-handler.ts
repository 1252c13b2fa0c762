// node:http in and out: a request listener over the same core as `fetch`. Works under Express, Connect
// and whatever else calls `(req, res, next)`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { incompleteBody } from '../errors.ts'
import { resolveClient } from '../http/base-url.ts'
import type { Limits } from '../http/limits.ts'
import {
  type BodyChunk,
  type BodyStream,
  endBody,
  getHeader,
  type HttpRequest,
  type HttpResponse,
  isStream,
  type RequestBody,
  type RequestHeaders,
  type StreamBody,
} from '../http/message.ts'
import { readRawHeaders } from '../http/request-headers.ts'
import { splitTarget } from '../http/target.ts'
import { BodyTimer } from '../http/timeouts.ts'
import { noteArrival, takeTurn } from '../http/turns.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { handle, type ServerRuntime } from './handle.ts'
import { mergeHostHeaders } from './host-headers.ts'

/** Called with `next` it leaves every path that is not its own to what follows. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void

/** What host servers add to the request: the path before a mount, a body that they have parsed, its files. */
type HostRequest = IncomingMessage & {
  originalUrl?: unknown
  body?: unknown
  file?: unknown
  files?: unknown
}

export function nodeHandler(runtime: ServerRuntime): Handler {
  return (request, response, next) => {
    if (response.socket === null && queued.has(response)) {
      // Node gives it the connection when the answers before it are sent.
      response.once('socket', async (socket: Socket) => {
        await takeTurn()
        if (!socket.destroyed && !takenOver.has(response))
          answerTo(runtime, request, response, next)
      })
    } else {
      noteArrival()
      answerTo(runtime, request, response, next)
    }
  }
}

function answerTo(
  runtime: ServerRuntime,
  request: IncomingMessage,
  response: ServerResponse,
  next: Parameters<Handler>[2],
): void {
  const received = new NodeRequest(runtime.api, request, response)
  const send = (answer: HttpResponse | undefined) => {
    if (answer) return sendAnswer(request, received.unread, response, answer)
    // In a turn of its own: what it throws is not ours to swallow.
    if (next) process.nextTick(next)
    return undefined
  }
  // A connection that broke while the answer was written, or a streamed body that did.
  // What was written before leaves first.
  const fail = () => void setImmediate(() => response.destroy())
  try {
    const answer = handle(runtime, received, next !== undefined)
    const sent = answer instanceof Promise ? answer.then(send) : send(answer)
    if (sent) sent.catch(fail)
  } catch {
    fail()
  }
}

/** A class for its getter: a function of each request would live long (see the rules in docs/architecture.md). */
class NodeRequest implements HttpRequest {
  readonly method: string
  readonly target: string
  readonly prefix: string
  readonly headers: RequestHeaders
  readonly headerCount: number
  readonly body: RequestBody | undefined
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly needsHost: boolean
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #body: NodeBody | undefined
  #controller: AbortController | undefined

  constructor(api: ApiDefinition, request: HostRequest, response: ServerResponse) {
    const { url = '/', originalUrl, socket } = request
    this.method = request.method ?? 'GET'
    this.target = url
    this.prefix = typeof originalUrl === 'string' ? prefixOf(originalUrl, url) : ''
    this.headers = readRawHeaders(request.rawHeaders)
    this.headerCount = request.rawHeaders.length / 2
    const size = sizeOf(this.headers)
    this.#body = size === undefined ? undefined : new NodeBody(api.limits, request, response, size)
    const isParsed = request.body !== undefined && request.readableEnded
    this.body = isParsed ? { parsed: request.body, withoutFiles: hasFiles(request) } : this.#body
    const secure = 'encrypted' in socket && socket.encrypted === true
    const connection = { address: socket.remoteAddress, secure }
    const client = resolveClient(this.headers, connection, api.trustProxy)
    this.address = client.address
    this.secure = client.secure
    this.needsHost = request.httpVersion === '1.1'
    this.#request = request
    this.#response = response
  }

  /** How much of the body is still to come, in bytes; infinite where its length is not known. */
  get unread(): number {
    const { complete, readableEnded } = this.#request
    return complete || readableEnded ? 0 : (this.#body?.left ?? 0)
  }

  get unsent(): number {
    return unsent
  }

  takeTurn(): Promise<void> | undefined {
    return takeTurn()
  }

  /** Made when somebody asks: most requests end without. */
  get signal(): AbortSignal {
    this.#controller ??= controllerOf(this.#response)
    return this.#controller.signal
  }

  get aborted(): boolean {
    const response = this.#response
    // Whether the connection ended before the answer did.
    return this.#controller?.signal.aborted ?? (isClosed(response) && !response.writableFinished)
  }

  abort(reason: Error): void {
    this.#controller ??= controllerOf(this.#response)
    this.#controller.abort(reason)
  }
}

/** Whether a parser, such as multer, has taken files out of the body. */
function hasFiles({ file, files }: HostRequest): boolean {
  return file !== undefined || Object.keys(files ?? {}).length > 0
}

function controllerOf(response: ServerResponse): AbortController {
  const controller = new AbortController()
  const abort = () => {
    if (!response.writableFinished) controller.abort(new Error('The client went away'))
  }
  if (isClosed(response)) abort()
  else response.once('close', abort)
  return controller
}

function isClosed(response: ServerResponse): boolean {
  return response.closed || response.destroyed
}

/** What a mount took from the front of the path. */
function prefixOf(original: string, url: string): string {
  const { path: whole } = splitTarget(original)
  const { path: rest } = splitTarget(url)
  if (rest === '/' && !whole.endsWith('/')) return whole
  return whole.endsWith(rest) ? whole.slice(0, -rest.length) : ''
}

/** The bytes of a body as announced, infinite where they are not counted; `undefined` without a body. */
function sizeOf({
  'content-length': length,
  'transfer-encoding': coding,
}: RequestHeaders): number | undefined {
  if (coding !== undefined) return Number.POSITIVE_INFINITY
  return length === undefined ? undefined : Number(length)
}

/** Requests that wait for `100 Continue` before they send a body: see harden.ts. */
export const expecting = new WeakSet<IncomingMessage>()

/** Asks for the body of a request that waits; nobody who is refused by the headers alone is asked. */
export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (expecting.delete(request) && !response.headersSent) response.writeContinue()
}

/** Responses behind others of their connection: their requests wait, see harden.ts. */
export const queued = new WeakSet<ServerResponse>()

/** Responses that may not be written any more: harden.ts has refused the rest of their request. */
export const takenOver = new WeakSet<ServerResponse>()

/** The body of a request, read once. */
class NodeBody implements BodyStream {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #pace: BodyTimer
  /** How many bytes are still to come. */
  left: number

  constructor(limits: Limits, request: IncomingMessage, response: ServerResponse, size: number) {
    this.#request = request
    this.#response = response
    this.#pace = new BodyTimer(limits)
    this.left = size
  }

  async whole(): Promise<Uint8Array | undefined> {
    // Node gives what came with the head right after the listener has returned.
    await undefined
    if (this.#request.readableLength !== this.left) return undefined
    const first = this.#read()
    if (!first || this.left === 0) return first
    // Deno gives one chunk at a time.
    const chunks = [first]
    for (let next = this.#read(); next; next = this.#read()) chunks.push(next)
    return Buffer.concat(chunks)
  }

  #read(): Uint8Array | undefined {
    const chunk: Uint8Array | null = this.#request.read()
    if (!chunk) return undefined
    this.left -= chunk.length
    this.#pace.add(chunk.length)
    return chunk
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const request = this.#request
    askForBody(request, this.#response)
    let wake: (() => void) | undefined
    const onMore = () => wake?.()
    try {
      // What tells the end comes after the last byte: to wait for it takes 6 % of a create.
      while (this.left > 0) {
        const chunk = this.#read()
        if (chunk) yield chunk
        else if (request.readableAborted) throw incompleteBody(request.errored)
        // Not `complete`, which Deno sets with the head.
        else if (request.readableEnded) return
        else {
          if (!wake) for (const event of MORE) request.on(event, onMore)
          await this.#pace.wait(
            new Promise<void>(resolve => {
              wake = resolve
            }),
          )
        }
      }
    } finally {
      if (wake) for (const event of MORE) request.off(event, onMore)
    }
  }
}

/** After these there is something to read, or the end. */
const MORE = ['readable', 'end', 'error', 'close']

function sendAnswer(
  request: IncomingMessage,
  unread: number,
  response: ServerResponse,
  { status, headers, body, length }: HttpResponse,
): Promise<unknown> | undefined {
  if (response.destroyed || takenOver.has(response)) {
    return isStream(body) ? endBody(body) : undefined
  }
  // A client that waits for `100 Continue` sends nothing after a refusal.
  const waits = expecting.has(request)
  const ends = waits || unread > LINGER_BYTES
  if (ends && getHeader(headers, 'connection') === undefined) headers.push('Connection', 'close')
  try {
    response.writeHead(status, mergeHostHeaders(response, headers))
  } catch (error) {
    // A host server may have sent a head already.
    if (isStream(body)) endBody(body).catch(() => undefined)
    throw error
  }
  if (isStream(body)) {
    const closes = length === undefined && request.httpVersion === '1.0'
    return sendStream(response, closes ? untilClose(body, response) : body)
  }
  if (!waits && unread > LINGER_BYTES) return linger(request, response, body)
  if (!body) response.end()
  else {
    // A text of as many bytes as characters is ASCII; to write it as such gains 6 % of a page's time.
    response.write(body, body.length === length ? 'latin1' : 'utf8')
    // At once it would send an empty text along, by `writev`: 6 % of a read's instructions.
    process.nextTick(endSent, response)
  }
  if (!request.readableEnded) drain(request, unread)
  return undefined
}

/** Sends a stream: the next piece is not begun before the client has read what was written. */
async function sendStream(response: ServerResponse, body: StreamBody): Promise<void> {
  let wake: (() => void) | undefined
  const onReady = () => wake?.()
  response.on('drain', onReady).on('close', onReady)
  for await (const piece of body) {
    if (isClosed(response)) return
    if (response.write(piece)) continue
    await new Promise<void>(resolve => {
      wake = resolve
    })
  }
  endSent(response)
}

/**
 * A body that ends with its connection (RFC 9112 §6.3), as one of unknown length does in HTTP/1.0, which proxies
 * speak: where it fails the connection is reset, since one that is closed would say that this was all.
 */
async function* untilClose(
  body: StreamBody,
  { socket }: ServerResponse,
): AsyncGenerator<BodyChunk> {
  try {
    yield* body
  } catch (error) {
    // Only TCP can be reset. TLS that ends without a word of it is known to be broken off (RFC 8446 §6.1).
    if (socket?.remoteAddress !== undefined && !('encrypted' in socket)) socket.resetAndDestroy()
    throw error
  }
}

/** Bytes of answers that clients have not read yet, over all connections. */
let unsent = 0

/** Ends an answer when its bytes have left: Node takes an ended one for idle, and closes it with the server. */
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
const LINGER_TIME = 2000

/** Reads the little that is left, so that the connection serves on; one that does not send it is ended. */
function drain(request: IncomingMessage, unread: number): void {
  request.resume()
  if (unread === 0) return
  const timer = setTimeout(() => request.socket.destroy(), LINGER_TIME)
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
    const timer = setTimeout(resolve, LINGER_TIME)
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
