// The api of the specification, small: cars with options, models and the relation of the two,
// accounts, photos as plain records; every store in memory.
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import {
  defineApi,
  defineCollection,
  HttpError,
  type Item,
  memoryStore,
  type Store,
} from '../src/index.ts'
import type { Policies } from '../src/model/types/policies.ts'

export const COLORS = ['red', 'blue', 'green', 'black', 'white'] as const

export const Car = z.object({
  immatriculation: z.string().min(1),
  color: z.enum(COLORS),
  model: z.object({ name: z.string(), brand: z.string().optional() }).optional(),
  price: z.number().nonnegative().optional(),
  doors: z.int().min(1).max(9).default(5),
  electric: z.boolean().optional(),
  registered_on: z.iso.date().optional(),
  inspected_at: z.iso.datetime({ offset: true }).nullable().optional(),
  tags: z.array(z.string()).default([]),
  sold_to: z.string().nullable().default(null),
})

export interface ExampleOptions extends Policies {
  /** The time of every store, in milliseconds since 1970. Default: the real one. */
  readonly clock?: () => number
  /** Makes or decorates the store of a collection. */
  readonly storeOf?: (name: string, store: Store) => Store
  /** Serves everything below `/v<number>/`. */
  readonly version?: number
}

/** The api of the tests; nothing in it yet: see {@link seed}. */
export function example({ clock, storeOf, version, ...policies }: ExampleOptions = {}) {
  const store = (name: string) => {
    const made = memoryStore(clock ? { clock } : {})
    return storeOf ? storeOf(name, made) : made
  }
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: store('cars'),
    indexes: ['color'],
    unique: ['immatriculation'],
    search: ['immatriculation', 'model.name'],
    actions: {
      buy: {
        on: 'item',
        input: z.object({ account_id: z.string() }),
        run: async ({ item, input, update }) => {
          if (item.sold_to) throw new HttpError(409, 'The car is sold')
          return update({ sold_to: input.account_id })
        },
      },
      cheapest: {
        on: 'collection',
        method: 'GET',
        run: ({ collection }) => collection().list({ sort: 'price' }).first(),
      },
    },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.string(), name: z.string(), price: z.number().default(0) }),
    store: store('options'),
    parents: { car_id: 'cars' },
  })
  const models = defineCollection({
    name: 'models',
    schema: z.object({ name: z.string(), year: z.int().optional() }),
    store: store('models'),
    id: 'integer',
  })
  const carsModels = defineCollection({
    name: 'cars_models',
    schema: z.object({ car_id: z.string(), model_id: z.int() }),
    store: store('cars_models'),
    relation: { car_id: 'cars', model_id: 'models' },
  })
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ id: z.string(), name: z.string(), email: z.email().optional() }),
    store: store('accounts'),
    putCreates: true,
  })
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({
      comment: z.string().default(''),
      photo_url: z.url().optional(),
      thumb_url: z.url().optional(),
    }),
    store: store('photos'),
  })
  const collections = { cars, options, models, cars_models: carsModels, accounts, photos }
  const api = defineApi({
    ...(policies.formats === undefined && { pages: html }),
    ...policies,
    collections,
    ...(version !== undefined && { version }),
  })
  return { api, cars, options, models, carsModels, accounts, photos }
}

export type Example = ReturnType<typeof example>

/** What a client sends for the car number `at`: colors, prices and doors repeat, each in its own rhythm. */
export function carValues(at: number) {
  return {
    immatriculation: `AA-${String(at).padStart(3, '0')}-ZZ`,
    color: COLORS[at % COLORS.length] ?? 'red',
    // Every seventh car has no model.
    ...(at % 7 !== 6 && {
      model: {
        name: ['Clio', 'Zoé', '208'][at % 3] ?? '',
        brand: at % 3 === 2 ? 'Peugeot' : 'Renault',
      },
    }),
    price: 1000 + 250 * (at % 8),
    doors: at % 2 === 0 ? 5 : 3,
    electric: at % 3 === 1,
    registered_on: `2024-0${1 + (at % 9)}-15`,
    tags: at % 4 === 0 ? ['family', 'sale'] : [`lot-${at % 4}`],
  }
}

/** Creates `count` cars, in order. @returns them as they are stored. */
export async function seed({ api, cars }: Pick<Example, 'api' | 'cars'>, count: number) {
  const made: Item[] = []
  for (let at = 0; at < count; at++) {
    // An item of the schema with its dates is JSON.
    made.push((await api.collection(cars).create(carValues(at))) as unknown as Item)
  }
  return made
}

/** A clock that goes on by `step` milliseconds each time it is read. */
export function steppingClock(start = '2024-03-01T00:00:00.000Z', step = 60_000): () => number {
  let now = Date.parse(start) - step
  return () => {
    now += step
    return now
  }
}
