// Web standard `Request` in, `Response` out: for Hono, Bun, Deno, workers, and tests without a port.

import { isIP } from 'node:net'
import { TextBudget } from '../../base/text-budget.ts'
import { resolveClient } from '../../http/base-url.ts'
import {
  type HttpResponse,
  isLive,
  isStream,
  type LiveBody,
  type ReceivedRequest,
  type RequestBody,
  type RequestHeaders,
  type StreamBody,
} from '../../http/message.ts'
import { createHeaders } from '../../http/request-headers.ts'
import { IdentifiedRequest } from '../../http/request-id.ts'
import { limitBodyTime } from '../../http/timeouts.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import { handle, type ServerRuntime } from '../handle.ts'

/** @param host further arguments of the host server, which `clientAddress` gets. */
export type Fetch = (request: Request, ...host: readonly unknown[]) => Promise<Response>

export function fetchHandler(runtime: ServerRuntime): Fetch {
  const { api } = runtime
  return async (request, ...host) => {
    const address = api.clientAddress?.(request, ...host) ?? undefined
    const answer = await handle(runtime, new FetchRequest(api, request, address))
    // Only a host's `next` leaves a request without an answer.
    return answer ? toResponse(answer) : new Response(null, { status: 404 })
  }
}

class FetchRequest extends IdentifiedRequest implements ReceivedRequest {
  readonly method: string
  readonly target: string
  readonly prefix = ''
  readonly headers: RequestHeaders
  readonly headerCount: number
  readonly body: RequestBody | undefined
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly needsHost = true
  readonly #request: Request
  #controller: AbortController | undefined
  readonly textBudget = new TextBudget()

  constructor(api: ApiDefinition, request: Request, address: string | undefined) {
    const start = request.url.indexOf('/', request.url.indexOf('://') + 3)
    const { host, protocol } = new URL(request.url)
    const headers = readHeaders(request.headers, host)
    super(headers, api.trustProxy)
    this.method = request.method
    this.target = request.url.slice(start)
    this.headers = headers
    this.headerCount = Object.values(headers).filter(value => value !== undefined).length
    // The host server may have read the body already.
    const body = request.body && limitBodyTime(request.body, api.limits)
    this.body = request.bodyUsed ? { parsed: undefined } : (body ?? undefined)
    // A list from a header is not an address: anyone may write it.
    const known = address !== undefined && isIP(address) > 0 ? address : undefined
    const connection = { address: known, secure: protocol === 'https:' }
    const client = resolveClient(headers, connection, api.trustProxy)
    this.address = client.address
    this.secure = client.secure
    this.#request = request
  }

  get signal(): AbortSignal {
    this.#controller ??= controllerOf(this.#request)
    return this.#controller.signal
  }

  get aborted(): boolean {
    return (this.#controller ?? this.#request).signal.aborted
  }

  abort(reason: Error): void {
    try {
      this.#controller ??= controllerOf(this.#request)
      this.#controller.abort(reason)
    } catch {
      // In Workers no request may touch another, as the check of all deadlines does.
    }
  }
}

function controllerOf({ signal }: Request): AbortController {
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return controller
}

function readHeaders(given: Headers, host: string): RequestHeaders {
  const headers = createHeaders()
  headers.host = host
  for (const [name, value] of given) headers[name] = value
  return headers
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  const fields = new Headers()
  for (let at = 0; at < headers.length; at += 2) {
    fields.append(headers[at] ?? '', headers[at + 1] ?? '')
  }
  return new Response(bodyOf(body), { status, headers: fields })
}

function bodyOf(body: HttpResponse['body']): ConstructorParameters<typeof Response>[0] {
  if (body === undefined) return null
  if (typeof body === 'string') return body
  if (isStream(body)) return streamOf(body)
  if (isLive(body)) return liveStreamOf(body)
  return new Uint8Array(Array.isArray(body) ? Buffer.concat(body) : body)
}

function streamOf(body: StreamBody): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const chunks = body[Symbol.asyncIterator]()
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await chunks.return?.()
    },
  }
  // A chunk is read only when the client takes it.
  return new ReadableStream(source, { highWaterMark: 0 })
}

function liveStreamOf(body: LiveBody): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
      const write = (text: string) => {
        controller.enqueue(encoder.encode(text))
        return false
      }
      body.sink = { write, end: () => controller.close() }
    },
    pull: () => body.resume(),
    cancel() {
      body.sink = undefined
      body.end()
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
