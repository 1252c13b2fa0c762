// `after` hooks lose nothing: they run once the change is committed, or in one transaction with it.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  defineVersion,
  type Hooks,
  HttpError,
  memoryStore,
  type Principal,
} from '../src/index.ts'
import type { Store } from '../src/store/store.ts'
import { usePostgres } from './stores/postgres.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'

usePostgres()

const BROKEN = new Error('the printer is on fire')

/** A shop that keeps an audit of its orders. */
function shop(make: () => Store, hooks: Hooks) {
  const audit = defineCollection({
    name: 'audit',
    schema: z.object({
      what: z.string(),
      old: z.int().nullable().default(null),
      now: z.int().nullable().default(null),
    }),
    store: make(),
    id: 'integer',
  })
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ id: z.string(), amount: z.int() }),
    store: make(),
    putCreates: true,
    actions: {
      double: {
        on: 'item',
        run: ({ item, update }) => update({ amount: 2 * Number(item.amount) }),
      },
      refuse: {
        on: 'item',
        transaction: true,
        async run({ item, update }) {
          await update({ amount: Number(item.amount) + 1 })
          throw new HttpError(409, 'refused')
        },
      },
    },
    hooks,
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: { orders, audit },
    onError: (error, { reference }) => void failures.push([error, typeof reference]),
  })
  const send = async (method: string, path: string, body?: object, key?: string) => {
    const answer = await api.fetch(
      new Request(`http://shop.example${path}`, {
        method,
        ...(body && { body: JSON.stringify(body) }),
        headers: {
          prefer: 'return=minimal',
          ...(body && { 'content-type': 'application/json' }),
          ...(key && { 'idempotency-key': key }),
        },
      }),
    )
    await answer.text()
    return answer.status
  }
  const rows = async () =>
    (await api.collection(audit).list().toArray()).map(({ what, old, now }) => [what, old, now])
  return { api, orders, audit, failures, send, rows }
}

type Amounts = { readonly amount?: number } | undefined

/** Writes a row of the audit: what was, and what is. */
const book: Hooks['after'] = async ({ operation, item, value, collection }) => {
  if (!['create', 'replace', 'patch', 'delete', 'double'].includes(operation)) return
  const old = (item as Amounts)?.amount ?? null
  const now = (value as Amounts)?.amount ?? null
  await collection('audit').create({ what: operation, old, now })
}

describe.each(Object.entries(TRANSACTIONAL))('%s', (_name, open) => {
  for (const transaction of [false, true]) {
    it(`an audit has every change, old and new${transaction ? ', in one transaction' : ''}`, async () => {
      const { api, send, rows, failures } = shop(await open(), { transaction, after: book })
      expect(await send('POST', '/orders', { id: 'a', amount: 1 })).toBe(201)
      expect(await send('PUT', '/orders/b', { amount: 5 })).toBe(201)
      expect(await send('PUT', '/orders/a', { amount: 2 })).toBe(204)
      expect(await send('PATCH', '/orders/a', { amount: 3 })).toBe(204)
      expect(await send('POST', '/orders/a/double', {})).toBe(200)
      expect(await send('DELETE', '/orders/a')).toBe(204)
      expect(await send('PATCH', '/orders/a', { amount: 3 })).toBe(404)
      expect(await rows()).toEqual([
        ['create', null, 1],
        ['create', null, 5],
        ['replace', 1, 2],
        ['patch', 2, 3],
        ['double', 3, null],
        ['delete', 6, null],
      ])
      expect(failures).toEqual([])
      await api.close()
    })
  }

  it('writers that meet at one item leave one row for each change', async () => {
    const { api, orders, rows } = shop(await open(), { transaction: true, after: book })
    await api.collection(orders).create({ id: 'a', amount: 0 })
    await Promise.all([1, 2, 3, 4, 5].map(amount => api.collection(orders).patch('a', { amount })))
    const changes = (await rows()).slice(1)
    // Each begins where another one ended: none is lost, and none counts twice.
    const ends = new Set(changes.map(([, , now]) => now))
    expect(ends.size).toBe(5)
    expect(new Set(changes.map(([, old]) => old)).size).toBe(5)
    await api.close()
  })

  it('what fails within the transaction undoes the change; the key is free', async () => {
    let broken = true
    const hooks: Hooks = {
      transaction: true,
      before: async ({ operation, collection }) => {
        if (operation === 'create') await collection('audit').create({ what: 'before' })
      },
      after: async (event, result) => {
        if (typeof book === 'function') await book(event, result)
        if (broken) throw BROKEN
      },
    }
    const { api, send, rows, failures } = shop(await open(), hooks)
    expect(await send('POST', '/orders', { id: 'a', amount: 1 }, 'k')).toBe(500)
    expect(await rows()).toEqual([])
    expect(await send('GET', '/orders/a')).toBe(404)
    expect(failures).toMatchObject([[BROKEN, 'string']])
    broken = false
    for (let times = 0; times < 2; times++)
      expect(await send('POST', '/orders', { id: 'a', amount: 1 }, 'k')).toBe(201)
    expect(await rows()).toEqual([
      ['before', null, null],
      ['create', null, 1],
    ])
    broken = true
    expect(await send('PATCH', '/orders/a', { amount: 2 })).toBe(500)
    expect(await send('POST', '/orders/a/double', {}, 'd')).toBe(500)
    expect(await send('DELETE', '/orders/a')).toBe(500)
    expect(await api.collection('orders').read('a')).toMatchObject({ amount: 1 })
    expect(await rows()).toHaveLength(2)
    await api.close()
  })

  it('without a transaction its failure goes to onError; the client has its 2xx', async () => {
    const { api, orders, send, failures } = shop(await open(), {
      after: ({ operation }) => {
        if (operation !== 'list') throw BROKEN
      },
    })
    expect(await send('POST', '/orders', { id: 'a', amount: 1 }, 'k')).toBe(201)
    expect(await send('POST', '/orders', { id: 'a', amount: 1 }, 'k')).toBe(201)
    expect(failures).toEqual([[BROKEN, 'string']])
    expect(await send('GET', '/orders/a')).toBe(200)
    expect(await api.collection(orders).patch('a', { amount: 2 })).toMatchObject({ amount: 2 })
    expect(await send('POST', '/orders/a/double', {})).toBe(200)
    expect(await send('DELETE', '/orders/a')).toBe(204)
    expect(failures).toHaveLength(5)
    await api.close()
  })

  it('within a transaction it runs once that is committed, and not where that is undone', async () => {
    const seen: unknown[] = []
    const { api, orders } = shop(await open(), {
      after: async ({ operation, id, collection }) => {
        // Outside of the transaction, where its changes are seen.
        if (operation === 'patch') seen.push((await collection().read(id ?? '')).amount)
        else if (operation !== 'read') seen.push(operation)
      },
    })
    await api.collection(orders).create({ id: 'a', amount: 1 })
    seen.length = 0
    await api.transaction(async tx => {
      await tx.collection(orders).patch('a', { amount: 2 })
      await tx.collection(orders).patch('a', { amount: 3 })
      expect(seen).toEqual([])
    })
    expect(seen).toEqual([3, 3])
    const undone = api.transaction(async tx => {
      await tx.collection(orders).patch('a', { amount: 4 })
      await tx.collection(orders).double('a')
      // Nested work that fails undoes it, and takes all `after` with it.
      await tx
        .collection(orders)
        .refuse('a')
        .catch(() => undefined)
    })
    await expect(undone).rejects.toThrow('refused')
    expect(seen).toEqual([3, 3])
    expect(await api.collection(orders).read('a')).toMatchObject({ amount: 3 })
    await api.close()
  })
})

it('what before puts into state is there: in the action, and after', async () => {
  const seen: unknown[] = []
  const things = defineCollection({
    name: 'things',
    schema: z.object({ n: z.int() }),
    store: memoryStore(),
    actions: { look: { on: 'item', method: 'GET', run: ({ state }) => ({ of: state.by }) } },
    hooks: {
      before: ({ state, operation }) => void Object.assign(state, { by: operation }),
      after: ({ state }) => void seen.push(state.by),
      error: ({ state }) => void seen.push(['error', state.by]),
    },
  })
  const resource = defineApi({ collections: { things } }).collection(things)
  const { id } = await resource.create({ n: 1 })
  expect(await resource.look(id)).toEqual({ of: 'look' })
  await resource.patch(id, { n: 2 })
  await expect(resource.read('nothing')).rejects.toThrow()
  expect(seen).toEqual(['create', 'look', 'patch', ['error', undefined]])
})

it('a client that goes away after the commit takes nothing with it', async () => {
  const controller = new AbortController()
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
  })
  const things = defineCollection({
    name: 'things',
    schema: z.object({ n: z.int() }),
    store: memoryStore(),
    hooks: {
      after: {
        async create({ collection, signal }) {
          controller.abort()
          expect(signal.aborted).toBe(false)
          await collection(notes).create({ text: 'made' })
        },
      },
    },
  })
  const api = defineApi({ collections: { things, notes } })
  const init = {
    method: 'POST',
    body: '{"n":1}',
    headers: { 'content-type': 'application/json' },
    signal: controller.signal,
  }
  await api.fetch(new Request('http://api.test/things', init)).catch(() => undefined)
  expect(await api.collection(notes).count()).toBe(1)
})

it('transaction: true needs a store with transactions', () => {
  const { transaction: _, ...methods } = memoryStore()
  const store = { ...methods, idempotency: 'none' } as Store
  const define = () =>
    defineCollection({
      name: 'things',
      schema: z.object({}),
      store,
      hooks: { transaction: true },
    })
  expect(define).toThrow('things: hooks: transaction: true needs a store with transactions')
})

describe('hooks of an api and of a collection', () => {
  it('both run, those of the api first, and a function before those by operation', async () => {
    const order: string[] = []
    const note = (name: string) => (event: { value?: unknown }) => {
      order.push(name)
      const { text } = Object(event.value)
      return text === undefined ? undefined : { text: `${text} ${name}` }
    }
    const hooks = (of: string): Hooks => ({
      before: [note(`${of}.every`), { create: note(`${of}.create`) as never }],
      after: [note(`after ${of}.every`), { create: note(`after ${of}.create`) as never }],
      error: note(`${of}.error`),
    })
    const things = defineCollection({
      name: 'things',
      schema: z.object({ text: z.string() }),
      store: memoryStore(),
      hooks: hooks('own'),
    })
    const api = defineApi({ collections: { things }, hooks: { things: hooks('api') as never } })
    const { text } = await api.collection(things).create({ text: 'x' })
    expect(text).toBe('x api.every api.create own.every own.create')
    expect(order.slice(4)).toEqual([
      'after api.every',
      'after api.create',
      'after own.every',
      'after own.create',
    ])
    order.length = 0
    await expect(api.collection(things).read('nothing')).rejects.toThrow()
    expect(order).toEqual(['api.error', 'own.error'])
  })

  it('one that fails after does not keep the others from it', async () => {
    const seen: string[] = []
    const things = defineCollection({
      name: 'things',
      schema: z.object({}),
      store: memoryStore(),
      hooks: { after: { create: () => void seen.push('own') } },
    })
    const failures: unknown[] = []
    const api = defineApi({
      collections: { things },
      hooks: {
        things: {
          after: {
            create() {
              throw BROKEN
            },
          },
        },
      },
      onError: error => void failures.push(error),
    })
    await api.collection(things).create({})
    expect([seen, failures]).toEqual([['own'], [BROKEN]])
  })

  it('each version has its own, and its own collections', async () => {
    const store = memoryStore()
    const old = defineCollection({
      name: 'cars',
      schema: z.object({ price: z.string() }),
      store: memoryStore(),
      actions: { show: { on: 'item', method: 'GET', output: z.string() } },
    })
    const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store })
    const api = defineApi({
      versions: [
        defineVersion({
          version: 1,
          collections: { cars: old },
          hooks: { cars: { before: { create: () => ({ price: 'old' }) } } },
          actions: { cars: { show: ({ item }) => item.price } },
        }),
        defineVersion({
          version: 2,
          collections: { cars },
          hooks: { cars: { before: { create: ({ value }) => ({ price: value.price + 1 }) } } },
        }),
      ],
    })
    const { v1, v2 } = api.versions
    const one = await v1.collection(old).create({ price: '' })
    expect(await v1.collection(old).show(one)).toBe('old')
    expect(await v2.collection(cars).create({ price: 1 })).toMatchObject({ price: 2 })
    const stranger = defineCollection({ name: 'cars', schema: z.object({}), store })
    const message = 'This api has another collection "cars" than this one'
    expect(() => v2.collection(stranger as never)).toThrow(message)
    expect(() => api.collection(stranger)).toThrow(message)
    const within = v2.transaction(async tx => tx.collection(stranger as never))
    await expect(within).rejects.toThrow(TypeError)
    expect(() => defineApi({ versions: [], hooks: {} } as never)).toThrow('of each: versions')
  })
})

describe('what is checked before a `before` hook runs', () => {
  const open = async () => {
    const ran: string[] = []
    const customers = defineCollection({
      name: 'customers',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
    })
    const orders = defineCollection({
      name: 'orders',
      schema: z.object({ customer_id: z.string(), owner_id: z.string(), closed: z.boolean() }),
      store: memoryStore(),
      references: { customer_id: 'customers' },
      owner: 'owner_id',
      access: { create: ['write'], default: [] },
      visible: principal => (principal?.id === 'nobody' ? undefined : {}),
      hooks: {
        before: async ({ operation, value, collection }) => {
          ran.push(operation)
          const { customer_id } = Object(value)
          // A hook that reads what the order names: it is there.
          if (customer_id) await collection('customers').read(customer_id)
        },
      },
    })
    const api = defineApi({
      collections: { customers, orders },
      schemes: [
        {
          name: 'Test',
          challenge: () => 'Test',
          authenticate: async ({ headers }): Promise<Principal | undefined> => {
            const [id, ...scopes] = (headers.authorization ?? '').split(' ')
            return id ? { id, scopes } : undefined
          },
        },
      ],
    })
    const { id: customer_id } = await api.collection(customers).create({ name: 'x' })
    const principal = { id: 'ann' }
    const { id } = await api
      .collection(orders)
      .create({ customer_id, closed: false }, { principal })
    ran.length = 0
    return { api, id, ran }
  }
  const unknown = { customer_id: 'nobody', closed: true }
  const cases = [
    ['a reference', 'POST', '', 'ann write', {}, 400],
    ['a reference of a patch', 'PATCH', '/:id', 'ann', {}, 400],
    ['a reference of a replacement', 'PUT', '/:id', 'ann', {}, 400],
    ['a rule, before its reference', 'POST', '', 'ann', {}, 403],
    ['an owner, before its reference', 'PATCH', '/:id', 'bob', {}, 403],
    ['a row policy, before its reference', 'PATCH', '/:id', 'nobody', {}, 404],
    ['a precondition, before its reference', 'PUT', '/:id', 'ann', { 'if-match': '"x"' }, 412],
    ['an owner of a deletion', 'DELETE', '/:id', 'bob', {}, 403],
    ['a precondition of a deletion', 'DELETE', '/:id', 'ann', { 'if-match': '"x"' }, 412],
  ] as const
  it.each(cases)('%s', async (_name, method, path, authorization, headers, status) => {
    const { api, id, ran } = await open()
    const answer = await api.fetch(
      new Request(`http://api.test/orders${path.replace(':id', id)}`, {
        method,
        ...(method !== 'DELETE' && { body: JSON.stringify(unknown) }),
        headers: { authorization, 'content-type': 'application/json', ...headers },
      }),
    )
    const body = (await answer.json()) as { errors: { type: string }[] }
    expect([answer.status, ran]).toEqual([status, []])
    if (status === 400) expect(body.errors).toMatchObject([{ type: 'unknown_reference' }])
  })
})
