// One of the processes of run.ts, which stops as docs/operating.md says.
import { createServer } from 'node:http'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../../src/index.ts'
import { harden, shutDown } from '../../../src/node/index.ts'

const cars = defineCollection({
  name: 'cars',
  id: 'integer',
  schema: z.object({ color: z.string() }),
  store: memoryStore(),
  live: true,
})
const api = defineApi({
  collections: [cars],
  baseUrl: 'https://www.example/api',
  prefix: '/api',
  trustProxy: 1,
  health: true,
})
await api.open()
const server = createServer(api.handler)
harden(server, { keepAliveTimeout: 75_000 })
server.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', async () => {
  await shutDown(server, { drain: 5000, time: 20_000 })
  await api.close()
})
