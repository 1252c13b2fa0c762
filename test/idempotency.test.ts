// `Idempotency-Key` on writes and actions (conventions, "Writing"): the same answer again, the work once.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  HttpError,
  type Item,
  type Limits,
  memoryStore,
  type Scheme,
} from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { type Answer, eachHandler, type OpenHandler, openHandler } from './handlers.ts'
import { openDatabase } from './stores/sqlite.ts'

/** Authenticates `Test ann` as ann; a request without it is anonymous. */
const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const id = /^Test (\w+)$/.exec(headers.authorization ?? '')?.[1]
    return id === undefined ? undefined : { id }
  },
}

function counting() {
  const calls: string[] = []
  /** Creations and actions called `slow` wait here. */
  let release = () => {}
  let arrived = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const arrival = new Promise<void>(resolve => {
    arrived = resolve
  })
  const wait = async (name: unknown) => {
    if (name !== 'slow') return
    arrived()
    await gate
  }
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string(), count: z.int().default(0) }),
    store: memoryStore(),
    unique: ['name'],
    hooks: {
      before: async ({ operation, value }) => {
        calls.push(operation)
        if (operation === 'create' || operation === 'patch') await wait((value as Item).name)
      },
    },
    actions: {
      add: {
        on: 'item',
        input: z.object({ by: z.int() }),
        run: ({ item, input, update }) => update({ count: Number(item?.count) + input.by }),
      },
      end: { on: 'item', run: async ({ collection, id = '' }) => collection('things').delete(id) },
      quiet: {
        on: 'item',
        run: async ({ item, update }) => void (await update({ count: Number(item?.count) + 1 })),
      },
      wait: {
        on: 'collection',
        input: z.object({ name: z.string() }),
        run: async ({ input }) => {
          await wait(input.name)
          return { at: calls.length }
        },
      },
      echo: {
        on: 'collection',
        input: z.object({ name: z.string() }),
        run: ({ input }) => input,
      },
      fail: {
        on: 'collection',
        input: z.object({ times: z.int() }),
        run: ({ input }) => {
          if (calls.filter(call => call === 'fail').length <= input.times)
            throw new HttpError(409, 'Not yet')
          return { done: true }
        },
      },
    },
  })
  const others = defineCollection({
    name: 'others',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ id: z.string(), name: z.string() }),
    store: memoryStore(),
    putCreates: true,
  })
  const access = { default: 'public' } as const
  const api = defineApi({ collections: [things, others, notes], schemes: [scheme], access })
  return { api, things, calls, release, arrival }
}

function poster(handler: OpenHandler) {
  return (
    path: string,
    json: unknown,
    key: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    handler.request(path, { method: 'POST', json, headers: { 'idempotency-key': key, ...headers } })
}

describe('Idempotency-Key', () => {
  eachHandler(counting, (handler, made) => {
    const post = poster(handler)
    const created = async () =>
      (
        await handler.request('/things', { method: 'POST', json: { name: `n${Math.random()}` } })
      ).headers.get('location') ?? ''

    it('the same key and body: the first answer again, one item', async () => {
      const first = await post('/things', { name: 'a' }, 'k')
      const again = await post('/things', { name: 'a' }, 'k')
      expect(first.status).toBe(201)
      expect(again).toMatchObject({ status: 201, text: first.text })
      for (const name of ['location', 'content-location', 'etag', 'content-type']) {
        expect(again.headers.get(name)).toBe(first.headers.get(name))
      }
      expect(await handler.request('/things/count')).toMatchObject({ json: { count: 1 } })
      expect(made().calls.filter(call => call === 'create')).toHaveLength(1)
    })

    it('the first answer, whatever became of the item', async () => {
      const first = await post('/things', { name: 'a' }, 'k')
      const path = first.headers.get('location') ?? ''
      await handler.request(path, { method: 'PATCH', json: { name: 'b' } })
      expect((await post('/things', { name: 'a' }, 'k')).text).toBe(first.text)
      await handler.request(path, { method: 'DELETE' })
      expect((await post('/things', { name: 'a' }, 'k')).text).toBe(first.text)
      expect(await handler.request('/things/count')).toMatchObject({ json: { count: 0 } })
    })

    it('a quoted key is the same key', async () => {
      const first = await post('/things', { name: 'a' }, 'k')
      expect((await post('/things', { name: 'a' }, '"k"')).text).toBe(first.text)
    })

    it('another body under the key: 422, and nothing happens', async () => {
      await post('/things', { name: 'a' }, 'k')
      const answer = await post('/things', { name: 'b' }, 'k')
      expect(answer).toMatchObject({
        status: 422,
        json: { errors: [{ code: 422, field: 'idempotency-key', type: 'idempotency_key' }] },
      })
      expect(await handler.request('/things/count')).toMatchObject({ json: { count: 1 } })
    })

    it('another target or another key: other work', async () => {
      expect(await post('/things', { name: 'a' }, 'k')).toMatchObject({ status: 201 })
      expect(await post('/others', { name: 'a' }, 'k')).toMatchObject({ status: 201 })
      expect(await post('/things', { name: 'b' }, 'k2')).toMatchObject({ status: 201 })
      expect(await post('/things', { name: 'a' }, 'k3')).toMatchObject({ status: 409 })
    })

    it('another principal: other work', async () => {
      const answers = [
        await post('/others', { name: 'a' }, 'k'),
        await post('/others', { name: 'a' }, 'k', { authorization: 'Test ann' }),
        await post('/others', { name: 'a' }, 'k', { authorization: 'Test bob' }),
        await post('/others', { name: 'a' }, 'k', { authorization: 'Test ann' }),
      ]
      const ids = answers.map(({ json }) => (json as Item).id)
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      expect(new Set(ids).size).toBe(3)
      expect(ids[3]).toBe(ids[1])
    })

    for (const [path, json] of [
      ['/things', { name: 'slow' }],
      ['/things/wait', { name: 'slow' }],
    ] as const) {
      it(`${path}: 409 while the first one is running, then its answer`, async () => {
        const first = post(path, json, 'k')
        await made().arrival
        const meanwhile = await post(path, json, 'k')
        expect(meanwhile).toMatchObject({
          status: 409,
          json: { errors: [{ code: 409, type: 'idempotency_key' }] },
        })
        // What is left of a claim that was just made.
        expect(Number(meanwhile.headers.get('retry-after'))).toBeGreaterThan(1)
        expect(await post(path, { name: 'x' }, 'k')).toMatchObject({ status: 422 })
        made().release()
        const { status, text } = await first
        expect(status).toBeLessThan(300)
        expect(await post(path, json, 'k')).toMatchObject({ status, text })
      })
    }

    it('a hundred at once: one item', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => post('/others', { name: 'x' }, 'k')),
      )
      const statuses = new Set(answers.map(({ status }) => status))
      expect([...statuses].filter(status => status !== 409)).toEqual([201])
      expect(await handler.request('/others/count')).toMatchObject({ json: { count: 1 } })
    })

    it('after a failure the key is free again, with any body', async () => {
      expect(await post('/things', { count: 'x' }, 'k')).toMatchObject({ status: 400 })
      expect(await post('/things', { name: 'a' }, 'k')).toMatchObject({ status: 201 })
      expect(await post('/things', { name: 'a' }, 'k2')).toMatchObject({ status: 409 })
      expect(await post('/things', { name: 'b' }, 'k2')).toMatchObject({ status: 201 })
      expect(await post('/things/fail', { times: 1 }, 'k')).toMatchObject({ status: 409 })
      expect(await post('/things/fail', { times: 1 }, 'k')).toMatchObject({
        status: 200,
        json: { done: true },
      })
    })

    it('an action is done once', async () => {
      const path = await created()
      const first = await post(`${path}/add`, { by: 2 }, 'k')
      expect(first).toMatchObject({ status: 200, json: { count: 2 } })
      expect(await post(`${path}/add`, { by: 2 }, 'k')).toMatchObject({
        status: 200,
        text: first.text,
      })
      expect(await post(`${path}/add`, { by: 3 }, 'k')).toMatchObject({ status: 422 })
      expect(await post(`${path}/add`, { by: 3 }, 'k2')).toMatchObject({ json: { count: 5 } })
    })

    it('an action without a result is done once too', async () => {
      const path = await created()
      for (let time = 0; time < 3; time++) {
        const answer = await post(`${path}/quiet`, {}, 'k')
        expect(answer.status).toBe(303)
        expect(answer.headers.get('location')).toBe(path)
      }
      expect(await handler.request(path)).toMatchObject({ json: { count: 1 } })
    })

    it('an action that removed its item is answered again', async () => {
      const path = await created()
      const first = await post(`${path}/end`, {}, 'k')
      expect(first).toMatchObject({ status: 200 })
      expect(await post(`${path}/end`, {}, 'k')).toMatchObject({ status: 200, text: first.text })
      expect(await post(`${path}/end`, {}, 'k2')).toMatchObject({ status: 404 })
    })

    it('an action that was done under If-Match is answered again', async () => {
      const path = await created()
      const headers = { 'if-match': (await handler.request(path)).headers.get('etag') ?? '' }
      const first = await post(`${path}/add`, { by: 2 }, 'k', headers)
      expect(await post(`${path}/add`, { by: 2 }, 'k', headers)).toMatchObject({
        status: 200,
        text: first.text,
      })
      expect(await post(`${path}/add`, { by: 2 }, 'k2', headers)).toMatchObject({ status: 412 })
    })

    it('400 for an invalid key', async () => {
      for (const key of ['""', 'x'.repeat(256)]) {
        expect(await post('/things', { name: 'a' }, key)).toMatchObject({
          status: 400,
          json: { errors: [{ field: 'idempotency-key' }] },
        })
      }
      expect(await post('/things', { name: 'a' }, 'x'.repeat(255))).toMatchObject({ status: 201 })
    })

    it('PUT, PATCH and DELETE: the first answer again, the change once', async () => {
      const path = await created()
      const send = (method: string, json: object | undefined, key: string, tag?: string) =>
        handler.request(path, {
          method,
          ...(json && { json }),
          headers: { 'idempotency-key': key, ...(tag && { 'if-match': tag }) },
        })
      const tag = (await handler.request(path)).headers.get('etag') ?? ''
      const first = await send('PATCH', { count: 1 }, 'k', tag)
      expect(first).toMatchObject({ status: 200, json: { count: 1 } })
      expect(await send('PATCH', { count: 2 }, 'k2')).toMatchObject({ status: 303 })
      const again = await send('PATCH', { count: 1 }, 'k', tag)
      expect(again).toMatchObject({ status: 200, text: first.text })
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
      expect(await send('PATCH', { count: 1 }, 'k3', tag)).toMatchObject({ status: 412 })
      expect(await send('PATCH', { count: 5 }, 'k')).toMatchObject({ status: 422 })
      expect(await handler.request(path)).toMatchObject({ json: { count: 2 } })
      // Nothing is written, and the answer is kept all the same.
      for (const _time of [1, 2])
        expect(await send('PATCH', { count: 2 }, 'same')).toMatchObject({ status: 303 })

      const prefer = { prefer: 'return=representation', 'idempotency-key': 'k' }
      const put = (name: string) =>
        handler.request(path, { method: 'PUT', json: { name }, headers: prefer })
      const replaced = await put('put')
      await send('PATCH', { count: 9 }, 'k4')
      expect(await put('put')).toMatchObject({ status: 200, text: replaced.text })
      expect((await put('put')).headers.get('etag')).toBe(replaced.headers.get('etag'))
      expect(await put('other')).toMatchObject({ status: 422 })

      const gone = await send('DELETE', undefined, 'k')
      expect(gone).toMatchObject({ status: 200, json: { name: 'put', count: 9 } })
      expect(await send('DELETE', undefined, 'k')).toMatchObject({ status: 200, text: gone.text })
      expect(await send('DELETE', undefined, 'k2')).toMatchObject({ status: 404 })
      expect(await send('PATCH', { count: 1 }, 'k', tag)).toMatchObject({ status: 200 })
    })

    it('PATCH: 409 while the first one is running, free again where it fails', async () => {
      const path = await created()
      const patch = (json: object) =>
        handler.request(path, { method: 'PATCH', json, headers: { 'idempotency-key': 'k' } })
      const first = patch({ name: 'slow' })
      await made().arrival
      expect(await patch({ name: 'slow' })).toMatchObject({ status: 409 })
      expect(await patch({ name: 'x' })).toMatchObject({ status: 422 })
      made().release()
      expect(await first).toMatchObject({ status: 303 })
      expect(await patch({ name: 'slow' })).toMatchObject({ status: 303 })
      const other = await created()
      const fail = (name: string) =>
        handler.request(other, {
          method: 'PATCH',
          json: { name },
          headers: { 'idempotency-key': 'k' },
        })
      expect(await fail('slow')).toMatchObject({ status: 409 })
      expect(await fail('fast')).toMatchObject({ status: 303 })
    })

    it('PUT that creates', async () => {
      const put = (name: string) =>
        handler.request('/notes/a', {
          method: 'PUT',
          json: { name },
          headers: { 'idempotency-key': 'k' },
        })
      const first = await put('a')
      expect(first).toMatchObject({ status: 201, json: { id: 'a', name: 'a' } })
      expect(await put('a')).toMatchObject({ status: 201, text: first.text })
      expect(await put('b')).toMatchObject({ status: 422 })
    })

    it('an answer over 64 KiB is replayed while the item is the same, then a redirect', async () => {
      const name = 'x'.repeat(65_536)
      const send = (method: string, path: string, json?: object) =>
        handler.request(path, {
          method,
          ...(json && { json }),
          headers: { 'idempotency-key': 'k' },
        })
      const first = await send('POST', '/others', { name })
      expect(first.status).toBe(201)
      const path = first.headers.get('location') ?? ''
      expect(await send('POST', '/others', { name })).toMatchObject({ status: 201, json: { name } })
      await handler.request(path, { method: 'PATCH', json: { name: `${name}!` } })
      const again = await send('POST', '/others', { name })
      expect([again.status, again.text, again.headers.get('location')]).toEqual([303, '', path])
      expect(await send('DELETE', path)).toMatchObject({ status: 200 })
      expect(await send('DELETE', path)).toMatchObject({ status: 204, text: '' })
      const { status } = await post('/things/echo', { name }, 'k')
      expect(status).toBe(200)
      const echoed = await post('/things/echo', { name }, 'k')
      expect([echoed.status, echoed.headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/things$/),
      ])
    })
  })
})

describe.each(['memory', 'SQLite'])('what is kept, %s', kind => {
  async function serve(limits: Partial<Limits>) {
    let now = 1e12
    const clock = () => now
    const db = await openDatabase()
    const things = defineCollection({
      name: 'things',
      schema: z.object({ name: z.string(), count: z.int().default(0) }),
      store: kind === 'memory' ? memoryStore({ clock }) : sqlStore({ db, create: true, clock }),
    })
    const access = { read: ['staff'], list: ['staff'], default: 'public' } as const
    const api = defineApi({
      collections: [things, defineCollection({ ...HIDDEN, access })],
      limits,
      schemes: [scheme],
      access: { default: 'public' },
    })
    const { request } = await openHandler('fetch', api)
    const patch = (path: string, json: object, headers = {}) =>
      request(path, { method: 'PATCH', json, headers: { 'idempotency-key': 'k', ...headers } })
    const pass = (milliseconds: number) => {
      now += milliseconds
    }
    return { request, patch, pass, db }
  }
  const HIDDEN = {
    name: 'hidden',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  }

  it('of a PATCH that changes nothing: id and version', async () => {
    const { request, patch, db } = await serve({})
    const name = 'x'.repeat(60_000)
    const made = await request('/things', { method: 'POST', json: { name } })
    const path = made.headers.get('location') ?? ''
    const prefer = { prefer: 'return=representation' }
    const first = await patch(path, { name }, prefer)
    expect(first).toMatchObject({ status: 200, json: { name } })
    const again = await patch(path, { name }, prefer)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('etag')).toBe(made.headers.get('etag'))
    if (kind === 'SQLite') {
      const { rows } = await sql<{ size: number }>`
        select length(answer) as size from rest_idempotency`.execute(db)
      expect(rows[0]?.size).toBeLessThan(250)
    }
    await request(path, { method: 'PATCH', json: { count: 1 } })
    const later = await patch(path, { name }, prefer)
    expect([later.status, later.headers.get('location')]).toEqual([303, path])
    await request(path, { method: 'DELETE' })
    expect(await patch(path, { name }, prefer)).toMatchObject({ status: 303 })
  })

  it('of a PATCH that changes nothing, by one that may not read: 204 for ever', async () => {
    const { request, patch } = await serve({})
    const made = await request('/hidden', { method: 'POST', json: { name: 'a' } })
    const path = made.headers.get('location') ?? ''
    expect(await patch(path, { name: 'a' })).toMatchObject({ status: 204 })
    expect(await patch(path, { name: 'a' })).toMatchObject({ status: 204 })
    await request(path, { method: 'PATCH', json: { name: 'b' } })
    expect(await patch(path, { name: 'a' })).toMatchObject({ status: 204 })
  })

  it('no answer larger than limits.keyAnswer, and none for longer than limits.keyTime', async () => {
    const { request, pass } = await serve({ keyAnswer: 300, keyTime: 1000 })
    const post = (name: string, key: string) =>
      request('/things', { method: 'POST', json: { name }, headers: { 'idempotency-key': key } })
    const [small, large] = [await post('a', 'small'), await post('x'.repeat(300), 'large')]
    for (const { headers } of [small, large]) {
      const path = headers.get('location') ?? ''
      expect(await request(path, { method: 'PATCH', json: { count: 1 } })).toMatchObject({
        status: 303,
      })
    }
    pass(999)
    expect(await post('a', 'small')).toMatchObject({ status: 201, text: small.text })
    expect(await post('x'.repeat(300), 'large')).toMatchObject({ status: 303 })
    pass(1)
    const fresh = await post('a', 'small')
    expect([fresh.status, fresh.text === small.text]).toEqual([201, false])
  })
})
