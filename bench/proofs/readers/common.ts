// What the readers share: where their packages are, the example, and how a result is told.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { carsApi } from '../../../examples/cars-api.ts'
import { memoryBlobs, memoryStore } from '../../../src/index.ts'

const { resolve } = createRequire(import.meta.filename)

export const MODULES = join(import.meta.dirname, 'node_modules')

/** Loads a package of theirs, of which no types are known here. */
export function load<Module>(name: string): Promise<Module> {
  return import(pathToFileURL(resolve(name)).href)
}

export const openExample = () => carsApi(() => memoryStore(), memoryBlobs()).api

/** Starts a server. @returns its address, and what stops it. */
export async function listen(handler: RequestListener) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A listening TCP server has an address with a port.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, stop }
}

/** Tells what a reader found wrong. */
export function report(title: string, complaints: readonly string[], more = ''): void {
  console.log(`${title}: ${complaints.length === 0 ? 'as expected' : 'NOT as expected'}${more}`)
  for (const complaint of complaints) console.log(`  ${complaint}`)
  if (complaints.length > 0) process.exitCode = 1
}
