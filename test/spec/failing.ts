// An api on which everything can go wrong: one request for every status that there is.
import { z } from 'zod'
import { defineApi, defineCollection, HttpError, memoryStore, type Store } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import { UnavailableError } from '../../src/store-authors/index.ts'
import type { Answer, Init, OpenHandler } from '../handlers.ts'

/** What no answer may ever say. */
export const SECRETS = /secret|\.ts\b|node_modules|\bat \S+ \(|select |ECONNREFUSED|10\.0\.0\.1/i

export function failingApi(policies: Policies = {}) {
  const failures: { error: unknown; reference: string; status: number }[] = []
  const store = memoryStore()
  const broken = (name: string, error: () => Error) =>
    defineCollection({ name, schema: z.object({ a: z.string() }), store: brokenStore(error) })
  const things = defineCollection({
    name: 'things',
    schema: z.object({
      name: z.string(),
      size: z.int().min(1).optional(),
      tags: z.array(z.string()).default([]),
    }),
    store,
    unique: ['name'],
    actions: {
      fail: {
        on: 'collection',
        input: z.object({
          status: z.int(),
          headers: z.array(z.string()).default(['Retry-After', '7']),
        }),
        run: ({ input: { status, headers } }) => {
          const issues = [{ message: `Because of ${status}`, field: 'x', type: 'made_up' }]
          throw new HttpError(status, issues, { headers })
        },
      },
      crash: {
        on: 'collection',
        run: () => {
          throw new Error('secret: select * from users at /srv/app.ts')
        },
      },
      unprintable: { on: 'collection', run: () => ({ n: 1n }) },
      touch: { on: 'item', run: async ({ update }) => void (await update({ size: 7 })) },
      rest: { on: 'collection', run: () => undefined },
    },
  })
  const guarded = defineCollection({
    name: 'guarded',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    requirePrecondition: true,
  })
  const api = defineApi({
    collections: [
      things,
      guarded,
      broken('crashing', () => new Error('secret: connect ECONNREFUSED 10.0.0.1')),
      broken('unavailable', () => new UnavailableError('secret: 10.0.0.1 is down')),
    ],
    onError: (error, { reference, error: { status } }) =>
      void failures.push({ error, reference, status }),
    limits: { body: 2000 },
    ...policies,
  })
  return { api, things, guarded, failures }
}

export type Failing = ReturnType<typeof failingApi>

/** A store whose every call fails. */
function brokenStore(error: () => Error): Store {
  const fail = async () => {
    throw error()
  }
  return {
    pages: 'key',
    idempotency: 'store',
    attach: () => {},
    find: fail,
    list: fail,
    count: fail,
    // biome-ignore lint/correctness/useYield: it fails before there is anything to give
    stream: async function* () {
      throw error()
    },
    write: fail,
    claim: fail,
    complete: fail,
    close: async () => {},
  }
}

export interface ErrorCase {
  readonly name: string
  readonly status: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string | RegExp>>
  readonly send: (handler: OpenHandler, made: Failing, query: string) => Promise<Answer>
}

const request =
  (target: string, init: Init = {}): ErrorCase['send'] =>
  (handler, _made, query) => {
    const mark = target.includes('?') ? '&' : '?'
    return handler.request(query === '' ? target : `${target}${mark}${query}`, init)
  }

const fail = (status: number) => request('/things/fail', { method: 'POST', json: { status } })

/** A request on an item of `things`. */
const onItem =
  (init: Init): ErrorCase['send'] =>
  async (handler, { api, things }, query) => {
    const { id } = await api.collection(things).create({ name: `n${Math.random()}` })
    return request(`/things/${id}`, init)(handler, { api } as Failing, query)
  }

/** Every kind of error: who knows of another adds it here, and it is tried everywhere. */
export const ERRORS: readonly ErrorCase[] = [
  {
    name: 'a body that cannot be read',
    status: 400,
    type: 'invalid_json',
    send: request('/things', {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    }),
  },
  {
    name: 'a value that cannot be taken',
    status: 400,
    type: 'required',
    send: request('/things', { method: 'POST', json: {} }),
  },
  {
    name: 'a query that cannot be understood',
    status: 400,
    type: 'unknown_field',
    send: request('/things?nam=x'),
  },
  {
    name: 'a broken escape in the path',
    status: 400,
    type: 'invalid_path',
    send: request('/things/%zz'),
  },
  { name: 'a GET with _method', status: 400, send: request('/things?_method=DELETE') },
  { name: 'who is not authorized', status: 401, type: 'made_up', send: fail(401) },
  { name: 'what is forbidden', status: 403, type: 'made_up', send: fail(403) },
  { name: 'no such path', status: 404, type: 'no_such_path', send: request('/nothing') },
  { name: 'no such item', status: 404, type: 'not_found', send: request('/things/nothing') },
  {
    name: 'a method that does not exist',
    status: 405,
    type: 'method_not_allowed',
    headers: { allow: /GET/ },
    send: request('/things', { method: 'DELETE' }),
  },
  {
    name: 'an Accept that nothing suits',
    status: 406,
    type: 'not_acceptable',
    send: request('/things', { headers: { accept: 'image/png' } }),
  },
  {
    name: 'a value that another item has',
    status: 409,
    type: 'not_unique',
    send: async (handler, made, query) => {
      const init = { method: 'POST', json: { name: `n${Math.random()}` } }
      await handler.request('/things', init)
      return request('/things', init)(handler, made, query)
    },
  },
  {
    name: 'a precondition that fails',
    status: 412,
    type: 'precondition_failed',
    send: onItem({ method: 'PATCH', json: {}, headers: { 'if-match': '"other"' } }),
  },
  {
    name: 'a body over the limit',
    status: 413,
    type: 'body_too_large',
    send: request('/things', { method: 'POST', json: { name: 'x'.repeat(2000) } }),
  },
  {
    name: 'a target over the limit',
    status: 414,
    type: 'target_too_long',
    send: request(`/things?name=${'x'.repeat(9000)}`),
  },
  {
    name: 'a body of an unknown type',
    status: 415,
    type: 'unsupported_media_type',
    headers: { 'accept-post': /application\/json/ },
    send: request('/things', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    }),
  },
  {
    name: 'a patch of an unknown type',
    status: 415,
    type: 'unsupported_media_type',
    headers: { 'accept-patch': /json-patch/ },
    send: onItem({ method: 'PATCH', body: 'x', headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'a compressed body',
    status: 415,
    type: 'unsupported_coding',
    headers: { 'accept-encoding': 'identity' },
    send: request('/things', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    }),
  },
  {
    name: 'a range behind the end',
    status: 416,
    type: 'range_not_satisfiable',
    headers: { 'content-range': /^things \*\/\d+$/ },
    send: request('/things', { headers: { range: 'things=9999-9999' } }),
  },
  {
    name: 'another body under one Idempotency-Key',
    status: 422,
    type: 'idempotency_key',
    send: async (handler, made, query) => {
      const headers = { 'idempotency-key': `k${Math.random()}` }
      await request('/things', { method: 'POST', json: { name: `a${Math.random()}` }, headers })(
        handler,
        made,
        query,
      )
      return request('/things', { method: 'POST', json: { name: `b${Math.random()}` }, headers })(
        handler,
        made,
        query,
      )
    },
  },
  {
    name: 'a change without the precondition that is required',
    status: 428,
    type: 'precondition_required',
    send: async (handler, made, query) => {
      const { id } = await made.api.collection(made.guarded).create({ name: 'x' })
      return request(`/guarded/${id}`, { method: 'PATCH', json: {} })(handler, made, query)
    },
  },
  {
    name: 'too many requests',
    status: 429,
    type: 'made_up',
    headers: { 'retry-after': '7' },
    send: fail(429),
  },
  { name: 'a failure of the store', status: 500, type: 'internal', send: request('/crashing') },
  {
    name: 'a failure of an action',
    status: 500,
    type: 'internal',
    send: request('/things/crash', { method: 'POST' }),
  },
  {
    name: 'a result that no format prints',
    status: 500,
    type: 'internal',
    send: request('/things/unprintable', { method: 'POST' }),
  },
  {
    name: 'a store that cannot be reached',
    status: 503,
    type: 'unavailable',
    headers: { 'retry-after': '5' },
    send: request('/unavailable/x'),
  },
  {
    name: 'the same on a write',
    status: 503,
    type: 'unavailable',
    send: request('/unavailable', { method: 'POST', json: { a: 'x' } }),
  },
]
