// SQL of a program's own in a transaction: `tx.sql(cars)`.
import { type Kysely, sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { seeded } from '../random.ts'
import { ACCOUNTS, bankOf, EACH } from './bank.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

interface Tables {
  readonly own_cars: { readonly id: number; readonly color: string; readonly price: number | null }
}

const DATABASES: Readonly<Record<string, () => Promise<Kysely<unknown>>>> = {
  SQLite: () => openDatabase(),
  PostgreSQL: async () => openPostgres(),
}

const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

async function openCars(db: Kysely<unknown>) {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string(), price: z.int().optional() }),
    id: 'integer',
    unique: ['color'],
    store: sqlStore({ db: db as Kysely<Tables>, table: 'own_cars', create: true }),
    hooks: {
      transaction: true,
      after: {
        async create({ sql }, { id, color }) {
          if (color !== 'hook') return
          await sql().updateTable('own_cars').set({ price: 77 }).where('id', '=', id).execute()
        },
      },
    },
    actions: {
      total: {
        on: 'collection',
        transaction: true,
        async run({ sql }) {
          const row = await sql()
            .selectFrom('own_cars')
            .select(each => each.fn.countAll().as('count'))
            .executeTakeFirstOrThrow()
          return { count: Number(row.count) }
        },
      },
    },
  })
  const other = await openDatabase()
  const elsewhere = defineCollection({
    name: 'elsewhere',
    schema: z.object({ color: z.string() }),
    store: sqlStore({ db: other, table: 'elsewhere', create: true }),
    actions: { plain: { on: 'collection', run: ({ sql }) => void sql() } },
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
  })
  const api = defineApi({ collections: { cars, elsewhere, notes }, onError: () => {} })
  await api.open()
  closing.push(() => api.close())
  return { api, cars, elsewhere, notes }
}

describe.each(Object.entries(DATABASES))('%s', (_name, open) => {
  let opened: ReturnType<typeof openCars> | undefined
  const cars = async () => {
    opened ??= open().then(openCars)
    const all = await opened
    await all.api.collection(all.cars).deleteMany({ id: { gte: 0 } }, { maxAffected: 100 })
    return all
  }

  test('a statement sees what calls wrote, and calls see what it wrote, with a new version', async () => {
    const { api, cars: def } = await cars()
    const red = await api.collection(def).create({ color: 'red' })
    await api.transaction(
      async tx => {
        await tx.collection(def).create({ color: 'blue' })
        const changed = await tx
          .sql(def)
          .updateTable('own_cars')
          .set({ price: 5 })
          .where('color', 'in', ['red', 'blue'])
          .executeTakeFirst()
        expect(changed.numUpdatedRows).toBe(2n)
        expect((await tx.collection(def).read(red.id)).price).toBe(5)
      },
      { of: def },
    )
    expect(await api.collection(def).count({ price: 5 })).toBe(2)
    await expect(api.collection(def).patch(red, { price: 6 })).rejects.toMatchObject({
      status: 409,
    })
  })

  test('a statement that nobody awaits undoes all, by a TypeError', async () => {
    const { api, cars: def } = await cars()
    const left: Promise<unknown>[] = []
    const work = api.transaction(
      async tx => {
        await tx.collection(def).create({ color: 'red' })
        left.push(tx.sql(def).deleteFrom('own_cars').execute().catch(String))
        // It has begun, and has not ended: in SQLite 20 turns are enough for it.
        for (let turn = 0; turn < 5; turn++) await null
      },
      { of: def },
    )
    await expect(work).rejects.toThrow(
      new TypeError(
        'A statement of sql() still runs at the end of the transaction, so everything is undone. Await it.',
      ),
    )
    await Promise.all(left)
    expect(await api.collection(def).count()).toBe(0)
  })

  test('a statement that fails is undone alone if the program catches it, else all is undone', async () => {
    const { api, cars: def } = await cars()
    await api.transaction(
      async tx => {
        const db = tx.sql(def)
        await db
          .insertInto('own_cars')
          .values({ id: 1, color: 'red', price: null })
          .execute()
          .catch(() => {})
        await sql`select * from no_table`.execute(db).catch(() => {})
        await expect(sql`nonsense`.execute(db)).rejects.toThrow()
        await tx.collection(def).create({ color: 'green' })
      },
      { of: def },
    )
    const undone = api.transaction(
      async tx => {
        await tx.sql(def).deleteFrom('own_cars').execute()
        await sql`select * from no_table`.execute(tx.sql(def))
      },
      { of: def },
    )
    await expect(undone).rejects.toThrow(/no_table/)
    const left = await api.collection(def).list().toArray()
    expect(left.map(({ color }) => color)).toContain('green')
  })

  test.each([
    ['begin', 'begin'],
    ['begin immediate', 'begin immediate'],
    ['start transaction', 'start transaction'],
    ['commit, behind a comment', '/* a ; */ -- b\n COMMIT'],
    ['end', 'end'],
    ['rollback', 'rollback'],
    ['savepoint', 'savepoint mine'],
    ['release', 'release savepoint rest_write'],
    ['set transaction', 'set transaction read only'],
  ])('%s is a TypeError', async (_what, text) => {
    const { api, cars: def } = await cars()
    await api.transaction(
      async tx => {
        await tx.collection(def).create({ color: 'kept' })
        await expect(sql.raw(text).execute(tx.sql(def))).rejects.toThrow(TypeError)
      },
      { of: def },
    )
    expect(await api.collection(def).count()).toBe(1)
  })

  test('transactions and connections of the Kysely, and other databases, are a TypeError', async () => {
    const { api, cars: def, elsewhere, notes } = await cars()
    let kept: Kysely<Tables> | undefined
    await api.transaction(
      async tx => {
        const db = tx.sql(def)
        kept = db
        expect(db.isTransaction).toBe(true)
        expect(() => db.transaction()).toThrow(TypeError)
        expect(() => db.startTransaction()).toThrow(TypeError)
        await expect(db.withSchema('x').startTransaction().execute()).rejects.toThrow(TypeError)
        await expect(db.destroy()).rejects.toThrow(TypeError)
        expect(() => tx.sql(elsewhere)).toThrow('not in the database of this transaction')
        // Text and names hold what would end the transaction, were it a statement.
        await sql`select 'a; commit' as "b; rollback"`.execute(db)
      },
      { of: def },
    )
    await expect(kept?.selectFrom('own_cars').execute()).rejects.toThrow(
      'The transaction has ended',
    )
    await expect(api.collection(elsewhere).plain()).rejects.toThrow(
      'elsewhere: sql() needs a transaction',
    )
    const inMemory = api.transaction(async tx => tx.sql(notes), { of: notes })
    await expect(inMemory).rejects.toThrow('notes: sql() needs a store of a SQL database')
  })

  test('hooks and actions have it in their transaction', async () => {
    const { api, cars: def } = await cars()
    const { id } = await api.collection(def).create({ color: 'hook' })
    expect((await api.collection(def).read(id)).price).toBe(77)
    expect(await api.collection(def).total()).toEqual({ count: 1 })
  })

  test('a bank that moves money by SQL beside calls is right in every read', async () => {
    const db = await open()
    const makeStore = (name: string) => sqlStore({ db, create: true, table: `bank_${name}` })
    const { api, move, sum } = bankOf(makeStore, true, seeded())
    await api.open()
    for (let at = 0; at < ACCOUNTS; at++) await api.collection('accounts').create({ balance: EACH })
    let running = true
    const clerks = Promise.all(
      [0, 1, 2].map(async () => {
        for (let at = 0; at < 12; at++) await move()
      }),
    ).finally(() => {
      running = false
    })
    for (let reads = 0; running; reads++) {
      expect([await sum(), reads]).toEqual([ACCOUNTS * EACH, reads])
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    await clerks
    expect(await api.collection('transfers').count()).toBeGreaterThan(5)
    await api.close()
  })
})

test('several statements in one text are looked at too', async () => {
  const { api, cars } = await openCars(openPostgres())
  const commits = api.transaction(
    async tx => {
      await tx.collection(cars).create({ color: 'lost' })
      await sql.raw("select 1; /* x */ commit; select 'y'").execute(tx.sql(cars))
    },
    { of: cars },
  )
  await expect(commits).rejects.toThrow(TypeError)
  expect(await api.collection(cars).count({ color: 'lost' })).toBe(0)
})
