// `checks: 'changed'`: rows that are older than their schema can be changed, and no write makes another one invalid.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'

const Car = z.object({
  name: z.string().min(3),
  color: z.enum(['red', 'blue']),
  price: z.int().min(0).default(5),
  note: z.string().trim().optional(),
  size: z.object({ doors: z.int() }).optional(),
})
const OLD = { id: 'old', name: 'A', color: 'green', price: 7, note: ' a ' }
const NEW = { id: 'new', name: 'Clio', color: 'red', price: 7 }

/** A store whose items are older than the schema. */
async function serve(schema: z.ZodObject = Car, checks: 'all' | 'changed' = 'changed') {
  const store = memoryStore()
  const any = z.looseObject({ id: z.string() })
  const seed = defineCollection({ name: 'cars', schema: any, store, timestamps: false })
  for (const item of [OLD, NEW])
    await defineApi({ collections: [seed] })
      .collection(seed)
      .create(item)
  const whole = schema.extend({ id: z.string() })
  const cars = defineCollection({ name: 'cars', schema: whole, store, timestamps: false, checks })
  const { fetch } = defineApi({ collections: [cars] })
  // Not by a handler of tests: they compare each answer with the document, which old rows do not fit.
  return async (method: string, path: string, json?: unknown) => {
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    const url = `https://api.example/cars${path && `/${path}`}`
    const response = await fetch(new Request(url, { method, headers, ...body }))
    return [response.status, await response.json()]
  }
}

const fields = (answer: unknown) =>
  Object(answer).errors?.map(({ field }: { field: string }) => field)

test('a patch of another property goes through, and the old values stay byte for byte', async () => {
  const ask = await serve()
  expect(await ask('PATCH', 'old', { price: 8 })).toEqual([200, { ...OLD, price: 8 }])
  expect(await ask('PATCH', 'old', { size: { doors: 5 } })).toMatchObject([200, { note: ' a ' }])
})

test('a changed property is parsed alone, with what its schema makes of it', async () => {
  const ask = await serve()
  expect(await ask('PATCH', 'old', { note: ' b ' })).toEqual([200, { ...OLD, note: 'b' }])
  expect(await ask('PATCH', 'old', { price: null })).toEqual([200, { ...OLD, note: 'b', price: 5 }])
})

test('the issues of what a write touches refuse it, and those alone', async () => {
  const ask = await serve()
  const [status, answer] = await ask('PATCH', 'old', { price: -1, note: 1 })
  expect([status, fields(answer)]).toEqual([400, ['price', 'note']])
  expect(fields((await ask('PATCH', 'old', { name: 'B' }))[1])).toEqual(['name'])
  expect(fields((await ask('PATCH', 'old', { colour: 'red' }))[1])).toEqual(['colour'])
  expect((await ask('PATCH', 'old', { name: 'Abc' }))[0]).toBe(200)
  expect((await ask('PATCH', 'new', { name: 'B' }))[0]).toBe(400)
})

test('a PUT of what GET gave goes through; what it changes is checked', async () => {
  const ask = await serve()
  const [, read] = await ask('GET', 'old')
  // A PUT is trimmed as a create is.
  expect(await ask('PUT', 'old', read)).toEqual([200, { ...OLD, note: 'a' }])
  expect(await ask('PUT', 'old', { ...OLD, price: 9 })).toMatchObject([
    200,
    { name: 'A', price: 9 },
  ])
  expect(fields((await ask('PUT', 'old', { ...OLD, color: 'pink' }))[1])).toEqual(['color'])
  expect(fields((await ask('PUT', 'old', { ...OLD, name: undefined }))[1])).toEqual(['name'])
})

test('issues of the whole item count', async () => {
  const ask = await serve(Car.refine(({ price }) => price !== 13, 'Not 13'))
  expect(await ask('PATCH', 'old', { price: 13 })).toMatchObject([
    400,
    { errors: [{ message: 'Not 13' }] },
  ])
  expect((await ask('PATCH', 'old', { price: 12 }))[0]).toBe(200)
})

test('without it an old row takes no change, and a create is checked either way', async () => {
  expect(fields((await (await serve(Car, 'all'))('PATCH', 'old', { price: 8 }))[1])).toEqual([
    'name',
    'color',
  ])
  const ask = await serve()
  expect(fields((await ask('POST', '', { ...OLD, id: 'x' }))[1])).toEqual(['name', 'color'])
})

test('a schema of several objects, and rules of fields, are refused', () => {
  const define = (more: object) =>
    defineCollection({
      name: 'cars',
      schema: Car,
      store: memoryStore(),
      checks: 'changed',
      ...more,
    })
  const kinds = [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })] as const
  const schema = z.discriminatedUnion('kind', kinds)
  expect(() => define({ schema })).toThrow("cars: checks: 'changed' needs a z.object()")
  expect(() => define({ fields: { note: { read: ['staff'] } } })).toThrow('read and write rules')
  expect(() => define({ checks: 'none' })).toThrow('checks must be "all" or "changed"')
})
