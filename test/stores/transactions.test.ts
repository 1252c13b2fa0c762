// Transactions over several stores; those on one store are in the contract.
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/memory/memory-store.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { by, shapeWith } from '../../src/testing/sample.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'
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
    await createOne(a, { code: 'A', price: 1 })
    const move = async ([from, to]: readonly Store[], fails: boolean) => {
      const one = await (from && findOne(from, 1))
      if (!one) throw new Error('nothing to move')
      await (from && deleteOne(from, { id: 1, version: one.version }))
      await (to && createOne(to, { code: 'A', price: 1 }))
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
      return tx && createOne(tx, { code: 'last', price: 1 })
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

describe.each(Object.entries(PAIRS))('the queue of transactions: %s', (name, make) => {
  test('others are served before each transaction, and few run at the same time', async () => {
    const [a, b] = await make()
    // Opens the table, which takes turns of its own.
    await (a && createOne(a, { code: 'first', price: 1 }))
    let turns = 0
    let ended = false
    const count = () => {
      turns++
      if (!ended) setImmediate(count)
    }
    setImmediate(count)
    let running = 0
    let most = 0
    const work = async ([tx]: readonly Store[], code: string) => {
      most = Math.max(most, ++running)
      try {
        await (tx && createOne(tx, { code, price: 1 }))
      } finally {
        running--
      }
    }
    const codes = Array.from({ length: 40 }, (_, at) => `c${at}`)
    await Promise.all(
      codes.map(code => a?.transaction?.([a], stores => work(stores, code))),
    ).finally(() => {
      ended = true
    })
    expect(turns).toBeGreaterThanOrEqual(38)
    expect(most).toBeLessThanOrEqual(name === 'PostgreSQL' ? 4 : 1)
    await Promise.all([a?.close(), b?.close()])
  })

  test('one whose signal is aborted leaves it before the work begins; the others follow', async () => {
    const [a, b] = await make()
    if (!a?.transaction || !b) throw new Error('two stores')
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const began: string[] = []
    const run = (label: string, signal?: AbortSignal) =>
      a.transaction?.(
        [a],
        async () => {
          began.push(label)
          await gate
        },
        { signal },
      )
    const holding = ['1', '2', '3', '4'].map(label => run(label))
    const stop = new AbortController()
    const reason = new Error('too long')
    const leaving = expect(run('leaves', stop.signal)).rejects.toBe(reason)
    const last = run('last')
    stop.abort(reason)
    await leaving
    await expect(run('late', stop.signal)).rejects.toBe(reason)
    // Closing waits for those in the queue.
    const closing = a.close()
    open()
    await Promise.all([...holding, last, closing])
    expect(began.sort()).toEqual(['1', '2', '3', '4', 'last'])
    await b.close()
  })
})

test('PostgreSQL: after a conflict a transaction is the next, and runs alone', async () => {
  const db = openPostgres()
  const store = attached(sqlStore({ db, table: table(), create: true }))
  await createOne(store, { code: 'A', price: 0 })
  let running = 0
  let repeated = 0
  const add = async () => {
    let tries = 0
    await store.transaction?.([store], async ([tx]) => {
      const alone = running++ === 0
      try {
        if (tries++ > 0) {
          repeated++
          expect(alone).toBe(true)
        }
        const one = await (tx && findOne(tx, 1))
        await new Promise(resolve => setTimeout(resolve, 2))
        const price = Number(one?.item.price) + 1
        await (tx && updateOne(tx, { id: 1, version: one?.version ?? '' }, { code: 'A', price }))
      } finally {
        running--
      }
    })
  }
  await Promise.all(Array.from({ length: 12 }, add))
  expect((await findOne(store, 1))?.item.price).toBe(12)
  // Of the first four, three meet the other.
  expect(repeated).toBeGreaterThan(0)
  await store.close()
})

test.each([
  [1, 1],
  [3, 1],
  [5, 3],
  [8, 4],
])(
  'PostgreSQL with a pool of %i runs %i at the same time, whatever other pools have',
  async (max, width) => {
    openPostgres({ max: 1 })
    const db = openPostgres({ max })
    const store = attached(sqlStore({ db, table: table(), create: true }))
    await store.open?.()
    let running = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++running)
      while (most < width) await new Promise(resolve => setTimeout(resolve, 1))
      // Time for one more.
      await new Promise(resolve => setTimeout(resolve, 10))
      running--
    }
    await Promise.all(Array.from({ length: 8 }, () => store.transaction?.([store], work)))
    expect(most).toBe(width)
    await store.close()
  },
)

test.each([
  ['SQLite', () => openDatabase()],
  ['PostgreSQL', () => openPostgres({ max: 1 })],
])(
  '%s: one that waits for the only connection ends with its signal, before its work begins',
  async (_name, open) => {
    const db = await open()
    const store = attached(sqlStore({ db, table: table(), create: true }))
    await store.open?.()
    let ran = false
    await db.transaction().execute(async () => {
      const stop = new AbortController()
      const waiting = store.transaction?.([store], async () => (ran = true), {
        signal: stop.signal,
      })
      setTimeout(() => stop.abort(new Error('too long')), 20)
      await expect(waiting).rejects.toThrow('too long')
    })
    // It gets the connection first.
    expect(await codesOf(store)).toBe('')
    expect(ran).toBe(false)
    await store.close()
  },
)

test('a table that cannot be served ends no transaction that leaves it alone', async () => {
  const db = await openDatabase()
  const good = attached(sqlStore({ db, table: 'good', create: true }))
  const bad = attached(sqlStore({ db, table: 'bad' }))
  const create = (at: 0 | 1) =>
    good.transaction?.(
      [good, bad],
      async stores => stores[at] && createOne(stores[at], { code: 'A', price: 1 }),
    )
  await expect(create(1)).rejects.toThrow('The table bad does not exist')
  expect((await create(0))?.item.code).toBe('A')
  await good.close()
})

test('memory: calls beside a transaction read what was before it, and do not wait for its end', async () => {
  const store = attached(memoryStore())
  await createOne(store, { code: 'A', price: 1 })
  await store.transaction?.([store], async ([within]) => {
    await (within && createOne(within, { code: 'B', price: 2 }))
    expect([await codesOf(store), await codesOf(within)]).toEqual(['A', 'AB'])
  })
  expect(await codesOf(store)).toBe('AB')
})

test('SQLite: what is read beside a transaction waits, unless another connection reads it', async () => {
  const file = newFile()
  const db = await openDatabase(file)
  const store = attached(sqlStore({ db, create: true }))
  await createOne(store, { code: 'A', price: 1 })
  const list = () => store.list({ where: [], sort: by() }, { limit: 10, offset: 0 }, 'exact')
  const total = async () => (await list()).total
  expect(await total()).toBe(1)
  const readBeside = () =>
    store.transaction?.([store], async ([tx]) => {
      await (tx && createOne(tx, { code: String(Math.random()), price: 1 }))
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
