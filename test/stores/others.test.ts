// Tables of others whose columns, keys and rules are not those that the store would make: what is
// served of them is what is there, and what cannot be is refused in words.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

type Row = Record<string, unknown>

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Table {
  ask(
    method: string,
    path: string,
    json?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  say(text: string): Promise<Row[]>
  /** The messages that `onError` was given. */
  readonly errors: string[]
  close(): Promise<void>
}

let tables = 0

/** @param made statements, in which TABLE stands for a new table. */
async function tableOf(
  db: Kysely<unknown>,
  made: readonly string[],
  schema: z.ZodObject,
  options: Partial<SqlStoreOptions> & { readonly id?: 'integer' | 'uuid' } = {},
): Promise<Table> {
  const table = `others_${++tables}`
  const say = async (text: string) =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text.replaceAll('TABLE', table)))).rows
  for (const statement of made) await say(statement)
  const { id = 'integer', ...rest } = options
  const store = sqlStore({ db, table, version: false, ...rest })
  const errors: string[] = []
  const cars = defineCollection({ name: 'cars', schema, store, id, timestamps: false })
  const { fetch } = defineApi({
    collections: [cars],
    onError: error => {
      errors.push(error instanceof Error ? error.message : String(error))
    },
  })
  return {
    async ask(method, path, json, headers = {}) {
      const body = json === undefined ? {} : { body: JSON.stringify(json) }
      const request = new Request(new URL(path, 'http://a.example'), {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        redirect: 'manual',
        ...body,
      })
      const answer = await fetch(request)
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    },
    say,
    errors,
    close: () => store.close(),
  }
}

const SEQUENCES =
  'create table if not exists rest_sequences (name varchar(99) primary key, last_id varchar(99) not null)'

describe.each([
  [
    'PostgreSQL',
    async () => openPostgres(),
    ['create unique index on TABLE (lower(color))', 'create unique index on TABLE (tenant, name)'],
  ],
  [
    'SQLite',
    () => openDatabase(),
    [
      'create unique index x on TABLE (lower(color))',
      'create unique index y on TABLE (tenant, name)',
    ],
  ],
] as const)('unique indexes of others in %s', (_name, open, indexes) => {
  it('give away no column and no SQL', async () => {
    const schema = z.object({ color: z.string(), name: z.string() })
    const made = [
      'create table TABLE (id int primary key, color varchar(20), name varchar(20), tenant int default 1)',
      ...indexes,
      SEQUENCES,
    ]
    const { ask, close } = await tableOf(await open(), made, schema)
    expect((await ask('POST', '/cars', { color: 'a', name: 'a' })).status).toBe(201)
    const named = await ask('POST', '/cars', { color: 'b', name: 'a' })
    expect(named.status).toBe(409)
    expect(JSON.parse(named.text).errors).toEqual([
      { message: 'Another item has the same name', code: 409, field: 'name', type: 'not_unique' },
    ])
    const unnamed = await ask('POST', '/cars', { color: 'A', name: 'b' })
    expect(unnamed.status).toBe(409)
    // An index of an expression may name the fields that it is about.
    expect(JSON.parse(unnamed.text).errors).toMatchObject([{ code: 409, type: 'not_unique' }])
    expect(unnamed.text).toMatch(/"Another item has the same (?:values|color)"/)
    await close()
  })
})

/** The ids of a list, page by page of one item. */
async function walked({ ask }: Table, query: string): Promise<number[]> {
  const ids: number[] = []
  for (let path: string | undefined = `/cars?limit=1&${query}`; path !== undefined; ) {
    const { text, headers } = await ask('GET', path)
    ids.push(...(JSON.parse(text) as { id: number }[]).map(({ id }) => id))
    expect(ids.length).toBeLessThan(20)
    const links: ReturnType<typeof parseLink> = parseLink(headers.get('link') ?? '')
    path = links?.find(({ rel }) => rel === 'next')?.href
  }
  return ids
}

const NUMBER = z.object({ value: z.number().nullable() })
const TEXT = z.object({ value: z.string().nullable() })
const NULLISH = z.object({ value: z.string().nullish() })

/** Columns that cannot be served: the type, and what the error says. */
const REFUSED: readonly [type: string, schema: z.ZodObject, message: RegExp][] = [
  ['real', z.object({ value: z.int() }), /"value" is real, .* as a whole number; declare a number/],
  ['bigint', NUMBER, /is bigint, .*; declare a whole number, or declare a string, or serve a view/],
  ['money', NUMBER, /is money, .* as a number; declare a string, or serve a view that casts it/],
  ['char(4)', NUMBER, /is character\(4\), .* as a number; declare a string, or serve a view/],
  ['mood', NUMBER, /is mood \["z", "m", "a"\], .*; declare a string, or serve a view/],
  [
    'timestamp',
    z.object({ value: z.iso.datetime() }),
    /is timestamp without time zone, .*; set timezone: 'UTC'/,
  ],
  ['date', TEXT, /is date, .* as a string; declare a date, or serve a view/],
  ['int', z.object({ value: z.boolean() }), /is integer, .* as a boolean; declare a whole number/],
  ['positive', TEXT, /is integer, .* as a string; declare a whole number/],
  ['of_domain', TEXT, /is integer, .* as a string; declare a whole number/],
  ['text', z.object({ other: z.string() }), /it has no column "other"/],
  [
    'varchar(9)',
    NULLISH,
    /both null and absent, .* set \{ json: false } .* or use \.nullable\(\) alone/,
  ],
  ['int', z.object({ value: z.int().nullish() }), /both null and absent, .* \{ json: false }/],
]

/** Views that cast such columns: the type, the cast, and the values of rows 1 to 5. */
const CAST: readonly [
  type: string,
  cast: string,
  values: readonly string[],
  filters: Record<string, number[]>,
][] = [
  [
    'real',
    'value::text::double precision',
    ['0.1', 'null', '0.7', '0.3', '5'],
    { '=0.1': [1], '[gt]=0.1': [3, 4, 5] },
  ],
  [
    'numeric',
    'value::double precision',
    ['12345678901234567.1', '12345678901234567.9', '12345678901234568.2', '5', 'null'],
    { '=12345678901234568': [1, 2, 3], '[lt]=6': [4] },
  ],
  [
    'char(4)',
    'value::text',
    ["'b'", "'a'", "'B'", "'A'", "'c'"],
    { '=a': [2], '[prefix]=a': [2], '[gt]=b': [5] },
  ],
  [
    'mood',
    'value::text',
    ["'z'", "'a'", 'null', "'m'", "'z'"],
    { '=z': [1, 5], '[gte]=m': [1, 4, 5] },
  ],
  [
    'bigint',
    'value::text',
    ['9007199254740993', '9007199254740992', '2', '1', 'null'],
    { '=9007199254740993': [1] },
  ],
]

const TYPES = [
  'drop domain if exists positive cascade',
  'drop type if exists mood cascade',
  "create type mood as enum ('z', 'm', 'a')",
  'create domain positive as int check (value > 0)',
  'create domain of_domain as positive',
]

describe('columns of others in PostgreSQL', () => {
  const open = () => openPostgres()
  const made = (type: string) => [
    ...TYPES,
    `create table TABLE (id int primary key, value ${type})`,
  ]

  it.each(REFUSED)('of the type %s are not served as they are', async (type, schema, message) => {
    const table = await tableOf(open(), made(type), schema)
    for (const path of ['/cars', '/cars/1', '/cars/count']) {
      const { status, text } = await table.ask('GET', path)
      expect(status).toBe(500)
      expect(text).not.toContain('column')
    }
    expect(table.errors[0]).toMatch(message)
    expect(table.errors[0]).toMatch(/^The table others_\d+:\s(?:- )?(?:its column "|it has no)/)
    expect(table.errors).toHaveLength(3)
    await table.close()
  })

  it('of texts that may be null or absent: as JSON only where that is said', async () => {
    const rows = ["insert into TABLE values (1, '030'), (2, null)", SEQUENCES]
    const plain = await tableOf(open(), [...made('varchar(9)'), ...rows], NULLISH, {
      columns: { value: { json: false } },
    })
    expect((await plain.ask('POST', '/cars', { value: '040' })).status).toBe(201)
    expect(await plain.say('select value from TABLE order by id')).toEqual(
      ['030', null, '040'].map(value => ({ value })),
    )
    expect(JSON.parse((await plain.ask('GET', '/cars')).text)).toEqual(
      ['030', null, '040'].map((value, at) => ({ id: at + 1, value })),
    )
    await plain.close()
    const json = await tableOf(open(), [...made('varchar(9)'), SEQUENCES], NULLISH, {
      columns: { value: { json: true } },
    })
    for (const body of [{ value: '040' }, { value: null }, {}]) {
      expect((await json.ask('POST', '/cars', body)).status).toBe(201)
    }
    expect(await json.say('select value from TABLE order by id')).toEqual(
      ['"040"', 'null', null].map(value => ({ value })),
    )
    await json.close()
  })

  it.each(CAST)(
    'of the type %s are served by a view with %s',
    async (type, cast, values, filters) => {
      const rows = values.map((value, at) => `(${at + 1}, ${value})`)
      const isNumber = cast.includes('double')
      const table = await tableOf(
        open(),
        [
          ...TYPES,
          `create table TABLE_all (id int primary key, value ${type})`,
          `insert into TABLE_all values ${rows.join()}`,
          `create view TABLE as select id, ${cast} as value from TABLE_all`,
        ],
        isNumber ? NUMBER : TEXT,
      )
      const list = await table.ask('GET', '/cars')
      const items = JSON.parse(list.text) as { id: number; value: string | number | null }[]
      const plain = values.map(value => (value === 'null' ? null : value.replaceAll("'", '')))
      expect(items.map(({ value }) => value)).toEqual(
        plain.map(value => (isNumber && value !== null ? Number(value) : value)),
      )
      const sorted = items.toSorted((a, b) => {
        if (a.value === b.value) return a.id - b.id
        return a.value === null || (b.value !== null && a.value < b.value) ? -1 : 1
      })
      const up = sorted.map(({ id }) => id)
      expect(await walked(table, 'sort=value')).toEqual(up)
      expect(await walked(table, 'sort=-value,-id')).toEqual(up.toReversed())
      for (const [filter, ids] of Object.entries(filters)) {
        expect([filter, await walked(table, `value${filter}`)]).toEqual([filter, ids])
      }
      await table.close()
    },
  )

  it('hold no whole number that would be read as another', async () => {
    const schema = z.object({ value: z.int() })
    const rows = 'insert into TABLE values (1, 9007199254740991), (2, 9007199254740993)'
    const table = await tableOf(open(), [...made('bigint'), rows], schema)
    expect((await table.ask('GET', '/cars/1')).text).toBe('{"id":1,"value":9007199254740991}')
    expect((await table.ask('GET', '/cars/2')).text).toBe('{"id":2,"value":null}')
    expect((await table.ask('GET', '/cars')).status).toBe(200)
    await table.close()
  })

  it('make no id beyond those that are numbers', async () => {
    const schema = z.object({ value: z.string().nullable() })
    const table = await tableOf(
      open(),
      [
        'create table TABLE (id bigint primary key, value varchar(9))',
        "insert into TABLE values (9007199254740993, 'x')",
        SEQUENCES,
      ],
      schema,
    )
    const all = [1, 2].map(() => table.ask('POST', '/cars', { value: 'y' }))
    for (const { status } of await Promise.all(all)) expect(status).toBe(500)
    expect((await table.ask('POST', '/cars', { value: 'y' })).status).toBe(500)
    expect(table.errors.every(each => each.includes('beyond 2^53'))).toBe(true)
    expect((await table.ask('GET', '/cars/count')).text).toBe('{"count":1}')
    await table.close()
  })

  it('must be unique by themselves for ids', async () => {
    const keyed =
      'create table TABLE (tenant int, id int not null, value varchar(9), primary key (tenant, id))'
    const table = await tableOf(
      open(),
      [keyed, "insert into TABLE values (1, 1, 'a'), (2, 1, 'b')"],
      TEXT,
    )
    expect((await table.ask('DELETE', '/cars/1')).status).toBe(500)
    expect(table.errors[0]).toMatch(/its column "id" is the id, but no unique index is on it alone/)
    expect(await table.say('select * from TABLE')).toHaveLength(2)
    // As soon as that is mended it is served.
    await table.say('delete from TABLE where tenant = 2')
    await table.say('create unique index TABLE_x on TABLE (id)')
    expect((await table.ask('GET', '/cars')).text).toBe('[{"id":1,"value":"a"}]')
    await table.close()
  })

  it('are asked for once, and again once the table is there', async () => {
    const { say, ask, close, errors } = await tableOf(open(), [], TEXT)
    expect((await ask('GET', '/cars')).status).toBe(500)
    expect(errors[0]).toMatch(/exist/)
    await say('create table TABLE (id int primary key, value int)')
    expect((await ask('GET', '/cars')).status).toBe(500)
    expect(errors[1]).toMatch(/"value" is int/)
    await say('alter table TABLE drop column value')
    await say('alter table TABLE add column value varchar(9)')
    expect((await ask('GET', '/cars')).status).toBe(200)
    await close()
  })
})

const Kept = z.object({
  note: z.string(),
  amount: z.number(),
  price: z.number(),
  meta: z.record(z.string(), z.number()),
  at: z.iso.datetime(),
})

const WIDE = '{"big": 12345678901234567890, "p": 1.10}'

/** A row that holds more than JavaScript reads of it, and what it holds as texts. */
describe.each([
  [
    'PostgreSQL',
    async () => openPostgres(),
    'id int primary key, note text not null, amount double precision not null, price numeric(10,2) not null, meta jsonb not null, at timestamptz not null',
    'select note, amount::text as amount, meta::text as meta, at::text as at from TABLE where id = 1',
  ],
  [
    'SQLite',
    () => openDatabase(),
    'id integer primary key, note text not null, amount real not null, price real not null, meta json not null, at text not null',
    'select note, amount, meta, at from TABLE where id = 1',
  ],
] as const)('a row of others in %s', (database, open, made, kept) => {
  const at = database === 'SQLite' ? '2024-01-01T00:00:00.123456Z' : '2024-01-01 00:00:00.123456'
  const filled = [
    `create table TABLE (${made})`,
    `insert into TABLE values (1, 'a', '123456789012345.6789', 5, '${WIDE}', '${at}')`,
    SEQUENCES,
  ]
  const versioned = [
    ...filled,
    'alter table TABLE add column version varchar(40)',
    "update TABLE set version = 'v'",
  ]
  it.each([
    ['a hash as its version', filled, false],
    ['a column for its version', versioned, 'version'],
  ] as const)('with %s keeps what a change does not name', async (_name, statements, version) => {
    const table = await tableOf(await open(), statements, Kept, { version })
    const before = await table.say(kept)
    const read = await table.ask('GET', '/cars/1')
    const headers = { 'if-match': read.headers.get('etag') ?? '', prefer: 'return=representation' }
    const patched = await table.ask('PATCH', '/cars/1', { note: 'b' }, headers)
    expect([patched.status, JSON.parse(patched.text)]).toEqual([
      200,
      { ...JSON.parse(read.text), note: 'b' },
    ])
    expect(await table.say(kept)).toEqual([{ ...before[0], note: 'b' }])
    const put = { ...JSON.parse(read.text), note: 'c' }
    expect((await table.ask('PUT', '/cars/1', put)).status).toBe(303)
    expect((await table.ask('PUT', '/cars/1', put)).status).toBe(303)
    expect(await table.say(kept)).toEqual([{ ...before[0], note: 'c' }])
    expect((await table.ask('PATCH', '/cars/1', { note: 'd' }, headers)).status).toBe(412)
    expect((await table.ask('DELETE', '/cars/1')).status).toBe(200)
    await table.close()
  })

  it('is answered as it is kept', async () => {
    const rules = {
      PostgreSQL: [
        `create or replace function TABLE_rule() returns trigger language plpgsql as $$begin new.note := lower(new.note); return new; end$$`,
        'create trigger TABLE_rule before insert or update on TABLE for each row execute function TABLE_rule()',
      ],
      SQLite: [],
    }
    const table = await tableOf(await open(), [...filled, ...rules[database]], Kept)
    const sent = {
      note: 'New',
      amount: 1.5,
      price: 0.125,
      meta: { bb: 1, a: 2 },
      at: '2024-05-06T07:08:09.500Z',
    }
    const posts = [1, 2, 3].map(() => table.ask('POST', '/cars', sent))
    for (const made of [...(await Promise.all(posts)), await table.ask('POST', '/cars', sent)]) {
      expect(made.status).toBe(201)
      const path = made.headers.get('location') ?? ''
      const read = await table.ask('GET', path)
      expect(read.text).toBe(made.text)
      expect(read.headers.get('etag')).toBe(made.headers.get('etag'))
      const headers = {
        'if-match': made.headers.get('etag') ?? '',
        prefer: 'return=representation',
      }
      const changed = await table.ask('PATCH', path, { price: 0.126 }, headers)
      expect(changed.status).toBe(200)
      expect((await table.ask('GET', path)).text).toBe(changed.text)
      const next = { 'if-match': changed.headers.get('etag') ?? '' }
      expect((await table.ask('PATCH', path, { price: 2 }, next)).status).toBe(200)
    }
    await table.close()
  })
})

describe.each([
  ['PostgreSQL', async () => openPostgres()],
  ['SQLite', () => openDatabase()],
] as const)('a view in %s', (database, open) => {
  it('with two rows of one id: neither of them changes', async () => {
    const table = await tableOf(
      await open(),
      [
        'create table TABLE_all (tenant int, id int not null, value varchar(9), primary key (tenant, id))',
        "insert into TABLE_all values (1, 1, 'a'), (2, 1, 'b'), (2, 2, 'c')",
        'create view TABLE as select * from TABLE_all',
        // Views of SQLite are written by triggers alone, which tell of no rows.
        ...(database === 'SQLite'
          ? ['drop view TABLE', 'create temporary table TABLE as select * from TABLE_all']
          : []),
      ],
      TEXT,
    )
    for (const [method, json] of [
      ['PATCH', { value: 'z' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await table.ask(method, '/cars/1', json)).status).toBe(500)
    }
    expect(table.errors).toHaveLength(2)
    for (const message of table.errors)
      expect(message).toMatch(/has 2 rows with the id 1: no row was changed/)
    const values = (await table.say('select value from TABLE order by value')).map(
      ({ value }) => value,
    )
    expect(values).toEqual(['a', 'b', 'c'])
    expect((await table.ask('PATCH', '/cars/2', { value: 'z' })).status).toBe(303)
    expect((await table.ask('DELETE', '/cars/2')).status).toBe(200)
    await table.close()
  })

  it('differs from a table of the store, where a change is one statement', async () => {
    const seen: string[] = []
    const log = ({ sql }: CompiledQuery) => seen.push(sql)
    const db = {
      PostgreSQL: () => openPostgres({}, log),
      SQLite: () => openDatabase(undefined, log),
    }
    const store = sqlStore({ db: await db[database](), table: `own_${++tables}`, create: true })
    const schema = z.object({ color: z.string(), price: z.number(), tags: z.array(z.string()) })
    defineCollection({ name: 'cars', schema, store, indexes: ['color'] })
    const values = { color: 'red', price: 1, tags: [] }
    const made = await createOne(store, values)
    seen.length = 0
    const changed = await updateOne(store, made, { ...values, price: 2 })
    expect(seen.filter(text => text.startsWith('update'))).toHaveLength(1)
    expect(seen).toHaveLength(1)
    seen.length = 0
    expect(await deleteOne(store, { id: made.id, version: changed?.version ?? '' })).toBe(true)
    expect(seen).toHaveLength(1)
    await store.close()
  })
})

describe('columns of others in SQLite', () => {
  it.each(['varchar(9)', 'int'])(
    'of %s are not written as JSON that nobody asked for',
    async type => {
      const made = [`create table TABLE (id integer primary key, value ${type})`, SEQUENCES]
      const table = await tableOf(await openDatabase(), made, NULLISH)
      expect((await table.ask('POST', '/cars', { value: '030' })).status).toBe(500)
      expect(table.errors[0]).toMatch(/its column "value" is .*; set { json: false } for it/)
      await table.close()
    },
  )

  it('of text that is not JSON are null in answers', async () => {
    const made = ['create table TABLE (id integer primary key, value text)']
    const table = await tableOf(await openDatabase(), made, NULLISH)
    await table.say("insert into TABLE values (1, '030')")
    expect((await table.ask('GET', '/cars/1')).text).toBe('{"id":1,"value":null}')
    await table.close()
  })
})
