// Requests as bytes over a real socket, and what comes back: nothing between a test and the server.
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type HardenOptions, harden } from '../../src/node/index.ts'

export interface Served {
  readonly server: Server
  readonly port: number
  readonly host: string
  close(): Promise<void>
}

/** A hardened server on a free port. */
export async function serve(listener: RequestListener, options?: HardenOptions): Promise<Served> {
  const server = harden(createServer(listener), options)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    server,
    port,
    host: `127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface Answer {
  readonly status: number
  /** Names in lower case; of a repeated field all values, joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Reply {
  readonly answers: readonly Answer[]
  /** What the connection gave besides whole answers. */
  readonly rest: string
  /** Whether the server has ended the connection. */
  readonly ended: boolean
}

/**
 * Sends bytes and reads until the connection ends, or until `enough` says so.
 * @param heads whether the requests were HEAD: then no body follows, whatever the headers say.
 * @throws where nothing of that happens within `patience` milliseconds.
 */
export function converse(
  port: number,
  send: readonly (string | Uint8Array)[] | ((socket: Socket) => void),
  {
    enough = () => false,
    patience = 240_000,
    heads = false,
  }: { enough?: (answers: readonly Answer[]) => boolean; patience?: number; heads?: boolean } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const done = (ended: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...readAnswers(text, heads), ended })
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(
        new Error(`No end after ${patience} ms; so far: ${JSON.stringify(text.slice(0, 300))}`),
      )
    }, patience)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      if (enough(readAnswers(text, heads).answers)) done(false)
    })
    socket.on('end', () => done(true))
    socket.on('close', () => done(true))
    // A reset ends the connection too; what was read before it counts.
    socket.on('error', () => done(true))
    socket.on('connect', () => {
      if (typeof send === 'function') send(socket)
      else
        for (const bytes of send)
          socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    })
  })
}

function readAnswers(text: string, heads: boolean): { answers: Answer[]; rest: string } {
  const answers: Answer[] = []
  let rest = text
  while (true) {
    const end = rest.indexOf('\r\n\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(rest)?.[1])
    if (end === -1 || Number.isNaN(status)) return { answers, rest }
    const headers = readHeaders(rest.slice(0, end))
    const after = rest.slice(end + 4)
    if (status === 100) {
      rest = after
      continue
    }
    const bodiless = heads || status === 204 || status === 304
    const body = bodiless ? { text: '', length: 0 } : readBody(after, headers)
    if (!body) return { answers, rest }
    answers.push({ status, headers, body: Buffer.from(body.text, 'latin1').toString() })
    rest = after.slice(body.length)
  }
}

function readHeaders(head: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}

function readBody(
  text: string,
  headers: Readonly<Record<string, string>>,
): { text: string; length: number } | undefined {
  if (headers['transfer-encoding'] !== 'chunked') {
    const length = Number(headers['content-length'] ?? 0)
    return text.length < length ? undefined : { text: text.slice(0, length), length }
  }
  let body = ''
  let at = 0
  while (true) {
    const line = text.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    const start = line + 2
    if (text.length < start + size + 2) return undefined
    body += text.slice(start, start + size)
    at = start + size + 2
    if (size === 0) return { text: body, length: at }
  }
}

export interface WireRequest {
  readonly method?: string
  readonly target: string
  /** Lines as they are written; `Host` and `Connection: close` are added where they are not there. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Uint8Array
}

/** A request as bytes: its text as latin1, its body as it is. */
export function print(
  host: string,
  { method = 'GET', target, headers = [], body }: WireRequest,
): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const lines = [`${method} ${target} HTTP/1.1`]
  if (!names.has('host')) lines.push(`Host: ${host}`)
  if (!names.has('connection')) lines.push('Connection: close')
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  if (bytes && !names.has('content-length') && !names.has('transfer-encoding'))
    lines.push(`Content-Length: ${bytes.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return bytes ? Buffer.concat([head, bytes]) : head
}
