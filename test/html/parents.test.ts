// Fields that name a parent: a select, or a search with suggestions; labels in tables; what is left out.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type Access,
  type ApiOptions,
  basic,
  defineApi,
  defineCollection,
  form,
  json,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { formOf, textOf } from './reading.ts'

interface Made {
  readonly count?: number
  readonly access?: Access
  readonly storeOf?: (store: Store) => Store
  readonly rateLimit?: ApiOptions['rateLimit']
}

/** Notes of accounts, as one principal may see them. */
async function make({ count = 3, access, rateLimit, storeOf = store => store }: Made = {}) {
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ email: z.string(), name: z.string(), owner: z.string().default('ann') }),
    store: storeOf(memoryStore()),
    visible: principal => (principal ? { owner: principal.id } : {}),
    ...(access && { access }),
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({
      account_id: z.string(),
      text: z.string().min(1),
      seen: z.boolean().default(false),
    }),
    store: memoryStore(),
    id: 'integer',
    parents: { account_id: 'accounts' },
    fields: { seen: 'readOnly' },
  })
  const api = defineApi({
    title: 'Notes & more',
    description: 'What people <wrote>',
    collections: [accounts, notes],
    pages: html,
    formats: [json, form],
    ...(rateLimit && { rateLimit }),
    ...(access && {
      schemes: [basic({ verify: user => ({ id: user, scopes: ['read'] }) })],
      access: { default: ['read'] },
    }),
  })
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const owner = at % 2 === 0 ? 'ann' : 'bob'
    const { id } = await api
      .collection(accounts)
      .create({ email: `${at}@a.example`, name: `Account ${count - at}`, owner })
    ids.push(String(id))
  }
  await api.collection(notes).create({ account_id: ids[0] ?? '', text: 'first' })
  const visit = async (path: string, init: RequestInit = {}) => {
    const headers = {
      accept: 'text/html',
      ...(access && { authorization: `Basic ${btoa('ann:x')}` }),
      ...init.headers,
    }
    const request = new Request(`https://a.example${path}`, { ...init, headers })
    return (await api.fetch(request)).text()
  }
  return { api, ids, visit }
}

const optionsOf = (page: string) =>
  [...page.matchAll(/<option value="([^"]*)"[^>]*>([^<]*)</g)].map(([, id, label]) => [id, label])

describe('a field that names a parent', () => {
  it('is a select of the parents by their names, in the order of the names', async () => {
    const { ids, visit } = await make()
    const page = await visit('/notes')
    expect(optionsOf(formOf(page, 'Create').html)).toEqual([
      ['', '–'],
      [ids[2], 'Account 1'],
      [ids[1], 'Account 2'],
      [ids[0], 'Account 3'],
    ])
    // The filter, and the cell of the table.
    expect(optionsOf(formOf(page, 'Filter Clear').html).map(([, label]) => label)).toEqual(
      expect.arrayContaining(['Account 1', 'Account 2', 'Account 3']),
    )
    expect(page).toContain(`<a href="/accounts/${ids[0]}" title="${ids[0]}">Account 3</a>`)
    const item = await visit('/notes/1')
    expect(item).toContain(`title="${ids[0]}">Account 3</a>`)
    expect(formOf(item, 'Save').pairs).toContainEqual(['account_id', ids[0]])
  })

  it('keeps the chosen one in a form that was refused', async () => {
    const { ids, visit } = await make()
    const refused = await visit('/notes', {
      method: 'POST',
      body: new URLSearchParams({ account_id: ids[1] ?? '', text: '' }),
    })
    expect(textOf(refused)).toContain('text must not be empty')
    expect(formOf(refused, 'Create').pairs).toContainEqual(['account_id', ids[1]])
    expect(optionsOf(formOf(refused, 'Create').html)).toHaveLength(4)
  })

  it('is an input with suggestions and a link to the list where there are many', async () => {
    const { visit } = await make({ count: 101 })
    const { html: inner } = formOf(await visit('/notes'), 'Create')
    expect(inner).toMatch(/<input type="text" list="create-account_id-list"/)
    expect(optionsOf(inner)).toHaveLength(100)
    expect(inner).toContain('<a href="/accounts" target="_blank">All accounts</a>')
  })

  it('offers the ones with a text in their names where there are many, once it was sent', async () => {
    const { api, ids, visit } = await make({ count: 104 })
    const send = async (text: string) => {
      const body = new URLSearchParams({ account_id: text, text: 'x' })
      return formOf(await visit('/notes', { method: 'POST', body }), 'Create')
    }
    const several = await send('nt 10')
    expect(optionsOf(several.html).map(([, label]) => label)).toEqual([
      '–',
      ...['Account 10', 'Account 100', 'Account 101', 'Account 102', 'Account 103', 'Account 104'],
    ])
    expect(textOf(several.html)).toContain('Found for “nt 10”')
    // The only one is chosen: sending the form again creates the note.
    const one = await send('Account 42')
    expect(one.pairs).toContainEqual(['account_id', ids[104 - 42]])
    const sent = new URLSearchParams([...one.pairs])
    await visit('/notes', { method: 'POST', body: sent })
    const notes = await api
      .collection('notes')
      .list({ account_id: ids[104 - 42] ?? '' })
      .toArray()
    expect(notes).toMatchObject([{ text: 'x' }])
    // What is not found, and what a pattern would read, is an input as before.
    for (const text of ['nobody', '%%%%%%%%%%%%%', ''])
      expect((await send(text)).html).toMatch(/<input type="text" list="create-account_id-list"/)
    const list = await visit('/notes?account_id=Account+42')
    expect(formOf(list, 'Filter Clear').pairs).toContainEqual(['account_id', ids[104 - 42]])
    const hidden = await make({ count: 208, access: { list: ['read'] } })
    const filtered = await hidden.visit('/notes?account_id=Account+41')
    expect(filtered).not.toContain(`>Account 41<`)
  })

  it('offers what the principal may list and see, and nothing else', async () => {
    const seen = await make({ access: { list: ['read'] } })
    expect(optionsOf(formOf(await seen.visit('/notes'), 'Create').html)).toEqual([
      ['', '–'],
      [seen.ids[2], 'Account 1'],
      [seen.ids[0], 'Account 3'],
    ])
    const closed = await make({ access: { list: ['admin'] } })
    const page = await closed.visit('/notes')
    expect(page).not.toContain('Account 1')
    expect(formOf(page, 'Create').html).toContain(
      '<input type="text" value="" id="create-account_id"',
    )
  })

  it.each<[string, (store: Store) => Store]>([
    ['fails', store => ({ ...store, list: () => Promise.reject(new Error('no')) })],
    ['never answers', store => ({ ...store, list: () => new Promise(() => undefined) })],
  ])('is a plain input where the store of the parents %s', async (_, storeOf) => {
    const { visit } = await make({ storeOf })
    expect(formOf(await visit('/notes'), 'Create').html).toContain(
      '<input type="text" value="" id="create-account_id"',
    )
  })

  /** Counts the lists of the parents. */
  async function counted(made: Made = {}) {
    const counts = { lists: 0 }
    const storeOf = (store: Store): Store => ({
      ...store,
      list: (...parameters) => {
        counts.lists++
        return store.list(...parameters)
      },
    })
    return { ...(await make({ ...made, storeOf })), counts }
  }

  it('costs other formats nothing', async () => {
    const { visit, counts } = await counted()
    await visit('/notes', { headers: { accept: 'application/json' } })
    expect(counts.lists).toBe(0)
    await visit('/notes')
    expect(counts.lists).toBe(1)
  })

  it('costs nothing for a client beyond its rate limit', async () => {
    const { visit, counts } = await counted({
      rateLimit: { policies: [{ limit: 1, window: 60 }] },
    })
    await visit('/notes')
    expect(await visit('/notes')).toContain('429')
    expect(counts.lists).toBe(1)
  })
})

it('a field that only the server sets is no input', async () => {
  const { visit } = await make()
  const names = ({ pairs }: { pairs: readonly (readonly [string, string])[] }) =>
    pairs.map(([name]) => name)
  expect(names(formOf(await visit('/notes'), 'Create'))).toEqual([
    '_idempotency_key',
    'account_id',
    'text',
  ])
  expect(names(formOf(await visit('/notes/1'), 'Save'))).not.toContain('seen')
})

it('the root shows title and description of the api, and links to its documents', async () => {
  const { visit } = await make()
  const page = await visit('/')
  expect(page).toContain('<title>Notes &amp; more</title>')
  expect(page).toContain('<h1>Notes &amp; more</h1>')
  expect(page).toContain('<p class="lead">What people &lt;wrote&gt;</p>')
  expect(page).toContain('<a href="/openapi.json">OpenAPI document</a>')
})

it('a list says its order, its size and that it scrolls', async () => {
  const { visit } = await make()
  const page = await visit('/notes')
  expect(page).toMatch(/aria-sort="ascending"[^>]*><a href="\/notes\?sort=-id">id</)
  expect(await visit('/notes?sort=-text')).toMatch(/aria-sort="descending"><a [^>]*>text</)
  expect(textOf(page)).toContain('1 total')
  expect(textOf(page)).toContain('6 columns: scroll sideways to see them all')
  expect(textOf(page)).toContain('Items per page')
})

it('a reference that is no parent has choices too', async () => {
  const makers = defineCollection({
    name: 'makers',
    schema: z.object({ Name: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ MakerId: z.int().nullable().default(null) }),
    store: memoryStore(),
    references: { MakerId: 'makers' },
  })
  const api = defineApi({ collections: { makers, cars }, pages: html })
  await api.collection(makers).create({ Name: 'Renault' })
  const init = { headers: { accept: 'text/html' } }
  const page = await (await api.fetch(new Request('https://a.example/cars', init))).text()
  expect(page).toMatch(/<select id="create-MakerId"[\s\S]*?<option value="1">Renault<\/option>/)
})
