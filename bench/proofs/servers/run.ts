// Four processes behind HAProxy, with the block of docs/deploying.md, on PostgreSQL with a synchronous standby, under harms:
//   npx tsx bench/proofs/servers/run.ts [--seconds=20] [--clients=100] [--think=2000] [--harms=redis,disk]
//     [--postgres=/usr/lib/postgresql/15/bin] [--haproxy=haproxy]
// What was acknowledged happened once: transfers, their mails, patches, files. Clients have the defaults of `createClient`.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { sql } from 'kysely'
import { download } from '../../../src/client/files.ts'
import { ConnectionError, createClient, HttpError } from '../../../src/client/index.ts'
import { freePort } from '../../../test/free-port.ts'
import { redisServer } from '../../../test/guards/redis.ts'
import { blocksOf } from '../../../test/markdown.ts'
import { printTable } from '../../tables.ts'
import { ACCOUNTS, BALANCE, openBank, type Places } from './bank.ts'
import { HARMS, isReady, Processes, spawnServer } from './harms.ts'
import { mountSmall, pause, startCluster, startHaproxy, startS3, unmount } from './services.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    clients: { type: 'string', default: '100' },
    think: { type: 'string', default: '2000' },
    harms: { type: 'string', default: '' },
    postgres: { type: 'string', default: '/usr/lib/postgresql/15/bin' },
    haproxy: { type: 'string', default: 'haproxy' },
  },
})
const CLIENTS = Number(options.clients)
const root = join(import.meta.dirname, '../../..')
const modules = mkdtempSync(join(root, 'node_modules', '.servers-'))
const bundle = join(modules, 'server.mjs')
await build({
  entryPoints: [join(import.meta.dirname, 'server.ts')],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})

const folder = mkdtempSync(join(tmpdir(), 'servers-'))
chmodSync(folder, 0o755)
/** What ends with this process, however it ends. */
const started: (() => void)[] = [
  () => {
    for (const each of [folder, modules]) rmSync(each, { recursive: true, force: true })
  },
]
process.once('exit', () => {
  for (const stop of started.reverse()) stop()
})
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
const { publicKey, privateKey } = await generateKeyPair('ES256')
const keys = [{ ...(await exportJWK(publicKey)), alg: 'ES256' }]
/** Longer than the clocks differ: a server whose clock is ahead refuses a token early. */
const makeToken = (client: number) =>
  new SignJWT({ scope: 'pay' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer('https://issuer.example')
    .setAudience('bank')
    .setSubject(`client ${client}`)
    .setExpirationTime('6h')
    .sign(privateKey)

mkdirSync(join(folder, 's3'))
const database = await startCluster(join(folder, 'postgres'), options.postgres, options.haproxy)
started.push(database.stop)
const redis = await redisServer()
await redis.start()
started.push(() => void redis.stop())
const s3 = await startS3(root, join(folder, 's3'))
started.push(s3.kill)
const scans = join(folder, 'scans')
const isSmall = await mountSmall(scans, 64)
if (isSmall) started.push(() => unmount(scans))
const places: Places = { database: database.url, redis: redis.port, s3: s3.port, scans, keys }
const bank = openBank(places)
await bank.api.open()
const system = bank.api.asSystem()
await system
  .collection(bank.accounts)
  .create(Array.from({ length: ACCOUNTS }, () => ({ balance: BALANCE })))
const notes = await system
  .collection(bank.notes)
  .create(Array.from({ length: CLIENTS }, () => ({ count: 0 })))

const ports = await Promise.all(Array.from({ length: 4 }, freePort))
const processes = new Processes(ports, (port, env) =>
  spawnServer(bundle, { ...env, PORT: String(port), PLACES: JSON.stringify(places) }),
)
started.push(() => processes.kill())
await Promise.all(ports.map((_, at) => processes.run(at)))

const front = await freePort()
const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8')
const block = blocksOf(page).find(({ language }) => language === 'haproxy')?.text ?? ''
const [line = ''] = /^ *server one .*$/m.exec(block) ?? []
const lines = ports.map((port, at) => line.replace('one', `s${at}`).replace('3000', String(port)))
const config = block.replace(line, lines.join('\n')).replace('*:80', `127.0.0.1:${front}`)
const web = await startHaproxy(options.haproxy, join(folder, 'haproxy.cfg'), config)
started.push(web.stop)
const address = `http://127.0.0.1:${front}/api`
while (!(await isReady(front))) await pause(100)

/** How many responses with 5xx HAProxy has made itself. */
async function countOwn5xx(): Promise<number> {
  const [head = '', ...rows] = (await web.tell('show stat')).trim().split('\n')
  const columns = head.replace('# ', '').split(',')
  const find = (row: string, column: string) => row.split(',')[columns.indexOf(column)] ?? ''
  const counts = rows
    .filter(row => find(row, 'pxname') === 'api')
    .map(row => [find(row, 'svname'), Number(find(row, 'hrsp_5xx'))] as const)
  const all = counts.find(([name]) => name === 'BACKEND')?.[1] ?? 0
  const own = counts.filter(([name]) => name !== 'BACKEND').reduce((sum, [, each]) => sum + each, 0)
  return all - own
}

/** What was seen while one harm lasted. */
interface Phase {
  readonly name: string
  readonly durations: number[]
  readonly failures: string[]
  own5xx: number
}
const phases: Phase[] = []
function begin(name: string): Phase {
  const phase = { name, durations: [], failures: [], own5xx: 0 }
  phases.push(phase)
  return phase
}
begin('start')

type Outcome = 'done' | 'failed' | 'unknown'
async function call(work: () => Promise<unknown>): Promise<Outcome> {
  const phase = phases.at(-1) ?? begin('start')
  const since = performance.now()
  try {
    await work()
    return 'done'
  } catch (error) {
    const isUnknown = error instanceof ConnectionError || !(error instanceof HttpError)
    const type = isUnknown ? '' : ` ${error.errors[0]?.type ?? ''}`
    phase.failures.push(
      error instanceof HttpError
        ? `${error.status}${type}`
        : error instanceof ConnectionError
          ? 'unknown outcome'
          : String(error),
    )
    return error instanceof HttpError && error.status < 500 ? 'failed' : 'unknown'
  } finally {
    phase.durations.push(performance.now() - since)
  }
}

const marks = { done: new Set<string>(), failed: new Set<string>(), unknown: new Set<string>() }
const files = { photos: new Set<string>(), scans: new Set<string>() }
const patched = notes.map(() => ({ done: 0, unknown: 0 }))
let isOver = false

async function connect(at: number) {
  return createClient<typeof bank.api>(address, { auth: `Bearer ${await makeToken(at)}` })
}

/** Calls of one client, one after another, as a browser of one person. */
async function act(at: number): Promise<void> {
  const client = await connect(at)
  const pickUpTo = (last: number) => 1 + Math.floor(Math.random() * last)
  await pause(Math.random() * Number(options.think))
  for (let turn = 0; !isOver; turn++) {
    const mark = `${at}-${turn}`
    const payer = pickUpTo(ACCOUNTS)
    const transfer = { mark, payer, payee: 1 + (payer % ACCOUNTS), amount: pickUpTo(BALANCE / 5) }
    marks[await call(() => client.transfers.create(transfer))].add(mark)
    await call(() => client.accounts.read(pickUpTo(ACCOUNTS)))
    await call(() => client.accounts.list({ balance: { gte: BALANCE } }).page())
    await patchNote(client, at)
    if (turn % 4 === at % 4) {
      const kind = at % 2 ? 'photos' : 'scans'
      const content = new Blob([`content of ${mark}`])
      if ((await call(() => client[kind].create({ mark, content }))) === 'done')
        files[kind].add(mark)
    }
    await pause(Number(options.think) * (0.5 + Math.random()))
  }
}

/** Nobody else writes the note: its version is what this client saw last, unless an outcome was unknown. */
async function patchNote(client: Awaited<ReturnType<typeof connect>>, at: number): Promise<void> {
  const id = notes[at]?.id ?? 0
  const mine = patched[at] ?? { done: 0, unknown: 0 }
  let note: Awaited<ReturnType<typeof client.notes.read>> | undefined
  await call(async () => {
    note = await client.notes.read(id)
  })
  const seen = note
  if (!seen) return
  const outcome = await call(() => client.notes.patch(seen, { count: seen.count + 1 }))
  if (outcome !== 'failed') mine[outcome]++
}

const clients = Array.from({ length: CLIENTS }, (_, at) => act(at))
const wanted = options.harms.split(',')
const victims = { processes, database, redis, s3, web, scans: isSmall ? scans : undefined }
for (const [name, harm] of Object.entries(HARMS)) {
  if (name !== 'nothing' && !wanted.some(each => name.toLowerCase().includes(each))) continue
  const phase = begin(name)
  process.stderr.write(`${name}\n`)
  const until = performance.now() + 1000 * Number(options.seconds)
  const before = await countOwn5xx()
  try {
    await harm(victims, () => performance.now() < until)
  } catch (error) {
    process.stderr.write(`${error}\n`)
  }
  await pause(Math.max(2000, until - performance.now()))
  phase.own5xx = (await countOwn5xx()) - before
}
isOver = true
await Promise.all(clients)
const countMails = () => system.collection(bank.outbox).count()
/** Waits for the jobs as long as they send. */
async function sendTheRest(before: number): Promise<void> {
  if (before === 0) return
  await pause(15_000)
  const left = await countMails()
  if (left < before) await sendTheRest(left)
}
await sendTheRest(await countMails())

async function listMarks(table: string) {
  const { rows } = await sql<{ mark: string; times: string }>`
    select mark, count(*) as times from ${sql.table(table)} group by mark`.execute(bank.db)
  return new Map(rows.map(({ mark, times }) => [mark, Number(times)]))
}
const countTwice = (found: ReadonlyMap<string, number>) =>
  [...found.values()].filter(times => times > 1).length
const countLost = (done: ReadonlySet<string>, found: ReadonlyMap<string, number>) =>
  [...done].filter(mark => !found.has(mark)).length

const made = await listMarks('transfers')
const sent = await listMarks('sent')
const { rows } = await sql<{ sum: string }>`select sum(balance) from accounts`.execute(bank.db)
const counted = new Map(
  (await system.collection(bank.notes).list().toArray()).map(({ id, count }) => [id, count]),
)
const wrongNotes = notes.filter(({ id }, at) => {
  const { done = 0, unknown = 0 } = patched[at] ?? {}
  const count = counted.get(id) ?? 0
  return count < done || count > done + unknown
})
const reader = await connect(0)
let [lostFiles, doubledFiles] = [0, 0]
for (const kind of ['photos', 'scans'] as const) {
  const found = await listMarks(kind)
  lostFiles += countLost(files[kind], found)
  doubledFiles += countTwice(found)
  for await (const { id, mark } of system.collection(bank[kind]).list()) {
    // Its limit ends some of these reads: the client waits.
    const response = await download(reader, `${address}/${kind}/${id}/content`)
    if ((await response.text()) !== `content of ${mark}`) lostFiles++
  }
}

const wrong = {
  'acknowledged transfers lost': countLost(marks.done, made),
  'transfers done twice': countTwice(made),
  'refused transfers that happened': [...marks.failed].filter(mark => made.has(mark)).length,
  'money missing': ACCOUNTS * BALANCE - Number(rows[0]?.sum),
  'mails not sent': countLost(new Set(made.keys()), sent),
  'mails sent twice': countTwice(sent),
  'notes with lost or doubled patches': wrongNotes.length,
  'acknowledged files lost': lostFiles,
  'files created twice': doubledFiles,
}
const failures = phases.flatMap(phase => phase.failures)
const calls = phases.flatMap(phase => phase.durations).length
const odd = failures.filter(each => !/^503|^unknown outcome/.test(each))
const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(2)} %`
function describeTimes(durations: readonly number[]): string[] {
  const sorted = durations.toSorted((one, other) => one - other)
  return [0.5, 0.99, 1].map(part => {
    const at = Math.min(sorted.length - 1, Math.floor(sorted.length * part))
    return `${Math.round(sorted[at] ?? 0)}`
  })
}
const describe = (name: string, phases: readonly Phase[]) => {
  const durations = phases.flatMap(each => each.durations)
  const failed = phases.flatMap(each => each.failures)
  const kinds = [...new Set(failed)].map(
    kind => `${failed.filter(each => each === kind).length} × ${kind}`,
  )
  return [
    name,
    String(durations.length),
    percent(failed.length, durations.length || 1),
    kinds.join(', ') || '-',
    String(phases.reduce((sum, { own5xx }) => sum + own5xx, 0)),
    ...describeTimes(durations),
  ]
}
printTable(
  `${CLIENTS} clients, four servers, by the harm during which a call began`,
  ['harm', 'calls', 'failed', 'which', '5xx of HAProxy', 'p50 ms', 'p99 ms', 'longest ms'],
  [...phases.map(phase => describe(phase.name, [phase])), describe('all', phases)],
)
printTable(
  'What must be 0',
  ['what', 'found'],
  Object.entries(wrong).map(([what, found]) => [what, String(found)]),
)

await bank.close()
const isWrong = Object.values(wrong).some(found => found !== 0)
process.exit(isWrong || odd.length > 0 || failures.length > calls / 200 ? 1 : 0)
