// docs/write-a-store.md: its store passes the contract; stores that can do less are served within their limits.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestFn } from 'node:test'
import { afterAll, describe, expect, expectTypeOf, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../src/index.ts'
import { toKeyedStore } from '../src/store/keyed-store.ts'
import { findOne } from '../src/store/writes.ts'
import {
  type Id,
  matcher,
  oneByOne,
  type PositionSlice,
  type Selection,
  type Shape,
  type Stored,
  type StoreOptions,
  type StorePage,
  scanStore,
} from '../src/store-authors/index.ts'
import { type StoreCase, storeCases } from '../src/testing/index.ts'
import { shapeWith } from '../src/testing/sample.ts'
import { createOne, deleteOne, updateOne } from '../src/testing/write-items.ts'
import { blocksOf } from './markdown.ts'
import { testCases } from './stores/test-cases.ts'

const root = join(import.meta.dirname, '..')
const folder = await mkdtemp(join(tmpdir(), 'store-'))
process.env.TMPDIR = folder
afterAll(() => rm(folder, { recursive: true }))

const [store, cases, ...others] = blocksOf(
  await readFile(join(root, 'docs', 'write-a-store.md'), 'utf8'),
)
const writes = others.find(({ text }) => text.includes('oneByOne({'))
await writeFile(join(folder, 'writes.ts'), writes?.text ?? '')
await writeFile(join(folder, 'file-store.ts'), store?.text ?? '')
// As the document runs them, but for its runner: none may be skipped unseen.
const runner = `import type { StoreCase } from 'rest-conventions/testing'
export const cases: StoreCase[] = []
const test = (name: string, run: StoreCase['run']) => cases.push({ name, run })
`
await writeFile(
  join(folder, 'cases.ts'),
  cases?.text.replace("import { test } from 'vitest'\n", runner) ?? '',
)
// The document says its type.
const { fileStore } = (await import(join(folder, 'file-store.ts'))) as {
  fileStore: (path: string) => Store
}

/** What a store lacks that implements only what each needs. */
const NO_KEYS = 'The store keeps no idempotency keys'
const NO_MORE = ['take', 'transactions', 'relate', 'listEach', 'changes'].map(
  each => `The store has no ${each}`,
)

let files = 0
const newPath = () => join(folder, `${files++}.json`)

describe('the store of the document', () => {
  describe('passes the cases as the document runs them', async () => {
    const { cases }: { cases: StoreCase[] } = await import(join(folder, 'cases.ts'))
    testCases(cases, [NO_KEYS, ...NO_MORE])
  })

  it('has its items after a restart', async () => {
    const path = newPath()
    const define = () =>
      defineCollection({
        name: 'cars',
        schema: z.object({ color: z.string() }),
        store: fileStore(path),
        id: 'integer',
      })
    await defineApi({ collections: [define()] })
      .collection('cars')
      .create({ color: 'red' })
    const again = defineApi({ collections: [define()] }).collection('cars')
    await again.create({ color: 'blue' })
    expect(await again.list().toArray()).toMatchObject([
      { id: 1, color: 'red' },
      { id: 2, color: 'blue' },
    ])
  })

  it('keeps nothing that the server added to served items: a file edited by hand is served', async () => {
    const path = newPath()
    const open = () =>
      defineApi({
        collections: [
          defineCollection({
            name: 'cars',
            schema: z.object({ color: z.string() }),
            store: fileStore(path),
            id: 'integer',
          }),
        ],
      })
    const api = open()
    const ask = async (server: typeof api, target: string, init?: RequestInit) =>
      (await server.fetch(new Request(`http://a.example/cars${target}`, init))).text()
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const create = (color: string) =>
      ask(api, '', { method: 'POST', headers, body: JSON.stringify({ color }) })
    await create('red')
    await ask(api, '/1')
    await ask(api, '')
    await ask(api, '?sort=color&limit=1')
    await create('blue')
    await api.close()
    const text = await readFile(path, 'utf8')
    for (const stored of JSON.parse(text)) {
      expect(Object.keys(stored).sort()).toEqual(['id', 'item', 'updatedAt', 'version'])
    }
    await writeFile(path, text.replace('"red"', '"green"'))
    const again = open()
    expect(await ask(again, '/1')).toContain('"green"')
    expect(await ask(again, '')).toContain('"green"')
  })
})

it('does not keep an item whose file could not be written', async () => {
  const missing = join(folder, 'later', 'cars.json')
  await mkdir(join(folder, 'later'))
  const store = fileStore(missing)
  const schema = z.object({ color: z.string() })
  const cars = defineCollection({ name: 'cars', schema, store, id: 'integer' })
  const resource = defineApi({ collections: { cars } }).collection(cars)
  const red = await resource.create({ color: 'red' })
  await rm(join(folder, 'later'), { recursive: true })
  await expect(resource.create({ color: 'blue' })).rejects.toThrow()
  await expect(resource.delete(red)).rejects.toThrow()
  expect(await resource.list().toArray()).toMatchObject([{ id: 1, color: 'red' }])
})

describe('the four functions of the document', async () => {
  // The document says its type.
  const { writeTo } = (await import(join(folder, 'writes.ts'))) as {
    writeTo: (items: Map<Id, Stored>, shape: Shape) => Pick<Store, 'find' | 'write'>
  }
  /** Reads are those of a store that is there. */
  function makeStore() {
    const items = new Map<Id, Stored>()
    const base = scanStore({ all: () => items.values(), put() {}, remove() {} })
    const store: Store = {
      ...base,
      attach(shape) {
        base.attach(shape)
        Object.assign(store, writeTo(items, shape))
      },
    }
    return store
  }

  it('keep the id that a client chose, and the date of the creation', async () => {
    const schema = z.object({ id: z.string(), color: z.string() })
    const cars = defineCollection({ name: 'cars', schema, store: makeStore() })
    const resource = defineApi({ collections: { cars } }).collection(cars)
    const mine = await resource.create({ id: 'mine', color: 'red' })
    expect([mine.id, Date.parse(mine.created_at)]).toEqual(['mine', expect.any(Number)])
    await expect(resource.create({ id: 'mine', color: 'blue' })).rejects.toMatchObject({
      status: 409,
    })
    const changed = await resource.patch(mine, { color: 'blue' })
    expect(changed).toMatchObject({ id: 'mine', color: 'blue', created_at: mine.created_at })
    await expect(resource.patch(mine, { color: 'green' })).rejects.toMatchObject({ status: 409 })
  })

  it('make ids that grow', async () => {
    const schema = z.object({ color: z.string() })
    const cars = defineCollection({ name: 'cars', schema, store: makeStore() })
    const resource = defineApi({ collections: { cars } }).collection(cars)
    const ids: string[] = []
    for (const color of ['red', 'blue', 'green']) ids.push((await resource.create({ color })).id)
    expect(ids).toEqual([...ids].sort())
    expect(await resource.list().toArray()).toMatchObject(ids.map(id => ({ id })))
  })
})

// What vitest takes is seen above: test(name, run).
test('node:test accepts a case as it is', () => {
  expectTypeOf<StoreCase['run']>().toExtend<TestFn>()
})

test('a place without get, which answers later, passes too', async () => {
  const slow = () => {
    const items = new Map<unknown, Stored>()
    return scanStore({
      async *all() {
        yield* items.values()
      },
      put: async item => items.set(item.id, item),
      remove: async ({ id }) => items.delete(id),
      close: async () => items.clear(),
    })
  }
  for (const { name, run } of storeCases(slow)) {
    if (!name.includes('stream')) await run()
  }
})

/** A store that takes positions only, as a strictly typed adapter sees its slices. */
function offsetStore(idempotency: 'process' | 'none' = 'process'): Store {
  const { claim: _claim, complete: _complete, transaction: _none, ...inner } = memoryStore()
  return {
    ...inner,
    pages: 'offset',
    idempotency,
    list: (selection, slice, total, options) => {
      // What the contract promises.
      const { offset, limit } = slice as PositionSlice
      return inner.list(selection, { offset, limit }, total, options)
    },
  }
}

describe("a store with pages: 'offset' and without claim", () => {
  testCases(
    storeCases(() => offsetStore()),
    [NO_KEYS, "The store's pages are 'offset'", ...NO_MORE],
  )
})

/** A store of functions for one item, which are those of a store in memory. */
function storeOfFunctions(): Store {
  const { claim: _claim, complete: _complete, transaction: _none, ...inner } = memoryStore()
  const calls = oneByOne({
    get: (...parameters) => findOne(inner, ...parameters),
    create: (...parameters) => createOne(inner, ...parameters),
    update: (...parameters) => updateOne(inner, ...parameters),
    delete: (...parameters) => deleteOne(inner, ...parameters),
  })
  return { ...inner, ...calls, idempotency: 'process' }
}

describe('a store of functions for one item', () => {
  testCases(storeCases(storeOfFunctions), [NO_KEYS, ...NO_MORE])

  it('takes one change a call', async () => {
    const two = [{ create: { code: 'A' } }, { create: { code: 'B' } }]
    await expect(storeOfFunctions().write(two)).rejects.toThrow(TypeError)
    expect(await storeOfFunctions().write([])).toEqual([])
  })
})

describe("pages: 'offset'", () => {
  const make = async () => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: offsetStore(),
      id: 'integer',
    })
    const api = defineApi({ collections: [cars] })
    for (let at = 0; at < 7; at++) await api.collection('cars').create({ color: `c${at}` })
    const get = (url: string) => api.fetch(new Request(new URL(url, 'http://a.example')))
    return { api, get }
  }
  const linkTo = (answer: Response, relation: string) =>
    new RegExp(`<([^>]*)>; rel="${relation}"`).exec(answer.headers.get('link') ?? '')?.[1]

  it.each(['/cars?limit=3', '/cars?limit=3&sort=-color', '/cars?limit=3&offset=0'])(
    'every item is on one page of %s, forward and back',
    async start => {
      const { get } = await make()
      const seen: number[][] = []
      let last = ''
      for (let url: string | undefined = start; url !== undefined; ) {
        const answer = await get(url)
        const items = (await answer.json()) as { id: number }[] // each has an id
        seen.push(items.map(({ id }) => id))
        last = url
        url = linkTo(answer, 'next')
      }
      expect(seen.map(({ length }) => length)).toEqual([3, 3, 1])
      expect(seen.flat().sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
      const back: number[][] = []
      for (let url: string | undefined = last; url !== undefined; ) {
        const answer = await get(url)
        const items = (await answer.json()) as { id: number }[] // each has an id
        back.unshift(items.map(({ id }) => id))
        url = linkTo(answer, 'previous')
      }
      expect(back).toEqual(seen)
    },
  )

  it('no link has a cursor, and the cursor of another list is refused', async () => {
    const { api, get } = await make()
    for (const url of ['/cars?limit=3', '/cars?limit=3&offset=3', '/cars']) {
      expect((await get(url)).headers.get('link') ?? '').not.toContain('cursor')
    }
    const seeking = defineApi({
      collections: [
        defineCollection({
          name: 'cars',
          schema: z.object({ color: z.string() }),
          store: memoryStore(),
          id: 'integer',
        }),
      ],
    })
    for (const color of ['a', 'b']) await seeking.collection('cars').create({ color })
    const first = await seeking.fetch(new Request('http://a.example/cars?limit=1'))
    const next = linkTo(first, 'next') ?? ''
    expect(next).toContain('cursor=')
    await get('/cars?limit=1')
    const refused = await get(next)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      errors: [{ field: 'cursor', type: 'invalid_cursor' }],
    })
    const described = await api.fetch(new Request('http://a.example/cars', { method: 'OPTIONS' }))
    expect(await described.text()).not.toContain('"cursor"')
  })
})

describe('idempotency', () => {
  const make = (store: Store) => {
    let runs = 0
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store,
      id: 'integer',
      actions: { paint: { on: 'collection', run: () => ({ runs: ++runs }) } },
    })
    const api = defineApi({ collections: [cars] })
    const send = (path: string, method: string, body?: unknown) =>
      api.fetch(
        new Request(`http://a.example${path}`, {
          method,
          headers: { 'content-type': 'application/json', 'idempotency-key': '"k"' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
    return { api, send }
  }

  it.each([
    ['store', memoryStore(), [1, 1]],
    ['process', offsetStore('process'), [1, 1]],
    ['none', offsetStore('none'), [2, 2]],
  ] as const)('%s: how often a request that is sent twice is done', async (kept, store, times) => {
    const { api, send } = make(store)
    for (const _ of [1, 2]) expect((await send('/cars', 'POST', { color: 'red' })).status).toBe(201)
    await send('/cars/paint', 'POST', {})
    const painted = await (await send('/cars/paint', 'POST', {})).json()
    expect([await api.collection('cars').count(), painted]).toEqual([times[0], { runs: times[1] }])
    const { id } = await api.collection('cars').create({ color: 'blue' })
    for (const [method, body] of [
      ['PATCH', { color: 'red' }],
      ['DELETE', undefined],
    ] as const) {
      const statuses = []
      for (const _ of [1, 2]) statuses.push((await send(`/cars/${id}`, method, body)).status)
      const again = method === 'DELETE' && kept === 'none' ? 404 : statuses[0]
      expect(statuses).toEqual([method === 'DELETE' ? 200 : 303, again])
    }
    const description = await (await send('/cars', 'OPTIONS')).text()
    const document = await (await send('/openapi.json', 'GET')).text()
    for (const text of [description, document]) {
      expect(text.includes('"Idempotency-Key"')).toBe(kept === 'store')
    }
  })

  it('a key kept in the process stays claimed where nothing is changed; open is the store’s', async () => {
    let opened = 0
    const open = async () => {
      opened++
    }
    const base = { ...offsetStore(), open }
    const store = toKeyedStore(base)
    expect(toKeyedStore(base)).toBe(store)
    await toKeyedStore(offsetStore('none')).close()
    store.attach(shapeWith('integer'))
    await store.open?.()
    const { id } = await createOne(store, { code: 'A', price: 1 })
    await store.claim('key', 'print')
    const options = { idempotencyKey: 'key' }
    expect(
      await updateOne(store, { id, version: 'stale' }, { code: 'A', price: 2 }, options),
    ).toBeUndefined()
    expect(await deleteOne(store, { id, version: 'stale' }, options)).toBe(false)
    expect([(await store.claim('key', 'print')).state, opened]).toEqual(['running', 1])
  })

  it('methods are called on the store itself: it may be an instance of a class', async () => {
    class Counting {
      readonly pages = 'offset'
      readonly idempotency = 'process'
      #inner = memoryStore()
      attach: Store['attach'] = shape => this.#inner.attach(shape)
      find(...parameters: Parameters<Store['find']>) {
        return this.#inner.find(...parameters)
      }
      list(...parameters: Parameters<Store['list']>) {
        return this.#inner.list(...parameters)
      }
      count(...parameters: Parameters<Store['count']>) {
        return this.#inner.count(...parameters)
      }
      stream(...parameters: Parameters<Store['stream']>) {
        return this.#inner.stream(...parameters)
      }
      write(...parameters: Parameters<Store['write']>) {
        return this.#inner.write(...parameters)
      }
      close() {
        return this.#inner.close()
      }
    }
    const { api, send } = make(new Counting())
    await send('/cars', 'POST', { color: 'red' })
    expect((await send('/cars/1', 'PATCH', { color: 'blue' })).status).toBe(303)
    expect(await api.collection('cars').list().toArray()).toMatchObject([{ color: 'blue' }])
    await api.close()
  })

  it.each([
    [{ idempotency: 'store' }, /needs the methods claim and complete/],
    [{ transaction: async () => 1 }, /with transactions needs idempotency: 'store'/],
    [{ idempotency: 'disk' }, /idempotency: 'store', 'process' or 'none'/],
    [{ pages: 'cursor' }, /pages: 'key' or 'offset'/],
    [{ pages: undefined }, /pages: 'key' or 'offset'/],
  ])('a store with %j is refused', (wrong, message) => {
    // Wrong on purpose.
    const store = { ...offsetStore(), ...wrong } as Store
    expect(() => make(store)).toThrow(message)
  })
})

test('a failing case names the method and what it got', async () => {
  const broken = () => ({ ...memoryStore(), count: () => 5 })
  const failing = storeCases(broken).find(({ name }) => name.startsWith('each operator'))
  await expect(failing?.run()).rejects.toThrow(
    /5 !== 2[\s\S]*The last call: store\.count\(\{\s+where: \[[\s\S]*\nIt returned: 5$/,
  )
  const throwing = storeCases(() => ({ ...memoryStore(), attach: () => undefined }))
  await expect(throwing[0]?.run()).rejects.toThrow(
    /The last call: store\.write\([\s\S]*\nIt threw: TypeError: The store belongs to no collection yet$/,
  )
})

test('a store may destructure its parameters and pass them on: absent options are undefined', () => {
  const { fields } = shapeWith('integer')
  const list = ({ where, search }: Selection, { signal }: StoreOptions) => {
    const options: StoreOptions = { signal }
    const page: StorePage = { items: [], more: false, total: options.signal ? 1 : undefined }
    const passes = matcher({ where, search }, fields)
    return [page.total, passes({ code: 'A', price: 1 })]
  }
  expect(list({ where: [], sort: [] }, {})).toEqual([undefined, true])
})
