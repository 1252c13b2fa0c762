// Mistakes in a declaration are TypeErrors when it is made; and what a declaration leaves out.

import { createServer } from 'node:http'
import { describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import { singular } from '../src/collection.ts'
import { harden } from '../src/harden.ts'
import {
  type Access,
  blob,
  type CollectionOptions,
  defineApi,
  defineCollection,
  type IntrospectionOptions,
  introspection,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import type { Schema } from '../src/schema.ts'
import { storeCases } from '../src/testing.ts'

const schema = z.object({
  name: z.string(),
  number: z.int(),
  on: z.boolean(),
  tags: z.array(z.string()),
  model: z.object({ name: z.string() }),
  labels: z.record(z.string(), z.string()),
})
type Options = Partial<CollectionOptions<typeof schema>>

function collection(options: Options = {}) {
  return defineCollection({ name: 'cars', schema, store: memoryStore(), ...options })
}

/** Another schema where the types want the one of these tests. */
const other = (made: Schema) => made as typeof schema

describe('a TypeError of a collection', () => {
  it.each<[string, Options, RegExp]>([
    ['a name with a slash', { name: 'a/b' }, /name is made of letters/],
    ['a name that begins with a digit', { name: '1a' }, /name is made of letters/],
    ['a sort by no field', { sort: '-weight' }, /sort names no field: "weight"/],
    ['a sort by a list', { sort: 'name,tags' }, /sort: "tags" is a list: it has no order/],
    ['a sort by an object', { sort: '-model' }, /sort: "model" is an object: it has no order/],
    ['a search in no field', { search: ['weight'] }, /"weight"/],
    ['an index of no field', { indexes: ['weight'] }, /index names no field: "weight"/],
    ['an index of a list', { indexes: ['tags'] }, /is a list and cannot be indexed/],
    ['an index of an object', { indexes: [['model']] }, /is an object and cannot be indexed/],
    [
      'an index of a record',
      { unique: ['labels'] },
      /is an object of named values and cannot be indexed/,
    ],
    [
      'an index of contents',
      { schema: other(z.object({ photo: blob() })), blobs: memoryBlobs(), indexes: ['photo'] },
      /"photo" is a file and cannot be indexed/,
    ],
    ['ids of clients without a member', { putCreates: true }, /putCreates needs/],
    ['a relation of one', { relation: { name: 'models' } }, /exactly two fields/],
    ['a parent at no field', { parents: { weight: 'models' } }, /no field: "weight"/],
    ['a parent at a switch', { parents: { on: 'models' } }, /must be a field that holds an id/],
    [
      'two fields with one parent',
      { parents: { name: 'models', number: 'models' } },
      /two fields name models as parent/,
    ],
    ['a limit of no items', { defaultLimit: 0 }, /defaultLimit must be/],
    ['a limit over the largest', { defaultLimit: 9, maxLimit: 5 }, /may not be above/],
    ['access to nothing', { access: { lst: 'public' } as Access }, /no operation: "lst"/],
    [
      'a blob without a place',
      { schema: other(z.object({ photo: blob() })) },
      /"photo" is a blob\(\)/,
    ],
    [
      'dates that the server sets',
      { schema: other(z.object({ created_at: z.string() })) },
      /created_at is set by the server/,
    ],
    ['a schema that is a list', { schema: other(z.array(z.string())) }, /must be an object/],
  ])('%s', (_, options, message) => {
    expect(() => collection(options)).toThrow(TypeError)
    expect(() => collection(options)).toThrow(message)
  })
})

describe('a TypeError of an api', () => {
  const models = collection({ name: 'models' })
  const child = { name: 'cars', parents: { name: 'models' } }
  it.each<[string, () => unknown, RegExp]>([
    ['without collections of a version', () => defineApi({ versions: [] }), /at least one/],
    [
      'two collections of one name',
      () => defineApi({ collections: [collection(), collection()] }),
      /the same name/,
    ],
    [
      'two collections on one store',
      () => {
        const store = memoryStore()
        const collections = [collection({ store }), collection({ name: 'models', store })]
        defineApi({ collections })
      },
      /cars and models have the same store: .* each a store of its own/,
    ],
    [
      'a parent that is not there',
      () => defineApi({ collections: [collection(child)] }),
      /its parent "models" is not/,
    ],
    [
      'texts that name a parent with whole numbers',
      () => {
        const counted = collection({ name: 'models', id: 'integer' })
        defineApi({ collections: [counted, collection(child)] })
      },
      /cars: "name" is z\.string\(\), but .* models is a whole number; declare z\.int\(\)/,
    ],
    [
      'whole numbers that name a parent with texts',
      () => {
        const numbered = collection({ name: 'cars', parents: { number: 'models' } })
        defineApi({ collections: [models, numbered] })
      },
      /cars: "number" is z\.int\(\), but .* models is a text; declare z\.string\(\)/,
    ],
    ['a parent, alone', () => collection(child).fetch, /its parent "models" is not/],
    [
      'a sub-collection that is an action too',
      () => {
        const actions = { cars: { on: 'item', run: () => null } } as const
        defineApi({ collections: [collection({ name: 'models', actions }), collection(child)] })
      },
      /is a sub-collection and an action/,
    ],
    [
      'a sub-collection that is a blob too',
      () => {
        const photos = defineCollection({
          name: 'models',
          schema: z.object({ cars: blob() }),
          store: memoryStore(),
          blobs: memoryBlobs(),
        })
        defineApi({ collections: [photos, collection(child)] })
      },
      /is a sub-collection and an action or a blob/,
    ],
    [
      'an action called count',
      () => {
        const actions = { count: { on: 'collection', run: () => null } } as const
        defineApi({ collections: [collection({ actions })] })
      },
      /may not be called "count"/,
    ],
    [
      'an action called search',
      () => {
        const actions = { search: { on: 'item', run: () => null } } as const
        defineApi({ collections: [collection({ actions, search: ['name'] })] })
      },
      /may not be called "search"/,
    ],
    [
      'proxies that are no number',
      () => defineApi({ collections: [models], trustProxy: -1 }),
      /trustProxy/,
    ],
    [
      'proxies that are half a number',
      () => defineApi({ collections: [models], trustProxy: 0.5 }),
      /trustProxy/,
    ],
    [
      'an address with a query',
      () => defineApi({ collections: [models], baseUrl: 'http://a/?b' }),
      /baseUrl/,
    ],
    ['no address', () => defineApi({ collections: [models], baseUrl: 'a' }), /baseUrl/],
    [
      'a version that is no number',
      () => defineApi({ collections: [models], version: 0 }),
      /version is a whole number/,
    ],
    [
      'two versions of one number',
      () =>
        defineApi({
          versions: [
            { version: 1, collections: [models] },
            { version: 1, collections: [models] },
          ],
        }),
      /the same number/,
    ],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })
})

test('two versions of a collection may share its store', () => {
  const store = memoryStore()
  const versions = [1, 2].map(version => ({ version, collections: [collection({ store })] }))
  expect(defineApi({ versions }).definition.versions).toHaveLength(2)
})

test.each<[string, Partial<IntrospectionOptions>]>([
  ['an endpoint that is no address', { endpoint: 'here' }],
  ['an endpoint that is no address of the web', { endpoint: 'ftp://a/b' }],
  ['a cache below nothing', { cache: -1 }],
  ['a time that is none', { timeout: Number.NaN }],
])('a TypeError of introspection: %s', (_, options) => {
  const given = { endpoint: 'https://a.example/', client: { id: 'a', secret: 'b' }, ...options }
  expect(() => introspection(given)).toThrow(TypeError)
})

test.each([
  ['timeout', 0],
  ['maxConnections', 1.5],
])('a TypeError of harden: %s %d', (name, value) => {
  expect(() => harden(createServer(), { [name]: value })).toThrow(TypeError)
})

test('the most connections are told to the server', () => {
  const server = createServer()
  harden(server, { maxConnections: 7 })
  expect(server.maxConnections).toBe(7)
})

test.each([
  ['cars', 'car'],
  ['entries', 'entry'],
  ['days', 'day'],
  ['boxes', 'box'],
  ['classes', 'class'],
  ['glass', 'item'],
  ['furniture', 'item'],
])('one of the %s is a %s', (name, item) => {
  expect(singular(name)).toBe(item)
})

test('a collection is served alone', async () => {
  const cars = collection({ timestamps: false })
  const answer = await cars.fetch(new Request('http://a.example/cars/count'))
  expect(await answer.json()).toEqual({ count: 0 })
  expect(cars.handler).toBe(cars.handler)
})

test('a failure is logged where nobody says otherwise', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  try {
    const cause = new Error('broken')
    const store = { ...memoryStore(), list: () => Promise.reject(cause) }
    const answer = await collection({ store }).fetch(new Request('http://a.example/cars'))
    const [text = ''] = (await answer.text()).match(/[\da-f-]{36}/) ?? []
    expect(logged.mock.calls).toEqual([[`[rest-conventions] ${text}`, cause]])
  } finally {
    logged.mockRestore()
  }
})

test('a case of the contract that is excepted must exist, and tells why', () => {
  const [first] = storeCases(memoryStore)
  const name = first?.name ?? ''
  expect(storeCases(memoryStore, { [name]: 'why' })[0]).toMatchObject({ name, exception: 'why' })
  expect(() => storeCases(memoryStore, { 'no case': 'why' })).toThrow(TypeError)
})
