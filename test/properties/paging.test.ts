// Pages put together are the whole list, each item once, for any filter, sort and page size, by the
// `Link` headers alone, while others create and delete: on every store, through both handlers.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  type Issue,
  type Item,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { findCollectionDefinition } from '../../src/model/definitions.ts'
import {
  comparer,
  matcher,
  parseContentRange,
  parseLink,
  parseParameters,
  readQuery,
} from '../../src/rules/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { HANDLER_NAMES, type OpenHandler, openHandler } from '../handlers.ts'
import { runs } from '../random.ts'
import { openDatabase } from '../stores/sqlite.ts'

const schema = z.object({
  color: z.enum(['red', 'blue', 'green']),
  size: z.int().nullable(),
  price: z.number().optional(),
  on: z.boolean().optional(),
  model: z.object({ name: z.string() }).optional(),
  at: z.iso.datetime().nullable().optional(),
})

const values = fc.record(
  {
    color: fc.constantFrom('red', 'blue', 'green'),
    size: fc.option(fc.integer({ min: -2, max: 3 })),
    price: fc.constantFrom(0, 0.1, 1, 1.5, -1e20, 1e-7),
    on: fc.boolean(),
    model: fc.record({
      name: fc.constantFrom('', 'a', 'A', 'é', '\uff5e', '😀', 'a,b', 'a"b', "o'c"),
    }),
    at: fc.option(
      fc.constantFrom('2024-01-01T00:00:00Z', '2024-01-01T00:00:00.5Z', '2023-12-31T23:59:59.999Z'),
    ),
  },
  { requiredKeys: ['color', 'size'] },
)

const SORTED = ['id', 'color', 'size', 'price', 'on', 'model.name', 'at', 'created_at'] as const
const sort = fc
  .array(fc.tuple(fc.constantFrom(...SORTED), fc.boolean()), { maxLength: 3 })
  .map(keys => keys.map(([name, down]) => (down ? `-${name}` : name)).join())

const filter = fc.constantFrom(
  '',
  '',
  'color=red',
  'color=red&color=blue',
  'color[ne]=red',
  'size[gte]=0',
  'size[lt]=2&size[gt]=-2',
  'size[exists]=false',
  'price[lte]=1',
  'on=true',
  'model.name=a',
  'model.name[ne]=a',
  'model[exists]=true',
  'model.name[prefix]=a',
  'model.name[like]=_',
  'at[gte]=2024-01-01',
  'color[in]=red,green&on[exists]=1',
)

/** What others do between two pages: create an item, or delete one of those that are there. */
const change = fc.oneof(
  values.map(value => ({ create: value })),
  fc.nat().map(at => ({ remove: at })),
)

const scene = fc.record({
  items: fc.array(values, { maxLength: 25 }),
  filter,
  sort,
  limit: fc.integer({ min: 1, max: 12 }),
  /** Before each page, these changes; after them nobody writes. */
  changes: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 8 }),
  fields: fc.constantFrom('', '', 'fields=id', 'fields=id,model.name'),
  count: fc.constantFrom('exact', 'none'),
})

type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never

/** Everything is made at the same moment, so that creation dates decide nothing. */
const clock = () => Date.UTC(2024, 0, 1)

const STORES: Readonly<Record<string, () => Store | Promise<Store>>> = {
  memoryStore: () => memoryStore({ clock }),
  'sqlStore on SQLite': async () => sqlStore({ db: await openDatabase(), create: true, clock }),
}

async function open(make: () => Store | Promise<Store>, handler: (typeof HANDLER_NAMES)[number]) {
  const cars = defineCollection({
    name: 'cars',
    schema,
    store: await make(),
    indexes: ['color', 'size', ['color', 'price']],
  })
  const api = defineApi({ collections: [cars] })
  const opened = await openHandler(handler, api)
  const calls = api.collection('cars')
  return { api, cars, calls, handler: opened, close: () => opened.close().then(() => api.close()) }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Follows one relation from a page to the end; `between` is run before each step. */
async function walk(
  handler: OpenHandler,
  start: string,
  rel: string,
  headers: Record<string, string>,
  between: () => Promise<void> = async () => {},
): Promise<Item[][]> {
  const pages: Item[][] = []
  let next: string | undefined = start
  while (next !== undefined) {
    if (pages.length > 300) throw new Error('The links go on for ever')
    const answer = await handler.request(next, { headers })
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String)])
    // A list is an array of items.
    const page = answer.json as Item[]
    pages.push(page)
    const place = parseContentRange(answer.headers.get('content-range') ?? '')
    if (place?.range) expect(place.range.last - place.range.first + 1).toBe(page.length)
    next = parseLink(answer.headers.get('link') ?? '').find(link => link.rel === rel)?.href
    if (next !== undefined) await between()
  }
  return pages
}

/** What a list must give by the rules alone: every item in memory, filtered and sorted. */
function expected({ cars }: Opened, items: readonly Item[], query: string): Item[] {
  const { fields } = cars.shape
  const issues: Issue[] = []
  const { sort: sorting } = findCollectionDefinition(cars)
  const options = { fields, id: 'id', createdAt: 'created_at', sort: sorting }
  const selection = readQuery(parseParameters(query) ?? [], options, issues)
  expect(issues).toEqual([])
  return items.filter(matcher(selection, fields)).sort(comparer(selection.sort, fields))
}

const ids = (items: readonly Item[]) => items.map(({ id }) => id)

async function clear({ calls }: Opened): Promise<void> {
  for (const { id } of await calls.list().toArray()) await calls.delete(id)
}

async function fill({ calls }: Opened, items: Scene['items']): Promise<Item[]> {
  const made: Item[] = []
  // What the collection gives is JSON.
  for (const item of items) made.push((await calls.create(item)) as Item)
  return made
}

const queryOf = ({ filter: where, sort: order, fields, limit }: Scene, more = '') =>
  [where, order && `sort=${order}`, fields, `limit=${limit}`, more].filter(Boolean).join('&')

const RUNS: Readonly<Record<string, number>> = { memoryStore: 150, 'sqlStore on SQLite': 40 }

describe.each(Object.entries(STORES))('%s', (storeName, make) => {
  describe.each(HANDLER_NAMES)('through %s', doorName => {
    const numRuns = Math.ceil(runs(RUNS[storeName] ?? 40) / (doorName === 'fetch' ? 1 : 3))
    let opened: Opened
    beforeAll(async () => {
      opened = await open(make, doorName)
    })
    afterAll(() => opened.close())

    it('without writes the pages are the whole list in order, forward, backward and by offset', async () => {
      await fc.assert(
        fc.asyncProperty(scene, async each => {
          await clear(opened)
          const all = expected(opened, await fill(opened, each.items), queryOf(each))
          const headers = { prefer: `count=${each.count}` }
          const forth = await walk(opened.handler, `/cars?${queryOf(each)}`, 'next', headers)
          expect(ids(forth.flat())).toEqual(ids(all))
          expect(forth.slice(0, -1).every(page => page.length === each.limit)).toBe(true)
          const offsets = await walk(
            opened.handler,
            `/cars?${queryOf(each, 'offset=0')}`,
            'next',
            headers,
          )
          expect(offsets).toEqual(forth)
          const first = await opened.handler.request(`/cars?${queryOf(each)}`)
          const last = parseLink(first.headers.get('link') ?? '').find(({ rel }) => rel === 'last')
          if (last === undefined) expect(all).toEqual([])
          else {
            const back = await walk(opened.handler, last.href, 'previous', headers)
            expect(ids(back.reverse().flat())).toEqual(ids(all))
          }
        }),
        { numRuns },
      )
    })

    it.each([
      ['next', 'from the start'],
      ['previous', 'from the end'],
    ])('others create and delete: by %s %s survivors come exactly once', async (rel, _from) => {
      await fc.assert(
        fc.asyncProperty(scene, async each => {
          await clear(opened)
          const start = await fill(opened, each.items)
          const known = [...start]
          const removed = new Set<unknown>()
          const changes = [...each.changes]
          const between = async () => {
            for (const step of changes.shift() ?? []) {
              if ('create' in step) known.push(...(await fill(opened, [step.create])))
              else {
                const there = known.filter(({ id }) => !removed.has(id))
                const one = there[step.remove % Math.max(1, there.length)]
                if (one) {
                  await opened.calls.delete(String(one.id))
                  removed.add(one.id)
                }
              }
            }
          }
          const first = `/cars?${queryOf(each)}`
          let from: string | undefined = first
          if (rel === 'previous') {
            const { headers } = await opened.handler.request(first)
            from = parseLink(headers.get('link') ?? '').find(link => link.rel === 'last')?.href
          }
          const headers = { prefer: `count=${each.count}` }
          const pages =
            from === undefined ? [] : await walk(opened.handler, from, rel, headers, between)
          const seen = ids((rel === 'next' ? pages : pages.reverse()).flat())
          expect(new Set(seen).size).toBe(seen.length)
          const order = ids(expected(opened, known, queryOf(each)))
          // What was seen matches the filter and stands in the order of the sort.
          expect(seen).toEqual(order.filter(id => seen.includes(id)))
          const survivors = start.map(({ id }) => id).filter(id => !removed.has(id))
          expect(order.filter(id => survivors.includes(id) && !seen.includes(id))).toEqual([])
        }),
        { numRuns },
      )
    })

    it('a reader by since_id sees each item once while many create', async () => {
      await clear(opened)
      const writers = Array.from({ length: 60 }, (_, size) =>
        opened.handler.request('/cars', { method: 'POST', json: { color: 'red', size } }),
      )
      const made = Promise.all(writers)
      const seen: unknown[] = []
      let done = false
      made.then(() => {
        done = true
      })
      for (let last = ''; ; ) {
        // As over a socket: a loop that only awaits what is answered at once lets nothing else run.
        await new Promise(setImmediate)
        const ended = done
        const query = last === '' ? '' : `&since_id=${last}`
        const { json } = await opened.handler.request(`/cars?sort=id&limit=7${query}`)
        // A list is an array of items.
        const page = ids(json as Item[])
        seen.push(...page)
        last = String(page.at(-1) ?? last)
        if (ended && page.length === 0) break
      }
      // A created item has an id.
      const all = (await made).map(({ json }) => (json as Item).id)
      expect([...seen].sort()).toEqual([...all].sort())
    })
  })
})
