// Writes that are undone on the way: the database runs them again, or another call of the transaction comes in between.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'

usePostgres()

test('a write that the database undoes and runs again is done by the item as it is then', async () => {
  const db = openPostgres()
  // Without a foreign key, a reference is written in a transaction.
  await sql`create table wheels (id serial primary key, color text not null, car_id integer not null, version text not null, created_at text not null, updated_at text not null)`.execute(
    db,
  )
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ plate: z.string() }),
    store: sqlStore({ db, create: true }),
  })
  const wheels = defineCollection({
    name: 'wheels',
    id: 'integer',
    schema: z.object({ color: z.string(), car_id: z.int() }),
    store: sqlStore({ db }),
    parents: { car_id: { collection: 'cars', onDelete: 'restrict' } },
  })
  const api = defineApi({ collections: { cars, wheels } })
  await api.open()
  await api.collection('cars').create([{ plate: 'A' }, { plate: 'B' }])
  await api.collection('wheels').create({ color: 'red', car_id: 1 })
  // No commit gives a red wheel to the other car, and the database says that it may be tried again.
  await sql`create function refuse() returns trigger language plpgsql as $$ begin
    if new.car_id = 2 and new.color = 'red' then raise exception 'again' using errcode = '40001'; end if;
    return null;
  end $$`.execute(db)
  await sql`create constraint trigger refuses after update on wheels deferrable initially deferred for each row execute function refuse()`.execute(
    db,
  )
  const patched = api.collection('wheels').patch(1, { car_id: 2 })
  await new Promise(resolve => setTimeout(resolve, 30))
  await sql`update wheels set color = 'blue', version = 'other'`.execute(db)
  expect(await patched).toMatchObject({ car_id: 2, color: 'blue' })
  expect(await api.collection('wheels').read(1)).toMatchObject({ car_id: 2, color: 'blue' })
  await api.close()
})

const cascade = (collection: string) => ({ collection, onDelete: 'cascade' }) as const

test('a deletion that another call of its transaction meets is whole, or undone', async () => {
  const married = defineCollection({
    name: 'people',
    id: 'integer',
    schema: z.object({ married_to: z.int().nullable(), age: z.int() }),
    store: memoryStore(),
    parents: { married_to: cascade('people') },
  })
  const api = defineApi({ collections: { people: married } })
  await api.open()
  const people = api.collection('people')
  for (let turns = 0; turns < 60; turns++) {
    const one = await people.create({ married_to: null, age: 30 })
    const other = await people.create({ married_to: one.id, age: 30 })
    await people.patch(one.id, { married_to: other.id })
    const patch = async (inside: typeof people) => {
      for (let turn = 0; turn < turns; turn++) await null
      await inside.patch(other.id, { age: 31 })
    }
    const work = api.transaction(async transaction => {
      const inside = transaction.collection('people')
      // The program goes on, whatever becomes of them.
      await Promise.allSettled([inside.delete(one.id), patch(inside)])
    })
    await work.catch(() => undefined)
    const left = await people.count()
    expect([turns, left]).toEqual([turns, left === 2 ? 2 : 0])
    await people.delete(one.id).catch(() => undefined)
    expect(await people.count()).toBe(0)
  }
  await api.close()
})
