// Row policies: the items of another principal are never read, counted, changed, or revealed by an error.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  type Item,
  memoryBlobs,
  memoryStore,
  type Principal,
  type Scheme,
} from '../../src/index.ts'
import { fetchChecked } from '../handlers.ts'

/** Trusts any name. */
const named: Scheme = {
  name: 'Name',
  challenge: () => 'Name',
  authenticate: async ({ headers }) => {
    const name = headers.authorization?.replace(/^Name /, '')
    return name === undefined ? undefined : { id: name }
  },
}

const own = (principal: Principal | undefined) =>
  principal?.id === 'root' ? {} : principal && { owner: principal.id }

async function make() {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      owner: z.string(),
      plate: z.string(),
      price: z.number().default(0),
      photo: blob().optional(),
    }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    unique: [['owner', 'plate']],
    search: ['plate'],
    visible: own,
    actions: {
      honk: { on: 'item', run: ({ item }) => ({ plate: item?.plate ?? null }) },
      look: { on: 'item', method: 'GET', run: ({ item }) => ({ plate: item?.plate ?? null }) },
      give: {
        on: 'item',
        input: z.object({ to: z.string() }),
        run: ({ input, update }) => update({ owner: input.to }),
      },
      all: { on: 'collection', method: 'GET', run: ({ collection }) => collection('cars').count() },
    },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ owner: z.string(), car_id: z.string(), name: z.string() }),
    store: memoryStore(),
    parents: { car_id: 'cars' },
    visible: own,
  })
  const api = defineApi({
    collections: [cars, options],
    schemes: [named],
    baseUrl: 'https://api.example',
  })
  const root = { principal: { id: 'root' } }
  const made: Record<string, { car: Item; option: Item }> = {}
  for (const [name, count] of [
    ['ann', 3],
    ['bob', 2],
  ] as const) {
    for (let at = 0; at < count; at++) {
      // A stored item is JSON.
      const car = (await api
        .collection('cars')
        .create(
          { owner: name, plate: `P-${at}`, price: at, photo_data: 'AAAA' } as never,
          root,
        )) as unknown as Item
      const option = (await api
        .collection('options')
        .create({ owner: name, car_id: String(car.id), name: 'roof' }, root)) as unknown as Item
      made[name] ??= { car, option }
    }
  }
  return {
    api,
    ann: made.ann as { car: Item; option: Item },
    bob: made.bob as { car: Item; option: Item },
    root,
  }
}

type Made = Awaited<ReturnType<typeof make>>

async function ask(
  { api }: Pick<Made, 'api'>,
  who: string | undefined,
  method: string,
  path: string,
  init: { body?: string; headers?: Record<string, string> } = {},
) {
  const headers = new Headers(init.headers)
  if (who !== undefined) headers.set('authorization', `Name ${who}`)
  if (init.body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  const answer = await fetchChecked(
    api,
    new Request(`https://api.example${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(init.body !== undefined && { body: init.body }),
    }),
  )
  const shown = Object.fromEntries(answer.headers)
  delete shown['x-request-id']
  return { status: answer.status, headers: shown, text: await answer.text() }
}

const MISSING = '01900000-0000-7000-8000-000000000000'

/** Everything that can be asked of one item; `%` stands for its id, `#` for its sub-item's. */
const ITEM_REQUESTS: readonly (readonly [
  string,
  string,
  { body?: string; headers?: Record<string, string> }?,
])[] = [
  ['GET', '/cars/%'],
  ['GET', '/cars/%?fields=plate'],
  ['GET', '/cars/%', { headers: { 'if-none-match': '*' } }],
  ['GET', '/cars/%', { headers: { 'if-match': '"x"' } }],
  ['HEAD', '/cars/%'],
  ['PUT', '/cars/%', { body: '{"owner":"bob","plate":"X"}' }],
  ['PUT', '/cars/%', { body: '{"owner":"bob","plate":"X"}', headers: { 'if-match': '*' } }],
  ['PUT', '/cars/%', { body: '{"owner":"bob","plate":"X"}', headers: { 'if-match': '"x"' } }],
  ['PATCH', '/cars/%', { body: '{"price":9}' }],
  ['PATCH', '/cars/%', { body: '{}' }],
  [
    'PATCH',
    '/cars/%',
    {
      body: '[{"op":"test","path":"/owner","value":"ann"}]',
      headers: { 'content-type': 'application/json-patch+json' },
    },
  ],
  ['DELETE', '/cars/%'],
  ['DELETE', '/cars/%', { headers: { 'if-match': '*' } }],
  ['DELETE', '/cars/%', { headers: { prefer: 'return=minimal' } }],
  ['POST', '/cars/%?_method=DELETE'],
  ['POST', '/cars/%?_method=PATCH', { body: '{"price":9}' }],
  ['POST', '/cars/%/honk'],
  ['GET', '/cars/%/look'],
  ['POST', '/cars/%/give', { body: '{"to":"bob"}' }],
  ['GET', '/cars/%/photo'],
  ['HEAD', '/cars/%/photo'],
  ['GET', '/cars/%/photo', { headers: { range: 'bytes=0-0' } }],
  ['GET', '/cars/%/options'],
  ['HEAD', '/cars/%/options'],
  ['GET', '/cars/%/options/count'],
  ['GET', '/cars/%/options/#'],
  ['POST', '/cars/%/options', { body: '{"owner":"bob","name":"x"}' }],
  ['PATCH', '/cars/%/options/#', { body: '{"name":"x"}' }],
  ['DELETE', '/cars/%/options/#'],
  ['GET', '/options/#'],
  ['DELETE', '/options/#'],
]
const EVERY = ITEM_REQUESTS.map(([method, path, init = {}]) => [method, path, init] as const)

const FORMATS = ['', '.json', '.xml', '.csv', '.ndjson']

describe('requests of a hidden item', () => {
  test.each(EVERY)('%s %s of another is as if it were not there %j', async (method, path, init) => {
    const made = await make()
    const fill = (car: unknown, option: unknown) =>
      path.replace('%', String(car)).replace('#', String(option))
    const before = await ask(made, 'root', 'GET', '/cars?limit=100')
    const other = await ask(made, 'bob', method, fill(made.ann.car.id, made.ann.option.id), init)
    const missing = await ask(made, 'bob', method, fill(MISSING, MISSING), init)
    expect(other.status).toBe(404)
    const plain = (text: string) =>
      text
        .replaceAll(String(made.ann.car.id), MISSING)
        .replaceAll(String(made.ann.option.id), MISSING)
    expect({
      ...other,
      text: plain(other.text),
      headers: plain(JSON.stringify(other.headers)),
    }).toEqual({ ...missing, headers: JSON.stringify(missing.headers) })
    // The owner may.
    const body = init.body?.replaceAll('bob', 'ann')
    const allowed = body === undefined ? init : { ...init, body }
    const ownAnswer = await ask(
      made,
      'ann',
      method,
      fill(made.ann.car.id, made.ann.option.id),
      allowed,
    )
    expect(ownAnswer.status).not.toBe(404)
    if (method === 'GET' || method === 'HEAD') {
      expect((await ask(made, 'root', 'GET', '/cars?limit=100')).text).toBe(before.text)
    }
  })

  test.each(EVERY)('%s %s changes nothing of another %j', async (method, path, init) => {
    const made = await make()
    const before =
      (await ask(made, 'ann', 'GET', '/cars')).text +
      (await ask(made, 'ann', 'GET', '/options')).text
    await ask(
      made,
      'bob',
      method,
      path.replace('%', String(made.ann.car.id)).replace('#', String(made.ann.option.id)),
      init,
    )
    expect(
      (await ask(made, 'ann', 'GET', '/cars')).text +
        (await ask(made, 'ann', 'GET', '/options')).text,
    ).toBe(before)
  })
})

describe('lists', () => {
  test.each(FORMATS)('/cars%s holds what one sees, and nothing else', async extension => {
    const made = await make()
    for (const [who, count] of [
      ['ann', 3],
      ['bob', 2],
      ['root', 5],
      ['eve', 0],
    ] as const) {
      const { text, headers, status } = await ask(made, who, 'GET', `/cars${extension}`)
      expect(status).toBe(200)
      if (!headers['transfer-encoding'] && headers['x-result-count'] !== undefined) {
        expect(headers['x-result-count']).toBe(String(count))
        expect(headers['content-range']).toMatch(new RegExp(`/${count}$`))
      }
      expect(text.split('P-').length - 1).toBe(count)
      for (const name of ['ann', 'bob']) {
        if (who !== 'root' && who !== name) expect(text).not.toContain(name)
      }
    }
  })

  const QUERIES = [
    '',
    '?sort=-price',
    '?limit=1',
    '?offset=1',
    '?price[gte]=0',
    '?owner=ann',
    '?owner[ne]=bob',
    '?owner[in]=ann,bob',
    '?owner[exists]=true',
    '?owner[like]=%25',
    '?plate=P-2',
    '?since=2000-01-01',
    `?since_id=${MISSING}`,
    '?max_id=ffffffff-ffff-7fff-bfff-ffffffffffff',
    '?limit=0',
    '?fields=id',
  ]
  test.each(QUERIES)('/cars%s counts and pages over what one sees', async query => {
    const made = await make()
    const { text, headers } = await ask(made, 'bob', 'GET', `/cars${query}`)
    expect(text).not.toContain('ann')
    expect(text).not.toContain(String(made.ann.car.id))
    expect(Number(headers['x-result-count'])).toBeLessThanOrEqual(2)
    expect(headers['content-range'] ?? '').toMatch(/^(?:$|cars .*\/[012]$)/)
    const counted = await ask(
      made,
      'bob',
      'GET',
      `/cars/count${query.replace(/[?&](?:limit|offset|sort|fields)=[^&]*/g, '')}`,
    )
    expect(counted.text).toBe(`{"count":${headers['x-result-count']}}`)
    const head = await ask(made, 'bob', 'HEAD', `/cars${query}`)
    expect(head.headers['x-result-count']).toBe(headers['x-result-count'])
    const searched = await ask(
      made,
      'bob',
      'GET',
      `/cars/search${query}${query === '' ? '?' : '&'}q=P-`,
    )
    expect(searched.text).not.toContain('ann')
    const ranged = await ask(made, 'bob', 'GET', '/cars', { headers: { range: 'cars=0-99' } })
    expect(ranged.headers['content-range']).toBe('cars 0-1/2')
  })

  test('links, cursors and tags do not reveal items of the other', async () => {
    const made = await make()
    const before = await ask(made, 'bob', 'GET', '/cars?limit=1')
    // What the other does is not told by the tag, the total or the links.
    await ask(made, 'ann', 'PATCH', `/cars/${made.ann.car.id}`, { body: '{"price":77}' })
    await ask(made, 'ann', 'POST', '/cars', { body: '{"owner":"ann","plate":"NEW"}' })
    await ask(made, 'ann', 'DELETE', `/cars/${made.ann.car.id}`)
    const after = await ask(made, 'bob', 'GET', '/cars?limit=1')
    expect(after).toEqual(before)
    const again = await ask(made, 'bob', 'GET', '/cars?limit=1', {
      headers: { 'if-none-match': before.headers.etag ?? '' },
    })
    expect(again.status).toBe(304)
    // A cursor of one in the hands of the other is only a place.
    const next = /<([^>]+)>; rel="next"/.exec(
      (await ask(made, 'ann', 'GET', '/cars?limit=1')).headers.link ?? '',
    )?.[1]
    const stolen = await ask(made, 'bob', 'GET', next?.replace('https://api.example', '') ?? '')
    expect(stolen.status).toBe(200)
    expect(stolen.text).not.toContain('ann')
  })

  test('an estimate is exact, since it would count the others', async () => {
    const made = await make()
    const answer = await ask(made, 'bob', 'GET', '/cars', {
      headers: { prefer: 'count=estimated' },
    })
    expect(answer.headers['x-result-count']).toBe('2')
    expect(answer.headers['preference-applied']).toBeUndefined()
  })

  test('every request needs a principal', async () => {
    const made = await make()
    expect((await ask(made, undefined, 'GET', '/cars')).status).toBe(401)
    expect(await made.api.collection('cars').count()).toBe(0)
    const found = made.api.collection('cars').list({}, { principal: { id: 'bob' } })
    expect(await found.toArray()).toHaveLength(2)
    await expect(
      made.api.collection('cars').read(String(made.ann.car.id), { principal: { id: 'bob' } }),
    ).rejects.toMatchObject({ status: 404 })
  })

  test('an action reads only what its principal may see', async () => {
    const made = await make()
    expect((await ask(made, 'bob', 'GET', '/cars/all')).text).toBe('2')
  })
})

describe('writes', () => {
  test.each([
    ['POST', '/cars', '{"owner":"ann","plate":"Z"}', 403],
    ['POST', '/cars', '{"owner":"bob","plate":"Z"}', 201],
    ['PATCH', '/cars/%', '{"owner":"ann"}', 403],
    ['PUT', '/cars/%', '{"owner":"ann","plate":"Z"}', 403],
    ['POST', '/cars/%/give', '{"to":"ann"}', 403],
    ['POST', '/cars/%/give', '{"to":"bob"}', 200],
  ])('%s %s %s: %d', async (method, path, body, status) => {
    const made = await make()
    const id = String(made.bob.car.id)
    const answer = await ask(made, 'bob', method, path.replace('%', id), { body })
    expect(answer.status).toBe(status)
    expect((await ask(made, 'ann', 'GET', '/cars/count')).text).toBe('{"count":3}')
  })

  test('a reference to an invisible item is an unknown reference', async () => {
    const made = await make()
    const refer = (car: unknown) =>
      ask(made, 'bob', 'POST', '/options', {
        body: JSON.stringify({ owner: 'bob', car_id: car, name: 'x' }),
      })
    const other = await refer(made.ann.car.id)
    const missing = await refer(MISSING)
    expect(other.status).toBe(400)
    expect(other.text.replace(String(made.ann.car.id), MISSING)).toBe(missing.text)
    expect((await refer(made.bob.car.id)).status).toBe(201)
  })

  test('a unique set with the owner does not reveal items of the other', async () => {
    const made = await make()
    const post = (plate: string) =>
      ask(made, 'bob', 'POST', '/cars', { body: JSON.stringify({ owner: 'bob', plate }) })
    // P-2 is a plate of the other alone, P-1 one of both.
    expect((await post('P-2')).status).toBe(201)
    expect((await post('P-1')).status).toBe(409)
  })

  test('idempotency keys belong to a principal', async () => {
    const made = await make()
    const post = (who: string) =>
      ask(made, who, 'POST', '/cars', {
        body: JSON.stringify({ owner: who, plate: 'K' }),
        headers: { 'idempotency-key': 'k' },
      })
    expect((await post('ann')).status).toBe(201)
    const other = await post('bob')
    expect([other.status, JSON.parse(other.text).owner]).toEqual([201, 'bob'])
  })

  test('the address of an invisible blob is refused', async () => {
    const made = await make()
    const url = JSON.parse(
      (await ask(made, 'ann', 'GET', `/cars/${made.ann.car.id}`)).text,
    ).photo_url
    const answer = await ask(made, 'bob', 'PATCH', `/cars/${made.bob.car.id}`, {
      body: JSON.stringify({ photo_url: url }),
    })
    expect(answer.status).toBe(400)
  })
})

describe('a row policy', () => {
  const broken: readonly (readonly [string, () => unknown])[] = [
    ['names no field', () => ({ ownr: 'x' })],
    ['names a parameter', () => ({ limit: 1 })],
    ['has no value', () => ({ owner: undefined })],
    ['has null', () => ({ owner: null })],
    ['has an object', () => ({ owner: { $ne: 'x' } })],
    ['has a list with one', () => ({ owner: ['x', { $ne: 'x' }] })],
    ['has an unknown operator', () => ({ 'owner[nope]': 'x' })],
    ['names no field in a group', () => ({ or: [{ owner: 'x' }, { ownr: 'x' }] })],
    ['is a list', () => []],
    ['is a list of filters', () => [{ owner: 'x' }]],
    ['is true', () => true],
    ['is null', () => null],
    ['is a text', () => 'owner'],
    ['is a promise', async () => ({ owner: 'x' })],
    ['is a map', () => new Map([['owner', 'x']])],
    ['inherits its filters', () => Object.create({ owner: 'x' })],
    ['has more conditions than are looked at', () => ({ and: conditions(150) })],
    ['has as many that are not to match', () => ({ not: { or: conditions(150) } })],
    [
      'throws',
      () => {
        throw new Error('x')
      },
    ],
  ]
  const conditions = (count: number) => [
    ...Array.from({ length: count }, () => ({ owner: { ne: 'x' } })),
    { owner: 'y' },
  ]
  const collectionOf = (visible: unknown) =>
    defineCollection({
      name: 'cars',
      schema: z.object({ owner: z.string(), seats: z.int().default(1) }),
      store: memoryStore(),
      // Wrong on purpose in some cases.
      visible: visible as (principal: Principal | undefined) => undefined,
    })
  test.each(broken)('that %s shows nothing: 500', async (_, visible) => {
    const failures: unknown[] = []
    const api = defineApi({
      collections: [collectionOf(visible)],
      baseUrl: 'https://api.example',
      onError: error => failures.push(error),
    })
    for (const path of ['/cars', '/cars/count', `/cars/${MISSING}`]) {
      const expected = path.endsWith(MISSING) ? 404 : 500
      expect((await ask({ api }, undefined, 'GET', path)).status).toBe(expected)
    }
    expect(failures).toHaveLength(2)
    for (const failure of failures)
      expect(String(failure)).toMatch(/^(?:TypeError: cars: visible\b|Error: x$)/)
  })

  test.each([
    ['created_at', 'gte', '2020-01-01T00:00:00Z', 201, 200],
    ['updated_at', 'gte', '2020-01-01T00:00:00Z', 201, 200],
    ['created_at', 'lt', '2020-01-01T00:00:00Z', 403, undefined],
    ['updated_at', 'lt', '2100-01-01T00:00:00Z', 201, 200],
  ])(
    'by the dates that the server sets holds for a write: %s[%s]=%s',
    async (name, operator, date, made, changed) => {
      const cars = defineCollection({
        name: 'cars',
        schema: z.object({ owner: z.string() }),
        store: memoryStore(),
        id: 'integer',
        visible: () => ({ [name as 'created_at']: { [operator as 'gte']: date } }),
      })
      const api = defineApi({ collections: [cars] })
      const write = (method: string, path: string) =>
        fetchChecked(
          api,
          new Request(`https://api.example${path}`, {
            method,
            headers: { 'content-type': 'application/json', prefer: 'return=representation' },
            body: JSON.stringify({ owner: method }),
          }),
        )
      expect((await write('POST', '/cars')).status).toBe(made)
      if (changed !== undefined) expect((await write('PATCH', '/cars/1')).status).toBe(changed)
    },
  )

  const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`)
  const marks = names(60)

  test.each([
    ['an empty list', { owner: [] }, 0],
    ['undefined', undefined, 0],
    ['a value that the field cannot have', { seats: 'x' }, 0],
    ['such a value and another', { seats: [1, 'x'] }, 0],
    ['all but such a value', { seats: { ne: 'x' } }, 0],
    ['a list', { owner: ['a', 'b'] }, 2],
    ['a list of values with commas', { owner: { in: ['a,b'] } }, 1],
    ['everything', {}, 3],
    ['an operator', { seats: { gt: 1 } }, 0],
    ['more values than a client may ask for', { owner: ['a', 'b', ...names(5000)] }, 2],
    ['the same as one list', { owner: { in: ['a', 'b', ...names(5000)] } }, 2],
    ['a string with commas', { owner: { in: ['a,b', 'b'].join() } }, 0],
    ['more filters than a client may give', Object.fromEntries(marks.map(mark => [mark, 'x'])), 3],
    ['a longer pattern than a client may give', { owner: { like: `*${'*'.repeat(500)}b` } }, 2],
  ])('%s', async (_, rule, count) => {
    const store = memoryStore()
    const schema = z.object({
      owner: z.string(),
      seats: z.int().default(1),
      ...Object.fromEntries(marks.map(mark => [mark, z.string().default('x')])),
    })
    const cars = defineCollection({
      name: 'cars',
      schema,
      store,
      visible: principal => (principal ? {} : rule) as { owner: string },
    })
    const api = defineApi({ collections: [cars] })
    for (const owner of ['a', 'b', 'a,b'])
      await api.collection(cars).create({ owner }, { principal: { id: 'x' } })
    expect(await api.collection(cars).count()).toBe(count)
  })
})
