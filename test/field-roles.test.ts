// Field roles: what the server sets, what nobody reads, what never changes. The leaks first.
import { sql } from 'kysely'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { type Api, defineApi, memoryStore, onResponse, type Store } from '../src/index.ts'
import { openApiDocument } from '../src/openapi/document.ts'
import { sqlStore } from '../src/sql/index.ts'
import { type Answer, type Init, type OpenHandler, openHandler } from './handlers.ts'
import { scopedScheme } from './scoped-scheme.ts'
import { openDatabase } from './stores/sqlite.ts'
import { defineUntyped, type Untyped } from './untyped.ts'

const SECRET = 'open sesame'
const HASH = `hashed:${SECRET}`

const schema = z.object({
  name: z.string(),
  sku: z.string().trim().optional(),
  views: z.int().default(0),
  password: z.string().min(8).optional(),
  note: z.string().nullable(),
  author: z.string().optional(),
})

const as = (principal: string) => ({ authorization: `Test ${principal}` })

type Options = Partial<Untyped>

/** What hooks and programs were given. */
const seen: unknown[] = []

function users(store: Store, options: Options = {}) {
  return defineUntyped({
    name: 'users',
    schema,
    store,
    search: ['name'],
    fields: {
      views: 'readOnly',
      password: 'writeOnly',
      note: 'writeOnly',
      sku: 'immutable',
      author: { readOnly: ({ principal }) => principal?.id },
    },
    hooks: {
      before({ operation, input, value, item }) {
        seen.push({ operation, input, item })
        const { password } = Object(input)
        if (operation === 'login' || typeof password !== 'string') return undefined
        return { ...Object(value), password: `hashed:${password}` }
      },
      after: (event, result) => void seen.push(event, result),
    },
    actions: {
      login: {
        on: 'item',
        input: z.object({ password: z.string() }),
        run: ({ item, input }) => ({ right: item?.password === `hashed:${input.password}` }),
      },
      touch: { on: 'item', run: ({ item, update }) => update({ views: Number(item?.views) + 1 }) },
      echo: { on: 'item', run: ({ item }) => item },
      copy: { on: 'item', run: ({ item }) => ({ ...item, copied: true }) },
      readAgain: {
        on: 'item',
        run: ({ id = '', collection }) => collection('users').read(id),
      },
    },
    ...options,
  })
}

interface Served {
  readonly id: string
  readonly send: (target: string, init?: Init) => Promise<Answer>
  readonly api: Api
  readonly etag: string
}

async function serve(store: Store, options?: Options): Promise<Served> {
  const api = defineApi({
    collections: [users(store, options)],
    pages: html,
    access: { default: 'public', root: 'public' },
    schemes: [scopedScheme],
  })
  const { request }: OpenHandler = await openHandler('fetch', api)
  const created = await request('/users', {
    method: 'POST',
    headers: as('ann'),
    json: { name: 'Ann', sku: 'A1', password: SECRET, note: SECRET, views: 7, author: 'bob' },
  })
  expect(created.status).toBe(201)
  const { id } = Object(created.json)
  return { id, send: request, api, etag: created.headers.get('etag') ?? '' }
}

const STORES: Readonly<Record<string, () => Store | Promise<Store>>> = {
  memory: () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), table: 'users', create: true }),
}

const patchWith = (type: string, body: unknown): Init => ({
  method: 'PATCH',
  headers: { 'content-type': type, prefer: 'return=representation' },
  body: JSON.stringify(body),
})
const jsonPatch = (...operations: object[]) => patchWith('application/json-patch+json', operations)
const mergePatch = (patch: object) => patchWith('application/merge-patch+json', patch)

describe.each(Object.entries(STORES))('a write-only property, %s', (_name, makeStore) => {
  it.each<[string, (note: string) => Init]>([
    ['a merge patch', note => mergePatch({ note })],
    ['a JSON patch', value => jsonPatch({ op: 'replace', path: '/note', value })],
    ['an action', note => ({ method: 'POST', path: '/keep', json: { note } })],
  ])('gives a new version for every guess: %s', async (_what, guess) => {
    const { id, send, etag } = await serve(await makeStore(), {
      actions: {
        keep: {
          on: 'item',
          input: z.object({ note: z.string() }),
          run: ({ input, update }) => update({ note: input.note }),
        },
      },
    })
    const tags = new Set([etag])
    for (const note of [SECRET, 'wrong', 'wrong']) {
      const { path = '', ...init } = Object(guess(note))
      expect((await send(`/users/${id}${path}`, init)).status).toBe(200)
      tags.add((await send(`/users/${id}`)).headers.get('etag') ?? '')
    }
    expect(tags.size).toBe(4)
    const other = await send(`/users/${id}`, mergePatch({ name: 'Ann' }))
    expect(tags).toContain(other.headers.get('etag'))
  })

  test.each<[string, string, Init?]>([
    ['the item', '/users/:id'],
    ['the item in XML', '/users/:id.xml'],
    ['the item as a page, with its forms', '/users/:id.html'],
    ['the item as a table', '/users/:id.csv'],
    ['the list', '/users'],
    ['the list in XML', '/users.xml'],
    ['the list as a page', '/users.html'],
    ['the export in CSV', '/users.csv'],
    ['the export in NDJSON', '/users.ndjson'],
    ['a search', '/users/search?q=ann'],
    ['selected fields', '/users/:id?fields=name'],
    ['a listed selection', '/users?fields=name'],
    ['a create', '/users', { method: 'POST', json: { name: 'B', password: SECRET, note: SECRET } }],
    [
      'a replay of a create',
      '/users',
      {
        method: 'POST',
        headers: { 'idempotency-key': '"k"' },
        json: { name: 'B', password: SECRET, note: SECRET },
      },
    ],
    ['a patch', '/users/:id', mergePatch({ password: SECRET, note: SECRET })],
    ['a JSON patch', '/users/:id', jsonPatch({ op: 'add', path: '/note', value: SECRET })],
    ['a deletion', '/users/:id', { method: 'DELETE' }],
    ['an action that gives its item', '/users/:id/echo', { method: 'POST', json: {} }],
    ['an action that copies its item', '/users/:id/copy', { method: 'POST', json: {} }],
    ['an action that reads its item', '/users/:id/readAgain', { method: 'POST', json: {} }],
    ['an action that changes its item', '/users/:id/touch', { method: 'POST', json: {} }],
    [
      'the page of a form that was refused',
      '/users/:id',
      {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
        body: `_method=PUT&name=&sku=other&password=${SECRET}&note=${SECRET}`,
      },
    ],
    [
      'the page of a create that was refused',
      '/users',
      {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
        body: `sku=A&password=${SECRET}&note=${SECRET}`,
      },
    ],
  ])('is not in %s', async (_what, target, init = {}) => {
    const { id, send } = await serve(await makeStore())
    for (const _twice of [1, 2]) {
      const { text, status, headers } = await send(target.replace(':id', id), init)
      if (init.method === 'DELETE' && status === 404) continue
      expect(status).toBeLessThan(500)
      expect(text).not.toMatch(/sesame/)
      expect(JSON.stringify([...headers])).not.toMatch(/sesame|hashed/)
      if (!target.endsWith('.html') && !init.headers?.accept)
        expect(text).not.toMatch(/password|note/)
    }
  })

  test.each<[string, string, Init?]>([
    ['a filter', '/users?password=x'],
    ['a filter with an operator', '/users?password[like]=h*'],
    ['a filter on whether it is there', '/users?password[exists]=true'],
    ['a filter on the count', '/users/count?filter[note]=x'],
    ['a sort', '/users?sort=-password'],
    ['fields', '/users?fields=name,password'],
    ['fields of an item', '/users/:id?fields=password'],
    [
      'a JSON patch that copies it',
      '/users/:id',
      jsonPatch({ op: 'copy', from: '/password', path: '/name' }),
    ],
    [
      'a JSON patch that moves it',
      '/users/:id',
      jsonPatch({ op: 'move', from: '/note', path: '/name' }),
    ],
    [
      'a JSON patch that tests it',
      '/users/:id',
      jsonPatch({ op: 'test', path: '/password', value: HASH }),
    ],
    [
      'a JSON patch that tests what it has just written',
      '/users/:id',
      jsonPatch(
        { op: 'replace', path: '/password', value: 'x'.repeat(8) },
        { op: 'test', path: '/password', value: 'x'.repeat(8) },
      ),
    ],
  ])('is not reached by %s: 400 unknown_field', async (_what, target, init) => {
    const { id, send } = await serve(await makeStore())
    const { status, json, text } = await send(target.replace(':id', id), init)
    expect({ status, type: Object(json).errors?.[0].type }).toEqual({
      status: 400,
      type: 'unknown_field',
    })
    expect(text).not.toMatch(/sesame/)
  })

  test.each([
    ['copy', { op: 'copy', from: '', path: '/name' }],
    ['test', { op: 'test', path: '', value: {} }],
    ['replace', { op: 'replace', path: '', value: { name: 'x' } }],
  ])('a JSON patch cannot %s the whole item', async (_op, operation) => {
    const { id, send } = await serve(await makeStore())
    const { status, json } = await send(`/users/${id}`, jsonPatch(operation))
    expect([status, Object(json).errors[0].type]).toEqual([400, 'invalid_patch'])
  })

  test.each<[string, Init, boolean]>([
    ['a PUT without it', { method: 'PUT', json: { name: 'A', note: 'n' } }, true],
    ['a PUT of what GET gave', { method: 'PUT', json: 'what GET gave' }, true],
    ['a patch of another', mergePatch({ name: 'B' }), true],
    ['a JSON patch of another', jsonPatch({ op: 'replace', path: '/name', value: 'B' }), true],
    [
      'a form that leaves it empty',
      {
        method: 'PUT',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'name=B&password=&note=',
      },
      true,
    ],
    ['a patch with null', mergePatch({ password: null }), false],
    ['a JSON patch that removes it', jsonPatch({ op: 'remove', path: '/password' }), false],
  ])('%s', async (_what, init, kept) => {
    const { id, send, api } = await serve(await makeStore())
    const { json: current } = await send(`/users/${id}`)
    const sent = init.json === 'what GET gave' ? { ...init, json: current } : init
    const { status } = await send(`/users/${id}`, sent)
    expect([200, 303]).toContain(status)
    const { json } = await send(`/users/${id}/login`, {
      method: 'POST',
      json: { password: SECRET },
    })
    expect(json).toEqual({ right: kept })
    const item = await api.collection('users').read(id)
    expect(Object(item).note ?? null).not.toBe(null)
  })

  it('is removed by null in a PUT, where the schema allows null', async () => {
    const { id, send, api } = await serve(await makeStore())
    const put = (json: object) => send(`/users/${id}`, { method: 'PUT', json })
    expect((await put({ name: 'A', note: null })).status).toBe(303)
    expect(Object(await api.collection('users').read(id)).note).toBe(null)
    expect((await put({ name: 'A', password: null })).status).toBe(400)
  })

  test.each<[string, Init]>([
    ['a merge patch', mergePatch({ password: 'another one' })],
    ['a JSON patch', jsonPatch({ op: 'replace', path: '/password', value: 'another one' })],
    [
      'a JSON patch that adds it',
      jsonPatch({ op: 'add', path: '/password', value: 'another one' }),
    ],
    [
      'a form',
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'password=another one',
      },
    ],
    ['a PUT', { method: 'PUT', json: { name: 'A', password: 'another one' } }],
  ])('%s is hashed once by a hook', async (_what, init) => {
    const { id, send } = await serve(await makeStore())
    expect([200, 303]).toContain((await send(`/users/${id}`, init)).status)
    await send(`/users/${id}`, mergePatch({ name: 'C' }))
    const body = { method: 'POST', json: { password: 'another one' } }
    expect((await send(`/users/${id}/login`, body)).json).toEqual({ right: true })
  })

  it('is for programs to read, but not in a copy or as JSON', async () => {
    const { id, api } = await serve(await makeStore())
    seen.length = 0
    const item = await api.collection('users').read(id)
    await api.collection('users').actions.touch?.(id)
    const listed = await api.collection('users').list().toArray()
    expect(Object(item).password).toBe(HASH)
    expect([Object(listed[0]).password, listed.length]).toEqual([HASH, 1])
    expect({ ...item }).not.toHaveProperty('password')
    expect(JSON.stringify([item, listed, seen])).not.toMatch(/sesame/)
  })

  it('is in no event', async () => {
    const events: unknown[] = []
    const end = onResponse(event => void events.push(event))
    const { id, send } = await serve(await makeStore())
    await send(`/users/${id}`, mergePatch({ password: 'short' }))
    end()
    expect(events.length).toBeGreaterThan(1)
    expect(JSON.stringify(events)).not.toMatch(/sesame/)
  })
})

it('is in no idempotency record, of any version', async () => {
  const db = await openDatabase()
  const store = sqlStore({ db, table: 'users', create: true })
  const before = defineUntyped({
    name: 'users',
    schema: z.object({ name: z.string() }),
    store,
    // It could not create what the other version shows.
    operations: ['list', 'read', 'replace', 'patch', 'delete'],
  })
  const api = defineApi({
    versions: [
      { version: 1, collections: [before] },
      { version: 2, collections: [users(store)] },
    ],
  })
  const { request } = await openHandler('fetch', api)
  let keys = 0
  const send = (target: string, method: string, json?: object) =>
    request(target, {
      method,
      headers: { 'idempotency-key': `"${++keys}"` },
      ...(json && { json }),
    })
  const json = { name: 'B', password: SECRET, note: SECRET }
  const { id } = Object((await send('/v2/users', 'POST', json)).json)
  const statuses = [
    await send(`/v2/users/${id}`, 'PUT', json),
    await send(`/v2/users/${id}`, 'PATCH', { name: 'C' }),
    await send(`/v2/users/${id}/echo`, 'POST', {}),
    await send(`/v1/users/${id}`, 'PATCH', { name: 'D' }),
    await send(`/v1/users/${id}`, 'DELETE'),
  ].map(({ status }) => status)
  expect(statuses).toEqual([303, 303, 200, 303, 200])
  const { rows } = await sql`select * from rest_idempotency`.execute(db)
  expect(rows).toHaveLength(keys)
  expect(JSON.stringify(rows)).not.toMatch(/sesame/)
})

it('is hidden by a version that does not declare it', async () => {
  const store = memoryStore()
  const before = defineUntyped({
    name: 'users',
    schema: z.object({ name: z.string() }),
    store,
    // It could not create what the other version shows.
    operations: ['list', 'read', 'replace', 'patch', 'delete'],
  })
  const api = defineApi({
    versions: [
      { version: 1, collections: [before] },
      { version: 2, collections: [users(store, { hooks: {} })] },
    ],
  })
  const { request } = await openHandler('fetch', api)
  const json = { name: 'A', password: SECRET, note: SECRET }
  const { id } = Object((await request('/v2/users', { method: 'POST', json })).json)
  for (const target of ['/v1/users', `/v1/users/${id}`, '/v1/users.ndjson', `/v1/users/${id}.xml`])
    expect((await request(target)).text).not.toMatch(/sesame|password/)
  const copy = { op: 'copy', from: '/password', path: '/name' }
  expect((await request(`/v1/users/${id}`, jsonPatch(copy))).status).toBe(400)
  expect((await request(`/v1/users/${id}`, mergePatch({ name: 'B' }))).text).not.toMatch(/sesame/)
  expect((await request(`/v1/users/${id}`, { method: 'PUT', json: { name: 'C' } })).status).toBe(
    303,
  )
  const login = { method: 'POST', json: { password: SECRET } }
  // Without the hook nothing is hashed: what was kept is compared as it is.
  expect((await request(`/v2/users/${id}/login`, login)).json).toEqual({ right: false })
  expect(Object(await api.collection('users').read(id)).password).toBe(SECRET)
})

describe('a read-only property', () => {
  test.each<[string, Init, string[]]>([
    ['a PUT', { method: 'PUT', json: { name: 'A', note: null, views: 9, author: 'eve' } }, []],
    ['a PUT without it', { method: 'PUT', json: { name: 'A', note: null } }, []],
    ['a PUT of another type', { method: 'PUT', json: { name: 'A', views: 'nine' } }, []],
    ['a patch', mergePatch({ views: 9, author: 'eve' }), ['views', 'author']],
    ['a patch with null', mergePatch({ views: null, author: null }), ['views', 'author']],
    ['a patch of its value', mergePatch({ views: 0, author: 'ann', updated_at: 'then' }), []],
    ['a JSON patch', jsonPatch({ op: 'replace', path: '/views', value: 9 }), ['views']],
    ['a JSON patch that tests it', jsonPatch({ op: 'test', path: '/views', value: 0 }), []],
    ['a JSON patch that removes it', jsonPatch({ op: 'remove', path: '/author' }), ['author']],
    [
      'a form',
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'name=B&views=nine&author=eve',
      },
      ['views', 'author'],
    ],
  ])('is not changed by %s: a PATCH that would is a 400', async (_what, init, fields) => {
    const { id, send } = await serve(memoryStore())
    const headers = { ...as('eve'), ...init.headers }
    const { status, json } = await send(`/users/${id}`, { ...init, headers })
    if (fields.length === 0) expect([200, 303]).toContain(status)
    else {
      const errors = fields.map(field => ({ field, type: 'read_only_field' }))
      expect([status, json]).toMatchObject([400, { errors }])
    }
    expect((await send(`/users/${id}`)).json).toMatchObject({ views: 0, author: 'ann' })
  })

  it('is set before validation: absent, null or computed', async () => {
    const collection = defineUntyped({
      name: 'things',
      schema: z.object({
        name: z.string(),
        by: z.string().min(3),
        at: z.string().nullable(),
        seen: z.boolean().optional(),
        count: z.int().default(1),
      }),
      store: memoryStore(),
      fields: {
        by: { readOnly: ({ principal }) => principal?.id ?? 'x' },
        at: 'readOnly',
        seen: 'readOnly',
        count: 'readOnly',
      },
    })
    const api = defineApi({
      collections: [collection],
      schemes: [scopedScheme],
      access: { default: 'public' },
    })
    const { request } = await openHandler('fetch', api)
    const create = (headers: Record<string, string>, json: object) =>
      request('/things', { method: 'POST', headers, json: { name: 'A', ...json } })
    const { json } = await create(as('ann'), { by: 'eve', at: 'now', seen: true, count: 9 })
    expect(json).toMatchObject({ by: 'ann', at: null, count: 1 })
    expect(json).not.toHaveProperty('seen')
    // The schema refuses what the function gives: that is checked with the rest, once.
    const { status, json: refused } = await create({}, { extra: 1 })
    expect(status).toBe(400)
    expect(
      Object(refused)
        .errors.map(({ field }: { field: string }) => field)
        .sort(),
    ).toEqual(['by', 'extra'])
    // A program is the server.
    const made = await api
      .collection(collection)
      .create({ name: 'B', by: 'program', at: null, count: 4 })
    expect(made).toMatchObject({ by: 'program', count: 4 })
    await api.collection(collection).patch(made.id, { count: 5 })
    const replaced = await api
      .collection(collection)
      .replace(made.id, { name: 'C', by: 'other', at: null })
    expect(replaced).toMatchObject({ by: 'other', count: 5 })
  })

  it('is changed by an action', async () => {
    const { id, send } = await serve(memoryStore())
    const { json } = await send(`/users/${id}/touch`, { method: 'POST', json: {} })
    expect(json).toMatchObject({ views: 1 })
  })
})

test.each<[string, Init, number]>([
  ['a PUT with another value', { method: 'PUT', json: { name: 'A', note: null, sku: 'B' } }, 400],
  ['a PUT with an empty text', { method: 'PUT', json: { name: 'A', sku: '' } }, 400],
  ['a PUT with the same value', { method: 'PUT', json: { name: 'A', note: null, sku: 'A1' } }, 303],
  ['a PUT with one that cleans to it', { method: 'PUT', json: { name: 'A', sku: ' A1 ' } }, 303],
  ['a PUT without it', { method: 'PUT', json: { name: 'A', note: null } }, 303],
  ['a patch', mergePatch({ sku: 'B' }), 400],
  ['a patch with null', mergePatch({ sku: null }), 400],
  ['a patch of another', mergePatch({ name: 'B' }), 200],
  ['a JSON patch', jsonPatch({ op: 'replace', path: '/sku', value: 'B' }), 400],
  ['a JSON patch that removes it', jsonPatch({ op: 'remove', path: '/sku' }), 400],
  ['a JSON patch that tests it', jsonPatch({ op: 'test', path: '/sku', value: 'A1' }), 200],
])('an immutable property: %s', async (_what, init, status) => {
  const { id, send } = await serve(memoryStore())
  const answer = await send(`/users/${id}`, init)
  expect(answer.status).toBe(status)
  if (status === 400)
    expect(Object(answer.json).errors).toEqual([
      {
        message: 'sku is "A1" and cannot be changed. Leave it out',
        code: 400,
        field: 'sku',
        type: 'immutable_field',
      },
    ])
  expect((await send(`/users/${id}`)).json).toMatchObject({ sku: 'A1' })
})

describe('an immutable property of an item that its writer may not read', () => {
  const access = { read: ['staff'], list: ['staff'], default: 'public' } as const
  const form = (fields: Record<string, string>): Init => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ _method: 'PATCH', ...fields }).toString(),
  })
  const guesses: [string, (sku: string) => Init][] = [
    ['a merge patch', sku => mergePatch({ sku })],
    ['a form', sku => form({ sku })],
    ['a PUT', sku => ({ method: 'PUT', json: { name: 'A', sku } })],
    ['a JSON patch', value => jsonPatch({ op: 'replace', path: '/sku', value })],
    ['a test of a JSON patch', value => jsonPatch({ op: 'test', path: '/sku', value })],
    ['a test below it', value => jsonPatch({ op: 'test', path: '/sku/x', value })],
    ['a copy of a JSON patch', () => jsonPatch({ op: 'copy', from: '/sku', path: '/name' })],
  ]
  it.each(guesses)('is refused alike, right or wrong: %s', async (_what, guess) => {
    const { id, send } = await serve(memoryStore(), { access })
    const answers = [
      await send(`/users/${id}`, guess('A1')),
      await send(`/users/${id}`, guess('B')),
    ]
    for (const { status, json } of answers) {
      expect(status).toBe(400)
      expect(Object(json).errors).toEqual([
        {
          message: 'sku cannot be changed. Leave it out',
          code: 400,
          field: 'sku',
          type: 'immutable_field',
        },
      ])
    }
    // One that may read it may send it.
    const { headers, ...init } = mergePatch({ sku: 'A1' })
    const staff = { ...init, headers: { ...headers, ...as('eve staff') } }
    expect(await send(`/users/${id}`, staff)).toMatchObject({ status: 200 })
  })

  it('is kept by a PUT without it, and a test of the whole item is refused', async () => {
    const { id, send } = await serve(memoryStore(), { access, fields: { sku: 'immutable' } })
    const put = await send(`/users/${id}`, { method: 'PUT', json: { name: 'B', note: null } })
    expect(put.status).toBe(204)
    const read = await send(`/users/${id}`, { headers: as('eve staff') })
    expect(read.json).toMatchObject({ name: 'B', sku: 'A1' })
    const whole = jsonPatch({ op: 'test', path: '', value: read.json })
    expect((await send(`/users/${id}`, whole)).status).toBe(400)
  })

  it('is taken by a PUT that creates', async () => {
    const collection = defineUntyped({
      name: 'tags',
      schema: z.object({ id: z.string(), sku: z.string() }),
      store: memoryStore(),
      fields: { sku: 'immutable' },
      putCreates: true,
      access,
    })
    const api = defineApi({
      collections: [collection],
      access: { default: 'public' },
      schemes: [scopedScheme],
    })
    const { request } = await openHandler('fetch', api)
    const put = (sku: string) => request('/tags/a', { method: 'PUT', json: { sku } })
    expect((await put('A1')).status).toBe(201)
    expect([(await put('A1')).status, (await put('B')).status]).toEqual([400, 400])
  })

  it('tells a program its value', async () => {
    const { id, api } = await serve(memoryStore(), { access })
    await expect(api.collection('users').patch(id, { sku: 'B' })).rejects.toThrow(/sku is "A1"/)
    expect(await api.collection('users').patch(id, { sku: 'A1' })).toMatchObject({ sku: 'A1' })
  })
})

describe('descriptions and forms follow', () => {
  it('OPTIONS and OpenAPI', async () => {
    const { send, api, id } = await serve(memoryStore())
    const { json } = await send('/users', { method: 'OPTIONS' })
    const { get, post } = Object(json)
    const names = get.parameters.map(({ name }: { name: string }) => name)
    expect(names).toContain('views')
    expect(names).not.toContain('password')
    const schemaOf = (body: object) =>
      Object(Object(body).content['application/json']).schema as {
        properties: Record<string, Record<string, unknown>>
        required: string[]
      }
    const created = schemaOf(post.requestBody)
    expect(Object.keys(created.properties).sort()).toEqual(['name', 'note', 'password', 'sku'])
    expect(created.properties.password).toMatchObject({ type: 'string', writeOnly: true })
    expect(created.required).toEqual(['name', 'note'])
    const { put, get: read } = Object((await send(`/users/${id}`, { method: 'OPTIONS' })).json)
    expect(schemaOf(put.requestBody).required).toEqual(['name'])
    const item = schemaOf(read.responses[200])
    expect(item.properties).not.toHaveProperty('password')
    expect(item.properties.views).toMatchObject({ type: 'integer', readOnly: true })
    expect(
      JSON.stringify(openApiDocument(api)).match(/"password":\{[^}]*\}/g)?.length,
    ).toBeGreaterThan(0)
  })

  it('HTML', async () => {
    const { send, id } = await serve(memoryStore())
    const list = (await send('/users.html')).text
    expect(list).toMatch(/<input type="password"[^>]* name="password"/)
    expect(list).toMatch(/name="sku"/)
    expect(list).not.toMatch(/id="create-(?:views|author)"|filter-password/)
    const page = (await send(`/users/${id}.html`)).text
    expect(page).toMatch(/id="replace-password"|id="patch-password"/)
    expect(page).not.toMatch(/name="sku"|name="views"/)
    expect(page).not.toMatch(/ name="note"[^>]* required/)
  })
})

describe('a TypeError', () => {
  const define = (options: object) => () => users(memoryStore(), { fields: {}, ...options })
  test.each<[string, object, RegExp]>([
    [
      'of no property',
      { fields: { pasword: 'writeOnly' } },
      /"pasword"; did you mean "password"\?/,
    ],
    [
      'of a dotted path',
      { fields: { 'model.name': 'writeOnly' } },
      /no property of the schema: "model.name"/,
    ],
    ['of the id', { fields: { id: 'immutable' } }, /no property of the schema: "id"/],
    ['of an unknown role', { fields: { name: 'hidden' } }, /fields\.name must be "readOnly"/],
    [
      'of a wrong function',
      { fields: { name: { readOnly: 1 } } },
      /users: "name": readOnly must be a function/,
    ],
    [
      'of a required read-only one',
      { fields: { name: 'readOnly' } },
      /"name" is read-only and required/,
    ],
    [
      'of a write-only sort',
      { fields: { name: 'writeOnly' }, search: undefined, sort: '-name' },
      /"name" is write-only and cannot be in sort/,
    ],
    ['of a write-only search', { fields: { name: 'writeOnly' } }, /cannot be in search/],
    [
      'of a write-only index',
      { fields: { note: 'writeOnly' }, indexes: [['name', 'note']] },
      /cannot be in indexes/,
    ],
    [
      'of a write-only unique set',
      { fields: { note: 'writeOnly' }, unique: ['note'] },
      /cannot be in unique/,
    ],
    [
      'of an unknown owner',
      { owner: 'auhtor' },
      /users: owner names no property of the schema: "auhtor"/,
    ],
    [
      'of a role of an unknown property',
      { fields: { auhtor: 'immutable' } },
      /users: fields names no property of the schema: "auhtor"/,
    ],
    ['of an owner that is no text', { owner: 'views' }, /the owner "views" must be a string/],
    [
      'of an owner with a role',
      { owner: 'author', fields: { author: 'readOnly' } },
      /have no role in fields/,
    ],
    [
      'of an unknown option of an owner',
      { owner: { field: 'author', scopes: [] } },
      /owner: unknown option "scopes"/,
    ],
  ])('%s', (_what, options, message) => {
    expect(define(options)).toThrow(message)
    expect(define(options)).toThrow(TypeError)
  })
})
