// OPTIONS describes each method as it really is: what it takes and what it answers.
import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { defineApi, defineCollection, json, memoryBlobs, memoryStore } from '../../src/index.ts'
import { listParameters } from '../../src/query/list-parameters.ts'
import { OPERATOR_WORDS } from '../../src/store/operators.ts'
import { DECLARED, type Declared, thingsOf } from '../declared.ts'
import { example } from '../fixture.ts'
import { type Described, describedBy, listObjections, multipartOf, valueBy } from '../openapi.ts'

const PATHS = { '/things': '/things', '/things/count': '/things/count' }

/** The item that a POST of a body gives; the body is one by its schema. */
async function create(described: Described, body: unknown, path = '/things') {
  const { findIssues, ask } = described
  const place = ['paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema']
  expect(findIssues(body, ...place), JSON.stringify(body)).toBeUndefined()
  const made = await ask(path, path, { method: 'POST', json: body })
  expect(made, made.text).toMatchObject({ status: 201 })
  return made.json as Record<string, unknown>
}

describe.each(Object.entries(DECLARED))('%s', (_what, declared) => {
  const idField = declared.idField ?? 'id'
  const things = thingsOf(declared)
  const body = ['requestBody', 'content', 'application/json', 'schema']

  it('has a valid description that is true', async () => {
    const list = await describedBy(things, PATHS)
    const schema = list.at('paths', '/things', 'post', ...body)
    const first = await create(list, valueBy(schema, false))
    const id = String(first[idField])
    const item = `/things/${id}`
    const described = await describedBy(things, {
      ...PATHS,
      '/': '/',
      '/things/{id}': item,
      ...(declared.search && { '/things/search': '/things/search' }),
    })
    expect(await listObjections(described)).toEqual([])
    const { ask, at, findIssues } = described

    const chosen = idField in (schema.properties ?? {}) ? { [idField]: 'another' } : {}
    const second = await create(described, valueBy(schema, true, chosen))
    expect(second[idField]).not.toBe(id)

    await ask('/', '/')
    for (const path of Object.keys(PATHS)) {
      await ask(path, path)
      await ask(path, path, { method: 'HEAD' })
      await ask(path, `${path}?nonsense=1`)
      await ask(path, path, { headers: { accept: 'application/xml' } })
    }
    await ask('/things', '/things', { headers: { range: 'things=0-0' } })
    await ask('/things', '/things', { headers: { accept: 'text/csv' } })
    await ask('/things', '/things', { headers: { accept: 'application/problem+json' } })
    if (declared.search) await ask('/things/search', '/things/search?q=a')
    const read = await ask('/things/{id}', item)
    await ask('/things/{id}', item, { method: 'HEAD' })
    const etag = read.headers.get('etag') ?? ''
    await ask('/things/{id}', item, { headers: { 'if-none-match': etag } })

    const put = ['paths', '/things/{id}', 'put', ...body]
    // What GET gave can be sent back, and so it fits.
    for (const sent of [
      read.json,
      valueBy(at(...put), false),
      valueBy(at(...put), true, 'id' in chosen ? { id } : {}),
    ]) {
      expect(findIssues(sent, ...put), JSON.stringify(sent)).toBeUndefined()
      expect(await ask('/things/{id}', item, { method: 'PUT', json: sent })).toMatchObject({
        status: 303,
      })
    }
    for (const prefer of ['return=minimal', 'return=representation']) {
      const headers = { prefer }
      const changed = { headers, json: valueBy(at(...put), true, 'id' in chosen ? { id } : {}) }
      await ask('/things/{id}', item, { method: 'PUT', ...changed })
      await ask('/things/{id}', item, { method: 'PATCH', headers, json: {} })
      await ask('/things', '/things', { method: 'POST', headers, json: { nonsense: 1 } })
    }
    const patched = await ask('/things/{id}', item, { method: 'PATCH', json: {} })
    expect(patched.status).toBe(303)
    expect(await ask('/things/{id}', item, { method: 'DELETE' })).toMatchObject({ status: 200 })
    expect(await ask('/things/{id}', item)).toMatchObject({ status: 404 })
    const other = `/things/${second[idField]}`
    const minimal = { method: 'DELETE', headers: { prefer: 'return=minimal' } }
    expect(await ask('/things/{id}', other, minimal)).toMatchObject({ status: 204 })
  })
})

test('a PUT that creates is described with its 201', async () => {
  const things = thingsOf({
    ...DECLARED['a PUT that creates'],
    schema: z.object({ id: z.string(), name: z.string() }),
  })
  const { ask } = await describedBy(things, { '/things/{id}': '/things/a' })
  const put = { method: 'PUT', json: { name: 'a' } }
  expect(await ask('/things/{id}', '/things/a', put)).toMatchObject({ status: 201 })
  expect(await ask('/things/{id}', '/things/a', put)).toMatchObject({ status: 303 })
  const plain = await describedBy(thingsOf({ schema: z.object({}) }), {
    '/things/{id}': '/things/a',
  })
  expect(plain.at('paths', '/things/{id}', 'put', 'responses')).not.toHaveProperty('201')
})

describe('binary properties', () => {
  const flat = () => thingsOf(DECLARED['files, flat'] as Declared)
  const objects = () => thingsOf(DECLARED['files as objects'] as Declared)
  const post = (type: string) => [
    'paths',
    '/things',
    'post',
    'requestBody',
    'content',
    type,
    'schema',
  ]

  it.each([
    ['flat', flat],
    ['object', objects],
  ])('as files of a multipart body, taken by POST, PUT and PATCH: %s', async (form, make) => {
    const things = make()
    const { at } = await describedBy(things, PATHS)
    const type = 'multipart/form-data'
    for (const whole of [false, true]) {
      const sent = await multipartOf(at(...post(type)), whole)
      const made = await things.fetch(
        new Request('http://api.test/things', { method: 'POST', ...sent } as RequestInit),
      )
      expect(made.status, await made.clone().text()).toBe(201)
      const { id } = (await made.json()) as { id: string }
      const item = `/things/${id}`
      const { ask, at: within } = await describedBy(things, { '/things/{id}': item })
      for (const method of ['put', 'patch']) {
        const content = ['paths', '/things/{id}', method, 'requestBody', 'content', type]
        const init = await multipartOf(within(...content, 'schema'), whole)
        expect(
          await ask('/things/{id}', item, { method: method.toUpperCase(), ...init }),
        ).toMatchObject({ status: 303 })
        expect(within(...content, 'encoding', 'photo')).toEqual({ contentType: 'image/*' })
      }
      const inline = form === 'flat' ? 'photo_data' : 'photo.data'
      const read = await ask('/things/{id}', item)
      expect(read.json).toHaveProperty(form === 'flat' ? 'photo_url' : 'photo.url')
      const { json } = await things
        .fetch(new Request(`http://api.test${item}?fields=${inline}`))
        .then(async answer => ({ json: await answer.json() }))
      expect(json).toHaveProperty(inline)
    }
  })

  it('the record that the store keeps is not described', async () => {
    for (const things of [flat(), objects()]) {
      const { document, findIssues } = await describedBy(things, PATHS)
      expect(JSON.stringify(document)).not.toMatch(/"(?:key|size)":/)
      const record = { key: 'a', type: 'b', size: 1, updated_at: '2026-01-31T12:00:00Z' }
      const sent = { comment: '', photo: record, third: null }
      expect(findIssues(sent, ...post('application/json'))).toBeDefined()
    }
  })

  it('a new item has no address to keep its content by', async () => {
    const { at } = await describedBy(flat(), PATHS)
    const { properties, required } = at(...post('application/json'))
    expect(Object.keys(properties ?? {})).toEqual([
      'comment',
      'photo_data',
      'thumb_data',
      'other_data',
      'third_data',
    ])
    expect(required).toEqual(['comment', 'photo_data', 'third_data'])
  })

  it('a download is described with its parts, and ignores Prefer', async () => {
    const things = flat()
    const list = await describedBy(things, PATHS)
    const value = valueBy(list.at(...post('application/json')), false)
    const { id } = await create(list, value)
    const path = `/things/${id}/photo`
    const { ask, at } = await describedBy(things, { '/photo': path })
    expect(await ask('/photo', path, { headers: { prefer: 'return=minimal' } })).toMatchObject({
      status: 200,
    })
    const part = await ask('/photo', path, { headers: { range: 'bytes=0-3' } })
    expect(part).toMatchObject({ status: 206 })
    expect(Object.keys(at('paths', '/photo', 'get', 'responses'))).toEqual([
      '200',
      '206',
      '304',
      'default',
    ])
  })

  it('are not described as files without multipart; the schema stands with the first format', async () => {
    const hal = { ...json, name: 'hal', extensions: [], types: ['application/hal+json'] }
    const api = defineApi({ collections: [flat()], formats: [hal] })
    const { at } = await describedBy(api, PATHS)
    const { content } = at('paths', '/things', 'post', 'requestBody')
    expect(Object.keys(content ?? {})).toEqual(['application/hal+json'])
    expect(content?.['application/hal+json']).toHaveProperty('schema')
    const refusals = at('paths', '/things', 'get', 'responses', 'default', 'content')
    expect(Object.keys(refusals)).toEqual(['application/hal+json'])
  })
})

describe('actions', () => {
  const things = () =>
    thingsOf({
      schema: z.object({ name: z.string(), price: z.number().default(1) }),
      id: 'integer',
      actions: {
        rename: {
          on: 'item',
          description: 'Calls it otherwise',
          input: z.object({ name: z.string() }),
          output: z.object({ name: z.string(), price: z.number() }),
          run: ({ input, update }) => update(input),
        },
        // It is called like an operation.
        look: { on: 'item', run: () => undefined },
        touch: {
          on: 'collection',
          input: z.object({ note: z.string().optional() }),
          run: () => undefined,
        },
        either: {
          on: 'collection',
          input: z.discriminatedUnion('k', [
            z.object({ k: z.literal('a'), a: z.string() }),
            z.object({ k: z.literal('b'), b: z.string() }),
          ]),
          run: () => ({}),
        },
        drop: { on: 'collection', method: 'DELETE', run: () => [] },
        find: {
          on: 'collection',
          method: 'GET',
          input: z.object({
            word: z.string(),
            m: z.object({ n: z.int(), deep: z.object({ x: z.boolean() }).optional() }),
            tags: z.array(z.string()).optional(),
            sizes: z.record(z.string(), z.int()).optional(),
            any: z.any().optional(),
          }),
          run: ({ input }) => input,
        },
        nothing: { on: 'collection', method: 'GET', run: () => undefined },
      },
    })
  const paths = {
    '/things': '/things',
    '/things/{id}': '/things/1',
    '/things/{id}/rename': '/things/1/rename',
    '/things/{id}/look': '/things/1/look',
    ...Object.fromEntries(
      ['touch', 'either', 'drop', 'find', 'nothing'].map(name => [
        `/things/${name}`,
        `/things/${name}`,
      ]),
    ),
  }

  it('are described as they are', async () => {
    const described = await describedBy(things(), paths)
    expect(await listObjections(described)).toEqual([])
    const { ask } = described
    await create(described, { name: 'a' })
    const rename = ['/things/{id}/rename', '/things/1/rename'] as const
    const post = { method: 'POST' }
    // What it gives has more members than it declares.
    expect(await ask(...rename, { ...post, json: { name: 'b' } })).toMatchObject({
      status: 200,
      json: { id: 1, name: 'b' },
    })
    expect(await ask(...rename, { ...post, json: {} })).toMatchObject({ status: 400 })
    const preferences: readonly (readonly [prefer: string, status: number])[] = [
      ['', 303],
      ['return=minimal', 204],
      ['return=representation', 200],
    ]
    for (const [prefer, status] of preferences) {
      const headers = { prefer }
      for (const [template, path] of [
        ['/things/{id}/look', '/things/1/look'],
        ['/things/touch', '/things/touch'],
      ] as const) {
        expect(await ask(template, path, { ...post, headers })).toMatchObject({ status })
      }
      expect(await ask('/things/nothing', '/things/nothing', { headers })).toMatchObject({ status })
    }
    const drop = { method: 'DELETE' }
    expect(await ask('/things/drop', '/things/drop', drop)).toMatchObject({ status: 200 })
  })

  it.each([
    ['/things/{id}/rename', true],
    ['/things/touch', undefined],
    ['/things/either', true],
  ])('the body of %s: required: %s', async (template, required) => {
    const { at, ask } = await describedBy(things(), paths)
    expect(at('paths', template, 'post', 'requestBody').required).toBe(required)
    const path =
      paths['/things/{id}/rename'] === template ? template : template.replace('{id}', '1')
    if (template.includes('{'))
      await ask('/things', '/things', { method: 'POST', json: { name: 'a' } })
    const bare = await ask(template, path, { method: 'POST' })
    expect(bare.status >= 400).toBe(required === true)
  })

  it('with an output that is its own option are described all the same', async () => {
    const output: z.ZodType = z.lazy(() => z.union([z.strictObject({ name: z.string() }), output]))
    const go = { on: 'collection', output, run: () => ({ name: 'a' }) } as const
    const { at } = await describedBy(thingsOf({ schema: z.object({}), actions: { go } }), {
      '/things/go': '/things/go',
    })
    expect(at('paths', '/things/go', 'post', 'responses', '200')).toHaveProperty('content')
  })

  it('an action without input has no body', async () => {
    const { at } = await describedBy(things(), paths)
    expect(at('paths', '/things/{id}/look', 'post')).not.toHaveProperty('requestBody')
  })

  it('in a query: each property by its dotted name, required where its object is', async () => {
    const { at, ask } = await describedBy(things(), paths)
    const parameters = Object.values(at('paths', '/things/find', 'get', 'parameters')).filter(
      each => (each.in as unknown) === 'query',
    )
    expect(parameters.map(({ name, required }) => [name, required ?? false])).toEqual([
      ['word', true],
      ['m.n', true],
      ['m.deep.x', false],
      ['tags', false],
      ['sizes', false],
      ['any', false],
    ])
    const query = 'word=a&m.n=1&tags=a&tags=b&sizes[a]=1&m.deep.x=true'
    expect(await ask('/things/find', `/things/find?${query}`)).toMatchObject({
      status: 200,
      json: { word: 'a', m: { n: 1, deep: { x: true } }, tags: ['a', 'b'], sizes: { a: 1 } },
    })
    expect(parameters.find(({ name }) => (name as unknown) === 'sizes')).toMatchObject({
      style: 'deepObject',
      schema: { type: 'object', additionalProperties: { type: 'integer' } },
    })
    expect(await ask('/things/find', '/things/find?m.n=1')).toMatchObject({ status: 400 })
  })
})

describe('below a parent', () => {
  it('what the path says need not be sent', async () => {
    const { api } = example()
    const cars = await describedBy(api, { '/cars': '/cars' })
    const made = await cars.ask('/cars', '/cars', {
      method: 'POST',
      json: { immatriculation: 'AA-001-AA', color: 'red' },
    })
    const path = `/cars/${(made.json as { id: string }).id}/options`
    const list = await describedBy(api, { '/options': '/options', '/cars/{id}/options': path })
    const body = ['requestBody', 'content', 'application/json', 'schema', 'required']
    expect(list.at('paths', '/options', 'post', ...body)).toEqual(['car_id', 'name'])
    expect(list.at('paths', '/cars/{id}/options', 'post', ...body)).toEqual(['name'])
    const option = await list.ask('/cars/{id}/options', path, {
      method: 'POST',
      json: { name: 'ABS' },
    })
    expect(option.status).toBe(201)
    const item = `${path}/${(option.json as { id: string }).id}`
    const described = await describedBy(api, {
      '/cars/{id}/options/{option}': item,
      '/options': '/options',
      '/cars/{id}/options': path,
    })
    expect(await listObjections(described)).toEqual([])
    const put = { method: 'PUT', json: { name: 'GPS' } }
    expect(described.at('paths', '/cars/{id}/options/{option}', 'put', ...body)).toEqual(['name'])
    expect(await described.ask('/cars/{id}/options/{option}', item, put)).toMatchObject({
      status: 303,
    })
  })
})

describe('parameters', () => {
  const namesOf = ({ at }: Described, path: string) =>
    Object.values(at('paths', path, 'get', 'parameters')).map(({ name }) => String(name))

  it('a field called like a parameter is reached by another name', async () => {
    const things = thingsOf(DECLARED['fields called like parameters'] as Declared)
    const described = await describedBy(things, {
      '/things': '/things',
      '/things/search': '/things/search',
    })
    expect(namesOf(described, '/things')).toEqual(
      expect.arrayContaining(['filter[limit]', 'limit', 'filter[sort]', 'filter[fields]', 'q']),
    )
    expect(namesOf(described, '/things/search')).toEqual(expect.arrayContaining(['filter[q]', 'q']))
    const { ask } = described
    await create(described, { limit: 5, sort: 'a', fields: 'b', q: 'c' })
    for (const [query, count] of [
      ['filter[limit]=5', 1],
      ['filter[limit]=6', 0],
      ['q=c', 1],
      ['q=d', 0],
    ] as const) {
      expect((await ask('/things', `/things?${query}`)).json).toHaveLength(count)
    }
    expect((await ask('/things/search', '/things/search?filter[q]=d&q=c')).json).toEqual([])
  })

  it('each filter is described with the operators that it takes', async () => {
    const described = await describedBy(thingsOf(DECLARED.plain as Declared), PATHS)
    const operators = OPERATOR_WORDS.filter(word => word !== 'eq')
    const filters = Object.values(described.at('paths', '/things', 'get', 'parameters')).filter(
      ({ schema }) => /^A filter/.test(String(schema?.description)),
    )
    expect(filters.length).toBeGreaterThan(5)
    for (const { name, schema } of filters) {
      for (const operator of operators) {
        const { json } = await described.ask('/things', `/things?${name}[${operator}]=x`)
        const refused = /invalid_operator/.test(JSON.stringify(json))
        const isDescribed = String(schema?.description).includes(`[${operator}]`)
        expect([name, operator, isDescribed]).toEqual([name, operator, !refused])
      }
    }
  })

  it.each(['README.md', 'docs/conventions.md', 'docs/querying.md'])(
    '%s names each operator',
    page => {
      const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
      expect(OPERATOR_WORDS.filter(word => !text.includes(`[${word}]`))).toEqual([])
    },
  )

  it('docs/querying.md names each parameter of lists', () => {
    const text = readFileSync(new URL('../../docs/querying.md', import.meta.url), 'utf8')
    const names = [...listParameters('shows', 'orders', 'places', 'sizes', 'bounds')]
    expect(names.length).toBeGreaterThan(9)
    expect(names.filter(name => !new RegExp(`\`${name}[=\`]`).test(text))).toEqual([])
  })

  it('a count has those that narrow it, and no page', async () => {
    const described = await describedBy(thingsOf(DECLARED.plain as Declared), PATHS)
    const names = namesOf(described, '/things/count')
    expect(names).toEqual(expect.arrayContaining(['name', 'since', 'until', 'since_id', 'max_id']))
    for (const name of ['fields', 'sort', 'offset', 'limit', 'cursor']) {
      expect(namesOf(described, '/things')).toContain(name)
      expect(names).not.toContain(name)
    }
  })

  it.each([
    ['plain', '01900000-0000-7000-8000-000000000000', '5'],
    ['whole numbers as ids', 5, 'a'],
  ])('since_id and max_id are ids, of %s', async (kind, id, other) => {
    const described = await describedBy(thingsOf(DECLARED[kind] as Declared), PATHS)
    const parameters = ['paths', '/things', 'get', 'parameters']
    for (const name of ['since_id', 'max_id']) {
      const at = [...parameters, String(namesOf(described, '/things').indexOf(name)), 'schema']
      expect(described.findIssues(id, ...at)).toBeUndefined()
      expect(described.findIssues(other, ...at)).toBeDefined()
      expect((await described.ask('/things', `/things?${name}=${id}`)).status).toBe(200)
      expect((await described.ask('/things', `/things?${name}=${other}`)).status).toBe(400)
    }
  })

  it.each(['since', 'until', 'created_at', 'seen_at'])('%s is a time or a day', async name => {
    const described = await describedBy(thingsOf(DECLARED.plain as Declared), PATHS)
    const parameters = ['paths', '/things', 'get', 'parameters']
    const at = namesOf(described, '/things').indexOf(name)
    for (const value of ['2026-01-31', '2026-01-31T12:00:00Z']) {
      expect(described.findIssues(value, ...parameters, String(at), 'schema')).toBeUndefined()
      expect(await described.ask('/things', `/things?${name}=${value}`)).toMatchObject({
        status: 200,
      })
    }
    expect(described.findIssues('tomorrow', ...parameters, String(at), 'schema')).toBeDefined()
    expect(await described.ask('/things', `/things?${name}=tomorrow`)).toMatchObject({
      status: 400,
    })
  })
})

describe('media types', () => {
  it('of bodies are those of Accept-Post and Accept-Patch', async () => {
    const { api } = example()
    const [list, item] = await Promise.all(
      ['/cars', '/cars/a'].map(path =>
        api.fetch(new Request(`http://api.test${path}`, { method: 'OPTIONS' })),
      ),
    )
    const { at } = await describedBy(api, { '/cars': '/cars', '/cars/{id}': '/cars/a' })
    const types = (...names: string[]) =>
      Object.keys(at('paths', ...names, 'requestBody', 'content'))
    expect(types('/cars', 'post')).toEqual(list?.headers.get('accept-post')?.split(', '))
    const lists = ['text/csv', 'application/x-ndjson']
    expect(types('/cars', 'post')).toEqual([...types('/cars/{id}', 'put'), ...lists])
    const headers = { 'content-type': 'application/vnd.ms-excel' }
    const init = { method: 'POST', headers, body: 'x' }
    const refused = await api.fetch(new Request('http://api.test/cars', init))
    expect(refused.headers.get('accept-post')).toBe(list?.headers.get('accept-post'))
    expect(Object(await refused.json()).errors[0].message).toContain(lists.join(', '))
    const described = await list?.json()
    expect(Object.keys(Object(described).post.requestBody.content)).toEqual(types('/cars', 'post'))
    expect(Object(described).post.description).toMatch(/^An array of at most 1000 items/)
    expect(types('/cars/{id}', 'patch')).toEqual(item?.headers.get('accept-patch')?.split(', '))
  })

  it('of answers are those that are written, of refusals problem details too', async () => {
    const { at } = await describedBy(example().api, { '/cars': '/cars' })
    const { responses } = at('paths', '/cars', 'get')
    const written = [
      'application/json',
      'application/xml',
      'text/csv',
      'application/x-ndjson',
      'text/html',
    ]
    expect(Object.keys(responses?.['200']?.content ?? {})).toEqual(written)
    expect(Object.keys(responses?.default?.content ?? {})).toEqual([
      ...written,
      'application/problem+json',
    ])
  })
})

test('a deprecated version says so of every method', async () => {
  const collections = [thingsOf(DECLARED.plain as Declared)]
  const other = [thingsOf(DECLARED.plain as Declared)]
  const api = defineApi({
    versions: [
      { version: 1, collections, deprecated: new Date('2026-01-01') },
      { version: 2, collections: other },
    ],
  })
  for (const [root, paths] of [
    ['/v1', ['/v1', '/v1/things']],
    ['/v2', ['/', '/v2', '/v2/things', '/v2/things/a']],
  ] as const) {
    const described = await describedBy(api, Object.fromEntries(paths.map(path => [path, path])))
    expect(await listObjections(described)).toEqual([])
    for (const path of paths) {
      for (const [name, { deprecated }] of Object.entries(described.at('paths', path))) {
        if (name.startsWith('x-')) continue
        expect(deprecated, path).toBe(root === '/v1' ? true : undefined)
      }
      if (!path.endsWith('/a')) await described.ask(path, path)
    }
  }
})

test('schemas with one id do not meet, and two collections may have actions of one name', async () => {
  const schema = () => z.object({ name: z.string() }).meta({ id: 'Twin', title: 'A twin' })
  const pair = z.object({ one: schema(), other: schema() })
  const actions = { go: { on: 'collection', run: () => 1 } } as const
  const [things, others] = ['things', 'others'].map(name =>
    defineCollection({ name, schema: pair, store: memoryStore(), actions }),
  )
  const api = defineApi({ collections: [things, others].flatMap(each => each ?? []) })
  const paths = ['/things', '/others', '/things/go', '/others/go']
  const described = await describedBy(api, Object.fromEntries(paths.map(path => [path, path])))
  expect(await listObjections(described)).toEqual([])
  expect(JSON.stringify(described.document)).toContain('"title":"A twin"')
  await create(described, { one: { name: 'a' }, other: { name: 'b' } })
})

test('the example: every path of it', async () => {
  const { api } = carsApi(() => memoryStore(), memoryBlobs())
  const send = async (path: string, body: object) => {
    const request = new Request(`http://api.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = await api.fetch(request)
    expect(answer.status, await answer.clone().text()).toBe(201)
    return (await answer.json()) as { id: string }
  }
  const car = { color: 'red', model: { name: 'Clio' }, price: 1 }
  const described: Described[] = []
  for (const version of ['/v1', '/v2']) {
    const immatriculation = `AB-12${version.slice(2)}-CD`
    const { id } = await send(`${version}/cars`, { ...car, immatriculation })
    const names = ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']
    const paths = [
      ...['', ...names.flatMap(name => [`/${name}`, `/${name}/count`, `/${name}/a`])],
      ...[
        `/cars/${id}`,
        `/cars/${id}/buy`,
        `/cars/${id}/options`,
        `/cars/${id}/cars_models`,
        '/models/1',
        '/cars/search',
      ],
      ...['/photos/a/photo', '/photos/a/thumb'],
    ].filter(path => !/^\/(?:cars|options|models)\/a$/.test(path))
    described.push(
      await describedBy(
        api,
        Object.fromEntries(paths.map(path => [version + path, version + path])),
      ),
    )
    const { ask } = described.at(-1) as Described
    for (const path of paths) if (!path.endsWith('/buy')) await ask(version + path, version + path)
    const buy = `${version}/cars/${id}/buy`
    expect(await ask(buy, buy, { method: 'POST', json: { buyer: 'Ann' } })).toMatchObject({
      status: 200,
    })
    const sold = `${version}/cars/${id}`
    await ask(sold, sold, { method: 'DELETE' })
  }
  for (const each of described) expect(await listObjections(each)).toEqual([])
})
