// A helpdesk that is followed by agents and customers while writers of SQL and of HTTP interleave, servers are killed by kill -9
// and connections are cut:
//   npx tsx bench/proofs/live.ts [--database=postgres|pgbouncer|sqlite] [--rounds=20] [--writes=500] [--seed=1] [--url=<server>]
// After each round every board is the list; no board had a ticket or a note that is not its own. Each writer, client and killer
// draws the same for the same seed; what they meet depends on the machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { CompiledQuery } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { freePort } from '../../test/free-port.ts'
import { openDesk } from '../../test/live/desk.ts'
import { Board } from '../../test/live/events.ts'
import { drawer } from '../../test/random.ts'
import { startPgBouncer } from '../../test/stores/pgbouncer.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'postgres' },
    rounds: { type: 'string', default: '20' },
    writes: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    url: { type: 'string' },
  },
})
const SERVERS = values.database === 'sqlite' ? 2 : 3
const WRITERS = 8
const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(root, 'node_modules', '.live-'))
const desk = join(folder, 'desk.mjs')
await build({
  entryPoints: [join(root, 'test/live/desk.ts')],
  outfile: desk,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})
const name = `live_${process.pid}`
const isSqlite = values.database === 'sqlite'
const postgres = isSqlite ? '' : (values.url ?? (await startPostgres()).url)
const address = isSqlite ? join(folder, 'desk.db') : await createDatabase(postgres, name)
const bouncer = values.database === 'pgbouncer' ? await startPgBouncer(address) : undefined
const { api, db } = await openDesk(address)
await api.open()
for (const text of [
  'create table parents (id integer primary key)',
  'alter table tickets add column parent_id integer references parents (id) on delete cascade',
])
  await db.executeQuery(CompiledQuery.raw(text))

/** What one of those who take part draws. */
class Chance {
  readonly below: (bound: number) => number

  constructor(at: number) {
    this.below = drawer(Number(values.seed) * 1000 + at)
  }

  pick<T>(...all: T[]): T {
    return all[this.below(all.length)] as T // there is one
  }
}

const pause = (time: number) => new Promise(resolve => setTimeout(resolve, time))

/** Servers, which are killed and begin anew. */
const ports: number[] = []
const children: ChildProcess[] = []
async function start(at: number): Promise<void> {
  ports[at] ??= await freePort()
  const child = spawn(process.execPath, [desk], {
    env: { ...process.env, DESK: bouncer?.url ?? address, PORT: String(ports[at]) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children[at] = child
  if (child.stdout) await once(child.stdout, 'data')
}
await Promise.all(Array.from({ length: SERVERS }, (_, at) => start(at)))

/** Followers, each of which connects again to any server whenever it has lost its own. */
const WHO = ['t1-agent', 't2-agent', 't1-c1', 't1-c2', 't2-c1']
const QUERIES = [
  '',
  '?status[nin]=closed',
  '?status=open',
  '?status=waiting&fields=id,status,tenant_id',
]
let isOver = false
let resets = 0
let connects = 0
const followers = WHO.flatMap(who => QUERIES.map(query => ({ who, query, board: new Board() })))
async function follow(
  { who, query, board }: (typeof followers)[number],
  place: number,
): Promise<void> {
  const chance = new Chance(100 + place)
  while (!isOver) {
    const port = chance.pick(...ports)
    const at = board.events.length
    try {
      const response = await board.connect((headers, signal) =>
        fetch(`http://127.0.0.1:${port}/tickets${query}`, {
          headers: { ...headers, Authorization: `Bearer ${who}` },
          signal,
        }),
      )
      if (response.ok) connects++
      else throw new Error(String(response.status))
      const cut = setTimeout(() => board.disconnect(), chance.below(4000))
      await board.ended
      clearTimeout(cut)
    } catch {
      await pause(50)
    }
    board.isReady = false
    resets += board.events.slice(at).filter(({ event }) => event === 'reset').length
    check(who, board.events.splice(0))
  }
}

function check(who: string, events: readonly unknown[]): void {
  const [tenant, id] = who.split('-')
  const text = JSON.stringify(events)
  const others = tenant === 't1' ? '"t2"' : '"t1"'
  if (text.includes(others)) throw new Error(`${who} saw ${others}`)
  if (id !== 'agent' && text.includes('secret')) throw new Error(`${who} saw a note`)
  const other = id === 'c1' ? '"c2"' : '"c1"'
  if (id !== 'agent' && text.includes(other)) throw new Error(`${who} saw a ticket of ${other}`)
}

const NOW = "'2026-01-01T00:00:00.000Z'"

/** One statement of SQL on some of twelve tickets. */
function statement(chance: Chance): string {
  const id = 1 + chance.below(12)
  const parent = 1 + chance.below(3)
  const tenant = chance.pick('t1', 't2')
  const status = chance.pick('open', 'waiting', 'closed')
  const note = `secret ${chance.below(1000)}`
  const values = `(${id}, '${tenant}', '${chance.pick('c1', 'c2')}', '${status}', '${note}', 'v', ${NOW}, ${NOW})`
  return chance.pick(
    `insert into tickets (id, tenant_id, customer_id, status, note, version, created_at, updated_at) values ${values} on conflict (id) do update set status = excluded.status, tenant_id = excluded.tenant_id`,
    `update tickets set status = '${status}' where id = ${id}`,
    `update tickets set tenant_id = '${tenant}' where id = ${id}`,
    `update tickets set note = '${note}' where id > ${id}`,
    `delete from tickets where id = ${id}`,
    `update tickets set deleted_at = ${chance.pick(NOW, 'null')} where id = ${id}`,
    `insert into parents values (${parent}) on conflict do nothing`,
    `update tickets set parent_id = (select id from parents where id = ${parent}) where id > ${id}`,
    `delete from parents where id = ${parent}`,
  )
}

let committed = 0
let undone = 0
async function writeSql(chance: Chance, run: (text: string) => Promise<unknown>): Promise<void> {
  try {
    await run(isSqlite ? 'begin immediate' : 'begin')
    for (let left = chance.pick(1, 1, 1, 2, 5); left > 0; left--) {
      await run(statement(chance))
      // Some last long.
      if (!isSqlite && chance.below(10) === 0) await pause(chance.below(60))
    }
    const end = chance.below(4) === 0 ? 'rollback' : 'commit'
    await run(end)
    if (end === 'commit') committed++
    else undone++
  } catch {
    await run('rollback').catch(() => {})
    undone++
  }
}

async function writeHttp(chance: Chance): Promise<void> {
  const tenant = chance.pick('t1', 't2')
  const headers = { Authorization: `Bearer ${tenant}-agent`, 'Content-Type': 'application/json' }
  const id = 1 + chance.below(12)
  const change = { status: chance.pick('open', 'waiting') }
  const create = { tenant_id: tenant, customer_id: chance.pick('c1', 'c2') }
  const operations = [
    { method: 'POST', path: '/tickets', body: create },
    { method: 'PATCH', path: `/tickets/${id}`, body: change },
  ]
  const [path, method, body] = chance.pick<[string, string, object?]>(
    ['/tickets?status=open', 'PATCH', change],
    ['/tickets', 'POST', create],
    [`/tickets/${id}`, 'PATCH', change],
    [`/tickets/${id}`, 'DELETE'],
    [`/tickets/${id}/restore`, 'POST'],
    [`/tickets/trash/${id}`, 'DELETE'],
    ['/batch', 'POST', operations],
  )
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  const port = chance.pick(...ports)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init).catch(() => undefined)
  await response?.arrayBuffer().catch(() => {})
  if (response?.ok || response?.status === 303) committed++
}

const clients: pg.Client[] = []
for (let at = 0; at < WRITERS && !isSqlite; at++) {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  clients.push(client)
}
const files = isSqlite ? [new Database(address), new Database(address)] : []
for (const file of files) file.exec('pragma busy_timeout = 200; pragma foreign_keys = on')

const chances = Array.from({ length: WRITERS }, (_, at) => new Chance(at))
async function write(writer: number, writes: number): Promise<void> {
  const chance = chances[writer]
  for (let at = 0; chance && at < writes; at++) {
    if (writer % 4 === 3) await writeHttp(chance)
    else if (isSqlite) {
      const file = files[writer % 2]
      await writeSql(chance, async text => file?.exec(text))
      await pause(chance.below(5))
    } else await writeSql(chance, async text => clients[writer]?.query(text))
  }
}

let kills = 0
const killer = new Chance(50)
async function kill(until: () => boolean): Promise<void> {
  while (!until()) {
    await pause(500 + killer.below(2500))
    const at = killer.below(SERVERS)
    const child = children[at]
    if (!child || until()) continue
    child.kill('SIGKILL')
    await once(child, 'close')
    kills++
    await start(at)
  }
}

const following = followers.map(follow)
try {
  for (let round = 1; round <= Number(values.rounds); round++) {
    let isQuiet = false
    const killing = kill(() => isQuiet)
    await Promise.all(Array.from({ length: WRITERS }, (_, at) => write(at, Number(values.writes))))
    isQuiet = true
    await killing
    for (const { who, query, board } of followers) {
      const separator = query === '' ? '?' : '&'
      const headers = { Authorization: `Bearer ${who}` }
      const list = await fetch(
        `http://127.0.0.1:${ports[0]}/tickets${query}${separator}limit=100`,
        { headers },
      )
      const expected = JSON.stringify(await list.json())
      const sorted = () =>
        [...board.items.values()].toSorted((one, other) => Number(one.id) - Number(other.id))
      await board.until(() => board.isReady && JSON.stringify(sorted()) === expected, 30_000)
    }
    console.log(
      `round ${round}: ${committed} transactions, ${undone} undone, ${connects} connections, ${resets} with reset, ${kills} kills`,
    )
  }
  console.log('Every board was the list after each round.')
} finally {
  isOver = true
  for (const { board } of followers) board.disconnect()
  await Promise.all(following)
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(clients.map(client => client.end()))
  for (const file of files) file.close()
  await api.close()
  await db.destroy()
  await bouncer?.stop()
  if (!isSqlite) await dropDatabase(postgres, name)
  rmSync(folder, { recursive: true, force: true })
}
