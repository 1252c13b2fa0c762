// A car with 10,000 options, each with a file, is deleted: `npx tsx bench/proofs/cascade.ts [--options=10000]`. The files
// go with it, in each store; one option more is a 409, and nothing goes.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type CompiledQuery, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({ options: { options: { type: 'string', default: '10000' } } })
const total = Number(values.options)

const server = await startPostgres()
const name = `cascade_${process.pid}`
const pool = preparePostgres(
  new pg.Pool({ connectionString: await createDatabase(server.url, name) }),
)
const database = reuseStatements(new Database(':memory:'))
let statements = 0
const log = ({ query }: { query: CompiledQuery }) => {
  if (/^delete/.test(query.sql)) statements++
}
const sqlite = new Kysely<unknown>({ dialect: new SqliteDialect({ database }), log })
await prepareSqlite(sqlite)
const postgres = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }), log })
const stores: Readonly<Record<string, (table: string) => Store>> = {
  memory: () => memoryStore(),
  sqlite: table => sqlStore({ db: sqlite, table, create: true }),
  postgres: table => sqlStore({ db: postgres, table, create: true }),
}

for (const [title, open] of Object.entries(stores)) {
  const folder = await mkdtemp(join(tmpdir(), 'cascade-'))
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string() }),
    store: open('cars'),
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.string(), photo: blob({ inlineBelow: 0 }) }),
    store: open('options'),
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
    blobs: fileBlobs(folder),
  })
  // On a busy machine it may take longer than the 5 s that a request has.
  const limits = { workTime: 120_000 }
  const api = defineApi({ collections: { cars, options }, limits })
  const { id: car_id } = await api.collection(cars).create({ name: 'A' })
  const add = async () => {
    const form = new FormData()
    form.set('photo', new Blob(['a photo'], { type: 'image/png' }), 'a.png')
    const url = `http://cars.example/cars/${car_id}/options`
    const { status } = await api.fetch(new Request(url, { method: 'POST', body: form }))
    if (status !== 201) throw new Error(`${status}`)
  }
  const countFiles = async () => {
    const found = await readdir(folder, { recursive: true, withFileTypes: true })
    return found.filter(each => each.isFile()).length
  }
  const remove = async () => {
    const request = new Request(`http://cars.example/cars/${car_id}`, { method: 'DELETE' })
    return (await api.fetch(request)).status
  }
  for (let made = 0; made < total; made += 50) await Promise.all(Array.from({ length: 50 }, add))
  const files = await countFiles()
  await add()
  const refused = total === 10_000 ? await remove() : undefined
  const one = await api.collection(options).list().first()
  if (one) await api.collection(options).delete(one.id)
  statements = 0
  const begin = performance.now()
  const status = await remove()
  const milliseconds = Math.round(performance.now() - begin)
  // An answer waits for a second for its files.
  for (let tries = 0; tries < 300 && (await countFiles()) > 0; tries++) await sleep(100)
  const left = [await api.collection(options).count(), await countFiles()]
  console.info({ title, files, refused, status, milliseconds, statements, left })
  if (status !== 200 || left.some(Boolean)) process.exitCode = 1
  await api.close()
  await rm(folder, { recursive: true })
}
await postgres.destroy()
await dropDatabase(server.url, name)
process.exit()
