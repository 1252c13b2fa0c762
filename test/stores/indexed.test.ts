// Indexes that the administrator of a PostgreSQL makes, `create index on cars (price)`, serve filters, sorts and cursors of each type.
import { CompiledQuery, type Kysely } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'

usePostgres()

const ROWS = 20_000
const TYPES: Readonly<Record<string, readonly [value: string, schema: z.ZodType]>> = {
  smallint: ['(n % 30000)::smallint', z.int()],
  integer: ['n', z.int()],
  bigint: ['n', z.int()],
  'numeric(10,2)': ['n + 0.25', z.number()],
  'double precision': ['n + 0.5', z.number()],
  real: ['n', z.number()],
  'text collate "C"': ["'t' || lpad(n::text, 6, '0')", z.string()],
  uuid: ["('0190a000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid", z.guid()],
  date: ["date '1900-01-01' + n", z.iso.date()],
  timestamptz: [
    "timestamptz '2024-01-01Z' + n * interval '1 minute 123 microseconds'",
    z.iso.datetime(),
  ],
  'timestamptz(3)': ["timestamptz '2024-01-01Z' + n * interval '1 minute'", z.iso.datetime()],
  timestamp: ["timestamp '2024-01-01' + n * interval '1 minute'", z.iso.datetime()],
}
const types = Object.keys(TYPES)
/** `at` with nulls, `r<at>` without. */
const columns = types.flatMap((type, at) => [`c${at} ${type}`, `r${at} ${type} not null`])
const statements: CompiledQuery[] = []
let ask: (path: string) => Promise<{ items: Record<string, unknown>[]; next: string | undefined }>
let database: Kysely<unknown>
let explain: (statement: CompiledQuery) => Promise<string>

beforeAll(async () => {
  const db = openPostgres({}, each => statements.push(each))
  database = db
  const run = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await run(`create table indexed (id bigint primary key, ${columns.join(', ')})`)
  const values = types.flatMap(type => [
    `case when n % 5 > 0 then ${TYPES[type]?.[0]} end`,
    `${TYPES[type]?.[0]}`,
  ])
  await run(
    `insert into indexed select n, ${values.join(', ')} from generate_series(1, ${ROWS}) as n`,
  )
  for (const at of types.keys()) {
    await run(`create index on indexed (c${at})`)
    await run(`create index on indexed (r${at})`)
  }
  await run('analyze indexed')
  const shape = types.flatMap((type, at) => {
    const [, schema = z.string()] = TYPES[type] ?? []
    return [
      [`c${at}`, schema.nullable()],
      [`r${at}`, schema],
    ] as const
  })
  const indexed = defineCollection({
    ...{
      name: 'indexed',
      schema: z.object(Object.fromEntries(shape)),
      id: 'integer',
      timestamps: false,
    },
    ...{ store: sqlStore({ db, version: false, timezone: 'UTC' }), total: 'none' },
    operations: ['list', 'count', 'read'],
  })
  const api = defineApi({ collections: { indexed } })
  await api.open()
  ask = async path => {
    const response = await api.fetch(new Request(new URL(path, 'http://a.example')))
    const { href } =
      parseLink(response.headers.get('link') ?? '').find(({ rel }) => rel === 'next') ?? {}
    return {
      items: z.array(z.record(z.string(), z.unknown())).parse(await response.json()),
      next: href,
    }
  }
  explain = async ({ sql, parameters }) =>
    JSON.stringify(
      (await db.executeQuery(CompiledQuery.raw(`explain ${sql}`, [...parameters]))).rows,
    )
}, 60_000)

describe.each([...types.entries()])('the index on column %i, %s', (at, type) => {
  test.each([
    ['a value', `c${at}=LATE`],
    ['values', `c${at}[in]=MID,LATE`],
    ['a bound', `c${at}[gte]=LATE`],
    ['two bounds', `c${at}[gte]=LATE&c${at}[lte]=LATE`],
    ['a bound in its order', `c${at}[gte]=MID&sort=c${at}`],
    ['a bound in its order, downwards', `c${at}[lte]=MID&sort=-c${at}`],
    ['the order of what is not null', `c${at}[exists]=true&sort=c${at}`],
    ['the same downwards', `c${at}[exists]=true&sort=-c${at}`],
    ['a sort without nulls', `sort=r${at}`],
    ['the same downwards', `sort=-r${at}`],
    ...(type.startsWith('text') ? [['a prefix', `c${at}[prefix]=t0190`]] : []),
  ])('serves %s', async (_, query = '') => {
    const [mid] = (await ask('/indexed?id=10001')).items
    const [late] = (await ask('/indexed?id=19996')).items
    const encoded = (item: typeof mid) => encodeURIComponent(String(item?.[`c${at}`]))
    const path = `/indexed?limit=5&${query.replaceAll('LATE', encoded(late)).replaceAll('MID', encoded(mid))}`
    statements.length = 0
    const { items, next } = await ask(path)
    expect(items.length).toBeGreaterThan(0)
    if (next) await ask(next)
    for (const each of [...statements])
      expect(await explain(each), each.sql).not.toContain('Seq Scan')
  })
})

test('the order of a nullable column takes an index with nulls first, which open() names', async () => {
  const run = (text: string) => database.executeQuery(CompiledQuery.raw(text))
  for (const each of [
    'create table holes (id bigint primary key, price int, size int, weight int not null, color int)',
    'insert into holes select n, nullif(n % 9, 0), n, n, n from generate_series(1, 20000) as n',
    'create index on holes (price)',
    'create index on holes (size)',
    'create index on holes (size nulls first, id)',
    'create index on holes (weight)',
    'analyze holes',
  ])
    await run(each)
  const schema = z.object({
    price: z.int().nullable(),
    size: z.int().nullable(),
    weight: z.int().nullable(),
    color: z.int().nullable(),
  })
  const open = async () => {
    const warnings: string[] = []
    const listen = ({ message }: Error) =>
      void (message.startsWith('holes') && warnings.push(message))
    process.on('warning', listen)
    const holes = defineCollection({
      ...{ name: 'holes', schema, id: 'integer', timestamps: false, total: 'none' },
      store: sqlStore({ db: database, version: false }),
      indexes: ['price', 'size', 'weight', ['price', 'size']],
      operations: ['list'],
    })
    const api = defineApi({ collections: { holes } })
    await api.open()
    await new Promise(setImmediate)
    process.off('warning', listen)
    return { api, warning: warnings.find(each => each.includes('nulls first')) }
  }
  const { warning } = await open()
  const [says, ...others] = warning?.split('\n') ?? []
  const lines = others.filter(each => each.startsWith('create'))
  expect(says).toMatch(/^holes .*"price"/)
  expect(lines).toEqual([
    'create index concurrently if not exists "holes_by_price" on "holes" ("price" nulls first, "id");',
    'create index concurrently if not exists "holes_by_price_size" on "holes" ("price" nulls first, "size" nulls first, "id");',
  ])
  for (const line of lines) await run(line)
  const { api, warning: again } = await open()
  expect(again).toBeUndefined()
  for (const sort of ['price', '-price', 'price,size', 'size', '-size']) {
    statements.length = 0
    expect(
      (await api.fetch(new Request(`http://a.example/holes?limit=5&sort=${sort}`))).status,
    ).toBe(200)
    for (const each of [...statements])
      expect(await explain(each), each.sql).not.toMatch(/Seq Scan|"Sort/)
  }
})
