// A part of a store: the items that pass filters, as the whole of it. With a mark, what is deleted stays in the store.

import { andThen, type Item, omit } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import type { Filter } from './filter.ts'
import type { KeyedStore } from './keyed-store.ts'
import { type FilterSet, matcher } from './selection.ts'
import type { Deletion, Shape, Stored, StoreWriteOptions } from './store.ts'
import { areCreations, areUpdates } from './writes.ts'

/** A deletion that marks: all that go together have one id. */
export interface MarkedDeletion extends Deletion {
  readonly delete: Deletion['delete'] & { readonly deletion?: string | undefined }
}

/** Makes the values of an item that is marked in place of its deletion. */
export type MarkItem = (item: Item, deletion: string) => Item

/**
 * Narrows a store to the items that pass filters: others are not found, listed or counted.
 * @param mark marks an item in place of its deletion: it must not pass the filters then. Without it deletions are real.
 */
export function narrowStore(
  store: KeyedStore,
  fields: Fields,
  where: readonly Filter[],
  mark?: MarkItem,
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

  /** Marks items that are still at their versions. */
  async function markAll(
    changes: readonly MarkedDeletion[],
    by: MarkItem,
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
      !mark || areCreations(changes) || areUpdates(changes)
        ? store.write(changes, options)
        : markAll(changes, mark, options),
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
