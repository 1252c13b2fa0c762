// Provokes errors of all kinds and prints what each says, for a reader who rates them: what, where, what to do.
//   npx tsx bench/proofs/messages.ts > errors.md      (the commands run from dist/: npm run build)
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import {
  type Collection,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
} from 'rest-conventions'
import { createClient } from 'rest-conventions/client'
import {
  alterTableSql,
  createTableSql,
  prepareSqlite,
  reuseStatements,
  sqlStore,
} from 'rest-conventions/sql'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { listen } from '../../examples/listen.ts'
import { callUntyped } from '../../test/untyped.ts'

let count = 0
function print(what: string, result: string): void {
  console.log(`### ${++count}. ${what}\n\n\`\`\`\n${result.trim()}\n\`\`\`\n`)
}

const JSON_TYPE = { 'content-type': 'application/json' }
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }
type Sent = [method: string, path: string, body?: unknown, headers?: Record<string, string>]

/** Sends a request and prints it with the status and the errors of its response. */
async function ask(fetch: (request: Request) => Promise<Response>, sent: Sent): Promise<void> {
  const [method, path, body, headers = body === undefined ? {} : JSON_TYPE] = sent
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const init = { method, headers, ...(text !== undefined && { body: text }) }
  const response = await fetch(new Request(`https://api.example${path}`, init as RequestInit))
  const got = await response.text()
  const shown = Object.entries(headers).map(([name, value]) => ` ${name}: ${value};`)
  if (response.status < 400) throw new Error(`${method} ${path} is no error: ${response.status}`)
  const what = `${method} ${path.length > 100 ? `${path.slice(0, 100)}…` : path}`
  print(
    `${what}${shown.join('')}${text ? ` body: ${text.slice(0, 160)}` : ''}`,
    `${response.status}\n${got}`,
  )
}

async function provoke(what: string, run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (error) {
    return print(what, error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  }
  throw new Error(`${what} is no error`)
}

const CAR = { immatriculation: 'AB-123-CD', color: 'red', model: { name: 'Clio' }, price: 1000 }

const EXAMPLE: readonly Sent[] = [
  ['GET', '/v2/carz'],
  ['GET', '/cars'],
  ['GET', '/v3/cars'],
  ['GET', '/v2/cars.pdf'],
  ['GET', '/v2/cars/one'],
  ['GET', '/v2/cars/999'],
  ['GET', '/v2/cars/1/optons'],
  ['GET', '/v2/accounts/12'],
  ['GET', '/v2/cars?page=2'],
  ['GET', '/v2/cars?colour=red'],
  ['GET', '/v2/cars?color=pink'],
  ['GET', '/v2/cars?price[lt]=cheap'],
  ['GET', '/v2/cars?price[below]=5'],
  ['GET', '/v2/cars?color[lt]=red&price[match]=5'],
  ['GET', '/v2/cars?sold=maybe'],
  ['GET', '/v2/cars?created_at[gt]=yesterday'],
  ['GET', '/v2/cars?registered_on=2024-13-40'],
  ['GET', '/v2/cars?limit=-1'],
  ['GET', '/v2/cars?limit=5&limit=6'],
  ['GET', '/v2/cars?offset=x'],
  ['GET', '/v2/cars?after=zzz'],
  ['GET', '/v2/cars?after=zzz&offset=4'],
  ['GET', '/v2/cars?sort=prize'],
  ['GET', '/v2/cars?sort=-price,+color,mileage,sold,buyer,id,created_at,updated_at,model.name'],
  ['GET', '/v2/cars?fields='],
  ['GET', '/v2/cars?fields=id,modle'],
  ['GET', '/v2/cars?include=owner'],
  ['GET', '/v2/cars/count?by=color'],
  ['GET', '/v2/options/search?q=roof'],
  ['GET', '/v2/cars?by=color'],
  ['GET', `/v2/cars?color=${'red,'.repeat(2000)}`],
  ['GET', '/v2/cars?color=%E9'],
  ['GET', '/v2/cars', undefined, { accept: 'application/pdf' }],
  ['GET', '/v2/photos?photo=x'],
  ['GET', '/v2/cars?where={"price":{"gtt":4}}'],
  ['GET', '/v2/cars?where={price:4}'],
  ['GET', '/v2/cars?_method=BREW'],
  ['POST', '/v2/cars'],
  ['POST', '/v2/cars', ''],
  ['POST', '/v2/cars', '{"color":"red",}'],
  ['POST', '/v2/cars', '"red"'],
  ['POST', '/v2/cars', {}],
  ['POST', '/v2/cars', { ...CAR, immatriculation: 'AB 123' }],
  ['POST', '/v2/cars', { ...CAR, color: 'pink', price: -1, mileage: 1.5, model: 'Clio' }],
  ['POST', '/v2/cars', { ...CAR, colour: 'red' }],
  ['POST', '/v2/cars', { ...CAR, id: 7 }],
  ['POST', '/v2/cars', { ...CAR, registered_on: '1 May 2024' }],
  ['POST', '/v2/cars', CAR],
  ['POST', '/v2/cars', `{"price": 1${'0'.repeat(30)}1, "color":"red"}`],
  ['POST', '/v2/cars', '<car><color>red</car>', { 'content-type': 'application/xml' }],
  ['POST', '/v2/cars', 'color,price\nred', { 'content-type': 'text/csv' }],
  ['POST', '/v2/cars', 'red', { 'content-type': 'text/plain' }],
  ['POST', '/v2/cars', 'x', { 'content-type': 'multipart/form-data' }],
  [
    'POST',
    '/v2/cars',
    'color=red&color=blue',
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
  ['POST', '/v2/cars', CAR, { ...JSON_TYPE, 'if-match': '"a"' }],
  ['POST', '/v2/cars', CAR, { ...JSON_TYPE, 'content-encoding': 'zstd' }],
  [
    'POST',
    '/v2/cars',
    CAR,
    { ...JSON_TYPE, origin: 'https://evil.example', cookie: 'a=b', 'sec-fetch-site': 'cross-site' },
  ],
  ['POST', '/v2/accounts', { name: 'Ann', email: 'ann' }],
  ['POST', '/v2/accounts', { name: 'Ann', email: 'ann@mail.example' }],
  ['POST', '/v2/options', { car_id: 999, name: 'Roof' }],
  ['POST', '/v2/cars/999/options', { name: 'Roof' }],
  ['POST', '/v2/cars/1/options', { car_id: 2, name: 'Roof' }],
  ['POST', '/v2/photos', { comment: 'x', photo: { type: 'text/plain', data: 'aGk=' } }],
  ['POST', '/v2/photos', { comment: 'x', photo_url: 'https://evil.example/x.png' }],
  ['POST', '/v2/photos', { comment: 'x', photo: { type: 'image/png', data: '%%%' } }],
  ['POST', '/v2/cars/1/buy', { buyer: '' }],
  ['POST', '/v2/cars/1/buy', { account_id: '00000000-0000-4000-8000-000000000000' }],
  ['POST', '/v2/cars/2/buy', { buyer: 'Ann' }],
  ['POST', '/v2/cars/1/sell'],
  ['PUT', '/v2/cars', [CAR]],
  ['PUT', '/v2/cars/1', { ...CAR, id: 2 }],
  ['PUT', '/v2/cars/1', CAR, { ...JSON_TYPE, 'content-range': 'bytes 0-1/2' }],
  ['PATCH', '/v2/cars/1', 'x', { 'content-type': 'text/plain' }],
  ['PATCH', '/v2/cars/1', { price: 'free' }, MERGE_PATCH],
  ['PATCH', '/v2/cars/1', { color: null }, MERGE_PATCH],
  ['PATCH', '/v2/cars/1', { price: 5 }, { ...MERGE_PATCH, 'if-match': '"old"' }],
  ['PATCH', '/v2/cars/1', { price: 5 }, { ...MERGE_PATCH, 'if-match': 'old' }],
  ['PATCH', '/v2/cars/1', [{ op: 'add' }], { 'content-type': 'application/json-patch+json' }],
  [
    'PATCH',
    '/v2/cars/1',
    [{ op: 'move', path: '/a/b', from: '/c' }],
    { 'content-type': 'application/json-patch+json' },
  ],
  [
    'PATCH',
    '/v2/cars/1',
    [{ op: 'test', path: '/price', value: 3 }],
    { 'content-type': 'application/json-patch+json' },
  ],
  ['PATCH', '/v2/cars', { price: 5 }, MERGE_PATCH],
  ['DELETE', '/v2/cars'],
  ['DELETE', '/v2/accounts/{account}'],
  ['BREW', '/v2/cars'],
  ['POST', '/v2/batch', []],
]

const schema = z.object({
  color: z.enum(['red', 'blue']),
  price: z.number(),
  email: z.email().optional(),
})

/** Errors of an API with rights, keys, upserts, trash and changes of many, on SQLite. */
async function askRights(db: Kysely<unknown>): Promise<void> {
  const store = (table: string) => sqlStore({ db, table, create: true })
  const cars = defineCollection({
    name: 'cars',
    schema,
    store: store('cars'),
    id: 'integer',
    unique: ['email'],
    access: { read: 'public', list: 'public', default: ['cars:write'] },
    fields: { email: 'immutable' },
    actions: {
      paint: {
        on: 'item',
        method: 'POST',
        async run() {
          return {}
        },
      },
    },
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({
      title: z.string().max(5),
      owner: z.string().optional(),
      deleted_at: z.iso.datetime().optional(),
    }),
    store: store('notes'),
    owner: 'owner',
    trash: 'deleted_at',
    fields: { deleted_at: 'readOnly' },
    operations: ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  } as never) as Collection
  const scheme = {
    name: 'bearer',
    challenge: () => 'Bearer',
    async authenticate({ headers }: { headers: Headers | Record<string, unknown> }) {
      const value =
        headers instanceof Headers ? headers.get('authorization') : headers.authorization
      return value
        ? {
            id: String(value).slice(7),
            scopes: String(value).includes('ann') ? ['cars:write'] : [],
          }
        : undefined
    },
  }
  const api = defineApi({
    collections: { cars, notes },
    schemes: [scheme as never],
    access: { root: 'public' },
    batch: true,
    limits: { body: 2000 },
  })
  await api.open()
  const ann = { ...JSON_TYPE, authorization: 'Bearer ann' }
  const bob = { ...JSON_TYPE, authorization: 'Bearer bob' }
  await api
    .asSystem()
    .collection(cars)
    .create({ color: 'red', price: 1, email: 'a@mail.example' } as never)
  const note = (await (
    await api.fetch(
      new Request('https://api.example/notes', {
        method: 'POST',
        headers: ann,
        body: '{"title":"mine"}',
      }),
    )
  ).json()) as { id: string }
  const requests: readonly Sent[] = [
    ['POST', '/cars', { color: 'red', price: 1 }],
    ['POST', '/cars', { color: 'red', price: 1 }, bob],
    ['POST', '/cars', { color: 'red', price: 1, email: 'a@mail.example' }, ann],
    ['POST', '/cars', { color: 'red', price: 'x'.repeat(3000) }, ann],
    ['POST', '/cars', { color: 'red', price: 'much' }, ann],
    ['POST', '/cars', { color: 're\u0000d', price: 1 }, ann],
    ['PATCH', '/cars/1', { email: 'b@mail.example' }, ann],
    ['GET', '/notes'],
    ['PATCH', `/notes/${note.id}`, { title: 'his' }, bob],
    ['PATCH', `/notes/${note.id}`, { title: 'too long' }, ann],
    ['PATCH', '/notes', { title: 'x' }, ann],
    ['DELETE', '/notes', undefined, ann],
    ['DELETE', '/notes?title=mine', undefined, ann],
    ['POST', '/cars', { color: 'red', price: 1 }, { ...ann, 'idempotency-key': '' }],
    ['POST', '/cars/1/paint', { color: 'x' }, ann],
    ['GET', '/cars/1/paint', undefined, ann],
    ['POST', '/batch', { steps: 1 }, ann],
    ['POST', '/batch', [{ method: 'POST', path: '/carz', body: {} }], ann],
    ['POST', '/batch', [{ method: 'POST', path: '/cars', body: { color: 'green' } }], ann],
    ['GET', '/cars?price[in]=1,x', undefined, ann],
  ]
  for (const sent of requests) await attempt(() => ask(request => api.fetch(request), sent))
  await api.close()
}

/** Says on the standard error which row was no error, and goes on. */
async function attempt(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
  }
}

const define = (options: object) => () => callUntyped(defineCollection, options)
const apiOf = (options: unknown) => () => callUntyped(defineApi, options)
const store = () => memoryStore()
const base = { name: 'cars', schema, id: 'integer' }

const DEFINITIONS: Readonly<Record<string, () => unknown>> = {
  'defineCollection()': () => callUntyped(defineCollection),
  'defineCollection({ name, schema }) without store': define({ ...base }),
  'defineCollection({ schema, store }) without name': define({ schema, store: store() }),
  'name: "Cars!"': define({ ...base, name: 'Cars!', store: store() }),
  'schema: z.string()': define({ ...base, schema: z.string(), store: store() }),
  'schema: { color: "string" }': define({ ...base, schema: { color: 'string' }, store: store() }),
  'shema instead of schema': define({ name: 'cars', shema: schema, store: store() }),
  'id: "number"': define({ ...base, id: 'number', store: store() }),
  'store: new Map()': define({ ...base, store: new Map() }),
  'unique: ["plate"]': define({ ...base, store: store(), unique: ['plate'] }),
  'search: ["price"]': define({ ...base, store: store(), search: ['price'] }),
  'indexes: ["model.name"]': define({ ...base, store: store(), indexes: ['model.name'] }),
  'fields: { price: "hidden" }': define({ ...base, store: store(), fields: { price: 'hidden' } }),
  'fields: { prize: "readOnly" }': define({
    ...base,
    store: store(),
    fields: { prize: 'readOnly' },
  }),
  'operations: ["lst"]': define({ ...base, store: store(), operations: ['lst'] }),
  'access: { lst: "public" }': define({ ...base, store: store(), access: { lst: 'public' } }),
  'access: { list: "everybody" }': define({
    ...base,
    store: store(),
    access: { list: 'everybody' },
  }),
  'hooks: { create: () => {} }': define({
    ...base,
    store: store(),
    hooks: { create: () => undefined },
  }),
  'actions: { Sell: … }': define({
    ...base,
    store: store(),
    actions: { sell: { on: 'thing', run: () => undefined } },
  }),
  'actions: { count: … }': define({
    ...base,
    store: store(),
    actions: { count: { on: 'collection', run: () => undefined } },
  }),
  'parents: { car_id: "cars" } without the property': define({
    ...base,
    name: 'options',
    store: store(),
    parents: { car_id: 'cars' },
  }),
  'maxLimit: 0': define({ ...base, store: store(), maxLimit: 0 }),
  'defaultSort: "prise"': define({ ...base, store: store(), defaultSort: 'prise' }),
  'owner: "user"': define({ ...base, store: store(), owner: 'user' }),
  'trash: "yes"': define({ ...base, store: store(), trash: 'yes' }),
  'groups: ["colour"]': define({ ...base, store: store(), groups: ['colour'] }),
  'a schema with an id of its own kind: z.object({ id: z.boolean() })': define({
    name: 'cars',
    schema: z.object({ id: z.boolean() }),
    store: store(),
  }),
  'a schema with a function: z.object({ f: z.function() })': define({
    name: 'cars',
    schema: z.object({ f: z.function() }),
    store: store(),
  }),
  'defineApi()': () => callUntyped(defineApi),
  'defineApi({ collection: {} })': apiOf({ collection: {} }),
  'two collections with one store': () => {
    const shared = memoryStore()
    const cars = defineCollection({ name: 'cars', schema, store: shared })
    const vans = defineCollection({ name: 'vans', schema, store: shared })
    return defineApi({ collections: { cars, vans } })
  },
  'collections: { carz: cars }': () =>
    callUntyped(defineApi, {
      collections: { carz: defineCollection({ name: 'cars', schema, store: store() }) },
    }),
  'parents: a collection that is not in the api': () =>
    defineApi({
      collections: [
        defineCollection({
          name: 'options',
          schema: z.object({ car_id: z.int() }),
          store: store(),
          parents: { car_id: 'cars' },
        }),
      ],
    }),
  'baseUrl: "api.example"': () => defineApi({ collections: [cars()], baseUrl: 'api.example' }),
  'cors: { origins: ["https://a.example/"] }': () =>
    defineApi({ collections: [cars()], cors: { origins: ['https://a.example/'] } }),
  'limits: { bodySize: 1 }': () =>
    callUntyped(defineApi, { collections: [cars()], limits: { bodySize: 1 } }),
  'limits: { body: "1mb" }': () =>
    callUntyped(defineApi, { collections: [cars()], limits: { body: '1mb' } }),
  'trustProxy: "yes"': () => callUntyped(defineApi, { collections: [cars()], trustProxy: 'yes' }),
  'schemes: ["bearer"]': () =>
    callUntyped(defineApi, { collections: [cars()], schemes: ['bearer'] }),
  'pages: true': () => callUntyped(defineApi, { collections: [cars()], pages: true }),
  'sqlStore({})': () => callUntyped(sqlStore, {}),
  'sqlStore({ db: "file.db" })': () => callUntyped(sqlStore, { db: 'file.db' }),
  'alterTableSql(shape)': () => callUntyped(alterTableSql, cars().shape),
  'createTableSql()': () => callUntyped(createTableSql),
  'blob() without blobs': () =>
    callUntyped(defineCollection, {
      name: 'photos',
      schema: z.object({ photo: z.file() }),
      store: store(),
    }),
}
function cars(): Collection {
  return defineCollection({
    name: 'cars',
    schema,
    store: memoryStore(),
    id: 'integer',
  }) as unknown as Collection
}

/** Calls in process, and stores whose tables do not fit. */
async function callInProcess(db: Kysely<unknown>): Promise<void> {
  const collection = defineCollection({
    name: 'cars',
    schema,
    store: memoryStore(),
    id: 'integer',
    blobs: memoryBlobs(),
  })
  const api = defineApi({ collections: [collection] })
  const resource = api.collection(collection)
  await resource.create({ color: 'red', price: 1 })
  const calls: Readonly<Record<string, () => unknown>> = {
    'resource.read(undefined)': () => resource.read(undefined as never),
    'resource.read(99)': () => resource.read(99),
    'resource.create({ color: "pink" })': () => resource.create({ color: 'pink' } as never),
    'resource.patch({ ...car }, …): a copy of an item': async () =>
      resource.patch({ ...(await resource.read(1)) } as never, { price: 2 }),
    'resource.patch(1, …) with an old version': () =>
      resource.patch(1, { price: 2 }, { version: 'old' }),
    'resource.patch({ id: 1, _version: "old" }, …)': () =>
      resource.patch({ id: 1, _version: 'old' } as never, { price: 2 }),
    'resource.list({ colour: "red" })': () => resource.list({ colour: 'red' } as never).first(),
    'resource.list({ limit: -1 })': () => resource.list({ limit: -1 } as never).first(),
    'api.collection("carz")': () => callUntyped(api.collection as never, 'carz'),
    'api.transaction("x")': () => (api as { transaction(run: unknown): unknown }).transaction('x'),
  }
  for (const [what, call] of Object.entries(calls)) await attempt(() => provoke(what, call))
  await sql`create table odd (id integer primary key, color text not null)`.execute(db)
  const open = (table: string) => () =>
    defineApi({
      collections: [
        defineCollection({ name: 'cars', schema, store: sqlStore({ db, table }), id: 'integer' }),
      ],
    }).open()
  for (const table of ['absent', 'odd'])
    await attempt(() => provoke(`open() with the table ${table}`, open(table)))
}

/** The client against servers that are missing, wrong or in the way. */
async function callClient(): Promise<void> {
  const wrong = createServer((request, response) => {
    if (request.url?.startsWith('/html'))
      response.setHeader('content-type', 'text/html').end('<p>Hello')
    else if (request.url?.startsWith('/cut'))
      response.setHeader('content-type', 'application/json').end('[{"id":')
    else if (request.url?.startsWith('/502'))
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway')
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('no')
  })
  const url = await listen(wrong, 0, '127.0.0.1')
  // biome-ignore lint/suspicious/noExplicitAny: the calls are wrong on purpose
  const client = (at: string, more: object = {}): any =>
    callUntyped(createClient, at, { retries: 0, ...more })
  const collection = defineCollection({ name: 'cars', schema, store: memoryStore(), id: 'integer' })
  const api = defineApi({ collections: [collection] })
  await api.collection(collection).create({ color: 'red', price: 1 })
  const good = client('https://api.example', {
    fetch: (to: string, init: RequestInit) => api.fetch(new Request(to, init)),
  })
  const calls: Readonly<Record<string, () => unknown>> = {
    'createClient()': () => callUntyped(createClient),
    'createClient("/api") in Node': () => client('/api').cars.list().first(),
    'createClient("api.example")': () => client('api.example'),
    'a server that is not there': () => client('http://127.0.0.1:54399').cars.list().first(),
    'a host that is not there': () => client('http://nowhere.invalid').cars.list().first(),
    'an HTML page with status 200': () => client(`${url}/html`).cars.list().first(),
    'a 200 with JSON that is cut': () => client(`${url}/cut`).cars.list().first(),
    'a proxy that returns 502 with HTML': () => client(`${url}/502`).cars.list().first(),
    'a 404 with plain text': () => client(`${url}/no`).cars.list().first(),
    'client.carz': () => good.carz.list().first(),
    'client.cars.read(5)': () => good.cars.read(5),
    'client.cars.read()': () => good.cars.read(),
    'client.cars.create({ color: "pink" })': () => good.cars.create({ color: 'pink' }),
    'client.cars.patch({ ...car }, …): a copy of an item': async () =>
      good.cars.patch({ ...(await good.cars.read(1)) }, { price: 2 }),
    'client.cars.patch(1, …) with an old version': () =>
      good.cars.patch(1, { price: 2 }, { version: 'old' }),
    'client.cars.list({ colour: "red" })': () => good.cars.list({ colour: 'red' }).first(),
  }
  for (const [what, call] of Object.entries(calls)) await attempt(() => provoke(what, call))
  wrong.close()
}

/** The commands, as a user types them. */
async function runCommands(folder: string): Promise<void> {
  const main = resolve('dist/cli/main.js')
  const bare = join(folder, 'bare')
  mkdirSync(bare)
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('bad.json', '{"posts": [{"id": 1},]}')
  write('list.json', '[1, 2]')
  write('empty.json', '{}')
  write('twice.json', '{"posts": [{"id": 1}, {"id": 1}]}')
  write('odd.json', '{"my posts!": [{"id": 1}]}')
  write('scalar.json', '{"posts": 5}')
  write('db.json', '{"posts": [{"id": 1, "title": "a"}]}')
  write('junk.db', 'this is not a database')
  write('plain.js', 'export const x = 1\n')
  write('plain.ts', 'export const x = 1\n')
  new Database(join(folder, 'empty.db')).exec('pragma user_version = 1')
  new Database(join(folder, 'none.db')).exec('create table t (x text)')
  const commands = [
    '',
    'srve db.json',
    'serve',
    'serve nothing.json',
    'serve bad.json',
    'serve list.json',
    'serve empty.json',
    'serve scalar.json',
    'serve odd.json',
    'serve junk.db',
    'serve none.db',
    'serve db.json --port abc',
    'serve db.json --port 99999',
    'serve db.json --prot 80',
    'serve db.json --host 0.0.0.0',
    'serve db.json --auth short',
    'serve db.json --dialect graphql',
    'serve db.json --cors app.example',
    'serve db.json --write --no-write',
    'serve postgres://nobody@127.0.0.1:9/x',
    'pull',
    'pull nothing.db',
    'pull empty.db',
    'pull junk.db',
    'pull mysql://x/y',
    'pull none.db --watch',
    'pull none.db --diff nothing.ts',
    'types',
    'types nothing.json',
    'types db.json',
    'types https://nowhere.invalid',
    'types http://127.0.0.1:54399',
    'check-rows',
    'check-rows nothing.ts',
    'check-rows plain.js',
    'check-rows plain.ts',
    'help servee',
    'serve a b',
    'types a b',
  ]
  for (const command of commands) {
    const words = command.split(' ').filter(word => word !== '')
    const child = spawn(process.execPath, [main, ...words], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: undefined },
    })
    const parts: string[] = []
    child.stdout.on('data', part => parts.push(String(part)))
    child.stderr.on('data', part => parts.push(String(part)))
    const timer = setTimeout(() => child.kill(), 20_000)
    const code = await new Promise(done => child.on('close', done))
    clearTimeout(timer)
    if (code === 0 || code === null)
      console.error(`npx rest-conventions ${command}: exit code ${code}`)
    else
      print(
        `npx rest-conventions ${command}`,
        `${parts.join('').slice(0, 700)}\n(exit code ${code})`,
      )
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'))
  try {
    console.log('## Requests to the example server\n')
    const { api, cars: carsOf, accounts } = carsApi(store, memoryBlobs())
    const account = await api.versions.v2
      .collection(accounts)
      .create({ name: 'Ann', email: 'ann@mail.example' })
    await api.versions.v2.collection(carsOf).create(CAR as never)
    await api.versions.v2
      .collection(carsOf)
      .create({ ...CAR, immatriculation: 'AB-124-CD' } as never)
    await api.fetch(
      new Request('https://api.example/v2/cars/2/buy', {
        method: 'POST',
        headers: JSON_TYPE,
        body: JSON.stringify({ account_id: account.id }),
      }),
    )
    for (const [method, path, ...more] of EXAMPLE)
      await attempt(() =>
        ask(
          request => api.fetch(request),
          [method, path.replace('{account}', account.id), ...more],
        ),
      )
    console.log('## Requests to an API with rights, on SQLite\n')
    const database = reuseStatements(new Database(join(folder, 'cars.db')))
    const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
    await prepareSqlite(db)
    await attempt(() => askRights(db))
    console.log('## Declarations\n')
    for (const [what, run] of Object.entries(DEFINITIONS)) await attempt(() => provoke(what, run))
    console.log('## Calls in process, and tables\n')
    await callInProcess(db)
    console.log('## The client\n')
    await callClient()
    console.log('## Commands\n')
    await runCommands(folder)
    await db.destroy()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
