// What changes are answered with where the api says: the item itself.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { type Init, openHandler } from './handlers.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function serve(changes: 'redirect' | 'representation' | undefined) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    actions: {
      wash: { on: 'item', run: () => undefined },
      tidy: { on: 'collection', run: () => undefined },
    },
  })
  const api = defineApi({ collections: [cars], changes, pages: html })
  const { request } = await openHandler('fetch', api)
  await request('/cars', { method: 'POST', json: { color: 'red' } })
  return request
}

describe('changes', () => {
  const blue: Init = { json: { color: 'blue' } }
  test.each<['redirect' | 'representation' | undefined, string, string, Init, number]>([
    [undefined, 'PUT', '/cars/1', blue, 303],
    ['redirect', 'PATCH', '/cars/1', blue, 303],
    ['representation', 'PUT', '/cars/1', blue, 200],
    ['representation', 'PATCH', '/cars/1', blue, 200],
    ['representation', 'POST', '/cars/1/wash', { json: {} }, 200],
    ['representation', 'POST', '/cars/tidy', { json: {} }, 303],
    ['representation', 'POST', '/cars', blue, 201],
    ['representation', 'DELETE', '/cars/1', {}, 200],
    ['representation', 'PATCH', '/cars/1', { ...blue, headers: { prefer: 'return=minimal' } }, 204],
    ['representation', 'POST', '/cars/1', { headers: FORM, body: '_method=PUT&color=blue' }, 200],
    [
      'representation',
      'POST',
      '/cars/1',
      { headers: { ...FORM, accept: 'text/html' }, body: '_method=PUT&color=blue' },
      303,
    ],
  ])('%s: %s %s', async (changes, method, target, init, status) => {
    const request = await serve(changes)
    const answer = await request(target, { method, ...init })
    expect(answer.status).toBe(status)
    if (status !== 200 || method === 'DELETE') return
    expect(answer.json).toMatchObject({ id: 1 })
    expect(answer.headers.get('content-location')).toMatch(/\/cars\/1$/)
    expect(answer.headers.get('preference-applied')).toBeNull()
    const read = await request('/cars/1')
    expect(answer.headers.get('etag')).toBe(read.headers.get('etag'))
  })
})

describe('an action that returns an item', () => {
  const SECRET = 'open sesame'

  async function serveActions() {
    const failures: unknown[] = []
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ color: z.string(), code: z.string().default(SECRET) }),
      store: memoryStore(),
      fields: { code: 'writeOnly' },
      visible: principal => (principal ? {} : { color: { ne: 'hidden' } }),
      actions: {
        same: { on: 'item', run: ({ item }) => item },
        paint: {
          on: 'item',
          input: z.object({ color: z.string() }),
          run: ({ input, update }) => update(input),
        },
        twice: {
          on: 'item',
          transaction: true,
          run: async ({ update }) => {
            await update({ color: 'once' })
            return update({ color: 'twice' })
          },
        },
        copy: {
          on: 'item',
          output: 'item',
          run: ({ item, collection }) => collection().create({ color: `${item.color} again` }),
        },
        first: {
          on: 'collection',
          method: 'GET',
          output: 'item',
          run: ({ collection }) => collection().read(1),
        },
        unseen: {
          on: 'collection',
          output: 'item',
          run: ({ collection }) =>
            collection().create({ color: 'hidden' }, { principal: { id: 'program' } }),
        },
        // Only JavaScript can get this wrong.
        wrong: { on: 'collection', output: 'item', run: () => Object({ color: 'red' }) },
      },
    })
    const api = defineApi({
      collections: { cars },
      pages: html,
      onError: error => void failures.push(error),
    })
    const { request } = await openHandler('fetch', api)
    await request('/cars', { method: 'POST', json: { color: 'red' } })
    return { request, api, cars, failures }
  }

  test.each<[string, string, object, number, string]>([
    ['POST', '/cars/1/same', {}, 1, 'red'],
    ['POST', '/cars/1/paint', { color: 'blue' }, 1, 'blue'],
    ['POST', '/cars/1/twice', {}, 1, 'twice'],
    ['POST', '/cars/1/copy', {}, 2, 'red again'],
    ['GET', '/cars/first', {}, 1, 'red'],
  ])('%s %s is answered as it is everywhere', async (method, target, json, id, color) => {
    const { request } = await serveActions()
    const act = (extension: string, headers = {}) =>
      request(target + extension, method === 'GET' ? {} : { method, json, headers })
    const answer = await act('', { 'idempotency-key': '"k"' })
    const read = await request(`/cars/${id}`)
    expect([answer.status, answer.json]).toEqual([200, read.json])
    expect(answer.json).toMatchObject({ id, color })
    expect(answer.headers.get('etag')).toBe(read.headers.get('etag'))
    const location = answer.headers.get('content-location')
    expect(location).toBe(method === 'GET' ? null : `http://api.test/cars/${id}`)
    const again = await act('', { 'idempotency-key': '"k"' })
    expect([again.status, again.text]).toEqual([200, answer.text])
    expect(again.headers.get('etag')).toBe(answer.headers.get('etag'))
    const { text } = await act('.xml')
    expect(text).toMatch(/<car>.*<\/car>$/)
    // A browser is sent to the item, so that reloading does not send the form again.
    const sent = await act('.html')
    expect(sent.status).toBe(method === 'GET' ? 200 : 303)
    const to = sent.headers.get('location')
    const page = to === null ? sent : await request(new URL(to).pathname)
    expect(page.text).toContain(`<h1>${color}`)
    expect(answer.text + again.text + text).not.toMatch(/sesame/)
  })

  test('is not shown to a client that could not read the item', async () => {
    const { request, api } = await serveActions()
    const { status, headers } = await request('/cars/unseen', { method: 'POST', json: {} })
    expect([status, headers.get('location')]).toEqual([303, 'http://api.test/cars'])
    expect((await request('/cars/2')).status).toBe(404)
    const principal = { id: 'ann' }
    expect(await api.collection('cars').read(2, { principal })).toMatchObject({ color: 'hidden' })
  })

  test('is a 500 if it returns something else', async () => {
    const { request, failures } = await serveActions()
    expect((await request('/cars/wrong', { method: 'POST', json: {} })).status).toBe(500)
    expect(String(failures[0])).toMatch(/wrong has output: 'item', but gave no item/)
  })

  test('returns the item to programs', async () => {
    const { api, cars } = await serveActions()
    const copy = await api.collection(cars).copy(1)
    expect(await api.collection(cars).patch(copy, { color: 'green' })).toMatchObject({ id: 2 })
    expect(JSON.stringify(copy)).not.toMatch(/sesame/)
  })

  test('is described as the item', async () => {
    const { request } = await serveActions()
    const { post } = Object((await request('/cars/1/copy', { method: 'OPTIONS' })).json)
    const { schema } = post.responses[200].content['application/json']
    expect(Object.keys(schema.properties).sort()).toEqual([
      'color',
      'created_at',
      'id',
      'updated_at',
    ])
  })
})
