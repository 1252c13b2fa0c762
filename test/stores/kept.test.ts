// What triggers, rules, policies and views make of a write: no effect happens twice, a write that they keep out is a 409,
// and no loser of a race is answered as if it had won.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { KeptError } from '../../src/store-authors/index.ts'
import { openHandler } from '../handlers.ts'
import {
  FIXED,
  inserts,
  KEEPING,
  type KeptTable,
  type Kind,
  MARKED,
  makeKept,
  NAMES,
  type Name,
  useKeptTables,
} from './kept-tables.ts'

useKeptTables()

const OPERATIONS = [
  'list',
  'read',
  'create',
  'replace',
  'patch',
  'delete',
  'patchMany',
  'deleteMany',
] as const
const KEPT = expect.objectContaining({ code: 409, type: 'kept_by_database' })

/** With ids that clients choose. */
const NAMED = z.object({ name: z.string(), id: z.string() })

interface Options {
  readonly id?: 'integer' | 'uuid' | 'text'
  readonly ordered?: false
  readonly version?: string | false
  /** Whether hooks run in the transaction of their write. */
  readonly transaction?: boolean
}

/** Serves a table, and counts how often its hooks ran. */
async function serve(
  { db, table }: Pick<KeptTable, 'db' | 'table'>,
  { id = 'integer', version = false, transaction = false, ...more }: Options = {},
) {
  const ran: string[] = []
  const note = (when: string) => () => void ran.push(when)
  const notes = defineCollection({
    name: 'notes',
    schema: id === 'text' ? NAMED : z.object({ name: z.string() }),
    store: sqlStore({ db, table, version }),
    ...(id !== 'text' && { id }),
    ...more,
    timestamps: false,
    operations: OPERATIONS,
    hooks: { transaction, after: { delete: note('deleted'), patch: note('patched') } },
  })
  const api = defineApi({ collections: { notes }, batch: true })
  const { request } = await openHandler('fetch', api)
  return { api, request, ran, definition: notes, notes: api.collection(notes) }
}

/** The kinds that a database has. */
const of = <K extends Kind & { readonly title: string }>(name: Name, kinds: readonly K[]) =>
  kinds.flatMap(kind => {
    const made = kind[name]
    return made ? [[kind.title, kind, made] as const] : []
  })

describe.each(NAMES)('%s', name => {
  describe.each([false, 'version'] as const)('versions: %s', version => {
    test.each(of(name, MARKED))('a deletion is done, once: %s', async (_, { stays }, made) => {
      const table = await makeKept(name, made)
      const { request, ran } = await serve(table, { version })
      const read = await request('/notes/1')
      const headers = { 'if-match': read.headers.get('etag') ?? '', 'idempotency-key': '"k"' }
      const gone = await request('/notes/1', { method: 'DELETE', headers })
      expect([gone.status, gone.json]).toEqual([200, { id: 1, name: 'n1' }])
      expect([await table.effects(), ran]).toEqual([1, ['deleted']])
      const again = await request('/notes/1', { method: 'DELETE', headers })
      expect([again.status, again.text]).toEqual([200, gone.text])
      expect([await table.effects(), ran]).toEqual([1, ['deleted']])
      expect((await request('/notes/1')).status).toBe(stays ? 200 : 404)
      expect((await request('/notes/2')).status).toBe(200)
    })

    test.each(of(name, KEEPING))('a deletion is refused, undone: %s', async (_, _kind, made) => {
      const table = await makeKept(name, made)
      const { request, ran, notes } = await serve(table, { version })
      const key = { 'idempotency-key': '"k"' }
      for (const headers of [{}, key, key]) {
        const kept = await request('/notes/1', { method: 'DELETE', headers })
        expect([kept.status, kept.json]).toEqual([409, { errors: [KEPT] }])
      }
      await expect(notes.delete(1)).rejects.toThrow(KeptError)
      expect([await table.effects(), ran]).toEqual([0, []])
      expect((await request('/notes/1')).json).toEqual({ id: 1, name: 'n1' })
    })

    test.each(of(name, FIXED))('a change is refused, undone: %s', async (_, _kind, made) => {
      const table = await makeKept(name, made)
      const { api, request, ran, notes, definition } = await serve(table, { version })
      const json = { name: 'x' }
      const key = { 'idempotency-key': '"k"' }
      for (const [method, headers] of [
        ['PATCH', {}],
        ['PUT', {}],
        ['PATCH', key],
        ['PATCH', key],
      ] as const) {
        const kept = await request('/notes/1', { method, json, headers })
        expect([kept.status, kept.json]).toEqual([409, { errors: [KEPT] }])
      }
      await expect(notes.patch(1, json)).rejects.toThrow(KeptError)
      await expect(notes.patchMany({ id: [1] }, json)).rejects.toThrow(KeptError)
      // A program that catches it goes on, as after other errors of one write.
      const caught = api.transaction(tx =>
        tx
          .collection(definition)
          .patch(1, json)
          .catch(error => error),
      )
      expect(await caught).toBeInstanceOf(KeptError)
      expect([await table.effects(), ran]).toEqual([0, []])
      expect((await request('/notes/1')).json).toEqual({ id: 1, name: 'n1' })
    })
  })

  describe.each([
    ['integer', 'integer primary key', {}],
    ['uuid', name === 'SQLite' ? 'text primary key' : 'uuid primary key', {}],
    ['uuid', 'text primary key', { ordered: false }],
    ['text', 'text primary key', {}],
  ] as const)('ids: %s, %s', (id, type, more) => {
    test.each(of(name, inserts(type)))('a new row: %s', async (_, { stands = false }, made) => {
      const table = await makeKept(name, made)
      const { api, request, notes, definition } = await serve(table, {
        id,
        ...more,
        version: 'version',
      })
      const ids = [...'abcdefgh']
      const body = () => ({ name: 'x', ...(id === 'text' && { id: ids.shift() ?? '' }) })
      const post = (json: unknown, headers = {}) =>
        request('/notes', { method: 'POST', json, headers })
      const created = [
        await post(body()),
        await post(body(), { 'idempotency-key': '"k"' }),
        await post([body(), body()]),
      ]
      expect(created.map(({ status }) => status)).toEqual(Array(3).fill(stands ? 201 : 409))
      expect(await table.effects()).toBe(stands ? 4 : 0)
      if (!stands) {
        expect(created[0]?.json).toEqual({ errors: [KEPT] })
        expect(created[2]?.json).toMatchObject({ errors: [{ field: '0' }] })
        await expect(notes.create(body())).rejects.toThrow(KeptError)
        await expect(notes.create([body(), body()])).rejects.toMatchObject({ at: 0 })
        const caught = api.transaction(tx =>
          tx
            .collection(definition)
            .create(body())
            .catch(error => error),
        )
        expect(await caught).toBeInstanceOf(KeptError)
        expect(await table.effects()).toBe(0)
        return
      }
      expect(await notes.count()).toBe(4)
      const read = await request(String(created[0]?.headers.get('location')))
      expect([read.status, read.text]).toEqual([200, created[0]?.text])
    })
  })
})
