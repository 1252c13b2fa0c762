// Properties that stand in the store and that the schema does not name: no change of what stands beside them loses them.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  type Item,
  type Json,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { createOne } from '../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

let tables = 0

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
  PostgreSQL: async () => sqlStore({ db: openPostgres(), table: `kept_${++tables}`, create: true }),
}

const Today = z.object({
  name: z.string(),
  model: z.object({ name: z.string(), year: z.int().optional(), doors: z.int().default(5) }),
  tags: z.array(z.object({ text: z.string() })),
  rates: z.record(z.string(), z.object({ daily: z.number() })),
  engine: z
    .discriminatedUnion('fuel', [
      z.object({ fuel: z.literal('petrol'), litres: z.number() }),
      z.object({ fuel: z.literal('electric'), range: z.int().default(300) }),
    ])
    .optional(),
  strict: z.strictObject({ a: z.int() }).optional(),
})

/** An item from before the schema lost properties of its objects. */
const STORED = {
  name: 'A',
  model: { name: 'M', year: 1, doors: 3, legacy: { x: 1 } },
  tags: [{ text: 'one', legacy: 1 }, { text: 'two', legacy: 2 }, { text: 'three' }],
  rates: { a: { daily: 1, legacy: 'r' } },
  engine: { fuel: 'petrol', litres: 2, legacy: true },
  strict: { a: 1, legacy: null },
}
const { legacy: _legacy, ...PLAIN } = STORED.model

async function openCars(open: () => Promise<Store>) {
  const store = await open()
  const operations = ['list', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany'] as const
  const collection = defineCollection({
    name: 'cars',
    schema: Today,
    id: 'integer',
    store,
    operations,
  })
  await createOne(store, STORED)
  const api = defineApi({ collections: [collection], batch: true })
  const send = async (method: string, path: string, body?: Json, type = 'application/json') => {
    const request = new Request(`http://api.example${path}`, {
      method,
      headers: { 'Content-Type': type, Prefer: 'return=representation' },
      body: typeof body === 'string' ? body : body === undefined ? null : JSON.stringify(body),
    })
    const response = await api.fetch(request)
    const json: Item = JSON.parse(await response.text())
    return { status: response.status, json }
  }
  return { cars: api.collection(collection), send }
}

type Cars = Awaited<ReturnType<typeof openCars>>

const MERGE = 'application/merge-patch+json'
const PATCH = 'application/json-patch+json'
const FORM = 'application/x-www-form-urlencoded'

const { legacy: _strict, ...STRICT } = STORED.strict

/** Each change, and what it makes of the stored item. */
const CHANGES: readonly (readonly [
  name: string,
  change: (cars: Cars) => Promise<unknown>,
  next: Item,
])[] = [
  [
    'PUT of what GET answered',
    async ({ send }) => send('PUT', '/cars/1', (await send('GET', '/cars/1')).json),
    STORED,
  ],
  [
    'PUT of the properties that the schema names',
    ({ send }) =>
      send('PUT', '/cars/1', {
        ...{ ...STORED, model: PLAIN, strict: STRICT, name: 'B' },
        rates: { a: { daily: 1 } },
        tags: STORED.tags.map(({ text }) => ({ text })),
        engine: { fuel: 'petrol', litres: 3 },
      }),
    { ...STORED, name: 'B', engine: { ...STORED.engine, litres: 3 } },
  ],
  [
    'PUT that removes an optional property and takes a default',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, model: { name: 'M' } }),
    { ...STORED, model: { name: 'M', doors: 5, legacy: { x: 1 } } },
  ],
  [
    'PUT of another option of a union',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, engine: { fuel: 'electric' } }),
    { ...STORED, engine: { fuel: 'electric', range: 300, legacy: true } },
  ],
  [
    'PUT of a list in another order, with a new element',
    ({ send }) =>
      send('PUT', '/cars/1', {
        ...STORED,
        tags: [{ text: 'new' }, { legacy: 2, text: 'two' }, { text: 'one' }],
      }),
    { ...STORED, tags: [{ text: 'new' }, STORED.tags[1] ?? null, STORED.tags[0] ?? null] },
  ],
  [
    'PUT of an element that is changed, with what stood there',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, tags: [{ text: 'ONE', legacy: 1 }] }),
    { ...STORED, tags: [{ text: 'ONE', legacy: 1 }] },
  ],
  [
    'a merge patch',
    ({ send }) => send('PATCH', '/cars/1', { model: { year: 2 } }, MERGE),
    { ...STORED, model: { ...STORED.model, year: 2 } },
  ],
  [
    'a merge patch that removes what the schema does not name',
    ({ send }) => send('PATCH', '/cars/1', { name: 'B', model: { legacy: null } }, MERGE),
    { ...STORED, name: 'B' },
  ],
  [
    'a JSON Patch of the whole object',
    ({ send }) =>
      send('PATCH', '/cars/1', [{ op: 'replace', path: '/model', value: { name: 'N' } }], PATCH),
    { ...STORED, model: { name: 'N', doors: 5, legacy: { x: 1 } } },
  ],
  [
    'a merge patch of a list',
    ({ send }) => send('PATCH', '/cars/1', { tags: [{ text: 'two' }] }, MERGE),
    { ...STORED, tags: [STORED.tags[1] ?? null] },
  ],
  [
    'a form of PATCH',
    ({ send }) => send('PATCH', '/cars/1', 'model.year=2', FORM),
    { ...STORED, model: { ...STORED.model, year: 2 } },
  ],
  [
    'a form with the object as JSON',
    ({ send }) =>
      send('PATCH', '/cars/1', `model:json=${encodeURIComponent('{"name":"N","doors":3}')}`, FORM),
    { ...STORED, model: { name: 'N', doors: 3, legacy: { x: 1 } } },
  ],
  [
    'a form of PUT',
    ({ send }) =>
      send(
        'POST',
        '/cars/1',
        '_method=PUT&name=A&model.name=M&model.year=1&model.doors=3&rates.a.daily=1&strict.a=1&engine.fuel=petrol&engine.litres=2&tags[0].text=one',
        FORM,
      ),
    { ...STORED, tags: [STORED.tags[0] ?? null] },
  ],
  [
    'a patch by filter',
    ({ send }) => send('PATCH', '/cars?name=A', { model: { year: 2 } }, MERGE),
    { ...STORED, model: { ...STORED.model, year: 2 } },
  ],
  [
    'a step of a batch',
    ({ send }) =>
      send('POST', '/batch', [
        { method: 'PUT', path: '/cars/1', body: { ...STORED, model: PLAIN } },
      ]),
    STORED,
  ],
  [
    'replace() in process',
    ({ cars }) => cars.replace(1, { ...STORED, model: { ...PLAIN, year: 2 } } as never),
    { ...STORED, model: { ...STORED.model, year: 2 } },
  ],
  [
    'change() in process',
    ({ cars }) => cars.change(1, ({ model }) => ({ model: { ...model, year: 2 } }) as never),
    { ...STORED, model: { ...STORED.model, year: 2 } },
  ],
]

/** Changes of what the schema does not name. */
const REFUSED: readonly (readonly [
  name: string,
  change: (cars: Cars) => ReturnType<Cars['send']>,
  field: string,
])[] = [
  [
    'by PUT',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, model: { ...STORED.model, legacy: 2 } }),
    'model.legacy',
  ],
  [
    'by PUT, in a strict object',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, strict: { a: 1, legacy: 2 } }),
    'strict.legacy',
  ],
  [
    'by PUT, in an element',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, tags: [{ text: 'one', legacy: 5 }] }),
    'tags.0.legacy',
  ],
  [
    'by a merge patch',
    ({ send }) => send('PATCH', '/cars/1', { rates: { a: { legacy: 1 } } }, MERGE),
    'rates.a.legacy',
  ],
  [
    'by a JSON Patch',
    ({ send }) => send('PATCH', '/cars/1', [{ op: 'add', path: '/model/legacy', value: 1 }], PATCH),
    'model.legacy',
  ],
  [
    'by PUT, as a new one',
    ({ send }) => send('PUT', '/cars/1', { ...STORED, model: { ...STORED.model, other: 1 } }),
    'model.other',
  ],
]

describe.each(Object.entries(STORES))('properties that the schema does not name: %s', (_, open) => {
  it.each(CHANGES)('are kept by %s', async (_name, change, next) => {
    const cars = await openCars(open)
    expect(await change(cars)).not.toMatchObject({ status: 400 })
    const { json } = await cars.send('GET', '/cars/1')
    const { id: _id, created_at: _created, updated_at: _updated, ...item } = json
    expect(item).toEqual(next)
  })

  it.each(REFUSED)('are not changed %s', async (_name, change, field) => {
    const cars = await openCars(open)
    const { status, json } = await change(cars)
    expect(status).toBe(400)
    expect(json.errors).toMatchObject([{ field, type: 'unknown_field' }])
  })
})
