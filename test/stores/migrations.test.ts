// A schema that changed after its table was made.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { alterTableSql, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const OLD = { name: z.string() }
const NEW = {
  ...OLD,
  seats: z.int().default(4),
  price: z.number().nullable().default(1.5),
  sold: z.boolean().default(false),
  note: z.string().default("it's"),
  tags: z.array(z.string()).default(['new']),
  day: z.iso.date().default('2024-02-29'),
  color: z.string().optional(),
  built: z.iso.date().nullable(),
}

const DATABASES = {
  SQLite: () => openDatabase(),
  PostgreSQL: async () => openPostgres(),
}

let tables = 0

describe.each(Object.entries(DATABASES))('%s', (name, open) => {
  const made = async () => {
    const options = { db: await open(), table: `grown_${++tables}` }
    const define = (shape: z.core.$ZodLooseShape, more: Partial<SqlStoreOptions> = {}) => {
      const store = sqlStore({ ...options, ...more })
      const cars = defineCollection({ name: 'cars', schema: z.object(shape), store })
      const api = defineApi({ collections: { cars } })
      return { cars: api.collection('cars'), api, shape: cars.shape }
    }
    const { id } = await define(OLD, { create: true }).cars.create({ name: 'a' })
    return { ...options, define, id }
  }

  it('says at start which columns are missing, and the SQL that adds them', async () => {
    const { define, id, db, table } = await made()
    for (const more of [{}, { create: true }]) {
      const { api } = define(NEW, more)
      const error: Error = await api.open().catch(each => each)
      expect(error.message).toMatch(
        `The table ${table}:\n- it has no column "seats"\n- it has no column`,
      )
      expect(error.message).toMatch(/\nTo add "seats", .*set migrate: true, or run:\nalter table/)
      await expect(define(NEW, more).cars.read(id)).rejects.toThrow(error.message)
    }
    const { api, shape } = define(NEW)
    const statements = await alterTableSql(shape, { db, table })
    const real = name === 'SQLite' ? 'REAL' : 'double precision'
    expect(statements).toHaveLength(8)
    expect(statements[1]).toBe(`alter table "${table}" add column "price" ${real} default 1.5`)
    const error: Error = await api.open().catch(each => each)
    for (const each of statements) {
      expect(error.message).toContain(`\n${each};`)
      await sql.raw(each).execute(db)
    }
    const { cars } = define(NEW)
    await api.open()
    expect(await cars.read(id)).toMatchObject({ name: 'a', seats: 4, note: "it's" })
    expect(await alterTableSql(shape, { db, table })).toEqual([])
    await api.close()
  })

  it('migrate: true adds them with their defaults, and indexes; it removes nothing', async () => {
    const { define, id } = await made()
    const { cars, api } = define(NEW, { migrate: true })
    await api.open()
    const { id: _id, created_at: _c, updated_at: _u, ...values } = await cars.read(id)
    expect(values).toEqual({
      name: 'a',
      seats: 4,
      price: 1.5,
      sold: false,
      note: "it's",
      tags: ['new'],
      day: '2024-02-29',
      built: null,
    })
    const next = await cars.create({ name: 'b', built: '2024-01-01', color: 'red' })
    expect(await cars.list({ sold: false, seats: 4 }).toArray()).toHaveLength(2)
    // The old schema, with the other columns still there.
    const old = define(OLD, { migrate: true })
    expect(await old.cars.read(next.id)).toMatchObject({ name: 'b' })
    expect(await define(NEW).cars.read(next.id)).toMatchObject({ color: 'red' })
    await api.close()
  })

  it('a required column without a default is an error, with migrate too', async () => {
    const { define, db, table } = await made()
    const schema = {
      ...NEW,
      code: z.string(),
      now: z.string().default(() => String(Math.random())),
    }
    for (const migrate of [false, true]) {
      const { api, cars, shape } = define(schema, { migrate })
      await expect(api.open()).rejects.toThrow(
        'it has no column "code", which is required and has no default: give it one in the schema',
      )
      await expect(cars.count()).rejects.toThrow('"code"')
      if (!migrate) await expect(api.open()).rejects.toThrow('\nThen the rest. To add')
      const statements = await alterTableSql(shape, { db, table })
      expect(statements.filter(each => each.startsWith('-- '))).toHaveLength(2)
    }
    await db.destroy()
  })
})

it('api.open() tells of every table', async () => {
  const db = await openDatabase()
  const named = (name: string) =>
    defineCollection({ name, schema: z.object({ a: z.string() }), store: sqlStore({ db }) })
  const api = defineApi({ collections: { cars: named('cars'), vans: named('vans') } })
  await expect(api.open()).rejects.toThrow(
    /table cars does not exist[\s\S]*table vans does not exist/,
  )
  await api.close()
})
