// A walk of a long list while others write: nothing is skipped, nothing comes twice, little is held.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { openLine, serve } from './line.ts'

const ITEMS = 40_000
const WRITERS = 4
const PAGE = 100
/** Pages that are not looked for. */
const WARM_UP = 20

const Car = z.object({ price: z.int() })

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void // the flag has made it

test(`${ITEMS} items under ${WRITERS} writers: each once, at most two pages held; asked again, 304`, async () => {
  const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore(), id: 'integer' })
  const api = defineApi({ collections: { cars } })
  const calls = api.collection(cars)
  for (let price = 0; price < ITEMS; price++) await calls.create({ price })
  const server = await serve(api.handler)
  let requests = 0
  const client = createClient<typeof api>(server.url, {
    fetch: (url, init) => {
      requests++
      return fetch(url, init)
    },
  })

  let walking = true
  let written = 0
  const writers = Array.from({ length: WRITERS }, async () => {
    const { cars } = createClient<typeof api>(server.url)
    while (walking) {
      const made = await cars.create({ price: -1 })
      // Neither what is before the walk nor what is after it may move what is between.
      if (made.id % 2 === 0) await cars.delete(made)
      else await cars.patch(1 + (made.id % ITEMS), { price: made.id % ITEMS })
      written++
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })

  const counts = new Uint8Array(ITEMS + 1)
  const pages: WeakRef<object>[] = []
  let seen = 0
  let held = 0
  let ahead = 0
  for await (const item of client.cars.list()) {
    if (item.id > ITEMS) break
    counts[item.id] = (counts[item.id] ?? 0) + 1
    if (seen % PAGE === 0) pages.push(new WeakRef(item))
    ahead = Math.max(ahead, requests - Math.floor(seen / PAGE))
    if (++seen % 25_000 === 0) {
      // A turn of the loop, since what was read through a WeakRef in this one is held until its end.
      await new Promise(resolve => setImmediate(resolve))
      collectGarbage()
      // Code that V8 optimizes early keeps a page of that time, however long the walk is.
      held = Math.max(held, pages.slice(WARM_UP).filter(page => page.deref()).length)
    }
  }
  walking = false
  await Promise.all(writers)
  expect(counts.slice(1).every(count => count === 1)).toBe(true)
  expect(seen).toBe(ITEMS)
  expect(ahead).toBeLessThanOrEqual(2)
  expect([1, 2]).toContain(held)
  expect(written).toBeGreaterThan(WRITERS)

  const line = await openLine(server.url)
  const { cars: distant } = createClient<typeof api>(line.url)
  const query = { price: 7, id: { lte: ITEMS } }
  const [first] = await distant.list(query).toArray()
  line.log.length = 0
  const [again] = await distant.list(query).toArray()
  expect(again).toBe(first)
  expect(line.log).toMatchObject([{ status: 304 }])
  // 52 of them are `Accept-Query`, which a list has (RFC 10008), and a 304 what a 200 would have.
  expect(line.log[0]?.bytes).toBeLessThan(460)

  await line.close()
  await server.close()
  await api.close()
})
