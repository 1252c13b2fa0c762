// The items that a request reaches: below the parent of its path, and visible to its principal by the row policy.

import { memoize } from '../../base/memoize.ts'
import { getValue } from '../../base/paths.ts'
import { Remembered } from '../../base/remembered.ts'
import { type Awaitable, andThen, type Item, sameJson } from '../../base/values.ts'
import { HttpError, type Issue } from '../../errors.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import type { RowRule } from '../../model/types/declaration.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { isPlain, show } from '../../options.ts'
import { isOwn, type ParsedFilter } from '../../query/related.ts'
import type { Relation } from '../../query/relation.ts'
import { createWithin, type Filter, listLeaves } from '../../store/filter.ts'
import { matcher } from '../../store/selection.ts'
import type { Id, Stored } from '../../store/store.ts'
import { findUnreadable, isListed, needsStore } from '../../store/unreadable.ts'
import { describeMissing } from './authorize.ts'
import type { OperationContext } from './context.ts'
import { readRuleFilters, toPlainFilters } from './program-filters.ts'
import { findWithin, resolveFilter } from './resolve-filter.ts'
import type { RunningTransaction } from './running-transaction.ts'
import { testOf } from './test-item.ts'

/** Builds the filters that a parent and the row policy add to every list. */
export function buildReachFilters(context: OperationContext): readonly Filter[] {
  const { parent, collection } = context.target
  const rows = buildRowFilter(context, collection)
  if (!parent) return rows?.where ?? NO_FILTERS
  const below: Filter = { path: [parent.field], operator: 'in', values: [parent.id] }
  return [below, ...(rows?.where ?? [])]
}

const NO_FILTERS: readonly Filter[] = []

/** Whether the principal sees an item. */
export function isVisible(
  context: OperationContext,
  collection: CollectionDefinition,
  item: Item,
  transaction = context.transaction,
): Awaitable<boolean> {
  const rows = buildRowFilter(context, collection, transaction)
  if (!rows) return true
  const { shape, store: own } = collection
  if (!needsStore(item, rows.where, shape.fields)) return rows.sees(item)
  // The whole store: the item may be in the trash.
  const store = transaction?.storeOf(collection) ?? own
  const { identity } = shape
  const id = item[identity.name] as Id // of a stored item
  return isListed(id, rows.where, { store, identity, options: context.storeOptions })
}

/** Finds an item that the row policy lets the principal see. */
function findStored(
  context: OperationContext,
  collection: CollectionDefinition,
  id: Id,
  transaction = context.transaction,
): Awaitable<Stored | undefined> {
  const store = context.storeOf(collection, transaction)
  return andThen(store.find([id], context.storeOptions), ([stored]) => {
    if (!stored || !collection.visible) return stored
    const visible = isVisible(context, collection, stored.item, transaction)
    return andThen(visible, sees => (sees ? stored : undefined))
  })
}

/**
 * Finds an item of any collection, where it exists and the principal may see it.
 * @param byClient whether the client named it: a collection that hides what exists has none for a client
 * that may not read it.
 */
export function findVisible(
  context: OperationContext,
  collection: CollectionDefinition,
  id: Id,
  byClient = true,
  transaction = context.transaction,
): Awaitable<Stored | undefined> {
  if (byClient && collection.hideExistence && !context.can(collection, 'read')) return undefined
  return findStored(context, collection, id, transaction)
}

/** @throws HttpError 404 where the parent of the target does not exist. */
export function requireParent(
  context: OperationContext,
  transaction = context.transaction,
): Awaitable<void> {
  const { parent } = context.target
  if (!parent) return undefined
  const { collection, id } = parent
  return andThen(findVisible(context, collection, id, true, transaction), found => {
    if (!found) throw notFound(collection, id)
  })
}

/** Finds the item of the target, where it is reachable. @throws HttpError 404 where its parent does not exist. */
export function findItem(
  context: OperationContext,
  transaction = context.transaction,
): Awaitable<Stored | undefined> {
  const { collection, id = '', parent } = context.target
  if (!parent) return findStored(context, collection, id, transaction)
  return andThen(requireParent(context, transaction), () =>
    andThen(findStored(context, collection, id, transaction), stored =>
      stored && getValue(stored.item, [parent.field]) === parent.id ? stored : undefined,
    ),
  )
}

/** Finds the item of the target. @throws HttpError 404 */
export function requireItem(
  context: OperationContext,
  transaction = context.transaction,
): Awaitable<Stored> {
  return andThen(findItem(context, transaction), stored => {
    if (stored) return stored
    const { collection, id = '' } = context.target
    throw notFound(collection, id)
  })
}

/**
 * Refuses to write an item that its writer could not see.
 * @throws HttpError 403
 */
export function assertVisible(
  context: OperationContext,
  values: Item,
  current: Item | undefined,
  transaction: RunningTransaction | undefined,
): Awaitable<void> {
  const { collection } = context.target
  const rows = buildRowFilter(context, collection, transaction)
  if (!rows) return undefined
  const item = namesServerValues(collection, rows)
    ? withServerValues(collection, values, current)
    : values
  const isKept = current !== undefined && namesKept(current, values, rows)
  const sees = isKept ? leavesSame(current, item, rows) : rows.sees(item)
  return andThen(sees, visible => {
    if (visible) return
    const message = `You could not see this ${collection.itemName} afterwards, so you cannot write it.`
    throw new HttpError(403, [{ message, type: 'forbidden_row' }])
  })
}

/** Whether a filter names a value of the stored item that cannot be read, and that a write does not replace. */
function namesKept(current: Item, values: Item, { where }: RowFilter): boolean {
  const names = findUnreadable(current)
  if (!names) return false
  return listLeaves(where).some(
    ({ path: [name = ''] }) => names.has(name) && (values[name] ?? null) === null,
  )
}

/** Whether an item that is visible stays so, as it has the same values for the filters. */
function leavesSame(current: Item, item: Item, { where }: RowFilter): boolean {
  return listLeaves(where).every(({ path: [name = ''] }) =>
    sameJson(current[name] ?? null, item[name] ?? null),
  )
}

/** Whether a filter compares what the store adds to an item. */
function namesServerValues({ shape }: CollectionDefinition, { where }: RowFilter): boolean {
  const { identity, createdAt, updatedAt } = shape
  const added = [identity.name, createdAt, updatedAt]
  return listLeaves(where).some(({ path: [name] }) => added.includes(name))
}

/** Adds the dates and the id of the store to values. The id of a new item is not known yet. */
function withServerValues(
  { shape: { identity, createdAt, updatedAt } }: CollectionDefinition,
  values: Item,
  current: Item | undefined,
): Item {
  const now = new Date().toISOString()
  const added: Item = current ? { [identity.name]: current[identity.name] ?? null } : {}
  if (createdAt !== undefined) added[createdAt] = current?.[createdAt] ?? now
  if (updatedAt !== undefined) added[updatedAt] = now
  return { ...added, ...values }
}

export function notFound(collection: CollectionDefinition, id: Id): HttpError {
  const message = describeMissing(collection, String(id))
  return new HttpError(404, [{ message, type: 'not_found' }])
}

export interface RowFilter {
  /** The filters that a list adds to its own. */
  readonly where: readonly Filter[]
  readonly sees: (item: Item) => Awaitable<boolean>
}

/**
 * Builds the filter of the items that a principal sees; `undefined` where it sees all of them.
 * @throws TypeError for a rule that is not a valid filter.
 */
export function buildRowFilter(
  context: OperationContext,
  collection: CollectionDefinition,
  transaction = context.transaction,
): RowFilter | undefined {
  const { visible } = collection
  if (!visible || context.system) return undefined
  const { through, and } = typeof visible === 'function' ? { and: visible } : visible
  const above = through === undefined ? [] : listThrough(context, collection, through, transaction)
  const ruled = and && buildRuled(context, collection, and, transaction)
  if (above.length === 0) return ruled
  const where = ruled ? [...above, ...ruled.where] : above
  return { where, sees: testOf(where, collection.shape.fields, context) }
}

/** Lists the filters of items that are visible through another collection, which a field refers to. */
function listThrough(
  context: OperationContext,
  { references }: CollectionDefinition,
  field: string,
  transaction: RunningTransaction | undefined,
): readonly Filter[] {
  const name = references.get(field)?.collection ?? ''
  const within = findWithin(context, name, transaction)
  const parent = context.target.version.collections.get(name)
  const rows = parent && buildRowFilter(context, parent, transaction)
  return rows ? [createWithin([field], { ...within, where: [...within.where, ...rows.where] })] : []
}

/** Matches nothing, not even an item that has no id yet. */
const NOTHING: RowFilter = { where: [{ operator: 'any', filters: [] }], sees: () => false }

/** Builds the filter of a rule. Items of other collections in it are not narrowed by their own rules: none goes in a circle. */
function buildRuled(
  context: OperationContext,
  collection: CollectionDefinition,
  rule: RowRule,
  transaction: RunningTransaction | undefined,
): RowFilter | undefined {
  const filters = rule(context.principal)
  if (filters === undefined) {
    if (context.inProcess && !context.principal) warnOfNothing(collection)
    return NOTHING
  }
  // It may compare what the principal does not see.
  const read = readRule(toWhole(collection), filters)
  if (!Array.isArray(read)) return read
  const enter = ({ scope }: Relation) => findWithin(context, scope.name, transaction)
  const where = read.map(filter => resolveFilter(filter, enter))
  return { where, sees: testOf(where, collection.shape.fields, context) }
}

/** The collections of which a program without a principal saw nothing: each is warned of once. */
const warned = new WeakSet<CollectionDefinition>()

function warnOfNothing(collection: CollectionDefinition): void {
  if (warned.has(collection)) return
  warned.add(collection)
  const message = `A call without a principal sees nothing of ${collection.name}, as its row policy says. A job that is to see all calls api.asSystem().collection('${collection.name}'); another call names its principal.`
  process.emitWarning?.(message, { type: 'RestConventionsWarning', code: 'NO_PRINCIPAL' })
}

/** What a rule has returned: its filters if they reach other collections; if not, all that its requests need. */
type ReadRule = ParsedFilter[] | RowFilter | undefined

/** By what rules return, as text: a rule returns the same for many requests. At most 200 of each collection. */
const rules = memoize((_collection: CollectionDefinition) => new Remembered<ReadRule>(200, 300))

/** @throws TypeError for anything but filters: a promise, a list and a map have none, and would show everything. */
function readRule(collection: CollectionDefinition, rule: unknown): ReadRule {
  const option = `${collection.name}: visible`
  if (!isPlain(rule)) {
    throw new TypeError(
      `${option} must return an object of filters at once, or undefined, not ${show(rule)}`,
    )
  }
  const plain = toPlainFilters(rule, `${option}: `)
  // Infinite numbers and NaN print as null: no item has one.
  const text = JSON.stringify(plain)
  return rules(collection).get(text, () => compileRule(collection, plain, option))
}

/** @throws TypeError for filters that the collection does not have. */
function compileRule(collection: CollectionDefinition, plain: object, option: string): ReadRule {
  const issues: Issue[] = []
  const where = readRuleFilters(plain, collection, issues)
  const wrong = issues.find(({ type }) => type !== 'invalid_value')
  if (wrong) throw new TypeError(`${option} returns no filters: ${wrong.message}`)
  // No item has a value that its field cannot have.
  if (issues.length > 0) return NOTHING
  if (!where.every(isOwn)) return [...where]
  if (where.length === 0) return undefined
  return { where, sees: matcher({ where }, collection.shape.fields) }
}
