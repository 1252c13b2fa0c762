// What the client does on a bad line: it sends again what is safe to repeat, and nothing else.
import { createServer } from 'node:http'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConnectionError, createClient, type SendOptions } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { type Stored, scanStore } from '../../src/store-authors/index.ts'
import { type Fault, openLine, serve } from './line.ts'

/** What the action `hold` does. */
let hold: () => Promise<void> = async () => {}

const Car = z.object({ price: z.int(), name: z.string().default('') })
const cars = defineCollection({
  name: 'cars',
  schema: Car,
  store: memoryStore(),
  id: 'integer',
  search: ['name'],
  actions: {
    raise: {
      on: 'item',
      output: 'item',
      run: ({ item, update }) => update({ price: item.price + 1 }),
    },
    hold: { on: 'collection', run: () => hold() },
  },
})
const api = defineApi({ collections: { cars } })

const server = await serve(api.handler)
const line = await openLine(server.url)
afterAll(async () => {
  await line.close()
  await server.close()
  await api.close()
})
const open = (options: SendOptions = {}) => createClient<typeof api>(line.url, options)
const client = open()

afterEach(() => {
  line.log.length = 0
})

/** The methods that reached the server, and of how many keys. */
const reached = () => line.log.map(({ method, status }) => `${method} ${status}`)

describe('a read is sent again', () => {
  test.each<[string, ...Fault[]]>([
    ['without an answer', 'lose', 'drop'],
    ['after 408', [408]],
    ['after 429', [429]],
    ['after 502', [502]],
    ['after 503', [503]],
    ['after 504', [504]],
    [
      'when Retry-After says',
      [503, { 'retry-after': '0' }],
      [429, { 'retry-after': new Date().toUTCString() }],
    ],
  ])('%s', async (_title, ...faults) => {
    const { id } = await client.cars.create({ price: 1 })
    line.next(...faults)
    expect(await client.cars.read(id)).toMatchObject({ price: 1 })
  })

  test.each<[string, number, ...Fault[]]>([
    ['400', 400, [400]],
    ['500', 500, [500]],
    ['a Retry-After of more than a minute', 429, [429, { 'retry-after': '61' }]],
    ['as many retries as are allowed', 503, [503], [503], [503]],
  ])('but not after %s', async (_title, status, ...faults) => {
    line.next(...faults)
    await expect(open({ retries: 2 }).cars.count()).rejects.toMatchObject({ status })
    expect(reached()).toEqual([])
  })

  test('when an attempt takes too long', async () => {
    line.next('hang', 'pass')
    expect(await open({ timeout: 200 }).cars.count()).toBeGreaterThanOrEqual(0)
    line.next('hang')
    await expect(open({ timeout: 50, retries: 0 }).cars.count()).rejects.toMatchObject({
      name: 'ConnectionError',
      message: 'No response in 50 ms',
    })
  })
})

describe('a write is sent again with its key', () => {
  test('so that its work is done once', async () => {
    const before = await client.cars.count()
    line.log.length = 0
    line.next('drop', 'pass', 'drop', [503])
    await client.cars.create({ price: 1 })
    expect(await client.cars.count()).toBe(before + 1)
    expect(reached()).toEqual(['OPTIONS 200', 'POST 201', 'GET 200'])
  })

  test.each<[string, (id: number) => Promise<unknown>, number | undefined]>([
    ['replace', id => client.cars.replace(id, { price: 7 }), 7],
    [
      'patch of an item',
      async id => client.cars.patch(await client.cars.read(id), { price: 8 }),
      8,
    ],
    ['change', id => client.cars.change(id, ({ price }) => ({ price: price + 1 })), 2],
    ['action', id => client.cars.raise(id), 2],
    ['action on an item', async id => client.cars.raise(await client.cars.read(id)), 2],
    ['delete of an item', async id => client.cars.delete(await client.cars.read(id)), undefined],
  ])('%s', async (_title, write, price) => {
    const { id } = await client.cars.create({ price: 1 })
    line.dropWrites(1)
    const { dropped } = line.counts
    await write(id)
    expect(line.counts.dropped).toBe(dropped + 1)
    const left = await client.cars.list({ id }).first()
    expect(left?.price).toBe(price)
  })

  test('but not a value that is no JSON', async () => {
    const circular = { price: 1 }
    Object.assign(circular, { circular })
    await expect(client.cars.create(circular)).rejects.toThrow('circular')
    expect(reached()).toEqual([])
  })

  test('after 409 while the first one runs', async () => {
    const before = await client.cars.count()
    const slow = await openLine(server.url, { repeat: 1 })
    const made = await createClient<typeof api>(slow.url).cars.create({ price: 1 })
    expect(made).toMatchObject({ price: 1 })
    expect(await client.cars.count()).toBe(before + 1)
    await slow.close()
  })

  test('and its outcome is unknown if its first attempt still runs at the end', async () => {
    let release = () => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const running: Promise<unknown>[] = []
    const losing: typeof fetch = async (url, init) => {
      if (init?.method !== 'POST') return fetch(url, init)
      if (running.length > 0) return fetch(url, init)
      await new Promise<void>(begin => {
        hold = () => {
          begin()
          return released
        }
        running.push(fetch(url, { ...init, signal: null }))
      })
      throw new TypeError('lost')
    }
    const { cars } = createClient<typeof api>(server.url, { fetch: losing, retries: 1 })
    const error: unknown = await cars.hold().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ cause: { status: 409 } })
    release()
    await Promise.all(running)
  })

  test('and not where the server does not know keys', async () => {
    let requested = ''
    const other = createServer((request, response) => {
      requested += `${request.method} `
      if (request.method === 'POST') return void request.socket.destroy()
      response.end('{"post":{"parameters":[]}}')
    })
    await new Promise<void>(resolve => other.listen(0, resolve))
    const url = `http://localhost:${Object(other.address()).port}`
    const made = createClient<typeof api>(url).cars.create({ price: 1 })
    await expect(made).rejects.toThrow('other side closed')
    expect(requested).toBe('POST OPTIONS ')
    other.close()
  })

  test('and not where the store of the collection forgets keys, whatever one of a similar name does', async () => {
    const made = new Map<unknown, Stored>()
    const forgetful = scanStore({
      all: () => made.values(),
      put: item => made.set(item.id, item),
      remove: item => made.delete(item.id),
    })
    const kept = defineCollection({ name: 'car-parts', schema: Car, store: memoryStore() })
    const lost = defineCollection({ name: 'car-events', schema: Car, store: forgetful })
    const both = defineApi({ collections: { 'car-parts': kept, 'car-events': lost } })
    const behind = await serve(both.handler)
    const between = await openLine(behind.url)
    const similar = createClient<typeof both>(between.url)
    between.next('drop')
    await similar['car-parts'].create({ price: 1 })
    between.next('drop')
    await expect(similar['car-events'].create({ price: 1 })).rejects.toThrow('other side closed')
    expect(await similar['car-events'].count()).toBe(1)
    await between.close()
    await behind.close()
    await both.close()
  })
})

describe('a signal', () => {
  const gone = new Error('gone')
  test.each<[string, Fault]>([
    ['ends a request', 'hang'],
    ['ends the wait for the next attempt', [503, { 'retry-after': '60' }]],
  ])('%s', async (_title, fault) => {
    const controller = new AbortController()
    line.next(fault)
    const count = client.cars.count({}, { signal: controller.signal })
    setTimeout(() => controller.abort(gone), 50)
    await expect(count).rejects.toBe(gone)
  })

  test('of many calls has one listener: Node warns of more than ten', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    signal.addEventListener = (...input: Parameters<typeof add>) => {
      listeners++
      add(...input)
    }
    const calls = Array.from({ length: 20 }, (_, at) =>
      client.cars.count({ price: at }, { signal }),
    )
    expect(await Promise.all(calls)).toHaveLength(20)
    expect(listeners).toBe(1)
  })

  test.each([
    ['list', (signal: AbortSignal) => client.cars.list({}, { signal }).first()],
    ['page', (signal: AbortSignal) => client.cars.list({}, { signal }).page()],
    ['search', (signal: AbortSignal) => client.cars.search('a', {}, { signal }).toArray()],
    ['count', (signal: AbortSignal) => client.cars.count({}, { signal })],
    ['read', (signal: AbortSignal) => client.cars.read(1, { signal })],
    ['create', (signal: AbortSignal) => client.cars.create({ price: 1 }, { signal })],
    ['replace', (signal: AbortSignal) => client.cars.replace(1, { price: 1 }, { signal })],
    ['patch', (signal: AbortSignal) => client.cars.patch(1, {}, { signal })],
    ['change', (signal: AbortSignal) => client.cars.change(1, () => ({}), { signal })],
    ['delete', (signal: AbortSignal) => client.cars.delete(1, { signal })],
  ])('that was given stops %s before anything is sent', async (_title, call) => {
    await expect(call(AbortSignal.abort(gone))).rejects.toBe(gone)
    expect(reached()).toEqual([])
  })
})

test('credentials are asked for at each attempt, and requests go by the given fetch', async () => {
  let requested = 0
  let sent = 0
  const own = open({
    auth: async () => `Bearer ${++requested}`,
    fetch: (url, init) => {
      sent++
      return fetch(url, init)
    },
  })
  line.next([503])
  await own.cars.count()
  await open({ auth: 'Basic eDp5' }).cars.count()
  const credentials = line.log.map(({ requestHeaders }) => requestHeaders.authorization)
  expect([credentials, sent]).toEqual([['Bearer 2', 'Basic eDp5'], 2])
})
