// Ends a node:http server without cutting off running requests.
import type { Server } from 'node:http'

/** Servers that end: their connections are not kept for another request. */
export const closing = new WeakSet<Server>()

/** How often idle connections are closed, in milliseconds. */
const SWEEP_MS = 50

/**
 * Ends a server: it takes no new connections, running requests get their responses, and requests that
 * come on open connections meanwhile are the last ones there. Idle connections are closed.
 * @param time milliseconds after which what is left is cut off. Default 10,000.
 */
export function shutDown(server: Server, time = 10_000): Promise<void> {
  closing.add(server)
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
    // Connections that wait to be accepted are accepted first.
    setImmediate(stopListening, server, end)
  })
}

/** Takes no new connections. Node's `close` would end idle ones at once, on which a request may be on its way. */
function stopListening(server: Server, onEnd: (error?: Error) => void): void {
  const { closeIdleConnections } = server
  server.closeIdleConnections = () => {}
  server.close(onEnd)
  server.closeIdleConnections = closeIdleConnections
}
