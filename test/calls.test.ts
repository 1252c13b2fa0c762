// In-process calls take the same path as HTTP: the same values, the same refusals, typed by the schema.
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  type Filters,
  HttpError,
  type Id,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import type { BlobRecord, BlobValue } from '../src/schema/blob.ts'
import { carValues, example, seed } from './fixture.ts'

async function withCars(count = 3) {
  const made = example()
  const items = await seed(made, count)
  const http = async (method: string, path: string, json?: unknown) => {
    const init = {
      method,
      ...(json !== undefined && {
        body: JSON.stringify(json),
        headers: { 'content-type': 'application/json', prefer: 'return=representation' },
      }),
    }
    const answer = await made.api.fetch(new Request(`http://api.test${path}`, init))
    return { status: answer.status, json: (await answer.json()) as unknown }
  }
  return { ...made, items, http, calls: made.api.collection(made.cars) }
}

describe('in-process calls', () => {
  it('return what HTTP answers', async () => {
    const { calls, http, items } = await withCars()
    const id = String(items[0]?.id)
    expect(await calls.read(id)).toEqual((await http('GET', `/cars/${id}`)).json)
    expect(await calls.read(id.toUpperCase())).toEqual(items[0])
    expect(await calls.list().toArray()).toEqual((await http('GET', '/cars')).json)
    expect(await calls.count()).toBe(3)
    expect(await calls.list({ color: 'red' }).toArray()).toEqual(
      (await http('GET', '/cars?color=red')).json,
    )
    const made = await calls.create(carValues(9))
    expect(made).toEqual((await http('GET', `/cars/${made.id}`)).json)
    expect(await calls.patch(id, { price: 7 })).toEqual((await http('GET', `/cars/${id}`)).json)
    expect(await calls.replace(id, carValues(8))).toEqual((await http('GET', `/cars/${id}`)).json)
    const last = (await http('GET', `/cars/${id}`)).json
    expect(await calls.delete(id)).toEqual(last)
    expect(await http('GET', `/cars/${id}`)).toMatchObject({ status: 404 })
  })

  it('an empty list of values matches nothing, and its negation everything', async () => {
    const { calls } = await withCars()
    const nothing = [{ id: [] }, { id: { in: [] } }, { color: [] }, { color: { in: [] } }]
    for (const filters of nothing) {
      expect(await calls.list(filters).toArray()).toEqual([])
      expect(await calls.count(filters)).toBe(0)
    }
    expect(await calls.count({ color: { nin: [] } })).toBe(3)
    expect(await calls.count({ color: ['red', 'blue'], id: { in: [] } })).toBe(0)
  })

  it('take a binary property as Base64, as its address, and as it was read', async () => {
    const photos = defineCollection({
      name: 'photos',
      schema: z.object({ comment: z.string(), photo: blob(), thumb: blob().nullable() }),
      store: memoryStore(),
      blobs: memoryBlobs(),
    })
    const api = defineApi({ collections: [photos] })
    const calls = api.collection(photos)
    const data = Buffer.from('hello').toString('base64')
    const made = await calls.create({ comment: 'a', photo: { data }, thumb: null })
    expectTypeOf(made.photo).toEqualTypeOf<BlobRecord>()
    expectTypeOf<Parameters<typeof calls.create>[0]['thumb']>().toEqualTypeOf<BlobValue | null>()
    const { id, created_at: _created, updated_at: _updated, ...values } = await calls.read(made.id)
    const again = await calls.replace(id, { ...values, comment: 'b' })
    expect(again).toMatchObject({ comment: 'b', photo: made.photo })
    const read = () => api.fetch(new Request(`http://api.test/photos/${id}/photo`))
    expect(await (await read()).text()).toBe('hello')
    const foreign = { ...values, photo: { ...made.photo, key: 'another' } }
    await expect(calls.replace(id, foreign)).rejects.toMatchObject({ status: 400 })
    await calls.patch(id, { photo: { data: Buffer.from('bye').toString('base64') } })
    expect(await (await read()).text()).toBe('bye')
    // The record that was read is not the item's own any more.
    await expect(calls.replace(id, values)).rejects.toMatchObject({ status: 400 })
  })

  it('take parameters as values, lists among them', async () => {
    const { calls } = await withCars(20)
    const sorted = calls.list({ color: ['red', 'blue'], limit: 2, sort: ['-price', 'color'] })
    expect(await sorted.toArray()).toHaveLength(2)
    expect(await calls.count({ price: { gte: 2500 }, electric: true })).toBeGreaterThan(0)
    expect(await calls.count({ electric: false, doors: { ne: 5 } })).toBeGreaterThan(0)
    expect(await calls.search('AA-007').toArray()).toMatchObject([{ immatriculation: 'AA-007-ZZ' }])
    expect(await calls.list({ immatriculation: 'a&b=c%' }).toArray()).toEqual([])
  })

  it('run actions, of an item and of the collection', async () => {
    const { calls, items } = await withCars()
    const id = String(items[0]?.id)
    expect(await calls.buy(id, { account_id: 'ann' })).toMatchObject({ id, sold_to: 'ann' })
    expect(await calls.actions.cheapest()).toMatchObject({ price: 1000 })
    // @ts-expect-error an action of an item without one
    await expect(calls.buy()).rejects.toThrow(TypeError)
    // @ts-expect-error an action that there is not
    expect(calls.nothing).toBeUndefined()
  })

  it('give the input of a GET action as it is', async () => {
    const input = z.object({
      from: z.iso.date(),
      within: z.object({ km: z.int(), tags: z.array(z.string()) }),
    })
    const things = defineCollection({
      name: 'things',
      schema: z.object({ a: z.string() }),
      store: memoryStore(),
      actions: {
        near: {
          on: 'collection',
          method: 'GET',
          input,
          run: context => context.input,
        },
      },
    })
    const calls = defineApi({ collections: [things] }).collection(things)
    const sample = { from: '2024-01-01', within: { km: 3, tags: ['a', 'b'] } }
    expect(await calls.near(sample)).toEqual(sample)
    await expect(calls.near(JSON.parse('{"from":"x"}'))).rejects.toMatchObject({ status: 400 })
  })

  const refusals: readonly [
    name: string,
    call: (calls: Awaited<ReturnType<typeof withCars>>['calls'], id: string) => Promise<unknown>,
    http: (id: string) => [method: string, path: string, json?: unknown],
  ][] = [
    ['an unknown item', calls => calls.read('nothing'), () => ['GET', '/cars/nothing']],
    [
      'an unknown filter',
      calls => calls.list(JSON.parse('{"colour":"red"}')).toArray(),
      () => ['GET', '/cars?colour=red'],
    ],
    [
      'several issues of a query',
      calls => calls.list(JSON.parse('{"sort":"x","doors":"many"}')).page(),
      () => ['GET', '/cars?sort=x&doors=many'],
    ],
    [
      'a bad value',
      calls => calls.create(JSON.parse('{"colour":"red","doors":"x"}')),
      () => ['POST', '/cars', { colour: 'red', doors: 'x' }],
    ],
    [
      'a value that another has',
      calls => calls.create(carValues(1)),
      () => ['POST', '/cars', carValues(1)],
    ],
    [
      'a bad patch',
      (calls, id) => calls.patch(id, JSON.parse('{"color":null,"x":1}')),
      id => ['PATCH', `/cars/${id}`, { color: null, x: 1 }],
    ],
    [
      'another id',
      (calls, id) => calls.patch(id, JSON.parse('{"id":"x"}')),
      id => ['PATCH', `/cars/${id}`, { id: 'x' }],
    ],
    [
      'an unknown item to delete',
      calls => calls.delete('nothing'),
      () => ['DELETE', '/cars/nothing'],
    ],
    [
      'a bad input',
      (calls, id) => calls.buy(id, JSON.parse('{}')),
      id => ['POST', `/cars/${id}/buy`, {}],
    ],
    [
      'U+0000',
      (calls, id) => calls.patch(id, { immatriculation: 'a\0' }),
      id => ['PATCH', `/cars/${id}`, { immatriculation: 'a\0' }],
    ],
    [
      'half a surrogate pair',
      (calls, id) => calls.patch(id, { tags: ['\ud83d'] }),
      id => ['PATCH', `/cars/${id}`, { tags: ['\ud83d'] }],
    ],
    [
      'a name that reaches the prototype',
      (calls, id) => calls.patch(id, JSON.parse('{"__proto__":{"a":1}}')),
      id => ['PATCH', `/cars/${id}`, JSON.parse('{"__proto__":{"a":1}}')],
    ],
  ]
  for (const [name, call, target] of refusals) {
    it(`refuse as HTTP does: ${name}`, async () => {
      const { calls, http, items } = await withCars()
      const id = String(items[0]?.id)
      const error = await call(calls, id).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(HttpError)
      const { status, json } = await http(...target(id))
      expect((error as HttpError).status).toBe(status)
      expect({ errors: (error as HttpError).errors }).toEqual(json)
    })
  }

  it('refuse numbers that JSON cannot hold, and drop undefined properties', async () => {
    const { calls } = await withCars(0)
    for (const price of [Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(calls.create({ ...carValues(0), price })).rejects.toMatchObject({
        status: 400,
        errors: [{ field: 'price' }],
      })
    }
    const model = Object(new Map([['name', 'Clio']]))
    await expect(calls.create({ ...carValues(0), model })).rejects.toThrow(/^model is a Map, which/)
    const made = await calls.create({ ...carValues(0), price: undefined })
    expect(Object.keys(made)).not.toContain('price')
  })

  it('actions call as the same principal with the same signal', async () => {
    const seen: unknown[] = []
    const hooks = {
      before: ({
        operation,
        principal,
        signal,
      }: {
        operation: string
        principal: unknown
        signal: AbortSignal
      }) => void seen.push([operation, principal, signal.aborted]),
    }
    const things = defineCollection({
      name: 'things',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      hooks,
      actions: {
        twice: {
          on: 'collection',
          run: async ({ collection }) => {
            await collection('things').create({ name: 'a' })
            return collection('things').count()
          },
        },
      },
    })
    const calls = defineApi({ collections: [things] }).collection(things)
    const principal = { id: 'ann' }
    expect(await calls.twice({ principal })).toBe(1)
    expect(seen).toEqual([
      ['twice', principal, false],
      ['create', principal, false],
      ['count', principal, false],
    ])
  })

  it('an undefined principal or signal counts as left out', async () => {
    const seen: unknown[] = []
    const things = defineCollection({
      name: 'things',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      hooks: {
        before({ operation, principal, signal }) {
          seen.push([operation, principal?.id, signal.aborted])
        },
      },
      actions: {
        twice: {
          on: 'collection',
          run: async ({ collection, signal }) => {
            await collection('things').actions.once?.({ principal: undefined, signal })
            const options = { principal: undefined, signal: undefined }
            return collection('things').list({}, options).toArray()
          },
        },
        once: { on: 'collection', run: ({ collection }) => collection('things').count() },
      },
    })
    const calls = defineApi({ collections: [things] }).collection(things)
    const none = { principal: undefined, signal: undefined }
    expect(await calls.list({}, none).toArray()).toEqual([])
    await calls.twice({ principal: { id: 'ann' }, signal: undefined })
    expect(seen).toEqual([
      ['list', undefined, false],
      ['twice', 'ann', false],
      ['once', 'ann', false],
      ['count', 'ann', false],
      ['list', 'ann', false],
    ])
  })

  it('end with the reason of their signal', async () => {
    const { calls } = await withCars()
    await expect(
      calls.list({}, { signal: AbortSignal.abort(new Error('enough')) }).first(),
    ).rejects.toThrow('enough')
  })

  it('take each value as it is, its commas too', async () => {
    const schema = z.object({ n: z.string() })
    const notes = defineCollection({ name: 'notes', schema, store: memoryStore() })
    const calls = defineApi({ collections: { notes } }).collection('notes')
    for (const n of ['a', 'b', 'c', 'a,b', 'a\\,b']) await calls.create({ n })
    const found = async (filters: Filters<{ n: string }>) =>
      (await calls.list(filters).toArray()).map(({ n }) => n)
    expect(await found({ n: { in: ['a,b', 'c'] } })).toEqual(['c', 'a,b'])
    expect(await found({ n: { nin: ['a\\,b', 'c'] } })).toEqual(['a', 'b', 'a,b'])
    expect(await found({ n: 'a,b' })).toEqual(['a,b'])
    expect(await found({ n: ['a,b', 'c'] })).toEqual(['c', 'a,b'])
  })

  it('are of the default version', async () => {
    const versions = [1, 2].map(version => ({
      version,
      collections: [
        defineCollection({
          name: 'things',
          schema: z.object({ n: z.int().default(version) }),
          store: memoryStore(),
        }),
      ],
    }))
    const api = defineApi({ versions })
    expect(await api.collection('things').create({})).toMatchObject({ n: 2 })
  })

  it('an unknown collection is a TypeError', async () => {
    const { api } = await withCars(0)
    // @ts-expect-error a collection that there is not
    const find = () => api.collection('trucks')
    expect(find).toThrow(/cars/)
    expect(find).toThrow(TypeError)
  })

  it('are typed by the schema', async () => {
    const { calls, api } = await withCars(1)
    const car = await calls.list().first()
    type Car = NonNullable<typeof car>
    expectTypeOf<Car['color']>().toEqualTypeOf<'red' | 'blue' | 'green' | 'black' | 'white'>()
    expectTypeOf<Car['doors']>().toEqualTypeOf<number>()
    expectTypeOf<Car['price']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Car['id']>().toEqualTypeOf<string>()
    expectTypeOf<Car['created_at']>().toEqualTypeOf<string>()
    // What has a default need not be given.
    expectTypeOf<Parameters<typeof calls.create>[0]>().toMatchTypeOf<{
      color: string
      doors?: number | undefined
    }>()
    // @ts-expect-error a color that there is not
    const wrong = () => calls.create({ immatriculation: 'x', color: 'pink' })
    expect(wrong).toBeTypeOf('function')
    expectTypeOf(await api.collection('cars').list().first()).toEqualTypeOf<Car | undefined>()
    expect(car).toBeDefined()
  })

  it('have ids of the type that the collection says', async () => {
    const { api, cars, options, models, accounts } = example()
    const [car, model, account] = [
      await api.collection(cars).create(carValues(1)),
      await api.collection(models).create({ name: 'Clio' }),
      await api.collection(accounts).create({ id: 'ann', name: 'Ann' }),
    ]
    expectTypeOf(car.id).toEqualTypeOf<string>()
    expectTypeOf(model.id).toEqualTypeOf<number>()
    expectTypeOf(account.id).toEqualTypeOf<string>()
    const option = await api.collection(options).create({ car_id: car.id, name: 'radio' })
    expect(option.car_id).toBe(car.id)
    const named = await api.collection('models').read(model.id)
    expectTypeOf(named).toEqualTypeOf(model)
    const listed = defineApi({ collections: [models] }).collection('models')
    expectTypeOf((await listed.read(model.id)).id).toEqualTypeOf<Id>()
  })
})
