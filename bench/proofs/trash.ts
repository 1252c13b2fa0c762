// The trash and upserts, with row policies. First requests at random of two owners, in memory, on SQLite and on PostgreSQL: each
// response, and all that both see, is as in a model of plain JavaScript. Then processes that create, delete, restore and upsert
// the same few plates in one table at once, on one file of SQLite and on one PostgreSQL: no plate is twice outside of the
// trash, and no item is lost. `npx tsx bench/proofs/trash.ts [--requests=10000] [--seed=1] [--races=2000] [--processes=2]`
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { memoryStore } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'
import { openGarage } from '../../test/trash-garage.ts'
import { askTrash } from '../../test/trash-model.ts'
import { askProcess, child } from '../processes.ts'

const { values, positionals } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    races: { type: 'string', default: '2000' },
    processes: { type: 'string', default: '2' },
  },
  allowPositionals: true,
})

const PLATES = 6
const CLIENTS = 8

if (process.send) await race(positionals[0] ?? '')
else await prove()

async function openDatabase(address: string): Promise<Kysely<unknown>> {
  if (address.startsWith('postgres')) {
    const pool = preparePostgres(new pg.Pool({ connectionString: address }))
    return new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  }
  const database = reuseStatements(new Database(address))
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  return db
}

function garageOf(db: Kysely<unknown>) {
  return openGarage(() => sqlStore({ db, create: true }))
}

/** What a process has done: how often each response came, and what was created, deleted and restored. */
interface Done {
  readonly statuses: Record<string, number>
  created: number
  deleted: number
  restored: number
}

/** Races with the other processes when it is told to. */
async function race(address: string): Promise<void> {
  const { api, send } = garageOf(await openDatabase(address))
  await api.open()
  const draw = (below: number) => Math.floor(Math.random() * below)
  process.on('message', async count => {
    const done: Done = { statuses: {}, created: 0, deleted: 0, restored: 0 }
    const step = async () => {
      const plate = `p${draw(PLATES)}`
      const find = async (place: string) => {
        const { json } = await send('GET', `/cars${place}?plate=${plate}&limit=20`)
        return json[draw(json.length)]?.id ?? 999_999
      }
      const prefer = { prefer: 'resolution=merge-duplicates' }
      const kinds = {
        create: () => send('POST', '/cars', { plate }),
        delete: async () => send('DELETE', `/cars/${await find('')}`),
        restore: async () => send('POST', `/cars/${await find('/trash')}/restore`),
        upsert: () => send('PUT', `/cars?plate=${plate}`, { note: 'x' }),
        merge: () => send('POST', '/cars', [{ plate, note: 'y' }], prefer),
        'create part': async () => send('POST', '/parts', { car_id: await find(''), name: 'x' }),
      }
      const [kind, ask] = Object.entries(kinds)[draw(6)] ?? ['', kinds.create]
      const { status } = await ask()
      const key = `${kind} ${status}`
      done.statuses[key] = (done.statuses[key] ?? 0) + 1
      if (status === 201 && kind !== 'create part') done.created++
      if (status === 200 && kind === 'delete') done.deleted++
      if (status === 303 && kind === 'restore') done.restored++
    }
    const run = async () => {
      for (let at = 0; at < Number(count) / CLIENTS; at++) await step()
    }
    await Promise.all(Array.from({ length: CLIENTS }, run))
    process.send?.(done)
  })
  process.on('disconnect', () => process.exit())
  process.send?.({})
}

/** @returns what is wrong after the races of several processes. */
async function raceOn(name: string, address: string): Promise<string[]> {
  const db = await openDatabase(address)
  const { api, cars, parts } = garageOf(db)
  await api.open()
  const script = fileURLToPath(import.meta.url)
  const started = Array.from({ length: Number(values.processes) }, () => child(script, [address]))
  const children = (await Promise.all(started)).map(each => each.process)
  const all = await Promise.all(children.map(each => askProcess<Done>(each, values.races)))
  for (const each of children) each.kill()
  const statuses: Record<string, number> = {}
  for (const each of all)
    for (const [key, count] of Object.entries(each.statuses))
      statuses[key] = (statuses[key] ?? 0) + count
  console.info(`${name}: ${children.length} processes`, statuses)
  const sum = (what: 'created' | 'deleted' | 'restored') =>
    all.reduce((total, each) => total + each[what], 0)
  const wrong = Object.keys(statuses).filter(key => / 5\d\d$/.test(key))
  const own = api.collection(cars)
  const live = await own.list().toArray({ max: 1000 })
  const inTrash = await own.trash.count()
  if (new Set(live.map(({ plate }) => plate)).size < live.length)
    wrong.push(`A plate is twice: ${JSON.stringify(live)}`)
  if (live.length + inTrash !== sum('created'))
    wrong.push(`${sum('created')} created, ${live.length} and ${inTrash} in the trash are there`)
  if (inTrash !== sum('deleted') - sum('restored'))
    wrong.push(`${sum('deleted')} deleted, ${sum('restored')} restored, ${inTrash} in the trash`)
  const ids = new Set(live.map(({ id }) => id))
  for (const part of await api.collection(parts).list().toArray({ max: 100_000 }))
    if (!ids.has(part.car_id)) wrong.push(`The part ${part.id} has a car in the trash`)
  await api.close()
  await db.destroy()
  return wrong
}

async function prove(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'trash-'))
  const server = await startPostgres()
  const name = `trash_${process.pid}`
  const sqlite = await openDatabase(':memory:')
  const postgres = await openDatabase(await createDatabase(server.url, name))
  let tables = 0
  const inTable = (db: Kysely<unknown>) => () =>
    sqlStore({ db, table: `t${++tables}`, create: true })
  const stores = {
    memory: () => memoryStore(),
    SQLite: inTable(sqlite),
    PostgreSQL: inTable(postgres),
  }
  for (const [store, open] of Object.entries(stores))
    console.info(
      store,
      await askTrash(async () => open, Number(values.requests), Number(values.seed)),
    )
  await postgres.destroy()
  await dropDatabase(server.url, name)
  const wrong = [
    ...(await raceOn('SQLite', join(folder, 'cars.db'))),
    ...(await raceOn('PostgreSQL', await createDatabase(server.url, `${name}_race`))),
  ]
  await dropDatabase(server.url, `${name}_race`)
  rmSync(folder, { recursive: true })
  console.info({ wrong })
  process.exit(wrong.length > 0 ? 1 : 0)
}
