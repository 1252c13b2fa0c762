// Specification, "Suppression of error codes": with `suppress_error_codes` in the URL the status is
// only ever 200 or 500, and the body tells the rest.
import { describe, expect, it } from 'vitest'
import { type Answer, eachHandler, type Init, type OpenHandler } from '../handlers.ts'
import { ERRORS, type Failing, failingApi, SECRETS } from './failing.ts'

const FLAGS = [
  'suppress_error_codes',
  'suppress_error_codes=',
  'suppress_error_codes=1',
  'suppress_error_codes=false',
  'suppress%5Ferror_codes=true',
]

async function created({ api, things }: Failing) {
  const made = await api.collection(things).create({ name: `n${Math.random()}` })
  return { path: `/things/${made.id}`, made }
}

describe('Suppression of error codes', () => {
  eachHandler(
    () => failingApi(),
    (handler, made) => {
      for (const { name, status, send } of ERRORS) {
        const expected = status >= 500 ? 500 : 200
        it(`${name}: ${status} is in the body of a ${expected}`, async () => {
          const answer = await send(handler, made(), 'suppress_error_codes=true')
          expect(answer.status).toBe(expected)
          expect(answer.headers.get('cache-control')).toBe('no-store')
          expect(answer.json).toMatchObject({
            errors: [{ code: status, message: expect.any(String) }],
          })
          expect(answer.text).not.toMatch(SECRETS)
        })
      }

      for (const flag of FLAGS) {
        it(`present in any way: ?${flag}`, async () => {
          const answer = await handler.request(`/things/nothing?${flag}`)
          expect(answer).toMatchObject({ status: 200, json: { errors: [{ code: 404 }] } })
        })
      }

      it('a parameter with a similar name has no effect', async () => {
        for (const name of [
          'Suppress_error_codes',
          'suppress_error_code',
          'xsuppress_error_codes',
          'q=suppress_error_codes',
        ]) {
          const { status } = await handler.request(`/nothing?${name}`)
          expect(status).toBe(404)
        }
      })

      it('in a form it counts only where the form is the query', async () => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const answer = await handler.request('/things', {
          method: 'POST',
          headers,
          body: 'name=x&suppress_error_codes=1',
        })
        expect(answer).toMatchObject({
          status: 400,
          json: { errors: [{ field: 'suppress_error_codes' }] },
        })
      })

      /** Every kind of success that is not a plain 200. */
      const successes: readonly [
        name: string,
        status: number,
        send: (handler: OpenHandler, made: Failing, query: string) => Promise<Answer>,
        body: (value: unknown) => void,
      ][] = [
        [
          'a creation',
          201,
          (_door, _made, query) =>
            handler.request(`/things${query}`, {
              method: 'POST',
              json: { name: `n${Math.random()}` },
            }),
          value => expect(value).toHaveProperty('created_at'),
        ],
        [
          'a creation of which nothing shall be told',
          201,
          (_door, _made, query) =>
            handler.request(`/things${query}`, {
              method: 'POST',
              json: { name: `n${Math.random()}` },
              headers: { prefer: 'return=minimal' },
            }),
          value => expect(value).toHaveProperty('created_at'),
        ],
        [
          'a replacement',
          303,
          async (_door, failing, query) =>
            handler.request((await created(failing)).path + query, {
              method: 'PUT',
              json: { name: `n${Math.random()}` },
            }),
          value => expect(value).toHaveProperty('updated_at'),
        ],
        [
          'a patch',
          303,
          async (_door, failing, query) =>
            handler.request((await created(failing)).path + query, {
              method: 'PATCH',
              json: { size: 3 },
            }),
          value => expect(value).toMatchObject({ size: 3 }),
        ],
        [
          'a patch of which nothing shall be told',
          204,
          async (_door, failing, query) =>
            handler.request((await created(failing)).path + query, {
              method: 'PATCH',
              json: { size: 3 },
              headers: { prefer: 'return=minimal' },
            }),
          value => expect(value).toMatchObject({ size: 3 }),
        ],
        [
          'a patch by _method',
          303,
          async (_door, failing, query) =>
            handler.request(`${(await created(failing)).path}${query || '?'}&_method=patch`, {
              method: 'POST',
              json: { size: 3 },
            }),
          value => expect(value).toMatchObject({ size: 3 }),
        ],
        [
          'a deletion of which nothing shall be told',
          204,
          async (_door, failing, query) =>
            handler.request((await created(failing)).path + query, {
              method: 'DELETE',
              headers: { prefer: 'return=minimal' },
            }),
          value => expect(value).toHaveProperty('created_at'),
        ],
        [
          'an action on an item that gives nothing',
          303,
          async (_door, failing, query) =>
            handler.request(`${(await created(failing)).path}/touch${query}`, { method: 'POST' }),
          value => expect(value).toMatchObject({ size: 7 }),
        ],
        [
          'an action on the collection that gives nothing',
          303,
          (_door, _made, query) => handler.request(`/things/rest${query}`, { method: 'POST' }),
          value => expect(value).toEqual({ url: `${handler.base}/things` }),
        ],
        [
          'an item that is not modified',
          304,
          async (_door, failing, query) => {
            const { path } = await created(failing)
            const etag = (await handler.request(path)).headers.get('etag') ?? ''
            return handler.request(path + query, { headers: { 'if-none-match': etag } })
          },
          value => expect(value).toHaveProperty('updated_at'),
        ],
        [
          'a part of a list',
          206,
          async (_door, failing, query) => {
            await created(failing)
            await created(failing)
            return handler.request(`/things${query}`, { headers: { range: 'things=0-0' } })
          },
          value => expect(value).toHaveLength(1),
        ],
      ]
      for (const [name, status, send, body] of successes) {
        it(`${name}: ${status} becomes 200 with a body`, async () => {
          const plain = await send(handler, made(), '')
          expect(plain.status).toBe(status)
          const answer = await send(handler, made(), '?suppress_error_codes')
          expect(answer.status).toBe(200)
          expect(answer.headers.get('cache-control')).toBe('no-store')
          body(answer.json)
        })
      }

      const plain: readonly [name: string, target: string, init: Init][] = [
        ['a list', '/things?suppress_error_codes', {}],
        ['a count', '/things/count?suppress_error_codes', {}],
        ['the root', '/?suppress_error_codes', {}],
        ['OPTIONS', '/things?suppress_error_codes', { method: 'OPTIONS' }],
      ]
      for (const [name, target, init] of plain) {
        it(`${name}: 200 stays 200, and is not stored`, async () => {
          const answer = await handler.request(target, init)
          expect(answer.status).toBe(200)
          expect(answer.headers.get('cache-control')).toBe('no-store')
          const { json } = await handler.request(target.replace('?suppress_error_codes', ''), init)
          expect(answer.json).toEqual(json)
        })
      }
    },
    { once: true },
  )
})
