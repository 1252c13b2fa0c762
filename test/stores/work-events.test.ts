// Events of the work behind requests: `onWork`.
import { sql } from 'kysely'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { memoryBlobs } from '../../src/blobs/memory-blobs.ts'
import {
  blob,
  defineApi,
  defineCollection,
  memoryStore,
  onWork,
  type WorkEvent,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openOutbox } from './jobs.ts'
import { openPostgres, usePostgres } from './postgres.ts'

usePostgres()

let stop = () => {}
afterEach(() => stop())

function follow<T extends WorkEvent['type']>(type: T) {
  const seen: Extract<WorkEvent, { type: T }>[] = []
  stop = onWork(event => {
    if (event.type === type) seen.push(event as Extract<WorkEvent, { type: T }>) // just compared
  })
  return seen
}

test('a lease is told when it is renewed, and when it ends', async () => {
  const seen = follow('lease')
  let now = Date.now()
  const { api, outbox } = openOutbox(memoryStore({ clock: () => now }))
  await outbox.create([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
  const states = (text: string) => {
    const found = seen.splice(0).map(({ collection, state, age }) => [collection, state, age >= 0])
    return [text, ...found]
  }
  for await (const mail of outbox.take({ lease: 1, limit: 1 })) {
    await vi.waitFor(() => expect(seen).toHaveLength(1), 10_000)
    expect(seen[0]?.age).toBeGreaterThan(200)
    expect(states(mail.text)).toEqual(['a', ['outbox', 'renewed', true]])
    await outbox.delete(mail)
  }
  expect(states('deleted')).toEqual(['deleted', ['outbox', 'done', true]])
  for await (const _ of outbox.take()) break
  expect(states('left')).toEqual(['left', ['outbox', 'failed', true]])
  now += 1000
  for await (const mine of outbox.take({ lease: 3600, limit: 1 })) {
    now += 3_601_000
    for await (const other of outbox.take()) await outbox.delete(other)
    expect([mine.text, ...states('other')]).toEqual([
      'c',
      'other',
      ['outbox', 'done', true],
      ['outbox', 'done', true],
    ])
    break
  }
  expect(states('lost')).toEqual(['lost', ['outbox', 'lost', true]])
  await api.close()
})

test('a content that cannot be removed is told', async () => {
  const seen = follow('orphan')
  const error = new Error('The bucket is away')
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs: { ...memoryBlobs(), delete: () => Promise.reject(error) },
  })
  const api = defineApi({ collections: { photos } })
  const made = await api.collection('photos').create({ photo: new Blob(['abc']) })
  await api.collection('photos').delete(made.id)
  expect(seen).toEqual([{ type: 'orphan', key: expect.any(String), error }])
})

test('retries after a conflict, and waits for a connection and for a turn', async () => {
  const db = openPostgres({ max: 3 })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: sqlStore({ db, table: 'work_cars', create: true }),
    id: 'integer',
  })
  const api = defineApi({ collections: { cars } })
  await api.open()
  // The first commit fails, as after a conflict.
  await sql`create sequence work_tries`.execute(db)
  await sql`create function work_refuse() returns trigger language plpgsql as $$ begin
    if nextval('work_tries') = 1 then raise exception 'again' using errcode = '40001'; end if;
    return null;
  end $$`.execute(db)
  await sql`create constraint trigger work_refuses after insert on work_cars deferrable initially deferred for each row execute function work_refuse()`.execute(
    db,
  )
  const retries = follow('retry')
  await api.transaction(tx => tx.collection(cars).create({ color: 'red' }))
  expect(retries).toMatchObject([{ tries: 1, error: { code: '40001' } }])
  stop()

  const waits = follow('wait')
  const sleep = () =>
    api.transaction(async tx => {
      await tx.collection(cars).count()
      await new Promise(resolve => setTimeout(resolve, 20))
    })
  await Promise.all([sleep(), sleep(), sleep()])
  expect(waits.map(each => each.for)).toContain('transaction')
  for (const { duration } of waits) expect(duration).toBeGreaterThanOrEqual(1)
  waits.splice(0)
  const hold = () => db.connection().execute(held => sql`select pg_sleep(0.05)`.execute(held))
  await Promise.all([hold(), hold(), hold(), api.collection(cars).count()])
  expect(waits.map(each => each.for)).toContain('connection')
  await api.close()
})
