// Options of cars that other processes delete: `npx tsx bench/proofs/orphans.ts [--database=sqlite|postgres]
// [--tables=new|existing] [--on-delete=cascade|restrict] [--options=5000] [--processes=3]`. They are created by one version
// and the cars are deleted by either, and by SQL where the tables have keys. No option is left without its car.
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    tables: { type: 'string', default: 'new' },
    'on-delete': { type: 'string' },
    options: { type: 'string', default: '5000' },
    processes: { type: 'string', default: '3' },
    /** Of one of the processes. */
    at: { type: 'string' },
  },
})
const isNew = values.tables === 'new'

async function connect(at: string): Promise<Kysely<unknown>> {
  if (values.database === 'postgres') {
    const pool = preparePostgres(new pg.Pool({ connectionString: at, max: 8 }))
    return new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  }
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: reuseStatements(new Database(at)) }),
  })
  await prepareSqlite(db)
  return db
}

function serve(db: Kysely<unknown>) {
  const stated = values['on-delete']
  const onDelete = stated === 'cascade' || stated === 'restrict' ? stated : undefined
  const [shared, own] = ['cars', 'options'].map(table => sqlStore({ db, table, create: isNew }))
  if (!shared || !own) throw new Error('Two tables, two stores')
  const schema = z.object({ name: z.string() })
  const cars = () => defineCollection({ name: 'cars', schema, store: shared, id: 'integer' })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int() }),
    store: own,
    parents: { car_id: { collection: 'cars', onDelete } },
  })
  const versions = [
    { version: 1, collections: [cars()] },
    { version: 2, collections: [cars(), options] },
  ]
  return defineApi({ versions })
}

/** Creates options of the latest cars, and deletes those cars, until there are enough options. */
async function work(at: string): Promise<void> {
  const db = await connect(at)
  const api = serve(db)
  await api.open()
  const send = async (method: string, path: string, json?: object) => {
    const request = new Request(`http://cars.example${path}`, {
      method,
      ...(json && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
    })
    const answer = await api.fetch(request)
    await answer.arrayBuffer()
    return answer.status
  }
  const answers = new Map<string, number>()
  let made = 0
  while (made < Number(values.options) / Number(values.processes)) {
    await send('POST', '/v2/cars', { name: 'A' })
    const { rows } = await sql<{ id: number }>`select max(id) as id from cars`.execute(db)
    const id = Number(rows[0]?.id ?? 1)
    const post = () => send('POST', '/v2/options', { car_id: id })
    const removals = [
      () => send('DELETE', `/v1/cars/${id}`),
      () => send('DELETE', `/v2/cars/${id}`),
      () =>
        sql`delete from cars where id = ${id}`.execute(db).then(
          () => 0,
          () => 1,
        ),
    ]
    const remove = removals[Math.floor(Math.random() * (isNew ? 3 : 2))] ?? post
    // Alone, a process would always have them in one order.
    const late = async <T>(does: () => Promise<T>): Promise<T> => {
      if (Math.random() < 0.5) await new Promise(go => setTimeout(go, Math.random() * 10))
      return does()
    }
    const done = await Promise.all([late(post), late(post), late(remove), late(post)])
    for (const [place, status] of done.entries()) {
      const key = `${place === 2 ? 'delete' : 'create'} ${status}`
      answers.set(key, (answers.get(key) ?? 0) + 1)
    }
    made += done.filter((status, place) => place !== 2 && status === 201).length
  }
  console.log(Object.fromEntries([...answers].sort()))
  await api.close()
  await db.destroy()
}

/** Tables as they were made before there were keys. */
async function makeTables(db: Kysely<unknown>): Promise<void> {
  const isPostgres = values.database === 'postgres'
  const [id, text, time] = isPostgres
    ? ['bigint', 'text collate "C"', 'timestamptz(3)']
    : ['integer', 'text', 'text']
  const rest = `created_at ${time} not null, updated_at ${time} not null, version ${text} not null`
  for (const statement of [
    `create table cars (id ${id} primary key not null, name ${text} not null, ${rest})`,
    `create table options (id ${isPostgres ? 'uuid' : 'text'} primary key not null, car_id ${id} not null, ${rest})`,
    `create index options_by_car_id on options (car_id, id)`,
    `create table rest_sequences (name ${text} primary key not null, last_id ${text} not null)`,
    `create table rest_idempotency (name ${text} not null, key ${text} not null, fingerprint ${text} not null, answer ${text}, expires_at ${id} not null, primary key (name, key))`,
  ]) {
    await sql.raw(statement).execute(db)
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'orphans-'))
  const at =
    values.database === 'postgres'
      ? await createDatabase((await startPostgres()).url, `orphans_${process.pid}`)
      : join(folder, 'cars.db')
  const db = await connect(at)
  if (!isNew) await makeTables(db)
  const begin = performance.now()
  const ends = Array.from({ length: Number(values.processes) }, () => {
    const child = fork(import.meta.filename, [...process.argv.slice(2), `--at=${at}`])
    return new Promise(resolve => child.on('exit', resolve))
  })
  const codes = await Promise.all(ends)
  const count = async (query: string) =>
    Number((await sql.raw<{ n: number }>(`select count(*) as n ${query}`).execute(db)).rows[0]?.n)
  const orphans = await count(
    'from options as o where not exists (select 1 from cars as c where c.id = o.car_id)',
  )
  const options = await count('from options')
  const seconds = ((performance.now() - begin) / 1000).toFixed(1)
  console.log({ ...values, codes, options, orphans, seconds })
  await db.destroy()
  rmSync(folder, { recursive: true })
  process.exitCode = orphans === 0 ? 0 : 1
}

await (values.at === undefined ? main() : work(values.at))
