// Workers refuse randomness, timers and signals before the first request: to import the package and to
// declare an api takes none of them.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

const { randomBytes, randomUUID } = crypto
const { AbortController, setTimeout, setInterval } = globalThis

function allow(what: Pick<typeof crypto, 'randomBytes' | 'randomUUID'>, globals: object): void {
  Object.assign(crypto, what)
  syncBuiltinESMExports()
  Object.assign(globalThis, globals)
}

afterEach(() => {
  allow({ randomBytes, randomUUID }, { AbortController, setTimeout, setInterval })
  vi.resetModules()
})

test('an api is declared without timers and random numbers, and answers with them', async () => {
  const refuse = () => {
    throw new Error('Disallowed operation called within global scope')
  }
  vi.resetModules()
  allow(
    { randomBytes: refuse, randomUUID: refuse },
    { AbortController: refuse, setTimeout: refuse, setInterval: refuse },
  )
  const { basic, bearerJwt, blob, defineApi, defineCollection, memoryBlobs, memoryStore } =
    await import('../src/index.ts')
  const { equalsInConstantTime } = await import('../src/rules/index.ts')
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string(), photo: blob().optional() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  })
  const api = defineApi({
    collections: [cars],
    schemes: [
      basic({
        verify: (id, password) => (equalsInConstantTime(password, 'b') ? { id } : undefined),
      }),
      bearerJwt({
        issuer: 'https://issuer.example',
        audience: 'https://api.example',
        jwksUri: 'https://issuer.example/keys',
      }),
    ],
    rateLimit: { policies: [{ limit: 5, window: 1 }] },
  })
  const calls = api.collection(cars)
  allow({ randomBytes, randomUUID }, { AbortController, setTimeout, setInterval })

  const request = new Request('https://api.example/cars', {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('a:b')}`, 'content-type': 'application/json' },
    body: '{"color":"red"}',
  })
  expect((await api.fetch(request)).status).toBe(201)
  expect(await calls.count()).toBe(1)
})

test('timers may be numbers, as in workerd', async () => {
  vi.resetModules()
  vi.stubGlobal('setInterval', () => 1)
  try {
    const { defineCollection, memoryStore } = await import('../src/index.ts')
    const schema = z.object({ color: z.string() })
    const cars = defineCollection({ name: 'cars', schema, store: memoryStore() })
    const init = { method: 'POST', body: new URLSearchParams({ color: 'red' }) }
    const answer = await cars.fetch(new Request('https://api.example/cars', init))
    expect(answer.status).toBe(201)
  } finally {
    vi.unstubAllGlobals()
  }
})
