// Hooks and actions of versions, typed by the collections of each.
import { z } from 'zod'
import { defineApi, defineCollection, defineVersion, type Store } from '../../src/index.ts'

declare const store: Store
const old = defineCollection({
  name: 'cars',
  schema: z.object({ price: z.string() }),
  store,
  actions: { sell: { on: 'item' } },
})
const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.number() }), store })

export const api = defineApi({
  versions: [
    defineVersion({
      version: 1,
      collections: { cars: old },
      hooks: { cars: { before: { create: ({ value }) => ({ price: value.price.trim() }) } } },
      actions: { cars: { sell: ({ item }) => item.price.trim() } },
    }),
    defineVersion({
      version: 2,
      collections: { cars },
      hooks: {
        cars: {
          before: [
            ({ state }) => void Object.assign(state, { began: 1 }),
            { create: ({ value }) => ({ price: value.price.valueOf() }) },
          ],
          after: {
            create: ({ value, input }, result) =>
              void (value.price + input.price + result.price).toFixed(),
            patch: ({ item, value }) => void (item.price - value.price).toFixed(),
            delete: ({ item, id }) => void `${item.price.toFixed()}${id.trim()}`,
          },
        },
      },
    }),
  ],
})
export const price = async (): Promise<number> =>
  (await api.versions.v2.collection('cars').read('1')).price
export const text = async (): Promise<string> =>
  (await api.versions.v1.collection(old).read('1')).price
