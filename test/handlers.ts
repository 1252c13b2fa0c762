// Both handlers of an api behind one function: `fetch` in process, and node:http over a real socket.
// What a client library would not send goes over the socket as bytes: see `sendRaw`.
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { type Check, checkOf } from './answers.ts'

/** What has the two handlers: an api, a collection. */
export interface Served {
  readonly fetch: (request: Request) => Promise<Response>
  readonly handler: RequestListener
}

export interface Init {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** A body to send as `application/json`; a `Content-Type` in `headers` wins. */
  readonly json?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body parsed; `undefined` where there is none, throws where it is no JSON. */
  readonly json: unknown
}

export interface OpenHandler {
  readonly name: HandlerName
  /** Scheme and authority, no slash at the end: what absolute URLs in answers begin with. */
  readonly base: string
  /** @param target a path with query, or an absolute URL that begins with `base`. */
  request(target: string, init?: Init): Promise<Answer>
  close(): Promise<void>
}

export type HandlerName = 'fetch' | 'node:http'

export const HANDLER_NAMES: readonly HandlerName[] = ['fetch', 'node:http']

export function openHandler(name: HandlerName, served: Served): Promise<OpenHandler> {
  return name === 'fetch' ? openFetch(served) : openNode(served)
}

/** Both handlers of the same api, opened. */
export function openHandlers(served: Served): Promise<OpenHandler[]> {
  return Promise.all(HANDLER_NAMES.map(name => openHandler(name, served)))
}

async function openFetch(served: Served): Promise<OpenHandler> {
  const base = 'http://api.test'
  return {
    name: 'fetch',
    base,
    request: async (target, init) => {
      const request = requestOf(base, target, init)
      return checked(served, base, request, await toAnswer(await served.fetch(request)))
    },
    close: async () => {},
  }
}

async function openNode(served: Served): Promise<OpenHandler> {
  const { base, close } = await listen(served.handler)
  return {
    name: 'node:http',
    base,
    request: async (target, init) => {
      const request = requestOf(base, target, init)
      const answer = await toAnswer(await fetch(request, { redirect: 'manual' }))
      return checked(served, base, request, answer)
    },
    close,
  }
}

const checks = new WeakMap<Served, Check | undefined>()

/** Holds an answer to the OpenAPI document of its api. @throws Error where it is not as documented. */
function checked(served: Served, base: string, request: Request, answer: Answer): Answer {
  const { method, url, headers } = request
  const named = ['x-http-method-override', 'x-forwarded-prefix'].some(name => headers.has(name))
  if (!url.startsWith(base) || named) return answer
  const check = checks.has(served) ? checks.get(served) : checkOf(served)
  checks.set(served, check)
  const { status, headers: received, text } = answer
  const miss = check?.({ method, target: url.slice(base.length), status, headers: received, text })
  if (miss !== undefined) throw new Error(`Not as documented: ${miss}`)
  return answer
}

/** Asks an api in process, and holds its answer to the OpenAPI document. */
export async function fetchChecked(
  served: Served,
  request: Request,
  ...more: readonly unknown[]
): Promise<Response> {
  const fetch: (request: Request, ...more: readonly unknown[]) => Promise<Response> = served.fetch
  const response = await fetch(request, ...more)
  checked(served, new URL(request.url).origin, request, await toAnswer(response.clone()))
  return response
}

/** Listens on a free port of the loopback interface. */
export async function listen(
  handler: RequestListener,
): Promise<{ base: string; port: number; close: () => Promise<void> }> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  return {
    base: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise<void>((resolve, reject) => {
        server.close(error => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

function requestOf(base: string, target: string, { json, ...init }: Init = {}): Request {
  const headers = new Headers(init.headers)
  if (json !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  const body = json === undefined ? init.body : JSON.stringify(json)
  return new Request(target.startsWith(base) ? target : base + target, {
    method: init.method ?? 'GET',
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  })
}

async function toAnswer(response: Response): Promise<Answer> {
  return answerOf(response.status, response.headers, await response.text())
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  return {
    status,
    headers,
    text,
    get json(): unknown {
      return text === '' ? undefined : JSON.parse(text)
    },
  }
}

/**
 * Sends bytes as they are to a port and reads the first answer until the server ends the connection:
 * the text must say `Connection: close`, or be so broken that the server closes by itself.
 */
export async function sendRaw(port: number, text: string): Promise<Answer> {
  const whole = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    const chunks: Buffer[] = []
    socket.on('data', chunk => chunks.push(chunk))
    // A reset after the answer has arrived does not take it back.
    socket.on('error', error => (chunks.length > 0 ? undefined : reject(error)))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
  const end = whole.indexOf('\r\n\r\n')
  const [start = '', ...lines] = whole.slice(0, end).split('\r\n')
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return answerOf(Number(start.split(' ')[1]), headers, whole.slice(end + 4))
}

/**
 * Runs the same tests through both handlers.
 * @param make what is served; made anew for each test, or once for all of them with `once`.
 * @param tests declares the tests; the handler and what `make` gave are there while a test runs.
 */
export function eachHandler<T extends Served | { readonly api: Served }>(
  make: () => T | Promise<T>,
  tests: (handler: OpenHandler, made: () => T) => void,
  { once = false }: { once?: boolean } = {},
): void {
  describe.each(HANDLER_NAMES)('through %s', name => {
    let opened: OpenHandler | undefined
    let made: T | undefined
    const open = async () => {
      made = await make()
      opened = await openHandler(name, 'api' in made ? made.api : made)
    }
    const close = () => opened?.close()
    if (once) {
      beforeAll(open)
      afterAll(close)
    } else {
      beforeEach(open)
      afterEach(close)
    }
    const current = <V>(value: V | undefined): V => {
      if (value === undefined) throw new Error('No handler is open outside of a test')
      return value
    }
    tests(
      {
        name,
        get base() {
          return current(opened).base
        },
        request: (target, init) => current(opened).request(target, init),
        close: async () => {},
      },
      () => current(made),
    )
  })
}
