// What a live list shows of a helpdesk with tenants and two roles, whatever is done to it while it is followed.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Principal,
  type Scheme,
} from '../../src/index.ts'
import { drawer, runs, SEED } from '../random.ts'
import { Board } from './events.ts'
import { tryLive } from './worlds.ts'

// The checks of rights, which come each 30 s, and nothing else.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Claims {
  readonly tenant: string
  readonly role: 'agent' | 'customer'
  /** When the token expires, in seconds since 1970. */
  readonly exp?: number
}

const schema = z.object({
  tenant_id: z.string(),
  status: z.enum(['open', 'waiting', 'closed']).default('open'),
  customer_id: z.string().default('c1'),
  priority: z.int().default(1),
  note: z.string().default('secret'),
})

function serve() {
  const tokens = new Map<
    string,
    Principal<Claims> | Promise<Principal<Claims>> | 'expired' | 'broken' | 'hanging'
  >([
    ['agent', { id: 'a1', tenant: 't1', role: 'agent', scopes: ['tickets', 'agent'] }],
    ['hanging', { id: 'a3', tenant: 't1', role: 'agent', scopes: ['tickets', 'agent'] }],
    ['other', { id: 'a2', tenant: 't2', role: 'agent', scopes: ['tickets', 'agent'] }],
    ['customer', { id: 'c1', tenant: 't1', role: 'customer', scopes: ['tickets'] }],
  ])
  const scheme: Scheme<Principal<Claims>> = {
    name: 'Bearer',
    challenge: () => 'Bearer',
    async authenticate({ headers }) {
      const { authorization } = headers
      if (authorization === undefined) return undefined
      const found = tokens.get(authorization.slice(7))
      if (found === 'hanging') return new Promise(() => {})
      if (found === 'broken') throw new HttpError(503, [{ message: 'down', type: 'unavailable' }])
      if (!found || found === 'expired')
        throw new HttpError(401, [{ message: 'expired', type: 'unauthenticated' }])
      return found
    },
  }
  const tickets = defineCollection({
    name: 'tickets',
    id: 'integer',
    schema,
    store: memoryStore(),
    live: true,
    access: { default: ['tickets'] },
    fields: { note: { read: ['agent'], write: ['agent'] } },
    visible: principal => {
      const { tenant, role, id } = principal as unknown as Principal<Claims>
      if (!tenant) return undefined
      return role === 'agent' ? { tenant_id: tenant } : { tenant_id: tenant, customer_id: id }
    },
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: { tickets },
    schemes: [scheme],
    onError: error => failures.push(error),
  })
  const resource = api.asSystem().collection(tickets)
  const follow = async (
    token: string,
    query = '',
    board = new Board(),
    look = (_: string) => {},
  ) => {
    const response = await board.connect(async (headers, signal) => {
      const init = { headers: { ...headers, Authorization: `Bearer ${token}` }, signal }
      const found = await api.fetch(new Request(`http://api.example/tickets${query}`, init))
      const transform = (chunk: Uint8Array, controller: TransformStreamDefaultController) => {
        look(Buffer.from(chunk).toString())
        controller.enqueue(chunk)
      }
      return new Response(found.body?.pipeThrough(new TransformStream({ transform })), found)
    })
    return { board, response }
  }
  const list = async (token: string, query = '') => {
    const headers = { Authorization: `Bearer ${token}` }
    const path = `http://api.example/tickets?limit=100${query}`
    const found = await (await api.fetch(new Request(path, { headers }))).json()
    return Array.isArray(found) ? found : []
  }
  return { tokens, resource, follow, list, failures }
}

const sorted = (board: Board) =>
  [...board.items.values()].toSorted((one, other) => Number(one.id) - Number(other.id))

test('each principal follows its own items, with its own properties', async () => {
  const { resource, follow, list } = serve()
  const boards = new Map<string, Board>()
  for (const token of ['agent', 'other', 'customer'])
    boards.set(token, (await follow(token, '?status[nin]=closed')).board)
  const draw = drawer()
  const pick = <T>(...values: T[]) => values[draw(values.length)] as T
  const ids: number[] = []
  for (let step = 0; step < runs(300); step++) {
    const values = {
      tenant_id: pick('t1', 't2'),
      status: pick('open', 'waiting', 'closed'),
      customer_id: pick('c1', 'c2'),
      note: pick('secret', 'other secret'),
    } as const
    const id = pick(...ids)
    if (id === undefined || draw(4) === 0) ids.push((await resource.create(values)).id)
    else if (draw(8) === 0) {
      await resource.delete(id)
      ids.splice(ids.indexOf(id), 1)
    } else await resource.patch(id, draw(2) === 0 ? { status: values.status } : values)
  }
  for (const [token, board] of boards) {
    const expected = await list(token, '&status[nin]=closed')
    await board.until(() => JSON.stringify(sorted(board)) === JSON.stringify(expected))
    const seen = JSON.stringify(board.events)
    expect(seen.includes(token === 'other' ? '"t1"' : '"t2"')).toBe(false)
    expect(seen.includes('secret')).toBe(token !== 'customer')
    if (token === 'customer') expect(seen).not.toContain('"c2"')
    await board.disconnect()
  }
})

test('random rules and policies that change: nobody is sent what he may not read', async () => {
  const advance = (time: number) => void vi.advanceTimersByTime(time)
  const found = await tryLive(runs(25), { open: () => memoryStore(), advance, seed: SEED })
  expect(found.items).toBeGreaterThan(150)
  expect(found.removed).toBeGreaterThan(50)
  expect(found.changed).toBeGreaterThan(10)
  expect(found.resumed).toBeGreaterThan(10)
})

test('nobody is told that an item is gone which he never saw', async () => {
  const { resource, follow } = serve()
  const { board } = await follow('customer')
  await board.until(() => board.isReady)
  const hidden = await resource.create({ tenant_id: 't1', customer_id: 'c2' })
  await resource.patch(hidden.id, { status: 'closed' })
  await resource.delete(hidden.id)
  await resource.create({ tenant_id: 't1' })
  await board.until(() => board.items.size === 1)
  expect(board.events.map(({ event }) => event)).not.toContain('removed')
})

test.each([
  ['loses its role', { id: 'a1', tenant: 't1', role: 'agent', scopes: [] }, true],
  ['has an expired token', 'expired', false],
  ['cannot be checked', 'broken', false],
] as const)('a principal that %s is shown nothing more', async (_, now, forgets) => {
  const { tokens, resource, follow, failures } = serve()
  await resource.create({ tenant_id: 't1' })
  const { board } = await follow('agent')
  await board.until(() => board.isReady)
  tokens.set('agent', now)
  vi.advanceTimersByTime(31_000)
  await board.ended
  expect(board.events.at(-1)?.event).toBe(forgets ? 'reset' : 'ready')
  expect(board.items.size).toBe(forgets ? 0 : 1)
  expect(failures.length).toBe(now === 'broken' ? 1 : 0)
})

test('the rights of hundreds of streams are checked in time, whatever one check does', async () => {
  const { tokens, resource, follow } = serve()
  await resource.create({ tenant_id: 't1' })
  const hanging = await follow('hanging')
  const boards: Board[] = []
  for (let at = 0; at < 300; at++) boards.push((await follow('agent')).board)
  for (const board of [...boards, hanging.board]) await board.until(() => board.isReady)
  tokens.set('hanging', 'hanging')
  tokens.set('agent', { id: 'a1', tenant: 't1', role: 'agent', scopes: [] })
  vi.advanceTimersByTime(31_000)
  for (const board of boards) await board.until(() => board.events.at(-1)?.event === 'reset')
  expect(boards.every(({ items }) => items.size === 0)).toBe(true)
  await resource.create({ tenant_id: 't1' })
  vi.advanceTimersByTime(31_000)
  await hanging.board.ended
})

test('a stream that ends while its rights are checked is not begun anew', async () => {
  const { tokens, follow, failures } = serve()
  const { board } = await follow('agent')
  await board.until(() => board.isReady)
  let verify = (_: Principal<Claims>) => {}
  const pending = new Promise<Principal<Claims>>(resolve => {
    verify = resolve
  })
  tokens.set('agent', pending)
  vi.advanceTimersByTime(31_000)
  await board.disconnect()
  verify({ id: 'a1', tenant: 't2', role: 'agent', scopes: ['tickets', 'agent'] })
  await new Promise(resolve => setTimeout(resolve, 10))
  expect(failures).toEqual([])
})

test('a principal that sees other items by now begins anew, and so does who comes again', async () => {
  const { tokens, resource, follow } = serve()
  await resource.create({ tenant_id: 't1' })
  await resource.create({ tenant_id: 't2' })
  const { board } = await follow('agent')
  await board.until(() => board.isReady)
  expect(sorted(board).map(({ id }) => id)).toEqual([1])
  tokens.set('agent', { id: 'a1', tenant: 't2', role: 'agent', scopes: ['tickets', 'agent'] })
  vi.advanceTimersByTime(31_000)
  await board.until(() => board.isReady && board.items.has(2))
  expect(sorted(board).map(({ id }) => id)).toEqual([2])
  await board.disconnect()
  tokens.set('agent', { id: 'a1', tenant: 't1', role: 'customer', scopes: ['tickets'] })
  await follow('agent', '', board)
  await board.until(() => board.isReady)
  expect(sorted(board)).toEqual([])
})

test('a stream ends when its token expires, without reset', async () => {
  const { tokens, resource, follow } = serve()
  await resource.create({ tenant_id: 't1' })
  const exp = Date.now() / 1000 + 20
  tokens.set('agent', { id: 'a1', tenant: 't1', role: 'agent', scopes: ['tickets'], exp })
  const { board } = await follow('agent')
  await board.until(() => board.isReady)
  vi.advanceTimersByTime(18_000)
  await resource.create({ tenant_id: 't1' })
  await board.until(() => board.items.size === 2)
  vi.advanceTimersByTime(3000)
  await board.ended
  expect(board.items.size).toBe(2)
})

test('a stream says that it is alive, and ends after a quarter of an hour', async () => {
  const { follow } = serve()
  let said = ''
  const { board } = await follow('agent', '', new Board(), text => {
    said += text
  })
  await board.until(() => board.isReady)
  const silent = said.length
  vi.advanceTimersByTime(16_000)
  await board.until(() => said.length > silent)
  // With its position, which must not become too old while nothing changes.
  expect(said.slice(silent)).toBe(`:\nid: ${board.last}\n\n`)
  for (let minute = 0; minute < 15; minute++) {
    vi.advanceTimersByTime(61_000)
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  await board.ended
  expect(board.items.size).toBe(0)
})

test('a stream and /health say that a transaction holds changes back', async () => {
  const store = memoryStore()
  Object.assign(store.changes ?? {}, { late: () => 17_500 })
  const tickets = defineCollection({ name: 'tickets', schema, store, live: true })
  const api = defineApi({ collections: { tickets }, health: true })
  const ask = (path: string, init?: RequestInit) =>
    api.fetch(new Request(`http://api.example${path}`, init))
  const board = new Board()
  await board.connect((headers, signal) => ask('/tickets', { headers, signal }))
  await board.until(() => board.isReady)
  vi.advanceTimersByTime(16_000)
  await board.until(() => board.events.at(-1)?.event === 'late')
  expect(board.events.at(-1)?.data).toEqual({ seconds: 17 })
  expect(await (await ask('/health')).json()).toEqual({ status: 'ok', live_late: 17 })
  await board.disconnect()
})
