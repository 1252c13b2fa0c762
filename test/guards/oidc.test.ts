// Against a real authorization server: client credentials, a scope that is missing, an expired token,
// rotation, an opaque token and its revocation.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import {
  bearerJwt,
  defineApi,
  defineCollection,
  introspection,
  memoryStore,
} from '../../src/index.ts'

const AUDIENCE = 'urn:cars'
const OPAQUE = 'urn:opaque'
const CLIENT = { id: 'robot', secret: 'a secret of forty characters, for a client' }
const credentials = `Basic ${Buffer.from(`${CLIENT.id}:${encodeURIComponent(CLIENT.secret)}`).toString('base64')}`

let server: Server
let issuer = ''
let url = ''
let api: Server

async function listen(made: Server): Promise<string> {
  await new Promise<void>(resolve => made.listen(0, '127.0.0.1', resolve))
  // A TCP server's address is an object.
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`
}

beforeAll(async () => {
  const { privateKey } = await jose.generateKeyPair('RS256', { extractable: true })
  server = createServer()
  issuer = await listen(server)
  const scope = 'cars:read cars:write'
  const provider = new Provider(issuer, {
    jwks: {
      keys: [
        { ...(await jose.exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' },
      ] as never,
    },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['cars:read', 'cars:write'],
    ttl: { ClientCredentials: 3 },
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope,
          audience: resource,
          accessTokenFormat: resource === AUDIENCE ? 'jwt' : 'opaque',
          ...(resource === AUDIENCE && { jwt: { sign: { alg: 'RS256' } } }),
        }),
      },
    },
  })
  server.on('request', provider.callback())

  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    access: { list: ['cars:read'], create: ['cars:write'] },
  })
  const made = defineApi({
    collections: [cars],
    schemes: [
      bearerJwt({
        issuer,
        audience: AUDIENCE,
        jwksUri: `${issuer}/jwks`,
        typ: ['at+jwt'],
        tolerance: 0,
      }),
      introspection({
        endpoint: `${issuer}/token/introspection`,
        client: CLIENT,
        issuer,
        cache: 0,
      }),
    ],
  })
  api = createServer(made.handler)
  url = await listen(api)
})
afterAll(() => {
  for (const each of [server, api]) {
    each.close()
    each.closeAllConnections()
  }
})

async function grant(resource: string, scope: string): Promise<string> {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: credentials },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
  })
  const body = Object(await answer.json())
  expect(body).toMatchObject({ token_type: 'Bearer' })
  return String(body.access_token)
}

function list(token?: string): Promise<Response> {
  return fetch(`${url}/cars`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  })
}

function create(token: string): Promise<Response> {
  return fetch(`${url}/cars`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"color":"red"}',
  })
}

test('the challenge leads to the issuer', async () => {
  const refused = await list()
  expect(refused.status).toBe(401)
  const metadata = /resource_metadata="([^"]+)"/.exec(
    refused.headers.get('www-authenticate') ?? '',
  )?.[1]
  expect(await (await fetch(metadata ?? '')).json()).toMatchObject({
    resource: url,
    authorization_servers: [issuer],
  })
})

test('a JWT by client credentials is accepted for its scopes', async () => {
  const reader = await grant(AUDIENCE, 'cars:read')
  expect(jose.decodeProtectedHeader(reader)).toMatchObject({ typ: 'at+jwt', kid: 'one' })
  expect((await list(reader)).status).toBe(200)
  const refused = await create(reader)
  expect(refused.status).toBe(403)
  expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
  expect(refused.headers.get('www-authenticate')).toContain('scope="cars:write"')
  expect((await create(await grant(AUDIENCE, 'cars:read cars:write'))).status).toBe(201)
})

test('an expired JWT is refused', async () => {
  const token = await grant(AUDIENCE, 'cars:read')
  expect((await list(token)).status).toBe(200)
  await expect
    .poll(async () => (await list(token)).status, { timeout: 60_000, interval: 200 })
    .toBe(401)
  const refused = await list(token)
  expect(refused.headers.get('www-authenticate')).toContain(
    'error_description="The access token has expired"',
  )
  expect(Number(jose.decodeJwt(token).exp)).toBeLessThanOrEqual(Date.now() / 1000)
})

test('a token is accepted only by its own resource', async () => {
  const opaque = await grant(OPAQUE, 'cars:read')
  expect(opaque).not.toContain('.')
  expect((await list(opaque)).status).toBe(200)
  expect((await list(`${opaque}x`)).status).toBe(401)
})

test('a revoked opaque token is refused', async () => {
  const token = await grant(OPAQUE, 'cars:read')
  expect((await list(token)).status).toBe(200)
  const revoked = await fetch(`${issuer}/token/revocation`, {
    method: 'POST',
    headers: { authorization: credentials },
    body: new URLSearchParams({ token }),
  })
  expect(revoked.status).toBe(200)
  expect((await list(token)).status).toBe(401)
})
