// Reads of PostgreSQL that wait at the same time share statements, and nobody can tell.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import type { Shape, Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { lockedBy, waitingFor } from './postgres-locks.ts'
import { readBesideWrites } from './read-beside-writes.ts'
import { by, is, SHAPE, text } from './selections.ts'
import { car, closing, newTable } from './several.ts'

usePostgres()

const locked = lockedBy(() => openPostgres())

/** A store with ten cars, and the texts of what it has asked since the last look. */
async function opened(work: (store: Store, table: string, asked: () => string[]) => Promise<void>) {
  const table = newTable()
  const statements: CompiledQuery[] = []
  const db = openPostgres({}, query => statements.push(query))
  const store = sqlStore({ db, table, create: true, rememberTotals: false })
  store.attach(SHAPE)
  const asked = () =>
    statements
      .splice(0)
      .map(({ sql: text }) => text)
      .filter(text => text.includes(`from "${table}"`))
  await closing([store], async () => {
    for (let at = 1; at <= 10; at++) await createOne(store, car(`c${at}`, at))
    asked()
    await work(store, table, asked)
  })
}

test('reads by id that wait are one statement, and each gets its own row', () =>
  opened(async (store, table, asked) => {
    const { reads } = await locked(table, async () => {
      const reads = Promise.all(Array.from({ length: 40 }, (_, at) => findOne(store, at % 12)))
      while ((await waitingFor(table)).length < 3);
      return { reads }
    })
    const colors = (await reads).map(stored => stored?.item.color)
    const expected = (id: number) => (id > 0 && id <= 10 ? `c${id}` : undefined)
    expect(colors).toEqual(colors.map((_, at) => expected(at % 12)))
    expect(asked()).toHaveLength(3)
  }))

test('a value that cannot be read is null, and fails no read', () =>
  opened(async (store, table) => {
    const db = openPostgres()
    await sql`update ${sql.id(table)} set year = 9007199254740993 where id = 7`.execute(db)
    const { reads } = await locked(table, async () => {
      const reads = Promise.allSettled(
        Array.from({ length: 40 }, (_, at) => findOne(store, 1 + (at % 10))),
      )
      while ((await waitingFor(table)).length < 3);
      return { reads }
    })
    for (const [at, read] of (await reads).entries()) {
      expect(read).toMatchObject({ value: { id: 1 + (at % 10) } })
      if (at % 10 === 6) expect(read).toMatchObject({ value: { item: { year: null } } })
    }
  }))

test('a read that is aborted ends alone; a statement that nobody waits for any more is cancelled', () =>
  opened(async (store, table) => {
    const [one, all] = [new AbortController(), new AbortController()]
    const reason = new Error('enough')
    const { reads } = await locked(table, async () => {
      const first = Array.from({ length: 2 }, (_, at) => findOne(store, at + 1))
      const aborted = findOne(store, 5, { signal: one.signal })
      const others = Array.from({ length: 4 }, (_, at) => findOne(store, at + 6))
      while ((await waitingFor(table)).length < 3);
      one.abort(reason)
      await expect(aborted).rejects.toBe(reason)
      expect(await waitingFor(table)).toHaveLength(3)
      const left = [1, 2, 3].map(id => findOne(store, id, { signal: all.signal }))
      while ((await waitingFor(table)).length < 4);
      all.abort(reason)
      for (const each of await Promise.allSettled(left)) expect(each).toMatchObject({ reason })
      while ((await waitingFor(table)).length > 3);
      return { reads: Promise.all([...first, ...others]) }
    })
    expect((await reads).map(stored => stored?.id)).toEqual([1, 2, 6, 7, 8, 9])
  }))

test('equal lists that wait for a connection share one answer, others do not', () =>
  opened(async (store, table, asked) => {
    const list = (year: number) =>
      store.list(
        { where: [is('year', 'in', year)], sort: by('') },
        { limit: 20, offset: 0 },
        'exact',
      )
    const { lists } = await locked(table, async () => {
      const busy = Array.from({ length: 8 }, (_, at) => list(20 + at))
      while ((await waitingFor(table)).length < 8);
      const waiting = Array.from({ length: 12 }, (_, at) => list(2 + (at % 3)))
      return { lists: Promise.all([...busy, ...waiting]) }
    })
    const years = (await lists).slice(8).map(({ items }) => items[0]?.item.year)
    expect(years).toEqual([2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4])
    expect(asked()).toHaveLength(11)
  }))

test('equal reads of what items include share one answer too', () =>
  opened(async (store, table, asked) => {
    const listEach = (years: number[], each: number) =>
      store.listEach?.(['year'], years, { where: [], sort: by('') }, { each, all: 100 })
    const { found } = await locked(table, async () => {
      const busy = Array.from({ length: 8 }, (_, at) => listEach([20 + at, 40], 1))
      while ((await waitingFor(table)).length < 8);
      const waiting = Array.from({ length: 12 }, (_, at) => listEach([2, 3 + (at % 3)], 1))
      return { found: Promise.all([...busy, ...waiting, listEach([2, 3], 2)]) }
    })
    const years = (await found)
      .slice(8)
      .map(pages => pages?.map(({ items }) => items[0]?.item.year))
    const three = [3, 4, 5].map(year => [2, year])
    expect(years).toEqual([...three, ...three, ...three, ...three, [2, 3]])
    expect(asked()).toHaveLength(12)
  }))

test('reads inside of a transaction are its own', () =>
  opened(async (store, _table, asked) => {
    const reads = await store.transaction?.([store], async ([inside]) => {
      await (inside && createOne(inside, car('inside')))
      const own = Array.from({ length: 8 }, (_, at) => inside && findOne(inside, at + 4))
      // It waits beside them, and does not see what is not committed.
      const outside = await findOne(store, 11)
      return [...(await Promise.all(own)), outside]
    })
    expect(reads?.map(stored => stored?.id)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, undefined])
    // One for the eight, one for that outside.
    expect(asked().filter(text => text.startsWith('select'))).toHaveLength(2)
  }))

const fields = new Map([...SHAPE.fields, ['id', text] as const])
const TEXT: Shape = { ...SHAPE, fields, identity: { name: 'id', kind: 'text' } }

test('no read is older than the last acknowledged write before it began', async () => {
  const store = sqlStore({ db: openPostgres(), table: newTable(), create: true })
  store.attach(TEXT)
  await closing([store], async () => {
    const { done, wrong, kinds } = await readBesideWrites(store, { operations: 10_000, seed: 34 })
    expect(wrong).toEqual([])
    expect(done).toBe(10_000)
    const { aborted, ...others } = kinds
    for (const count of Object.values(others)) expect(count).toBeGreaterThan(100)
    // A read that is done before its time cannot be aborted: how many are depends on how quick the machine is.
    expect(aborted).toBeGreaterThan(10)
  })
})
