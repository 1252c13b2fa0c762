// Who may do what (promises 18 and 19): tokens that are not what they seem, scopes, challenges.

import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, request as tlsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import express from 'express'
import * as jose from 'jose'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type Access,
  basic,
  bearerJwt,
  blob,
  defineApi,
  defineCollection,
  type HttpRequest,
  introspection,
  memoryBlobs,
  memoryStore,
  type Policies,
  type Scheme,
} from '../../src/index.ts'
import { findApiDefinition } from '../../src/model/definitions.ts'
import { equalsInConstantTime } from '../../src/rules/index.ts'
import { listen } from '../handlers.ts'
import { createIdentity } from '../tls.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'https://api.example'

const keys = await jose.generateKeyPair('RS256', { extractable: true })
const other = await jose.generateKeyPair('RS256', { extractable: true })
const curve = await jose.generateKeyPair('ES256', { extractable: true })
const jwk = { ...(await jose.exportJWK(keys.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
const curveJwk = { ...(await jose.exportJWK(curve.publicKey)), kid: 'k2' }

interface TokenOptions {
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
  readonly key?: Parameters<jose.SignJWT['sign']>[0]
}

const seconds = () => Math.floor(Date.now() / 1000)

function token({
  header = {},
  claims = {},
  key = keys.privateKey,
}: TokenOptions = {}): Promise<string> {
  const payload = {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'ann',
    scope: 'cars:read cars:write',
    iat: seconds(),
    exp: seconds() + 60,
    ...claims,
  }
  // Claims of wrong types are the point of some cases.
  return new jose.SignJWT(payload as jose.JWTPayload)
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'at+jwt', ...header })
    .sign(key)
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

function unsigned(header: unknown, claims: unknown, signature = ''): string {
  return `${encode(header)}.${encode(claims)}.${signature}`
}

const ACCESS: Access = {
  list: 'public',
  read: ['cars:read'],
  create: ['cars:write'],
  patch: ['cars:write'],
  replace: ['cars:read', 'cars:write'],
  honk: ['cars:honk'],
  default: ['cars:admin'],
}

function apiOf(
  schemes: Policies['schemes'],
  more: Policies & { access?: Access; hideExistence?: boolean } = {},
) {
  const { hideExistence = false, ...policies } = more
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ id: z.string(), color: z.string() }),
    store: memoryStore(),
    search: ['color'],
    putCreates: true,
    access: ACCESS,
    hideExistence,
    actions: {
      honk: {
        on: 'item',
        input: z.object({ times: z.int() }),
        run: ({ input }) => ({ honks: input.times }),
      },
      paint: { on: 'collection', method: 'POST', run: () => ({ done: true }) },
    },
  })
  return defineApi({
    collections: [cars],
    schemes,
    baseUrl: 'https://api.example',
    onError: () => undefined,
    ...policies,
  })
}

type Api = ReturnType<typeof apiOf>

function ask(
  api: Api,
  method: string,
  path: string,
  credentials?: string,
  init: { body?: string; headers?: Record<string, string> } = {},
) {
  const headers = new Headers(init.headers)
  if (credentials !== undefined) headers.set('authorization', credentials)
  if (init.body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  return api.fetch(
    new Request(`https://api.example${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(init.body !== undefined && { body: init.body }),
    }),
  )
}

/** The first entry of an error body. */
async function firstError(answer: Response): Promise<{ code: number; type?: string }> {
  // The shape of an error body is what other tests hold to.
  const { errors } = (await answer.json()) as { errors: { code: number; type?: string }[] }
  return errors[0] ?? { code: 0 }
}

const CHALLENGE =
  'Bearer realm="api", resource_metadata="https://api.example/.well-known/oauth-protected-resource"'

describe('a JWT', () => {
  const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk, curveJwk] })])
  beforeAll(async () => {
    await api.collection('cars').create({ id: '1', color: 'red' })
  })

  const good: readonly (readonly [string, () => Promise<string>])[] = [
    ['as it should be', () => token()],
    ['for several audiences', () => token({ claims: { aud: ['https://x.example', AUDIENCE] } })],
    ['with typ JWT', () => token({ header: { typ: 'JWT' } })],
    ['with typ application/at+jwt', () => token({ header: { typ: 'application/at+jwt' } })],
    ['without typ', () => token({ header: { typ: undefined } })],
    ['without kid', () => token({ header: { kid: undefined } })],
    ['on a curve', () => token({ header: { alg: 'ES256', kid: 'k2' }, key: curve.privateKey })],
    ['expired within the tolerance', () => token({ claims: { exp: seconds() - 2 } })],
    ['with scopes as a list', () => token({ claims: { scope: undefined, scp: ['cars:read'] } })],
    ['of a client alone', () => token({ claims: { sub: undefined, client_id: 'app' } })],
  ]
  test.each(good)('%s is accepted', async (_, make) => {
    const answer = await ask(api, 'GET', '/cars/1', `Bearer ${await make()}`)
    expect([answer.status, await answer.json()]).toMatchObject([200, { id: '1' }])
    expect(answer.headers.get('cache-control')).toBe('private, no-cache, max-age=0')
    expect(answer.headers.get('vary')).toContain('Authorization')
  })

  const claims = () => ({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'ann',
    scope: 'cars:read',
    exp: seconds() + 60,
  })
  const pem = () => jose.exportSPKI(keys.publicKey)
  const bad: readonly (readonly [string, () => Promise<string> | string])[] = [
    ['alg none', () => unsigned({ alg: 'none' }, claims())],
    ['alg None', () => unsigned({ alg: 'None' }, claims())],
    ['alg nOnE with a signature', () => unsigned({ alg: 'nOnE' }, claims(), 'AAAA')],
    ['alg empty', () => unsigned({ alg: '' }, claims())],
    ['no alg', () => unsigned({}, claims())],
    ['alg a list', () => unsigned({ alg: ['RS256'] }, claims())],
    [
      'HS256 with the public key (PEM) as secret',
      async () => token({ header: { alg: 'HS256' }, key: new TextEncoder().encode(await pem()) }),
    ],
    [
      'HS256 with the public key (JWK) as secret',
      () => token({ header: { alg: 'HS256' }, key: new TextEncoder().encode(JSON.stringify(jwk)) }),
    ],
    [
      'HS256 with an empty-looking secret',
      () => token({ header: { alg: 'HS256' }, key: new Uint8Array(32) }),
    ],
    ['another key', () => token({ key: other.privateKey })],
    [
      'another key of the same kid, given in jwk',
      async () =>
        token({ key: other.privateKey, header: { jwk: await jose.exportJWK(other.publicKey) } }),
    ],
    [
      'a key named by jku',
      () => token({ key: other.privateKey, header: { jku: 'https://evil.example/keys' } }),
    ],
    [
      'a key named by x5u',
      () => token({ key: other.privateKey, header: { x5u: 'https://evil.example/cert' } }),
    ],
    ['an unknown kid', () => token({ header: { kid: 'k9' } })],
    [
      'a kid that is a path',
      () => token({ header: { kid: '../../../dev/null' }, key: other.privateKey }),
    ],
    ['a kid that is SQL', () => token({ header: { kid: "' OR '1'='1" }, key: other.privateKey })],
    ['the kid of another algorithm', () => token({ header: { kid: 'k2' } })],
    ['a kid __proto__', () => token({ header: { kid: '__proto__' } })],
    [
      'an unknown crit',
      async () => {
        const [, body = '', signature = ''] = (await token()).split('.')
        return `${encode({ alg: 'RS256', kid: 'k1', crit: ['x'], x: 1 })}.${body}.${signature}`
      },
    ],
    [
      'b64 false',
      async () => {
        const [, body = '', signature = ''] = (await token()).split('.')
        return `${encode({ alg: 'RS256', kid: 'k1', crit: ['b64'], b64: false })}.${body}.${signature}`
      },
    ],
    ['a typ of another use', () => token({ header: { typ: 'logout+jwt' } })],
    ['a typ of DPoP', () => token({ header: { typ: 'dpop+jwt' } })],
    ['another issuer', () => token({ claims: { iss: 'https://evil.example' } })],
    ['an issuer with a slash more', () => token({ claims: { iss: `${ISSUER}/` } })],
    ['no issuer', () => token({ claims: { iss: undefined } })],
    ['an issuer that is a list', () => token({ claims: { iss: [ISSUER] } })],
    ['another audience', () => token({ claims: { aud: 'https://other.example' } })],
    ['no audience', () => token({ claims: { aud: undefined } })],
    [
      'an audience that only begins alike',
      () => token({ claims: { aud: `${AUDIENCE}.evil.example` } }),
    ],
    ['an empty list of audiences', () => token({ claims: { aud: [] } })],
    ['an audience that is an object', () => token({ claims: { aud: { [AUDIENCE]: 1 } } })],
    ['expired', () => token({ claims: { exp: seconds() - 10 } })],
    [
      'an exp that is not finite',
      () => {
        const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: 0 }
        const payload = JSON.stringify(claims).replace('"exp":0', '"exp":1e400')
        return new jose.CompactSign(Buffer.from(payload))
          .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'at+jwt' })
          .sign(keys.privateKey)
      },
    ],
    ['no exp', () => token({ claims: { exp: undefined } })],
    ['an exp that is a text', () => token({ claims: { exp: String(seconds() + 60) } })],
    ['an exp that is null', () => token({ claims: { exp: null } })],
    ['not yet valid', () => token({ claims: { nbf: seconds() + 60 } })],
    ['an nbf that is a text', () => token({ claims: { nbf: '0' } })],
    ['an iat that is a text', () => token({ claims: { iat: 'now' } })],
    ['no sub', () => token({ claims: { sub: undefined } })],
    ['an empty sub', () => token({ claims: { sub: '' } })],
    ['a sub that is a number', () => token({ claims: { sub: 1 } })],
    ['a sub that is an object', () => token({ claims: { sub: { toString: 'ann' } } })],
    ['bound to a key', () => token({ claims: { cnf: { jkt: 'x' } } })],
    [
      'a changed payload',
      async () => {
        const [head = '', , signature = ''] = (await token()).split('.')
        return `${head}.${encode({ ...claims(), sub: 'root' })}.${signature}`
      },
    ],
    ['a cut signature', async () => (await token()).slice(0, -10)],
    ['no signature', async () => `${(await token()).split('.').slice(0, 2).join('.')}.`],
    ['two parts', async () => (await token()).split('.').slice(0, 2).join('.')],
    ['four parts', async () => `${await token()}.x`],
    ['five parts, as if encrypted', async () => `${await token()}.x.y`],
    ['a payload that is no JSON', () => unsigned({ alg: 'RS256', kid: 'k1' }, 'x', 'AAAA')],
    ['a header that is no JSON', () => unsigned('x', claims(), 'AAAA')],
    ['a header that is null', () => unsigned('null', claims(), 'AAAA')],
    ['Base64 rather than base64url', async () => `${await token()}==`],
    ['an opaque token', () => 'abcdef'],
  ]
  test.each(bad)('%s: 401', async (_, make) => {
    const answer = await ask(api, 'GET', '/cars/1', `Bearer ${await make()}`)
    expect([answer.status, await firstError(answer)]).toMatchObject([401, { code: 401 }])
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="api", error="invalid_token", error_description="[^"]+", resource_metadata="[^"]+"$/,
    )
    // What is wrong counts on a public operation too.
    expect((await ask(api, 'GET', '/cars', `Bearer ${await make()}`)).status).toBe(401)
  })

  test.each([
    [{ iss: 'https://evil.example' }, 'The access token is of another issuer'],
    [{ iss: undefined }, 'The access token has no iss'],
    [{ aud: 'https://other.example' }, 'The access token is for another audience'],
    [{ aud: undefined }, 'The access token has no aud'],
    [{ exp: undefined }, 'The access token has no exp'],
    [{ exp: String(seconds() + 60) }, 'The access token is not valid'],
    [{ nbf: seconds() + 60 }, 'The access token is not valid'],
  ])('the challenge of %j: %s', async (wrong, message) => {
    const answer = await ask(api, 'GET', '/cars/1', `Bearer ${await token({ claims: wrong })}`)
    expect(answer.headers.get('www-authenticate')).toContain(`error_description="${message}"`)
  })

  test.each(['Bearer', 'Bearer ', 'bearer', 'Bearer a b', 'Bearer "x"', 'Bearer x,y'])(
    '%j: 401',
    async text => {
      const answer = await ask(api, 'GET', '/cars/1', text)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
    },
  )

  test('a cached one expires with its exp', async () => {
    const short = await token({ claims: { exp: seconds() - 3 } })
    expect((await ask(api, 'GET', '/cars/1', `Bearer ${short}`)).status).toBe(200)
    const claimsOf = jose.decodeJwt(short)
    // Nothing is remembered beyond exp: this one was past it, so each request checks it again.
    await expect
      .poll(async () => (await ask(api, 'GET', '/cars/1', `Bearer ${short}`)).status, {
        timeout: 4000,
      })
      .toBe(401)
    expect(Number(claimsOf.exp) + 5).toBeLessThanOrEqual(Date.now() / 1000)
  })
})

describe('a JWT without a configured audience', () => {
  const scheme = bearerJwt({ issuer: ISSUER, keys: [jwk] })
  const api = apiOf([scheme])

  test('must be for the resource that the metadata name: what a client discovers is accepted', async () => {
    const metadata = await ask(api, 'GET', '/.well-known/oauth-protected-resource')
    const { resource } = (await metadata.json()) as { resource: string }
    expect(resource).toBe('https://api.example')
    for (const aud of [resource, `${resource}/`, ['x', resource]]) {
      const credentials = `Bearer ${await token({ claims: { aud } })}`
      expect((await ask(api, 'GET', '/cars/1', credentials)).status).toBe(404)
    }
  })

  test.each(['https://api.example.evil', 'https://api.example/v1', 'api.example', ''])(
    'is refused for %j, and the challenge says why',
    async aud => {
      const answer = await ask(api, 'GET', '/cars/1', `Bearer ${await token({ claims: { aud } })}`)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain(
        'error_description="The access token is for another audience"',
      )
    },
  )

  test('is refused by another api with the same scheme, though it was just accepted', async () => {
    const other = apiOf([scheme], { baseUrl: 'https://other.example' })
    const credentials = `Bearer ${await token()}`
    expect((await ask(api, 'GET', '/cars/1', credentials)).status).toBe(404)
    expect((await ask(other, 'GET', '/cars/1', credentials)).status).toBe(401)
  })

  test('needs a baseUrl: the Host of a request must not decide', () => {
    expect(() => apiOf([scheme], { baseUrl: undefined })).toThrow(
      /bearerJwt without audience .*: set baseUrl, or audience/,
    )
  })
})

describe('scopes and challenges', () => {
  const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] })])
  let bearer: (scope: string) => Promise<string>
  beforeAll(async () => {
    await api.collection('cars').create({ id: '1', color: 'red' })
    bearer = async scope => `Bearer ${await token({ claims: { scope } })}`
  })

  const body = '{"id":"2","color":"blue"}'
  const operations: readonly (readonly [string, string, string, string | undefined, number])[] = [
    ['GET', '/cars', 'public', undefined, 200],
    ['HEAD', '/cars', 'public', undefined, 200],
    ['GET', '/cars/count', 'public', undefined, 200],
    ['GET', '/cars/search?q=red', 'public', undefined, 200],
    ['GET', '/cars/1', 'cars:read', undefined, 200],
    ['HEAD', '/cars/1', 'cars:read', undefined, 200],
    ['GET', '/cars/1.json', 'cars:read', undefined, 200],
    ['GET', '/cars/1/', 'cars:read', undefined, 200],
    ['POST', '/cars', 'cars:write', body, 201],
    // It may list the item and not read it: no redirect would lead to it.
    ['PATCH', '/cars/1', 'cars:write', '{"color":"green"}', 200],
    ['PUT', '/cars/1', 'cars:read cars:write', '{"id":"1","color":"red"}', 303],
    ['POST', '/cars/1?_method=PATCH', 'cars:write', '{"color":"green"}', 200],
    ['POST', '/cars/1/honk', 'cars:honk', '{"times":2}', 200],
    ['POST', '/cars/paint', 'cars:admin', '{}', 200],
    ['DELETE', '/cars/2', 'cars:admin', undefined, 200],
    ['POST', '/cars/2?_method=delete', 'cars:admin', undefined, 404],
    ['GET', '/', '', undefined, 200],
  ]
  test.each(operations)('%s %s needs %j', async (method, path, scope, sent, status) => {
    const init = sent === undefined ? {} : { body: sent }
    const without = await ask(api, method, path, undefined, init)
    if (scope === 'public') {
      expect(without.status).toBe(status)
      return
    }
    expect(without.status).toBe(401)
    expect(without.headers.get('www-authenticate')).toBe(CHALLENGE)
    if (scope !== '') {
      const wrong = await ask(api, method, path, await bearer('cars:none cars:rea'), init)
      expect(wrong.status).toBe(403)
      expect(wrong.headers.get('www-authenticate')).toBe(
        `Bearer realm="api", error="insufficient_scope", error_description="This needs the scope ${scope}", scope="${scope}", resource_metadata="https://api.example/.well-known/oauth-protected-resource"`,
      )
    }
    expect((await ask(api, method, path, await bearer(scope), init)).status).toBe(status)
  })

  test('are checked before the body is read', async () => {
    const broken = {
      body: '{',
      headers: { 'content-type': 'application/nonsense', accept: 'nonsense/x' },
    }
    expect((await ask(api, 'POST', '/cars', undefined, broken)).status).toBe(401)
    expect((await ask(api, 'POST', '/cars', await bearer('cars:read'), broken)).status).toBe(403)
    const huge = { body: 'x'.repeat(2_000_000) }
    expect((await ask(api, 'POST', '/cars', await bearer('cars:read'), huge)).status).toBe(403)
  })

  test('count for the method that a form names', async () => {
    const form = (text: string) => ({
      body: text,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    const reader = await bearer('cars:read')
    expect((await ask(api, 'POST', '/cars/1', reader, form('_method=DELETE'))).status).toBe(403)
    expect((await ask(api, 'POST', '/cars/1', reader, form('_method=PATCH&color=x'))).status).toBe(
      403,
    )
    expect((await ask(api, 'POST', '/cars', undefined, form('color=red'))).status).toBe(401)
    expect((await ask(api, 'GET', '/cars/1', reader)).status).toBe(200)
    expect(await api.collection('cars').count({ id: '1' })).toBe(1)
  })

  test('a PUT that creates needs the scopes of create', async () => {
    const both = await bearer('cars:read cars:write')
    expect((await ask(api, 'PUT', '/cars/new', both, { body: '{"color":"red"}' })).status).toBe(201)
    const narrow = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] })])
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ id: z.string(), color: z.string() }),
      store: memoryStore(),
      putCreates: true,
      access: { replace: ['a'], create: ['b'] },
    })
    const putting = defineApi({
      collections: [cars],
      schemes: [...findApiDefinition(narrow).schemes],
      baseUrl: 'https://api.example',
    })
    expect(
      (await ask(putting, 'PUT', '/cars/x', await bearer('a'), { body: '{"color":"red"}' })).status,
    ).toBe(403)
    expect(
      (await ask(putting, 'PUT', '/cars/x', await bearer('a b'), { body: '{"color":"red"}' }))
        .status,
    ).toBe(201)
    expect(
      (await ask(putting, 'PUT', '/cars/x', await bearer('a'), { body: '{"color":"red"}' })).status,
    ).toBe(303)
  })

  describe('a principal with write scopes only', () => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string(), vin: z.string().default('hidden') }),
      store: memoryStore(),
      id: 'integer',
      access: { read: ['read'], list: ['list'], touch: ['touch'], default: ['write'] },
      actions: { touch: { on: 'item', run: () => undefined } },
    })
    const schemes = [bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] })]
    const api = defineApi({ collections: [cars], schemes, baseUrl: 'https://api.example' })
    const shown = { headers: { prefer: 'return=representation' } }

    test.each<[string, string, string, Parameters<typeof ask>[4], number, number]>([
      ['PATCH', '', 'write', { body: '{}', ...shown }, 204, 200],
      ['PATCH', '', 'write', { body: '{}' }, 204, 303],
      ['PATCH', '?suppress_error_codes', 'write', { body: '{}' }, 200, 200],
      ['PUT', '', 'write', { body: '{"color":"red"}', ...shown }, 204, 200],
      ['POST', '/touch', 'touch', { body: '{}', ...shown }, 204, 200],
      ['POST', '/touch?suppress_error_codes', 'touch', { body: '{}' }, 200, 200],
      ['DELETE', '', 'write', {}, 204, 200],
      ['DELETE', '', 'write', shown, 204, 200],
    ])('%s %s is shown nothing of it', async (method, path, scope, init, blind, seeing) => {
      for (const [scopes, status] of [
        [scope, blind],
        [`${scope} read`, seeing],
        // A redirect to an item that it may not read would lead to a 403.
        [`${scope} list`, 200],
      ] as const) {
        const { id } = await api.collection(cars).create({ color: 'red' })
        const answer = await ask(api, method, `/cars/${id}${path}`, await bearer(scopes), init)
        expect(answer.status).toBe(status)
        const text = await answer.text()
        // What was not preferred is not said to be applied.
        if (scopes === scope) {
          expect(answer.headers.get('preference-applied')).toBeNull()
          expect(text).toBe('')
        } else if (status === 200) expect(text).toContain('hidden')
      }
    })

    test('gets the item that it creates', async () => {
      const answer = await ask(api, 'POST', '/cars', await bearer('write'), {
        body: '{"color":"red"}',
      })
      expect([answer.status, await answer.json()]).toMatchObject([201, { vin: 'hidden' }])
    })
  })

  test('Allow, OPTIONS and 405 list what the principal may do; OPTIONS needs no credentials', async () => {
    const reader = await ask(api, 'OPTIONS', '/cars/1', await bearer('cars:read'))
    expect(reader.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect(Object.keys(Object(await reader.json()))).toEqual(['get'])
    const writer = await ask(api, 'OPTIONS', '/cars/1', await bearer('cars:read cars:write'))
    expect(writer.headers.get('allow')).toBe('GET, PUT, PATCH, HEAD, OPTIONS')
    const refused = await ask(api, 'BREW', '/cars/1', await bearer('cars:read'))
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    const preflight = await ask(api, 'OPTIONS', '/cars/1', undefined, {
      headers: { origin: 'https://x.example', 'access-control-request-method': 'DELETE' },
    })
    expect([preflight.status, await preflight.text()]).toEqual([204, ''])
    expect(preflight.headers.get('access-control-allow-methods')).toContain('DELETE')
  })

  test('401, 403 and 429 carry CORS headers', async () => {
    for (const credentials of [undefined, await bearer('x')]) {
      const answer = await ask(api, 'GET', '/cars/1', credentials, {
        headers: { origin: 'https://x.example' },
      })
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-expose-headers')).toBe('*')
    }
  })

  test('a path that does not exist is 404 without credentials', async () => {
    expect((await ask(api, 'GET', '/nothing')).status).toBe(404)
    expect((await ask(api, 'GET', '/CARS/1')).status).toBe(404)
    expect((await ask(api, 'GET', '//cars/1')).status).toBe(404)
  })

  test('the metadata of the resource is public (RFC 9728)', async () => {
    const answer = await ask(api, 'GET', '/.well-known/oauth-protected-resource')
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual({
      resource: 'https://api.example',
      authorization_servers: [ISSUER],
      scopes_supported: ['cars:admin', 'cars:honk', 'cars:read', 'cars:write'],
      bearer_methods_supported: ['header'],
    })
    expect((await ask(api, 'POST', '/.well-known/oauth-protected-resource')).status).toBe(405)
  })

  test.each<[string, string, (origin: string) => Policies]>([
    ['at the root', '', () => ({})],
    ['below a mount', '/api', () => ({})],
    ['below a mount with a baseUrl', '/api', origin => ({ baseUrl: `${origin}/api` })],
    ['below a mount and a prefix', '/api', () => ({ prefix: '/inner' })],
    ['below a prefix', '', () => ({ prefix: '/inner' })],
  ])('a challenge has the public address of the metadata: %s', async (_, mount, policies) => {
    const app = express()
    const { base: origin, close } = await listen(app)
    const { baseUrl, prefix = '' } = policies(origin)
    const { schemes } = findApiDefinition(api)
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
    })
    const served = defineApi({
      collections: [cars],
      schemes,
      prefix,
      ...(baseUrl !== undefined && { baseUrl }),
    })
    app.use(mount || '/', served.handler)
    const root = `${origin}${mount}${prefix}`
    const challenge = (await fetch(`${root}/cars`)).headers.get('www-authenticate') ?? ''
    const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
    const answer = await fetch(address)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ resource: root })
    // Where the handler is asked for it, it also answers at the place of RFC 9728 §3.1.
    if (mount === '') {
      const place = `${origin}/.well-known/oauth-protected-resource${prefix}`
      expect((await fetch(place)).status).toBe(200)
    }
    await close()
  })

  test('a scheme that fails is a 500', async () => {
    const scheme: Scheme = {
      name: 'Broken',
      challenge: () => 'Broken',
      authenticate: () => Promise.reject(new Error('password=x')),
    }
    const answer = await ask(apiOf([scheme]), 'GET', '/cars')
    expect([answer.status, (await answer.text()).includes('password')]).toEqual([500, false])
  })

  test('a form without any allowed method is a 405 for every client', async () => {
    const scheme: Scheme = {
      name: 'Never',
      challenge: () => 'Never',
      authenticate: async () => undefined,
    }
    const body = new FormData()
    body.set('color', 'red')
    for (const init of [{ body }, { body: new URLSearchParams({ color: 'red' }) }]) {
      const request = new Request('https://api.example/cars/count', { method: 'POST', ...init })
      const { status, headers } = await apiOf([scheme]).fetch(request)
      expect([status, headers.get('allow')]).toEqual([405, 'GET, QUERY, HEAD, OPTIONS'])
    }
  })

  test('with hideExistence a missing scope is answered 404', async () => {
    const hiding = apiOf(findApiDefinition(api).schemes, { hideExistence: true })
    await hiding.collection('cars').create({ id: '1', color: 'red' })
    const credentials = await bearer('none')
    for (const path of ['/cars/1', '/cars/2', '/cars/1/honk']) {
      const method = path.endsWith('honk') ? 'POST' : 'GET'
      const answer = await ask(hiding, method, path, credentials)
      const nothing = await ask(hiding, method, `/nothing${path.slice(5)}`, credentials)
      expect([answer.status, await answer.text()]).toEqual([
        404,
        (await nothing.text()).replace('/nothing', '/cars'),
      ])
      expect(answer.headers.get('www-authenticate')).toBeNull()
    }
    expect((await ask(hiding, 'OPTIONS', '/cars/1', credentials)).status).toBe(404)
  })

  test.each([[{ lst: 'public' }], [{ list: 'everybody' }], [{ list: ['a b'] }], [{ list: ['"'] }]])(
    'access %j is a TypeError',
    access => {
      // Wrong on purpose.
      const wrong = access as unknown as Access
      expect(() =>
        defineCollection({
          name: 'cars',
          schema: z.object({}),
          store: memoryStore(),
          access: wrong,
        }),
      ).toThrow(TypeError)
    },
  )
})

describe('a principal with read but without download', () => {
  const bytes = Buffer.from('the bytes').toString('base64')
  async function served(binary: 'flat' | 'object') {
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({
        text: z.string(),
        scan: blob(),
        icon: blob({ inlineBelow: 100 }).optional(),
        about_id: z.int().optional(),
      }),
      references: { about_id: 'notes' },
      store: memoryStore(),
      blobs: memoryBlobs(),
      binary,
      id: 'integer',
      access: { read: 'public', list: 'public', patch: 'public', download: ['paid'], default: [] },
    })
    const schemes = [basic({ verify: id => ({ id, scopes: [id] }) })]
    const api = defineApi({ collections: [notes], schemes, pages: html })
    for (const about_id of [undefined, 1])
      await api
        .collection('notes')
        .create({ text: 'a', scan_data: bytes, icon: { data: bytes }, about_id })
    return (path: string, user?: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers)
      if (user) headers.set('authorization', `Basic ${btoa(`${user}:x`)}`)
      return api.fetch(new Request(`https://a.test${path}`, { ...init, headers }))
    }
  }
  const requested = { flat: 'scan_data', object: 'scan.data' }

  test.each([
    ['flat', '/notes/1'],
    ['object', '/notes/1'],
    ['flat', '/notes'],
    ['object', '/notes.csv'],
    ['flat', '/notes.ndjson'],
    ['flat', '/notes.html'],
  ] as const)(
    '%s, %s: contents are given inline to who may download them',
    async (binary, path) => {
      const ask = await served(binary)
      const fields = `${path}?fields=text,${requested[binary]}`
      expect((await ask('/notes/1/scan')).status).toBe(401)
      expect((await ask('/notes/1/scan', 'bob')).status).toBe(403)
      for (const [user, status] of [
        [undefined, 401],
        ['bob', 403],
      ] as const) {
        const refused = await ask(fields, user)
        expect(refused.status).toBe(status)
        expect(await refused.text()).not.toContain(bytes)
        expect((await ask(`${path}?fields=text`, user)).status).toBe(200)
        const small = await ask(path, user)
        expect(small.status).toBe(200)
        expect(await small.text()).not.toContain(bytes)
      }
      expect(await (await ask(fields, 'paid')).text()).toContain(bytes)
    },
  )

  test('small contents are inline for principals that may download', async () => {
    const ask = await served('flat')
    expect(await (await ask('/notes/1', 'paid')).json()).toMatchObject({ icon_data: bytes })
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const change = { method: 'PATCH', headers, body: '{"text":"b"}' }
    const changed = await (await ask('/notes/1', undefined, change)).json()
    expect(changed).toMatchObject({ text: 'b', icon_url: 'https://a.test/notes/1/icon' })
    expect(changed).not.toHaveProperty('icon_data')
    expect((await ask('/notes/1/icon', 'paid')).status).toBe(200)
  })

  test.each(['/notes/1', '/notes', '/notes/2?include=about', '/notes.html'])(
    'the tag of %s is not that of an answer with contents inline',
    async path => {
      const ask = await served('flat')
      const headers = { 'if-none-match': (await ask(path)).headers.get('etag') ?? '' }
      expect((await ask(path, undefined, { headers })).status).toBe(304)
      expect((await ask(path, 'paid', { headers })).status).toBe(200)
      const patch = { 'content-type': 'application/json', 'if-match': headers['if-none-match'] }
      const change = { method: 'PATCH', headers: patch, body: '{"text":"b"}' }
      if (/\d/.test(path))
        expect((await ask(path.replace(/\?.*/, ''), 'paid', change)).status).toBe(200)
    },
  )
})

describe('keys', () => {
  let server: Server
  let served: { keys: jose.JWK[] } | string | undefined
  let fetched = 0
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
  /** Lets seconds pass, for the cache and for tokens. */
  const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1000)
  afterEach(() => {
    vi.useRealTimers()
    served = undefined
  })
  let address = ''
  beforeAll(async () => {
    server = createServer((_, response) => {
      fetched++
      if (served !== undefined)
        response.end(typeof served === 'string' ? served : JSON.stringify(served))
      else response.writeHead(500).end('down')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // A TCP server's address is an object.
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  })
  afterAll(() => server.close())

  test('that cannot be fetched are a 503, never a 401; later they are accepted, and rotated', async () => {
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, jwksUri: address })])
    await api.collection('cars').create({ id: '1', color: 'red' })
    const status = async (text: string) =>
      (await ask(api, 'GET', '/cars/1', `Bearer ${text}`)).status
    const first = await token()
    const down = await ask(api, 'GET', '/cars/1', `Bearer ${first}`)
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await down.text()).not.toMatch(/127\.0\.0\.1|keys|JWKS/)

    served = { keys: [jwk] }
    pass(5)
    expect(await status(first)).toBe(200)

    const rotated = await jose.exportJWK(other.publicKey)
    served = { keys: [{ ...rotated, kid: 'new', alg: 'RS256' }] }
    pass(5)
    const second = await token({ header: { kid: 'new' }, key: other.privateKey })
    expect(await status(second)).toBe(200)

    fetched = 0
    for (let at = 0; at < 50; at++) await status(await token({ header: { kid: `unknown-${at}` } }))
    expect(fetched).toBe(0)
    pass(5)
    for (let at = 0; at < 50; at++) await status(await token({ header: { kid: `unknown-${at}` } }))
    expect(fetched).toBe(1)

    served = undefined
    // What is known still counts while the keys cannot be fetched.
    expect(await status(second)).toBe(200)
  })

  /** Another token each time: none is cached. */
  const fresh = () => token({ claims: { jti: randomUUID(), exp: seconds() + 600 } })

  test('of the issuer are asked for again after cache, by one fetch; what they lack ends at once', async () => {
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, jwksUri: address })])
    const status = async (text: string) => (await ask(api, 'GET', '/', `Bearer ${text}`)).status
    served = { keys: [jwk] }
    fetched = 0
    const kept = await fresh()
    expect(await status(kept)).toBe(200)
    pass(59)
    expect(await status(await fresh())).toBe(200)
    expect(fetched).toBe(1)
    served = { keys: [] }
    pass(1)
    // A cached token ends with its key, and twenty requests cause one fetch.
    const all = [kept, ...(await Promise.all(Array.from({ length: 19 }, fresh)))]
    expect(new Set(await Promise.all(all.map(status)))).toEqual(new Set([401]))
    expect(fetched).toBe(2)
  })

  test('that came by an unknown kid end what was verified without them', async () => {
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, jwksUri: address })])
    const status = async (text: string) => (await ask(api, 'GET', '/', `Bearer ${text}`)).status
    served = { keys: [jwk] }
    const kept = await fresh()
    expect(await status(kept)).toBe(200)
    served = { keys: [{ ...(await jose.exportJWK(other.publicKey)), kid: 'new', alg: 'RS256' }] }
    pass(5)
    expect(await status(kept)).toBe(200)
    expect(await status(await token({ header: { kid: 'new' }, key: other.privateKey }))).toBe(200)
    expect(await status(kept)).toBe(401)
  })

  test.each([
    ['an hour', undefined, 3660],
    ['as staleKeys says', 100, 160],
    ['not at all by 0', 0, 60],
  ])('serve while the issuer is down: %s', async (_, staleKeys, seconds) => {
    const options = { issuer: ISSUER, audience: AUDIENCE, jwksUri: address }
    const api = apiOf([bearerJwt({ ...options, ...(staleKeys !== undefined && { staleKeys }) })])
    const status = async () => (await ask(api, 'GET', '/', `Bearer ${await fresh()}`)).status
    served = { keys: [jwk] }
    expect(await status()).toBe(200)
    served = undefined
    fetched = 0
    if (seconds > 60) {
      pass(60)
      expect(await status()).toBe(200)
      pass(seconds - 61)
      expect(await status()).toBe(200)
      // An unknown kid may be that of a new key.
      const unknown = await token({ header: { kid: 'x' } })
      expect((await ask(api, 'GET', '/', `Bearer ${unknown}`)).status).toBe(503)
      pass(1)
    } else pass(60)
    expect(await status()).toBe(503)
    expect(fetched).toBeGreaterThan(0)
    // Back, without the key: the old set is of no use any more.
    served = { keys: [] }
    pass(5)
    await status()
    await expect.poll(status).toBe(401)
  })

  test.each(['{"keys":1}', 'no json', '[]'])('%s is as if the issuer were down', async text => {
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, jwksUri: address })])
    const status = async () => (await ask(api, 'GET', '/', `Bearer ${await fresh()}`)).status
    served = { keys: [jwk] }
    expect(await status()).toBe(200)
    served = text
    pass(60)
    expect(await status()).toBe(200)
  })

  test('in a list are never fetched', () => {
    const options = { issuer: ISSUER, audience: AUDIENCE, keys: [jwk], staleKeys: 5 }
    expect(() => bearerJwt(options)).toThrow('bearerJwt: staleKeys is for jwksUri')
  })

  test.each([
    [{ keys: [jwk], algorithms: ['HS256'] }],
    [{ keys: [jwk], algorithms: ['none'] }],
    [{ keys: [{ kty: 'oct', k: 'AAAA' }] }],
    [{}],
    [{ keys: [jwk], jwksUri: 'https://x.example' }],
    [{ jwksUri: 'file:///etc/passwd' }],
    [{ keys: [jwk], tolerance: -1 }],
    [{ keys: [jwk], cache: Number.NaN }],
    [{ keys: [jwk], issuer: '' }],
    [{ keys: [jwk], audience: [] }],
    [{ jwksUri: 'nowhere' }],
  ])('%j is a TypeError', options => {
    expect(() => bearerJwt({ issuer: ISSUER, audience: AUDIENCE, ...options })).toThrow(TypeError)
  })

  test.each([
    ['a CryptoKey', () => keys.publicKey, 'bearerJwt: keys must be JWKs; use exportJWK() of jose'],
    [
      'a set of keys',
      () => ({ keys: [jwk] }),
      'bearerJwt: keys must be JWKs; use exportJWK() of jose',
    ],
    [
      'a secret',
      () => ({ kty: 'oct', k: 'AAAA' }),
      'bearerJwt: keys must be public keys, not shared secrets',
    ],
  ])('%s among the keys is refused by what it is', (_, make, message) => {
    // Wrong on purpose.
    const key = make() as unknown as Record<string, unknown>
    expect(() => bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk, key] })).toThrow(
      message,
    )
  })

  test('at an unreachable address are a 503', async () => {
    const jwksUri = 'http://127.0.0.1:1/keys'
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, jwksUri })])
    expect((await ask(api, 'GET', '/', `Bearer ${await token()}`)).status).toBe(503)
  })

  test('several of which fit a token without kid: 401', async () => {
    const unnamed = async (key: jose.CryptoKey) => ({
      ...(await jose.exportJWK(key)),
      alg: 'RS256',
    })
    const set = [await unnamed(other.publicKey), await unnamed(keys.publicKey)]
    const api = apiOf([bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: set })])
    const text = await token({ header: { kid: undefined } })
    const answer = await ask(api, 'GET', '/', `Bearer ${text}`)
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('a kid')])
  })

  test.each<[string, (() => { id: string } | undefined) | undefined, number]>([
    ['itself', undefined, 200],
    ['another', () => ({ id: 'bob' }), 200],
    ['nobody', () => undefined, 401],
  ])('a token may be turned into %s', async (_, principal, wanted) => {
    const common = { issuer: ISSUER, audience: AUDIENCE, keys: [jwk], algorithms: ['RS256'] }
    const api = apiOf([bearerJwt({ ...common, ...(principal && { principal }) })])
    expect((await ask(api, 'GET', '/', `Bearer ${await token()}`)).status).toBe(wanted)
  })

  test.each<[string, TokenOptions, number]>([
    ['without sub', { claims: { sub: undefined } }, 200],
    ['bound to a key', { claims: { cnf: { jkt: 'x' } } }, 401],
  ])('a token %s, with a custom principal: %3$d', async (_, options, wanted) => {
    const principal = () => ({ id: 'ann' })
    const scheme = bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk], principal })
    const text = await token(options)
    expect((await ask(apiOf([scheme]), 'GET', '/', `Bearer ${text}`)).status).toBe(wanted)
  })

  test.each([
    [0, 2],
    [60, 1],
  ])('with a cache of %i s a repeated token is verified %i times', async (cache, times) => {
    let checked = 0
    const principal = () => {
      checked++
      return { id: 'ann' }
    }
    const common = { issuer: ISSUER, audience: AUDIENCE, keys: [jwk], principal }
    const api = apiOf([bearerJwt({ ...common, cache })])
    const text = await token()
    for (let round = 0; round < 2; round++) {
      expect((await ask(api, 'GET', '/', `Bearer ${text}`)).status).toBe(200)
    }
    expect(checked).toBe(times)
  })

  test('an algorithm that is not declared is refused, whatever the keys allow', async () => {
    const common = { issuer: ISSUER, audience: AUDIENCE, keys: [jwk, curveJwk] }
    const api = apiOf([bearerJwt({ ...common, algorithms: ['RS256'] })])
    const text = await token({ header: { alg: 'ES256', kid: 'k2' }, key: curve.privateKey })
    expect((await ask(api, 'GET', '/', `Bearer ${text}`)).status).toBe(401)
    expect((await ask(api, 'GET', '/', `Bearer ${await token()}`)).status).toBe(200)
  })

  test('need the package jose', async () => {
    vi.resetModules()
    vi.doMock('jose', () => {
      throw new Error('Cannot find package')
    })
    try {
      const { bearerJwt: unable } = await import('../../src/index.ts')
      const failures: unknown[] = []
      const api = apiOf([unable({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] })], {
        onError: error => failures.push(error),
      })
      const answer = await ask(api, 'GET', '/', `Bearer ${await token()}`)
      expect(answer.status).toBe(500)
      expect(failures).toMatchObject([{ message: expect.stringContaining('npm install jose') }])
      await expect(api.open()).rejects.toThrow('bearerJwt needs the package jose: npm install jose')
    } finally {
      vi.doUnmock('jose')
      vi.resetModules()
    }
  })

  test('typ can be required to be at+jwt', async () => {
    const api = apiOf([
      bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk], typ: ['at+jwt'] }),
    ])
    const status = async (typ: string | undefined) =>
      (await ask(api, 'GET', '/', `Bearer ${await token({ header: { typ } })}`)).status
    expect([
      await status('at+jwt'),
      await status('application/AT+JWT'),
      await status('JWT'),
      await status(undefined),
    ]).toEqual([200, 200, 401, 401])
  })
})

describe('introspection', () => {
  let server: Server
  let address = ''
  let requested = 0
  let status = 200
  let answer: (token: string) => unknown = () => ({ active: false })
  let seen: { authorization?: string | undefined; body?: string } = {}
  beforeAll(async () => {
    server = createServer((request, response) => {
      requested++
      let body = ''
      request.on('data', chunk => {
        body += chunk
      })
      request.on('end', () => {
        seen = { authorization: request.headers.authorization, body }
        const reply = answer(new URLSearchParams(body).get('token') ?? '')
        response.statusCode = status
        response.end(typeof reply === 'string' ? reply : JSON.stringify(reply))
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // A TCP server's address is an object.
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/introspect`
  })
  afterAll(() => server.close())

  const make = (more: Partial<Parameters<typeof introspection>[0]> = {}) =>
    apiOf([
      introspection({
        endpoint: address,
        client: { id: 'a:b', secret: 'c d' },
        issuer: ISSUER,
        audience: AUDIENCE,
        ...more,
      }),
    ])
  const active = { active: true, sub: 'ann', scope: 'cars:read', aud: AUDIENCE, iss: ISSUER }

  test('asks once for requests sent together, with its client credentials', async () => {
    const api = make()
    requested = 0
    answer = () => active
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(api, 'GET', '/cars/1', 'Bearer opaque')),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(404))
    expect(requested).toBe(1)
    expect(seen).toEqual({
      authorization: `Basic ${Buffer.from('a%3Ab:c%20d').toString('base64')}`,
      body: 'token=opaque&token_type_hint=access_token',
    })
  })

  test.each([
    [{ id: 'bob' }, {}, 404],
    [{ id: 'bob' }, { sub: undefined }, 404],
    [{ id: 'bob' }, { cnf: { jkt: 'x' } }, 401],
    [undefined, {}, 401],
  ])('a custom principal %j of a response with %j: %i', async (principal, claims, status) => {
    answer = () => ({ ...active, ...claims })
    const api = make({ principal: () => principal && { ...principal, scopes: ['cars:read'] } })
    expect((await ask(api, 'GET', '/cars/1', 'Bearer z')).status).toBe(status)
  })

  const wrong: readonly (readonly [string, unknown])[] = [
    ['inactive', { active: false }],
    ['active as a text', { ...active, active: 'true' }],
    ['active as a number', { ...active, active: 1 }],
    ['expired', { ...active, exp: seconds() - 1 }],
    ['with an exp that is a text', { ...active, exp: String(seconds() + 100) }],
    ['not yet valid', { ...active, nbf: seconds() + 100 }],
    ['of another issuer', { ...active, iss: 'https://evil.example' }],
    ['for another audience', { ...active, aud: ['x'] }],
    ['for no audience', { ...active, aud: undefined }],
    ['of nobody', { ...active, sub: undefined }],
    ['bound to a key', { ...active, cnf: { jkt: 'x' } }],
  ]
  test.each(wrong)('%s: 401', async (_, reply) => {
    answer = () => reply
    const refused = await ask(make(), 'GET', '/cars/1', 'Bearer x')
    expect([refused.status, refused.headers.get('www-authenticate')?.slice(0, 41)]).toEqual([
      401,
      'Bearer realm="api", error="invalid_token"',
    ])
  })

  test.each([
    ['down', 500, 'down', 503],
    ['failing, whatever it says', 500, JSON.stringify(active), 503],
    ['that knows not the api', 401, JSON.stringify(active), 503],
    [
      'that says when in infinity',
      200,
      JSON.stringify({ ...active, exp: 5 }).replace(/5(?=\D*$)/, '1e400'),
      401,
    ],
    ['that knows no such token', 400, JSON.stringify(active), 401],
    ['that talks too much', 200, JSON.stringify({ ...active, more: 'x'.repeat(64 * 1024) }), 503],
    ['of no JSON', 200, 'x', 503],
    ['of no object', 200, '[]', 503],
    ['of a text', 200, '"x"', 503],
    ['of null', 200, 'null', 503],
  ])('an endpoint %s', async (_, expectedCode, reply, expected) => {
    answer = () => reply
    status = expectedCode
    expect((await ask(make(), 'GET', '/cars/1', 'Bearer x')).status).toBe(expected)
    status = 200
  })

  test.each([
    ['no credentials', undefined],
    ['another scheme', 'Basic YTpi'],
  ])('%s: the endpoint is not asked, and the challenge has no error', async (_, credentials) => {
    requested = 0
    const refused = await ask(make(), 'GET', '/cars/1', credentials)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer realm="api"(?!.*error)/),
    ])
    expect(requested).toBe(0)
  })

  test.each(['Bearer a, Bearer b', 'Bearer a b', 'Bearer ä', 'Bearer =a'])(
    '%s is no token: nobody is asked',
    async credentials => {
      requested = 0
      answer = () => active
      expect((await ask(make(), 'GET', '/cars/1', credentials)).status).toBe(401)
      expect(requested).toBe(0)
    },
  )

  test.each([
    [{ iss: undefined }, 404],
    [{ aud: ['x', AUDIENCE] }, 404],
    [{ aud: [] }, 401],
    [{ exp: seconds() + 100, nbf: seconds() - 1 }, 404],
    [{ exp: null }, 404],
    [{ sub: '', client_id: 'app' }, 404],
    [{ sub: 5, client_id: 'app' }, 404],
    [{ sub: 'x'.repeat(1024) }, 404],
    [{ sub: 'x'.repeat(1025) }, 401],
    [{ scope: ' a  cars:read' }, 404],
    [{ scope: 'cars:reader' }, 403],
    [{ scope: undefined, scp: 'cars:read' }, 404],
    [{ scope: undefined, scp: [5, 'cars:read'] }, 404],
    [{ scope: undefined, scp: { 0: 'cars:read' } }, 403],
    [{ scope: 5 }, 403],
  ])('a response with %j: %i', async (claims, expected) => {
    answer = () => ({ ...active, ...claims })
    expect((await ask(make(), 'GET', '/cars/1', 'Bearer x')).status).toBe(expected)
  })

  test('without an issuer and an audience any counts, and the metadata have none', async () => {
    answer = () => ({ ...active, iss: 'https://other.example', aud: 'other' })
    const open = make({ issuer: undefined, audience: undefined })
    expect((await ask(open, 'GET', '/cars/1', 'Bearer x')).status).toBe(404)
    const serversOf = async (api: Api) => {
      const metadata = await ask(api, 'GET', '/.well-known/oauth-protected-resource')
      return ((await metadata.json()) as { authorization_servers?: unknown }).authorization_servers
    }
    expect([await serversOf(make()), await serversOf(open)]).toEqual([[ISSUER], undefined])
  })

  test('a scheme finds credentials again that it has checked, unless another one comes first', async () => {
    const asked: string[] = []
    const makeScheme = (name: string, found: boolean): Scheme => ({
      name,
      challenge: () => name,
      authenticate: async () => {
        asked.push(name)
        return { id: name }
      },
      ...(found && { find: () => ({ id: name }) }),
    })
    const things = defineCollection({
      name: 'things',
      schema: z.object({ text: z.string() }),
      store: memoryStore(),
    })
    for (const founds of [
      [true, false],
      [false, true],
    ]) {
      const schemes = founds.map((found, at) => makeScheme(`S${at}`, found))
      const api = defineApi({ collections: [things], schemes })
      expect((await api.fetch(new Request('http://cars.test/things'))).status).toBe(200)
    }
    expect(asked).toEqual(['S0'])
  })

  test('caches the newest 10,000 tokens', async () => {
    let calls = 0
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => {
      calls++
      return new Response(JSON.stringify(active))
    })
    const scheme = introspection({
      endpoint: address,
      client: { id: 'a', secret: 'b' },
      cache: 999,
    })
    // All that a scheme for bearer tokens reads of a request.
    const requestWith = (authorization: string): Partial<HttpRequest> => ({
      headers: { authorization },
    })
    const look = (at: number) => scheme.authenticate(requestWith(`Bearer t${at}`) as HttpRequest)
    try {
      for (let at = 0; at <= 10_000; at++) await look(at)
      await look(10_000)
      await look(1)
      expect(calls).toBe(10_001)
      await look(0)
      expect(calls).toBe(10_002)
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('a revoked token is refused at once without a cache, and after its time with one', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    for (const cache of [0, 30]) {
      const api = make({ cache })
      answer = () => active
      const status = async () => (await ask(api, 'GET', '/cars/1', 'Bearer y')).status
      expect(await status()).toBe(404)
      answer = () => ({ active: false })
      const later = cache === 0 ? 401 : 404
      expect(await status()).toBe(later)
      // Also where the clock is set back meanwhile.
      vi.setSystemTime(Date.now() - 3_600_000)
      vi.advanceTimersByTime(29_000)
      expect(await status()).toBe(later)
      vi.advanceTimersByTime(1_000)
      expect(await status()).toBe(401)
    }
  })

  test('tokens with a common prefix are distinguished', async () => {
    const api = make()
    answer = text => (text === 'abc' ? active : { active: false })
    expect((await ask(api, 'GET', '/cars/1', 'Bearer abc')).status).toBe(404)
    expect((await ask(api, 'GET', '/cars/1', 'Bearer abcd')).status).toBe(401)
    expect((await ask(api, 'GET', '/cars/1', 'Bearer ab')).status).toBe(401)
  })
})

const people = new Map([
  ['jürgen', 'pässwörd:1'],
  ['ann', 'x'],
])
const verify = (user: string, password: string) => {
  const known = equalsInConstantTime(password, people.get(user) ?? '')
  return known && people.has(user) ? { id: user, scopes: ['cars:read'] } : undefined
}
const basicOf = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

describe('Basic', () => {
  const api = apiOf([
    basic({ verify }),
    bearerJwt({ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] }),
  ])
  beforeAll(async () => {
    await api.collection('cars').create({ id: '1', color: 'red' })
  })

  test('several schemes give several challenges, and each counts', async () => {
    const without = await ask(api, 'GET', '/cars/1')
    expect(without.headers.get('www-authenticate')).toBe(
      `Basic realm="api", charset="UTF-8", ${CHALLENGE}`,
    )
    expect((await ask(api, 'GET', '/cars/1', basicOf('jürgen', 'pässwörd:1'))).status).toBe(200)
    expect((await ask(api, 'GET', '/cars/1', `Bearer ${await token()}`)).status).toBe(200)
    expect((await ask(api, 'DELETE', '/cars/1', basicOf('ann', 'x'))).status).toBe(403)
  })

  test.each([
    ['a wrong password', basicOf('ann', 'y')],
    ['an unknown user', basicOf('bob', 'x')],
    ['an unknown user without password', basicOf('bob', '')],
    ['no colon', `Basic ${Buffer.from('ann').toString('base64')}`],
    ['nothing', 'Basic'],
    ['no Base64', 'Basic !!!'],
    ['latin1', `Basic ${Buffer.from('jürgen:pässwörd:1', 'latin1').toString('base64')}`],
    ['a control character', basicOf('ann\n', 'x')],
    ['a null', basicOf('ann\0', 'x')],
    ['two of them', `${basicOf('ann', 'x')}, ${basicOf('ann', 'x')}`],
    ['__proto__', basicOf('__proto__', '')],
  ])('%s: 401', async (_, credentials) => {
    const answer = await ask(api, 'GET', '/cars/1', credentials)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('Basic realm="api"')
  })

  test('is refused in clear text, and has no challenge there', async () => {
    const request = (headers: Record<string, string> = {}) =>
      api.fetch(new Request('http://api.example/cars/1', { headers }))
    const refused = await request({ authorization: basicOf('ann', 'x') })
    expect(refused.status).toBe(403)
    expect(await firstError(refused)).toMatchObject({
      type: 'insecure_transport',
      message: expect.stringMatching(/trustProxy.*clientAddress/),
    })
    expect((await request()).headers.get('www-authenticate')).toBe(CHALLENGE)
    const forged = await request({
      authorization: basicOf('ann', 'x'),
      'x-forwarded-proto': 'https',
    })
    expect(forged.status).toBe(403)
    const behind = apiOf([basic({ verify })], { trustProxy: 1 })
    const proxied = (proto: string) =>
      behind.fetch(
        new Request('http://api.example/cars/1', {
          headers: { authorization: basicOf('ann', 'x'), 'x-forwarded-proto': proto },
        }),
      )
    expect([(await proxied('https')).status, (await proxied('http')).status]).toEqual([404, 403])
  })

  test('is accepted over loopback through fetch where clientAddress says so', async () => {
    const status = async (clientAddress: () => string | undefined) => {
      const headers = { authorization: basicOf('ann', 'x') }
      const local = apiOf([basic({ verify })], { clientAddress })
      return (await local.fetch(new Request('http://localhost/cars/1', { headers }))).status
    }
    expect(await status(() => '127.0.0.1')).toBe(404)
    expect(await status(() => '::1')).toBe(404)
    expect(await status(() => '10.0.0.1')).toBe(403)
    // A header that anybody may have written, given as it came.
    expect(await status(() => '127.0.0.1, 10.0.0.1')).toBe(403)
    expect(await status(() => undefined)).toBe(403)
  })

  test('over a real TLS connection, and over loopback without', async () => {
    const identity = createIdentity()
    const server = createTlsServer(identity, api.handler)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // A TCP server's address is an object.
    const { port } = server.address() as AddressInfo
    const status = (credentials: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        tlsRequest(
          {
            host: '127.0.0.1',
            servername: 'localhost',
            port,
            path: '/cars/1',
            ca: identity.cert,
            headers: { authorization: credentials },
          },
          response => {
            response.resume()
            resolve(response.statusCode)
          },
        )
          .on('error', reject)
          .end()
      })
    expect([await status(basicOf('ann', 'x')), await status(basicOf('ann', 'y'))]).toEqual([
      200, 401,
    ])
    server.close()
    server.closeAllConnections()

    const plain = createServer(api.handler)
    await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', resolve))
    // As above.
    const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/cars/1`
    const answer = await fetch(url, { headers: { authorization: basicOf('ann', 'x') } })
    expect(answer.status).toBe(200)
    plain.close()
    plain.closeAllConnections()
  })

  test('equalsInConstantTime', () => {
    expect([
      equalsInConstantTime('a', 'a'),
      equalsInConstantTime('a', 'b'),
      equalsInConstantTime('', ''),
      equalsInConstantTime('a', 'aa'),
      equalsInConstantTime('é', 'e\u0301'),
    ]).toEqual([true, false, true, false, false])
  })
})

describe('cross-site requests', () => {
  const own = 'https://api.example'
  const evil = 'https://evil.example'
  const cases: readonly (readonly [string, Record<string, string>, boolean])[] = [
    ['Basic from another site', { 'sec-fetch-site': 'cross-site', origin: evil }, true],
    [
      'Basic from another host of the site',
      { 'sec-fetch-site': 'same-site', origin: 'https://x.api.example' },
      true,
    ],
    ['Basic from the same origin', { 'sec-fetch-site': 'same-origin', origin: own }, false],
    ['Basic typed by a person', { 'sec-fetch-site': 'none' }, false],
    ['Basic from an old browser elsewhere', { origin: evil }, true],
    ['Basic from a hidden origin', { origin: 'null' }, true],
    ['Basic from an old browser here', { origin: own }, false],
    ['Basic from no browser', {}, false],
    [
      'Basic from an origin that may',
      { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' },
      false,
    ],
  ]
  const api = apiOf(
    [basic({ verify: user => ({ id: user, scopes: ['cars:write', 'cars:read'] }) })],
    { cors: { origins: ['https://app.example'], credentials: true } },
  )

  test.each(['Digest a=b', 'Negotiate YQ==', 'ntlm YQ=='])('%s from another site', async sent => {
    const headers = { 'sec-fetch-site': 'cross-site', origin: evil }
    const answer = await ask(api, 'POST', '/cars/1', sent, { headers, body: '{}' })
    expect([answer.status, (await firstError(answer)).type]).toEqual([403, 'cross_origin'])
  })

  test.each(cases)('%s', async (_, headers, refused) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await ask(api, method, '/cars/1', basicOf('ann', 'x'), {
        headers,
        ...(method !== 'DELETE' && { body: '{}' }),
      })
      const type = answer.status >= 400 ? (await firstError(answer)).type : undefined
      expect(type === 'cross_origin').toBe(refused)
    }
    expect((await ask(api, 'GET', '/cars', basicOf('ann', 'x'), { headers })).status).toBe(200)
  })

  test('cookies count as credentials of the browser, bearer tokens do not', async () => {
    const open = apiOf([])
    const post = (headers: Record<string, string>) =>
      ask(open, 'POST', '/cars', undefined, { body: '{"id":"z","color":"red"}', headers })
    expect((await post({ cookie: 'session=1', 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await post({ 'sec-fetch-site': 'cross-site', origin: evil })).status).toBe(201)
    const form = {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: 'session=1',
      'sec-fetch-site': 'cross-site',
    }
    expect(
      (await ask(open, 'POST', '/cars', undefined, { body: 'color=red', headers: form })).status,
    ).toBe(403)
  })
})

test.each([
  [undefined, 'no-cache, max-age=0', 'private, no-cache, max-age=0'],
  ['public, max-age=60', 'public, max-age=60', 'private, max-age=60'],
  ['public', 'public', 'private'],
  ['Public,s-maxage=5 , max-age=60', 'Public,s-maxage=5 , max-age=60', 'private, max-age=60'],
  ['private, max-age=60', 'private, max-age=60', 'private, max-age=60'],
  [
    'private="x, public", no-transform',
    'private="x, public", no-transform',
    'private, no-transform',
  ],
  ['max-age=1, a="public, b"', 'max-age=1, a="public, b"', 'private, max-age=1, a="public, b"'],
])('with credentials the Cache-Control %j is private', async (cacheControl, open, own) => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    access: { list: 'public' },
    ...(cacheControl !== undefined && { cacheControl }),
  })
  const api = defineApi({
    collections: [cars],
    schemes: [basic({ verify: id => ({ id }) })],
    access: { root: 'public' },
    trustProxy: true,
  })
  const ask = async (path: string, headers = {}) =>
    (await api.fetch(new Request(`https://api.example${path}`, { headers }))).headers.get(
      'cache-control',
    )
  const authorization = `Basic ${Buffer.from('ann:x').toString('base64')}`
  expect(await ask('/cars')).toBe(open)
  expect(await ask('/cars', { authorization })).toBe(own)
  expect(await ask('/', { authorization })).toBe('private, no-cache, max-age=0')
})
