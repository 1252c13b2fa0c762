// CSV and NDJSON as arrays that are created: an export is an import.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item, memoryStore } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import { openHandler } from '../handlers.ts'

async function cars(policies: Policies = {}) {
  const schema = z.object({
    color: z.string(),
    note: z.string().nullable().optional(),
    price: z.number().optional(),
    year: z.int().optional(),
    sold: z.boolean().optional(),
    day: z.iso.date().optional(),
    tags: z.array(z.string()).optional(),
    either: z.union([z.string(), z.number()]).optional(),
    size: z.object({ width: z.number().optional(), name: z.string().optional() }).optional(),
    secret: z.string().default('s'),
  })
  const made = defineCollection({
    name: 'cars',
    schema,
    store: memoryStore(),
    fields: { secret: 'writeOnly' },
  })
  const api = defineApi({ collections: { cars: made }, batch: true, ...policies })
  const { request } = await openHandler('fetch', api)
  const send = (type: string, body: string) =>
    request('/cars', { method: 'POST', body, headers: { 'content-type': type } })
  const list = async (): Promise<Item[]> => (await request('/cars')).json as Item[]
  return { send, request, list, api }
}

/** An item without what the server sets. */
function own({ id: _id, created_at: _c, updated_at: _u, ...values }: Item): Item {
  return values
}

const PIECES = [
  ...['=', '+', '-', '@', "'", "''", '＝', '"', '""', ',', ';', '\t', '\r', '\n', '\r\n', ' '],
  ...['1', '1e5', 'true', 'null', 'a', 'é', '🚗', '{}', '[1]', '\u2028', '\ufeff', '.', '\\'],
]

/** A pseudorandom sequence: the same texts in each run. */
function* randomTexts(count: number): Generator<string> {
  let state = 7
  const next = (bound: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * bound)
  }
  for (let at = 0; at < count; at++)
    yield Array.from({ length: next(6) }, () => PIECES[next(PIECES.length)]).join('')
}

describe.each(['csv', 'ndjson'] as const)('%s', extension => {
  const type = extension === 'csv' ? 'text/csv' : 'application/x-ndjson'

  it('imports what was exported', async () => {
    const { api, request } = await cars()
    const items: Parameters<ReturnType<typeof api.collection<'cars'>>['create']>[0][] = [
      { color: 'red', note: null, price: -1.5e-7, year: 2020, sold: false, day: '2026-01-31' },
      { color: '', tags: ['=a', ''], either: '1', size: { width: 2 } },
      { color: 'x', either: 1, size: { name: '' }, tags: [] },
    ]
    for (const item of items) await api.collection('cars').create(item)
    const exported = await request(`/cars.${extension}`)
    const other = await cars()
    expect(await other.send(type, exported.text)).toMatchObject({ status: 201 })
    const expected = items.map(({ note, ...item }) =>
      extension === 'csv' || note === undefined ? item : { ...item, note },
    )
    expect((await other.list()).map(own)).toEqual(expected)
  })

  it('gives back 10,000 random texts', async () => {
    const one = await cars()
    const other = await cars()
    const texts = [...randomTexts(10_000)]
    for (let at = 0; at < texts.length; at += 1000) {
      const items = texts.slice(at, at + 1000).map(color => ({ color, tags: [color] }))
      await one.api.collection('cars').create(items)
    }
    const exported = await one.request(`/cars.${extension}`)
    // The export is cut into requests as a client does: whole records, the header in front of each.
    const parts = extension === 'csv' ? splitCsv(exported.text) : splitLines(exported.text)
    expect(parts.length).toBe(10)
    for (const part of parts) expect((await other.send(type, part)).status).toBe(201)
    const found: string[] = []
    for await (const { color, tags } of other.api.collection('cars').list()) {
      expect(tags).toEqual([color])
      found.push(color)
    }
    expect(found).toEqual(texts)
  })
})

/** Splits a table into parts of 1,000 records. */
function splitCsv(text: string): string[] {
  const records = text.match(/(?:"(?:[^"]|"")*"|[^"\r\n])*\r\n/g) ?? []
  const [header, ...rest] = records
  const parts = Array.from({ length: Math.ceil(rest.length / 1000) }, (_, at) =>
    rest.slice(at * 1000, (at + 1) * 1000).join(''),
  )
  return parts.map(part => header + part)
}

function splitLines(text: string): string[] {
  const lines = text.split('\n').slice(0, -1)
  return Array.from({ length: Math.ceil(lines.length / 1000) }, (_, at) =>
    lines.slice(at * 1000, (at + 1) * 1000).join('\n'),
  )
}

/** Columns that must be present: what an empty cell stands for there. */
const Filled = z.object({
  name: z.string().nullable(),
  doors: z.int().nullable(),
  sold: z.boolean().optional(),
  note: z.string().nullish(),
  level: z.string().nullable().default('low'),
  tags: z.array(z.string()).nullable(),
  size: z.object({ width: z.int().nullable(), unit: z.string().optional() }),
  maker: z.object({ name: z.string(), place: z.string().nullable() }).nullable(),
  owner: z.object({ name: z.string(), place: z.string().nullable() }).optional(),
})
const NULLS = { name: null, doors: null, tags: null, size: { width: null }, maker: null }
const HEADER =
  'name,doors,sold,note,level,tags,size.width,size.unit,maker.name,maker.place,owner.name,owner.place'

describe('a cell', () => {
  const cases: readonly (readonly [name: string, rows: string, items: readonly object[]])[] = [
    [
      'that is empty is null where the property must be present, else absent',
      ',,true,,,,,,,,,\r\n',
      [{ ...NULLS, sold: true, level: 'low' }],
    ],
    [
      'that is empty is so within an object that has other cells',
      ',,,,,,,cm,A,,B,\r\n',
      [
        {
          ...{ ...NULLS, level: 'low', size: { width: null, unit: 'cm' } },
          ...{ maker: { name: 'A', place: null }, owner: { name: 'B', place: null } },
        },
      ],
    ],
    [
      'in quotes is the empty text in a column of texts, else empty',
      '"","","","","","","","","","","",""\r\n',
      [
        {
          ...{ ...NULLS, name: '', note: '', level: '', size: { width: null, unit: '' } },
          ...{ maker: { name: '', place: '' }, owner: { name: '', place: '' } },
        },
      ],
    ],
    [
      'of a spreadsheet is TRUE or FALSE; rows and columns of empty cells are left out',
      'a,,TRUE,,,,,,,,,,,\r\n,,,,,,,,,,,,,\r\nb,,FALSE\r\n,\r\n\r\n',
      [
        { ...NULLS, name: 'a', level: 'low', sold: true },
        { ...NULLS, name: 'b', level: 'low', sold: false },
      ],
    ],
  ]
  it.each(cases)('%s', async (_name, rows, items) => {
    const filled = defineCollection({ name: 'filled', schema: Filled, store: memoryStore() })
    const { request } = await openHandler(
      'fetch',
      defineApi({ collections: [filled], batch: true }),
    )
    const headers = { 'content-type': 'text/csv' }
    const body = `${HEADER},,\r\n${rows}`
    const answer = await request('/filled', { method: 'POST', headers, body })
    expect([answer.status, answer.json]).toMatchObject([201, items])
    expect((answer.json as Item[]).map(own)).toEqual(items)
  })
})

describe('nothing to create is 200 with an empty list', () => {
  it.each([
    ['application/json', '[]'],
    ['application/x-ndjson', '\n'],
    ['text/csv', 'color,price\r\n'],
    ['text/csv', 'color,price\r\n,\r\n'],
  ])('%s: %j', async (type, body) => {
    const { send, list } = await cars()
    expect(await send(type, body)).toMatchObject({ status: 200, json: [] })
    expect(await list()).toEqual([])
  })
})

it('a row of a table without values is not skipped by its reader', async () => {
  const made = await cars()
  await made.api.collection('cars').create({ color: '', price: undefined })
  const exported = await made.request('/cars.csv?fields=price,year')
  expect(exported.text).toBe('price,year\r\n"",\r\n')
})

describe('refused', () => {
  const cases: Readonly<Record<string, [type: string, body: string, issue: object]>> = {
    'an unknown column': [
      'text/csv',
      'color,colour\r\nred,blue\r\n',
      { field: '0.colour', message: /^Line 2: .*did you mean color/ },
    ],
    'a wrong value': [
      'text/csv',
      'color,price\r\n"a\nb",1\r\nred,much\r\n',
      { field: '1.price', message: /^Line 4: price must be a number/ },
    ],
    'a missing value': ['text/csv', 'price\n1\n', { field: '0.color', message: /^Line 2: / }],
    'a quote that is not closed': [
      'text/csv',
      'color\n"red\n',
      { message: /Line 2 .* not closed/ },
    ],
    'a text behind a quote': ['text/csv', 'color\n"red"x\n', { message: /Line 2 .* behind/ }],
    'a word that is no boolean': ['text/csv', 'color,sold\na,WAHR\n', { field: '0.sold' }],
    'too many cells': ['text/csv', 'color\nred,1\n', { message: /Line 2 .*2 cells for 1 columns/ }],
    'two columns of a name': ['text/csv', 'color,color\na,b\n', { type: 'repeated_key' }],
    'a forbidden name': ['text/csv', 'color,__proto__.x\na,b\n', { type: 'invalid_value' }],
    'a value and a part of it': [
      'text/csv',
      'color,color.x\na,b\n',
      { message: /values for color\.x and for a part/ },
    ],
    'a line that is no JSON': [
      'application/x-ndjson',
      '{"color":"red"}\n{"color"\n',
      { type: 'invalid_json', message: /^Line 2: The body is not valid JSON/ },
    ],
    'a wrong line': [
      'application/x-ndjson',
      '\n{"color":"red"}\n\n{"color":7}\n',
      { field: '1.color', message: /^Line 4: color must be a string/ },
    ],
  }
  it.each(Object.entries(cases))('%s', async (_name, [type, body, issue]) => {
    const { send, list } = await cars()
    const answer = await send(type, body)
    const { errors } = answer.json as { errors: { message: string }[] }
    expect(answer.status).toBe(400)
    for (const [name, wanted] of Object.entries(issue)) {
      const found = Object(errors[0])[name]
      if (wanted instanceof RegExp) expect(found).toMatch(wanted)
      else expect(found).toBe(wanted)
    }
    expect(await list()).toEqual([])
  })

  it('a column that exports never have and items need, by its name', async () => {
    const users = defineCollection({
      name: 'users',
      schema: z.object({ name: z.string(), password: z.string() }),
      store: memoryStore(),
      fields: { password: 'writeOnly' },
    })
    const { request } = await openHandler(
      'fetch',
      defineApi({ collections: { users }, batch: true }),
    )
    const headers = { 'content-type': 'text/csv' }
    const answer = await request('/users', { method: 'POST', headers, body: 'name\nAnn\n' })
    expect(answer.json).toMatchObject({ errors: [{ field: '0.password', type: 'required' }] })
  })

  it('tables where no array is created', async () => {
    const { request, api } = await cars()
    const { id } = await api.collection('cars').create({ color: 'red' })
    const headers = { 'content-type': 'text/csv' }
    const body = 'color\nblue\n'
    for (const method of ['PUT', 'PATCH'])
      expect((await request(`/cars/${id}`, { method, headers, body })).status).toBe(415)
  })
})
