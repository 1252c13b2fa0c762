// A part of a store, as a store: it finds only the items that pass filters. With soft deletes, deleted items stay stored.

import { andThen, type Item, omit } from '../base/values.ts'
import type { Filter } from './filter.ts'
import type { KeyedStore } from './keyed-store.ts'
import { type FilterSet, matcher } from './selection.ts'
import type { Deletion, Shape, Stored, StoreOptions, StoreWriteOptions } from './store.ts'
import { isListed, needsStore } from './unreadable.ts'
import { areCreations, areUpdates } from './writes.ts'

/** A soft deletion. Items that are deleted together have the same `deletion`. */
export interface SoftDeletion extends Deletion {
  readonly delete: Deletion['delete'] & { readonly deletion?: string | undefined }
}

/** Deletions that write values instead of removing items. */
export interface SoftDeletes {
  /** Builds the values of a deleted item. They must not pass the filters. */
  softDelete(item: Item, deletion: string): Item
  /** @throws TypeError for another write whose values do not pass the filters. */
  refuse(): never
}

/**
 * Narrows a store to the items that pass filters: others are not found, listed or counted.
 * @param soft makes deletions soft. Without it deletions remove items.
 */
export function narrowStore(
  store: KeyedStore,
  shape: Shape,
  where: readonly Filter[],
  soft?: SoftDeletes,
): KeyedStore {
  const narrow = <S extends FilterSet>(selection: S): S => ({
    ...selection,
    where: [...where, ...selection.where],
  })
  const { fields, identity } = shape
  const has = matcher({ where }, fields)
  const find: KeyedStore['find'] = (ids, options) =>
    andThen(store.find(ids, options), found => {
      if (found.some(each => each && needsStore(each.item, where, fields)))
        return findListed(found, options)
      return found.map(each => (each && has(each.item) ? each : undefined))
    })
  const findListed = (found: readonly (Stored | undefined)[], options: StoreOptions | undefined) =>
    Promise.all(
      found.map(async each => {
        const passes = each && (await isListed(each.id, where, { store, identity, options }))
        return passes ? each : undefined
      }),
    )
  const { countBy, listEach, renew } = store

  /** Deletes items softly if all of them still have their versions. */
  async function softDeleteAll(
    changes: readonly SoftDeletion[],
    { softDelete }: SoftDeletes,
    options: StoreWriteOptions | undefined,
  ) {
    const found = await find(
      changes.map(each => each.delete.id),
      options,
    )
    const updates = changes.flatMap(({ delete: { version, deletion = version } }, at) => {
      const before = found[at]
      return before?.version === version
        ? { update: softDelete(before.item, deletion), before }
        : []
    })
    return updates.length < changes.length ? undefined : store.write(updates, options)
  }

  return {
    pages: store.pages,
    idempotency: store.idempotency,
    database: store.database,
    hashesValues: store.hashesValues,
    changes: store.changes,
    ...('sql' in store && { sql: store.sql }),
    attach: shape => store.attach(shape),
    facts: () => store.facts?.(),
    find,
    list: (selection, ...rest) => store.list(narrow(selection), ...rest),
    count: (selection, ...rest) => store.count(narrow(selection), ...rest),
    stream: (selection, options) => store.stream(narrow(selection), options),
    ...(countBy && {
      countBy: (selection, ...rest) => countBy.call(store, narrow(selection), ...rest),
    }),
    ...(listEach && {
      listEach: (path, ids, selection, ...rest) =>
        listEach.call(store, path, ids, narrow(selection), ...rest),
    }),
    write: (changes, options) => {
      if (!soft) return store.write(changes, options)
      const isCreation = areCreations(changes)
      if (!isCreation && !areUpdates(changes)) return softDeleteAll(changes, soft, options)
      const values = isCreation
        ? changes.map(({ create }) => create)
        : changes.map(({ update }) => update)
      return values.every(has) ? store.write(changes, options) : soft.refuse()
    },
    claim: (...parameters) => store.claim(...parameters),
    complete: (...parameters) => store.complete(...parameters),
    ...(renew && { renew: (...parameters) => renew.apply(store, parameters) }),
    open: async () => store.open?.(),
    close: () => store.close(),
  }
}

/** The values of an item as an update takes them: without what the store sets. */
export function toValues({ item }: Pick<Stored, 'item'>, { createdAt, updatedAt }: Shape): Item {
  return omit(item, new Set([createdAt ?? '', updatedAt ?? '']))
}
