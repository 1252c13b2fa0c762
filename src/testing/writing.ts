// The store contract, writing: what is kept, ids, versions, uniqueness, idempotency.
import assert from 'node:assert/strict'
import type { Fields } from '../schema/fields.ts'
import type { Item } from '../schema/values.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import { type Id, type Stored, toAnswer, UnavailableError, UniqueError } from '../store/store.ts'
import {
  ALL,
  by,
  type CheckGroup,
  type Checks,
  createMany,
  fill,
  filter,
  idsOf,
  maybe,
  present,
  SAMPLES,
  shapeWith,
} from './sample.ts'

const MISSING = '01890000-0000-7000-8000-000000000000'

/** Asserts that some work fails because another item has the same values in these fields. */
async function refuses(work: () => unknown, ...fields: string[]): Promise<void> {
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
  async 'what is stored is what was given, property for property, in the shape’s order'(store) {
    for (const [at, made] of (await fill(store)).entries()) {
      const { id, created_at, updated_at, ...values } = made.item
      assert.deepEqual(values, SAMPLES[at])
      assert.equal(id, made.id)
      assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.equal(updated_at, created_at)
      assert.equal(made.updatedAt, Date.parse(String(updated_at)))
      const { item, version, updatedAt } = present(await store.get(made.id))
      assert.equal(JSON.stringify(item), JSON.stringify(made.item))
      assert.deepEqual([version, updatedAt], [made.version, made.updatedAt])
      const page = await store.list({ where: [], sort: by() }, ALL, 'none')
      assert.equal(JSON.stringify(page.items[at]?.item), JSON.stringify(made.item))
    }
    assert.equal(await store.get(MISSING), undefined)
    assert.equal(await store.get(1), undefined)
  },
  async 'two collections that share a store each have their fields and unique sets'(store) {
    const { fields, ...shape } = shapeWith('uuid')
    const own: Fields = new Map([...fields, ['weight', { kind: 'number', ...maybe }]])
    store.attach({ ...shape, fields: own, unique: [['weight']], indexes: [['weight']] })
    const light = await store.create({ code: 'A', weight: 1.5 })
    const other = await store.create({ code: 'B', price: 3 })
    assert.equal(present(await store.get(light.id)).item.weight, 1.5)
    const where = [filter('weight', 'lt', 2)]
    const page = await store.list({ where, sort: by('-weight') }, ALL, 'exact')
    assert.deepEqual([idsOf(page.items), page.total], [[light.id], 1])
    await refuses(() => store.create({ code: 'C', weight: 1.5 }), 'weight')
    await refuses(() => store.create({ code: 'B' }), 'code')
    assert.equal(present(await store.get(other.id)).item.price, 3)
  },
  async 'what the caller does to its values afterwards changes nothing'(store) {
    const values = { code: 'A', price: 1, tags: ['one'], model: { name: 'Clio' } }
    const { id } = await store.create(values)
    values.tags.push('two')
    values.model.name = 'changed'
    assert.deepEqual((await store.get(id))?.item.tags, ['one'])
    assert.deepEqual((await store.get(id))?.item.model, { name: 'Clio' })
  },
  async 'an update replaces all values, keeps the creation date, and makes a new version'(store) {
    const old = present((await fill(store))[0])
    const made = present(await store.update(old.id, old.version, { code: 'A2', price: null }))
    const { created_at, updated_at, ...rest } = made.item
    assert.deepEqual(rest, { id: old.id, code: 'A2', price: null })
    assert.equal(created_at, old.item.created_at)
    assert.ok(String(updated_at) >= String(created_at))
    assert.notEqual(made.version, old.version)
    assert.equal(made.updatedAt, Date.parse(String(updated_at)))
    const { item, version, updatedAt } = present(await store.get(old.id))
    assert.deepEqual(item, made.item)
    assert.deepEqual([version, updatedAt], [made.version, made.updatedAt])
    const same = present(await store.update(old.id, made.version, { code: 'A2', price: null }))
    assert.notEqual(same.version, made.version)
    const where = [filter('code', 'in', 'A', 'A2')]
    const { items } = await store.list({ where, sort: by() }, ALL, 'exact')
    assert.deepEqual(idsOf(items), [old.id])
  },
  async 'a stale version changes and deletes nothing'(store) {
    const old = present((await fill(store))[0])
    const now = present(await store.update(old.id, old.version, { code: 'A', price: 2 }))
    assert.equal(await store.update(old.id, old.version, { code: 'A', price: 3 }), undefined)
    assert.equal(await store.delete(old.id, old.version), false)
    assert.equal(await store.update(MISSING, now.version, { code: 'Z', price: 3 }), undefined)
    assert.equal(await store.delete(MISSING, now.version), false)
    assert.equal((await store.get(old.id))?.version, now.version)
    assert.equal(await store.delete(old.id, now.version), true)
    assert.equal(await store.delete(old.id, now.version), false)
    assert.equal(await store.get(old.id), undefined)
  },
  async 'of 100 parallel writers at one version, one wins; of updates and deletes too'(store) {
    for (let round = 0; round < 3; round++) {
      const { id, version } = await store.create({ code: `c${round}`, price: 0 })
      const wins = await Promise.all(
        Array.from({ length: 100 }, async (_, at) =>
          round === 2 && at % 2
            ? store.delete(id, version)
            : store.update(id, version, { code: `c${round}`, price: at }),
        ),
      )
      assert.equal(wins.filter(Boolean).length, 1)
    }
  },
}

function inOrder(ids: readonly Id[]): boolean {
  return ids.every((id, at) => at === 0 || id > present(ids[at - 1]))
}

const idChecks = (kind: 'uuid' | 'integer'): Checks => ({
  async [`${kind} ids: 200 parallel creates give 200 items, and a reader by id misses none`](
    store,
  ) {
    const seen: Stored[] = []
    const read = async () => {
      const end = seen.at(-1)
      const where = end ? [filter('id', 'gt', end.id)] : []
      seen.push(...(await store.list({ where, sort: by() }, ALL, 'exact')).items)
    }
    const all = Promise.all(
      Array.from({ length: 200 }, (_, at) => store.create({ code: `c${at}`, price: at })),
    )
    for (let reads = 0; reads < 20; reads++) await read()
    const made = await all
    await read()
    assert.equal(new Set(idsOf(made)).size, 200)
    assert.deepEqual(new Set(idsOf(seen)), new Set(idsOf(made)))
    assert.equal(seen.length, 200)
    assert.ok(inOrder(idsOf(seen)))
    assert.equal(await store.count({ where: [] }, 'exact'), 200)
  },
  async [`${kind} ids: the id of the newest item is not used again`](store) {
    const made = await createMany(store, 3)
    const newest = present(made[2])
    await store.delete(newest.id, newest.version)
    await refuses(() => store.create({ code: 'n0', price: 1 }), 'code')
    const next = await store.create({ code: 'next', price: 1 })
    assert.ok(next.id > newest.id)
    assert.equal(typeof next.id, kind === 'integer' ? 'number' : 'string')
  },
})

const counted: Checks = {
  async 'integer ids count from 1'(store) {
    const made = await createMany(store, 3)
    assert.deepEqual(idsOf(made).sort(), [1, 2, 3])
    assert.equal((await store.get(2))?.item.id, 2)
    assert.equal(await store.get('2'), undefined)
    assert.equal(await store.get(99), undefined)
  },
}

const chosen: Checks = {
  async 'ids chosen by the client, in the order of their code points; made where left out'(store) {
    const names = ['b', 'ä/ö?#', '\uFF5E', 'B', '\u{1F600}', "'; --", '10', '9']
    for (const id of names) await store.create({ id, code: id, price: 1 })
    const { items } = await store.list({ where: [], sort: by() }, ALL, 'exact')
    assert.deepEqual(idsOf(items), ["'; --", '10', '9', 'B', 'b', 'ä/ö?#', '\uFF5E', '\u{1F600}'])
    for (const id of names) assert.equal((await store.get(id))?.item.code, id)
    await refuses(() => store.create({ id: 'b', code: 'other', price: 1 }), 'id')
    const made = await store.create({ code: 'made', price: 1 })
    assert.match(String(made.id), /^[0-9a-f-]{36}$/)
    if (store.pages === 'offset') return
    const before = { where: [], sort: by() }
    const slice = { limit: 2, key: ['B'], backward: true }
    assert.deepEqual(idsOf((await store.list(before, slice, 'none')).items).at(-1), '9')
  },
}

const unique: Checks = {
  async 'a unique set refuses the same values, and a null or absent one frees it'(store) {
    const made = await fill(store)
    const take = async (values: Item) => store.create({ price: 1, ...values })
    await refuses(() => take({ code: 'A' }), 'code')
    const clio = { name: 'Clio', year: 1990 }
    await refuses(() => take({ code: 'N', model: clio }), 'model.name', 'model.year')
    const second = present(made[1])
    await refuses(
      () => store.update(second.id, second.version, { code: 'B', price: 1, model: clio }),
      'model.name',
      'model.year',
    )
    assert.deepEqual((await store.get(second.id))?.item, second.item)
    await take({ code: 'N', model: { name: 'Clio', year: null } })
    await take({ code: 'O', model: { name: 'Clio' } })
    const first = present(made[0])
    assert.ok(await store.update(first.id, first.version, { code: 'A', price: 5, model: clio }))
    assert.equal(await store.count({ where: [] }, 'exact'), SAMPLES.length + 2)
  },
  async 'a deleted or changed item frees its values; of many takers one gets them'(store) {
    const { id, version } = present((await fill(store))[0])
    const moved = present(await store.update(id, version, { code: 'moved', price: 1 }))
    const takers = await Promise.allSettled(
      Array.from({ length: 20 }, async () => store.create({ code: 'A', price: 1 })),
    )
    assert.equal(takers.filter(({ status }) => status === 'fulfilled').length, 1)
    await store.delete(id, moved.version)
    await store.create({ code: 'moved', price: 1 })
  },
}

const idempotency: Checks<KeyedStore> = {
  async 'an aborted signal ends what is done to an idempotency key'(store) {
    const reason = new Error('enough')
    const options = { signal: AbortSignal.abort(reason) }
    await store.claim('claimed', 'print')
    for (const call of [
      () => store.claim('key', 'print', options),
      () => store.complete('claimed', 'answer', options),
    ]) {
      await assert.rejects(
        async () => call(),
        error => error === reason,
      )
    }
    assert.equal((await store.claim('key', 'print')).state, 'new')
    assert.equal((await store.claim('claimed', 'print')).state, 'running')
  },
  async 'an idempotency key: new, running, then its answer'(store) {
    assert.deepEqual(await store.claim('key', 'print'), { state: 'new' })
    assert.deepEqual(await store.claim('key', 'other'), {
      state: 'running',
      fingerprint: 'print',
    })
    assert.deepEqual(await store.claim('other', 'other'), { state: 'new' })
    const answer = { status: 200, body: [1, null, 'x'] }
    await store.complete('key', answer)
    const done = { state: 'done', fingerprint: 'print', answer }
    assert.deepEqual(await store.claim('key', 'other'), done)
    assert.deepEqual(await store.claim('key', 'print'), done)
  },
  async 'an idempotency key completed without an answer is free again'(store) {
    await store.claim('key', 'print')
    await store.complete('key', undefined)
    assert.deepEqual(await store.claim('key', 'second'), { state: 'new' })
    assert.deepEqual(await store.claim('key', 'x'), { state: 'running', fingerprint: 'second' })
  },
  async 'of 20 parallel claims of an idempotency key one is new'(store) {
    const found = await Promise.all(Array.from({ length: 20 }, () => store.claim('key', 'print')))
    assert.equal(found.filter(({ state }) => state === 'new').length, 1)
  },
  async 'a create under an idempotency key keeps what it made as the answer'(store) {
    await store.claim('key', 'print')
    const made = await store.create({ code: 'A', price: 1 }, { idempotencyKey: 'key' })
    const record = await store.claim('key', 'print')
    assert.equal(record.state, 'done')
    assert.deepEqual('answer' in record && record.answer, toAnswer(made))
    await store.claim('failing', 'print')
    await refuses(
      () => store.create({ code: 'A', price: 1 }, { idempotencyKey: 'failing' }),
      'code',
    )
    assert.equal((await store.claim('failing', 'print')).state, 'running')
  },
  async 'a create under an idempotency key that is not claimed, or no longer, adds nothing'(store) {
    await store.claim('key', 'print')
    await store.create({ code: 'A', price: 1 }, { idempotencyKey: 'key' })
    await store.claim('freed', 'print')
    await store.complete('freed', undefined)
    for (const idempotencyKey of ['key', 'freed', 'never claimed']) {
      await assert.rejects(
        async () => store.create({ code: 'B', price: 1 }, { idempotencyKey }),
        error => error instanceof UnavailableError,
        idempotencyKey,
      )
    }
    assert.equal(await store.count({ where: [] }, 'exact'), 1)
    assert.equal((await store.claim('freed', 'print')).state, 'new')
  },
  async 'an update and a deletion under an idempotency key keep their answer in the same step'(
    store,
  ) {
    const { id, version } = await store.create({ code: 'A', price: 1 })
    const options = (idempotencyKey: string) => ({
      idempotencyKey,
      answer: (written: Stored | undefined) => ({ price: written?.item.price ?? null }),
    })
    const stateOf = async (key: string) => {
      const record = await store.claim(key, 'print')
      return record.state === 'done' ? record.answer : record.state
    }
    for (const key of ['update', 'plain', 'stale', 'delete', 'gone'])
      await store.claim(key, 'print')
    const changed = present(
      await store.update(id, version, { code: 'A', price: 2 }, options('update')),
    )
    assert.deepEqual(await stateOf('update'), { price: 2 })
    assert.equal(
      await store.update(id, version, { code: 'A', price: 3 }, options('stale')),
      undefined,
    )
    assert.equal(await store.delete(id, version, options('stale')), false)
    assert.equal(await stateOf('stale'), 'running')
    await assert.rejects(
      async () => store.update(id, changed.version, { code: 'A', price: 3 }, options('none')),
      UnavailableError,
    )
    await assert.rejects(
      async () => store.delete(id, changed.version, options('none')),
      UnavailableError,
    )
    assert.equal(present(await store.get(id)).version, changed.version)
    const plain = present(
      await store.update(id, changed.version, { code: 'A', price: 4 }, { idempotencyKey: 'plain' }),
    )
    assert.deepEqual(await stateOf('plain'), toAnswer(plain))
    assert.equal(await store.delete(id, plain.version, options('delete')), true)
    assert.deepEqual(await stateOf('delete'), { price: null })
    const next = await store.create({ code: 'B', price: 1 })
    await store.delete(next.id, next.version, { idempotencyKey: 'gone' })
    assert.equal(await stateOf('gone'), null)
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
