// Columns of types that the store does not make: what a read shows is found by each operator, is written back as it is, and is
// null in its own rows only.
import { CompiledQuery, type Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { namesOf } from '../../src/base/values.ts'
import { defineApi, defineCollection, type Item } from '../../src/index.ts'
import { type ColumnOptions, sqlStore } from '../../src/sql/index.ts'
import { matcher } from '../../src/store/selection.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

/** A column: its type, its schema, values as SQL, what a read shows of them, a value that is a 400, its form. */
interface Case {
  readonly type: string
  readonly schema: z.ZodType
  readonly values: readonly string[]
  readonly shown: readonly unknown[]
  /** What the type refuses though the schema takes it. */
  readonly bad?: unknown
  readonly form?: string
}

const text = z.string()
const texts = z.array(z.string())

const POSTGRES: Readonly<Record<string, Case>> = {
  time: {
    type: 'time',
    schema: text,
    values: ["'9:30'", "'24:00'"],
    shown: ['09:30:00', '24:00:00'],
    bad: '25:00',
  },
  timetz: {
    type: 'timetz',
    schema: text,
    values: ["'9:30+02'", "'9:30:00.5-08'"],
    shown: ['09:30:00+02', '09:30:00.5-08'],
    bad: 'noon?',
  },
  span: {
    type: 'interval',
    schema: text,
    values: ["'90 min'", "'1 mon 2 days'"],
    shown: ['01:30:00', '1 mon 2 days'],
    bad: 'long',
  },
  inet: {
    type: 'inet',
    schema: text,
    values: ["'10.0.0.1'", "'2001:db8::/32'"],
    shown: ['10.0.0.1', '2001:db8::/32'],
    bad: '10.0.0.256',
  },
  cidr: {
    type: 'cidr',
    schema: text,
    values: ["'10.1'", "'::1'"],
    shown: ['10.1.0.0/16', '::1/128'],
    bad: '10.0.0.1/8',
  },
  mac: {
    type: 'macaddr',
    schema: text,
    values: ["'08-00-2b-01-02-03'", "'0:0:0:0:0:1'"],
    shown: ['08:00:2b:01:02:03', '00:00:00:00:00:01'],
    bad: 'x',
  },
  real_text: {
    type: 'real',
    schema: text,
    values: ['0.1', "'-Infinity'"],
    shown: ['0.1', '-Infinity'],
    bad: '1e99',
  },
  double_text: {
    type: 'double precision',
    schema: text,
    values: ["'NaN'", '1e300'],
    shown: ['NaN', '1e+300'],
    bad: 'one',
  },
  real: {
    type: 'real',
    schema: z.number(),
    values: ['0.1', '-3.4e38'],
    shown: [0.1, -3.4e38],
    bad: 1e39,
  },
  big: {
    type: 'bigint',
    schema: text,
    values: ['9007199254740993', '-1'],
    shown: ['9007199254740993', '-1'],
    bad: '1.5',
  },
  exact: {
    type: 'numeric',
    schema: text,
    values: ['1.50', '12345678901234567890.123'],
    shown: ['1.50', '12345678901234567890.123'],
    bad: '1,5',
  },
  money: {
    type: 'numeric(30,4)',
    schema: text,
    values: ['1.5', '99999999999999999999'],
    shown: ['1.5000', '99999999999999999999.0000'],
    bad: '',
  },
  number: {
    type: 'numeric',
    schema: z.number(),
    values: ['1.50', '0.30000000000000004'],
    shown: [1.5, 0.30000000000000004],
  },
  whole: {
    type: 'numeric(20)',
    schema: z.int(),
    values: ['9007199254740991', '0'],
    shown: [9007199254740991, 0],
  },
  bytes: {
    type: 'bytea',
    schema: text,
    values: ["''", `decode('${'ab'.repeat(99)}', 'hex')`],
    shown: ['', Buffer.from('ab'.repeat(99), 'hex').toString('base64')],
    bad: 'a-b=',
  },
  range: {
    type: 'int4range',
    schema: text,
    values: ["'[1,5]'", "'empty'"],
    shown: ['[1,6)', 'empty'],
    bad: '[5,1]',
  },
  dates: {
    type: 'daterange',
    schema: text,
    values: ["'[2026-01-01,)'", "'(,2026-01-01]'"],
    shown: ['[2026-01-01,)', '(,2026-01-02)'],
    bad: '[x,)',
  },
  xml: {
    type: 'xml',
    schema: text,
    values: ["'<a/>'", "'<b>1</b>'"],
    shown: ['<a/>', '<b>1</b>'],
    bad: '<a',
  },
  bits: {
    type: 'bit(3)',
    schema: text,
    values: ["b'101'", "b'000'"],
    shown: ['101', '000'],
    bad: '10',
  },
  point: {
    type: 'point',
    schema: text,
    values: ["'(1,2)'", "'(0,0)'"],
    shown: ['(1,2)', '(0,0)'],
    bad: '(1',
  },
  words: { type: 'tsvector', schema: text, values: ["'b a'", "''"], shown: ["'a' 'b'", ''] },
  utc: {
    type: 'timestamp',
    schema: z.iso.datetime(),
    values: ["'2026-01-01 12:00:00.123456'", "'1969-12-31'"],
    shown: ['2026-01-01T12:00:00.123456Z', '1969-12-31T00:00:00.000Z'],
    form: 'timestamp utc',
  },
}

const D = '2026-01-01T00:00:00.000Z'

const SQLITE: Readonly<Record<string, Case>> = {
  seconds: {
    type: 'integer',
    schema: z.iso.datetime(),
    values: ['1767225600', '-1'],
    shown: [D, '1969-12-31T23:59:59.000Z'],
    form: 'unix seconds',
  },
  millis: {
    type: 'integer',
    schema: z.iso.datetime(),
    values: ['1767225600000', '-1'],
    shown: [D, '1969-12-31T23:59:59.999Z'],
    form: 'unix milliseconds',
  },
  fine: {
    type: 'real',
    schema: z.iso.datetime(),
    values: ['1767225600.0', '0.0'],
    shown: [D, '1970-01-01T00:00:00.000Z'],
    form: 'unix seconds',
  },
  laravel: {
    type: 'datetime',
    schema: z.iso.datetime(),
    values: ["'2026-01-01 00:00:00'", "'2026-01-01 00:00:00.25'"],
    shown: [D, '2026-01-01T00:00:00.250Z'],
    form: 'datetime utc',
  },
  rails: {
    type: 'boolean',
    schema: z.boolean(),
    values: ["'t'", "'f'"],
    shown: [true, false],
    form: 't/f',
  },
  words: {
    type: 'text',
    schema: z.boolean(),
    values: ["'true'", "'false'"],
    shown: [true, false],
    form: 'true/false',
  },
  oracle: {
    type: 'char(1)',
    schema: z.boolean(),
    values: ["'N'", "'Y'"],
    shown: [false, true],
    form: 'Y/N',
  },
}

const LISTS: Readonly<Record<string, Case>> = {
  tags: {
    type: 'text[]',
    schema: texts,
    values: [`'{a,"b c","\\"\\\\"}'`, "'{}'"],
    shown: [['a', 'b c', '"\\'], []],
  },
  names: {
    type: 'varchar(5)[]',
    schema: texts,
    values: ["'{x}'", '\'{"NULL",y}\''],
    shown: [['x'], ['NULL', 'y']],
    bad: ['too long'],
  },
  ids: {
    type: 'uuid[]',
    schema: z.array(z.uuid()),
    values: ["'{AAAAAAAA-0000-4000-8000-000000000001}'", "'{}'"],
    shown: [['aaaaaaaa-0000-4000-8000-000000000001'], []],
  },
  ints: {
    type: 'integer[]',
    schema: z.array(z.int()),
    values: ["'{1,2}'", "'{-2147483648}'"],
    shown: [[1, 2], [-2147483648]],
    bad: [2 ** 31],
  },
  prices: {
    type: 'numeric(9,2)[]',
    schema: z.array(z.number()),
    values: ["'{1,0.5}'", "'{}'"],
    shown: [[1, 0.5], []],
  },
  flags: {
    type: 'boolean[]',
    schema: z.array(z.boolean()),
    values: ["'{t,f}'", "'{}'"],
    shown: [[true, false], []],
  },
  days: {
    type: 'date[]',
    schema: z.array(z.iso.date()),
    values: ["'{2026-01-31}'", "'{}'"],
    shown: [['2026-01-31'], []],
  },
  nets: {
    type: 'inet[]',
    schema: texts,
    values: ["'{10.0.0.0/8}'", "'{}'"],
    shown: [['10.0.0.0/8'], []],
    bad: ['x'],
  },
}

type Found = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the response of a test, compared as a whole
  readonly json: any
  readonly text: string
  readonly next: string | undefined
}

/** Serves a table with all of the columns: of each a row has the first value, one the second, and one is null. */
async function serve(db: Kysely<unknown>, cases: Readonly<Record<string, Case>>) {
  const table = newTable()
  const names = Object.keys(cases)
  const all = Object.values(cases)
  const say = (statement: string) => db.executeQuery(CompiledQuery.raw(statement))
  await say(
    `create table ${table} (id int primary key, ${names.map((name, at) => `"${name}" ${all[at]?.type}`).join()})`,
  )
  for (const at of [0, 1])
    await say(
      `insert into ${table} values (${at + 1}, ${all.map(({ values }) => values[at]).join()})`,
    )
  await say(`insert into ${table} (id) values (3)`)
  const columns = Object.fromEntries(
    names.flatMap(name => (cases[name]?.form ? [[name, { type: cases[name].form }]] : [])),
  )
  const schema = z.object(
    Object.fromEntries(names.map(name => [name, (cases[name]?.schema ?? z.never()).nullable()])),
  )
  const store = sqlStore({
    db,
    table,
    version: false,
    create: true,
    columns: columns as Record<string, ColumnOptions>,
  })
  const errors: unknown[] = []
  const rows = defineCollection({ name: 'rows', schema, store, id: 'integer', timestamps: false })
  const { fetch } = defineApi({ collections: [rows], onError: error => void errors.push(error) })
  const ask = async (path: string, method = 'GET', body?: unknown): Promise<Found> => {
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await fetch(new Request(new URL(path, 'http://a.example'), init))
    const text = await answer.text()
    return {
      status: answer.status,
      text,
      next: /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1],
      json: /json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined,
    }
  }
  const ids = async (query: string): Promise<number[]> => {
    const { status, json } = await ask(`/rows?fields=id&${query}`)
    expect([query, status]).toEqual([query, 200])
    return json.map(({ id }: { id: number }) => id)
  }
  return { ask, ids, errors, shape: rows.shape }
}

const WORDS = { in: 'eq', nin: 'ne', gt: 'gt', gte: 'gte', lt: 'lt', lte: 'lte' } as const
const OPERATORS = namesOf(WORDS)

describe.each([
  ['PostgreSQL', () => openPostgres(), POSTGRES],
  ['SQLite', () => openDatabase(), SQLITE],
] as const)('columns of %s', (_name, open, cases) => {
  let served: Awaited<ReturnType<typeof serve>>
  let items: Item[] = []
  beforeAll(async () => {
    served = await serve(await open(), cases)
    items = (await served.ask('/rows?sort=id')).json
  })
  afterAll(() => expect(served.errors).toEqual([]))

  describe.each(Object.entries(cases))('%s', (name, { shown, bad, schema }) => {
    it('are shown', () => {
      expect(items.map(item => item[name])).toEqual([...shown, null])
    })

    it('are found by what is shown, as the matcher finds them', async () => {
      const { ids, shape } = served
      expect(await ids(`${name}[exists]=false`)).toEqual([3])
      expect(await ids(`${name}[exists]=true`)).toEqual([1, 2])
      for (const value of shown as (string | number | boolean)[]) {
        const sent = encodeURIComponent(String(value))
        for (const operator of OPERATORS) {
          if (typeof value === 'boolean' && /^[gl]t/.test(operator)) continue
          const filter = { path: [name], operator, values: [value] }
          const matches = matcher({ where: [filter] }, shape.fields)
          const expected = items.filter(matches).map(({ id }) => id)
          expect([operator, value, await ids(`${name}[${WORDS[operator]}]=${sent}`)]).toEqual([
            operator,
            value,
            expected,
          ])
        }
        if (typeof value !== 'boolean')
          expect(await ids(`${name}[gte]=${sent}&${name}[lte]=${sent}`)).toContain(
            shown.indexOf(value) + 1,
          )
      }
    })

    it('are sorted and paged', async () => {
      for (const sort of [name, `-${name}`]) {
        const whole = await served.ids(`sort=${sort}`)
        const paged: number[] = []
        let path: string | undefined = `/rows?fields=id&limit=1&sort=${sort}`
        while (path !== undefined) {
          const answer: Found = await served.ask(path)
          paged.push(answer.json[0].id)
          path = answer.next
        }
        expect(paged).toEqual(whole)
      }
    })

    it('are written back, and refuse what they cannot hold', async () => {
      const { ask } = served
      for (const [at, value] of shown.entries()) {
        const put = await ask('/rows/3', 'PATCH', { [name]: value })
        expect([put.status, put.json?.[name]]).toEqual([200, value])
        expect((await ask(`/rows/3`)).json[name]).toEqual(items[at]?.[name])
      }
      if (bad !== undefined) {
        expect(schema.safeParse(bad).success).toBe(true)
        const refused = [
          await ask('/rows/3', 'PATCH', { [name]: bad }),
          await ask('/rows', 'POST', { ...items[0], id: undefined, [name]: bad }),
        ]
        for (const { status, json } of refused)
          expect([status, json.errors[0].type]).toEqual([
            400,
            expect.stringMatching(/^too_long|unstorable/),
          ])
      }
      const { json: now } = await ask('/rows/3')
      expect((await ask('/rows/3', 'PUT', { ...now, [name]: null })).json[name]).toBe(null)
    })
  })

  it('are created one by one and together', async () => {
    const { ask } = served
    const { id: _, ...values } = items[0] ?? {}
    const one = await ask('/rows', 'POST', values)
    expect(one.json).toEqual({ ...values, id: one.json.id })
    const both = await Promise.all([ask('/rows', 'POST', values), ask('/rows', 'POST', values)])
    for (const { status, json } of both)
      expect([status, json]).toEqual([201, { ...values, id: json.id }])
    const made = [one, ...both].map(({ json }) => json.id)
    for (const id of made) expect((await ask(`/rows/${id}`, 'DELETE')).status).toBeLessThan(300)
  })
})

describe('lists in columns of arrays', () => {
  let served: Awaited<ReturnType<typeof serve>>
  let items: Item[] = []
  beforeAll(async () => {
    served = await serve(openPostgres(), LISTS)
    items = (await served.ask('/rows?sort=id')).json
  })
  afterAll(() => expect(served.errors).toEqual([]))

  it.each(Object.entries(LISTS))(
    '%s are shown, found and written',
    async (name, { shown, bad }) => {
      const { ids, ask, shape } = served
      expect(items.map(item => item[name])).toEqual([...shown, null])
      expect(await ids(`${name}[exists]=false`)).toEqual([3])
      for (const value of (shown as (string | number)[][]).flat()) {
        for (const operator of ['in', 'nin', 'gte'] as const) {
          if (typeof value === 'boolean' && operator === 'gte') continue
          const matches = matcher(
            { where: [{ path: [name], operator, values: [value] }] },
            shape.fields,
          )
          const expected = items.filter(matches).map(({ id }) => id)
          const sent = encodeURIComponent(String(value))
          expect([operator, value, await ids(`${name}[${WORDS[operator]}]=${sent}`)]).toEqual([
            operator,
            value,
            expected,
          ])
        }
      }
      for (const value of shown) {
        const put = await ask('/rows/3', 'PATCH', { [name]: value })
        expect([put.status, put.json?.[name]]).toEqual([200, value])
      }
      if (bad !== undefined)
        expect((await ask('/rows/3', 'PATCH', { [name]: bad })).status).toBe(400)
      const { json: now } = await ask('/rows/3')
      expect((await ask('/rows/3', 'PUT', { ...now, [name]: null })).json[name]).toBe(null)
    },
  )

  it('are created, alone and together, and printed in CSV as other lists are', async () => {
    const { ask } = served
    const { id: _, ...values } = items[0] ?? {}
    const made = await Promise.all([1, 2, 3].map(() => ask('/rows', 'POST', values)))
    for (const { json } of made) expect(json).toEqual({ ...values, id: json.id })
    const csv = await ask('/rows.csv?fields=ints,tags&limit=1')
    expect(csv.text).toContain('1')
  })
})

it.each([
  ['date', text, /is date, .* as a string/],
  ['integer', text, /is integer, .* declare a whole number/],
  ['integer[]', texts, /is integer\[\], .* as JSON/],
  ['text[]', z.array(z.int()), /is text\[\], .* as JSON/],
  ['inet', z.number(), /is inet, .* as a number; declare a string/],
  ['real', z.int(), /is real, .* as a whole number/],
])(
  'a column of %s is refused under another schema, with what to do',
  async (type, schema, message) => {
    const cases = { value: { type, schema, values: ['null', 'null'], shown: [] } }
    const { ask, errors } = await serve(openPostgres(), cases)
    expect((await ask('/rows')).status).toBe(500)
    expect(String(errors[0])).toMatch(message)
  },
)

describe.each([
  [
    'timestamp utc',
    () => openPostgres({ options: '-c TimeZone=Asia/Tokyo' }),
    'timestamp not null',
    "'2026-01-01 12:00:00'",
    "version text not null default 'v'",
  ],
  [
    'datetime utc',
    () => openDatabase(),
    'datetime not null',
    "'2026-01-01 12:00:00'",
    "version TEXT default 'v'",
  ],
  [
    'unix seconds',
    () => openDatabase(),
    'integer not null',
    '1767268800',
    "version TEXT default 'v'",
  ],
  [
    'unix milliseconds',
    () => openDatabase(),
    'integer',
    '1767268800000',
    "version TEXT default 'v'",
  ],
] as const)('dates of writes as %s', (type, open, column, noon, version) => {
  it('are read, compared and set', async () => {
    const [db, table] = [await open(), newTable()]
    const say = (statement: string) => db.executeQuery(CompiledQuery.raw(statement))
    await say(
      `create table ${table} (id integer primary key, note text, created_at ${column}, updated_at ${column}, ${version})`,
    )
    await say(
      `insert into ${table} (id, note, created_at, updated_at) values (1, 'a', ${noon}, ${noon})`,
    )
    const clock = () => Date.parse('2026-01-01T12:00:00.000Z')
    const columns = { created_at: { type }, updated_at: { type } }
    const store = sqlStore({ db, table, create: true, columns, clock })
    const rows = defineCollection({
      name: 'rows',
      schema: z.object({ note: text }),
      store,
      id: 'integer',
    })
    const calls = defineApi({ collections: { rows } }).collection('rows')
    const [created_at, later] = ['2026-01-01T12:00:00.000Z', '2026-01-01T12:00:01.000Z']
    expect(await calls.read(1)).toMatchObject({ created_at, updated_at: created_at })
    expect(await calls.create({ note: 'b' })).toMatchObject({ id: 2, created_at })
    expect(await calls.patch(1, { note: 'c' })).toMatchObject({ created_at, updated_at: later })
    expect((await calls.read(1)).updated_at).toBe(later)
    expect(await calls.count({ since: created_at })).toBe(2)
    expect(await calls.count({ updated_at: { gt: created_at } })).toBe(1)
    expect((await calls.list({ sort: '-updated_at' }).toArray()).map(({ id }) => id)).toEqual([
      1, 2,
    ])
    await store.close()
  })
})

it.each(['datetime utc', 'unix seconds', 'unix milliseconds'] as const)(
  'a new table has %s',
  async type => {
    const db = await openDatabase()
    const columns = { created_at: { type }, updated_at: { type }, seen: { type } }
    const store = sqlStore({ db, table: 'rows', create: true, columns })
    const schema = z.object({ seen: z.iso.datetime().nullable() })
    const rows = defineCollection({ name: 'rows', schema, store, id: 'integer' })
    const calls = defineApi({ collections: { rows } }).collection('rows')
    const made = await calls.create({ seen: '2026-01-01T00:00:00.000Z' })
    expect(await calls.read(made.id)).toEqual(made)
    // Another program: the trigger renews the version and the date.
    await db.executeQuery(CompiledQuery.raw('update rows set seen = null'))
    const { updated_at } = await calls.read(made.id)
    expect(updated_at > made.updated_at).toBe(true)
    await store.close()
  },
)
