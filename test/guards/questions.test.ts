// Hostile questions: each is answered with 200, 400, 413 or 415, by every store, and says nothing of hidden fields and rows.
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'

usePostgres()

const failures: unknown[] = []

async function serve(store: Store) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({
      color: z.string(),
      price: z.number().optional(),
      secret: z.string().optional(),
      at: z.iso.datetime().optional(),
      tags: z.array(z.string()).optional(),
      model: z.object({ name: z.string() }).optional(),
      any: z.json().optional(),
    }),
    store,
    fields: { secret: 'writeOnly' },
    groups: ['color', 'price', 'at', 'model.name'],
    visible: () => ({ color: { ne: 'hidden' } }),
  })
  const api = defineApi({ collections: { cars }, onError: error => failures.push(error) })
  await createOne(store, { color: 'red', price: 1, secret: 'top' })
  await createOne(store, { color: 'hidden', price: 7 })
  return api
}

const nest = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { not: nest(depth - 1, inner) }
const many = (count: number) => Array.from({ length: count }, (_, at) => ({ price: at }))

/** Filters; as texts they are no JSON. */
const WHERE: readonly unknown[] = [
  ...[
    '',
    '{',
    '[',
    '"',
    'null',
    '1',
    'true',
    '"x"',
    '[[[[',
    '{"a":',
    '{"or":',
    '\u0000',
    '{"price":1e999}',
  ],
  ...['{"price":-0}', '{"__proto__":{"price":1}}', '{"constructor":{"price":1}}', '{"or":[,]}'],
  ...[
    nest(5, { price: 1 }),
    nest(6, { price: 1 }),
    nest(500, {}),
    { or: many(50) },
    { or: many(51) },
  ],
  ...[{ or: many(1500) }, { or: [{ or: many(25) }, { or: many(25) }] }, { price: many(3) }],
  ...[{ price: [[1]] }, { price: { in: [1, [2]] } }, { price: { in: Array(101).fill(1) } }],
  ...[
    { color: { like: '%'.repeat(101) } },
    { color: { like: '%_'.repeat(50) } },
    { color: { like: '\\' } },
  ],
  ...[{ color: { prefix: '\u{10ffff}' } }, { color: { prefix: '\ud800' } }, { color: 'a\u0000' }],
  ...[
    { secret: 'top' },
    { secret: { exists: true } },
    { not: { secret: { gt: 'a' } } },
    { 'secret.x': 1 },
  ],
  ...[
    { any: 1 },
    { any: { exists: true } },
    { any: { x: 1 } },
    { 'any.x': 1 },
    { model: 1 },
    { model: {} },
  ],
  ...[
    { model: { name: {} } },
    { model: { '': 1 } },
    { '': 1 },
    { '.': 1 },
    { 'model.': 1 },
    { 'model..name': 1 },
  ],
  ...[
    { or: 1 },
    { or: null },
    { and: {} },
    { not: [] },
    { not: null },
    { or: [null] },
    { or: [[]] },
  ],
  ...[
    { at: '2024-13-01' },
    { at: { gt: '' } },
    { at: { gt: '-1' } },
    { at: '+275760-09-13T00:00:00Z' },
  ],
  ...[
    { tags: [] },
    { tags: { gt: 'a' } },
    { tags: { exists: 'maybe' } },
    { id: '9007199254740993' },
  ],
  ...[
    { id: -1 },
    { id: { gt: 1.5 } },
    { id: "1' or '1'='1" },
    { "color' or 1=1 --": 1 },
    { 'color[eq]': 'x' },
  ],
  ...[{ price: '1e400' }, { price: 'NaN' }, { price: { eq: 1, ne: 1, lt: 1, exists: true } }],
]

/** Whole bodies of a QUERY. */
const BODIES: readonly string[] = [
  ...['', '0', '[]', '{}', '{"limit":-1}', '{"limit":"x"}', '{"limit":[1,2]}', '{"sort":{"a":1}}'],
  ...[
    '{"sort":"secret"}',
    '{"fields":"secret"}',
    '{"cursor":"x"}',
    '{"cursor":1,"offset":1}',
    '{"q":"a"}',
  ],
  ...[
    '{"where":{},"where":{"price":1}}',
    '{"where":"{\\"price\\":1}"}',
    '{"where":[1]}',
    '{"price":{"lt":{}}}',
  ],
  ...[
    '{"filter[color]":"x"}',
    '{"filter":{"color":"x"}}',
    '{"suppress_error_codes":true}',
    '{"":1}',
    '{"[]":1}',
  ],
  `{"a":${'['.repeat(60_000)}`,
  JSON.stringify(Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`p${at}`, 1]))),
]

/** What follows `count?by=`. */
const GROUPS: readonly string[] = [
  ...['secret', 'color&sum=secret', 'color&max=secret', 'color&sort=-max.secret', 'color,secret'],
  ...[
    '',
    ',',
    ',,,,',
    'color,,color',
    'color:',
    ':month',
    'color:month',
    'at:',
    'at:second',
    'at:day,at',
  ],
  ...[
    'tags',
    'any',
    'model',
    'model.',
    '.name',
    'model.name.x',
    'id',
    '__proto__',
    'constructor',
    'at:__proto__',
  ],
  ...[
    'color&sum=',
    'color&sum=,,',
    'color&sum=__proto__',
    'color&avg=any',
    'color&min=tags',
    'price&sum=price',
  ],
  ...[
    'color&sort=__proto__',
    'color&sort=-',
    'color&sort=count,count,-count',
    'color&sort=sum',
    'color&limit=-1',
  ],
  ...[
    'color&limit=1e9',
    'color&limit=9999999999999999',
    'color&cursor=x',
    'color&offset=0',
    'color&fields=',
  ],
  ...[
    'color&by[]=x',
    'color&by[in]=x',
    'color&sum[gt]=1',
    'color&price[gt]=-1e308',
    'color&where={"color":"hidden"}',
  ],
  ...[
    'color&color=hidden',
    `color&sum=${'price,'.repeat(2000)}`,
    `${'color,'.repeat(1000)}`,
    '%00',
    '%F0%9F%98%80',
  ],
  `color&sort=${'count,'.repeat(2000)}`,
]

test('no count by groups is a 5xx, and none counts or sums what is hidden', async () => {
  for (const store of [memoryStore(), sqlStore({ db: await openDatabase(), migrate: true })]) {
    const api = await serve(store)
    for (const by of GROUPS) {
      const queries: RequestInit[] = [{}, { method: 'QUERY', headers: FORM, body: `by=${by}` }]
      for (const init of queries) {
        const url = `http://localhost/cars/count${init.body ? '' : `?by=${by}`}`
        const answer = await api.fetch(new Request(url, init))
        const text = await answer.text()
        expect([200, 400, 414], `${by.slice(0, 200)} ${text}`).toContain(answer.status)
        if (answer.status === 200) expect(text, by).not.toMatch(/hidden|"top"|"count":2|7/)
      }
    }
    const names = ['by', 'sum', 'avg', 'min', 'max', 'sort', 'limit']
    const values = [null, {}, [null], [[]], { a: 1 }, true, 1, ['color', 1], { in: ['color'] }]
    for (const name of names) {
      for (const value of values) {
        const body = JSON.stringify({ by: ['color'], [name]: value })
        const init = { method: 'QUERY', headers: { 'content-type': 'application/json' }, body }
        const answer = await api.fetch(new Request('http://localhost/cars/count', init))
        expect([200, 400], `${body} ${await answer.text()}`).toContain(answer.status)
      }
    }
  }
})

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

test('no question is a 5xx, and none finds what is hidden', async () => {
  const stores = [
    memoryStore(),
    sqlStore({ db: await openDatabase(), migrate: true }),
    sqlStore({ db: openPostgres(), migrate: true }),
  ]
  for (const store of stores) {
    const api = await serve(store)
    const bodies = WHERE.map(where => JSON.stringify({ where }))
    for (const body of [...bodies, ...BODIES]) {
      for (const path of ['cars', 'cars/count']) {
        const headers = { 'content-type': 'application/json' }
        const init = { method: 'QUERY', headers, body }
        const answer = await api.fetch(new Request(`http://localhost/${path}`, init))
        const text = await answer.text()
        expect([200, 400, 413], `${body.slice(0, 200)} ${text}`).toContain(answer.status)
        expect(text.replaceAll(/"message":"(?:[^"\\]|\\.)*"/g, '')).not.toMatch(
          /hidden|"top"|"count":2/,
        )
      }
    }
    for (const where of WHERE) {
      const text = typeof where === 'string' ? where : JSON.stringify(where)
      const url = `http://localhost/cars?where=${encodeURIComponent(text.toWellFormed())}`
      const answer = await api.fetch(new Request(url))
      expect([200, 400, 414], `${text} ${await answer.text()}`).toContain(answer.status)
    }
  }
  expect(WHERE.length + BODIES.length).toBeGreaterThan(60)
})

afterAll(() => expect(failures).toEqual([]))
