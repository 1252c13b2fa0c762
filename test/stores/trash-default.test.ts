// A trash on a table whose date of the deletion has a default: new items would be in the trash at once.
import { CompiledQuery } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

describe.each([
  ['PostgreSQL', async () => openPostgres(), 'timestamptz default now()'],
  ['SQLite', () => openDatabase(), 'datetime default current_timestamp'],
] as const)('the date of the trash in %s with a default', (_name, open, type) => {
  const serve = async (deleted_at: z.ZodType) => {
    const [db, table] = [await open(), newTable()]
    const columns = `id integer primary key, name text not null, deleted_at ${type}`
    await db.executeQuery(CompiledQuery.raw(`create table ${table} (${columns})`))
    const store = sqlStore({ db, table, version: false, create: true })
    const schema = z.object({ name: z.string(), deleted_at })
    const rows = defineCollection({
      name: 'rows',
      ...{ schema, store, id: 'integer', timestamps: false, trash: 'deleted_at' },
    })
    return defineApi({ collections: [rows] })
  }

  test('is refused if creates leave it to the database, with what to do', async () => {
    const { open } = await serve(z.iso.datetime().optional())
    await expect(open()).rejects.toThrow(
      '"deleted_at" has a default, which puts each new item into the trash; declare deleted_at: z.iso.datetime().nullable().default(null)',
    )
  })

  test('is served if creates say null', async () => {
    const { open, fetch } = await serve(z.iso.datetime().nullable().default(null))
    await open()
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'a' })
    await fetch(new Request('http://x/rows', { method: 'POST', headers, body }))
    const listed = await fetch(new Request('http://x/rows'))
    expect(await listed.json()).toEqual([{ id: 1, name: 'a', deleted_at: null }])
  })
})
