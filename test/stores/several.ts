// What stores on one database with many connections must do, whichever database it is.
import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Item } from '../../src/base/values.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { UnavailableError } from '../../src/store/errors.ts'
import type { Id, Shape, Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
import { by, is, plain, SHAPE } from './selections.ts'

export interface Database {
  /** A pool of connections of its own; of eight where nothing is said. */
  connect(connections?: number): Kysely<unknown>
  /** The statements on a table that run at this moment and wait. */
  waiting(table: string): Promise<unknown[]>
  /** Has every other statement on a table wait meanwhile. */
  locked<T>(table: string, work: () => Promise<T>): Promise<T>
}

let tables = 0
export const newTable = () => `shared_${++tables}`

export const car = (color: string, year = 1): Item => ({ color, year })

export async function closing<T>(stores: readonly Store[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    for (const store of stores) await store.close()
  }
}

/** Opens a store in a table. */
export type Open = (
  table: string,
  shape?: Shape,
  options?: { timeout?: number; migrate?: boolean },
) => Store

export function opener(database: Pick<Database, 'connect'>): Open {
  return (table, shape = SHAPE, options = {}) => {
    const store = sqlStore({ db: database.connect(), table, create: true, ...options })
    store.attach(shape)
    return store
  }
}

function compareIds(one: Id, other: Id): number {
  return one < other ? -1 : Number(one > other)
}

/** Puts a row into a table as another program would. */
async function insertRow(db: Kysely<unknown>, table: string, id: Id, color: string) {
  await sql`insert into ${sql.id(table)} (id, color, year, created_at, updated_at, version) values (${id}, ${color}, 1, '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z', '')`.execute(
    db,
  )
}

export function severalStores(database: Database): void {
  const open = opener(database)

  const insert = async (table: string, id: number, color: string) => {
    const db = database.connect()
    await insertRow(db, table, id, color)
    await db.destroy()
  }

  describe('several stores on one database', () => {
    test('make its tables at the same time', async () => {
      const table = newTable()
      const stores = Array.from({ length: 6 }, () => open(table))
      await closing(stores, async () => {
        await Promise.all(stores.map((store, at) => createOne(store, car('red', at))))
        expect(await stores[0]?.count({ where: [] }, 'exact')).toBe(6)
      })
    })

    test.each(['integer', 'uuid'] as const)(
      'a reader by %s id sees all items of 12 writers, in order',
      async kind => {
        const table = newTable()
        const shape: Shape = { ...SHAPE, identity: { name: 'id', kind } }
        const stores = Array.from({ length: 3 }, () => open(table, shape))
        await closing(stores, async () => {
          const [reader = open(table)] = stores
          const seen: Id[] = []
          const read = async () => {
            const last = seen.at(-1)
            const where = last === undefined ? [] : [is('id', 'gt', last)]
            const slice = { limit: 1000, offset: 0 }
            const { items } = await reader.list({ where, sort: by('') }, slice, 'none')
            seen.push(...items.map(({ id }) => id))
            return items.length
          }
          let writing = true
          const writers = Array.from({ length: 12 }, async (_, at) => {
            const made: Id[] = []
            for (let n = 0; n < 25; n++) {
              const store = stores[at % 3]
              if (store) made.push((await createOne(store, car(`w${at}`, n))).id)
            }
            // One after another: a writer's own are in its order.
            expect([...made].sort(compareIds)).toEqual(made)
            return made
          })
          const all = Promise.all(writers).finally(() => {
            writing = false
          })
          while (writing) await read()
          const made = (await all).flat()
          while ((await read()) > 0);
          expect([...seen].sort(compareIds)).toEqual(seen)
          expect(new Set(seen)).toEqual(new Set(made))
          expect(seen).toHaveLength(300)
        })
      },
    )

    test('of many writers at one version one wins, wherever they write', async () => {
      const table = newTable()
      const stores = [open(table), open(table)]
      await closing(stores, async () => {
        for (let round = 0; round < 5; round++) {
          const made = await (stores[0] && createOne(stores[0], car('red')))
          const { id = 0, version = '' } = made ?? {}
          const wins = await Promise.all(
            Array.from({ length: 16 }, (_, at) =>
              stores.map(store => updateOne(store, { id, version }, car(`${at}`))),
            ).flat(),
          )
          expect(wins.filter(Boolean)).toHaveLength(1)
        }
      })
    })

    test('a total is counted again after any change', async () => {
      const table = newTable()
      const stores = [open(table), open(table)]
      await closing(stores, async () => {
        const [one = open(table), other = open(table)] = stores
        const red = { where: [is('color', 'in', 'red')], sort: by('') }
        const total = async () => {
          const page = await one.list(red, { limit: 1, offset: 0 }, 'exact')
          expect(await one.count(red, 'exact')).toBe(page.total)
          return page.total
        }
        await createOne(other, car('red'))
        expect(await total()).toBe(1)
        for (let expected = 2; expected < 12; expected++) {
          if (expected % 2) await createOne(other, car('red'))
          else await insert(table, 1000 + expected, 'red')
          expect(await total()).toBe(expected)
          expect(await total()).toBe(expected)
        }
        const db = database.connect()
        await sql`delete from ${sql.id(table)}`.execute(db)
        await db.destroy()
        expect(await total()).toBe(0)
      })
    })
  })

  describe('a call', () => {
    /** Holds the row of the last id, which every maker of ids waits for. */
    async function blocked<T>(table: string, work: () => Promise<T>): Promise<T> {
      const db = database.connect()
      try {
        return await db.transaction().execute(async transaction => {
          await sql`select * from rest_sequences where name = ${table} for update`.execute(
            transaction,
          )
          return work()
        })
      } finally {
        await db.destroy()
      }
    }

    test('that takes too long is cancelled in the database, and nothing of it is done', async () => {
      const table = newTable()
      const patient = open(table)
      const store = open(table, SHAPE, { timeout: 100 })
      await closing([store, patient], async () => {
        await createOne(patient, car('first'))
        await blocked(table, async () => {
          await expect(createOne(store, car('late'))).rejects.toThrow(UnavailableError)
          const both = await Promise.allSettled([
            createOne(store, car('a')),
            createOne(store, car('b')),
          ])
          expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
          expect(await database.waiting(table)).toEqual([])
        })
        expect((await createOne(store, car('second'))).id).toBe(2)
        expect(await patient.count({ where: [] }, 'exact')).toBe(2)
      })
    })

    test('that takes too long ends, even if no connection is free to cancel it', async () => {
      const [table, other] = [newTable(), newTable()]
      const patient = open(table)
      const db = database.connect(3)
      const options = { db, create: true, timeout: 300 }
      const store = sqlStore({ ...options, table })
      const beside = sqlStore({ ...options, table: other })
      await closing([store, beside, patient], async () => {
        for (const each of [store, beside]) each.attach(SHAPE)
        const { id } = await createOne(beside, car('beside'))
        const rows = await Promise.all(['a', 'b', 'c'].map(color => createOne(patient, car(color))))
        await findOne(store, 0)
        await database.locked(table, async () => {
          const calls = [
            ...rows.map(row => updateOne(store, row, car('late'))),
            ...rows.map(row => deleteOne(store, row)),
            createOne(store, car('late')),
            store.count({ where: [] }, 'exact'),
          ]
          for (const call of await Promise.allSettled(calls)) {
            expect(call).toMatchObject({ reason: expect.any(UnavailableError) })
          }
          expect(await findOne(beside, id)).toMatchObject({ item: { color: 'beside' } })
          expect(await database.waiting(table)).toEqual([])
        })
        const page = await store.list({ where: [], sort: by('') }, { limit: 9, offset: 0 }, 'none')
        expect(page.items.map(({ version }) => version)).toEqual(rows.map(({ version }) => version))
      })
    })

    test('that no index serves leaves connections to others', async () => {
      const [table, other] = [newTable(), newTable()]
      const options = { db: database.connect(5), create: true }
      const store = sqlStore({ ...options, table })
      const beside = sqlStore({ ...options, table: other })
      await closing([store, beside], async () => {
        for (const each of [store, beside]) each.attach(SHAPE)
        const { id } = await createOne(beside, car('beside'))
        await createOne(store, car('red'))
        const { lists } = await database.locked(table, async () => {
          const selection = { where: [is('color', 'like', '%e%')], sort: by('') }
          // Equal lists would share an answer.
          const lists = Promise.all(
            Array.from({ length: 12 }, (_, at) =>
              store.list(selection, { limit: 1 + at, offset: 0 }, 'exact'),
            ),
          )
          while ((await database.waiting(table)).length < 4);
          expect(await findOne(beside, id)).toMatchObject({ item: { color: 'beside' } })
          return { lists }
        })
        expect((await lists).map(({ total }) => total)).toEqual(Array(12).fill(1))
      })
    })

    test('waits for what its tables lack, however long that takes', async () => {
      const table = newTable()
      const indexed = { ...SHAPE, indexes: [['sold']] }
      const stores = [open(table), open(table, indexed, { timeout: 1000, migrate: true })]
      await closing(stores, async () => {
        const [patient = open(table), store = open(table)] = stores
        const { id } = await createOne(patient, car('red'))
        const { read } = await database.locked(table, async () => {
          const read = findOne(store, id)
          await expect.poll(() => database.waiting(table)).not.toEqual([])
          await new Promise(resolve => setTimeout(resolve, 1500))
          return { read }
        })
        expect(await read).toMatchObject({ item: { color: 'red' } })
        await database.locked(table, () =>
          expect(findOne(store, id)).rejects.toBeInstanceOf(UnavailableError),
        )
      })
    })

    test('looks at its tables, however long that takes', async () => {
      const store = open(newTable(), SHAPE, { timeout: 1 })
      await closing([store], () => expect(store.open?.()).resolves.toBeUndefined())
    })

    test('that is aborted is cancelled in the database', async () => {
      const table = newTable()
      const store = open(table)
      await closing([store], async () => {
        await createOne(store, car('red'))
        const reason = new Error('enough')
        await database.locked(table, async () => {
          const controller = new AbortController()
          const { signal } = controller
          const selection = { where: [], sort: by('') }
          const list = store.list(selection, { limit: 1, offset: 0 }, 'exact', { signal })
          const update = updateOne(store, { id: 1, version: 'v' }, car('x'), { signal })
          const ended = Promise.allSettled([list, update])
          while ((await database.waiting(table)).length < 2);
          controller.abort(reason)
          for (const result of await ended)
            expect(result).toMatchObject({ status: 'rejected', reason })
          while ((await database.waiting(table)).length > 0);
        })
        expect((await findOne(store, 1))?.item.color).toBe('red')
      })
    })

    test('that creates one item and is aborted while it waits is not done afterwards', async () => {
      const table = newTable()
      const store = open(table)
      await closing([store], async () => {
        await createOne(store, car('first'))
        const reason = new Error('enough')
        await database.locked(table, async () => {
          const controller = new AbortController()
          const made = Promise.allSettled([
            createOne(store, car('late'), { signal: controller.signal }),
          ])
          while ((await database.waiting(table)).length === 0);
          controller.abort(reason)
          expect(await made).toEqual([{ status: 'rejected', reason }])
          while ((await database.waiting(table)).length > 0);
        })
        expect(await store.count({ where: [] }, 'exact')).toBe(1)
      })
    })

    test('that shares a commit with others is done with them once it has begun', async () => {
      const table = newTable()
      const store = open(table)
      await closing([store], async () => {
        await createOne(store, car('first'))
        const controller = new AbortController()
        const { made } = await database.locked(table, async () => {
          const { signal } = controller
          const made = Promise.all([
            createOne(store, car('a')),
            createOne(store, car('gone'), { signal }),
            createOne(store, car('b')),
          ])
          while ((await database.waiting(table)).length === 0);
          controller.abort()
          return { made }
        })
        const ids = (await made).map(({ id }) => id)
        const page = await store.list({ where: [], sort: by('') }, { limit: 9, offset: 0 }, 'none')
        expect(page.items.slice(1).map(({ id }) => id)).toEqual(ids)
      })
    })

    test('that is aborted rejects at once, even if no connection is free', async () => {
      const table = newTable()
      const store = open(table)
      await closing([store], async () => {
        await createOne(store, car('red'))
        const { reads } = await database.locked(table, async () => {
          const reads = Promise.all(Array.from({ length: 20 }, () => findOne(store, 1)))
          const controller = new AbortController()
          const last = findOne(store, 1, { signal: controller.signal })
          while ((await database.waiting(table)).length === 0);
          const reason = new Error('enough')
          controller.abort(reason)
          await expect(last).rejects.toBe(reason)
          return { reads }
        })
        expect((await reads).map(stored => stored?.item.color)).toEqual(Array(20).fill('red'))
      })
    })
  })

  test('a store that is closed finishes running calls first', async () => {
    const table = newTable()
    const store = open(table)
    const { id } = await createOne(store, car('red'))
    const work = [
      findOne(store, id),
      createOne(store, car('blue')),
      createOne(store, car('green')),
    ] as const
    let ended = 0
    for (const each of work) void Promise.resolve(each).then(() => ended++)
    await store.close()
    // What waits for a call is told within the same turn.
    await new Promise(resolve => setImmediate(resolve))
    expect(ended).toBe(work.length)
    await expect(findOne(store, id)).rejects.toThrow(UnavailableError)
    const other = open(table)
    await closing([other], async () => {
      expect(await other.count({ where: [] }, 'exact')).toBe(3)
    })
  })

  test('of several creates with the same unique values one succeeds', async () => {
    const table = newTable()
    const shape: Shape = { ...SHAPE, identity: { name: 'id', kind: 'text' }, unique: [['color']] }
    const stores = Array.from({ length: 3 }, () => open(table, shape))
    await closing(stores, async () => {
      // Their tables are made.
      for (const store of stores) await findOne(store, 'none')
      const db = database.connect()
      const { creates } = await db.connection().execute(async holder => {
        await sql`begin`.execute(holder)
        await insertRow(holder, table, 'held', 'red')
        const creates = Promise.allSettled(
          stores.map((store, at) => createOne(store, { ...car('red'), id: `id-${at}` })),
        )
        while ((await database.waiting(table)).length < stores.length);
        await sql`rollback`.execute(holder)
        return { creates }
      })
      await db.destroy()
      const results = await creates
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ fields: ['color'] })
      }
    })
  })

  test('ids continue after the greatest existing one', async () => {
    const table = newTable()
    const store = open(table)
    await closing([store], async () => {
      await store.count({ where: [] }, 'exact')
      await insert(table, 41, 'a')
      expect((await createOne(store, car('red'))).id).toBe(42)
      await insert(table, 50, 'a')
      expect((await createOne(store, car('red'))).id).toBe(51)
    })
  })

  test('no value that a client may send is an error of the database', async () => {
    const store = open(newTable())
    await closing([store], async () => {
      expect(await findOne(store, '1')).toBeUndefined()
      expect(await findOne(store, 1e300)).toBeUndefined()
      expect(await findOne(store, 0.5)).toBeUndefined()
      await createOne(store, { ...car('x'), extra: { a: 1 }, price: 1e300 })
      const odd = [
        '\0',
        'a\0b',
        '\ud800',
        '\\',
        "'",
        '%',
        '1e999',
        1e300,
        -1e300,
        0.5,
        2 ** 53,
        true,
      ]
      for (const path of [
        'id',
        'color',
        'price',
        'year',
        'sold',
        'at',
        'tags',
        'seen',
        'counts',
        'model.year',
      ]) {
        for (const operator of ['in', 'nin', 'gt', 'lte', 'prefix', 'like'] as const) {
          for (const value of odd) {
            await store.count({ where: [is(path, operator, value)] }, 'exact')
          }
        }
        for (const value of odd) {
          const slice = { limit: 1, key: [value, value], backward: false }
          await store.list({ where: [], sort: by(`-${path}`) }, slice, 'none')
        }
      }
    })
  })

  test('indexes whose names are too long for the database stay distinct', async () => {
    const [one, other] = ['a', 'b'].map(end => `${'long'.repeat(15)}${end}`)
    const fields = new Map(SHAPE.fields)
    for (const name of [one, other]) if (name) fields.set(name, { kind: 'string', ...plain })
    const store = open(newTable(), { ...SHAPE, fields, unique: [[`${one}`], [`${other}`]] })
    await closing([store], async () => {
      await createOne(store, { ...car('a'), [`${one}`]: 'x', [`${other}`]: 'x' })
      const conflicting = createOne(store, { ...car('a'), [`${one}`]: 'y', [`${other}`]: 'x' })
      await expect(conflicting).rejects.toMatchObject({ fields: [other] })
    })
  })
}
