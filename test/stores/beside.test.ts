// SQL beside the api: what another program changes has a new version.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { createTableSql, sqlStore } from '../../src/sql/index.ts'
import { openHandler } from '../handlers.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

type OnStatement = (statement: CompiledQuery) => void

const DATABASES: ['SQLite' | 'PostgreSQL', (on?: OnStatement) => Promise<Kysely<unknown>>][] = [
  ['SQLite', on => openDatabase(undefined, on)],
  ['PostgreSQL', async on => openPostgres({}, on)],
]

describe.each(DATABASES)('%s', (name, open) => {
  const serve = async (how: 'create' | 'printed') => {
    const statements: string[] = []
    const db = await open(({ sql: text }) => statements.push(text))
    const table = newTable()
    const extra = z.record(z.string(), z.json()).optional()
    const define = () =>
      defineCollection({
        name: 'cars',
        schema: z.object({ color: z.string(), extra }),
        store: sqlStore({ db, table, create: how === 'create' }),
      })
    const cars = define()
    const database = name === 'SQLite' ? 'sqlite' : 'postgres'
    if (how === 'printed') {
      const printed = createTableSql(cars.shape, { database, table })
      for (const text of [...printed, ...printed]) await sql.raw(text).execute(db)
    }
    const api = defineApi({ collections: { cars } })
    await api.open()
    const { request } = await openHandler('fetch', api)
    const serveCars = () => defineApi({ collections: { cars: define() } }).collection('cars')
    return { db, table, statements, request, cars: api.collection('cars'), serveCars }
  }

  test.each(['create', 'printed'] as const)(
    'the old tag of a row that SQL has changed is worth nothing: %s',
    async how => {
      const { db, table, request, cars } = await serve(how)
      const { id } = await cars.create({ color: 'red' })
      const { id: other } = await cars.create({ color: 'green' })
      const before = await request(`/cars/${id}`)
      const etag = before.headers.get('etag') ?? ''
      const untouched = (await request(`/cars/${other}`)).headers.get('etag') ?? ''
      await sql`update ${sql.id(table)} set color = 'blue' where id = ${id}`.execute(db)
      const read = await request(`/cars/${id}`, { headers: { 'if-none-match': etag } })
      expect([read.status, Object(read.json).color]).toEqual([200, 'blue'])
      expect(Object(read.json).updated_at > Object(before.json).updated_at).toBe(true)
      const patch = { method: 'PATCH', json: { color: 'lost' }, headers: { 'if-match': etag } }
      expect((await request(`/cars/${id}`, patch)).status).toBe(412)
      const same = await request(`/cars/${other}`, { headers: { 'if-none-match': untouched } })
      expect(same.status).toBe(304)
      await sql`update ${sql.id(table)} set color = 'own', version = 'mine' where id = ${id}`.execute(
        db,
      )
      const { rows } = await sql`select version from ${sql.id(table)} where id = ${id}`.execute(db)
      expect(rows).toEqual([{ version: 'mine' }])
    },
  )

  test('a property that is renamed is served by two versions from one column', async () => {
    const db = await open()
    const table = newTable()
    const define = (version: number, property: string) => {
      const cars = defineCollection({
        name: 'cars',
        schema: z.object({ [property]: z.string() }),
        store: sqlStore({ db, table, columns: { [property]: 'color' }, create: true }),
        indexes: [property],
      })
      return { version, collections: [cars] }
    }
    const api = defineApi({ versions: [define(1, 'color'), define(2, 'colour')] })
    await api.open()
    const { request } = await openHandler('fetch', api)
    const created = await request('/v1/cars', { method: 'POST', json: { color: 'red' } })
    const { id } = Object(created.json)
    const old = await request(`/v2/cars/${id}`)
    expect(old.json).toMatchObject({ colour: 'red' })
    const patch = { method: 'PATCH', json: { color: 'blue' } }
    await request(`/v1/cars/${id}`, patch)
    const [found] = Object((await request('/v2/cars?colour=blue')).json)
    expect(found).toMatchObject({ id, colour: 'blue' })
    const etag = old.headers.get('etag') ?? ''
    const lost = { method: 'PATCH', json: { colour: 'lost' }, headers: { 'if-match': etag } }
    expect((await request(`/v2/cars/${id}`, lost)).status).toBe(412)
  })

  test('the trigger costs no statement, and one of others on updates costs creates none', async () => {
    const { db, table, statements, cars, serveCars } = await serve('create')
    const measure = async (resource: typeof cars) => {
      const { id } = await resource.create({ color: 'red' })
      const count = async (work: () => Promise<unknown>) => {
        statements.length = 0
        await work()
        return statements.filter(text => !/^(?:begin|commit)/.test(text)).length
      }
      const made = await count(() => resource.create({ color: 'blue' }))
      return [made, await count(() => resource.patch(id, { color: 'green' }))]
    }
    const [made, changed = 0] = await measure(cars)
    expect(changed).toBeLessThanOrEqual(2)
    const log = `foreign_${table}`
    const texts =
      name === 'SQLite'
        ? [`create trigger ${log} after update on "${table}" begin select 1; end`]
        : [
            `create function ${log}() returns trigger language plpgsql as 'begin return new; end'`,
            `create trigger ${log} before update on "${table}" for each row execute function ${log}()`,
          ]
    for (const each of texts) await sql.raw(each).execute(db)
    // One locks the row; behind a trigger that runs after the change another one reads what it has made.
    const more = name === 'SQLite' ? 2 : 1
    expect(await measure(serveCars())).toEqual([made, changed + more])
  })
})
