// Columns that a database fills by itself: generated ones, defaults, what triggers and views make of a write. Each answer
// is what a later read shows.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const DATABASES = {
  PostgreSQL: async () => openPostgres(),
  SQLite: () => openDatabase(),
} satisfies Record<string, () => Promise<Kysely<unknown>>>
type Name = keyof typeof DATABASES
const NAMES = Object.keys(DATABASES) as Name[]

interface Answer {
  readonly status: number
  readonly etag: string | null
  readonly json: Record<string, unknown> & { errors?: unknown }
}

type Headers = Record<string, string>

const KEPT =
  'create table if not exists rest_sequences (name varchar(99) primary key, last_id varchar(99) not null)'
const KEYS =
  'create table if not exists rest_idempotency (name varchar(99) not null, key varchar(99) not null, fingerprint text not null, answer text, expires_at bigint not null, primary key (name, key))'

interface Options extends Partial<SqlStoreOptions> {
  readonly fields?: Record<string, 'readOnly'>
  readonly putCreates?: boolean
}

/** @param made statements, in which TABLE stands for a new table. */
async function serve(
  name: Name,
  made: readonly string[],
  schema: z.ZodObject,
  { fields = {}, putCreates = false, ...options }: Options = {},
) {
  const db = await DATABASES[name]()
  const table = newTable()
  const say = async (text: string) =>
    (
      await db.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text.replaceAll('TABLE', table)),
      )
    ).rows
  for (const each of [KEPT, KEYS, ...made]) await say(each)
  const store = sqlStore({ db, table, version: false, ...options })
  const cars = defineCollection({
    name: 'cars',
    schema,
    store,
    ...(!putCreates && { id: 'integer' as const }),
    fields,
    putCreates,
    operations: ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany'],
    timestamps: false,
  })
  const errors: string[] = []
  const warnings: string[] = []
  const keep = (warning: Error & { code?: string }) => {
    if (warning.code === 'REST_CONVENTIONS_TABLE')
      warnings.push(warning.message.replaceAll(table, 'TABLE'))
  }
  process.on('warning', keep)
  onTestFinished(async () => {
    process.off('warning', keep)
    await store.close()
  })
  const api = defineApi({
    collections: { cars },
    batch: true,
    health: true,
    onError: error => void errors.push(error instanceof Error ? error.message : String(error)),
  })
  const ask = async (method: string, path: string, json?: unknown, headers: Headers = {}) => {
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    const all = { 'content-type': 'application/json', prefer: 'return=representation', ...headers }
    const init = { method, headers: all, redirect: 'manual', ...body } as const
    const answer = await api.fetch(new Request(new URL(path, 'http://a.example'), init))
    const text = await answer.text()
    return {
      status: answer.status,
      etag: answer.headers.get('etag'),
      json: text === '' ? {} : JSON.parse(text),
    } as Answer
  }
  await api.open()
  // Warnings come in a later turn.
  await new Promise(resolve => setImmediate(resolve))
  return { ask, say, errors, warnings }
}

type Served = Awaited<ReturnType<typeof serve>>

/** Creates items in each way that there is. @returns what was answered; each is what a read shows. */
async function createAll(
  { ask, errors }: Served,
  item: object,
): Promise<Record<string, unknown>[]> {
  const keyed = { 'idempotency-key': 'k' }
  const single = [
    await ask('POST', '/cars', item),
    await ask('POST', '/cars', item, keyed),
    // At once, so that they may share a statement.
    ...(await Promise.all(Array.from({ length: 12 }, () => ask('POST', '/cars', item)))),
  ]
  const replayed = await ask('POST', '/cars', item, keyed)
  expect(replayed).toEqual(single[1])
  for (const each of single) {
    const read = await ask('GET', `/cars/${each.json.id}`)
    expect({ ...each, status: 200 }).toEqual(read)
  }
  const array = await ask('POST', '/cars', [item, item, item])
  const steps = [{ method: 'POST', path: '/cars', body: item }]
  const batch = await ask('POST', '/batch', steps)
  expect([array.status, batch.status, errors]).toEqual([201, 200, []])
  const several = [
    ...Object.values(array.json),
    ...Object.values(batch.json).map(step => (step as { body: unknown }).body),
  ]
  for (const each of several as Record<string, unknown>[])
    expect(each).toEqual((await ask('GET', `/cars/${each.id}`)).json)
  return [...single.map(({ json }) => json), ...(several as Record<string, unknown>[])]
}

const FULL = "full_name text generated always as (first || ' ' || last)"
const PERSON = z.object({ first: z.string(), last: z.string(), full_name: z.string().optional() })

describe.each(NAMES)('a generated column in %s', name => {
  const kinds = [
    ['stored', false],
    ['stored', 'version'],
    ...(name === 'SQLite' ? ([['virtual', 'version']] as const) : []),
  ] as const

  test.each(kinds)('%s is left out of writes and read back, version: %s', async (kind, version) => {
    const made = `create table TABLE (id integer primary key, version text, first text not null, last text not null, ${FULL} ${kind})`
    const served = await serve(name, [made], PERSON, { version, fields: { full_name: 'readOnly' } })
    const { ask, warnings, say } = served
    expect(warnings).toEqual([])
    const all = await createAll(served, { first: 'Ann', last: 'Lee' })
    expect(all.map(({ full_name }) => full_name)).toEqual(all.map(() => 'Ann Lee'))
    const patched = await ask('PATCH', '/cars/1', { last: 'Ray' })
    expect(patched.json.full_name).toBe('Ann Ray')
    expect(patched.etag).toBe((await ask('GET', '/cars/1')).etag)
    const put = { ...patched.json, first: 'Bo', full_name: 'x' }
    const replaced = await ask('PUT', '/cars/1', put, { 'if-match': patched.etag ?? '' })
    expect([replaced.status, replaced.json.full_name]).toEqual([200, 'Bo Ray'])
    const many = await ask('PATCH', '/cars?id[in]=1,2', { last: 'M' }, { prefer: 'max-affected=2' })
    expect([many.status, many.json]).toMatchObject([200, {}])
    expect(await say('select full_name from TABLE where id < 3 order by id')).toEqual([
      { full_name: 'Bo M' },
      { full_name: 'Ann M' },
    ])
    expect((await ask('DELETE', '/cars/2')).status).toBe(200)
  })

  test('that clients may write is named with the line to declare', async () => {
    const made = `create table TABLE (id integer primary key, first text not null, last text not null, ${FULL} stored)`
    const { ask, warnings } = await serve(name, [made], PERSON)
    expect(warnings).toEqual([
      `TABLE makes the values of "full_name" itself, so that what clients send there is ignored. Declare fields: { "full_name": 'readOnly' }`,
    ])
    const sent = { first: 'Ann', last: 'Lee', full_name: 'x' }
    expect((await ask('POST', '/cars', sent)).json.full_name).toBe('Ann Lee')
  })
})

test('a number that PostgreSQL always makes is left to it, beside one that it makes by default', async () => {
  const made =
    'create table TABLE (id int primary key, place int generated always as identity, queue int generated by default as identity)'
  const schema = z.object({ place: z.int().optional(), queue: z.int().optional() })
  const served = await serve('PostgreSQL', [made], schema, { fields: { place: 'readOnly' } })
  const first = await served.ask('POST', '/cars', { queue: 7 })
  expect([first.status, first.json]).toEqual([201, { id: 1, place: 1, queue: 7 }])
  const all = await createAll(served, {})
  expect(all.every(({ place, queue }) => Number(place) - Number(queue) === 1)).toBe(true)
  // An update draws no new number.
  const put = await served.ask('PUT', '/cars/1', {}, { 'if-match': first.etag ?? '' })
  expect(put.json).toEqual({ id: 1, place: 1, queue: 7 })
})

/** A column with a default, its field, what it is by default, another value, and what a PUT without it leaves. */
interface Default {
  readonly column: string
  readonly field: z.ZodType
  readonly made: unknown
  readonly other: unknown
  /** What a PUT without the property makes of `other`. */
  readonly reset: unknown
}

const TEXT = z.string().optional()
const COMMON: Default[] = [
  { column: "text default 'new'", field: TEXT, made: 'new', other: 'x', reset: undefined },
  { column: "text not null default 'it''s'", field: TEXT, made: "it's", other: 'x', reset: "it's" },
  {
    column: "text not null default (lower('AB'))",
    field: TEXT,
    made: 'ab',
    other: 'x',
    reset: 'x',
  },
  {
    column: 'integer not null default -3',
    field: z.int().optional(),
    made: -3,
    other: 4,
    reset: -3,
  },
  { column: 'text default null', field: TEXT, made: undefined, other: 'x', reset: undefined },
  {
    column: `text not null default '{"a":1}'`,
    field: z.object({ a: z.number() }).optional(),
    made: { a: 1 },
    other: { a: 2 },
    reset: { a: 1 },
  },
]
const DEFAULTS: Record<Name, readonly Default[]> = {
  PostgreSQL: [
    ...COMMON,
    {
      column: 'boolean not null default true',
      field: z.boolean().optional(),
      made: true,
      other: false,
      reset: true,
    },
    {
      column: 'numeric(6,2) not null default 0',
      field: z.number().optional(),
      made: 0,
      other: 1.25,
      reset: 0,
    },
    {
      column: "varchar(3) not null default 'abc'",
      field: TEXT,
      made: 'abc',
      other: 'x',
      reset: 'abc',
    },
    {
      column: "date not null default '2024-02-29'",
      field: z.iso.date().optional(),
      made: '2024-02-29',
      other: '2025-01-01',
      reset: '2024-02-29',
    },
    {
      column: `jsonb not null default '{"a":1}'`,
      field: z.object({ a: z.number() }).optional(),
      made: { a: 1 },
      other: { a: 2 },
      reset: { a: 1 },
    },
    { column: 'TABLE_state', field: TEXT, made: 'open', other: 'x', reset: undefined },
    {
      column: "TABLE_mood not null default 'ok'",
      field: TEXT,
      made: 'ok',
      other: 'sad',
      reset: 'ok',
    },
    { column: "char(3) not null default 'a'", field: TEXT, made: 'a', other: 'xyz', reset: 'a' },
    {
      column: "timestamptz not null default '2024-02-29T01:02:03.5Z'",
      field: z.iso.datetime().optional(),
      made: '2024-02-29T01:02:03.500Z',
      other: '2025-01-01T00:00:00.000Z',
      reset: '2024-02-29T01:02:03.500Z',
    },
    {
      column: 'double precision not null default sqrt(4)',
      field: z.number().optional(),
      made: 2,
      other: 1.5,
      reset: 1.5,
    },
  ],
  SQLite: [
    ...COMMON,
    {
      column: 'integer not null default true',
      field: z.boolean().optional(),
      made: true,
      other: false,
      reset: true,
    },
    {
      column: 'real default 1.5',
      field: z.number().optional(),
      made: 1.5,
      other: 2.25,
      reset: undefined,
    },
    {
      column: 'text not null default "say ""new"""',
      field: TEXT,
      made: 'say "new"',
      other: 'x',
      reset: 'say "new"',
    },
    { column: 'text not null default open', field: TEXT, made: 'open', other: 'x', reset: 'open' },
    {
      column: 'text not null default current_timestamp',
      field: TEXT,
      made: expect.stringMatching(/^\d{4}-/),
      other: 'x',
      reset: 'x',
    },
  ],
}

describe.each(NAMES)('a default in %s', name => {
  test.each(DEFAULTS[name].map(each => [each.column, each] as const))(
    '%s',
    async (_column, { column, field, made, other, reset }) => {
      const types =
        name === 'PostgreSQL'
          ? [
              "create domain TABLE_state as text default 'open'",
              "create type TABLE_mood as enum ('sad', 'ok')",
            ]
          : []
      const table = `create table TABLE (id integer primary key, note text, value ${column})`
      const schema = z.object({ note: z.string().optional(), value: field })
      const served = await serve(name, [...types, table], schema)
      const { ask, warnings } = served
      expect(warnings).toEqual([])
      const all = await createAll(served, { note: 'a' })
      expect(all.map(({ value }) => value)).toEqual(all.map(() => made))
      const sent = await createAll(
        {
          ...served,
          ask: (method, path, json, headers) =>
            ask(
              method,
              path,
              json,
              headers && {
                ...headers,
                ...(headers['idempotency-key'] && { 'idempotency-key': 'other' }),
              },
            ),
        },
        { value: other },
      )
      expect(sent.map(({ value }) => value)).toEqual(sent.map(() => other))
      const put = await ask('PUT', `/cars/${sent[0]?.id}`, { note: 'b' })
      expect(put.status).toBe(200)
      expect(put.json).toEqual((await ask('GET', `/cars/${sent[0]?.id}`)).json)
      expect(put.json.value).toEqual(reset)
      // A change of something else leaves it alone.
      const patched = await ask('PATCH', `/cars/${sent[1]?.id}`, { note: 'b' })
      expect(patched.json.value).toEqual(other)
    },
  )

  test('is for rows that a PUT creates too, and leaves a null in a row alone', async () => {
    const made = [
      "create table TABLE (id varchar(20) primary key, note text, value text default 'new')",
      "insert into TABLE values ('old', 'a', null)",
    ]
    const schema = z.object({ id: z.string(), note: z.string(), value: TEXT })
    const { ask } = await serve(name, made, schema, { putCreates: true })
    expect((await ask('PUT', '/cars/a', { note: 'a' })).json).toEqual({
      id: 'a',
      note: 'a',
      value: 'new',
    })
    expect((await ask('PUT', '/cars/old', { note: 'b' })).json).toEqual({ id: 'old', note: 'b' })
    expect((await ask('PATCH', '/cars/a', { value: null })).json).toEqual({ id: 'a', note: 'a' })
  })

  test('does not cut what is too long, and a missing value is named as one', async () => {
    const column =
      name === 'PostgreSQL'
        ? "varchar(3) default 'abc'"
        : "text default 'abc' check (length(code) < 4)"
    const made = `create table TABLE (id integer primary key, code ${column}, status text not null)`
    const schema = z.object({ code: TEXT, status: TEXT })
    const { ask, warnings } = await serve(name, [made], schema)
    const widen =
      name === 'PostgreSQL'
        ? expect.stringContaining('alter column "status" drop not null;')
        : expect.stringContaining('"status". Leave out .optional() and .nullable() there, or give')
    expect(warnings).toEqual([widen])
    expect((await ask('POST', '/cars', { code: 'abcd', status: 'x' })).status).toBe(400)
    for (const [method, path, body] of [
      ['POST', '/cars', {}],
      ['POST', '/cars', { code: 'a' }],
    ] as const) {
      const refused = await ask(method, path, body)
      expect([refused.status, refused.json.errors]).toEqual([
        400,
        [
          {
            message: 'status must have a value in the store. Send one',
            code: 400,
            field: 'status',
            type: 'required',
          },
        ],
      ])
    }
    expect((await ask('POST', '/cars', { status: 'x' })).json).toEqual({
      id: 1,
      code: 'abc',
      status: 'x',
    })
    expect((await ask('PATCH', '/cars/1', { status: null })).json.errors).toMatchObject([
      { type: 'required' },
    ])
  })
})

const NAMED = z.object({ name: z.string(), seen: z.int().optional() })
const BASE = 'create table TABLE_all (id integer primary key, name text not null, seen integer)'
const inPostgres = (event: string, on: string, body: string) => [
  `create function TABLE_rule() returns trigger language plpgsql as $$ begin ${body} return new; end $$`,
  `create trigger TABLE_rule ${event} on ${on} for each row execute function TABLE_rule()`,
]
const COUNT = 'update TABLE set name = upper(name), seen = coalesce(seen, 0) + 1 where id = new.id;'
const INSTEAD = {
  insert: 'insert into TABLE_all values (new.id, upper(new.name), 1);',
  update: 'update TABLE_all set name = upper(new.name), seen = seen + 1 where id = old.id;',
}
const MADE: Record<Name, Record<string, readonly string[]>> = {
  PostgreSQL: {
    'a trigger before the write': [
      BASE.replace('TABLE_all', 'TABLE'),
      ...inPostgres(
        'before insert or update',
        'TABLE',
        'new.name := upper(new.name); new.seen := coalesce(new.seen, 0) + 1;',
      ),
    ],
    'a trigger after the write': [
      BASE.replace('TABLE_all', 'TABLE'),
      ...inPostgres(
        'after insert or update of name',
        'TABLE',
        `if pg_trigger_depth() = 1 then ${COUNT} end if;`,
      ),
    ],
    'a view with triggers': [
      BASE,
      'create view TABLE as select * from TABLE_all',
      ...inPostgres(
        'instead of insert or update',
        'TABLE',
        `if tg_op = 'INSERT' then ${INSTEAD.insert} else ${INSTEAD.update} end if;`,
      ),
    ],
    'a view of a table with a trigger': [
      BASE,
      'create view TABLE as select * from TABLE_all',
      ...inPostgres(
        'after insert or update of name',
        'TABLE_all',
        `if pg_trigger_depth() = 1 then ${COUNT.replace('TABLE', 'TABLE_all')} end if;`,
      ),
    ],
  },
  SQLite: {
    'a trigger after the write': [
      BASE.replace('TABLE_all', 'TABLE'),
      `create trigger TABLE_i after insert on TABLE begin ${COUNT} end`,
      `create trigger TABLE_u after update of name on TABLE when new.name <> upper(new.name) begin ${COUNT} end`,
    ],
    'a view with triggers': [
      BASE,
      'create view TABLE as select * from TABLE_all',
      `create trigger TABLE_i instead of insert on TABLE begin ${INSTEAD.insert} end`,
      `create trigger TABLE_u instead of update on TABLE begin ${INSTEAD.update} end`,
    ],
  },
}

describe.each(NAMES)('in %s', name => {
  test.each(Object.entries(MADE[name]))('what %s makes is in the answer', async (_what, made) => {
    const served = await serve(name, made, NAMED, { fields: { seen: 'readOnly' } })
    const { ask, errors } = served
    const all = await createAll(served, { name: 'ann' })
    expect(all.map(each => each.name)).toEqual(all.map(() => 'ANN'))
    expect(all.map(({ seen }) => seen)).toEqual(all.map(() => 1))
    const { etag, json } = await ask('GET', '/cars/1')
    const keyed = { 'if-match': etag ?? '', 'idempotency-key': 'p' }
    const patched = await ask('PATCH', '/cars/1', { name: 'bob' }, keyed)
    expect([patched.status, patched.json]).toEqual([200, { ...json, name: 'BOB', seen: 2 }])
    expect(await ask('GET', '/cars/1')).toEqual(patched)
    expect(await ask('PATCH', '/cars/1', { name: 'bob' }, keyed)).toEqual(patched)
    expect(errors).toEqual([])
  })
})

describe('a view that casts', () => {
  const made = [
    "create type TABLE_mood as enum ('sad', 'ok')",
    'create table TABLE_all (id int primary key, note text, mood TABLE_mood not null)',
    'create view TABLE as select id, note, mood::text as mood from TABLE_all',
  ]
  const schema = z.object({ note: z.string(), mood: z.enum(['sad', 'ok']) })

  test('is named where writes of it fail', async () => {
    const { ask, say, warnings } = await serve('PostgreSQL', made, schema)
    expect(warnings).toEqual([
      expect.stringContaining('computes columns, so that each write of them fails: "mood"'),
    ])
    await say("insert into TABLE_all values (1, 'a', 'ok')")
    expect((await ask('PATCH', '/cars/1', { note: 'b' })).json).toEqual({
      id: 1,
      note: 'b',
      mood: 'ok',
    })
    expect((await ask('GET', '/health')).json).toEqual({
      status: 'degraded',
      creates_fail: ['cars'],
    })
  })

  test('takes writes by triggers, and makes no index', async () => {
    const triggers = inPostgres(
      'instead of insert or update',
      'TABLE',
      `if tg_op = 'INSERT' then insert into TABLE_all values (new.id, new.note, new.mood::TABLE_mood);
       else update TABLE_all set note = new.note, mood = new.mood::TABLE_mood where id = old.id; end if;`,
    )
    const served = await serve('PostgreSQL', [...made, ...triggers], schema, { create: true })
    expect(served.warnings.filter(each => each.startsWith('TABLE'))).toEqual([])
    await createAll(served, { note: 'a', mood: 'ok' })
    expect((await served.ask('PATCH', '/cars/1', { mood: 'sad' })).json.mood).toBe('sad')
  })
})
