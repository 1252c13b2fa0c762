// The store contract, references that the database keeps: `relate` and `facts`, which a store may leave out.
import assert from 'node:assert/strict'
import { ReferenceConflictError } from '../store/errors.ts'
import type { Store, StoreReference } from '../store/store.ts'
import { findOne } from '../store/writes.ts'
import { type CheckGroup, type Checks, change, fails, find, present } from './sample.ts'
import { createOne, deleteOne } from './write-items.ts'

const MISSING = '01890000-0000-7000-8000-000000000000'

/** Relates the names of a store's items to its ids. @returns whether the database keeps them. */
async function keeps(store: Store, onDelete: StoreReference['onDelete']): Promise<boolean> {
  present(store.relate).call(store, [{ field: 'name', store, onDelete }])
  await store.open?.()
  return present(store.facts).call(store)?.keptReferences.has('name') ?? false
}

const references: Checks = {
  async 'a kept reference names an item, or nothing'(store) {
    if (!(await keeps(store, undefined))) return
    const a = await createOne(store, { code: 'A', price: 1 })
    const b = await createOne(store, { code: 'B', price: 1, name: String(a.id) })
    assert.equal((await find(store, b.id)).item.name, a.id)
    await fails(
      () => createOne(store, { code: 'C', price: 1, name: MISSING }),
      ReferenceConflictError,
    )
    await fails(() => change(store, b, { code: 'B', name: MISSING }), ReferenceConflictError)
    assert.equal((await find(store, b.id)).version, b.version)
  },
  async 'an item that is named is not deleted'(store) {
    if (!(await keeps(store, 'restrict'))) return
    const a = await createOne(store, { code: 'A', price: 1 })
    const b = await createOne(store, { code: 'B', price: 1, name: String(a.id) })
    await fails(() => deleteOne(store, a), ReferenceConflictError)
    assert.equal(await deleteOne(store, b), true)
    assert.equal(await deleteOne(store, a), true)
  },
  async 'an item is deleted with those that name it, where the reference says so'(store) {
    if (!(await keeps(store, 'cascade'))) return
    const a = await createOne(store, { code: 'A', price: 1 })
    const b = await createOne(store, { code: 'B', price: 1, name: String(a.id) })
    assert.equal(await deleteOne(store, a), true)
    assert.equal(await findOne(store, b.id), undefined)
  },
  async 'a reference is one and the same for all'(store) {
    present(store.relate).call(store, [{ field: 'name', store, onDelete: 'restrict' }])
    present(store.relate).call(store, [{ field: 'name', store, onDelete: 'restrict' }])
    await fails(
      () => present(store.relate).call(store, [{ field: 'name', store, onDelete: 'cascade' }]),
      TypeError,
    )
  },
}

export const REFERENCES: readonly CheckGroup[] = [['uuid', references, 'relate']]
