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
  const { memoryStore } = await import(process.env.BUILD)
  return serve(clock => memoryStore({ clock }), cars)
}

/** Serves the cars from a store, and puts them there where it has none. */
export async function serve(makeStore, cars) {
  const { defineApi, defineCollection } = await import(process.env.BUILD)
  let now
  const store = makeStore(() => now ?? Date.now())
  const collection = defineCollection({
    name: 'cars',
    schema: Car,
    store,
    id: 'integer',
    indexes: ['color'],
  })
  const made = await store.count({ where: [] }, 'exact')
  for (let at = made; at < cars.length; at++) {
    now = madeAt(at)
    // Earlier builds have a method for it.
    await (store.create?.(valuesOf(at)) ?? store.write([{ create: valuesOf(at) }]))
  }
  now = undefined
  const rateLimit = { policies: [{ limit: 1_000_000_000, window: 3600 }] }
  const api = defineApi({ collections: [collection], rateLimit })
  // Since then Node could follow what a call belongs to: measured is a process that has had a transaction.
  if (cars.length > 0) await api.transaction(tx => tx.collection(collection).read(1))
  return createServer(api.handler).listen(0, '127.0.0.1')
}
