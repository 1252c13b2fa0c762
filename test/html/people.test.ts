// Pages for people: their words, what they do first, and how a program gets the same.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { basic, defineApi, defineCollection, memoryStore, type Scheme } from '../../src/index.ts'

const patients = defineCollection({
  name: 'patients',
  schema: z.object({
    name: z.string().meta({ title: 'Full name', description: 'As on the insurance card.' }),
    born: z.iso.date().optional().meta({ title: 'Date of birth' }),
    home: z.object({ city: z.string().meta({ title: 'City' }) }).optional(),
  }),
  store: memoryStore(),
})
const visits = defineCollection({
  name: 'visits',
  schema: z.object({ patient_id: z.string(), reason: z.string() }),
  store: memoryStore(),
  parents: { patient_id: 'patients' },
})
const closed = defineCollection({
  name: 'closed',
  itemName: 'closed',
  schema: z.object({ text: z.string() }),
  store: memoryStore(),
  access: { default: ['some'] },
})
const scheme = basic({ verify: user => ({ id: user, scopes: ['other'] }) })
const open = defineApi({ collections: { patients, visits }, pages: html })
const guarded = defineApi({ collections: { closed }, pages: html, schemes: [scheme] })

type Fetch = (request: Request) => Promise<Response>

async function get(path: string, headers: Record<string, string> = {}, fetch: Fetch = open.fetch) {
  const url = `http://localhost${path}`
  const answer = await fetch(new Request(url, { headers: { accept: 'text/html', ...headers } }))
  return { status: answer.status, text: await answer.text() }
}

async function create(name: string, body: object) {
  const request = new Request(`http://localhost/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await (await open.fetch(request)).json()) as { id: string }
}

test('in place of an id that nobody knows: that there is none yet, and where to create one', async () => {
  const { text } = await get('/visits')
  expect(text).toMatch(
    /<select disabled id="create-patient_id" [^>]*><option value="">No patients yet</,
  )
  expect(text).toContain('<a href="/patients" target="_blank">Create one</a>')
  const { id } = await create('patients', { name: 'Ann' })
  expect((await get('/visits')).text).toContain(`<option value="${id}">Ann</option>`)
})

test('labels and help are those of the schema', async () => {
  const { id } = await create('patients', {
    name: 'Bo',
    born: '2000-01-01',
    home: { city: 'Rome' },
  })
  const list = await get('/patients')
  expect(list.text).toContain('<label for="create-name">Full name</label>')
  expect(list.text).toContain('id="create-name-hint">As on the insurance card.</p>')
  expect(list.text).toMatch(/<th scope="col"><a href="[^"]*sort=born">Date of birth</)
  // Of two cities a column says which.
  expect(list.text).toMatch(/sort=home.city">home.city</)
  expect(list.text).toContain('<label for="filter-name">Full name</label>')
  const item = await get(`/patients/${id}`)
  expect(item.text).toContain('<dt>Date of birth</dt>')
  expect(item.text).toContain('<dt>City</dt>')
})

test('New is above the list, and Edit above the item', async () => {
  const { id } = await create('patients', { name: 'Cy' })
  const list = await get('/patients')
  expect(list.text.indexOf('New patient')).toBeLessThan(list.text.indexOf('<table'))
  const item = await get(`/patients/${id}`)
  expect(item.text.indexOf('Edit patient')).toBeLessThan(item.text.indexOf('<dl>'))
  expect(item.text.indexOf('Delete patient')).toBeGreaterThan(item.text.indexOf('<dl>'))
})

test('As HTTP is what a program gets', async () => {
  const { id } = await create('patients', { name: "Dee's <b>" })
  const answer = await open.fetch(new Request(`http://localhost/patients/${id}`))
  const { text } = await get(`/patients/${id}`)
  const [, shown = ''] = /<summary>As HTTP<\/summary>(.*?)<\/details>/s.exec(text) ?? []
  const plain = shown
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
  expect(plain).toContain(`curl -i 'http://localhost/patients/${id}'`)
  expect(plain).toContain(`HTTP/1.1 200 OK\nContent-Type: application/json`)
  expect(plain).toContain(`ETag: ${answer.headers.get('etag')}`)
  expect(plain).toContain(JSON.stringify(await answer.json(), undefined, 2))
  const list = await get('/patients?name=Ann&limit=1')
  expect(list.text).toMatch(/curl -i &#39;http:\/\/localhost\/patients\?name=Ann&amp;limit=1&#39;/)
  expect(list.text).toContain('X-Result-Count: 1')
})

test('who is not admitted is shown no filters', async () => {
  for (const [headers, status] of [
    [{}, 401],
    [{ authorization: `Basic ${btoa('me:x')}` }, 403],
  ] as const) {
    const page = await get('/closed', headers, guarded.fetch)
    expect(page.status).toBe(status)
    expect(page.text).not.toContain('class="filters"')
  }
})

test('no heading of the documentation skips a level', async () => {
  for (const path of ['/docs', '/docs?collection=patients', '/docs?q=list']) {
    const { text } = await get(path)
    const levels = [...text.matchAll(/<h(\d)/g)].map(([, level]) => Number(level))
    expect(levels[0]).toBe(1)
    for (const [at, level] of levels.entries())
      expect([path, level - (levels[at - 1] ?? 0) <= 1]).toEqual([path, true])
  }
})

test('what was tried shows its body before its headers', async () => {
  const { text } = await get('/docs/try?_path=/patients&limit=1')
  expect(text).toContain('<h2>Body</h2>')
  expect(text.indexOf('<h2>Body</h2>')).toBeLessThan(text.indexOf('<h2>Headers</h2>'))
})

test('rows that are chosen are changed or deleted together, without a script', async () => {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ name: z.string(), price: z.number().optional() }),
    store: memoryStore(),
    operations: ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
    access: { default: 'public' },
  })
  const session: Scheme = {
    name: 'Session',
    challenge: () => 'Session',
    authenticate: async ({ headers }) => (headers.cookie ? { id: 'ann' } : undefined),
  }
  const api = defineApi({ collections: { cars }, pages: html, schemes: [session] })
  const cookie = 'session=1'
  await api.collection(cars).create(['a', 'b', 'c'].map(name => ({ name, price: 1 })))
  const list = await get('/cars', { cookie }, api.fetch)
  expect(list.text).toContain(
    '<input type="checkbox" form="choose" name="id" value="2" aria-label="Choose b">',
  )
  expect(list.text).not.toContain('Delete these')
  const chosen = await get('/cars?id=1&id=2', { cookie }, api.fetch)
  expect(chosen.text).toContain('Delete these 2 cars')
  await api.collection(cars).delete(2, { unconditional: true })
  const submit = async (body: Record<string, string>, origin = 'http://localhost') => {
    const headers = { accept: 'text/html', origin, cookie }
    const init = { method: 'POST', headers, body: new URLSearchParams(body) }
    const answer = await api.fetch(new Request('http://localhost/cars?id=1&id=2', init))
    return { status: answer.status, text: await answer.text() }
  }
  const change = { _method: 'PATCH', _max_affected: '2', price: '5' }
  expect((await submit(change, 'https://evil.example')).status).toBe(403)
  const changed = await submit(change)
  expect(changed.text).toContain('1 car changed. 1 of the 2 chosen did not exist any more.')
  expect((await submit({ _method: 'DELETE', _max_affected: '0' })).status).toBe(400)
  expect((await submit({ _method: 'DELETE', _max_affected: 'x' })).status).toBe(400)
  expect((await submit({ _method: 'DELETE', _max_affected: '2' })).text).toContain('1 car deleted.')
  expect(await api.collection(cars).list().toArray()).toMatchObject([{ name: 'c', price: 1 }])
})
