// Custom formats, bodies that a host server has parsed, and iterators that do not end.

import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { Reader } from '../../src/formats/format.ts'
import { buildLimits } from '../../src/http/limits.ts'
import { createWorkload, limitBodyTime } from '../../src/http/timeouts.ts'
import {
  defineApi,
  defineCollection,
  type Format,
  json,
  memoryStore,
  multipart,
  xml,
} from '../../src/index.ts'
import { buildRouter } from '../../src/model/compile/routes.ts'
import { findCollectionDefinition } from '../../src/model/definitions.ts'
import { readValue } from '../../src/server/body.ts'
import { example } from '../fixture.ts'
import { contextOf } from './helpers.ts'

describe('a custom format', () => {
  const shout: Format = {
    name: 'shout',
    extensions: ['shout'],
    types: ['text/shout'],
    write: representation => Buffer.from(`${representation.kind}!`),
    read: async body => {
      let text = ''
      for await (const chunk of body) text += Buffer.from(chunk).toString()
      return { name: text.toLowerCase() }
    },
  }
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const { fetch } = defineApi({ collections: [things], formats: [shout, json] })

  it('may print bytes', async () => {
    const answer = await fetch(new Request('http://a.example/things'))
    expect([answer.headers.get('content-length'), await answer.text()]).toEqual(['5', 'list!'])
  })

  it('may read without `receive`', async () => {
    const request = new Request('http://a.example/things', {
      method: 'POST',
      headers: { 'content-type': 'text/shout', accept: 'application/json' },
      body: 'HELLO',
    })
    expect(await (await fetch(request)).json()).toMatchObject({ name: 'hello' })
  })

  it('without types is chosen by its extension alone', async () => {
    const plain: Format = { ...json, types: [] }
    const api = defineApi({ collections: [things], formats: [plain] })
    const typeOf = async (path: string) => {
      const headers = { accept: 'application/problem+json' }
      const answer = await api.fetch(new Request(`http://a.example${path}`, { headers }))
      return [answer.status, answer.headers.get('content-type')]
    }
    expect(await typeOf('/things/count')).toEqual([200, ''])
    expect(await typeOf('/nothing')).toEqual([404, 'application/problem+json'])
  })
})

describe('a body that a host server has parsed', () => {
  const plain: Reader = {
    name: 'plain',
    extensions: [],
    types: ['text/x-plain'],
    read: async () => null,
  }
  const decode = async (parsed: unknown, format: Reader) =>
    readValue({ parsed }, format, contextOf())

  it.each<[string, unknown, Reader, unknown]>([
    ['is used as it is', { a: 1 }, json, { a: 1 }],
    ['is read as JSON without `receive`', { a: 1 }, plain, { a: 1 }],
    ['is read where it is a text', '{"a":1}', json, { a: 1 }],
    ['is read where it is bytes', Buffer.from('{"a":1}'), json, { a: 1 }],
    ['is read where it is a text, of XML', '<x><a>1</a></x>', xml as Reader, { a: '1' }],
    ['is read as JSON even if it was XML', { a: 1 }, xml as Reader, { a: 1 }],
    ['is a form as it is', { a: 'x' }, multipart as Reader, { a: 'x' }],
  ])('%s', async (_, parsed, format, value) => {
    expect(await decode(parsed, format)).toEqual(value)
  })

  it.each([json, xml as Reader, plain])('has a depth, whoever parsed it: $name', async format => {
    const parsed: unknown = JSON.parse('['.repeat(100) + ']'.repeat(100))
    await expect(decode(parsed, format)).rejects.toMatchObject({ status: 400 })
  })

  it('is refused where there is none', async () => {
    await expect(decode(undefined, json)).rejects.toMatchObject({ status: 400 })
  })
})

describe('a form', () => {
  const { fetch } = example({ limits: { parameters: 3 } }).api
  const send = (type: string, body: string) =>
    fetch(
      new Request('http://a.example/cars', {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      }),
    )

  it('is not recognized by a parameter of the media type', async () => {
    const type = 'application/json; like="application/x-www-form-urlencoded"'
    const answer = await send(type, '{"immatriculation":"A","color":"red"}')
    expect(answer.status).toBe(201)
  })
})

describe('fetch', () => {
  it('aborts the signal of a store call when the client disconnects', async () => {
    const seen: unknown[] = []
    const { fetch } = example({
      onError: () => undefined,
      storeOf: (_name, store) => ({
        ...store,
        list: async (_selection, _slice, _total, options) => {
          seen.push(options?.signal?.reason)
          throw new Error('The client has gone')
        },
      }),
    }).api
    const gone = new Error('gone')
    await fetch(new Request('http://a.example/cars', { signal: AbortSignal.abort(gone) }))
    expect(seen).toEqual([gone])
  })
})

/** A body whose iterator will not be ended. */
function stubborn(chunks: readonly string[]) {
  const left = chunks.map(chunk => Buffer.from(chunk))
  const returned = vi.fn(() => Promise.reject(new Error('no')))
  const iterator: AsyncGenerator<Uint8Array> = {
    next: async () => {
      const value = left.shift()
      return value ? { done: false, value } : { done: true, value: undefined }
    },
    return: returned,
    throw: returned,
    [Symbol.asyncIterator]: () => iterator,
  }
  return { iterator, returned }
}

describe('an iterator that does not end', () => {
  it('ends with its body', async () => {
    const { iterator, returned } = stubborn(['a', 'b'])
    for await (const chunk of limitBodyTime(iterator, buildLimits())) {
      expect(Buffer.from(chunk).toString()).toBe('a')
      break
    }
    expect(returned).toHaveBeenCalledOnce()
  })

  it('is closed with a refused multipart body', async () => {
    const { iterator, returned } = stubborn(['--x\r\n', 'nonsense\r\n\r\n', '--y', '--x--'])
    const reading = multipart.read?.(iterator, contextOf({ parameters: { boundary: 'x' } }))
    await expect(reading).rejects.toMatchObject({ status: 400 })
    expect(returned).toHaveBeenCalledOnce()
  })
})

describe('work that takes long', () => {
  it('ends each at its own time', async () => {
    vi.useFakeTimers()
    try {
      const { run } = createWorkload({ concurrency: 10, workTime: 250 })
      const ended: string[] = []
      const begin = (name: string) =>
        run(() => new Promise<never>(() => undefined), { abort: () => ended.push(name) }).catch(
          () => undefined,
        )
      void begin('one')
      await vi.advanceTimersByTimeAsync(150)
      void begin('two')
      await vi.advanceTimersByTimeAsync(50)
      expect(ended).toEqual([])
      await vi.advanceTimersByTimeAsync(100)
      expect(ended).toEqual(['one'])
      await vi.advanceTimersByTimeAsync(100)
      expect(ended).toEqual(['one', 'two'])
    } finally {
      vi.useRealTimers()
    }
  })

  it('makes room when its time is over, where the host has ended the timer', async () => {
    vi.useFakeTimers()
    try {
      const { run } = createWorkload({ concurrency: 1, workTime: 250 })
      const abort = vi.fn()
      const first = run(() => new Promise<never>(() => undefined), { abort })
      vi.clearAllTimers()
      await vi.advanceTimersByTimeAsync(200)
      const tooEarly = async () => run(async () => 'too early', { abort })
      await expect(tooEarly()).rejects.toMatchObject({ status: 503 })
      expect(abort).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(100)
      expect(await run(async () => 'done', { abort })).toBe('done')
      await expect(first).rejects.toMatchObject({ status: 503 })
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('routes', () => {
  const parent = defineCollection({
    name: 'models',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const child = defineCollection({
    name: 'cars',
    schema: z.object({ model_id: z.int() }),
    store: memoryStore(),
    parents: { model_id: 'models' },
  })
  const version = (collections: (typeof child | typeof parent)[]) => ({
    name: '',
    number: undefined,
    deprecated: undefined,
    sunset: undefined,
    collections: new Map(collections.map(each => [each.name, findCollectionDefinition(each)])),
  })

  it.each<[string, boolean, boolean]>([
    ['/models/7/cars', true, true],
    ['/models/7/cars', false, false],
    ['/models/x/cars', true, false],
    ['/models/x/cars/count', true, false],
    ['/models//cars', true, false],
  ])('%s with its parent %j: %j', (path, served, found) => {
    const versions = [version(served ? [child, parent] : [child])]
    const router = buildRouter({ versions, formats: [] }, ({ pattern }) => pattern)
    expect(router.match(path) !== undefined).toBe(found)
  })
})

describe('a call in process', () => {
  it('is refused for a value that is not JSON', async () => {
    const { api, accounts } = example()
    // What the types forbid.
    const nothing = (() => undefined) as unknown as { id: string; name: string }
    await expect(api.collection(accounts).create(nothing)).rejects.toMatchObject({ status: 400 })
  })
})
