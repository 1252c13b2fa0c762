// A collection that no request can reach is for programs alone: no root, document, page or message names it.
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  basic,
  defineApi,
  defineCollection,
  memoryStore,
  openApiDocument,
} from '../../src/index.ts'
import { type HandlerName, openHandler } from '../handlers.ts'
import { defineUntyped } from '../untyped.ts'

const text = z.object({ text: z.string() })
const of = (parents: Record<string, string>) => ({
  store: memoryStore(),
  id: 'integer' as const,
  schema: text.extend(
    Object.fromEntries(Object.keys(parents).map(field => [field, z.int().optional()])),
  ),
  parents,
})

/** Reached itself. */
const users = defineCollection({
  name: 'users',
  store: memoryStore(),
  id: 'integer',
  schema: text.extend({ vault_id: z.int().optional() }),
  references: { vault_id: 'vaults' },
})
/** For programs alone: a parent of nothing, a sub-collection, a child that holds its parent back. */
const vaults = defineCollection({ name: 'vaults', operations: [], ...of({ user_id: 'users' }) })
const tokens = defineCollection({
  name: 'tokens',
  itemName: 'vaulttoken',
  operations: [],
  store: memoryStore(),
  schema: text.extend({ owner_vault: z.int() }),
  references: { owner_vault: 'users' },
  access: { default: ['vault:all'] },
})
/** No items of its own are served, but notes below its items. */
const shelves = defineCollection({ name: 'shelves', operations: [], ...of({}) })
const notes = defineCollection({ name: 'notes', ...of({ shelf_id: 'shelves' }) })
/** An action alone. */
const jobs = defineCollection({
  name: 'jobs',
  operations: [],
  store: memoryStore(),
  schema: text,
  actions: { start: { on: 'collection', run: () => ({ started: true }) } },
})
/** All of it reaches only what lies below one that is not reached. */
const shelved = { shelves, notes, jobs }
const collections = { users, vaults, tokens, ...shelved }
const api = defineApi({
  versions: [
    { version: 1, collections: { users, vaults } },
    { version: 2, collections },
  ],
  access: { default: 'public', root: 'public' },
  pages: html,
  batch: true,
  health: true,
})

const handlers = await Promise.all(
  (['fetch', 'node:http'] as HandlerName[]).map(name => openHandler(name, api)),
)
afterAll(() => Promise.all(handlers.map(({ close }) => close())))

const json = { accept: 'application/json' }
const page = { accept: 'text/html' }

test.each([
  ['GET', '/', json],
  ['GET', '/', page],
  ['GET', '/v2', json],
  ['GET', '/v2', page],
  ['OPTIONS', '/', json],
  ['OPTIONS', '/v2', json],
  ['OPTIONS', '/v2/users', json],
  ['OPTIONS', '/v2/users/1', json],
  ['GET', '/v2/users', page],
  ['GET', '/v2/users/1', page],
  ['GET', '/openapi.json', json],
  ['GET', '/v2/openapi.json?formats=json', json],
  ['GET', '/llms.txt', json],
  ['GET', '/v2/llms.txt', json],
  ['GET', '/docs', page],
  ['GET', '/v2/docs', page],
  ['GET', '/v2/docs?collection=users', page],
  ['GET', '/v2/docs?q=list', page],
  ['GET', '/.well-known/api-catalog', json],
  ['GET', '/health', json],
  ['DELETE', '/v2/users/1', json],
  ['POST', '/v2/batch', json],
] as const)('%s %s %j names none', async (method, target, headers) => {
  await Promise.all(handlers.map(fill))
  for (const { request } of handlers) {
    const body = method === 'POST' ? [{ method: 'DELETE', path: '/users/1' }] : undefined
    const { text, headers: own } = await request(target, { method, headers, json: body })
    const all = [...own].join('\n') + text.replaceAll('vault_id', '')
    expect(all).not.toMatch(/vaults|vaulttoken|tokens|owner_vault/)
  }
})

let filled: Promise<unknown> | undefined

/** A user that an item of a hidden collection refers to. */
function fill() {
  filled ??= (async () => {
    const user = await api.collection(users).create({ text: 'a' })
    await api.collection(tokens).create({ text: 'a', owner_vault: user.id })
  })()
  return filled
}

const nothing = async (target: string, method = 'GET') =>
  Promise.all(handlers.map(({ request }) => request(target, { method })))

test.each([
  ['GET', '/v2/vaults'],
  ['GET', '/v2/vaults/1'],
  ['OPTIONS', '/v2/vaults'],
  ['POST', '/v2/vaults'],
  ['DELETE', '/v2/vaults/1'],
  ['GET', '/v2/users/1/vaults'],
  ['GET', '/v2/docs?collection=vaults'],
  // Without the version that it has: nothing is suggested.
  ['GET', '/vaults'],
])('%s %s is as where nothing is', async (method, target) => {
  await Promise.all(handlers.map(fill))
  const [found, none] = [
    await nothing(target, method),
    await nothing(target.replace('vaults', 'things'), method),
  ]
  for (const [at, { status, text }] of found.entries()) {
    expect(status).toBe(404)
    expect(text.replaceAll('vaults', 'things')).toBe(none[at]?.text)
  }
})

test.each([
  [{ text: 'b', vault_id: 7 }, 'vault_id: no item has the id 7'],
  [{ text: 'b', vaults: [] }, 'Unknown field \\"vaults\\"'],
])('POST of %j: %s', async (body, message) => {
  for (const { request } of handlers) {
    const { status, text } = await request('/v2/users', { method: 'POST', json: body })
    expect(status).toBe(400)
    expect(text).toContain(message)
    expect(text).not.toMatch(/no vault|\/vaults/)
  }
})

test('a program is told their names', async () => {
  await expect(api.collection(users).create({ text: 'b', vault_id: 7 })).rejects.toThrow(
    'vault_id: no vault has the id 7',
  )
})

test('a parent of what is reached, and one with an action, are named', async () => {
  const [{ request } = { request: undefined }] = handlers
  const root = await request?.('/v2')
  const { resources } = Object(root?.json)
  expect(Object.keys(resources)).toEqual(['users', 'shelves', 'notes', 'jobs'])
  const { tags } = Object(openApiDocument(api))
  expect(tags.map(({ name }: { name: string }) => name)).toEqual([
    'API',
    'users',
    'shelves',
    'notes',
    'jobs',
  ])
})

/** The fields of `d` that the client may filter by. */
const NAMES = '. Use one of: id, text, secrets_id, created_at, updated_at'

describe('a collection with hideExistence, four relations away', () => {
  const chain = ['a', 'b', 'c', 'd', 'secrets']
  const collections = chain.map((name, at) => {
    const next = chain[at + 1]
    const field = `${next}_id`
    return defineUntyped({
      name,
      store: memoryStore(),
      id: 'integer',
      schema: text.extend(next === undefined ? {} : { [field]: z.int().optional() }),
      ...(next !== undefined && { references: { [field]: next } }),
      ...(name === 'secrets' && { hideExistence: true, access: { default: ['s'] } }),
    })
  })
  const { fetch } = defineApi({
    collections,
    schemes: [basic({ verify: id => ({ id }) })],
    access: { default: 'public' },
  })
  const ask = async (query: string) => {
    const headers = { authorization: `Basic ${btoa('ann:x')}` }
    const answer = await fetch(new Request(`https://api.example/a?${query}`, { headers }))
    return [answer.status, await answer.text()] as const
  }

  test.each([
    'b.c.d.secrets.text=x',
    'include=b.c.d.secrets',
    'b.c.d.secret=x',
    'include=b.c.d.secret',
  ])('%s is as any other name', async query => {
    const [status, answer] = await ask(query)
    // The name begins like a field that the client may read; for another name the fields of the client are listed.
    const told = answer.replace(/: did you mean [\w.]*secrets?_id\?/, '').replace(NAMES, '')
    const [, another] = await ask(query.replace(/secrets?/, word => word.replace(/./g, 'q')))
    const other = another.replace(NAMES, '')
    expect([status, told.replace(/secrets?/g, word => word.replace(/./g, 'q'))]).toEqual([
      400,
      other,
    ])
  })
})
