// What lists and items include. A relation is read at once for all items of a level, and nothing is cut: where it is too
// much, a page has fewer items.

import { memoize } from '../../base/memoize.ts'
import { picker } from '../../base/paths.ts'
import { HttpError } from '../../errors.ts'
import { type IncludedPart, NestedItem, PartNames } from '../../formats/nested.ts'
import { operationOf } from '../../model/compile/relations.ts'
import { printPath } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { findMany, type Include } from '../../query/include.ts'
import type { RequestedParts } from '../../query/selected.ts'
import { type Field, type Fields, selectFields } from '../../schema/fields.ts'
import { listEach } from '../../store/list-each.ts'
import type { Id, Stored, StorePage } from '../../store/store.ts'
import { requireAccess } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import { deriveCall } from '../calls/derive-call.ts'
import { buildRowFilter } from '../calls/items.ts'
import { authorizeInlineContents, requireInlineLimit, toReadableItems } from '../calls/represent.ts'
import { runBefore } from '../calls/run-hooks.ts'
import { enterRelated } from './related.ts'

/** How many items a page includes, and how many one item that is left alone: at all levels together. */
const MAX_INCLUDED = 1000
const MAX_ALONE = 10_000

/** As good as no limit, and a number that every database takes. */
const UNLIMITED = 2_000_000_000

/** A relation that is read for all items of a level. */
export interface Level {
  readonly include: Include
  /** The context of the related collection, and the collection that the relation is of. */
  readonly context: OperationContext
  readonly owner: CollectionDefinition
  readonly inner: readonly Level[]
  /** Whether its `before` hook has run. */
  isAdmitted: boolean
}

/** The names of what is included, by the array that the reader of the query remembers. */
const findNames = memoize(
  (includes: readonly Include[]) => new PartNames(includes.map(({ relation }) => relation.name)),
)

/** Prepares to include. @throws HttpError 401, 403 for a collection that the client may not read. */
export function prepareIncludes(
  context: OperationContext,
  includes: readonly Include[],
): readonly Level[] {
  return includes.map(include => {
    const { relation, fields } = include
    const level = enterRelated(context, relation, operationOf(relation))
    const { collection } = level.target
    requireAccess(context, collection, [level.operation])
    authorizeInlineContents(level, fields)
    const inner = prepareIncludes(level, include.includes)
    return { include, context: level, owner: context.target.collection, inner, isAdmitted: false }
  })
}

/**
 * Refuses to include lists where a format has no place for them, and in a whole list: its status is sent before they are
 * counted.
 * @throws HttpError 400
 */
export function refuseLists(
  { negotiated }: OperationContext,
  includes: readonly Include[],
  streams = false,
): void {
  const many = findMany(includes)
  if (!many || !(streams || negotiated?.format.tabular)) return
  const { name } = many
  const message = negotiated?.format.tabular
    ? `${name} is a list, which has no place in a table. Ask for JSON, or leave it out`
    : `A whole list includes no lists. Ask for pages, by limit, or leave ${name} out`
  throw new HttpError(400, [{ message, field: 'include', type: 'invalid_include' }])
}

/** The first items of a page with what they include. */
export interface NestedPage {
  readonly nested: NestedItem[]
  /** Whether items were left out. */
  readonly isCut: boolean
}

/**
 * Reads what items include: of all, or of as many from the start as are not too much, at least one.
 * @throws HttpError 400 for an item that includes too much alone.
 */
export async function readIncluded(
  context: OperationContext,
  levels: readonly Level[],
  items: readonly Stored[],
  { include = [], fields }: RequestedParts,
): Promise<NestedPage> {
  const nested = await toNested(context, items, { include, fields })
  const { inProcess } = context
  const isAlone = items.length === 1
  const max = inProcess ? UNLIMITED : isAlone ? MAX_ALONE : MAX_INCLUDED
  let complete = await fill(levels, nested, max)
  if (complete === 0 && !inProcess && !isAlone)
    complete = await fill(levels, nested.slice(0, 1), MAX_ALONE)
  const kept = inProcess ? complete : countFitting(context, nested.slice(0, complete))
  const [first] = nested
  if (kept === 0 && first) throw tooMuch(context, first)
  return { nested: nested.slice(0, kept), isCut: kept < items.length }
}

/** Makes items of a level, which include nothing yet; without `fields` as they are answered whole. */
async function toNested(
  context: OperationContext,
  items: readonly Stored[],
  { include, fields }: Pick<Include, 'fields'> & { readonly include: readonly Include[] },
): Promise<NestedItem[]> {
  const names = findNames(include)
  const { blobs, hidden } = context.target.collection
  const tag = context.variant
  if (!fields && (context.inProcess || (!blobs && hidden.size === 0)))
    return items.map(stored => new NestedItem(stored, stored.item, names, tag))
  if (context.inProcess) {
    const pick = picker(fields ?? [])
    return items.map(stored => new NestedItem(stored, pick(stored.item), names))
  }
  requireInlineLimit(context, items, fields)
  const readable = await toReadableItems(context, items, fields)
  return items.map((stored, at) => new NestedItem(stored, readable[at] ?? stored.item, names, tag))
}

/** Reads the relations of a level. @returns how many of the items, from the first on, have all that they include. */
async function fill(
  levels: readonly Level[],
  items: readonly NestedItem[],
  max: number,
): Promise<number> {
  if (items.length === 0) return 0
  const counts: Promise<number>[] = []
  for (const [at, level] of levels.entries()) {
    const reading = readLevel(level, at, items, max)
    counts.push(reading)
    // A transaction has one connection.
    if (level.context.transaction) await reading
  }
  return Math.min(items.length, ...(await Promise.all(counts)))
}

/** @param at the place of the relation among those of its level. */
async function readLevel(
  level: Level,
  at: number,
  items: readonly NestedItem[],
  max: number,
): Promise<number> {
  const { include, inner } = level
  const { many, from } = include.relation
  /** The places of the ids, each once. */
  const places = new Map<unknown, number>()
  const ids: Id[] = []
  for (const { stored } of items) {
    const id = stored.item[from]
    if ((typeof id !== 'string' && typeof id !== 'number') || places.has(id)) continue
    places.set(id, ids.length)
    ids.push(id)
  }
  const pages = ids.length === 0 ? [] : await listRelated(level, ids, max)
  const stored: Stored[] = []
  // `flatMap` takes as long as all that comes after it.
  for (const page of pages) for (const each of page.items) stored.push(each)
  const selected = { include: include.includes, fields: include.fields }
  const found = await toNested(level.context, stored, selected)
  const complete = inner.length === 0 ? found.length : await fill(inner, found, max)
  /** What is included by each id, as far as that has all that it includes itself. */
  const parts: IncludedPart[] = []
  let end = 0
  for (const page of pages) {
    const start = end
    end += page.items.length
    if (end > complete) break
    if (many) parts.push(found.slice(start, end))
    else parts.push((start < end && found[start]) || null)
  }
  const nothing = many ? NOTHING : null
  let count = 0
  for (const item of items) {
    const place = places.get(item.stored.item[from])
    const part = place === undefined ? nothing : parts[place]
    if (part === undefined) break
    item.setPart(at, part)
    count++
  }
  return count
}

const NOTHING: readonly NestedItem[] = []

/** Lists the related items of each id, those that the client sees. @throws HttpError 400 for too many of one. */
async function listRelated(
  level: Level,
  ids: readonly Id[],
  max: number,
): Promise<readonly StorePage[]> {
  const { include, context } = level
  const { many, to } = include.relation
  const { collection } = context.target
  if (many && !level.isAdmitted) await runBefore(context, {}, undefined)
  level.isAdmitted = true
  const where = buildRowFilter(context, collection)?.where ?? []
  const whole = context.inProcess ? UNLIMITED : collection.maxLimit
  const each = many ? (include.limit ?? whole) : 1
  const pages = await listEach(
    context.storeOf(collection),
    collection.shape.identity.name,
    [[to], ids, { where, sort: collection.sort }, { each, all: max }],
    context.listOptions,
  )
  if (!many && !collection.hooks.before.has('read')) return pages
  if (!many) return Promise.all(pages.map(page => omitUnreadable(context, page)))
  for (const [at, { items, more }] of pages.entries()) {
    // Without a number all of them are wanted; with one they may be too large together.
    if (more && (include.limit === undefined || items.length < include.limit))
      throw tooMany(level, ids[at] ?? '')
  }
  return pages
}

/** Leaves out an item that a `before.read` hook does not let the client read. */
async function omitUnreadable(context: OperationContext, page: StorePage): Promise<StorePage> {
  const { target } = context
  const [stored] = page.items
  if (!stored) return page
  try {
    const own = deriveCall(context, { ...target, kind: 'item', id: stored.id }, 'read')
    await runBefore(own, { stored }, undefined)
    return page
  } catch (error) {
    if (error instanceof HttpError && (error.status === 403 || error.status === 404))
      return { items: [], more: false }
    throw error
  }
}

/** Counts the items that fit on a page with all that they include. */
function countFitting({ api }: OperationContext, nested: readonly NestedItem[]): number {
  let items = nested.length === 1 ? MAX_ALONE : MAX_INCLUDED
  let bytes = api.limits.page
  const tooMany = nested.findIndex((each, at) => {
    items -= each.count
    bytes -= each.print().bytes + 1
    if (at > 0) return items < 0 || bytes < 0
    return each.count > MAX_ALONE || each.includedBytes > api.limits.page
  })
  return tooMany === -1 ? nested.length : tooMany
}

function tooMany({ include, context, owner }: Level, id: Id): HttpError {
  const { name, to } = include.relation
  const { collection, version } = context.target
  const parent = { collection: owner, id, field: to }
  const path = printPath({ kind: 'collection', version, collection, parent }, context.api.formats)
  const message = `The ${owner.itemName} ${JSON.stringify(id)} has more ${name} than can be included at once (${collection.maxLimit}, or ${context.api.limits.page} bytes). List them at ${path}, or ask for the first ones: ${name}(5)`
  return new HttpError(400, [{ message, field: 'include', type: 'too_many_included' }])
}

function tooMuch({ target, api }: OperationContext, { stored }: NestedItem): HttpError {
  const message = `The ${target.collection.itemName} ${JSON.stringify(stored.id)} includes more than ${MAX_ALONE} items or ${api.limits.page} bytes. Include less`
  return new HttpError(400, [{ message, field: 'include', type: 'too_many_included' }])
}

/** Describes an answer with what it includes to the formats. */
export const describeIncluded = memoize((includes: readonly Include[]) =>
  memoize((own: Fields): Fields => {
    const added = includes.map(({ relation, fields, includes: inner }) => {
      const { readable, selectable } = relation.scope
      const properties = describeIncluded(inner)(
        fields ? selectFields(selectable, fields) : readable,
      )
      const item = { kind: 'object', nullable: !relation.many, optional: true, properties } as const
      const field: Field = relation.many
        ? { kind: 'array', nullable: false, optional: true, element: item }
        : item
      return [relation.name, field] as const
    })
    return new Map([...own, ...added])
  }),
)
