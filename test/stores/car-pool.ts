// A table that another program has made, with names and types of its own.
import { CompiledQuery, type Kysely } from 'kysely'
import { expect } from 'vitest'
import { type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, updateOne } from '../../src/testing/write-items.ts'
import { is, maybe, text } from './selections.ts'
import { closing } from './several.ts'

/**
 * Works on a table `Car Pool` and closes the database.
 *
 * @param made makes the table with its one row: a red Clio of 4 doors, for 10.5, `"null"` as more.
 */
export async function servesCarPool(
  db: Kysely<unknown>,
  made: readonly string[],
  options: Pick<SqlStoreOptions, 'create'> = {},
): Promise<void> {
  for (const statement of made) await db.executeQuery(CompiledQuery.raw(statement))
  const columns = {
    id: 'car_id',
    color: 'paint',
    doors: { name: 'doors', json: false },
    extra: 'more',
  }
  const store = sqlStore({ db, table: 'Car Pool', columns, version: false, ...options })
  store.attach({
    name: 'cars',
    fields: new Map([
      ['id', text],
      ['color', text],
      ['doors', { kind: 'integer', ...maybe }],
      ['price', { kind: 'number', ...maybe, optional: false }],
      ['extra', { kind: 'any', ...maybe }],
      ['model', { kind: 'object', ...maybe, properties: new Map([['name', text]]) }],
    ]),
    identity: { name: 'id', kind: 'text' },
    unique: [['color', 'doors']],
    indexes: [],
  })
  await closing([store], async () => {
    const old = await findOne(store, 'k-1')
    expect(old?.item).toEqual({
      id: 'k-1',
      color: 'red',
      doors: 4,
      price: 10.5,
      extra: 'null',
      model: { name: 'Clio' },
    })
    for (const where of [
      [is('color', 'gte', 'red')],
      [is('doors', 'lt', 4.5)],
      [is('price', 'in', 10.5)],
      [is('extra', 'exists', true)],
      [is('model.name', 'prefix', 'Cl')],
    ]) {
      expect(await store.count({ where }, 'exact')).toBe(1)
    }
    const version = old?.version ?? ''
    const wins = await Promise.all(
      ['blue', 'green', 'grey'].map(color =>
        updateOne(store, { id: 'k-1', version }, { color, doors: 3, price: 1 }),
      ),
    )
    expect(wins.filter(Boolean)).toHaveLength(1)
    const { color = '' } = (await findOne(store, 'k-1'))?.item ?? {}
    const conflicting = createOne(store, { id: 'k-2', color, doors: 3, price: 1 })
    await expect(conflicting).rejects.toMatchObject({ fields: ['color', 'doors'] })
    const again = createOne(store, { id: 'k-1', color: 'x', price: 1 })
    await expect(again).rejects.toMatchObject({ fields: ['id'] })
  })
}
