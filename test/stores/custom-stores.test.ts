// Stores that lose, refuse and fail: what the client hears, and what stays.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  csv,
  defineApi,
  defineCollection,
  type Format,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
  type Store,
} from '../../src/index.ts'
import { areCreations } from '../../src/store/writes.ts'
import {
  ReferenceConflictError,
  UnavailableError,
  UnstorableError,
} from '../../src/store-authors/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { example, seed } from '../fixture.ts'

async function ask(
  { fetch }: { readonly fetch: (request: Request) => Promise<Response> },
  path: string,
  { json: body, ...init }: RequestInit & { readonly json?: unknown } = {},
) {
  const headers = new Headers(init.headers)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const request = new Request(new URL(path, 'http://a.example'), {
    redirect: 'manual',
    ...init,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer = await fetch(request)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const form = (parts: Record<string, string | Blob>) => {
  const body = new FormData()
  for (const [name, part] of Object.entries(parts)) body.set(name, part)
  return body
}

describe('a store that refuses', () => {
  it.each<[string, Error, number, object]>([
    [
      'texts too long for an index',
      new UnstorableError(['color', 'model.name']),
      400,
      [
        { field: 'color', type: 'too_long' },
        { field: 'model.name', type: 'too_long' },
      ],
    ],
    [
      'a value too long',
      new UnstorableError([]),
      400,
      [{ message: expect.stringContaining('A value') }],
    ],
    ['what others refer to', new ReferenceConflictError(), 409, [{ type: 'conflict' }]],
    [
      'what refers to nothing',
      new ReferenceConflictError({ fields: ['color'] }),
      400,
      [{ field: 'color', type: 'unknown_reference' }],
    ],
    ['to be reached', new UnavailableError('password=x'), 503, [{ type: 'unavailable' }]],
    ['anything', new RangeError('password=x'), 500, [{ type: 'internal' }]],
  ])('%s', async (_, error, status, errors) => {
    const { api } = example({
      onError: () => undefined,
      storeOf: (_name, store) => ({ ...store, write: () => Promise.reject(error) }),
    })
    const values = { immatriculation: 'A', color: 'red' }
    const answer = await ask(api, '/cars', { method: 'POST', json: values })
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ errors })
    expect(answer.text).not.toContain('password')
  })

  it.each<[string, () => Promise<void>]>([
    ['later', () => Promise.reject(new UnavailableError())],
    [
      'at once',
      () => {
        throw new Error('no connection')
      },
    ],
  ])('to free the key of what is refused, %s', async (_, complete) => {
    const { api } = example({ storeOf: (_name, store) => ({ ...store, complete }) })
    const answer = await ask(api, '/cars', {
      method: 'POST',
      json: { color: 'none' },
      headers: { 'idempotency-key': '"k"' },
    })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('immatriculation')
  })

  it('to keep the answer of an action: it is given, and the key is not free', async () => {
    let runs = 0
    let now = 0
    const store = memoryStore({ clock: () => now })
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ paid: z.int() }),
      store: { ...store, complete: () => Promise.reject(new UnavailableError()) },
      actions: {
        pay: { on: 'item', run: ({ update }) => update({ paid: ++runs }) },
      },
    })
    const api = defineApi({ collections: [cars] })
    const { id } = await createOne(store, { paid: 0 })
    const pay = () =>
      ask(api, `/cars/${id}/pay`, { method: 'POST', headers: { 'idempotency-key': '"k"' } })
    const first = await pay()
    expect([first.status, JSON.parse(first.text)]).toMatchObject([200, { paid: 1 }])
    now = 9_000
    expect([(await pay()).status, runs]).toEqual([409, 1])
    now = 10_000
    expect([(await pay()).status, runs]).toEqual([200, 2])
  })

  it('what a PUT would create', async () => {
    const { api } = example({
      storeOf: (_name, store) => ({
        ...store,
        write: () => Promise.reject(new UnstorableError(['name'])),
      }),
    })
    const answer = await ask(api, '/accounts/a', { method: 'PUT', json: { name: 'A' } })
    expect(answer.status).toBe(400)
  })

  it('to count', async () => {
    const { api } = example({
      storeOf: (_name, store) => ({ ...store, count: async () => undefined }),
    })
    expect((await ask(api, '/cars/count')).text).toBe('{"count":null}')
  })
})

describe('a store where others are always faster', () => {
  const losing = (store: Store): Store => ({
    ...store,
    write: async (changes, options) =>
      areCreations(changes) ? store.write(changes, options) : undefined,
  })

  it.each([
    ['PATCH', { color: 'blue' }],
    ['PUT', { immatriculation: 'B', color: 'blue' }],
    ['DELETE', undefined],
  ])('%s ends with 503', async (method, values) => {
    const made = example({
      onError: () => undefined,
      storeOf: (_name, store) => losing(store),
    })
    const [car] = await seed(made, 1)
    const answer = await ask(made.api, `/cars/${car?.id}`, {
      method,
      ...(values && { json: values }),
    })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(answer.text).toContain('contended')
  })
})

describe('a place for contents that fails', () => {
  const PDF = Buffer.from('%PDF-1.7')
  const pdf = () => new Blob([PDF])
  const base64 = PDF.toString('base64')

  function make(change: (blobs: BlobStore) => Partial<BlobStore>) {
    const blobs = memoryBlobs()
    const papers = defineCollection({
      name: 'papers',
      schema: z.object({
        name: z.string(),
        paper: blob({ inlineBelow: 100 }).nullable().optional(),
      }),
      store: memoryStore(),
      blobs: { ...blobs, ...change(blobs) },
      id: 'integer',
    })
    const keys = async () => {
      const found: string[] = []
      for await (const { key } of blobs.keys()) found.push(key)
      return found
    }
    return { api: defineApi({ collections: [papers], formats: [json, multipart, csv] }), keys }
  }
  const undeletable = () => make(() => ({ delete: () => Promise.reject(new Error('no')) }))

  it.each<[string, RequestInit & { readonly json?: unknown }]>([
    ['a text', { json: { name: 5, paper_data: base64 } }],
    [
      'a file',
      { body: form({ paper: pdf(), name: new Blob(['5'], { type: 'application/json' }) }) },
    ],
    ['a file before what cannot be read', { body: form({ paper: pdf(), weight: pdf() }) }],
  ])('does not change what is said of %s', async (_, init) => {
    const { api } = undeletable()
    expect(await ask(api, '/papers', { method: 'POST', ...init })).toMatchObject({ status: 400 })
  })

  it('nor what is done', async () => {
    const { api, keys } = undeletable()
    await ask(api, '/papers', { method: 'POST', json: { name: 'a', paper_data: base64 } })
    const removed = await ask(api, '/papers/1', { method: 'PATCH', json: { paper_url: null } })
    expect(removed.status).toBe(303)
    expect(JSON.parse((await ask(api, '/papers/1')).text)).not.toHaveProperty('paper_url')
    expect(await keys()).toHaveLength(1)
  })

  it('gives nothing inline and 404 for itself', async () => {
    const { api } = make(() => ({ get: async () => undefined }))
    await ask(api, '/papers', { method: 'POST', json: { name: 'a', paper_data: base64 } })
    const { text } = await ask(api, '/papers/1')
    expect(JSON.parse(text)).toMatchObject({ paper_url: 'http://a.example/papers/1/paper' })
    expect(text).not.toContain('paper_data')
    for (const range of ['', 'bytes=0-1']) {
      const answer = await ask(api, '/papers/1/paper', { headers: { range } })
      expect(answer.status).toBe(404)
    }
  })

  it('takes no address of a content before there is one', async () => {
    const { api } = make(() => ({}))
    const values = { name: 'a', paper_url: 'http://a.example/papers/1/paper' }
    const answer = await ask(api, '/papers', { method: 'POST', json: values })
    expect([answer.status, answer.text.includes('foreign_address')]).toEqual([400, true])
  })

  it('does not take a file where none is declared', async () => {
    const { api, keys } = make(() => ({}))
    const answer = await ask(api, '/papers', { method: 'POST', body: form({ name: pdf() }) })
    expect([answer.status, await keys()]).toEqual([400, []])
    expect(answer.text).toContain('"message":"name does not take files. Files go to: paper"')
  })

  it('ends a content of which it takes a part only', async () => {
    let ended = false
    async function* content() {
      try {
        for (;;) yield Buffer.alloc(10_000, PDF)
      } finally {
        ended = true
      }
    }
    const endless: Format = {
      name: 'endless',
      extensions: [],
      types: ['application/x-endless'],
      read: async (_body, { upload }) => {
        const file = { name: undefined, type: 'application/pdf', content: content() }
        return { paper: (await upload?.('paper', file)) ?? null }
      },
    }
    const blobs = memoryBlobs()
    const put: BlobStore['put'] = async stream => {
      let size = 0
      for await (const chunk of stream) {
        size = chunk.length
        break
      }
      return { key: 'part', size }
    }
    const papers = defineCollection({
      name: 'papers',
      schema: z.object({ paper: blob() }),
      store: memoryStore(),
      blobs: { ...blobs, put },
    })
    const api = defineApi({ collections: [papers], formats: [json, endless] })
    const headers = { 'content-type': 'application/x-endless' }
    const answer = await ask(api, '/papers', { method: 'POST', headers, body: 'x' })
    expect([answer.status, ended]).toEqual([201, true])
  })

  it('keeps a file once for each idempotency key', async () => {
    const { api, keys } = make(() => ({}))
    const send = () =>
      ask(api, '/papers', {
        method: 'POST',
        headers: { 'idempotency-key': '"once"' },
        body: form({ name: 'a', paper: pdf() }),
      })
    const first = await send()
    expect([first.status, (await send()).text]).toEqual([201, first.text])
    expect(await keys()).toHaveLength(1)
  })
})

describe('items without dates', () => {
  const notes = defineCollection({
    name: 'notes',
    schema: z.looseObject({
      text: z.string(),
      more: z.record(z.string(), z.int()).optional(),
      free: z.unknown(),
      lines: z.array(z.object({ text: z.string() })).optional(),
    }),
    store: memoryStore(),
    timestamps: false,
    actions: { echo: { on: 'collection', run: () => ({ done: true }) } },
  })
  const api = defineApi({ collections: [notes] })

  it('have none, and nothing that goes by them', async () => {
    const made = await ask(api, '/notes', { method: 'POST', json: { text: 'a', free: 'b' } })
    expect(made.status).toBe(201)
    expect(Object.keys(JSON.parse(made.text))).toEqual(['id', 'text', 'free'])
    const { headers, status } = await ask(api, new URL(made.headers.get('location') ?? '').pathname)
    expect([status, headers.get('last-modified')]).toEqual([200, null])
    expect((await ask(api, '/notes?since=2024-01-01')).status).toBe(400)
    const { text } = await ask(api, '/notes', { method: 'OPTIONS' })
    const parameters: readonly { name: string }[] = JSON.parse(text).get.parameters
    const names = parameters.map(({ name }) => name)
    expect(names).toContain('limit')
    expect(names).not.toContain('since')
    expect(names).not.toContain('more')
    expect(names).not.toContain('lines')
    expect(names).not.toContain('free')
    expect((await ask(api, '/notes?free[exists]=1')).text).toBe(`[${made.text}]`)
    for (const filter of ['free=b', 'lines=1']) {
      expect((await ask(api, `/notes?${filter}`)).status).toBe(400)
    }
  })

  it('an idempotency key counts without a body too', async () => {
    const init = { method: 'POST', headers: { 'idempotency-key': '"k"' } }
    const first = await ask(api, '/notes/echo', init)
    expect([first.status, (await ask(api, '/notes/echo', init)).text]).toEqual([200, first.text])
  })
})

test('a store that knows no time of an item sends none', async () => {
  const made = example({
    storeOf: (_name, store) => ({
      ...store,
      find: async (...parameters) => {
        const found = await store.find(...parameters)
        return found.map(each => each && { id: each.id, item: each.item, version: each.version })
      },
    }),
  })
  const [car] = await seed(made, 1)
  const { status, headers } = await ask(made.api, `/cars/${car?.id}`)
  expect([status, headers.get('last-modified')]).toEqual([200, null])
})

test('a rule that shows nothing shows no item', async () => {
  const store = memoryStore()
  const common = { name: 'notes', schema: z.object({ text: z.string() }), store }
  const seen = defineCollection(common)
  const { id } = await defineApi({ collections: [seen] })
    .collection(seen)
    .create({ text: 'a' })
  const hidden = defineApi({
    collections: [defineCollection({ ...common, visible: () => undefined })],
  })
  expect((await ask(hidden, `/notes/${id}`)).status).toBe(404)
  expect((await ask(hidden, '/notes')).text).toBe('[]')
})

test('a file of items that cannot be read is there, and cannot be read', async () => {
  const papers = defineCollection({
    name: 'papers',
    schema: z.object({ paper: blob().optional() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    operations: ['list', 'create'],
  })
  const api = defineApi({ collections: [papers] })
  expect((await ask(api, '/papers/a/paper')).status).toBe(405)
})

test('a parent without a name is none', async () => {
  const { api } = example()
  const answer = await ask(api, '/options', { method: 'POST', json: { car_id: '', name: 'a' } })
  expect([answer.status, answer.text.includes('car_id')]).toEqual([400, true])
})

test('the last version of all, deprecated too, has no successor', async () => {
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
  })
  const deprecated = new Date('2026-01-01T00:00:00Z')
  const api = defineApi({ versions: [{ version: 1, collections: [notes], deprecated }] })
  const { headers } = await ask(api, '/v1/notes/count')
  expect([headers.get('deprecation'), headers.get('link')]).toEqual(['@1767225600', null])
})

describe('an api that looks after its stores', () => {
  it.each<[string, Store['find']]>([
    ['never answers', () => new Promise<never>(() => undefined)],
    [
      'throws at once',
      () => {
        throw new Error('no connection')
      },
    ],
  ])('says that one which %s cannot be reached', async (_, find) => {
    const { api } = example({
      health: true,
      onError: () => undefined,
      storeOf: (name, store) => (name === 'cars' ? { ...store, find } : store),
    })
    const { status, text } = await ask(api, '/health')
    expect([status, JSON.parse(text)]).toEqual([200, { status: 'degraded', unreachable: ['cars'] }])
    expect(await ask(api, '/health', { method: 'OPTIONS' })).toMatchObject({ status: 204 })
  })
})
