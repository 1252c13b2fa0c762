// What programs and clients may include, and the types of what they get. The type checker checks it; nothing runs.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const store = memoryStore()
const makers = defineCollection({
  name: 'makers',
  id: 'integer',
  schema: z.object({ name: z.string(), country: z.string() }),
  store,
})
const models = defineCollection({
  name: 'models',
  id: 'integer',
  schema: z.object({ name: z.string(), maker_id: z.int() }),
  store,
  parents: { maker_id: { collection: 'makers', onDelete: 'cascade' } },
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({ color: z.string(), model_id: z.int(), seller_id: z.int().nullable() }),
  store,
  parents: { model_id: 'models' },
  references: { seller_id: { collection: 'makers', as: 'dealer' } },
  search: ['color'],
})
const options = defineCollection({
  name: 'options',
  schema: z.object({ carId: z.string(), label: z.string(), price: z.number() }),
  store,
  parents: { carId: 'cars' },
})
const api = defineApi({ collections: { makers, models, cars, options } })
const client = createClient<typeof api>('https://api.example')

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const isTrue = <T extends true>(..._given: readonly T[]) => undefined

export const uses = [
  async () => {
    for (const resource of [api.collection('cars'), api.collection(cars), client.cars] as const) {
      void resource
    }
    const [car] = await client.cars
      .list({ include: ['model.maker', 'options(5)', 'dealer'] })
      .toArray()
    if (!car) return
    const name: string | undefined = car.model?.name
    const country: string | undefined = car.model?.maker?.country
    const labels: readonly string[] = car.options.map(({ label }) => label)
    isTrue<Equal<typeof car.color, string>>()
    isTrue<Equal<null extends typeof car.dealer ? true : false, true>>()
    // @ts-expect-error not included in the options
    car.options[0]?.car
    // @ts-expect-error it may be null
    car.model.name
    return [name, country, labels]
  },
  async () => {
    const car = await api.collection(cars).read('x', { include: ['model'] })
    isTrue<Equal<typeof car.seller_id, number | null>>()
    return car.model?.name.length
  },
  async () => {
    const found = client.cars.search('x', { include: ['options'], fields: ['id', 'options.label'] })
    const first = await found.first()
    const label: string | undefined = first?.options[0]?.label
    // @ts-expect-error not among the fields
    first?.options[0]?.price
    // @ts-expect-error not among the fields
    first?.color
    return label
  },
  () => client.models.list({ include: ['cars.options'], name: 'Clio' }),
  () => client.cars.list({ model: { name: 'Clio', maker: { country: ['FR', 'IT'] } } }),
  () => client.cars.list({ options: { label: { prefix: 'G' }, price: { lt: 5 } }, limit: 5 }),
  () => client.cars.count({ options: { exists: false } }),
  () => client.cars.list({ not: { color: 'red' }, dealer: { exists: true } }),
]

export const mistakes = [
  // @ts-expect-error no relation
  () => client.cars.list({ include: ['modl'] }),
  // @ts-expect-error no relation of the models
  () => client.cars.list({ include: ['model.dealer'] }),
  // @ts-expect-error the name of a property
  () => client.cars.list({ include: ['color'] }),
  // @ts-expect-error no number
  () => client.cars.list({ include: ['options(x)'] }),
  // @ts-expect-error no relation
  () => api.collection('makers').read(1, { include: ['cars'] }),
  // @ts-expect-error no field of the model
  () => client.cars.list({ model: { nme: 'Clio' } }),
  // @ts-expect-error not a text
  () => client.cars.list({ model: { name: 5 } }),
  // @ts-expect-error no field
  () => client.cars.list({ include: ['model'], fields: ['colr'] }),
  // @ts-expect-error not included
  () => client.cars.list({ include: ['model'], fields: ['options.label'] }),
]
