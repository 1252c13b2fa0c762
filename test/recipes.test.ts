// What the recipes of docs/ promise beyond what they print: a PUT does not get round a rule, a client cannot forge what
// the server computes, and a job gets through more rows than one write may affect.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import type { Api } from 'rest-conventions'
import { afterAll, describe, expect, test } from 'vitest'
import { bundle } from './bundle.ts'
import { blocksOf } from './markdown.ts'

const root = join(import.meta.dirname, '..')
// Inside the project, so that its packages are found.
const folder = await mkdtemp(join(root, 'node_modules', '.recipes-'))
afterAll(() => rm(folder, { recursive: true }))

/** The recipes, by the first words of the block's own line, and what a test needs of them. */
const RECIPES = {
  tree: ['recipes.md', 'async function checkParent', 'api'],
  sweep: ['recipes.md', 'async function sweep', 'api, sessions, sweep'],
  shape: ['recipes.md', 'const own: Format', 'api'],
  sender: ['recipes.md', 'function sendWebhook', ''],
  receiver: ['recipes.md', "app.post('/webhooks'", 'api, events'],
  thumbnails: ['recipes.md', 'function makeThumbnails', 'api, blobs'],
  branch: ['recipes.md', 'with recursive', 'api, db'],
  presigned: ['recipes.md', 'upload_url: {', 'api'],
  accounts: ['accounts.md', 'forgot: {', 'api, users, resets, mails, post'],
  settings: ['accounts.md', "name: 'settings'", 'api'],
  kinds: ['recipes.md', "'Name a car or a photo'", 'api'],
  full: ['hooks-and-actions.md', 'full: `$', 'api'],
  audit: ['hooks-and-actions.md', "name: 'audit'", 'api, audit'],
  average: ['hooks-and-actions.md', 'average:', 'api, cars'],
  limit: ['hooks-and-actions.md', 'at most two posts', 'api'],
} as const

/** In place of the presigner, which is not installed here: the key is all that the tests ask of its URL. */
const SIGN =
  'const getSignedUrl = async (_s3: unknown, { input }: { input: { Key?: string } }) => "https://bucket.example/" + input.Key'

/** A block's exports, of which a test uses those that it knows. */
// biome-ignore lint/suspicious/noExplicitAny: the blocks are programs of their own, whose types readme.test.ts checks
type Loaded = Readonly<Record<keyof typeof RECIPES, any>>

async function loadRecipes(): Promise<Loaded> {
  const lines: string[] = []
  for (const [name, [page, words, exported]] of Object.entries(RECIPES)) {
    const blocks = blocksOf(await readFile(join(root, 'docs', page), 'utf8'))
    const block = blocks.find(({ text }) => text.includes(words))
    if (!block) throw new Error(`docs/${page} has no block with ${words}`)
    const text = block.text.replace(/^import .*'@aws-sdk\/s3-request-presigner'$/m, SIGN)
    await writeFile(join(folder, `${name}.ts`), `${text}\nexport { ${exported} }\n`)
    lines.push(`export * as ${name} from './${name}.ts'`)
  }
  const all = join(folder, 'all.ts')
  await writeFile(all, lines.join('\n'))
  return import(bundle(all))
}
// They print what they show.
const { log } = console
console.log = () => {}
afterAll(() => {
  console.log = log
})
const recipes = await loadRecipes()

/** Sends a request with a JSON body, and returns its status and its JSON. */
async function send(api: Api, method: string, path: string, body?: unknown, user?: string) {
  const response = await api.fetch(
    new Request(`https://api.example${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        prefer: 'return=representation',
        ...(user !== undefined && { 'x-user': user }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  )
  const text = await response.text()
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) }
}

describe('trees', () => {
  const { api } = recipes.tree
  test('neither PUT nor PATCH makes a cycle, not even two at once', async () => {
    const add = async (name: string, parent_id?: string) =>
      (await send(api, 'POST', '/categories', { name, parent_id })).json.id
    const top = await add('top')
    const below = await add('below', await add('middle', top))
    const put = (id: string, parent_id: string) =>
      send(api, 'PUT', `/categories/${id}`, { name: 'x', parent_id })
    expect(await put(top, below)).toMatchObject({ status: 409 })
    const moved = await send(api, 'PATCH', `/categories/${top}`, { parent_id: below })
    expect(moved).toMatchObject({ status: 409 })
    const [one, two] = [await add('one'), await add('two')]
    const both = await Promise.all([put(one, two), put(two, one)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('children and roots', async () => {
    const { json: roots } = await send(api, 'GET', '/categories?parent_id[exists]=false&name=Cars')
    const [{ id }] = roots
    for (const path of [`/categories?parent_id=${id}`, `/categories/${id}/categories`])
      expect((await send(api, 'GET', path)).json).toMatchObject([{ name: 'Vans' }])
    const { json } = await send(api, 'GET', '/categories?name=Cars&include=categories')
    expect(json).toMatchObject([{ categories: [{ name: 'Vans' }] }])
  })
})

test('a branch has all levels, is that of its item, and ends where a cycle begins', async () => {
  const { api, db } = recipes.branch
  const add = async (name: string, parent_id?: string) =>
    (await send(api, 'POST', '/categories', { name, parent_id })).json.id
  const top = await add('top')
  const low = await add('low', await add('middle', top))
  await add('other')
  const branch = async (id: string) =>
    (await send(api, 'GET', `/categories/${id}/branch`)).json.map(
      ({ name }: { name: string }) => name,
    )
  expect(await branch(top)).toEqual(['top', 'middle', 'low'])
  expect(await branch(low)).toEqual(['low'])
  expect((await send(api, 'GET', '/categories/none/branch')).status).toBe(404)
  await db.updateTable('categories').set({ parent_id: low }).where('id', '=', top).execute()
  expect(await branch(low)).toHaveLength(3)
})

test('a branch beyond the limit of its statement is refused, not cut', async () => {
  const { api } = recipes.branch
  const all = api.collection('categories')
  const { id: parent_id } = await all.create({ name: 'wide' })
  await all.create(Array.from({ length: 999 }, () => ({ name: 'leaf', parent_id })))
  const whole = await send(api, 'GET', `/categories/${parent_id}/branch`)
  expect([whole.status, whole.json.length]).toEqual([200, 1000])
  await all.create({ name: 'leaf', parent_id })
  expect((await send(api, 'GET', `/categories/${parent_id}/branch`)).status).toBe(409)
})

test('a reset ends all links of its user, and a session alone changes neither password nor email', async () => {
  const { api, users, resets, mails, post } = recipes.accounts
  const signUp = (email: string, password: string) => post('/users/sign_up', { email, password })
  expect(await signUp('Bob@example.org', 'open sesame')).toBe(200)
  expect(await signUp('bob@example.org', 'open sesame')).toBe(409)
  const forget = async (email: string) => {
    await post('/users/forgot', { email })
    return mails.at(-1).token
  }
  const first = await forget('bob@example.org')
  const last = await forget('BOB@example.org')
  const reset = (token: string) => post('/users/reset', { token, password: 'close sesame' })
  expect([await reset(first), await reset(last), await reset(last)]).toEqual([403, 200, 403])
  const system = api.asSystem()
  expect(await system.collection(resets).count()).toBe(0)
  const bob = await system.collection(users).list({ email: 'bob@example.org' }).first()
  for (const method of ['PATCH', 'PUT'])
    expect((await send(api, method, `/users/${bob.id}`, { email: 'eve@example.org' })).status).toBe(
      405,
    )
  const change = (old: string) =>
    system.collection(users).change_password(bob.id, { old, password: 'third sesame' })
  await expect(change('open sesame')).rejects.toMatchObject({ status: 403 })
  expect([await change('close sesame'), await change('third sesame')]).toEqual([
    { done: true },
    { done: true },
  ])
})

test('settings: a PUT of your own creates and replaces them, and no client has those of others', async () => {
  const { api } = recipes.settings
  const statuses = async (user: string | undefined, ...requests: [string, string, unknown?][]) => {
    const found: number[] = []
    for (const [method, path, body] of requests)
      found.push((await send(api, method, path, body, user)).status)
    return found
  }
  const dark = { theme: 'dark' }
  expect(
    await statuses(
      'bob',
      ['GET', '/settings/bob'],
      ['PATCH', '/settings/bob', dark],
      ['PUT', '/settings/bob', dark],
      ['GET', '/settings/bob'],
      ['PUT', '/settings/bob', { theme: 'light' }],
      ['PATCH', '/settings/bob', dark],
      ['PUT', '/settings/eve', dark],
      ['GET', '/settings/ann'],
      ['GET', '/users/me'],
    ),
  ).toEqual([404, 404, 201, 200, 200, 200, 403, 404, 404])
  expect(await statuses(undefined, ['GET', '/users/me'], ['PUT', '/settings/x', dark])).toEqual([
    401, 401,
  ])
  expect((await send(api, 'GET', '/users/me', undefined, 'ann')).json).toMatchObject({ id: 'ann' })
})

test('a presigned upload: a client names only keys that it got, and only its own downloads', async () => {
  const { api } = recipes.presigned
  const { key, url } = (await send(api, 'POST', '/videos/upload_url', {}, 'ann')).json
  expect(url).toBe(`https://bucket.example/${key}`)
  const post = (user: string | undefined, name: string) =>
    send(api, 'POST', '/videos', { title: 'x', key: name }, user)
  expect((await send(api, 'POST', '/videos/upload_url', {})).status).toBe(401)
  for (const [user, name] of [
    ['bob', key],
    ['an', key],
    ['ann', '/x'],
    ['', '/x'],
  ] as const)
    expect((await post(user, name)).status).toBe(user === '' ? 401 : 403)
  const { status, json } = await post('ann', key)
  expect(status).toBe(201)
  const path = `/videos/${json.id}`
  expect((await send(api, 'PATCH', path, { key: 'bob/x' }, 'ann')).status).toBe(400)
  expect((await send(api, 'PUT', path, { title: 'y', key: 'bob/x' }, 'ann')).status).toBe(400)
  expect((await send(api, 'GET', `${path}/download_url`, undefined, 'bob')).status).toBe(404)
  expect((await send(api, 'GET', `${path}/download_url`, undefined, 'ann')).json).toEqual({ url })
})

test('a reference to a car or a photo: both, or neither, is 400 in a PATCH and a PUT too', async () => {
  const { api } = recipes.kinds
  const [{ id, car_id }] = (await send(api, 'GET', '/comments')).json
  const photo_id = (await send(api, 'POST', '/photos', { title: 'x' })).json.id
  for (const [method, body] of [
    ['PATCH', { photo_id }],
    ['PATCH', { car_id: null }],
    ['PUT', { text: 'x', car_id, photo_id }],
  ] as const)
    expect(await send(api, method, `/comments/${id}`, body)).toMatchObject({ status: 400 })
})

test('a sweep deletes 1,200 rows, on two servers at once', async () => {
  const { api, sessions, sweep } = recipes.sweep
  const all = api.collection(sessions)
  const rows = (ends_at: string) => Array.from({ length: 600 }, () => ({ ends_at }))
  for (const _half of [1, 2]) await all.create(rows('2020-01-01T00:00:00Z'))
  await all.create({ ends_at: '9999-01-01T00:00:00Z' })
  await Promise.all([sweep(), sweep()])
  expect(await all.count()).toBe(1)
})

test('an error shape of its own leaves problem details and the other formats', async () => {
  const { api } = recipes.shape
  const get = (path: string, accept: string) =>
    api.fetch(new Request(`https://api.example${path}`, { headers: { accept } }))
  const problem = await get('/cars?colour=red', 'application/problem+json')
  expect(await problem.json()).toMatchObject({ status: 400, title: 'Bad Request' })
  expect((await get('/cars.csv', '*/*')).headers.get('content-type')).toContain('text/csv')
  expect((await get('/cars.xml', '*/*')).status).toBe(200)
})

test('a webhook is sent with its signature, refused with another one, and stored once', async () => {
  const { app, api, events } = recipes.receiver
  const server = createServer(app as RequestListener).listen(0)
  await once(server, 'listening')
  const address = server.address()
  const url = `http://localhost:${typeof address === 'object' ? address?.port : 0}/webhooks`
  const post = async (body: string, signature: string) => {
    const headers = { 'content-type': 'application/json', 'webhook-signature': signature }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  const sign = (key: string, body: string) => createHmac('sha256', key).update(body).digest('hex')
  const body = '{ "id": "e1",  "amount": 5 }'
  const own = sign('the secret of this sender', body)
  const statuses = [await post(body, own), await post(body, own), await post(`${body} `, own)]
  expect(statuses).toEqual([204, 204, 401])
  expect(await api.collection(events).count()).toBe(1)
  const row = { id: 'r1', order_id: 'o1' }
  await expect(recipes.sender.sendWebhook(url, row)).rejects.toThrow('401')
  server.close()
  await once(server, 'close')
  // The receiver of our own webhook sees the id of the row, and the signature of exactly these bytes.
  const received = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const fits =
      request.headers['webhook-signature'] === sign('the secret of this receiver', text) &&
      request.headers['webhook-id'] === 'r1'
    response.writeHead(fits ? 204 : 401).end()
  }).listen(0)
  await once(received, 'listening')
  const at = received.address()
  await recipes.sender.sendWebhook(`http://localhost:${typeof at === 'object' ? at?.port : 0}`, row)
  received.close()
})

test('a thumbnail is that of the job: no client sets, replaces or removes it, and it goes with its photo', async () => {
  const { api, blobs, makeThumbnails } = recipes.thumbnails
  const png = (tail = '') => Buffer.from(`\x89PNG\r\n\x1a\n${tail}`, 'latin1').toString('base64')
  const { json } = await send(api, 'POST', '/photos', { photo_data: png(), thumbnail_data: png() })
  const path = `/photos/${json.id}`
  expect(json.thumbnail_url).toBe(undefined)
  await makeThumbnails(async (bytes: Buffer) => bytes)
  const photo_url = `https://api.example${path}/photo`
  for (const [method, body] of [
    ['PATCH', { thumbnail_data: png('forged') }],
    ['PATCH', { thumbnail_url: null }],
    ['PUT', { photo_url }],
    ['PUT', { photo_url, thumbnail_data: png('forged') }],
  ] as const)
    expect((await send(api, method, path, body)).json.thumbnail_url).toBe(
      `https://api.example${path}/thumbnail`,
    )
  const thumbnail = await api.fetch(new Request(`https://api.example${path}/thumbnail`))
  expect((await thumbnail.arrayBuffer()).byteLength).toBe(8)
  const { json: changed } = await send(api, 'PATCH', path, { photo_data: png('other') })
  expect(changed.thumbnail_url).toBe(undefined)
  const keys: string[] = []
  for await (const { key } of blobs.keys()) keys.push(key)
  expect(keys).toHaveLength(1)
})

test('a photo that cannot be read is tried once, and again after a change; the others get their thumbnail', async () => {
  const { api, makeThumbnails } = recipes.thumbnails
  const png = (tail: string) => Buffer.from(`\x89PNG\r\n\x1a\n${tail}`, 'latin1').toString('base64')
  const add = async (tail: string) =>
    `/photos/${(await send(api, 'POST', '/photos', { photo_data: png(tail) })).json.id}`
  const [broken, whole] = [await add('broken'), await add('whole')]
  const tried: string[] = []
  const run = () =>
    makeThumbnails(async (bytes: Buffer) => {
      tried.push(bytes.toString('latin1', 8))
      if (tried.at(-1) === 'broken')
        throw new Error('Input buffer contains unsupported image format')
      return bytes
    })
  await run()
  await run()
  expect(tried.filter(tail => tail !== 'other')).toEqual(['broken', 'whole'])
  expect((await send(api, 'GET', whole)).json.thumbnail_url).toBeDefined()
  // No client takes the mark away, except by another photo.
  await send(api, 'PATCH', broken, { unreadable: null })
  await run()
  expect(tried.filter(tail => tail === 'broken')).toHaveLength(1)
  await send(api, 'PATCH', broken, { photo_data: png('mended') })
  await run()
  expect((await send(api, 'GET', broken)).json.thumbnail_url).toBeDefined()
})

test('a computed field is computed by every write, and no client sets it', async () => {
  const { api } = recipes.full
  const forged = { first: 'Bo', last: 'Ek', full: 'forged' }
  const { json } = await send(api, 'POST', '/people', forged)
  const path = `/people/${json.id}`
  expect(json.full).toBe('Bo Ek')
  expect((await send(api, 'PUT', path, { ...forged, last: 'Oz' })).json.full).toBe('Bo Oz')
  expect((await send(api, 'PATCH', path, { first: 'Al' })).json.full).toBe('Al Oz')
  expect((await send(api, 'PATCH', path, { full: 'forged' })).status).toBe(400)
})

test('an audit has the history of one item', async () => {
  const { api, audit } = recipes.audit
  const { json } = await send(api, 'POST', '/orders', { amount: 1 })
  await send(api, 'PUT', `/orders/${json.id}`, { amount: 2 })
  await send(api, 'GET', `/orders/${json.id}`)
  await send(api, 'DELETE', `/orders/${json.id}`)
  const history = await send(api, 'GET', `/audit?item_id=${json.id}&sort=created_at`)
  expect(history.json).toMatchObject([
    { what: 'create', now: { amount: 1 } },
    { what: 'replace', old: { amount: 1 }, now: { amount: 2 } },
    { what: 'delete', old: { amount: 2 } },
  ])
  expect(await api.collection(audit).count({ item_id: { exists: false } })).toBe(0)
})

test('an action has a result without items, and only it sells a car', async () => {
  const { api, cars } = recipes.average
  const [{ id }] = await api.collection(cars).list().toArray()
  expect((await send(api, 'PATCH', `/cars/${id}`, { sold: false })).status).toBe(400)
  await api.collection(cars).delete(id)
  expect(await send(api, 'GET', '/cars/average')).toMatchObject({ status: 200, json: { price: 0 } })
})

test('a limit of two posts holds for an array, and for a move to another user', async () => {
  const { api } = recipes.limit
  const user = async () => (await send(api, 'POST', '/users', { name: 'Bo' })).json.id
  const [bo, al] = [await user(), await user()]
  const posts = (count: number) => Array.from({ length: count }, () => ({ user_id: bo, text: 'x' }))
  expect((await send(api, 'POST', '/posts', posts(3))).status).toBe(409)
  expect((await send(api, 'POST', '/posts', posts(2))).status).toBe(201)
  const { json } = await send(api, 'POST', '/posts', { user_id: al, text: 'x' })
  expect((await send(api, 'PATCH', `/posts/${json.id}`, { user_id: bo })).status).toBe(400)
  expect((await send(api, 'GET', `/posts/count?user_id=${bo}`)).json).toEqual({ count: 2 })
})
