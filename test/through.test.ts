// `visible: { through: … }`: who sees an item sees those that refer to it.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Scheme, type Store } from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { type Init, openHandler } from './handlers.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'
import { defineUntyped } from './untyped.ts'

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

/** Tickets of customers; their messages, of which the internal ones are for staff; projects, which their members see. */
async function serveTickets(store: () => Store) {
  const isStaff = (id: string | undefined) => id === 'staff'
  const tickets = defineCollection({
    name: 'tickets',
    schema: z.object({ customer: z.string(), closed: z.boolean().default(false) }),
    store: store(),
    visible: principal =>
      principal && (isStaff(principal.id) ? {} : { customer: principal.id, closed: false }),
  })
  const messages = defineCollection({
    name: 'messages',
    schema: z.object({ ticket_id: z.string(), text: z.string(), internal: z.boolean() }),
    store: store(),
    parents: { ticket_id: 'tickets' },
    visible: {
      through: 'ticket_id',
      and: principal => principal && (isStaff(principal.id) ? {} : { internal: false }),
    },
  })
  const votes = defineCollection({
    name: 'votes',
    schema: z.object({ ticket_id: z.string(), text: z.string() }),
    store: store(),
    references: { ticket_id: 'tickets' },
    visible: principal => principal && { ticket: { customer: principal.id } },
  })
  const projects = defineUntyped({
    name: 'projects',
    schema: z.object({ title: z.string() }),
    store: store(),
    visible: principal =>
      principal && (isStaff(principal.id) ? {} : { members: { user: principal.id } }),
  })
  const members = defineUntyped({
    name: 'members',
    schema: z.object({ project_id: z.string(), user: z.string() }),
    store: store(),
    parents: { project_id: 'projects' },
    // Both policies reach the other collection: neither is asked for the other.
    visible: principal => principal && { project: { members: { user: principal.id } } },
  })
  const api = defineApi({
    collections: { tickets, messages, votes, projects, members },
    schemes: [scheme],
  })
  const system = api.asSystem()
  const ids: string[] = []
  for (const customer of ['ann', 'bob']) {
    const { id } = await system.collection(tickets).create({ customer })
    ids.push(id)
    for (const internal of [false, true])
      await system
        .collection(messages)
        .create({ ticket_id: id, text: `${customer} ${internal}`, internal })
    await system.collection(votes).create({ ticket_id: id, text: customer })
  }
  const project = await system.collection('projects').create({ title: 'x' })
  for (const user of ['ann', 'bob'])
    await system.collection('members').create({ project_id: String(project.id), user })
  const { request } = await openHandler('fetch', api)
  const send = (who: string, target: string, init: Init = {}) =>
    request(target, { ...init, headers: { ...init.headers, authorization: `Test ${who}` } })
  const texts = async (who: string, target: string) => {
    const { status, json } = await send(who, target)
    return [status, (json as { text?: string }[]).map(({ text }) => text)]
  }
  return { api, tickets, messages, votes, ids, project, send, texts }
}

describe.each(Object.entries(DATABASES))('filters besides, on %s', (_name, open) => {
  it('through and and must both hold', async () => {
    const { api, messages, ids, send, texts } = await serveTickets(await open())
    expect(await texts('ann', '/messages')).toEqual([200, ['ann false']])
    expect(await texts('ann', `/tickets/${ids[0]}/messages`)).toEqual([200, ['ann false']])
    expect((await texts('staff', '/messages'))[1]).toHaveLength(4)
    expect((await send('ann', '/messages/count')).json).toEqual({ count: 1 })
    const all = await api.asSystem().collection(messages).list().toArray()
    for (const { id, text } of all) {
      const { status } = await send('ann', `/messages/${id}`)
      expect([text, status]).toEqual([text, text === 'ann false' ? 200 : 404])
      const json = { text }
      const patched = await send('ann', `/messages/${id}`, { method: 'PATCH', json })
      expect([text, patched.status]).toEqual([text, text === 'ann false' ? 303 : 404])
    }
    for (const [ticket, internal, status] of [
      [0, false, 201],
      [0, true, 403],
      [1, false, 403],
    ] as const) {
      const json = { ticket_id: ids[ticket], text: 'x', internal }
      expect((await send('ann', '/messages', { method: 'POST', json })).status).toBe(status)
    }
  })

  it('a policy filters by related items, whatever their own policy says', async () => {
    const { api, tickets, votes, ids, send, texts } = await serveTickets(await open())
    const [own = '', other] = ids
    await api.asSystem().collection(tickets).patch(own, { closed: true })
    expect((await send('ann', `/tickets/${own}`)).status).toBe(404)
    expect(await texts('ann', '/votes')).toEqual([200, ['ann']])
    for (const { id, text } of await api.asSystem().collection(votes).list().toArray())
      expect((await send('ann', `/votes/${id}`)).status).toBe(text === 'ann' ? 200 : 404)
    const json = { ticket_id: other, text: 'x' }
    expect((await send('bob', '/votes', { method: 'POST', json })).status).toBe(201)
    expect((await send('ann', '/votes', { method: 'POST', json })).status).toBe(403)
    const counts = await api.transaction(
      async tx => [
        await tx.collection(votes).count(),
        (await tx.collection(votes).list().toArray()).length,
      ],
      { principal: { id: 'bob' } },
    )
    expect(counts).toEqual([2, 2])
  })

  it('policies that reach each other do not loop', async () => {
    const { project, send } = await serveTickets(await open())
    expect((await send('ann', '/projects')).json).toMatchObject([{ title: 'x' }])
    expect((await send('ann', '/members')).json).toHaveLength(2)
    expect((await send('eve', '/projects')).json).toEqual([])
    const target = `/projects/${project.id}`
    const statuses = []
    for (const who of ['ann', 'eve', 'staff']) statuses.push((await send(who, target)).status)
    expect(statuses).toEqual([200, 404, 200])
    // A new item has no related ones.
    const init = { method: 'POST', json: { title: 'y' } }
    expect((await send('ann', '/projects', init)).status).toBe(403)
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

  it.each([
    [
      { through: 'order_id', adn: () => ({}) },
      /lines: visible: unknown option "adn"; did you mean/,
    ],
    [{ through: 'order_id', and: { text: 'x' } }, /lines: visible: and must be a function/],
  ])('of an unknown or wrong property: %j', (visible, message) => {
    const options = Object({ references, visible })
    const define = () =>
      defineCollection({ name: 'lines', schema, store: memoryStore(), ...options })
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
