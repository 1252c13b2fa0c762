// Every kind of resource × method × format, by extension and by header, through both handlers: status,
// type, Vary, well-formedness, and the same content in all formats.
import { describe, expect, test } from 'vitest'
import { eachHandler, type Init } from '../handlers.ts'
import {
  ask,
  CREATED_TYPES,
  carOf,
  check,
  contentTypeOf,
  documents,
  ERROR,
  FORMATS,
  make,
  NAMES,
  READS,
  varyOf,
  ways,
} from './table-api.ts'
import { hasXmllint, lint } from './xmllint.ts'

const ERRORS: readonly [what: string, status: number, method: string, path: string, init?: Init][] =
  [
    ['an unknown filter', 400, 'GET', '/v1/cars?colour=red'],
    ['an unknown field of an item', 400, 'GET', '/v1/cars/1?fields=colour'],
    ['a body that is none', 400, 'POST', '/v1/cars', { json: {} }],
    ['no such item', 404, 'GET', '/v1/cars/999'],
    ['no such parent', 404, 'GET', '/v1/cars/999/options'],
    ['nothing there', 404, 'GET', '/v1/lorries'],
    ['another method', 405, 'DELETE', '/v1/cars'],
    ['another method of an action', 405, 'DELETE', '/v1/cars/1/buy'],
    ['not unique', 409, 'POST', '/v1/cars', { json: carOf(1) }],
    ['a precondition', 412, 'DELETE', '/v1/cars/1', { headers: { 'if-match': '"x"' } }],
    [
      'an unknown format',
      415,
      'POST',
      '/v1/cars',
      { headers: { 'content-type': 'image/png' }, body: 'a' },
    ],
    ['a range', 416, 'GET', '/v1/cars', { headers: { range: 'cars=50-' } }],
  ]

const OPTIONS = [
  '/',
  '/v1',
  '/v1/cars',
  '/v1/cars/count',
  '/v1/cars/1',
  '/v1/cars/1/buy',
  '/v1/cars/search',
  '/v1/cars/1/options',
  '/v2/photos/{photo}/photo',
]

/** What clients say that do not choose, and browsers. */
const CLIENTS: readonly [client: string, format: string, accept?: string][] = [
  ['a client that says nothing', 'json'],
  ['curl', 'json', '*/*'],
  ['axios', 'json', 'application/json, text/plain, */*'],
  ['Java', 'html', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'],
  ['Firefox', 'html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  [
    'Chromium',
    'html',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  ],
  ['a part of JSON:API', 'json', 'application/vnd.api+json'],
]

eachHandler(
  make,
  (handler, made) => {
    describe.each(READS)('%s', (_what, path, vary, kind) => {
      const cases = NAMES.flatMap(name => ways(path).map(way => ({ name, way })))
      // Of a whole list in a stream nothing is counted and no range is given.
      const moreOf = (name: string) =>
        FORMATS[name]?.streams && vary?.includes('Range') ? undefined : vary

      test.each(cases)('GET as $name by $way', async ({ name, way }) => {
        const { at, fieldsOf } = made()
        const answer = await ask(handler, way, name, at(path))
        check(answer, 200, name, varyOf(way, moreOf(name)))
        const fields = kind && fieldsOf(path.replace(/\?.*/, ''))
        const value = await FORMATS[name]?.read(answer.text, fields, kind === 'list')
        // A stream has no pages.
        const whole = FORMATS[name]?.streams && path.includes('limit')
        if (kind !== undefined && value !== undefined && !whole)
          expect(value).toEqual((await handler.request(at(path))).json)
      })

      test.each(cases)('HEAD as $name by $way', async ({ name, way }) => {
        const { at } = made()
        const head = await ask(handler, way, name, at(path), { method: 'HEAD' })
        check(head, 200, name, varyOf(way, moreOf(name)))
        expect(head.text).toBe('')
        const get = await ask(handler, way, name, at(path))
        const compared = [...head.headers].filter(
          ([header]) => !/^(?:date|connection|keep-alive|transfer-encoding|link)$/.test(header),
        )
        expect(Object.fromEntries(get.headers)).toMatchObject(Object.fromEntries(compared))
      })
    })

    describe.each(ERRORS)('%s: %i', (_what, status, method, path, init) => {
      test.each(NAMES.flatMap(name => ways(path).map(way => ({ name, way }))))(
        `${method} as $name by $way`,
        async ({ name, way }) => {
          const answer = await ask(handler, way, name, made().at(path), { ...init, method })
          // A stream has no parts.
          if (status === 416 && FORMATS[name]?.streams) return expect(answer.status).toBe(200)
          check(answer, status, name, varyOf(way))
          const value = await FORMATS[name]?.read(answer.text, ERROR, true)
          const errors = name === 'json' ? Object(value).errors : value
          if (errors !== undefined)
            expect(errors).toContainEqual(expect.objectContaining({ code: status }))
          else expect(answer.text).toContain(String(status))
          if (status === 405) expect(answer.headers.get('allow')).toMatch(/, OPTIONS$/)
          if (status === 415)
            expect(answer.headers.get('accept-post')).toBe(CREATED_TYPES.join(', '))
        },
      )
    })

    describe.each(OPTIONS)('OPTIONS %s', path => {
      // The extension of a file would be its name's.
      const file = path.includes('photo')
      const possible = ways(path).filter(way => !(file && way === 'extension'))
      test.each(NAMES.flatMap(name => possible.map(way => ({ name, way }))))(
        'as $name by $way',
        async ({ name, way }) => {
          const { at } = made()
          const answer = await ask(handler, way, name, at(path), { method: 'OPTIONS' })
          check(answer, 200, name, varyOf(way))
          FORMATS[name]?.read(answer.text, undefined, false)
          expect(answer.headers.get('allow')).toMatch(/OPTIONS$/)
          expect(answer.headers.get('access-control-allow-methods')).toBe(
            answer.headers.get('allow'),
          )
        },
      )
    })

    test.each(CLIENTS)('%s gets %s', async (_client, name, accept) => {
      const headers = accept === undefined ? {} : { accept }
      for (const path of ['/', '/v1/cars', '/v1/cars/1', '/v1/cars/999'])
        expect((await handler.request(path, { headers })).headers.get('content-type')).toBe(
          contentTypeOf(name),
        )
    })

    test.each(NAMES)('a file is what it is, asked for as %s', async name => {
      const answer = await ask(handler, 'Accept', name, made().at('/v1/photos/{photo}/photo'))
      const { headers } = answer
      expect([answer.status, headers.get('content-type'), headers.get('vary')]).toEqual([
        200,
        'image/png',
        null,
      ])
    })

    test('406 lists the available types', async () => {
      const answer = await handler.request('/v1/cars', { headers: { accept: 'image/png' } })
      expect(answer.status).toBe(406)
      const types = Object.values(FORMATS).map(({ type }) => type)
      for (const type of types) expect(answer.text).toContain(type)
    })
  },
  { once: true },
)

describe.runIf(hasXmllint())('as xmllint sees it', () => {
  test('every document of this table is well-formed', () => {
    expect(documents.length).toBeGreaterThan(100)
    expect(lint(['<a>'])).not.toBe('')
    expect(lint(documents)).toBe('')
  })
})
