// Columns of SQLite of other programs, on libsql. `node-sqlite.test.ts` runs the same on Node's own SQLite.
import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openDatabase } from './sqlite.ts'
import { CASES, findMisread, findMissorted } from './sqlite-columns.ts'

test('a stored value is served as itself or as null, and open() says what to declare', async () => {
  expect(await findMisread(await openDatabase())).toEqual([])
  expect(CASES).toBeGreaterThan(90)
})

test('dates that the database fills in are compared as times, and open() says what to declare', async () => {
  expect(await findMissorted(await openDatabase())).toEqual([])
})

test('a table that is strict refuses a value at its field', async () => {
  const db = await openDatabase()
  const say = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await say('create table parts (id integer primary key, size integer not null) strict')
  const store = sqlStore({ db, version: false, create: 'records' })
  const schema = z.object({ size: z.number() })
  const parts = defineCollection({ name: 'parts', schema, store, id: 'integer', timestamps: false })
  const { fetch } = defineApi({ collections: { parts } })
  const headers = { 'content-type': 'application/json' }
  const post = (size: number) =>
    fetch(
      new Request('http://x/parts', { method: 'POST', headers, body: JSON.stringify({ size }) }),
    )
  expect((await post(5)).status).toBe(201)
  const refused = await post(1.5)
  expect([refused.status, Object(await refused.json()).errors[0].field]).toEqual([400, 'size'])
})
