// What a request costs when there is more of everything: items, items of a page, collections.
//   npx tsx bench/growth.ts [--items=1000000] [--stores=memory,sqlite,postgres] [--build=<folder>]
//     [--picture=bench/growth.svg]
// Whole requests in one process, by `fetch`: no network, no load.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import type { Store } from '../src/index.ts'
import { createOne } from '../src/testing/write-items.ts'
import { type Engine, openDatabases, openKysely } from './databases.ts'
import { drawPanels } from './picture.ts'
import { prepare, published } from './processes.ts'
import { carOf, carsOn, fill, time } from './rows.ts'
import { printSetting, printTable, printTime } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    items: { type: 'string', default: '1000000' },
    stores: { type: 'string', default: 'memory,sqlite,postgres' },
    build: { type: 'string' },
    picture: { type: 'string', default: fileURLToPath(new URL('growth.svg', import.meta.url)) },
  },
})
const SIZES = [1e3, 1e4, 1e5, 1e6].filter(size => size <= Number(options.items))
const PAGES = [1, 5, 25, 100, 500, 1000]
const COLLECTIONS = [5, 50, 500]

/** One way to keep items. */
interface Place {
  readonly title: string
  /** @returns a new store with the cars from 1 to a number. */
  storeOf(size: number): Promise<Store>
  close(): Promise<void>
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  memory,
  sqlite: () => database('sqlite'),
  postgres: () => database('postgres'),
}

type Ask = (path: string, init?: RequestInit) => Promise<unknown>

interface Operation {
  readonly title: string
  ask(ask: Ask, size: number): Promise<unknown>
  /** Done before each, and not timed. */
  before?(ask: Ask): Promise<unknown>
}

const COUNT = '/cars/count?color=c3'
const create = (ask: Ask) => ask('/cars', { method: 'POST', body: '{"color":"new","price":1}' })
/** What changes the number of items comes last. */
const OPERATIONS: readonly Operation[] = [
  { title: 'get', ask: (ask, size) => ask(`/cars/${1 + Math.floor(Math.random() * size)}`) },
  { title: 'list of 25', ask: ask => ask('/cars') },
  { title: 'list of 25 of a colour', ask: ask => ask('/cars?color=c3') },
  { title: 'count of a colour', ask: ask => ask(COUNT) },
  { title: 'count after a change', ask: ask => ask(COUNT), before: create },
  { title: 'create', ask: create },
]

prepare(options.build)
const measured: Measured[] = []
for (const name of options.stores.split(',')) {
  const open = PLACES[name]
  if (!open) throw new TypeError(`There is no store ${name}`)
  const place = await open()
  try {
    measured.push(await measure(place))
  } finally {
    await place.close()
  }
}
const matching = await measureMatching()

for (const { title, times } of measured) {
  printTable(
    `${title}: a request, µs`,
    ['items', ...OPERATIONS.map(operation => operation.title)],
    SIZES.map((size, at) => [String(size), ...(times[at] ?? []).map(printTime)]),
  )
}
printTable(
  `A list of ${SIZES.at(-1)} items by the size of its page, µs`,
  ['store', ...PAGES.map(String)],
  measured.map(({ title, pages }) => [title, ...pages.map(printTime)]),
)
printTable(
  'A get by the number of collections, µs',
  ['collections', ...COLLECTIONS.map(String)],
  [['in memory', ...matching.map(printTime)]],
)
printSetting('requests by fetch, medians', ['kysely', 'libsql', 'pg'])
writeFileSync(options.picture, picture())

async function memory(): Promise<Place> {
  const { memoryStore } = await published()
  return {
    title: 'memory',
    async storeOf(size) {
      const store = memoryStore()
      await carsOn(store)
      for (let id = 1; id <= size; id++) await createOne(store, carOf(id))
      return store
    },
    close: async () => {},
  }
}

async function database(engine: Engine): Promise<Place> {
  const { sqlStore } = await published()
  const { title, fresh, close } = await openDatabases(engine)
  return {
    title,
    async storeOf(size) {
      const db = await openKysely(engine, await fresh())
      const store = sqlStore({ db, create: true })
      await carsOn(store)
      // Makes the table.
      await store.count({ where: [] }, 'exact')
      await fill(engine, db, 1, size)
      return store
    },
    close,
  }
}

/** Medians in µs. */
interface Measured {
  readonly title: string
  /** Of each operation at each size. */
  readonly times: readonly (readonly number[])[]
  /** Of lists, by the size of a page. */
  readonly pages: readonly number[]
}

async function measure({ title, storeOf }: Place): Promise<Measured> {
  const times: number[][] = []
  const pages: number[] = []
  // The first size twice: once for the code to be compiled.
  for (const size of [SIZES[0] ?? 0, ...SIZES]) {
    const store = await storeOf(size)
    const ask = asking(await carsOn(store, Math.max(...PAGES)))
    if (times.length === SIZES.length) {
      for (const limit of PAGES) pages.push(await time(() => ask(`/cars?limit=${limit}`)))
    }
    const warm = times.length === 0 ? 500 : 20
    const row: number[] = []
    for (const { ask: call, before } of OPERATIONS) {
      const how = { calls: 100, warm, ...(before && { before: () => before(ask) }) }
      row.push(await time(() => call(ask, size), how))
    }
    times.push(row)
    await store.close()
    process.stderr.write('.')
  }
  process.stderr.write(` ${title}\n`)
  return { title, times: times.slice(1), pages }
}

function asking({ fetch }: { fetch(request: Request): Promise<Response> }): Ask {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return async (path, init) => {
    const response = await fetch(new Request(`http://bench${path}`, { headers, ...init }))
    if (!response.ok) throw new Error(`${path} gave ${response.status}`)
    return response.text()
  }
}

/** How long it takes until the right one of many collections is found, with the rest of a get. */
async function measureMatching(): Promise<number[]> {
  const { defineApi, defineCollection, memoryStore } = await published()
  const times: number[] = []
  for (const many of COLLECTIONS) {
    const schema = z.object({ color: z.string() })
    const collections = []
    for (let at = 0; at < many; at++) {
      const store = memoryStore()
      collections.push(defineCollection({ name: `cars${at}`, schema, store, id: 'integer' }))
      await createOne(store, { color: 'red' })
    }
    const ask = asking(defineApi({ collections }))
    const any = () => ask(`/cars${Math.floor(Math.random() * many)}/1`)
    times.push(await time(any, { calls: 2000, warm: 2000 }))
  }
  return times
}

function picture(): string {
  const panels = OPERATIONS.map(({ title }, operation) => ({
    title,
    lines: measured.map(({ title: name, times }) => ({
      name: name.split(' ')[0] ?? name,
      points: SIZES.map((size, at): [number, number] => [size, times[at]?.[operation] ?? 1]),
    })),
  }))
  return drawPanels('One request, µs, against the number of items', panels)
}
