// Pages bounded in bytes: what a page leaves out it says, and following its links finds every item once.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'

usePostgres()

const COUNT = 12
const BYTES = 20_000

/** Of 3,000 to 5,200 bytes; the fifth alone is larger than a page; escapes and umlauts take more bytes than characters. */
const textOf = (n: number) =>
  n === 5
    ? 'x'.repeat(30_000)
    : (n % 3 === 0 ? '\u0001' : n % 3 === 1 ? 'é' : 'x').repeat(n % 3 === 0 ? 700 : 1600 + 100 * n)

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
  PostgreSQL: async () => sqlStore({ db: openPostgres(), create: true }),
}

let names = 0

async function filled(store: Store) {
  const texts = defineCollection({
    name: `texts${++names}`,
    schema: z.object({ n: z.int(), text: z.string(), more: z.array(z.string()).optional() }),
    store,
    id: 'integer',
    indexes: ['n'],
  })
  const api = defineApi({
    collections: [texts],
    limits: { page: BYTES },
    dialects: [simpleRest, jsonServer],
  })
  for (let n = 1; n <= COUNT; n++) {
    const text = textOf(n)
    await api.collection(texts).create(n % 2 === 0 ? { n, text } : { n, text: '', more: [text] })
  }
  const request = async (path: string, headers: Record<string, string> = {}) => {
    const url = path.startsWith('http') ? path : `http://a.example/${texts.name}${path}`
    const response = await api.fetch(new Request(url, { headers }))
    const text = await response.text()
    return { response, status: response.status, text, items: JSON.parse(text) }
  }
  return { api, texts, request, store }
}

function linkOf(response: Response, rel: string): string | undefined {
  return new RegExp(`<([^>]+)>; rel="${rel}"`).exec(response.headers.get('link') ?? '')?.[1]
}

const NUMBERS = Array.from({ length: COUNT }, (_, at) => at + 1)

describe.each(Object.entries(STORES))('%s', (_, make) => {
  test.each([
    ['by cursor', '?limit=10', 'next'],
    ['by offset', '?limit=10&offset=0', 'next'],
    ['without a total', '?limit=10', 'next', 'count=none'],
    ['with an estimate', '?limit=10', 'next', 'count=estimated'],
    ['backward', '?limit=10', 'previous'],
    ['in another order', '?limit=10&sort=-n', 'next'],
    ['filtered', '?limit=10&n[gte]=1', 'next'],
  ])('%s every item comes once, in pages of few bytes', async (_, query, rel, prefer = '') => {
    const { request, store } = await filled(await make())
    const headers = prefer === '' ? {} : { prefer }
    let page = await request(query, headers)
    if (rel === 'previous') page = await request(linkOf(page.response, 'last') ?? '', headers)
    const seen: number[] = []
    for (let pages = 0; pages < COUNT; pages++) {
      const found: { n: number; id: number }[] = page.items
      const numbers = found.map(({ n }) => n)
      if (rel === 'previous') seen.unshift(...numbers)
      else seen.push(...numbers)
      expect(numbers.length).toBeGreaterThan(0)
      if (numbers.length > 1) expect(Buffer.byteLength(page.text)).toBeLessThan(BYTES + COUNT + 2)
      const [first = 0] = numbers
      const start = query.includes('-n') ? COUNT - first : first - 1
      const range = page.response.headers.get('content-range')
      expect(range).toMatch(new RegExp(`^texts\\d+ ${start}-${start + numbers.length - 1}/`))
      const link = linkOf(page.response, rel)
      if (!link) break
      page = await request(link, headers)
    }
    expect(query.includes('-n') ? seen.toReversed() : seen).toEqual(NUMBERS)
    await store.close()
  })

  test('a page is as full as its bytes allow, and says so', async () => {
    const { request, texts, store } = await filled(await make())
    const { response, status, text, items } = await request('', { range: `${texts.name}=0-9` })
    expect([status, items.length]).toEqual([206, 4])
    expect(response.headers.get('content-range')).toBe(`${texts.name} 0-3/${COUNT}`)
    expect(Buffer.byteLength(text)).toBeGreaterThan(BYTES / 2)
    await store.close()
  })

  test('a dialect gets the items of all ids, or 400', async () => {
    const { request, store } = await filled(await make())
    expect((await request('?id=6&id=7')).items.length).toBe(2)
    for (const query of ['?filter={"id":[6,7,8,9,10,11,12]}', `?id=${NUMBERS.join('&id=')}`]) {
      const { status, items } = await request(query)
      expect(status).toBe(400)
      expect(items.errors[0]).toMatchObject({ field: 'id', type: 'too_many_values' })
    }
    await store.close()
  })

  test('in process and in streams nothing is left out', async () => {
    const { api, texts, request, store } = await filled(await make())
    expect((await api.collection(texts).list().toArray()).length).toBe(COUNT)
    const streamed = await api.fetch(new Request(`http://a.example/${texts.name}.ndjson`))
    expect((await streamed.text()).trimEnd().split('\n').length).toBe(COUNT)
    expect((await request('?limit=1&offset=4')).items.length).toBe(1)
    await store.close()
  })
})

test.each([['é'], ['x'], ['\n"']])('large items are printed as small ones are: %j', async text => {
  const store = memoryStore()
  const texts = defineCollection({ name: 'texts', schema: z.object({ text: z.string() }), store })
  const api = defineApi({ collections: [texts] })
  for (const length of [1, 70_000, 2, 80_000])
    await api.collection(texts).create({ text: text.repeat(length) })
  const items = await api.collection(texts).list().toArray()
  for (const path of ['/texts', '/texts', `/texts/${items[1]?.id}`]) {
    const response = await api.fetch(new Request(`http://a.example${path}`))
    const body = await response.text()
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(body)))
    expect(JSON.parse(body)).toEqual(path === '/texts' ? items : items[1])
  }
})

test('SQLite: one page of long rows is read after another, their sizes first', async () => {
  const statements: string[] = []
  const log = ({ sql }: { readonly sql: string }) => statements.push(sql)
  const { request, api } = await filled(
    sqlStore({ db: await openDatabase(undefined, log), create: true }),
  )
  const pages = await Promise.all(Array.from({ length: 5 }, () => request('?limit=12')))
  expect(pages.map(({ items }) => items.length)).toEqual(Array(5).fill(pages[0]?.items.length))
  // To mark long values passes over them: done once, after which all rows are taken to be long.
  const lists = statements.filter(sql => / order by /.test(sql))
  expect(lists.filter(sql => sql.includes('case when')).length).toBe(1)
  expect(lists.filter(sql => sql.includes('rest_size')).length).toBe(5)
  await api.close()
})

test('SQLite: a transaction reads long rows while other clients wait to read them', async () => {
  const { request, api, texts } = await filled(sqlStore({ db: await openDatabase(), create: true }))
  await request('?limit=12')
  const others = Array.from({ length: 20 }, () => request('?limit=12'))
  const counts = await Promise.all(
    Array.from({ length: 5 }, () =>
      api.transaction(async tx => {
        let count = 0
        for await (const item of tx.collection(texts).list()) if (item) count++
        return count
      }),
    ),
  )
  expect(counts).toEqual(Array(5).fill(COUNT))
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  await api.close()
})
