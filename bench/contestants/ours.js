// rest-conventions, every convention on, each request counted; colours are declared as an index.
import { createServer } from 'node:http'
import { z } from 'zod'
import { COLORS, madeAt, valuesOf } from '../cars.js'

export const name = 'rest-conventions'

const Car = z.object({
  immatriculation: z.string().min(1),
  color: z.enum(COLORS),
  model: z.object({ name: z.string(), brand: z.string() }),
  price: z.number(),
  mileage: z.int(),
  sold: z.boolean(),
})

export async function start(cars) {
  const { defineApi, defineCollection, memoryStore } = await import(process.env.BUILD)
  let now
  const store = memoryStore({ clock: () => now ?? Date.now() })
  const collection = defineCollection({
    name: 'cars',
    schema: Car,
    store,
    id: 'integer',
    indexes: ['color'],
  })
  for (let at = 0; at < cars.length; at++) {
    now = madeAt(at)
    await store.create(valuesOf(at))
  }
  now = undefined
  const rateLimit = { policies: [{ limit: 1_000_000_000, window: 3600 }] }
  return createServer(defineApi({ collections: [collection], rateLimit }).handler).listen(
    0,
    '127.0.0.1',
  )
}
