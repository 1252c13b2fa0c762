// Specification, "Errors": status codes and the error body.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Policies,
} from '../../src/index.ts'
import { carValues, example } from '../fixture.ts'
import { type Answer, eachHandler } from '../handlers.ts'
import { ERRORS, failingApi, SECRETS } from './failing.ts'

function entries(answer: Answer) {
  return (answer.json as { errors: { message: string; code: number; type?: string }[] }).errors
}

describe('Status codes', () => {
  const rows: readonly [status: number, meaning: string][] = [
    [200, 'request understood and answered'],
    [201, 'a resource was created'],
    [304, 'nothing was modified'],
  ]
  eachHandler(
    () => example(),
    handler => {
      for (const [status, meaning] of rows) {
        it(`${status}: ${meaning}`, async () => {
          const made = await handler.request('/cars', { method: 'POST', json: carValues(status) })
          const path = made.headers.get('location') ?? ''
          const etag = made.headers.get('etag') ?? ''
          const answers = new Map([
            [201, made],
            [200, await handler.request(path)],
            [304, await handler.request(path, { headers: { 'if-none-match': etag } })],
          ])
          expect(answers.get(status)?.status).toBe(status)
        })
      }
    },
    { once: true },
  )

  eachHandler(
    () => failingApi(),
    (handler, made) => {
      for (const { name, status, type, headers = {}, send } of ERRORS) {
        it(`${status}: ${name}`, async () => {
          const answer = await send(handler, made(), '')
          expect(answer.status).toBe(status)
          expect(answer.headers.get('content-type')).toBe('application/json')
          expect(answer.headers.get('cache-control')).toBe('no-store')
          expect(answer.headers.get('access-control-allow-origin')).toBe('*')
          for (const [header, value] of Object.entries(headers)) {
            expect(answer.headers.get(header)).toMatch(value)
          }
          // The error body: `errors`, each with message and code; more may stand beside them.
          expect(Object.keys(answer.json as object)).toEqual(['errors'])
          for (const { message, code } of entries(answer)) {
            expect(message).toEqual(expect.any(String))
            expect(message).not.toBe('')
            expect(code).toBe(status)
          }
          if (type !== undefined) expect(entries(answer)[0]?.type).toBe(type)
          expect(answer.text).not.toMatch(SECRETS)
          expect(JSON.stringify([...answer.headers])).not.toMatch(SECRETS)
        })
      }
    },
    { once: true },
  )
})

describe('Error body', () => {
  eachHandler(
    () => failingApi(),
    (handler, made) => {
      it('several errors are returned together', async () => {
        const answer = await handler.request('/things', {
          method: 'POST',
          json: { size: 0, colour: 'x', tags: [1, 'a', 2] },
        })
        expect(answer.status).toBe(400)
        expect(
          entries(answer).map(({ code, ...entry }) => [code, 'field' in entry && entry.field]),
        ).toEqual([
          [400, 'colour'],
          [400, 'name'],
          [400, 'size'],
          [400, 'tags.0'],
          [400, 'tags.2'],
        ])
        const query = await handler.request('/things?a=1&sort=b&limit=x&fields=c')
        expect(entries(query).length).toBe(4)
      })

      it('a body of forty thousand issues makes no answer without end', async () => {
        const { api } = failingApi({ limits: { body: 1024 * 1024 } })
        const tags = Array.from({ length: 40_000 }, () => 1)
        const answer = await api.fetch(
          new Request('http://api.test/things', {
            method: 'POST',
            body: JSON.stringify({ name: 'x', tags }),
            headers: { 'content-type': 'application/json' },
          }),
        )
        expect(answer.status).toBe(400)
        expect((await answer.text()).length).toBeLessThan(100_000)
      })

      it('application/problem+json (RFC 9457) for clients that accept it', async () => {
        const answer = await handler.request('/things/nothing', {
          headers: { accept: 'application/problem+json' },
        })
        expect(answer.status).toBe(404)
        expect(answer.headers.get('content-type')).toBe('application/problem+json')
        const [entry] = entries(answer)
        expect(answer.json).toEqual({
          title: 'Not Found',
          status: 404,
          detail: entry?.message,
          errors: [entry],
        })
        const both = { headers: { accept: 'application/json, application/problem+json' } }
        expect((await handler.request('/things/nothing', both)).headers.get('content-type')).toBe(
          'application/problem+json',
        )
        expect((await handler.request('/things', both)).headers.get('content-type')).toBe(
          'application/json',
        )
        const less = {
          headers: { accept: 'application/xml;q=0.5, application/problem+json;q=0.9' },
        }
        const typeOf = async (path: string) =>
          (await handler.request(path, less)).headers.get('content-type')
        expect([await typeOf('/things/nothing'), await typeOf('/things')]).toEqual([
          'application/problem+json',
          'application/xml',
        ])
      })

      it('JSON where nothing suits', async () => {
        for (const accept of [
          'image/png',
          'text/plain;q=0, */*;q=0',
          ',,',
          `a/b, ${'x/y, '.repeat(3000)}`,
        ]) {
          const answer = await handler.request('/nothing', { headers: { accept } })
          expect(answer.headers.get('content-type')).toBe('application/json')
          expect(answer).toMatchObject({ json: { errors: [{ code: answer.status }] } })
        }
      })

      it('a HEAD has the status and the headers, and no body', async () => {
        const head = await handler.request('/things/nothing', { method: 'HEAD' })
        const get = await handler.request('/things/nothing')
        expect(head).toMatchObject({ status: 404, text: '' })
        expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      })

      it('an HttpError of an action is answered as it is', async () => {
        for (const status of [400, 402, 409, 418, 451, 500, 502, 599]) {
          const answer = await handler.request('/things/fail', { method: 'POST', json: { status } })
          expect(answer).toMatchObject({
            status,
            json: {
              errors: [
                { message: `Because of ${status}`, code: status, field: 'x', type: 'made_up' },
              ],
            },
          })
          expect(answer.headers.get('retry-after')).toBe('7')
        }
        // It throws a TypeError for a status that is no error: a mistake of the program.
        expect(
          await handler.request('/things/fail', { method: 'POST', json: { status: 200 } }),
        ).toMatchObject({ status: 500 })
      })

      it.each([
        [['X-Reason', 'gr\u00fcn\t~'], 409],
        [['X-Reason', 'gr\u00fcn \u2713'], 500],
        [['X-Reason', 'a\r\nX-More: b'], 500],
        [['X-Reason', 'a\u007f'], 500],
        [['X Reason', 'a'], 500],
        [['', 'a'], 500],
        [['X-Reason'], 500],
      ])(
        'headers that HTTP cannot carry are a mistake of the program: %j',
        async (headers, status) => {
          made().failures.length = 0
          const json = { status: 409, headers }
          const answer = await handler.request('/things/fail', { method: 'POST', json })
          expect(answer.status).toBe(status)
          expect(answer.headers.get('x-reason')).toBe(status === 409 ? headers[1] : null)
          const failures = status === 409 ? [] : [{ error: expect.any(TypeError), status: 500 }]
          expect(made().failures).toMatchObject(failures)
        },
      )

      it('a 500 has a reference, and onError gets it with the cause', async () => {
        made().failures.length = 0
        const answer = await handler.request('/things/crash', { method: 'POST' })
        expect(made().failures).toEqual([
          {
            error: new Error('secret: select * from users at /srv/app.ts'),
            reference: expect.stringMatching(/^[0-9a-f-]{36}$/),
            status: 500,
          },
        ])
        const [entry] = entries(answer)
        expect(answer.json).toEqual({
          errors: [
            {
              message: expect.stringContaining(made().failures[0]?.reference ?? 'none'),
              code: 500,
              type: 'internal',
            },
          ],
        })
        expect(entry?.message).not.toMatch(SECRETS)
      })

      it('onError hears of a 503 too, and of nothing below 500', async () => {
        made().failures.length = 0
        for (const path of ['/nothing', '/things?x=1', '/things/nothing'])
          await handler.request(path)
        expect(made().failures).toEqual([])
        await handler.request('/unavailable/x')
        expect(made().failures).toMatchObject([{ status: 503 }])
      })
    },
    { once: true },
  )

  it('a failing onError fails no answer', async () => {
    const { api } = failingApi({
      onError: () => {
        throw new Error('the log is full')
      },
    })
    const answer = await api.fetch(new Request('http://api.test/crashing'))
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ errors: [{ code: 500, type: 'internal' }] })
  })

  /** An api with one action that throws, and what it answers. */
  async function answerTo(thrown: unknown, onError: Policies['onError'] = () => {}) {
    const fail = {
      on: 'collection',
      run: () => {
        throw thrown
      },
    } as const
    const things = defineCollection({
      name: 'things',
      schema: z.object({ a: z.string() }),
      store: memoryStore(),
      actions: { fail },
    })
    const api = defineApi({ collections: [things], onError })
    return api.fetch(new Request('http://api.test/things/fail', { method: 'POST' }))
  }

  it('a failure whose message is its own has the id of its answer for a reference', async () => {
    const references: string[] = []
    const thrown = new HttpError(502, `No answer about ${'0'.repeat(36)}`)
    const answer = await answerTo(thrown, (_, { reference }) => references.push(reference))
    expect(references).toEqual([answer.headers.get('x-request-id')])
  })

  it('a thrown value need not be an Error', async () => {
    for (const thrown of [undefined, null, 'secret', 7, { status: 418 }, Object.create(null)]) {
      const answer = await answerTo(thrown)
      expect(answer.status).toBe(500)
      expect(await answer.text()).not.toMatch(SECRETS)
    }
  })
})
