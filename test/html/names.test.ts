// Names before ids: what a list shows first, and what an item's page is called.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { defineApi, form, type Item, json, memoryStore, type Scheme } from '../../src/index.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'
import { formOf, linkOf, textOf } from './reading.ts'

/** Whoever says `Test staff` is of the staff. */
const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const scope = /^Test (\w+)$/.exec(headers.authorization ?? '')?.[1]
    return scope === undefined ? undefined : { id: scope, scopes: [scope] }
  },
}

const RULES = { list: 'public', read: 'public', create: 'public', patch: 'public' } as const
const ACCESS = { ...RULES, delete: 'public' } as const

/** Cars with one item, and options below them. */
async function lot(schema: z.ZodObject, item: Item, more: Partial<Untyped> = {}) {
  const place = { store: memoryStore(), id: 'integer', access: ACCESS } as const
  const cars = defineUntyped({ ...place, name: 'cars', schema, ...more })
  const options = defineUntyped({
    ...place,
    store: memoryStore(),
    name: 'options',
    schema: z.object({ car_id: z.int(), name: z.string() }),
    parents: { car_id: 'cars' },
  })
  const api = defineApi({
    collections: [cars, options],
    pages: html,
    formats: [json, form],
    schemes: [scheme],
  })
  await api.collection(cars).create(item)
  const visit = async (path: string, init: RequestInit = {}, scope?: string) => {
    const headers = { accept: 'text/html', ...(scope && { authorization: `Test ${scope}` }) }
    const url = new URL(path, 'https://cars.example')
    return (await api.fetch(new Request(url, { ...init, headers }))).text()
  }
  return { visit }
}

const titleOf = (page: string) => textOf(/<h1>(.*?)<\/h1>/.exec(page)?.[1] ?? '')
const headOf = (page: string) =>
  [...page.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, cell = '']) => textOf(cell))
const crumbsOf = (page: string) =>
  textOf(/<nav class="breadcrumbs".*?<\/nav>/s.exec(page)?.[0] ?? '')

const price = z.number().default(5)
const color = z.enum(['red', 'blue'])

describe('the label of an item', () => {
  it.each<[string, z.ZodObject, Item, Partial<Untyped>, string, string]>([
    ['a name', z.object({ price, name: z.string() }), { name: 'Clio' }, {}, 'name', 'Clio'],
    [
      'a title',
      z.object({ a: z.string(), title: z.string() }),
      { a: 'b', title: 'T' },
      {},
      'title',
      'T',
    ],
    [
      'a name in capitals that may be absent',
      z.object({ a: z.string(), Name: z.string().nullable() }),
      { a: 'b', Name: 'Rock' },
      {},
      'Name',
      'Rock',
    ],
    [
      'what is searched first',
      z.object({ a: z.string(), model: z.object({ code: z.string() }) }),
      { a: 'b', model: { code: 'XJ' } },
      { search: ['model.code'] },
      'model.code',
      'XJ',
    ],
    [
      'a text that each has',
      z.object({ color, plate: z.string() }),
      { color: 'red', plate: 'P' },
      {},
      'plate',
      'P',
    ],
  ])('is %s', async (_, schema, item, more, column, label) => {
    const { visit } = await lot(schema, item, more)
    const list = await visit('/cars')
    expect(headOf(list)[0]).toBe(column)
    expect(linkOf(list, label)).toBe('/cars/1')
    expect(linkOf(list, '1')).toBe('/cars/1')
    const page = await visit('/cars/1')
    expect(titleOf(page)).toBe(label)
    expect(page).toContain(`<title>${label} · cars · API</title>`)
    expect(formOf(page, `Delete ${label}`).action).toBe('/cars/1')
    expect(crumbsOf(await visit('/cars/1/options'))).toBe(`API cars ${label} options`)
  })

  it.each<[string, z.ZodObject, Item]>([
    ['no text', z.object({ price }), {}],
    ['a choice', z.object({ color }), { color: 'red' }],
    [
      'a text that may be absent',
      z.object({ notes: z.string().optional() }),
      { notes: 'Two owners' },
    ],
    ['a blank name', z.object({ name: z.string() }), { name: '' }],
  ])('is none where there is %s', async (_, schema, item) => {
    const { visit } = await lot(schema, item)
    expect(linkOf(await visit('/cars'), '1')).toBe('/cars/1')
    expect(titleOf(await visit('/cars/1'))).toBe('car 1')
    expect(crumbsOf(await visit('/cars/1'))).toBe('API cars car 1')
  })

  it('is a text of its own: no markup', async () => {
    const { visit } = await lot(z.object({ name: z.string() }), { name: '<img src=x>"&' })
    for (const path of ['/cars', '/cars/1', '/cars/1/options'])
      expect(await visit(path)).not.toContain('<img')
    expect(titleOf(await visit('/cars/1'))).toBe('<img src=x>"&')
  })

  it('is what the principal may read', async () => {
    const fields = { name: { read: ['staff'], write: ['staff'] } }
    const schema = z.object({ name: z.string().optional(), price })
    const { visit } = await lot(schema, { name: 'secret' }, { fields })
    const seen = async (scope?: string) => [
      titleOf(await visit('/cars/1', {}, scope)),
      crumbsOf(await visit('/cars/1/options', {}, scope)),
      headOf(await visit('/cars', {}, scope))[0],
    ]
    expect(await seen('staff')).toEqual(['secret', 'API cars secret options', 'name'])
    expect(await seen()).toEqual(['car 1', 'API cars car 1 options', 'id'])
    expect(await seen('clerk')).toEqual(['car 1', 'API cars car 1 options', 'id'])
  })

  it('is on the page of what was created and what was deleted', async () => {
    const { visit } = await lot(z.object({ name: z.string() }), { name: 'Clio' })
    const body = new URLSearchParams({ name: 'Zoé' })
    const made = await visit('/cars', { method: 'POST', body })
    expect(linkOf(made, 'Zoé')).toBe('/cars/2')
    const gone = new URLSearchParams({ _method: 'DELETE' })
    const removed = await visit('/cars/2', { method: 'POST', body: gone })
    expect(removed).toContain('<title>Zoé is deleted')
  })

  it('is left out with its column, where the query asks for others', async () => {
    const { visit } = await lot(z.object({ name: z.string(), price }), { name: 'Clio' })
    expect(headOf(await visit('/cars?fields=price,id'))).toEqual(['id', 'price'])
    expect(titleOf(await visit('/cars/1?fields=price'))).toBe('car 1')
    // Without its id there is nowhere to lead to.
    expect(await visit('/cars?fields=name')).toMatch(/<td data-label="name">Clio<\/td>/)
  })
})
