// What a version may add to a table that another one serves too.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, defineVersion, memoryStore } from '../../src/index.ts'

const color = z.string()

/** Two versions on one table. */
function openTwo(
  one: z.core.$ZodShape,
  two: z.core.$ZodShape,
  fields: { readonly v1?: object; readonly v2?: object } = {},
) {
  const store = memoryStore()
  const define = (shape: z.core.$ZodShape, own?: object) =>
    defineCollection({
      name: 'cars',
      schema: z.object(shape),
      store,
      id: 'integer',
      ...(own && { fields: own }),
    })
  const versions = [
    defineVersion({ version: 1, collections: [define(one, fields.v1)] }),
    defineVersion({ version: 2, collections: [define(two, fields.v2)] }),
  ] as const
  return defineApi({ versions })
}

async function send(api: ReturnType<typeof openTwo>, method: string, path: string, body?: object) {
  const answer = await api.fetch(
    new Request(`https://api.example${path}`, {
      method,
      headers: { 'content-type': 'application/json', prefer: 'return=representation' },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

describe('a property with a default that the other version lacks', () => {
  const open = async () => {
    const api = openTwo({ color }, { color, doors: z.int().default(5) })
    expect(await send(api, 'POST', '/v1/cars', { color: 'red' })).toMatchObject({ status: 201 })
    return api
  }

  it('is absent from a row that the other version wrote, and filters do not find it', async () => {
    const api = await open()
    expect((await send(api, 'GET', '/v2/cars/1')).body).not.toHaveProperty('doors')
    expect((await send(api, 'GET', '/v2/cars?doors=5')).body).toEqual([])
  })

  it('may be absent from a patch of another property, which leaves it absent', async () => {
    const api = await open()
    const patched = await send(api, 'PATCH', '/v2/cars/1', { color: 'blue' })
    expect(patched).toMatchObject({ status: 200, body: { color: 'blue' } })
    expect(patched.body).not.toHaveProperty('doors')
    expect((await send(api, 'PATCH', '/v2/cars/1', { doors: 3 })).body).toMatchObject({ doors: 3 })
  })

  it('is optional in the document of its version, and required where all versions have it', async () => {
    const api = await open()
    const { body } = await send(api, 'GET', '/v2/openapi.json')
    expect(body.components.schemas.Car.required).toEqual([
      'id',
      'created_at',
      'updated_at',
      'color',
    ])
    const both = openTwo({ color, doors: z.int().default(4) }, { color, doors: z.int().default(5) })
    const { body: same } = await send(both, 'GET', '/v2/openapi.json')
    expect(same.components.schemas.Car.required).toContain('doors')
  })
})

test('a required property without a default in one version alone is a TypeError', () => {
  expect(() => openTwo({ color }, { color, doors: z.int() })).toThrow(TypeError)
  expect(() => openTwo({ color }, { color, doors: z.int() })).toThrow(
    'v2: cars: doors is required, and v1 creates cars without it. Give it .default(…) or .optional()',
  )
  expect(() => openTwo({ color }, { color, doors: z.int().optional() })).not.toThrow()
  expect(() => openTwo({ color }, { color, doors: z.int().nullable().default(null) })).not.toThrow()
})

test('a property that is write-only in one version and readable in another is a TypeError', () => {
  const both = { color, pin: z.string() }
  const hidden = { v1: { pin: 'writeOnly' } }
  expect(() => openTwo(both, both, hidden)).toThrow(
    'v2: cars: pin is readable, and write-only in v1. Make it writeOnly here too, or give it a read rule',
  )
  expect(() => openTwo(both, both, { ...hidden, v2: { pin: 'writeOnly' } })).not.toThrow()
  expect(() => openTwo(both, both, { ...hidden, v2: { pin: { read: ['admin'] } } })).not.toThrow()
})
