// How much is included: nothing is cut, a page has fewer items.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseLink } from '../../src/http/link.ts'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { usePostgres } from '../stores/postgres.ts'
import { DATABASES } from './shop.ts'

usePostgres()

/** Cars with so many options each, and a text of this length in each option. */
async function open(
  store: () => Store,
  counts: readonly number[],
  { text = 'x', page }: { readonly text?: string; readonly page?: number } = {},
) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ n: z.int() }),
    store: store(),
    maxLimit: 500,
  })
  const optionStore = store()
  const options = defineCollection({
    name: 'options',
    id: 'integer',
    schema: z.object({ car_id: z.int(), text: z.string() }),
    store: optionStore,
    parents: { car_id: 'cars' },
    maxLimit: 300,
  })
  const parts = defineCollection({
    name: 'parts',
    id: 'integer',
    schema: z.object({ option_id: z.int() }),
    store: store(),
    parents: { option_id: 'options' },
  })
  const api = defineApi({
    collections: { cars, options, parts },
    limits: page === undefined ? {} : { page },
  })
  for (const n of counts) await api.collection(cars).create({ n })
  const values = counts.flatMap((count, at) =>
    Array.from({ length: count }, () => ({ car_id: at + 1, text })),
  )
  for (let at = 0; at < values.length; at += 400)
    await api.collection(options).create(values.slice(at, at + 400))
  const get = async (path: string, headers = {}) => {
    const answer = await api.fetch(new Request(`http://x/${path}`, { headers }))
    const text = await answer.text()
    return { status: answer.status, text, headers: answer.headers, items: JSON.parse(text) }
  }
  return { api, get }
}

interface Car {
  readonly id: number
  readonly options: readonly { readonly car_id: number }[]
}

/** Follows links from a page; gives the sizes of the pages, and the cars. */
async function walk(
  get: Awaited<ReturnType<typeof open>>['get'],
  path: string,
  rel: 'next' | 'previous',
) {
  const sizes: number[] = []
  const cars: Car[] = []
  for (let at: string | undefined = path; at !== undefined; ) {
    const { items, headers, status } = await get(at)
    expect(status).toBe(200)
    sizes.push(items.length)
    cars.push(...(rel === 'next' ? items : items.toReversed()))
    const link: string | undefined = parseLink(headers.get('link') ?? '').find(
      each => each.rel === rel,
    )?.href
    at = link?.replace('http://x/', '')
  }
  return { sizes, cars }
}

describe.each(Object.keys(DATABASES))('%s', name => {
  const start = async (...[counts, options]: [readonly number[], Parameters<typeof open>[2]?]) =>
    open((await DATABASES[name]?.()) ?? memoryStore, counts, options)

  test('beyond 1,000 included items a page has fewer, and the links lead to all of them', async () => {
    const counts = Array.from({ length: 30 }, (_, at) => (at * 37) % 150)
    const { get } = await start(counts)
    const { headers, items } = await get('cars?include=options&limit=30')
    const size = items.length
    const included = (cars: readonly Car[]) =>
      cars.reduce((sum, { options }) => sum + options.length, 0)
    expect(included(items)).toBeLessThanOrEqual(1000)
    expect(included(items) + (counts[size] ?? 0)).toBeGreaterThan(1000)
    expect(headers.get('content-range')).toBe(`cars 0-${size - 1}/30`)
    const forward = await walk(get, 'cars?include=options&limit=30', 'next')
    expect(forward.cars.map(({ options }) => options.length)).toEqual(counts)
    expect(forward.sizes.length).toBeGreaterThan(1)
    const last = parseLink(headers.get('link') ?? '').find(({ rel }) => rel === 'last')?.href ?? ''
    const backward = await walk(get, last.replace('http://x/', ''), 'previous')
    expect(backward.cars.map(({ id }) => id)).toEqual(forward.cars.map(({ id }) => id).toReversed())
    for (const { id, options } of forward.cars)
      expect(options.every(({ car_id }) => car_id === id)).toBe(true)
  })

  test('the same by Range, and by offset', async () => {
    const { get } = await start(Array.from({ length: 20 }, () => 90))
    const ranged = await get('cars?include=options', { range: 'cars=2-19' })
    expect(ranged.status).toBe(206)
    expect(ranged.headers.get('content-range')).toBe('cars 2-12/20')
    const { headers } = await get('cars?include=options&offset=1&limit=15')
    expect(headers.get('content-range')).toBe('cars 1-11/20')
    expect(headers.get('link')).toContain('offset=12')
  })

  test('an item with more than a page of its collection is a 400 that names its list', async () => {
    const { get } = await start([3, 301, 2])
    for (const path of ['cars?include=options', 'cars/2?include=options']) {
      const { status, text } = await get(path)
      expect(status).toBe(400)
      expect(text).toContain('too_many_included')
      expect(text).toContain('/cars/2/options')
    }
    expect((await get('cars?include=options&limit=1')).status).toBe(200)
    const some = await get('cars?include=options(2)')
    expect(some.items.map(({ options }: Car) => options.length)).toEqual([2, 2, 2])
  })

  test('one item may have more than 1,000 with those of deeper levels', async () => {
    const { api, get } = await start([200, 1])
    const parts = Array.from({ length: 1000 }, (_, at) => ({ option_id: 1 + (at % 200) }))
    await api.collection('parts').create(parts)
    const { items, headers } = await get('cars?include=options.parts')
    expect(headers.get('content-range')).toBe('cars 0-0/2')
    expect(items[0].options.flatMap(({ parts: all }: { parts: unknown[] }) => all)).toHaveLength(
      1000,
    )
  })

  test('bytes count: a page ends before the item that exceeds limits.page, and one alone that does is a 400', async () => {
    const limits = { text: 'é'.repeat(1000), page: 20_000 }
    const { get } = await start([2, 2, 2, 2, 8, 2, 2], limits)
    const { items, text } = await get('cars?include=options')
    expect(items).toHaveLength(4)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.page)
    const { sizes } = await walk(get, 'cars?include=options', 'next')
    expect(sizes).toEqual([4, 1, 2])
    const large = await start([2, 12], limits)
    expect((await large.get('cars?include=options')).items).toHaveLength(1)
    const alone = await large.get('cars/2?include=options')
    expect(alone.text).toContain('too_many_included')
    expect((await large.get('cars/1?include=options')).status).toBe(200)
  })

  test('a whole list reads what it refers to batch by batch', async () => {
    const { api } = await start(Array.from({ length: 450 }, () => 1))
    const answer = await api.fetch(new Request('http://x/options.ndjson?include=car&fields=car.id'))
    const lines = (await answer.text()).trim().split('\n')
    expect(lines.map(line => JSON.parse(line).car.id)).toEqual(lines.map((_, at) => at + 1))
    expect(lines).toHaveLength(450)
  })
})
