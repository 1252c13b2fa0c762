// Errors of the server at the fields of forms, and forms whose item was changed meanwhile, over a real socket.
import { afterAll, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { beginEdit, fieldErrors } from '../../src/client/forms.ts'
import { ConflictError, createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    color: z.string().min(3),
    price: z.int().min(0),
    note: z.string().optional(),
    owner: z.string().nullable().default(null),
    model: z.object({ name: z.string().min(1), year: z.int().optional() }),
    parts: z.array(z.object({ size: z.int() })).default([]),
  }),
  store: memoryStore(),
  id: 'integer',
})
const api = defineApi({ collections: { cars } })
const server = await serve(api.handler)
afterAll(async () => {
  await server.close()
  await api.close()
})
const client = createClient<typeof api>(server.url)
const CAR = { color: 'red', price: 1, note: 'old', model: { name: 'Clio', year: 2020 }, parts: [] }

const failed = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    error => error,
  )
const wrong = await failed(
  client.cars.create({
    color: 'x',
    price: -1,
    model: { name: '' },
    parts: [{ size: 1 }, { size: 1.5 }],
  }),
)

test('messages stand at the fields, by names that form libraries have', () => {
  const { form, fields } = fieldErrors(wrong)
  expect(form).toEqual([])
  expect(Object.keys(fields).sort()).toEqual(['color', 'model.name', 'parts[1].size', 'price'])
  for (const messages of Object.values(fields)) expect(messages).toEqual([expect.any(String)])
})

test('messages about what a form does not have are of the form', () => {
  const { form, fields } = fieldErrors(wrong, ['color', 'model', 'parts'])
  expect(form).toEqual([expect.stringMatching(/^price: /)])
  expect(Object.keys(fields).sort()).toEqual(['color', 'model.name', 'parts[1].size'])
})

test('an error of no field is of the form, and no error response is thrown', async () => {
  const { form, fields } = fieldErrors(await failed(client.cars.read(0)))
  expect([form.length, fields]).toEqual([1, {}])
  const lost = await failed(
    createClient<typeof api>('http://127.0.0.1:1', { retries: 0 }).cars.read(1),
  )
  expect(() => fieldErrors(lost)).toThrow('No response')
  expect(() => fieldErrors(undefined)).toThrow()
})

test('the write of a form is on the version that it was filled from', async () => {
  const car = await client.cars.create(CAR)
  const edit = beginEdit(car)
  expect(edit.values).toEqual(car)
  edit.values.model satisfies { name: string }
  const other = await client.cars.patch(car.id, { price: 5 })
  const changes = edit.changes({ ...edit.values, color: 'blue' })
  expect(changes).toEqual({ color: 'blue' })
  const error = await failed(client.cars.patch(edit.item, changes))
  expect(error).toBeInstanceOf(ConflictError)
  const again = beginEdit(error.theirs as typeof car, changes)
  expect(again.values).toMatchObject({ color: 'blue', price: 5 })
  const saved = await client.cars.patch(again.item, again.changes(again.values))
  expect(saved).toMatchObject({ color: 'blue', price: 5 })
  expect(saved.updated_at >= other.updated_at).toBe(true)
})

test.each([
  ['nothing', {}, {}],
  ['the same', CAR, {}],
  ['a value', { color: 'blue' }, { color: 'blue' }],
  ['a null', { owner: null }, {}],
  ['a name', { owner: 'Ann' }, { owner: 'Ann' }],
  ['nothing in place of a value', { note: undefined }, { note: null }],
  ['a part of an object', { model: { name: 'Zoe', year: 2020 } }, { model: { name: 'Zoe' } }],
  ['an object that lacks a part', { model: { name: 'Zoe' } }, { model: { name: 'Zoe' } }],
  ['an object without a part', { model: { year: undefined } }, { model: { year: null } }],
  ['a list', { parts: [{ size: 1 }] }, { parts: [{ size: 1 }] }],
])('changes of %s', async (_, values, expected) => {
  const car = await client.cars.create(CAR)
  const { changes } = beginEdit(car)
  expect(changes(values)).toEqual(expected)
  const saved = await client.cars.patch(car, changes(values))
  const kept = JSON.parse(JSON.stringify(saved))
  expect(beginEdit(saved).changes(kept)).toEqual({})
})

test('the values of a form can be changed, and its changes have the types of a patch', async () => {
  const car = await client.cars.create(CAR)
  const { values, changes } = beginEdit(car)
  values.model.name = 'Zoe'
  expect(car.model.name).toBe('Clio')
  expect(changes(values)).toEqual({ model: { name: 'Zoe' } })
  expectTypeOf(changes({ price: 1 }).price).toEqualTypeOf<number | undefined>()
  // @ts-expect-error A price is a number.
  await expect(client.cars.patch(car, changes({ price: 'x' }))).rejects.toMatchObject({
    status: 400,
  })
})
