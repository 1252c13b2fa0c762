// Makes a node:http server listen.
import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import { StartError } from './options.ts'

/**
 * Listens on a port.
 * @returns the address to call, such as `http://127.0.0.1:3000`.
 * @throws StartError
 */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new StartError(explain(error, port, host), { cause: error }))
    })
    server.listen(port, host, resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new StartError('No port to listen on')
  const scheme = server instanceof TlsServer ? 'https' : 'http'
  return `${scheme}://${callable(address.address)}:${address.port}`
}

function explain({ code, message }: NodeJS.ErrnoException, port: number, host: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use; choose another with --port, or --port 0 for any`
    case 'EACCES':
      return `This user may not use port ${port}; choose one from 1024`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; choose another with --host`
    default:
      return `Cannot listen on port ${port} of ${host}: ${message}`
  }
}

/** Prints an address that a client can call: not "any", and IPv6 in brackets. */
function callable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return address.includes(':') ? `[${address}]` : address
}
