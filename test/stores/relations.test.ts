// Link tables without an id: collections whose ids are made of two references.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { FILTER_OPERATIONS, OPERATIONS } from '../../src/model/types/operation.ts'
import { parseLink } from '../../src/rules/index.ts'
import { sqlStore, type TableMappingOptions } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

interface Kind {
  open(): Promise<(table: string) => Store>
  /** Whether ids of tags are UUIDs. */
  readonly uuid?: boolean
}

const run = async (db: Kysely<unknown>, statements: readonly string[]) => {
  for (const each of statements) await db.executeQuery(CompiledQuery.raw(each))
}
const names = (prefix: string, table: string) => `${prefix}_${table}`
let opened = 0

/** Tables that are there, as Drizzle and Prisma make them. */
function existing(open: () => Kysely<unknown> | Promise<Kysely<unknown>>, tag: string): Kind {
  return {
    uuid: tag.startsWith('uuid'),
    async open() {
      const db = await open()
      const prefix = `t${process.pid}_${++opened}`
      const columns: Record<string, TableMappingOptions['columns']> = {
        links: { post_id: 'postId', tag_id: 'tagId' },
      }
      await run(db, [
        `create table ${prefix}_posts (id integer primary key, title text not null)`,
        `create table ${prefix}_tags (id ${tag} primary key, label text not null)`,
        `create table ${prefix}_links ("postId" integer not null references ${prefix}_posts (id) on delete cascade,
          "tagId" ${tag.replace(/ default .*/, '')} not null references ${prefix}_tags (id), note text, primary key ("postId", "tagId"))`,
      ])
      return name =>
        sqlStore({
          ...{ db, table: names(prefix, name), version: false, create: 'records' },
          ...(columns[name] && { columns: columns[name] }),
        })
    },
  }
}

/** Tables that the store makes. */
function made(open: () => Kysely<unknown> | Promise<Kysely<unknown>>): Kind {
  return {
    async open() {
      const db = await open()
      const prefix = `t${process.pid}_${++opened}`
      return name => sqlStore({ db, table: names(prefix, name), create: true })
    },
  }
}

const KINDS: Readonly<Record<string, Kind>> = {
  'in memory': { open: async () => () => memoryStore() },
  'of SQLite': made(() => openDatabase()),
  'of PostgreSQL': made(() => openPostgres()),
  'of SQLite that are there': existing(() => openDatabase(), 'text'),
  'of PostgreSQL that are there': existing(() => openPostgres(), 'varchar(40)'),
  'of PostgreSQL with UUIDs': existing(() => openPostgres(), 'uuid default gen_random_uuid()'),
}

async function serve({ open, uuid }: Kind) {
  const store = await open()
  const posts = defineCollection({
    ...{ name: 'posts', schema: z.object({ title: z.string() }), store: store('posts') },
    ...{ id: 'integer', timestamps: false },
  })
  const id = uuid ? z.guid() : z.string()
  const tags = defineCollection({
    ...{ name: 'tags', schema: z.object({ id, label: z.string() }), store: store('tags') },
    timestamps: false,
  })
  const links = defineCollection({
    name: 'links',
    schema: z.object({
      post_id: z.int(),
      tag_id: id,
      note: z.string().nullable().default(null),
    }),
    store: store('links'),
    id: ['post_id', 'tag_id'],
    relation: { post_id: { collection: 'posts', onDelete: 'cascade' }, tag_id: 'tags' },
    operations: [...OPERATIONS, ...FILTER_OPERATIONS],
    timestamps: false,
  })
  const api = defineApi({ collections: { posts, tags, links } })
  await api.open()
  const ask = async (path: string, method = 'GET', body?: unknown, more: object = {}) => {
    const headers = { 'content-type': 'application/json', prefer: 'return=representation', ...more }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await api.fetch(new Request(new URL(path, 'https://a.example'), init))
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
  }
  const tag = (name: string) =>
    uuid ? `0190a000-0000-7000-8000-${Buffer.from(name.padEnd(6)).toString('hex')}` : name
  for (let at = 1; at <= 12; at++) await ask('/posts', 'POST', { title: `p${at}` })
  for (const each of TAGS) await ask('/tags', 'POST', { id: tag(each), label: each })
  return { api, links, ask, tag }
}

const TAGS = ['red', 'a~b', '50%', '%7E']
/** The part of an id, and the same in a path. */
const part = (text: string) => text.replaceAll('%', '%25').replaceAll('~', '%7E')
const inPath = (id: string) => encodeURIComponent(id)

describe.each(Object.entries(KINDS))('link tables %s', (_, kind) => {
  test('are created, read, changed and deleted by the two references', async () => {
    const { ask, tag } = await serve(kind)
    for (const name of TAGS) {
      const id = `3~${part(tag(name))}`
      const made = await ask('/links', 'POST', { post_id: 3, tag_id: tag(name), note: name })
      expect(made).toMatchObject({ status: 201, body: { id, post_id: 3, tag_id: tag(name) } })
      const path = made.headers.get('location') ?? ''
      expect(path).toBe(`https://a.example/links/${inPath(id)}`)
      const read = await ask(path)
      expect(read.body).toEqual({ id, post_id: 3, tag_id: tag(name), note: name })
      expect((await ask(`/links?id=${inPath(id)}`)).body).toEqual([read.body])
      const patched = await ask(
        path,
        'PATCH',
        { note: 'x' },
        { 'if-match': read.headers.get('etag') },
      )
      expect(patched).toMatchObject({ status: 200, body: { id, note: 'x' } })
      const old = { 'if-match': read.headers.get('etag') }
      expect((await ask(path, 'PATCH', { note: 'y' }, old)).status).toBe(412)
      expect((await ask(path, 'PUT', { note: 'put' })).body).toEqual({ ...read.body, note: 'put' })
      expect((await ask(path, 'PUT', { ...read.body, note: 'z' })).status).toBe(200)
      const moved = await ask(path, 'PATCH', { post_id: 4 })
      expect(moved).toMatchObject({ status: 400, body: { errors: [{ field: 'post_id' }] } })
      const again = await ask('/links', 'POST', { post_id: 3, tag_id: tag(name) })
      expect(again.status).toBe(409)
      expect(again.body.errors.map((each: { field: string }) => each.field).sort()).toEqual([
        'post_id',
        'tag_id',
      ])
    }
    const [first, second] = TAGS.map(name => `/links/${inPath(`3~${part(tag(name))}`)}`)
    expect((await ask(first ?? '', 'DELETE')).status).toBe(200)
    expect((await ask(first ?? '')).status).toBe(404)
    expect((await ask('/posts/3', 'DELETE')).status).toBe(200)
    expect((await ask(second ?? '')).status).toBe(404)
    for (const id of [
      '3',
      '3~',
      '~',
      'x~red',
      '03~red',
      '3~red~red',
      '99999999999999999999~red',
      '3000000000~red',
    ])
      expect((await ask(`/links/${inPath(id)}`)).status).toBe(404)
  })

  test('are included, filtered, and listed in the order of the references, page by page', async () => {
    const { ask, tag, api, links } = await serve(kind)
    const pairs = Array.from({ length: 12 }, (_, at) =>
      TAGS.map(name => [at + 1, tag(name)] as const),
    ).flat()
    const shuffled = pairs.toSorted((one, other) =>
      `${one[1]}${one[0]}`.localeCompare(`${other[1]}${other[0]}`),
    )
    const key = { 'idempotency-key': '"many"' }
    const body = shuffled.map(([post_id, tag_id]) => ({ post_id, tag_id }))
    const made = await ask('/links', 'POST', body, key)
    expect(made.body.map(({ id }: { id: string }) => id)).toEqual(
      shuffled.map(([post, own]) => `${post}~${part(own)}`),
    )
    expect((await ask('/links', 'POST', body, key)).body).toEqual(made.body)
    const byCode = (one: string, other: string) => (one < other ? -1 : 1)
    const sorted = pairs.toSorted((one, other) => one[0] - other[0] || byCode(one[1], other[1]))
    for (const [sort, expected] of [
      ['', sorted],
      ['-id', sorted.toReversed()],
      ['id', sorted],
    ] as const) {
      const seen: string[] = []
      let next: string | undefined = `/links?limit=7&sort=${sort}`
      while (next) {
        const { body, headers } = await ask(next)
        seen.push(...body.map(({ id }: { id: string }) => id))
        next = parseLink(headers.get('link') ?? '').find(({ rel }) => rel === 'next')?.href
      }
      expect(seen).toEqual(expected.map(([post, own]) => `${post}~${part(own)}`))
    }
    const included = await ask('/posts/7?include=links.tag')
    expect(
      included.body.links.map(({ tag: { label } }: { tag: { label: string } }) => label).sort(),
    ).toEqual(TAGS.toSorted())
    expect((await ask('/posts/7/links')).body).toHaveLength(4)
    expect((await ask(`/posts?links.tag_id=${inPath(tag('a~b'))}`)).body).toHaveLength(12)
    const two = [`2~${part(tag('a~b'))}`, `9~${part(tag('50%'))}`]
    expect(
      (await ask(`/links?id[in]=${two.map(inPath).join()},x`)).body.map(
        ({ id }: { id: string }) => id,
      ),
    ).toEqual(two)
    expect((await ask(`/links/count?id[nin]=${two.map(inPath).join()}`)).body.count).toBe(46)
    const patched = await ask(`/links?id[in]=${two.map(inPath).join()}`, 'PATCH', { note: 'both' })
    expect(patched.status).toBe(200)
    expect((await ask('/links/count?note=both')).body.count).toBe(2)
    expect(
      (await ask('/links?post_id=2', 'DELETE', undefined, { prefer: 'max-affected=50' })).status,
    ).toBe(200)
    expect((await ask('/links/count')).body.count).toBe(44)
    const found = await api.collection(links).read(two[1] ?? '')
    expect(found?.note).toBe('both')
    const made7 = await ask('/posts/2/links', 'POST', { tag_id: tag('red') })
    expect(made7).toMatchObject({ status: 201, body: { id: `2~${tag('red')}` } })
    const upsert = `/links?post_id=2&tag_id=${tag('red')}`
    expect((await ask(upsert, 'PUT', { note: 'up' })).body.note).toBe('up')
  })
})

test.each(['PostgreSQL', 'SQLite'])('conditions on ids are served by the key of %s', async name => {
  const statements: CompiledQuery[] = []
  const log = (each: CompiledQuery) => void statements.push(each)
  const db = name === 'SQLite' ? await openDatabase(undefined, log) : openPostgres({}, log)
  const kind = existing(() => db, name === 'SQLite' ? 'text' : 'varchar(40)')
  const { ask } = await serve(kind)
  const table = `t${process.pid}_${opened}_links`
  await run(db, [
    `insert into t${process.pid}_${opened}_posts (id, title) with recursive n (i) as (select 100 union all select i + 1 from n where i < 20000) select i, 'x' from n`,
    `insert into ${table} ("postId", "tagId") select id, 'red' from t${process.pid}_${opened}_posts where id >= 100`,
    name === 'SQLite' ? 'analyze' : `analyze ${table}`,
  ])
  const [page] = [await ask('/links?limit=5')]
  const next = parseLink(page?.headers.get('link') ?? '').find(({ rel }) => rel === 'next')?.href
  statements.length = 0
  const path = next ?? ''
  for (const each of [
    '/links/500~red',
    '/links?id=500~red&limit=5',
    '/links?id[in]=500~red,501~red&limit=5',
    path,
  ])
    await ask(each)
  await ask('/links/500~red', 'PATCH', { note: 'x' })
  await ask('/links/500~red', 'DELETE')
  const own = statements.filter(
    ({ sql }) => sql.includes(`"${table}"`) && /^(?:select|update|delete)/.test(sql),
  )
  expect(own.length).toBeGreaterThanOrEqual(6)
  for (const { sql, parameters } of own) {
    const explain = name === 'SQLite' ? 'explain query plan ' : 'explain '
    const plan = JSON.stringify(
      (await db.executeQuery(CompiledQuery.raw(explain + sql, [...parameters]))).rows,
    )
    expect(plan, sql).not.toMatch(new RegExp(`Seq Scan on ${table}|SCAN ${table}(?! USING INDEX)`))
  }
})

describe('what cannot be such an id is refused', () => {
  const schema = z.object({ post_id: z.int(), tag_id: z.string(), note: z.string().optional() })
  const declared = {
    ...{ name: 'links', schema, store: memoryStore(), id: ['post_id', 'tag_id'] },
    relation: { post_id: 'posts', tag_id: 'tags' },
  }
  test.each([
    [
      { id: ['post_id', 'tag_id', 'note'] },
      /^links: id must be "uuid", "integer", or the two references/,
    ],
    [
      { id: ['post_id', 'note'] },
      /^links: "note" is a part of the id, so it must be a reference\./,
    ],
    [{ id: ['post_id', 'post_id'] }, /^links: an id of two fields needs different ones/],
    [
      { fields: { tag_id: 'writeOnly' } },
      /^links: "tag_id" is a part of the id, so it is required/,
    ],
    [{ schema: schema.extend({ tag_id: z.string().nullable() }) }, /"tag_id" is a part of the id/],
    [{ schema: schema.extend({ id: z.string() }) }, /leave it out, or leave out id: \[/],
    [{ putCreates: true }, /putCreates needs ids chosen by clients/],
    [{ live: true }, /takes neither lease nor live/],
  ])('%j', (more, message) => {
    const define: (options: object) => unknown = defineCollection as never // what the types refuse
    expect(() => define({ ...declared, ...more })).toThrow(message)
  })

  test('no other collection refers to it', () => {
    const posts = defineCollection({ name: 'posts', schema: z.object({}), store: memoryStore() })
    const tags = defineCollection({ name: 'tags', schema: z.object({}), store: memoryStore() })
    const links = defineCollection({
      ...{ name: 'links', schema: z.object({ post_id: z.string(), tag_id: z.string() }) },
      ...{ store: memoryStore(), relation: { post_id: 'posts', tag_id: 'tags' } },
      id: ['post_id', 'tag_id'],
    })
    const votes = defineCollection({
      ...{ name: 'votes', schema: z.object({ link_id: z.string() }), store: memoryStore() },
      references: { link_id: 'links' },
    })
    expect(() => defineApi({ collections: { posts, tags, links, votes } })).toThrow(
      'votes: "link_id" cannot hold an id of links, which consists of two columns. Give links an id in one column',
    )
  })

  test.each(['PostgreSQL', 'SQLite'])(
    'a table of %s without a unique index on both',
    async name => {
      const db = name === 'SQLite' ? await openDatabase() : openPostgres()
      const table = `t${process.pid}_${++opened}`
      await run(db, [
        `create table ${table} (post_id integer not null unique, tag_id text not null)`,
      ])
      const links = () => {
        const store = sqlStore({ db, table, version: false })
        return defineCollection({
          ...{ name: 'links', schema: z.object({ post_id: z.int(), tag_id: z.string() }), store },
          ...{ relation: { post_id: 'posts', tag_id: 'tags' }, timestamps: false },
          id: ['post_id', 'tag_id'],
        })
      }
      const posts = defineCollection({
        name: 'posts',
        schema: z.object({}),
        store: memoryStore(),
        id: 'integer',
      })
      const tags = defineCollection({ name: 'tags', schema: z.object({}), store: memoryStore() })
      const open = () => defineApi({ collections: { posts, tags, links: links() } }).open()
      await expect(open()).rejects.toThrow(
        `The table ${table}: its columns "post_id" and "tag_id" need a unique index on both, as they are the id.`,
      )
      await run(db, [`create unique index ${table}_pair on ${table} (tag_id, post_id)`])
      await open()
    },
  )
})
