// A line between a client and its server that loses, repeats and refuses: a proxy over real sockets.
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
} from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** Parts of 1 of all requests. */
export interface Faults {
  /** Answers that are dropped after the work was done. */
  readonly drop?: number
  /** Requests that are sent to the server twice, at once. */
  readonly repeat?: number
  /** Requests that are answered 429, and 503, instead. */
  readonly refuse?: number
}

export interface Passed {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly requestHeaders: IncomingHttpHeaders
  /** How many bytes the answer had, its head included; but for what is of the connection alone. */
  readonly bytes: number
}

/**
 * `drop`: its answer is lost after the work was done; `lose`: it never arrives; `hang`: it is never answered;
 * a status with headers is answered instead.
 */
export type Fault =
  | 'pass'
  | 'drop'
  | 'lose'
  | 'hang'
  | readonly [status: number, headers?: OutgoingHttpHeaders]

export interface Line {
  readonly url: string
  /** What happened, by kind. */
  readonly counts: Record<'requests' | 'dropped' | 'repeated' | 'refused', number>
  /** The answers that passed, in order. */
  readonly log: Passed[]
  /** What becomes of the next requests, one by one; then of all as before. */
  next(...faults: readonly Fault[]): void
  /** Loses as many answers of requests that write. */
  dropWrites(count: number): void
  close(): Promise<void>
}

/** Numbers from 0 to 1, the same for the same seed (Mulberry32). */
export function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

export async function serve(
  handler: RequestListener,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${portOf(server)}`, close: () => closed(server) }

  async function closed(each: typeof server): Promise<void> {
    each.closeAllConnections()
    await new Promise(resolve => each.close(resolve))
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port // It listens on a port.
}

/** Opens a line to a server. */
export async function openLine(target: string, faults: Faults = {}, seed = 1): Promise<Line> {
  const { drop = 0, repeat = 0, refuse = 0 } = faults
  const random = seeded(seed)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const counts = { requests: 0, dropped: 0, repeated: 0, refused: 0 }
  const log: Passed[] = []
  const script: Fault[] = []
  let writesToDrop = 0

  const forward = (incoming: IncomingMessage, body: Buffer) =>
    new Promise<{ answer: IncomingMessage; text: Buffer }>((resolve, reject) => {
      const { method, headers, url } = incoming
      const sent = request(`${target}${url}`, { method, headers, agent }, answer => {
        buffer(answer).then(text => resolve({ answer, text }), reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })

  const line = await serve(async (incoming, outgoing) => {
    counts.requests++
    const [one, two, three] = [random(), random(), random()]
    try {
      const body = await buffer(incoming)
      // What a browser asks first is no request of a client.
      const isPreflight = 'access-control-request-method' in incoming.headers
      const fault = (!isPreflight && script.shift()) || 'pass'
      if (fault === 'hang') return
      if (fault === 'lose') return void incoming.socket.destroy()
      if (typeof fault === 'object') return void outgoing.writeHead(...fault).end()
      if (one < refuse) {
        counts.refused++
        outgoing.writeHead(two < 0.5 ? 429 : 503, two < 0.05 ? { 'retry-after': '1' } : {})
        return void outgoing.end()
      }
      const twice = two < repeat
      if (twice) counts.repeated++
      const [first] = await Promise.all([forward(incoming, body), twice && forward(incoming, body)])
      const writes = !/^(?:GET|HEAD|OPTIONS)$/.test(incoming.method ?? '')
      if (three < drop || fault === 'drop' || (writes && writesToDrop-- > 0)) {
        counts.dropped++
        return void incoming.socket.destroy()
      }
      const { answer, text } = first
      const { method = '', url = '', headers: requestHeaders } = incoming
      const { statusCode: status = 502, rawHeaders } = answer
      const bytes = countBytes(answer) + text.length
      log.push({ method, url, status, requestHeaders, bytes })
      outgoing.writeHead(status, rawHeaders)
      outgoing.end(text)
    } catch {
      incoming.socket.destroy()
    }
  })
  return {
    url: line.url,
    counts,
    log,
    next: (...faults) => void script.push(...faults),
    dropWrites: count => {
      writesToDrop = count
    },
    close: async () => {
      await line.close()
      agent.destroy()
    },
  }
}

/** Counts the bytes of a head on the wire, without those headers that a proxy does not pass on. */
function countBytes({ statusCode, statusMessage, headersDistinct }: IncomingMessage): number {
  const lines = Object.entries(headersDistinct)
    .filter(([name]) => name !== 'connection' && name !== 'keep-alive')
    .flatMap(([name, values = []]) => values.map(value => `${name}: ${value}`))
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n').length
}
