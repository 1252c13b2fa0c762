// Specification, "What the service does": the root describes the resources.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, memoryStore } from '../../src/index.ts'
import { example } from '../fixture.ts'
import { eachHandler } from '../handlers.ts'
import { defineUntyped } from '../untyped.ts'

const NAMES = ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']

describe('What the service does', () => {
  eachHandler(
    () => example(),
    handler => {
      it('GET {base_url}/: an object with url and resources, each with its url', async () => {
        const { status, json } = await handler.request('/')
        expect(status).toBe(200)
        expect(json).toEqual({
          url: `${handler.base}/`,
          resources: Object.fromEntries(
            NAMES.map(name => [name, expect.objectContaining({ url: `${handler.base}/${name}` })]),
          ),
        })
      })

      it('the root and OPTIONS name what lies below: count, search, actions, sub-collections', async () => {
        const { json } = await handler.request('/')
        const { cars } = (json as { resources: Record<string, unknown> }).resources
        const at = `${handler.base}/cars`
        const actions = {
          count: { method: 'GET', url: `${at}/count` },
          search: { method: 'GET', url: `${at}/search` },
          buy: { method: 'POST', url: `${at}/{id}/buy` },
          cheapest: { method: 'GET', url: `${at}/cheapest` },
        }
        const methods = ['GET', 'POST']
        const resources = {
          options: { methods, url: `${at}/{id}/options` },
          cars_models: { methods, url: `${at}/{id}/cars_models` },
        }
        expect(cars).toEqual({ url: at, actions, resources })
        const below = async (path: string) =>
          (await handler.request(path, { method: 'OPTIONS' })).json
        expect(await below('/')).toMatchObject({ 'x-resources': { cars } })
        const named = { 'x-actions': actions, 'x-resources': resources }
        expect(await below('/cars')).toMatchObject(named)
        expect(await below('/cars/7')).toMatchObject({
          'x-actions': { buy: { method: 'POST', url: `${at}/7/buy` } },
          'x-resources': { options: { methods, url: `${at}/7/options` } },
        })
        expect(await below('/cars/7/options')).toMatchObject({
          'x-actions': { count: { method: 'GET', url: `${at}/7/options/count` } },
        })
        expect(await below('/cars/7/options')).not.toHaveProperty('x-resources')
      })

      it('every address of the root answers a list', async () => {
        const { json } = await handler.request('/')
        // The test before has shown the shape.
        const { resources } = json as { resources: Record<string, { url: string }> }
        for (const { url } of Object.values(resources)) {
          expect(await handler.request(url)).toMatchObject({ status: 200, text: '[]' })
        }
      })

      it.each(['cars', 'accounts', 'photos'])('illustrative collection: %s', async name => {
        expect(await handler.request(`/${name}`)).toMatchObject({ status: 200, text: '[]' })
      })

      it('HEAD {base_url}/: the headers of GET and no body', async () => {
        const head = await handler.request('/', { method: 'HEAD' })
        const get = await handler.request('/')
        expect(head.status).toBe(200)
        expect(head.text).toBe('')
        expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
        expect(head.headers.get('content-type')).toBe('application/json')
      })

      it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
        '%s {base_url}/: 405 with Allow',
        async method => {
          const answer = await handler.request('/', { method })
          expect(answer.status).toBe(405)
          expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
          expect(answer.json).toMatchObject({ errors: [{ code: 405, type: 'method_not_allowed' }] })
        },
      )

      it.each(['/nothing', '/cars/1/2/3', '/Cars', '/car'])(
        'a path that does not exist is 404 in the error shape: %s',
        async path => {
          const answer = await handler.request(path)
          expect(answer.status).toBe(404)
          expect(answer.json).toEqual({
            errors: [{ message: expect.any(String), code: 404, type: 'no_such_path' }],
          })
        },
      )
    },
    { once: true },
  )
})

it('the root leaves out what is for programs alone', async () => {
  const make = (name: string, more: object) =>
    defineUntyped({ name, schema: z.object({ a: z.string() }), store: memoryStore(), ...more })
  const run = () => ({})
  const collections = [
    make('outbox', { operations: [] }),
    make('logins', { operations: [], actions: { login: { on: 'collection', run } } }),
    make('cars', { operations: ['read'] }),
  ]
  const answer = await defineApi({ collections }).fetch(new Request('http://api.example/'))
  expect(Object.keys(Object(await answer.json()).resources)).toEqual(['logins', 'cars'])
})
