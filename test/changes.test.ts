// What changes are answered with where the api says: the item itself.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/html.ts'
import { DEFAULT_FORMATS, defineApi, defineCollection, memoryStore } from '../src/index.ts'
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
  const api = defineApi({ collections: [cars], changes, formats: [...DEFAULT_FORMATS, html] })
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
