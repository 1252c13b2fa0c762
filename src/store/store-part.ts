// A part of a store, as a store: it finds only the items that pass filters. With soft deletes, deleted items stay stored.

import { andThen, type Item, omit } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import type { Filter } from './filter.ts'
import type { KeyedStore } from './keyed-store.ts'
import { type FilterSet, matcher } from './selection.ts'
import type { Deletion, Shape, Stored, StoreWriteOptions } from './store.ts'
import { areCreations, areUpdates } from './writes.ts'

/** A soft deletion. Items that are deleted together have the same `deletion`. */
export interface SoftDeletion extends Deletion {
  readonly delete: Deletion['delete'] & { readonly deletion?: string | undefined }
}

/** Builds the values that a deletion writes instead of removing the item. */
export type SoftDelete = (item: Item, deletion: string) => Item

/**
 * Narrows a store to the items that pass filters: others are not found, listed or counted.
 * @param softDelete makes deletions soft. Its values must not pass the filters. Without it deletions remove items.
 */
export function narrowStore(
  store: KeyedStore,
  fields: Fields,
  where: readonly Filter[],
  softDelete?: SoftDelete,
): KeyedStore {
  const has = matcher({ where }, fields)
  const narrow = <S extends FilterSet>(selection: S): S => ({
    ...selection,
    where: [...where, ...selection.where],
  })
  const find: KeyedStore['find'] = (ids, options) =>
    andThen(store.find(ids, options), found =>
      found.map(each => (each && has(each.item) ? each : undefined)),
    )
  const { countBy, listEach, renew } = store

  /** Deletes items softly if all of them still have their versions. */
  async function softDeleteAll(
    changes: readonly SoftDeletion[],
    by: SoftDelete,
    options: StoreWriteOptions | undefined,
  ) {
    const found = await find(
      changes.map(each => each.delete.id),
      options,
    )
    const updates = changes.flatMap(({ delete: { version, deletion = version } }, at) => {
      const before = found[at]
      return before?.version === version ? { update: by(before.item, deletion), before } : []
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
    write: (changes, options) =>
      !softDelete || areCreations(changes) || areUpdates(changes)
        ? store.write(changes, options)
        : softDeleteAll(changes, softDelete, options),
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
