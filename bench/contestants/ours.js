// rest-conventions, every convention on; colours are declared as an index.
import { createServer } from 'node:http'
import { z } from 'zod'
import { COLORS, MADE, valuesOf } from '../cars.js'

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
  const { defineCollection, memoryStore } = await import(process.env.BUILD)
  let clock = () => MADE
  const store = memoryStore({ clock: () => clock() })
  const collection = defineCollection({
    name: 'cars',
    schema: Car,
    store,
    id: 'integer',
    indexes: ['color'],
  })
  for (let at = 0; at < cars.length; at++) await store.create(valuesOf(at))
  clock = Date.now
  return createServer(collection.handler).listen(0, '127.0.0.1')
}
