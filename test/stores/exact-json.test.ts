// Whole numbers beyond 2^53 that other programs have put into JSON columns: they are sent as they are, and no write of
// ours rounds them.
import { CompiledQuery, type Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const DIGITS = '653247040368672768'
const PAYLOAD = `{"note": "a", "deep": [1, {"sender": -${DIGITS}1}], "sender": ${DIGITS}}`
const COMPACT = `{"note":"a","deep":[1,{"sender":-${DIGITS}1}],"sender":${DIGITS}}`

const schema = z.object({
  name: z.string(),
  payload: z.looseObject({ note: z.string(), sender: z.number(), deep: z.array(z.json()) }),
  any: z.union([z.number(), z.string()]).nullable(),
})

/** Batches lock it. */
const SEQUENCES =
  'create table if not exists rest_sequences (name varchar(99) primary key, last_id varchar(99) not null)'
/** Keys are kept in it. */
const KEYS =
  'create table if not exists rest_idempotency (name varchar(99) not null, key varchar(99) not null, fingerprint text not null, answer text, expires_at bigint not null, primary key (name, key))'

let tables = 0

async function open(db: Kysely<unknown>, type: string, version: 'version' | false) {
  const table = `hooks_${++tables}`
  const say = async (text: string) =>
    (await db.executeQuery<{ t: string }>(CompiledQuery.raw(text))).rows
  const column = version === false ? '' : ', version varchar(40)'
  await say(
    `create table ${table} (id int primary key, name text not null, payload ${type} not null, "any" ${type}${column})`,
  )
  await say(SEQUENCES)
  await say(KEYS)
  const own = version === false ? '' : ", 'v'"
  await say(`insert into ${table} values (1, 'a', '${PAYLOAD}', null${own})`)
  const errors: unknown[] = []
  const hooks = defineCollection({
    name: 'hooks',
    schema,
    id: 'integer',
    timestamps: false,
    store: sqlStore({ db, table, version }),
    actions: {
      touch: { on: 'item', run: ({ update }) => update({ name: 'touched' }) },
      look: { on: 'item', run: ({ item }) => ({ sender: item.payload.sender }) },
    },
  })
  const api = defineApi({ collections: [hooks], batch: true, onError: error => errors.push(error) })
  return {
    hooks,
    api,
    errors,
    alone: () => say(`update ${table} set "any" = '${DIGITS}1'`),
    ask: async (
      method: string,
      path: string,
      body?: unknown,
      type: string | Record<string, string> = 'application/json',
    ) => {
      const headers = typeof type === 'string' ? { 'content-type': type } : type
      const sent = body === undefined ? {} : { body: JSON.stringify(body), headers }
      const response = await api.fetch(
        new Request(`http://x${path}`, { method, redirect: 'manual', ...sent }),
      )
      return { status: response.status, text: await response.text() }
    },
    kept: async () => {
      const [row] = await say(`select cast(payload as text) as t from ${table}`)
      return row?.t
    },
    close: async () => {
      await say(`drop table ${table}`)
      await db.destroy()
    },
  }
}

describe.each([
  ['jsonb of PostgreSQL', openPostgres, 'jsonb', false],
  ['json of PostgreSQL', openPostgres, 'json', false],
  ['jsonb of PostgreSQL with versions', openPostgres, 'jsonb', 'version'],
  ['SQLite', openDatabase, 'text', false],
  ['SQLite with versions', openDatabase, 'text', 'version'],
] as const)('whole numbers beyond 2^53 in %s', (_, make, type, version) => {
  it('are sent with all their digits', async () => {
    const { ask, close } = await open(await make(), type, version)
    const item = await ask('GET', '/hooks/1')
    expect(item.status).toBe(200)
    const sorted = (text: string) => [...text.matchAll(/-?\d{16,}/g)].map(String).sort()
    expect(sorted(item.text)).toEqual(sorted(COMPACT))
    expect(() => JSON.parse(item.text)).not.toThrow()
    for (const path of [
      '/hooks',
      '/hooks/1?fields=payload',
      '/hooks?fields=name,payload',
      '/hooks/1.xml',
      '/hooks.xml',
      '/hooks.csv',
      '/hooks.ndjson',
      '/hooks?payload.sender[gt]=5',
    ]) {
      const { status, text } = await ask('GET', path)
      expect([path, status, sorted(text)]).toEqual([path, 200, sorted(COMPACT)])
    }
    const part = await ask('GET', '/hooks/1?fields=payload.sender')
    expect(part.text).toBe(`{"payload":{"sender":${DIGITS}}}`)
    expect((await ask('GET', '/hooks.csv?fields=payload.sender')).text).toContain(DIGITS)
    expect((await ask('GET', '/hooks/1.xml')).text).toContain(`<sender>${DIGITS}</sender>`)
    await close()
  })

  it('stay as they are where a write leaves them, else it is 409', async () => {
    const { ask, kept, close } = await open(await make(), type, version)
    const before = await kept()
    const read = await ask('GET', '/hooks/1')
    for (const [method, path, body, media] of [
      ['PATCH', '/hooks/1', { name: 'b' }],
      [
        'PATCH',
        '/hooks/1',
        [{ op: 'replace', path: '/name', value: 'c' }],
        'application/json-patch+json',
      ],
      ['POST', '/hooks/1/touch', {}],
      [
        'POST',
        '/batch',
        [
          { method: 'PATCH', path: '/hooks/1', body: { name: 'd' } },
          { method: 'GET', path: '/hooks/1' },
        ],
      ],
      // As a client in JavaScript reads it.
      ['PUT', '/hooks/1', { ...JSON.parse(read.text), name: 'e' }],
    ] as const) {
      const { status, text } = await ask(method, path, body, media)
      expect([body, status < 400, text]).toEqual([body, true, text])
      expect(await kept()).toSatisfy(
        (now: string) => now.replace(/\s/g, '') === before?.replace(/\s/g, ''),
      )
    }
    for (const [body, media] of [
      [{ payload: { note: 'b' } }],
      [{ payload: { sender: 1 } }],
      [[{ op: 'replace', path: '/payload/note', value: 'b' }], 'application/json-patch+json'],
    ] as const) {
      const { status, text } = await ask('PATCH', '/hooks/1', body, media)
      expect([status, JSON.parse(text).errors[0]]).toMatchObject([
        409,
        { field: 'payload', type: 'inexact_stored' },
      ])
    }
    expect((await kept())?.replace(/\s/g, '')).toBe(before?.replace(/\s/g, ''))
    await close()
  })

  it('are in the response that a key repeats', async () => {
    const { ask, close } = await open(await make(), type, version)
    const keyed = {
      'content-type': 'application/json',
      'idempotency-key': `"${type}-${version}"`,
      prefer: 'return=representation',
    }
    const [first, again] = [
      await ask('PATCH', '/hooks/1', { name: 'b' }, keyed),
      await ask('PATCH', '/hooks/1', { name: 'b' }, keyed),
    ]
    expect(first.text).toContain(`"sender":${DIGITS}`)
    expect(again).toEqual(first)
    await close()
  })

  it('are null where the column holds nothing else', async () => {
    const { ask, alone, close } = await open(await make(), type, version)
    // A `null` of the database is one too, where the property is never absent.
    expect(JSON.parse((await ask('GET', '/hooks/1')).text)).toHaveProperty('any', null)
    await alone()
    const { text } = await ask('GET', '/hooks/1')
    expect(JSON.parse(text)).toMatchObject({ name: 'a', any: null })
    expect((await ask('PATCH', '/hooks/1', { name: 'b' })).status).toBeLessThan(400)
    const { status, text: refused } = await ask('PATCH', '/hooks/1', { any: null })
    expect([status, refused]).toEqual([400, expect.stringContaining('unreadable_value')])
    await close()
  })

  it('are a TypeError for a program that reads their property', async () => {
    const { api, hooks, ask, errors, close } = await open(await make(), type, version)
    const item = await api.collection(hooks).read(1)
    expect(item.name).toBe('a')
    const named = /hooks: payload holds a whole number beyond 2\^53/
    expect(() => item.payload).toThrow(named)
    expect(() => JSON.stringify(item)).toThrow(named)
    const changed = await api.collection(hooks).patch(item, { name: 'b' })
    expect(changed.name).toBe('b')
    expect((await ask('POST', '/hooks/1/look', {})).status).toBe(500)
    expect(String(errors[0])).toMatch(named)
    await close()
  })
})
