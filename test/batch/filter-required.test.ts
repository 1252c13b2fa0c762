// A write by filter needs a filter that can leave items out, and every name in it must exist: for programs, by the client,
// and over HTTP.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deleteMany } from '../../src/client/by-filter.ts'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const store = memoryStore()
const cars = defineCollection({
  name: 'cars',
  id: 'integer',
  schema: z.object({
    color: z.string(),
    price: z.number(),
    size: z.object({ width: z.number() }).optional(),
  }),
  store,
  operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
})
const options = defineCollection({
  name: 'options',
  schema: z.object({ label: z.string(), car_id: z.int() }),
  store: memoryStore(),
  parents: { car_id: 'cars' },
})
const api = defineApi({ collections: { cars, options } })
await api.collection(cars).create([
  { color: 'red', price: 1 },
  { color: 'blue', price: 2 },
])
const client = createClient<typeof api>('http://localhost', {
  fetch: (url, init) => api.fetch(new Request(url, init)),
})

/** The ways in which a filter object reaches a deletion. */
const DOORS: Readonly<Record<string, (filters: object) => Promise<unknown>>> = {
  program: filters => api.collection(cars).deleteMany(filters, { maxAffected: 9 }),
  'program, as where': where => api.collection(cars).deleteMany({ where }, { maxAffected: 9 }),
  client: filters => deleteMany(client, 'cars', filters as never, { maxAffected: 9 }),
  HTTP: async filters => {
    const where = encodeURIComponent(JSON.stringify(filters))
    const init = { method: 'DELETE', headers: { prefer: 'max-affected=9' } }
    const answer = await api.fetch(new Request(`http://localhost/cars?where=${where}`, init))
    if (!answer.ok) throw await answer.json()
  },
}

const NONE = { color: [] }
const ALL = { price: { nin: [] } }
const RED = { color: 'red' }

describe.each(Object.entries(DOORS))('a deletion by a %s', (_name, remove) => {
  it.each<[object, string]>([
    [{}, 'filter_required'],
    [ALL, 'filter_required'],
    [{ and: [] }, 'filter_required'],
    [{ and: [ALL, { and: [ALL] }] }, 'filter_required'],
    [{ or: [RED, ALL] }, 'filter_required'],
    [{ or: [RED, { not: NONE }] }, 'filter_required'],
    [{ not: NONE }, 'filter_required'],
    [{ not: { or: [] } }, 'filter_required'],
    [{ not: { and: [RED, NONE] } }, 'filter_required'],
    [{ not: { or: [NONE, { not: ALL }] } }, 'filter_required'],
    [{ not: { not: { or: [ALL, RED] } } }, 'filter_required'],
    [{ color: 'red', colour: { nin: [] } }, 'unknown_field'],
    [{ color: 'red', colour: [] }, 'unknown_field'],
    [{ color: 'red', or: [{ colour: { nin: [] } }] }, 'unknown_field'],
    [{ color: 'red', not: { colour: { in: [] } } }, 'unknown_field'],
    [{ color: 'red', size: { with: { nin: [] } } }, 'unknown_field'],
    [{ color: 'red', 'options.labl': { nin: [] } }, 'unknown_field'],
    [{ color: 'red', options: { labl: { nin: [] } } }, 'unknown_field'],
    [{ color: 'red', or: [{ price: { below: [] } }] }, 'unknown_operator'],
    [{ color: 'red', size: { nin: [] } }, 'not_filterable'],
  ])('%j is %s, and deletes nothing', async (filters, type) => {
    await expect(remove(filters)).rejects.toMatchObject({ errors: [{ type }] })
    expect(await api.collection(cars).count()).toBe(2)
  })

  it('a filter that lets nothing through is one: nothing is deleted', async () => {
    for (const filters of [NONE, { or: [] }, { not: ALL }, { and: [RED, NONE] }])
      await remove(filters)
    expect(await api.collection(cars).count()).toBe(2)
  })
})

it('all items are named by their id', async () => {
  const { patchMany } = api.collection(cars)
  expect(await patchMany({ id: { exists: true } }, { price: 3 })).toBe(2)
  await expect(patchMany({}, { price: 4 })).rejects.toThrow(
    'This would be done to all items. Send a filter that can leave items out, or for all items { id: { exists: true } }',
  )
})
