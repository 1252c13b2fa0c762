// `visible: { through: … }`: who sees an item sees those that refer to it.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Scheme, type Store } from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { type Init, openHandler } from './handlers.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const id = headers.authorization?.split(' ')[1]
    return id === undefined ? undefined : { id }
  },
}

let tables = 0
const DATABASES: Readonly<Record<string, () => Promise<() => Store>>> = {
  memory: async () => () => memoryStore(),
  SQLite: async () => {
    const db = await openDatabase()
    return () => sqlStore({ db, table: `through_${++tables}`, create: true })
  },
  PostgreSQL: async () => {
    const db = openPostgres()
    return () => sqlStore({ db, table: `through_${++tables}`, create: true })
  },
}

/** Orders with an owner, their lines, and the notes of lines; `admin` sees all. */
async function serve(store: () => Store) {
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ owner_id: z.string(), title: z.string() }),
    store: store(),
    owner: 'owner_id',
    visible: principal =>
      principal?.id === 'admin' ? {} : principal && { owner_id: principal.id },
  })
  const lines = defineCollection({
    name: 'lines',
    schema: z.object({ order_id: z.string().nullable(), text: z.string() }),
    store: store(),
    parents: { order_id: { collection: 'orders', onDelete: 'cascade' } },
    visible: { through: 'order_id' },
    search: ['text'],
    actions: { shout: { on: 'item', run: ({ item }) => ({ text: `${item.text}!` }) } },
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ line_id: z.string(), text: z.string() }),
    store: store(),
    references: { line_id: { collection: 'lines', onDelete: 'cascade' } },
    visible: { through: 'line_id' },
  })
  const api = defineApi({ collections: { orders, lines, notes }, schemes: [scheme] })
  const { request } = await openHandler('fetch', api)
  const send = (who: string, target: string, init: Init = {}) =>
    request(target, { ...init, headers: { ...init.headers, authorization: `Test ${who}` } })
  const create = async (who: string, collection: string, json: object): Promise<string> => {
    const { status, json: item } = await send(who, `/${collection}`, { method: 'POST', json })
    expect(status).toBe(201)
    return Object(item).id
  }
  const ids: Record<string, Record<'order' | 'line' | 'note', string>> = {}
  for (const who of ['ann', 'bob']) {
    const order = await create(who, 'orders', { title: 'first' })
    const line = await create(who, 'lines', { order_id: order, text: `a line of ${who}` })
    const note = await create(who, 'notes', { line_id: line, text: `a note of ${who}` })
    ids[who] = { order, line, note }
  }
  // It belongs to no order: only who sees all orders sees it.
  await api
    .collection(lines)
    .create({ order_id: null, text: 'nobody' }, { principal: { id: 'admin' } })
  const { ann, bob } = ids as Record<'ann' | 'bob', Record<'order' | 'line' | 'note', string>>
  return { api, lines, notes, send, ann, bob }
}

describe.each(Object.entries(DATABASES))('on %s', (_name, open) => {
  it('lists, counts, searches and exports hold the items whose parents the principal sees', async () => {
    const { send } = await serve(await open())
    const texts = async (who: string, target: string) => {
      const { status, text } = await send(who, target)
      return [status, [...text.matchAll(/(?:line|note) of (?:ann|bob)|nobody/g)].map(String)]
    }
    for (const target of ['/lines', '/lines.ndjson', '/lines.csv', '/lines?sort=-text&limit=1']) {
      expect(await texts('ann', target)).toEqual([200, ['line of ann']])
      expect(await texts('eve', target)).toEqual([200, []])
    }
    expect(await texts('bob', '/lines/search?q=line')).toEqual([200, ['line of bob']])
    expect(await texts('ann', '/notes')).toEqual([200, ['note of ann']])
    expect(await texts('admin', '/lines')).toEqual([200, ['line of ann', 'line of bob', 'nobody']])
    expect(await texts('admin', '/notes')).toEqual([200, ['note of ann', 'note of bob']])
    for (const [who, count] of Object.entries({ ann: 1, eve: 0, admin: 3 })) {
      expect((await send(who, '/lines/count')).json).toEqual({ count })
      const prefer = { prefer: 'count=estimated' }
      const { headers } = await send(who, '/lines', { headers: prefer })
      expect(headers.get('x-result-count')).toBe(String(count))
    }
  })

  it('an item below a hidden parent is 404 for every method', async () => {
    const { send, ann, bob } = await serve(await open())
    const calls: readonly [string, Init, number][] = [
      [`/lines/${bob.line}`, {}, 404],
      [`/lines/${bob.line}`, { method: 'PATCH', json: { text: 'x' } }, 404],
      [`/lines/${bob.line}`, { method: 'PUT', json: { order_id: ann.order, text: 'x' } }, 404],
      [`/lines/${bob.line}`, { method: 'DELETE' }, 404],
      [`/lines/${bob.line}/shout`, { method: 'POST', json: {} }, 404],
      [`/orders/${bob.order}/lines`, {}, 404],
      [`/notes/${bob.note}`, {}, 404],
      ['/lines', { method: 'POST', json: { order_id: bob.order, text: 'x' } }, 403],
      ['/lines', { method: 'POST', json: { order_id: null, text: 'x' } }, 403],
      ['/notes', { method: 'POST', json: { line_id: bob.line, text: 'x' } }, 403],
      [`/lines/${ann.line}`, { method: 'PATCH', json: { order_id: bob.order } }, 403],
      [`/lines/${ann.line}`, {}, 200],
      [`/lines/${ann.line}/shout`, { method: 'POST', json: {} }, 200],
      [`/orders/${ann.order}/lines`, {}, 200],
      [`/notes/${ann.note}`, { method: 'PATCH', json: { text: 'mine' } }, 303],
    ]
    for (const [target, init, status] of calls) {
      const answer = await send('ann', target, init)
      expect([target, init.method, answer.status]).toEqual([target, init.method, status])
      expect(answer.text).not.toMatch(/of bob/)
    }
  })

  it('holds within a transaction', async () => {
    const { api, lines, ann } = await serve(await open())
    const counts = await api.transaction(
      async tx => {
        await tx.collection(lines).create({ order_id: ann.order, text: 'another' })
        return [await tx.collection(lines).count(), await tx.collection('notes').count()]
      },
      { principal: { id: 'ann' } },
    )
    expect(counts).toEqual([2, 1])
    expect(await api.collection(lines).count({}, { principal: { id: 'ann' } })).toBe(2)
  })
})

describe('a TypeError', () => {
  const schema = z.object({ order_id: z.string(), text: z.string() })
  const make = (options: object, orderOptions: object = {}) => {
    const store = memoryStore()
    const orders = defineCollection({ name: 'orders', schema, store, ...orderOptions })
    const lines = defineCollection({ name: 'lines', schema, store: memoryStore(), ...options })
    return () => defineApi({ collections: [orders, lines] })
  }
  const references = { order_id: 'orders' }
  test.each<[string, () => unknown, RegExp]>([
    [
      'of a field that is no reference',
      make({ visible: { through: 'text' } }),
      /lines: visible goes through "text", which is no reference/,
    ],
    [
      'of a circle',
      make(
        { references, visible: { through: 'order_id' } },
        { references: { order_id: 'lines' }, visible: { through: 'order_id' } },
      ),
      /visible goes in a circle: orders, lines, orders/,
    ],
    [
      'of stores in two databases',
      make({ store: { ...memoryStore() }, references, visible: { through: 'order_id' } }),
      /the stores of lines and orders are not in one database/,
    ],
  ])('%s', (_what, define, message) => {
    expect(define).toThrow(message)
    expect(define).toThrow(TypeError)
  })

  it('for a rule that is neither a function nor a field', () => {
    const options = Object({ visible: { by: 'order_id' } })
    const define = () =>
      defineCollection({ name: 'lines', schema, store: memoryStore(), ...options })
    expect(define).toThrow(/visible must be a function that gives filters, or \{ through/)
  })
})
