// The OpenAPI document: valid, and in agreement with what each path takes.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import {
  type Api,
  basic,
  bearerJwt,
  defineApi,
  memoryBlobs,
  memoryStore,
  openApiDocument,
  type Policies,
  type Scheme,
} from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { DECLARED, type Declared, thingsOf } from '../declared.ts'
import { openHandler } from '../handlers.ts'
import { checkedDocument, describedBy, follow, listObjections, type Part } from '../openapi.ts'
import { samples } from '../properties/schemas.ts'
import { runs } from '../random.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const UUID = '01900000-0000-7000-8000-000000000000'

const cars = (policies: Policies = {}) => carsApi(() => memoryStore(), memoryBlobs(), policies).api

async function get(api: Pick<Api, 'fetch' | 'handler'>, path: string, init = {}) {
  const answer = await (await openHandler('fetch', api)).request(path, init)
  expect(answer.status, answer.text).toBe(200)
  return { ...answer, document: answer.json as Part }
}

/** Lists where the document, `Allow` and the answers disagree. */
async function disagreements(api: Pick<Api, 'fetch' | 'handler'>, document: Part) {
  const { request } = await openHandler('fetch', api)
  const found: string[] = []
  for (const [template, item] of Object.entries(document.paths ?? {})) {
    const ids = Object.values(item.parameters ?? {}).map(each => {
      const { name, schema } = follow(document, each)
      const kind: unknown = schema?.type
      return [`{${name}}`, kind === 'integer' ? '1' : UUID] as const
    })
    const path = ids.reduce((text, [name, id]) => text.replace(name, id), template)
    const { headers } = await request(path, { method: 'OPTIONS' })
    const allowed = headers.get('allow')?.split(', ') ?? []
    for (const method of METHODS) {
      const { status } = await request(path, { method })
      // HEAD is where GET is.
      const documented = method === 'HEAD' ? 'get' : method.toLowerCase()
      const seen = [documented in item, allowed.includes(method), status !== 405]
      if (new Set(seen).size > 1) found.push(`${method} ${path}: ${seen} ${status}`)
      if (status >= 500) found.push(`${method} ${path}: ${status}`)
    }
  }
  return found
}

describe.each(Object.entries(DECLARED))('%s', (_what, declared) => {
  it('has a valid document, in agreement with Allow and with what is answered', async () => {
    const things = thingsOf(declared)
    const { document } = await get(things, '/openapi.json')
    expect(await listObjections(checkedDocument(document))).toEqual([])
    expect(await disagreements(things, document)).toEqual([])
    expect(Object.keys(document.paths ?? {})).toEqual(
      expect.arrayContaining(['/', '/things', '/things/count', '/things/{id}']),
    )
  })
})

const OPERATIONS = ['list', 'read', 'create', 'replace', 'patch', 'delete'] as const

/** Collections of generated schemas and options. */
const declarations: fc.Arbitrary<Declared> = fc.record({
  schema: samples.map(({ schema }) => schema),
  id: fc.constantFrom('uuid', 'integer'),
  idField: fc.constantFrom('id', 'identifier'),
  timestamps: fc.boolean(),
  operations: fc.subarray([...OPERATIONS], { minLength: 1 }),
  requirePrecondition: fc.boolean(),
  maxLimit: fc.integer({ min: 25, max: 200 }),
})

test('random declarations have valid documents, in agreement with Allow and with what is answered', async () => {
  await fc.assert(
    fc.asyncProperty(declarations, async declared => {
      const things = thingsOf(declared)
      const { document } = await get(things, '/openapi.json')
      expect(await listObjections(checkedDocument(document))).toEqual([])
      expect(await disagreements(things, document)).toEqual([])
    }),
    { numRuns: runs(30) },
  )
})

describe('the example', () => {
  it.each(['/openapi.json', '/v1/openapi.json'])('%s', async path => {
    const api = cars()
    const { document } = await get(api, path)
    expect(await listObjections(checkedDocument(document))).toEqual([])
    expect(await disagreements(api, document)).toEqual([])
    const version = path.startsWith('/v1') ? '1' : '2'
    const paths = Object.keys(document.paths ?? {})
    expect(document.info).toMatchObject({ title: expect.any(String), version })
    expect(paths.includes('/')).toBe(path === '/openapi.json')
    expect(paths.filter(each => each !== '/' && !each.startsWith(`/v${version}`))).toEqual([])
    expect(paths).toEqual(
      expect.arrayContaining(
        [
          ['', '/cars', '/cars/{id}', '/cars/{id}/buy', '/cars/search', '/cars/count'],
          ['/cars/{parent}/options', '/cars/{parent}/options/{id}', '/photos/{id}/photo'],
        ].flatMap(names => names.map(name => `/v${version}${name}`)),
      ),
    )
  })

  it('names every collection of the root, and each path has its parameters', async () => {
    const api = cars()
    const { document } = await get(api, '/openapi.json')
    const { json } = await get(api, '/')
    const { resources } = json as { resources: Record<string, unknown> }
    expect(
      Object.keys(resources).filter(name => !(`/v2/${name}` in (document.paths ?? {}))),
    ).toEqual([])
    const id = { in: 'path', required: true, schema: { type: 'integer' } }
    const { parameters = {} } = document.paths?.['/v2/cars/{parent}/options/{id}'] ?? {}
    expect(Object.values(parameters).map(each => follow(document, each))).toMatchObject([
      { ...id, name: 'parent', description: 'The id of the car' },
      { ...id, name: 'id', description: 'The id of the option' },
    ])
  })

  it('openApiDocument gives what is served', async () => {
    const api = cars({ baseUrl: 'https://api.example/cars', title: 'Cars' })
    for (const [path, version] of [
      ['/openapi.json', undefined],
      ['/v1/openapi.json', 1],
    ] as const) {
      const document = openApiDocument(api, { version })
      expect((await get(api, path)).json).toEqual(document)
      expect(document.servers).toEqual([{ url: 'https://api.example/cars' }])
    }
    expect(openApiDocument(api, { baseUrl: 'https://b.example' }).servers).toEqual([
      { url: 'https://b.example' },
    ])
    expect(() => openApiDocument(api, { version: 3 })).toThrow(
      new TypeError('The api has no version 3'),
    )
  })
})

const named = (name: string, options: Partial<Untyped> = {}) =>
  defineUntyped({
    name,
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    ...options,
  })

test('title, description and contact', () => {
  const contact = { name: 'Ann', email: 'ann@example.org' }
  const options = { title: 'Things', description: 'Of all kinds', contact }
  const api = defineApi({ collections: [named('things')], ...options })
  expect(openApiDocument(api)).toMatchObject({
    openapi: '3.1.1',
    info: { ...options, version: '1' },
    servers: [{ url: '/' }],
    tags: [{ name: 'API', description: 'Its collections' }, { name: 'things' }],
  })
  const mail: object = { contact: { mail: 'ann@example.org' } }
  expect(() => defineApi({ collections: [named('things')], ...mail })).toThrow(
    /contact: unknown option "mail"/,
  )
})

const OPENAPI_TYPE = 'application/vnd.oai.openapi+json'

test.each([
  [undefined, '3.1.1', 'application/json'],
  ['*/*', '3.1.1', 'application/json'],
  ['application/xml', '3.1.1', 'application/json'],
  [OPENAPI_TYPE, '3.1.1', `${OPENAPI_TYPE};version=3.1`],
  [`${OPENAPI_TYPE};version=3.0`, '3.1.1', `${OPENAPI_TYPE};version=3.1`],
  [`${OPENAPI_TYPE};version=3.2`, '3.2.0', `${OPENAPI_TYPE};version=3.2`],
  [`text/html, ${OPENAPI_TYPE}; version="3.2.0"`, '3.2.0', `${OPENAPI_TYPE};version=3.2`],
])('Accept: %s gives OpenAPI %s as %s', async (accept, version, type) => {
  const api = defineApi({ collections: [named('things')] })
  const { document, headers } = await get(api, '/openapi.json', {
    headers: accept === undefined ? {} : { accept },
  })
  expect(document.openapi).toBe(version)
  expect(headers.get('content-type')).toBe(type)
  expect(headers.get('vary')).toContain('Accept')
  expect(await listObjections(checkedDocument(document))).toEqual([])
  const openapi = version.startsWith('3.2') ? '3.2' : '3.1'
  expect({ ...openApiDocument(api, { openapi }), servers: document.servers }).toEqual(document)
})

test('header parameters, response headers and the types of errors', () => {
  const api = defineApi({
    collections: [named('things', { requirePrecondition: true })],
    rateLimit: { policies: [{ limit: 5, window: 60 }] },
  })
  const document = openApiDocument(api) as unknown as Part // JSON is made of such parts
  const { at } = checkedDocument(document)
  const headersOf = (path: string, method: string) =>
    Object.values(at('paths', path, method, 'parameters'))
      .map(each => follow(document, each))
      .filter(each => (each.in as unknown) === 'header')
      .map(({ name }) => String(name))
  expect(headersOf('/things', 'get')).toEqual(['If-None-Match', 'Prefer', 'Range'])
  expect(headersOf('/things', 'post')).toEqual(['Idempotency-Key', 'Prefer'])
  expect(headersOf('/things/{id}', 'get')).toEqual(['If-None-Match'])
  expect(headersOf('/things/{id}', 'patch')).toEqual(expect.arrayContaining(['If-Match', 'Prefer']))
  const responses = (path: string, method: string) => at('paths', path, method, 'responses')
  const created = follow(document, responses('/things', 'post')['201'] as Part)
  expect(Object.keys(created.headers ?? {})).toEqual(
    expect.arrayContaining(['ETag', 'Location', 'X-RateLimit-Remaining']),
  )
  const ofPut = responses('/things/{id}', 'put')
  expect(Object.keys(ofPut)).toEqual(
    [200, 204, 303, 400, 404, 409, 412, 428, 429].map(String).concat('default'),
  )
  const described = Object.entries(ofPut).map(([status, response]) => [
    status,
    String(follow(document, response).description),
  ])
  expect(Object.fromEntries(described)).toMatchObject({
    428: expect.stringContaining('`precondition_required`'),
    default: expect.stringMatching(/403, 405, 406, .*500, 503/),
  })
  const errors = document.components?.schemas?.ErrorEntry?.properties?.type
  expect(JSON.stringify(errors)).toContain('"precondition_required"')
})

test('errors, rate limits and the headers of pages stand once, and HEAD is where GET is', () => {
  const rateLimit = { policies: [{ limit: 5, window: 60 }] }
  const collections = ['cars', 'options', 'models'].map(name => named(name))
  const text = JSON.stringify(openApiDocument(defineApi({ collections, rateLimit })))
  expect(text.split('"How many requests are left"')).toHaveLength(2)
  expect(text.split('Precondition Failed: ')).toHaveLength(2)
  expect(text).not.toContain('"head":')
})

test('examples and descriptions come from the metadata of the schema', () => {
  const name = z.string().meta({ examples: ['Ann'], description: 'Of the person' })
  const schema = z.object({ name }).meta({ examples: [{ name: 'Bob' }] })
  const { components } = openApiDocument(defineApi({ collections: [named('things', { schema })] }))
  expect(components).toMatchObject({
    schemas: Object.fromEntries(
      ['Thing', 'ThingInput', 'ThingReplacement'].map(each => [
        each,
        {
          examples: [{ name: 'Bob' }],
          properties: { name: { examples: ['Ann'], description: 'Of the person' } },
        },
      ]),
    ),
  })
})

describe('the names of shared parts', () => {
  const doing = () =>
    ({ on: 'item', input: z.object({ word: z.string() }), run: () => undefined }) as const
  const nested = { actions: { buy_it: doing(), buyIt: doing(), files: doing() } }
  const collections = {
    things: () => named('things', nested),
    others: () => named('others', { itemName: 'thing' }),
    sheep: () => named('sheep'),
    people: () => named('people'),
    items: () => named('items', { search: ['name'] }),
    sheep_inputs: () => named('sheep_inputs'),
    'car-models': () => named('car-models'),
    car_models: () => named('car_models'),
  }
  const build = (names: readonly string[]) => {
    const made = Object.entries(collections).filter(([name]) => names.includes(name))
    made.sort(([one], [other]) => names.indexOf(one) - names.indexOf(other))
    const api = defineApi({ collections: made.map(([, make]) => make()) })
    return openApiDocument(api) as unknown as Part // JSON is made of such parts
  }
  const schemasOf = (document: Part) => Object.keys(document.components?.schemas ?? {})

  it('are those of the collection where one item has no name of its own', () => {
    const names = schemasOf(build(['sheep', 'people', 'items']))
    expect(names).toEqual(expect.arrayContaining(['Sheep', 'People', 'Item', 'SheepInput']))
    expect(names.join(' ')).not.toMatch(/\d/)
  })

  it('say the collection where two would be the same', async () => {
    const document = build(Object.keys(collections))
    expect(await listObjections(checkedDocument(document))).toEqual([])
    expect(schemasOf(document)).toEqual(
      expect.arrayContaining([
        ...['things.Thing', 'others.Thing', 'things.ThingInput', 'others.ThingInput'],
        ...['sheep.SheepInput', 'SheepInput', 'SheepInputInput', 'SheepPatch'],
        ...['car-models.CarModel', 'car_models.CarModel'],
        ...['things.buy_it.ThingBuyItInput', 'things.buyIt.ThingBuyItInput', 'ThingFilesInput'],
      ]),
    )
    expect(schemasOf(document).filter(name => /^Thing$|^ThingInput|\d/.test(name))).toEqual([])
  })

  it('do not depend on the order of declaration', () => {
    const sorted = (document: Part) => {
      const { components, paths } = document
      const parts = [...Object.values(components ?? {}), paths ?? {}].map(part =>
        Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)),
      )
      return JSON.stringify(parts)
    }
    const names = Object.keys(collections)
    const expected = sorted(build(names))
    for (const order of [names.toReversed(), names.toSorted(), names.toSorted().toReversed()])
      expect(sorted(build(order))).toBe(expected)
  })

  it('tell parameters apart whose fields differ in one sign, and q from a field q', () => {
    const schema = z.object({ 'a b': z.int(), a_b: z.string(), q: z.enum(['yes', 'no']) })
    const api = defineApi({ collections: [named('things', { schema, search: ['a_b'] })] })
    const document = openApiDocument(api) as unknown as Part // JSON is made of such parts
    const typesAt = (path: string) =>
      Object.fromEntries(
        Object.values(document.paths?.[path]?.get?.parameters ?? {})
          .map(each => follow(document, each))
          .map(({ name, schema }) => {
            const whole = schema && follow(document, schema)
            return [String(name), (whole?.anyOf?.[0] ?? whole) as unknown]
          }),
      )
    expect(typesAt('/things')).toMatchObject({
      'a b': { type: 'integer' },
      a_b: { type: 'string' },
      q: { enum: ['yes', 'no'] },
    })
    expect(typesAt('/things/search')).toMatchObject({
      'filter[q]': { enum: ['yes', 'no'] },
      q: { type: 'string' },
    })
  })

  it('of recursive schemas are those of their properties', () => {
    const api = defineApi({ collections: [thingsOf(DECLARED['recursive members'] as Declared)] })
    const { components } = openApiDocument(api) as unknown as Part // JSON is made of such parts
    const names = Object.keys(components?.schemas ?? {})
    // `z.json()` is any value.
    const recursive = names.filter(name => name.includes('Of'))
    expect(recursive).toEqual(['TreeOfThing', 'TreeOfThingInput'])
  })
})

describe('what the document says is so', () => {
  const api = defineApi({
    collections: [named('things', { schema: z.object({ name: z.string(), size: z.int() }) })],
  })
  const document = openApiDocument(api) as unknown as Part // JSON is made of such parts
  const { at } = checkedDocument(document)
  const parameterOf = (name: string) => {
    const all = ['get', 'post'].flatMap(method =>
      Object.values(at('paths', '/things', method, 'parameters')),
    )
    // A name that is not there fails where its parts are read.
    return all.map(each => follow(document, each)).find(each => String(each.name) === name) as Part
  }

  it.each([
    ['/things', 'get', '200'],
    ['/things/{id}', 'get', '200'],
    ['/things', 'post', '201'],
    ['/things/{id}', 'patch', '200'],
    ['/things', 'get', '400'],
  ])('other formats than JSON are texts: %s %s %s', (path, method, status) => {
    const response = follow(document, at('paths', path, method, 'responses', status))
    const { 'application/json': asJson, ...others } = response.content ?? {}
    expect(asJson?.schema).toMatchObject(
      path.endsWith('}') || method === 'post' ? { $ref: '#/components/schemas/Thing' } : {},
    )
    const texts = Object.entries(others).filter(([type]) => !type.endsWith('json'))
    expect(texts.map(([type]) => type)).toEqual(expect.arrayContaining(['application/xml']))
    for (const [type, content] of texts) expect([type, content.schema]).toEqual([type, TEXT])
  })

  it('a body in XML is a text; forms are left out where there is JSON', () => {
    const { content = {} } = at('paths', '/things', 'post', 'requestBody')
    expect(content['application/xml']?.schema).toEqual(TEXT)
    expect(content['application/json']?.schema).toEqual({ $ref: '#/components/schemas/ThingInput' })
    expect(Object.keys(content)).not.toContain('application/x-www-form-urlencoded')
  })

  it('an Idempotency-Key may stand in quotes', async () => {
    const pattern = new RegExp(String(parameterOf('Idempotency-Key').schema?.pattern))
    const { request } = await openHandler('fetch', api)
    for (const [key, status] of [
      ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', 201],
      ['8e03978e-40d5-43dd-bc93-6894a57f9325', 201],
      ['"a key"', 201],
      [`"${'a'.repeat(255)}"`, 201],
      ['""', 400],
      [`"${'a'.repeat(256)}"`, 400],
    ] as const) {
      const headers = { 'idempotency-key': key }
      const json = { name: 'a', size: 1 }
      expect(await request('/things', { method: 'POST', headers, json })).toMatchObject({ status })
      expect([key, pattern.test(key)]).toEqual([key, status === 201])
    }
  })

  it('limit has no maximum: more is cut to that of the collection', async () => {
    const limit = parameterOf('limit')
    expect(limit.schema).toEqual({ type: 'integer', minimum: 0, default: 25 })
    expect(limit.description).toBe('The maximum number of items; more than 100 is taken as 100')
    const { status } = await (await openHandler('fetch', api)).request('/things?limit=1000')
    expect(status).toBe(200)
  })

  it('a filter may have several values', async () => {
    const schema = follow(document, parameterOf('size').schema as Part)
    expect(schema.anyOf?.[1]).toEqual({ type: 'array', items: { type: 'integer' } })
    expect(String(schema.description)).toContain('several as a repeated parameter')
    const { request } = await openHandler('fetch', api)
    await request('/things', { method: 'POST', json: { name: 'b', size: 2 } })
    await request('/things', { method: 'POST', json: { name: 'c', size: 3 } })
    await request('/things', { method: 'POST', json: { name: 'd', size: 4 } })
    const { json } = await request('/things?size=2&size=3')
    expect((json as { name: string }[]).map(({ name }) => name)).toEqual(['b', 'c'])
  })

  it('the keys of a record are required only where they are always there', () => {
    const keys = z.enum(['a', 'b'])
    const schema = z.object({
      maybe: z.record(keys, z.number().optional()),
      always: z.record(keys, z.number()),
      filled: z.record(keys, z.number().default(1)),
      some: z.partialRecord(keys, z.number()),
    })
    const made = openApiDocument(defineApi({ collections: [named('things', { schema })] }))
    const { schemas } = (made as unknown as Part).components ?? {} // JSON is made of such parts
    const needed = (name: string, property: string) =>
      schemas?.[name]?.properties?.[property]?.required as unknown
    for (const name of ['Thing', 'ThingInput', 'ThingReplacement'])
      expect([name, needed(name, 'maybe'), needed(name, 'always'), needed(name, 'some')]).toEqual([
        name,
        undefined,
        ['a', 'b'],
        undefined,
      ])
    expect(needed('Thing', 'filled')).toEqual(['a', 'b'])
    expect(needed('ThingInput', 'filled')).toBeUndefined()
  })
})

const TEXT = { type: 'string' }

test.each(['openapi', 'docs'])('no collection is called %s', name => {
  expect(() => named(name)).toThrow(/neither openapi nor docs; not "/)
  expect(() => named(`${name}s`)).not.toThrow()
})

test('the addresses are those of the request', async () => {
  const api = defineApi({ collections: [named('things')], prefix: '/api' })
  for (const host of ['a.example', 'b.example']) {
    const { document, json, headers } = await get(api, `/api/openapi.json`, { headers: { host } })
    expect(document.servers).toEqual([{ url: `http://${host}/api` }])
    expect({ ...openApiDocument(api), servers: document.servers }).toEqual(json)
    expect(headers.get('content-type')).toBe('application/json')
  }
})

test('a deprecated version: its operations and its answer', async () => {
  const deprecated = new Date('2026-01-01T00:00:00Z')
  const api = defineApi({
    versions: [
      { version: 1, collections: [named('things')], deprecated },
      { version: 2, collections: [named('things')] },
    ],
  })
  const old = await get(api, '/v1/openapi.json')
  expect(old.headers.get('deprecation')).toBe('@1767225600')
  expect(old.document.paths?.['/v1/things']?.get?.deprecated).toBe(true)
  const { document, headers } = await get(api, '/v2/openapi.json')
  expect(headers.has('deprecation')).toBe(false)
  expect(JSON.stringify(document)).not.toContain('"deprecated"')
})

describe('security', () => {
  const verify = (name: string) => ({ id: name, scopes: name === 'ann' ? ['secrets:read'] : [] })
  const schemes = [basic({ realm: 'things', verify })]
  const byName: Scheme = {
    name: 'Name',
    challenge: () => 'Name',
    authenticate: async ({ headers: { authorization } }) =>
      authorization === undefined ? undefined : verify(authorization),
  }

  it('the schemes, and for each operation one of them with its scopes', async () => {
    const jwt = bearerJwt({
      issuer: 'https://login.example/cars/',
      audience: 'cars',
      jwksUri: 'https://login.example/jwks',
    })
    const access = { list: 'public', create: ['things:write'], delete: [] } as const
    const api = defineApi({
      collections: [named('things', { access })],
      schemes: [...schemes, jwt, { ...jwt, name: 'Key', headers: ['X-Api-Key'] }],
    })
    const document = openApiDocument(api) as unknown as Part // JSON is made of such parts
    expect(await listObjections(checkedDocument(document))).toEqual([])
    expect(document.components?.securitySchemes).toEqual({
      basic: { type: 'http', scheme: 'basic' },
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'Access tokens of https://login.example/cars/',
        'x-oauth2-metadata-url':
          'https://login.example/.well-known/oauth-authorization-server/cars',
      },
      key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
    })
    const needing = (scopes: readonly string[]) =>
      ['basic', 'bearer', 'key'].map(name => ({ [name]: scopes }))
    const paths = document.paths ?? {}
    expect(paths['/things']?.get?.security).toEqual([{}, ...needing([])])
    expect(paths['/things/count']?.get?.security).toEqual([{}, ...needing([])])
    expect(paths['/things']?.post?.security).toEqual(needing(['things:write']))
    expect(paths['/things/{id}']?.delete?.security).toEqual(needing([]))
    expect(paths['/']?.get?.security).toEqual(needing([]))
  })

  it('without schemes there is none', () => {
    const document = openApiDocument(cars())
    expect(document.security).toEqual([])
    expect(JSON.stringify({ ...document, security: undefined })).not.toMatch(
      /"security(?:Schemes)?"/,
    )
  })

  it('hidden collections appear for those that may use them', async () => {
    const api = defineApi({
      collections: [
        named('things'),
        named('secrets', { access: { default: ['secrets:read'] }, hideExistence: true }),
        named('notes', {
          schema: z.object({ about: z.string() }),
          parents: { about: 'secrets' },
        }),
      ],
      schemes: [byName],
    })
    const hidden = JSON.stringify((await get(api, '/openapi.json')).json)
    expect(hidden).toContain('/things/{id}')
    expect(hidden).toContain('/notes/{id}')
    expect(hidden).not.toContain('secrets')
    expect((await get(api, '/openapi.json', { headers: { authorization: 'bob' } })).text).toBe(
      (await get(api, '/openapi.json')).text,
    )
    const seen = await get(api, '/openapi.json', { headers: { authorization: 'ann' } })
    expect(seen.json).toEqual({
      ...openApiDocument(api),
      servers: [{ url: 'http://api.test' }],
    })
    expect(seen.text).toContain('/secrets/{parent}/notes')
    expect(seen.headers.get('cache-control')).toContain('private')
    expect(seen.headers.get('vary')).toContain('Authorization')
  })
})

describe('is found', () => {
  it.each(['/', '/v1', '/v2'])('by the Link of %s', async path => {
    const api = cars()
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await get(api, path, { method })
      const links = parseLink(headers.get('link') ?? '')
      const href = `http://api.test${path === '/' ? '' : path}/openapi.json`
      expect(links.filter(({ rel }) => rel === 'service-desc')).toEqual([
        { rel: 'service-desc', href },
      ])
      await get(api, href)
    }
  })

  it('by the API catalog', async () => {
    const api = cars({ health: true })
    const { headers, json } = await get(api, '/.well-known/api-catalog')
    expect(headers.get('content-type')).toBe(
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    )
    const type = 'application/json'
    expect(json).toEqual({
      linkset: ['v2', 'v1'].map(version => ({
        anchor: `http://api.test/${version}/`,
        'service-desc': [{ href: `http://api.test/${version}/openapi.json`, type }],
        'service-doc': [{ href: `http://api.test/${version}/docs`, type: 'text/html' }],
        status: [{ href: 'http://api.test/health', type }],
      })),
    })
    const head = await get(api, '/.well-known/api-catalog', { method: 'HEAD' })
    expect(parseLink(head.headers.get('link') ?? '')).toEqual([
      { rel: 'api-catalog', href: 'http://api.test/.well-known/api-catalog' },
    ])
    expect(head.text).toBe('')
  })

  it('other methods than GET, HEAD and OPTIONS are 405', async () => {
    const { request } = await openHandler('fetch', cars())
    for (const path of ['/openapi.json', '/v1/openapi.json', '/.well-known/api-catalog']) {
      const { status, headers } = await request(path, { method: 'POST' })
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
      expect((await request(path, { method: 'OPTIONS' })).status).toBe(204)
    }
    expect((await request('/v3/openapi.json')).status).toBe(404)
  })

  it('a schema that asks for millions of characters or elements has no example', async () => {
    // The literal is of a later version of the language.
    const flags = 'v'
    const schema = z.object({
      text: z.string().min(2 ** 30),
      list: z.array(z.string()).min(50_000_000),
      letters: z.string().regex(new RegExp('^[\\p{L}--[a-z]]+$', flags)),
    })
    const things = defineUntyped({ name: 'things', schema, store: memoryStore() })
    const { status, text } = await get(defineApi({ collections: [things] }), '/openapi.json')
    expect(status).toBe(200)
    expect(text.length).toBeLessThan(100_000)
    expect(text).not.toContain('text text')
  })
})

describe('what is stored is valid by the document', () => {
  // The literals are of a later version of the language.
  const flags = 'v'
  const cases: Readonly<Record<string, readonly [z.ZodType, unknown]>> = {
    'flag i': [z.string().regex(/^[a-z]+$/i), 'ABC'],
    'flag m': [z.string().regex(/^b$/m), 'a\nb'],
    'flag s': [z.string().regex(/^a.b$/s), 'a\nb'],
    'flag v': [z.string().regex(new RegExp('^[\\p{L}--[a]]+$', flags)), 'bc'],
    'no flag, and no pattern with u': [z.string().regex(/^_-$/), '_-'],
    'flag i of one of three': [z.string().regex(/a/i).regex(/^.+$/).regex(/.$/), 'AB'],
    'flag i in an array': [z.array(z.string().regex(/^a$/i)), ['A']],
    'flag i, or null': [z.string().regex(/^a$/i).nullable(), 'A'],
    'flag i, optional': [z.string().regex(/^a$/i).optional(), 'A'],
    'flag i with a default': [z.string().regex(/^a$/i).default('a'), 'A'],
    'flag i of an own format': [z.stringFormat('letters', /^[a-z]+$/i), 'ABC'],
    'flag i of keys': [z.record(z.string().regex(/^[a-z]+$/i), z.number()), { A: 1 }],
    'flag g': [z.string().regex(/a/g), 'ba'],
    'flag u': [z.string().regex(/^\p{L}$/u), 'ä'],
    'flag y': [z.string().regex(/a/y), 'ab'],
    'what stands before': [z.string().regex(/(?<=a)b/), 'ab'],
    'a multiple of cents': [z.number().multipleOf(0.01), 19.99],
    'a multiple of a whole number': [z.number().multipleOf(5), 15],
    'a duration with a fraction': [z.iso.duration(), 'PT1.5S'],
    'a date-time with an offset': [z.iso.datetime({ offset: true }), '2026-01-31T12:00:00+01:00'],
    'a date-time without an offset': [z.iso.datetime({ local: true }), '2026-01-31T12:00:00'],
    'a date-time without seconds': [z.iso.datetime({ precision: -1 }), '2026-01-31T12:00Z'],
    'a time': [z.iso.time(), '12:00:00'],
    'an email': [z.email(), 'ann.o+x@example.org'],
    'an address': [z.url(), 'https://example.org/a?b=c#d'],
  }
  it.each(Object.entries(cases))('%s', async (_name, [value, stored]) => {
    const things = defineUntyped({
      name: 'things',
      schema: z.object({ value }),
      store: memoryStore(),
    })
    const { findIssues, ...described } = await describedBy(defineApi({ collections: [things] }), {
      '/things': '/things',
    })
    // Also checks the answer.
    const made = await described.ask('/things', '/things', {
      method: 'POST',
      json: { value: stored },
    })
    expect([made.status, made.text]).toEqual([201, expect.anything()])
    const place = ['paths', '/things', 'post', 'requestBody', 'content', 'application/json']
    expect(findIssues({ value: stored }, ...place, 'schema')).toBeUndefined()
  })

  it('patterns without such flags stay', () => {
    const text = z.string().regex(/a/i).regex(/b/)
    const more = z.string().regex(/a/i).regex(/b/).regex(/c/u)
    const things = defineUntyped({
      name: 'things',
      schema: z.object({ text, more }),
      store: memoryStore(),
    })
    const document = openApiDocument(defineApi({ collections: [things] })) as unknown as Part // JSON is made of them
    expect(document.components?.schemas?.Thing?.properties).toMatchObject({
      text: { type: 'string', allOf: [{ pattern: 'b' }] },
      more: { type: 'string', allOf: [{ pattern: 'b' }, { pattern: 'c' }] },
    })
  })
})
