// A live list as a collection of TanStack DB, whose queries run in the browser: npm install @tanstack/db
// npx tsx examples/tanstack-db.ts
import { createCollection, createLiveQueryCollection } from '@tanstack/db'
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { createClient } from 'rest-conventions/client'
import { watch } from 'rest-conventions/client/live'
import { z } from 'zod'

const cars = defineCollection({
  name: 'cars',
  id: 'integer',
  schema: z.object({ color: z.string(), price: z.int() }),
  store: memoryStore(),
  live: true,
})
const api = defineApi({ collections: { cars } })
// In an app the api is another program, and a client needs no `fetch`.
const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
const client = createClient<typeof api>('https://api.example', { fetch })
type Car = Awaited<ReturnType<typeof client.cars.read>>

const red = createCollection<Car, number>({
  getKey: ({ id }) => id,
  sync: {
    rowUpdateMode: 'full',
    sync({ begin, write, commit, truncate, markReady, markError }) {
      const ending = new AbortController()
      async function follow(): Promise<void> {
        let isOpen = false
        const changes = watch(client, 'cars', { color: 'red' }, { signal: ending.signal })
        for await (const { items, removed, reset, ready } of changes) {
          if (!isOpen) begin()
          // A list that comes anew takes the place of the old one when it is whole.
          if (reset) truncate({ markReady: false })
          for (const value of items) write({ type: 'update', value })
          for (const key of removed) write({ type: 'delete', key: Number(key) })
          isOpen = (isOpen || reset) && !ready
          if (!isOpen) commit()
          if (ready) markReady()
        }
      }
      follow().catch(error => ending.signal.aborted || markError(error))
      return () => ending.abort()
    },
  },
})

const cheapest = createLiveQueryCollection(query =>
  query.from({ car: red }).orderBy(({ car }) => car.price),
)
cheapest.subscribeChanges(() => {
  const prices = cheapest.toArray.map(({ price }) => price)
  console.log(...prices)
  if (prices.join() === '400') process.exit()
})
await cheapest.preload()
await client.cars.create({ color: 'red', price: 900 })
await client.cars.create({ color: 'red', price: 500 })
await client.cars.patch(1, { price: 400 })
await client.cars.patch(2, { color: 'blue' })
