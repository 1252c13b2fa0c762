// The forms of a list's page, which are sent by GET: a browser sends every control, blank ones too.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { defineApi, defineCollection, json, memoryStore, xml } from '../../src/index.ts'

const Car = z.object({
  name: z.string(),
  color: z.enum(['red', 'blue', 'green']),
  price: z.number().nullable(),
  sold_to: z.string().nullable().default(null),
})

async function lot() {
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    id: 'integer',
    search: ['name'],
    actions: {
      quote: {
        on: 'collection',
        method: 'GET',
        input: z.object({ code: z.string().optional() }),
        run: ({ input }) => ({ code: input.code ?? 'none' }),
      },
    },
  })
  const api = defineApi({ collections: [cars], version: 1, pages: html, formats: [json, xml] })
  for (const [name, color, price] of [
    ['Clio', 'red', 9000],
    ['Zoé', 'blue', null],
    ['Twingo', 'green', 7000],
  ] as const)
    await api.collection(cars).create({ name, color, price })
  const visit = async (path: string, accept = 'text/html', method = 'GET') => {
    const url = new URL(path, 'http://cars.example')
    const answer = await api.fetch(
      new Request(url, { method, redirect: 'manual', headers: { accept } }),
    )
    const { status, headers } = answer
    return { status, headers, page: await answer.text() }
  }
  /** Where a page leads; `undefined` where it answers itself. */
  const moved = async (path: string, accept?: string, method?: string) => {
    const { status, headers } = await visit(path, accept, method)
    const location = headers.get('location')
    return status === 303 ? location?.replace('http://cars.example', '') : undefined
  }
  return { api, visit, moved }
}

describe('blank controls', () => {
  it.each([
    ['/v1/cars?color=&price[gte]=', '/v1/cars'],
    ['/v1/cars?color=&price[gte]=8000&limit=', '/v1/cars?price[gte]=8000'],
    ['/v1/cars?color', '/v1/cars'],
    ['/v1/cars.html?color=', '/v1/cars.html'],
    ['/v1/cars?name=Zo%C3%A9&color=&sort=', '/v1/cars?name=Zo%C3%A9'],
    ['/v1/cars/search?q=clio&color=', '/v1/cars/search?q=clio'],
    ['/v1/cars?unknown=', '/v1/cars'],
    ['/v1/cars?color=&price=x', '/v1/cars?price=x'],
  ])('%s leads to %s', async (path, to) => {
    const { moved } = await lot()
    expect(await moved(path)).toBe(to)
    expect(await moved(path, 'text/html', 'HEAD')).toBe(to)
    expect(await moved(to)).toBeUndefined()
  })

  it.each(['/v1/cars', '/v1/cars?color=red', '/v1/cars/count?color=', '/v1/cars/quote?code='])(
    '%s stays where it is',
    async path => {
      const { moved, visit } = await lot()
      expect(await moved(path)).toBeUndefined()
      expect((await visit(path)).status).toBe(200)
    },
  )

  it('are values in other formats', async () => {
    const { visit } = await lot()
    expect((await visit('/v1/cars?name=', 'application/json')).page).toBe('[]')
    expect((await visit('/v1/cars.json?name=')).page).toBe('[]')
    expect((await visit('/v1/cars?color=', 'application/json')).status).toBe(400)
    expect((await visit('/v1/cars.xml?price=')).status).toBe(400)
  })

  it('are left out where a client reads no status', async () => {
    const { visit } = await lot()
    const { status, page } = await visit('/v1/cars?name=&suppress_error_codes=true')
    expect([status, page.includes('Clio')]).toEqual([200, true])
  })
})
