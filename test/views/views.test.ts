// Field rules by scope: what a principal may not read or write of an item, in every way to it.
import { beforeAll, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { listVerdicts } from '../../src/auth/access.ts'
import { html } from '../../src/html/index.ts'
import {
  type AccessRule,
  type Api,
  ConflictError,
  defineApi,
  memoryStore,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { type Answer, type Init, type OpenHandler, openHandler } from '../handlers.ts'
import { scopedScheme } from '../scoped-scheme.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'
import { tryViews } from './worlds.ts'

const schema = z.object({
  name: z.string(),
  /** Of staff alone. */
  memo: z.string().max(20).optional(),
  /** Everybody reads it. */
  price: z.number().default(5),
  /** Everybody writes it. */
  report: z.string().optional(),
  /** One reads it, the other writes it. */
  pay: z.number().nullable(),
})

/** What hooks were given. */
const seen: { readonly event: object; readonly result: unknown }[] = []

function patients(options: Partial<Untyped> = {}) {
  return defineUntyped({
    name: 'patients',
    schema,
    store: memoryStore(),
    search: ['name', 'memo'],
    fields: {
      memo: { read: ['staff'], write: ['staff'] },
      price: { write: ['staff'] },
      report: { read: ['staff'] },
      pay: { read: ['boss'], write: { any: ['staff', 'boss'] } },
    },
    actions: {
      copy: {
        on: 'item',
        run: ({ item }) => ({ ...item, copied: true, memo_size: String(item?.memo).length }),
      },
      give: { on: 'item', output: 'item', run: ({ item }) => item },
      readAgain: {
        on: 'item',
        run: async ({ id = '', collection }) => ({ ...(await collection('patients').read(id)) }),
      },
    },
    ...options,
  })
}

interface Clinic {
  readonly api: Api
  readonly send: (who: string, target: string, init?: Init) => Promise<Answer>
  readonly id: string
}

async function openClinic(options?: Partial<Untyped>, policies: object = {}): Promise<Clinic> {
  const api = defineApi({
    collections: [patients(options)],
    pages: html,
    schemes: [scopedScheme],
    access: { default: 'public', root: 'public' },
    batch: true,
    ...policies,
  })
  const { request }: OpenHandler = await openHandler('fetch', api)
  const send: Clinic['send'] = (who, target, { headers, ...init } = {}) =>
    request(target, {
      ...init,
      headers: { ...(who !== '' && { authorization: `Test ${who}` }), ...headers },
    })
  const created = await send('root staff boss', '/patients', {
    method: 'POST',
    json: { name: 'Ann', memo: 'difficult', price: 7, report: 'healthy', pay: 3 },
  })
  expect(created.status).toBe(201)
  return { api, send, id: Object(created.json).id }
}

const ADDED = ['created_at', 'id', 'updated_at']
const namesOf = (item: unknown) =>
  Object.keys(Object(item))
    .filter(name => !ADDED.includes(name))
    .sort()

/** Principals, and what each reads besides the name and the price. */
const READERS: readonly (readonly [who: string, names: readonly string[]])[] = [
  ['', []],
  ['eve', []],
  ['eve other', []],
  ['ann staff', ['memo', 'report']],
  ['bob boss', ['pay']],
  ['root staff boss', ['memo', 'pay', 'report']],
]

describe.each(READERS)('to %j', (who, names) => {
  const readable = ['name', 'price', ...names].sort()
  let clinic: Clinic
  beforeAll(async () => {
    clinic = await openClinic()
  })
  const hidden = ['memo', 'pay', 'report'].filter(name => !names.includes(name))

  it('an item and a list have its properties', async () => {
    const { send, id } = clinic
    expect(namesOf((await send(who, `/patients/${id}`)).json)).toEqual(readable)
    for (const list of [
      '/patients',
      '/patients?limit=1',
      '/patients?sort=name',
      '/patients/search?q=ann',
    ])
      expect(namesOf(Object((await send(who, list)).json)[0])).toEqual(readable)
  })

  it.each(['csv', 'ndjson', 'xml', 'html'])(
    'an item and a list as %s have no other',
    async format => {
      const { send, id } = clinic
      const values = { memo: 'difficult', report: 'healthy', pay: '>3<|,3,|:3}' }
      for (const target of [`/patients.${format}`, `/patients/${id}.${format}`]) {
        const { status, text } = await send(who, target)
        expect(status).toBe(200)
        for (const [name, value] of Object.entries(values)) {
          if (!hidden.includes(name)) continue
          expect(text).not.toMatch(new RegExp(name === 'pay' ? value.replaceAll('|', '|') : value))
          // A form may write what it cannot read.
          if (name === 'memo') expect(text).not.toContain(name)
        }
      }
    },
  )

  it('no query finds out about another', async () => {
    const { send, id } = clinic
    for (const name of hidden) {
      for (const query of [
        `${name}=x`,
        `filter[${name}]=x`,
        `${name}[exists]=true`,
        `sort=${name}`,
        `fields=${name}`,
        `where={"or":[{"${name}":"x"},{"name":"Ann"}]}`,
      ]) {
        const { status, json } = await send(who, `/patients?${query}`)
        expect([query, status]).toEqual([query, 400])
        expect(Object(json).errors[0].type).toBe('unknown_field')
      }
      expect((await send(who, `/patients/${id}?fields=${name}`)).status).toBe(400)
    }
    const { json } = await send(who, '/patients/search?q=difficult')
    expect(json).toHaveLength(names.includes('memo') ? 1 : 0)
  })

  it('an action gives no other', async () => {
    const { send, id } = clinic
    for (const action of ['copy', 'give', 'readAgain']) {
      const { json } = await send(who, `/patients/${id}/${action}`, { method: 'POST' })
      const { copied: _copied, memo_size: _size, ...item } = Object(json)
      expect([action, namesOf(item)]).toEqual([action, readable])
    }
  })

  it('a deleted item has its properties', async () => {
    const { send, id } = await openClinic()
    const { json } = await send(who, `/patients/${id}`, { method: 'DELETE' })
    expect(namesOf(json)).toEqual(readable)
  })

  it('OPTIONS and OpenAPI name its properties, and those that it may write', async () => {
    const { send } = clinic
    const writable = new Map([
      ['memo', /staff/],
      ['price', /staff/],
      ['report', /^/],
      ['pay', /staff|boss/],
    ])
    const known = [...writable].flatMap(([name, scope]) =>
      readable.includes(name) || scope.test(who) ? [name] : [],
    )
    for (const [method, target] of [
      ['OPTIONS', '/patients'],
      ['GET', '/openapi.json'],
    ] as const) {
      const { text, json } = await send(who, target, { method })
      const { get, post } = method === 'GET' ? Object(json).paths['/patients'] : Object(json)
      expect([...writable.keys()].filter(name => new RegExp(`"${name}"`).test(text))).toEqual(known)
      expect(get && post).toBeTruthy()
    }
    expect((await send(who, '/docs')).text).not.toMatch(names.includes('memo') ? /^$/ : /memo/)
  })

  it('its own tag answers 304, that of others does not', async () => {
    const { send, id } = clinic
    for (const target of [`/patients/${id}`, '/patients']) {
      const etag = (await send(who, target)).headers.get('etag') ?? ''
      for (const [other, theirs] of READERS) {
        const again = await send(other, target, { headers: { 'if-none-match': etag } })
        expect(again.status).toBe(String(theirs) === String(names) ? 304 : 200)
        expect(again.headers.get('vary')).toMatch(/Authorization, Cookie/)
      }
      // The version before the dot is the same.
      const patch = await send('root staff boss', `/patients/${id}`, {
        method: 'PATCH',
        json: {},
        headers: { 'if-match': (await send(who, `/patients/${id}`)).headers.get('etag') ?? '' },
      })
      expect(patch.status).toBe(200)
    }
  })
})

it('has the tag and the text of a collection without rules for who sees all', async () => {
  const { send, id } = await openClinic()
  const { headers } = await send('root staff boss', `/patients/${id}`)
  expect(headers.get('etag')).toMatch(/^"[\w-]+\.json"$/)
  expect((await send('eve', `/patients/${id}`)).headers.get('etag')).toMatch(
    /^"[\w-]+\.\w+\.json"$/,
  )
})

const jsonPatch = (...operations: object[]): Init => ({
  method: 'PATCH',
  headers: { 'content-type': 'application/json-patch+json' },
  body: JSON.stringify(operations),
})

describe('a write', () => {
  const item = { name: 'Eve', report: 'ill' }
  const kept = { memo: 'difficult', price: 7, pay: 3 }
  /** Who writes what, the type of the refusal, and what is stored besides. */
  const WRITES: readonly (readonly [
    title: string,
    who: string,
    init: Init,
    refused: string | undefined,
    stored: object,
  ])[] = [
    [
      'a PUT keeps what does not exist',
      'eve',
      { method: 'PUT', json: item },
      undefined,
      { ...item, ...kept },
    ],
    [
      'and what is write-only',
      'eve',
      { method: 'PUT', json: { name: 'Eve' } },
      undefined,
      { ...kept, report: 'healthy' },
    ],
    [
      'and ignores what is read-only',
      'eve',
      { method: 'PUT', json: { ...item, price: 1 } },
      undefined,
      { ...item, ...kept },
    ],
    [
      'a PUT that names what does not exist',
      'eve',
      { method: 'PUT', json: { ...item, memo: 'x' } },
      'unknown_field',
      {},
    ],
    [
      'a PUT of a null',
      'eve',
      { method: 'PUT', json: { ...item, pay: null } },
      'unknown_field',
      {},
    ],
    ['a PATCH that names it', 'eve', { method: 'PATCH', json: { memo: 'x' } }, 'unknown_field', {}],
    [
      'a PATCH of the right value',
      'eve',
      { method: 'PATCH', json: { memo: 'difficult' } },
      'unknown_field',
      {},
    ],
    [
      'a PATCH that removes it',
      'eve',
      { method: 'PATCH', json: { memo: null } },
      'unknown_field',
      {},
    ],
    [
      'a PATCH of a read-only one',
      'eve',
      { method: 'PATCH', json: { price: 8 } },
      'read_only_field',
      {},
    ],
    ['a PATCH of the same', 'eve', { method: 'PATCH', json: { price: 7 } }, undefined, kept],
    [
      'a PATCH of a write-only one',
      'eve',
      { method: 'PATCH', json: { report: 'ill' } },
      undefined,
      { ...kept, report: 'ill' },
    ],
    [
      'a JSON Patch that tests it',
      'eve',
      jsonPatch({ op: 'test', path: '/memo', value: 'difficult' }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch that copies it',
      'eve',
      jsonPatch({ op: 'copy', from: '/memo', path: '/name' }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch that moves it',
      'eve',
      jsonPatch({ op: 'move', from: '/memo', path: '/name' }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch that removes it',
      'eve',
      jsonPatch({ op: 'remove', path: '/memo' }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch below it',
      'eve',
      jsonPatch({ op: 'add', path: '/memo/0', value: 1 }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch of the whole',
      'eve',
      jsonPatch({ op: 'test', path: '', value: {} }),
      'invalid_patch',
      {},
    ],
    [
      'a JSON Patch that tests a write-only one',
      'eve',
      jsonPatch({ op: 'test', path: '/report', value: 'healthy' }),
      'unknown_field',
      {},
    ],
    [
      'a JSON Patch that replaces a write-only one',
      'eve',
      jsonPatch({ op: 'replace', path: '/report', value: 'ill' }),
      undefined,
      { report: 'ill' },
    ],
    [
      'a form that names it',
      'eve',
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'pay=x',
      },
      'unknown_field',
      {},
    ],
    [
      'XML that names it',
      'eve',
      {
        method: 'PATCH',
        headers: { accept: 'application/json', 'content-type': 'application/xml' },
        body: '<patient><memo>x</memo></patient>',
      },
      'unknown_field',
      {},
    ],
    [
      'staff',
      'ann staff',
      { method: 'PUT', json: { ...item, memo: 'nice', price: 1, pay: 9 } },
      undefined,
      { ...item, memo: 'nice', price: 1, pay: 9 },
    ],
    [
      'staff that keeps the pay',
      'ann staff',
      { method: 'PUT', json: item },
      undefined,
      { ...item, price: 5, pay: 3 },
    ],
    [
      'the boss, who reads the pay',
      'bob boss',
      { method: 'PATCH', json: { pay: 9 } },
      undefined,
      { ...kept, pay: 9 },
    ],
  ]
  const STORES = {
    memory: () => memoryStore(),
    SQLite: async () => sqlStore({ db: await openDatabase(), table: 'patients', create: true }),
  }
  for (const [store, open] of Object.entries(STORES))
    test.each(WRITES)(`${store}: %s`, async (_title, who, init, refused, stored) => {
      const { send, api, id } = await openClinic({ store: await open() })
      const before = await api.collection('patients').read(id)
      const { status, json } = await send(who, `/patients/${id}`, init)
      const types = Object(json).errors?.map(({ type }: { type: string }) => type)
      expect([types, status]).toEqual(refused ? [[refused], 400] : [undefined, expect.anything()])
      expect(status).toBeLessThan(500)
      const after = await api.collection('patients').read(id)
      if (refused) expect(after).toEqual(before)
      else expect(after).toMatchObject(stored)
    })

  it.each(['replace', 'remove', 'add'])(
    '%s of a JSON Patch does not tell whether a write-only one has a value',
    async op => {
      const { send, id } = await openClinic()
      const other = await send('eve', '/patients', { method: 'POST', json: { name: 'Eve' } })
      for (const path of ['/report', '/report/0']) {
        const patch = jsonPatch({ op, path, value: 'ill' })
        const [one, two] = [
          await send('eve', `/patients/${id}`, patch),
          await send('eve', `/patients/${Object(other.json).id}`, patch),
        ]
        expect([path, one.status, one.text]).toEqual([path, two.status, two.text])
        expect(one.status).toBe(path === '/report' ? 303 : 400)
      }
    },
  )

  it('reports what does not exist with all other issues', async () => {
    const { send } = await openClinic()
    const json = { nme: 1, memo: 'x', pay: 'y', report: 5 }
    const { errors } = Object((await send('eve', '/patients', { method: 'POST', json })).json)
    const found = errors.map(({ field, type }: Record<string, string>) => `${field} ${type}`).sort()
    expect(found).toEqual([
      'memo unknown_field',
      'name required',
      'nme unknown_field',
      'pay unknown_field',
      'report invalid_type',
    ])
  })

  it('of what does not exist, or is like it, names no other', async () => {
    const { send, id } = await openClinic()
    for (const name of ['memo', 'memos']) {
      for (const [method, target] of [
        ['POST', '/patients'],
        ['PATCH', `/patients/${id}`],
      ] as const) {
        const { json } = await send('eve', target, { method, json: { name: 'x', [name]: 1 } })
        const message = `Unknown field "${name}". Use one of: name, price, report`
        expect(Object(json).errors[0].message).toBe(message)
      }
      const listed = await send('eve', `/patients?${name}=1`)
      expect(Object(listed.json).errors[0].message).not.toMatch(/did you mean/)
    }
    const staff = await send('ann staff', `/patients?memos=1`)
    expect(Object(staff.json).errors[0].message).toMatch(/did you mean memo\?/)
  })

  it('creates with defaults and null what the principal may not write', async () => {
    const { send, api } = await openClinic()
    const created = await send('eve', '/patients', {
      method: 'POST',
      json: { name: 'Eve', price: 1 },
    })
    expect(created.status).toBe(201)
    expect(namesOf(created.json)).toEqual(['name', 'price'])
    const item = await api.collection('patients').read(Object(created.json).id)
    expect(item).toMatchObject({ price: 5, pay: null })
    expect(item).not.toHaveProperty('memo')
  })

  it('of an array and a table names the item', async () => {
    const { send, api } = await openClinic()
    const csv = { 'content-type': 'text/csv' }
    const table = { method: 'POST', headers: csv, body: 'name,memo\r\nEve,x\r\n' }
    expect(Object((await send('eve', '/patients', table)).json).errors[0]).toMatchObject({
      field: '0.memo',
      type: 'unknown_field',
    })
    const json = [{ name: 'Eve' }, { name: 'Eva', memo: 'x' }]
    expect(Object((await send('eve', '/patients', { method: 'POST', json })).json).errors).toEqual([
      expect.objectContaining({ field: '1.memo', type: 'unknown_field' }),
    ])
    const theirs = { ...table, body: 'name,memo,pay\r\nEve,x,1\r\n' }
    expect((await send('ann staff', '/patients', theirs)).status).toBe(201)
    expect(await api.collection('patients').count()).toBe(2)
  })

  it('in a batch is that of the principal', async () => {
    const { send, id } = await openClinic()
    const json = [
      { method: 'PATCH', path: `/patients/${id}`, body: { name: 'Eve' } },
      { method: 'GET', path: '/patients' },
    ]
    const [patched, listed] = Object((await send('eve', '/batch', { method: 'POST', json })).json)
    expect([namesOf(patched.body), namesOf(listed.body[0])]).toEqual([
      ['name', 'price'],
      ['name', 'price'],
    ])
    const named = [{ method: 'PATCH', path: `/patients/${id}`, body: { memo: 'x' } }]
    expect((await send('eve', '/batch', { method: 'POST', json: named })).status).toBe(400)
  })
})

describe('a kept answer', () => {
  const key = { 'idempotency-key': '"1"' }
  const JSON_HEADERS = { ...key, prefer: 'return=representation' }
  const REQUESTS: readonly (readonly [string, (id: string) => readonly [string, Init]])[] = [
    ['a create', () => ['/patients', { method: 'POST', json: { name: 'x', memo: 'y', pay: 1 } }]],
    ['an array', () => ['/patients', { method: 'POST', json: [{ name: 'x', memo: 'y', pay: 1 }] }]],
    ['a PUT', id => [`/patients/${id}`, { method: 'PUT', json: { name: 'x', memo: 'y', pay: 1 } }]],
    ['a PATCH', id => [`/patients/${id}`, { method: 'PATCH', json: { memo: 'y' } }]],
    [
      'an unchanged PATCH',
      id => [`/patients/${id}`, { method: 'PATCH', json: { memo: 'difficult' } }],
    ],
    ['a DELETE', id => [`/patients/${id}`, { method: 'DELETE' }]],
    ['an item of an action', id => [`/patients/${id}/give`, { method: 'POST' }]],
    ['a value of an action', id => [`/patients/${id}/copy`, { method: 'POST' }]],
    [
      'a batch',
      id => [
        '/batch',
        {
          method: 'POST',
          json: [{ method: 'PATCH', path: `/patients/${id}`, body: { memo: 'y' } }],
        },
      ],
    ],
  ]
  it.each(REQUESTS)('of %s is printed for whoever repeats it', async (_what, request) => {
    const { send, id } = await openClinic()
    const [target, init] = request(id)
    const ask = (who: string) => send(who, target, { ...init, headers: JSON_HEADERS })
    const first = await ask('ann staff boss')
    const same = await ask('ann staff boss')
    expect([same.status, same.json]).toEqual([first.status, first.json])
    expect(first.text).toMatch(/"memo"/)
    const less = await ask('ann')
    expect(less.status).toBeLessThan(400)
    expect(less.text).not.toMatch(/"memo"|"pay"|"report"|difficult/)
    expect((await ask('ann staff')).text).not.toMatch(/"pay"/)
    // A value is not repeated to who would see more, either: it was made for another view.
    const more = await ask('ann staff boss')
    expect(more.json).toEqual(first.json)
  })
})

it('is not in a total that the database remembers for who searches it', async () => {
  const store = sqlStore({ db: await openDatabase(), table: 'patients', create: true })
  const { send } = await openClinic({ store })
  for (const who of ['ann staff', 'eve', 'ann staff', '']) {
    const total = who === 'ann staff' ? '1' : '0'
    for (const target of ['/patients/search?q=difficult', '/patients/search?q=difficult&limit=1']) {
      const { headers } = await send(who, target)
      expect([who, headers.get('x-result-count')]).toEqual([who, total])
    }
  }
})

describe('a program', () => {
  it('sees all; copies lack what its principal may not read', async () => {
    const { api, id } = await openClinic()
    const { signal } = new AbortController()
    const calls = api.collection('patients')
    const principal = { id: 'eve' }
    for (const item of [
      await calls.read(id, { principal }),
      (await calls.list({}, { principal }).toArray())[0],
      (await calls.list({}, { principal }).page()).items[0],
      await calls.patch(id, { name: 'Ann' }, { principal }),
      await calls.copy?.(id, { principal }),
    ]) {
      expect(namesOf({ ...Object(item) })).toEqual(expect.arrayContaining(['name', 'price']))
      expect(namesOf(item)).not.toContain('memo')
    }
    expect((await calls.read(id, { principal })).memo).toBe('difficult')
    for (const options of [{}, { signal }, { principal: { id: 'ann', scopes: ['staff', 'boss'] } }])
      expect(namesOf(await calls.read(id, options))).toEqual([
        'memo',
        'name',
        'pay',
        'price',
        'report',
      ])
    expect(namesOf(await api.asSystem().collection('patients').read(id))).toContain('memo')
  })

  it('gets no copy of it with a lost condition or a new array, either', async () => {
    const { api, id } = await openClinic()
    const calls = api.collection('patients')
    const options = { principal: { id: 'eve' } }
    const old = await calls.read(id)
    await calls.patch(id, { name: 'Eve' })
    const lost = await calls.patch(old, { name: 'Eva' }, options).catch(error => error)
    expect(lost).toBeInstanceOf(ConflictError)
    expect([lost.theirs.memo, namesOf(lost.theirs)]).toEqual(['difficult', ['name', 'price']])
    const created: unknown = await calls.create(
      [{ name: 'x', memo: 'y', pay: 1 }] as never,
      options,
    )
    expect(namesOf(Object(created)[0])).toEqual(['name', 'price'])
  })

  it('filters, sorts and writes all', async () => {
    const { api, id } = await openClinic()
    const calls = api.collection('patients')
    const options = { principal: { id: 'eve' } }
    expect(await calls.count({ memo: 'difficult' }, options)).toBe(1)
    expect(await calls.list({ sort: '-pay', fields: ['memo'] }, options).first()).toEqual({
      memo: 'difficult',
    })
    expect((await calls.patch(id, { memo: 'nice' }, options)).memo).toBe('nice')
  })

  it('as a hook sees all of the item, whoever asks', async () => {
    seen.length = 0
    const { send, id } = await openClinic({
      hooks: {
        before: { patch: event => void seen.push({ event: { ...event }, result: undefined }) },
        after: { patch: (event, result) => void seen.push({ event: { ...event }, result }) },
      },
    })
    await send('eve', `/patients/${id}`, { method: 'PATCH', json: { name: 'Eve' } })
    expect(seen).toHaveLength(2)
    for (const { event } of seen) expect(namesOf(Object(event).item)).toContain('memo')
    expect(namesOf(seen[1]?.result)).toContain('memo')
    expect(Object(seen[1]?.event).value).toMatchObject({ memo: 'difficult', name: 'Eve' })
  })

  it('lets a row policy compare what is hidden', async () => {
    const visible = (principal: unknown) => (principal ? { memo: 'difficult' } : { memo: 'x' })
    const { send } = await openClinic({ visible })
    expect((await send('eve', '/patients')).json).toHaveLength(1)
    expect((await send('', '/patients')).json).toHaveLength(0)
  })
})

it('is not limited where the api has no schemes', async () => {
  const api = defineApi({ collections: [patients()] })
  const { request } = await openHandler('fetch', api)
  const created = await request('/patients', {
    method: 'POST',
    json: { name: 'x', memo: 'y', pay: 1 },
  })
  expect(namesOf(created.json)).toEqual(['memo', 'name', 'pay', 'price'])
})

it('is hidden from everybody by a version that does not declare it', async () => {
  const store = memoryStore()
  const before = defineUntyped({
    name: 'patients',
    schema: z.object({ name: z.string() }),
    store,
    // It could not create what the other version shows.
    operations: ['list', 'read', 'replace', 'patch', 'delete'],
  })
  const api = defineApi({
    schemes: [scopedScheme],
    access: { default: 'public' },
    versions: [
      { version: 1, collections: [before] },
      { version: 2, collections: [patients({ store })] },
    ],
  })
  await api.collection('patients').create({ name: 'Ann', memo: 'difficult', pay: 3 })
  const { request } = await openHandler('fetch', api)
  const headers = { authorization: 'Test ann staff boss' }
  expect((await request('/v1/patients', { headers })).text).not.toMatch(/memo|pay/)
  expect((await request('/v2/patients', { headers })).text).toMatch(/memo.*pay/)
})

it('has a form for what the principal writes, which keeps what it does not read', async () => {
  const { send, api, id } = await openClinic()
  const { text } = await send('eve', `/patients/${id}.html`)
  expect(text).toMatch(/<input type="text"[^>]* name="report"/)
  expect(text).toMatch(/empty: unchanged/)
  expect(text).not.toMatch(/name="(?:memo|pay|price)"/)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const submit = (body: string) =>
    send('eve', `/patients/${id}`, { method: 'POST', headers, body: `_method=PATCH&${body}` })
  expect((await submit('name=Eve&report=')).status).toBe(303)
  expect((await api.collection('patients').read(id)).report).toBe('healthy')
  const refused = await submit('name=&report=ill&mem=x')
  expect(refused.status).toBe(400)
  expect(refused.text).toMatch(/value="ill"/)
  expect(refused.text).not.toMatch(/memo|healthy/)
})

describe('what includes an item', () => {
  it('has what the principal reads of it, under a tag of its own', async () => {
    const visits = defineUntyped({
      name: 'visits',
      schema: z.object({ patient_id: z.string(), doctor_id: z.string().optional() }),
      store: memoryStore(),
      references: { patient_id: 'patients', doctor_id: 'patients' },
      fields: { doctor_id: { read: ['staff'], write: ['staff'] } },
    })
    const api = defineApi({
      collections: [patients(), visits],
      schemes: [scopedScheme],
      access: { default: 'public' },
    })
    const patient = await api.collection('patients').create({ name: 'Ann', memo: 'x', pay: 1 })
    const visit = { patient_id: patient.id, doctor_id: patient.id }
    const { id } = await api.collection('visits').create(visit)
    const { request } = await openHandler('fetch', api)
    const ask = (who: string, target: string) =>
      request(target, { headers: { authorization: `Test ${who}` } })
    for (const target of [`/visits/${id}?include=patient`, '/visits?include=patient']) {
      const [less, more] = [await ask('eve', target), await ask('bob boss', target)]
      const [visible, all] = [less, more].map(({ json }) => Object([json].flat()[0]).patient)
      expect([namesOf(visible), namesOf(all)]).toEqual([
        ['name', 'price'],
        ['name', 'pay', 'price'],
      ])
      expect(less.headers.get('etag')).not.toBe(more.headers.get('etag'))
    }
    // What a hidden reference leads to would tell its value.
    for (const query of ['include=doctor', 'doctor.name=Ann', 'patient.memo=x']) {
      expect((await ask('ann staff', `/visits?${query}`)).status).toBe(200)
      const { status, text } = await ask('eve', `/visits?${query}`)
      expect([status, text]).toEqual([400, expect.stringMatching(/unknown_(?:include|field)/)])
    }
  })
})

describe('an error', () => {
  const unique = {
    schema: z.object({ name: z.string(), memo: z.string().default('same') }),
    search: undefined,
    unique: ['memo'],
    fields: { memo: { read: ['staff'], write: ['staff'] } },
    actions: {},
  }
  it('of a unique set that is hidden names no property', async () => {
    const api = defineApi({
      collections: [patients(unique)],
      schemes: [scopedScheme],
      access: { default: 'public' },
    })
    const { request } = await openHandler('fetch', api)
    const create = (headers: Record<string, string> = {}) =>
      request('/patients', { method: 'POST', json: { name: 'x' }, headers })
    expect((await create()).status).toBe(201)
    const { status, text } = await create()
    expect([status, text]).toEqual([409, expect.not.stringMatching(/memo/)])
    expect((await create({ authorization: 'Test ann staff' })).text).toMatch(/the same memo/)
  })

  it('of a value that a hook made invalid names no property', async () => {
    const before = { create: () => ({ name: 'x', memo: 'longer than twenty characters', pay: 1 }) }
    const { send } = await openClinic({ hooks: {} })
    expect((await send('eve', '/patients', { method: 'POST', json: { name: 'x' } })).status).toBe(
      201,
    )
    const api = defineApi({
      collections: [patients({ hooks: { before } })],
      schemes: [scopedScheme],
      access: { default: 'public' },
    })
    const { request } = await openHandler('fetch', api)
    const { status, text } = await request('/patients', { method: 'POST', json: { name: 'x' } })
    expect([status, text]).toEqual([400, expect.not.stringMatching(/memo|20/)])
  })
})

describe('a TypeError', () => {
  const define = (options: object) => () =>
    defineApi({
      collections: [patients({ search: undefined, ...options })],
      schemes: [scopedScheme],
      access: { default: 'public' },
    })
  const five = Object.fromEntries(
    ['name', 'memo', 'price', 'report', 'pay'].map(name => [name, { read: [name] }]),
  )
  test.each<[string, object, RegExp]>([
    [
      'of an empty role',
      { fields: { memo: {} } },
      /"memo" has no role: say \{ read: \['staff'\] \}/,
    ],
    [
      'of no rule',
      { fields: { memo: { read: 'staff' } } },
      /read must be 'public', an array of scopes/,
    ],
    ['of another option', { fields: { memo: { raed: ['staff'] } } }, /unknown option "raed"/],
    [
      'of no property',
      { fields: { mmo: { read: ['staff'] } } },
      /no property of the schema: "mmo"; did you mean "memo"/,
    ],
    [
      'of a read-only property that is written',
      { fields: { memo: { readOnly: () => 'x', write: ['staff'] } } },
      /read-only: nobody writes it/,
    ],
    ['of 32 views', { fields: five }, /make more than 16 different sets of properties/],
    [
      'of a search of what is hidden',
      { search: ['memo'] },
      /search needs a field that everybody may read/,
    ],
    ['of a unique set that a 409 tells', { unique: ['report'] }, /"report" is in a unique set/],
    [
      'of one beside what is written',
      { unique: [['memo', 'name']] },
      /may write "name" of it without reading "memo"/,
    ],
    [
      'of a required property that is not written',
      { fields: { name: { write: ['staff'] } } },
      /"name" is required, and who may create/,
    ],
  ])('%s', (_what, options, message) => {
    expect(define(options)).toThrow(TypeError)
    expect(define(options)).toThrow(message)
  })

  it('of a table whose tags are hashes of values', async () => {
    const store = sqlStore({ db: await openDatabase(), table: 'patients', version: false })
    expect(define({ store })).toThrow(/a read rule in fields needs a table with a version column/)
    expect(define({ store, fields: { memo: { write: ['staff'] } } })).not.toThrow()
  })

  it('of a parent', () => {
    const notes = () =>
      defineUntyped({
        name: 'notes',
        schema: z.object({ patient_id: z.string().optional() }),
        store: memoryStore(),
        parents: { patient_id: 'patients' },
        fields: { patient_id: { read: ['staff'] } },
      })
    expect(notes).toThrow(/"patient_id" names the parent in patients, which addresses tell/)
  })

  it.each([
    [
      'create has the scope of the rule',
      { fields: { name: { write: ['staff'] } }, access: { create: ['staff', 'x'] } },
    ],
    ['nothing is created', { fields: { name: { write: ['staff'] } }, operations: ['list'] }],
    ['16 views', { fields: { ...five, pay: { read: ['price'] } } }],
  ])('not where %s', (_what, options) => {
    expect(define(options)).not.toThrow()
  })

  it('not without schemes, where no rule counts', () => {
    const collections = [patients({ fields: { name: { write: ['staff'] } } })]
    expect(() => defineApi({ collections })).not.toThrow()
  })
})

test.each<[AccessRule[], string[]]>([
  [[], ['']],
  [['public'], ['1']],
  [[[]], ['0', '1']],
  [[['a']], ['0', '1']],
  [
    [['a'], ['b']],
    ['00', '01', '10', '11'],
  ],
  [
    [['a'], ['a', 'b']],
    ['00', '10', '11'],
  ],
  [
    [['a'], { any: ['a', 'b'] }],
    ['00', '01', '11'],
  ],
  [
    [[], ['a']],
    ['00', '10', '11'],
  ],
  [
    [
      ['a', 'b'],
      ['b', 'c'],
      ['a', 'c'],
    ],
    ['000', '001', '010', '100', '111'],
  ],
  [
    [{ any: ['a', 'b'] }, { any: ['b', 'c'] }],
    ['00', '01', '10', '11'],
  ],
])('the rules %j hold together as %j', (rules, expected) => {
  const found = (listVerdicts(rules) ?? []).map(verdict => verdict.map(Number).join(''))
  expect([...found].sort()).toEqual(expected)
  expect(new Set(found).size).toBe(found.length)
})

test('100 random rules, policies and sets of requests: what is hidden changes no answer', async () => {
  const found = await tryViews(100, clock => memoryStore({ clock }))
  expect(found.hiding).toBeGreaterThan(60)
  expect(found.naming).toBeGreaterThan(200)
  expect(found.repeats).toBeGreaterThan(5)
})
