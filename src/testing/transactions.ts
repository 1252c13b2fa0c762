// The store contract, transactions: whole or not there, seen by nobody else before, ids in their order.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWithin, type Filter } from '../store/selection.ts'
import { type Store, type Stored, UnavailableError, UniqueError } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  codes,
  fill,
  filter,
  idsOf,
  present,
  shapeWith,
} from './sample.ts'

/** Runs work on one store in a transaction. */
function transact<T>(store: Store, work: (tx: Store) => Promise<T>, signal?: AbortSignal) {
  const run = async ([tx]: readonly Store[]) => work(present(tx))
  return present(store.transaction)([store], run, signal && { signal })
}

async function all(store: Store): Promise<readonly Stored[]> {
  return (await store.list({ where: [], sort: by('code') }, ALL, 'exact')).items
}

/** Asserts that a transaction of this work fails with what the work throws. */
async function undone(store: Store, work: (tx: Store) => Promise<unknown>): Promise<void> {
  const failure = new Error('the work failed')
  const failing = transact(store, async tx => {
    await work(tx)
    throw failure
  })
  await assert.rejects(failing, error => error === failure)
}

/** Creates one item, changes one and removes one of the samples. */
async function changeThree(tx: Store): Promise<void> {
  const [first, second] = await all(tx)
  const [changed, removed] = [present(first), present(second)]
  await tx.create({ code: 'new', price: 1 })
  assert.ok(await tx.update(changed.id, changed.version, { code: 'changed', price: 2 }))
  assert.equal(await tx.delete(removed.id, removed.version), true)
}

const atomic: Checks = {
  async 'atomic: all writes of a transaction happen'(store) {
    await fill(store)
    assert.equal(await transact(store, changeThree), undefined)
    assert.equal(codes(await all(store)), 'CDEFGchangednew')
    const given = await transact(store, async tx => (await tx.create({ code: 'X', price: 1 })).id)
    assert.equal(present(await store.get(given)).item.code, 'X')
  },
  async 'atomic: of a transaction that fails no write happens'(store) {
    const before = await fill(store)
    await undone(store, changeThree)
    assert.deepEqual(await all(store), before)
    assert.equal(await store.count({ where: [] }, 'exact'), before.length)
    assert.ok(await store.create({ code: 'changed', price: 1 }))
  },
  async 'atomic: a write that fails alone is undone alone'(store) {
    await fill(store)
    await transact(store, async tx => {
      const made = await tx.create({ code: 'H', price: 1 })
      await assert.rejects(async () => tx.create({ code: 'A', price: 1 }), UniqueError)
      await assert.rejects(async () => tx.create({ code: 'H', price: 1 }), UniqueError)
      const taken = async () => tx.update(made.id, made.version, { code: 'B', price: 1 })
      await assert.rejects(taken, UniqueError)
      await tx.create({ code: 'I', price: 1 })
    })
    assert.equal(codes(await all(store)), 'ABCDEFGHI')
  },
  async 'atomic: a stale version changes and deletes nothing'(store) {
    const [first] = await fill(store)
    const { id, version } = present(first)
    await transact(store, async tx => {
      const values = { code: 'A', price: 2 }
      assert.ok(await tx.update(id, version, values))
      assert.equal(await tx.update(id, version, values), undefined)
      assert.equal(await tx.delete(id, version), false)
      assert.equal(await tx.count({ where: [] }, 'none'), undefined)
      const nothing = { where: [filter('code', 'in', 'none')], sort: by() }
      for await (const batch of tx.stream(nothing)) assert.deepEqual(batch, [])
    })
    assert.equal(present(await store.get(id)).item.price, 2)
  },
  async 'atomic: values may go from one item to another'(store) {
    const [a, b] = await fill(store)
    const [one, other] = [present(a), present(b)]
    await transact(store, async tx => {
      const free = present(await tx.update(one.id, one.version, { code: 'free', price: 1 }))
      await tx.update(other.id, other.version, { code: 'A', price: 1 })
      await tx.update(one.id, free.version, { code: 'B', price: 1 })
    })
    assert.equal(present(await store.get(one.id)).item.code, 'B')
    const again = async () => store.create({ code: 'A', price: 1 })
    await assert.rejects(again, UniqueError)
  },
  async 'atomic: the work sees its own writes, in lists, counts and streams'(store) {
    await fill(store)
    await transact(store, async tx => {
      await changeThree(tx)
      const cheap = [filter('price', 'lte', 2)]
      const found = (where: typeof cheap, limit: number, offset: number) =>
        tx.list({ where, sort: by('-code') }, { limit, offset }, 'exact')
      const page = await found([], 3, 1)
      assert.deepEqual([codes(page.items), page.more, page.total], ['changedGF', true, 7])
      const few = await found(cheap, 2, 0)
      assert.deepEqual([codes(few.items), few.more, few.total], ['newchanged', true, 4])
      assert.equal((await found(cheap, 0, 0)).total, 4)
      assert.equal(await tx.count({ where: cheap }, 'exact'), 4)
      const key = [page.items[1]?.item.code as string, page.items[1]?.id as string]
      const seek = async (backward: boolean) => {
        const slice = { limit: 2, key, backward }
        return codes((await tx.list({ where: [], sort: by('-code') }, slice, 'none')).items)
      }
      assert.deepEqual([await seek(false), await seek(true)], ['FE', 'newchanged'])
      const streamed: Stored[] = []
      for await (const batch of tx.stream({ where: [], sort: by('code') })) streamed.push(...batch)
      assert.equal(codes(streamed), 'CDEFGchangednew')
      const [item] = (await found([filter('code', 'in', 'new')], 1, 0)).items
      assert.equal(present(await tx.get(present(item).id)).item.code, 'new')
    })
  },
  async 'atomic: an idempotency key gets its answer with the transaction'(store) {
    if (store.idempotency !== 'store') return
    const claim = async (key: string) => present(store.claim)(key, 'print')
    await claim('one')
    await claim('two')
    const work = async (tx: Store) => {
      await tx.create({ code: 'A', price: 1 }, { idempotencyKey: 'one' })
      await tx.complete?.('two', { status: 200 })
    }
    await undone(store, work)
    assert.equal((await claim('one')).state, 'running')
    assert.equal((await claim('two')).state, 'running')
    await transact(store, work)
    assert.equal((await claim('one')).state, 'done')
    const expired = transact(store, async tx => {
      await tx.create({ code: 'B', price: 1 })
      await tx.complete?.('one', { status: 200 })
    })
    await assert.rejects(expired, UnavailableError)
    assert.equal(await store.count({ where: [] }, 'exact'), 1)
    await claim('free')
    await transact(store, async tx => tx.complete?.('free', undefined))
    assert.equal((await claim('free')).state, 'new')
    const answered = { state: 'done', fingerprint: 'print', answer: { status: 200 } }
    assert.deepEqual(await claim('two'), answered)
  },
  async 'atomic: a signal undoes the transaction, and what comes after its end is refused'(store) {
    const stop = new AbortController()
    let ended: Store | undefined
    const hanging = transact(
      store,
      async tx => {
        ended = tx
        await tx.create({ code: 'A', price: 1 })
        stop.abort(new Error('stopped'))
        await new Promise(() => {})
      },
      stop.signal,
    )
    await assert.rejects(hanging, /stopped/)
    await assert.rejects(async () => present(ended).create({ code: 'B', price: 1 }), TypeError)
    assert.equal(await store.count({ where: [] }, 'exact'), 0)
    await assert.rejects(transact(store, changeThree, stop.signal), /stopped/)
    assert.ok(await store.create({ code: 'A', price: 1 }))
  },
}

const isolated: Checks = {
  async 'isolated: what is read outside is as it was before or after, never between'(store) {
    const [a, b] = [
      await store.create({ code: 'A', price: 10 }),
      await store.create({ code: 'B', price: 10 }),
    ]
    const outside: Promise<readonly Stored[]>[] = []
    await transact(store, async tx => {
      outside.push(all(store))
      // Read again: the work may run more than once.
      const one = present(await tx.get(a.id))
      const other = present(await tx.get(b.id))
      await tx.update(a.id, one.version, { code: 'A', price: 0 })
      outside.push(all(store))
      await sleep(5)
      await tx.create({ code: 'C', price: 0 })
      await tx.update(b.id, other.version, { code: 'B', price: 20 })
      outside.push(all(store))
      await sleep(5)
    })
    outside.push(all(store))
    const [last, ...earlier] = (await Promise.all(outside))
      .map(items => items.map(({ item }) => item.price).join())
      .reverse()
    assert.equal(last, '0,20,0')
    for (const prices of earlier) assert.ok(prices === '10,10' || prices === last, prices)
  },
  async 'isolated: no write from outside is undone with a transaction'(store) {
    const kept = await store.create({ code: 'kept', price: 1 })
    const gone = await store.create({ code: 'gone', price: 1 })
    const outside: Promise<unknown>[] = []
    await undone(store, async tx => {
      await tx.create({ code: 'A', price: 1 })
      outside.push(Promise.resolve(store.create({ code: 'B', price: 1 })))
      outside.push(Promise.resolve(store.update(kept.id, kept.version, { code: 'C', price: 2 })))
      outside.push(Promise.resolve(store.delete(gone.id, gone.version)))
      await sleep(5)
    })
    await Promise.all(outside)
    assert.equal(codes(await all(store)), 'BC')
  },
  async 'isolated: of 24 parallel transactions that count on, each counts'(store) {
    const { id } = await store.create({ code: 'A', price: 0 })
    const count = (tx: Store) => async () => {
      const { item, version } = present(await tx.get(id))
      await sleep(0)
      return tx.update(id, version, { code: 'A', price: Number(item.price) + 1 })
    }
    await Promise.all(
      Array.from({ length: 24 }, () => transact(store, async tx => assert.ok(await count(tx)()))),
    )
    assert.equal(present(await store.get(id)).item.price, 24)
  },
  async 'isolated: of two transactions that read what the other writes, one reads it'(store) {
    // Each takes a seat where one is free: by what they read alone both would take the last.
    await store.create({ code: 'seat', price: 1 })
    const take = (code: string) =>
      transact(store, async tx => {
        const taken = await tx.count({ where: [filter('code', 'in', 'X', 'Y')] }, 'exact')
        await sleep(2)
        if (taken === 0) await tx.create({ code, price: 1 })
      })
    await Promise.all([take('X'), take('Y')])
    assert.equal(await store.count({ where: [] }, 'exact'), 2)
  },
}

const ordered: Checks = {
  async 'ordered: a reader by id beside 8 transactions of random length misses nothing'(store) {
    const seen: Stored[] = []
    const read = async () => {
      const end = seen.at(-1)
      const where = end ? [filter('id', 'gt', end.id)] : []
      seen.push(...(await store.list({ where, sort: by() }, ALL, 'none')).items)
    }
    let writing = true
    const writers = Array.from({ length: 8 }, (_, writer) =>
      transact(store, async tx => {
        for (let at = 0; at <= writer % 3; at++) {
          await tx.create({ code: `${writer}.${at}`, price: at })
          await sleep(Math.random() * 8)
        }
      }),
    )
    const plain = Promise.all([1, 2, 3].map(async at => store.create({ code: `p${at}`, price: 1 })))
    const stop = () => {
      writing = false
    }
    const ended = Promise.all([...writers, plain])
    ended.then(stop, stop)
    while (writing) {
      await read()
      await sleep(1)
    }
    await ended
    await read()
    const whole = (await store.list({ where: [], sort: by() }, ALL, 'none')).items
    assert.equal(whole.length, 18)
    assert.deepEqual(idsOf(seen), idsOf(whole))
  },
}

const within: Checks = {
  async 'within: a filter lets through the items that refer to items which other filters let through'(
    store,
  ) {
    const [a, b, c] = (await fill(store)).map(({ id }) => String(id))
    for (const [code, name] of Object.entries({ H: a, I: b, J: c, K: 'no id' }))
      await store.create({ code, name: present(name), price: 1 })
    const [h] = (await store.list({ where: [filter('code', 'in', 'H')], sort: by() }, ALL, 'none'))
      .items
    await store.create({ code: 'L', name: present(h?.item.id), price: 1 })
    const { fields } = shapeWith('uuid')
    const finds = async (tx: Store, where: readonly Filter[], expected: string) => {
      const others = createWithin(['name'], { name: 'cases', store: tx, fields, where })
      const query = { where: [others, filter('price', 'gt', 0)], sort: by() }
      const { items, total } = await tx.list(query, ALL, 'exact')
      assert.deepEqual([codes(items), total], [expected, expected.length])
      assert.equal(await tx.count(query, 'exact'), expected.length)
      const streamed: Stored[] = []
      for await (const batch of tx.stream(query)) streamed.push(...batch)
      assert.equal(codes(streamed), expected)
    }
    const refersToA = createWithin(['name'], {
      name: 'cases',
      store,
      fields,
      where: [filter('code', 'in', 'A')],
    })
    await finds(store, [], 'HIJL')
    await finds(store, [filter('price', 'gte', 10), filter('sold', 'in', false)], 'H')
    await finds(store, [filter('tags', 'in', 'fast')], 'HJ')
    await finds(store, [filter('id', 'exists', false)], '')
    await finds(store, [refersToA], 'L')
    await transact(store, async tx => {
      await tx.create({ code: 'M', name: present(h?.item.id), price: 1 })
      await finds(tx, [filter('code', 'in', 'H', 'A')], 'HLM')
    })
    await finds(store, [filter('code', 'in', 'H', 'A')], 'HLM')
  },
}

const chosen: Checks = {
  async 'atomic: an id that a client chose is taken within the transaction'(store) {
    await transact(store, async tx => {
      await tx.create({ id: 'a', code: 'A', price: 1 })
      const again = async () => tx.create({ id: 'a', code: 'B', price: 1 })
      await assert.rejects(again, UniqueError)
    })
    assert.equal(present(await store.get('a')).item.code, 'A')
  },
}

const [sinceId] = Object.values(ordered)

/** What a store must do that has transactions. */
export const TRANSACTIONS: readonly CheckGroup[] = [
  ['uuid', atomic, 'transactions'],
  ['text', chosen, 'transactions'],
  ['uuid', isolated, 'transactions'],
  ['uuid', ordered, 'transactions'],
  ['uuid', within, 'transactions'],
  ['integer', { 'ordered: the same with integer ids': present(sinceId) }, 'transactions'],
]
