// Four processes behind HAProxy, with the block of docs/deploying.md, on one PostgreSQL, under harms:
//   npx tsx bench/proofs/servers/run.ts [--seconds=60] [--clients=100] [--haproxy=haproxy]
// Every acknowledged transfer happened once, none twice, no money is lost, and each mail of the outbox is sent once.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { sql } from 'kysely'
import { ConnectionError, createClient, HttpError } from '../../../src/client/index.ts'
import { freePort } from '../../../test/free-port.ts'
import { blocksOf } from '../../../test/markdown.ts'
import {
  ask,
  createDatabase,
  dropDatabase,
  startPostgres,
} from '../../../test/stores/postgres-server.ts'
import { printTable } from '../../tables.ts'
import { ACCOUNTS, BALANCE, openBank } from './server.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '100' },
    haproxy: { type: 'string', default: 'haproxy' },
  },
})
const seconds = Number(options.seconds)
const root = join(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(root, 'node_modules', '.servers-'))
const bundle = join(folder, 'server.mjs')
await build({
  entryPoints: [join(import.meta.dirname, 'server.ts')],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})

const { publicKey, privateKey } = await generateKeyPair('ES256')
const keys = [{ ...(await exportJWK(publicKey)), alg: 'ES256' }]
const token = await new SignJWT({ scope: 'pay' })
  .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
  .setIssuer('https://issuer.example')
  .setAudience('bank')
  .setSubject('client')
  .setExpirationTime('2h')
  .sign(privateKey)

const postgres = await startPostgres()
const name = `servers_${process.pid}`
const url = await createDatabase(postgres.url, name)
const bank = openBank(url, keys)
await bank.api.open()
await bank.api
  .asSystem()
  .collection(bank.accounts)
  .create(Array.from({ length: ACCOUNTS }, () => ({ balance: BALANCE })))

const ports = await Promise.all(Array.from({ length: 4 }, freePort))
const servers: (ChildProcess | undefined)[] = []
function start(at: number): void {
  const env = { ...process.env, BANK: url, PORT: String(ports[at]), KEYS: JSON.stringify(keys) }
  servers[at] = spawn(process.execPath, [bundle], { env, stdio: ['ignore', 'inherit', 'inherit'] })
}
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/api/health?ready`).then(
    ({ ok }) => ok,
    () => false,
  )
async function ready(port: number): Promise<void> {
  while (!(await isReady(port))) await pause(100)
}
for (const at of ports.keys()) start(at)
await Promise.all(ports.map(ready))

const front = await freePort()
const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8')
const block = blocksOf(page).find(({ language }) => language === 'haproxy')?.text ?? ''
const [line = ''] = /^ *server one .*$/m.exec(block) ?? []
const lines = ports.map((port, at) => line.replace('one', `s${at}`).replace('3000', String(port)))
const config = join(folder, 'haproxy.cfg')
writeFileSync(
  config,
  `${block.replace(line, lines.join('\n')).replace('*:80', `127.0.0.1:${front}`)}\n`,
)
const proxy = spawn(options.haproxy, ['-f', config], { stdio: 'ignore' })
await ready(front)

const counts = new Map<string, number>()
const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

/** Kills, stops, restarts and cuts, one after another. */
async function harm(until: number): Promise<void> {
  for (let turn = 0; performance.now() < until; turn++) {
    const at = turn % 4
    const [server, port = 0] = [servers[at], ports[at]]
    if (turn % 6 === 2) {
      count('harm: rolling restart')
      for (const [each, other] of servers.entries()) {
        other?.kill('SIGTERM')
        if (other) await once(other, 'exit')
        start(each)
        await ready(ports[each] ?? 0)
      }
    } else if (turn % 6 === 3) {
      count('harm: SIGSTOP for 3 s')
      server?.kill('SIGSTOP')
      await pause(3000)
      server?.kill('SIGCONT')
    } else if (turn % 6 === 4) {
      count('harm: all connections of the database cut')
      const others = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
      await ask(postgres.url, others)
    } else if (turn % 6 === 5 && postgres.own) {
      count('harm: immediate stop of the database')
      await postgres.crash()
      await postgres.start()
    } else {
      count('harm: kill -9')
      server?.kill('SIGKILL')
      await pause(500)
      start(at)
      await ready(port)
    }
    await pause(5000)
  }
}

const marks = { done: new Set<string>(), unknown: new Set<string>() }
const durations: number[] = []
const failures: string[] = []

async function call<T>(
  what: string,
  work: () => Promise<T>,
): Promise<'done' | 'failed' | 'unknown'> {
  const since = performance.now()
  try {
    await work()
    count(what)
    return 'done'
  } catch (error) {
    const status = error instanceof HttpError ? error.status : undefined
    failures.push(error instanceof ConnectionError ? 'unknown outcome' : String(status ?? error))
    return error instanceof HttpError && error.status < 500 ? 'failed' : 'unknown'
  } finally {
    durations.push(performance.now() - since)
  }
}

async function act(client: number, until: number): Promise<void> {
  const { transfers, accounts } = createClient<typeof bank.api>(`http://127.0.0.1:${front}/api`, {
    auth: () => `Bearer ${token}`,
  })
  const pickUpTo = (last: number) => 1 + Math.floor(Math.random() * last)
  for (let turn = 0; performance.now() < until; turn++) {
    const mark = `${client}-${turn}`
    const payer = pickUpTo(ACCOUNTS)
    const payee = 1 + (payer % ACCOUNTS)
    const outcome = await call('transfers', () =>
      transfers.create({ mark, payer, payee, amount: pickUpTo(BALANCE / 5) }),
    )
    if (outcome !== 'failed') marks[outcome].add(mark)
    await call('reads', () => accounts.read(pickUpTo(ACCOUNTS)))
    await call('lists', () => accounts.list({ balance: { gte: BALANCE } }).page())
    await pause(200 + Math.random() * 600)
  }
}

const until = performance.now() + seconds * 1000
const harming = harm(until)
await Promise.all(Array.from({ length: Number(options.clients) }, (_, at) => act(at, until)))
await harming
const clean = performance.now() + 60_000
const left = () => bank.api.asSystem().collection(bank.outbox).count()
while (performance.now() < clean && (await left().catch(() => 1)) > 0) await pause(200)

const list = async (table: string) =>
  (
    await sql<{
      mark: string
      times: string
    }>`select mark, count(*) as times from ${sql.table(table)} group by mark`.execute(bank.db)
  ).rows
const found = { made: await list('transfers'), sent: await list('sent') }
const [total] = (await sql<{ sum: string }>`select sum(balance) from accounts`.execute(bank.db))
  .rows
const has = new Set(found.made.map(({ mark }) => mark))
const isTwice = ({ times }: { times: string }) => Number(times) > 1
const calls = durations.length
durations.sort((one, other) => one - other)
const at = (part: number) => `${Math.round(durations[Math.floor(calls * part)] ?? 0)} ms`
const kinds = [...new Set(failures)].map(
  kind => `${failures.filter(each => each === kind).length} × ${kind}`,
)
const lost = [...marks.done].filter(mark => !has.has(mark)).length
const doubled = found.made.filter(isTwice).length
const unsent = found.made.length - found.sent.length
const isWrong = lost + doubled + unsent + found.sent.filter(isTwice).length > 0
printTable(
  'Four servers under harms',
  ['what', 'found'],
  [
    ...[...counts].map(([what, times]) => [what, String(times)]),
    ['acknowledged transfers that are lost', String(lost)],
    ['transfers that happened twice', String(doubled)],
    ['mails not sent, sent twice', `${unsent}, ${found.sent.filter(isTwice).length}`],
    ['money that is missing', String(ACCOUNTS * BALANCE - Number(total?.sum))],
    [
      'failed calls',
      `${failures.length} of ${calls}: ${((100 * failures.length) / calls).toFixed(2)} %`,
    ],
    ['which', kinds.join(', ') || '-'],
    ['time of a call, p50, p99, longest', `${at(0.5)}, ${at(0.99)}, ${at(0.99999)}`],
  ],
)

for (const server of servers) server?.kill('SIGKILL')
proxy.kill()
await bank.api.close()
await bank.db.destroy()
await dropDatabase(postgres.url, name)
rmSync(folder, { recursive: true })
process.exit(isWrong || ACCOUNTS * BALANCE !== Number(total?.sum) ? 1 : 0)
