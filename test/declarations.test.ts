// Issues in a declaration are TypeErrors when it is made; and what a declaration leaves out.

import { createServer } from 'node:http'
import express from 'express'
import { describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Access,
  type ApiOptions,
  basic,
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  type OperationEvent,
} from '../src/index.ts'
import { singular } from '../src/model/compile/singular.ts'
import { harden } from '../src/node/index.ts'
import type { Schema } from '../src/schema/zod-fields.ts'
import { storeCases } from '../src/testing/index.ts'
import { defineUntyped, type Untyped } from './untyped.ts'

const schema = z.object({
  name: z.string(),
  number: z.int(),
  on: z.boolean(),
  tags: z.array(z.string()),
  model: z.object({ name: z.string() }),
  labels: z.record(z.string(), z.string()),
})
type Options = Partial<Untyped>

function collection(options: Options = {}) {
  return defineUntyped({ name: 'cars', schema, store: memoryStore(), ...options })
}

/** Another schema where the types want the one of these tests. */
const other = (made: Schema) => made as typeof schema

/** Options as JavaScript gives them, where the types would refuse them. */
const untyped = (options: object) => options as Options

const photo = (members: z.ZodRawShape): Options => ({
  schema: other(z.object({ photo: blob(), ...members })),
  blobs: memoryBlobs(),
})

describe('a TypeError of a collection', () => {
  it.each<[string, Options, RegExp]>([
    ['a name with a slash', { name: 'a/b' }, /name is made of letters/],
    ['a name that begins with a digit', { name: '1a' }, /name is made of letters/],
    ['a sort by no field', { sort: '-weight' }, /sort names no field: "weight"/],
    ['a sort by a list', { sort: 'name,tags' }, /sort: "tags" is a list: it has no order/],
    ['a sort by an object', { sort: '-model' }, /sort: "model" is an object: it has no order/],
    ['a search in no field', { search: ['weight'] }, /"weight"/],
    [
      'a sort by nearly a field',
      { sort: '-createdAt' },
      /"createdAt"; did you mean "created_at"\?/,
    ],
    ['a search in nearly a field', { search: ['nam'] }, /"nam"; did you mean "name"\?/],
    ['an index of nearly a field', { indexes: ['model.nam'] }, /did you mean "model.name"\?/],
    ['a unique set of no field', { unique: [['name', 'x']] }, /cars: unique names no field: "x"/],
    [
      'a parent by no field',
      { parents: { models: 'model_id' } },
      /cars: parents names no field: "models"; it takes { <a field of cars>: '<a collection>' }/,
    ],
    [
      'a relation by no field',
      { relation: { car_id: 'cars', model_id: 'models' } },
      /cars: relation names no field: "car_id"; it takes { <a/,
    ],
    ['an index of no field', { indexes: ['weight'] }, /indexes names no field: "weight"/],
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
    [
      'hideExistence beside visible',
      { hideExistence: true, visible: () => ({}) },
      /leave hideExistence out/,
    ],
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
    [
      'access to nothing',
      { access: { lst: 'public' } as Access },
      /^cars: access: unknown option "lst"; did you mean "list"/,
    ],
    [
      'a blob without a place',
      { schema: other(z.object({ photo: blob() })) },
      /"photo" is a blob\(\)/,
    ],
    [
      'a list of blobs',
      { schema: other(z.object({ photos: z.array(blob()) })), blobs: memoryBlobs() },
      /^cars: photos is a blob\(\), which must be a property of the item itself$/,
    ],
    [
      'a blob beside its own address',
      photo({ photo_url: z.string() }),
      /"photo" is a blob\(\), .* is "photo_url": rename/,
    ],
    [
      'a blob beside its own Base64',
      photo({ photo_data: z.string() }),
      /"photo" is a blob\(\), .* is "photo_data": rename/,
    ],
    [
      'a blob and an action of one name',
      { ...photo({}), actions: { photo: { on: 'item', run: () => null } } },
      /"photo" is a blob\(\), .* path of an action/,
    ],
    ...['list', 'count', 'read', 'create', 'replace', 'patch', 'delete', 'download'].map(
      (name): [string, Options, RegExp] => [
        `an action called ${name}`,
        { actions: { [name]: { on: 'item', run: () => null } } },
        RegExp(`^cars: an action may not be called "${name}": every resource has that`),
      ],
    ),
    [
      'an action called search beside the search',
      { search: ['name'], actions: { search: { on: 'item', run: () => null } } },
      /an action may not be called "search": every resource has that/,
    ],
    [
      'an input by GET that is a parameter of every query',
      {
        actions: {
          stats: {
            on: 'collection',
            method: 'GET',
            input: z.object({ since: z.iso.date() }),
            run: () => null,
          },
        },
      },
      /stats may not have the property "since": in a query that name has another meaning.*'POST'/,
    ],
    [
      'a search in numbers',
      { search: ['name', 'number'] },
      /fields that are strings; "number" is not/,
    ],
    [
      'a search in lists',
      { search: ['tags'] },
      /search needs fields that are strings; "tags" is not/,
    ],
    [
      'a search in nothing',
      { search: [] },
      /search must be a list of fields, or \{ fields: \['name'\], fold: false \}, not \[\]/,
    ],
    [
      'a search with an unknown option',
      { search: { fields: ['color'], folds: true } as never },
      /cars, search: .*folds/,
    ],
    [
      'a search in no fields',
      { search: { fold: true } as never },
      /cars, search: fields must be an array of at least 1, each a string/,
    ],
    [
      'a unique set of nothing',
      { unique: [[]] },
      /unique\[0\] must be .* or { fields, where }, not \[\]/,
    ],
    ['an index of nothing', { indexes: [[]] }, /indexes\[0\] must be .*not empty, not \[\]/],
    [
      'ids both counted and chosen',
      { id: 'integer', schema: other(z.object({ id: z.string() })) },
      /with a string property "id" clients choose ids; .* id: 'integer'/,
    ],
    ['a header of two lines', { cacheControl: 'a\r\nb' }, /cacheControl must be a header value/],
    [
      'dates that the server sets',
      { schema: other(z.object({ created_at: z.string() })) },
      /created_at is set by the server/,
    ],
    ['a schema that is a list', { schema: other(z.array(z.string())) }, /must be an object/],
    [
      'a part that is not accepted',
      { schema: other(z.object({ at: z.date() })) },
      /^cars: at is z/,
    ],
    [
      'an input that is not accepted',
      {
        actions: {
          buy: { on: 'item', input: z.object({ at: z.date() }), run: () => null },
        },
      },
      /^cars, the input of buy: at is z\.date\(\)/,
    ],
    [
      'an output that is not accepted',
      { actions: { buy: { on: 'item', output: z.array(z.date()), run: () => null } } },
      /^cars, the output of buy: the schema is z\.date\(\)/,
    ],
  ])('%s', (_, options, message) => {
    expect(() => collection(options)).toThrow(TypeError)
    expect(() => collection(options)).toThrow(message)
  })
})

describe('a TypeError for what the types refuse', () => {
  const cases: [string, object, RegExp][] = [
    ['no name', { name: undefined }, /defineCollection: name must be a string, not undefined/],
    ['no store', { store: undefined }, /cars: store must be a store, such as memoryStore\(\)/],
    ['what is no schema', { schema: {} }, /schema must be a schema of zod 4/],
    [
      'a schema of an older zod',
      { schema: { _zod: { version: { major: 4, minor: 3, patch: 6 } } } },
      /schema must be a schema of zod 4\.6 or newer/,
    ],
    ['an unknown option', { uniqe: [] }, /unknown option "uniqe"; did you mean "unique"\?/],
    [
      'another one',
      { middleware: [] },
      /unknown option "middleware"\. Options: name, schema, store,/,
    ],
    [
      'an unknown operation',
      { operations: ['lst'] },
      /operations\[0\] must be "list", .* not "lst"/,
    ],
    ['an unknown count', { total: 'exakt' }, /"none" or { exactUpTo: 100_000 }, not "exakt"/],
    ['an unknown form', { binary: 'nested' }, /binary must be "flat" or "object"/],
    [
      'an unknown hook',
      { hooks: { beforeCreate() {} } },
      /cars: hooks: .*; did you mean "before"\?/,
    ],
    [
      'a hook that is none',
      { hooks: { before: true } },
      /before must be an object of functions by operation, one function .*, not true/,
    ],
    [
      'a row rule that is none',
      { visible: { owner: 1 } },
      /visible must be a function that gives filters, or .*, not an obj/,
    ],
    [
      'options that are none',
      { hooks: null, putCreates: 'no' },
      /hooks must be an object, not null/,
    ],
    ['a function', { description: () => 'a' }, /description must be a string, not a function/],
    [
      'an action on nothing',
      { actions: { buy: { on: 'items', run() {} } } },
      /cars, the action buy: on must be "collection" or "item", not "items"/,
    ],
    [
      'an action by no method',
      { actions: { buy: { on: 'item', method: 'get', run() {} } } },
      /method must be "GET", .* or "DELETE", not "get"/,
    ],
    [
      'an action whose run is no function',
      { actions: { buy: { on: 'item', run: 1 } } },
      /run must be a function/,
    ],
    [
      'an action that is a function',
      { actions: { buy() {} } },
      /^cars, the action buy needs an object of options, such as { .* }, not a function$/,
    ],
  ]
  it.each(cases)('%s', (_, options, message) => {
    expect(() => collection(untyped(options))).toThrow(TypeError)
    expect(() => collection(untyped(options))).toThrow(message)
  })

  const of = (policies: object) => ({ collections: [collection()], ...policies }) as ApiOptions
  it.each<[string, object, RegExp]>([
    [
      'an unknown policy',
      { scheme: [] },
      /defineApi: unknown option "scheme"; did you mean "schemes"\?/,
    ],
    ['no collections', { collections: undefined }, /either collections or versions/],
    [
      'a version that is none',
      { collections: undefined, versions: [[]] },
      /versions\[0\] must be an object, not \[\]/,
    ],
    ['what is no collection', { collections: [{}] }, /collections must be .* by defineCollection/],
    ['a format by its name', { formats: ['json'] }, /formats\[0\] must be a format, such as json/],
    ['an unknown option of cors', { cors: { origin: '*' } }, /cors: .*did you mean "origins"\?/],
    ['an origin alone', { cors: { origins: 'http://a' } }, /origins must be "\*", a list/],
    [
      'a scheme whose headers are none',
      { schemes: [{ ...basic({ verify: () => undefined }), name: 'Own', headers: ['*'] }] },
      /the scheme Own: headers\[0\] must be the name of a header, .* not "\*"/,
    ],
    [
      'a limit of no requests',
      { rateLimit: { policies: [{ limit: 1, window: 1, on: 'write' }] } },
      /on must be "reads" or "writes", not "write"/,
    ],
    [
      'an unknown option of a version',
      { collections: undefined, versions: [{ version: 1, collections: [], sunsets: 1 }] },
      /The version 1: .* did you mean "sunset"\?/,
    ],
  ])('%s', (_, policies, message) => {
    expect(() => defineApi(of(policies))).toThrow(TypeError)
    expect(() => defineApi(of(policies))).toThrow(message)
  })

  it('but not the other members of a class instance', () => {
    class Audit {
      readonly lines: string[] = []
      before({ operation }: OperationEvent) {
        this.lines.push(operation)
      }
    }
    expect(collection({ hooks: new Audit() }).name).toBe('cars')
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
      /Two collections have the name "cars"/,
    ],
    [
      'two collections on one store',
      () => {
        const store = memoryStore()
        const collections = [collection({ store }), collection({ name: 'models', store })]
        defineApi({ collections })
      },
      /cars and models share one store. Create a store for each/,
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
      /cars: "number" is z\.int\(\), but .* models is a string; declare z\.string\(\)/,
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
      'collections beside versions',
      () => {
        const versions = [{ version: 1, collections: [models] }]
        const both: object = { collections: [models], versions }
        defineApi(both as ApiOptions)
      },
      /either collections or versions/,
    ],
    [
      'a collection at the path of a document',
      () =>
        defineApi({ collections: [collection({ name: 'health' })], health: true, prefix: '/a' }),
      /\/health is the path of a collection and of a document/,
    ],
    [
      'no formats',
      () => defineApi({ collections: [models], formats: [] }),
      /formats must be an array of at least 1, .*, not \[\]/,
    ],
    [
      'a day of deprecation that is none',
      () => {
        const deprecated = new Date('nope')
        defineApi({ versions: [{ version: 1, collections: [models], deprecated }] })
      },
      /version 1: deprecated must be a valid Date, not an invalid one/,
    ],
    [
      'an end that is none',
      () => {
        const sunset = new Date('x')
        defineApi({ versions: [{ version: 1, collections: [models], sunset }] })
      },
      /version 1: sunset must be a valid Date/,
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
      /version must be a whole number/,
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
  expect(Object.keys(defineApi({ versions }).versions)).toEqual(['v1', 'v2'])
})

test.each<[string, () => unknown, string]>([
  ['a collection', () => Reflect.apply(defineCollection, null, []), 'defineCollection'],
  ['an api', () => Reflect.apply(defineApi, null, []), 'defineApi'],
])('nothing is no declaration of %s', (_, define, what) => {
  expect(define).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      message: expect.stringMatching(
        new RegExp(`^${what} needs an object of options.*, not undefined$`),
      ),
    }),
  )
})

test.each<[string, unknown]>([
  ['an app of Express', express()],
  ['a listener', () => {}],
  ['nothing', undefined],
])('%s is no server to harden', (_, value) => {
  const wrong = () => Reflect.apply(harden, null, [value])
  expect(wrong).toThrow(TypeError)
  expect(wrong).toThrow(/takes a server of node:http or node:https: harden\(createServer\(app\)\)/)
})

test('maxConnections is set on the server', () => {
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

test('a failure is logged unless onError is set', async () => {
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

test('the contract finds a store that serves only its first collection', async () => {
  const cases = storeCases(() => {
    const { attach, transaction: _none, ...store } = memoryStore()
    let attached = false
    return {
      ...store,
      attach(shape) {
        if (!attached) attach(shape)
        attached = true
      },
    }
  })
  const failed: string[] = []
  for (const { name, run } of cases) await run().catch(() => failed.push(name))
  expect(failed).toEqual([
    'two collections that share a store each have their fields and unique sets',
    'a partial unique set holds only among items that pass its conditions',
  ])
})
