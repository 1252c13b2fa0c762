// Columns of others whose values the database prints or compares in a way of its own: what a read shows is found, and
// by the same judge as everywhere.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { matcher } from '../../src/store/selection.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

interface Found {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the answer of a test, compared as a whole
  readonly json: any
}

/** @param made statements, in which TABLE stands for a new table. */
async function serve(
  db: Kysely<unknown>,
  made: readonly string[],
  value: z.ZodType,
  options: Partial<SqlStoreOptions> = {},
  more: object = { timestamps: false },
) {
  const table = newTable()
  const say = async (text: string) =>
    (
      await db.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text.replaceAll('TABLE', table)),
      )
    ).rows
  for (const statement of made) await say(statement)
  const store = sqlStore({ db, table, version: false, create: true, ...options })
  const errors: string[] = []
  const schema = z.object({ value })
  const rows = defineCollection({
    name: 'rows',
    schema,
    store,
    id: 'integer',
    ...more,
  })
  const { fetch } = defineApi({
    collections: [rows],
    onError: error => {
      errors.push(String(error))
    },
  })
  const ask = async (path: string, method = 'GET', body?: unknown): Promise<Found> => {
    const init = {
      method,
      headers: { 'content-type': 'application/json', prefer: 'return=representation' },
    }
    const answer = await fetch(
      new Request(new URL(path, 'http://a.example'), {
        ...init,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
  }
  const ids = async (query: string) =>
    (await ask(`/rows?fields=id&${query}`)).json.map(({ id }: { id: number }) => id)
  return { say, ask, ids, errors, shape: rows.shape }
}

const toRows = (values: readonly string[]) =>
  `insert into TABLE values ${values.map((value, at) => `(${at + 1}, ${value})`).join()}`

const OPERATORS = {
  '': 'in',
  '[ne]': 'nin',
  '[gt]': 'gt',
  '[gte]': 'gte',
  '[lt]': 'lt',
  '[lte]': 'lte',
  '[prefix]': 'prefix',
} as const

/** Texts that PostgreSQL compares in a way of its own: the type, the stored values, one that it takes for equal, and one that it refuses. */
const TEXTS = [
  ['mood', ["'z'", "'m'", "'a'", 'null', "'z'"], 'Z', 'sad'],
  ['of_mood', ["'z'", "'m'", "'a'", 'null', "'z'"], 'Z', 'sad'],
  ['citext', ["'a'", "'B'", "'b'", 'null', "'A'"], 'a', '\0'],
  ['char(4)', ["'b'", "'a'", "'B'", 'null', "'abcd'"], 'a ', 'abcde'],
  ['name', ["'b'", "'a'", "'B'", 'null', `repeat('a', 63)`], 'a'.repeat(64), 'a'.repeat(64)],
  ['varchar(4)', ["'b'", "'a'", "'B'", 'null', "'abcd'"], 'a ', 'abcde'],
] as const

const TYPES = [
  'create extension if not exists citext',
  'drop type if exists mood cascade',
  "create type mood as enum ('z', 'm', 'a')",
  'create domain of_mood as mood',
]

describe('texts of the database', () => {
  const TEXT = z.string().nullable()
  it.each(TEXTS)(
    'of the type %s are compared by code point',
    async (type, values, alike, refused) => {
      const made = [
        ...TYPES,
        `create table TABLE (id int primary key, value ${type})`,
        toRows(values),
      ]
      const { ask, ids, shape, say } = await serve(
        openPostgres(),
        made,
        TEXT,
        {},
        { timestamps: false, groups: ['value'] },
      )
      const items = (await ask('/rows')).json
      const shown: string[] = items.map(({ value }: { value: string }) => value)
      expect(shown.filter(value => value !== null)).toHaveLength(4)
      for (const [word, operator] of Object.entries(OPERATORS)) {
        for (const value of [...shown, alike].filter(value => value !== null)) {
          const test = matcher(
            { where: [{ path: ['value'], operator, values: [value] }] },
            shape.fields,
          )
          const expected = items.filter(test).map(({ id }: { id: number }) => id)
          expect([word, value, await ids(`value${word}=${encodeURIComponent(value)}`)]).toEqual([
            word,
            value,
            expected,
          ])
        }
      }
      const texts = shown.filter(value => value !== null)
      expect(await ids('value[in]=b,z')).toEqual(
        items
          .filter(({ value }: { value: string }) => /^[bz]$/.test(value))
          .map(({ id }: { id: number }) => id),
      )
      const sorted = (await ask('/rows?sort=value&fields=value')).json.map(
        ({ value }: { value: string }) => value,
      )
      expect(sorted).toEqual([null, ...texts.toSorted()])
      const counts = (await ask('/rows/count?by=value')).json
      expect(JSON.stringify(counts)).toContain(JSON.stringify(texts[0]))
      const [first = ''] = texts
      const { status, json } = await ask('/rows', 'POST', { value: first })
      expect([status, json.value]).toEqual([201, first])
      expect((await ask(`/rows/${json.id}`, 'PATCH', { value: texts[1] })).json.value).toBe(
        texts[1],
      )
      expect((await ask(`/rows/${json.id}`, 'PUT', { value: null })).json.value).toBe(null)
      expect(await say(`select value::text from TABLE where id = ${json.id}`)).toEqual([
        { value: null },
      ])
      const failed = await ask('/rows', 'POST', { value: refused })
      expect(failed.status).toBe(400)
      expect((await ask(`/rows/${json.id}`, 'DELETE')).status).toBe(200)
    },
  )

  it('name the field of a label that the enum lacks', async () => {
    const made = [...TYPES, 'create table TABLE (id int primary key, value mood)']
    const { ask } = await serve(openPostgres(), made, TEXT)
    const { json } = await ask('/rows', 'POST', { value: 'sad' })
    expect(json.errors[0]).toMatchObject({ code: 400, field: 'value' })
  })

  it('are found by the indexes of the table', async () => {
    const statements: string[] = []
    const db = openPostgres({ max: 1 }, ({ sql }) => statements.push(sql))
    const made = [
      ...TYPES,
      'create table TABLE (id int primary key, value citext unique)',
      toRows(["'a'", "'b'"]),
    ]
    const { ids, say } = await serve(db, made, TEXT)
    await say('set enable_seqscan = off')
    expect(await ids('value=b')).toEqual([2])
    expect(await ids('value=B')).toEqual([])
    const [where] = /\("value".*?::text\)/.exec(statements.at(-1) ?? '') ?? []
    const plan = await say(`explain select id from TABLE where ${where?.replace(/\$\d/g, "'b'")}`)
    expect(JSON.stringify(plan)).toContain('Index Cond: (value = ')
  })

  it('are no ids, where the database takes several for one', async () => {
    const made = [...TYPES, 'create table TABLE (id citext primary key, value text)']
    const { ask, errors } = await serve(
      openPostgres(),
      made,
      TEXT,
      { create: false },
      { id: 'uuid', timestamps: false },
    )
    expect((await ask('/rows')).status).toBe(500)
    expect(errors[0]).toMatch(
      /"id" is citext, which cannot be read, compared and sorted as a string; serve a view/,
    )
  })
})

const TIMES = [
  '2026-01-01T10:00:00.123456Z',
  '2026-01-01T10:00:00.123Z',
  '2026-01-01T10:00:00.123457Z',
  '1969-12-31T23:59:59.999999Z',
  '2026-01-01T10:00:00.124Z',
]

describe.each(['timestamptz', 'timestamp'])('times of the type %s', type => {
  const TIME = z.iso.datetime({ offset: true })
  const columns = `id int primary key, value ${type} not null, created_at ${type} not null, updated_at ${type} not null`
  const made = [
    `create table TABLE (${columns})`,
    `insert into TABLE values ${TIMES.map((time, at) => `(${at + 1}, '${time}', '${time}', '${time}')`).join()}`,
  ]
  const open = () =>
    serve(
      openPostgres({ options: '-c timezone=America/New_York' }),
      made,
      TIME,
      { timezone: 'UTC' },
      { groups: ['value'] },
    )

  it('are found by what a read shows, and continue after it', async () => {
    const { ask, ids } = await open()
    const order = [4, 2, 1, 3, 5]
    for (const [at, time] of TIMES.entries()) {
      const id = at + 1
      expect((await ask(`/rows/${id}`)).json).toMatchObject({ value: time, created_at: time })
      const place = order.indexOf(id)
      const [after, before] = [order.slice(place + 1), order.slice(0, place)]
      for (const field of ['value', 'created_at']) {
        expect(await ids(`${field}=${time}`)).toEqual([id])
        expect(await ids(`${field}[gte]=${time}&${field}[lte]=${time}`)).toEqual([id])
        expect(await ids(`sort=${field}&${field}[gt]=${time}`)).toEqual(after)
        expect(await ids(`sort=${field}&${field}[lt]=${time}`)).toEqual(before)
        const where = encodeURIComponent(JSON.stringify({ [field]: { in: [time] } }))
        expect(await ids(`where=${where}`)).toEqual([id])
      }
      expect(await ids(`sort=created_at&since=${time}`)).toEqual([id, ...after])
      expect(await ids(`sort=created_at&until=${time}`)).toEqual([...before, id])
    }
    expect(await ids('value=2026-01-01T11:00:00.123456%2B01:00')).toEqual([1])
    expect(await ids('value=2026-01-01T10:00:00.1234569Z')).toEqual([1])
  })

  it('are written, sorted and counted in UTC', async () => {
    const { ask, ids, say } = await open()
    const sent = { value: '2026-03-08T02:30:00.123456+01:00' }
    const { status, json } = await ask('/rows', 'POST', sent)
    expect([status, json.value]).toEqual([201, '2026-03-08T01:30:00.123456Z'])
    expect(json.created_at).toMatch(/^\d{4}-.*\.\d{3}Z$/)
    expect((await ask(`/rows/${json.id}`)).json).toEqual(json)
    expect(await ids(`value=${json.value}`)).toEqual([json.id])
    const text = type === 'timestamp' ? 'value::text' : "(value at time zone 'UTC')::text"
    expect(await say(`select ${text} as value from TABLE where id = ${json.id}`)).toEqual([
      { value: '2026-03-08 01:30:00.123456' },
    ])
    const { json: patched } = await ask(`/rows/${json.id}`, 'PATCH', { value: TIMES[0] })
    expect([patched.value, patched.created_at]).toEqual([TIMES[0], json.created_at])
    const { json: counts } = await ask('/rows/count?by=value:day')
    expect(JSON.stringify(counts)).toContain('1969-12-31')
    expect(JSON.stringify(counts)).not.toContain('1970-01-01')
  })
})

/** Values that JSON, or the schema, cannot say: the type of the column, the value, the schema. */
const UNREADABLE = [
  ['timestamptz', "'infinity'", z.iso.datetime().nullable()],
  ['timestamptz(3)', "'-infinity'", z.iso.datetime().nullable()],
  ['timestamptz', "'0044-03-15 12:00:00+00 BC'", z.iso.datetime().nullable()],
  ['timestamptz(0)', "'20000-01-01'", z.iso.datetime().nullable()],
  ['timestamp', "'infinity'", z.iso.datetime().nullable()],
  ['date', "'infinity'", z.iso.date().nullable()],
  ['date', "'0044-03-15 BC'", z.iso.date().nullable()],
  ['double precision', "'NaN'", z.number().nullable()],
  ['double precision', "'-Infinity'", z.number().nullable()],
  ['numeric(12,2)', "'NaN'", z.number().nullable()],
  ['bigint', '9007199254740993', z.int().nullable()],
  ['text', "'{'", z.array(z.string()).nullable()],
  ['text', "'31.1.2026'", z.iso.date().nullable()],
  ['text', "'soon'", z.iso.datetime().nullable()],
] as const

/** Values of SQLite that are not of the declared form: the type of the column, the value, the schema. */
const UNREADABLE_IN_SQLITE = [
  ['boolean', "'t'", z.boolean().nullable()],
  ['boolean', "'true'", z.boolean().nullable()],
  ['boolean', '2', z.boolean().nullable()],
  ['real', "'1,5'", z.number().nullable()],
  ['real', '9e999', z.number().nullable()],
  ['integer', "''", z.int().nullable()],
  ['integer', "x'05'", z.int().nullable()],
  ['integer', '9007199254740993', z.int().nullable()],
  ['text', "x'0502'", z.string().nullable()],
  ['datetime', '1767225600', z.iso.datetime().nullable()],
  ['text', "'31.1.2026'", z.iso.date().nullable()],
  ['text', "'{'", z.array(z.string()).nullable()],
] as const

/** Good values of the same schemas. */
const GOOD: readonly unknown[] = ['2026-01-01T10:00:00.000Z', '2026-01-01', 1, true, ['a'], 'a']

describe.each([
  ['PostgreSQL', () => openPostgres(), UNREADABLE, 'text'],
  ['SQLite', () => openDatabase(), UNREADABLE_IN_SQLITE, 'text collate binary'],
] as const)('a value of %s that cannot be read', (name, open, table, text) => {
  it.each([...table])('is null and stays as it is: %s %s', async (type, value, schema) => {
    const made = [
      `create table TABLE (id int primary key, value ${type}, version ${text} not null)`,
      `insert into TABLE values (1, ${value}, 'a'), (2, null, 'a')`,
    ]
    const printed = name === 'SQLite' ? 'hex(value)' : 'value::text'
    const options: Partial<SqlStoreOptions> = { version: 'version', timezone: 'UTC' }
    const { ask, say, errors } = await serve(await open(), made, schema, options)
    const stored = () => say(`select ${printed} as value from TABLE where id = 1`)
    const before = await stored()
    const good = GOOD.find(each => schema.safeParse(each).success)
    expect((await ask('/rows')).json).toEqual([
      { id: 1, value: null },
      { id: 2, value: null },
    ])
    expect((await ask('/rows/1', 'PATCH', {})).status).toBe(200)
    const refused = await ask('/rows/1', 'PUT', { value: null })
    expect([refused.status, refused.json.errors[0].type]).toEqual([400, 'unreadable_value'])
    expect((await ask('/rows/2', 'PUT', { value: null })).status).toBe(200)
    expect(await stored()).toEqual(before)
    expect((await ask('/rows/1', 'PATCH', { value: good })).json.value).toEqual(good)
    expect((await ask('/rows/1')).json.value).toEqual(good)
    expect(errors).toEqual([])
  })
})

describe('times that SQLite prints', () => {
  const rows =
    "insert into TABLE values (1, '2026-05-01 12:00:00', 'x', 'x'), (2, '2026-05-01T08:00:00.000Z', 'x', 'x')"

  it('are read and compared in UTC', async () => {
    const made = ['create table TABLE (id int primary key, value datetime, a text, b text)', rows]
    const { ask, ids } = await serve(await openDatabase(), made, z.iso.datetime())
    expect((await ask('/rows/1')).json.value).toBe('2026-05-01T12:00:00Z')
    expect(await ids('value=2026-05-01T12:00:00Z')).toEqual([1])
    expect(await ids('value[gt]=2026-05-01T10:00:00Z')).toEqual([1])
    expect(await ids('sort=value')).toEqual([2, 1])
  })

  it('as dates of writes are warned of, with the statement that corrects them', async () => {
    const warned: string[] = []
    const listen = ({ message }: Error) => void warned.push(message)
    process.on('warning', listen)
    const columns = 'created_at text not null default current_timestamp, updated_at text not null'
    const made = [`create table TABLE (id integer primary key, value text, ${columns})`]
    const { ask, say } = await serve(await openDatabase(), made, z.string(), {}, {})
    await say("insert into TABLE (value, updated_at) values ('a', '2026-05-01T08:00:00.000Z')")
    expect((await ask('/rows/1')).json.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/)
    await new Promise(setImmediate)
    process.off('warning', listen)
    const [advice = ''] = warned.filter(
      each => each.includes('"created_at"') && each.includes('update '),
    )
    await say(advice.slice(advice.indexOf('\n') + 1))
    expect((await ask('/rows/1')).json.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.000Z$/)
    expect(warned.some(each => each.includes('"updated_at"'))).toBe(false)
  })
})

it('a time without a zone needs the zone of the store', async () => {
  const made = ['create table TABLE (id int primary key, value timestamp)']
  const { ask, errors } = await serve(openPostgres(), made, z.iso.datetime().nullable())
  expect((await ask('/rows')).status).toBe(500)
  expect(errors[0]).toContain("set timezone: 'UTC' in the store if its times are UTC")
  const timezone = 'Europe/Paris' as 'UTC'
  expect(() => sqlStore({ db: openPostgres(), timezone })).toThrow(/an hour comes twice a year/)
})
