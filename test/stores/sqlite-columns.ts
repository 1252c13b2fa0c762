// What columns of SQLite of other programs are served as: stored value × declared type, and what `open()` says. Each driver
// runs these cases.
import { CompiledQuery, type Kysely } from 'kysely'
import { defineApi, defineCollection } from 'rest-conventions'
import { type ColumnOptions, sqlStore } from 'rest-conventions/sql'
import { z } from 'zod'

const TIME = z.iso.datetime().nullable()
const DAY = z.iso.date().nullable()
const FLAG = z.boolean().nullable()
const NUMBER = z.number().nullable()
const WHOLE = z.int().nullable()
const STRING = z.string().nullable()
const LIST = z.array(z.string()).nullable()

type Form = ColumnOptions['type']
const D = '2026-05-01T12:00:00.000Z'

/** The type of the column, the stored value, the schema, what is served, what the warning has, the declared form. */
type Served = readonly [
  type: string,
  stored: string,
  schema: z.ZodType,
  shown: unknown,
  told?: string | undefined,
  form?: Form | undefined,
]

const words = (no: string, yes: string): Served[] =>
  (['boolean', 'varchar(5)', 'integer', ''] as const).flatMap((type): Served[] => [
    [type, `'${no}'`, FLAG, false, undefined, `${yes}/${no}` as Form],
    [type, `'${yes}'`, FLAG, true, undefined, `${yes}/${no}` as Form],
    [type, "'maybe'", FLAG, null, 'declare what the column holds', `${yes}/${no}` as Form],
  ])

const SERVED: readonly Served[] = [
  ['boolean', '1', FLAG, true],
  ['integer', '0', FLAG, false],
  ['boolean', "'t'", FLAG, null, `{ "value": { type: 't/f' } }`],
  ['integer', "'true'", FLAG, null, `{ "value": { type: 'true/false' } }`],
  ['boolean', "'N'", FLAG, null, `{ "value": { type: 'Y/N' } }`],
  ['tinyint(1)', "'yes'", FLAG, null, `{ "value": { type: 'yes/no' } }`],
  ['boolean', '2', FLAG, null, 'declare what the column holds'],
  ['', "'1'", FLAG, null, 'declare what the column holds'],
  ...[words('f', 't'), words('false', 'true'), words('N', 'Y'), words('no', 'yes')].flat(),
  ['real', "'1.5'", NUMBER, 1.5],
  ['real', "'1,5'", NUMBER, null, 'declare what the column holds'],
  ['numeric(9,2)', "'n/a'", NUMBER, null, 'declare what the column holds'],
  ['integer', "'many'", WHOLE, null, 'declare what the column holds'],
  ['integer', "''", WHOLE, null, 'declare what the column holds'],
  ['integer', '9007199254740993', WHOLE, null, 'declare what the column holds'],
  ['real', '9e999', NUMBER, null, 'declare what the column holds'],
  ['integer', "x'05'", WHOLE, null, 'declare what the column holds'],
  ['', "'5'", NUMBER, null, 'declare what the column holds'],
  ['real', "'0x1A'", NUMBER, null, 'declare what the column holds'],
  ['text', "x'0502'", STRING, null, 'declare what the column holds'],
  ['', '7', STRING, null, 'declare what the column holds'],
  ['string', "'007'", STRING, '7'],
  ['text', "'2026-05-01T12:00:00Z'", TIME, '2026-05-01T12:00:00Z'],
  ['datetime', "'2026-05-01 12:00:00'", TIME, '2026-05-01T12:00:00Z'],
  ['datetime', '1777636800', TIME, null, `{ "value": { type: 'unix seconds' } }`],
  ['datetime', '1777636800000', TIME, null, `{ "value": { type: 'unix milliseconds' } }`],
  ['timestamp', '2461162.0', TIME, null],
  ['datetime', "'1.5.2026'", TIME, null, 'declare what the column holds'],
  ['integer', '1777636800', TIME, D, undefined, 'unix seconds'],
  ['real', '1777636800.0', TIME, D, undefined, 'unix seconds'],
  ['real', '1777636800.0004', TIME, D, undefined, 'unix seconds'],
  ['double', '1777636799.9996', TIME, D, undefined, 'unix seconds'],
  ['float', '1777636800000.4', TIME, D, undefined, 'unix milliseconds'],
  ['integer', '1777636800000', TIME, D, undefined, 'unix milliseconds'],
  [
    'integer',
    '1777636800000',
    TIME,
    null,
    `{ "value": { type: 'unix milliseconds' } }`,
    'unix seconds',
  ],
  ['integer', "'2026-05-01 12:00:00'", TIME, null, "{ type: 'datetime utc' }", 'unix seconds'],
  ['datetime', "'2026-05-01 12:00:00'", TIME, D, undefined, 'datetime utc'],
  ['text', "'2026-05-01 12:00:00'", TIME, D, undefined, 'datetime utc'],
  ['text', `'${D}'`, TIME, D, undefined, 'datetime utc'],
  [
    'text',
    "'2026-05-01 12:00:00.123456'",
    TIME,
    '2026-05-01T12:00:00.123456Z',
    undefined,
    'datetime utc',
  ],
  ['text', "'2026-05-01'", TIME, null, 'declare what the column holds', 'datetime utc'],
  ['text', "'2026-02-30 12:00:00'", TIME, null, 'declare what the column holds', 'datetime utc'],
  ['date', "'2026-05-01'", DAY, '2026-05-01'],
  ['date', "'2026-05-01 00:00:00'", DAY, null, 'declare what the column holds'],
  ['date', '20260501', DAY, null, 'declare what the column holds'],
  ['json', `'["a"]'`, LIST, ['a']],
  ['text', "'{'", LIST, null, 'declare what the column holds'],
  ['blob', `cast('["a"]' as blob)`, LIST, null, 'declare what the column holds'],
]

const CAST = 'or serve a view that casts it'

/** The type of the column, the schema, what the refusal says, the declared form. */
type Refused = readonly [type: string, schema: z.ZodType, said: string, form?: Form]

const REFUSED: readonly Refused[] = [
  ['varchar(5)', FLAG, "'t/f', 'true/false', 'Y/N', 'yes/no'"],
  ['text', FLAG, 'is TEXT, which cannot be read, compared and sorted as a boolean'],
  ['text', NUMBER, `declare a string, or declare JSON, ${CAST}`],
  ['varchar(9)', WHOLE, 'as a whole number'],
  ['integer', STRING, 'as a string; declare a whole number'],
  ['decimal(9,2)', STRING, 'declare a number'],
  ['real', DAY, 'as a date;'],
  ['integer', TIME, "'datetime utc', 'unix seconds', 'unix milliseconds'"],
  ['bigint', TIME, 'as a date and time'],
  ['integer', LIST, 'as JSON'],
  ['text', TIME, 'is TEXT, which cannot', 'unix seconds'],
]

/** A table of one row: its id, and the value. */
async function serve(
  db: Kysely<unknown>,
  [type, stored, schema, form]: readonly [string, string, z.ZodType, Form?],
) {
  const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await say('drop table if exists rows_of_others')
  await say(`create table rows_of_others (id integer primary key, value ${type})`)
  await say(`insert into rows_of_others values (1, ${stored}), (2, null)`)
  const store = sqlStore({
    db,
    table: 'rows_of_others',
    version: false,
    create: 'records',
    ...(form !== undefined && { columns: { value: { type: form } } }),
  })
  const rows = defineCollection({
    name: 'rows',
    schema: z.object({ value: schema }),
    store,
    id: 'integer',
    timestamps: false,
  })
  return { api: defineApi({ collections: { rows } }), say }
}

/** Runs work, and returns the warnings of meanwhile. */
async function listen<T>(work: () => Promise<T>): Promise<readonly [T, string]> {
  const told: string[] = []
  const tell = ({ message }: Error) => void told.push(message)
  process.on('warning', tell)
  try {
    const made = await work()
    await new Promise(setImmediate)
    return [made, told.join('\n')]
  } finally {
    process.off('warning', tell)
  }
}

/** Tries all cases, and returns what is otherwise than they say. */
export async function findMisread(db: Kysely<unknown>): Promise<string[]> {
  const failed: string[] = []
  const check = (what: string, isRight: boolean) => void (isRight || failed.push(what))
  for (const [type, stored, schema, shown, told, form] of SERVED) {
    const name = `${stored} in ${type || 'no type'}${form ? ` as ${form}` : ''}`
    const { api, say } = await serve(db, [type, stored, schema, form])
    const [, said] = await listen(() => api.open())
    const isTold = told === undefined ? shown === null || said === '' : said.includes(told)
    check(`${name}: open() says ${said || 'nothing'}`, isTold)
    const ask = async (query: string) =>
      (await api.fetch(new Request(`http://x/rows?${query}`))).text()
    const found = JSON.parse(await ask(''))
    check(
      `${name}: ${JSON.stringify(found)}, not ${shown}`,
      JSON.stringify(found[0].value) === JSON.stringify(shown),
    )
    if (shown !== null && typeof shown !== 'object') {
      for (const test of ['', ...(typeof shown === 'boolean' ? [] : ['[gte]', '[lte]'])]) {
        const query = `value${test}=${encodeURIComponent(String(shown))}&fields=id`
        check(`${name}: ${query} finds ${await ask(query)}`, (await ask(query)) === '[{"id":1}]')
      }
      const put = { method: 'PATCH', headers: { 'content-type': 'application/json' } }
      const body = JSON.stringify({ value: shown })
      await api.fetch(new Request('http://x/rows/2', { ...put, body }))
      const both = await ask('fields=value')
      const equal = JSON.stringify([{ value: shown }, { value: shown }])
      check(`${name}: written back it is ${both}`, both === equal)
    }
    await say('delete from rows_of_others')
    await api.close()
  }
  for (const [type, schema, said, form] of REFUSED) {
    const { api } = await serve(db, [type, 'null', schema, form])
    const message = await api.open().then(
      () => 'nothing',
      error => String(error),
    )
    check(`${type}: open() says ${message}`, message.includes(said))
    await api.close()
  }
  return failed
}

/** Dates of writes that the database fills in: by their declared form, what is not found. */
export async function findMissorted(db: Kysely<unknown>): Promise<string[]> {
  const failed: string[] = []
  for (const type of [undefined, 'datetime utc'] as const) {
    const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
    const date = 'datetime not null default current_timestamp'
    await say('drop table if exists notes')
    await say(
      `create table notes (id integer primary key, name text not null, created_at ${date}, updated_at ${date})`,
    )
    await say(
      "insert into notes (name, created_at) values ('noon', '2026-05-01 12:00:00'), ('morning', '2026-05-01T08:00:00.000Z'), ('night', '2026-05-01 23:00:00.500')",
    )
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({ name: z.string() }),
      id: 'integer',
      store: sqlStore({
        db,
        version: false,
        create: true,
        clock: () => Date.parse('2026-05-02T01:02:03.004Z'),
        ...(type && { columns: { created_at: { type }, updated_at: { type } } }),
      }),
    })
    const api = defineApi({ collections: { notes } })
    const [, said] = await listen(() => api.open())
    const isTold = said.includes(`Declare columns: { "created_at": { type: 'datetime utc' }`)
    if (isTold !== (type === undefined)) failed.push(`${type}: open() says ${said}`)
    const calls = api.collection('notes')
    const made = await calls.create({ name: 'ours' })
    const names = async (query: object) =>
      (await calls.list({ sort: 'created_at', ...query }).toArray()).map(({ name }) => name).join()
    const noon = (await calls.read(1)).created_at
    const answers = [
      [await names({}), 'morning,noon,night,ours'],
      [await names({ sort: '-created_at' }), 'ours,night,noon,morning'],
      [await names({ since: '2026-05-01T10:00:00Z' }), 'noon,night,ours'],
      [await names({ until: '2026-05-01T10:00:00Z' }), 'morning'],
      [await names({ created_at: noon }), 'noon'],
      [await names({ created_at: { gt: noon, lt: made.created_at } }), 'night'],
      [await names({ created_at: { in: [made.created_at] } }), 'ours'],
      [made.created_at, '2026-05-02T01:02:03.004Z'],
    ]
    for (const [found, wanted] of answers)
      if (found !== wanted) failed.push(`${type}: ${found}, not ${wanted}`)
    const paged: string[] = []
    for (let path: string | undefined = '/notes?limit=1&sort=-created_at'; path !== undefined; ) {
      const page: Response = await api.fetch(new Request(new URL(path, 'http://x')))
      paged.push(JSON.parse(await page.text())[0].name)
      path = /<([^>]+)>; rel="?next/.exec(page.headers.get('link') ?? '')?.[1]
    }
    if (paged.join() !== 'ours,night,noon,morning') failed.push(`${type}: pages ${paged}`)
    const changed = await calls.patch(1, { name: 'Noon' })
    if (!(changed.updated_at > noon)) failed.push(`${type}: changed ${changed.updated_at}`)
    const { rows } = await db.executeQuery<{ created_at: string }>(
      CompiledQuery.raw("select created_at from notes where name = 'ours'"),
    )
    const kept = type ? '2026-05-02 01:02:03.004' : '2026-05-02T01:02:03.004Z'
    if (rows[0]?.created_at !== kept) failed.push(`${type}: kept as ${rows[0]?.created_at}`)
    await api.close()
  }
  return failed
}

export const CASES = SERVED.length + REFUSED.length
