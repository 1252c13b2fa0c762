// Ends a node:http server without cutting off running requests.
import type { Server, ServerResponse } from 'node:http'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { findServed, type Handler } from '../server/handlers/node-handler.ts'
import { endLive } from '../server/handlers/node-send.ts'

/** How often idle connections are closed, in milliseconds. */
const SWEEP_MS = 50

/** Options of {@link shutDown}. */
export interface ShutDownOptions {
  /** Milliseconds after which what is left is cut off. Default 10,000. */
  readonly time?: number | undefined
  /**
   * Milliseconds for which `/health?ready` is a 503 before the server takes no new connections: longer than a proxy needs
   * to notice. Each connection is closed after its next response. Default 0.
   */
  readonly drain?: number | undefined
  /** `api.handler`, if the server has another listener, such as an Express app. */
  readonly handler?: Handler | undefined
}

/**
 * Ends a server: it takes no new connections, running requests get their responses, and requests that
 * come on open connections meanwhile are the last ones there. Idle connections are closed.
 * @param options or the time only.
 * @example
 * import { createServer } from 'node:http'
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { shutDown } from 'rest-conventions/node'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars }, health: true })
 * const server = createServer(api.handler)
 * process.once('SIGTERM', async () => {
 *   await shutDown(server, { drain: 5000 })
 *   await api.close()
 * })
 */
export async function shutDown(
  server: Server,
  options: ShutDownOptions | number = {},
): Promise<void> {
  const {
    time = 10_000,
    drain = 0,
    handler,
  } = typeof options === 'number' ? { time: options } : options
  const served = findServed(server, handler && [handler])
  if (served) served.lifetime.ends = true
  // A proxy that keeps a connection would send a request on it at the moment when it is closed.
  server.prependListener('request', (_, response: ServerResponse) => {
    response.shouldKeepAlive = false
  })
  if (drain > 0) await wait(drain)
  await close(server, time)
}

function close(server: Server, time: number): Promise<void> {
  endLive(server)
  return new Promise((resolve, reject) => {
    const end = (error?: Error) => {
      clearInterval(sweep)
      clearTimeout(cut)
      // A server that is closed already has ended too.
      if (error && !('code' in error && error.code === 'ERR_SERVER_NOT_RUNNING')) reject(error)
      else resolve()
    }
    // Requests that have arrived by then are read first: their connections are not idle.
    const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), SWEEP_MS)
    const cut = setTimeout(() => {
      server.closeAllConnections()
      // Connections without HTTP yet, such as half a TLS handshake, are not waited for.
      end()
    }, time)
    acceptWaiting(server).then(() => stopListening(server, end), reject)
  })
}

/**
 * Accepts the connections that wait: the end of listening would reset them. Node accepts one in each turn of the event loop, so
 * that none waits after a turn without. In the end it gives up, if new ones come in every turn.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = true
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  await turn()
  for (let turns = 0; accepted && turns < 1000; turns++) {
    accepted = false
    await turn()
  }
  server.off('connection', note)
}

/** Takes no new connections. Node's `close` would end idle ones at once, on which a request may be on its way. */
function stopListening(server: Server, onEnd: (error?: Error) => void): void {
  const { closeIdleConnections } = server
  server.closeIdleConnections = () => {}
  server.close(onEnd)
  server.closeIdleConnections = closeIdleConnections
}
