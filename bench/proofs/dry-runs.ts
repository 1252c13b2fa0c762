// Random dry runs leave the database as it is, byte for byte:
//   npx tsx bench/proofs/dry-runs.ts [--database=sqlite|postgres] [--runs=10000] [--seed=1]
// Single writes, arrays, writes by filter, actions and batches, with keys, hooks that write, cascades and failures. After
// each one every table is printed, those of keys and ids too. Now and then the same request is really done, and has
// the answer that its dry run had.
import { parseArgs } from 'node:util'
import { type Kysely, sql } from 'kysely'
import { z } from 'zod'
import { type Engine, openDatabases, openKysely } from '../databases.ts'
import { prepare, published } from '../processes.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
})
const engine: Engine = values.database === 'postgres' ? 'postgres' : 'sqlite'
/** One in so many runs is really done. */
const REAL = 20

let state = Number(values.seed)
function random(bound: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((state / 2_147_483_648) * bound)
}
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T

async function serve(db: Kysely<unknown>) {
  const { defineApi, defineCollection, sqlStore } = await published()
  const store = () => sqlStore({ db, create: true })
  const audit = defineCollection({
    name: 'audit',
    schema: z.object({ text: z.string() }),
    store: store(),
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string().min(2), price: z.int(), code: z.string().optional() }),
    store: store(),
    id: 'integer',
    unique: ['code'],
    operations: ['list', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany', 'deleteMany'],
    hooks: {
      before: {
        create: async ({ value, collection }) => {
          await collection('audit').create({ text: `before ${value.color}` })
        },
      },
      after: {
        patch: async ({ collection }, { color }) => {
          await collection('audit').create({ text: `after ${color}` })
        },
      },
      transaction: true,
    },
    actions: {
      raise: {
        on: 'item',
        transaction: true,
        run: ({ item, update }) => update({ price: item.price + 1 }),
      },
    },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int(), label: z.string() }),
    store: store(),
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
  })
  return defineApi({ collections: { audit, cars, options }, batch: true })
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly prefer?: string
}

const COLORS = ['red', 'blue', 'x']
const car = () => ({
  color: pick(COLORS),
  price: random(9),
  ...(random(3) === 0 && { code: `code ${random(9)}` }),
})

function drawWrite(): Sent {
  const id = 1 + random(20)
  switch (random(10)) {
    case 0:
      return { method: 'POST', path: '/cars', body: car() }
    case 1:
      return { method: 'POST', path: '/cars', body: Array.from({ length: random(5) }, car) }
    case 2:
      return { method: 'PUT', path: `/cars/${id}`, body: car() }
    case 3:
      return { method: 'PATCH', path: `/cars/${id}`, body: { price: random(9) } }
    case 4:
      return { method: 'DELETE', path: `/cars/${id}` }
    case 5:
      return { method: 'PATCH', path: `/cars?color=${pick(COLORS)}`, body: { price: random(9) } }
    case 6:
      return {
        method: 'DELETE',
        path: `/cars?price=${random(9)}`,
        prefer: `max-affected=${random(9)}`,
      }
    case 7:
      return { method: 'POST', path: `/cars/${id}/raise` }
    case 8:
      return { method: 'POST', path: `/cars/${id}/options`, body: { label: 'x' } }
    default:
      return { method: 'POST', path: '/options', body: { car_id: id, label: 'y' } }
  }
}

function draw(): Sent {
  if (random(4) > 0) return drawWrite()
  const steps = Array.from({ length: 1 + random(5) }, drawWrite)
  return { method: 'POST', path: '/batch', body: steps }
}

/** Prints all tables. */
async function dump(db: Kysely<unknown>): Promise<string> {
  const names =
    engine === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table' order by name`
      : sql<{
          name: string
        }>`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`
  const tables: unknown[] = []
  for (const { name } of (await names.execute(db)).rows) {
    const { rows } = await sql`select * from ${sql.table(name)}`.execute(db)
    tables.push([name, rows.map(row => JSON.stringify(row)).sort()])
  }
  return JSON.stringify(tables)
}

prepare()
const databases = await openDatabases(engine)
const db = await openKysely(engine, await databases.fresh())
const api = await serve(db)
await api.open()
await api.collection('cars').create(Array.from({ length: 10 }, () => ({ color: 'red', price: 1 })))

async function send({ method, path, body, prefer }: Sent, tries: boolean, key: string | undefined) {
  const preferences = [prefer, tries && 'tx=rollback'].filter(Boolean).join(', ')
  const headers = {
    'content-type': 'application/json',
    ...(preferences && { prefer: preferences }),
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  const text = body === undefined ? null : JSON.stringify(body)
  const answer = await api.fetch(new Request(`http://api${path}`, { method, headers, body: text }))
  return { status: answer.status, text: await answer.text() }
}

const statuses: Record<number, number> = {}
let done = 0
let before = await dump(db)
for (let run = 0; run < Number(values.runs); run++) {
  const sent = draw()
  const key = random(2) === 0 ? `key ${random(50)}` : undefined
  const tried = await send(sent, true, key)
  const after = await dump(db)
  if (after !== before) throw new Error(`${JSON.stringify(sent)} has changed the database`)
  statuses[tried.status] = (statuses[tried.status] ?? 0) + 1
  if (run % REAL > 0) continue
  const real = await send(sent, false, undefined)
  // A PUT or a PATCH is answered by a redirect, which a dry run has not.
  const isSame = real.status === tried.status || (real.status === 303 && tried.status === 200)
  if (!isSame)
    throw new Error(`${JSON.stringify(sent)}: ${tried.status} as a dry run, ${real.status} done`)
  done++
  before = await dump(db)
}
console.log({
  database: databases.title,
  dryRuns: Number(values.runs),
  statuses,
  really: done,
  bytes: before.length,
})
await api.close()
await databases.close()
process.exit()
