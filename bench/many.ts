// What many items at once cost, in CPU time of Node and of the database together:
//   npx tsx bench/many.ts [--store=sqlite|postgres] [--items=1000] [--rounds=5] [--build=<folder>]
// An array of cars that is created, against one multi-row INSERT by hand and as many POSTs; a PATCH by filter, against
// one UPDATE by hand and as many PATCHes. The contestants alternate; each has the least of its rounds.
import { readFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Database from 'libsql'
import pg from 'pg'
import { z } from 'zod'
import { ask } from '../test/stores/postgres-server.ts'
import { type Engine, openDatabases, openKysely } from './databases.ts'
import { askProcess, type Child, child, prepare, published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    items: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    build: { type: 'string' },
  },
})
const engine: Engine = options.store === 'postgres' ? 'postgres' : 'sqlite'
const items = Number(options.items)
/** So many rounds come before the measured ones: a process that imports is warm. */
const WARM_UP = 10
const COLUMNS = ['color', 'price', 'lot', 'created_at', 'updated_at', 'version']

type Values = Readonly<Record<string, unknown>>

/** Writes by hand on a database: the rows of an array, and a change of all rows of a lot. */
interface ByHand {
  insert(rows: readonly (readonly unknown[])[]): Promise<readonly unknown[]>
  update(lot: number, price: number): Promise<number>
}

function insertText(count: number, placeholder: (at: number) => string): string {
  let at = 0
  const row = () => `(${COLUMNS.map(() => placeholder(++at)).join(', ')})`
  return `insert into hand (${COLUMNS.join(', ')}) values ${Array.from({ length: count }, row).join(', ')} returning id`
}

/** The table by hand: as the store makes its own, but for ids, which the database counts. */
function tableText(id: string): string {
  const columns = 'color text not null, price double precision not null, lot bigint not null'
  const others = 'created_at text not null, updated_at text not null, version text not null'
  return `create table hand (id ${id}, ${columns}, ${others}); create index hand_lot on hand (lot)`
}

function handOnSqlite(file: string): ByHand {
  const database = new Database(file)
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000')
  database.exec(tableText('integer primary key'))
  const insert = database.prepare(insertText(items, () => '?'))
  const update = database.prepare(
    'update hand set price = ?, updated_at = ?, version = lower(hex(randomblob(8))) where lot = ?',
  )
  return {
    insert: async rows => insert.all(...rows.flat()),
    update: async (lot, price) => update.run(price, new Date().toISOString(), lot).changes,
  }
}

async function handOnPostgres(url: string): Promise<ByHand> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query(tableText('bigint primary key generated always as identity'))
  const insert = insertText(items, at => `$${at}`)
  return {
    insert: async rows =>
      (await pool.query({ name: 'insert', text: insert, values: rows.flat() })).rows,
    async update(lot, price) {
      const update =
        'update hand set price = $1, updated_at = $2, version = gen_random_uuid()::text where lot = $3'
      const values = [price, new Date().toISOString(), lot]
      return (await pool.query({ name: 'update', text: update, values })).rowCount ?? 0
    },
  }
}

/** Serves cars, and below `/hand` what is written by hand into the same table. */
async function serve(database: string): Promise<void> {
  const { defineApi, defineCollection, sqlStore } = await published()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string(), price: z.number(), lot: z.int() }),
    store: sqlStore({ db: await openKysely(engine, database), create: true }),
    id: 'integer',
    indexes: ['lot'],
    operations: ['list', 'count', 'read', 'create', 'patch', 'delete', 'patchMany'],
  })
  const api = defineApi({ collections: { cars } })
  await api.open()
  const hand = engine === 'sqlite' ? handOnSqlite(database) : await handOnPostgres(database)
  const answer = (response: ServerResponse, status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  const byHand = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse(await text(incoming))
    if (!Array.isArray(body)) return answer(response, 200, await hand.update(body.lot, body.price))
    const date = new Date().toISOString()
    const made = body.map(car => ({
      ...car,
      created_at: date,
      updated_at: date,
      version: makeVersion(),
    }))
    const ids = await hand.insert(made.map(car => COLUMNS.map(name => car[name])))
    const whole = made.map(({ version: _version, ...car }, at) => ({ ...Object(ids[at]), ...car }))
    answer(response, 201, whole)
  }
  const server = createServer((incoming, response) => {
    if (incoming.url === '/hand') void byHand(incoming, response)
    else api.handler(incoming, response)
  })
  await answerQuestions(server.listen(0, '127.0.0.1'))
}

function makeVersion(): string {
  return Math.random().toString(36).slice(2)
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

interface Sent {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

async function send(port: number, { method, path, body }: Sent): Promise<void> {
  const json = JSON.stringify(body)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    prefer: 'return=minimal',
  }
  const whole = Array.isArray(body) ? { ...headers, prefer: 'return=representation' } : headers
  await new Promise<void>((resolve, reject) => {
    const sent = request(
      { agent, port, host: '127.0.0.1', method, path, headers: whole },
      answer => {
        text(answer).then(received => {
          if (Number(answer.statusCode) < 300) resolve()
          else
            reject(new Error(`${method} ${path}: ${answer.statusCode} ${received.slice(0, 500)}`))
        }, reject)
      },
    )
    sent.on('error', reject)
    sent.end(json)
  })
}

const carOf = (at: number, lot: number): Values => ({
  color: `color ${at % 12}`,
  price: at % 500,
  lot,
})
const carsOf = (lot: number) => Array.from({ length: items }, (_, at) => carOf(at, lot))

/** The works: what each contestant sends in a round. */
const WORKS: Readonly<
  Record<string, Readonly<Record<string, (round: number) => readonly Sent[]>>>
> = {
  create: {
    'a multi-row INSERT by hand': round => [
      { method: 'POST', path: '/hand', body: carsOf(1000 + round) },
    ],
    'an array': round => [{ method: 'POST', path: '/cars', body: carsOf(2000 + round) }],
    'POSTs one by one': round =>
      carsOf(3000 + round).map(body => ({ method: 'POST', path: '/cars', body })),
  },
  patch: {
    'one UPDATE by hand': round => [
      { method: 'POST', path: '/hand', body: { lot: 1, price: 1000 + round } },
    ],
    'a PATCH by filter': round => [
      { method: 'PATCH', path: '/cars?lot=2', body: { price: 1000 + round } },
    ],
    'PATCHes one by one': round =>
      Array.from({ length: items }, (_, at) => ({
        method: 'PATCH',
        path: `/cars/${1 + items + at}`,
        body: { price: 1000 + round },
      })),
  },
}

/** The CPU time of PostgreSQL for a database, in microseconds; SQLite works in the process of Node. */
async function findDatabaseTime(database: string): Promise<ReadonlyMap<number, number>> {
  if (engine === 'sqlite') return new Map()
  const name = new URL(database).pathname.slice(1)
  const query = 'select pid from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()'
  const found = await ask(database, query, [name])
  const spent = (pid: unknown) => readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]
  return new Map(found.map(({ pid }) => [Number(pid), Number(spent(pid)) / 1000]))
}

async function measure(server: Child, database: string, all: readonly Sent[]) {
  const before = await findDatabaseTime(database)
  const { cpu } = await askProcess<{ cpu: number }>(server.process, 'usage')
  await Promise.all(all.map(each => send(server.port, each)))
  const { cpu: end } = await askProcess<{ cpu: number }>(server.process, 'usage')
  const after = await findDatabaseTime(database)
  const inDatabase = [...after].reduce(
    (sum, [pid, spent]) => sum + spent - (before.get(pid) ?? 0),
    0,
  )
  return { node: end - cpu, database: inDatabase }
}

if (process.env.MANY_DATABASE) await serve(process.env.MANY_DATABASE)
else {
  prepare(options.build)
  const databases = await openDatabases(engine)
  const rows: string[][] = []
  for (const [work, contestants] of Object.entries(WORKS)) {
    const database = await databases.fresh()
    const file = fileURLToPath(import.meta.url)
    const server = await child(file, process.argv.slice(2), 0, { MANY_DATABASE: database })
    if (work === 'patch') {
      await send(server.port, { method: 'POST', path: '/hand', body: carsOf(1) })
      for (const lot of [2, 3])
        await send(server.port, { method: 'POST', path: '/cars', body: carsOf(lot) })
    }
    const found = new Map<string, { node: number; database: number }>()
    for (let round = -WARM_UP; round < Number(options.rounds); round++) {
      const all = Object.entries(contestants)
      for (const [name, build] of round % 2 === 0 ? all : all.toReversed()) {
        const spent = await measure(server, database, build(round + WARM_UP))
        const least = found.get(name)
        if (round >= 0 && (!least || total(spent) < total(least))) found.set(name, spent)
      }
    }
    const [hand] = found.values()
    const single = [...found.values()].at(-1)
    for (const [name, spent] of [...found].toSorted())
      rows.push([
        `${items} cars: ${name}`,
        (spent.node / 1000).toFixed(1),
        (spent.database / 1000).toFixed(1),
        (total(spent) / total(hand ?? spent)).toFixed(2),
        (total(spent) / total(single ?? spent)).toFixed(2),
      ])
    server.process.kill()
  }
  await databases.close()
  printTable(
    'CPU time of the least of the rounds',
    ['work', 'Node ms', 'database ms', '÷ by hand', '÷ one by one'],
    rows,
  )
  printSetting(`${options.rounds} rounds, ${databases.title}`, ['libsql', 'pg', 'kysely'])
  process.exit()
}

function total({ node, database }: { readonly node: number; readonly database: number }): number {
  return node + database
}
