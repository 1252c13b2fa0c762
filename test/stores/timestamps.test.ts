// The dates that the server sets: their names, one alone, none; and nulls of other programs in their columns.
import { CompiledQuery } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const schema = z.object({ note: z.string() })

describe.each([
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqlStore({ db: await openDatabase(), create: true })],
  ['PostgreSQL', async () => sqlStore({ db: openPostgres(), create: true, table: 'dated' })],
] as const)('timestamps in %s', (_name, open: () => Promise<Store>) => {
  it('have the names that the declaration gives', async () => {
    const rows = defineCollection({
      name: 'rows',
      schema,
      store: await open(),
      timestamps: { created: 'createdAt', updated: 'updatedAt' },
      sort: '-createdAt',
      indexes: ['updatedAt'],
    })
    const api = defineApi({ collections: [rows] })
    const calls = api.collection(rows)
    const made = await calls.create({ note: 'a' })
    expect(Object.keys(made)).toEqual(['id', 'note', 'createdAt', 'updatedAt'])
    const changed = await calls.patch(made.id, { note: 'b' })
    expect(changed.createdAt).toBe(made.createdAt)
    expect(changed.updatedAt > made.updatedAt).toBe(true)
    const ask = (path: string) => api.fetch(new Request(`http://a.example${path}`))
    const found = await ask(`/rows?since=${made.createdAt}&createdAt[lte]=${made.createdAt}`)
    expect(await found.json()).toMatchObject([{ note: 'b' }])
    const item = { note: 'c', createdAt: '2000-01-01T00:00:00.000Z' }
    const headers = { 'content-type': 'application/json' }
    const post = { method: 'POST', headers, body: JSON.stringify(item) }
    const sent = await api.fetch(new Request('http://a.example/rows', post))
    expect(Object(await sent.json()).createdAt).not.toBe(item.createdAt)
  })
})

it('one date alone, and the other not', async () => {
  const store = sqlStore({ db: await openDatabase(), create: true })
  const timestamps = { created: 'made' } as const
  const rows = defineCollection({ name: 'rows', schema, store, timestamps })
  const api = defineApi({ collections: [rows] })
  const made = await api.collection(rows).create({ note: 'a' })
  expect(Object.keys(made)).toEqual(['id', 'note', 'made'])
  const answer = await api.fetch(new Request(`http://a.example/rows/${made.id}`))
  expect(answer.headers.get('last-modified')).toBeNull()
  const document = await (await api.fetch(new Request('http://a.example/openapi.json'))).text()
  expect(document).not.toContain('"updated_at"')
})

it.each([
  { created: '' },
  { created: null },
  { other: 'a' },
  { created: 'a', updated: 'a' },
  { created: 'id' },
  { created: 'note' },
  'created_at',
])('timestamps: %j is refused at definition', timestamps => {
  const options = { name: 'rows', schema, store: memoryStore(), timestamps: timestamps as never }
  expect(() => defineCollection(options)).toThrow(TypeError)
})

describe.each([
  ['PostgreSQL', async () => openPostgres(), 'timestamptz', "version text default 'v'"],
  ['SQLite', () => openDatabase(), 'TEXT', "version TEXT default 'v'"],
] as const)('null in a date of %s', (_name, open, type, version) => {
  it('is read, sorted, paged, and kept by changes', async () => {
    const db = await open()
    const say = (statement: string) => db.executeQuery(CompiledQuery.raw(statement))
    await say(
      `create table legacy (id integer primary key, note text, made ${type}, changed ${type}, ${version})`,
    )
    const date = "'2026-01-01T00:00:00.000Z'"
    await say(
      `insert into legacy (id, note, made, changed) values (1, 'a', null, null), (2, 'b', ${date}, null), (3, 'c', null, ${date}), (4, 'd', ${date}, ${date})`,
    )
    const store = sqlStore({ db, table: 'legacy', create: true })
    const timestamps = { created: 'made', updated: 'changed' } as const
    const rows = defineCollection({ name: 'rows', schema, store, id: 'integer', timestamps })
    const api = defineApi({ collections: [rows] })
    const calls = api.collection(rows)
    expect(await calls.read(1)).toMatchObject({ made: null, changed: null })
    for (const [sort, expected] of [
      ['made', [1, 3, 2, 4]],
      ['-made', [4, 2, 3, 1]],
    ] as const) {
      const paged: unknown[] = []
      let path: string | undefined = `/rows?limit=1&sort=${sort}`
      while (path !== undefined) {
        const answer: Response = await api.fetch(new Request(new URL(path, 'http://a.example')))
        paged.push(...((await answer.json()) as { id: number }[]).map(({ id }) => id))
        path = /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1]
      }
      expect(paged).toEqual(expected)
    }
    expect(await calls.count({ made: { exists: false } })).toBe(2)
    const changed = await calls.patch(1, { note: 'e' })
    expect(changed).toMatchObject({ made: null, changed: expect.stringContaining('T') })
    expect(await calls.read(1)).toEqual(changed)
    await store.close()
  })
})
