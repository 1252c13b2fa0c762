// One of the processes of run.ts: the bank with a limit that Redis counts, a job that empties the outbox, and a stop that
// drains.
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { harden, shutDown } from '../../../src/node/index.ts'
import { openBank, type Places } from './bank.ts'

const places: Places = JSON.parse(process.env.PLACES ?? '')
const storeClient = new Redis(places.redis, {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => 100,
})
// Without a listener ioredis prints every attempt to connect.
storeClient.on('error', () => undefined)
const limiter = new RateLimiterRedis({ storeClient, points: 100, duration: 1 })
const { api, outbox, sent, close } = openBank(places, { policies: [{ limiter }] })

const server = createServer(api.handler)
harden(server, { keepAliveTimeout: 75_000 })
server.listen(Number(process.env.PORT), '127.0.0.1')

let ends = false
async function send(): Promise<void> {
  const system = api.asSystem()
  while (!ends) {
    try {
      for await (const mail of system.collection(outbox).take({ lease: 5, limit: 100 })) {
        await system.transaction(async tx => {
          await tx.collection(sent).create({ mark: mail.mark })
          await tx.collection(outbox).delete(mail)
        })
      }
    } catch {
      // The lease ends, and another process takes it.
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
const sending = send()
process.once('SIGTERM', async () => {
  await shutDown(server, { drain: 3000, time: 10_000 })
  ends = true
  await sending
  await close()
  storeClient.disconnect()
})
