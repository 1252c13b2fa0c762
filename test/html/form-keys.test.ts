// A form that creates has a key: who sends it twice creates once, who changes it creates another.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  basic,
  blob,
  defineApi,
  defineCollection,
  form,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store-authors/index.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { formOf, type ReadForm } from './reading.ts'

const Note = z.object({ text: z.string().min(2), file: blob().optional() })

const STORES = {
  memory: async () => memoryStore(),
  sqlite: async () => sqlStore({ db: await openDatabase(), create: true }),
}

async function pad(store: Store, schemes = [basic({ verify: id => ({ id, scopes: [] }) })]) {
  let wait: Promise<void> | undefined
  const notes = defineCollection({
    name: 'notes',
    schema: Note,
    store,
    blobs: memoryBlobs(),
    access: { list: 'public', read: 'public' },
    hooks: { before: { create: async () => void (await wait) } },
  })
  const api = defineApi({
    collections: [notes],
    pages: html,
    formats: [json, form, multipart],
    schemes,
  })
  const ask = async (path: string, init: RequestInit = {}, user = 'ann') => {
    const headers = {
      accept: 'text/html',
      ...(user && { authorization: `Basic ${btoa(`${user}:x`)}` }),
    }
    const url = new URL(path, 'https://notes.example')
    const answer = await api.fetch(
      new Request(url, { redirect: 'manual', ...init, headers: { ...headers, ...init.headers } }),
    )
    return { status: answer.status, headers: answer.headers, page: await answer.text() }
  }
  const open = async (user?: string) => formOf((await ask('/notes', {}, user)).page, 'Create')
  const send = ({ action, pairs }: ReadForm, text: string, { user = 'ann', file = '' } = {}) => {
    const body = new FormData()
    for (const [name, value] of pairs) body.append(name, name === 'text' ? text : value)
    if (file !== '') body.append('file', new Blob([file], { type: 'text/plain' }), 'a.txt')
    return ask(action, { method: 'POST', body }, user)
  }
  const count = () =>
    api
      .collection(notes)
      .list()
      .toArray()
      .then(all => all.length)
  const hold = (until: Promise<void>) => {
    wait = until
  }
  return { api, ask, open, send, count, hold }
}

const keyOf = ({ pairs }: ReadForm) => new Map(pairs).get('_idempotency_key') ?? ''

describe.each(Object.entries(STORES))('a form that creates, in %s', (_, openStore) => {
  it('sent again creates nothing, and gets the same page', async () => {
    const { open, send, count } = await pad(await openStore())
    const sent = await open()
    const first = await send(sent, 'milk', { file: 'list' })
    const again = await send(sent, 'milk', { file: 'list' })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(await count()).toBe(1)
  })

  it('changed creates another item, and so does its file', async () => {
    const { open, send, count } = await pad(await openStore())
    const sent = await open()
    await send(sent, 'milk', { file: 'list' })
    expect((await send(sent, 'bread', { file: 'list' })).status).toBe(201)
    expect((await send(sent, 'bread', { file: 'other' })).status).toBe(201)
    expect(await count()).toBe(3)
  })

  it('has another key on each page, for two equal items', async () => {
    const { open, send, count } = await pad(await openStore())
    const [one, other] = [await open(), await open()]
    expect(keyOf(one)).toMatch(/^[0-9a-f-]{36}$/)
    expect(keyOf(other)).not.toBe(keyOf(one))
    await send(one, 'milk')
    await send(other, 'milk')
    expect(await count()).toBe(2)
  })

  it('waits, sent twice at once, for the first answer', async () => {
    const { open, send, count, hold } = await pad(await openStore())
    const sent = await open()
    hold(new Promise(resolve => setTimeout(resolve, 150)))
    const answers = await Promise.all([send(sent, 'milk'), send(sent, 'milk')])
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(await count()).toBe(1)
  })

  it('keeps its key after an error, which is not kept', async () => {
    const { open, send, count } = await pad(await openStore())
    const sent = await open()
    const refused = await send(sent, 'x')
    expect(refused.status).toBe(400)
    expect((await send(sent, 'x')).status).toBe(400)
    const corrected = formOf(refused.page, 'Create')
    expect(keyOf(corrected)).toBe(keyOf(sent))
    expect((await send(corrected, 'milk')).status).toBe(201)
    expect((await send(corrected, 'milk')).status).toBe(201)
    expect(await count()).toBe(1)
  })

  it('of somebody else is another one', async () => {
    const { open, send, count } = await pad(await openStore())
    const sent = await open()
    await send(sent, 'milk')
    expect((await send(sent, 'milk', { user: 'eve' })).status).toBe(201)
    expect(await count()).toBe(2)
  })
})

describe('the page with such a form', () => {
  it.each(['/notes', '/notes?sort=text', '/notes.html'])('%s is kept by no cache', async path => {
    const { ask, send, open } = await pad(memoryStore())
    await send(await open(), 'milk')
    const { headers, page } = await ask(path)
    expect(page).toContain('_idempotency_key')
    expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null])
    const head = await ask(path, { method: 'HEAD' })
    expect(head.headers.get('cache-control')).toBe('no-store')
    const old = { headers: { 'if-none-match': '*' } }
    expect((await ask(path, old)).status).toBe(200)
  })

  it('has a tag where nobody may create, and so have other formats', async () => {
    const { ask } = await pad(memoryStore())
    for (const [path, user] of [
      ['/notes', ''],
      ['/notes.json', 'ann'],
    ] as const) {
      const { headers, page } = await ask(path, {}, user)
      expect(page).not.toContain('_idempotency_key')
      expect(headers.get('cache-control')).toContain('no-cache')
      expect(headers.get('etag')).toMatch(/^"/)
    }
  })

  it('has no key where the store keeps none', async () => {
    const { transaction: _transaction, ...methods } = memoryStore()
    const { open, ask } = await pad({ ...methods, idempotency: 'none' } as Store)
    expect(keyOf(await open())).toBe('')
    expect((await ask('/notes')).headers.get('etag')).toMatch(/^"/)
  })

  it('edits without a key: the tag of the item is enough', async () => {
    const { ask, open, send } = await pad(memoryStore())
    const made = await send(await open(), 'milk')
    const { page } = await ask(made.headers.get('location') ?? '')
    expect(page).not.toContain('_idempotency_key')
  })
})

test('a header wins over the field, and keeps its 422 for another body', async () => {
  const { ask } = await pad(memoryStore())
  const post = (text: string, key: string) =>
    ask('/notes', {
      method: 'POST',
      headers: { 'idempotency-key': 'mine' },
      body: new URLSearchParams({ text, _idempotency_key: key }),
    })
  expect((await post('milk', 'a')).status).toBe(201)
  expect((await post('milk', 'b')).status).toBe(201)
  expect((await post('bread', 'b')).status).toBe(422)
})

test('a key that is no key is a 400', async () => {
  const { ask, count } = await pad(memoryStore())
  for (const key of ['', 'x'.repeat(256)]) {
    const body = new URLSearchParams({ text: 'milk', _idempotency_key: key })
    expect((await ask('/notes', { method: 'POST', body })).status).toBe(400)
  }
  expect(await count()).toBe(0)
})
