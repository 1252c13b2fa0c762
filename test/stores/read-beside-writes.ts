// Reads, writes, deletions and aborts at random, many at the same time, against a model that knows which states a read
// may see: none older than the last one that was acknowledged before it began.

import type { Store, Stored, StoreOptions } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, deleteOne, updateOne } from '../../src/testing/write-items.ts'

export interface Options {
  readonly operations: number
  readonly seed: number
  /** How many run at the same time. */
  readonly width?: number
}

const IDS = 40

/** What happened to one id: each write has a number, which the item keeps as its year; a deletion has none to keep. */
class Model {
  readonly id: string
  /** The number of the last write that has begun, and that of the last one known to be done. */
  begun = 0
  done = 0
  /** The numbers of deletions. */
  readonly deletions = [0]
  /** The last state that the writer has seen. */
  current: Stored | undefined
  /** Only one write at a time: of two nobody could know the order. */
  writes = false

  constructor(id: string) {
    this.id = id
  }

  /** @param since the last write that was done when the read began. */
  explains(read: Stored | undefined, since: number): boolean {
    if (read) {
      const number = Number(read.item.year)
      return (
        read.id === this.id &&
        number >= since &&
        number <= this.begun &&
        !this.deletions.includes(number)
      )
    }
    return this.deletions.some(number => number >= since && number <= this.begun)
  }
}

/** @returns how many operations of each kind there were, and each read that nothing explains. */
export async function readBesideWrites(store: Store, { operations, seed, width = 64 }: Options) {
  let state = seed
  // The generator of Park and Miller: the same operations each time, as far as their order is ours.
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const models = Array.from({ length: IDS }, (_, at) => new Model(`car-${at}`))
  const wrong: string[] = []
  const kinds = { reads: 0, lists: 0, creates: 0, updates: 0, deletions: 0, aborted: 0 }
  const pick = () => models[random(IDS)] as Model // below their number
  let done = 0

  const check = (model: Model, found: Stored | undefined, since: number) => {
    if (!model.explains(found, since)) {
      const seen = found ? found.item.year : 'nothing'
      wrong.push(`${model.id} is ${seen}; ${since} was done before, ${model.begun} had begun`)
    }
  }

  /** Every fifth call is aborted at some moment. */
  async function call<T>(work: (options: StoreOptions) => unknown): Promise<T | 'aborted'> {
    if (random(5) > 0) return (await work({})) as T
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort('aborted'), random(30))
    try {
      return (await work({ signal: controller.signal })) as T
    } catch (error) {
      if (error !== 'aborted') throw error
      kinds.aborted++
      return 'aborted'
    } finally {
      clearTimeout(timer)
    }
  }

  async function read(model: Model): Promise<void> {
    kinds.reads++
    const since = model.done
    const found = await call<Stored | undefined>(options => findOne(store, model.id, options))
    if (found !== 'aborted') check(model, found, since)
  }

  async function list(): Promise<void> {
    kinds.lists++
    const since = models.map(each => each.done)
    const selection = { where: [], sort: [{ path: ['id'], descending: false }] }
    const slice = { limit: IDS, offset: 0 }
    const page = await call<Awaited<ReturnType<Store['list']>>>(options =>
      store.list(selection, slice, 'exact', options),
    )
    if (page === 'aborted') return
    const found = new Map(page.items.map(each => [each.id, each]))
    for (const [at, each] of models.entries()) check(each, found.get(each.id), since[at] ?? 0)
    if (page.total !== page.items.length) wrong.push(`${page.items.length} items of ${page.total}`)
  }

  async function write(model: Model): Promise<void> {
    model.writes = true
    const number = ++model.begun
    const values = { id: model.id, color: 'red', year: number }
    const { current } = model
    const deletes = current !== undefined && random(3) === 0
    if (deletes) model.deletions.push(number)
    kinds[deletes ? 'deletions' : current ? 'updates' : 'creates']++
    const result = await call<Stored | boolean | undefined>(options => {
      if (!current) return createOne(store, values, options)
      if (deletes) return deleteOne(store, current, options)
      return updateOne(store, current, values, options)
    })
    if (result === 'aborted') {
      // Nobody knows whether it was done: what is there now stays.
      const since = model.done
      model.current = await findOne(store, model.id)
      check(model, model.current, since)
      model.done = model.current ? Number(model.current.item.year) : Math.max(...model.deletions)
    } else {
      if (!result) wrong.push(`${model.id} was changed by another`)
      model.current = typeof result === 'object' ? result : undefined
      model.done = number
    }
    model.writes = false
  }

  async function work(): Promise<void> {
    while (done < operations) {
      done++
      const model = pick()
      const kind = random(10)
      if (kind === 9) await list()
      else if (kind > 5 && !model.writes) await write(model)
      else await read(model)
    }
  }
  await Promise.all(Array.from({ length: width }, work))
  return { done, wrong, kinds }
}
