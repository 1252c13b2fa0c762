// The server that hostile requests go to, as a process of its own: it sends its port and the ids of
// its cars; asked anything, it collects its garbage and tells its CPU time in microseconds.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import { harden } from '../../src/node/index.ts'
import { example, seed } from '../fixture.ts'

let failures = 0
const made = example({
  dialects: [simpleRest, jsonServer],
  rateLimit: { policies: [{ limit: 1_000_000_000, window: 3600 }] },
  onError(error) {
    // The first few say enough.
    if (failures++ < 5) console.error(error)
  },
})
const cars = await seed(made, 200)
const server = harden(createServer(made.api.handler))
server.listen(0, '127.0.0.1', () => {
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  process.send?.({ port, ids: cars.map(({ id }) => id) })
})
process.on('message', () => {
  global.gc?.()
  const { user, system } = process.cpuUsage()
  process.send?.({ failures, cpu: user + system })
})
process.on('disconnect', () => process.exit())
