// Transactions over several stores; those on one store are in the contract.
import { describe, expect, test } from 'vitest'
import { prepareSqlite, sqlStore } from '../../src/sql/sql-store.ts'
import { memoryStore } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { by, shapeWith } from '../../src/testing/sample.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

let tables = 0
const attached = (store: Store) => {
  store.attach(shapeWith('integer'))
  return store
}
const table = () => `moved_${++tables}`

/** Two stores on one database. */
const PAIRS: Readonly<Record<string, () => Promise<Store[]>>> = {
  memory: async () => [memoryStore(), memoryStore()].map(attached),
  async SQLite() {
    const db = await openDatabase()
    return [0, 0].map(() => attached(sqlStore({ db, table: table(), create: true })))
  },
  async PostgreSQL() {
    const db = openPostgres()
    return [0, 0].map(() => attached(sqlStore({ db, table: table(), create: true })))
  },
}

async function codesOf(store: Store | undefined): Promise<string> {
  const page = await store?.list({ where: [], sort: by() }, { limit: 100, offset: 0 }, 'none')
  return page?.items.map(({ item }) => item.code).join('') ?? ''
}

describe.each(Object.entries(PAIRS))('%s', (_name, make) => {
  test('a transaction on two stores is whole in both, or in neither', async () => {
    const [a, b, ...rest] = await make()
    if (!a?.transaction || !b || rest.length > 0) throw new Error('two stores')
    await a.create({ code: 'A', price: 1 })
    const move = async ([from, to]: readonly Store[], fails: boolean) => {
      const one = await from?.get(1)
      if (!one) throw new Error('nothing to move')
      await from?.delete(1, one.version)
      await to?.create({ code: 'A', price: 1 })
      if (fails) throw new Error('declined')
    }
    await expect(a.transaction([a, b], stores => move(stores, true))).rejects.toThrow('declined')
    expect([await codesOf(a), await codesOf(b)]).toEqual(['A', ''])
    await a.transaction([a, b], stores => move(stores, false))
    expect([await codesOf(a), await codesOf(b)]).toEqual(['', 'A'])
    await Promise.all([a.close(), b.close()])
  })

  test('a store on another database is refused before the work starts', async () => {
    const [a] = await make()
    for (const [name, other] of Object.entries(PAIRS)) {
      const [, foreign] = await other()
      if (!a?.transaction || !foreign || (name === 'memory' && _name === 'memory')) continue
      let ran = false
      const mixed = a.transaction([a, foreign], async () => {
        ran = true
      })
      await expect(mixed).rejects.toThrow(TypeError)
      expect(ran).toBe(false)
      expect(a.database).not.toBe(foreign.database)
      await foreign.close()
    }
    await a?.close()
  })

  test('within a transaction a store has no claim, attach, transaction and close; a closed one has none', async () => {
    const [a, b] = await make()
    await a?.transaction?.([a], async ([tx]) => {
      expect(tx?.transaction).toBeUndefined()
      expect(() => tx?.claim?.('key', 'print')).toThrow(TypeError)
      expect(() => tx?.attach(shapeWith('uuid'))).toThrow(TypeError)
      expect(() => tx?.close()).toThrow(TypeError)
    })
    const running = a?.transaction?.([a], async ([tx]) => {
      await new Promise(resolve => setTimeout(resolve, 5))
      return tx?.create({ code: 'last', price: 1 })
    })
    await new Promise(resolve => setTimeout(resolve, 1))
    const closing = a?.close()
    expect((await running)?.item.code).toBe('last')
    await closing
    await expect(
      b?.transaction?.(
        [b, a].filter(each => each !== undefined),
        async () => 1,
      ),
    ).rejects.toMatchObject({ cause: { message: 'The store is closed' } })
    await b?.close()
  })
})

test('a table that cannot be served ends no transaction that leaves it alone', async () => {
  const db = await openDatabase()
  const good = attached(sqlStore({ db, table: 'good', create: true }))
  const bad = attached(sqlStore({ db, table: 'bad' }))
  const create = (at: 0 | 1) =>
    good.transaction?.([good, bad], async stores => stores[at]?.create({ code: 'A', price: 1 }))
  await expect(create(1)).rejects.toThrow('no such table: bad')
  expect((await create(0))?.item.code).toBe('A')
  await good.close()
})

test('memory: calls beside a transaction read what was before it, and do not wait for its end', async () => {
  const store = attached(memoryStore())
  await store.create({ code: 'A', price: 1 })
  await store.transaction?.([store], async ([within]) => {
    await within?.create({ code: 'B', price: 2 })
    expect([await codesOf(store), await codesOf(within)]).toEqual(['A', 'AB'])
  })
  expect(await codesOf(store)).toBe('AB')
})

test('SQLite: what is read beside a transaction waits, unless another connection reads it', async () => {
  const file = newFile()
  const db = await openDatabase(file)
  const store = attached(sqlStore({ db, create: true }))
  await store.create({ code: 'A', price: 1 })
  const list = () => store.list({ where: [], sort: by() }, { limit: 10, offset: 0 }, 'exact')
  const total = async () => (await list()).total
  expect(await total()).toBe(1)
  const readBeside = () =>
    store.transaction?.([store], async ([tx]) => {
      await tx?.create({ code: String(Math.random()), price: 1 })
      const beside = total()
      return Promise.race([beside, new Promise(resolve => setTimeout(resolve, 20, 'waits'))])
    })
  expect(await readBeside()).toBe('waits')
  expect(await total()).toBe(2)
  await prepareSqlite(db, { reader: await openDatabase(file) })
  expect(await readBeside()).toBe(2)
  expect(await total()).toBe(3)
  await store.close()
})
