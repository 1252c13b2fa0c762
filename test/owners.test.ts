// Owners: who creates an item owns it, and nobody else changes it.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { defineApi, memoryStore } from '../src/index.ts'
import { type Init, openHandler } from './handlers.ts'
import { scopedScheme } from './scoped-scheme.ts'
import { defineUntyped, type Untyped } from './untyped.ts'

const schema = z.object({ owner_id: z.string(), title: z.string() })

async function serve(options: Partial<Untyped> = {}) {
  const posts = defineUntyped({
    name: 'posts',
    schema,
    store: memoryStore(),
    owner: { field: 'owner_id', except: ['posts:admin'] },
    actions: {
      like: { on: 'item', run: ({ item, update }) => update({ title: `${item?.title}!` }) },
    },
    ...options,
  })
  const api = defineApi({
    collections: [posts],
    schemes: [scopedScheme],
    access: { default: 'public' },
    pages: html,
  })
  const { request } = await openHandler('fetch', api)
  const send = (who: string, target: string, init: Init = {}) =>
    request(target, {
      ...init,
      headers: { ...init.headers, ...(who !== '' && { authorization: `Test ${who}` }) },
    })
  const json = { title: 'Hello', owner_id: 'eve' }
  const created = await send('ann', '/posts', { method: 'POST', json })
  const { id } = Object(created.json)
  return { api, posts, send, id, created }
}

describe('an owner', () => {
  it('is the principal of a create, whatever the body says; 401 without one', async () => {
    const { created, send } = await serve()
    expect(created.json).toMatchObject({ owner_id: 'ann' })
    const refused = await send('', '/posts', { method: 'POST', json: { title: 'Hello' } })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Test'])
  })

  const CHANGES: readonly Init[] = [
    { method: 'PUT', json: { title: 'Changed' } },
    { method: 'PATCH', json: { title: 'Changed' } },
    { method: 'DELETE' },
  ]
  test.each<[string, string, Partial<Untyped>, number]>([
    ['the owner', 'ann', {}, 200],
    ['a principal with the scope', 'bob posts:admin', {}, 200],
    ['another principal', 'bob', {}, 403],
    ['a principal with another scope', 'bob posts:read', {}, 403],
    ['another principal, scopes that may not', 'bob posts:admin', { owner: 'owner_id' }, 403],
    ['another principal, hidden', 'bob', { hideExistence: true }, 404],
    ['nobody', '', {}, 401],
  ])('%s (%s) changes and deletes it', async (_what, who, options, status) => {
    for (const init of CHANGES) {
      const { send, id } = await serve(options)
      const prefer = { prefer: 'return=representation' }
      const answer = await send(who, `/posts/${id}`, { ...init, headers: prefer })
      expect(answer.status).toBe(status)
      // Who may not change it learns nothing of its version.
      const stale = await send(who, `/posts/${id}`, { ...init, headers: { 'if-match': '"x"' } })
      if (status >= 400) expect(stale.status).toBe(status)
      const { json } = await send('', `/posts/${id}`)
      if (init.method !== 'DELETE') expect(json).toMatchObject({ owner_id: 'ann' })
    }
  })

  it('does not prevent others from reading it, nor from actions', async () => {
    const { send, id } = await serve()
    expect((await send('bob', `/posts/${id}`)).status).toBe(200)
    const liked = await send('bob', `/posts/${id}/like`, { method: 'POST', json: {} })
    expect(liked.json).toMatchObject({ title: 'Hello!', owner_id: 'ann' })
  })

  it('applies to calls with a principal; a program without one names the owner and changes all items', async () => {
    const { api, posts, id } = await serve()
    const calls = api.collection(posts)
    const bob = { principal: { id: 'bob' } }
    await expect(calls.patch(id, { title: 'x' }, bob)).rejects.toMatchObject({ status: 403 })
    expect(await calls.patch(id, { title: 'x' })).toMatchObject({ title: 'x', owner_id: 'ann' })
    const title = 'Mine'
    expect(await calls.create({ title, owner_id: 'eve' })).toMatchObject({ owner_id: 'eve' })
  })

  it('is the only principal with forms on its page', async () => {
    const { send, id } = await serve()
    const headers = { accept: 'text/html' }
    const texts = ['ann', 'bob'].map(
      async who => (await send(who, `/posts/${id}`, { headers })).text,
    )
    const [own, others] = await Promise.all(texts)
    expect(own).toMatch(/value="DELETE"/)
    expect(others).not.toMatch(/value="(?:DELETE|PUT|PATCH)"/)
    const body = '_method=PUT&title=a&title=b'
    const type = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
    const refused = await send('ann', `/posts/${id}`, { method: 'POST', headers: type, body })
    expect([refused.status, /value="PUT"/.test(refused.text)]).toEqual([400, true])
  })
})
