// Many at once: nothing is lost, nothing happens twice, on every store (promises 13 and 14).
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item, memoryStore, type Store } from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { HANDLER_NAMES, type OpenHandler, openHandler } from './handlers.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

let tables = 0

/** Every store that there is: another one is tried by its line here. */
const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
  PostgreSQL: async () =>
    sqlStore({ db: openPostgres(), table: `counters_${++tables}`, create: true }),
}

const MEMBERS = 50

const Counter = z.object({
  id: z.string(),
  name: z.string().default(''),
  total: z.int().default(0),
  members: z.record(z.string(), z.int()).default({}),
})

describe.each(Object.entries(STORES))('on %s', (_store, make) => {
  describe.each(HANDLER_NAMES)('through %s', doorName => {
    let handler: OpenHandler
    let close: () => Promise<void>

    beforeEach(async () => {
      const counters = defineCollection({
        name: 'counters',
        schema: Counter,
        store: await make(),
        putCreates: true,
        unique: ['name'],
        // A store in memory answers at once: without it no writer would come between the read and the write of another.
        hooks: { before: () => setImmediate() },
        actions: {
          add: {
            on: 'item',
            run: ({ item, update }) => update({ total: Number(item?.total) + 1 }),
          },
        },
      })
      const api = defineApi({ collections: [counters] })
      const opened = await openHandler(doorName, api)
      handler = {
        ...opened,
        // A busy machine may have a write wait too long. Nothing was done then, and clients ask again.
        async request(...words) {
          const answer = await opened.request(...words)
          return answer.status === 503 ? this.request(...words) : answer
        },
      }
      close = async () => {
        await handler.close()
        await api.close()
      }
      await create('one')
    })
    afterEach(() => close())

    const create = (id: string) =>
      handler.request('/counters', { method: 'POST', json: { id, name: id } })
    const read = async (id = 'one') => (await handler.request(`/counters/${id}`)).json as Item
    const ifMatch = async () => ({
      'if-match': (await handler.request('/counters/one')).headers.get('etag') ?? '',
    })
    const times = <T>(count: number, work: (at: number) => Promise<T>) =>
      Promise.all(Array.from({ length: count }, (_, at) => work(at)))
    /** `200×1 412×99` */
    const tally = (answers: readonly { status: number }[]) => {
      const counts = new Map<number, number>()
      for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
      return [...counts]
        .sort()
        .map(([status, count]) => `${status}×${count}`)
        .join(' ')
    }

    it.each(['PATCH', 'PUT'])(
      '100 writers by %s with one If-Match: exactly one succeeds',
      async method => {
        const headers = await ifMatch()
        const answers = await times(100, at =>
          handler.request('/counters/one', {
            method,
            headers,
            json: { total: 1000 + at, name: `w${at}` },
          }),
        )
        expect(tally(answers)).toBe('200×1 412×99')
        const winner = answers.findIndex(({ status }) => status === 200)
        expect(await read()).toMatchObject({ total: 1000 + winner, name: `w${winner}` })
      },
    )

    it('100 deletions with one If-Match: exactly one succeeds', async () => {
      const headers = await ifMatch()
      const answers = await times(100, () =>
        handler.request('/counters/one', { method: 'DELETE', headers }),
      )
      expect(tally(answers)).toBe('200×1 404×99')
    })

    it('writers, deletions and actions with one If-Match: exactly one of all succeeds', async () => {
      const headers = await ifMatch()
      const answers = await times(30, at => {
        if (at % 3 === 0) return handler.request('/counters/one', { method: 'DELETE', headers })
        if (at % 3 === 1) return handler.request('/counters/one/add', { method: 'POST', headers })
        return handler.request('/counters/one', { method: 'PATCH', headers, json: { total: 9 } })
      })
      expect(answers.filter(({ status }) => status < 400)).toHaveLength(1)
      expect(answers.every(({ status }) => [200, 303, 404, 412].includes(status))).toBe(true)
    })

    it('200 creations: exactly 200 more, all ids different, counts agree', async () => {
      const answers = await times(200, at => create(`n${at}`))
      expect(tally(answers)).toBe('201×200')
      const list = await handler.request('/counters?limit=1')
      expect(list.headers.get('x-result-count')).toBe('201')
      expect(list.headers.get('content-range')).toBe('counters 0-0/201')
      expect(await handler.request('/counters/count')).toMatchObject({ json: { count: 201 } })
    })

    it('100 creations of one id: exactly one succeeds', async () => {
      expect(tally(await times(100, () => create('same')))).toBe('201×1 409×99')
    })

    it('100 creations with one unique value: exactly one succeeds', async () => {
      const answers = await times(100, at =>
        handler.request('/counters', { method: 'POST', json: { id: `n${at}`, name: 'same' } }),
      )
      expect(tally(answers)).toBe('201×1 409×99')
      expect(await handler.request('/counters/count')).toMatchObject({ json: { count: 2 } })
    })

    it('50 PUTs that create one item: one creates, the others replace', async () => {
      const answers = await times(50, at =>
        handler.request('/counters/new', { method: 'PUT', json: { total: at, name: 'new' } }),
      )
      expect(tally(answers)).toBe('201×1 303×49')
    })

    it('50 PUTs with If-None-Match: * create one item once', async () => {
      const headers = { 'if-none-match': '*' }
      const answers = await times(50, at =>
        handler.request('/counters/new', {
          method: 'PUT',
          headers,
          json: { total: at, name: 'new' },
        }),
      )
      expect(tally(answers)).toBe('201×1 412×49')
      const winner = answers.findIndex(({ status }) => status === 201)
      expect(await read('new')).toMatchObject({ total: winner })
    })

    it('50 PATCHes without precondition, each of another property: all are applied', async () => {
      const answers = await times(MEMBERS, at =>
        handler.request('/counters/one', {
          method: 'PATCH',
          json: { members: { [`m${at}`]: at } },
        }),
      )
      expect(tally(answers)).toBe(`303×${MEMBERS}`)
      const members = Object.fromEntries(Array.from({ length: MEMBERS }, (_, at) => [`m${at}`, at]))
      expect((await read()).members).toEqual(members)
    })

    it('50 JSON Patches that test before they write: exactly one succeeds', async () => {
      const patch = (at: number) => [
        { op: 'test', path: '/total', value: 0 },
        { op: 'replace', path: '/total', value: 1 },
        { op: 'add', path: '/members/winner', value: at },
      ]
      const headers = { 'content-type': 'application/json-patch+json' }
      const answers = await times(50, at =>
        handler.request('/counters/one', { method: 'PATCH', headers, json: patch(at) }),
      )
      expect(tally(answers)).toBe('303×1 409×49')
      const winner = answers.findIndex(({ status }) => status === 303)
      expect(await read()).toMatchObject({ total: 1, members: { winner } })
    })

    it('50 runs of an action that adds one: the sum is the number of those that succeed', async () => {
      const answers = await times(50, () =>
        handler.request('/counters/one/add', { method: 'POST' }),
      )
      const done = answers.filter(({ status }) => status === 200).length
      expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true)
      expect(done).toBeGreaterThan(0)
      expect(await read()).toMatchObject({ total: done })
    })
  })
})
