// Actions: what they take, what they may do, and how they are answered (conventions, "Writing").
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  type Item,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import { findOne } from '../src/store/writes.ts'
import { createOne, updateOne } from '../src/testing/write-items.ts'
import { eachHandler, listen, sendRaw } from './handlers.ts'
import { defineUntyped } from './untyped.ts'

async function counters() {
  /** Runs between what an action has read and what it writes. */
  let meanwhile = async (_id: unknown): Promise<void> => {}
  const store = memoryStore()
  const collection = defineCollection({
    name: 'counters',
    schema: z.object({
      name: z.string(),
      total: z.int().default(0),
      note: z
        .string()
        .overwrite(text => (text.endsWith('!') ? text : `${text}!`))
        .optional(),
    }),
    store,
    requirePrecondition: true,
    actions: {
      look: { on: 'item', method: 'GET', run: ({ item }) => ({ total: item?.total }) },
      echo: {
        on: 'collection',
        method: 'GET',
        input: z.object({
          n: z.int(),
          tags: z.array(z.string()).default([]),
          deep: z.object({ on: z.iso.date() }).optional(),
        }),
        output: z.object({ n: z.int() }),
        run: ({ input }) => input,
      },
      add: {
        on: 'item',
        run: async ({ id, item, update }) => {
          await meanwhile(id)
          return update({ total: Number(item?.total) + 1 })
        },
      },
      quiet: {
        on: 'item',
        run: async ({ item, update }) => void (await update({ total: Number(item?.total) + 1 })),
      },
      reset: { on: 'item', method: 'PUT', run: ({ update }) => update({ total: 0, note: null }) },
      annotate: {
        on: 'item',
        method: 'PATCH',
        input: z.object({ note: z.string() }),
        run: ({ input, update }) => update(input),
      },
      spoil: {
        on: 'item',
        // In JavaScript nothing refuses it earlier.
        run: ({ update }) => update(JSON.parse('{"total":"many","colour":"red"}')),
      },
      erase: { on: 'collection', method: 'DELETE', run: () => undefined },
      end: {
        on: 'item',
        run: async ({ collection, id = '' }) => void (await collection('counters').delete(id)),
      },
      time: { on: 'collection', run: () => ({ at: new Date(0), nothing: undefined }) },
      none: { on: 'collection', run: () => null },
      number: { on: 'collection', run: () => 7 },
      several: { on: 'collection', run: async () => [1, 'a', null] },
    },
  })
  const api = defineApi({ collections: [collection] })
  const { id } = await createOne(store, { name: 'one', total: 3 })
  return {
    api,
    path: `/counters/${id}`,
    interfere: (work: () => Promise<void>) => {
      meanwhile = async () => {
        meanwhile = async () => {}
        await work()
      }
    },
    touch: async () => {
      const stored = await findOne(store, id)
      if (stored)
        await updateOne(store, { id, version: stored.version }, { name: 'touched', total: 50 })
    },
  }
}

const ANY = { 'if-match': '*' }

describe('actions', () => {
  eachHandler(counters, (handler, made) => {
    const path = (action = '') => `${made().path}${action && `/${action}`}`
    const etag = async () => (await handler.request(path())).headers.get('etag') ?? ''

    it('a GET action needs no precondition and changes nothing', async () => {
      expect(await handler.request(path('look'))).toMatchObject({ status: 200, json: { total: 3 } })
      expect(await handler.request(path('look'), { method: 'HEAD' })).toMatchObject({
        status: 200,
        text: '',
      })
      expect(
        await handler.request(path('look').replace(/[^/]+\/look/, 'nothing/look')),
      ).toMatchObject({ status: 404 })
      expect(await handler.request(path('look'), { method: 'POST' })).toMatchObject({ status: 405 })
    })

    it('any other action needs a precondition where the collection requires one', async () => {
      expect(await handler.request(path('add'), { method: 'POST' })).toMatchObject({
        status: 428,
        json: { errors: [{ field: 'if-match' }] },
      })
      expect(
        await handler.request(path('add'), {
          method: 'POST',
          headers: { 'if-match': await etag() },
        }),
      ).toMatchObject({ status: 200, json: { total: 4 } })
    })

    const inputs: readonly [query: string, status: number, json: object][] = [
      ['n=7', 200, { n: 7, tags: [] }],
      [
        'n=7&tags=a&tags=b&deep.on=2024-02-29',
        200,
        { n: 7, tags: ['a', 'b'], deep: { on: '2024-02-29' } },
      ],
      ['n=7&deep[on]=2024-02-29', 200, { deep: { on: '2024-02-29' } }],
      ['n=x', 400, { errors: [{ field: 'n', type: 'invalid_type' }] }],
      ['', 400, { errors: [{ field: 'n', type: 'required' }] }],
      ['n=1&m=2', 400, { errors: [{ field: 'm', type: 'unknown_field' }] }],
      ['n=1&deep.on=2024-02-30', 400, { errors: [{ field: 'deep.on' }] }],
    ]
    for (const [query, status, json] of inputs) {
      it(`the input of a safe one is its query: ?${query}`, async () => {
        expect(await handler.request(`/counters/echo?${query}`)).toMatchObject({ status, json })
      })
    }

    it('may answer any method that it declares', async () => {
      expect(
        await handler.request(path('annotate'), {
          method: 'PATCH',
          headers: ANY,
          json: { note: 'a' },
        }),
      ).toMatchObject({ status: 200, json: { note: 'a!', total: 3 } })
      expect(await handler.request(path('reset'), { method: 'PUT', headers: ANY })).toMatchObject({
        status: 200,
        json: { total: 0 },
      })
      expect(
        await handler.request(path('reset?_method=put'), { method: 'POST', headers: ANY }),
      ).toMatchObject({ status: 200 })
      expect(await handler.request(path('reset'), { method: 'POST', headers: ANY })).toMatchObject({
        status: 405,
      })
    })

    const unasked: readonly [sent: unknown, status: number][] = [
      [{}, 200],
      [{ n: 1 }, 400],
      [[], 400],
      [null, 400],
    ]
    for (const [json, status] of unasked) {
      it(`one that takes no input, sent ${JSON.stringify(json)}: ${status}`, async () => {
        const answer = await handler.request('/counters/time', { method: 'POST', json })
        expect(answer.status).toBe(status)
      })
    }

    it('an action that is not GET takes no input from the query', async () => {
      const init = { method: 'PATCH', headers: ANY }
      expect(await handler.request(`${path('annotate')}?note=a`, init)).toMatchObject({
        status: 400,
      })
      expect(await handler.request(path('annotate'), init)).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'note', type: 'required' }] },
      })
    })

    it('update() keeps the properties that it does not name', async () => {
      await handler.request(path('annotate'), {
        method: 'PATCH',
        headers: ANY,
        json: { note: 'a' },
      })
      expect(await handler.request(path('add'), { method: 'POST', headers: ANY })).toMatchObject({
        json: { note: 'a!', total: 4 },
      })
    })

    it('update() refuses invalid values and changes nothing', async () => {
      const before = await handler.request(path())
      expect(await handler.request(path('spoil'), { method: 'POST', headers: ANY })).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'colour', type: 'unknown_field' }, { field: 'total' }] },
      })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it('an empty body counts as no body, with and without a length', async () => {
      const { port, close } = await listen(made().api.handler)
      for (const length of ['Content-Length: 0', 'Transfer-Encoding: chunked']) {
        for (const type of ['', 'Content-Type: application/json\r\n']) {
          const end = length.startsWith('T') ? '0\r\n\r\n' : ''
          const head = `POST ${path('add')} HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\n${type}${length}`
          const answer = await sendRaw(port, `${head}\r\nConnection: close\r\n\r\n${end}`)
          expect([length, type, answer.status]).toEqual([length, type, 200])
        }
      }
      await close()
      const empty = { method: 'POST', headers: ANY, body: new Uint8Array() }
      expect((await handler.request(path('add'), empty)).status).toBe(200)
    })

    it('an action on a collection refuses the tag of an item', async () => {
      const before = await handler.request('/counters')
      const headers = { 'if-match': await etag() }
      expect(await handler.request('/counters/time', { method: 'POST', headers })).toMatchObject({
        status: 412,
        json: { errors: [{ field: 'if-match' }] },
      })
      expect((await handler.request('/counters')).text).toBe(before.text)
      expect(
        (await handler.request('/counters/time', { method: 'POST', headers: ANY })).status,
      ).toBe(200)
    })

    it('If-None-Match: * fails on an existing item, even where no precondition is required', async () => {
      const headers = { 'if-none-match': '*' }
      const json = { name: 'other' }
      expect((await handler.request(path(), { method: 'PUT', headers, json })).status).toBe(412)
      expect((await handler.request(path('add'), { method: 'POST', headers })).status).toBe(412)
    })

    it('an item that was changed meanwhile: 409, and 412 where the client named a version', async () => {
      const unnamed = { 'if-unmodified-since': new Date(Date.now() + 60_000).toUTCString() }
      for (const headers of [unnamed, ANY]) {
        made().interfere(made().touch)
        expect(await handler.request(path('add'), { method: 'POST', headers })).toMatchObject({
          status: 409,
          json: { errors: [{ type: 'changed_meanwhile' }] },
        })
      }
      made().interfere(made().touch)
      expect(
        await handler.request(path('add'), {
          method: 'POST',
          headers: { 'if-match': await etag() },
        }),
      ).toMatchObject({ status: 412 })
      expect(await handler.request(path())).toMatchObject({ json: { total: 50 } })
    })

    it('an action without a result does not redirect a client that could not follow', async () => {
      const headers = { 'if-match': await etag() }
      const quiet = await handler.request(path('quiet'), { method: 'POST', headers })
      expect(quiet).toMatchObject({ status: 200, json: { total: 4 } })
      const erase = { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }
      const erased = await handler.request('/counters/erase', erase)
      expect(erased).toMatchObject({ status: 200, json: { url: `${handler.base}/counters` } })
      expect(erased.headers.get('preference-applied')).toBeNull()
    })

    const results: readonly [action: string, json: unknown][] = [
      ['time', { at: '1970-01-01T00:00:00.000Z' }],
      ['none', null],
      ['number', 7],
      ['several', [1, 'a', null]],
    ]
    for (const [action, json] of results) {
      it(`gives JSON of any kind: ${JSON.stringify(json)}`, async () => {
        const answer = await handler.request(`/counters/${action}`, { method: 'POST' })
        expect(answer.status).toBe(200)
        expect(JSON.parse(answer.text)).toEqual(json)
      })
    }

    it('an action on an item without a result is answered as a change: 303, or as Prefer says', async () => {
      const run = (prefer?: string) =>
        handler.request(path('quiet'), {
          method: 'POST',
          headers: { ...ANY, ...(prefer && { prefer }) },
        })
      const see = await run()
      expect(see).toMatchObject({ status: 303, text: '' })
      expect(see.headers.get('location')).toBe(handler.base + path())
      const whole = await run('return=representation')
      expect(whole).toMatchObject({ status: 200, json: { total: 5 } })
      expect(whole.headers.get('content-location')).toBe(handler.base + path())
      expect(whole.headers.get('etag')).toBe(await etag())
      expect(whole.headers.get('preference-applied')).toBe('return=representation')
      expect(await run('return=minimal')).toMatchObject({ status: 204, text: '' })
      expect(((await handler.request(path())).json as Item).total).toBe(6)
    })

    it('an action on the collection without a result: 303 to the collection', async () => {
      const answer = await handler.request('/counters/erase', { method: 'DELETE' })
      expect(answer).toMatchObject({ status: 303, text: '' })
      expect(answer.headers.get('location')).toBe(`${handler.base}/counters`)
      const minimal = await handler.request('/counters/erase', {
        method: 'DELETE',
        headers: { prefer: 'return=minimal' },
      })
      expect(minimal).toMatchObject({ status: 204 })
    })

    it('an action that removed its item: 303 to the collection', async () => {
      // In process no precondition is asked of the program itself.
      const answer = await handler.request(path('end'), { method: 'POST', headers: ANY })
      expect(answer.status).toBe(303)
      expect(answer.headers.get('location')).toBe(`${handler.base}/counters`)
      expect(await handler.request(path())).toMatchObject({ status: 404 })
    })
  })

  const issues: readonly [name: string, action: Parameters<typeof define>[1]][] = [
    ['a name that is no verb', {}],
    ['a/b', {}],
    ['count', {}],
    ['search', {}],
    ['filtered', { on: 'collection', method: 'GET', input: z.object({ limit: z.int() }) }],
  ]
  for (const [name, action] of issues) {
    it(`${JSON.stringify(name)} is a TypeError at definition`, () =>
      expect(() => define(name, action)).toThrow(TypeError))
  }
})

function define(
  name: string,
  action: { on?: 'collection' | 'item'; method?: 'GET'; input?: z.ZodObject },
) {
  const things = defineUntyped({
    name: 'things',
    schema: z.object({ name: z.string() }),
    search: ['name'],
    store: memoryStore(),
    actions: { [name]: { on: 'collection', run: () => 1, ...action } },
  })
  return defineApi({ collections: [things] })
}

describe('an action below a parent', () => {
  const ran: unknown[] = []
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ plate: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int().nullable(), name: z.string() }),
    store: memoryStore(),
    id: 'integer',
    parents: { car_id: 'cars' },
    actions: {
      reset: { on: 'collection', run: () => void ran.push('reset') },
      tally: { on: 'collection', method: 'GET', run: () => ran.push('tally') },
    },
  })
  const api = defineApi({ collections: [cars, options] })
  const made = api.collection('cars').create({ plate: 'a' })

  it.each([
    ['POST', '/cars/1/options/reset', 303],
    ['POST', '/cars/2/options/reset', 404],
    ['GET', '/cars/1/options/tally', 200],
    ['GET', '/cars/2/options/tally', 404],
  ])('%s %s: %i, and it runs where the parent is alone', async (method, path, status) => {
    await made
    const before = ran.length
    expect((await api.fetch(new Request(`http://a.test${path}`, { method }))).status).toBe(status)
    expect(ran.length - before).toBe(status === 404 ? 0 : 1)
  })
})

describe('an action that changes a reference', () => {
  const owners = () =>
    defineCollection({
      name: 'owners',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      id: 'integer',
    })
  const cars = () =>
    defineCollection({
      name: 'cars',
      schema: z.object({ owner_id: z.int() }),
      store: memoryStore(),
      id: 'integer',
      parents: { owner_id: 'owners' },
      actions: {
        sell: {
          on: 'item',
          input: z.object({ owner_id: z.int() }),
          run: ({ input, update }) => update(input),
        },
        give: {
          on: 'item',
          input: z.object({ owner_id: z.int() }),
          run: async ({ input, update }) => void (await update(input)),
        },
      },
    })

  eachHandler(
    async () => {
      const api = defineApi({ collections: [owners(), cars()] })
      for (const name of ['Ann', 'Bob']) await api.collection('owners').create({ name })
      await api.collection('cars').create({ owner_id: 1 })
      return { api }
    },
    handler => {
      it('names existing items only', async () => {
        const sell = (owner_id: number) =>
          handler.request('/cars/1/sell', { method: 'POST', json: { owner_id } })
        expect(await sell(99)).toMatchObject({
          status: 400,
          json: { errors: [{ field: 'owner_id', type: 'unknown_reference' }] },
        })
        expect(await sell(2)).toMatchObject({ status: 200, json: { owner_id: 2 } })
      })

      it('does the same below its parent, and is answered by where the item is then', async () => {
        const sell = (path: string, owner_id: number) =>
          handler.request(`${path}/sell`, { method: 'POST', json: { owner_id } })
        expect(await sell('/owners/1/cars/1', 99)).toMatchObject({ status: 400 })
        expect(await sell('/owners/1/cars/1', 2)).toMatchObject({ json: { owner_id: 2 } })
        expect((await sell('/owners/1/cars/1', 1)).status).toBe(404)
        const give = (path: string) =>
          handler.request(`${path}/give`, { method: 'POST', json: { owner_id: 1 } })
        const response = await give('/owners/2/cars/1')
        expect([response.status, response.headers.get('location')]).toEqual([
          303,
          `${handler.base}/cars/1`,
        ])
      })
    },
  )
})

describe('a hook that gives an item another parent', () => {
  const owners = () =>
    defineCollection({
      name: 'owners',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      id: 'integer',
    })
  const cars = () =>
    defineCollection({
      name: 'cars',
      schema: z.object({ owner_id: z.int() }),
      store: memoryStore(),
      id: 'integer',
      parents: { owner_id: 'owners' },
      hooks: {
        before: ({ value, operation }) =>
          operation === 'delete' ? undefined : { ...Object(value), owner_id: 2 },
      },
    })

  eachHandler(
    async () => {
      const api = defineApi({ collections: [owners(), cars()] })
      for (const name of ['Ann', 'Bob']) await api.collection('owners').create({ name })
      return { api }
    },
    handler => {
      it('the answer redirects to the new address of the item', async () => {
        const made = await handler.request('/owners/1/cars', { method: 'POST', json: {} })
        expect([made.status, made.headers.get('location')]).toEqual([201, `${handler.base}/cars/1`])
        expect(made.headers.get('content-location')).toBe(`${handler.base}/cars/1`)
        const below = await handler.request('/owners/2/cars', { method: 'POST', json: {} })
        expect(below.headers.get('location')).toBe(`${handler.base}/owners/2/cars/2`)
      })
    },
  )
})

describe('an action that gives the item it acts on', () => {
  const photos = () =>
    defineCollection({
      name: 'photos',
      schema: z.object({ comment: z.string(), photo: blob() }),
      store: memoryStore(),
      blobs: memoryBlobs(),
      id: 'integer',
      actions: {
        look: { on: 'item', method: 'GET', run: ({ item }) => item },
        praise: { on: 'item', run: ({ update }) => update({ comment: 'fine' }) },
        first: {
          on: 'item',
          run: async ({ item, update }) => {
            await update({ comment: 'x' })
            return item
          },
        },
      },
    })

  eachHandler(
    async () => {
      const collection = photos()
      const api = defineApi({ collections: [collection] })
      const sent = { comment: 'a', photo_data: 'AAAA' }
      await Reflect.apply(api.collection('photos').create, undefined, [sent])
      return { api }
    },
    handler => {
      it.each([
        ['GET', 'look', 'a'],
        ['POST', 'praise', 'fine'],
        ['POST', 'first', 'a'],
      ])('%s %s: gives its contents by their addresses', async (method, action, comment) => {
        for (const headers of [{}, { 'idempotency-key': action }]) {
          const path = `/photos/1/${action}`
          if (action === 'first')
            await handler.request('/photos/1', { method: 'PATCH', json: { comment } })
          const { json } = await handler.request(path, { method, headers })
          expect(json).toMatchObject({ comment, photo_url: `${handler.base}/photos/1/photo` })
          expect(json).not.toHaveProperty('photo')
        }
      })
    },
  )
})
