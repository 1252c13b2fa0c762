// A browser signs in by the form of an action that sets a cookie, and comes back to the page that it wanted.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { findOwnAddress } from '../../src/http/base-url.ts'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Scheme,
} from '../../src/index.ts'
import { formOf, linkOf } from './reading.ts'

const cookieScheme: Scheme = {
  name: 'Session',
  headers: ['Cookie'],
  challenge: () => 'Session',
  authenticate: async ({ headers }) => (headers.cookie === 's=ann' ? { id: 'ann' } : undefined),
}

function build(prefix?: string) {
  const input = z.object({ name: z.string() })
  const users = defineCollection({
    name: 'users',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
    access: { login: 'public', hint: 'public', default: [] },
    actions: {
      login: {
        on: 'collection',
        cookies: true,
        description: 'Sign in by your name.',
        input,
        run({ input: { name }, response }) {
          if (name !== 'ann') throw new HttpError(403, 'Nobody has this name')
          response.headers.append('Set-Cookie', 's=ann; HttpOnly; Path=/')
          return { token: name }
        },
      },
      hint: { on: 'collection', input, run: ({ input: { name } }) => ({ hint: `Not ${name}` }) },
      greet: { on: 'item', run: () => ({ text: 'Hello' }) },
    },
  })
  const signIn = `${prefix ?? ''}/users/login`
  const schemes = [cookieScheme]
  const api = defineApi({
    collections: [users],
    schemes,
    pages: html,
    signIn,
    ...(prefix && { prefix }),
  })
  const visit = async (path: string, init: RequestInit = {}, accept = 'text/html') => {
    const url = new URL(path, 'https://api.example')
    const headers = { accept, ...init.headers }
    const answer = await api.fetch(new Request(url, { redirect: 'manual', ...init, headers }))
    const location = answer.headers.get('location')?.replace('https://api.example', '')
    const cookies = answer.headers.getSetCookie()
    return { status: answer.status, page: await answer.text(), location, cookies }
  }
  const submit = (page: string, name: string) => {
    const { action, pairs } = formOf(page, 'login')
    const body = new URLSearchParams(pairs)
    body.set('name', name)
    return visit(action, { method: 'POST', body })
  }
  return { api, users, visit, submit }
}

describe('signing in by a form', () => {
  it.each([undefined, '/api'])(
    'leads back to the page that asked for it: prefix %j',
    async prefix => {
      const { visit, submit } = build(prefix)
      const wanted = `${prefix ?? ''}/users?sort=-name&name=a%26b`
      const refused = await visit(wanted)
      expect(refused.status).toBe(401)
      const form = await visit(linkOf(refused.page, 'Sign in'))
      expect([form.status, form.page.includes('Sign in by your name.')]).toEqual([200, true])
      const wrong = await submit(form.page, 'eve')
      expect([wrong.status, wrong.cookies]).toEqual([403, []])
      const right = await submit(wrong.page, 'ann')
      expect(right).toMatchObject({ status: 303, location: wanted })
      expect(right.cookies).toEqual(['s=ann; HttpOnly; Path=/'])
      expect((await visit(wanted, { headers: { cookie: 's=ann' } })).status).toBe(200)
    },
  )

  it.each(['', '?next=https://evil.example/', '?next=//evil.example', '?next=%5Cevil.example'])(
    'leads to the root without a path of this api: %j',
    async query => {
      const { visit, submit } = build()
      const { page } = await visit(`/users/login${query}`)
      expect(await submit(page, 'ann')).toMatchObject({ status: 303, location: '/' })
    },
  )

  it('shows what another action gives, and what this one gives to a program', async () => {
    const { visit } = build()
    const body = () => new URLSearchParams({ name: 'ann' })
    const hint = await visit('/users/hint?next=/users', { method: 'POST', body: body() })
    expect([hint.status, hint.page.includes('Not ann')]).toEqual([200, true])
    const program = await visit('/users/login?next=/users', { method: 'POST', body: body() }, '*/*')
    expect(program).toMatchObject({ status: 200, page: '{"token":"ann"}' })
    expect(program.cookies).toHaveLength(1)
  })
})

describe('GET of an action that is a POST', () => {
  it('is its form in a browser, and 405 elsewhere', async () => {
    const { visit } = build()
    const { page, ...shown } = await visit('/users/login')
    expect(shown.status).toBe(200)
    expect(formOf(page, 'login')).toMatchObject({ method: 'post', action: '/users/login' })
    expect(page).not.toContain('.json')
    expect((await visit('/users/login', { method: 'HEAD' })).status).toBe(200)
    for (const accept of ['application/json', '*/*', 'image/png', 'a;;'])
      expect((await visit('/users/login', {}, accept)).status).toBe(405)
    expect((await visit('/users/login', { method: 'PUT' })).status).toBe(405)
    const plain = defineApi({ collections: [defineCollection({ ...PLAIN, store: memoryStore() })] })
    const request = new Request('https://api.example/notes/send', {
      headers: { accept: 'text/html' },
    })
    expect((await plain.fetch(request)).status).toBe(405)
  })

  it('is for who may do it, to an item that is there', async () => {
    const { api, users, visit } = build()
    await api.collection(users).create({ name: 'ann' })
    expect((await visit('/users/1/greet')).status).toBe(401)
    const headers = { cookie: 's=ann' }
    expect((await visit('/users/1/greet', { headers })).status).toBe(200)
    expect((await visit('/users/2/greet', { headers })).status).toBe(404)
  })
})

const PLAIN = {
  name: 'notes',
  schema: z.object({ text: z.string() }),
  actions: { send: { on: 'collection', run: () => ({}) } },
} as const

describe('findOwnAddress', () => {
  const base = 'https://api.example/v'
  it.each([
    ['/v/cars?a=b#c', 'https://api.example/v/cars?a=b#c'],
    ['/v', 'https://api.example/v'],
    ['/v/', 'https://api.example/v/'],
    ['/v/a b', 'https://api.example/v/a%20b'],
    ['/v/./x//y', 'https://api.example/v/x//y'],
    ['/', undefined],
    ['/vault', undefined],
    ['/other', undefined],
    ['/v/../other', undefined],
    ['/v/%2e%2e/other', undefined],
    ['', undefined],
    ['cars', undefined],
    ['//evil.example/v/', undefined],
    ['///evil.example/v/', undefined],
    ['/\\evil.example/v/', undefined],
    ['/v/\\x', undefined],
    ['/\t/evil.example', undefined],
    ['/v/\r\nSet-Cookie: a=b', undefined],
    ['https://evil.example/v/', undefined],
    ['javascript:alert(1)', undefined],
  ])('%j is %j', (path, address) => {
    expect(findOwnAddress(path, base)).toBe(address)
  })

  it('of an api at the root is any path of its host', () => {
    expect(findOwnAddress('/cars', 'http://a.b.999')).toBe('http://a.b.999/cars')
    expect(findOwnAddress('/.//evil.example', 'https://api.example')).toBe(
      'https://api.example//evil.example',
    )
  })
})
