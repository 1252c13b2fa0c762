// The example beside psql: `DATABASE_URL=postgres://… npx tsx bench/proofs/psql.ts`. Its tables are made by psql as
// `createTablesSql` prints them, joined and changed by psql, and moved by pg_dump to a database that is served in turn.
// psql and pg_dump must be at least as new as the server.
import { execFileSync } from 'node:child_process'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { carsApi } from '../../examples/cars-api.ts'
import { memoryBlobs, memoryStore } from '../../src/index.ts'
import { createTablesSql, preparePostgres, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const server = await startPostgres()
const names = ['first', 'second'].map(name => `psql_${name}_${process.pid}`)
const [first = '', second = ''] = await Promise.all(
  names.map(name => createDatabase(server.url, name)),
)

const psql = (url: string, script: string) =>
  execFileSync('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', url], {
    input: script,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  }).trim()

function refuses(url: string, script: string): boolean {
  try {
    psql(url, script)
    return false
  } catch (error) {
    return /violates foreign key constraint/.test(String(error))
  }
}

function serve(connectionString: string) {
  const pool = preparePostgres(new pg.Pool({ connectionString }))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  const { api } = carsApi(table => sqlStore({ db, table }), memoryBlobs())
  const send = async (method: string, path: string, json?: object, more: object = {}) => {
    const headers = { 'content-type': 'application/json', ...more }
    const body = json && { body: JSON.stringify(json) }
    const url = `http://cars.example/v2${path}`
    const answer = await api.fetch(new Request(url, { method, headers, ...body }))
    const text = await answer.text()
    return { status: answer.status, etag: answer.headers.get('etag') ?? '', text }
  }
  return { api, send, end: () => api.close().then(() => db.destroy()) }
}

const found: Record<string, unknown> = {}
const expected: Record<string, unknown> = {}
function check(what: string, value: unknown, right: unknown): void {
  found[what] = value
  expected[what] = right
}

const script = `${createTablesSql(carsApi(() => memoryStore(), memoryBlobs()).api, { database: 'postgres' }).join(';\n')};\n`
psql(first, script)
psql(first, script)

const one = serve(first)
await one.api.open()
const account = JSON.parse(
  (await one.send('POST', '/accounts', { name: 'Ann', email: 'ann@cars.example' })).text,
)
const plates = Array.from({ length: 100 }, (_, at) => `AB-${100 + at}-CD`)
for (const immatriculation of plates) {
  const model = { name: 'C1', brand: 'Citroën' }
  const car = await one.send('POST', '/cars', { immatriculation, color: 'red', model, price: 1 })
  const { id } = JSON.parse(car.text)
  await one.send('POST', `/cars/${id}/options`, { name: 'radio', price: 0.1 })
}
await one.send('POST', '/cars/1/buy', { account_id: account.id })
check(
  'cars of Ann with their options, by psql',
  psql(
    first,
    'select a.name, count(*) from accounts as a join cars as c on c.account_id = a.id join options as o on o.car_id = c.id group by 1',
  ),
  'Ann|1',
)
const { etag } = await one.send('GET', '/cars/2')
psql(first, "update cars set color = 'blue' where id = 2")
const read = await one.send('GET', '/cars/2', undefined, { 'if-none-match': etag })
check('GET with the tag from before', [read.status, JSON.parse(read.text).color], [200, 'blue'])
const patch = await one.send('PATCH', '/cars/2', { price: 2 }, { 'if-match': etag })
check('PATCH with it', patch.status, 412)
check('an option without its car', refuses(first, 'update options set car_id = 999'), true)
check('an account without its cars', refuses(first, 'delete from accounts'), true)
psql(first, 'delete from cars where id = 3')
check('options of a car that psql deleted', (await one.send('GET', '/options/3')).status, 404)

const dump = execFileSync('pg_dump', ['--no-owner', first], { encoding: 'utf8' })
psql(second, dump)
const two = serve(second)
await two.api.open()
const pages = ['/cars?limit=100', '/options?limit=100', '/accounts', '/cars/1', '/cars/2']
const bodies = async ({ send }: typeof one) =>
  Promise.all(pages.map(page => send('GET', page).then(({ etag, text }) => etag + text)))
check('pages after the restore', await bodies(two).then(String), String(await bodies(one)))
const after = await two.send('GET', '/cars/2')
psql(second, "update cars set color = 'green' where id = 2")
const again = await two.send('GET', '/cars/2', undefined, { 'if-none-match': after.etag })
check('GET after an update there', again.status, 200)
check('an option without its car there', refuses(second, 'update options set car_id = 999'), true)
const next = await two.send('POST', '/cars/1/options', { name: 'hook' })
check('the next id there', [next.status, JSON.parse(next.text).id], [201, 101])

for (const [what, value] of Object.entries(found)) {
  const isRight = JSON.stringify(value) === JSON.stringify(expected[what])
  if (!isRight) process.exitCode = 1
  const shown = JSON.stringify(value)
  console.info(isRight ? 'ok ' : 'not', what, shown.length > 100 ? `${shown.length} bytes` : shown)
}
await Promise.all([one.end(), two.end()])
for (const name of names) await dropDatabase(server.url, name)
process.exit()
