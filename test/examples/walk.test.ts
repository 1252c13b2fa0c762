// Every row of the specification's tables, asked of the running example: one real request each.
import { describe, expect, test, vi } from 'vitest'
import { drawCar } from '../../examples/picture.ts'
import { createCheck } from '../answers.ts'
import type { Part } from '../openapi.ts'
import { jsonOf, serve } from './running.ts'

const server = await serve()
const base = server.root.replace(/v2\/$/, '')
const root = `${base}v1/`

/** One request and what must come back. */
interface Row {
  /** The row as the specification has it; where it needs several requests, what this one shows. */
  readonly row: string
  /** Method and address below `/v1/`; `{name}` is an address that another row `keeps`. */
  readonly ask: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, parameters and form data as a form, a text as it is. */
  readonly send?: object | URLSearchParams | FormData | string
  /** 200 where not given. */
  readonly status?: number
  /** Response headers; `null` for one that must not be there. */
  readonly gives?: Readonly<Record<string, string | RegExp | null>>
  /** What the body must equal; `''` for none, a pattern for one that is no JSON, bytes for a file. */
  readonly body?: unknown
  /** The name under which later rows find the `Location`. */
  readonly keeps?: string
}

const kept = new Map<string, string>()

async function walk(row: Row): Promise<void> {
  const { ask, headers, send, status = 200, gives = {}, body } = row
  const [method = '', place = ''] = ask.split(' ')
  const path = place.replace(/\{(\w+)\}/, (_, name) => kept.get(name) ?? '')
  const form = send instanceof URLSearchParams || send instanceof FormData
  const plain = typeof send === 'string' || form || send === undefined
  const response = await fetch(new URL(path, root), {
    method,
    redirect: 'manual',
    headers: { ...(!plain && { 'content-type': 'application/json' }), ...headers },
    ...(send !== undefined && { body: plain ? send : JSON.stringify(send) }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString()
  expect([response.status, response.status === status ? '' : text]).toEqual([status, ''])
  const { href } = new URL(path, root)
  const target = `/${href.slice(base.length)}`
  const overridden = 'x-http-method-override' in (headers ?? {})
  if (href.startsWith(base) && !overridden && !(send instanceof FormData))
    expect(check({ method, target, status, headers: response.headers, text })).toBeUndefined()
  if (row.keeps !== undefined) kept.set(row.keeps, response.headers.get('location') ?? '')
  for (const [name, value] of Object.entries(gives)) {
    const actual = response.headers.get(name)
    if (value instanceof RegExp) expect(actual).toMatch(value)
    else expect({ [name]: actual }).toEqual({ [name]: value })
  }
  if (body === '') expect(text).toBe('')
  else if (body instanceof RegExp) expect(text).toMatch(body)
  else if (body instanceof Uint8Array) expect(bytes.equals(body)).toBe(true)
  else if (body !== undefined) expect(JSON.parse(text)).toEqual(body)
}

function table(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    for (const row of rows) test(`${row.row}: ${row.ask}`, () => walk(row))
  })
}

// --- What rows are made of -----------------------------------------------------------------------

interface Car {
  readonly id: number
  readonly color: string
  readonly model: { readonly name: string; readonly brand: string }
  readonly price: number
}

const documents = ['', 'v1/', 'v2/'].map(async path =>
  jsonOf<Part>(await fetch(`${base}${path}openapi.json`)),
)
const check = createCheck(await Promise.all(documents))
const cars = await jsonOf<Car[]>(await fetch(`${root}cars?limit=100`))
const [car] = cars
if (!car) throw new Error('The example has no cars')
const all = await jsonOf<{ count: number }>(await fetch(`${root}cars/count`))
const [photo] = await jsonOf<{ id: string }[]>(await fetch(`${root}photos?limit=1`))
const [account] = await jsonOf<{ id: string }[]>(await fetch(`${root}accounts?limit=1`))
// A date is withheld within the second that it names.
const validators = await vi.waitFor(async () => {
  const { headers } = await fetch(`${root}cars/1`)
  const [etag, modified] = [headers.get('etag'), headers.get('last-modified')]
  if (etag === null || modified === null) throw new Error('There is no Last-Modified yet')
  return { etag, modified }
}, 60_000)

const DAY = 86_400_000
const yesterday = new Date(Date.now() - DAY).toISOString().slice(0, 10)
const tomorrow = new Date(Date.now() + DAY).toISOString().slice(0, 10)
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f-]{17}$/)

const has = (members: object) => expect.objectContaining(members)
const refused = (code: number) => ({
  message: expect.any(String),
  errors: [has({ message: expect.any(String), code })],
})
/** A list of `count` items that all have these members. */
const listOf = (count: number, members: object) => Array.from({ length: count }, () => has(members))

const NEW = {
  immatriculation: 'ZZ-001-ZZ',
  color: 'blue',
  model: { name: 'Clio', brand: 'Renault' },
  price: 9000,
}
const collections = ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']
const resourcesOf = (at: string) =>
  Object.fromEntries(collections.map(name => [name, has({ url: at + name })]))

const picture = drawCar(car.color, 480)
const upload = drawCar('orange', 64)
const small = drawCar('orange', 16)
const base64 = small.toString('base64')
const file = (bytes: Buffer, type = 'image/png') => new Blob([new Uint8Array(bytes)], { type })
/** A multipart form; a file is given with its name. */
function multipart(parts: Readonly<Record<string, string | Blob | readonly [Blob, string]>>) {
  const data = new FormData()
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === 'string') data.append(name, part)
    else if (part instanceof Blob) data.append(name, part)
    else data.append(name, part[0], part[1])
  }
  return data
}
const PNG = { 'content-type': 'image/png', 'x-content-type-options': 'nosniff' }
const addressOf = (property: string, version = 'v1') =>
  expect.stringMatching(new RegExp(`^${base}${version}/photos/[0-9a-f-]{36}/${property}$`))
const carXml = await (await fetch(`${root}cars/14.xml`)).text()

// --- The tables, in the order of the specification -----------------------------------------------

table('What the service does', [
  {
    row: 'the root describes the resources',
    ask: 'GET .',
    body: { url: root, resources: resourcesOf(root) },
  },
])

table('Naming conventions for fields', [
  { row: 'identify a resource', ask: 'GET cars/1', body: has({ id: 1 }) },
  {
    row: 'reference another resource by address: _url',
    ask: `GET photos/${photo?.id}`,
    body: has({ photo_url: `${root}photos/${photo?.id}/photo` }),
  },
  {
    row: 'reference another entity by identifier: _id',
    ask: 'GET cars/1/options?limit=1',
    body: [has({ car_id: 1 })],
  },
  { row: 'date', ask: 'GET cars/1?fields=registered_on', body: { registered_on: DATE } },
  {
    row: 'date and time',
    ask: 'GET cars/1?fields=created_at,updated_at',
    body: { created_at: INSTANT, updated_at: INSTANT },
  },
  {
    row: 'binary property, by download address',
    ask: `GET photos/${photo?.id}/photo`,
    gives: { ...PNG, 'content-length': String(picture.length), etag: /^".+"$/ },
    body: picture,
  },
  {
    row: 'binary property, inline',
    ask: `GET photos/${photo?.id}?fields=photo_data`,
    body: { photo_data: picture.toString('base64') },
  },
])

table('Illustrative resources', [
  {
    row: 'cars',
    ask: 'GET cars/1?fields=immatriculation,color,model',
    body: {
      immatriculation: expect.stringMatching(/^[A-Z]{2}-\d{3}-[A-Z]{2}$/),
      color: expect.any(String),
      model: has({ name: expect.any(String) }),
    },
  },
  {
    row: 'cars options',
    ask: 'GET cars/1/options?limit=1',
    body: [has({ name: expect.anything() })],
  },
  {
    row: 'cars_models',
    ask: 'GET cars_models?limit=1',
    body: [has({ car_id: 1, model_id: expect.any(Number) })],
  },
  {
    row: 'photos (flat form)',
    ask: `GET photos/${photo?.id}?fields=id,comment,photo_url,thumb_url`,
    body: {
      id: UUID,
      comment: expect.any(String),
      photo_url: addressOf('photo'),
      thumb_url: addressOf('thumb'),
    },
  },
  {
    row: 'photos (object form)',
    ask: `GET ../v2/photos/${photo?.id}?fields=id,comment,photo,thumb`,
    body: {
      id: photo?.id,
      comment: expect.any(String),
      photo: { url: addressOf('photo', 'v2'), updated_at: INSTANT },
      thumb: { url: addressOf('thumb', 'v2'), updated_at: INSTANT },
    },
  },
  { row: 'accounts', ask: 'GET accounts?limit=1', body: [has({ id: UUID })] },
])

table('Resource operations', [
  {
    row: 'GET {base_url}/',
    ask: 'GET ..',
    body: has({ url: base, resources: resourcesOf(server.root) }),
  },
  { row: 'GET /<collection>', ask: 'GET cars', body: listOf(25, { sold: expect.any(Boolean) }) },
  { row: 'GET /<collection>/count', ask: 'GET cars/count', body: all },
  {
    row: 'POST /<collection>',
    ask: 'POST cars',
    send: NEW,
    status: 201,
    gives: {
      location: `${root}cars/${all.count + 1}`,
      'content-location': `${root}cars/${all.count + 1}`,
      etag: /^".+"$/,
    },
    body: has({ ...NEW, id: all.count + 1, sold: false, mileage: 0 }),
  },
  {
    row: 'POST /<collection>, not unique',
    ask: 'POST cars',
    send: NEW,
    status: 409,
    body: refused(409),
  },
  { row: 'GET /<collection>/<id>', ask: 'GET cars/1', gives: { etag: /^".+"$/ }, body: car },
  { row: 'GET /<collection>/<id>?fields=', ask: 'GET cars/1?fields=id', body: { id: 1 } },
  {
    row: 'HEAD /<collection>/<id>',
    ask: 'HEAD cars/1',
    gives: { etag: validators.etag, 'content-length': /^\d{3}$/ },
    body: '',
  },
  { row: 'HEAD /<collection>/<id>, none', ask: 'HEAD cars/99999', status: 404, body: '' },
  {
    row: 'PUT /<collection>/<id>',
    ask: 'PUT cars/2',
    send: { ...NEW, immatriculation: 'ZZ-002-ZZ' },
    status: 303,
    gives: { location: `${root}cars/2` },
  },
  {
    row: 'PUT replaces: what is absent takes its default',
    ask: 'GET cars/2',
    body: has({ immatriculation: 'ZZ-002-ZZ', mileage: 0, registered_on: null }),
  },
  {
    row: 'PATCH /<collection>/<id>',
    ask: 'PATCH cars/3',
    send: { color: 'yellow' },
    status: 303,
    gives: { location: `${root}cars/3` },
  },
  {
    row: 'PATCH keeps the rest',
    ask: 'GET cars/3',
    body: has({ ...cars[2], color: 'yellow', updated_at: INSTANT }),
  },
  {
    row: 'PATCH by a JSON Patch',
    ask: 'PATCH cars/3',
    headers: { 'content-type': 'application/json-patch+json', prefer: 'return=representation' },
    send: [{ op: 'replace', path: '/model/name', value: 'Zoe' }],
    gives: { 'preference-applied': 'return=representation' },
    body: has({ model: { ...cars[2]?.model, name: 'Zoe' } }),
  },
  { row: 'DELETE /<collection>/<id>', ask: 'DELETE cars/4', body: cars[3] },
  { row: 'DELETE, then it is gone', ask: 'GET cars/4', status: 404, body: refused(404) },
  { row: 'DELETE, its options too', ask: 'GET options?car_id=4', body: [] },
  {
    row: 'OPTIONS /<collection>',
    ask: 'OPTIONS cars',
    gives: {
      allow: 'GET, QUERY, POST, PUT, HEAD, OPTIONS',
      'access-control-allow-methods': 'GET, QUERY, POST, PUT, HEAD, OPTIONS',
      'access-control-allow-origin': '*',
    },
    body: has({ get: expect.any(Object), post: expect.any(Object) }),
  },
  {
    row: 'GET /<collection>/<id>/<sub_collection>',
    ask: 'GET cars/1/options',
    gives: { 'content-range': /^options 0-\d+\/\d+$/ },
    body: expect.arrayContaining([has({ car_id: 1 })]),
  },
  {
    row: 'GET of a sub-collection, no such parent',
    ask: 'GET cars/99999/options',
    status: 404,
    body: refused(404),
  },
  {
    row: 'POST to a sub-collection fills the parent in',
    ask: 'POST cars/1/options',
    send: { name: 'Snow chains', price: 80 },
    status: 201,
    gives: { location: new RegExp(`^${root}cars/1/options/\\d+$`) },
    body: has({ car_id: 1, name: 'Snow chains' }),
  },
  {
    row: 'GET /<relation_collection>',
    ask: 'GET cars_models?limit=5',
    gives: { 'content-range': `cars_models 0-4/${all.count - 1}` },
    body: listOf(5, { car_id: expect.any(Number), model_id: expect.any(Number) }),
  },
  {
    row: 'GET /<relation_collection>, from one side',
    ask: 'GET cars/1/cars_models',
    body: [has({ car_id: 1 })],
  },
  {
    row: 'GET /<relation_collection>, from the other side',
    ask: 'GET models/1/cars_models?limit=1',
    body: [has({ model_id: 1 })],
  },
  {
    row: 'POST /cars/<id>/buy',
    ask: 'POST cars/5/buy',
    send: { buyer: 'Inès Roux' },
    body: has({ id: 5, sold: true, buyer: 'Inès Roux', account_id: null }),
  },
  {
    row: 'POST /cars/<id>/buy, by an account',
    ask: 'POST cars/6/buy',
    send: { account_id: account?.id },
    body: has({ id: 6, sold: true, buyer: 'Amina Martin', account_id: account?.id }),
  },
  {
    row: 'DELETE of an account that owns a car',
    ask: `DELETE accounts/${account?.id}`,
    status: 409,
    body: has({ errors: [has({ code: 409, type: 'referenced' })] }),
  },
  { row: 'POST /cars/<id>/buy, nothing sent', ask: 'POST cars/7/buy', body: has({ sold: true }) },
  {
    row: 'POST /cars/<id>/buy, sold already',
    ask: 'POST cars/5/buy',
    status: 409,
    body: refused(409),
  },
  { row: 'POST /cars/<id>/buy, no such car', ask: 'POST cars/99999/buy', status: 404 },
  {
    row: 'POST /cars/<id>/buy, no such account',
    ask: 'POST cars/9/buy',
    send: { account_id: 'nobody' },
    status: 400,
    body: has({ errors: [has({ code: 400, field: 'account_id' })] }),
  },
  {
    row: 'GET /cars/<id>/buy does nothing',
    ask: 'GET cars/9/buy',
    status: 405,
    gives: { allow: 'POST, OPTIONS' },
  },
  {
    row: 'GET /cars/search',
    ask: 'GET cars/search?q=tesla&limit=2',
    gives: { 'x-result-count': /^[1-9]\d*$/ },
    body: listOf(2, { model: has({ brand: 'Tesla' }) }),
  },
  {
    row: 'POST /photos',
    ask: 'POST photos',
    send: multipart({
      comment: 'Côté gauche',
      photo: [file(upload), 'gauche.png'],
      thumb: [file(small), 'petite.png'],
    }),
    status: 201,
    gives: { location: new RegExp(`^${root}photos/[0-9a-f-]{36}$`) },
    body: has({
      comment: 'Côté gauche',
      photo_url: addressOf('photo'),
      thumb_url: addressOf('thumb'),
    }),
    keeps: 'photo',
  },
  {
    row: 'POST /photos, its photo',
    ask: 'GET {photo}/photo',
    gives: { ...PNG, 'content-disposition': /^inline; filename="gauche.png"/ },
    body: upload,
  },
  {
    row: 'POST /photos, its thumb',
    ask: 'GET {photo}/thumb',
    gives: { ...PNG, 'content-length': String(small.length) },
    body: small,
  },
  {
    row: 'POST /photos, without a photo',
    ask: 'POST photos',
    send: multipart({ comment: 'None', thumb: [file(small), 'petite.png'] }),
    status: 400,
    body: has({ errors: [has({ code: 400, field: 'photo' })] }),
  },
  {
    row: 'POST /photos, a file that is no picture',
    ask: 'POST photos',
    send: multipart({ comment: 'None', photo: [file(Buffer.from('<svg>')), 'x.png'] }),
    status: 400,
    body: has({ errors: [has({ code: 400, field: 'photo', type: 'unaccepted_type' })] }),
  },
  {
    row: 'POST /photos, inline',
    ask: 'POST photos',
    send: { comment: 'Inline', photo_data: base64, thumb_data: base64 },
    status: 201,
    body: has({ photo_url: addressOf('photo'), thumb_url: addressOf('thumb') }),
  },
  {
    row: 'POST /photos, inline in the object form',
    ask: 'POST ../v2/photos',
    send: { comment: 'Inline', photo: { data: base64 } },
    status: 201,
    body: has({
      photo: { url: addressOf('photo', 'v2'), updated_at: INSTANT },
      thumb: null,
    }),
  },
  {
    row: 'GET /photos/<id>',
    ask: `GET photos/${photo?.id}`,
    body: has({ comment: expect.any(String), photo_url: addressOf('photo') }),
  },
  { row: '_method in the query', ask: 'POST cars/10?_method=DELETE', body: has({ id: 10 }) },
  {
    row: '_method in a form',
    ask: 'POST cars/11',
    send: new URLSearchParams({ _method: 'patch', color: 'red' }),
    status: 303,
    gives: { location: `${root}cars/11` },
  },
  { row: '_method in a form, done', ask: 'GET cars/11?fields=color', body: { color: 'red' } },
  { row: '_method on a GET does nothing', ask: 'GET cars/12?_method=DELETE', status: 400 },
  { row: '_method on a GET, done nothing', ask: 'GET cars/12', body: has({ id: 12 }) },
  {
    row: '_method in a multipart form',
    ask: 'POST {photo}',
    send: multipart({ _method: 'PUT', comment: 'Anew', photo: [file(small), 'neu.png'] }),
    status: 303,
  },
  {
    row: '_method in a multipart form, done',
    ask: 'GET {photo}',
    body: has({ comment: 'Anew', photo_url: addressOf('photo'), thumb_url: null }),
  },
  { row: '_method in a multipart form, the file', ask: 'GET {photo}/photo', body: small },
  {
    row: '_method in a multipart form, what it replaced',
    ask: 'GET {photo}/thumb',
    status: 404,
    body: refused(404),
  },
  {
    row: 'PUT of a photo: its own address is the file it has',
    ask: `PUT photos/${photo?.id}`,
    send: { comment: 'Kept', photo_url: `${root}photos/${photo?.id}/photo` },
    status: 303,
  },
  {
    row: 'PUT of a photo, the file it has',
    ask: `GET photos/${photo?.id}/photo`,
    body: picture,
  },
  {
    row: 'PUT of a photo: no other address is fetched',
    ask: `PUT photos/${photo?.id}`,
    send: { comment: 'Stolen', photo_url: `${root}cars/1` },
    status: 400,
    body: has({ errors: [has({ field: 'photo', type: 'foreign_address' })] }),
  },
])

table('Query parameters (collections)', [
  {
    row: 'fields',
    ask: 'GET cars?fields=id,model.name&limit=1',
    body: [{ id: 1, model: { name: car.model.name } }],
  },
  { row: 'fields, unknown', ask: 'GET cars?fields=colour', status: 400, body: refused(400) },
  {
    row: '<field_name>',
    ask: 'GET cars?color=silver&limit=2',
    body: listOf(2, { color: 'silver' }),
  },
  {
    row: '<field_name>, a dotted path',
    ask: `GET cars?model.brand=Tesla&limit=2`,
    body: listOf(2, { model: has({ brand: 'Tesla' }) }),
  },
  {
    row: '<field_name>, characters left unescaped',
    ask: "GET accounts?name=Chlo%C3%A9+O'Brien&limit=1&fields=name",
    body: [{ name: "Chloé O'Brien" }],
  },
  { row: '<field_name>, unknown', ask: 'GET cars?colour=red', status: 400, body: refused(400) },
  {
    row: 'offset',
    ask: 'GET cars?offset=20&limit=1&sort=id&id[gt]=30',
    body: [has({ id: 51 })],
  },
  { row: 'limit', ask: 'GET models?limit=3', body: listOf(3, { brand: 'Citroën' }) },
  { row: 'limit 0', ask: 'GET models?limit=0', body: [] },
  {
    row: 'limit above the maximum',
    ask: 'GET cars?limit=1000&id[lte]=150',
    gives: { 'content-range': /^cars 0-99\// },
  },
  { row: 'until', ask: 'GET accounts?until=2020-01-01', body: [] },
  {
    row: 'until, that day included',
    ask: `GET accounts/count?until=${tomorrow}`,
    body: { count: 40 },
  },
  { row: 'since', ask: `GET accounts/count?since=${yesterday}`, body: { count: 40 } },
  { row: 'since', ask: 'GET accounts?since=2999-01-01', body: [] },
  { row: 'since_id', ask: 'GET models?since_id=3&limit=1', body: [has({ id: 4 })] },
  { row: 'max_id', ask: 'GET models?max_id=2', body: [has({ id: 1 }), has({ id: 2 })] },
  { row: 'suppress_error_codes', ask: 'GET cars/99999?suppress_error_codes', body: refused(404) },
  { row: '_method', ask: 'POST models?_method=GET&limit=1', status: 400 },
])

const linked = (place: string) => `<${root}models\\?limit=10&(${place})[^>]*>`
table('Pagination headers', [
  {
    row: 'Link',
    ask: 'GET models?limit=10&offset=10',
    gives: {
      link: new RegExp(
        `^(?=.*${linked('offset=20')}; rel="next")(?=.*${linked('offset=0')}; rel="previous")`,
      ),
    },
  },
  { row: 'X-Result-Count', ask: 'GET models?limit=1', gives: { 'x-result-count': '29' } },
  { row: 'Content-Range', ask: 'GET models?limit=5', gives: { 'content-range': 'models 0-4/29' } },
  {
    row: 'Content-Range, nothing there',
    ask: 'GET models?offset=500',
    gives: { 'content-range': 'models */29' },
    body: [],
  },
  {
    row: 'Range',
    ask: 'GET models',
    headers: { range: 'models=5-9' },
    status: 206,
    gives: { 'content-range': 'models 5-9/29', 'accept-ranges': 'models' },
    body: [6, 7, 8, 9, 10].map(id => has({ id })),
  },
  {
    row: 'Range, behind the end',
    ask: 'GET models',
    headers: { range: 'models=500-509' },
    status: 416,
    gives: { 'content-range': 'models */29' },
    body: refused(416),
  },
])

const JSON_TYPE = /^application\/json\b/
const XML_TYPE = /^application\/xml\b/
table('Data formats', [
  {
    row: 'application/json',
    ask: 'GET cars/1',
    headers: { accept: 'application/json' },
    gives: { 'content-type': JSON_TYPE, vary: /\bAccept\b/ },
    body: car,
  },
  {
    row: 'the extension counts first',
    ask: 'GET cars/1.json',
    headers: { accept: 'image/png' },
    gives: { 'content-type': JSON_TYPE },
    body: car,
  },
  {
    row: 'nothing acceptable',
    ask: 'GET cars/1',
    headers: { accept: 'image/png' },
    status: 406,
    body: refused(406),
  },
  {
    row: 'application/x-www-form-urlencoded',
    ask: 'POST cars',
    send: new URLSearchParams({
      immatriculation: 'ZZ-003-ZZ',
      color: 'red',
      'model.name': 'Zoe',
      'model[brand]': 'Renault',
      price: '1200.5',
    }),
    status: 201,
    body: has({ model: { name: 'Zoe', brand: 'Renault' }, price: 1200.5 }),
  },
  {
    row: 'a body of an unknown type',
    ask: 'POST cars',
    headers: { 'content-type': 'text/x-unknown' },
    send: 'red',
    status: 415,
    gives: {
      'accept-post':
        /^application\/json, application\/xml, application\/x-www-form-urlencoded, multipart\/form-data, text\/csv, application\/x-ndjson$/,
    },
    body: refused(415),
  },
  {
    row: 'application/xml',
    ask: 'GET cars/1',
    headers: { accept: 'application/xml' },
    gives: { 'content-type': XML_TYPE, vary: /\bAccept\b/ },
    body: new RegExp(`<car>\\s*<id>1</id>[\\s\\S]*<name>${car.model.name}</name>`),
  },
  {
    row: 'application/xml, by extension',
    ask: 'GET cars.xml?limit=2&fields=id',
    headers: { accept: 'application/json' },
    gives: { 'content-type': XML_TYPE, 'content-range': /^cars 0-1\// },
    body: /<cars>\s*<car>\s*<id>1<\/id>\s*<\/car>\s*<car>\s*<id>2<\/id>\s*<\/car>\s*<\/cars>/,
  },
  {
    row: 'application/xml, sent',
    ask: 'POST cars',
    headers: { 'content-type': 'application/xml', accept: 'application/xml' },
    send: '<car><immatriculation>ZZ-004-ZZ</immatriculation><color>red</color><model><name>205</name></model><price>700</price></car>',
    status: 201,
    gives: { 'content-type': XML_TYPE },
    body: /<model>\s*<name>205<\/name>\s*<\/model>\s*<price>700<\/price>/,
  },
  {
    row: 'application/xml, what GET gave sent back',
    ask: 'PUT cars/14.xml',
    send: carXml,
    headers: { 'content-type': 'application/xml' },
    status: 303,
    gives: { location: `${root}cars/14.xml` },
  },
  {
    row: 'application/xml, what GET gave sent back changes nothing',
    ask: 'GET cars/14',
    body: { ...cars[13], updated_at: INSTANT },
  },
  {
    row: 'application/xml, an error',
    ask: 'GET cars/99999.xml',
    status: 404,
    gives: { 'content-type': XML_TYPE },
    body: /<errors>\s*<error>\s*<message>.*<\/message>\s*<code>404<\/code>/,
  },
  {
    row: 'multipart/form-data',
    ask: 'POST cars',
    send: multipart({
      immatriculation: 'ZZ-005-ZZ',
      color: 'red',
      model: new Blob(['{"name":"205"}'], { type: 'application/json' }),
      price: '1e3',
    }),
    status: 201,
    body: has({ model: { name: '205' }, price: 1000 }),
  },
  {
    row: 'multipart/form-data, a part in XML',
    ask: 'POST cars',
    send: multipart({
      immatriculation: 'ZZ-006-ZZ',
      color: 'red',
      model: new Blob(['<model><name>205</name></model>'], { type: 'application/xml' }),
      price: '1000',
    }),
    status: 201,
    body: has({ model: { name: '205' } }),
  },
  {
    row: 'a browser gets a page',
    ask: 'GET cars/1',
    headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
    gives: { 'content-type': /^text\/html\b/, 'content-security-policy': /default-src 'none'/ },
    body: /^<!doctype html>/i,
  },
  {
    row: 'text/csv, the whole list',
    ask: 'GET accounts.csv',
    gives: { 'content-type': /^text\/csv\b/ },
    body: /^id,name,email,[\s\S]*\r\n(?:.+\r\n){40}$/,
  },
  {
    row: 'application/x-ndjson, the whole list',
    ask: 'GET accounts.ndjson?fields=id',
    gives: { 'content-type': /^application\/x-ndjson\b/ },
    body: /^(?:\{"id":"[0-9a-f-]{36}"\}\n){40}$/,
  },
  {
    row: 'a part of a file',
    ask: `GET photos/${photo?.id}/photo`,
    headers: { range: 'bytes=1-3' },
    status: 206,
    gives: { ...PNG, 'content-range': `bytes 1-3/${picture.length}`, 'content-length': '3' },
    body: /^PNG$/,
  },
  {
    row: 'the end of a file',
    ask: `GET photos/${photo?.id}/photo`,
    headers: { range: 'bytes=-8' },
    status: 206,
    body: picture.subarray(-8),
  },
  {
    row: 'several ranges give the whole file',
    ask: `GET photos/${photo?.id}/photo`,
    headers: { range: 'bytes=0-3,-4' },
    status: 200,
    body: picture,
  },
  {
    row: 'behind the end of a file',
    ask: `GET photos/${photo?.id}/photo`,
    headers: { range: `bytes=${picture.length}-` },
    status: 416,
    gives: { 'content-range': `bytes */${picture.length}` },
    body: refused(416),
  },
])

table('Cache headers', [
  {
    row: 'ETag',
    ask: 'GET cars/1',
    headers: { 'if-none-match': validators.etag },
    status: 304,
    gives: { etag: validators.etag },
    body: '',
  },
  { row: 'ETag, another', ask: 'GET cars/1', headers: { 'if-none-match': '"x"' }, body: car },
  {
    row: 'ETag of a write',
    ask: 'PATCH cars/1',
    headers: { 'if-match': '"x"' },
    send: { color: 'red' },
    status: 412,
    body: refused(412),
  },
  {
    row: 'Last-Modified',
    ask: 'GET cars/1',
    headers: { 'if-modified-since': validators.modified },
    status: 304,
    gives: { 'last-modified': validators.modified },
    body: '',
  },
  {
    row: 'Last-Modified, before',
    ask: 'GET cars/1',
    headers: { 'if-modified-since': 'Wed, 01 Jan 2020 00:00:00 GMT' },
    body: car,
  },
])

table('Status codes', [
  { row: '200', ask: 'GET cars/1' },
  { row: '201', ask: 'POST models', send: { brand: 'Seat', name: 'Ibiza' }, status: 201 },
  { row: '304', ask: 'GET cars/1', headers: { 'if-none-match': '*' }, status: 304, body: '' },
  {
    row: '400',
    ask: 'POST cars',
    send: '{',
    headers: { 'content-type': 'application/json' },
    status: 400,
    body: refused(400),
  },
  // 401 needs a server with `--auth`: see auth.test.ts.
  {
    row: '403',
    ask: 'POST models',
    send: { brand: 'Seat', name: 'Leon' },
    headers: { cookie: 'session=1', 'sec-fetch-site': 'cross-site' },
    status: 403,
    body: refused(403),
  },
  { row: '404', ask: 'GET cars/99999', status: 404, body: refused(404) },
  { row: '404', ask: 'GET lorries', status: 404, body: refused(404) },
])

table('Error body', [
  {
    row: 'several errors together',
    ask: 'POST cars',
    send: { immatriculation: '1', color: 'pink', model: {}, price: -1, doors: 5 },
    status: 400,
    body: {
      message: expect.any(String),
      errors: expect.toSatisfy((errors: { field: string; code: number }[]) => {
        const fields = errors.map(({ field }) => field).sort()
        expect(fields).toEqual(['color', 'doors', 'immatriculation', 'model.name', 'price'])
        return errors.every(({ code }) => code === 400)
      }),
    },
  },
])

const SUPPRESSED = { 'cache-control': 'no-store' }
table('Suppression of error codes', [
  { row: 'a refusal', ask: 'GET cars?colour=1&suppress_error_codes=0', body: refused(400) },
  { row: 'no such path', ask: 'GET lorries?suppress_error_codes', body: refused(404) },
  {
    row: 'a creation',
    ask: 'POST photos?suppress_error_codes=1',
    send: { comment: 'Suppressed', photo_data: base64 },
    gives: SUPPRESSED,
    body: has({ comment: 'Suppressed' }),
  },
  {
    row: 'a change',
    ask: 'PATCH cars/13?suppress_error_codes=1',
    send: { color: 'green' },
    gives: SUPPRESSED,
    body: has({ color: 'green' }),
  },
  {
    row: 'an unchanged item',
    ask: 'GET cars/1?suppress_error_codes=1',
    headers: { 'if-none-match': '*' },
    gives: SUPPRESSED,
    body: car,
  },
])

table('Versioning', [
  { row: 'a path prefix of its own', ask: 'GET ../v1/models/1', body: has({ id: 1 }) },
  { row: 'a path prefix of its own', ask: 'GET ../v2/models/1', body: has({ id: 1 }) },
  {
    row: 'the root of all lists the versions',
    ask: 'GET ..',
    body: {
      url: base,
      resources: resourcesOf(server.root),
      versions: { v1: { url: root }, v2: { url: server.root } },
    },
  },
  { row: 'no such version', ask: 'GET ../v9/cars', status: 404, body: refused(404) },
])

table('Limits', [
  { row: 'X-RateLimit-Limit', ask: 'GET cars/1', gives: { 'x-ratelimit-limit': '1000000' } },
  { row: 'X-RateLimit-Remaining', ask: 'GET cars/1', gives: { 'x-ratelimit-remaining': /^\d+$/ } },
  { row: 'X-RateLimit-Reset', ask: 'GET cars/1', gives: { 'x-ratelimit-reset': /^\d{10}$/ } },
])

const query = (parameters: Record<string, string>) => new URLSearchParams(parameters)
table('Stock clients, by the dialects', [
  {
    row: 'simpleRest',
    ask: `GET models?${query({ sort: '["id","DESC"]', range: '[1,2]', filter: '{"brand":"Dacia"}' })}`,
    gives: { 'content-range': 'models 1-2/3' },
    body: [has({ name: 'Duster' }), has({ name: 'Sandero' })],
  },
  {
    row: 'jsonServer',
    ask: 'GET models?_sort=id&_order=desc&_start=1&_end=3&brand=Dacia',
    gives: { 'x-total-count': '3' },
    body: [has({ name: 'Duster' }), has({ name: 'Sandero' })],
  },
])
