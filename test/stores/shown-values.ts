// What a read shows is found: columns of each type, with null and with values that no answer can say, asked at random by each
// operator. Each driver and each version of a database runs these cases.
import { CompiledQuery, type Kysely } from 'kysely'
import { defineApi, defineCollection, type Item } from 'rest-conventions'
import { type ColumnOptions, sqlStore } from 'rest-conventions/sql'
import { matcher } from 'rest-conventions/store'
import { z } from 'zod'
import { drawer } from '../random.ts'

/** A column: its type, its schema, values as SQL, those that are null in answers, its form. */
export type Shown = readonly [
  type: string,
  schema: z.ZodType,
  values: readonly string[],
  odd?: readonly string[],
  form?: ColumnOptions['type'],
]

const TEXT = z.string()
const NUMBER = z.number()
const WHOLE = z.int()
const TIME = z.iso.datetime()
const DAY = z.iso.date()
const FLAG = z.boolean()
const WORDS = ["'a'", "'B'", "'é'", "''", "'10'", "'9'", "'😀'"]
const TIMES = [
  "'2026-01-01 10:00:00.123456Z'",
  "'2026-01-01 10:00:00.123Z'",
  "'2026-01-01 10:00:00.1234Z'",
  "'1969-12-31 23:59:59.999999Z'",
  "'0001-01-01 00:00:00Z'",
  "'9999-12-31 23:59:59.999999Z'",
]
const ENDLESS = ["'infinity'", "'-infinity'", "'0044-03-15 BC'"]

export const SQLITE: readonly Shown[] = [
  ['real', NUMBER, ['1.5', '-2', '0.1', '7', '1e300'], ["'1,5'", '9e999', "x'05'"]],
  ['numeric(9,2)', NUMBER, ['1.5', '-2', '0.1', '7'], ["'n/a'"]],
  ['', NUMBER, ['1.5', '-2', '7'], ["'5'", "x'05'"]],
  ['integer', WHOLE, ['1', '-5', '9007199254740991', '0'], ['9007199254740993', "'many'", '1.5']],
  ['text', TEXT, WORDS, ["x'41'"]],
  ['varchar(9)', TEXT, WORDS],
  ['text collate nocase', TEXT, [...WORDS, "'b'", "'A'"]],
  ['date', DAY, ["'2026-01-01'", "'1969-12-31'", "'0000-01-01'"], ["'x'", '20260501']],
  [
    'datetime',
    TIME,
    ["'2026-01-01 10:00:00'", "'2026-01-01T10:00:00.5Z'", "'2026-01-01T11:00:00+01:00'"],
    ['1777636800', "'1.5.2026'"],
  ],
  ['integer', TIME, ['1767225600', '-1', '0'], ["'x'", '999999999999999'], 'unix seconds'],
  ['real', TIME, ['1767225600.123', '1767225600.1234', '0.5'], ["'x'"], 'unix seconds'],
  ['integer', TIME, ['1767225600123', '-1', '0'], ["'x'"], 'unix milliseconds'],
  [
    'text',
    TIME,
    [
      "'2026-01-01 10:00:00'",
      "'2026-01-01 10:00:00.123456'",
      "'2026-01-01T10:00:00.5Z'",
      "'1969-12-31 23:59:59'",
    ],
    ["'2026-05-01'", '5'],
    'datetime utc',
  ],
  ['boolean', FLAG, ['1', '0'], ['2', "'t'"]],
  ['text', FLAG, ["'t'", "'f'"], ["'x'"], 't/f'],
  ['boolean', FLAG, ["'true'", "'false'"], ["'x'", '1'], 'true/false'],
  ['char(1)', FLAG, ["'Y'", "'N'"], ["'y'"], 'Y/N'],
  ['text', z.array(TEXT), [`'["a","B"]'`, "'[]'", `'["a"]'`], ["'{'"]],
  ['json', z.object({ a: WHOLE }), [`'{"a":1}'`, `'{"a":-7}'`], ["'{'"]],
]

const IPS = ["'10.0.0.1'", "'10.0.0.0/8'", "'2001:db8::1'"]

export const POSTGRES: readonly Shown[] = [
  ['text', TEXT, WORDS],
  ['varchar(9)', TEXT, WORDS],
  ['char(4)', TEXT, WORDS],
  ['name', TEXT, WORDS],
  ['citext', TEXT, [...WORDS, "'b'", "'A'"]],
  ['text collate shown_ci', TEXT, [...WORDS, "'b'", "'A'", "'É'"]],
  ['varchar(9) collate shown_ci', TEXT, [...WORDS, "'b'"]],
  ['shown_mood', TEXT, ["'z'", "'m'", "'a'"]],
  ['shown_of_mood', z.enum(['z', 'm']), ["'z'", "'m'"]],
  ['shown_word', TEXT, WORDS],
  ['uuid', z.uuid(), [1, 2, 3].map(at => `'AAAAAAAA-0000-4000-8000-00000000000${at}'`)],
  ['boolean', FLAG, ['true', 'false']],
  ['smallint', WHOLE, ['1', '-5', '0']],
  ['integer', WHOLE, ['1', '-5', '0']],
  ['bigint', WHOLE, ['4', '-1', '9007199254740991'], ['9007199254740993']],
  ['bigint', TEXT, ['4', '-1', '9007199254740993']],
  ['numeric', TEXT, ['1.50', '12345678901234567890.123', '-1', "'NaN'"]],
  ['numeric', NUMBER, ['1.50', '0.30000000000000004', '-3'], ["'NaN'", '1234567890.12345678901']],
  ['numeric(9,2)', NUMBER, ['1.50', '0.1', '-3'], ["'NaN'"]],
  ['real', NUMBER, ['0.1', '0.3', '1e30', '-3.4e38'], ["'NaN'", "'Infinity'"]],
  ['real', TEXT, ['0.1', "'NaN'", "'Infinity'"]],
  ['double precision', NUMBER, ['0.1', '-1', '1e300'], ["'NaN'", "'Infinity'", "'-Infinity'"]],
  ['double precision', TEXT, ['0.1', "'NaN'", "'Infinity'"]],
  ['date', DAY, ["'2026-01-01'", "'1969-12-31'", "'0001-01-01'", "'9999-12-31'"], ENDLESS],
  ['timestamptz', TIME, TIMES, ENDLESS],
  ['timestamptz(3)', TIME, TIMES.slice(0, 5), ENDLESS],
  ['timestamptz(0)', TIME, TIMES.slice(0, 5), ENDLESS],
  ['timestamp', TIME, TIMES, ENDLESS, 'timestamp utc'],
  ['time', TEXT, ["'9:30'", "'24:00'", "'10:00:00.5'"]],
  ['timetz', TEXT, ["'9:30+02'", "'9:30:00.5-08'"]],
  ['interval', TEXT, ["'90 min'", "'1 mon 2 days'", "'1 day'", "'24 hours'"]],
  ['inet', TEXT, IPS],
  ['cidr', TEXT, ["'10.1'", "'::1'", "'10/8'"]],
  ['macaddr', TEXT, ["'08-00-2b-01-02-03'", "'0:0:0:0:0:1'"]],
  ['bytea', TEXT, ["''", "'\\xab'", "'\\x00'"]],
  ['int4range', TEXT, ["'[1,5]'", "'empty'", "'[2,)'"]],
  ['xml', TEXT, ["'<a/>'", "'<b>1</b>'"]],
  ['bit(3)', TEXT, ["b'101'", "b'000'"]],
  ['varbit', TEXT, ["b'101'", "b''", "b'00'"]],
  ['money', TEXT, ["'1.5'", "'-2'", "'1000'"]],
  ['point', TEXT, ["'(1,2)'", "'(0,0)'"]],
  ['tsvector', TEXT, ["'b a'", "''"]],
  ['text[]', z.array(TEXT), [`'{a,"b c"}'`, "'{}'", "'{B}'", "'{a,null}'"]],
  ['integer[]', z.array(WHOLE), ["'{1,2}'", "'{-2147483648}'", "'{}'"]],
  ['uuid[]', z.array(z.uuid()), ["'{AAAAAAAA-0000-4000-8000-000000000001}'", "'{}'"]],
  ['shown_mood[]', z.array(TEXT), ["'{z,a}'", "'{}'", "'{m}'"]],
  ['numeric(9,2)[]', z.array(NUMBER), ["'{1,0.5}'", "'{}'"]],
  ['jsonb', z.object({ a: WHOLE }), [`'{"a":1}'`, `'{"a":-7}'`]],
]

/** What the types of PostgreSQL need. */
export const MADE = [
  'create extension if not exists citext',
  "create collation shown_ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
  "create type shown_mood as enum ('z', 'm', 'a')",
  'create domain shown_of_mood as shown_mood',
  'create domain shown_word as text check (length(value) < 99)',
]

type Value = string | number | boolean
const COMPARED = { eq: 'in', ne: 'nin', gt: 'gt', gte: 'gte', lt: 'lt', lte: 'lte' } as const
type Word = keyof typeof COMPARED
const WORDS_OF: readonly Word[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte']

interface Table {
  /** Serves the list at a query, or reads an item. */
  ask(path: string): Promise<{ readonly status: number; readonly json: unknown; next?: string }>
  readonly items: readonly Item[]
  readonly rows: ReturnType<typeof defineRows>
  /** The ids of the rows with a value that is null in answers, though it is there. */
  readonly odd: ReadonlySet<number>
  readonly path: readonly string[]
  readonly kind: 'flag' | 'list' | 'other'
}

/** What the policy shows. */
let policy: object = {}

function defineRows(db: Kysely<unknown>, [, schema, , , form]: Shown) {
  const store = sqlStore({
    db,
    table: 'shown_rows',
    version: false,
    create: 'records',
    ...(form && { columns: { value: { type: form } } }),
  })
  return defineCollection({
    name: 'rows',
    schema: z.object({ value: schema.nullable() }),
    store,
    id: 'integer',
    timestamps: false,
    visible: () => policy as never, // filters of its fields
  })
}

/** Types whose times are compared with all digits. */
const FINE = /^timestamp/

/** A time in UTC, with six digits of a second. */
function toFine(time: Value): string {
  const [seconds, fraction = ''] = String(time).slice(0, -1).split('.')
  return `${seconds}.${fraction.padEnd(6, '0')}`
}

/** @returns what is not as it should be of `count` questions to one table, and how many there were. */
async function askTable(
  db: Kysely<unknown>,
  shown: Shown,
  count: number,
  draw: (below: number) => number,
) {
  const table = await serve(db, shown)
  if (typeof table === 'string') return { tried: 1, wrong: [table] }
  const wrong = new Set<string>()
  const at = (each: Item) => table.path.reduce<unknown>((value, name) => Object(value)[name], each)
  const known = table.items.filter(({ id }) => !table.odd.has(Number(id)))
  const values = known.flatMap(at).filter(each => each !== null && each !== undefined) as Value[]
  const name = table.path.join('.')
  const ids = (items: readonly Item[]) => items.map(({ id }) => Number(id))
  const pick = <T>(all: readonly T[]): T => all[draw(all.length)] as T // none is empty
  const usable = WORDS_OF.filter(word => table.kind !== 'flag' || word === 'eq' || word === 'ne')
  const sent = (value: Value) => encodeURIComponent(String(value))
  const isFine = FINE.test(shown[0]) && shown[1] === TIME
  const matches = (word: Word, value: Value): ((item: Item) => boolean) => {
    const operator = COMPARED[word]
    const where = [{ path: table.path, operator, values: [isFine ? toFine(value) : value] }]
    // Texts, which are compared with all of their digits.
    const fields = isFine ? new Map() : table.rows.shape.fields
    const test = matcher({ where }, fields)
    return item => test(isFine && item.value ? { value: toFine(item.value as Value) } : item)
  }
  const list = async (query: string): Promise<number[]> => {
    const { status, json } = await table.ask(`/rows?limit=100&${query}`)
    if (status === 200) return ids(json as Item[])
    wrong.add(`${query}: ${status} ${JSON.stringify(json)}`)
    return []
  }
  /** @param expected the ids of all but odd rows. */
  const same = (query: string, found: readonly number[], expected: readonly number[]) => {
    const some = found.filter(id => !table.odd.has(id))
    if (some.join() !== expected.join()) wrong.add(`${query} finds ${some}, not ${expected}`)
  }
  const questions: readonly (() => Promise<void>)[] = [
    async () => {
      const [word, value] = [pick(usable), pick(values)]
      const query = `${name}[${word}]=${sent(value)}`
      const found = await list(query)
      same(query, found, ids(known.filter(matches(word, value))))
      if (word === 'eq' && found.some(id => table.odd.has(id))) wrong.add(`${query} finds odd rows`)
    },
    async () => {
      const [one, other] = [pick(values), pick(values)]
      const [word, second] = [pick(usable), pick(usable)]
      const tests = [matches(word, one), matches(second, other)]
      const all = word !== second
      const query = all
        ? `${name}[${word}]=${sent(one)}&${name}[${second}]=${sent(other)}`
        : `${name}[in]=${[one, other].map(each => sent(String(each).replace(/[,\\]/g, '\\$&'))).join()}`
      const passes = (each: Item) =>
        all ? tests.every(test => test(each)) : [one, other].some(v => matches('eq', v)(each))
      same(query, await list(query), ids(known.filter(passes)))
    },
    async () => {
      const value = pick(values)
      if (table.kind === 'flag') return
      const query = `${name}[gte]=${sent(value)}&${name}[lte]=${sent(value)}`
      const found = await list(query)
      const equal = await list(`${name}=${sent(value)}`)
      const above = await list(`${name}[gt]=${sent(value)}`)
      const own = ids(known.filter(matches('eq', value)))
      same(query, equal, own)
      if (table.kind === 'list') return
      same(query, found, own)
      if (above.some(id => own.includes(id))) wrong.add(`${name}[gt]=${value} finds itself`)
    },
    async () => {
      const has = draw(2) === 0
      const query = `${name}[exists]=${has}`
      const found = await list(query)
      if (table.path.length > 1) return
      // JSON that is none is nothing.
      const isThere = (each: Item) =>
        (at(each) ?? null) !== null || (table.kind !== 'list' && table.odd.has(Number(each.id)))
      const expected = ids(table.items.filter(each => isThere(each) === has))
      if (found.join() !== expected.join()) wrong.add(`${query} finds ${found}, not ${expected}`)
    },
    async () => {
      const [word, value] = [pick(usable), pick(values)]
      const one = name.split('.').reduceRight<object>((inner, each) => ({ [each]: inner }), {
        [word]: value,
      })
      const drawn = pick([one, { not: one }, { [name]: { exists: draw(2) === 0 } }])
      policy = table.path.length > 1 ? one : drawn
      const listed = await list('')
      const readable: number[] = []
      for (const { id } of table.items)
        if ((await table.ask(`/rows/${id}`)).status === 200) readable.push(Number(id))
      const said = JSON.stringify(policy)
      if (listed.join() !== readable.join()) wrong.add(`${said} lists ${listed}, reads ${readable}`)
      policy = {}
    },
    async () => {
      if (table.kind === 'list') return
      const sort = `sort=${pick(['', '-'])}${name}`
      const whole = await list(sort)
      const paged: number[] = []
      let path: string | undefined = `/rows?limit=${1 + draw(3)}&${sort}`
      while (path !== undefined && paged.length < 99) {
        const page: Awaited<ReturnType<Table['ask']>> = await table.ask(path)
        if (page.status !== 200) wrong.add(`${path}: ${page.status} ${JSON.stringify(page.json)}`)
        paged.push(...ids(page.status === 200 ? (page.json as Item[]) : []))
        path = page.next
      }
      if (paged.join() !== whole.join()) wrong.add(`${sort}: pages ${paged}, not ${whole}`)
    },
  ]
  const weights = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5]
  for (let done = 0; done < count; done++) await questions[pick(weights)]?.()
  return { tried: count, wrong: [...wrong] }
}

/** Serves a table with all values twice, with null, and with those that answers cannot say. */
async function serve(db: Kysely<unknown>, shown: Shown): Promise<Table | string> {
  const [type, schema, values, odd = []] = shown
  const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await say('drop table if exists shown_rows')
  await say(`create table shown_rows (id integer primary key, value ${type})`)
  const all = [...values, 'null', ...odd, ...values]
  for (const [at, value] of all.entries())
    await say(`insert into shown_rows values (${at + 1}, ${value})`)
  const rows = defineRows(db, shown)
  let said = ''
  const onError = (error: unknown) => {
    said = String(error)
  }
  const { fetch } = defineApi({ collections: { rows }, onError })
  const ask: Table['ask'] = async path => {
    const answer = await fetch(new Request(new URL(path, 'http://rows.example')))
    const next = /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1]
    const { status } = answer
    const json: unknown = status === 500 ? said : await answer.json()
    return { status, json, ...(next && { next }) }
  }
  const { status, json } = await ask('/rows?limit=100&sort=id')
  if (status !== 200) return `${type}: the list is ${status} ${JSON.stringify(json)}`
  const items = json as Item[]
  const first = values.length + 2
  const oddIds = new Set(odd.map((_, at) => first + at))
  const unread = items.filter(each => each.value === null).map(({ id }) => Number(id))
  const expected = [values.length + 1, ...oddIds]
  if (unread.join() !== expected.join()) return `${type}: ${unread} are null, not ${expected}`
  const kind = schema === FLAG ? 'flag' : schema instanceof z.ZodArray ? 'list' : 'other'
  const path = schema instanceof z.ZodObject ? ['value', 'a'] : ['value']
  return { ask, items, rows, odd: oddIds, path, kind }
}

/** @returns how many questions were asked, and each answer that is wrong. */
export async function proveShown(
  db: Kysely<unknown>,
  tables: readonly Shown[],
  options: { readonly count: number; readonly seed?: number },
): Promise<{ tried: number; wrong: string[] }> {
  const draw = drawer(options.seed)
  const wrong: string[] = []
  let tried = 0
  for (const shown of tables) {
    const asked = await askTable(db, shown, Math.ceil(options.count / tables.length), draw)
    tried += asked.tried
    const [type, , , , form] = shown
    wrong.push(...asked.wrong.map(each => `${type}${form ? ` as ${form}` : ''}: ${each}`))
  }
  return { tried, wrong }
}
