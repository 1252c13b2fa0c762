// What clients lose on a bad line: 20 % of answers are lost after the work was done, 5 % of requests come
// twice, 5 % are answered 429 or 503.
//   npx tsx bench/lossy.ts [--writes=1000] [--clients=16]
// Ours against clients of others, each with the server that belongs to it, in memory.
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { batch } from '../src/client/batch.ts'
import { createClient } from '../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { openLine, serve } from '../test/client/line.ts'
import { prepare } from './processes.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    writes: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '16' },
  },
})
const writes = Number(options.writes)
const clients = Number(options.clients)
const FAULTS = { drop: 0.2, repeat: 0.05, refuse: 0.05 }
const RETRIES = 15

/** What batches have left: their items, those that lack a part, and what all of them have counted. */
interface Batched {
  readonly items: number
  readonly half: number
  readonly counted: number
}

interface Server {
  readonly url: string
  /** The id of the item that counts, where the server has items. */
  readonly counter?: number
  found(): Promise<{ names: readonly string[]; counter: number; batched?: Batched }>
  close(): unknown
}
interface Peer {
  start(): Promise<Server>
  connect(
    url: string,
    counter: number,
  ): {
    create(name: string): Promise<unknown>
    raise(): Promise<unknown>
    /** Does three writes as one; absent where a client has no such call. */
    batch?(name: string): Promise<unknown>
  }
}

const Car = z.object({ name: z.string(), price: z.int() })

function defineOurs() {
  const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore(), id: 'integer' })
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const lines = defineCollection({
    name: 'lines',
    schema: z.object({ order_id: z.string(), count: z.int() }),
    store: memoryStore(),
    references: { order_id: { collection: 'orders', onDelete: 'cascade' } },
  })
  return defineApi({ collections: { cars, orders, lines }, batch: true })
}
type Ours = ReturnType<typeof defineOurs>

async function startOurs(): Promise<Server> {
  const api = defineOurs()
  const server = await serve(api.handler)
  const direct = createClient<Ours>(server.url)
  const all = { max: 100_000 }
  const { id } = await direct.cars.create({ name: 'counter', price: 0 })
  return {
    url: server.url,
    counter: id,
    async found() {
      const items = await direct.cars.list({ name: { ne: 'counter' } }).toArray(all)
      const orders = await api.collection('orders').list().toArray(all)
      const lines = await api.collection('lines').list().toArray(all)
      const half = orders.filter(
        order => lines.filter(line => line.order_id === order.id).length !== 2,
      )
      const counted = lines.reduce((sum, { count }) => sum + count, 0)
      return {
        names: items.map(({ name }) => name),
        counter: (await direct.cars.read(id)).price,
        batched: { items: orders.length, half: half.length, counted },
      }
    },
    close: () => server.close(),
  }
}

const ours: Peer = {
  start: startOurs,
  connect(url, counter) {
    const client = createClient<Ours>(url, { retries: RETRIES })
    const { cars } = client
    return {
      batch: name =>
        batch(client, steps => {
          const order = steps.orders.create({ name })
          steps.lines.create({ order_id: order.id, count: 1 })
          steps.lines.create({ order_id: order.id, count: 1 })
          return [order]
        }),
      create: name => cars.create({ name, price: 0 }),
      raise: () => cars.change(counter, ({ price }) => ({ price: price + 1 })),
    }
  },
}

/** Has all clients do some work together; gives how often it failed. */
async function run(work: (at: number) => readonly (() => Promise<unknown>)[]): Promise<number> {
  let next = 0
  let failed = 0
  const one = async (call: () => Promise<unknown>) => {
    try {
      await call()
    } catch {
      failed++
    }
  }
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let at = next++; at < writes; at = next++) {
        const call = work(at)[client]
        if (call) await one(call)
      }
    }),
  )
  return failed
}

function printBatches(failed: number, batched: Batched | undefined): string[] {
  if (!batched) return ['', '']
  return [`${failed}`, `${batched.items}, ${batched.half}, ${batched.counted}`]
}

prepare()
const file = './lossy-peers.js'
const { peers } = await import(file)
const contestants: Record<string, Peer> = {
  'rest-conventions/client': ours,
  ...peers(RETRIES, startOurs),
}
const rows: string[][] = []
for (const [name, peer] of Object.entries(contestants)) {
  const server = await peer.start()
  const line = await openLine(server.url, FAULTS)
  const connected = Array.from({ length: clients }, () =>
    peer.connect(line.url, server.counter ?? 0),
  )
  const uncreated = await run(at => connected.map(each => () => each.create(`${at}`)))
  const unraised = await run(() => connected.map(each => () => each.raise()))
  const batches = await run(at => connected.map(each => async () => each.batch?.(`${at}`)))
  const { names, counter, batched } = await server.found()
  const doubled = names.length - new Set(names).size
  rows.push([
    name,
    `${uncreated}`,
    `${names.length}`,
    `${doubled}`,
    `${unraised}`,
    `${counter}`,
    ...printBatches(batches, connected[0]?.batch && batched),
  ])
  await line.close()
  await server.close()
  process.stderr.write('.')
}
process.stderr.write('\n')
printTable(
  `${writes} creates and ${writes} steps of a counter by ${clients} clients, over a line that loses a fifth of the answers`,
  [
    'client',
    'creates that failed',
    'items there are',
    'of them twice',
    'steps that failed',
    'counter',
    'batches that failed',
    'batches there are, half ones, lines',
  ],
  rows,
)
printSetting(`up to ${RETRIES} retries`, ['hono', 'openapi-fetch', '@orpc/client'])
process.exit()
