// Makes a node:http server safe on a network: time-outs, and error bodies where Node would end a
// connection with a bare status line or none.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { noteArrival } from '../base/turns.ts'
import type { Issue } from '../errors.ts'
import { checkOptions, rulesFor, wholeFrom, withDefaults } from '../options.ts'
import { findServed, queued } from '../server/handlers/node-handler.ts'
import { askForBody, expecting, takenOver } from '../server/handlers/node-send.ts'
import {
  ALLOW_ALL,
  buildRawResponse,
  type ParserError,
  type RawResponse,
  toRawResponse,
  writeRawResponse,
} from './raw-response.ts'

const DEFAULTS = {
  /** Milliseconds for the head of a request; then 408. Default 5,000. */
  headersTimeout: 5000,
  /** Milliseconds for a whole request with its body; then 408. Default 300,000; `limits.bodyTime` ends slow bodies long before. */
  requestTimeout: 300_000,
  /** Milliseconds that an idle connection is kept for the next request. Default 5,000. */
  keepAliveTimeout: 5000,
  /** Milliseconds after which a connection without traffic is ended, also where a client stops reading. Default 30,000. */
  timeout: 30_000,
}

/** The time-outs of `harden`, in milliseconds, and the number of connections. */
export type HardenOptions = {
  readonly [Name in keyof typeof DEFAULTS]?: number | undefined
} & {
  /** Connections at the same time; more are closed at once. Default: no limit. */
  readonly maxConnections?: number | undefined
}

const RULES = {
  ...rulesFor(Object.keys(DEFAULTS), wholeFrom(1, 'milliseconds')),
  maxConnections: wholeFrom(1),
}

/** How often Node looks for requests that time out; its own default is 30 s. */
const CHECK_MS = 500

/** How many requests may wait behind another of their connection; a connection with more is ended. */
const MAX_WAITING = 1000

/**
 * Sets the time-outs of a server, and gives Node's own error responses (400, 408, 413, 417, 431) the
 * error body. A method that Node does not know is answered 405. `suppress_error_codes` counts where it
 * stands in the first packet of a broken request.
 * @returns the server.
 * @throws TypeError for anything but a server of node:http or node:https, for one that listens already,
 * for an unknown option, and for a time that is no whole number from 1.
 * @example
 * import { createServer } from 'node:http'
 * import { harden } from 'rest-conventions/node'
 * const server = harden(createServer((_request, response) => response.end()), { maxConnections: 1000 })
 */
export function harden<S extends Server>(server: S, options: HardenOptions = {}): S {
  // An Express app has a listen() too, and would ignore all of this.
  if (!('requestTimeout' in Object(server))) {
    throw new TypeError(
      'harden takes a server of node:http or node:https: harden(createServer(app))',
    )
  }
  if (server.listening) throw new TypeError('harden(server) must come before listen()')
  checkOptions('harden', options, RULES)
  const settings = withDefaults(DEFAULTS, options)
  const check = Math.min(CHECK_MS, Math.ceil(settings.headersTimeout / 4))
  // Options of `createServer` that the server keeps. A missing `Host` gets the error body: see base-url.ts.
  Object.assign(server, settings, {
    connectionsCheckingInterval: check,
    requireHostHeader: false,
    // Node would end every connection that its client has closed by half.
    httpAllowHalfOpen: true,
  })

  /** The response to the newest request of each connection. */
  const newest = new WeakMap<Socket, ServerResponse>()
  /** How many requests of each connection wait for earlier ones. */
  const waiting = new WeakMap<Socket, number>()
  const wait = (socket: Socket, response: ServerResponse) => {
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > MAX_WAITING) socket.destroy()
    waiting.set(socket, count)
    queued.add(response)
    response.once('socket', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
  }
  const enter = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (!newest.has(socket)) {
      socket.once('end', () => {
        if (looksGone(newest.get(socket), waiting.get(socket))) socket.end()
      })
    }
    newest.set(socket, response)
    // Without a socket it is pipelined behind others. Node would begin all of them at once, and keep
    // as many responses for a client that reads none.
    if (response.socket === null) wait(socket, response)
  }
  server.prependListener('request', enter)
  server.on('connection', noteArrival)
  limitHandshakes(server, settings.headersTimeout)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expecting.add(request)
    // The host server's own parser may read the body too.
    request.on('newListener', event => {
      if (event === 'data' || event === 'readable') askForBody(request, response)
    })
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'The only supported expectation is 100-continue'
    const issue: Issue = { message, type: 'expectation_failed' }
    const { status, headers, body } = buildRawResponse(
      417,
      issue,
      request.url ?? '',
      [],
      findServed(server)?.api.dialects,
    )
    response.shouldKeepAlive = false
    response.writeHead(status, headers)
    response.end(body)
  })
  server.on('connect', (request: IncomingMessage, duplex: Duplex) => {
    const socket = toSocket(duplex)
    const issue: Issue = { message: 'This server is not a proxy', type: 'method_not_allowed' }
    const bare = buildRawResponse(
      405,
      issue,
      request.url ?? '',
      ALLOW_ALL,
      findServed(server)?.api.dialects,
    )
    writeAfter(newest.get(socket), socket, bare)
  })
  server.on('clientError', (error: ParserError, duplex: Duplex) => {
    const socket = toSocket(duplex)
    respondToBroken(toRawResponse(error, findServed(server)), error, socket, newest.get(socket))
  })
  return server
}

function toSocket(duplex: Duplex): Socket {
  return duplex as Socket // a net.Socket or TLSSocket, as Node documents
}

/**
 * Whether a client that has closed its half of a connection looks like a browser that left: until something is
 * written, nobody can tell. One that wants the connection closed has said all (`nc -N`, health checks), a write is
 * done anyway, and no browser sends requests before it has the answers to others.
 */
function looksGone(response: ServerResponse | undefined, waiting = 0): boolean {
  if (!response || waiting > 0) return false
  const { method, httpVersion, headers } = response.req
  const keepsOpen = httpVersion === '1.1' && !/\bclose\b/i.test(headers.connection ?? '')
  return keepsOpen && (method === 'GET' || method === 'HEAD')
}

/** Ends connections whose TLS handshake takes longer than the head of a request may; Node waits 120 s. */
function limitHandshakes(server: Server, time: number): void {
  if (!('setSecureContext' in server)) return
  const pending = new Map<string, NodeJS.Timeout>()
  const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket)
    const timer = setTimeout(() => socket.destroy(), time)
    pending.set(address, timer)
    socket.once('close', () => {
      clearTimeout(timer)
      // Another connection may have the same address by then.
      if (pending.get(address) === timer) pending.delete(address)
    })
  })
  server.on('secureConnection', (socket: Socket) => clearTimeout(pending.get(addressOf(socket))))
}

function respondToBroken(
  broken: RawResponse,
  error: ParserError,
  socket: Socket,
  response: ServerResponse | undefined,
): void {
  // A proxy or browser that connects ahead of its first request would take a 408 for its response.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  if (!response || response.req.complete) writeAfter(response, socket, broken)
  else if (response.headersSent) {
    // The broken request has its response: a second one would be taken for that of another request.
    socket.destroy()
  } else {
    takenOver.add(response)
    if (response.socket !== null) writeRawResponse(socket, broken)
    else response.once('socket', () => writeRawResponse(socket, broken))
  }
}

/** Writes a response after the one to an earlier request, which may still wait for it. */
function writeAfter(before: ServerResponse | undefined, socket: Socket, raw: RawResponse): void {
  if (!before || before.writableFinished) writeRawResponse(socket, raw)
  else before.once('close', () => writeRawResponse(socket, raw))
}
