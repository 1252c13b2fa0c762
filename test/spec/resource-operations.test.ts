// Specification, "Resource operations": each row of its table, and what the conventions say of writing.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  type Item,
  memoryStore,
  type Operation,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { carValues, example, seed } from '../fixture.ts'
import { type Answer, eachHandler, type Init, listen, type OpenHandler } from '../handlers.ts'
import { openDatabase } from '../stores/sqlite.ts'

const FORM = 'application/x-www-form-urlencoded'
const MERGE = 'application/merge-patch+json'
const PATCH = 'application/json-patch+json'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The api with two cars. */
async function withCars() {
  const made = example()
  const [clio, zoe] = await seed(made, 2)
  return { ...made, clio: clio as Item, zoe: zoe as Item } // seed() gives as many as were asked for
}

function item(answer: Answer): Item {
  return answer.json as Item // a test that reads members of anything else fails
}

function form(text: string, headers: Record<string, string> = {}): Init {
  return { method: 'POST', body: text, headers: { 'content-type': FORM, ...headers } }
}

describe('POST /<collection>', () => {
  eachHandler(
    () => example(),
    handler => {
      it('201: redirect to the created resource, with the item as the body', async () => {
        const values = carValues(0)
        const answer = await handler.request('/cars', { method: 'POST', json: values })
        expect(answer.status).toBe(201)
        const made = item(answer)
        expect(made).toEqual({
          ...values,
          sold_to: null,
          id: expect.stringMatching(UUID),
          created_at: expect.stringMatching(DATE_TIME),
          updated_at: made.created_at,
        })
        const location = `${handler.base}/cars/${made.id}`
        expect(answer.headers.get('location')).toBe(location)
        expect(answer.headers.get('content-location')).toBe(location)
        expect(answer.headers.get('content-type')).toBe('application/json')
        expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/)
        expect(answer.headers.get('vary')).toMatch(/\bPrefer\b/)
        expect(answer.headers.get('vary')).toMatch(/\bAccept\b/)
        const read = await handler.request(location)
        expect(read).toMatchObject({ status: 200, text: answer.text })
        expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
      })

      it('defaults are filled in', async () => {
        const answer = await handler.request('/cars', {
          method: 'POST',
          json: { immatriculation: 'A', color: 'red' },
        })
        expect(item(answer)).toMatchObject({ doors: 5, tags: [], sold_to: null })
        expect(item(answer)).not.toHaveProperty('price')
      })

      it('If-None-Match: * creates', async () => {
        const answer = await handler.request('/models', {
          method: 'POST',
          json: { name: 'Clio' },
          headers: { 'if-none-match': '*' },
        })
        expect(answer.status).toBe(201)
      })

      it('If-Match of a tag creates nothing: a collection has none', async () => {
        const count = async () => (await handler.request('/models/count')).json
        const before = await count()
        const post = (tag: string) =>
          handler.request('/models', {
            method: 'POST',
            json: { name: 'Clio' },
            headers: { 'if-match': tag },
          })
        expect(await post('"a"')).toMatchObject({
          status: 412,
          json: { errors: [{ field: 'if-match', type: 'precondition_failed' }] },
        })
        expect(await count()).toEqual(before)
        expect((await post('*')).status).toBe(201)
      })

      it('counted ids are whole numbers from 1', async () => {
        for (const id of [1, 2]) {
          const answer = await handler.request('/models', {
            method: 'POST',
            json: { name: 'Clio' },
          })
          expect(answer).toMatchObject({ status: 201, json: { id } })
          expect(answer.headers.get('location')).toBe(`${handler.base}/models/${id}`)
        }
      })

      it('an id that clients choose', async () => {
        const json = { id: 'ann', name: 'Ann' }
        const answer = await handler.request('/accounts', { method: 'POST', json })
        expect(answer).toMatchObject({ status: 201, json })
        expect(answer.headers.get('location')).toBe(`${handler.base}/accounts/ann`)
        const again = await handler.request('/accounts', { method: 'POST', json })
        expect(again).toMatchObject({
          status: 409,
          json: { errors: [{ code: 409, field: 'id', type: 'not_unique' }] },
        })
      })

      const ids: readonly [id: string, status: number, path?: string][] = [
        ['count', 400],
        ['', 400],
        ['.', 400],
        ['..', 400],
        ['a/b', 400],
        ['a\\b', 400],
        ['a\nb', 400],
        ['x'.repeat(256), 400],
        ['x'.repeat(255), 201, 'x'.repeat(255)],
        ['a b', 201, 'a%20b'],
        ['é?#%', 201, '%C3%A9%3F%23%25'],
        ['report.json', 201, 'report%2Ejson'],
        ['report.2024', 201, 'report.2024'],
        ['COUNT', 201, 'COUNT'],
      ]
      for (const [id, status, path] of ids) {
        it(`an id ${JSON.stringify(id.slice(0, 20))} of ${id.length}: ${status}`, async () => {
          const answer = await handler.request('/accounts', {
            method: 'POST',
            json: { id, name: 'Ann' },
          })
          expect(answer.status).toBe(status)
          if (path === undefined)
            expect(answer.json).toMatchObject({ errors: [{ field: 'id', type: 'invalid_id' }] })
          else {
            expect(answer.headers.get('location')).toBe(`${handler.base}/accounts/${path}`)
            expect(await handler.request(`/accounts/${path}`)).toMatchObject({
              status: 200,
              json: { id },
            })
          }
        })
      }

      const refused: readonly [name: string, json: unknown, errors: readonly object[]][] = [
        [
          'an id that the server makes',
          { ...carValues(0), id: 'mine' },
          [{ field: 'id', type: 'immutable_field' }],
        ],
        [
          'unknown fields',
          { ...carValues(0), colour: 'red' },
          [{ field: 'colour', type: 'unknown_field' }],
        ],
        [
          'several issues at once',
          { color: 'pink', doors: 'x' },
          [{ field: 'immatriculation', type: 'required' }, { field: 'color' }, { field: 'doors' }],
        ],
        ['a list of another', [[carValues(0)]], [{ field: '0', type: 'invalid_type' }]],
      ]
      for (const [name, json, errors] of refused) {
        it(`400 for ${name}`, async () => {
          const answer = await handler.request('/cars', { method: 'POST', json })
          expect(answer).toMatchObject({
            status: 400,
            json: { errors: errors.map(each => ({ ...each, code: 400 })) },
          })
          expect(await handler.request('/cars/count')).toMatchObject({ json: { count: 0 } })
        })
      }

      it('400 without a body', async () => {
        const answer = await handler.request('/cars', { method: 'POST' })
        expect(answer).toMatchObject({ status: 400, json: { errors: [{ type: 'missing_body' }] } })
      })

      it('the dates that the server sets are ignored', async () => {
        const dates = { created_at: '1999-01-01T00:00:00Z', updated_at: 'nonsense' }
        const answer = await handler.request('/models', {
          method: 'POST',
          json: { name: 'x', ...dates },
        })
        expect(answer.status).toBe(201)
        expect(item(answer).created_at).not.toMatch(/^1999/)
        expect(item(answer).updated_at).toMatch(DATE_TIME)
      })

      it('409 where a unique field has the value already', async () => {
        await handler.request('/cars', { method: 'POST', json: carValues(0) })
        const answer = await handler.request('/cars', { method: 'POST', json: carValues(0) })
        expect(answer).toMatchObject({
          status: 409,
          json: { errors: [{ code: 409, field: 'immatriculation', type: 'not_unique' }] },
        })
      })
    },
  )
})

describe('PUT /<collection>/<id>', () => {
  eachHandler(withCars, (handler, made) => {
    const path = () => `/cars/${made().clio.id}`

    it('303: redirect to the updated resource', async () => {
      const json = { immatriculation: 'NEW', color: 'blue' }
      const answer = await handler.request(path(), { method: 'PUT', json })
      expect(answer).toMatchObject({ status: 303, text: '' })
      expect(answer.headers.get('location')).toBe(handler.base + path())
      const after = item(await handler.request(path()))
      const { id, created_at } = made().clio
      // What was not sent is removed or takes its default.
      expect(after).toEqual({
        id,
        ...json,
        doors: 5,
        tags: [],
        sold_to: null,
        created_at,
        updated_at: expect.any(String),
      })
    })

    it('accepts what GET answered as it is', async () => {
      const before = await handler.request(path())
      expect(await handler.request(path(), { method: 'PUT', json: before.json })).toMatchObject({
        status: 303,
      })
      const after = await handler.request(path())
      expect({ ...item(after), updated_at: null }).toEqual({ ...item(before), updated_at: null })
      expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
    })

    it('400 where a required field is missing, and nothing changes', async () => {
      const before = await handler.request(path())
      const answer = await handler.request(path(), { method: 'PUT', json: { color: 'red' } })
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'immatriculation', type: 'required' }] },
      })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it('400 for another id', async () => {
      const json = { ...carValues(9), id: String(made().zoe.id) }
      const answer = await handler.request(path(), { method: 'PUT', json })
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'id', type: 'immutable_field' }] },
      })
    })

    it('404 for a missing item: it does not create', async () => {
      const answer = await handler.request('/cars/nothing', { method: 'PUT', json: carValues(9) })
      expect(answer).toMatchObject({
        status: 404,
        json: { errors: [{ code: 404, type: 'not_found' }] },
      })
      expect(await handler.request('/cars/count')).toMatchObject({ json: { count: 2 } })
    })

    it('409 where a unique field has the value already', async () => {
      const answer = await handler.request(path(), { method: 'PUT', json: carValues(1) })
      expect(answer).toMatchObject({
        status: 409,
        json: { errors: [{ field: 'immatriculation' }] },
      })
    })

    it('creates if the collection says so: 201', async () => {
      const json = { name: 'Bob' }
      const answer = await handler.request('/accounts/bob', { method: 'PUT', json })
      expect(answer).toMatchObject({ status: 201, json: { id: 'bob', name: 'Bob' } })
      expect(answer.headers.get('location')).toBe(`${handler.base}/accounts/bob`)
      expect(await handler.request('/accounts/bob', { method: 'PUT', json })).toMatchObject({
        status: 303,
      })
      expect(await handler.request('/accounts/count', { method: 'PUT', json })).toMatchObject({
        status: 405,
      })
    })

    it('with If-None-Match: * only creates', async () => {
      const init = { method: 'PUT', json: { name: 'Bob' }, headers: { 'if-none-match': '*' } }
      expect(await handler.request('/accounts/bob', init)).toMatchObject({ status: 201 })
      expect(await handler.request('/accounts/bob', init)).toMatchObject({ status: 412 })
    })

    it('with If-Match only updates', async () => {
      const init = { method: 'PUT', json: { name: 'Bob' }, headers: { 'if-match': '*' } }
      expect(await handler.request('/accounts/bob', init)).toMatchObject({ status: 412 })
      expect(await handler.request('/accounts/bob')).toMatchObject({ status: 404 })
    })
  })
})

describe('PATCH /<collection>/<id>', () => {
  eachHandler(withCars, (handler, made) => {
    const path = () => `/cars/${made().clio.id}`
    const patch = (type: string, json: unknown, headers = {}) =>
      handler.request(path(), {
        method: 'PATCH',
        json,
        headers: { 'content-type': type, ...headers },
      })

    it('303: redirect to the updated resource', async () => {
      const answer = await patch('application/json', { color: 'green' })
      expect(answer).toMatchObject({ status: 303, text: '' })
      expect(answer.headers.get('location')).toBe(handler.base + path())
      const { updated_at } = item(await handler.request(path()))
      expect(item(await handler.request(path()))).toEqual({
        ...made().clio,
        color: 'green',
        updated_at,
      })
    })

    for (const type of ['application/json', MERGE, 'application/vnd.acme.car+json']) {
      it(`${type} is a merge patch (RFC 7396)`, async () => {
        expect(
          await patch(type, { model: { brand: null }, price: null, tags: ['x'] }),
        ).toMatchObject({ status: 303 })
        const { price: _price, ...rest } = made().clio
        expect(item(await handler.request(path()))).toEqual({
          ...rest,
          model: { name: 'Clio' },
          tags: ['x'],
          updated_at: expect.any(String),
        })
      })
    }

    it(`${PATCH} is a JSON Patch (RFC 6902)`, async () => {
      const operations = [
        { op: 'test', path: '/color', value: 'red' },
        { op: 'replace', path: '/model/name', value: 'Clio II' },
        { op: 'add', path: '/tags/-', value: 'new' },
        { op: 'remove', path: '/price' },
      ]
      expect(await patch(PATCH, operations)).toMatchObject({ status: 303 })
      const { price: _price, ...rest } = made().clio
      expect(item(await handler.request(path()))).toEqual({
        ...rest,
        model: { name: 'Clio II', brand: 'Renault' },
        tags: ['family', 'sale', 'new'],
        updated_at: expect.any(String),
      })
    })

    it(`${FORM} is a merge patch too`, async () => {
      const init = {
        method: 'PATCH',
        body: 'model[name]=Clio+II&doors=3',
        headers: { 'content-type': FORM },
      }
      expect(await handler.request(path(), init)).toMatchObject({ status: 303 })
      expect(item(await handler.request(path()))).toMatchObject({
        model: { name: 'Clio II', brand: 'Renault' },
        doors: 3,
      })
    })

    const unchanged: readonly [type: string, json: unknown][] = [
      ['application/json', {}],
      [MERGE, {}],
      [MERGE, { model: {} }],
      [MERGE, { color: 'red' }],
      [MERGE, { nonsense: null }],
      [PATCH, []],
      [PATCH, [{ op: 'replace', path: '/color', value: 'red' }]],
    ]
    for (const [type, json] of unchanged) {
      it(`${type} ${JSON.stringify(json)} leaves the item byte-identical`, async () => {
        const before = await handler.request(path())
        expect(await patch(type, json)).toMatchObject({ status: 303 })
        const after = await handler.request(path())
        expect(after.text).toBe(before.text)
        expect(after.headers.get('etag')).toBe(before.headers.get('etag'))
      })
    }

    const refused: readonly [type: string, json: unknown, status: number, error: object][] = [
      [MERGE, { color: 'pink' }, 400, { field: 'color' }],
      [MERGE, { color: null }, 400, { field: 'color', type: 'required' }],
      [MERGE, { colour: 'red' }, 400, { field: 'colour', type: 'unknown_field' }],
      [MERGE, { id: 'other' }, 400, { field: 'id', type: 'immutable_field' }],
      [MERGE, { id: null }, 400, { field: 'id', type: 'immutable_field' }],
      [PATCH, [{ op: 'remove', path: '/id' }], 400, { field: 'id', type: 'immutable_field' }],
      [MERGE, [], 400, { type: 'invalid_type' }],
      [MERGE, null, 400, { type: 'invalid_type' }],
      [PATCH, [{ op: 'test', path: '/color', value: 'blue' }], 409, { type: 'patch_conflict' }],
      [PATCH, [{ op: 'remove', path: '/missing' }], 409, { type: 'patch_conflict' }],
      [PATCH, [{ op: 'fly', path: '/color' }], 400, { type: 'invalid_patch' }],
      [PATCH, { op: 'test' }, 400, { type: 'invalid_patch' }],
      [PATCH, [{ op: 'remove', path: '' }], 400, { type: 'invalid_type' }],
      [PATCH, [{ op: 'add', path: '/model/__proto__', value: {} }], 400, { type: 'invalid_value' }],
      ['text/plain', 'x', 415, { field: 'content-type' }],
    ]
    for (const [type, json, status, error] of refused) {
      it(`${status} for ${type} ${JSON.stringify(json)}, and nothing changes`, async () => {
        const before = await handler.request(path())
        const answer = await patch(type, json)
        expect(answer).toMatchObject({ status, json: { errors: [{ code: status, ...error }] } })
        expect((await handler.request(path())).text).toBe(before.text)
      })
    }

    it('the dates that the server sets are ignored', async () => {
      const before = await handler.request(path())
      expect(await patch(MERGE, { created_at: 'x', updated_at: 'y' })).toMatchObject({
        status: 303,
      })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it('400 for a PUT of a part, and nothing changes', async () => {
      const before = await handler.request(path())
      const put = { method: 'PUT', json: { immatriculation: 'x', color: 'red' } }
      const headers = { 'content-range': 'bytes 0-1/10' }
      expect(await handler.request(path(), { ...put, headers })).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'content-range' }] },
      })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it('404 where there is none', async () => {
      const answer = await handler.request('/cars/nothing', {
        method: 'PATCH',
        json: { color: 'red' },
      })
      expect(answer.status).toBe(404)
    })
  })
})

describe('DELETE /<collection>/<id>', () => {
  eachHandler(withCars, (handler, made) => {
    it('200 with the last representation', async () => {
      const path = `/cars/${made().clio.id}`
      const before = await handler.request(path)
      const answer = await handler.request(path, { method: 'DELETE' })
      expect(answer).toMatchObject({ status: 200, text: before.text })
      expect(answer.headers.get('etag')).toBeNull()
      expect(await handler.request(path)).toMatchObject({ status: 404 })
      expect(await handler.request(path, { method: 'DELETE' })).toMatchObject({ status: 404 })
      expect(await handler.request('/cars/count')).toMatchObject({ json: { count: 1 } })
    })

    it('a body and its type are of no interest', async () => {
      const path = `/cars/${made().clio.id}`
      const init = { method: 'DELETE', body: '<x>', headers: { 'content-type': 'nonsense/x' } }
      expect(await handler.request(path, init)).toMatchObject({ status: 200 })
    })

    it('404 where there is none', async () => {
      expect(await handler.request('/cars/nothing', { method: 'DELETE' })).toMatchObject({
        status: 404,
      })
      expect(await handler.request('/models/0', { method: 'DELETE' })).toMatchObject({
        status: 404,
      })
    })
  })
})

describe('Prefer: return (RFC 7240)', () => {
  const body = { immatriculation: 'P', color: 'red' }
  const cases: readonly [
    method: string,
    prefer: string,
    status: number,
    has: 'item' | 'nothing',
    applied: string | null,
  ][] = [
    ['POST', 'return=representation', 201, 'item', 'return=representation'],
    ['POST', 'return=minimal', 201, 'nothing', 'return=minimal'],
    ['PUT', 'return=representation', 200, 'item', 'return=representation'],
    ['PUT', 'return=minimal', 204, 'nothing', 'return=minimal'],
    ['PATCH', 'return=representation', 200, 'item', 'return=representation'],
    ['PATCH', 'return=minimal', 204, 'nothing', 'return=minimal'],
    ['PATCH', 'respond-async, return=minimal', 204, 'nothing', 'return=minimal'],
    ['DELETE', 'return=representation', 200, 'item', 'return=representation'],
    ['DELETE', 'return=minimal', 204, 'nothing', 'return=minimal'],
    ['PUT', 'return=nonsense', 303, 'nothing', null],
    ['DELETE', 'return=nonsense', 200, 'item', null],
  ]
  eachHandler(withCars, (handler, made) => {
    for (const [method, prefer, status, has, applied] of cases) {
      it(`${method} with ${prefer}: ${status}`, async () => {
        const path = method === 'POST' ? '/cars' : `/cars/${made().clio.id}`
        const sent = method === 'DELETE' ? {} : { json: body }
        const answer = await handler.request(path, { method, headers: { prefer }, ...sent })
        expect(answer.status).toBe(status)
        expect(answer.headers.get('preference-applied')).toBe(applied)
        expect(answer.headers.get('vary')).toMatch(/\bPrefer\b/)
        if (has === 'nothing') expect(answer.text).toBe('')
        else expect(item(answer)).toHaveProperty('created_at')
        if (method === 'POST') expect(answer.headers.get('location')).toMatch(/\/cars\/[^/]+$/)
        if (method === 'POST' && has === 'nothing')
          expect(answer.headers.get('content-location')).toBeNull()
        if (status === 200 && method !== 'DELETE') {
          expect(answer.headers.get('content-location')).toBe(handler.base + path)
          expect(answer.headers.get('etag')).toBe((await handler.request(path)).headers.get('etag'))
        }
      })
    }
  })
})

describe('a parent that items may lack', () => {
  const detach: readonly [type: string, body: string][] = [
    [MERGE, '{"car_id":null}'],
    [MERGE, '{"car_id":null,"label":"b"}'],
    [PATCH, '[{"op":"remove","path":"/car_id"}]'],
    [PATCH, '[{"op":"replace","path":"/car_id","value":null}]'],
  ]
  it.each(detach)('is not taken away below it, and is elsewhere: %s %s', async (type, body) => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      id: 'integer',
    })
    const options = defineCollection({
      name: 'options',
      schema: z.object({ car_id: z.int().nullish(), label: z.string() }),
      store: memoryStore(),
      id: 'integer',
      parents: { car_id: 'cars' },
    })
    const api = defineApi({ collections: [cars, options] })
    await api.collection(cars).create({ color: 'red' })
    await api.collection(options).create({ car_id: 1, label: 'a' })
    const patch = (path: string) =>
      api.fetch(
        new Request(`http://a.test${path}`, {
          method: 'PATCH',
          headers: { 'content-type': type, prefer: 'return=representation' },
          body,
        }),
      )
    const refused = await patch('/cars/1/options/1')
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { errors: [{ field: 'car_id', type: 'conflicting_parent' }] },
    ])
    expect(await api.collection(options).read(1)).toMatchObject({ car_id: 1, label: 'a' })
    const detached = await patch('/options/1')
    expect(detached.status).toBe(200)
    expect((await api.collection(options).read(1)).car_id ?? null).toBeNull()
  })
})

describe('a change of an item that GET cannot read', () => {
  const preferred = { prefer: 'return=representation' }
  const cases: readonly [
    operations: readonly Operation[],
    method: string,
    path: string,
    headers: Record<string, string>,
    status: number,
  ][] = [
    [['read'], 'PATCH', '/cars/1', {}, 303],
    [['read'], 'POST', '/cars/1/wash', {}, 303],
    [['read'], 'POST', '/cars/tidy', {}, 204],
    [['list'], 'PATCH', '/cars/1', {}, 200],
    [['list'], 'PUT', '/cars/1', {}, 200],
    [['list'], 'PATCH', '/cars/1', { prefer: 'return=minimal' }, 204],
    [['list'], 'POST', '/cars/1/wash', {}, 200],
    [['list'], 'POST', '/cars/tidy', {}, 303],
    [['list'], 'DELETE', '/cars/1', {}, 200],
    [[], 'PATCH', '/cars/1', {}, 204],
    [[], 'PATCH', '/cars/1', preferred, 204],
    [[], 'POST', '/cars/1/wash', {}, 204],
    [[], 'POST', '/cars/tidy', {}, 204],
    [[], 'DELETE', '/cars/1', {}, 204],
  ]
  it.each(cases)('besides %j: %s %s %j is %i', async (reads, method, path, headers, status) => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      id: 'integer',
      operations: ['create', 'replace', 'patch', 'delete', ...reads],
      actions: {
        wash: { on: 'item', run: () => undefined },
        tidy: { on: 'collection', run: () => undefined },
      },
    })
    const api = defineApi({ collections: [cars] })
    await api.collection(cars).create({ color: 'red' })
    const request = new Request(`http://a.test${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      redirect: 'manual',
      body: /^(?:PUT|PATCH)$/.test(method) ? '{"color":"blue"}' : null,
    })
    const answer = await api.fetch(request)
    expect(answer.status).toBe(status)
    if (status === 200) expect(await answer.json()).toMatchObject({ id: 1 })
  })
})

describe('a change that is answered by no redirect', () => {
  // Who follows one sends these headers again with the GET, which they would have refused.
  const cases: readonly [
    what: string,
    method: string,
    headers: (tag: string) => Record<string, string>,
    status: number,
  ][] = [
    ['by none of them', 'PUT', () => ({}), 303],
    ['If-Match: *', 'PUT', () => ({ 'if-match': '*' }), 303],
    ['If-Match', 'PUT', tag => ({ 'if-match': tag }), 200],
    ['If-Match, one of several', 'PATCH', tag => ({ 'if-match': `"x", ${tag}` }), 200],
    ['If-Unmodified-Since', 'PATCH', () => ({ 'if-unmodified-since': later() }), 200],
    ['X-HTTP-Method-Override', 'POST', () => ({ 'x-http-method-override': 'PATCH' }), 200],
    ['If-Match, with Prefer', 'PATCH', tag => ({ 'if-match': tag, prefer: 'return=minimal' }), 204],
  ]
  const json = { immatriculation: 'P', color: 'blue' }
  const later = () => new Date(Date.now() + 2000).toUTCString()

  eachHandler(withCars, (handler, made) => {
    const path = () => `/cars/${made().clio.id}`
    const tagOf = async () => (await handler.request(path())).headers.get('etag') ?? ''

    it.each(cases)('%s: %s', async (_what, method, headersFor, status) => {
      const headers = headersFor(await tagOf())
      const answer = await handler.request(path(), { method, json, headers })
      expect(answer.status).toBe(status)
      expect(answer.headers.get('vary')).toMatch(/\bPrefer\b/)
      const after = await handler.request(path())
      expect(item(after)).toMatchObject(json)
      if (status !== 200) return
      expect(answer.text).toBe(after.text)
      expect(answer.headers.get('etag')).toBe(after.headers.get('etag'))
      expect(answer.headers.get('content-location')).toBe(handler.base + path())
      expect(answer.headers.get('preference-applied')).toBeNull()
    })

    it('but a form, whose If-Match is a field', async () => {
      const text = `_method=PATCH&color=blue&_if_match=${encodeURIComponent(await tagOf())}`
      expect(await handler.request(path(), form(text))).toMatchObject({ status: 303 })
    })
  })

  it.each(cases)('fetch follows to a success: %s of %s', async (_what, method, headersFor) => {
    const { api, clio } = await withCars()
    const { base, close } = await listen(api.handler)
    const url = `${base}/cars/${clio.id}`
    const tag = (await fetch(url)).headers.get('etag') ?? ''
    const headers = { ...headersFor(tag), 'content-type': 'application/json' }
    const answer = await fetch(url, { method, headers, body: JSON.stringify(json) })
    await close()
    expect([200, 204]).toContain(answer.status)
  })
})

describe('HEAD /<collection>/<id>', () => {
  eachHandler(withCars, (handler, made) => {
    it('no body; shows whether the resource exists', async () => {
      const path = `/cars/${made().clio.id}`
      const get = await handler.request(path)
      const head = await handler.request(path, { method: 'HEAD' })
      expect(head).toMatchObject({ status: 200, text: '' })
      for (const name of ['etag', 'content-type', 'content-length', 'vary', 'cache-control']) {
        expect(head.headers.get(name)).toBe(get.headers.get(name))
      }
      expect(await handler.request('/cars/nothing', { method: 'HEAD' })).toMatchObject({
        status: 404,
        text: '',
      })
    })
  })
})

describe('methods that do not exist', () => {
  const cases: readonly [path: string, allow: string, others: readonly string[]][] = [
    ['/cars', 'GET, QUERY, POST, PUT, HEAD, OPTIONS', ['PATCH', 'DELETE']],
    ['/cars/:id', 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS', ['POST']],
    ['/cars/count', 'GET, QUERY, HEAD, OPTIONS', ['POST', 'PUT', 'PATCH', 'DELETE']],
    ['/cars/search', 'GET, QUERY, HEAD, OPTIONS', ['POST', 'DELETE']],
    ['/cars/cheapest', 'GET, HEAD, OPTIONS', ['POST', 'DELETE']],
    ['/cars/:id/buy', 'POST, OPTIONS', ['GET', 'HEAD', 'PUT', 'DELETE']],
    ['/cars/:id/options', 'GET, QUERY, POST, HEAD, OPTIONS', ['PUT', 'DELETE']],
  ]
  eachHandler(
    withCars,
    (handler, made) => {
      for (const [template, allow, methods] of cases) {
        for (const method of methods) {
          it(`${method} ${template}: 405 with Allow`, async () => {
            const path = template.replace(':id', String(made().clio.id))
            const answer = await handler.request(path, { method })
            expect(answer.status).toBe(405)
            const allowed = new Set(answer.headers.get('allow')?.split(', '))
            expect(allowed).toEqual(new Set(allow.split(', ')))
            if (method !== 'HEAD')
              expect(answer.json).toMatchObject({
                errors: [{ code: 405, type: 'method_not_allowed' }],
              })
          })
        }
      }
    },
    { once: true },
  )
})

describe('OPTIONS /<collection>', () => {
  eachHandler(
    withCars,
    (handler, made) => {
      const cases: readonly [path: string, allow: string][] = [
        ['/', 'GET, HEAD, OPTIONS'],
        ['/cars', 'GET, QUERY, POST, PUT, HEAD, OPTIONS'],
        ['/cars/:id', 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS'],
        ['/cars/:id/buy', 'POST, OPTIONS'],
        ['/cars/:id/options', 'GET, QUERY, POST, HEAD, OPTIONS'],
      ]
      for (const [template, allow] of cases) {
        it(`${template}: the possible actions in headers and in the body`, async () => {
          const path = template.replace(':id', String(made().clio.id))
          const answer = await handler.request(path, { method: 'OPTIONS' })
          expect(answer.status).toBe(200)
          const methods = new Set(allow.split(', '))
          expect(new Set(answer.headers.get('allow')?.split(', '))).toEqual(methods)
          expect(answer.headers.get('access-control-allow-methods')).toBe(
            answer.headers.get('allow'),
          )
          expect(answer.headers.get('access-control-allow-origin')).toBe('*')
          const named = Object.keys(item(answer))
            .filter(name => !name.startsWith('x-'))
            .map(name => name.toUpperCase())
          // HEAD is where GET is.
          const head = methods.has('GET') ? ['HEAD'] : []
          expect(new Set([...named, ...head, 'OPTIONS'])).toEqual(methods)
        })
      }

      it('describes the parameters and the schema of each method', async () => {
        const { get, post } = (await handler.request('/cars', { method: 'OPTIONS' })).json as {
          get: { parameters: { name: string; schema: unknown }[] }
          post: {
            requestBody: {
              content: Record<
                string,
                { schema: { required: string[]; properties: Record<string, unknown> } }
              >
            }
          }
        }
        const names = get.parameters.map(({ name }) => name)
        expect(names).toEqual(
          expect.arrayContaining([
            'color',
            'model.name',
            'fields',
            'sort',
            'offset',
            'limit',
            'since',
            'until',
            'since_id',
            'max_id',
          ]),
        )
        const { schema } = post.requestBody.content['application/json'] ?? {}
        expect(schema?.required).toEqual(['immatriculation', 'color'])
        expect(schema?.properties.color).toMatchObject({ enum: expect.arrayContaining(['red']) })
        const patched = (await handler.request(`/cars/${made().clio.id}`, { method: 'OPTIONS' }))
          .json as { patch: { requestBody: { content: object } } }
        expect(Object.keys(patched.patch.requestBody.content)).toEqual(
          expect.arrayContaining(['application/json', MERGE, PATCH]),
        )
      })

      it('names the types that PATCH and POST take (RFC 5789 §3.1)', async () => {
        const answer = await handler.request(`/cars/${made().clio.id}`, { method: 'OPTIONS' })
        expect(answer.headers.get('accept-patch')?.split(', ')).toEqual(
          expect.arrayContaining(['application/json', MERGE, PATCH]),
        )
        const list = await handler.request('/cars', { method: 'OPTIONS' })
        expect(list.headers.get('accept-post')?.split(', ')).toEqual(
          expect.arrayContaining(['application/json', FORM]),
        )
      })

      it('404 where there is nothing', async () => {
        expect(await handler.request('/nothing', { method: 'OPTIONS' })).toMatchObject({
          status: 404,
        })
      })
    },
    { once: true },
  )
})

describe('GET /<collection>/<id>/<sub_collection>', () => {
  eachHandler(withCars, (handler, made) => {
    const options = () => `/cars/${made().clio.id}/options`
    const create = (json: object, path = options()) =>
      handler.request(path, { method: 'POST', json })

    it('the options of a car, and of no other', async () => {
      expect(await handler.request(options())).toMatchObject({ status: 200, text: '[]' })
      const answer = await create({ name: 'ABS' })
      const { id: car_id } = made().clio
      expect(answer).toMatchObject({ status: 201, json: { name: 'ABS', price: 0, car_id } })
      expect(answer.headers.get('location')).toBe(`${handler.base}${options()}/${item(answer).id}`)
      expect(await handler.request(options())).toMatchObject({ json: [answer.json] })
      expect(await handler.request(`${options()}/count`)).toMatchObject({ json: { count: 1 } })
      expect(await handler.request(`/cars/${made().zoe.id}/options`)).toMatchObject({ text: '[]' })
      expect(await handler.request(`/options/${item(answer).id}`)).toMatchObject({
        text: answer.text,
      })
    })

    it('ids that are UUIDs are read in either case (RFC 9562 §4)', async () => {
      const { clio } = made()
      const car = `/cars/${String(clio.id).toUpperCase()}`
      expect(await handler.request(car)).toMatchObject({ status: 200, json: clio })
      const answer = await create({ name: 'ABS' }, `${car}/options`)
      expect(answer).toMatchObject({ status: 201, json: { car_id: clio.id } })
      expect(answer.headers.get('location')).toBe(`${handler.base}${options()}/${item(answer).id}`)
      expect(await handler.request(options())).toMatchObject({ json: [answer.json] })
      expect(await handler.request(`${car}x`)).toMatchObject({ status: 404 })
    })

    it('everything a collection does works there', async () => {
      for (const name of ['ABS', 'GPS', 'Radio']) await create({ name, price: name.length })
      const page = await handler.request(`${options()}?sort=-name&limit=1&fields=name&price=3`)
      expect(page.json).toEqual([{ name: 'GPS' }])
      expect(page.headers.get('content-range')).toBe('options 0-0/2')
      expect(page.headers.get('link')).toContain(`<${handler.base}${options()}?`)
      const path = `${options()}/${item(await create({ name: 'Roof' })).id}`
      expect(await handler.request(path)).toMatchObject({ status: 200, json: { name: 'Roof' } })
      const patched = await handler.request(path, { method: 'PATCH', json: { price: 9 } })
      expect(patched.status).toBe(303)
      expect(patched.headers.get('location')).toBe(handler.base + path)
      expect(await handler.request(path, { method: 'PUT', json: { name: 'Top' } })).toMatchObject({
        status: 303,
      })
      expect(await handler.request(path)).toMatchObject({
        json: { name: 'Top', price: 0, car_id: made().clio.id },
      })
      expect(await handler.request(path, { method: 'DELETE' })).toMatchObject({ status: 200 })
      expect(await handler.request(path)).toMatchObject({ status: 404 })
    })

    it('the body may repeat the parent, but name no other', async () => {
      const { clio, zoe } = made()
      expect(await create({ name: 'a', car_id: clio.id })).toMatchObject({ status: 201 })
      expect(await create({ name: 'a', car_id: zoe.id })).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'car_id', type: 'conflicting_parent' }] },
      })
      const path = `${options()}/${item(await create({ name: 'b' })).id}`
      for (const car_id of [zoe.id ?? '', null]) {
        const answer = await handler.request(path, { method: 'PATCH', json: { car_id } })
        expect([car_id, answer]).toMatchObject([car_id, { status: 400 }])
      }
      expect(await handler.request(path)).toMatchObject({ json: { car_id: clio.id } })
    })

    it('404 when the parent is missing', async () => {
      const nowhere = '/cars/nothing/options'
      expect(await handler.request(nowhere)).toMatchObject({
        status: 404,
        json: { errors: [{ type: 'not_found' }] },
      })
      expect(await handler.request(`${nowhere}/count`)).toMatchObject({ status: 404 })
      expect(await create({ name: 'ABS' }, nowhere)).toMatchObject({ status: 404 })
      expect(await handler.request('/options/count')).toMatchObject({ json: { count: 0 } })
    })

    it("404 for another parent's item, whatever the method", async () => {
      const { id } = item(await create({ name: 'ABS' }))
      const path = `/cars/${made().zoe.id}/options/${id}`
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
        const sent = method.startsWith('P') ? { json: { name: 'stolen' } } : {}
        expect(await handler.request(path, { method, ...sent })).toMatchObject({ status: 404 })
      }
      expect(await handler.request(`${options()}/${id}`)).toMatchObject({ json: { name: 'ABS' } })
    })

    it('400 for a parent that does not exist, named in the body', async () => {
      const answer = await create({ name: 'ABS', car_id: 'nothing' }, '/options')
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'car_id', type: 'unknown_reference' }] },
      })
    })
  })
})

describe('ids that are UUIDs in a body (RFC 9562 §4)', () => {
  eachHandler(withCars, (handler, made) => {
    const post = (path: string, json: object) => handler.request(path, { method: 'POST', json })
    const ids = () => {
      const id = String(made().clio.id)
      return { id, upper: id.toUpperCase() }
    }

    it('the id of the item itself may stand in either case', async () => {
      const { id, upper } = ids()
      for (const init of [
        { method: 'PUT', json: { ...carValues(7), id: upper } },
        { method: 'PATCH', json: { id: upper, color: 'green' } },
      ]) {
        expect(await handler.request(`/cars/${upper}`, init)).toMatchObject({ status: 303 })
      }
      expect((await handler.request(`/cars/${id}`)).json).toMatchObject({ id, color: 'green' })
    })

    it('a reference is kept in lower case', async () => {
      const { id, upper } = ids()
      for (const path of ['/options', `/cars/${upper}/options`]) {
        const answer = await post(path, { car_id: upper, name: 'roof' })
        expect(answer).toMatchObject({ status: 201, json: { car_id: id } })
      }
      expect((await handler.request(`/cars/${id}/options/count`)).json).toEqual({ count: 2 })
    })

    it('a change may name it in either case, and one that changes nothing else writes nothing', async () => {
      const { id, upper } = ids()
      const { json } = await post('/options', { car_id: id, name: 'roof' })
      const option = json as Item
      const path = `/options/${option.id}`
      await handler.request(path, { method: 'PATCH', json: { car_id: upper } })
      expect((await handler.request(path)).json).toEqual(option)
      await handler.request(path, { method: 'PUT', json: { car_id: upper, name: 'door' } })
      expect((await handler.request(path)).json).toMatchObject({ car_id: id, name: 'door' })
    })

    it('a pair of a relation is the same in either case', async () => {
      const { id, upper } = ids()
      await post('/models', { name: 'Clio' })
      expect(await post('/cars_models', { car_id: id, model_id: 1 })).toMatchObject({ status: 201 })
      expect(await post('/cars_models', { car_id: upper, model_id: 1 })).toMatchObject({
        status: 409,
      })
    })

    it('filters read a reference as they read an id', async () => {
      const { id, upper } = ids()
      const { json } = await post('/options', { car_id: id, name: 'roof' })
      for (const query of [
        `car_id=${upper}`,
        `car_id[in]=${upper}`,
        `car_id[prefix]=${upper.slice(0, 9)}`,
      ]) {
        expect((await handler.request(`/options?${query}`)).json, query).toEqual([json])
      }
      expect(await handler.request('/options?car_id=clio')).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'car_id', type: 'invalid_value' }] },
      })
    })
  })
})

describe('GET /<relation_collection>', () => {
  async function withModels() {
    const base = await withCars()
    await base.api.collection(base.models).create({ name: 'Clio' })
    await base.api.collection(base.models).create({ name: 'Zoé' })
    return base
  }
  eachHandler(withModels, (handler, made) => {
    it('relations between two kinds of resource', async () => {
      const json = { car_id: made().clio.id, model_id: 1 }
      const answer = await handler.request('/cars_models', { method: 'POST', json })
      expect(answer).toMatchObject({ status: 201, json })
      expect(await handler.request('/cars_models')).toMatchObject({ status: 200, json: [json] })
    })

    it('from either side', async () => {
      const fromCar = `/cars/${made().clio.id}/cars_models`
      const fromModel = '/models/2/cars_models'
      expect(
        await handler.request(fromCar, { method: 'POST', json: { model_id: 1 } }),
      ).toMatchObject({
        status: 201,
        json: { car_id: made().clio.id, model_id: 1 },
      })
      expect(
        await handler.request(fromModel, { method: 'POST', json: { car_id: made().clio.id } }),
      ).toMatchObject({ status: 201, json: { car_id: made().clio.id, model_id: 2 } })
      expect(await handler.request(fromCar)).toMatchObject({
        json: [{ model_id: 1 }, { model_id: 2 }],
      })
      expect(await handler.request(fromModel)).toMatchObject({ json: [{ model_id: 2 }] })
      expect(await handler.request('/models/1/cars_models/count')).toMatchObject({
        json: { count: 1 },
      })
    })

    it('unique on the pair: 409', async () => {
      const json = { car_id: made().clio.id, model_id: 1 }
      await handler.request('/cars_models', { method: 'POST', json })
      for (const [path, sent] of [
        ['/cars_models', json],
        ['/models/1/cars_models', { car_id: made().clio.id }],
      ] as const) {
        const answer = await handler.request(path, { method: 'POST', json: sent })
        expect(answer).toMatchObject({
          status: 409,
          json: { errors: [{ field: 'car_id', type: 'not_unique' }, { field: 'model_id' }] },
        })
      }
      expect(
        await handler.request('/cars_models', { method: 'POST', json: { ...json, model_id: 2 } }),
      ).toMatchObject({ status: 201 })
    })

    it('400 where one side does not exist', async () => {
      const answer = await handler.request('/cars_models', {
        method: 'POST',
        json: { car_id: 'x', model_id: 99 },
      })
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'car_id' }, { field: 'model_id' }] },
      })
    })
  })
})

describe('actions', () => {
  eachHandler(withCars, (handler, made) => {
    const buy = () => `/cars/${made().clio.id}/buy`

    it('POST /cars/<id>/buy: buys the car', async () => {
      const answer = await handler.request(buy(), { method: 'POST', json: { account_id: 'ann' } })
      expect(answer).toMatchObject({ status: 200, json: { id: made().clio.id, sold_to: 'ann' } })
      expect(await handler.request(`/cars/${made().clio.id}`)).toMatchObject({
        json: { sold_to: 'ann' },
      })
      expect(
        await handler.request(buy(), { method: 'POST', json: { account_id: 'bob' } }),
      ).toMatchObject({
        status: 409,
        json: { errors: [{ message: 'The car is sold', code: 409 }] },
      })
    })

    it('takes a form', async () => {
      expect(await handler.request(buy(), form('account_id=ann'))).toMatchObject({
        status: 200,
        json: { sold_to: 'ann' },
      })
    })

    it('400 for an input that its schema refuses', async () => {
      for (const json of [{}, { account_id: 7 }, { account_id: 'x', more: 1 }, []]) {
        expect(await handler.request(buy(), { method: 'POST', json })).toMatchObject({
          status: 400,
        })
      }
      expect(await handler.request(buy(), { method: 'POST' })).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'account_id', type: 'required' }] },
      })
      expect(await handler.request(`/cars/${made().clio.id}`)).toMatchObject({
        json: { sold_to: null },
      })
    })

    it('404 where the item is missing', async () => {
      expect(
        await handler.request('/cars/nothing/buy', { method: 'POST', json: { account_id: 'x' } }),
      ).toMatchObject({ status: 404 })
    })

    it('obeys If-Match', async () => {
      const etag = (await handler.request(`/cars/${made().clio.id}`)).headers.get('etag') ?? ''
      await handler.request(`/cars/${made().clio.id}`, { method: 'PATCH', json: { price: 1 } })
      const init = { method: 'POST', json: { account_id: 'ann' } }
      expect(
        await handler.request(buy(), { ...init, headers: { 'if-match': etag } }),
      ).toMatchObject({
        status: 412,
      })
      expect(await handler.request(buy(), { ...init, headers: { 'if-match': '*' } })).toMatchObject(
        {
          status: 200,
        },
      )
    })

    it('GET /cars/search: searches the declared fields', async () => {
      const answer = await handler.request('/cars/search?q=clio&fields=immatriculation')
      expect(answer).toMatchObject({ status: 200, json: [{ immatriculation: 'AA-000-ZZ' }] })
      expect(answer.headers.get('x-result-count')).toBe('1')
    })

    it('a safe action answers GET and HEAD', async () => {
      expect(await handler.request('/cars/cheapest')).toMatchObject({
        status: 200,
        json: { id: made().clio.id },
      })
      expect(await handler.request('/cars/cheapest', { method: 'HEAD' })).toMatchObject({
        status: 200,
        text: '',
      })
      expect(await handler.request('/cars/cheapest?x=1')).toMatchObject({ status: 400 })
    })
  })
})

/** How a client says which method it means. */
const PLACES: readonly [
  name: string,
  send: (handler: OpenHandler, path: string, method: string) => Promise<Answer>,
][] = [
  [
    'the query',
    (handler, path, method) =>
      handler.request(`${path}?_method=${method}`, { method: 'POST', json: PATCHED }),
  ],
  [
    'the query, with a form',
    (handler, path, method) => handler.request(`${path}?_method=${method}`, form(PATCHED_FORM)),
  ],
  [
    'a form',
    (handler, path, method) => handler.request(path, form(`${PATCHED_FORM}&_method=${method}`)),
  ],
  [
    'X-HTTP-Method-Override',
    (handler, path, method) =>
      handler.request(path, {
        method: 'POST',
        json: PATCHED,
        headers: { 'x-http-method-override': method },
      }),
  ],
]
const PATCHED = { immatriculation: 'P', color: 'blue' }
const PATCHED_FORM = 'immatriculation=P&color=blue'

describe('_method', () => {
  eachHandler(withCars, (handler, made) => {
    const path = () => `/cars/${made().clio.id}`
    for (const [place, send] of PLACES) {
      // Whoever followed a redirect would send the header again.
      const status = place.startsWith('X-') ? 200 : 303
      for (const method of ['PUT', 'put', 'Put', 'pUt']) {
        it(`${method} in ${place}`, async () => {
          expect(await send(handler, path(), method)).toMatchObject({ status })
          expect(item(await handler.request(path()))).toMatchObject({
            ...PATCHED,
            doors: 5,
            tags: [],
          })
        })
      }
      for (const method of ['PATCH', 'patch']) {
        it(`${method} in ${place}`, async () => {
          expect(await send(handler, path(), method)).toMatchObject({ status })
          expect(item(await handler.request(path()))).toMatchObject({
            ...PATCHED,
            tags: ['family', 'sale'],
          })
        })
      }
      for (const method of ['DELETE', 'delete']) {
        it(`${method} in ${place}`, async () => {
          expect(await send(handler, path(), method)).toMatchObject({ status: 200 })
          expect(await handler.request(path())).toMatchObject({ status: 404 })
        })
      }
      // What surrounds the value of a header is none of it.
      const odd = place.startsWith('X-') ? ['-DELETE'] : ['%20DELETE']
      for (const method of ['OPTIONS', 'TRACE', 'LOCK', ...odd, '']) {
        it(`400 for ${JSON.stringify(method)} in ${place}, and nothing changes`, async () => {
          const before = await handler.request(path())
          expect(await send(handler, path(), method)).toMatchObject({
            status: 400,
            json: { errors: [{ field: '_method', code: 400 }] },
          })
          expect((await handler.request(path())).text).toBe(before.text)
        })
      }
    }

    it.each(PLACES)('POST in %s is what it is', async (_place, send) => {
      // An item takes no POST: it is answered as one that names no method.
      expect(await send(handler, path(), 'POST')).toMatchObject({ status: 405 })
      const made = await send(handler, '/cars', 'post')
      expect(made.status).toBe(201)
      expect(item(made)).toMatchObject(PATCHED)
    })

    it('DELETE with no body at all, as a link in a page sends it', async () => {
      expect(await handler.request(`${path()}?_method=DELETE`, { method: 'POST' })).toMatchObject({
        status: 200,
      })
    })

    it('400 where two places disagree', async () => {
      const before = await handler.request(path())
      const answers = [
        await handler.request(`${path()}?_method=DELETE&_method=PUT`, { method: 'POST' }),
        await handler.request(
          `${path()}?_method=DELETE`,
          form('_method=PUT&immatriculation=x&color=red'),
        ),
        await handler.request(path(), form('_method=PUT&_method=DELETE')),
        await handler.request(`${path()}?_method=DELETE`, {
          method: 'POST',
          headers: { 'x-http-method-override': 'PUT' },
        }),
      ]
      for (const answer of answers) expect(answer).toMatchObject({ status: 400 })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it.each([
      ['DELETE', 'PUT'],
      ['DELETE', 'anything'],
    ])('400 where two parts of a multipart form disagree: %s, %s', async (...methods) => {
      const before = await handler.request(path())
      const parts = methods.map(
        method => `--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\n${method}\r\n`,
      )
      const answer = await handler.request(path(), {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: `${parts.join('')}--b--\r\n`,
      })
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: '_method', type: 'conflicting_methods' }] },
      })
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it('in JSON it is a field like any other', async () => {
      const answer = await handler.request('/cars', {
        method: 'POST',
        json: { ...carValues(5), _method: 'DELETE' },
      })
      expect(answer).toMatchObject({
        status: 400,
        json: { errors: [{ field: '_method', type: 'unknown_field' }] },
      })
    })

    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
      for (const override of ['DELETE', 'GET', 'POST', 'x', '']) {
        it(`400 for a ${method} with _method=${override}, and nothing changes`, async () => {
          const before = await handler.request(path())
          const sent = method.startsWith('P') ? { json: PATCHED } : {}
          const query = await handler.request(`${path()}?_method=${override}`, { method, ...sent })
          expect(query.status).toBe(400)
          const header = await handler.request(path(), {
            method,
            ...sent,
            headers: { 'x-http-method-override': override || 'x' },
          })
          expect(header.status).toBe(400)
          expect((await handler.request(path())).text).toBe(before.text)
        })
      }
    }

    it('a preflight of a POST that stands for PUT is answered, and nothing changes', async () => {
      const before = await handler.request(path())
      const answer = await handler.request(`${path()}?_method=PUT`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type, if-match',
        },
      })
      expect(answer.status).toBe(204)
      expect((await handler.request(path())).text).toBe(before.text)
    })

    it.each(['GET', 'get', 'HEAD'])('400 for a POST that stands for %s', async method => {
      for (const answer of [
        await handler.request(`/cars?_method=${method}`, { method: 'POST' }),
        await handler.request(`/cars?_method=${method}`, form('color=red')),
        await handler.request('/cars', form(`_method=${method}&color=red`)),
        await handler.request(path(), form(`_method=${method}`)),
        await handler.request('/cars', {
          method: 'POST',
          headers: { 'x-http-method-override': method },
        }),
      ])
        expect(answer).toMatchObject({
          status: 400,
          json: { errors: [{ field: '_method', type: 'invalid_method' }] },
        })
      expect(await handler.request('/cars/count')).toMatchObject({ json: { count: 2 } })
    })

    it('405 for a method that the target has not', async () => {
      const answer = await handler.request('/cars?_method=DELETE', { method: 'POST' })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toMatch(/\bGET\b.*\bPOST\b/)
      expect(await handler.request('/cars/count')).toMatchObject({ json: { count: 2 } })
    })
  })
})

describe('changes of a collection with requirePrecondition', () => {
  const later = { 'if-unmodified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }
  it.each([
    ['none', true, {}, 428],
    ['a tag', true, { 'if-match': '*' }, 204],
    ['a date', true, later, 204],
    ['a date of what has none, which counts for nothing (RFC 9110 §13.1.4)', false, later, 428],
    ['a date that is none', true, { 'if-unmodified-since': 'tomorrow' }, 428],
  ])('%s', async (_condition, timestamps, condition, status) => {
    let now = Date.parse('2024-01-01T00:00:00Z')
    const collection = defineCollection({
      name: 'notes',
      schema: z.object({ text: z.string() }),
      // Keeps no date beside an item that has none.
      // Each change is in a later second than the one before.
      store: sqlStore({
        db: await openDatabase(':memory:'),
        create: true,
        clock: () => (now += 1000),
      }),
      id: 'integer',
      timestamps,
      requirePrecondition: true,
    })
    const api = defineApi({ collections: [collection] })
    await api.collection(collection).create({ text: 'A' })
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      const headers = { 'content-type': 'application/json', prefer: 'return=minimal', ...condition }
      const body = method === 'DELETE' ? null : '{"text":"B"}'
      const request = new Request('https://api.example/notes/1', { method, headers, body })
      expect((await api.fetch(request)).status).toBe(status)
    }
  })
})

describe('below a parent that an item may lack', () => {
  const lacking = { optional: z.string().optional(), nullable: z.string().nullable() }
  for (const [kind, car_id] of Object.entries(lacking)) {
    const start = async () => {
      const made = (name: string, schema: z.ZodObject, more: object = {}) =>
        defineCollection({ name, schema, store: memoryStore(), ...more })
      const cars = made('cars', z.object({ id: z.string(), plate: z.string() }))
      const parents = { car_id: 'cars' }
      const options = made('options', z.object({ car_id, name: z.string() }), { parents })
      const api = defineApi({ collections: [cars, options] })
      await api.collection('cars').create({ id: 'c', plate: 'a' })
      const { id } = await api.collection('options').create({ car_id: 'c', name: 'Roof' })
      return { api, id: String(id) }
    }
    const remove = [{ op: 'remove', path: '/car_id' }]
    const rename = [{ op: 'replace', path: '/name', value: 'Top' }]
    const cases: readonly [type: string, patch: unknown, below: number, besides: number][] = [
      ['merge-patch', { name: 'Top' }, 303, 303],
      ['merge-patch', { car_id: 'c' }, 303, 303],
      ['merge-patch', { car_id: null }, 400, kind === 'optional' ? 303 : 400],
      ['json-patch', rename, 303, 303],
      ['json-patch', remove, 400, kind === 'optional' ? 303 : 400],
      ['json-patch', 5, 400, 400],
      ['json-patch', [{ op: 'replace', path: '', value: 'x' }], 400, 400],
    ]
    for (const [type, patch, below, besides] of cases) {
      it(`${kind}: ${type} ${JSON.stringify(patch)} there ${below}, in its own place ${besides}`, async () => {
        for (const [place, status] of [
          ['/cars/c/options', below],
          ['/options', besides],
        ] as const) {
          const { api, id } = await start()
          const init = {
            method: 'PATCH',
            headers: { 'content-type': `application/${type}+json` },
            body: JSON.stringify(patch),
          }
          const answer = await api.fetch(new Request(`http://a.test${place}/${id}`, init))
          expect([place, answer.status]).toEqual([place, status])
          const gone = status === 303 && besides !== below
          const { car_id = 'none' } = (await api.collection('options').read(id)) as Item
          expect(car_id).toBe(gone ? 'none' : 'c')
        }
      })
    }
  }
})
