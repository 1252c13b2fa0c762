// What no index serves: SQLite looks at it in slices, between which others are served; statements and
// turns are counted, not time.
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { LimitOptions } from '../../src/http/limits.ts'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const COUNT = 500

const schema = z.object({ text: z.string(), color: z.string(), price: z.number() })

async function served(maxScan: number | undefined, limits: LimitOptions = {}) {
  const statements: string[] = []
  const db = await openDatabase(undefined, ({ sql }) => void statements.push(sql))
  const store = sqlStore({ db, create: true, maxScan })
  return { ...serveStore(store, limits), statements }
}

function serveStore(store: Store, limits: LimitOptions = {}) {
  const options = { name: 'items', schema, store, id: 'integer', indexes: ['price'] } as const
  const items = defineCollection({ ...options, search: ['text'], maxLimit: 1000 })
  const api = defineApi({ collections: [items], limits, onError: () => undefined })
  const ask = async (path: string) => {
    const response = await api.fetch(new Request(`http://a.example${path}`))
    const json = JSON.parse(await response.text())
    return { status: response.status, total: response.headers.get('x-result-count'), json }
  }
  const fill = (count: number, text = 'text') =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        api.collection(items).create({
          text: `${text} ${(n * 7919) % count}`,
          color: n % 5 === 0 ? 'red' : 'blue',
          price: n % 100,
        }),
      ),
    )
  return { store, ask, fill }
}

const slices = (statements: readonly string[]) =>
  statements.filter(sql => /from \(select \*|rest_row|limit 1 offset/.test(sql)).length

test.each([
  ['/items?sort=text&limit=7', COUNT],
  ['/items?sort=-text,price&limit=7&offset=490', COUNT],
  ['/items?sort=color,-price&limit=1000', COUNT],
  ['/items?color=red&limit=1000', COUNT / 5],
  ['/items?color=red&sort=price&limit=1000', COUNT / 5],
  ['/items?price=4&color=blue&sort=text', 5],
  ['/items?text[like]=*1*1*&sort=-price&limit=1000', undefined],
  ['/items/search?q=text+11&sort=price', undefined],
  ['/items?color=green&sort=text', 0],
  ['/items', COUNT],
  ['/items?price[gte]=10&sort=price', (COUNT * 9) / 10],
  ['/items?price[gt]=10&price[lte]=90&limit=7', (COUNT * 8) / 10],
])('%s is read in slices, with the answer of the store in memory', async (path, total) => {
  const sql = await served(20)
  const memory = serveStore(memoryStore())
  await Promise.all([sql.fill(COUNT), memory.fill(COUNT)])
  const expected = await memory.ask(path)
  sql.statements.length = 0
  const found = await sql.ask(path)
  const withoutDates = (items: readonly object[]) =>
    items.map(item => ({ ...item, created_at: '', updated_at: '' }))
  expect(withoutDates(found.json)).toEqual(withoutDates(expected.json))
  expect(found.total).toBe(expected.total)
  if (total !== undefined) expect(found.total).toBe(String(total))
  // An index leads to the five of a price.
  expect(slices(sql.statements)).toBeGreaterThan(path.includes('price=4') ? 0 : 1)
  // The total is remembered until something is written.
  sql.statements.length = 0
  expect((await sql.ask(path)).total).toBe(expected.total)
  expect(sql.statements.join()).not.toContain('count(*) as total')
  await sql.store.close()
})

test.each([
  '/items',
  '/items?sort=-price&limit=20',
  '/items?price=5',
  '/items?id=1&id=2&sort=text',
  '/items?price=5&price=6',
  '/items?where={"or":[{"price":5},{"price":{"gte":99}}]}&sort=text',
])('%s is served by an index: no slices', async path => {
  const { store, ask, fill, statements } = await served(COUNT / 10 + 1)
  await fill(COUNT)
  statements.length = 0
  expect((await ask(path)).status).toBe(200)
  expect(slices(statements)).toBe(0)
  await store.close()
})

test('a small table is read by one statement', async () => {
  const { store, ask, fill, statements } = await served(undefined)
  await fill(COUNT)
  statements.length = 0
  expect((await ask('/items?sort=text&color=red')).total).toBe(String(COUNT / 5))
  expect(slices(statements)).toBe(0)
  await store.close()
})

test('others are served between the slices', async () => {
  const { store, ask, fill, statements } = await served(10)
  await fill(2000)
  statements.length = 0
  let done = false
  const walked = ask('/items?sort=text').finally(() => {
    done = true
  })
  let others = 0
  while (!done) {
    expect((await ask('/items/7')).status).toBe(200)
    await new Promise(resolve => setImmediate(resolve))
    others++
  }
  expect((await walked).status).toBe(200)
  expect(others).toBeGreaterThan(3)
  await store.close()
})

test('a walk that takes too long is 503, and names the fields without an index', async () => {
  const { store, ask, fill } = await served(1, { workTime: 1 })
  await fill(500)
  // Others take each turn of the loop for longer than the walk may last, however fast the machine is.
  let asking = true
  const occupy = () => {
    for (const until = performance.now() + 2; performance.now() < until; );
    if (asking) setImmediate(occupy)
  }
  setImmediate(occupy)
  const { status, json } = await ask('/items?sort=text&color=red')
  asking = false
  expect([status, json.errors?.[0].type]).toEqual([503, 'work_too_slow'])
  expect(json.errors[0].message).toContain('no index serves color, text')
  await store.close()
})

const pattern = encodeURIComponent(`%${'a_'.repeat(48)}z%`)

test.each([
  ['SQLite', async () => sqlStore({ db: await openDatabase(), create: true })],
  ['memory', async () => memoryStore()],
])('too much text for a pattern is 400: %s', async (_, make) => {
  const { store, ask, fill } = serveStore(await make())
  // Each text begins as the pattern does.
  await fill(2, 'ab'.repeat(1_000_000))
  const { status, json } = await ask(`/items?text[like]=${pattern}`)
  expect([status, json.errors[0].type]).toEqual([400, 'too_much_text'])
  expect((await ask('/items?text[prefix]=ab&fields=id')).json.length).toBe(2)
  await store.close()
})

/** As many patterns as a request may have, of 40 characters. */
const patterns = Array.from({ length: 49 }, (_, n) => ({
  text: { like: `%${String(n).padStart(2, '0').repeat(20)}%` },
}))
const anyPattern = encodeURIComponent(JSON.stringify({ or: patterns }))

test('slices of SQLite are as small as all patterns together need', async () => {
  const { store, ask, fill, statements } = await served(undefined)
  await fill(400, 'a'.repeat(2000))
  statements.length = 0
  expect((await ask(`/items?where=${anyPattern}`)).json).toEqual([])
  expect(slices(statements)).toBeGreaterThan(25)
  await store.close()
})

test('a list in memory with many patterns lets others be served', async () => {
  const { ask, fill } = serveStore(memoryStore())
  await fill(2000, 'a'.repeat(1000))
  const order: string[] = []
  await Promise.all([
    ask(`/items?where=${anyPattern}`).then(() => order.push('list')),
    ask('/items/7').then(() => order.push('item')),
  ])
  expect(order).toEqual(['item', 'list'])
})

test('PostgreSQL stops a statement by its own time limit: 503', async () => {
  const db = openPostgres()
  const filled = serveStore(sqlStore({ db, create: true }))
  await filled.fill(8, 'ab'.repeat(500_000))
  const limited = openPostgres()
  const { store, ask } = serveStore(sqlStore({ db: limited, timeout: 100 }))
  const { status, json } = await ask(`/items?text[like]=${pattern}`)
  expect([status, json.errors[0].type]).toEqual([503, 'unavailable'])
  expect((await ask('/items?price=1&fields=id')).status).toBe(200)
  await Promise.all([store.close(), filled.store.close()])
})
