// The document is light, kept and printed in turns; with `formats=json` it is for programs that generate clients.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import {
  defineApi,
  memoryBlobs,
  memoryStore,
  openApiDocument,
  type Scheme,
} from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { openHandler } from '../handlers.ts'
import { checkedDocument, follow, listObjections, type Part } from '../openapi.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'

const cars = () => carsApi(() => memoryStore(), memoryBlobs()).api

const named = (name: string, options: Partial<Untyped> = {}) =>
  defineUntyped({ name, schema: z.object({ name: z.string() }), store: memoryStore(), ...options })

/** The document of an api, as parts: JSON is made of them. */
const documentOf = (api: Parameters<typeof openApiDocument>[0], formats?: string[]) =>
  openApiDocument(api, { formats }) as unknown as Part

const listOperations = ({ paths = {} as Part }: Part) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({ path, method, operation })),
  )

test.each([
  ['/openapi.json', 21_000],
  ['/v1/openapi.json', 21_000],
  ['/openapi.json?formats=json', 12_000],
])('%s of the example has at most %i bytes a collection', async (path, bytes) => {
  const { text, json } = await (await openHandler('fetch', cars())).request(path)
  const { tags } = json as { tags: unknown[] }
  const count = tags.length - 1 // the api itself has one
  expect(count).toBeGreaterThan(5)
  expect(Buffer.byteLength(text) / count).toBeLessThan(bytes)
})

test('it has a strong ETag that names the address and what is described; 304 where nothing changed', async () => {
  const { request } = await openHandler('fetch', cars())
  const tags = new Set<string | null>()
  for (const path of ['/openapi.json', '/openapi.json?formats=json', '/llms.txt', '/v1/llms.txt']) {
    const { headers } = await request(path)
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"/)
    tags.add(etag)
    const again = await request(path, { headers: { 'if-none-match': etag } })
    expect(again).toMatchObject({ status: 304, text: '' })
    expect(again.headers.get('etag')).toBe(etag)
    const other = await request(path, { headers: { 'if-none-match': etag, host: 'b.example' } })
    expect(other.status).toBe(200)
    expect(other.text).toContain('http://b.example')
  }
  const as32 = { accept: 'application/vnd.oai.openapi+json;version=3.2' }
  tags.add((await request('/openapi.json', { headers: as32 })).headers.get('etag'))
  expect(tags.size).toBe(5)
})

test('formats names what the api has; another one is 400 with those', async () => {
  const api = cars()
  const { request } = await openHandler('fetch', api)
  const { status, json } = await request('/openapi.json?formats=json,yaml')
  expect(status).toBe(400)
  const message = expect.stringMatching(/"yaml".* json, xml, form/)
  expect(json).toMatchObject({ errors: [{ field: 'formats', message, type: 'invalid_value' }] })
  expect(() => openApiDocument(api, { formats: ['yaml'] })).toThrow(TypeError)
  const [one, other] = ['json,xml', 'xml,json'].map(each =>
    request(`/openapi.json?formats=${each}`),
  )
  expect((await one)?.headers.get('etag')).toBe((await other)?.headers.get('etag'))
})

test('with formats=json each body has one media type, and each operator a parameter', async () => {
  const api = cars()
  const document = documentOf(api, ['json'])
  expect(await listObjections(checkedDocument(document))).toEqual([])
  const types = new Set<string>()
  for (const { operation } of listOperations(document)) {
    const bodies = Object.keys(operation.requestBody?.content ?? {})
    expect(bodies.length).toBeLessThan(2)
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      const answers = Object.keys(follow(document, response).content ?? {})
      // The content of a file has types of its own.
      if (!operation.operationId?.toString().startsWith('download') || status === 'default')
        for (const type of answers) types.add(type)
    }
    for (const type of bodies) types.add(type)
  }
  expect([...types].sort()).toEqual(['application/json', 'multipart/form-data'])
  const { parameters = {} } = document.paths?.['/v2/cars']?.get ?? {}
  const names = Object.values(parameters).map(each => String(follow(document, each).name))
  expect(names).toEqual(
    expect.arrayContaining(['color', 'price', 'price[gte]', 'price[lt]', 'model.name[prefix]']),
  )
  expect(JSON.stringify(document)).not.toContain('deepObject')
  const { request } = await openHandler('fetch', api)
  for (const name of names.filter(each => each.includes('['))) {
    const { text } = await request(`/v2/cars?${encodeURIComponent(name)}=1`)
    expect([name, text]).not.toEqual([name, expect.stringMatching(/unknown|invalid_operator/)])
  }
})

test('operations have names that people search for', () => {
  const summaries = listOperations(documentOf(cars())).map(({ operation }) =>
    String(operation.summary),
  )
  expect(summaries).toEqual(
    expect.arrayContaining([
      ...['List cars', 'Create a car', 'Buy a car', 'Read a car', 'Change a car', 'Search cars'],
      ...['Create an option of a car', 'Download the photo of a photo', 'Describe the api'],
    ]),
  )
  expect(new Set(summaries).size).toBe(summaries.length)
})

test('operationIds meet no name that a plugin makes of another', () => {
  const go = { on: 'collection', run: () => undefined } as const
  const api = defineApi({
    collections: [
      named('cars', { actions: { cars_query_key: go, send_batch: go } }),
      named('cars_options'),
      named('options', { schema: z.object({ car: z.string() }), parents: { car: 'cars' } }),
    ],
  })
  const ids = listOperations(documentOf(api)).map(({ operation }) => String(operation.operationId))
  expect(new Set(ids.map(id => id.toLowerCase())).size).toBe(ids.length)
  const made = ['Options', 'QueryKey', 'Mutation', 'Data', 'Errors', 'Response']
  for (const id of ids) for (const end of made) expect(ids).not.toContain(id + end)
  for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]*$/)
})

test('parts with an id are components, and unions say what tells their options apart', async () => {
  const Money = z
    .object({ amount: z.number().default(0), currency: z.enum(['EUR', 'USD']) })
    .meta({ id: 'Money' })
  const Shape = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number() }),
    z.object({ kind: z.literal('square'), side: z.number() }).meta({ id: 'Square' }),
  ])
  const schema = z.object({ price: Money, cost: Money.nullable(), shape: Shape })
  const document = documentOf(
    defineApi({ collections: [named('things', { schema }), named('others', { schema })] }),
  )
  expect(await listObjections(checkedDocument(document))).toEqual([])
  const schemas = document.components?.schemas ?? ({} as Part)
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  expect(schemas.Thing?.properties?.price).toEqual(ref('Money'))
  expect(schemas.Other?.properties?.price).toEqual(ref('Money'))
  expect(schemas.ThingInput?.properties?.price).toEqual(ref('MoneyInput'))
  expect(schemas.Money?.required).toEqual(['amount', 'currency'])
  expect(schemas.MoneyInput?.required).toEqual(['currency'])
  expect(schemas.Thing?.properties?.shape).toEqual({
    oneOf: [ref('ThingShapeCircle'), ref('Square')],
    discriminator: {
      propertyName: 'kind',
      mapping: { circle: ref('ThingShapeCircle').$ref, square: ref('Square').$ref },
    },
  })
})

test('the options of a patch are parts too, and nothing tells them apart that need not be sent', () => {
  const schema = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number() }),
    z.object({ kind: z.literal('square'), side: z.number() }),
  ])
  const document = documentOf(defineApi({ collections: [named('things', { schema })] }))
  const { ThingPatch, ThingPatchCircle } = document.components?.schemas ?? ({} as Part)
  const refs = ['Circle', 'Square'].map(each => ({
    $ref: `#/components/schemas/ThingPatch${each}`,
  }))
  expect(ThingPatch).toEqual({ oneOf: refs })
  expect(ThingPatchCircle).not.toHaveProperty('required')
})

test('below a parent a body is another only where its field must be sent elsewhere', () => {
  const below = (owner_id: z.ZodType) =>
    defineApi({
      collections: [
        named('owners'),
        named('things', { schema: z.object({ owner_id }), parents: { owner_id: 'owners' } }),
      ],
    })
  const bodyOf = (api: Parameters<typeof documentOf>[0]) =>
    documentOf(api).paths?.['/owners/{parent}/things']?.post?.requestBody?.content?.[
      'application/json'
    ]?.schema?.$ref
  expect(bodyOf(below(z.uuid()))).toBe('#/components/schemas/ThingInputOfOwner')
  expect(bodyOf(below(z.uuid().optional()))).toBe('#/components/schemas/ThingInput')
})

test('schemas are those that tools read: types beside enum, no schema that is false, any JSON is {}', () => {
  const schema = z.object({
    color: z.enum(['red', 'blue']),
    one: z.literal(5),
    pair: z.tuple([z.number(), z.string()]),
    any: z.json(),
    born: z.iso.datetime(),
  })
  const document = documentOf(defineApi({ collections: [named('things', { schema })] }))
  const { properties } = document.components?.schemas?.Thing ?? ({} as Part)
  expect(properties).toMatchObject({
    color: { type: 'string', enum: ['red', 'blue'] },
    one: { type: 'number', const: 5 },
    pair: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] },
    born: { type: 'string', format: 'date-time' },
  })
  expect(properties?.any).toEqual({})
  expect(properties?.pair).not.toHaveProperty('items')
  expect(document.components?.schemas?.JsonPatch?.items?.anyOf).toHaveLength(3)
  for (const item of Object.values(document.paths ?? {})) expect(item).not.toHaveProperty('summary')
})

test('examples of bodies are valid, and the api takes them', async () => {
  const api = cars()
  const document = documentOf(api)
  const { findIssues } = checkedDocument(document)
  const { request } = await openHandler('fetch', api)
  let count = 0
  for (const { path, method, operation } of listOperations(document)) {
    const media = operation.requestBody?.content?.['application/json']
    if (!media?.example) continue
    count++
    const place = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
    expect([path, findIssues(media.example, ...place)]).toEqual([path, undefined])
    if (method !== 'post' || path.includes('{')) continue
    const { status, text } = await request(path, { method: 'POST', json: media.example })
    // What it refers to is not there.
    expect([path, /not_found|no_such|reference/.test(text) ? 201 : status]).toEqual([path, 201])
  }
  expect(count).toBeGreaterThan(8)
})

test('above 30 collections other requests are served while the document is made', async () => {
  const collections = Array.from({ length: 80 }, (_, at) => named(`things${at}`))
  const { request } = await openHandler('fetch', defineApi({ collections }))
  const order: string[] = []
  const document = request('/openapi.json').then(({ status }) => order.push(`document ${status}`))
  const item = request('/things1').then(({ status }) => order.push(`list ${status}`))
  await Promise.all([document, item])
  expect(order).toEqual(['list 200', 'document 200'])
})

test('OPTIONS links to the schema of the items in the document of their version', async () => {
  const { request } = await openHandler('fetch', cars())
  for (const [path, name] of [
    ['/v2/cars', 'Car'],
    ['/v1/cars/1/options', 'Option'],
    ['/v2/cars/1/buy', 'Car'],
    ['/v2/cars_models/1', 'CarModel'],
  ] as const) {
    const { headers } = await request(path, { method: 'OPTIONS' })
    const [link] = parseLink(headers.get('link') ?? '')
    expect(link?.rel).toBe('describedby')
    const [address = '', place = ''] = link?.href.split('#') ?? []
    expect(place).toBe(`/components/schemas/${name}`)
    const document = (await request(address)).json as unknown as Part // JSON is made of such parts
    expect(follow(document, { $ref: `#${place}` } as unknown as Part).properties).toHaveProperty(
      'id',
    )
  }
  expect((await request('/', { method: 'OPTIONS' })).headers.get('link')).toBeNull()
})

describe('/llms.txt', () => {
  it('says in at most 8 kB what the example has', async () => {
    const { request } = await openHandler('fetch', cars())
    const { status, text, headers } = await request('/llms.txt')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(Buffer.byteLength(text)).toBeLessThan(8_000)
    expect(text).toMatch(/^# .+\n\n> .+\n\nAddress: http:\/\/api\.test\n/)
    for (const line of [
      '- /v2/cars GET, POST, PUT',
      '- /v2/cars/{id}/buy POST Buys the car',
      'Input of buy: { buyer?: string, account_id?: string }',
    ])
      expect(text.split('\n')).toContain(line)
    expect(text).toContain('car_id: integer → cars')
    expect(text).toContain('photo: file, thumb: file|null = null')
    const old = await request('/v1/llms.txt')
    expect(old.text).toContain('- /v1/cars GET, POST')
    expect(old.text).not.toContain('/v2/')
  })

  it('names paths that are there, and the document that is there', async () => {
    const { request } = await openHandler('fetch', cars())
    const { text } = await request('/llms.txt')
    const paths = [...text.matchAll(/^- (\/\S+) GET/gm)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(15)
    for (const path of paths.filter(each => !each.includes('{') && !each.endsWith('/search')))
      expect([path, (await request(path)).status]).toEqual([path, 200])
    const [, document = ''] = /: (\/\S+openapi\.json\S+)\. /.exec(text) ?? []
    expect((await request(document)).status).toBe(200)
  })

  it('shows to each principal what it may see, and is private then', async () => {
    const byName: Scheme = {
      name: 'Name',
      challenge: () => 'Name',
      authenticate: async ({ headers: { authorization } }) =>
        authorization === undefined ? undefined : { id: authorization, scopes: [authorization] },
    }
    const schema = z.object({ name: z.string(), cost: z.number().optional() })
    const api = defineApi({
      schemes: [byName],
      collections: [
        named('things', { schema, fields: { cost: { read: ['costs'], write: ['costs'] } } }),
        named('secrets', { access: { default: ['secrets'] }, hideExistence: true }),
      ],
    })
    const { request } = await openHandler('fetch', api)
    const plain = await request('/llms.txt')
    expect(plain.text).not.toMatch(/secrets|cost/)
    expect(plain.text).toContain('Credentials: `Authorization`')
    const seen = await request('/llms.txt', { headers: { authorization: 'secrets' } })
    expect(seen.text).toContain('- /secrets GET, POST')
    expect(seen.text).not.toContain('cost')
    expect(seen.headers.get('cache-control')).toContain('private')
    expect(seen.headers.get('vary')).toContain('Authorization')
    const costs = await request('/llms.txt', { headers: { authorization: 'costs' } })
    expect(costs.text).toContain('cost?: number')
    expect(new Set([plain, seen, costs].map(({ headers }) => headers.get('etag'))).size).toBe(3)
  })
})
