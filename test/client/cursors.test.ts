// Pages that travel: `cursor` goes on where a page ended, in process and by the client alike.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

const schema = z.object({ price: z.int(), color: z.string() })
const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), search: ['color'] })
const seeking = memoryStore()
/** A store that finds pages by their number alone. */
const vans = defineCollection({
  name: 'vans',
  schema,
  store: { ...seeking, pages: 'offset' },
})
const api = defineApi({ collections: { cars, vans } })
const server = await serve(api.handler)
const client = createClient<typeof api>(server.url)
const ways = { client, 'in process': { cars: api.collection(cars), vans: api.collection(vans) } }
afterAll(async () => {
  await server.close()
  await api.close()
})

beforeAll(async () => {
  for (let price = 0; price < 250; price++) {
    const color = `color ${price % 3}`
    await client.cars.create({ price, color })
    await client.vans.create({ price, color })
  }
})

const NAMES = ['client', 'in process'] as const
const SORTS = ['price', '-price', ['color', '-price']] as const

describe.each(NAMES)('%s', name => {
  test.each(['cars', 'vans'] as const)(
    '%s: each page goes on as JSON, whoever reads it',
    async kind => {
      const other = ways[name === 'client' ? 'in process' : 'client']
      for (const sort of SORTS) {
        const seen: number[] = []
        let cursor: string | undefined
        let turn = 0
        do {
          const list = (turn++ % 2 === 0 ? ways[name] : other)[kind].list({
            sort,
            limit: 60,
            cursor,
          })
          const page: { items: { price: number }[]; cursor?: string } = JSON.parse(
            JSON.stringify(await list.page()),
          )
          seen.push(...page.items.map(({ price }) => price))
          cursor = page.cursor
        } while (cursor !== undefined)
        const all = await ways[name][kind].list({ sort }).toArray()
        expect(seen).toEqual(all.map(({ price }) => price))
        expect(turn).toBe(5)
      }
    },
  )

  test('the rest of a list is iterated, or its first items', async () => {
    const { cars } = ways[name]
    const { cursor = '' } = await cars.list({ sort: 'price', limit: 100 }).page()
    const prices = async (limit?: number) =>
      (await cars.list({ sort: 'price', cursor, ...(limit && { limit }) }).toArray()).map(
        ({ price }) => price,
      )
    expect(await prices()).toEqual(Array.from({ length: 150 }, (_, at) => at + 100))
    expect(await prices(120)).toEqual(Array.from({ length: 120 }, (_, at) => at + 100))
    expect(await prices(2000)).toHaveLength(150)
    expect((await cars.list({ sort: 'price', cursor }).first())?.price).toBe(100)
    const found = await cars.search('color', { sort: 'price', cursor, limit: 1 }).toArray()
    expect(found.map(({ price }) => price)).toEqual([100])
    const page = await cars.list({ sort: 'price', cursor, limit: 30 }).page()
    expect(page.items[0]?.price).toBe(100)
    expect((await page.previous())?.items.at(-1)?.price).toBe(99)
  })

  test('a cursor of another sort, or none, is refused', async () => {
    const { cars } = ways[name]
    const { cursor = '' } = await cars.list({ sort: 'price', limit: 5 }).page()
    for (const query of [
      { sort: '-price', cursor },
      { sort: 'price', cursor: `${cursor}1` },
    ] as const) {
      await expect(cars.list(query).page()).rejects.toMatchObject({
        status: 400,
        errors: [{ field: 'cursor', type: 'invalid_cursor' }],
      })
    }
  })
})

test('a page is cloned without its functions', async () => {
  const page = await client.cars.list({ limit: 2 }).page()
  expect(structuredClone(page)).toEqual({ items: page.items, total: 250, cursor: page.cursor })
  expect((await page.next())?.items).toHaveLength(2)
  // React and SvelteKit send plain objects to a browser, and nothing that inherits.
  expect(Object.getPrototypeOf(page)).toBe(Object.prototype)
})

test('in process what is no cursor is a TypeError', () => {
  const { cars } = ways['in process']
  expect(() => cars.list({ cursor: 7 as never })).toThrow(TypeError)
  expect(() => cars.list({ cursor: '7', offset: 1 })).toThrow(
    new TypeError('offset and cursor exclude each other: name one of them'),
  )
})
