// `client.batch` and arrays of the client, over both handlers and a line that loses answers.
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { batch, deleteMany, patchMany } from '../../src/client/batch.ts'
import { createClient } from '../../src/client/client.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

function shop() {
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ customer: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const lines = defineCollection({
    name: 'lines',
    schema: z.object({ order_id: z.int(), count: z.int().min(1) }),
    store: memoryStore(),
    references: { order_id: { collection: 'orders', onDelete: 'cascade' } },
  })
  const api = defineApi({ collections: { orders, lines }, batch: true })
  let losses = 0
  const fetch = async (url: string, init: RequestInit) => {
    const answer = await api.fetch(new Request(url, init))
    // The work is done, and its answer is lost.
    if (init.method === 'POST' && losses++ % 2 === 0) throw new TypeError('lost')
    return answer
  }
  const client = createClient<typeof api>('http://api.test', { fetch })
  return { api, client }
}

describe('client.batch', () => {
  it('does typed steps once, however often answers are lost', async () => {
    const { api, client } = shop()
    for (let at = 1; at <= 5; at++) {
      const [order, line, read] = await batch(client, steps => {
        const made = steps.orders.create({ customer: 'Ann' })
        const first = steps.lines.create({ order_id: made.id, count: at })
        steps.lines.create({ order_id: made.id, count: 1 })
        steps.orders.patch(made.id, { customer: 'Bob' })
        return [made, first, steps.orders.read(made.id)]
      })
      expectTypeOf(order.customer).toEqualTypeOf<string>()
      expectTypeOf(line.count).toEqualTypeOf<number>()
      expect(line).toMatchObject({ order_id: order.id, count: at })
      expect(read).toMatchObject({ id: order.id, customer: 'Bob' })
      // Its version is known.
      await client.lines.patch(line, { count: 9 })
      await expect(client.orders.patch(order, { customer: 'Cid' })).rejects.toMatchObject({
        status: 412,
      })
    }
    expect([await api.collection('orders').count(), await api.collection('lines').count()]).toEqual(
      [5, 10],
    )
  })

  it('changes nothing where a step fails, and where it is tried', async () => {
    const { api, client } = shop()
    const { id } = await client.orders.create({ customer: 'Ann' })
    const failing = batch(client, steps => [
      steps.orders.patch(id, { customer: 'Bob' }),
      steps.lines.create({ order_id: id, count: 0 }),
    ])
    await expect(failing).rejects.toMatchObject({
      status: 400,
      errors: [{ field: 'count', step: 1 }],
    })
    const [gone] = await batch(client, steps => [steps.orders.delete(id)], { dryRun: true })
    expect(gone).toMatchObject({ id, customer: 'Ann' })
    expect(await client.orders.patch(id, { customer: 'Bob' }, { dryRun: true })).toMatchObject({
      customer: 'Bob',
    })
    expect(await api.collection('orders').read(id)).toMatchObject({ customer: 'Ann' })
    const stale = batch(client, steps => [
      steps.orders.patch(id, { customer: 'Eve' }, { ifMatch: '"other"' }),
    ])
    await expect(stale).rejects.toMatchObject({ status: 412, errors: [{ step: 0 }] })
  })
})

it('changes and deletes by filter, each once', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string(), price: z.int() }),
    store: memoryStore(),
    id: 'integer',
    operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  const plain = defineCollection({ name: 'plain', schema: z.object({}), store: memoryStore() })
  const api = defineApi({ collections: { cars, plain } })
  let losses = 0
  const fetch = async (url: string, init: RequestInit) => {
    const answer = await api.fetch(new Request(url, init))
    if (init.method !== 'OPTIONS' && losses++ % 2 === 0) throw new TypeError('lost')
    return answer
  }
  const client = createClient<typeof api>('http://api.test', { fetch })
  await client.cars.create(['red', 'red', 'a, b & c'].map(color => ({ color, price: 1 })))
  expect(await patchMany(client, 'cars', { color: 'red' }, { price: 2 }, { dryRun: true })).toBe(2)
  expect(await patchMany(client, 'cars', { color: ['red', 'a, b & c'] }, { price: 2 })).toBe(3)
  expect(await patchMany(client, 'cars', { price: { lt: 2 } }, { price: 3 })).toBe(0)
  const refused = deleteMany(client, 'cars', { price: 2 }, { maxAffected: 2 })
  await expect(refused).rejects.toMatchObject({ errors: [{ type: 'too_many_affected' }] })
  expect(await deleteMany(client, 'cars', { color: 'red' }, { maxAffected: 2 })).toBe(2)
  expect(await api.collection('cars').list().toArray()).toMatchObject([{ price: 2 }])
  // @ts-expect-error a deletion needs a maximum
  await expect(deleteMany(client, 'cars', { price: 2 })).rejects.toMatchObject({
    errors: [{ type: 'max_affected_required' }],
  })
  await expect(patchMany(client, 'cars', {}, { price: 4 })).rejects.toMatchObject({
    errors: [{ type: 'filter_required' }],
  })
  // @ts-expect-error its declaration has no such operation
  const wrong = patchMany(client, 'plain', { id: 'a' }, {})
  await expect(wrong).rejects.toMatchObject({ status: 405 })
  expectTypeOf(client.cars).not.toHaveProperty('patchMany')
  // @ts-expect-error a resource is no client
  await expect(deleteMany(client.cars, 'cars', {}, { maxAffected: 1 })).rejects.toThrow(TypeError)
})

it('creates arrays, each once', async () => {
  const { api, client } = shop()
  const made = await client.orders.create([{ customer: 'Ann' }, { customer: 'Bob' }])
  expectTypeOf(made[0]?.customer).toEqualTypeOf<string | undefined>()
  expect(made).toMatchObject([{ id: 1 }, { id: 2 }])
  const [first] = made
  if (first) await client.orders.patch(first, { customer: 'Cid' })
  expect(await api.collection('orders').read(1)).toMatchObject({ customer: 'Cid' })
  expect(await api.collection('orders').count()).toBe(2)
})
