// The choices of fields that refer to other items, and the labels of what the items of a page refer to.

import { getValue, type Path } from '../../base/paths.ts'
import type { Item } from '../../base/values.ts'
import { findText } from '../../http/method-override.ts'
import { Deadlines, unavailable } from '../../http/timeouts.ts'
import type { CollectionDefinition, VersionDefinition } from '../../model/types/definition.ts'
import type { RequestContext } from '../../operations/calls/context.ts'
import type { FieldChoices } from './page-view.ts'

/** The maximum of parents that a control offers, and of characters of each. */
const MAX_CHOICES = 100
const MAX_LABEL = 80

/** How many items of one collection are looked up for their labels. */
const MAX_LABELS = 500

/** How long what a page shows besides may take, in milliseconds; after that it is shown without. */
const TIMEOUT_MS = 1000

const pending = new Deadlines()

/** Loads the choices of a page, by the fields that refer to other items: those that the principal may list and see. */
export async function loadChoices(
  context: RequestContext,
): Promise<ReadonlyMap<string, FieldChoices>> {
  const { target } = context
  if (!target || target.kind === 'root') return new Map()
  const { version, collection, parent } = target
  const entries = [...collection.references].map(async ([field, { collection: name }]) => {
    const to = version.collections.get(name)
    if (!to || field === parent?.field) return []
    const view = context.view(to)
    const items = await listVisible(context, version, to, { limit: MAX_CHOICES })
    const more = items?.length === MAX_CHOICES
    const found = more && (await findLabelled(context, version, view, field))
    const href = context.href({ version, collection: to, kind: 'collection' })
    const creates = to.operations.has('create') && context.can(to, 'create')
    const labels = items && sortByLabel(listLabels(view, found || items))
    const choices = labels && { labels, more: more && !found, found: !!found, name, href, creates }
    return choices ? [[field, choices] as const] : []
  })
  return new Map((await Promise.all(entries)).flat())
}

/** Finds the parents that have the text that was sent for a field in their label; `undefined` for none, and without a text. */
async function findLabelled(
  context: RequestContext,
  version: VersionDefinition,
  to: CollectionDefinition,
  field: string,
): Promise<readonly Item[] | undefined> {
  const { submitted, parameters } = context
  const text = findText(submitted, field) ?? parameters.find(({ name }) => name === field)?.value
  const path = findLabelPath(to)?.join('.')
  if (!text || path === undefined) return undefined
  // The wildcard of one character stands for those that a pattern reads.
  const where = { [path]: { like: `%${text.slice(0, MAX_LABEL).replace(/[%_*\\]/g, '_')}%` } }
  const found = await listVisible(context, version, to, { where, limit: MAX_CHOICES })
  return found?.length ? found : undefined
}

/** Finds the labels of what items, and the path, refer to, by the fields: of what the principal may list and see. */
export async function loadLabels(
  context: RequestContext,
  items: readonly Item[],
  known: ReadonlyMap<string, FieldChoices>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const { target } = context
  if (!target || target.kind === 'root') return new Map()
  const { version, collection, parent } = target
  const entries = [...collection.references].map(async ([field, { collection: name }]) => {
    const labels = known.get(field)?.labels ?? new Map<string, string>()
    const values = new Set(items.map(item => item[field] ?? null))
    if (parent?.field === field) values.add(parent.id)
    const ids = [...values].filter(id => id !== null && !labels.has(String(id)))
    const to = version.collections.get(name)
    if (!to || ids.length === 0) return [field, labels] as const
    const where = { [to.shape.identity.name]: ids.slice(0, MAX_LABELS) }
    const found = await listVisible(context, version, to, { where })
    return [field, new Map([...labels, ...listLabels(context.view(to), found ?? [])])] as const
  })
  return new Map(await Promise.all(entries))
}

/** Lists items that the principal may list and sees; `undefined` after any error: the page is shown without them. */
async function listVisible(
  context: RequestContext,
  version: VersionDefinition,
  to: CollectionDefinition,
  query: object,
): Promise<readonly Item[] | undefined> {
  const { runtime, base, principal, request } = context
  if (!to.operations.has('list') || !context.can(to, 'list')) return undefined
  const scope = { runtime, version, base, principal, signal: request.signal }
  const list = () => runtime.createResource(scope, to.name).list(query).toArray()
  return (await withinTime(list)) as Item[] | undefined // JSON
}

/** Waits for what a page shows besides; `undefined` after any error, or where it takes too long. */
export async function withinTime<T>(load: () => Promise<T>): Promise<T | undefined> {
  const late = () => unavailable('What the page shows besides took too long', 'work_too_slow')
  try {
    return await pending.within(load(), TIMEOUT_MS, late)
  } catch {
    return undefined
  }
}

function sortByLabel(labels: [id: string, label: string][]): ReadonlyMap<string, string> {
  return new Map(labels.sort(([, one], [, other]) => (one < other ? -1 : 1)))
}

function listLabels(
  collection: CollectionDefinition,
  items: readonly Item[],
): [id: string, label: string][] {
  return items.map(item => {
    const id = String(item[collection.shape.identity.name])
    return [id, findLabel(collection, item) ?? id]
  })
}

/** Finds what links to an item say; `undefined` where that is its id. */
export function findLabel(collection: CollectionDefinition, item: Item): string | undefined {
  const path = findLabelPath(collection)
  const text = path && getValue(item, path)
  return (typeof text === 'string' && text.slice(0, MAX_LABEL)) || undefined
}

/** Finds the field that labels an item: by its name, else the first one of the search, or the first text that each has. */
export function findLabelPath({
  search,
  readableFields,
  references,
  shape,
}: CollectionDefinition): Path | undefined {
  const isId = (name: string) => name === shape.identity.name || references.has(name)
  const texts = [...readableFields].filter(
    ([name, { kind, uuid, choices, password }]) =>
      kind === 'string' && !uuid && !choices && !password && !isId(name),
  )
  for (const name of ['name', 'title', 'label']) {
    const named = texts.find(([text]) => text.toLowerCase() === name)
    if (named) return [named[0]]
  }
  const [first] = texts.find(([, { optional, nullable }]) => !optional && !nullable) ?? []
  return search?.[0] ?? (first === undefined ? undefined : [first])
}
