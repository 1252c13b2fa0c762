// Mistakes that the compiler finds: each line that follows a directive does not compile.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, type Store } from '../../src/index.ts'
import { api, cars, options, type shots } from './use.ts'

declare const store: Store
const client = createClient<typeof api>('', { methods: { cars: { average: 'GET' } } })
const program = api.collection(cars)
const media = createClient<typeof shots>('')
const schema = z.object({
  color: z.enum(['red', 'blue']),
  price: z.number(),
  sold: z.boolean(),
  model: z.object({ name: z.string() }),
})
const head = { name: 'x', schema, store } as const

export const calls = [
  // @ts-expect-error a misspelt filter
  () => [client.cars.list({ colour: 'red' })],
  // @ts-expect-error the same in process
  () => [program.list({ colour: 'red' })],
  // @ts-expect-error a misspelt filter below a property
  () => [program.list({ model: { nmae: 'x' } })],
  // @ts-expect-error an operator that does not fit
  () => [program.list({ sold: { like: 'x' } })],
  // @ts-expect-error an operator that does not fit
  () => [program.list({ price: { prefix: 'x' } })],
  // @ts-expect-error a value of another type
  () => [program.list({ price: { gte: '10' } })],
  // @ts-expect-error an unknown choice
  () => [program.list({ color: 'green' })],
  // @ts-expect-error undefined does not filter
  () => [program.list({ color: undefined })],
  // @ts-expect-error a misspelt filter of a count
  () => [program.count({ colour: 'red' })],
  // @ts-expect-error a misspelt sort
  () => [program.list({ sort: '-create_at' })],
  // @ts-expect-error an object has no order
  () => [program.list({ sort: 'model' })],
  // @ts-expect-error a list has no order
  () => [program.list({ sort: ['price', '-tags'] })],
  // @ts-expect-error an object below an object has no order
  () => [client.cars.list({ sort: 'model.maker' })],
  async () => {
    const car = await program.list({ fields: ['id'] }).first()
    // @ts-expect-error a property that fields leaves out
    return car?.price
  },
  async () => {
    const { items } = await client.cars.search('x', { fields: ['model.name'] }).page()
    // @ts-expect-error the same below a property, in a search by a client
    return items[0]?.model.maker
  },
  async () => {
    for await (const car of client.cars.list({ fields: ['price'] })) {
      // @ts-expect-error an item without its id is no target
      await client.cars.patch(car, {})
    }
  },
  // @ts-expect-error the record of a file is the server's
  () => [media.flat.read('x').then(({ photo }) => photo)],
  // @ts-expect-error an address may be null
  () => [media.flat.read('x').then(({ cover_url }) => cover_url.length)],
  // @ts-expect-error a client knows no size
  () => [media.nested.read('x').then(({ photo }) => photo.size)],
  // @ts-expect-error a filter by a file
  () => [media.flat.list({ photo: { exists: true } })],
  // @ts-expect-error a filter by an address
  () => [media.flat.count({ photo_url: 'x' })],
  // @ts-expect-error an address has no order
  () => [media.nested.list({ sort: 'photo.url' })],
  // @ts-expect-error fields have the names of answers
  () => [media.flat.list({ fields: ['photo'] })],
  // @ts-expect-error a search that is not declared
  () => [client.options.search('x')],
  // @ts-expect-error an operation that is not declared
  () => [media.nested.delete('x')],
  // @ts-expect-error a change patches
  () => [media.nested.change('x', () => ({}))],
  async () => {
    const car = await client.cars.read(1)
    // @ts-expect-error a result is frozen
    car.price = 1
  },
  async () => {
    for await (const car of program.list()) {
      // @ts-expect-error the same in process
      car.price = 1
    }
  },
  async () => {
    const { items } = await client.cars.list().page()
    // @ts-expect-error the items of a page too
    items.pop()
  },
  // @ts-expect-error a misspelt field
  () => [program.list({ fields: ['id', 'pric'] })],
  // @ts-expect-error a misspelt property of a patch
  () => [program.patch(1, { prise: 1 })],
  // @ts-expect-error a misspelt property of a patch, below
  () => [program.patch(1, { model: { nmae: 'x' } })],
  // @ts-expect-error null for what an item needs
  () => [program.patch(1, { price: null })],
  // @ts-expect-error a read-only property, by a client
  () => [client.cars.patch(1, { sold: true })],
  // @ts-expect-error an immutable property
  () => [program.patch(1, { plate: 'x' })],
  // @ts-expect-error a write-only property
  () => [client.cars.read(1).then(car => car.secret)],
  // @ts-expect-error an id of another type
  () => [program.read('x')],
  // @ts-expect-error an id of another type
  () => [program.patch('x', { price: 1 })],
  // @ts-expect-error an item of a collection with other ids
  () => [api.collection(options).patch({ id: 1 }, { name: 'x' })],
  // @ts-expect-error a misspelt action
  () => [program.byu(1, {})],
  // @ts-expect-error a misspelt input of an action
  () => [program.buy(1, { ofer: 2 })],
  // @ts-expect-error an action of an item without one
  () => [program.buy({ offer: 1 })],
  // @ts-expect-error a misspelt output of an action
  () => [program.average().then(({ prise }) => prise)],
  // @ts-expect-error a misspelt collection
  () => [api.collection('car')],
  // @ts-expect-error a required property left out
  () => [client.options.create({ name: 'x' })],
  // @ts-expect-error a misspelt property in the changes
  () => [program.change(1, () => ({ prise: 1 }))],
  // @ts-expect-error a misspelt collection in a transaction
  () => [api.transaction(async tx => tx.collection('option').count())],
  // @ts-expect-error a list is not an array
  () => [api.collection(cars).list().length],
  // @ts-expect-error an option of a write at a read
  () => [program.read(1, { unconditional: true })],
]

export const declarations = [
  // @ts-expect-error search names no field
  () => [defineCollection({ ...head, search: ['modell.name'] })],
  // @ts-expect-error sort names no field
  () => [defineCollection({ ...head, sort: '-pric' })],
  // @ts-expect-error an index names no field
  () => [defineCollection({ ...head, indexes: ['price', ['colr', 'price']] })],
  // @ts-expect-error a unique set names no field
  () => [defineCollection({ ...head, unique: ['plate'] })],
  // @ts-expect-error access names no operation
  () => [defineCollection({ ...head, access: { lst: 'public' } })],
  // @ts-expect-error a parent is named by no field
  () => [defineCollection({ ...head, parents: { car_id: 'cars' } })],
  // @ts-expect-error a reference by a misspelt field
  () => [defineCollection({ ...head, references: { colour: { collection: 'colors' } } })],
  // @ts-expect-error an unknown word for onDelete
  () => [defineCollection({ ...head, references: { color: { collection: 'x', onDelete: 'no' } } })],
  // @ts-expect-error a misspelt field that items are seen through
  () => [defineCollection({ ...head, references: { color: 'x' }, visible: { through: 'colour' } })],
  // @ts-expect-error the rule names no field
  () => [defineCollection({ ...head, visible: () => ({ ownr: 'x' }) })],
  // @ts-expect-error undefined would hide nothing
  () => [defineCollection({ ...head, visible: user => ({ color: user ? 'red' : undefined }) })],
  // @ts-expect-error an unknown operation
  () => [defineCollection({ ...head, hooks: { before: { creat() {} } } })],
  () => [
    defineCollection({
      ...head,
      // @ts-expect-error a misspelt property of the input
      hooks: { before: { create: ({ input }) => void input.prise } },
    }),
    defineCollection({
      ...head,
      // @ts-expect-error the value has another type
      hooks: { before: { create: ({ value }) => ({ ...value, price: 'x' }) } },
    }),
    defineCollection({
      ...head,
      // @ts-expect-error a result that the output does not have
      actions: { a: { on: 'item', output: schema, run: ({ item }) => ({ n: item.color }) } },
    }),
    defineCollection({
      ...head,
      // @ts-expect-error a misspelt property of the changes
      actions: { a: { on: 'item', run: ({ update }) => update({ prise: 1 }) } },
    }),
    defineCollection({
      ...head,
      // @ts-expect-error an action of the collection has no item
      actions: { a: { on: 'collection', run: ({ item }) => item } },
    }),
    defineCollection({
      ...head,
      // @ts-expect-error the name of a method
      actions: { list: { on: 'collection', run: () => 1 } },
    }),
    // @ts-expect-error neither of an item nor of the collection
    defineCollection({ ...head, actions: { a: { on: 'itm', run: () => 1 } } }),
    defineApi({
      collections: { cars, options },
      // @ts-expect-error a misspelt property of the input, by name
      hooks: { cars: { before: { create: ({ input }) => void input.prise } } },
    }),
    defineApi({
      collections: { cars, options },
      // @ts-expect-error a misspelt collection
      hooks: { car: {} },
    }),
    defineApi({
      collections: { cars, options },
      // @ts-expect-error a result that the output does not have, by name
      actions: { cars: { stats: ({ input }) => ({ n: input.city }) } },
    }),
  ],
]
