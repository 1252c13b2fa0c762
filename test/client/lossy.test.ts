// The lossy line: a fifth of all answers are lost after the work was done, requests come twice, and the
// server refuses some. What clients asked for happens once each, on every store.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { openLine, serve } from './line.ts'

const CLIENTS = 16
const COUNTERS = 16
const FAULTS = { drop: 0.2, repeat: 0.05, refuse: 0.05 }

const Car = z.object({ name: z.string(), price: z.int() })

usePostgres()

describe.each<[string, number, () => Promise<Store>]>([
  ['memory', 200, async () => memoryStore()],
  ['SQLite', 100, async () => sqlStore({ db: await openDatabase(), create: true })],
  [
    'PostgreSQL',
    100,
    async () => sqlStore({ db: openPostgres(), create: true, table: 'lossy_cars' }),
  ],
])('over a lossy line, on %s', (_name, writes, openStore) => {
  test(`${writes} creates and ${writes} changes by ${CLIENTS} clients are done once each`, async () => {
    const cars = defineCollection({
      name: 'cars',
      schema: Car,
      store: await openStore(),
      id: 'integer',
    })
    const api = defineApi({ collections: { cars } })
    const server = await serve(api.handler)
    const line = await openLine(server.url, FAULTS)
    const direct = api.collection(cars)
    const counters = await Promise.all(
      Array.from({ length: COUNTERS }, () => direct.create({ name: 'counter', price: 0 })),
    )

    let created = 0
    let changed = 0
    const work = Array.from({ length: CLIENTS }, () => {
      const { cars } = createClient<typeof api>(line.url, { retries: 15 })
      const create = async () => {
        for (let at = created++; at < writes; at = created++)
          await cars.create({ name: `${at}`, price: 0 })
      }
      const change = async () => {
        for (let at = changed++; at < writes; at = changed++) {
          const { id = 0 } = counters[at % COUNTERS] ?? {}
          await cars.change(id, ({ price }) => ({ price: price + 1 }))
        }
      }
      return [create(), change()]
    })
    await Promise.all(work.flat())
    const names: string[] = []
    let sum = 0
    for await (const { name, price } of direct.list()) {
      if (name === 'counter') sum += price
      else names.push(name)
    }
    expect([names.length, new Set(names).size, sum]).toEqual([writes, writes, writes])
    expect(line.counts.dropped).toBeGreaterThan(writes / 10)
    await line.close()
    await server.close()
    await api.close()
  })
})
