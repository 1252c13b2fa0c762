// Conventions, "Reading": stock admin clients' parameters through both handlers.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import {
  defineApi,
  defineCollection,
  type Item,
  memoryStore,
  openApiDocument,
} from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { createCheck } from '../answers.ts'
import { example, seed, steppingClock } from '../fixture.ts'
import { eachHandler } from '../handlers.ts'
import { checkedDocument, listObjections, type Part } from '../openapi.ts'

async function make() {
  const made = example({ dialects: [simpleRest, jsonServer], clock: steppingClock() })
  return { ...made, items: await seed(made, 40) }
}

const encode = (parameters: Record<string, unknown>) =>
  Object.entries(parameters)
    .map(
      ([name, value]) =>
        `${name}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join('&')

/** Each row: what the client sends, and the same in our own words. */
const SAME: readonly (readonly [string, string, string])[] = [
  [
    'simpleRest getList',
    encode({ sort: ['price', 'DESC'], range: [0, 9], filter: { color: 'red' } }),
    'sort=-price&offset=0&limit=10&color=red',
  ],
  [
    'simpleRest getList, second page',
    encode({ sort: ['id', 'ASC'], range: [10, 19], filter: {} }),
    'sort=id&offset=10&limit=10',
  ],
  ['simpleRest getMany', encode({ filter: { color: ['red', 'blue'] } }), 'color=red&color=blue'],
  [
    'simpleRest, a nested filter',
    encode({ filter: { model: { name: 'Clio' } } }),
    'model.name=Clio',
  ],
  ['simpleRest, an operator', encode({ filter: { 'price[gte]': 2000 } }), 'price[gte]=2000'],
  [
    'jsonServer getList',
    '_start=0&_end=10&_sort=price&_order=DESC&color=red',
    'sort=-price&offset=0&limit=10&color=red',
  ],
  ['jsonServer, a page by number', '_page=2&_limit=5&_sort=id', 'sort=id&offset=5&limit=5'],
  [
    'jsonServer, several sort keys',
    '_sort=color,price&_order=asc,desc&_end=40',
    'sort=color,-price&limit=40',
  ],
  [
    'jsonServer operators',
    'price_gte=1500&price_lte=2000&color_ne=red',
    'price[gte]=1500&price[lte]=2000&color[ne]=red',
  ],
  ['jsonServer _like', 'immatriculation_like=-01', 'immatriculation[like]=%25-01%25'],
  ['our own words', 'sort=-price&limit=3&color=red', 'sort=-price&limit=3&color=red'],
]

describe('Dialects', () => {
  eachHandler(
    make,
    (handler, made) => {
      it.each(SAME)('%s', async (_row, theirs, ours) => {
        const answer = await handler.request(`/cars?${theirs}`)
        const expected = await handler.request(`/cars?${ours}`)
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual(expected.json)
        expect((answer.json as Item[]).length).toBeGreaterThan(0)
        for (const name of ['content-range', 'x-result-count', 'x-total-count'])
          expect(answer.headers.get(name)).toBe(expected.headers.get(name))
      })

      it('what the clients look for: Content-Range ends with the total, X-Total-Count is it', async () => {
        const { headers } = await handler.request(`/cars?${encode({ range: [0, 4], filter: {} })}`)
        expect(headers.get('content-range')?.split('/').pop()).toBe('40')
        expect(headers.get('x-total-count')).toBe('40')
        expect(headers.get('access-control-expose-headers')).toBe('*')
      })

      it('HEAD has X-Total-Count too', async () => {
        const { headers } = await handler.request('/cars', { method: 'HEAD' })
        expect(headers.get('x-total-count')).toBe('40')
      })

      it('links go on in our words and keep the filter', async () => {
        const { headers } = await handler.request('/cars?_start=0&_end=2&_sort=price&color_ne=red')
        const next = parseLink(headers.get('link') ?? '').find(({ rel }) => rel === 'next')?.href
        const page = await handler.request(next ?? '')
        const all = await handler.request('/cars?sort=price&color[ne]=red')
        expect(page.json).toEqual((all.json as Item[]).slice(2, 4))
      })

      it.each([
        ['sort=["price"', 'sort'],
        ['range=[9,0]', 'range'],
        ['filter={"id":[]}', 'filter'],
        ['_start=x', '_start'],
        ['_page=1&_page=2', '_page'],
      ])('an invalid parameter is a 400 that names it as it was sent: %s', async (query, field) => {
        const answer = await handler.request(`/cars?${encodeURI(query)}`)
        expect(answer).toMatchObject({ status: 400, json: { errors: [{ field }] } })
      })

      it.each([
        ['simpleRest getMany', (ids: string[]) => encode({ filter: { id: ids } })],
        ['jsonServer getMany', (ids: string[]) => ids.map(id => `id=${id}`).join('&')],
      ])('%s gives every item that is asked for, more than a page by default', async (_, query) => {
        const ids = made().items.map(({ id }) => String(id))
        const answer = await handler.request(`/cars?${query(ids)}`)
        expect((answer.json as Item[]).map(({ id }) => id).sort()).toEqual(ids.sort())
        const many = await handler.request(`/cars?${query([...ids, ...ids, ...ids])}`)
        expect(many).toMatchObject({ status: 400, json: { errors: [{ field: 'id' }] } })
      })

      it.each(['q=AA-01', encode({ filter: { q: 'AA-01' } })])('%s searches', async query => {
        const answer = await handler.request(`/cars?${query}`)
        const expected = await handler.request('/cars/search?q=AA-01')
        expect(answer).toMatchObject({ status: 200, json: expected.json })
        expect((answer.json as Item[]).length).toBeGreaterThan(0)
        expect((answer.json as Item[]).length).toBeLessThan(25)
      })

      it('an unknown field is 400 as in our words', async () => {
        const answer = await handler.request(`/cars?${encode({ filter: { colr: 'red' } })}`)
        expect(answer).toMatchObject({ status: 400, json: { errors: [{ type: 'unknown_field' }] } })
        const { message, errors } = answer.json as Record<string, { message: string }[]>
        expect(message).toBe(errors?.[0]?.message)
      })

      it('OPTIONS lists q where it is taken', async () => {
        for (const path of ['/cars', '/cars/count', '/cars/search']) {
          const options = await handler.request(path, { method: 'OPTIONS' })
          expect(options.text).toContain('"name":"q"')
          expect((await handler.request(`${path}?q=red`)).status).toBe(200)
        }
        expect((await handler.request('/options?q=red')).status).toBe(400)
        expect((await handler.request('/options', { method: 'OPTIONS' })).text).not.toContain('"q"')
      })

      it('a POST with If-None-Match: * creates', async () => {
        const answer = await handler.request('/cars', {
          method: 'POST',
          headers: { 'if-none-match': '*' },
          json: { immatriculation: 'new', color: 'red' },
        })
        expect(answer.status).toBe(201)
        await handler.request(answer.headers.get('location') ?? '', { method: 'DELETE' })
        expect(made().items).toHaveLength(40)
      })
    },
    { once: true },
  )

  eachHandler(
    make,
    handler => {
      it.each([
        '_start=0&_end=10&_sort=price&_order=DESC&price_gte=1500',
        encode({ sort: ['price', 'DESC'], range: [0, 9], filter: { 'price[gte]': 1500 } }),
      ])('every link of a page leads on: %s', async query => {
        const headers = { accept: 'text/html' }
        const { text } = await handler.request(`/cars?${query}`, { headers })
        const links = [...text.matchAll(/href="([^"]*\?[^"]*)"/g)]
        expect(links.length).toBeGreaterThan(10)
        for (const [, href = ''] of links) {
          const { status } = await handler.request(href.replaceAll('&amp;', '&'), { headers })
          expect([href, status]).toEqual([href, 200])
        }
      })
    },
    { once: true },
  )

  eachHandler(
    () => {
      const find = {
        on: 'collection',
        method: 'GET',
        input: z.object({
          price_gte: z.number(),
          range: z.string(),
          filter: z.string(),
          _page: z.string(),
        }),
        run: ({ input }: { input: unknown }) => input,
      } as const
      const cars = defineCollection({
        name: 'cars',
        schema: z.object({ price: z.number() }),
        store: memoryStore(),
        actions: { find },
      })
      return defineApi({ collections: [cars], dialects: [simpleRest, jsonServer] })
    },
    handler => {
      it('the input of an action is no list parameter', async () => {
        const input = { price_gte: 3, range: '[0,1]', filter: '{}', _page: '2' }
        const sent = encode({ ...input })
        expect(await handler.request(`/cars/find?${sent}`)).toMatchObject({
          status: 200,
          json: input,
        })
      })
    },
    { once: true },
  )

  eachHandler(
    () => example(),
    handler => {
      it.each(['_start=0&_end=5', 'range=[0,4]', 'sort=["price","ASC"]', 'filter={}'])(
        'without the dialects their parameters are unknown: %s',
        async query => {
          expect((await handler.request(`/cars?${encodeURI(query)}`)).status).toBe(400)
        },
      )

      it('and X-Total-Count is not there', async () => {
        expect((await handler.request('/cars')).headers.get('x-total-count')).toBeNull()
        expect((await handler.request('/cars?colr=red')).json).not.toHaveProperty('message')
        const options = await handler.request('/cars', { method: 'OPTIONS' })
        expect(options.text).not.toContain('"name":"q"')
      })
    },
    { once: true },
  )
})

/** What react-admin reads of an answer that is refused (ra-core, `useCreateController` and `useEditController`). */
describe("simpleRest({ errors: 'byField' })", () => {
  const cars = () =>
    defineCollection({
      name: 'cars',
      schema: z.object({
        plate: z.string().min(3),
        color: z.enum(['red', 'blue']),
        model: z.object({ name: z.string().min(1) }).optional(),
      }),
      store: memoryStore(),
      unique: ['plate'],
      id: 'integer',
    })
  const build = (dialects = [simpleRest({ errors: 'byField' })]) =>
    defineApi({ collections: [cars()], dialects })

  eachHandler(
    () => ({ api: build() }),
    handler => {
      const post = (json: object, headers = {}) =>
        handler.request('/cars', { method: 'POST', json, headers })

      it('a refused create names the message of each field that was sent', async () => {
        const answer = await post({ plate: 'A', color: 'pink', model: { name: '' } })
        expect(answer.status).toBe(400)
        const { message, errors } = answer.json as { message: string; errors: object }
        expect(errors).toEqual({
          plate: message,
          color: 'color must be one of red, blue',
          'model.name': expect.any(String),
        })
        expect((await post({ color: 'red' })).json).toMatchObject({
          errors: { plate: 'plate is required', root: { serverError: 'plate is required' } },
        })
      })

      it('a conflict names its field, else the whole', async () => {
        const { json } = await post({ plate: 'AAA', color: 'red' })
        const { id } = json as { id: number }
        await post({ plate: 'BBB', color: 'red' })
        const put = (plate: string, headers = {}) =>
          handler.request(`/cars/${id}`, { method: 'PUT', json: { plate, color: 'red' }, headers })
        const taken = await put('BBB')
        expect(taken).toMatchObject({
          status: 409,
          json: { errors: { plate: expect.any(String) } },
        })
        expect(await put('CCC', { 'if-match': '"other"' })).toMatchObject({
          status: 412,
          json: {
            message: expect.stringContaining('Read it again'),
            errors: {
              root: { serverError: expect.stringContaining('Read it again') },
            },
          },
        })
        expect(await put('CCC')).toMatchObject({ status: 303 })
      })

      it('other errors are of the whole; other formats and problem details have the list', async () => {
        const root = { errors: { root: { serverError: expect.any(String) } } }
        expect(await handler.request('/cars/99')).toMatchObject({ status: 404, json: root })
        expect(await handler.request('/cars?colour=red')).toMatchObject({ status: 400, json: root })
        const broken = {
          method: 'POST',
          body: '{',
          headers: { 'content-type': 'application/json' },
        }
        expect(await handler.request('/cars', broken)).toMatchObject({ status: 400, json: root })
        const problem = await post({ plate: 'A' }, { accept: 'application/problem+json' })
        expect(problem.text).toContain('"errors":[{"message"')
        const xml = await post({ plate: 'A' }, { accept: 'application/xml' })
        expect(xml.text).toContain('<field>plate</field>')
      })
    },
    { once: true },
  )

  it('is off by default', async () => {
    const init = { method: 'POST', body: '{"plate":"A"}', headers: JSON_TYPE }
    const answer = await build([simpleRest]).fetch(new Request('http://api.test/cars', init))
    expect(await answer.json()).toMatchObject({ errors: [{ field: 'plate' }, { field: 'color' }] })
  })

  it('the document says so, and the answers are as it says', async () => {
    const api = build()
    const document = openApiDocument(api) as unknown as Part // JSON is made of such parts
    expect(await listObjections(checkedDocument(document))).toEqual([])
    const check = createCheck([document])
    for (const body of ['{"plate":"A"}', '{"plate":"A","color":"red"}', '{']) {
      const init = { method: 'POST', body, headers: JSON_TYPE }
      const answer = await api.fetch(new Request('http://api.test/cars', init))
      const { status, headers } = answer
      const exchange = { method: 'POST', target: '/cars', status, headers }
      const text = await answer.text()
      expect(check({ ...exchange, text })).toBeUndefined()
      expect(check({ ...exchange, text: '{"message":"","errors":[]}' })).toContain('must be object')
    }
  })
})

const JSON_TYPE = { 'content-type': 'application/json' }
