// Unique sets of some items alone (docs/collections.md, "Unique fields"): declared, created, compared with what is there.
import { type Kysely, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../src/index.ts'
import { createTableSql, sqlStore } from '../src/sql/index.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { newTable } from './stores/several.ts'
import { openDatabase } from './stores/sqlite.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'
import { defineUntyped } from './untyped.ts'

usePostgres()

const schema = z.object({
  slug: z.string(),
  kind: z.enum(['post', 'draft']).default('post'),
  pinned: z.boolean().default(false),
  deleted_at: z.iso.datetime().nullable().default(null),
  both: z.string().nullish(),
  price: z.number().default(1),
  place: z.object({ city: z.string() }).optional(),
})
const LIVE = { fields: ['slug'], where: { deleted_at: { exists: false } } } as const

function posts(store: Store, name = 'posts') {
  const unique = [LIVE, { fields: 'kind', where: { pinned: true, kind: { eq: 'post' } } }] as const
  return defineCollection({ name, schema, store, unique, timestamps: false })
}

describe('the declaration', () => {
  it.each([
    [{}, /where of a unique set must name a property.*unique: \[\["slug"\]\]/],
    [{ deletedat: { exists: false } }, /names no field: "deletedat"; did you mean "deleted_at"/],
    [{ or: [] }, /names no field: "or"/],
    [{ both: 'x' }, /both null and absent.*\.nullable\(\) or \.optional\(\), not both/],
    [{ price: 1 }, /where\.price of a unique set must be a property .* a whole number/],
    [{ 'place.city': 'Rome' }, /where\.place\.city of a unique set must be a property of the item/],
    [{ kind: 3 }, /where\.kind of a unique set must be a string of the schema, not 3/],
    [{ kind: null }, /must be a value or \{ exists: true \} or \{ exists: false \}, not null/],
    [{ kind: ['post'] }, /a partial index cannot have another condition/],
    [{ kind: { ne: 'post' } }, /a partial index cannot have another condition/],
    [{ deleted_at: '2024-01-01T00:00:00Z' }, /a partial index cannot compare times/],
  ])('refuses %j', (where, message) => {
    const define = () =>
      defineUntyped({
        name: 'posts',
        schema,
        store: memoryStore(),
        unique: [{ fields: ['slug'], where: where as object }],
      })
    expect(define).toThrow(TypeError)
    expect(define).toThrow(message)
  })

  it('prints partial indexes', () => {
    const print = (database: 'sqlite' | 'postgres') =>
      createTableSql(posts(memoryStore()).shape, { database }).filter(each => /unique/.test(each))
    const expected = [
      'create unique index if not exists "posts_unique_slug_without_deleted_at" on "posts" ("slug") where "deleted_at" is null',
      'create unique index if not exists "posts_unique_kind_pinned_is_true_kind_is_post" on "posts" ("kind") where "pinned" = true and "kind" = \'post\'',
    ]
    expect(print('postgres')).toEqual(expected)
    expect(print('sqlite')).toEqual(expected.map(each => each.replace('= true', '= 1')))
  })
})

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('holds among the items of the condition alone, and the 409 names the fields', async () => {
    const api = defineApi({ collections: { posts: posts((await open())()) } })
    const send = async (method: string, path: string, body: object) => {
      const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
      const request = new Request(`http://test${path}`, {
        method,
        body: JSON.stringify(body),
        headers,
      })
      const response = await api.fetch(request)
      return { status: response.status, json: Object(await response.json()) }
    }
    const first = await send('POST', '/posts', { slug: 'a' })
    expect(first.status).toBe(201)
    const taken = { status: 409, json: { errors: [{ type: 'not_unique', field: 'slug' }] } }
    expect(await send('POST', '/posts', { slug: 'a' })).toMatchObject(taken)
    const deleted_at = '2026-01-01T00:00:00.000Z'
    const [one, two] = [
      await send('POST', '/posts', { slug: 'a', deleted_at }),
      await send('POST', '/posts', { slug: 'a', deleted_at }),
    ]
    expect([one.status, two.status]).toEqual([201, 201])
    expect(await send('PATCH', `/posts/${two.json.id}`, { deleted_at: null })).toMatchObject(taken)
    await send('PATCH', `/posts/${first.json.id}`, { deleted_at })
    const back = [one, two].map(({ json }) =>
      send('PATCH', `/posts/${json.id}`, { deleted_at: null }),
    )
    expect((await Promise.all(back)).map(({ status }) => status).sort()).toEqual([200, 409])
    // What is written to both sets at once.
    expect((await send('POST', '/posts', { slug: 'b', pinned: true })).status).toBe(201)
    expect((await send('POST', '/posts', { slug: 'c', pinned: true })).json.errors[0].field).toBe(
      'kind',
    )
    expect((await send('POST', '/posts', { slug: 'c', pinned: true, kind: 'draft' })).status).toBe(
      201,
    )
  })
})

const databases: [string, () => Promise<Kysely<unknown>>][] = [
  ['SQLite', () => openDatabase()],
  ['PostgreSQL', async () => openPostgres()],
]

describe.each(databases)('an existing table of %s', (name, open) => {
  const time = name === 'SQLite' ? 'text' : 'timestamptz'
  const id = name === 'SQLite' ? 'text primary key not null' : 'uuid primary key'
  const slugs = z.object({
    slug: z.string(),
    deleted_at: z.iso.datetime().nullable().default(null),
  })

  /** Opens a table with these indexes. @returns what is told of it. */
  async function openWith(index = 'select 1', slug = 'text') {
    const db = await open()
    const table = newTable()
    await sql`create table ${sql.id(table)} (id ${sql.raw(id)}, slug ${sql.raw(slug)}, deleted_at ${sql.raw(time)}, version text)`.execute(
      db,
    )
    await sql.raw(index.replaceAll('%', table)).execute(db)
    const told: string[] = []
    const store = sqlStore({ db, table, create: 'records' })
    const posts = defineCollection({
      name: 'posts',
      schema: slugs,
      store,
      unique: [LIVE],
      ordered: false,
      timestamps: false,
    })
    const note = (warning: Error) => told.push(warning.message)
    process.on('warning', note)
    try {
      await defineApi({ collections: { posts } }).open()
      // Warnings are emitted in the next tick.
      await new Promise(resolve => setImmediate(resolve))
    } finally {
      process.off('warning', note)
    }
    return told
      .filter(each => each.includes(table))
      .join('\n')
      .replaceAll(table, '%')
  }

  it('is compared with the set', async () => {
    const partial = 'create unique index "%_x" on "%" (slug) where deleted_at is null'
    expect(await openWith(partial)).not.toMatch(/unique index/)
    expect(await openWith()).toMatch(
      /no unique index on slug with the condition "deleted_at" is null, so two rows can have equal values.*\ncreate unique index if not exists "%_unique_slug_without_deleted_at"/s,
    )
    const other = 'create unique index "%_y" on "%" (slug) where deleted_at is not null'
    expect(await openWith(other)).toMatch(/Its index "%_y" has another/)
  })

  it('with an index of all rows does not open', async () => {
    const opened = openWith('create unique index "%_all" on "%" (slug)')
    await expect(opened).rejects.toThrow(TypeError)
    await expect(openWith('create unique index "%_all" on "%" (slug)')).rejects.toThrow(
      /slug is unique among all rows by the index.*\ndrop index "\w+_all";/s,
    )
    // SQLite drops no index of a constraint; PostgreSQL says which constraint to drop.
    await expect(openWith(undefined, 'text unique')).rejects.toThrow(
      name === 'SQLite'
        ? /Make the table anew without this constraint\.$/
        : /\ndrop index "\w+_key";/,
    )
  })
})
