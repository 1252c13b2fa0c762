// All issues of a body are reported together in every format: those of single values, which the format
// finds, and those of the schema.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'

const Car = z.object({
  immatriculation: z.string().regex(/^[A-Z]{2}-\d{3}-[A-Z]{2}$/),
  color: z.enum(['blue', 'red']),
  price: z.number(),
  doors: z.int().default(5),
  sizes: z.array(z.int()).max(1).optional(),
  model: z.object({ name: z.string().min(1), year: z.int().optional() }).optional(),
  lenient: z.coerce.number().optional(),
  code: z
    .string()
    .refine(() => {
      throw new HttpError(403, [{ message: 'Not yours', type: 'forbidden' }])
    })
    .optional(),
})
const cars = defineCollection({
  name: 'cars',
  schema: Car,
  store: memoryStore(),
  id: 'integer',
  actions: {
    sell: {
      on: 'item',
      input: z.object({ price: z.number(), to: z.string().min(3) }),
      run: () => 'sold',
    },
    find: {
      on: 'collection',
      method: 'GET',
      input: z.object({ price: z.number(), word: z.string().min(3) }),
      run: () => 'found',
    },
  },
})
const api = defineApi({ collections: [cars] })
await api.collection(cars).create({ immatriculation: 'AB-123-CD', color: 'red', price: 1 })

const Errors = z.object({
  errors: z.array(
    z.object({ message: z.string(), field: z.string().optional(), type: z.string() }),
  ),
})

async function ask(method: string, path: string, type?: string, body?: string | FormData) {
  const accept = 'application/json'
  const headers = type === undefined ? { accept } : { 'content-type': type, accept }
  const init = { method, headers, ...(body !== undefined && { body }) }
  const answer = await api.fetch(new Request(`http://cars.example${path}`, init))
  const { errors } = Errors.parse(await answer.json())
  return { status: answer.status, errors }
}

async function issues(...request: Parameters<typeof ask>): Promise<string[]> {
  const { status, errors } = await ask(...request)
  expect(status).toBe(400)
  return errors.map(({ field, type }) => `${field} ${type}`).sort()
}

const FORM = 'application/x-www-form-urlencoded'
const bad = { immatriculation: 'bad', color: 'pink', price: 'x', 'model.name': '' }
const all = [
  'color invalid_value',
  'immatriculation invalid_format',
  'model.name too_small',
  'price invalid_type',
]

describe.each([
  ['POST', '/cars'],
  ['PUT', '/cars/1'],
  ['PATCH', '/cars/1'],
])('%s %s reports every issue', (method, path) => {
  it('of JSON', async () => {
    const { 'model.name': name, ...rest } = bad
    const body = JSON.stringify({ ...rest, model: { name } })
    expect(await issues(method, path, 'application/json', body)).toEqual(all)
  })
  it('of a form', async () => {
    const body = new URLSearchParams(bad).toString()
    expect(await issues(method, path, FORM, body)).toEqual(all)
  })
  it('of a form in parts', async () => {
    const body = new FormData()
    for (const [name, value] of Object.entries(bad)) body.set(name, value)
    expect(await issues(method, path, undefined, body)).toEqual(all)
  })
  it('of XML', async () => {
    const body =
      '<car><immatriculation>bad</immatriculation><color>pink</color><price>x</price><model><name></name></model></car>'
    expect(await issues(method, path, 'application/xml', body)).toEqual(all)
  })
})

describe('one issue of each field', () => {
  it.each<[string, string, string[]]>([
    ['a value given twice', 'price=1&price=2', ['price repeated_key']],
    ['a value that is an object', 'price=1&model=x', ['model invalid_type']],
    ['an element, of a list too long', 'price=1&sizes=x&sizes=1&sizes=2', ['sizes invalid_type']],
    ['text that is not JSON', 'price:json={', ['price invalid_json']],
    ['a coerced value given twice', 'price=1&lenient=1&lenient=2', ['lenient repeated_key']],
    ['an unknown field', 'prize=1&price=x', ['price invalid_type', 'prize unknown_field']],
  ])('%s', async (_, pairs, expected) => {
    const body = `immatriculation=AB-124-CD&color=red&${pairs}`
    expect(await issues('POST', '/cars', FORM, body)).toEqual(expected)
  })

  it('has the message of the format', async () => {
    const { errors } = await ask('POST', '/cars', FORM, new URLSearchParams(bad).toString())
    expect(errors.map(({ message }) => message)).toContain('price must be a number, not "x"')
  })
})

it('an issue of the format alone refuses the body', async () => {
  const body = '<car><price vat="1">1</price></car>'
  expect(await issues('PATCH', '/cars/1', 'application/xml', body)).toEqual([
    'price unknown_attribute',
  ])
})

it('another error than invalid values is reported alone', async () => {
  const { status } = await ask('PUT', '/cars/2', FORM, 'price=x')
  expect(status).toBe(404)
})

it('an HttpError of a schema is reported alone', async () => {
  const body = 'immatriculation=AB-124-CD&color=red&price=x&code=stolen'
  const { status, errors } = await ask('POST', '/cars', FORM, body)
  expect([status, errors]).toEqual([403, [{ message: 'Not yours', type: 'forbidden' }]])
})

it('all issues of the input of an action are reported, from a body and from a query', async () => {
  const input = 'price=x&to=a&word=a'
  expect(await issues('POST', '/cars/1/sell', FORM, input)).toEqual([
    'price invalid_type',
    'to too_small',
    'word unknown_field',
  ])
  expect(await issues('GET', '/cars/find?price=x&word=a')).toEqual([
    'price invalid_type',
    'word too_small',
  ])
})

it('issues under an Idempotency-Key leave the key free', async () => {
  const { fetch } = defineApi({ collections: [cars] })
  const send = async (body: string) => {
    const type = 'application/x-www-form-urlencoded'
    const headers = { 'content-type': type, 'idempotency-key': 'k1' }
    const answer = await fetch(
      new Request('http://api.test/cars', { method: 'POST', headers, body }),
    )
    return [answer.status, (await answer.text()).match(/"field":"\w+"/g)]
  }
  const wrong = 'immatriculation=AB-123-CD&color=pink&price=x'
  expect(await send(wrong)).toEqual([400, ['"field":"price"', '"field":"color"']])
  expect(await send('immatriculation=AB-123-CD&color=red&price=1')).toEqual([201, null])
})

it('issues of an XML part are reported by its name, with the others', async () => {
  const { fetch } = defineApi({ collections: [cars] })
  const body = new FormData()
  body.set('immatriculation', 'AB-123-CD')
  body.set('color', 'pink')
  body.set('price', new Blob(['<price>abc</price>'], { type: 'application/xml' }))
  const answer = await fetch(new Request('http://api.test/cars', { method: 'POST', body }))
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    {
      errors: [
        { field: 'price', message: 'price must be a number, not "abc"' },
        { field: 'color' },
      ],
    },
  ])
})
