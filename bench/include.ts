// 100 cars with their models and options, 700 items, in one answer:
//   npx tsx bench/include.ts [--store=memory|sqlite|postgres] [--rounds=5] [--seconds=2] [--build=<folder>]
// Against the three plain lists of the same items, against these lists of the store alone, and on a database against
// Fastify with three statements by Kysely. The contestants alternate; each has the best of its rounds.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { Store } from '../src/index.ts'
import { type Engine, openDatabases, openKysely } from './databases.ts'
import { askProcess, child, prepare, published, startLoad } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    build: { type: 'string' },
  },
})
const engine: Engine = options.store === 'postgres' ? 'postgres' : 'sqlite'
const isMemory = options.store === 'memory'

/** The page, what it includes of each, and the tables. */
const PAGE = 100
const OPTIONS = 5
const CARS = 2000

const INCLUDE = `/cars?limit=${PAGE}&include=model,options`
const LISTS = [`/cars?limit=${PAGE}`, `/models?limit=${PAGE}`, `/options?limit=${PAGE * OPTIONS}`]
const TITLES = {
  include: 'include=model,options',
  lists: 'the three plain lists, one after another',
  stores: 'the three lists of the store, and their JSON',
  fastify: 'Fastify + Kysely, three statements',
}
type Contestant = keyof typeof TITLES

/** How many times the store is asked at a time. */
const TIMES = 50

async function serve(database: string): Promise<void> {
  const { defineApi, defineCollection, sqlStore, memoryStore } = await published()
  const db = isMemory ? undefined : await openKysely(engine, database)
  const open = (): Store => (db ? sqlStore({ db, create: true }) : memoryStore())
  const [modelStore, carStore, optionStore] = [open(), open(), open()]
  const models = defineCollection({
    name: 'models',
    id: 'integer',
    schema: z.object({ name: z.string(), brand: z.string(), year: z.int() }),
    store: modelStore,
  })
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({
      plate: z.string(),
      color: z.string(),
      price: z.number(),
      model_id: z.int(),
    }),
    store: carStore,
    parents: { model_id: 'models' },
  })
  const extras = defineCollection({
    name: 'options',
    id: 'integer',
    schema: z.object({ label: z.string(), price: z.number(), car_id: z.int() }),
    store: optionStore,
    parents: { car_id: 'cars' },
    maxLimit: PAGE * OPTIONS,
  })
  const api = defineApi({ collections: { models, cars, options: extras } })
  await api.open()
  const add = async (name: string, count: number, toItem: (at: number) => object) => {
    for (let from = 0; from < count; from += 500) {
      const items = Array.from({ length: Math.min(500, count - from) }, (_, at) =>
        toItem(from + at),
      )
      await api.collection(name as 'cars').create(items as never)
    }
  }
  await add('models', PAGE * 2, at => ({
    name: `Model ${at}`,
    brand: `Brand ${at % 20}`,
    year: 1990 + (at % 30),
  }))
  await add('cars', CARS, at => ({
    plate: `AB-${at}-CD`,
    color: ['red', 'blue', 'green'][at % 3],
    price: 1000 + at,
    model_id: 1 + (at % (PAGE * 2)),
  }))
  await add('options', CARS * OPTIONS, at => ({
    label: `Option ${at % 17}`,
    price: at % 500,
    car_id: 1 + Math.floor(at / OPTIONS),
  }))
  const all = { where: [], sort: [{ path: ['id'], descending: false }] }
  const listStore = async (store: Store, limit: number) => {
    const { items } = await store.list(all, { limit, offset: 0 }, 'exact')
    return JSON.stringify(items.map(({ item }) => item)).length
  }
  /** The CPU time of the three lists of the stores, in µs. */
  const stores = async () => {
    const before = process.cpuUsage()
    for (let time = 0; time < TIMES; time++) {
      await listStore(carStore, PAGE)
      await listStore(modelStore, PAGE)
      await listStore(optionStore, PAGE * OPTIONS)
    }
    const { user, system } = process.cpuUsage(before)
    return { cpu: (user + system) / TIMES }
  }
  await answerQuestions(createServer(api.handler).listen(0, '127.0.0.1'), { stores })
}

interface Tables {
  cars: { id: number; plate: string; color: string; price: number; model_id: number }
  models: { id: number; name: string; brand: string; year: number }
  options: { id: number; label: string; price: number; car_id: number }
}

/** What fast-json-stringify knows of the answer. */
const text = { type: 'string' }
const number = { type: 'number' }
const dates = { created_at: text, updated_at: text }
const model = {
  type: 'object',
  properties: { id: number, name: text, brand: text, year: number, ...dates },
}
const option = {
  type: 'object',
  properties: { id: number, label: text, price: number, car_id: number, ...dates },
}
const car = {
  type: 'object',
  properties: {
    id: number,
    plate: text,
    color: text,
    price: number,
    model_id: number,
    ...dates,
    model,
    options: { type: 'array', items: option },
  },
}

async function serveByHand(database: string): Promise<void> {
  const db = (await openKysely(engine, database)) as Kysely<Tables> // the tables that ours has made
  const { default: fastify } = await import(
    new URL('node_modules/fastify/fastify.js', import.meta.url).href
  )
  const app = fastify()
  const schema = { response: { 200: { type: 'array', items: car } } }
  app.get('/cars', { schema }, async () => {
    const cars = await db.selectFrom('cars').selectAll().orderBy('id').limit(PAGE).execute()
    const modelIds = [...new Set(cars.map(({ model_id }) => model_id))]
    const carIds = cars.map(({ id }) => id)
    const [models, extras] = await Promise.all([
      db.selectFrom('models').selectAll().where('id', 'in', modelIds).execute(),
      db.selectFrom('options').selectAll().where('car_id', 'in', carIds).orderBy('id').execute(),
    ])
    const modelById = new Map(models.map(each => [each.id, each]))
    const byCar = new Map<number, Tables['options'][]>()
    for (const extra of extras) {
      const own = byCar.get(extra.car_id)
      if (own) own.push(extra)
      else byCar.set(extra.car_id, [extra])
    }
    return cars.map(each => ({
      ...each,
      model: modelById.get(each.model_id) ?? null,
      options: byCar.get(each.id) ?? [],
    }))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  await answerQuestions(app.server)
}

const { INCLUDE_DATABASE: database, BY_HAND } = process.env
if (database !== undefined) await (BY_HAND ? serveByHand(database) : serve(database))
else {
  prepare(options.build)
  const databases = isMemory ? undefined : await openDatabases(engine)
  const fresh = (await databases?.fresh()) ?? ''
  const file = fileURLToPath(import.meta.url)
  const ours = await child(file, process.argv.slice(2), 0, { INCLUDE_DATABASE: fresh })
  const byHand = isMemory
    ? undefined
    : await child(file, process.argv.slice(2), 0, { INCLUDE_DATABASE: fresh, BY_HAND: '1' })
  const load = await startLoad()
  const seconds = Number(options.seconds)
  const round = (name: string, server: typeof ours, paths: readonly string[]) =>
    load.round(
      { name, ...server, requests: paths.map(path => ({ path, method: 'GET' as const })) },
      seconds,
    )
  const runs: [Contestant, () => Promise<{ rate: number; cpu: number }>][] = [
    ['include', () => round('include', ours, [INCLUDE])],
    [
      'lists',
      async () => {
        const { rate, cpu } = await round('lists', ours, LISTS)
        return { rate: rate / LISTS.length, cpu: cpu * LISTS.length }
      },
    ],
    [
      'stores',
      async () => ({
        rate: Number.NaN,
        ...(await askProcess<{ cpu: number }>(ours.process, 'stores')),
      }),
    ],
  ]
  if (byHand) runs.push(['fastify', () => round('fastify', byHand, ['/cars'])])
  const best = new Map<Contestant, { rate: number; cpu: number }>()
  for (let at = -1; at < Number(options.rounds); at++) {
    for (const [name, run] of at % 2 === 0 ? runs : runs.toReversed()) {
      const found = await run()
      const known = best.get(name)
      if (at < 0) continue
      best.set(name, {
        rate: Math.max(found.rate, known?.rate ?? 0) || Number.NaN,
        cpu: Math.min(found.cpu, known?.cpu ?? Number.POSITIVE_INFINITY),
      })
    }
  }
  const include = best.get('include')
  printTable(
    `700 items in one answer, ${isMemory ? 'memory' : databases?.title}`,
    ['', 'CPU of Node, ms', 'include ÷ it', 'answers a second', 'include ÷ it'],
    [...best].map(([name, { rate, cpu }]) => [
      TITLES[name],
      (cpu / 1000).toFixed(2),
      ((include?.cpu ?? 0) / cpu).toFixed(2),
      Number.isNaN(rate) ? '' : rate.toFixed(0),
      Number.isNaN(rate) ? '' : ((include?.rate ?? 0) / rate).toFixed(2),
    ]),
  )
  printSetting(`${options.rounds} rounds of ${seconds} s, alternating, the best of each`, [
    'kysely',
    'fastify',
  ])
  load.end()
  for (const each of [ours, byHand]) each?.process.kill()
  await databases?.close()
}
