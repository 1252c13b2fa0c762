// Tables that other programs have made and filled, with the types of their databases, served over HTTP.
import { CompiledQuery, type Kysely } from 'kysely'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { type ColumnOptions, createTableSql, sqlStore } from '../../src/sql/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const Car = z.object({
  owner: z.uuid(),
  color: z.string(),
  price: z.number().nullable(),
  doors: z.int(),
  sold: z.boolean(),
  model: z.object({ name: z.string() }),
  built: z.iso.date(),
  seen: z.iso.datetime({ offset: true }).nullable(),
})

interface Existing {
  /** One connection, whose session has another time zone than the server. */
  open(onStatement: (statement: CompiledQuery) => void): Kysely<unknown>
  /** Makes the table and fills it with the rows 1 to 40. */
  readonly made: readonly string[]
  readonly columns: Readonly<Record<string, string | ColumnOptions>>
  /** The creation date of a row; two rows have the same. */
  created(row: number): string
  /** What is kept of `2024-05-06T07:08:09.123456+02:00`. */
  readonly kept: string
}

const ROWS = Array.from({ length: 40 }, (_, at) => at + 1)
const idOf = (row: number) => `0190a000-0000-7000-8000-${String(row).padStart(12, '0')}`
const half = (row: number) => Math.floor(row / 2)
const digits = (value: number, count: number) => String(value).padStart(count, '0')

const POSTGRES: Existing = {
  open: onStatement =>
    openPostgres(
      {
        max: 1,
        options: '-c TimeZone=America/St_Johns -c DateStyle=German -c IntervalStyle=iso_8601',
      },
      onStatement,
    ),
  made: [
    `create table garage (car_id uuid primary key default gen_random_uuid(), owner uuid not null,
      color varchar(20) not null, price numeric(10,2), doors int4 not null, sold boolean not null,
      model jsonb not null, built date not null, seen timestamptz(3), born timestamptz not null default now(),
      changed timestamptz(3) not null)`,
    'create index garage_born on garage (born, car_id)',
    'create index garage_owner on garage (owner)',
    'create index garage_color on garage (color)',
    'create index garage_price on garage (price)',
    'create index garage_built on garage (built)',
    `insert into garage select ('0190a000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
      ('00000000-0000-4000-8000-' || lpad((n % 4)::text, 12, '0'))::uuid, 'c' || n % 5,
      case when n % 7 > 0 then n + 0.1 end, n, n % 2 = 0, jsonb_build_object('name', 'm' || n % 3),
      date '2024-02-25' + n, case when n % 3 > 0 then timestamptz '2024-03-10T02:00:00Z' + n % 10 * interval '1 hour' end,
      timestamptz '2024-03-10T04:00:00.000Z' + n / 2 * interval '500 microseconds', '2024-03-11T00:00:00Z'
      from generate_series(1, 40) as n`,
  ],
  columns: {
    id: 'car_id',
    created_at: 'born',
    updated_at: 'changed',
  },
  created(row) {
    const [milliseconds, rest] = [Math.floor(half(row) / 2), (half(row) % 2) * 500]
    return `2024-03-10T04:00:00.${digits(milliseconds, 3)}${rest > 0 ? rest : ''}Z`
  },
  kept: '2024-05-06T05:08:09.123Z',
}

function carOf(row: number, { created }: Existing): Item {
  return {
    id: idOf(row),
    owner: `00000000-0000-4000-8000-00000000000${row % 4}`,
    color: `c${row % 5}`,
    price: row % 7 > 0 ? row + 0.1 : null,
    doors: row,
    sold: row % 2 === 0,
    model: { name: `m${row % 3}` },
    built: new Date(Date.UTC(2024, 1, 25 + row)).toISOString().slice(0, 10),
    seen: row % 3 > 0 ? `2024-03-10T${digits(2 + (row % 10), 2)}:00:00.000Z` : null,
    created_at: created(row),
    updated_at: '2024-03-11T00:00:00.000Z',
  }
}

/** By text, by number, null first; the id last, in the direction of the key before it. */
function sorted(rows: readonly number[], sort: string, existing: Existing): string[] {
  const requested = sort.split(',').filter(key => key !== '')
  const keys = [...requested, requested.at(-1)?.startsWith('-') ? '-id' : 'id']
  const items = rows.map(row => carOf(row, existing))
  items.sort((one, other) => {
    for (const key of keys) {
      const down = key.startsWith('-')
      const [a, b] = [one, other].map(item => item[down ? key.slice(1) : key] ?? null)
      if (a === b) continue
      // Without its end, a date-time with more digits is the later one.
      const text = (value: unknown) => String(value).replace(/Z$/, '')
      const less = a === null || (b !== null && text(a) < text(b))
      return less !== down ? -1 : 1
    }
    return 0
  })
  return items.map(({ id }) => String(id))
}

describe('a table of PostgreSQL that exists', () => {
  const existing = POSTGRES
  const seen: CompiledQuery[] = []
  let db: Kysely<unknown>
  let fetch: (request: Request) => Promise<Response>

  const say = (text: string, parameters: readonly unknown[] = []) =>
    db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, [...parameters]))

  beforeAll(async () => {
    db = existing.open(statement => seen.push(statement))
    for (const statement of existing.made) await say(statement)
    const { columns } = existing
    const options = { db, table: 'garage', columns, version: false } as const
    const store = sqlStore({ ...options })
    const cars = defineCollection({ name: 'cars', schema: Car, store, search: ['color', 'seen'] })
    for (const statement of createTableSql(cars.shape, {
      ...options,
      database: 'postgres',
    })) {
      // What a migration takes of it.
      if (/rest_(?:sequences|idempotency)/.test(statement)) await say(statement)
    }
    fetch = cars.fetch
    return () => store.close()
  })

  async function ask(path: string, { json, ...init }: RequestInit & { json?: unknown } = {}) {
    const headers = new Headers(init.headers)
    if (json !== undefined) headers.set('content-type', 'application/json')
    const body = json === undefined ? undefined : JSON.stringify(json)
    const request = new Request(new URL(path, 'http://a.example'), {
      redirect: 'manual',
      ...init,
      headers,
      ...(body !== undefined && { body }),
    })
    const answer = await fetch(request)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text }
  }

  const idsOf = (text: string) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id)

  it('gives what is there', async () => {
    for (const row of [1, 3, 7, 40]) {
      const answer = await ask(`/cars/${idOf(row)}`)
      expect(JSON.parse(answer.text)).toEqual(carOf(row, existing))
      const again = { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } }
      expect((await ask(`/cars/${idOf(row)}`, again)).status).toBe(304)
      expect((await ask(`/cars/${idOf(row).toUpperCase()}`, again)).status).toBe(304)
    }
  })

  it.each([
    'nope',
    '-',
    '1',
    "0190a000-0000-7000-8000-000000000001'",
    '%7B0190a000-0000-7000-8000-000000000001%7D',
    '0190a0000000700080000000000000001',
    idOf(999),
  ])('has no car %s', async id => {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      expect([method, (await ask(`/cars/${id}`, { method })).status]).toEqual([method, 404])
    }
    const patch = { method: 'PATCH', json: { color: 'x' } }
    expect((await ask(`/cars/${id}`, patch)).status).toBe(404)
  })

  const item = (row: number) => carOf(row, existing)
  const FILTERS: [query: string, passes: (row: number) => unknown][] = [
    [`id=${idOf(3)}`, row => row === 3],
    [`id[in]=${idOf(3)},${idOf(999)},${idOf(5)}`, row => row === 3 || row === 5],
    [`id[nin]=${idOf(999)}`, () => true],
    [`id[prefix]=${idOf(1).slice(0, -1)}`, row => row < 10],
    [`since_id=${idOf(30)}`, row => row > 30],
    [`max_id=${idOf(30)}`, row => row <= 30],
    [`id=${idOf(3).toUpperCase()}`, row => row === 3],
    [`since_id=${idOf(30).toUpperCase()}`, row => row > 30],
    ['owner=00000000-0000-4000-8000-000000000001', row => row % 4 === 1],
    ['owner[ne]=00000000-0000-4000-8000-000000000001', row => row % 4 !== 1],
    ['owner[gte]=00000000-0000-4000-8000-000000000002', row => row % 4 > 1],
    ['owner[like]=*2', row => row % 4 === 2],
    ['owner[like]=*-000000000002', row => row % 4 === 2],
    ['owner[like]=0*-8000-*0000000_', () => true],
    ['owner[like]=*-000000000009*', () => false],
    ['color=c2', row => row % 5 === 2],
    ['color[in]=c2,c3', row => row % 5 === 2 || row % 5 === 3],
    ['price=3.1', row => row === 3],
    ['price[gt]=30', row => row > 29 && row % 7 > 0],
    ['price[exists]=false', row => row % 7 === 0],
    ['doors[lt]=5', row => row < 5],
    ['doors=99999999999', () => false],
    ['sold=true', row => row % 2 === 0],
    ['model.name=m2', row => row % 3 === 2],
    ['built=2024-02-29', row => row === 4],
    ['built[gte]=2024-03-01', row => row >= 5],
    ['built[nin]=2024-02-29', row => row !== 4],
    ['seen[exists]=true', row => row % 3 > 0],
    ['seen=2024-03-10T03:00:00Z', row => item(row).seen === '2024-03-10T03:00:00.000Z'],
    ['seen=2024-03-10T04:00:00%2B01:00', row => item(row).seen === '2024-03-10T03:00:00.000Z'],
    [
      'seen[gt]=2024-03-10T05:00:00',
      row => item(row).seen !== null && String(item(row).seen) > '2024-03-10T05:00:00.000Z',
    ],
    ['seen[lt]=0000-01-01T00:00:00%2B01:00', () => false],
    ['seen[lt]=9999-12-31T23:59:59-12:00', row => row % 3 > 0],
    [`created_at=${existing.created(9)}`, row => row === 8 || row === 9],
    [`created_at[gt]=${existing.created(9)}`, row => row > 9],
    [`since=${existing.created(9)}`, row => row > 7],
    [`until=${existing.created(9)}`, row => row < 10],
    ['since=2024-03-10', () => true],
    ['since=2024-03-11', () => false],
    ['until=2024-03-09', () => false],
    ['until=2024-03-10', () => true],
    ['until=9999-12-31', () => true],
    ['created_at[gt]=0000-01-01T00:00:00%2B01:00', () => true],
  ]
  it.each(FILTERS)('filters by %s', async (query, passes) => {
    const answer = await ask(`/cars?${query}&limit=100`)
    expect(idsOf(answer.text)).toEqual(ROWS.filter(passes).map(idOf))
    expect((await ask(`/cars/count?${query}`)).text).toBe(`{"count":${ROWS.filter(passes).length}}`)
  })

  const SORTS = [
    '',
    '-id',
    'created_at',
    '-created_at',
    '-created_at,-id',
    'seen',
    '-seen',
    'built',
  ]
  it.each([...SORTS, '-built,color', 'owner', '-owner', 'color,-owner', '-updated_at'])(
    'pages there and back by sort=%s',
    async sort => {
      const expected = sorted(ROWS, sort, existing)
      for (const [start, rel] of [
        ['', 'next'],
        ['last', 'prev'],
      ] as const) {
        const pages: string[][] = []
        let answer = await ask(`/cars?limit=7${sort && `&sort=${sort}`}`)
        const link = (wanted: string) =>
          (parseLink(answer.headers.get('link') ?? '') ?? []).find(each => each.rel === wanted)
            ?.href
        if (start) answer = await ask(link(start) ?? '')
        for (;;) {
          pages.push(idsOf(answer.text))
          const next = link(rel)
          if (next === undefined) break
          answer = await ask(next)
        }
        expect(pages.length).toBeGreaterThanOrEqual(6)
        expect((rel === 'next' ? pages : pages.reverse()).flat()).toEqual(expected)
      }
    },
  )

  it('takes new cars, changes and removes them', async () => {
    const json = {
      owner: 'AAAAAAAA-0000-4000-8000-000000000001',
      color: 'new',
      price: 0.1,
      doors: 5,
      sold: true,
      model: { name: 'new' },
      built: '0001-02-28',
      seen: '2024-05-06T07:08:09.123456+02:00',
    }
    for (const seen of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00']) {
      const refused = await ask('/cars', { method: 'POST', json: { ...json, seen } })
      expect(refused.status).toBe(400)
    }
    const made = await ask('/cars', { method: 'POST', json })
    expect(made.status).toBe(201)
    const { id, created_at: created } = JSON.parse(made.text)
    expect(id > idOf(40)).toBe(true)
    const path = `/cars/${id}`
    const known = await ask(path)
    expect(known.text).toBe(made.text)
    expect(known.headers.get('etag')).toBe(made.headers.get('etag'))
    const owner = json.owner.toLowerCase()
    expect(JSON.parse(known.text)).toMatchObject({ ...json, owner, seen: existing.kept })
    expect(idsOf((await ask(`/cars?since=${created}`)).text)).toEqual([id])

    const headers = { 'if-match': known.headers.get('etag') ?? '' }
    const patch = { method: 'PATCH', json: { color: 'blue', price: 5 }, headers }
    const patched = await ask(path, patch)
    expect(patched.status).toBeLessThan(400)
    const after = await ask(path)
    expect(JSON.parse(after.text)).toEqual({
      ...JSON.parse(known.text),
      color: 'blue',
      price: 5,
      updated_at: expect.any(String),
    })
    expect((await ask(path, patch)).status).toBe(412)
    expect((await ask(path, { method: 'DELETE' })).status).toBeLessThan(300)
    expect((await ask(path)).status).toBe(404)
    expect((await ask('/cars/count')).text).toBe('{"count":40}')
  })

  it('keeps what a patch does not name', async () => {
    const before = JSON.parse((await ask(`/cars/${idOf(2)}`)).text)
    for (const color of ['x', before.color]) {
      const answer = await ask(`/cars/${idOf(2)}`, { method: 'PATCH', json: { color } })
      expect(answer.status).toBeLessThan(400)
    }
    const after = JSON.parse((await ask(`/cars/${idOf(2)}`)).text)
    expect({ ...after, updated_at: before.updated_at }).toEqual(before)
    await say("update garage set changed = '2024-03-11T00:00:00' where doors = 2")
  })

  it('searches date-times as they are shown', async () => {
    const found = ROWS.filter(row => item(row).seen === '2024-03-10T03:00:00.000Z')
    expect(idsOf((await ask('/cars/search?q=03:00:00.000z')).text)).toEqual(found.map(idOf))
  })

  const REFUSED: [name: string, changes: Item][] = [
    ['a text too long for its column', { color: 'x'.repeat(21) }],
    ['a number out of its range', { doors: 3_000_000_000 }],
    ['a number with too many digits', { price: 1e12 }],
    ['what is no UUID', { owner: 'nope' }],
  ]
  it.each(REFUSED)('refuses %s', async (_name, changes) => {
    const patch = { method: 'PATCH', json: changes }
    expect((await ask(`/cars/${idOf(1)}`, patch)).status).toBe(400)
    expect(JSON.parse((await ask(`/cars/${idOf(1)}`)).text)).toMatchObject({
      color: 'c1',
      doors: 1,
    })
  })

  const PLANS: [query: string, index: string][] = [
    [`/cars/${idOf(3)}`, 'garage_pkey'],
    [`/cars?id=${idOf(3)}`, 'garage_pkey'],
    [`/cars?since_id=${idOf(30)}`, 'garage_pkey'],
    ['/cars?since=2024-03-10T04:00:00.019Z', 'garage_born'],
    ['/cars?sort=created_at', 'garage_born'],
    ['/cars?owner=00000000-0000-4000-8000-000000000001', 'garage_owner'],
    ['/cars?color=c1', 'garage_color'],
    ['/cars?price[gt]=38', 'garage_price'],
    ['/cars?built=2024-02-29', 'garage_built'],
  ]
  it.each(PLANS)('finds %s by the index %s', async (path, index) => {
    seen.length = 0
    expect((await ask(`${path}${path.includes('?') ? '&limit=2' : ''}`)).status).toBeLessThan(300)
    const [statement] = seen.filter(each => each.sql.includes('garage'))
    // Of so few rows a planner reads them all, unless it must not.
    for (const way of ['seqscan', 'bitmapscan', 'sort']) await say(`set enable_${way} = off`)
    const { rows } = await say(`explain ${statement?.sql}`, statement?.parameters)
    const plan = rows.map(row => Object.values(row).join(' ')).join('\n')
    expect(plan).toMatch(
      new RegExp(`using ${index} .*${path.includes('sort') ? '' : '\\n +Index Cond:'}`),
    )
  })
})

describe.each([['PostgreSQL', () => openPostgres(), POSTGRES.columns]] as const)(
  'a table of declared types that the store makes in %s',
  (_name, open, columns) => {
    it('takes cars, keeps them apart and gives them back', async () => {
      const store = sqlStore({ db: open(), table: 'made', columns, create: true })
      const indexes = ['built', 'seen', ['owner', 'seen']] as const
      const unique = [['owner', 'built']] as const
      const cars = defineCollection({ name: 'cars', schema: Car, store, indexes, unique })
      const { id: _id, created_at: _created, updated_at: _updated, ...one } = carOf(1, POSTGRES)
      const post = (json: Item) =>
        cars.fetch(
          new Request('http://a.example/cars', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(json),
          }),
        )
      const made = await post(one)
      expect(made.status).toBe(201)
      expect((await post(one)).status).toBe(409)
      expect((await post({ ...one, built: '2024-05-05', seen: null })).status).toBe(201)
      const list = await cars.fetch(
        new Request('http://a.example/cars?sort=seen&built[lt]=2024-04-01'),
      )
      expect(await list.json()).toEqual([await made.json()])
      await store.close()
    })
  },
)

test('ids that clients choose are UUIDs in a column of them, in either case', async () => {
  const db = openPostgres()
  await db.executeQuery(
    CompiledQuery.raw(`create table chosen (id uuid primary key, color text not null,
      created_at timestamptz not null, updated_at timestamptz not null, version text not null)`),
  )
  const store = sqlStore({ db, table: 'chosen' })
  const schema = z.object({ id: z.string(), color: z.string() })
  const { fetch } = defineCollection({ name: 'cars', schema, store, putCreates: true })
  const put = async (id: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ id, color: 'red' })
    const url = `http://a.example/cars/${id}`
    return (await fetch(new Request(url, { method: 'PUT', headers, body, redirect: 'manual' })))
      .status
  }
  expect(await put(idOf(1).toUpperCase())).toBe(201)
  expect(await put('nope')).toBe(400)
  for (const id of [idOf(1), idOf(1).toUpperCase()]) {
    const answer = await fetch(new Request(`http://a.example/cars/${id}`))
    expect(await answer.json()).toMatchObject({ id: idOf(1), color: 'red' })
  }
  await store.close()
})

test('a table of PostgreSQL that makes its ids itself takes those of the store', async () => {
  const db = openPostgres()
  const run = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await run('create table counted (id int4 generated always as identity primary key, color text)')
  await run("insert into counted (color) values ('red')")
  const store = sqlStore({ db, table: 'counted', version: false, create: true })
  const schema = z.object({ color: z.string() })
  const cars = defineCollection({ name: 'cars', schema, store, id: 'integer', timestamps: false })
  expect((await createOne(store, { color: 'blue' })).id).toBe(2)
  const far = await cars.fetch(new Request('http://a.example/cars/5000000000'))
  expect(far.status).toBe(404)
  await store.close()
})

test('the store makes tables with the types of PostgreSQL', async () => {
  const store = sqlStore({ db: openPostgres(), database: 'postgres' })
  const { shape } = defineCollection({ name: 'cars', schema: Car, store })
  await store.close()
  const columns = {
    seen: 'seen_at',
    model: 'jsonb',
  } as const
  const [printed] = createTableSql(shape, { database: 'postgres', columns })
  expect(printed).toContain(
    '"owner" text collate "C" not null, "color" text collate "C" not null, "price" double precision, "doors" bigint not null, "sold" boolean not null, "model" jsonb not null, "built" date not null, "seen_at" text collate "C"',
  )
  const [table] = createTableSql(shape, { database: 'postgres' })
  expect(table).toContain('("id" uuid primary key not null, "owner" text collate "C" not null,')
  expect(table).toContain('"model" json not null, "built" date not null, "seen" text collate "C",')
  expect(table).toContain(
    '"created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null',
  )
})

const SQLITE_TRIGGER = [
  "create trigger strict before insert on ruled when new.color = 'no' begin select raise(abort, 'secret'); end",
]
const POSTGRES_TRIGGER = [
  "create function strict() returns trigger language plpgsql as 'begin if new.color = ''no'' then raise exception ''secret''; end if; return new; end'",
  'create trigger strict before insert on ruled for each row execute function strict()',
]

describe.each([
  ['SQLite', () => openDatabase(), SQLITE_TRIGGER],
  ['PostgreSQL', async () => openPostgres(), POSTGRES_TRIGGER],
] as const)('a table of %s with rules of its own', (database, open, trigger) => {
  let answer: (method: string, path: string, json?: Item) => Promise<Response>
  const ask = async (method: string, path: string, json?: Item) =>
    (await answer(method, path, json)).status

  beforeAll(async () => {
    const db = await open()
    for (const statement of [
      'create table makers (id int primary key)',
      'insert into makers (id) values (1)',
      `create table ruled (id int primary key, maker_id int not null, doors int, color varchar(20) not null,
        check (doors < 10), foreign key (maker_id) references makers (id))`,
      'create table wheels (car_id int not null, foreign key (car_id) references ruled (id))',
      "insert into ruled (id, maker_id, doors, color) values (1, 1, 4, 'red'), (2, 1, 4, 'red')",
      'insert into wheels (car_id) values (1)',
      ...trigger,
    ]) {
      await db.executeQuery(CompiledQuery.raw(statement))
    }
    const store = sqlStore({ db, table: 'ruled', version: false, create: true })
    const schema = z.object({ maker_id: z.int(), doors: z.int(), color: z.string().optional() })
    const { fetch } = defineCollection({
      name: 'cars',
      schema,
      store,
      id: 'integer',
      timestamps: false,
    })
    answer = async (method, path, json) => {
      const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
      const body = json && { body: JSON.stringify(json) }
      const request = new Request(`http://a.example${path}`, { method, headers, ...body })
      return fetch(request)
    }
    return () => store.close()
  })

  const car = { maker_id: 1, doors: 4, color: 'blue' }
  // PostgreSQL names the columns of the key.
  const unknown = database === 'PostgreSQL' ? 400 : 409
  it.each<[what: string, method: string, path: string, json: object, number]>([
    ['refers to nothing', 'POST', '/cars', { ...car, maker_id: 99 }, unknown],
    ['comes to refer to nothing', 'PATCH', '/cars/2', { maker_id: 99 }, unknown],
    ['breaks a check', 'POST', '/cars', { ...car, doors: 12 }, 400],
    ['comes to break a check', 'PATCH', '/cars/2', { doors: 12 }, 400],
    ['lacks what must be there', 'POST', '/cars', { maker_id: 1, doors: 4 }, 400],
    ['a trigger refuses', 'POST', '/cars', { ...car, color: 'no' }, 400],
  ])('what %s is refused, and nothing is lost', async (_what, method, path, json, status) => {
    expect(await ask(method, path, { ...json })).toBe(status)
    expect(await ask('GET', '/cars/2')).toBe(200)
    expect(await ask('POST', '/cars', car)).toBe(201)
  })

  it('what must be there is asked for by its field', async () => {
    const refused = await answer('POST', '/cars', { maker_id: 1, doors: 4 })
    expect(await refused.json()).toMatchObject({ errors: [{ field: 'color' }] })
  })

  it('the message of a trigger is not shown', async () => {
    const refused = await answer('POST', '/cars', { ...car, color: 'no' })
    expect(await refused.text()).not.toContain('secret')
  })

  it('what others refer to is not deleted', async () => {
    expect(await ask('DELETE', '/cars/1')).toBe(409)
    expect(await ask('GET', '/cars/1')).toBe(200)
    expect(await ask('DELETE', '/cars/2')).toBe(200)
  })
})

test.each([
  ['jsonb in SQLite', { model: 'jsonb' }, 'sqlite has no columns of the type jsonb'],
  ['jsonb for a text', { color: 'jsonb' }, 'cannot hold string values'],
  [
    'numeric in SQLite',
    { price: 'numeric(9,2)' },
    'sqlite has no columns of the type numeric(9,2)',
  ],
  [
    'seconds for a text in SQLite',
    { color: { type: 'unix seconds' } },
    'unix seconds is not for string',
  ],
  ['words for a number in SQLite', { price: { type: 't/f' } }, 't/f is not for number values'],
  [
    'seconds in PostgreSQL',
    { seen: { type: 'unix seconds' } },
    'no columns of the type unix seconds',
  ],
  ['timestamptz for a date', { built: 'timestamptz' }, 'cannot hold date values'],
  ['a wide numeric', { price: 'numeric(16,2)' }, 'a numeric of at most 15 digits, such as'],
  ['a numeric of any width', { price: 'numeric' }, 'a numeric of at most 15 digits, such as'],
  ['a finer numeric', { price: 'numeric(5,6)' }, 'a numeric of at most 15 digits, such as'],
  ['another type', { price: 'decimal(12, 2)' }, 'not "decimal(12, 2)"'],
] as const)('%s is refused at definition', async (name, columns, message) => {
  const db = await openDatabase()
  const database = name.includes('SQLite') ? 'sqlite' : 'postgres'
  const store = sqlStore({ db, database, columns })
  expect(() => defineCollection({ name: 'cars', schema: Car, store })).toThrow(message)
  await db.destroy()
})

describe.each([
  ['SQLite', () => openDatabase()],
  ['PostgreSQL', async () => openPostgres()],
] as const)("create: 'records' in %s", (_, open) => {
  test('makes what the store keeps beside a table, and leaves that as it is', async () => {
    const db = await open()
    const run = (text: string) => db.executeQuery<{ name: string }>(CompiledQuery.raw(text))
    await run('create table trees (id bigint primary key, kind text not null)')
    const store = (table: string) =>
      sqlStore({ db, table, version: false, create: 'records' as const })
    const trees = defineCollection({
      name: 'trees',
      schema: z.object({ kind: z.string() }),
      ...({ id: 'integer', timestamps: false, indexes: ['kind'], store: store('trees') } as const),
    })
    const api = defineApi({ collections: { trees } })
    await api.open()
    expect((await api.collection(trees).create({ kind: 'oak' })).id).toBe(1)
    const { rows } = await run(
      db.getExecutor().adapter.supportsTransactionalDdl
        ? "select indexname as name from pg_indexes where tablename = 'trees'"
        : "select name from sqlite_schema where tbl_name = 'trees' and type = 'index' and sql is not null",
    )
    expect(rows.map(({ name }) => name).filter(name => name !== 'trees_pkey')).toEqual([])
    const none = defineCollection({
      ...{ name: 'none', schema: z.object({}) },
      store: store('none'),
    })
    await expect(defineApi({ collections: { none } }).open()).rejects.toThrow('does not exist')
  })
})
