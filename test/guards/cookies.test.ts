// Login CSRF: a form of another origin must not log its reader in, as somebody else.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type CorsOptions,
  defineApi,
  defineCollection,
  memoryStore,
  type Scheme,
} from '../../src/index.ts'
import { defineUntyped } from '../untyped.ts'

const own = 'https://api.example'
const evil = 'https://evil.example'
const app = 'https://app.example'

const bearer: Scheme = {
  name: 'Bearer',
  headers: ['Authorization', 'Cookie'],
  challenge: () => 'Bearer',
  authenticate: async ({ headers }) =>
    headers.authorization === 'Bearer ann' ? { id: 'ann' } : undefined,
}

function build(cors?: CorsOptions) {
  const seen: string[] = []
  const input = z.object({ name: z.string() })
  const users = defineCollection({
    name: 'users',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
    access: { login: 'public', saml: 'public', token: 'public', default: [] },
    actions: {
      login: {
        on: 'collection',
        cookies: true,
        input,
        run({ input, response }) {
          seen.push(input.name)
          response.headers.append('Set-Cookie', `session=${input.name}; HttpOnly; Path=/`)
          return { token: input.name }
        },
      },
      saml: {
        on: 'collection',
        cookies: true,
        crossSite: true,
        input,
        run: ({ input, response }) =>
          response.headers.append('Set-Cookie', `session=${input.name}; HttpOnly; Path=/`),
      },
      token: { on: 'collection', input, run: ({ input: { name } }) => ({ token: name }) },
      undeclared: {
        on: 'collection',
        run: ({ response }) => response.headers.append('Set-Cookie', 'a=b'),
      },
    },
  })
  const onError = (error: unknown) => void seen.push(String(error))
  const schemes = [bearer]
  return { ...defineApi({ collections: { users }, cors, schemes, pages: html, onError }), seen }
}

type Headers = Readonly<Record<string, string>>

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function post(api: ReturnType<typeof build>, path: string, sent: Headers, more = '') {
  const headers = { ...JSON_TYPE, accept: 'application/json', ...sent }
  const isForm = headers['content-type'] !== 'application/json'
  const body = isForm ? `name=eve${more}` : '{"name":"eve"}'
  const init = { method: 'POST', headers, body }
  const answer = await api.fetch(new Request(own + path, init))
  const [, type] = /"type":"(\w+)"/.exec(await answer.text()) ?? []
  return { status: answer.status, cookies: answer.headers.getSetCookie(), type }
}

const listed = { origins: [app], credentials: true }
const cases: [string, Headers, boolean, CorsOptions?][] = [
  ['a form of another site', { ...FORM, 'sec-fetch-site': 'cross-site', origin: evil }, true],
  ['a form without Origin', { ...FORM, 'sec-fetch-site': 'cross-site' }, true],
  ['a form of a sibling', { ...FORM, 'sec-fetch-site': 'same-site' }, true],
  ['a form in an old browser', { ...FORM, origin: evil }, true],
  ['a form of a hidden origin', { ...FORM, origin: 'null' }, true],
  ['a script of another site', { 'sec-fetch-site': 'cross-site', origin: evil }, true],
  ['one that has a cookie here', { cookie: 'a=b', origin: evil }, true],
  ['one that sends a token', { authorization: 'Bearer ann', origin: evil }, true],
  ['one that is listed without credentials', { origin: app }, true, { origins: [app] }],
  ['one that is not listed', { origin: evil }, true, listed],
  [
    'one that is listed with credentials',
    { origin: app, 'sec-fetch-site': 'cross-site' },
    false,
    listed,
  ],
  ['a page of this origin', { 'sec-fetch-site': 'same-origin', origin: own }, false],
  ['a page of this origin in an old browser', { ...FORM, origin: own }, false],
  [
    'a page that hides its origin',
    { ...FORM, 'sec-fetch-site': 'same-origin', origin: 'null' },
    false,
  ],
  ['the address bar', { 'sec-fetch-site': 'none' }, false],
  ['a program', {}, false],
]

describe('an action that sets cookies', () => {
  test.each(cases)('from %s', async (_, sent, refused, cors) => {
    const api = build(cors)
    const { status, cookies, type } = await post(api, '/users/login', sent)
    expect([status, type]).toEqual(refused ? [403, 'cross_origin'] : [200, undefined])
    expect(cookies).toEqual(refused ? [] : ['session=eve; HttpOnly; Path=/'])
    // It has not run: a login sees no password of a foreign page.
    expect(api.seen).toEqual(refused ? [] : ['eve'])
  })

  test.each(['POST', 'PUT', 'x'])('is refused before its form names %s', async method => {
    const sent = { ...FORM, origin: evil }
    const { status, type } = await post(build(), '/users/login', sent, `&_method=${method}`)
    expect([status, type]).toEqual([403, 'cross_origin'])
  })

  test('is refused where a foreign page has the documentation try it', async () => {
    const api = build()
    const path = '/docs/try?_path=/users/login'
    expect((await post(api, path, { ...FORM, origin: own })).cookies).toHaveLength(1)
    const { status, cookies } = await post(api, path, { ...FORM, origin: evil })
    expect([status, cookies]).toEqual([403, []])
  })

  test.each([
    ['without cookies', { origin: evil, 'sec-fetch-site': 'cross-site' }],
    ['with the cookie of its state', { origin: evil, cookie: 'state=1' }],
  ])('with crossSite takes what another site posts, %s', async (_, sent) => {
    const { status, cookies } = await post(build(), '/users/saml', { ...FORM, ...sent })
    expect([status, cookies]).toEqual([204, ['session=eve; HttpOnly; Path=/']])
  })

  test('must say so: else a cookie is a mistake of the program', async () => {
    const api = build()
    const headers = { authorization: 'Bearer ann' }
    const answer = await api.fetch(
      new Request(`${own}/users/undeclared`, { method: 'POST', headers }),
    )
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([500, []])
    expect(api.seen).toEqual([
      'TypeError: users: the action undeclared sets a cookie without cookies: true. Declare cookies: true next to its run.',
    ])
  })
})

describe('a page of any origin with a token', () => {
  const api = build()
  const sent = { origin: evil, 'sec-fetch-site': 'cross-site' }

  test('gets it of an action that sets no cookie', async () => {
    expect(await post(api, '/users/token', sent)).toMatchObject({ status: 200 })
  })

  test('passes the preflight and writes', async () => {
    const preflight = await api.fetch(
      new Request(`${own}/users`, {
        method: 'OPTIONS',
        headers: { origin: evil, 'access-control-request-method': 'POST' },
      }),
    )
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    const created = await post(api, '/users', { ...sent, authorization: 'Bearer ann' })
    expect(created.status).toBe(201)
  })
})

test.each([
  [{ cookies: true, method: 'GET' }, /the action go sets cookies, so its method cannot be GET/],
  [{ crossSite: true }, /the action go has crossSite: true without cookies: true/],
] as const)('the declaration %j is refused', (options, message) => {
  const define = () =>
    defineUntyped({
      name: 'users',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      actions: { go: { on: 'collection', run: () => undefined, ...options } },
    })
  expect(define).toThrow(TypeError)
  expect(define).toThrow(message)
})
