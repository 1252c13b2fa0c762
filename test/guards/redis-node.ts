// One of several servers that share a rate limit in Redis, as a process: the same limit for two apis,
// one that refuses while Redis is down and one that does not, and a third one with logins. Its arguments are the port of
// Redis and the limit.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { z } from 'zod'
import { basic, defineApi, defineCollection, memoryStore, type Policies } from '../../src/index.ts'
import { harden } from '../../src/node/index.ts'

const [, , port, limit] = process.argv

const storeClient = new Redis(Number(port), {
  // What cannot be counted now is not counted later either.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => 20,
})
// Without a listener ioredis prints every attempt to connect.
storeClient.on('error', () => undefined)
await new Promise(resolve => storeClient.once('ready', resolve))

const limiter = new RateLimiterRedis({ storeClient, points: Number(limit), duration: 600 })

async function serve(
  whenDown: 'open' | 'closed',
  policies: Partial<Policies> = {},
): Promise<number> {
  const schema = z.object({ color: z.string() })
  const cars = defineCollection({ name: 'cars', schema, store: memoryStore() })
  const api = defineApi({
    collections: [cars],
    rateLimit: { policies: [{ limiter }], whenDown },
    onError: () => undefined,
    ...policies,
  })
  const server = harden(createServer(api.handler))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

const verify = (id: string, password: string) => (password === 'right' ? { id } : undefined)
process.send?.({
  closed: await serve('closed'),
  open: await serve('open'),
  login: await serve('open', {
    schemes: [basic({ verify })],
    trustProxy: 1,
    // Only logins count here, not the reads that they come with.
    rateLimit: { policies: [{ limiter, on: 'writes' }] },
  }),
})
process.on('disconnect', () => process.exit())
