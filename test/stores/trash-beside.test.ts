// Soft deletes by triggers of the database, beside a trash: on its table, and on one that refers to it.
import { CompiledQuery } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { instead } from './kept-tables.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const DATE = '2026-01-01T00:00:00.000Z'

describe.each([
  ['PostgreSQL', async () => openPostgres()],
  ['SQLite', () => openDatabase()],
] as const)('a trigger that marks rows on %s', (name, open) => {
  /** Serves cars with a trash, and notes that refer to them; both tables have the trigger. */
  async function serve(mark: string) {
    const [db, table] = [await open(), newTable()]
    const trigger = instead('delete', 'TABLE', `update TABLE set ${mark} where id = old.id;`)
    for (const [own, column] of [
      ['cars', 'plate text'],
      ['notes', 'car_id integer'],
    ] as const) {
      const columns = `id integer primary key, ${column}, gone integer, deleted_at text`
      for (const each of [`create table TABLE (${columns})`, ...trigger[name]])
        await db.executeQuery(CompiledQuery.raw(each.replaceAll('TABLE', `${table}_${own}`)))
    }
    const options = { db, version: false, create: 'records' } as const
    const base = { id: 'integer', timestamps: false } as const
    const cars = defineCollection({
      ...{ name: 'cars', ...base, trash: 'deleted_at' },
      schema: z.object({ plate: z.string(), deleted_at: z.iso.datetime().optional() }),
      store: sqlStore({ ...options, table: `${table}_cars` }),
    })
    const notes = defineCollection({
      ...{ name: 'notes', ...base, references: { car_id: 'cars' } },
      schema: z.object({ car_id: z.int(), deleted_at: z.iso.datetime().optional() }),
      store: sqlStore({ ...options, table: `${table}_notes` }),
    })
    const api = defineApi({ collections: [cars, notes] })
    await api.open()
    return async (method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json' }
      const init = { method, headers, body: body ? JSON.stringify(body) : null }
      const response = await api.fetch(new Request(`http://x${path}`, init))
      const text = await response.text()
      const json = text === '' ? undefined : JSON.parse(text)
      return [response.status, json?.errors?.[0].type ?? json] as const
    }
  }

  test.each([['gone = 1'], [`deleted_at = '${DATE}'`]])('by %s', async mark => {
    const send = await serve(mark)
    await send('POST', '/cars', { plate: 'A' })
    await send('POST', '/notes', { car_id: 1 })
    expect(await send('DELETE', '/cars/1')).toEqual([409, 'referenced'])
    // The row stays, so it still refers to the car.
    expect((await send('DELETE', '/notes/1'))[0]).toBe(200)
    expect(await send('DELETE', '/cars/1')).toEqual([409, 'referenced'])
    await send('POST', '/cars', { plate: 'B' })
    expect((await send('DELETE', '/cars/2'))[0]).toBe(200)
    expect(await send('GET', '/cars')).toEqual([200, [{ id: 1, plate: 'A' }]])
    // What the database marks again stays in the trash, and comes back as every item.
    expect((await send('DELETE', '/cars/trash/2'))[0]).toBe(200)
    const inTrash = [{ id: 2, plate: 'B', deleted_at: expect.any(String) }]
    expect(await send('GET', '/cars/trash')).toEqual([200, inTrash])
    expect((await send('POST', '/cars/2/restore'))[0]).toBe(303)
    expect((await send('GET', '/cars'))[1]).toHaveLength(2)
  })
})
