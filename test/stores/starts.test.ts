// Starts of servers: what they make, beside whom, and what they leave to those who run the database.
import { type Kysely, sql } from 'kysely'
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const SCHEMA = z.object({ color: z.string().default('red'), code: z.string().default('a') })

interface Declared {
  readonly indexes?: string[]
  readonly unique?: string[]
  readonly more?: z.ZodRawShape
}

/** A server that serves a table. */
function start(
  options: SqlStoreOptions<unknown> & { readonly table: string },
  { more = {}, ...declared }: Declared = {},
) {
  const store = sqlStore({ create: true, ...options })
  const cars = defineCollection({ name: 'cars', schema: SCHEMA.extend(more), store, ...declared })
  return defineApi({ collections: { cars } })
}

/** The warnings of the library until the test ends. */
function listen(): string[] {
  const warnings: string[] = []
  const keep = (warning: Error & { code?: string }) => {
    if (warning.code === 'REST_CONVENTIONS_TABLE') warnings.push(warning.message)
  }
  process.on('warning', keep)
  onTestFinished(() => void process.off('warning', keep))
  return warnings
}

/** Warnings come in a later turn. */
const turn = () => new Promise(resolve => setTimeout(resolve))

/** Has an open transaction that wrote a table, until it is told to end. */
async function write(db: Kysely<unknown>, table: string) {
  const transaction = await db.startTransaction().execute()
  await sql`update ${sql.id(table)} set color = 'blue'`.execute(transaction)
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction)
  return { pid: rows[0]?.pid, end: () => transaction.rollback().execute() }
}

const listIndexes = async (db: Kysely<unknown>, table: string) => {
  const found = sql<{
    name: string
  }>`select indexname as name from pg_indexes where tablename = ${table}`
  return (await found.execute(db)).rows.map(({ name }) => name.replace(table, '')).sort()
}

describe('a start with nothing to make', () => {
  it('waits for nobody, and nobody for it', async () => {
    const [db, other] = [openPostgres(), openPostgres()]
    const table = newTable()
    const declared = { indexes: ['color'], unique: ['code'] }
    const first = start({ db, table }, declared)
    await first.collection('cars').create({ code: 'a' })
    const open = await write(other, table)
    // One that sets up a table of its own in this database for long.
    const setUp = await other.startTransaction().execute()
    await sql`select pg_advisory_xact_lock(7215423909113245)`.execute(setUp)
    const second = start({ db: openPostgres(), table }, declared)
    await second.open()
    await second.collection('cars').create({ code: 'b' })
    expect(await first.collection('cars').create({ code: 'c' })).toMatchObject({ code: 'c' })
    await setUp.rollback().execute()
    await open.end()
  })

  it('needs a role that may read and write, and no more; it says which columns the role may not insert', async () => {
    const [db, warnings] = [openPostgres(), listen()]
    const [table, role] = [newTable(), `${newTable()}_${process.pid}`]
    await start({ db, table }, { indexes: ['color'] }).open()
    await sql`create role ${sql.id(role)} login`.execute(db)
    await sql`grant select, insert, update, delete on all tables in schema public to ${sql.id(role)}`.execute(
      db,
    )
    const url = new URL(postgres().url)
    url.username = role
    const plain = openPostgres({ connectionString: url.href })
    const api = start({ db: plain, table }, { indexes: ['color'] })
    await api.open()
    expect(await api.collection('cars').create({})).toMatchObject({ color: 'red' })
    await turn()
    expect(warnings).toEqual([])
    await sql`revoke insert on ${sql.id(table)} from ${sql.id(role)}`.execute(db)
    await sql`grant insert (color, id, version) on ${sql.id(table)} to ${sql.id(role)}`.execute(db)
    const other = start({ db: plain, table }, { indexes: ['color'] })
    await other.open()
    await turn()
    expect(warnings.join()).toContain(
      `may not insert, so that each create fails: "code", "created_at", "updated_at". Leave`,
    )
    expect(warnings.join()).toContain(
      `\ngrant insert ("code", "created_at", "updated_at") on "${table}" to …;`,
    )
    await plain.destroy()
    await sql`drop owned by ${sql.id(role)}`.execute(db)
    await sql`drop role ${sql.id(role)}`.execute(db)
  })
})

describe('an index that a table of PostgreSQL lacks', () => {
  it('is made where the table is empty', async () => {
    const [db, table, warnings] = [openPostgres(), newTable(), listen()]
    await start({ db, table }).open()
    await start({ db, table }, { indexes: ['color'], unique: ['code'] }).open()
    expect(await listIndexes(db, table)).toEqual([
      '_by_color',
      '_by_created_at',
      '_pkey',
      '_unique_code',
    ])
    await turn()
    expect(warnings).toEqual([])
  })

  it('is printed where it has rows, and made by migrate', async () => {
    const [db, table, warnings] = [openPostgres(), newTable(), listen()]
    await start({ db, table }, { indexes: [] }).collection('cars').create({})
    const declared = { indexes: ['color'], unique: ['code'] }
    const next = start({ db, table }, declared)
    await next.open()
    await turn()
    expect(await listIndexes(db, table)).toEqual(['_by_created_at', '_pkey'])
    const [warning = ''] = warnings
    expect(warning).toContain(
      `${table} lacks indexes. create: true makes them only in an empty table`,
    )
    expect(warning).toContain('Until then two rows can have equal values')
    const [, ...lines] = warning.split('\n')
    expect(lines).toEqual([
      `create unique index concurrently if not exists "${table}_unique_code" on "${table}" ("code");`,
      `create index concurrently if not exists "${table}_by_color" on "${table}" ("color", "id");`,
    ])
    // It goes on meanwhile.
    expect(await next.collection('cars').list({ color: 'red' }).toArray()).toHaveLength(1)
    for (const line of lines) await sql.raw(line).execute(db)
    await start({ db, table }, declared).open()
    await start({ db, table, migrate: true }, { indexes: ['code'] }).open()
    expect(await listIndexes(db, table)).toContain('_by_code')
    await turn()
    expect(warnings).toHaveLength(1)
  })

  it('is named where it is invalid, with what makes it anew', async () => {
    const [db, table, warnings] = [openPostgres(), newTable(), listen()]
    const cars = start({ db, table }).collection('cars')
    const { id } = await cars.create({})
    await cars.create({})
    const create = sql.raw(
      `create unique index concurrently "${table}_unique_code" on "${table}" ("code")`,
    )
    await expect(create.execute(db)).rejects.toThrow('could not create unique index')
    await start({ db, table }, { unique: ['code'] }).open()
    await turn()
    expect(warnings).toHaveLength(1)
    const [text = '', ...lines] = warnings[0]?.split('\n') ?? []
    expect(text).toMatch(`${table} has invalid indexes`)
    await cars.delete(id)
    for (const line of lines) await sql.raw(line).execute(db)
    await start({ db, table }, { unique: ['code'] }).open()
    await turn()
    expect(warnings).toHaveLength(1)
  })

  it('that is partitioned is printed as it can be made', async () => {
    const [db, table, warnings] = [openPostgres(), newTable(), listen()]
    await sql`create table ${sql.id(table)} (id text collate "C" primary key, color text, code text, created_at timestamptz, updated_at timestamptz, version text) partition by hash (id)`.execute(
      db,
    )
    const api = start({ db, table }, { indexes: ['color'] })
    await api.open()
    await turn()
    expect(warnings).toHaveLength(1)
    const [, line = ''] = warnings[0]?.split('\n') ?? []
    await sql.raw(line).execute(db)
    expect(await listIndexes(db, table)).toEqual(['_by_color', '_pkey'])
  })
})

test.each([
  ['SQLite', () => openDatabase()],
  ['PostgreSQL', async () => openPostgres()],
])('create: true makes no index on a view of %s', async (_name, open) => {
  const [db, table, warnings] = [await open(), newTable(), listen()]
  await start({ db, table }).collection('cars').create({})
  await sql`create view ${sql.id(`${table}_seen`)} as select * from ${sql.id(table)}`.execute(db)
  const api = start({ db, table: `${table}_seen` }, { indexes: ['color'], unique: ['code'] })
  await api.open()
  expect(await api.collection('cars').list({ color: 'red' }).toArray()).toHaveLength(1)
  await turn()
  expect(warnings).toEqual([])
})

describe('a table that another transaction has locked', () => {
  const declared = { more: { doors: z.int().default(4) } }

  it('is set up later; meanwhile others write it', async () => {
    const [db, other, table, warnings] = [openPostgres(), openPostgres(), newTable(), listen()]
    const first = start({ db, table })
    await first.collection('cars').create({})
    const open = await write(other, table)
    const api = start({ db: openPostgres(), table, migrate: true }, declared)
    const opening = api.open()
    await vi.waitFor(() => expect(warnings).toHaveLength(1), { timeout: 20_000 })
    expect(warnings[0]).toContain(
      `${table} cannot be set up, because the process ${open.pid} of the database (idle in transaction) has locked it.`,
    )
    await first.collection('cars').create({})
    await open.end()
    await opening
    expect(await api.collection('cars').list({ doors: 4 }).toArray()).toHaveLength(2)
  }, 60_000)

  it('is an error after a minute, which names the process', async () => {
    const [db, table, warnings] = [openPostgres(), newTable(), listen()]
    await start({ db, table }).collection('cars').create({})
    const open = await write(openPostgres(), table)
    const opening = start({ db: openPostgres(), table, migrate: true }, declared).open()
    const failed = expect(opening).rejects.toMatchObject({
      status: 503,
      cause: { message: expect.stringContaining(`the process ${open.pid} of the database`) },
    })
    await vi.waitFor(() => expect(warnings).toHaveLength(1), { timeout: 20_000 })
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000)
    await failed
    vi.restoreAllMocks()
    await open.end()
  }, 60_000)
})

test('servers that start together, beside writers, all start', async () => {
  const table = newTable()
  const serve = (indexes: ('color' | 'code')[]) => {
    const db = openPostgres({ max: 2 })
    const store = (name: string) => sqlStore({ db, table: `${table}_${name}`, create: true })
    const makers = defineCollection({
      name: 'makers',
      schema: SCHEMA,
      store: store('makers'),
      indexes,
    })
    const cars = defineCollection({
      name: 'cars',
      schema: SCHEMA.extend({ maker_id: z.string() }),
      store: store('cars'),
      references: { maker_id: 'makers' },
      indexes,
    })
    return defineApi({ collections: { makers, cars } })
  }
  const fill = async (api: ReturnType<typeof serve>) => {
    const { id } = await api.collection('makers').create({})
    await api.collection('cars').create({ maker_id: id })
  }
  // At first on an empty database; then with indexes that are missing.
  for (const indexes of [[], ['color'], ['color', 'code']] satisfies ('color' | 'code')[][]) {
    await Promise.all(Array.from({ length: 8 }, () => fill(serve(indexes))))
  }
  const { rows } = await sql`select 1 from ${sql.id(`${table}_cars`)}`.execute(openPostgres())
  expect(rows).toHaveLength(24)
}, 120_000)

test('tables that the store keeps beside others are named if they are missing', async () => {
  const db = await openDatabase()
  for (const table of ['one', 'two'])
    await sql`create table ${sql.id(table)} (id integer primary key, color text, code text)`.execute(
      db,
    )
  const open = async (create?: 'records') => {
    const warnings = listen()
    const collections = ['one', 'two'].map(name => {
      const store = sqlStore({ db, table: name, version: false, ...(create && { create }) })
      return defineCollection({ name, schema: SCHEMA, store, id: 'integer', timestamps: false })
    })
    const api = defineApi({ collections })
    await api.open()
    await turn()
    return { api, told: warnings.filter(each => each.includes('rest_sequences')) }
  }
  const { told } = await open()
  expect(told).toEqual([expect.stringMatching(/^one, two: .* create: 'records'/m)])
  const { api, told: none } = await open('records')
  expect(none).toEqual([])
  const body = JSON.stringify({ color: 'red' })
  const headers = { 'content-type': 'application/json', 'idempotency-key': '"a"' }
  const request = new Request('http://a.example/one', { method: 'POST', headers, body })
  expect((await api.fetch(request)).status).toBe(201)
})
