// All features of the types, without an annotation.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { type BlobStore, blob, defineApi, defineCollection, type Store } from '../../src/index.ts'
import type { Selecting } from '../../src/model/types/list-query.ts'
import type { ListParameterName } from '../../src/query/list-parameters.ts'

declare const store: Store

type Same<A, B> = [A, B] extends [B, A] ? true : false
/** A program may name all parameters of lists that are declared, and no other. */
export const sameNames: Same<
  keyof Selecting<unknown> | 'fields' | 'include',
  ListParameterName | 'where'
> = true

const Car = z.object({
  plate: z.string(),
  color: z.enum(['red', 'blue']).default('red'),
  price: z.number(),
  sold: z.boolean().default(false),
  owner_id: z.string().nullable().default(null),
  secret: z.string(),
  model: z.object({
    name: z.string(),
    maker: z.object({ name: z.string(), country: z.string().optional() }),
  }),
  tags: z.array(z.string()),
  note: z.string().optional(),
})
export const cars = defineCollection({
  name: 'cars',
  schema: Car,
  store,
  id: 'integer',
  search: ['plate', 'model.name'],
  sort: ['-created_at', 'model.maker.name'],
  indexes: ['color', ['price', 'model.name']],
  unique: ['plate'],
  fields: {
    sold: { readOnly: ({ principal }) => principal === undefined },
    secret: 'writeOnly',
    plate: 'immutable',
  },
  access: { list: 'public', buy: ['cars:write'] },
  visible: principal => principal && { owner_id: principal.id, price: { gte: 0 } },
  hooks: {
    before: {
      create({ value, principal }) {
        if (value.price < 0) throw new Error(principal?.id)
        return { ...value, note: value.plate.trim() }
      },
      async patch({ input, item, id, collection }) {
        const n: number = id
        const p: number = item.price
        await collection().change(n, car => ({ price: car.price + (input.price ?? 0) + p }))
      },
      delete({ item }) {
        item.secret.trim()
      },
    },
    after: {
      async create({ transaction }, result) {
        await transaction(async tx => tx.collection().patch(result.id, { color: 'blue' }))
      },
    },
  },
  actions: {
    buy: {
      on: 'item',
      input: z.object({ offer: z.number().default(1) }),
      output: 'item',
      async run({ input, item, update }) {
        if (input.offer < item.price) throw new Error(item.plate)
        return update({ color: 'blue' })
      },
    },
    average: {
      on: 'collection',
      method: 'GET',
      output: z.object({ price: z.number() }),
      async run({ collection }) {
        let s = 0
        for await (const car of collection().list()) s += car.price
        return { price: s }
      },
    },
    stats: {
      on: 'collection',
      output: z.object({ n: z.number() }),
      input: z.object({ city: z.string() }),
      run: ({ input }) => ({ n: input.city.length }),
    },
  },
})
const Option = z.object({ car_id: z.int(), name: z.string() })
export const options = defineCollection({
  name: 'options',
  schema: Option,
  store,
  parents: { car_id: 'cars' },
  hooks: {
    before: {
      async create({ input, collection }) {
        const car = await collection(cars).read(input.car_id)
        if (car.sold) throw new Error(car.plate)
      },
    },
  },
})
export const api = defineApi({ collections: { cars: cars, options: options } })
export async function inProcess() {
  const r = api.collection(cars)
  const byName = api.collection('cars')
  for await (const car of r.list({
    color: ['red'],
    price: { gte: 10 },
    model: { maker: { name: { prefix: 'R' } } },
    tags: 'x',
    sort: '-created_at',
    fields: ['id', 'model.name'],
  }))
    await r.patch(car, { price: 1, model: { maker: { country: null } }, note: null })
  const b = await byName.actions.buy(1, { offer: 2 })
  const c = await byName.buy(1, { offer: 2 })
  const first = await api.collection('options').list({ car_id: 1 }).first()
  await api.transaction(async tx => {
    await tx.collection(cars).change(1, car => ({ price: car.price + 1 }))
    await tx.collection('options').create({ car_id: 1, name: '' })
  })
  return [
    b.price,
    c.id.toFixed(),
    first?.id.trim(),
    (await r.list({ fields: ['price', 'model.maker.name'] }).toArray()).map(
      ({ price, model }) => model.maker.name + price.toFixed(),
    ),
    (await r.list({ since: new Date(0), fields: ['id'] }).first())?.id.toFixed(),
    (await r.list({ sort: ['price', '-model.maker.name'] }).page()).items[0]?.model.maker.country,
  ]
}
export async function overHttp() {
  const client = createClient<typeof api>('https://example.org', {
    methods: { cars: { average: 'GET' } },
  })
  for await (const car of client.cars.list({ color: 'red', price: { gte: 10 } }))
    await client.cars.patch(car, { color: 'blue' })
  const { price } = await client.cars.average()
  const { n } = await client.cars.stats({ city: '' })
  return [
    price,
    n,
    (await client.options.create({ car_id: 1, name: 'x' })).id.trim(),
    (await client.cars.buy(5, {})).plate,
  ]
}
declare const blobs: BlobStore
const Shot = z.object({
  title: z.string(),
  photo: blob(),
  cover: blob().nullable(),
  more: blob().optional(),
})
export const flat = defineCollection({
  name: 'flat',
  schema: Shot,
  store,
  blobs,
  search: ['title'],
})
export const nested = defineCollection({
  name: 'nested',
  schema: Shot,
  store,
  blobs,
  binary: 'object',
  operations: ['list', 'read', 'count', 'create'],
})
export const shots = defineApi({ collections: { flat, nested } })
export async function files() {
  const client = createClient<typeof shots>('https://example.org')
  const made = await client.flat.create({ title: 'x', photo: new Blob([]), cover: null })
  const kept = await client.flat.replace(made, {
    title: made.title,
    photo: { url: made.photo_url },
    cover: made.cover_url === null ? null : { url: made.cover_url },
  })
  const { photo, cover, more, id } = await client.nested.read('x')
  const [found] = await client.flat.search('x', { fields: ['photo_data', 'cover_url'] }).toArray()
  // In process undeclared operations stay.
  await shots.collection(nested).delete(id)
  return [
    kept.more_url?.length,
    photo.url + photo.updated_at,
    cover?.data?.length,
    more?.url,
    (found?.photo_data ?? '') + (found?.cover_url ?? ''),
    (await shots.collection(flat).read('x')).photo.size.toFixed(),
  ]
}
const old = defineCollection({ name: 'cars', schema: Option, store })
export const versioned = defineApi({
  versions: [
    { version: 1, collections: { cars: old }, deprecated: new Date() },
    { version: 2, collections: { cars: cars, options: options } },
  ],
})
export const v2 = createClient<(typeof versioned)['versions']['v2']>('https://example.org/v2', {
  methods: { cars: { average: 'GET' } },
}).cars.read(1)
export const v1 = createClient<typeof versioned, 1>('https://example.org', {
  version: 1,
}).cars.read('x')
