// Tables of others whose columns, keys and rules are not those that the store would make: what is
// served of them is what is there, and what cannot be is refused in words.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { type SqlStoreOptions, sqlStore } from '../../src/stores/sql.ts'
import { noMariadb, openMariadb, useMariadb } from './mariadb.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()
useMariadb()

type Row = Record<string, unknown>

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Table {
  ask(
    method: string,
    path: string,
    json?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  say(text: string): Promise<Row[]>
  /** The messages that `onError` was given. */
  readonly told: string[]
  close(): Promise<void>
}

let tables = 0

/** @param made statements, in which TABLE stands for a new table. */
async function tableOf(
  db: Kysely<unknown>,
  made: readonly string[],
  schema: z.ZodObject,
  options: Partial<SqlStoreOptions> & { readonly id?: 'integer' | 'uuid' } = {},
): Promise<Table> {
  const table = `others_${++tables}`
  const say = async (text: string) =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text.replaceAll('TABLE', table)))).rows
  for (const statement of made) await say(statement)
  const { id = 'integer', ...rest } = options
  const store = sqlStore({ db, table, version: false, ...rest })
  const told: string[] = []
  const cars = defineCollection({ name: 'cars', schema, store, id, timestamps: false })
  const { fetch } = defineApi({
    collections: [cars],
    onError: error => {
      told.push(error instanceof Error ? error.message : String(error))
    },
  })
  return {
    async ask(method, path, json, headers = {}) {
      const body = json === undefined ? {} : { body: JSON.stringify(json) }
      const request = new Request(new URL(path, 'http://a.example'), {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        redirect: 'manual',
        ...body,
      })
      const answer = await fetch(request)
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    },
    say,
    told,
    close: () => store.close(),
  }
}

const SEQUENCES =
  'create table if not exists rest_sequences (name varchar(99) primary key, last_id varchar(99) not null)'

describe.each([
  [
    'PostgreSQL',
    async () => openPostgres(),
    ['create unique index on TABLE (lower(color))', 'create unique index on TABLE (tenant, name)'],
    false,
  ],
  [
    'SQLite',
    () => openDatabase(),
    [
      'create unique index x on TABLE (lower(color))',
      'create unique index y on TABLE (tenant, name)',
    ],
    false,
  ],
  [
    'MariaDB',
    async () => openMariadb(),
    ['create unique index y on TABLE (tenant, name)'],
    noMariadb,
  ],
] as const)('unique indexes of others in %s', (database, open, indexes, skipped) => {
  it.skipIf(skipped)('give away no column and no SQL', async () => {
    const schema = z.object({ color: z.string(), name: z.string() })
    const made = [
      'create table TABLE (id int primary key, color varchar(20), name varchar(20), tenant int default 1)',
      ...indexes,
      SEQUENCES,
    ]
    const { ask, close } = await tableOf(await open(), made, schema)
    expect((await ask('POST', '/cars', { color: 'a', name: 'a' })).status).toBe(201)
    const named = await ask('POST', '/cars', { color: 'b', name: 'a' })
    expect(named.status).toBe(409)
    expect(JSON.parse(named.text).errors).toEqual([
      { message: 'Another item has the same name', code: 409, field: 'name', type: 'not_unique' },
    ])
    if (database !== 'MariaDB') {
      const unnamed = await ask('POST', '/cars', { color: 'A', name: 'b' })
      expect(unnamed.status).toBe(409)
      expect(JSON.parse(unnamed.text).errors).toEqual([
        { message: 'Another item has the same values', code: 409, type: 'not_unique' },
      ])
    }
    await close()
  })
})
