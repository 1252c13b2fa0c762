// The store contract, items that are handed out: `take`, which a store may leave out.
import assert from 'node:assert/strict'
import type { Item } from '../base/values.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { TakeRequest } from '../store/program-store.ts'
import type { Stored } from '../store/store.ts'
import { type CheckGroup, type Checks, change, codes, find, present } from './sample.ts'

const HOUR = 3_600_000

const take = (store: KeyedStore, more: Partial<TakeRequest<Stored>> = {}) =>
  present(store.take).call(store, { lease: 'at', milliseconds: HOUR, ...more })

async function create(store: KeyedStore, code: string, more: Item = {}): Promise<Stored> {
  const [created] = (await store.write([{ create: { code, price: 1, ...more } }])) ?? []
  return present(created)
}

/** Whether an item was deleted at this version. */
async function remove(store: KeyedStore, item: Stored): Promise<boolean> {
  return (await store.write([{ delete: item }])) !== undefined
}

async function takeAll(store: KeyedStore): Promise<Stored[]> {
  const taken: Stored[] = []
  for (let next = await take(store); next; next = await take(store)) taken.push(next)
  return taken
}

const taking: Checks = {
  async 'take: each item is handed out once, in the order of creation'(store) {
    for (const code of 'ABC') await create(store, code)
    const [first, ...others] = await Promise.all([take(store), take(store)])
    assert.equal(codes([present(first), ...others.map(present)].sort(byId)), 'AB')
    assert.equal(codes(await takeAll(store)), 'C')
    assert.equal(await take(store), undefined)
  },
  async 'take: it makes a version, and the date of the write stays'(store) {
    const before = await create(store, 'A')
    const taken = present(await take(store))
    assert.notEqual(taken.version, before.version)
    assert.equal(taken.updatedAt, before.updatedAt)
    const { at, ...rest } = taken.item
    assert.deepEqual(rest, before.item)
    assert.ok(Date.parse(String(at)) > Date.now())
    assert.deepEqual(await find(store, before.id), taken)
    assert.equal(await remove(store, before), false)
  },
  async 'take: a lease that is over is handed out after those never handed out'(store) {
    await create(store, 'A')
    assert.equal(codes([present(await take(store, { milliseconds: 0 }))]), 'A')
    await create(store, 'B', { at: '2001-01-01T00:00:00Z' })
    await create(store, 'C')
    await create(store, 'D', { at: '2999-01-01T00:00:00Z' })
    assert.equal(codes(await takeAll(store)), 'CBA')
  },
  async 'take: a held item is renewed and given back, unless another has it'(store) {
    await create(store, 'A')
    const held = present(await take(store, { milliseconds: 0 }))
    const renewed = present(await take(store, { held }))
    assert.notEqual(renewed.version, held.version)
    assert.equal(await take(store), undefined)
    assert.equal(await take(store, { held }), undefined)
    const back = present(await take(store, { held: renewed, milliseconds: 0 }))
    const other = present(await take(store))
    assert.equal(await take(store, { held: back, milliseconds: 0 }), undefined)
    const changed = await change(store, other, { code: 'A', price: 2 })
    assert.equal(await take(store, { held: other }), undefined)
    assert.equal(await remove(store, changed), true)
    assert.equal(await take(store, { held: changed }), undefined)
  },
}

const byId = (one: Stored, other: Stored) => Number(one.id) - Number(other.id)

export const TAKING: readonly CheckGroup[] = [['integer', taking, 'take']]
