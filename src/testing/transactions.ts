// The store contract, transactions: whole or not there, seen by nobody else before, ids in their order.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { UnavailableError, UniqueError } from '../store/errors.ts'
import { createWithin, type Filter } from '../store/filter.ts'
import type { Store, Stored } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  change,
  codes,
  countAll,
  fails,
  fill,
  filter,
  find,
  idsOf,
  listAll,
  pollById,
  present,
  readStream,
  shapeWith,
  times,
} from './sample.ts'
import { createOne, deleteOne, updateOne } from './write-items.ts'

/** Runs work on one store in a transaction. */
function transact<T>(store: Store, work: (tx: Store) => Promise<T>, signal?: AbortSignal) {
  const run = async ([tx]: readonly Store[]) => work(present(tx))
  return present(store.transaction)([store], run, signal && { signal })
}

/** The codes of all items, in their order. */
async function allCodes(store: Store): Promise<string> {
  return codes(await listAll(store, [], 'code'))
}

/** Asserts that a transaction whose work fails at its end fails with the same error. */
async function undone(store: Store, work: (tx: Store) => Promise<unknown>): Promise<void> {
  const failure = new Error('the work failed')
  const failing = async (tx: Store) => {
    await work(tx)
    throw failure
  }
  await fails(() => transact(store, failing), failure)
}

/** Creates one item, changes one and removes one of the samples. */
async function changeThree(tx: Store): Promise<void> {
  const [changed, removed] = await listAll(tx, [], 'code')
  const { id, version } = present(removed)
  await createOne(tx, { code: 'new', price: 1 })
  await change(tx, present(changed), { code: 'changed', price: 2 })
  assert.equal(await deleteOne(tx, { id, version }), true)
}

const atomic: Checks = {
  async 'atomic: all writes of a transaction happen'(store) {
    await fill(store)
    assert.equal(await transact(store, changeThree), undefined)
    assert.equal(await allCodes(store), 'CDEFGchangednew')
    const id = await transact(store, async tx => (await createOne(tx, { code: 'X', price: 1 })).id)
    assert.equal((await find(store, id)).item.code, 'X')
  },
  async 'atomic: no write of a failed transaction happens'(store) {
    const before = await fill(store)
    await undone(store, changeThree)
    assert.deepEqual(await listAll(store), before)
    assert.equal(await countAll(store), before.length)
    assert.ok(await createOne(store, { code: 'changed', price: 1 }))
  },
  async 'atomic: a write that fails alone is undone alone'(store) {
    await fill(store)
    await transact(store, async tx => {
      const created = await createOne(tx, { code: 'H', price: 1 })
      await fails(() => createOne(tx, { code: 'A', price: 1 }), UniqueError)
      await fails(() => createOne(tx, { code: 'H', price: 1 }), UniqueError)
      await fails(() => change(tx, created, { code: 'B', price: 1 }), UniqueError)
      await createOne(tx, { code: 'I', price: 1 })
    })
    assert.equal(await allCodes(store), 'ABCDEFGHI')
  },
  async 'atomic: a stale version changes and deletes nothing'(store) {
    const [first] = await fill(store)
    const { id, version } = first
    await transact(store, async tx => {
      const values = { code: 'A', price: 2 }
      await change(tx, first, values)
      assert.equal(await updateOne(tx, { id, version }, values), undefined)
      assert.equal(await deleteOne(tx, { id, version }), false)
      assert.equal(await tx.count({ where: [] }, 'none'), undefined)
      const nothing = { where: [filter('code', 'in', 'none')], sort: by() }
      assert.deepEqual(await readStream(tx, nothing), [])
    })
    assert.equal((await find(store, id)).item.price, 2)
  },
  async 'atomic: two items may swap their unique values'(store) {
    const [one, other] = await fill(store)
    await transact(store, async tx => {
      const free = await change(tx, one, { code: 'free', price: 1 })
      await change(tx, other, { code: 'A', price: 1 })
      await change(tx, free, { code: 'B', price: 1 })
    })
    assert.equal((await find(store, one.id)).item.code, 'B')
    await fails(() => createOne(store, { code: 'A', price: 1 }), UniqueError)
  },
  async 'atomic: the work sees its own writes, in lists, counts and streams'(store) {
    await fill(store)
    await transact(store, async tx => {
      await changeThree(tx)
      const cheap = [filter('price', 'lte', 2)]
      const list = async (where: readonly Filter[], limit: number, offset: number) => {
        const slice = { limit, offset }
        const page = await tx.list({ where, sort: by('-code') }, slice, 'exact')
        return [codes(page.items), page.more, page.total]
      }
      assert.deepEqual(await list([], 3, 1), ['changedGF', true, 7])
      assert.deepEqual(await list(cheap, 2, 0), ['newchanged', true, 4])
      assert.deepEqual(await list(cheap, 0, 0), ['', false, 4])
      assert.equal(await tx.count({ where: cheap }, 'exact'), 4)
      const [last] = await listAll(tx, [filter('code', 'in', 'G')])
      const key = ['G', String(last?.id)]
      const seek = async (backward: boolean) => {
        const slice = { limit: 2, key, backward }
        return codes((await tx.list({ where: [], sort: by('-code') }, slice, 'none')).items)
      }
      assert.deepEqual([await seek(false), await seek(true)], ['FE', 'newchanged'])
      const streamed = await readStream(tx, { where: [], sort: by('code') })
      assert.equal(codes(streamed), 'CDEFGchangednew')
      const created = present(streamed.at(-1))
      assert.equal((await find(tx, created.id)).item.code, 'new')
    })
  },
  async 'atomic: an idempotency key gets its answer with the transaction'(store) {
    const claim = async (key: string) => store.claim(key, 'print')
    const stateOf = async (key: string) => (await claim(key)).state
    await claim('one')
    await claim('two')
    const work = async (tx: Store) => {
      await createOne(tx, { code: 'A', price: 1 }, { idempotencyKey: 'one' })
      await tx.complete?.('two', { status: 200 })
    }
    await undone(store, work)
    assert.deepEqual([await stateOf('one'), await stateOf('two')], ['running', 'running'])
    await transact(store, work)
    assert.equal(await stateOf('one'), 'done')
    const expired = async (tx: Store) => {
      await createOne(tx, { code: 'B', price: 1 })
      await tx.complete?.('one', { status: 200 })
    }
    await fails(() => transact(store, expired), UnavailableError)
    assert.equal(await countAll(store), 1)
    await claim('free')
    await transact(store, async tx => tx.complete?.('free', undefined))
    assert.equal(await stateOf('free'), 'new')
    const answered = { state: 'done', fingerprint: 'print', answer: { status: 200 } }
    assert.deepEqual(await claim('two'), answered)
  },
  async 'atomic: a signal undoes the transaction, and its store refuses calls after its end'(
    store,
  ) {
    const stop = new AbortController()
    const reason = new Error('stopped')
    let ended: Store | undefined
    const hang = async (tx: Store) => {
      ended = tx
      await createOne(tx, { code: 'A', price: 1 })
      stop.abort(reason)
      await new Promise(() => {})
    }
    await fails(() => transact(store, hang, stop.signal), reason)
    await fails(() => createOne(present(ended), { code: 'B', price: 1 }), TypeError)
    assert.equal(await countAll(store), 0)
    await fails(() => transact(store, changeThree, stop.signal), reason)
    assert.ok(await createOne(store, { code: 'A', price: 1 }))
  },
}

const isolated: Checks = {
  async 'isolated: a read outside sees the state before or after a transaction, never between'(
    store,
  ) {
    const a = await createOne(store, { code: 'A', price: 10 })
    const b = await createOne(store, { code: 'B', price: 10 })
    const outside: Promise<readonly Stored[]>[] = []
    const readOutside = () => outside.push(listAll(store, [], 'code'))
    await transact(store, async tx => {
      readOutside()
      // Read again: the work may run more than once.
      const one = await find(tx, a.id)
      const other = await find(tx, b.id)
      await change(tx, one, { code: 'A', price: 0 })
      readOutside()
      await sleep(5)
      await createOne(tx, { code: 'C', price: 0 })
      await change(tx, other, { code: 'B', price: 20 })
      readOutside()
      await sleep(5)
    })
    readOutside()
    const found = await Promise.all(outside)
    const prices = found.map(items => items.map(({ item }) => item.price).join())
    assert.equal(prices.at(-1), '0,20,0')
    for (const each of prices) assert.ok(each === '10,10' || each === '0,20,0', each)
  },
  async 'isolated: an undone transaction undoes no write from outside'(store) {
    const kept = await createOne(store, { code: 'kept', price: 1 })
    const gone = await createOne(store, { code: 'gone', price: 1 })
    const outside: unknown[] = []
    await undone(store, async tx => {
      await createOne(tx, { code: 'A', price: 1 })
      outside.push(createOne(store, { code: 'B', price: 1 }))
      outside.push(updateOne(store, kept, { code: 'C', price: 2 }))
      outside.push(deleteOne(store, gone))
      await sleep(5)
    })
    await Promise.all(outside)
    assert.equal(await allCodes(store), 'BC')
  },
  async 'isolated: each of 24 parallel transactions adds one to a counter'(store) {
    const { id } = await createOne(store, { code: 'A', price: 0 })
    const count = async (tx: Store) => {
      const stored = await find(tx, id)
      await sleep(0)
      await change(tx, stored, { code: 'A', price: Number(stored.item.price) + 1 })
    }
    await times(24, () => transact(store, count))
    assert.equal((await find(store, id)).item.price, 24)
  },
  async 'isolated: of two transactions that read what the other writes, one sees the write'(store) {
    // Each takes a seat where one is free: by what they read alone both would take the last.
    await createOne(store, { code: 'seat', price: 1 })
    const take = (code: string) =>
      transact(store, async tx => {
        const taken = await tx.count({ where: [filter('code', 'in', 'X', 'Y')] }, 'exact')
        await sleep(2)
        if (taken === 0) await createOne(tx, { code, price: 1 })
      })
    await Promise.all([take('X'), take('Y')])
    assert.equal(await countAll(store), 2)
  },
}

/** Reads by id while transactions and plain creates write. */
async function pollDuringWrites(store: Store): Promise<void> {
  const { seen, read } = pollById(store)
  let writing = true
  const transactions = times(8, writer =>
    transact(store, async tx => {
      for (let at = 0; at <= writer % 3; at++) {
        await createOne(tx, { code: `${writer}.${at}`, price: at })
        await sleep(Math.random() * 8)
      }
    }),
  )
  const creates = times(3, at => createOne(store, { code: `p${at}`, price: 1 }))
  const ended = Promise.all([transactions, creates]).finally(() => {
    writing = false
  })
  while (writing) {
    await read()
    await sleep(1)
  }
  await ended
  await read()
  const whole = await listAll(store)
  assert.equal(whole.length, 18)
  assert.deepEqual(idsOf(seen), idsOf(whole))
}

const ordered: Checks = {
  'ordered: a reader by id beside 8 transactions of random length misses nothing': pollDuringWrites,
}

const within: Checks = {
  async 'within: a filter finds items that refer to the items of other filters'(store) {
    const [a, b, c] = (await fill(store)).map(({ id }) => String(id))
    for (const [code, name] of Object.entries({ H: a, I: b, J: c, K: 'no id' }))
      await createOne(store, { code, name: present(name), price: 1 })
    const [h] = idsOf(await listAll(store, [filter('code', 'in', 'H')]))
    const refersToH = { name: String(h), price: 1 }
    await createOne(store, { code: 'L', ...refersToH })
    const { fields, identity } = shapeWith('uuid')
    const refersTo = (tx: Store, ...where: Filter[]) =>
      createWithin(['name'], { name: 'cases', store: tx, fields, identity, where })
    const finds = async (tx: Store, expected: string, ...filters: Filter[]) => {
      const where = [refersTo(tx, ...filters), filter('price', 'gt', 0)]
      const { items, total } = await tx.list({ where, sort: by() }, ALL, 'exact')
      assert.deepEqual([codes(items), total], [expected, expected.length])
      assert.equal(await tx.count({ where }, 'exact'), expected.length)
      assert.equal(codes(await readStream(tx, { where, sort: by() })), expected)
    }
    await finds(store, 'HIJL')
    await finds(store, 'H', filter('price', 'gte', 10), filter('sold', 'in', false))
    await finds(store, 'HJ', filter('tags', 'in', 'fast'))
    await finds(store, '', filter('id', 'exists', false))
    await finds(store, 'L', refersTo(store, filter('code', 'in', 'A')))
    await transact(store, async tx => {
      await createOne(tx, { code: 'M', ...refersToH })
      await finds(tx, 'HLM', filter('code', 'in', 'H', 'A'))
    })
    await finds(store, 'HLM', filter('code', 'in', 'H', 'A'))
  },
}

const chosen: Checks = {
  async 'atomic: an id that a client chose is refused a second time in the transaction'(store) {
    await transact(store, async tx => {
      await createOne(tx, { id: 'a', code: 'A', price: 1 })
      await fails(() => createOne(tx, { id: 'a', code: 'B', price: 1 }), UniqueError)
    })
    assert.equal((await find(store, 'a')).item.code, 'A')
  },
}

/** What a store must do that has transactions. */
export const TRANSACTIONS: readonly CheckGroup[] = [
  ['uuid', atomic, 'transactions'],
  ['text', chosen, 'transactions'],
  ['uuid', isolated, 'transactions'],
  ['uuid', ordered, 'transactions'],
  ['uuid', within, 'transactions'],
  ['integer', { 'ordered: the same with integer ids': pollDuringWrites }, 'transactions'],
]
