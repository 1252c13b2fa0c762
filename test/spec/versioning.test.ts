// Specification, "Versioning"; conventions, "Names and places".
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { example } from '../fixture.ts'
import { eachHandler } from '../handlers.ts'
import { openDatabase } from '../stores/sqlite.ts'

const accounts = () =>
  defineCollection({
    name: 'accounts',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
const cars = () =>
  defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })

const DEPRECATED = new Date('2024-01-01T00:00:00Z')
const SUNSET = new Date('2030-06-30T23:59:59Z')

function versions(policies: { baseUrl?: string; prefix?: string } = {}) {
  return defineApi({
    ...policies,
    versions: [
      { version: 1, collections: [cars()], deprecated: DEPRECATED, sunset: SUNSET },
      { version: 2, collections: [cars(), accounts()] },
      { version: 10, collections: [cars()], deprecated: DEPRECATED },
    ],
  })
}

describe('Versioning', () => {
  eachHandler(
    () => versions(),
    handler => {
      it('an error names the deprecation too, also without an operation', async () => {
        for (const path of [
          '/v1/cars?_method=TRACE',
          '/v1/cars?color=x&color[gt',
          '/v1/cars/x/y/z',
        ]) {
          const { status, headers } = await handler.request(path)
          const expected = path.endsWith('z') ? null : `@${DEPRECATED.getTime() / 1000}`
          expect([path, status >= 400, headers.get('deprecation')]).toEqual([path, true, expected])
        }
      })

      it.each([
        ['/cars', '/v2/cars'],
        ['/cars.xml', '/v2/cars'],
        ['/cars/1?fields=id', '/v2/cars'],
        ['/accounts', '/v2/accounts'],
        ['/nothing', undefined],
        ['/v2/nothing', undefined],
        ['/carz', '/v2/cars'],
        ['/v1/carz/1', '/v1/cars'],
        ['/v1/account', undefined],
        ['/v2/acconuts.json', '/v2/accounts'],
        ['/v2/cars/1/nothing', undefined],
      ])('a collection without its version, or misspelt: %s names %s', async (path, place) => {
        const { status, text } = await handler.request(path)
        expect(status).toBe(404)
        if (place) expect(text).toContain(`did you mean ${place}?`)
        else expect(text).not.toContain('did you mean')
      })

      it('{base_url}/v<number>/: each version has its own root', async () => {
        for (const path of ['/v2/', '/v2', '/v2.json']) {
          expect(await handler.request(path)).toMatchObject({
            status: 200,
            json: {
              url: `${handler.base}/v2/`,
              resources: {
                cars: { url: `${handler.base}/v2/cars` },
                accounts: { url: `${handler.base}/v2/accounts` },
              },
            },
          })
        }
        expect((await handler.request('/v1/')).json).toEqual({
          url: `${handler.base}/v1/`,
          resources: { cars: expect.objectContaining({ url: `${handler.base}/v1/cars` }) },
        })
      })

      it('{base_url}/: the newest version that is not deprecated, and the list of versions', async () => {
        expect((await handler.request('/')).json).toEqual({
          url: `${handler.base}/`,
          resources: {
            cars: expect.objectContaining({ url: `${handler.base}/v2/cars` }),
            accounts: expect.objectContaining({ url: `${handler.base}/v2/accounts` }),
          },
          versions: {
            v10: { url: `${handler.base}/v10/` },
            v2: { url: `${handler.base}/v2/` },
            v1: { url: `${handler.base}/v1/` },
          },
        })
      })

      it('a version is its own api: its items, its addresses', async () => {
        const made = await handler.request('/v2/cars', { method: 'POST', json: { color: 'red' } })
        expect(made.status).toBe(201)
        const location = made.headers.get('location') ?? ''
        expect(location.startsWith(`${handler.base}/v2/cars/`)).toBe(true)
        expect((await handler.request(location)).status).toBe(200)
        expect((await handler.request(location.replace('/v2/', '/v1/'))).status).toBe(404)
        const { headers } = await handler.request('/v2/cars?limit=1')
        for (const { href } of parseLink(headers.get('link') ?? ''))
          expect(href.startsWith(`${handler.base}/v2/cars?limit=1`)).toBe(true)
      })

      it.each(['/cars', '/v3/cars', '/v1/accounts', '/V2/cars', '/v02/cars', '/v2/v2/cars'])(
        'there is nothing at %s',
        async path => {
          expect((await handler.request(path)).status).toBe(404)
        },
      )

      it.each([
        ['GET', '/v1/', 200],
        ['GET', '/v1/cars', 200],
        ['HEAD', '/v1/cars', 200],
        ['GET', '/v1/cars/count', 200],
        ['GET', '/v1/cars/nobody', 404],
        ['GET', '/v1/cars?colr=1', 400],
        ['PUT', '/v1/cars', 405],
        ['OPTIONS', '/v1/cars', 200],
        ['POST', '/v1/cars', 201],
      ])('a deprecated version has Deprecation: %s %s (%d)', async (method, path, status) => {
        const answer = await handler.request(path, {
          method,
          ...(method === 'POST' && { json: { color: 'red' } }),
        })
        expect(answer.status).toBe(status)
        // RFC 9745: a structured date. RFC 8594: an HTTP date.
        expect(answer.headers.get('deprecation')).toBe('@1704067200')
        expect(answer.headers.get('sunset')).toBe('Sun, 30 Jun 2030 23:59:59 GMT')
        const links = parseLink(answer.headers.get('link') ?? '')
        expect(links.filter(({ rel }) => rel === 'successor-version')).toEqual([
          { rel: 'successor-version', href: `${handler.base}/v2/` },
        ])
      })

      it('a deprecated version without an end has no Sunset', async () => {
        const { headers } = await handler.request('/v10/cars')
        expect(headers.get('deprecation')).toBe('@1704067200')
        expect(headers.get('sunset')).toBeNull()
      })

      it.each(['/', '/v2/', '/v2/cars'])('other answers have no Deprecation: %s', async path => {
        const { headers } = await handler.request(path)
        expect(headers.get('deprecation')).toBeNull()
        expect(headers.get('sunset')).toBeNull()
        expect(headers.get('link') ?? '').not.toContain('successor-version')
      })
    },
    { once: true },
  )

  eachHandler(
    () => versions({ baseUrl: 'https://api.example/base', prefix: '/api' }),
    handler => {
      it('the successor is named by the public address', async () => {
        const { headers } = await handler.request('/api/v1/cars')
        const links = parseLink(headers.get('link') ?? '')
        expect(links.find(({ rel }) => rel === 'successor-version')?.href).toBe(
          'https://api.example/base/v2/',
        )
      })
    },
    { once: true },
  )

  eachHandler(
    () => example({ version: 3 }),
    handler => {
      it('an api of one version', async () => {
        const { json } = await handler.request('/')
        expect(json).toMatchObject({
          url: `${handler.base}/`,
          resources: { cars: { url: `${handler.base}/v3/cars` } },
          versions: { v3: { url: `${handler.base}/v3/` } },
        })
        expect((await handler.request('/v3/cars/count')).json).toEqual({ count: 0 })
      })
    },
    { once: true },
  )

  it.each([
    [
      'two of the same number',
      () =>
        defineApi({
          versions: [
            { version: 1, collections: [cars()] },
            { version: 1, collections: [cars()] },
          ],
        }),
    ],
    [
      'a number that is none',
      () => defineApi({ versions: [{ version: 1.5, collections: [cars()] }] }),
    ],
    ['zero', () => defineApi({ versions: [{ version: 0, collections: [cars()] }] })],
    ['none', () => defineApi({ versions: [] })],
  ])('an invalid declaration is a TypeError: %s', (_row, define) => {
    expect(define).toThrow(TypeError)
  })
})

describe('versions that share a store', () => {
  const stores = [
    ['memory', () => memoryStore()],
    ['SQLite', async () => sqlStore({ db: await openDatabase(), create: true })],
  ] as const
  const Door = z.object({ side: z.string() })
  const Old = z.object({
    color: z.string(),
    model: z.object({ name: z.string(), year: z.int() }),
    doors: z.array(Door),
  })
  const schemas = [
    ['plain', Old],
    ['cleaned', Old.extend({ color: z.string().trim() })],
    ['strict', z.strictObject(Old.shape)],
  ] as const
  const json = { 'content-type': 'application/json' }
  const changes: readonly [string, string, string, Record<string, string>, string][] = [
    ['a merge patch', 'PATCH', '', json, '{"color":"blue","model":{"name":"b"}}'],
    [
      'a JSON Patch',
      'PATCH',
      '',
      { 'content-type': 'application/json-patch+json' },
      '[{"op":"replace","path":"/color","value":"blue"},{"op":"replace","path":"/model/name","value":"b"},{"op":"replace","path":"/doors/0/side","value":"L"}]',
    ],
    [
      'a form',
      'POST',
      '',
      { 'content-type': 'application/x-www-form-urlencoded' },
      '_method=PATCH&color=blue&model.name=b',
    ],
    [
      'a PUT',
      'PUT',
      '',
      json,
      '{"color":"blue","model":{"name":"b","year":2020},"doors":[{"side":"l"}]}',
    ],
    ['an action', 'POST', '/paint', json, '{}'],
  ]
  for (const [store, makeStore] of stores) {
    for (const [kind, schema] of schemas) {
      it.each(changes)(
        `${store}, ${kind}: %s of one keeps what only the other declares`,
        async (_row, method, place, headers, body) => {
          const shared = await makeStore()
          const old = defineCollection({
            name: 'cars',
            schema,
            store: shared,
            id: 'integer',
            actions: {
              paint: {
                on: 'item',
                run: ({ update }) => update({ color: 'blue', model: { name: 'b' } }),
              },
            },
          })
          const next = defineCollection({
            name: 'cars',
            schema: Old.extend({
              locks: z.array(z.object({ side: z.string() })).optional(),
              tags: z.array(z.string()).default([]),
            }),
            store: shared,
            id: 'integer',
          })
          const api = defineApi({
            versions: [
              { version: 1, collections: [old] },
              { version: 2, collections: [next] },
            ],
          })
          await api.collection(next).create({
            color: 'red',
            model: { name: 'a', year: 2020 },
            doors: [{ side: 'l' }, { side: 'r' }],
            locks: [{ side: 'l' }],
            tags: ['x'],
          })

          const request = { method, headers, body, redirect: 'manual' } as const
          const answer = await api.fetch(new Request(`http://a.test/v1/cars/1${place}`, request))
          expect([200, 303]).toContain(answer.status)
          expect(await api.collection(next).read(1)).toMatchObject({
            color: 'blue',
            model: { name: 'b', year: 2020 },
            locks: [{ side: 'l' }],
            tags: ['x'],
          })
          await api.close()
        },
      )
    }
  }

  it('are a TypeError where their objects inside have other properties', () => {
    const store = memoryStore()
    defineCollection({ name: 'cars', schema: Old, store })
    const schema = Old.extend({ doors: z.array(Door.extend({ locked: z.boolean() })) })
    expect(() => defineCollection({ name: 'cars', schema, store })).toThrow(
      /^cars and cars share a store but not the values of doors: declare the same kind and/,
    )
  })
})
