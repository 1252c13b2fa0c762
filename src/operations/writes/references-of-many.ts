// The references of several items that are written as one: each item that they name is looked for once.

import type { Json } from '../../base/values.ts'
import { parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { OperationContext } from '../calls/context.ts'
import { findVisible } from '../calls/items.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { isOwnId, unknownReference } from './check-references.ts'
import { manyOf, throwLocated } from './many.ts'
import type { ItemIssue, WriteState } from './write-state.ts'

/** Finds the items that all of them refer to, each once. @throws HttpError 400 */
export async function requireAllReferences(write: WriteState): Promise<void> {
  const { call, transaction } = write
  const { items } = manyOf(write)
  const { collection } = call.target
  const issues: ItemIssue[] = []
  for (const [field, { collection: parent }] of collection.targets) {
    const finder = new ReferenceFinder(call, parent, transaction)
    const named = items.flatMap(({ values, checked, current }, at) => {
      const item = values ?? checked ?? {}
      const value = item[field] ?? null
      if (value === null || value === current?.item[field]) return []
      if (isOwnId(collection, item, parent, parseId(parent, String(value)))) return []
      return [{ at, value, byClient: value === checked?.[field] }]
    })
    await finder.prepare(named.map(({ value }) => value))
    for (const { at, value, byClient } of named) {
      if (await finder.has(value, byClient)) continue
      issues.push({ at, issue: unknownReference(call, field, parent, value) })
    }
  }
  throwLocated(write, issues)
}

/** Finds out which items of a collection there are: by sets where all are visible, else each once. */
class ReferenceFinder {
  readonly #call: OperationContext
  readonly #parent: CollectionDefinition
  readonly #transaction: RunningTransaction | undefined
  readonly #known = new Map<string, boolean>()

  constructor(
    call: OperationContext,
    parent: CollectionDefinition,
    transaction: RunningTransaction | undefined,
  ) {
    this.#call = call
    this.#parent = parent
    this.#transaction = transaction
  }

  async prepare(values: readonly Json[]): Promise<void> {
    const parent = this.#parent
    if (parent.visible || parent.hideExistence) return
    const ids = [...new Set(values.flatMap(value => parseId(parent, String(value)) ?? []))]
    const store = this.#call.storeOf(parent, this.#transaction)
    for (let at = 0; at < ids.length; at += MAX_SET) {
      const set = ids.slice(at, at + MAX_SET)
      const found = await store.find(set, this.#call.storeOptions)
      for (const [place, id] of set.entries())
        this.#known.set(String(id), found[place] !== undefined)
    }
  }

  async has(value: Json, byClient: boolean): Promise<boolean> {
    const parent = this.#parent
    const id = parseId(parent, String(value))
    if (id === undefined) return false
    const known = this.#known.get(String(id)) ?? this.#known.get(`${byClient} ${id}`)
    if (known !== undefined) return known
    const found = await findVisible(this.#call, parent, id, byClient, this.#transaction)
    this.#known.set(`${byClient} ${id}`, found !== undefined)
    return found !== undefined
  }
}
