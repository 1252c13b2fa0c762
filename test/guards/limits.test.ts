// Every limit has a default, an option, and an error of its own (promise 7).
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get as getByNode } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { buildLimits } from '../../src/http/limits.ts'
import {
  defineApi,
  defineCollection,
  type Limits,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { StoreOptions } from '../../src/store-authors/index.ts'
import { type ExampleOptions, example, seed } from '../fixture.ts'
import { listen } from '../handlers.ts'
import { openDatabase } from '../stores/sqlite.ts'

interface Request_ {
  readonly method?: string
  readonly path: string
  readonly type?: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

async function ask(
  options: ExampleOptions,
  { method = 'GET', path, type = 'application/json', body, headers }: Request_,
) {
  const made = example({ baseUrl: 'https://api.example', ...options })
  const [car] = await seed(made, 1)
  const url = `https://api.example${path.replace('{id}', String(car?.id))}`
  const init = {
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      ...(body !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body }),
  }
  const answer = await made.api.fetch(new Request(url, init))
  const text = await answer.text()
  const errors: { code: number; type?: string; message: string }[] =
    answer.status >= 400 ? JSON.parse(text).errors : []
  return {
    status: answer.status,
    types: errors.map(error => error.type),
    codes: errors.map(error => error.code),
  }
}

const car = (more: object) => JSON.stringify({ immatriculation: 'L-1', color: 'red', ...more })
const form = 'application/x-www-form-urlencoded'

/** A form that changes a car. */
function patchForm(body: string): Request_ {
  return { method: 'PATCH', path: '/cars/{id}', type: form, body }
}

/** The same by one part that is JSON. */
function patchPart(tags: string): Request_ {
  const head = 'Content-Disposition: form-data; name="tags"\r\nContent-Type: application/json'
  const body = `--b\r\n${head}\r\n\r\n${tags}\r\n--b--\r\n`
  return { method: 'PATCH', path: '/cars/{id}', type: 'multipart/form-data; boundary=b', body }
}

/** Each limit: its option set small, what just fits and what does not, and how that is refused. */
const CASES: readonly (readonly [keyof Limits, number, Request_, Request_, number, string])[] = [
  [
    'target',
    40,
    { path: `/cars?color=${'r'.repeat(0)}red` },
    { path: `/cars?color[in]=${'red,'.repeat(10)}` },
    414,
    'target_too_long',
  ],
  [
    'headers',
    4,
    { path: '/cars', headers: { a: '1', b: '2' } },
    { path: '/cars', headers: { a: '1', b: '2', c: '3', d: '4' } },
    431,
    'too_many_headers',
  ],
  [
    'parameters',
    2,
    { path: '/cars?limit=1&offset=0' },
    { path: '/cars?limit=1&offset=0&sort=id' },
    400,
    'too_many_parameters',
  ],
  [
    'parameters',
    2,
    { path: '/cars?fields=id,color,id' },
    { path: '/cars?fields=id,color,price' },
    400,
    'too_many_fields',
  ],
  [
    'parameters',
    2,
    { path: '/cars/{id}?fields=id,color' },
    { path: '/cars/{id}?fields=id,color,price' },
    400,
    'too_many_fields',
  ],
  [
    'body',
    60,
    { method: 'POST', path: '/cars', body: car({}) },
    { method: 'POST', path: '/cars', body: car({ tags: ['x'.repeat(60)] }) },
    413,
    'body_too_large',
  ],
  [
    'depth',
    3,
    { method: 'POST', path: '/cars', body: car({ model: { name: 'x' } }) },
    { method: 'POST', path: '/cars', body: car({ model: { name: [[['x']]] } }) },
    400,
    'too_deep',
  ],
  [
    'members',
    8,
    { method: 'POST', path: '/cars', body: car({ tags: ['a'] }) },
    { method: 'POST', path: '/cars', body: car({ tags: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }) },
    413,
    'too_many_members',
  ],
  [
    'item',
    400,
    { method: 'POST', path: '/cars', body: car({}) },
    { method: 'POST', path: '/cars', body: car({ tags: ['x'.repeat(400)] }) },
    413,
    'item_too_large',
  ],
  [
    'item',
    400,
    { method: 'PUT', path: '/cars/{id}', body: car({}) },
    { method: 'PUT', path: '/cars/{id}', body: car({ tags: ['\u0001'.repeat(60)] }) },
    413,
    'item_too_large',
  ],
  [
    'item',
    400,
    { method: 'PATCH', path: '/cars/{id}', body: JSON.stringify({ tags: ['é'.repeat(20)] }) },
    { method: 'PATCH', path: '/cars/{id}', body: JSON.stringify({ tags: ['é'.repeat(150)] }) },
    413,
    'item_too_large',
  ],
  [
    'item',
    400,
    { method: 'POST', path: '/cars/{id}/buy', body: '{"account_id":"a"}' },
    { method: 'POST', path: '/cars/{id}/buy', body: `{"account_id":"${'x'.repeat(400)}"}` },
    413,
    'item_too_large',
  ],
  [
    'filters',
    1,
    { path: '/cars?color=red' },
    { path: '/cars?color=red&doors=5' },
    400,
    'too_many_filters',
  ],
  [
    'values',
    2,
    { path: '/cars?color[in]=red,blue' },
    { path: '/cars?color[in]=red,blue,green' },
    400,
    'too_many_values',
  ],
  [
    'pattern',
    3,
    { path: '/cars?color[like]=re%25' },
    { path: '/cars?color[like]=red%25' },
    400,
    'pattern_too_long',
  ],
  [
    'pattern',
    3,
    { path: '/cars/search?q=aa-+bbb' },
    { path: '/cars/search?q=aa-+bbbb' },
    400,
    'pattern_too_long',
  ],
  [
    'words',
    2,
    { path: '/cars/search?q=one+two+ONE+two' },
    { path: '/cars/search?q=one+two+three' },
    400,
    'too_many_words',
  ],
  [
    'sortKeys',
    2,
    { path: '/cars?sort=color,price' },
    { path: '/cars?sort=color,price,doors' },
    400,
    'too_many_sort_keys',
  ],
  [
    'accept',
    30,
    { path: '/cars', headers: { accept: 'application/json' } },
    { path: '/cars', headers: { accept: `application/json${', a/b'.repeat(10)}` } },
    400,
    'header_too_long',
  ],
  [
    'elements',
    12,
    {
      method: 'POST',
      path: '/cars',
      type: 'application/xml',
      body: '<car><immatriculation>L</immatriculation><color>red</color></car>',
    },
    {
      method: 'POST',
      path: '/cars',
      type: 'application/xml',
      body: `<car>${'<tags/>'.repeat(20)}</car>`,
    },
    413,
    '',
  ],
  [
    'patchOperations',
    1,
    {
      method: 'PATCH',
      path: '/cars/{id}',
      type: 'application/json-patch+json',
      body: '[{"op":"test","path":"/color","value":"red"}]',
    },
    {
      method: 'PATCH',
      path: '/cars/{id}',
      type: 'application/json-patch+json',
      body: '[{"op":"test","path":"/color","value":"red"},{"op":"test","path":"/color","value":"red"}]',
    },
    413,
    '',
  ],
  [
    'parameters',
    3,
    { method: 'POST', path: '/cars', type: form, body: 'immatriculation=L&color=red&doors=5' },
    {
      method: 'POST',
      path: '/cars',
      type: form,
      body: 'immatriculation=L&color=red&doors=5&price=1',
    },
    413,
    '',
  ],
  [
    'members',
    3,
    patchForm('tags:lines=a%0Ab%0Ac'),
    patchForm('tags:lines=a%0Ab%0Ac%0Ad'),
    413,
    'too_many_members',
  ],
  [
    'members',
    3,
    patchForm('tags:json=["a","b"]'),
    patchForm('tags:json=["a","b","c","d"]'),
    413,
    'too_many_members',
  ],
  ['members', 3, patchPart('["a","b"]'), patchPart('["a","b","c","d"]'), 413, 'too_many_members'],
  [
    'parts',
    2,
    {
      method: 'POST',
      path: '/cars',
      type: 'multipart/form-data; boundary=b',
      body: parts(['immatriculation', 'L'], ['color', 'red']),
    },
    {
      method: 'POST',
      path: '/cars',
      type: 'multipart/form-data; boundary=b',
      body: parts(['immatriculation', 'L'], ['color', 'red'], ['doors', '5']),
    },
    413,
    '',
  ],
]

function parts(...fields: readonly (readonly [string, string])[]): string {
  const printed = fields.map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return `${printed.join('')}--b--\r\n`
}

describe('limits', () => {
  test.each(CASES)('%s', async (name, limit, fits, over, status, type) => {
    expect((await ask({ limits: { [name]: limit } }, fits)).status).toBeLessThan(400)
    // What the small limit refuses the default takes, or refuses for another reason.
    const refused = await ask({ limits: { [name]: limit } }, over)
    expect([refused.status, ...refused.codes]).toEqual([status, status])
    if (type !== '') expect(refused.types).toEqual([type])
    const byDefault = await ask({}, over)
    expect(byDefault.types).not.toEqual(refused.types.some(Boolean) ? refused.types : ['never'])
  })

  test.each([
    [{ body: 0 }],
    [{ body: -1 }],
    [{ body: 1.5 }],
    [{ body: Number.NaN }],
    [{ body: Number.POSITIVE_INFINITY }],
    [{ body: '1' }],
    [{ bodies: 1 }],
    [{ __proto__: null, constructor: 1 }],
  ])('%j is a TypeError', limits => {
    // Wrong on purpose.
    expect(() => example({ limits: limits as Partial<Limits> })).toThrow(TypeError)
  })

  test('docs/SECURITY.md names all of them', () => {
    const names = Object.keys(buildLimits())
    const [, after = ''] = readFileSync('docs/SECURITY.md', 'utf8').split('\n## Limits\n')
    const [table] = after.split('\n## ')
    expect(names).toContain('concurrency')
    expect(names.filter(name => !table?.includes(`\`${name}\``))).toEqual([])
  })

  test('maxLimit and defaultLimit of a collection are checked', () => {
    const make = (pages: object) => () =>
      defineCollection({ name: 'cars', schema: z.object({}), store: memoryStore(), ...pages })
    for (const pages of [
      { maxLimit: 0 },
      { defaultLimit: 101 },
      { maxLimit: Number.NaN },
      { defaultLimit: -1 },
    ]) {
      expect(make(pages)).toThrow(TypeError)
    }
  })
})

/** A store whose lists wait until they are let go, or their signal fires. */
function waiting(store: Store) {
  const signals: (AbortSignal | undefined)[] = []
  const entered: (() => void)[] = []
  let open: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const waitingStore: Store = {
    ...store,
    list: async (selection, slice, total, options) => {
      signals.push(options?.signal)
      for (const tell of entered.splice(0)) tell()
      await gate
      return store.list(selection, slice, total, options)
    },
  }
  return {
    store: waitingStore,
    signals,
    open: () => open(),
    entered: () => new Promise<void>(resolve => entered.push(resolve)),
  }
}

describe('a body', () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
  })
  const limits = { bodyTime: 400, bodyRate: 20, body: 5000 }
  const { handler, fetch: answer } = defineApi({ collections: [cars], limits })
  const headers = { 'content-type': 'application/json' }
  /** Sends bytes of a body one chunk after another, with a pause before each. */
  const sent = (chunks: readonly string[], pause: number, end: () => void = () => undefined) => {
    const left = [...chunks]
    return new ReadableStream({
      async pull(controller) {
        await wait(pause)
        const chunk = left.shift()
        if (chunk === undefined) controller.close()
        else controller.enqueue(Buffer.from(chunk))
      },
      cancel: end,
    })
  }
  const post = (body: ReadableStream) => ({
    method: 'POST',
    headers,
    body,
    duplex: 'half' as const,
  })
  const parts = ['{"color":"', 'r'.repeat(40), 'e'.repeat(40), 'd'.repeat(40), '"}']

  test('may arrive slowly as long as it keeps arriving, through each handler', async () => {
    const server = await listen(handler)
    const slow = () => post(sent(parts, 150))
    const [direct, served] = await Promise.all([
      answer(new Request('http://x/cars', slow())),
      fetch(`${server.base}/cars`, slow()),
    ])
    expect([direct.status, served.status]).toEqual([201, 201])
    await server.close()
  })

  test('gets at most 100 issues, those of its syntax included', async () => {
    const names = Array.from({ length: 60 }, (_, at) => at)
    const typed = names.map(at => [`n${at}`, z.int()])
    const missing = names.map(at => [`t${at}`, z.string()])
    const forms = defineCollection({
      name: 'forms',
      schema: z.object(Object.fromEntries([...typed, ...missing])),
      store: memoryStore(),
    })
    // Each twice, which the syntax tells; and all that must be there and is not, which the schema tells.
    const body = new URLSearchParams(names.map(at => `n${at}=1&n${at}=2`).join('&'))
    const init = { method: 'POST', body }
    const refused = await defineApi({ collections: [forms] }).fetch(
      new Request('http://x/forms', init),
    )
    expect(refused.status).toBe(400)
    expect(Object(await refused.json()).errors).toHaveLength(100)
  })

  test('that ends early in a Request is a 400', async () => {
    const body = new ReadableStream({
      pull: controller => controller.error(new Error('The client hung up')),
    })
    const broken = await answer(new Request('http://x/cars', post(body)))
    expect(broken.status).toBe(400)
    expect(Object(await broken.json()).errors[0].type).toBe('incomplete_body')
  })

  test.each([
    ['too large', Array(100).fill('x'.repeat(100)), 0, 413],
    ['too slow', ['{'], 1000, 408],
  ])('that is %s is given up in a Request', async (_, chunks, pause, status) => {
    let ended = false
    const body = sent(chunks, pause, () => {
      ended = true
    })
    expect((await answer(new Request('http://x/cars', post(body)))).status).toBe(status)
    await vi.waitFor(() => expect(ended).toBe(true), 60_000)
  })
})

describe('work', () => {
  const apiOf = (store: Store, limits: Partial<Limits>) => {
    const cars = defineCollection({ name: 'cars', schema: z.object({}), store })
    return defineApi({ collections: [cars], limits, onError: () => undefined })
  }
  const get = (api: ReturnType<typeof apiOf>, path: string) =>
    api.fetch(new Request(`http://x${path}`))

  test('that takes too long is a 503, and its signal is aborted', async () => {
    const { store, signals, open } = waiting(memoryStore())
    const api = apiOf(store, { workTime: 50 })
    const answer = await get(api, '/cars')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(Object(await answer.json()).errors[0]).toMatchObject({
      code: 503,
      type: 'work_too_slow',
    })
    expect(signals.map(signal => signal?.aborted)).toEqual([true])
    open()
    expect((await get(api, '/cars')).status).toBe(200)
  })

  test('that takes too long is aborted over a connection too, which serves on', async () => {
    const { store, signals, open } = waiting(memoryStore())
    const server = await listen(apiOf(store, { workTime: 50 }).handler)
    expect((await fetch(`${server.base}/cars`)).status).toBe(503)
    expect(signals.map(signal => signal?.aborted)).toEqual([true])
    open()
    expect((await fetch(`${server.base}/cars`)).status).toBe(200)
    await server.close()
  })

  test('that fails frees its place', async () => {
    const list = () => Promise.reject(new Error('x'))
    const api = apiOf({ ...memoryStore(), list }, { concurrency: 1 })
    for (let time = 0; time < 3; time++) expect((await get(api, '/cars')).status).toBe(500)
  })

  test('that takes too long is a 503 also where the clock is set back meanwhile', async () => {
    const { store, entered } = waiting(memoryStore())
    const begun = entered()
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const answer = get(apiOf(store, { workTime: 50 }), '/cars')
      await begun
      vi.setSystemTime(Date.now() - 3_600_000)
      expect((await answer).status).toBe(503)
    } finally {
      vi.useRealTimers()
    }
  })

  test('over the concurrency limit is a 503; requests that still wait for their body do not count', async () => {
    const { store, open, entered } = waiting(memoryStore())
    const api = apiOf(store, { concurrency: 2 })
    const first = entered()
    const slow = [get(api, '/cars')]
    await first
    const second = entered()
    slow.push(get(api, '/cars'))
    await second
    const refused = await get(api, '/cars')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(Object(await refused.json()).errors[0].type).toBe('overloaded')
    expect((await get(api, '/nothing')).status).toBe(404)
    open()
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200])
    expect((await get(api, '/cars')).status).toBe(200)
  })

  test('ends where the client goes away', async () => {
    const { store, signals, entered } = waiting(memoryStore())
    const api = apiOf(store, {})
    const controller = new AbortController()
    const entering = entered()
    void api.fetch(new Request('http://x/cars', { signal: controller.signal }))
    await entering
    expect(signals[0]?.aborted).toBe(false)
    controller.abort()
    expect(signals[0]?.aborted).toBe(true)
  })

  test('learns from its signal that the client went away; the signal is created on demand', async () => {
    const received: (StoreOptions | undefined)[] = []
    const store = memoryStore()
    const { handler } = apiOf(
      {
        ...store,
        find: (_ids, options) => {
          received.push(options)
          return new Promise(() => {})
        },
      },
      {},
    )
    const server = await listen(handler)
    const client = connect(Number(new URL(server.base).port), '127.0.0.1')
    client.write('GET /cars/1 HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await vi.waitFor(() => expect(received).toHaveLength(1), 60_000)
    expect(received[0]?.aborted).toBe(false)
    client.destroy()
    await vi.waitFor(() => expect(received[0]?.aborted).toBe(true), 60_000)
    expect(received[0]?.signal?.reason).toEqual(new Error('The client went away'))
    await server.close()
  })

  test('on SQLite creates no signal for a read', async () => {
    const server = await listen(
      apiOf(sqlStore({ db: await openDatabase(), create: true }), {}).handler,
    )
    const made = vi.spyOn(globalThis, 'AbortController')
    const [answer] = await once(getByNode(`${server.base}/cars/none`), 'response')
    expect(answer.resume().statusCode).toBe(404)
    expect(made).not.toHaveBeenCalled()
    made.mockRestore()
    await server.close()
  })
})
