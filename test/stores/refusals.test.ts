// What rules of a database say of a write: triggers that raise errors, policies, grants, exclusions, columns that need a
// value. The client reads the status that is meant, and no words of the database unless the user wants them to be read.
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { RefusedError } from '../../src/store-authors/index.ts'
import { openHandler } from '../handlers.ts'
import { makeKept, type Name, ROLE, useKeptTables } from './kept-tables.ts'

useKeptTables()

const OPERATIONS = ['list', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany'] as const

/** Serves a table with ids of the library, and notes what is reported. */
async function serve<S extends z.ZodObject>(
  name: Name,
  made: readonly string[],
  schema: S,
  options: { databaseMessages?: boolean; columns?: Record<string, string> } = {},
) {
  const { db, table, say } = await makeKept(name, made)
  const notes = defineCollection({
    name: 'notes',
    schema,
    store: sqlStore({ db, table, version: false, ...options }),
    id: 'integer',
    timestamps: false,
    operations: OPERATIONS,
  })
  const reported: unknown[] = []
  const onError = (error: unknown) => void reported.push(error)
  const api = defineApi({ collections: { notes }, onError })
  const { request } = await openHandler('fetch', api)
  return { request, reported, say, notes: api.collection(notes) }
}

const NOTE = z.object({ name: z.string() })
const TABLE = 'create table TABLE (id integer primary key, name text not null)'

/** A trigger that raises the code in the name of a note. */
const RAISES = [
  TABLE,
  "insert into TABLE values (1, 'one'), (2, 'U0001')",
  `create function TABLE_rule() returns trigger language plpgsql as $$
    declare name text := case tg_op when 'DELETE' then old.name else new.name end;
    begin if name ~ '^[A-Z0-9]{5}$' then raise exception using errcode = name, message = 'secret: ' || name; end if;
    return case tg_op when 'DELETE' then old else new end; end $$`,
  'create trigger TABLE_rule before insert or update or delete on TABLE for each row execute function TABLE_rule()',
]

const REFUSED = 'refused_by_database'

describe('an error that a trigger of PostgreSQL raises', () => {
  const CODES = [
    ['P0001', 400, REFUSED],
    ['PT402', 402, REFUSED],
    ['PT404', 404, REFUSED],
    ['PT503', 503, REFUSED],
    // No status of an error.
    ['PT200', 400, REFUSED],
    ['PT700', 400, REFUSED],
    ['45000', 400, REFUSED],
    ['56000', 400, REFUSED],
    ['90001', 400, REFUSED],
    ['U0001', 400, REFUSED],
    ['42501', 403, REFUSED],
    ['44000', 403, REFUSED],
    ['23514', 400, REFUSED],
    ['22003', 400, REFUSED],
    ['23505', 409, 'not_unique'],
    ['23503', 409, 'conflict'],
    ['23P01', 409, REFUSED],
    ['57014', 503, 'unavailable'],
    ['08006', 503, 'unavailable'],
    ['53100', 503, 'disk_full'],
    ['25006', 503, 'read_only'],
    // Faults of a function or of the server: nobody but the user of the library can mend them.
    ['P0002', 500, 'internal'],
    ['P0004', 500, 'internal'],
    ['XX000', 500, 'internal'],
    ['55000', 500, 'internal'],
    ['42P01', 500, 'internal'],
    ['F0000', 500, 'internal'],
  ] as const

  describe.each([false, true])('databaseMessages: %s', databaseMessages => {
    let served: ReturnType<typeof serve>
    beforeAll(() => {
      served = serve('PostgreSQL', RAISES, NOTE, { databaseMessages })
    })

    test.each(CODES)('%s', async (code, status, type) => {
      const { request, reported } = await served
      reported.length = 0
      const answer = await request('/notes', { method: 'POST', json: { name: code } })
      expect([answer.status, answer.json]).toMatchObject([status, { errors: [{ type }] }])
      const isShown = databaseMessages && type === REFUSED && code !== '23P01'
      if (isShown) expect(answer.json).toMatchObject({ errors: [{ message: `secret: ${code}` }] })
      else expect(answer.text).not.toContain('secret')
      expect(reported).toHaveLength(status < 500 ? 0 : 1)
    })
  })

  test('each way of writing is answered alike, and nothing is written', async () => {
    const { request, reported, say, notes } = await serve('PostgreSQL', RAISES, NOTE)
    const before = await say('select * from TABLE order by id')
    const json = { name: 'PT402' }
    for (const [method, path, body, status] of [
      ['POST', '/notes', json, 402],
      ['POST', '/notes', [{ name: 'two' }, json, { name: 'three' }], 402],
      ['PATCH', '/notes/1', json, 402],
      ['PUT', '/notes/1', json, 402],
      ['PATCH', '/notes?name=one', json, 402],
      ['DELETE', '/notes/2', undefined, 400],
    ] as const) {
      const answer = await request(path, { method, json: body })
      const errors = [{ type: REFUSED, code: status }]
      expect([method, path, answer.status, answer.json]).toMatchObject([
        method,
        path,
        status,
        { errors },
      ])
      if (Array.isArray(body)) expect(answer.json).toMatchObject({ errors: [{ field: '1' }] })
    }
    await expect(notes.create(json)).rejects.toThrow(RefusedError)
    expect(await say('select * from TABLE order by id')).toEqual(before)
    expect(reported).toEqual([])
  })

  test('of creates at the same time only those that it is about fail', async () => {
    const { request } = await serve('PostgreSQL', RAISES, NOTE)
    const names = ['a', 'PT402', 'b', 'U0001', 'c', '42501']
    const answers = await Promise.all(
      names.map(name => request('/notes', { method: 'POST', json: { name } })),
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 402, 201, 400, 201, 403])
  })
})

test.each([
  ['alone', { name: 'PT402' }],
  ['in a transaction', [{ name: 'one' }, { name: 'PT402' }]],
])('a trigger that raises at the commit: %s', async (_, json) => {
  const deferred = RAISES.map(each =>
    each
      .replace('create trigger', 'create constraint trigger')
      .replace(
        'before insert or update or delete on TABLE',
        'after insert on TABLE deferrable initially deferred',
      ),
  )
  const { request, reported } = await serve('PostgreSQL', deferred, NOTE)
  const { status, text } = await request('/notes', { method: 'POST', json })
  expect([status, text, reported]).toEqual([402, expect.not.stringContaining('secret'), []])
})

describe.each([false, true])('raise(abort, …) in SQLite, databaseMessages: %s', shown => {
  test.each(['secret', 'UNIQUE constraint failed: secret.name'])('%s', async says => {
    const made = [
      TABLE,
      "insert into TABLE values (1, 'one')",
      ...['insert', 'update'].map(
        event =>
          `create trigger TABLE_${event} before ${event} on TABLE when new.name = 'no' begin select raise(abort, '${says}'); end`,
      ),
    ]
    const { request } = await serve('SQLite', made, NOTE, { databaseMessages: shown })
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PATCH', '/notes/1'],
    ] as const) {
      const { status, json, text } = await request(path, { method, json: { name: 'no' } })
      expect([status, json]).toMatchObject([400, { errors: [{ type: REFUSED }] }])
      if (shown) expect(json).toMatchObject({ errors: [{ message: says }] })
      else expect(text).not.toContain('secret')
    }
  })
})

describe('what the user of the database may', () => {
  test('a policy refuses new and changed rows: 403', async () => {
    const made = [
      TABLE,
      "insert into TABLE values (1, 'mine')",
      'alter table TABLE enable row level security',
      "create policy p on TABLE using (name like 'mine%') with check (name like 'mine%')",
    ]
    const { request, reported } = await serve('PostgreSQL', made, NOTE, { databaseMessages: true })
    const ask = (method: string, path: string, name: string) =>
      request(path, { method, json: { name } })
    expect((await ask('POST', '/notes', 'mine too')).status).toBe(201)
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PATCH', '/notes/1'],
      ['PUT', '/notes/1'],
    ] as const) {
      const { status, json, text } = await ask(method, path, 'yours')
      expect([status, json]).toMatchObject([403, { errors: [{ type: REFUSED }] }])
      // Its message names the table.
      expect(text).not.toMatch(/policy|kept_|table/)
    }
    expect(reported).toEqual([])
  })

  test('the check option of a view refuses rows that it would not have: 403', async () => {
    const made = [
      TABLE.replace('TABLE', 'TABLE_all'),
      "create view TABLE as select * from TABLE_all where name like 'mine%' with check option",
    ]
    const { request } = await serve('PostgreSQL', made, NOTE, { databaseMessages: true })
    const { status, text } = await request('/notes', { method: 'POST', json: { name: 'yours' } })
    expect(status).toBe(403)
    expect(text).not.toContain('_all')
  })

  test('a missing grant is a 500 that is reported', async () => {
    const { request, reported, say } = await serve('PostgreSQL', [TABLE], NOTE, {
      databaseMessages: true,
    })
    await request('/notes')
    await say(`revoke insert on TABLE from ${ROLE}`)
    const { status, json } = await request('/notes', { method: 'POST', json: { name: 'one' } })
    expect([status, json]).toMatchObject([500, { errors: [{ type: 'internal' }] }])
    expect(reported).toMatchObject([{ code: '42501' }])
  })
})

const BOOKING = z.object({ room: z.string(), from: z.int(), to: z.int() })

test.each([
  ['columns', `exclude (room with =)`, ['room']],
  ['an expression', `exclude using gist (int4range("from", "to") with &&)`, ['from', 'to']],
  ['renamed columns', `exclude (lower((room || 'from, room')::text) with =)`, ['room']],
  // What the declaration does not know is not named.
  ['a column of others', 'exclude (hidden with =)', []],
] as const)('an exclusion names the fields of its constraint: %s', async (_, rule, fields) => {
  const made = [
    `create table TABLE (id integer primary key, room text, "from" int, "to" int, hidden int default 1, ${rule})`,
  ]
  const { request, reported } = await serve('PostgreSQL', made, BOOKING)
  const json = { room: 'blue', from: 1, to: 5 }
  expect((await request('/notes', { method: 'POST', json })).status).toBe(201)
  const { status, json: errors } = await request('/notes', { method: 'POST', json })
  expect(status).toBe(409)
  const named = fields.length === 0 ? [{}] : fields.map(field => ({ field }))
  expect(errors).toMatchObject({ errors: named.map(each => ({ ...each, type: REFUSED })) })
  expect(reported).toEqual([])
})

test('a unique index on an expression names the fields in it', async () => {
  const made = [TABLE, 'create unique index on TABLE (lower(name))']
  const { request } = await serve('PostgreSQL', made, NOTE)
  await request('/notes', { method: 'POST', json: { name: 'one' } })
  const { status, json } = await request('/notes', { method: 'POST', json: { name: 'ONE' } })
  expect([status, json]).toMatchObject([409, { errors: [{ type: 'not_unique', field: 'name' }] }])
})

describe.each(['PostgreSQL', 'SQLite'] as const)('a column of %s that needs a value', name => {
  const made = [
    'create table TABLE (id integer primary key, name text not null, col text not null)',
    "insert into TABLE values (1, 'one', 'red')",
  ]

  test('is required by its field', async () => {
    const schema = z.object({ name: z.string(), color: z.string().optional() })
    const { request } = await serve(name, made, schema, { columns: { color: 'col' } })
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PUT', '/notes/1'],
    ] as const) {
      const { status, json } = await request(path, { method, json: { name: 'two' } })
      const errors = [{ type: 'required', field: 'color' }]
      expect([status, json]).toMatchObject([400, { errors }])
    }
  })

  test('is a 500 where the schema lacks it', async () => {
    const { request, reported } = await serve(name, made, NOTE)
    const { status, text } = await request('/notes', { method: 'POST', json: { name: 'two' } })
    expect(status).toBe(500)
    expect(text).not.toContain('col')
    expect(reported).toMatchObject([{ message: expect.stringContaining('"col"') }])
  })
})

describe('a key to a table that no collection serves', () => {
  const made = (more: string) => [
    'create table TABLE_owners (id integer, day date, primary key (id, day))',
    `create table TABLE (id integer primary key, name text, owner integer, day date, parent integer references TABLE,
      foreign key (owner, day) references TABLE_owners ${more})`,
    "insert into TABLE (id, name, parent) values (1, 'one', null), (2, 'two', 1)",
  ]
  const OWNED = z.object({
    name: z.string().optional(),
    owner: z.int().optional(),
    since: z.iso.date().optional(),
    parent: z.int().optional(),
  })
  const open = (more = '') => serve('PostgreSQL', made(more), OWNED, { columns: { since: 'day' } })

  test.each([
    ['at once', ''],
    ['at the commit', 'deferrable initially deferred'],
  ])('names the fields that refer to nothing: %s', async (_, more) => {
    const { request, reported } = await open(more)
    const json = { owner: 1, since: '2024-02-28' }
    for (const [method, path, body] of [
      ['POST', '/notes', json],
      ['POST', '/notes', [{ name: 'three' }, json]],
      ['PATCH', '/notes/1', json],
      ['PUT', '/notes/1', json],
      ['PATCH', '/notes?name=one', json],
    ] as const) {
      const { status, json: answer } = await request(path, { method, json: body })
      const errors = ['owner', 'since'].map(field => ({
        field: expect.stringContaining(field),
        type: 'unknown_reference',
      }))
      expect([method, path, status, answer]).toMatchObject([method, path, 400, { errors }])
    }
    expect(reported).toEqual([])
  })

  test('does not name the id of a row that others refer to', async () => {
    const { request } = await open()
    const { status, json } = await request('/notes/1', { method: 'DELETE' })
    expect([status, json]).toMatchObject([409, { errors: [{ type: 'conflict' }] }])
  })
})
