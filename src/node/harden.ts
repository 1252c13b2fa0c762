// What a node:http server must be told to be safe on a network: time-outs, and answers of the API's
// kind where Node would end a connection with a bare status line or none.
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorBody, HttpError, type Issue } from '../errors.ts'
import type { HeaderList } from '../http/message.ts'
import { SUPPRESS_PARAMETER, suppressedStatus } from '../http/method-override.ts'
import { checkOptions, type Rules, wholeFrom, withDefaults } from '../options.ts'
import { askForBody, expecting, queued, takenOver } from '../server/node-handler.ts'

/** What is undefined has its default. */
export interface HardenOptions {
  /** Milliseconds for the head of a request; then 408. Default 5,000. */
  readonly headersTimeout?: number | undefined
  /** Milliseconds for a whole request, its body included; then 408. Default 300,000: `limits.bodyTime` ends slow bodies long before. */
  readonly requestTimeout?: number | undefined
  /** Milliseconds that an idle connection is kept for the next request. Default 5,000. */
  readonly keepAliveTimeout?: number | undefined
  /** Milliseconds after which a connection on which nothing moves is ended, a reader that has stopped included. Default 30,000. */
  readonly timeout?: number | undefined
  /** Connections at the same time; more are closed at once. Default: no limit of its own. */
  readonly maxConnections?: number | undefined
}

const DEFAULTS = {
  headersTimeout: 5000,
  requestTimeout: 300_000,
  keepAliveTimeout: 5000,
  timeout: 30_000,
}

const RULES: Rules<HardenOptions> = {
  headersTimeout: wholeFrom(1),
  requestTimeout: wholeFrom(1),
  keepAliveTimeout: wholeFrom(1),
  timeout: wholeFrom(1),
  maxConnections: wholeFrom(1),
}

/** How often Node looks for requests that are over their time, in milliseconds; its own default is 30 s. */
const CHECK = 500

/** How many requests may wait behind another of their connection; one that sends more is ended. */
const MOST_WAITING = 1000

const closing = new WeakSet<Server>()

/**
 * Sets the time-outs of a server and gives Node's own refusals (400, 408, 413, 417, 431) the error
 * body; a method that Node does not know is a 405, like those that a target lacks.
 * `suppress_error_codes` counts where it stands in the first packet of a broken request.
 * @returns the server.
 * @throws TypeError for what is no such server or listens already, an unknown option, and a time that is no whole number from 1.
 */
export function harden<S extends Server>(server: S, options: HardenOptions = {}): S {
  // An app of Express is a function with a listen() of its own, and would take all of this in silence.
  if (!('requestTimeout' in Object(server))) {
    throw new TypeError(
      'harden takes a server of node:http or node:https: harden(createServer(app))',
    )
  }
  if (server.listening) throw new TypeError('harden(server) must come before listen()')
  checkOptions('harden', options, RULES)
  const { maxConnections, ...given } = options
  const times = withDefaults(DEFAULTS, given)
  const check = Math.min(CHECK, Math.ceil(times.headersTimeout / 4))
  // Options of `createServer` that the server keeps. A missing `Host` is refused with the error body: see address.ts.
  Object.assign(server, times, { connectionsCheckingInterval: check, requireHostHeader: false })
  if (maxConnections !== undefined) server.maxConnections = maxConnections

  /** The newest request of each connection: what is written to it must wait for its turn. */
  const newest = new WeakMap<Socket, ServerResponse>()
  /** How many requests of each connection wait for their turn. */
  const waiting = new WeakMap<Socket, number>()
  const wait = (socket: Socket, response: ServerResponse) => {
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > MOST_WAITING) socket.destroy()
    waiting.set(socket, count)
    queued.add(response)
    response.once('socket', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
  }
  const enter = (request: IncomingMessage, response: ServerResponse) => {
    newest.set(request.socket, response)
    // Without a connection yet: pipelined behind others. Of what comes in one packet Node would begin all,
    // and keep as many answers for a client that reads none.
    if (response.socket === null) wait(request.socket, response)
    if (closing.has(server)) response.shouldKeepAlive = false
  }
  server.prependListener('request', enter)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expecting.add(request)
    // Whoever reads the body wants it, a parser of the host server's too.
    request.on('newListener', event => {
      if (event === 'data' || event === 'readable') askForBody(request, response)
    })
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'The only expectation that is met is 100-continue'
    const { head, body } = refusal(
      417,
      { message, type: 'expectation_failed' },
      isSuppressed(request.url ?? ''),
    )
    response.shouldKeepAlive = false
    response.writeHead(head.status, head.headers)
    response.end(body)
  })
  server.on('connect', (request: IncomingMessage, duplex: Duplex) => {
    const socket = duplex as Socket // As below.
    const suppressed = isSuppressed(request.url ?? '')
    const issue: Issue = { message: 'This server is not a proxy', type: 'method_not_allowed' }
    const refused = refusal(405, issue, suppressed, METHODS)
    const before = newest.get(socket)
    if (!before || before.writableFinished) answer(socket, refused)
    else before.once('close', () => answer(socket, refused))
  })
  server.on('clientError', (error: ParserError, duplex: Duplex) => {
    const socket = duplex as Socket // The connection itself: a net.Socket, or a TLSSocket, which is one.
    refuseBroken(error, socket, newest.get(socket))
  })
  return server
}

const METHODS: HeaderList = ['Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']

/** What Node's parser says of a request that it cannot read: the bytes at hand, and where among them it stopped. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }

function refuseBroken(
  error: ParserError,
  socket: Socket,
  response: ServerResponse | undefined,
): void {
  // Where nothing was asked there is nothing to answer: a proxy or a browser that has connected ahead of its
  // first request would take a 408 for the answer to that.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const [firstLine = ''] = error.rawPacket?.toString('latin1').split('\r\n', 1) ?? []
  const broken = brokenRequest(error, isSuppressed(firstLine))
  if (!response || (response.writableFinished && response.req.complete)) {
    answer(socket, broken)
  } else if (response.req.complete) {
    // An earlier request is whole and waits for its answer: this one's comes after it.
    response.once('close', () => answer(socket, broken))
  } else if (response.headersSent) {
    // The broken part belongs to a request that has its answer: a second one would be taken for another's.
    socket.destroy()
  } else {
    takenOver.add(response)
    if (response.socket !== null) answer(socket, broken)
    // Behind the answers that are due before.
    else response.once('socket', () => answer(socket, broken))
  }
}

/** What is wrong with a request, by the code of Node's parser. */
const BROKEN: Readonly<Record<string, readonly [status: number, issue: Issue]>> = {
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
    { message: 'The request came too slowly', type: 'request_too_slow' },
  ],
}

const MALFORMED: Issue = {
  message: 'This is no well-formed HTTP request',
  type: 'malformed_request',
}

function brokenRequest(error: ParserError, suppressed: boolean): Refusal {
  const { code = '' } = error
  if (/^HPE_INVALID_(?:METHOD|CONSTANT)$/.test(code) && REQUEST_LINE.test(brokenLine(error))) {
    const message = 'There is no method of this name here'
    return refusal(405, { message, type: 'method_not_allowed' }, suppressed, METHODS)
  }
  const [status, issue] = BROKEN[code] ?? [400, MALFORMED]
  return refusal(status, issue, suppressed)
}

/** A request line of HTTP/1 (RFC 9112 §3), maybe behind the body of another request. */
const REQUEST_LINE = /^[^ ]*[!#$%&'*+.^_`|~0-9a-z-] [^ ]+ HTTP\/1\.[01]$/i

/** The line in which the parser stopped. */
function brokenLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString('latin1') ?? ''
  const start = text.lastIndexOf('\n', bytesParsed - 1) + 1
  return text.slice(start).split('\r\n', 1)[0] ?? ''
}

function isSuppressed(text: string): boolean {
  return text.includes(SUPPRESS_PARAMETER)
}

interface Refusal {
  readonly head: { readonly status: number; readonly headers: HeaderList }
  readonly body: string
}

function refusal(
  status: number,
  issue: Issue,
  suppressed: boolean,
  more: HeaderList = [],
): Refusal {
  const body = JSON.stringify(errorBody(new HttpError(status, [issue])))
  const headers = [
    ...more,
    'Content-Type',
    'application/json',
    'X-Content-Type-Options',
    'nosniff',
    'Cache-Control',
    'no-store',
    'Content-Length',
    String(Buffer.byteLength(body)),
  ]
  return { head: { status: suppressed ? suppressedStatus(status) : status, headers }, body }
}

/** Writes an answer to a connection that has no request for it, and ends the connection. */
function answer(socket: Socket, { head, body }: Refusal): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const lines = [`HTTP/1.1 ${head.status} ${STATUS_CODES[head.status]}`]
  for (let at = 0; at < head.headers.length; at += 2)
    lines.push(`${head.headers[at]}: ${head.headers[at + 1]}`)
  lines.push(`Date: ${new Date().toUTCString()}`, 'Connection: close', '', body)
  socket.on('error', () => socket.destroy())
  socket.end(lines.join('\r\n'))
  // What still comes in is read and dropped for a moment: closing on it would take the answer away.
  socket.resume()
  setTimeout(() => socket.destroy(), 1000).unref()
}

/** How often a server that ends looks for idle connections, in milliseconds. */
const SWEEP = 50

/**
 * Ends a server in good order: no new connections; running requests get their answers, and those that
 * come on open connections meanwhile get the last ones there; connections that stay idle close.
 * @param time milliseconds after which what is left is cut off. Default 10,000.
 */
export function shutDown(server: Server, time = 10_000): Promise<void> {
  closing.add(server)
  return new Promise((resolve, reject) => {
    const end = (error?: Error) => {
      clearInterval(sweep)
      clearTimeout(cut)
      // Closing what is closed already is no failure.
      if (error && !('code' in error && error.code === 'ERR_SERVER_NOT_RUNNING')) reject(error)
      else resolve()
    }
    // What has come in by then is read first: its connection is not idle.
    const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), SWEEP)
    const cut = setTimeout(() => {
      server.closeAllConnections()
      // Nobody waits for what is no connection of HTTP yet, such as the half of a TLS handshake.
      end()
    }, time)
    // Whoever waits to be let in is let in.
    setImmediate(closeDoor, server, end)
  })
}

/** Takes no new connections. Node's own `close` ends idle ones at once, on which a request may be on its way. */
function closeDoor(server: Server, onEnd: (error?: Error) => void): void {
  const { closeIdleConnections } = server
  server.closeIdleConnections = () => {}
  server.close(onEnd)
  server.closeIdleConnections = closeIdleConnections
}
