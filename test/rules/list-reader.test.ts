// What a reader of lists remembers of a query changes nothing of what the query means.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'
import { compileListReader, type ListReader } from '../../src/pagination/list-reader.ts'
import { printPageHeaders } from '../../src/pagination.ts'
import { type Field, parseParameters, parseSort, printCursor } from '../../src/rules/index.ts'
import { runs } from '../random.ts'

const plain = { nullable: false, optional: false }
const fields = new Map<string, Field>([
  ['id', { kind: 'integer', ...plain }],
  ['color', { kind: 'string', ...plain }],
  ['price', { kind: 'number', ...plain }],
])
const page = { unit: 'cars', defaultLimit: 25, maxLimit: 100 }
const compile = () => compileListReader({ fields, id: 'id', ...page })

function send(reader: ListReader, text: string, range?: string) {
  return reader(parseParameters(text) ?? [], range, text)
}

/** Everything that a reader finds in a request, so that it can be compared. */
function read(reader: ListReader, text: string, range?: string): unknown {
  try {
    const { query, window, links, namesPage, fieldsText } = send(reader, text, range)
    const found = { count: 25, more: true, total: 60, firstKey: [26], lastKey: [50] }
    const options = { unit: 'cars', sort: query.sort, address: 'http://a/cars', links }
    return {
      query,
      window,
      namesPage,
      fieldsText,
      headers: printPageHeaders(window, found, options),
    }
  } catch (error) {
    if (error instanceof HttpError) return error.errors
    throw error
  }
}

const cursor = (sort: string, id: number) =>
  printCursor({ key: [id], backward: false, position: id }, parseSort(sort))

test('texts read again and again, in any order, mean the same as on a new reader', () => {
  const pair = fc.constantFrom(
    'color=red',
    'color=r%65d',
    'color[ne]=blue,x',
    'price[gte]=10',
    'price=cheap',
    'colr=red',
    'sort=-price',
    'sort=id',
    'fields=id,color',
    'limit=5',
    'limit=x',
    'offset=0',
    'offset=50',
    'offset=x',
    'off%73et=5',
    `cursor=${cursor('id', 25)}`,
    `cursor=${cursor('-price', 25)}`,
    `curso%72=${cursor('id', 30)}`,
    'cursor=',
    'xcursor=1',
    '_=123',
    '_=456',
    'suppress_error_codes',
    '',
  )
  const text = fc.array(pair, { maxLength: 4 }).map(pairs => pairs.join('&'))
  const range = fc.option(fc.constantFrom('cars=5-9', 'cars=x', 'bytes=0-1'), { nil: undefined })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, range), { maxLength: 12 }), requests => {
      const reader = compile()
      for (const [each, header] of [...requests, ...requests]) {
        expect(read(reader, each, header)).toEqual(read(compile(), each, header))
      }
    }),
    { numRuns: runs(500) },
  )
})

describe('a reader of lists', () => {
  it('gives the same request for the same text, and for another place of the same list', () => {
    const reader = compile()
    const first = send(reader, 'color=red&limit=5')
    expect(send(reader, 'color=red&limit=5').query).toBe(first.query)
    const next = send(reader, `color=red&limit=5&cursor=${cursor('id', 5)}`)
    expect([next.query, next.links]).toEqual([first.query, first.links])
    expect(next.query).toBe(first.query)
    expect(next.window).toMatchObject({ cursor: { key: [5], position: 5 }, limit: 5 })
    expect(send(reader, 'offset=10&color=red&limit=5').query).toBe(first.query)
  })

  it('remembers up to a thousand texts of at most 512 characters', () => {
    const reader = compile()
    const { query } = send(reader, 'price=0')
    for (let price = 1; price < 500; price++) send(reader, `price=${price}`)
    expect(send(reader, 'price=0').query).toBe(query)
    for (let price = 500; price < 1500; price++) send(reader, `price=${price}`)
    expect(send(reader, 'price=0').query).not.toBe(query)
    const long = `color=${'x'.repeat(507)}`
    expect(send(reader, long).query).not.toBe(send(reader, long).query)
  })
})

describe('the parameter _ (a cache buster)', () => {
  const things = defineCollection({
    name: 'things',
    id: 'integer',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const marked = defineCollection({
    name: 'marked',
    id: 'integer',
    schema: z.object({ _: z.string() }),
    store: memoryStore(),
  })
  const { fetch, collection } = defineApi({ collections: [things, marked] })
  const ask = (path: string, method = 'GET') =>
    fetch(new Request(`http://a.example${path}`, { method }))

  it('is ignored on lists, counts and items, and left out of links', async () => {
    await collection(things).create({ name: 'a' })
    for (const path of ['/things?_=1', '/things?_=1&_=2', '/things/count?_=1', '/things/1?_=1']) {
      for (const method of ['GET', 'HEAD']) expect((await ask(path, method)).status).toBe(200)
    }
    const { headers } = await ask('/things?_=1&name=a&limit=1')
    expect(headers.get('link')).toContain('<http://a.example/things?name=a&limit=1>; rel="first"')
    expect(headers.get('link')).not.toContain('_=')
  })

  it('is a filter where the items have such a field', async () => {
    for (const _ of ['a', 'b']) await collection(marked).create({ _ })
    const answer = await ask('/marked?_=b')
    expect(await answer.json()).toMatchObject([{ id: 2, _: 'b' }])
    expect(answer.headers.get('link')).toContain('_=b')
  })
})
