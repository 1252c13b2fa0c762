// The printed tables of a whole api.
import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import { createTablesSql, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { ask } from './postgres-server.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

/** Runs a script as a shell of the database does. */
type RunScript = (db: Kysely<unknown>, statements: readonly string[]) => Promise<unknown>

const each: [string, () => Promise<Kysely<unknown>>, RunScript][] = [
  [
    'SQLite',
    () => openDatabase(),
    async (db, statements) => {
      for (const text of statements) await sql.raw(text).execute(db)
    },
  ],
  [
    'PostgreSQL',
    async () => openPostgres(),
    (_db, statements) => ask(postgres().url, `${statements.join(';\n')};`),
  ],
]

describe.each(each)('%s', (_name, open, runScript) => {
  test('the example is served from its printed tables, and joins them', async () => {
    const db = await open()
    const { api } = carsApi(table => sqlStore({ db, table }), memoryBlobs())
    const printed = createTablesSql(api)
    await runScript(db, printed)
    await runScript(db, printed)
    await api.open()
    const account = await api
      .collection('accounts')
      .create({ name: 'Ann', email: 'ann@example.org' })
    const car = await api.collection('cars').create({
      immatriculation: 'AB-123-CD',
      color: 'red',
      model: { name: 'C1', brand: 'Citroën' },
      price: 1,
      account_id: account.id,
    } as never)
    await sql`update cars set account_id = ${account.id}`.execute(db)
    const joined =
      await sql`select a.name from cars as c join accounts as a on a.id = c.account_id`.execute(db)
    expect(joined.rows).toEqual([{ name: 'Ann' }])
    await expect(sql`delete from accounts`.execute(db)).rejects.toThrow(/foreign key/i)
    await api.collection('cars').delete(car.id)
  })

  test.each([
    ['restrict', 'restrict', 409, 409],
    ['cascade', 'restrict', 409, 200],
    ['cascade', 'cascade', 200, 404],
  ] as const)('tables in a circle have their keys too: %s, %s', async (hen, egg, ofHen, ofEgg) => {
    const db = await open()
    const [hens, eggs] = [newTable(), newTable()]
    const define = (
      name: string,
      table: string,
      collection: string,
      onDelete: 'cascade' | 'restrict',
    ) =>
      defineCollection({
        name,
        schema: z.object({ other_id: z.string().nullable() }),
        store: sqlStore({ db, table }),
        references: { other_id: { collection, onDelete } },
      })
    const api = defineApi({
      collections: [define('hens', hens, 'eggs', hen), define('eggs', eggs, 'hens', egg)],
    })
    await runScript(db, createTablesSql(api))
    await api.open()
    for (const table of [hens, eggs]) {
      const orphan = sql`update ${sql.id(table)} set other_id = '019a0000-0000-7000-8000-000000000000'`
      const resource = api.collection(table === hens ? 'hens' : 'eggs')
      await resource.create({ other_id: null })
      await expect(orphan.execute(db)).rejects.toThrow(/foreign key/i)
    }
    const { id: first } = await api.collection('hens').create({ other_id: null })
    const { id: second } = await api.collection('eggs').create({ other_id: String(first) })
    await api.collection('hens').patch(String(first), { other_id: String(second) })
    const statusOf = (deletion: Promise<unknown>) =>
      deletion.then(
        () => 200,
        error => error.status,
      )
    expect(await statusOf(api.collection('hens').delete(String(first)))).toBe(ofHen)
    expect(await statusOf(api.collection('eggs').delete(String(second)))).toBe(ofEgg)
    const left = ofHen === 200 || ofEgg === 200 ? 1 : 2
    expect([await api.collection('hens').count(), await api.collection('eggs').count()]).toEqual([
      left,
      left,
    ])
  })
})

test('an api in memory is printed for the database that is named', () => {
  const { api } = carsApi(() => memoryStore(), memoryBlobs())
  const printed = createTablesSql(api, { database: 'postgres' })
  const tables = printed.flatMap(
    text => /^create table if not exists "(\w+)"/.exec(text)?.[1] ?? [],
  )
  expect(tables.indexOf('accounts')).toBeLessThan(tables.indexOf('cars'))
  expect(tables.indexOf('cars')).toBeLessThan(tables.indexOf('options'))
  expect(new Set(printed).size).toBe(printed.length)
  expect(printed.join()).toContain('"account_id" uuid references "accounts" ("id")')
  expect(() => createTablesSql(api, { database: 'oracle' } as never)).toThrow(TypeError)
})
