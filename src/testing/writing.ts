// The store contract, writing: what is kept, ids, versions, uniqueness, idempotency.
import assert from 'node:assert/strict'
import type { Item } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { UnavailableError, UniqueError } from '../store/errors.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Stored } from '../store/store.ts'
import { findOne } from '../store/writes.ts'
import { toAnswer } from '../store/written.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  change,
  countAll,
  createMany,
  fails,
  fill,
  filter,
  find,
  idsOf,
  listAll,
  maybe,
  pollById,
  present,
  SAMPLES,
  shapeWith,
  times,
} from './sample.ts'
import { createOne, deleteOne, updateOne } from './write-items.ts'

const MISSING = '01890000-0000-7000-8000-000000000000'

/** Asserts that work fails because another item has the same values in these fields. */
async function clashes(work: () => unknown, ...fields: string[]): Promise<void> {
  await assert.rejects(
    async () => work(),
    error => {
      assert.ok(error instanceof UniqueError, String(error))
      assert.deepEqual([...error.fields], fields)
      return true
    },
  )
}

const basics: Checks = {
  async 'an item is stored as it was given: the same properties in the same order'(store) {
    const created = await fill(store)
    const listed = await listAll(store)
    for (const [at, { id, item, version, updatedAt }] of created.entries()) {
      const { id: own, created_at, updated_at, ...values } = item
      assert.deepEqual([own, values], [id, SAMPLES[at]])
      assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.equal(updated_at, created_at)
      assert.equal(updatedAt, Date.parse(String(updated_at)))
      const found = await find(store, id)
      assert.equal(JSON.stringify(found.item), JSON.stringify(item))
      assert.deepEqual([found.version, found.updatedAt], [version, updatedAt])
      assert.equal(JSON.stringify(listed[at]?.item), JSON.stringify(item))
    }
    assert.equal(await findOne(store, MISSING), undefined)
    assert.equal(await findOne(store, 1), undefined)
  },
  async 'two collections that share a store each have their fields and unique sets'(store) {
    const { fields, ...shape } = shapeWith('uuid')
    const own: Fields = new Map([...fields, ['weight', { kind: 'number', ...maybe }]])
    store.attach({ ...shape, fields: own, unique: [['weight']], indexes: [['weight']] })
    const light = await createOne(store, { code: 'A', weight: 1.5 })
    const other = await createOne(store, { code: 'B', price: 3 })
    assert.equal((await find(store, light.id)).item.weight, 1.5)
    const where = [filter('weight', 'lt', 2)]
    const page = await store.list({ where, sort: by('-weight') }, ALL, 'exact')
    assert.deepEqual([idsOf(page.items), page.total], [[light.id], 1])
    await clashes(() => createOne(store, { code: 'C', weight: 1.5 }), 'weight')
    await clashes(() => createOne(store, { code: 'B' }), 'code')
    assert.equal((await find(store, other.id)).item.price, 3)
  },
  async 'a stored item stays the same when the caller changes its values afterwards'(store) {
    const values = { code: 'A', price: 1, tags: ['one'], model: { name: 'Clio' } }
    const { id } = await createOne(store, values)
    values.tags.push('two')
    values.model.name = 'changed'
    const { tags, model } = (await find(store, id)).item
    assert.deepEqual([tags, model], [['one'], { name: 'Clio' }])
  },
  async 'an update replaces all values, keeps the creation date, and makes a new version'(store) {
    const [old] = await fill(store)
    const changed = await change(store, old, { code: 'A2', price: null })
    const { created_at, updated_at, ...rest } = changed.item
    assert.deepEqual(rest, { id: old.id, code: 'A2', price: null })
    assert.equal(created_at, old.item.created_at)
    assert.ok(String(updated_at) >= String(created_at))
    assert.notEqual(changed.version, old.version)
    assert.equal(changed.updatedAt, Date.parse(String(updated_at)))
    const { item, version, updatedAt } = await find(store, old.id)
    assert.deepEqual(item, changed.item)
    assert.deepEqual([version, updatedAt], [changed.version, changed.updatedAt])
    const same = await change(store, changed, { code: 'A2', price: null })
    assert.notEqual(same.version, changed.version)
    const where = [filter('code', 'in', 'A', 'A2')]
    assert.deepEqual(idsOf(await listAll(store, where)), [old.id])
  },
  async 'a stale version changes and deletes nothing'(store) {
    const [old] = await fill(store)
    const { id, version } = await change(store, old, { code: 'A', price: 2 })
    assert.equal(
      await updateOne(store, { id, version: old.version }, { code: 'A', price: 3 }),
      undefined,
    )
    assert.equal(await deleteOne(store, { id, version: old.version }), false)
    assert.equal(
      await updateOne(store, { id: MISSING, version }, { code: 'Z', price: 3 }),
      undefined,
    )
    assert.equal(await deleteOne(store, { id: MISSING, version }), false)
    assert.equal((await find(store, id)).version, version)
    assert.equal(await deleteOne(store, { id, version }), true)
    assert.equal(await deleteOne(store, { id, version }), false)
    assert.equal(await findOne(store, id), undefined)
  },
  async 'one of 100 parallel writers of one version succeeds, deletions among them too'(store) {
    for (const deletes of [false, true]) {
      const { id, version } = await createOne(store, { code: 'A', price: 0 })
      const wins = await times<unknown>(100, at =>
        deletes && at % 2
          ? deleteOne(store, { id, version })
          : updateOne(store, { id, version }, { code: `c${deletes}`, price: at }),
      )
      assert.equal(wins.filter(Boolean).length, 1)
    }
  },
}

const idChecks = (kind: 'uuid' | 'integer'): Checks => ({
  async [`${kind} ids: 200 parallel creates give 200 items, and a reader by id misses none`](
    store,
  ) {
    const { seen, read } = pollById(store)
    const all = times(200, at => createOne(store, { code: `c${at}`, price: at }))
    for (let reads = 0; reads < 20; reads++) await read()
    const ids = new Set(idsOf(await all))
    await read()
    assert.deepEqual([ids.size, seen.length, await countAll(store)], [200, 200, 200])
    assert.deepEqual(new Set(idsOf(seen)), ids)
    assert.ok(seen.every(({ id }, at) => at === 0 || id > present(seen[at - 1]).id))
  },
  async [`${kind} ids: the id of the newest item is not used again`](store) {
    const newest = present((await createMany(store, 3))[2])
    await deleteOne(store, newest)
    await clashes(() => createOne(store, { code: 'n0', price: 1 }), 'code')
    const next = await createOne(store, { code: 'next', price: 1 })
    assert.ok(next.id > newest.id)
    assert.equal(typeof next.id, kind === 'integer' ? 'number' : 'string')
  },
})

const counted: Checks = {
  async 'integer ids count from 1'(store) {
    assert.deepEqual(idsOf(await createMany(store, 3)).sort(), [1, 2, 3])
    assert.equal((await find(store, 2)).item.id, 2)
    assert.equal(await findOne(store, '2'), undefined)
    assert.equal(await findOne(store, 99), undefined)
  },
}

const chosen: Checks = {
  async 'clients choose ids, sorted by code points; the store makes those that are left out'(
    store,
  ) {
    const sorted = ["'; --", '10', '9', 'B', 'b', 'ä/ö?#', '\uFF5E', '\u{1F600}']
    for (const id of [...sorted].reverse()) await createOne(store, { id, code: id, price: 1 })
    assert.deepEqual(idsOf(await listAll(store)), sorted)
    for (const id of sorted) assert.equal((await find(store, id)).item.code, id)
    await clashes(() => createOne(store, { id: 'b', code: 'other', price: 1 }), 'id')
    const created = await createOne(store, { code: 'made', price: 1 })
    assert.match(String(created.id), /^[0-9a-f-]{36}$/)
    if (store.pages === 'offset') return
    const slice = { limit: 2, key: ['B'], backward: true }
    const { items } = await store.list({ where: [], sort: by() }, slice, 'none')
    assert.equal(idsOf(items).at(-1), '9')
  },
}

const unique: Checks = {
  async 'a unique set refuses equal values, unless one of them is null or absent'(store) {
    const [first, second] = await fill(store)
    const take = (values: Item) => createOne(store, { price: 1, ...values })
    await clashes(() => take({ code: 'A' }), 'code')
    const model = { name: 'Clio', year: 1990 }
    const set = ['model.name', 'model.year']
    await clashes(() => take({ code: 'N', model }), ...set)
    await clashes(() => change(store, second, { code: 'B', price: 1, model }), ...set)
    assert.deepEqual((await find(store, second.id)).item, second.item)
    await take({ code: 'N', model: { name: 'Clio', year: null } })
    await take({ code: 'O', model: { name: 'Clio' } })
    await change(store, first, { code: 'A', price: 5, model })
    assert.equal(await countAll(store), SAMPLES.length + 2)
  },
  async 'a partial unique set holds only among items that pass its conditions'(store) {
    const on = (name: string, operator: 'in' | 'exists', value: boolean) => ({
      ...{ path: [name], operator },
      values: [value],
    })
    const where = [on('sold', 'in', true), on('at', 'exists', false)]
    store.attach({ ...shapeWith('uuid'), partial: [{ fields: ['name'], where }] })
    const at = '2024-03-01T00:30:00Z'
    let codes = 0
    const take = (values: Item) =>
      createOne(store, { code: `p${++codes}`, price: 1, name: 'one', ...values })
    const first = await take({ sold: true })
    const others = [{ sold: false }, {}, { sold: true, at }, { sold: true, at }]
    const [unsold] = await Promise.all(others.map(take))
    await clashes(() => take({ sold: true }), 'name')
    const sold = { code: 'unsold', price: 1, name: 'one', sold: true }
    await clashes(() => change(store, present(unsold), sold), 'name')
    await take({ sold: true, name: 'two' })
    const left = await change(store, first, { code: 'left', price: 1, name: 'one', sold: true, at })
    const takers = await times(16, async () => {
      try {
        return await take({ sold: true })
      } catch {
        return undefined
      }
    })
    assert.equal(takers.filter(Boolean).length, 1)
    await clashes(
      () => change(store, left, { code: 'left', price: 1, name: 'one', sold: true }),
      'name',
    )
    await store.transaction?.([store], async ([tx]) => {
      const inside = present(tx)
      await deleteOne(inside, present(takers.find(Boolean)))
      const back = { code: 'left', price: 1, name: 'one', sold: true }
      await change(inside, left, back)
      await clashes(() => createOne(inside, { ...back, code: 'again' }), 'name')
    })
  },
  async 'a deleted or changed item frees its unique values, and one of many creates gets them'(
    store,
  ) {
    const [first] = await fill(store)
    const { id, version } = await change(store, first, { code: 'moved', price: 1 })
    const takers = Array.from({ length: 20 }, async () => createOne(store, { code: 'A', price: 1 }))
    const results = await Promise.allSettled(takers)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    await deleteOne(store, { id, version })
    await createOne(store, { code: 'moved', price: 1 })
  },
}

/** Claims a key. @returns its answer, where it has one, or its state. */
async function readKey(store: KeyedStore, key: string) {
  const record = await store.claim(key, 'print')
  return record.state === 'done' ? record.answer : record.state
}

const idempotency: Checks = {
  async 'an aborted signal ends claim and complete with its reason'(store) {
    const reason = new Error('enough')
    const options = { signal: AbortSignal.abort(reason) }
    await store.claim('claimed', 'print')
    await fails(() => store.claim('key', 'print', options), reason)
    await fails(() => store.complete('claimed', 'answer', options), reason)
    assert.equal(await readKey(store, 'key'), 'new')
    assert.equal(await readKey(store, 'claimed'), 'running')
  },
  async 'an idempotency key: new, running, then its answer'(store) {
    assert.equal((await store.claim('key', 'print')).state, 'new')
    const { state, ...running } = await store.claim('key', 'other')
    assert.deepEqual([state, Object(running).fingerprint], ['running', 'print'])
    assert.equal((await store.claim('other', 'other')).state, 'new')
    const answer = { status: 200, body: [1, null, 'x'] }
    await store.complete('key', answer)
    const done = { state: 'done', fingerprint: 'print', answer }
    assert.deepEqual(await store.claim('key', 'other'), done)
    assert.deepEqual(await store.claim('key', 'print'), done)
  },
  async 'an idempotency key completed without an answer is free again'(store) {
    await store.claim('key', 'print')
    await store.complete('key', undefined)
    assert.equal((await store.claim('key', 'second')).state, 'new')
    const { state, ...running } = await store.claim('key', 'x')
    assert.deepEqual([state, Object(running).fingerprint], ['running', 'second'])
  },
  async 'the claim of an idempotency key is renewed and freed by its owner alone'(store) {
    if (!store.renew) return
    const record = await store.claim('key', 'print')
    assert.equal(record.state, 'new')
    const claim = present(Object(record).claim as number | undefined)
    assert.equal(await store.renew('key', claim - 1), undefined)
    await store.complete('key', undefined, { claim: claim - 1 })
    assert.equal(await readKey(store, 'key'), 'running')
    const next = present(await store.renew('key', claim))
    const rest = Object(await store.claim('key', 'print')).rest
    assert.ok(rest > 0 && rest <= 10_000, `rest is ${rest}`)
    await store.complete('key', undefined, { claim: next })
    assert.equal(await readKey(store, 'key'), 'new')
    await store.complete('key', 'answer')
    assert.equal(await store.renew('key', next), undefined)
  },
  async 'of 20 parallel claims of an idempotency key one is new'(store) {
    const found = await times(20, () => store.claim('key', 'print'))
    assert.equal(found.filter(({ state }) => state === 'new').length, 1)
  },
  async 'a create under an idempotency key keeps the created item as the answer'(store) {
    const values = { code: 'A', price: 1 }
    await store.claim('key', 'print')
    const created = await createOne(store, values, { idempotencyKey: 'key' })
    assert.deepEqual(await readKey(store, 'key'), [toAnswer(created)])
    await store.claim('failing', 'print')
    await clashes(() => createOne(store, values, { idempotencyKey: 'failing' }), 'code')
    assert.equal(await readKey(store, 'failing'), 'running')
  },
  async 'a create under an idempotency key without a claim adds nothing'(store) {
    await store.claim('key', 'print')
    await createOne(store, { code: 'A', price: 1 }, { idempotencyKey: 'key' })
    await store.claim('freed', 'print')
    await store.complete('freed', undefined)
    for (const idempotencyKey of ['key', 'freed', 'never claimed']) {
      const create = () => createOne(store, { code: 'B', price: 1 }, { idempotencyKey })
      await fails(create, UnavailableError)
    }
    assert.equal(await countAll(store), 1)
    assert.equal(await readKey(store, 'freed'), 'new')
  },
  async 'an update and a deletion under an idempotency key keep their answer in the same step'(
    store,
  ) {
    const answer = ([written]: readonly Stored[]) => ({ price: written?.item.price ?? null })
    const under = (idempotencyKey: string) => ({ idempotencyKey, answer })
    const values = (price: number) => ({ code: 'A', price })
    const keys = ['update', 'plain', 'stale', 'delete', 'gone']
    for (const key of keys) await store.claim(key, 'print')
    const { id, version } = await createOne(store, values(1))
    const changed = present(await updateOne(store, { id, version }, values(2), under('update')))
    assert.deepEqual(await readKey(store, 'update'), { price: 2 })
    assert.equal(await updateOne(store, { id, version }, values(3), under('stale')), undefined)
    assert.equal(await deleteOne(store, { id, version }, under('stale')), false)
    assert.equal(await readKey(store, 'stale'), 'running')
    await fails(() => change(store, changed, values(3), under('none')), UnavailableError)
    await fails(
      () => deleteOne(store, { id, version: changed.version }, under('none')),
      UnavailableError,
    )
    assert.equal((await find(store, id)).version, changed.version)
    const plain = await change(store, changed, values(4), { idempotencyKey: 'plain' })
    assert.deepEqual(await readKey(store, 'plain'), [toAnswer(plain)])
    assert.equal(await deleteOne(store, { id, version: plain.version }, under('delete')), true)
    assert.deepEqual(await readKey(store, 'delete'), { price: null })
    const next = await createOne(store, { code: 'B', price: 1 })
    await deleteOne(store, next, { idempotencyKey: 'gone' })
    assert.deepEqual(await readKey(store, 'gone'), [])
  },
}

/** What a store must do where it is written. */
export const WRITING: readonly CheckGroup[] = [
  ['uuid', basics],
  ['uuid', idChecks('uuid')],
  ['integer', idChecks('integer')],
  ['integer', counted],
  ['text', chosen],
  ['uuid', unique],
  ['uuid', idempotency, 'idempotency'],
]
