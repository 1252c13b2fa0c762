// Jobs, logins and choices of scopes: what only a program may say, and what an action may add to its answer.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import {
  defineApi,
  defineCollection,
  memoryStore,
  type Scheme,
  withPrincipal,
} from '../src/index.ts'
import { eachHandler } from './handlers.ts'

/** The principal and its scopes stand in `Authorization: Test ann staff`, or the name in a cookie. */
const scheme: Scheme = {
  name: 'Test',
  challenge: ({ scope = '' } = {}) => `Test scope="${scope}"`,
  authenticate: async ({ headers }) => {
    const cookie = /session=(\w+)/.exec(headers.cookie ?? '')?.[1]
    const [id, ...scopes] =
      headers.authorization?.split(' ').slice(1) ?? (cookie ? [cookie, 'reader'] : [])
    return id === undefined ? undefined : { id, scopes }
  },
}

function clinic() {
  const seen: unknown[] = []
  const audit = defineCollection({
    name: 'audit',
    schema: z.object({ what: z.string() }),
    store: memoryStore(),
    visible: () => undefined,
  })
  const visits = defineCollection({
    name: 'visits',
    schema: z.object({
      owner_id: z.string().optional(),
      note: z.string().default(''),
      code: z.string().default('x'),
      paid: z.boolean().default(false),
    }),
    store: memoryStore(),
    owner: 'owner_id',
    visible: principal => principal && { owner_id: principal.id },
    fields: { code: 'immutable', paid: 'readOnly' },
    access: {
      create: 'public',
      patch: { any: ['staff', 'customer'] },
      login: 'public',
      steal: 'public',
      read: ['reader'],
      list: ['reader'],
      delete: [],
    },
    hooks: {
      before: { patch: ({ system }) => void seen.push(system) },
      after: {
        // Rows that the principal may not see.
        patch: ({ transaction, id }) =>
          transaction(async tx => {
            await tx
              .asSystem()
              .collection(audit)
              .create({ what: String(id) })
          }),
      },
    },
    actions: {
      login: {
        on: 'collection',
        cookies: true,
        input: z.object({
          name: z.string(),
          password: z.string().meta({ format: 'password' }).optional(),
        }),
        output: z.object({ name: z.string() }),
        run({ input, response }) {
          response.headers.append('Set-Cookie', `session=${input.name}; HttpOnly; Path=/`)
          response.headers.append('Set-Cookie', 'theme=dark')
          return { name: input.name }
        },
      },
      steal: {
        on: 'collection',
        cookies: true,
        input: z.object({ name: z.string(), value: z.string() }),
        run: ({ input, response }) =>
          response.headers.append(input.name as 'Set-Cookie', input.value),
      },
    },
  })
  const onError = (error: unknown) => void seen.push(String(error))
  const collections = { visits, audit }
  const api = defineApi({ collections, schemes: [scheme], pages: html, onError })
  return { api, visits, audit, seen }
}

describe('asSystem', () => {
  it('sees and changes what no row policy or owner lets others; field roles hold', async () => {
    const { api, visits, audit, seen } = clinic()
    const mine = api.collection(visits)
    const { id } = await mine.create({ owner_id: 'ann' }, { principal: { id: 'ann' } })
    expect(await mine.count()).toBe(0)
    const jobs = api.asSystem().collection(visits)
    expect(await jobs.count()).toBe(1)
    await expect(mine.patch(id, { note: 'x' }, { principal: { id: 'bob' } })).rejects.toThrow(
      'No visit',
    )
    await jobs.patch(id, { note: 'x' }, { principal: { id: 'bob' } })
    await expect(jobs.patch(id, { code: 'y' } as never)).rejects.toThrow('code is "x"')
    await expect(jobs.patch(id, { note: 1 } as never)).rejects.toMatchObject({ status: 400 })
    await api.transaction(async tx => {
      await tx.asSystem().collection(visits).patch(id, { note: 'y' })
      await expect(tx.collection(visits).patch(id, { note: 'z' })).rejects.toThrow('No visit')
    })
    await api.asSystem().transaction(async tx => {
      expect((await tx.collection(visits).read(id)).note).toBe('y')
    })
    expect(seen).toEqual([true, true])
    expect(await api.collection(audit).count()).toBe(0)
    expect(await api.asSystem().collection(audit).count()).toBe(2)
  })

  it('a call that sees nothing for lack of a principal is warned of once for each collection', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    // Those of other tests come first.
    await new Promise(resolve => setImmediate(resolve))
    process.on('warning', note)
    const { api, visits } = clinic()
    const list = () => api.collection(visits).list().toArray()
    await Promise.all([list(), list(), api.asSystem().collection(visits).count()])
    await api.collection(visits).count({}, { principal: { id: 'ann' } })
    await new Promise(resolve => setImmediate(resolve))
    process.off('warning', note)
    expect(warnings.map(({ name, message }) => [name, message])).toEqual([
      ['RestConventionsWarning', expect.stringContaining("api.asSystem().collection('visits')")],
    ])
  })
})

describe('over HTTP', () => {
  const open = async () => {
    const made = clinic()
    const principal = { id: 'ann' }
    const { id } = await made.api.collection(made.visits).create({}, { principal })
    return { ...made, path: `/visits/${id}` }
  }
  eachHandler(open, (handler, made) => {
    const ann = (scopes: string) => ({ authorization: `Test ann ${scopes}` })
    const patch = (json: unknown, scopes = 'staff reader', type = 'application/merge-patch+json') =>
      handler.request(made().path, {
        method: 'PATCH',
        body: JSON.stringify(json),
        headers: { ...ann(scopes), 'content-type': type },
      })

    it('no header or parameter makes a request a call of the system', async () => {
      for (const name of ['system', 'as-system', 'x-system', 'prefer', 'cookie']) {
        const headers = { authorization: 'Test bob reader', [name]: 'system=true' }
        expect(await handler.request(made().path, { headers })).toMatchObject({ status: 404 })
      }
      const { status } = await handler.request('/visits?system=true', { headers: ann('reader') })
      expect(status).toBe(400)
    })

    it('a rule may name several scopes of which one is enough', async () => {
      for (const [scopes, status] of [
        ['staff', 204],
        ['customer other', 204],
        ['', 403],
        ['staf', 403],
      ] as const) {
        expect([scopes, (await patch({ note: scopes }, scopes)).status]).toEqual([scopes, status])
      }
      const { json, headers } = await patch({ note: '' }, '')
      expect(json).toMatchObject({
        errors: [{ message: 'This needs the scope staff or customer' }],
      })
      expect(headers.get('www-authenticate')).toBe('Test scope="staff"')
      const document = (await handler.request('/openapi.json')).json
      const { security } = Object(document).paths['/visits/{id}'].patch
      expect(security).toEqual([{ test: ['staff'] }, { test: ['customer'] }])
    })

    it('a PATCH that would change a read-only property is a 400', async () => {
      const refused = {
        status: 400,
        json: { errors: [{ field: 'paid', type: 'read_only_field' }] },
      }
      expect(await patch({ paid: true })).toMatchObject(refused)
      expect(await patch({ paid: null })).toMatchObject(refused)
      const steps = [{ op: 'replace', path: '/paid', value: true }]
      expect(await patch(steps, 'staff reader', 'application/json-patch+json')).toMatchObject(
        refused,
      )
      const both = { paid: true, owner_id: 'bob', note: 1 }
      const { json } = await patch(both)
      expect(
        Object(json)
          .errors.map(({ field }: { field: string }) => field)
          .sort(),
      ).toEqual(['owner_id', 'paid'])
      const { json: whole } = await handler.request(made().path, { headers: ann('reader') })
      // What GET gave may be sent whole.
      const sent = { ...Object(whole), updated_at: 'then', note: 'new' }
      expect(await patch(sent)).toMatchObject({ status: 303 })
    })

    it('a client that may not read the item may send none, equal or not', async () => {
      for (const paid of [false, true]) {
        const { status, json } = await patch({ paid }, 'staff')
        expect([status, json]).toMatchObject([400, { errors: [{ type: 'read_only_field' }] }])
      }
    })

    it('an action sets cookies, which no cache keeps', async () => {
      const json = { name: 'ann' }
      const init = { method: 'POST', json, headers: { 'idempotency-key': 'k' } }
      const answer = await handler.request('/visits/login', init)
      expect(answer.headers.getSetCookie()).toEqual(['session=ann; HttpOnly; Path=/', 'theme=dark'])
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
      // A cookie is a secret: it is not kept under the key.
      const again = await handler.request('/visits/login', init)
      expect([again.json, again.headers.getSetCookie()]).toEqual([json, []])
      expect(
        await handler.request('/visits', { headers: { cookie: 'session=ann' } }),
      ).toMatchObject({ status: 200, json: [{ owner_id: 'ann' }] })
    })

    it('a form for it hides the password, also after an error', async () => {
      const sent = await handler.request('/visits/login', {
        method: 'POST',
        body: 'password=open+sesame',
        headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      })
      expect(sent.status).toBe(400)
      expect(sent.text).toMatch(
        /<input type="password" autocomplete="current-password" [^>]*name="password"/,
      )
      expect(sent.text).not.toMatch(/sesame/)
      const { json } = await handler.request('/openapi.json')
      const { password } = Object(json).components.schemas.VisitLoginInput.properties
      expect(password).toEqual({ type: 'string', format: 'password' })
    })

    it.each([
      ['X-Other', 'a'],
      ['Set-Cookie', 'a=b\r\nX-Other: c'],
    ])('no other header, and no second line: %s', async (name, value) => {
      const answer = await handler.request('/visits/steal', {
        method: 'POST',
        json: { name, value },
      })
      expect(answer.status).toBe(500)
      expect([answer.headers.get('x-other'), answer.headers.getSetCookie()]).toEqual([null, []])
      expect(made().seen.at(-1)).toMatch(/^TypeError: .*Set-Cookie/)
    })
  })
})

test.each([[{ any: [] }], [{ any: ['a b'] }], [{ all: ['a'] }], [{ any: ['a'], all: ['b'] }]])(
  'a rule %o is none',
  rule => {
    const define = () =>
      defineCollection({
        name: 'things',
        schema: z.object({}),
        store: memoryStore(),
        access: { read: rule as never },
      })
    expect(define).toThrow("must be 'public', an array of scopes, or { any: scopes }")
  },
)

test('withPrincipal gives the same function: types are all that differs', () => {
  expect(withPrincipal<{ tenant: string }>().defineCollection).toBe(defineCollection)
})

describe('what a row policy returned once', () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ price: z.number() }),
    store: memoryStore(),
    visible: principal => RULES[principal?.id ?? ''],
  })
  const RULES: Readonly<Record<string, object>> = {
    infinite: { price: { lte: Number.POSITIVE_INFINITY } },
    nan: { price: { lte: Number.NaN } },
    least: { price: { gte: Number.NEGATIVE_INFINITY } },
    all: { price: { gte: 0 } },
    cheap: { price: { lte: 1 } },
    text: { price: { lte: '1' } },
    old: { created_at: { lt: new Date(0) } },
    new: { created_at: { gte: new Date(0) } },
    wrong: { price: { lte: undefined } },
    empty: { price: {} },
  }
  const api = defineApi({ collections: [cars] })
  const calls = api.collection(cars)
  const as = (id: string) => ({ principal: { id } })
  const list = (id: string) => calls.list({}, as(id)).toArray()

  // Twice: the second time it is known.
  test.each(['first', 'second'])('is not taken for another one: %s', async () => {
    const priced = await api.asSystem().collection(cars).create({ price: 2 })
    const count = async (id: string) => (await list(id)).length > 0
    const seen = ['infinite', 'nan', 'least', 'all', 'cheap', 'text', 'old', 'new'].map(
      async id => [id, await count(id)],
    )
    expect(Object.fromEntries(await Promise.all(seen))).toEqual({
      infinite: false,
      nan: false,
      least: false,
      all: true,
      cheap: false,
      text: false,
      old: false,
      new: true,
    })
    await expect(list('wrong')).rejects.toThrow(TypeError)
    await expect(list('empty')).rejects.toThrow(TypeError)
    await api.asSystem().collection(cars).delete(priced)
  })

  test('counts for what it adds to a new item', async () => {
    await expect(calls.create({ price: 1 }, as('old'))).rejects.toThrow(/could not see/)
    await expect(calls.create({ price: 2 }, as('cheap'))).rejects.toThrow(/could not see/)
    for (const id of ['new', 'cheap']) await calls.create({ price: 1 }, as(id))
  })
})
