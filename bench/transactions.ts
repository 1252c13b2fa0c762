// What transactions cost those beside them: 400 connections at once, each with one write. How long a good
// request waits meanwhile, and how many of the writes are done. And the deletion of an item with many
// children, on a PostgreSQL that is some milliseconds away.
//   npx tsx bench/transactions.ts [--stores=memory,sqlite,reader,postgres] [--build=<folder>] [--children=10000] [--away=1]
import { once } from 'node:events'
import { createServer, get, request } from 'node:http'
import { connect, createServer as createProxy } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { z } from 'zod'
import { type Databases, openDatabases, openKysely } from './databases.ts'
import { type Child, child, compile, prepare, published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options, positionals } = parseArgs({
  options: {
    build: { type: 'string' },
    stores: { type: 'string', default: 'memory,sqlite,reader,postgres' },
    children: { type: 'string', default: '10000' },
    away: { type: 'string', default: '1' },
  },
  allowPositionals: true,
})

const CONNECTIONS = 400
const ACCOUNTS = 5

type StoreName = 'memory' | 'sqlite' | 'reader' | 'postgres'

/** A write of a burst, by the number of the connection. */
interface Burst {
  readonly title: string
  readonly path: string
  readonly body: (at: number) => object
  readonly method?: string
}

const BURSTS: readonly Burst[] = [
  { title: 'plain creates', path: '/notes', body: () => ({ text: 'a note' }) },
  {
    title: 'creates with onDelete',
    path: '/children',
    body: () => ({ text: 'a child', parent_id: 1 }),
  },
  {
    title: 'transfers',
    path: '/accounts/transfer',
    body: at => ({
      from: 1 + (at % ACCOUNTS),
      to: 1 + ((at + 1 + (at % (ACCOUNTS - 1))) % ACCOUNTS),
    }),
  },
  {
    title: 'patches of one item, audited by a hook',
    path: '/orders/1',
    body: at => ({ text: `change ${at}` }),
    method: 'PATCH',
  },
]

if (process.send) await serve(positionals[0] as StoreName, positionals[1] ?? '')
else await measure()

/** @param children how many the first parent gets. */
async function serve(name: StoreName, database: string): Promise<void> {
  const { defineApi, defineCollection, memoryStore, prepareSqlite, sqlStore } = await published()
  // What is built has the types of its source.
  const { harden } = (await import(
    new URL('node/harden.js', process.env.BUILD).href
  )) as typeof import('../src/node/harden.ts')
  const db =
    name === 'memory'
      ? undefined
      : await openKysely(name === 'postgres' ? 'postgres' : 'sqlite', database)
  if (name === 'reader' && db) {
    const dialect = new SqliteDialect({ database: new Database(database) })
    await prepareSqlite(db, { reader: new Kysely<unknown>({ dialect }) })
  }
  const store = (table: string) => (db ? sqlStore({ db, table, create: true }) : memoryStore())
  const text = z.object({ text: z.string() })
  const parents = defineCollection({
    name: 'parents',
    schema: text,
    store: store('parents'),
    id: 'integer',
  })
  const children = defineCollection({
    name: 'children',
    schema: z.object({ text: z.string(), parent_id: z.int() }),
    store: store('children'),
    id: 'integer',
    references: { parent_id: { collection: 'parents', onDelete: 'cascade' } },
  })
  const notes = defineCollection({
    name: 'notes',
    schema: text,
    store: store('notes'),
    id: 'integer',
  })
  const orders = defineCollection({
    name: 'orders',
    schema: text,
    store: store('orders'),
    id: 'integer',
    hooks: {
      transaction: true,
      after: {
        async patch({ collection }) {
          await collection(notes).create({ text: 'changed' })
        },
      },
    },
  })
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int() }),
    store: store('accounts'),
    id: 'integer',
    actions: {
      transfer: {
        on: 'collection',
        transaction: true,
        input: z.object({ from: z.int(), to: z.int() }),
        async run({ input: { from, to }, collection }) {
          const all = collection('accounts')
          const [one, other] = [await all.read(from), await all.read(to)]
          await all.patch(one, { balance: Number(Object(one).balance) - 1 })
          await all.patch(other, { balance: Number(Object(other).balance) + 1 })
        },
      },
    },
  })
  const api = defineApi({
    collections: [parents, children, notes, orders, accounts],
    onError: () => undefined,
  })
  await api.collection(parents).create({ text: 'the first' })
  await api.collection(children).create({ text: 'a child', parent_id: 1 })
  await api.collection(notes).create({ text: 'a note' })
  await api.collection(orders).create({ text: 'an order' })
  for (let at = 0; at < ACCOUNTS; at++) await api.collection(accounts).create({ balance: 0 })
  await answerQuestions(harden(createServer(api.handler)).listen(0, '127.0.0.1'), {
    /** Gives the first parent many children. */
    async fill() {
      if (!db) return 0
      const overriding = name === 'postgres' ? sql`overriding system value` : sql``
      await sql`insert into children (id, text, parent_id, created_at, updated_at, version) ${overriding}
        with recursive numbers(n) as (select 2 union all select n + 1 from numbers where n < ${sql.lit(Number(options.children))})
        select n, text, 1, created_at, updated_at, version || n from children cross join numbers where id = 1`.execute(
        db,
      )
      return 1
    },
  })
}

async function measure(): Promise<void> {
  prepare(options.build)
  const script = compile(fileURLToPath(import.meta.url))
  const rows: string[][] = []
  for (const name of options.stores.split(',') as StoreName[]) {
    const databases = await openDatabases(name === 'postgres' ? 'postgres' : 'sqlite')
    for (const each of BURSTS) {
      const server = await child(script, [name, await databases.fresh()])
      rows.push([`${name}: ${each.title}`, ...(await burst(server, each))])
      server.process.kill()
      process.stderr.write('.')
    }
    if (name === 'postgres') rows.push(await cascade(script, databases))
    await databases.close()
  }
  process.stderr.write('\n')
  printTable(
    `${CONNECTIONS} connections with one write each`,
    [
      '',
      'first good request, ms',
      'slowest after it, ms',
      'good requests, failed',
      'done',
      'seconds',
    ],
    rows,
  )
  printSetting('one server process, its clients in another', ['kysely', 'libsql'])
}

/** Sends all writes at once, and good requests one after another until all are answered. */
async function burst({ port }: Child, { path, body, method }: Burst): Promise<string[]> {
  for (let warm = 0; warm < 200; warm++) await askForItem(port)
  await send(port, path, body(0), method)
  const started = performance.now()
  let ended = false
  const writes = Array.from({ length: CONNECTIONS }, (_, at) => send(port, path, body(at), method))
  const all = Promise.all(writes).finally(() => {
    ended = true
  })
  await wait(5)
  const times: number[] = []
  let failed = 0
  while (!ended) {
    const asked = performance.now()
    if (!(await askForItem(port))) failed++
    times.push(performance.now() - asked)
  }
  const done = (await all).filter(status => status >= 200 && status < 400)
  const seconds = (performance.now() - started) / 1000
  const [first = 0, ...others] = times
  return [
    first.toFixed(0),
    Math.max(0, ...others).toFixed(0),
    `${times.length}, ${failed}`,
    String(done.length),
    seconds.toFixed(1),
  ]
}

/** Deletes a parent with its children, on a database that each byte needs some time to reach. */
async function cascade(script: string, databases: Databases): Promise<string[]> {
  const away = Number(options.away)
  const near = new URL(await databases.fresh())
  const proxy = createProxy(client => {
    const server = connect(Number(near.port || 5432), near.hostname)
    const pass = (from: typeof client, to: typeof client) => {
      from.on('data', bytes => void setTimeout(() => to.write(bytes), away / 2))
      from.on('close', () => to.destroy()).on('error', () => to.destroy())
    }
    pass(client, server)
    pass(server, client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  const far = Object.assign(new URL(near.href), {
    hostname: '127.0.0.1',
    port: typeof address === 'object' && address ? String(address.port) : '',
  })
  const server = await child(script, ['postgres', far.href])
  server.process.send('fill')
  await once(server.process, 'message')
  const started = performance.now()
  const status = await send(server.port, '/parents/1', {}, 'DELETE')
  const seconds = (performance.now() - started) / 1000
  server.process.kill()
  proxy.close()
  const title = `postgres ${away} ms away: a deletion with ${options.children} children`
  return [title, '', '', '', String(status), seconds.toFixed(1)]
}

/** Sends a write on a connection of its own. @returns its status, 0 where it has none. */
function send(port: number, path: string, body: object, method = 'POST'): Promise<number> {
  return new Promise(resolve => {
    const headers = { 'content-type': 'application/json' }
    request({ port, host: '127.0.0.1', path, method, headers, agent: false }, response => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
      .once('error', () => resolve(0))
      .end(method === 'DELETE' ? undefined : JSON.stringify(body))
  })
}

/** Whether a good request is answered as it should be. */
function askForItem(port: number): Promise<boolean> {
  return new Promise(resolve => {
    get({ port, host: '127.0.0.1', path: '/parents/1', agent: false }, response => {
      response.resume().once('end', () => resolve(response.statusCode === 200))
    }).once('error', () => resolve(false))
  })
}
