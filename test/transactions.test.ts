// Transactions of programs, hooks and actions, on each store.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  HttpError,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import type { Store } from '../src/store/store.ts'
import { usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'

usePostgres()

const DECLINED = new HttpError(402, 'The card was declined')

/** A shop whose checkout is one transaction; runs are counted. */
async function shop(make: () => Store, workTime = 5000) {
  const blobs = memoryBlobs()
  const runs: string[] = []
  const store = make()
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ product_id: z.string(), state: z.string() }),
    store,
    parents: { product_id: { collection: 'products', onDelete: 'cascade' } },
  })
  const products = defineCollection({
    name: 'products',
    schema: z.object({ name: z.string(), stock: z.int().min(0), photo: blob().optional() }),
    store: make(),
    unique: ['name'],
    blobs,
    actions: {
      buy: {
        on: 'item',
        input: z.object({ card: z.string() }),
        output: z.object({ order: z.string() }),
        transaction: true,
        async run({ id, item, input, update, collection }) {
          runs.push('buy')
          const { id: order } = await collection(orders).create({ product_id: id, state: 'paid' })
          await update({ stock: item.stock - 1 })
          if (input.card === 'declined') throw DECLINED
          return { order }
        },
      },
      show: {
        on: 'item',
        input: z.object({ photo: z.string(), stock: z.int() }),
        transaction: true,
        async run({ input, update }) {
          await update({ photo: { data: input.photo } })
          await update({ stock: input.stock })
        },
      },
      move: {
        on: 'collection',
        input: z.object({ from: z.string(), to: z.string() }),
        run: ({ input, transaction }) =>
          transaction(async tx => {
            await tx.collection().change(input.from, ({ stock }) => ({ stock: stock - 1 }))
            await tx.collection().change(input.to, ({ stock }) => ({ stock: stock + 1 }))
          }),
      },
    },
    hooks: {
      transaction: true,
      after: {
        async create({ collection }, { id }) {
          await collection(orders).create({ product_id: id, state: 'announced' })
        },
      },
    },
  })
  const api = defineApi({ collections: { products, orders }, limits: { workTime } })
  const stocks = async () =>
    (await api.collection(products).list({ sort: 'name' }).toArray()).map(({ stock }) => stock)
  const post = (path: string, body: object, key?: string) =>
    api.fetch(
      new Request(`http://shop.example${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      }),
    )
  return { api, products, orders, store, blobs, runs, stocks, post }
}

describe.each(Object.entries(TRANSACTIONAL))('%s', (_name, open) => {
  const opened = async (workTime?: number) => {
    const opening = await shop(await open(), workTime)
    await opening.api.open()
    return opening
  }

  it('all changes of the work happen, or none', async () => {
    const { api, products, orders, stocks } = await opened()
    const made = await api.transaction(async tx => {
      const product = await tx.collection(products).create({ name: 'a', stock: 2 })
      expect(await tx.collection('products').count()).toBe(1)
      expect(await tx.collection(products).list().toArray()).toEqual([product])
      return product
    })
    expect(await api.collection(products).read(made.id)).toEqual(made)
    expect(await api.collection(orders).count()).toBe(1)
    const failing = api.transaction(async tx => {
      await tx.collection(products).change(made.id, ({ stock }) => ({ stock: stock - 1 }))
      await tx.collection(products).create({ name: 'b', stock: 1 })
      await tx.collection(orders).create({ product_id: made.id, state: 'new' })
      expect(await tx.collection(orders).count()).toBe(3)
      throw DECLINED
    })
    await expect(failing).rejects.toBe(DECLINED)
    expect(await stocks()).toEqual([2])
    expect(await api.collection(orders).count()).toBe(1)
    await api.close()
  })

  it('of 40 parallel checkouts of stock 10, ten succeed', async () => {
    const { api, products, orders, stocks } = await opened()
    const { id } = await api.collection(products).create({ name: 'a', stock: 10 })
    const checkout = () =>
      api.transaction(async tx => {
        await tx.collection(products).change(id, ({ stock }) => ({ stock: stock - 1 }))
        return tx.collection(orders).create({ product_id: id, state: 'paid' })
      })
    const results = await Promise.allSettled(Array.from({ length: 40 }, checkout))
    const failed = results.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
    expect(failed.map(({ status, message }) => [status, message])).toEqual(
      Array(30).fill([400, expect.stringContaining('stock')]),
    )
    expect(await stocks()).toEqual([0])
    expect(await api.collection(orders).count({ state: 'paid' })).toBe(10)
    await api.close()
  })

  it('calls and hooks in it take part; a call that fails alone may be caught', async () => {
    const { api, products, orders } = await opened()
    await api.collection(products).create({ name: 'taken', stock: 1 })
    await api.transaction(async tx => {
      await expect(
        tx.collection(products).create({ name: 'taken', stock: 1 }),
      ).rejects.toMatchObject({ status: 409 })
      const { id } = await tx.collection(products).create({ name: 'free', stock: 1 })
      await expect(tx.collection(products).patch(id, { stock: -1 })).rejects.toMatchObject({
        status: 400,
      })
      // The hook's order names a product that nobody else sees yet.
      expect(await tx.collection(orders).list({ product_id: id }).toArray()).toHaveLength(1)
    })
    expect(await api.collection(products).count()).toBe(2)
    await api.close()
  })

  it('an action with transaction: true is whole, with its Idempotency-Key', async () => {
    const { api, products, orders, runs, stocks, post } = await opened()
    const { id } = await api.collection(products).create({ name: 'a', stock: 2 })
    const declined = await post(`/products/${id}/buy`, { card: 'declined' }, 'k')
    expect(declined.status).toBe(402)
    expect([await stocks(), await api.collection(orders).count({ state: 'paid' })]).toEqual([
      [2],
      0,
    ])
    const first = await post(`/products/${id}/buy`, { card: 'good' }, 'k')
    expect(first.status).toBe(200)
    const again = await post(`/products/${id}/buy`, { card: 'good' }, 'k')
    expect([again.status, await again.text()]).toEqual([200, await first.text()])
    expect((await post(`/products/${id}/buy`, { card: 'other' }, 'k')).status).toBe(422)
    expect([await stocks(), runs.length]).toEqual([[1], 2])
    await api.collection(products).buy(id, { card: 'good' })
    const last = api.collection(products).buy(id, { card: 'good' })
    await expect(last).rejects.toMatchObject({ status: 400 })
    expect([await stocks(), await api.collection(orders).count({ state: 'paid' })]).toEqual([
      [0],
      2,
    ])
    await api.close()
  })

  it('context.transaction: one in a hook or an action; within another it is a part of that', async () => {
    const { api, products, stocks, post } = await opened()
    const [a, b] = [
      await api.collection(products).create({ name: 'a', stock: 1 }),
      await api.collection(products).create({ name: 'b', stock: 0 }),
    ]
    const move = { from: a.id, to: b.id }
    expect((await post('/products/move', move)).status).toBe(303)
    expect(await stocks()).toEqual([0, 1])
    expect((await post('/products/move', move)).status).toBe(400)
    expect((await post('/products/move', { from: b.id, to: 'nothing' })).status).toBe(404)
    expect(await stocks()).toEqual([0, 1])
    const undone = api.transaction(async tx => {
      await tx.collection(products).move({ from: b.id, to: a.id })
      throw DECLINED
    })
    await expect(undone).rejects.toBe(DECLINED)
    expect(await stocks()).toEqual([0, 1])
    await api.close()
  })

  it('files of a transaction that is undone are removed; those of deleted items only with it', async () => {
    const { api, products, blobs, post } = await opened()
    const keys = async () => {
      const found: string[] = []
      for await (const { key } of blobs.keys()) found.push(key)
      return found
    }
    const photo_data = (text: string) => Buffer.from(text).toString('base64')
    const values = { name: 'a', stock: 1, photo: { data: photo_data('one') } }
    const { id } = await api.collection(products).create(values)
    const [kept] = await keys()
    const change = async (tx: Parameters<Parameters<typeof api.transaction>[0]>[0]) => {
      await tx.collection('products').delete(id)
      await tx.collection('products').create({ ...values, photo: { data: photo_data('two') } })
      expect(await keys()).toHaveLength(2)
    }
    const undone = api.transaction(async tx => {
      await change(tx)
      throw DECLINED
    })
    await expect(undone).rejects.toBe(DECLINED)
    expect(await keys()).toEqual([kept])
    const shown = (stock: number) =>
      post(`/products/${id}/show`, { photo: photo_data('three'), stock })
    expect((await shown(-1)).status).toBe(400)
    expect(await keys()).toEqual([kept])
    expect((await shown(3)).status).toBe(303)
    expect(await keys()).toHaveLength(1)
    expect(await keys()).not.toContain(kept)
    await api.transaction(tx => change(tx))
    const left = await keys()
    expect([left.length, left.includes(kept ?? '')]).toEqual([1, false])
    await api.close()
  })

  it.each(['a program', 'a request'])(
    'a file that is kept after its transaction has ended, of %s, is removed',
    async who => {
      const { api, products, blobs } = await opened()
      const { id } = await api.collection(products).create({ name: 'a', stock: 1 })
      const { put } = blobs
      const limit = new AbortController()
      let wasKept = false
      blobs.put = async (...input) => {
        limit.abort(DECLINED)
        await new Promise(resolve => setTimeout(resolve, 20))
        const stored = await put(...input)
        wasKept = true
        return stored
      }
      const photo = Buffer.from('late').toString('base64')
      const { signal } = limit
      if (who === 'a program') {
        const values = { name: 'b', stock: 1, photo: { data: photo } }
        const undone = api.transaction(tx => tx.collection(products).create(values), { signal })
        await expect(undone).rejects.toBe(DECLINED)
      } else {
        const body = JSON.stringify({ photo, stock: 1 })
        const headers = { 'content-type': 'application/json' }
        const address = `http://shop.example/products/${id}/show`
        await api
          .fetch(new Request(address, { method: 'POST', body, headers, signal }))
          .catch(() => undefined)
      }
      await expect.poll(() => wasKept).toBe(true)
      const keys = async () => {
        const found: string[] = []
        for await (const { key } of blobs.keys()) found.push(key)
        return found
      }
      await expect.poll(keys).toEqual([])
      expect(await api.collection(products).list().toArray()).toHaveLength(1)
      await api.close()
    },
  )

  it('ends after workTime', async () => {
    const { api, products } = await opened(100)
    const hanging = api.transaction(async tx => {
      await tx.collection(products).create({ name: 'a', stock: 1 })
      await new Promise(() => {})
    })
    await expect(hanging).rejects.toMatchObject({ status: 503 })
    expect(await api.collection(products).count()).toBe(0)
    await api.close()
  })

  it('ends when its signal is aborted', async () => {
    // Without a short workTime: on a busy machine it would be over first.
    const { api, products } = await opened()
    const stop = new AbortController()
    const stopped = api.transaction(
      async tx => {
        stop.abort(new Error('stopped'))
        await tx.collection(products).create({ name: 'a', stock: 1 })
      },
      { signal: stop.signal },
    )
    await expect(stopped).rejects.toThrow('stopped')
    await api.collection(products).create({ name: 'a', stock: 1 })
    await api.close()
  })

  it('the wait for others counts in workTime: a 503 with Retry-After, before the work begins', async () => {
    const { api, products, orders, store } = await opened(200)
    const { id } = await api.collection(products).create({ name: 'a', stock: 1 })
    let release = () => {}
    const gate = new Promise<void>(resolve => {
      release = resolve
    })
    // As many as run at the same time.
    const holding = [1, 2, 3, 4].map(() => store.transaction?.([store], () => gate))
    const began: string[] = []
    const waiting = api.transaction(async () => void began.push('work'))
    // A deletion considers what refers to the item.
    const path = `http://shop.example/products/${id}`
    const deleted = api.fetch(new Request(path, { method: 'DELETE' }))
    await expect(waiting).rejects.toMatchObject({ status: 503 })
    const { status, headers } = await deleted
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    release()
    await Promise.all(holding)
    expect(began).toEqual([])
    // The one that the hook of the product has created.
    expect(await api.collection(orders).count()).toBe(1)
    await api.close()
  })
})

const named = (name: string, store: Store) =>
  defineCollection({ name, schema: z.object({ name: z.string() }), store })

/** Asks for no collection, as JavaScript may. */
function findNothing(tx: object): unknown {
  return Object(tx).collection()
}

describe('several databases', () => {
  it('a transaction is in one of them: TypeError before anything is written', async () => {
    const api = defineApi({
      collections: {
        cars: named('cars', memoryStore()),
        parts: named('parts', memoryStore()),
        notes: named('notes', sqlStore({ db: await openDatabase(), create: true })),
      },
    })
    const create = { name: 'a' }
    const both = api.transaction(async tx => {
      await tx.collection('cars').create(create)
      await tx.collection('notes').create(create)
    })
    await expect(both).rejects.toThrow(
      "A transaction is in one database, and these collections are in 2: cars, parts; notes. Name one of the database: transaction(work, { of: 'cars' })",
    )
    const mixed = api.transaction(
      async tx => {
        await tx.collection('cars').create(create)
        await tx.collection('notes').create(create)
      },
      { of: 'cars' },
    )
    await expect(mixed).rejects.toThrow('The collection notes is not in the database')
    expect([await api.collection('cars').count(), await api.collection('notes').count()]).toEqual([
      0, 0,
    ])
    await api.transaction(
      async tx => {
        await tx.collection('cars').create(create)
        await tx.collection('parts').create(create)
      },
      { of: api.collections.parts },
    )
    expect(await api.collection('parts').count()).toBe(1)
    await api.close()
  })

  it('a parent in another database is read outside', async () => {
    const cars = named('cars', sqlStore({ db: await openDatabase(), create: true }))
    const parts = defineCollection({
      name: 'parts',
      schema: z.object({ car_id: z.string() }),
      store: memoryStore(),
      parents: { car_id: 'cars' },
    })
    const api = defineApi({ collections: { cars, parts } })
    const { id } = await api.collection(cars).create({ name: 'a' })
    await api.transaction(tx => tx.collection(parts).create({ car_id: id }), { of: 'parts' })
    expect(await api.collection(parts).count({ car_id: id })).toBe(1)
    const found = api.transaction(async tx => findNothing(tx) !== undefined, { of: 'parts' })
    expect(await found).toBe(true)
    await api.close()
  })

  it('a store without transactions: TypeError', async () => {
    const { transaction: _none, database: _no, ...store } = memoryStore()
    const plain = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store,
      actions: {
        move: { on: 'collection', run: ({ transaction }) => transaction(async () => 1) },
      },
    })
    const api = defineApi({ collections: { cars: plain } })
    const other = defineApi({ collections: { cars: named('cars', memoryStore()) } })
    const unnamed = other.transaction(async tx => findNothing(tx))
    await expect(unnamed).rejects.toThrow('There is no collection ""')
    const message = 'The stores of these collections have no transactions: cars'
    await expect(api.transaction(async () => 1)).rejects.toThrow(message)
    await expect(api.collection(plain).move()).rejects.toThrow(message)
    const whole = { buy: { on: 'item', transaction: true, run: () => undefined } } as const
    expect(() =>
      defineCollection({ name: 'cars', schema: z.object({}), store, actions: whole }),
    ).toThrow('cars: the action buy has transaction: true, but its store has no transactions')
  })
})
