// The store contract, several items at once: `find`, and writes of stores with transactions.
import assert from 'node:assert/strict'
import { UniqueError } from '../store/errors.ts'
import type { Changes, Id, Store, Stored } from '../store/store.ts'
import { MAX_SET } from '../store/writes.ts'
import {
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
  present,
  readStream,
  SAMPLES,
} from './sample.ts'
import { createAll, createOne, deleteAll, deleteOne, updateAll } from './write-items.ts'

const MISSING = '01890000-0000-7000-8000-000000000000'

/** Values of so many items, all codes different. */
function valuesOf(count: number) {
  return Array.from({ length: count }, (_, at) => ({ code: `n${at}`, price: at % 7 }))
}

/** One more than a set has. */
const LAST = { code: 'last', price: 1 }

/** Runs work on the store, and where it has transactions in one too. */
async function inBoth(store: Store, work: (store: Store) => Promise<void>): Promise<void> {
  await work(store)
  await store.transaction?.([store], async ([tx]) => work(present(tx)))
}

async function abortedFails(work: (signal: AbortSignal) => unknown): Promise<void> {
  const reason = new Error('enough')
  await fails(() => work(AbortSignal.abort(reason)), reason)
}

const reads: Checks = {
  async 'find: it finds an item for each id, in their order, and undefined for one that is not there'(
    store,
  ) {
    const [a, b, c] = await fill(store)
    await inBoth(store, async each => {
      const found = await each.find([c.id, MISSING, a.id, c.id, 7, b.id])
      assert.deepEqual(
        found.map(item => item?.version),
        [c.version, undefined, a.version, c.version, undefined, b.version],
      )
      assert.equal(JSON.stringify(found[2]?.item), JSON.stringify(a.item))
      assert.deepEqual(await each.find([]), [])
    })
    await abortedFails(signal => store.find([a.id], { signal }))
  },
  async 'find: it finds what was changed, created and deleted before'(store) {
    const [a, b] = await fill(store)
    await inBoth(store, async each => {
      const created = await createOne(each, { code: `new ${Math.random()}`, price: 1 })
      const [now, gone] = await each.find([a.id, b.id])
      const changed = await change(each, present(now), { code: 'A', price: 99 })
      if (gone) await deleteOne(each, gone)
      const found = await each.find([a.id, b.id, created.id])
      assert.deepEqual(
        found.map(item => item?.version),
        [changed.version, undefined, created.version],
      )
    })
  },
}

const readsMany: Checks = {
  async 'find: it takes 500 ids'(store) {
    const ids = Array.from({ length: MAX_SET }, (_, at) => at + 1)
    await fill(store)
    const found = await store.find(ids.toReversed())
    assert.equal(found.length, MAX_SET)
    assert.equal(codes(found.slice(-SAMPLES.length).map(present).toReversed()), 'ABCDEFG')
  },
}

const creates: Checks = {
  async 'several creates add all items, their ids in the order of the values'(store) {
    await inBoth(store, async each => {
      const suffix = Math.random()
      const before = await countAll(each)
      const values = SAMPLES.map(({ model: _unique, ...sample }) => ({
        ...sample,
        code: `${sample.code}${suffix}`,
      }))
      const created = await createAll(each, values)
      assert.deepEqual(idsOf(created), idsOf(created).toSorted(compareIds))
      for (const [at, { id, item, version }] of created.entries()) {
        const { id: own, created_at, updated_at, ...rest } = item
        assert.deepEqual([own, rest, created_at], [id, values[at], updated_at])
        const found = await find(each, id)
        assert.equal(found.version, version)
        assert.equal(JSON.stringify(found.item), JSON.stringify(item))
      }
      assert.equal(await countAll(each), Number(before) + SAMPLES.length)
      const next = await createOne(each, { code: `next ${suffix}`, price: 1 })
      assert.ok(idsOf(created).every(id => id < next.id))
      assert.deepEqual(await createAll(each, []), [])
    })
    await abortedFails(signal => createAll(store, valuesOf(2), { signal }))
  },
  async 'several creates take 500 items'(store) {
    const created = await createAll(store, valuesOf(MAX_SET))
    const whole = await readStream(store, { where: [], sort: by() })
    assert.deepEqual(idsOf(whole), idsOf(created))
    assert.equal(codes(whole), codes(created))
  },
  async 'several creates add none where one would break a unique set'(store) {
    await fill(store)
    await inBoth(store, async each => {
      const values = valuesOf(80)
      const twice = [...values, { code: 'n7', price: 1 }]
      await fails(() => createAll(each, twice), UniqueError)
      await fails(() => createAll(each, [...values, { code: 'A', price: 1 }]), UniqueError)
      assert.equal(await countAll(each), SAMPLES.length)
      const [created] = await createAll(each, [{ code: 'n7', price: 1 }])
      assert.deepEqual(idsOf(await listAll(each, [filter('code', 'in', 'n7')])), [created?.id])
      assert.ok(await deleteOne(each, present(created)))
    })
  },
}

const createsChosen: Checks = {
  async 'several creates take ids that clients chose, and make those that are left out'(store) {
    await inBoth(store, async each => {
      const suffix = Math.random()
      const values = [{ id: `b${suffix}` }, {}, { id: `a${suffix}` }, {}]
      const created = await createAll(
        each,
        values.map((value, at) => ({ ...value, code: `${at} ${suffix}`, price: 1 })),
      )
      assert.deepEqual(
        created.map(({ item }) => String(item.code).charAt(0)),
        ['0', '1', '2', '3'],
      )
      const [b, one, a, other] = idsOf(created)
      assert.deepEqual([b, a], [`b${suffix}`, `a${suffix}`])
      assert.ok(String(one) < String(other))
      const taken = [
        { code: `5 ${suffix}`, price: 1 },
        { id: `a${suffix}`, code: `6 ${suffix}`, price: 1 },
      ]
      const before = await countAll(each)
      await fails(() => createAll(each, taken), UniqueError)
      assert.equal(await countAll(each), before)
    })
  },
}

/** The properties of an item without those that the store sets. */
function valuesIn({ item: { id: _id, created_at: _c, updated_at: _u, ...values } }: Stored) {
  return values
}

const updates: Checks = {
  async 'several updates change all items, each to its own values'(store) {
    const samples = await fill(store)
    await inBoth(store, async each => {
      const suffix = String(Math.random())
      const now = await Promise.all(samples.map(({ id }) => find(each, id)))
      const changes = now.map((before, at) => {
        const { name: _left, ...values } = valuesIn(before)
        const own = at % 2 === 0 ? { tags: [suffix], extra: null } : { price: at, model: null }
        return { before, values: { ...values, ...own, seats: 5, day: '2024-03-01' } }
      })
      const updated = present(await updateAll(each, changes))
      assert.deepEqual(idsOf(updated), idsOf(now))
      const versions = new Set([...now, ...updated].map(({ version }) => version))
      assert.equal(versions.size, 2 * now.length, 'Each item has a new version of its own')
      for (const [at, stored] of updated.entries()) {
        assert.deepEqual(valuesIn(stored), changes[at]?.values)
        assert.equal(stored.item.created_at, now[at]?.item.created_at)
        const found = await find(each, stored.id)
        assert.equal(found.version, stored.version)
        assert.equal(JSON.stringify(found.item), JSON.stringify(stored.item))
      }
      assert.equal(codes(await listAll(each, [filter('seats', 'in', 5)], 'code')), 'ABCDEFG')
      assert.deepEqual(await updateAll(each, []), [])
      // To the same values: a new version all the same.
      const [first] = updated
      const same = { before: present(first), values: valuesIn(present(first)) }
      const again = present(await updateAll(each, [same]))
      assert.notEqual(again[0]?.version, first?.version)
    })
    const changes = samples.map(before => ({ before, values: valuesIn(before) }))
    await abortedFails(signal => updateAll(store, changes, { signal }))
  },
  async 'several updates change none where one is not at its version, not there, or named twice'(
    store,
  ) {
    const [a, b, c] = await fill(store)
    await inBoth(store, async each => {
      const changed = await change(each, await find(each, b.id), { code: 'B', price: 2 })
      const to = (before: Stored) => ({ before, values: { ...valuesIn(before), name: 'new' } })
      const others = [
        [a, b, c],
        [a, { ...changed, version: a.version }],
        [a, { ...c, id: MISSING }],
        [a, { ...c, id: 7 }],
        [a, c, a],
      ]
      for (const items of others) assert.equal(await updateAll(each, items.map(to)), undefined)
      assert.equal(codes(await listAll(each, [filter('name', 'in', 'new')])), '')
      assert.equal((await find(each, a.id)).version, a.version)
    })
  },
  async 'several updates change none where one would break a unique set'(store) {
    const [a, b, c] = await fill(store)
    await inBoth(store, async each => {
      const to = (before: Stored, code: string) => ({
        before,
        values: { ...valuesIn(before), code },
      })
      await fails(() => updateAll(each, [to(a, 'X'), to(b, 'D'), to(c, 'Y')]), UniqueError)
      await fails(() => updateAll(each, [to(a, 'X'), to(c, 'X')]), UniqueError)
      assert.equal(codes(await listAll(each, [], 'code')), 'ABCDEFG')
      assert.equal((await find(each, a.id)).version, a.version)
      // Nothing of it has kept a value.
      const created = await createOne(each, { code: 'X', price: 1 })
      assert.ok(await deleteOne(each, created))
      const model = { name: 'Same', year: 1 }
      const alike = [a, b].map(before => ({ before, values: { ...valuesIn(before), model } }))
      await fails(() => updateAll(each, alike), UniqueError)
    })
  },
  async 'several updates take 500 items'(store) {
    const created = [...(await createAll(store, valuesOf(MAX_SET))), await createOne(store, LAST)]
    const changes = created.slice(0, MAX_SET).map(before => {
      return { before, values: { ...valuesIn(before), sold: true } }
    })
    const updated = present(await updateAll(store, changes))
    assert.equal(updated.length, MAX_SET)
    const left = await listAll(store, [filter('sold', 'exists', false)])
    assert.deepEqual(idsOf(left), [created.at(-1)?.id])
  },
}

const deletes: Checks = {
  async 'several deletions remove all items, and free their unique values'(store) {
    await inBoth(store, async each => {
      const [a, b, c] = await fill(each)
      assert.equal(await deleteAll(each, [c, a]), true)
      assert.equal(codes(await listAll(each, [], 'code')), 'BDEFG')
      const again = await createOne(each, {
        code: 'A',
        price: 1,
        model: { name: 'Clio', year: 1990 },
      })
      assert.equal(await deleteAll(each, [again, b, ...(await listAll(each)).slice(1, -1)]), true)
      assert.equal(await countAll(each), 0)
      assert.equal(await deleteAll(each, []), true)
    })
    await abortedFails(signal => deleteAll(store, [{ id: MISSING, version: 'x' }], { signal }))
  },
  async 'several deletions remove none where one is not at its version, not there, or named twice'(
    store,
  ) {
    const [a, b, c] = await fill(store)
    await inBoth(store, async each => {
      const changed = await change(each, await find(each, b.id), { code: 'B', price: 2 })
      const others = [
        [a, b, c],
        [a, { ...changed, version: a.version }],
        [
          { ...a, version: c.version },
          { ...c, version: a.version },
        ],
        [a, { id: MISSING, version: a.version }],
        [a, { id: 7, version: a.version }],
        [a, c, a],
      ]
      for (const items of others) assert.equal(await deleteAll(each, items), false)
      assert.equal(codes(await listAll(each, [], 'code')), 'ABCDEFG')
      assert.equal((await find(each, a.id)).version, a.version)
    })
  },
  async 'several deletions take 500 items'(store) {
    const created = [...(await createAll(store, valuesOf(MAX_SET))), await createOne(store, LAST)]
    assert.equal(await deleteAll(store, created.slice(0, MAX_SET)), true)
    assert.deepEqual(idsOf(await listAll(store)), [created.at(-1)?.id])
  },
}

const keys: Checks = {
  async 'several changes keep one answer under their key, and none if one is not at its version'(
    store,
  ) {
    const [a, b] = await fill(store)
    const writeUnder = async (idempotencyKey: string, changes: Changes) => {
      await store.claim(idempotencyKey, 'f')
      const answer = (written: readonly Stored[]) => [idempotencyKey, codes(written)]
      await store.write(changes, { idempotencyKey, answer })
      const record = await store.claim(idempotencyKey, 'f')
      return record.state === 'done' ? record.answer : record.state
    }
    const to = (before: Stored) => ({ before, update: { ...valuesIn(before), name: 'new' } })
    const creations = valuesOf(2).map(create => ({ create }))
    assert.deepEqual(await writeUnder('created', creations), ['created', 'n0n1'])
    assert.deepEqual(await writeUnder('empty', []), ['empty', ''])
    const stale = { ...a, version: 'old' }
    assert.equal(await writeUnder('contested', [to(b), to(stale)]), 'running')
    assert.equal(await writeUnder('left', [{ delete: b }, { delete: stale }]), 'running')
    assert.deepEqual(await writeUnder('changed', [to(b), to(a)]), ['changed', 'BA'])
    const deletions = [a, b].map(async ({ id }) => ({ delete: await find(store, id) }))
    assert.deepEqual(await writeUnder('deleted', await Promise.all(deletions)), ['deleted', ''])
    assert.equal(codes(await listAll(store, [filter('name', 'in', 'new')])), '')
  },
}

function compareIds(one: Id, other: Id): number {
  return one < other ? -1 : 1
}

/** What a store must do with several items. */
export const SETS: readonly CheckGroup[] = [
  ['uuid', reads],
  ['integer', readsMany],
  ['uuid', creates, 'transactions'],
  ['integer', { 'several creates: the same with integer ids': countedCreates }, 'transactions'],
  ['text', createsChosen, 'transactions'],
  ['uuid', updates, 'transactions'],
  ['integer', { 'several updates: the same with integer ids': countedUpdates }, 'transactions'],
  ['uuid', deletes, 'transactions'],
  ['uuid', keys, 'transactions'],
  ['integer', { 'several deletions: the same with integer ids': countedDeletes }, 'transactions'],
]

async function countedCreates(store: Store): Promise<void> {
  await fill(store)
  const created = await createAll(store, valuesOf(3))
  const first = SAMPLES.length + 1
  assert.deepEqual(idsOf(created), [first, first + 1, first + 2])
  assert.equal((await createOne(store, { code: 'next', price: 1 })).id, first + 3)
}

async function countedUpdates(store: Store): Promise<void> {
  const [a, b, c] = await fill(store)
  const to = (before: Stored) => ({ before, values: { ...valuesIn(before), name: 'new' } })
  assert.equal(await updateAll(store, [to(a), to({ ...b, version: 'old' })]), undefined)
  assert.equal(await updateAll(store, [to(a), to({ ...b, id: '2' })]), undefined)
  assert.deepEqual(idsOf(present(await updateAll(store, [c, a].map(to)))), [c.id, a.id])
  assert.equal(codes(await listAll(store, [filter('name', 'in', 'new')], 'code')), 'AC')
}

async function countedDeletes(store: Store): Promise<void> {
  const [a, b, c] = await fill(store)
  assert.equal(await deleteAll(store, [a, { ...b, version: 'old' }]), false)
  assert.equal(await deleteAll(store, [a, { id: '2', version: b.version }]), false)
  assert.equal(await deleteAll(store, [a, b, c]), true)
  assert.equal(codes(await listAll(store, [], 'code')), 'DEFG')
}
