// Pages of unusual things: names that no control can have, collections and clients with few rights,
// values outside of the schema.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { buildPageView, html, type Pages } from '../../src/html/index.ts'
import { toLocalPath } from '../../src/html/markup/markup.ts'
import {
  type Access,
  type ApiOptions,
  blob,
  defineApi,
  defineCollection,
  form,
  HttpError,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
  type Representation,
  type Scheme,
} from '../../src/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { formOf, formsOf, textOf } from './reading.ts'

const formats = [json, form, multipart]

/** Takes the scopes from the header. */
const spoken: Scheme = {
  name: 'Scopes',
  challenge: () => 'Scopes',
  authenticate: async ({ headers }) => {
    const scopes = headers.authorization?.split(' ').slice(1)
    return scopes && { id: 'somebody', scopes }
  },
}

function visitor(api: { fetch: (request: Request) => Promise<Response> }, scopes?: string) {
  return async (path: string, init: RequestInit = {}) => {
    const headers = new Headers({ accept: 'text/html', ...init.headers })
    if (scopes !== undefined) headers.set('authorization', `Scopes ${scopes}`)
    const url = new URL(path, 'http://a.example')
    const answer = await api.fetch(new Request(url, { redirect: 'manual', ...init, headers }))
    return { status: answer.status, headers: answer.headers, page: await answer.text() }
  }
}

describe('a page of an unusual result', () => {
  const action = (run: () => unknown) => ({ on: 'collection', method: 'GET', run }) as const
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({}),
    store: memoryStore(),
    actions: {
      sizes: action(() => ['S', { size: 'L' }]),
      size: action(() => 'S'),
      more: action(() => ({ size: { x: 1 }, more: [{ y: [] }, 'z'] })),
      refused: action(() => {
        throw new HttpError(499, [{ message: 'No' }])
      }),
    },
  })
  const visit = visitor(defineApi({ collections: [cars], formats, pages: html }))

  it.each<[string, string[]]>([
    ['sizes', ['sizes', 'S', 'L']],
    ['size', ['size', 'S']],
    ['more', ['size', 'x', 'more', 'z']],
    ['refused', ['499', 'No']],
  ])('of %s', async (name, texts) => {
    const { page } = await visit(`/cars/${name}`)
    expect(page).toMatch(/^<!doctype html>/i)
    const text = textOf(page)
    expect(text).not.toMatch(/undefined|\[object/)
    for (const each of texts) expect(text).toContain(each)
  })

  const data = (async function* () {})()
  it.each<[Representation]>([
    [{ kind: 'stream', name: 'cars', itemName: 'car', fields: new Map(), data }],
    [{ kind: 'bytes', type: 'image/png', size: 0, data }],
  ])('JSON is not made of $kind', representation => {
    expect(() => json.write?.(representation, 'application/json')).toThrow(TypeError)
  })
})

test.each([
  ['http://a.example', '/'],
  ['http://a.example?b=c', '?b=c'],
  ['/cars?b=c', '/cars?b=c'],
])('%s on a page is %s', (href, path) => {
  expect(toLocalPath(href)).toBe(path)
})

describe('a collection with unusual fields', () => {
  const Thing = z.object({
    limit: z.int().optional(),
    'a.b': z.string().optional(),
    size: z.object({ width: z.number(), unit: z.string().optional() }).optional(),
    at: z.iso.date().optional(),
    link: z.string().optional(),
    numbers: z.array(z.int()).optional(),
    whatever: z.unknown(),
    shapes: z.array(z.object({ corners: z.int() })).optional(),
    photo: blob({ accept: ['image/*'] })
      .nullable()
      .optional(),
    paper: blob({ accept: ['application/pdf'] }).optional(),
  })
  const things = defineCollection({
    name: 'things',
    schema: Thing,
    store: memoryStore(),
    blobs: memoryBlobs(),
    id: 'integer',
    binary: 'object',
  })
  const api = defineApi({
    collections: [things],
    formats,
    pages: html,
    baseUrl: 'http://a.example/shop/',
  })
  const visit = visitor(api)
  const send = (path: string, pairs: [string, string][]) =>
    visit(path, { method: 'POST', body: new URLSearchParams(pairs) })

  it('has a page for errors before authentication', async () => {
    const { status, page } = await visit('/things?limit=%zz')
    expect(status).toBe(400)
    expect(textOf(page)).toContain('400 Bad Request')
  })

  it('has a filter for a field with a reserved name, and no control for unreachable names', async () => {
    const { page } = await visit('/things')
    expect(page).toContain('name="filter[limit][gte]"')
    expect(formsOf(page).flatMap(({ pairs }) => pairs.map(([name]) => name))).not.toContain('a.b')
  })

  it('shows values of every kind', async () => {
    const [name, link] = ['limit', 'https://b.example/x']
    const created = await visit('/things', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        [name]: 3,
        link,
        shapes: [{ corners: 3 }],
        whatever: [[1], 'x'],
        paper: { data: Buffer.from('%PDF-1').toString('base64') },
        photo: null,
      }),
    })
    expect(created.status).toBe(201)
    expect(created.page).toContain('action="/shop/things/1"')
    const { page } = await visit('/things/1')
    expect(page).toContain(`<a href="${link}" rel="noreferrer nofollow">`)
    expect(page).toContain('/shop/things/1/paper')
    const list = await visit('/things', { headers: { prefer: 'count=none' } })
    expect(list.page).toContain('an unknown number')
    expect((await visit('/things.html')).page).toContain('/shop/things/1/paper')
  })

  it.each<[string, [string, string][], string]>([
    ['a member of an object', [['size.width', 'wide']], '#create-size.width'],
    ['an object', [['size:json', '[]']], '#create-size'],
    ['text that is no JSON', [['whatever:json', '{']], '#create-whatever'],
    [
      'an element',
      [
        ['numbers[0]', '1'],
        ['numbers[1]', 'x'],
      ],
      '#create-numbers',
    ],
    ['a list that is one number', [['numbers:json', '"x"']], '#create-numbers'],
    [
      'a value given twice',
      [
        ['link', 'a'],
        ['link', 'b'],
      ],
      '#create-link',
    ],
  ])('shows the issue at %s', async (_, pairs, place) => {
    const { status, page } = await send('/things', pairs)
    expect(status).toBe(400)
    expect(page).toContain(`href="${place}"`)
  })

  it('shows a failed multipart form again without its files', async () => {
    const body = new FormData()
    body.set('size.width', 'wide')
    body.append('limit', '1')
    body.append('limit', '2')
    body.set('whatever', new Blob(['{"a":1}'], { type: 'application/json' }))
    body.set('photo', new Blob([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')]), 'a.png')
    const { status, page } = await visit('/things', { method: 'POST', body })
    expect(status).toBe(400)
    expect(formOf(page, 'Create').pairs).toContainEqual(['size.width', 'wide'])
  })
})

describe('an item that its schema would refuse', () => {
  const schema = z.object({
    day: z.iso.date().optional(),
    list: z.array(z.int()).optional(),
    whatever: z.string().optional(),
    size: z.object({ width: z.int() }).optional(),
  })
  it('has a form with its values as JSON', async () => {
    const store = memoryStore()
    const things = defineCollection({ name: 'things', schema, store })
    const values = { day: 'some day', list: ['x'], whatever: { deep: 1 }, size: 'L' }
    const { id } = await createOne(store, values)
    const visit = visitor(defineApi({ collections: [things], formats, pages: html }))
    expect((await visit('/things')).page).toContain('<dt>deep</dt>')
    const { page } = await visit(`/things/${id}`)
    const { pairs } = formOf(page, 'Save')
    expect(pairs).toContainEqual(['day:json', '"some day"'])
    expect(pairs).toContainEqual(['whatever:json', '{\r\n  "deep": 1\r\n}'])
    expect(pairs).toContainEqual(['size:json', '"L"'])
    expect(pairs).toContainEqual(['list:json', '[\r\n  "x"\r\n]'])
  })
})

test('a list of mixed elements is shown in the table', async () => {
  const any = defineCollection({
    name: 'things',
    schema: z.object({ list: z.array(z.union([z.string(), z.record(z.string(), z.int())])) }),
    store: memoryStore(),
  })
  const api = defineApi({ collections: [any], formats, pages: html })
  await api.collection('things').create({ list: ['x', { toString: 1 }] })
  const { status, page } = await visitor(api)('/things')
  expect(status).toBe(200)
  expect(textOf(page)).toContain('x toString 1')
})

describe('actions', () => {
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    actions: {
      find: {
        on: 'collection',
        method: 'GET',
        description: 'Looks for it',
        input: z.object({
          word: z.string().min(2),
          labels: z.record(z.string(), z.string()).optional(),
        }),
        run: ({ input }) => [input.word, { found: true }],
      },
      all: { on: 'collection', method: 'GET', description: 'Everything', run: () => 'all' },
      wash: { on: 'item', description: 'With soap', run: () => ({ clean: true }) },
      fail: {
        on: 'item',
        run: () => {
          throw new HttpError(499, 'It would not')
        },
      },
      grow: {
        on: 'collection',
        // In JavaScript nothing refuses it earlier.
        run: context => Object(context).update({ name: 'x' }),
      },
    },
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: [things],
    formats,
    pages: html,
    onError: error => failures.push(error),
  })
  const visit = visitor(api)

  it('are shown with their descriptions', async () => {
    const { id } = await api.collection(things).create({ name: 'a' })
    const list = await visit('/things')
    expect(textOf(list.page)).toContain('Looks for it')
    expect(textOf(list.page)).toContain('Everything')
    expect(formOf(list.page, 'find').method).toBe('get')
    const item = await visit(`/things/${id}`)
    expect(textOf(item.page)).toContain('With soap')
    const failed = await visit(`/things/${id}/fail`, { method: 'POST' })
    expect([failed.status, textOf(failed.page).includes('It would not')]).toEqual([499, true])
  })

  it('that read show their result and their form with the input', async () => {
    const { page } = await visit('/things/find?word=abc')
    expect(textOf(page)).toContain('abc')
    expect(formOf(page, 'find').pairs).toContainEqual(['word', 'abc'])
    const short = await visit('/things/find?word=a')
    expect(short.status).toBe(400)
    expect(formOf(short.page, 'find').pairs).toContainEqual(['word', 'a'])
  })

  it('that read are described with their parameters', async () => {
    const described = async (path: string) =>
      JSON.parse((await visit(path, { method: 'OPTIONS' })).page)
    expect(await described('/things/find.json')).toMatchObject({
      get: { parameters: [{ name: 'word' }, {}, { in: 'header' }, { in: 'header' }] },
    })
    expect(JSON.stringify(await described('/things/all.json'))).not.toContain('"in":"query"')
  })

  it('of a collection cannot update an item', async () => {
    const { status } = await visit('/things/grow', { method: 'POST' })
    expect(status).toBe(500)
    expect(failures).toMatchObject([{ message: expect.stringContaining('update()') }])
  })
})

describe('a collection with few operations', () => {
  async function make(operations: ('read' | 'list' | 'replace' | 'patch' | 'create')[]) {
    const things = defineCollection({
      name: 'things',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      search: ['name'],
      operations,
    })
    const api = defineApi({ collections: [things], formats, pages: html })
    return { api, visit: visitor(api) }
  }

  it.each([
    ['replace', 'PUT'],
    ['patch', 'PATCH'],
  ] as const)('%s changes an item', async (operation, method) => {
    const store = memoryStore()
    const common = { name: 'things', schema: z.object({ name: z.string() }), store }
    const whole = defineApi({ collections: [defineCollection(common)] })
    const { id } = await whole.collection('things').create({ name: 'a' })
    const part = defineCollection({ ...common, operations: ['read', operation] })
    const visit = visitor(defineApi({ collections: [part], formats, pages: html }))
    const { page } = await visit(`/things/${id}`)
    expect(formOf(page, 'Save').pairs).toContainEqual(['_method', method])
  })

  it('without replace and patch has no edit form', async () => {
    const { visit } = await make(['create', 'list'])
    const made = await visit('/things', {
      method: 'POST',
      body: new URLSearchParams({ name: 'a' }),
    })
    expect(made.status).toBe(201)
    expect(formsOf(made.page)).toEqual([])
    expect((await visit('/things')).page).not.toContain('>count<')
  })

  it('has no search without list', async () => {
    const { visit } = await make(['create'])
    expect((await visit('/things/search?q=a')).status).toBe(405)
  })
})

describe('a client with few rights', () => {
  const access: Access = { list: ['see'], count: ['count'], default: ['do'] }
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    access,
  })
  const secrets = defineCollection({
    name: 'secrets',
    schema: z.object({ thing_id: z.string() }),
    store: memoryStore(),
    parents: { thing_id: 'things' },
    hideExistence: true,
    access: { default: ['know'] },
  })
  const options: ApiOptions = {
    collections: [things, secrets],
    formats,
    pages: html,
    schemes: [spoken],
    access: { root: 'public' },
  }

  it.each<[string | undefined, string[]]>([
    [undefined, ['things']],
    ['none', []],
    ['see', ['things']],
    ['do', ['things']],
    ['know', ['secrets']],
    ['do know', ['things', 'secrets']],
  ])('with scopes %j sees %j on the root page', async (scopes, names) => {
    const { page } = await visitor(defineApi(options), scopes)('/')
    expect(['things', 'secrets'].filter(name => page.includes(`href="/${name}"`))).toEqual(names)
    const shown = await visitor(defineApi(options), scopes)('/.json')
    expect(shown.status).toBe(404)
    const { page: text } = await visitor(defineApi(options), scopes)('/', {
      headers: { accept: 'application/json' },
    })
    // Hidden collections are not listed; closed ones are.
    expect(Object.keys(JSON.parse(text).resources)).toEqual(
      names.includes('secrets') ? ['things', 'secrets'] : ['things'],
    )
  })

  it.each([
    ['see', false],
    ['see count', true],
  ])('with scopes %j gets a link to the count: %j', async (scopes, shown) => {
    const { page } = await visitor(defineApi(options), scopes)('/things')
    expect(page.includes('href="/things/count"')).toBe(shown)
  })

  it('gets no links to forbidden sub-collections', async () => {
    const api = defineApi(options)
    const { id } = await api.collection(things).create({ name: 'a' })
    for (const [scopes, led] of [
      ['do', false],
      ['do know', true],
    ] as const) {
      const { page } = await visitor(api, scopes)(`/things/${id}`)
      expect(page.includes(`href="/things/${id}/secrets"`)).toBe(led)
    }
  })
})

test('at the root no value has a link', async () => {
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const links: Pages = {
    ...html,
    print: async (...page) => String((await buildPageView(...page)).findLink('id', 'a')?.href),
  }
  const { fetch } = defineApi({ collections: [things], pages: links, formats: [json] })
  const accept = { headers: { accept: 'text/html' } }
  const text = async (path: string) =>
    (await fetch(new Request(`http://a.example${path}`, accept))).text()
  expect([await text('/'), await text('/things')]).toEqual(['undefined', '/things/a'])
})

describe('a value that refers to a parent', () => {
  it('has a link only if it is a valid id', async () => {
    const models = defineCollection({
      name: 'models',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
      id: 'integer',
    })
    const store = memoryStore()
    const cars = defineCollection({
      name: 'cars',
      store,
      timestamps: false,
      schema: z.object({ model_id: z.int().nullable().optional() }),
      parents: { model_id: 'models' },
    })
    for (const model_id of [7, 0, null, true, 'x']) await createOne(store, { model_id })
    const { page } = await visitor(
      defineApi({ collections: [cars, models], formats, pages: html }),
    )('/cars')
    expect(page.match(/href="\/models\/[^"]*"/g)).toEqual(['href="/models/7"'])
  })
})
