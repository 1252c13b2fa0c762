// Messages of errors in other words: by the option `messages`, by the schema, by the locale of zod.
import { afterEach, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { defineApi, defineCollection, HttpError, type Messages, memoryStore } from '../src/index.ts'

function make(messages?: Messages) {
  const failures: unknown[] = []
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      color: z.enum(['red', 'blue']),
      price: z.number().min(0),
      plate: z
        .string()
        .regex(/^[A-Z]+$/, 'plate must be in capitals')
        .optional(),
    }),
    store: memoryStore(),
    actions: {
      break: {
        on: 'collection',
        run: () => {
          throw new HttpError(402, [{ message: 'Pay first', type: 'unpaid' }])
        },
      },
      odd: {
        on: 'collection',
        run: () => {
          throw new HttpError(402, [{ message: 'Mine', type: 'constructor' }])
        },
      },
      fail: {
        on: 'collection',
        run: () => {
          throw new Error('secret')
        },
      },
    },
  })
  const api = defineApi({
    collections: [cars],
    pages: html,
    onError: error => void failures.push(error),
    ...(messages && { messages }),
  })
  const send = (path: string, init: RequestInit = {}) => {
    const headers = { 'content-type': 'application/json', ...init.headers }
    return api.fetch(new Request(`http://a.example${path}`, { ...init, headers }))
  }
  const errorsOf = async (answer: Response) => {
    const { errors } = (await answer.json()) as { errors: { message: string; type: string }[] }
    return Object.fromEntries(errors.map(({ type, message }) => [type, message]))
  }
  const post = async (body: unknown, headers = {}) =>
    errorsOf(await send('/cars', { method: 'POST', headers, body: JSON.stringify(body) }))
  return { api, send, post, errorsOf, failures }
}

describe('messages', () => {
  it('replaces them by type: a text, a function of the issue and the request, nothing', async () => {
    const { send, post, errorsOf } = make({
      required: ({ field }, { headers }) =>
        headers['accept-language']?.startsWith('fr') ? `${field} est obligatoire` : undefined,
      too_small: 'Das ist zu wenig',
      unpaid: 'Bitte zahlen',
    })
    expect(await post({ price: -1 }, { 'accept-language': 'fr-CH' })).toEqual({
      required: 'color est obligatoire',
      too_small: 'Das ist zu wenig',
    })
    expect(await post({ price: 1 })).toEqual({ required: 'color is required' })
    expect(await errorsOf(await send('/cars/break', { method: 'POST', body: '{}' }))).toEqual({
      unpaid: 'Bitte zahlen',
    })
  })

  it.each([
    ['application/problem+json', '"detail":"Hier ist nichts"'],
    ['application/xml', '<message>Hier ist nichts</message>'],
    ['text/html', 'Hier ist nichts'],
  ])('%s has them too', async (accept, text) => {
    const { send } = make({ no_such_path: 'Hier ist nichts' })
    const answer = await send('/nothing', { headers: { accept } })
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining(text)])
  })

  it('keeps the message where a function throws, and reports it', async () => {
    const { send, errorsOf, failures } = make({
      no_such_path: () => {
        throw new Error('no words')
      },
      internal: () => {
        throw new Error('none at all')
      },
    })
    const answer = await send('/nothing')
    expect(answer.status).toBe(404)
    expect(await errorsOf(answer)).toEqual({ no_such_path: expect.stringMatching(/^Nothing/) })
    const broken = await send('/cars/fail', { method: 'POST', body: '{}' })
    expect(await errorsOf(broken)).toEqual({ internal: expect.stringMatching(/^Something failed/) })
    expect(failures.map(String)).toEqual(['Error: no words', 'Error: secret', 'Error: none at all'])
  })

  it('changes no error in process, and no message of other types', async () => {
    const { api, post, send, errorsOf } = make({ required: 'Fehlt' })
    const create = api.collection('cars').create({ price: 1 })
    await expect(create).rejects.toThrow('color is required')
    expect(await post({ color: 'green', price: 1 })).toEqual({
      invalid_value: 'color must be one of red, blue',
    })
    const odd = await send('/cars/odd', { method: 'POST', body: '{}' })
    expect(await errorsOf(odd)).toEqual({ constructor: 'Mine' })
  })

  test.each([[{ required: 5 }], [{ required: null }]])('%j is refused', messages => {
    // Wrong on purpose.
    expect(() => make(messages as unknown as Messages)).toThrow(
      /messages\.required must be .* a function/,
    )
  })
})

describe('zod', () => {
  const { localeError } = z.config()
  afterEach(() => {
    z.config({ localeError, customError: undefined })
  })
  const wrong = { color: 'red', price: 'much', plate: 'ab' }

  it.each([
    ['English', () => z.config(z.locales.en()), 'price must be a number'],
    ['German', () => z.config(z.locales.de()), 'Ungültige Eingabe: erwartet Zahl, erhalten string'],
    [
      'an error map',
      () => z.config({ customError: ({ code }) => (code === 'invalid_type' ? 'Hm.' : undefined) }),
      'Hm.',
    ],
    ['a locale of objects', () => z.config({ localeError: () => ({ message: 'Nein.' }) }), 'Nein.'],
    ['no locale', () => z.config({ localeError: undefined }), 'price must be a number'],
  ])('speaks as z.config says: %s; the author of a schema comes first', async (_, set, message) => {
    set()
    expect(await make().post(wrong)).toEqual({
      invalid_type: message,
      invalid_format: 'plate must be in capitals',
    })
  })
})
