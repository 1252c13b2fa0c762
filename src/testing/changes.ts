// The store contract, changes: the log that live lists follow, which a store may leave out.
import assert from 'node:assert/strict'
import type { Item } from '../base/values.ts'
import type { Change, StoreChanges } from '../store/changes.ts'
import type { Id, Store } from '../store/store.ts'
import {
  type CheckGroup,
  type Checks,
  change,
  createMany,
  fill,
  find,
  listAll,
  present,
} from './sample.ts'
import { createAll, createOne, deleteOne, updateAll } from './write-items.ts'

const LIMIT = 500

/** Reads all that is committed behind a position. */
async function readAll(store: Store, after: string, limit = LIMIT) {
  const changes: Change[] = []
  const log = present(store.changes)
  for (let position = after; ; ) {
    const read = await log.read(position, limit)
    assert.notEqual(read, 'gone')
    if (read === 'gone') break
    changes.push(...read.changes)
    position = read.position
    if (read.current) return { changes, position }
  }
  return { changes, position: after }
}

/** What the changes make of items. */
function apply(items: Map<Id, Item>, changes: readonly Change[]): Map<Id, Item> {
  for (const { id, before, after } of changes) {
    assert.deepEqual(items.get(id), before)
    if (after) items.set(id, after)
    else items.delete(id)
  }
  return items
}

async function mapOf(store: Store): Promise<Map<Id, Item>> {
  return new Map((await listAll(store)).map(({ id, item }) => [id, item]))
}

const start = async (store: Store): Promise<string> => present(store.changes).position()

const changes: Checks = {
  async 'changes are read as items are'(store) {
    const position = await start(store)
    const items = await fill(store)
    const read = await readAll(store, position)
    assert.deepEqual(apply(new Map(), read.changes), await mapOf(store))
    assert.equal(read.changes.length, items.length)
  },
  async 'a change has the item before and afterwards'(store) {
    const [first, second] = await fill(store)
    const position = await start(store)
    const red = await change(store, first, { ...first.item, name: 'red' })
    await deleteOne(store, second)
    const read = (await readAll(store, position)).changes
    assert.deepEqual(
      read.map(({ id, before, after }) => [id, before, after]),
      [
        [first.id, first.item, red.item],
        [second.id, second.item, undefined],
      ],
    )
    assert.deepEqual((await find(store, first.id)).item, red.item)
  },
  async 'behind the last position is nothing, until something changes'(store) {
    await fill(store)
    const position = await start(store)
    const end = await readAll(store, position)
    assert.deepEqual(end.changes, [])
    await createMany(store, 1)
    assert.equal((await readAll(store, end.position)).changes.length, 1)
    assert.equal((await readAll(store, position)).changes.length, 1)
  },
  async 'reads in parts go on where the last one ended'(store) {
    const position = await start(store)
    await createMany(store, 20)
    const { changes: all } = await readAll(store, position, 3)
    assert.deepEqual(apply(new Map(), all), await mapOf(store))
  },
  async 'sets are read item by item'(store) {
    const position = await start(store)
    const created = await createAll(store, [{ code: 'A' }, { code: 'B' }].map(withPrice))
    const changed = created.map(before => ({ before, values: { ...before.item, price: 2 } }))
    const [first] = (await updateAll(store, changed)) ?? []
    if (first) await deleteOne(store, first)
    const { changes: all } = await readAll(store, position)
    assert.deepEqual(apply(new Map(), all), await mapOf(store))
  },
  async 'what is undone is never read'(store) {
    const [first] = await fill(store)
    const position = await start(store)
    const work = store.transaction?.([store], async ([inside]) => {
      await createOne(present(inside), withPrice({ code: 'undone' }))
      await deleteOne(present(inside), first)
      throw new RangeError('undone')
    })
    if (work) await assert.rejects(work, RangeError)
    await store.transaction?.([store], async ([inside]) => {
      await createOne(present(inside), withPrice({ code: 'kept' }))
    })
    const { changes: all } = await readAll(store, position)
    const items = await mapOf(store)
    for (const { id, after } of all) assert.deepEqual(items.get(id), after)
    assert.equal(all.length, store.transaction ? 1 : 0)
  },
  async 'a position of another log, of the future or of nowhere is gone'(store) {
    const log: StoreChanges = present(store.changes)
    const position = await start(store)
    const strange = [
      '',
      '-',
      '7',
      'x-1',
      `${position}0000`,
      `-${position}`,
      'x'.repeat(128),
      '\0\n',
    ]
    for (const each of strange) assert.equal(await log.read(each, LIMIT), 'gone', each)
  },
}

function withPrice(item: Item): Item {
  return { price: 1, ...item }
}

const counted: Checks = {
  async 'the id of a change is a number where ids are counted'(store) {
    const position = await start(store)
    await createMany(store, 3)
    assert.deepEqual(apply(new Map(), (await readAll(store, position)).changes), await mapOf(store))
  },
}

export const CHANGES: readonly CheckGroup[] = [
  ['uuid', changes, 'changes'],
  ['integer', counted, 'changes'],
]
