// Cross-origin access (Fetch standard): the headers of every response.
import { describe, expect, it } from 'vitest'
import { eachHandler, type Init } from './handlers.ts'
import { ERRORS, failingApi } from './spec/failing.ts'

const APP = 'https://app.example'

const EXPOSED = [
  'Accept',
  'Accept-Patch',
  'Accept-Post',
  'Accept-Query',
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Location',
  'Content-Range',
  'Deprecation',
  'ETag',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Result-Count',
  'X-Total-Count',
]
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Range',
  'If-Unmodified-Since',
  'Prefer',
  'Range',
  'X-HTTP-Method-Override',
  'X-Request-Id',
  'X-Requested-With',
]

const listOf = (headers: Headers, name: string) => headers.get(name)?.split(', ') ?? []

/** Answers that are no errors. */
const SUCCESSES: readonly [name: string, status: number, target: string, init: Init][] = [
  ['the root', 200, '/', {}],
  ['a list', 200, '/things', {}],
  ['a HEAD', 200, '/things', { method: 'HEAD' }],
  ['a part of a list', 206, '/things', { headers: { range: 'things=0-0' } }],
  ['an item', 200, '/things/:id', {}],
  ['an item not modified', 304, '/things/:id', { headers: { 'if-none-match': '*' } }],
  ['a patch', 303, '/things/:id', { method: 'PATCH', json: {} }],
  [
    'a patch without an answer',
    204,
    '/things/:id',
    { method: 'PATCH', json: {}, headers: { prefer: 'return=minimal' } },
  ],
  ['a patch by _method', 303, '/things/:id?_method=PATCH', { method: 'POST', json: {} }],
  ['a creation', 201, '/things', { method: 'POST', json: { name: 'x' } }],
  ['OPTIONS', 200, '/things', { method: 'OPTIONS' }],
]

async function withThings(policies: Parameters<typeof failingApi>[0]) {
  const made = failingApi(policies)
  const { id } = await made.api.collection(made.things).create({ name: 'one' })
  await made.api.collection(made.things).create({ name: 'two' })
  return { ...made, path: (target: string) => target.replace(':id', String(id)) }
}

describe('open to any origin, the default', () => {
  eachHandler(
    () => withThings({ health: true }),
    (handler, made) => {
      for (const [name, status, target, init] of SUCCESSES) {
        it(`${name}: ${status}`, async () => {
          for (const origin of [{}, { origin: APP }]) {
            const answer = await handler.request(made().path(target), {
              ...init,
              headers: { ...init.headers, ...origin },
              ...(init.json === undefined
                ? {}
                : { json: name === 'a creation' ? { name: `n${Math.random()}` } : init.json }),
            })
            expect(answer.status).toBe(status)
            expect(answer.headers.get('access-control-allow-origin')).toBe('*')
            expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
            expect(answer.headers.get('access-control-expose-headers')).toBe('*')
            expect(listOf(answer.headers, 'vary')).not.toContain('Origin')
          }
        })
      }
      for (const { name, status, send } of ERRORS) {
        it(`${name}: ${status}`, async () => {
          const { headers } = await send(handler, made(), '')
          expect(headers.get('access-control-allow-origin')).toBe('*')
          expect(headers.get('access-control-expose-headers')).toBe('*')
        })
      }

      it('a preflight has the methods, the headers, and their lifetime', async () => {
        for (const [target, methods] of [
          ['/things', 'GET, QUERY, POST, PUT, HEAD, OPTIONS'],
          ['/things/:id', 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS'],
          ['/health', 'GET, HEAD, OPTIONS'],
          ['/nothing', 'GET, QUERY, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
        ] as const) {
          const answer = await handler.request(made().path(target), {
            method: 'OPTIONS',
            headers: {
              origin: APP,
              'access-control-request-method': 'PATCH',
              'access-control-request-headers': 'if-match,content-type',
            },
          })
          expect([answer.status, answer.text]).toEqual([204, ''])
          expect(answer.headers.get('content-type')).toBeNull()
          expect(new Set(listOf(answer.headers, 'access-control-allow-methods'))).toEqual(
            new Set(methods.split(', ')),
          )
          expect(listOf(answer.headers, 'access-control-allow-headers')).toEqual(
            expect.arrayContaining(ALLOWED),
          )
          expect(answer.headers.get('access-control-max-age')).toBe('600')
        }
      })
    },
  )
})

describe('open to a list of origins', () => {
  eachHandler(
    () =>
      withThings({
        cors: {
          origins: [APP, 'null'],
          credentials: true,
          maxAge: 5,
          headers: ['X-Api-Key', 'traceparent'],
        },
      }),
    (handler, made) => {
      for (const [name, status, target, init] of SUCCESSES) {
        it(`${name}: ${status}, for listed origins only`, async () => {
          const ask = (origin: Record<string, string>) =>
            handler.request(made().path(target), {
              ...init,
              headers: { ...init.headers, ...origin },
              ...(name === 'a creation' && { json: { name: `n${Math.random()}` } }),
            })
          const named = await ask({ origin: APP })
          expect(named.status).toBe(status)
          expect(named.headers.get('access-control-allow-origin')).toBe(APP)
          expect(named.headers.get('access-control-allow-credentials')).toBe('true')
          expect(listOf(named.headers, 'vary')).toContain('Origin')
          expect((await ask({ origin: 'null' })).headers.get('access-control-allow-origin')).toBe(
            'null',
          )
          for (const origin of [
            {},
            { origin: 'https://evil.example' },
            { origin: `${APP}.evil.example` },
            { origin: `${APP}:8443` },
            { origin: 'http://app.example' },
            { origin: '*' },
          ] as Record<string, string>[]) {
            const other = await ask(origin)
            expect(other.headers.get('access-control-allow-origin')).toBeNull()
            expect(other.headers.get('access-control-allow-credentials')).toBeNull()
            expect(listOf(other.headers, 'vary')).toContain('Origin')
          }
        })
      }

      it('errors too', async () => {
        for (const target of ['/nothing', '/things/nothing', '/things?x=1', '/crashing']) {
          const named = await handler.request(target, { headers: { origin: APP } })
          expect(named.headers.get('access-control-allow-origin')).toBe(APP)
          const other = await handler.request(target, {
            headers: { origin: 'https://evil.example' },
          })
          expect(other.headers.get('access-control-allow-origin')).toBeNull()
          expect(listOf(other.headers, 'vary')).toContain('Origin')
        }
      })

      it('a script may read every header of a response', async () => {
        // What the Fetch standard lets every script see, or what concerns no script.
        const known = new Set([
          'cache-control',
          'content-language',
          'content-length',
          'content-type',
          'expires',
          'last-modified',
          'pragma',
          'vary',
          'connection',
          'keep-alive',
          'date',
          'transfer-encoding',
          'x-content-type-options',
          'accept-encoding',
          ...EXPOSED.map(name => name.toLowerCase()),
        ])
        for (const [name, , target, init] of SUCCESSES) {
          const { headers } = await handler.request(made().path(target), {
            ...init,
            headers: { ...init.headers, origin: APP },
            ...(name === 'a creation' && { json: { name: `n${Math.random()}` } }),
          })
          const names = [...headers.keys()].filter(
            name => !name.startsWith('access-control-') && !known.has(name),
          )
          const exposed = listOf(headers, 'access-control-expose-headers').map(name =>
            name.toLowerCase(),
          )
          expect(exposed).toEqual(EXPOSED.map(name => name.toLowerCase()))
          expect(names.filter(name => !exposed.includes(name))).toEqual([])
        }
      })

      it('a preflight has the declared lifetime', async () => {
        const answer = await handler.request('/things', {
          method: 'OPTIONS',
          headers: { origin: APP, 'access-control-request-method': 'PUT' },
        })
        expect(answer.headers.get('access-control-max-age')).toBe('5')
      })

      it('a preflight allows the declared headers besides those of the api', async () => {
        const answer = await handler.request('/things', {
          method: 'OPTIONS',
          headers: { origin: APP, 'access-control-request-headers': 'traceparent,x-api-key' },
        })
        const allowed = [...ALLOWED, 'X-Api-Key', 'traceparent']
        expect(listOf(answer.headers, 'access-control-allow-headers')).toEqual(
          expect.arrayContaining(allowed),
        )
      })
    },
  )
})

describe('invalid options are TypeErrors', () => {
  const cases: readonly [name: string, cors: object][] = [
    ['credentials for everybody', { credentials: true }],
    ['credentials for *', { origins: '*', credentials: true }],
    ['a name without scheme', { origins: ['app.example'] }],
    ['a path', { origins: ['https://app.example/'] }],
    ['a user', { origins: ['https://me@app.example'] }],
    ['upper case', { origins: ['https://App.example'] }],
    ['the default port', { origins: ['https://app.example:443'] }],
    ['a wildcard', { origins: ['https://*.example'] }],
    ['nothing', { origins: [''] }],
    ['a path of an app', { origins: ['app://a/b'] }],
    ['a query of an app', { origins: ['app://a?b'] }],
    ['a fragment of an app', { origins: ['app://a#b'] }],
    ['a user of an app', { origins: ['app://me@a'] }],
    ['two origins in one', { origins: ['app://a app://b'] }],
    ['a scheme alone', { origins: ['app://'] }],
    ['a scheme that begins with a digit', { origins: ['1app://a'] }],
    ['more than null', { origins: ['nullify'] }],
    ['less than null', { origins: ['a null'] }],
    ['a negative age', { maxAge: -1 }],
    ['a broken age', { maxAge: 1.5 }],
    ['a header with a space', { headers: ['X Api Key'] }],
    ['any header', { headers: ['*'] }],
    ['a header of its own', { headers: ['X-Api-Key\r\nX-Other'] }],
  ]
  for (const [name, cors] of cases) {
    it(name, () => expect(() => failingApi({ cors })).toThrow(TypeError))
  }
  it('valid origins are accepted', () => {
    for (const origin of [
      APP,
      'http://localhost:5173',
      'http://[::1]:3000',
      'null',
      'capacitor://localhost',
      'chrome-extension://abc',
      'x://a',
      'web+app.v2://a',
    ]) {
      expect(() => failingApi({ cors: { origins: [origin] } })).not.toThrow()
    }
  })
})

describe('open by a function', () => {
  const PREVIEW = 'https://app-12.example'
  const origins = (origin: string) => {
    if (origin.includes('fails')) throw new Error('no')
    return origin === 'null' || /^https:\/\/app-\d+\.example$/.test(origin)
  }
  eachHandler(
    () => withThings({ cors: { origins, credentials: true } }),
    (handler, made) => {
      it('the origins that it allows have the headers, and every answer varies', async () => {
        for (const [origin, allowed] of [
          [PREVIEW, true],
          ['https://app-x.example', false],
          ['https://fails.example', false],
          ['null', false],
          ['x y', false],
          [undefined, false],
        ] as const) {
          for (const target of ['/things', '/nothing']) {
            const init = { headers: origin === undefined ? {} : { origin } }
            const { headers } = await handler.request(made().path(target), init)
            expect(listOf(headers, 'vary')).toContain('Origin')
            expect(headers.get('access-control-allow-origin')).toBe(allowed ? origin : null)
            expect(headers.get('access-control-allow-credentials')).toBe(allowed ? 'true' : null)
          }
        }
      })

      it('their pages may write with cookies, others may not', async () => {
        for (const [origin, status] of [
          [PREVIEW, 201],
          ['https://app-x.example', 403],
          ['null', 403],
        ] as const) {
          const init = {
            method: 'POST',
            json: { name: origin },
            headers: { origin, cookie: 'a=b' },
          }
          expect((await handler.request('/things', init)).status).toBe(status)
        }
      })
    },
  )

  it('without credentials it may allow null; a promise allows nothing', async () => {
    const ask = async (allows: (origin: string) => boolean) => {
      const { api } = await withThings({ cors: { origins: allows } })
      const init = { headers: { origin: 'null' } }
      const answer = await api.fetch(new Request('https://api.example/things', init))
      return answer.headers.get('access-control-allow-origin')
    }
    expect(await ask(() => true)).toBe('null')
    expect(await ask((async () => true) as never)).toBeNull()
  })
})
