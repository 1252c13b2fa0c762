// docs/from-postgrest.md: each request that stands there finds what its row says.
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Api, defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const PEOPLE = [
  { name: 'Oron', age: 14, student: true, grade: 95, tags: ['example', 'new'] },
  { name: 'John', age: 20, student: true, grade: 91, json_data: { blood_type: 'A-', age: 25 } },
  { name: 'hi,there', age: 12, tags: ['new'], note: 'très AMUSANT' },
  { name: 'Jöhn', age: 30, json_data: { blood_type: 'O+', age: 20 } },
  { name: 'Paul', student: true, grade: 99 },
]
const ORDERS = [
  { amount: 10, order_date: '2024-01-31', details: { tax: 1 } },
  { amount: 20, order_date: '2024-02-01', details: { tax: 2 } },
  { amount: 25, order_date: '2024-02-01' },
  { amount: 5, order_date: '2024-02-29' },
]

let api: Pick<Api, 'fetch'>
beforeAll(async () => {
  const people = defineCollection({
    name: 'people',
    id: 'integer',
    itemName: 'person',
    schema: z.object({
      name: z.string(),
      age: z.int().optional(),
      student: z.boolean().optional(),
      grade: z.int().optional(),
      tags: z.array(z.string()).optional(),
      note: z.string().optional(),
      json_data: z.object({ blood_type: z.string(), age: z.int() }).optional(),
    }),
    store: memoryStore(),
    search: ['name', 'note'],
  })
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({
      amount: z.number(),
      order_date: z.iso.date(),
      details: z.object({ tax: z.number() }).optional(),
    }),
    store: memoryStore(),
    groups: ['order_date'],
  })
  const both = defineApi({ collections: { people, orders } })
  for (const each of PEOPLE) await both.collection(people).create(each)
  for (const each of ORDERS) await both.collection(orders).create(each)
  api = both
})

/** The requests of the second column, in their order, by the first one. */
const rows = readFileSync(new URL('../../docs/from-postgrest.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap(line => {
    const [, there, here] = /^\| (.+?) \| `((?:people|orders)\S*)` \|/.exec(line) ?? []
    return there && here ? [[there.replaceAll('`', ''), here] as const] : []
  })

/** The people that each request finds, as places in the list above, and what each count gives. */
const EXPECTED: Readonly<Record<string, unknown>> = {
  'people?age=lt.13': [3],
  'people?age=gte.18&student=is.true': [2],
  'people?age=not.eq.14': [2, 3, 4],
  'people?age=isdistinct.14': [2, 3, 4, 5],
  'people?age=in.(13,14,15)': [1],
  'people?name=in.("hi,there","yes,you")': [3],
  'people?grade=is.null': [3, 4],
  'people?or=(age.lt.18,age.gt.21)': [1, 3, 4],
  'people?not.and=(age.gte.11,age.lte.17)': [2, 4, 5],
  'people?grade=gte.90&student=is.true&or=(age.eq.14,not.and(age.gte.11,age.lte.17))': [1, 2, 5],
  'people?name=like.*o*n': [1, 2],
  'people?name=like(any).{O*,P*}': [1, 5],
  'people?name=ilike.*JOHN*': [2, 4],
  'people?name=match.^Jo': [2],
  'people?note=fts(french).amusant': [3],
  'people?tags=cs.{example,new}': [1],
  'people?tags=ov.{example,new}': [1, 3],
  'people?json_data->>blood_type=eq.A-': [2],
  'people?json_data->age=gt.20': [2],
  'people?select=name,age': PEOPLE.map(({ name, age }) => ({ name, ...(age && { age }) })),
  'people?order=age.desc,name.asc': [4, 2, 1, 3, 5],
  'people?limit=15&offset=30': [],
  'orders?select=count()': { count: 4 },
  'orders?select=amount.sum()': [{ count: 4, sum: { amount: 60 } }],
  'orders?select=amount.sum(),amount.avg(),order_date': [
    { order_date: '2024-01-31', count: 1, sum: { amount: 10 }, avg: { amount: 10 } },
    { order_date: '2024-02-01', count: 2, sum: { amount: 45 }, avg: { amount: 22.5 } },
    { order_date: '2024-02-29', count: 1, sum: { amount: 5 }, avg: { amount: 5 } },
  ],
  'orders?select=count(),order_date': [
    { order_date: '2024-01-31', count: 1 },
    { order_date: '2024-02-01', count: 2 },
    { order_date: '2024-02-29', count: 1 },
  ],
  'orders?select=total:amount.sum()': [{ count: 4, sum: { amount: 60 } }],
  'orders?select=amount.avg()::int': [{ count: 4, avg: { amount: 15 } }],
  'orders?select=details->tax::numeric.sum()': [{ count: 4, sum: { details: { tax: 3 } } }],
  "a view with date_trunc('month', order_date)": [
    { order_date: '2024-02', count: 3 },
    { order_date: '2024-01', count: 1 },
  ],
}

test('each row that has a request is tried', () => {
  expect(rows.map(([there]) => there)).toEqual(Object.keys(EXPECTED))
})

test.each(rows)('%s: %s', async (there, here) => {
  const answer = await api.fetch(new Request(`http://localhost/${here.replaceAll('\\,', '%5C,')}`))
  expect(answer.status).toBe(200)
  const found: unknown = await answer.json()
  const hasIds = Array.isArray(found) && found.every(each => typeof each.id === 'number')
  expect(hasIds ? found.map(({ id }) => id) : found).toEqual(EXPECTED[there])
})
