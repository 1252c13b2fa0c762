// Items that move from SQLite to a server: their rows as they are (docs/databases.md).
import { type Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs } from '../../src/index.ts'
import { createTableSql, sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const Thing = z.object({
  whole: z.int(),
  half: z.number(),
  on: z.boolean(),
  tags: z.array(z.string()),
  model: z.object({ name: z.string() }).optional(),
  either: z.union([z.string(), z.number()]).optional(),
  nothing: z.string().nullish(),
  photo: blob().optional(),
})

function served(db: Kysely<unknown>) {
  const things = defineCollection({
    name: 'moved_things',
    schema: Thing,
    store: sqlStore({ db, create: true }),
    blobs: memoryBlobs(),
  })
  const counted = defineCollection({
    name: 'moved_counts',
    schema: z.object({ n: z.int() }),
    store: sqlStore({ db, create: true }),
    id: 'integer',
  })
  const api = defineApi({ collections: [things, counted], baseUrl: 'http://api.test' })
  const answer = async (path: string) => {
    const response = await api.fetch(new Request(`http://api.test${path}`))
    const { status, headers } = response
    return [status, headers.get('etag'), headers.get('link'), await response.text()]
  }
  return { things, counted, api, answer }
}

it('to PostgreSQL', async () => {
  const database = 'postgres'
  const [from, to] = [await openDatabase(), openPostgres()]
  const [old, next] = [served(from), served(to)]
  const [things, counted] = [old.api.collection(old.things), old.api.collection(old.counted)]
  const common = { whole: 2 ** 53 - 1, half: 0.1, on: true, tags: ['a', 'ü', '"'] }
  await things.create({ ...common, model: { name: 'x' }, either: 3, nothing: null })
  await things.create({ ...common, on: false, tags: [], either: '3', nothing: 'null' })
  await things.create({ ...common, nothing: undefined })
  for (const n of [1, 2, 3]) await counted.create({ n })
  await counted.delete(3)

  for (const { shape } of [next.things, next.counted]) {
    for (const text of createTableSql(shape, { database })) await sql.raw(text).execute(to)
  }
  for (const table of ['moved_things', 'moved_counts', 'rest_sequences']) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(
      from,
    )
    await to
      .withTables<Record<string, Record<string, unknown>>>()
      .insertInto(table)
      .values(rows)
      .execute()
  }
  for (const path of ['/moved_things?limit=2', '/moved_counts', '/moved_counts/1'])
    expect(await next.answer(path)).toEqual([200, ...(await old.answer(path)).slice(1)])
  // An id is not used again.
  expect(await next.api.collection(next.counted).create({ n: 4 })).toMatchObject({ id: 4 })
  await next.api.close()
  await old.api.close()
})
