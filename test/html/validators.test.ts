// Pages and caches: a page contains more than its item, so its tag depends on the principal and on
// the declaration.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html, type Pages } from '../../src/html/index.ts'
import {
  defineApi,
  defineCollection,
  type Format,
  memoryStore,
  type Scheme,
} from '../../src/index.ts'
import { eachHandler, type OpenHandler } from '../handlers.ts'

/** Whoever says `Test ann` is ann; she may write, and create nothing. */
const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const id = /^Test (\w+)$/.exec(headers.authorization ?? '')?.[1]
    return id === undefined ? undefined : { id, scopes: ['write'] }
  },
}
const ANN = { authorization: 'Test ann' }
const PAGE = { accept: 'text/html' }

async function made(store = memoryStore({ clock: () => Date.parse('2024-03-01T12:00:00Z') })) {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store,
    id: 'integer',
    // The page of a list has no tag for who may create: its form has a key.
    access: { list: 'public', read: 'public', create: ['make'], patch: ['write'], wash: ['write'] },
    actions: { wash: { on: 'collection', run: () => undefined } },
  })
  const api = defineApi({
    collections: [cars],
    schemes: [scheme],
    pages: html,
  })
  await api.collection(cars).create({ color: 'red' })
  return Object.assign(api, { store })
}

const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag') ?? ''

eachHandler(made, (handler, api) => {
  describe.each(['/cars/1', '/cars', '/cars?limit=1'])('the page of %s', path => {
    const read = (headers: Record<string, string>, method = 'GET') =>
      handler.request(path, { method, headers: { ...PAGE, ...headers } })

    it('has another tag for another principal', async () => {
      const nobody = await read({})
      const ann = await read(ANN)
      expect(ann.text).not.toBe(nobody.text)
      expect(tagOf(ann)).not.toBe(tagOf(nobody))
      const again = await read({ ...ANN, 'if-none-match': tagOf(nobody) })
      expect([again.status, again.text]).toEqual([200, ann.text])
    })

    it('is 304 for the same bytes, with the headers of a 200', async () => {
      const first = await read(ANN)
      const again = await read({ ...ANN, 'if-none-match': tagOf(first) })
      expect([again.status, again.text, tagOf(again)]).toEqual([304, '', tagOf(first)])
      for (const name of ['vary', 'cache-control', 'link']) {
        expect(again.headers.get(name)).toBe(first.headers.get(name))
      }
      expect((await read({ ...ANN, 'if-match': tagOf(first) })).status).toBe(200)
      expect((await read({ ...ANN, 'if-match': '"other"' })).status).toBe(412)
    })

    it('has no Last-Modified', async () => {
      const { status, headers } = await read({
        'if-modified-since': 'Fri, 01 Mar 2030 12:00:00 GMT',
      })
      expect([status, headers.get('last-modified')]).toEqual([200, null])
    })
  })

  it('has another tag after another declaration', async () => {
    const before = tagOf(await handler.request('/cars/1', { headers: PAGE }))
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: api().store,
      id: 'integer',
      actions: { wash: { on: 'item', run: () => undefined } },
    })
    const headers = { ...PAGE, 'if-none-match': before }
    const { fetch } = defineApi({ collections: [cars], pages: html })
    const after = await fetch(new Request('http://api.test/cars/1', { headers }))
    expect([after.status, await after.text()]).toEqual([200, expect.stringContaining('wash')])
  })

  it('has the same tag for HEAD, and it works in If-Match of a write', async () => {
    const tag = await tagFor(handler)
    const head = await handler.request('/cars/1', { method: 'HEAD', headers: { ...PAGE, ...ANN } })
    expect([head.status, tagOf(head)]).toEqual([200, tag])
    const change = { method: 'PATCH', headers: { ...ANN, 'if-match': tag } }
    expect((await handler.request('/cars/1', { ...change, json: { color: 'blue' } })).status).toBe(
      200,
    )
    expect((await handler.request('/cars/1', { ...change, json: { color: 'red' } })).status).toBe(
      412,
    )
  })
})

test('a custom page has a tag of its text', async () => {
  const format: Format = { name: 'own', extensions: [], types: ['text/plain'], page: true }
  const own: Pages = { ...html, format, print: () => 'a' }
  const cars = defineCollection({ name: 'cars', schema: z.object({}), store: memoryStore() })
  const api = defineApi({ collections: [cars], pages: own })
  const { id } = await api.collection(cars).create({})
  const accept = { headers: { accept: 'text/plain' } }
  const answer = await api.fetch(new Request(`http://api.test/cars/${id}`, accept))
  const { headers } = answer
  const content = [await answer.text(), headers.get('content-length'), headers.get('etag')]
  expect(content).toEqual(['a', '1', expect.stringMatching(/^".+\.own\..+"$/)])
})

async function tagFor(handler: OpenHandler): Promise<string> {
  return tagOf(await handler.request('/cars/1', { headers: { ...PAGE, ...ANN } }))
}
