// The api of the tasks: what the programs of ours share. It is declared once, and no task adds to it.
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from 'rest-conventions'
import { z } from 'zod'

const models = defineCollection({
  name: 'models',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
  id: 'integer',
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    color: z.enum(['red', 'blue']),
    price: z.int(),
    model_id: z.int(),
    buyer: z.string().nullable().default(null),
  }),
  store: memoryStore(),
  id: 'integer',
  references: { model_id: 'models' },
  groups: ['color'],
  live: true,
  actions: {
    buy: {
      on: 'item',
      input: z.object({ buyer: z.string() }),
      output: 'item',
      run: ({ input, update }) => update({ buyer: input.buyer }),
    },
  },
})
const photos = defineCollection({
  name: 'photos',
  schema: z.object({ comment: z.string(), photo: blob() }),
  store: memoryStore(),
  blobs: memoryBlobs(),
  id: 'integer',
})
export const api = defineApi({ collections: { models, cars, photos }, batch: true })
