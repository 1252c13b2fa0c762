// The client against a real server, over real sockets.
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConflictError, createClient, HttpError } from '../../src/client/index.ts'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import { openLine, serve } from './line.ts'

const Car = z.object({
  color: z.enum(['red', 'blue']),
  price: z.int().min(0),
  model: z.object({ name: z.string() }).optional(),
  tags: z.array(z.string()).default([]),
  limit: z.int().default(0),
})
const Offer = z.object({ offer: z.int() })
const Range = z.object({ from: z.int(), tags: z.array(z.string()).default([]) })

const cars = defineCollection({
  name: 'cars',
  schema: Car,
  store: memoryStore(),
  id: 'integer',
  search: ['model.name'],
  actions: {
    buy: {
      on: 'item',
      input: Offer,
      run: ({ input, update }) => update({ price: input.offer }),
    },
    honk: { on: 'item', run: () => ({ sound: 'honk' }) },
    raise: {
      on: 'collection',
      input: Offer,
      run: ({ input }) => ({ by: input.offer }),
    },
    between: {
      on: 'collection',
      method: 'GET',
      input: Range,
      run: ({ input }) => input,
    },
  },
})
const notes = defineCollection({
  name: 'notes',
  schema: z.object({ identifier: z.string(), text: z.string() }),
  store: memoryStore(),
  idField: 'identifier',
})
const photos = defineCollection({
  name: 'photos',
  schema: z.object({ comment: z.string(), stars: z.int(), photo: blob() }),
  store: memoryStore(),
  blobs: memoryBlobs(),
})
const sounds = defineCollection({
  name: 'sounds',
  schema: z.object({ track: blob(), cover: blob().nullable() }),
  store: memoryStore(),
  blobs: memoryBlobs(),
  binary: 'object',
})
const api = defineApi({ version: 3, collections: { cars, notes, photos, sounds } })

const server = await serve(api.handler)
const line = await openLine(server.url)
afterAll(async () => {
  await line.close()
  await server.close()
  await api.close()
})
const needed = {
  version: 3,
  methods: { cars: { between: 'GET' } },
  ids: { notes: 'identifier' },
} as const
const open = () => createClient<typeof api>(line.url, needed)
let client = open()

beforeEach(async () => {
  client = open()
  for await (const { id } of client.cars.list()) await client.cars.delete(id)
  line.log.length = 0
})

const red = { color: 'red', price: 1 } as const

/** Creates cars with the prices 0, 1, 2 … */
async function fill(count: number): Promise<void> {
  for (let price = 0; price < count; price++) await client.cars.create({ color: 'blue', price })
  line.log.length = 0
}

/** The status lines and targets that went over the line since it was last cleared. */
const logged = () =>
  line.log
    .splice(0)
    .map(({ method, url, status }) => `${method} ${decodeURIComponent(url)} ${status}`)

describe('a list', () => {
  test('gives every item, one page ahead, and asks for no total', async () => {
    await fill(230)
    const seen: number[] = []
    const requests: number[] = []
    for await (const { price } of client.cars.list()) {
      if (price === 0 || price === 50 || price === 100) {
        await new Promise(resolve => setTimeout(resolve, 50))
        requests.push(line.log.length)
      }
      seen.push(price)
    }
    expect(seen).toEqual(Array.from({ length: 230 }, (_, price) => price))
    expect(requests).toEqual([2, 2, 3])
    expect(line.log.map(({ requestHeaders }) => requestHeaders.prefer)).toEqual(
      Array(3).fill('count=none'),
    )
  })

  test.each([
    [{ price: { gte: 3, lt: 6 } }, [3, 4, 5], 'price[gte]=3&price[lt]=6&limit=100'],
    [{ price: [1, 2], sort: '-price' }, [2, 1], 'price=1&price=2&sort=-price&limit=100'],
    [{ price: { in: [1, 7] } }, [1, 7], 'price[in]=1,7&limit=100'],
    [{ model: { name: { prefix: 'a, b' } } }, [9], 'model.name[prefix]=a,+b&limit=100'],
    [
      { model: { name: { in: ['a, b&=%é', 'c\\'] } } },
      [9],
      String.raw`model.name[in]=a\,+b&=%é,c\\&limit=100`,
    ],
    [{ where: { limit: { gte: 5 } } }, [8], 'filter[limit][gte]=5&limit=100'],
    [{ where: { model: { name: 'a, b&=%é' } } }, [9], 'filter[model.name]=a,+b&=%é&limit=100'],
    [{ color: [] }, [], 'limit=100&where={"color":{"eq":[]}}'],
    [{ price: { nin: [], gt: 7 } }, [8, 9], 'price[gt]=7&limit=100&where={"price":{"nin":[]}}'],
    [{ limit: 2, offset: 3 }, [3, 4], 'limit=2&offset=3'],
  ] as const)('%j', async (query, prices, target) => {
    await fill(8)
    await client.cars.create({ ...red, price: 8, limit: 5 })
    await client.cars.create({ ...red, price: 9, model: { name: 'a, b&=%é' } })
    line.log.length = 0
    const found = await client.cars.list(query).toArray()
    expect(found.map(({ price }) => price)).toEqual(prices)
    expect(logged()).toEqual([`GET /v3/cars?${target} 200`])
  })

  test('of limit items is cut there, over several pages too', async () => {
    await fill(130)
    const found = await client.cars.list({ limit: 105 }).toArray()
    expect(found.map(({ price }) => price)).toEqual(
      Array.from({ length: 105 }, (_, price) => price),
    )
    expect(await client.cars.list({ limit: 0 }).toArray()).toEqual([])
  })

  test('goes from page to page, with the total', async () => {
    await fill(5)
    const first = await client.cars.list({ limit: 2 }).page()
    const second = await first.next()
    const third = await second?.next()
    expect([first, second, third].map(page => page?.items.map(({ price }) => price))).toEqual([
      [0, 1],
      [2, 3],
      [4],
    ])
    expect(first.total).toBe(5)
    expect(await third?.next()).toBe(undefined)
    expect((await second?.previous())?.items).toEqual(first.items)
    expect(await first.previous()).toBe(undefined)
  })

  test('has a first item, is counted, is searched', async () => {
    await fill(3)
    const named = await client.cars.create({ ...red, model: { name: 'Clio' } })
    expect(await client.cars.list({ sort: '-price' }).first()).toMatchObject({ price: 2 })
    expect(await client.cars.list({ price: 7 }).first()).toBe(undefined)
    expect(await client.cars.count()).toBe(4)
    expect(await client.cars.count({ price: { gt: 0 }, where: { limit: 0 } })).toBe(3)
    expect(await client.cars.search('clio', { color: 'red' }).toArray()).toEqual([named])
  })

  test('of more than max items is no array', async () => {
    await fill(3)
    const all = client.cars.list()
    await expect(all.toArray({ max: 2 })).rejects.toThrow(
      new RangeError('The list has more than 2 items'),
    )
    expect(await all.toArray({ max: 3 })).toHaveLength(3)
  })

  test('that is left early, or whose next page fails, ends', async () => {
    await fill(230)
    for await (const { price } of client.cars.list()) if (price === 10) break
    const items = client.cars.list()[Symbol.asyncIterator]()
    await items.next()
    line.next('pass', [400])
    const rest = async () => {
      for (;;) if ((await items.next()).done) return
    }
    await expect(rest()).rejects.toThrow(/^Status 400, .*: .* is not JSON of this API/)
  })
})

describe('what was read is kept', () => {
  test('a 304 gives the same object again', async () => {
    await fill(3)
    const one = await client.cars.read((await client.cars.list().toArray())[0]?.id ?? 0)
    line.log.length = 0
    expect(await client.cars.read(one.id)).toBe(one)
    const pages = [await client.cars.list().page(), await client.cars.list().page()]
    expect(pages[0]?.items).toBe(pages[1]?.items)
    const all = [await client.cars.list().toArray(), await client.cars.list().toArray()]
    expect(all[0]?.[0]).toBe(all[1]?.[0])
    expect(logged().map(each => each.slice(-3))).toEqual(['304', '200', '304', '304', '304'])
    await client.cars.patch(one.id, { price: 9 })
    expect(await client.cars.read(one.id)).toMatchObject({ price: 9 })
    expect(Object.isFrozen(one.tags)).toBe(true)
  })

  test('up to a number of replies', async () => {
    await fill(3)
    const small = createClient<typeof api>(line.url, { ...needed, cache: 2 })
    const ids = (await client.cars.list().toArray()).map(({ id }) => id)
    line.log.length = 0
    for (const at of [0, 1, 0, 2, 0, 1]) await small.cars.read(ids[at] ?? 0)
    expect(logged().map(each => each.slice(-3))).toEqual(['200', '200', '304', '200', '304', '200'])
  })
})

describe('a write', () => {
  test('of an object that was given is conditional on its version', async () => {
    const made = await client.cars.create(red)
    const patched = await client.cars.patch(made, { price: 2 })
    expect(patched).toMatchObject({ id: made.id, price: 2, limit: 0 })
    const replaced = await client.cars.replace(patched, { color: 'blue', price: 3 })
    expect(await client.cars.buy(replaced, { offer: 4 })).toMatchObject({ color: 'blue', price: 4 })
    const lost = await client.cars.patch(made, { price: 5 }).catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(ConflictError)
    expect(lost).toMatchObject({
      status: 412,
      mine: { price: 5 },
      theirs: { id: made.id, price: 4 },
    })
    await expect(client.cars.honk(made)).rejects.toThrow(ConflictError)
    await expect(client.cars.delete(made)).rejects.toMatchObject({ mine: undefined })
    const gone = await client.cars.delete(await client.cars.read(made.id))
    expect(gone).toMatchObject({ price: 4 })
    await expect(client.cars.patch(replaced, {})).rejects.toMatchObject({
      status: 404,
      theirs: undefined,
      name: 'ConflictError',
    })
    const missed = client.cars.patch(replaced, {}, { unconditional: true })
    await expect(missed).rejects.toMatchObject({ status: 404, name: 'HttpError' })
  })

  test('by id is not', async () => {
    const { id } = await client.cars.create(red)
    await client.cars.patch(id, { price: 2 })
    expect(await client.cars.replace(id, red)).toMatchObject({ price: 1 })
    await expect(client.cars.patch(id, {}, { ifMatch: '"old"' })).rejects.toMatchObject({
      theirs: { id },
    })
    expect(await client.cars.delete(id)).toMatchObject(red)
    await expect(client.cars.read(id)).rejects.toThrow(HttpError)
  })

  test('of an item of a list reads it once more, and compares', async () => {
    await fill(2)
    const [one] = await client.cars.list().toArray()
    const [part] = await client.cars.list({ fields: ['id', 'price'] }).toArray()
    if (!one || !part) throw new Error('There are no cars')
    expect(await client.cars.patch(part, { color: 'red' })).toMatchObject({
      color: 'red',
      price: 0,
    })
    line.log.length = 0
    await expect(client.cars.patch(one, { price: 7 })).rejects.toMatchObject({
      name: 'ConflictError',
      theirs: { color: 'red' },
    })
    // The second one is refused by its server.
    expect(line.log.map(({ method, status }) => `${method} ${status}`)).toEqual([
      ...['GET 200', 'PATCH 412', 'GET 304'],
    ])
    expect(await client.cars.patch(one, { price: 7 }, { unconditional: true })).toMatchObject({
      price: 7,
    })
    await client.cars.delete(one.id)
    await expect(client.cars.patch(part, {})).rejects.toMatchObject({
      name: 'ConflictError',
      theirs: undefined,
    })
  })

  test('of a copy says what to give instead', async () => {
    const made = await client.cars.create(red)
    const copy = { ...made }
    const wrong = new TypeError(
      'client.cars: this object has no version. Pass what it returned, or add { version: versionOf(it) }',
    )
    await expect(client.cars.patch(copy, {})).rejects.toThrow(wrong)
    await expect(client.cars.buy(copy, { offer: 1 })).rejects.toThrow(wrong)
    expect(await client.cars.patch(copy, { price: 3 }, { unconditional: true })).toMatchObject({
      price: 3,
    })
    // @ts-expect-error Nothing names the collection where an item is meant.
    await expect(client.cars.delete(undefined)).rejects.toThrow(
      'cars: the id must be a number or a string for URLs, not undefined',
    )
  })

  test('follows no redirect, which might make a GET of it', async () => {
    line.next([301, { location: '/v3/cars' }])
    await expect(client.cars.create(red)).rejects.toMatchObject({ status: 301 })
  })

  test('and a tag that a proxy has made weak is strong again', async () => {
    const { id } = await client.cars.create(red)
    const weakened = createClient<typeof api>(line.url, {
      ...needed,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        const tag = response.headers.get('etag')
        const headers = {
          ...Object.fromEntries(response.headers),
          ...(tag && { etag: `W/${tag}` }),
        }
        return new Response(response.body, { status: response.status, headers })
      },
    })
    const read = await weakened.cars.read(id)
    expect(await weakened.cars.patch(read, { price: 2 })).toMatchObject({ price: 2 })
    const listed = await weakened.cars.list().first()
    if (!listed) throw new Error('There is no car')
    expect(await weakened.cars.patch(listed, { price: 3 })).toMatchObject({ price: 3 })
  })

  test('in change begins anew as often as another was first, with a key of its own', async () => {
    const { id } = await client.cars.create(red)
    const other = open()
    line.log.length = 0
    let times = 0
    const changed = await client.cars.change(id, async ({ price }) => {
      if (times++ < 2) await other.cars.patch(id, { price: price + 10 })
      return { price: price + 1 }
    })
    expect(changed).toMatchObject({ price: 22 })
    const keys = line.log.flatMap(({ method, requestHeaders }) =>
      method === 'PATCH' ? [requestHeaders['idempotency-key']] : [],
    )
    expect(new Set(keys).size).toBe(5)
  })

  test('is refused with all issues of the server', async () => {
    const error = await client.cars
      // @ts-expect-error A colour is one of two.
      .create({ color: 'green', price: -1 })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'HttpError',
      status: 400,
      errors: [{ field: 'color', type: 'invalid_value', code: 400 }, { field: 'price' }],
    })
    expect(String(error)).toContain('color must be')
  })

  test('sends files as multipart', async () => {
    const photo = new File(['GIF89a'], 'a.gif', { type: 'image/gif' })
    const made = await client.photos.create({ comment: 'Sun', stars: 3, photo })
    expect(made).toMatchObject({
      comment: 'Sun',
      stars: 3,
      photo_url: expect.stringContaining('/photo'),
    })
    // In process too.
    await api.collection(photos).create({ comment: 'Moon', stars: 1, photo })
    const content = await fetch(made.photo_url)
    expect([content.headers.get('content-type'), await content.text()]).toEqual([
      'image/gif',
      'GIF89a',
    ])
  })

  test('the types of files are what is answered, in both forms', async () => {
    const photo = new Blob(['GIF89a'], { type: 'image/gif' })
    const made = await client.photos.create({ comment: 'Sun', stars: 3, photo })
    const kept = await client.photos.replace(made, {
      comment: 'Moon',
      stars: 1,
      photo: { url: made.photo_url },
    })
    const fields = ['photo_data', 'photo_url'] as const
    const found = await client.photos.list({ comment: 'Moon', fields, sort: '-stars' }).toArray()
    expect(found).toContainEqual({ photo_data: btoa('GIF89a'), photo_url: kept.photo_url })
    const sound = await client.sounds.create({ track: photo, cover: null })
    expect([sound.track.url, sound.cover, sound.track.data]).toEqual([
      expect.stringContaining('/track'),
      null,
      undefined,
    ])
    const [listed] = await client.sounds.list({ fields: ['track.data'] }).toArray()
    expect(listed?.track.data).toBe(btoa('GIF89a'))
  })
})

test('actions: of an item or the collection, with and without input and options', async () => {
  const made = await client.cars.create(red)
  const { signal } = new AbortController()
  expect(await client.cars.honk(made)).toEqual({ sound: 'honk' })
  expect(await client.cars.honk(made.id, { signal })).toEqual({ sound: 'honk' })
  expect(
    await client.cars.actions.buy(made.id, { offer: 7 }, { unconditional: true }),
  ).toMatchObject({ price: 7 })
  // A function that takes resources of both kinds gives it.
  const principal = { id: 'ann' }
  expect(await client.cars.buy(made.id, { offer: 8 }, { principal })).toMatchObject({ price: 8 })
  expect(await client.cars.raise({ offer: 2 })).toEqual({ by: 2 })
  line.log.length = 0
  expect(await client.cars.between({ from: 2, tags: ['a', 'b'] }, { signal })).toEqual({
    from: 2,
    tags: ['a', 'b'],
  })
  expect(logged()).toEqual(['GET /v3/cars/between?from=2&tags=a&tags=b 200'])
})

test('an id is whatever the schema takes', async () => {
  const identifier = 'a b?é.xml'
  const made = await client.notes.create({ identifier, text: 'x' })
  expect(await client.notes.read(identifier)).toEqual(made)
  expect(await client.notes.patch(made, { text: 'y' })).toMatchObject({ identifier, text: 'y' })
  expect(await client.notes.list({ text: [] }).toArray()).toEqual([])
})

test('a client is no promise, and nothing is asked before the first call', async () => {
  expect(await client).toBe(client)
  expect(await client.cars).toBe(client.cars)
  expect(JSON.stringify(client.cars.actions)).toBe('{}')
  expect(logged()).toEqual([])
})

test('what types cannot tell a running program is required of it', () => {
  const versioned = defineApi({
    versions: [
      { version: 1, collections: { cars } },
      { version: 2, collections: { photos } },
    ],
  })
  const { methods, ids } = needed
  // @ts-expect-error The method of between, the id of notes.
  createClient<typeof api>(line.url)
  // @ts-expect-error The id of notes.
  createClient<typeof api>(line.url, { methods })
  // @ts-expect-error between is a GET.
  createClient<typeof api>(line.url, { ids, methods: { cars: { between: 'PUT' } } })
  // @ts-expect-error The version.
  createClient<typeof versioned, 2>(line.url)
  // @ts-expect-error The version 2 has no cars.
  createClient<typeof versioned, 2>(line.url, { version: 2 }).cars
  createClient<typeof versioned, 1>(line.url, { version: 1, methods }).cars
  expect(createClient<typeof versioned, 2>(line.url, { version: 2 }).photos).toBeDefined()
})
