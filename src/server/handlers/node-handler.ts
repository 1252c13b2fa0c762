// node:http in and out: a request listener over the same core as `fetch`. Works under Express, Connect
// and whatever else calls `(req, res, next)`.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TextBudget } from '../../base/text-budget.ts'
import { noteArrival, takeTurn } from '../../base/turns.ts'
import { incompleteBody } from '../../errors.ts'
import { resolveClient } from '../../http/base-url.ts'
import type { Limits } from '../../http/limits.ts'
import type {
  BodyStream,
  HttpResponse,
  ReceivedRequest,
  RequestBody,
  RequestHeaders,
} from '../../http/message.ts'
import { readsBody } from '../../http/methods.ts'
import { readRawHeaders } from '../../http/request-headers.ts'
import { IdentifiedRequest } from '../../http/request-id.ts'
import { splitTarget } from '../../http/target.ts'
import { BodyTimer } from '../../http/timeouts.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import { handle, type ServerRuntime } from '../handle.ts'
import { askForBody, countUnsent, isClosed, sendAnswer, takenOver } from './node-send.ts'

/** With `next`, unknown paths are left to the host server. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void

/** A request with the properties that host servers add: the path before a mount, an id, a parsed body, its files. */
type HostRequest = IncomingMessage & {
  originalUrl?: unknown
  id?: unknown
  body?: unknown
  file?: unknown
  files?: unknown
}

/** What stands behind each handler. */
const runtimes = new WeakMap<object, ServerRuntime>()

/**
 * Finds the api that a server was given as its listener; `undefined` if another program leads to it.
 * @param handlers of apis that such a program mounts.
 */
export function findServed(
  server: Pick<Server, 'listeners'>,
  handlers: readonly object[] = [],
): ServerRuntime | undefined {
  for (const listener of [...handlers, ...server.listeners('request')]) {
    const runtime = runtimes.get(listener)
    if (runtime) return runtime
  }
  return undefined
}

export function nodeHandler(runtime: ServerRuntime): Handler {
  const handler: Handler = (request, response, next) => {
    // Read at once: koa-mount puts its prefix back as soon as this returns.
    const { url } = request
    if (response.socket === null && queued.has(response)) {
      // Node gives it the connection when the answers before it are sent.
      response.once('socket', async (socket: Socket) => {
        await takeTurn()
        if (!socket.destroyed && !takenOver.has(response))
          answerTo(runtime, request, response, url, next)
      })
    } else {
      noteArrival()
      // Node delivers what arrived with the head right after the listener returns: then it is read without a promise.
      if (request.readableLength === 0 && readsBody(request.method ?? 'GET'))
        process.nextTick(answerTo, runtime, request, response, url, next)
      else answerTo(runtime, request, response, url, next)
    }
  }
  runtimes.set(handler, runtime)
  return handler
}

function answerTo(
  runtime: ServerRuntime,
  request: IncomingMessage,
  response: ServerResponse,
  url: string | undefined,
  next: Parameters<Handler>[2],
): void {
  const received = new NodeRequest(runtime.api, request, response, url)
  const send = (answer: HttpResponse | undefined) => {
    if (answer) return sendAnswer(request, received.unread, response, answer)
    // On the next tick: an error that it throws belongs to the host server.
    if (next) process.nextTick(next)
    return undefined
  }
  // The connection or the body broke off while the answer was written. What was written leaves first.
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
class NodeRequest extends IdentifiedRequest implements ReceivedRequest {
  readonly method: string
  readonly target: string
  readonly prefix: string
  readonly headers: RequestHeaders
  readonly headerCount: number
  readonly body: RequestBody | undefined
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly needsHost: boolean
  readonly #request: HostRequest
  readonly #response: ServerResponse
  readonly #body: NodeBody | undefined
  #controller: AbortController | undefined
  #textBudget: TextBudget | undefined

  constructor(api: ApiDefinition, request: HostRequest, response: ServerResponse, url = '/') {
    const { originalUrl, socket } = request
    const headers = readRawHeaders(request.rawHeaders)
    super(headers, api.trustProxy)
    this.method = request.method ?? 'GET'
    this.target = url
    this.prefix = typeof originalUrl === 'string' ? prefixOf(originalUrl, url) : ''
    this.headers = headers
    this.headerCount = request.rawHeaders.length / 2
    const size = sizeOf(headers)
    this.#body = size === undefined ? undefined : new NodeBody(api.limits, request, response, size)
    const isParsed = request.body !== undefined && request.readableEnded
    this.body = isParsed ? { parsed: request.body, withoutFiles: hasFiles(request) } : this.#body
    const secure = 'encrypted' in socket && socket.encrypted === true
    const connection = { address: socket.remoteAddress, secure }
    const client = resolveClient(headers, connection, api.trustProxy)
    this.address = client.address
    this.secure = client.secure
    this.needsHost = request.httpVersion === '1.1'
    this.#request = request
    this.#response = response
  }

  protected override get hostId(): unknown {
    return this.#request.id
  }

  /** How much of the body is still to come, in bytes; infinite where its length is not known. */
  get unread(): number {
    const { complete, readableEnded } = this.#request
    return complete || readableEnded ? 0 : (this.#body?.left ?? 0)
  }

  get textBudget(): TextBudget {
    this.#textBudget ??= new TextBudget()
    return this.#textBudget
  }

  get unsent(): number {
    return countUnsent()
  }

  takeTurn(): Promise<void> | undefined {
    return takeTurn()
  }

  /** Created when it is first read: most requests end without. */
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

/** Finds the part of the path that a mount has removed. */
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

/** Responses behind others of their connection: their requests wait, see harden.ts. */
export const queued = new WeakSet<ServerResponse>()

/** The body of a request, read once. */
class NodeBody implements BodyStream {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #timer: BodyTimer
  /** How many bytes are still to come. */
  left: number

  constructor(limits: Limits, request: IncomingMessage, response: ServerResponse, size: number) {
    this.#request = request
    this.#response = response
    this.#timer = new BodyTimer(limits)
    this.left = size
  }

  whole(): Uint8Array | undefined {
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
    this.#timer.add(chunk.length)
    return chunk
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const request = this.#request
    askForBody(request, this.#response)
    let wake: (() => void) | undefined
    const onMore = () => wake?.()
    try {
      // Node reports the end a turn after the last byte: nobody waits for it (docs/decisions/node-answers.md).
      while (this.left > 0) {
        const chunk = this.#read()
        if (chunk) yield chunk
        else if (request.readableAborted) throw incompleteBody(request.errored)
        // Not `complete`, which Deno sets with the head.
        else if (request.readableEnded) return
        else {
          if (!wake) for (const event of MORE) request.on(event, onMore)
          await this.#timer.wait(
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

/** The events after which there is something to read, or the body has ended. */
const MORE = ['readable', 'end', 'error', 'close']
