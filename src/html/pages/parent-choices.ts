// The choices of fields that refer to a parent: the parents with their labels.

import { getValue, type Path } from '../../base/paths.ts'
import type { Item } from '../../base/values.ts'
import { Deadlines, unavailable } from '../../http/timeouts.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { RequestContext } from '../../operations/context.ts'
import type { FieldChoices } from './page-view.ts'

/** The maximum of parents that a control offers, and of characters of each. */
const MAX_CHOICES = 100
const MAX_LABEL = 80

/** How long the parents of a page may take, in milliseconds; after that it has plain inputs. */
const TIMEOUT_MS = 1000

const pending = new Deadlines()

/** Loads the choices of a page, by their fields: the parents that the principal may list and see. */
export async function loadChoices(
  context: RequestContext,
): Promise<ReadonlyMap<string, FieldChoices>> {
  const { target, runtime, base, principal } = context
  if (!target || target.kind === 'root') return new Map()
  const { version, collection, parent } = target
  const entries = [...collection.parents].map(async ([name, field]) => {
    const to = version.collections.get(name)
    if (!to?.operations.has('list') || field === parent?.field || !context.can(to, 'list'))
      return []
    const { signal } = context.request
    const parents = runtime.createResource({ runtime, version, base, principal, signal }, name)
    const reading = parents.list({ limit: MAX_CHOICES }).toArray()
    const late = () => unavailable('The parents took too long to be listed', 'work_too_slow')
    // After any error the page is shown without them.
    const items = await pending.within(reading, TIMEOUT_MS, late).catch(() => [])
    const href = context.href({ version, collection: to, kind: 'collection' })
    // The values of a resource are JSON.
    const choices = () => toChoices(context.view(to), items as Item[], href)
    return items.length > 0 ? [[field, choices()] as const] : []
  })
  return new Map((await Promise.all(entries)).flat())
}

function toChoices(
  collection: CollectionDefinition,
  items: readonly Item[],
  href: string,
): FieldChoices {
  const { name, shape } = collection
  const path = findLabelPath(collection)
  const labels = items.map((item): [id: string, label: string] => {
    const id = String(item[shape.identity.name])
    const text = path && getValue(item, path)
    return [id, (typeof text === 'string' && text.slice(0, MAX_LABEL)) || id]
  })
  labels.sort(([, one], [, other]) => (one < other ? -1 : 1))
  return { labels: new Map(labels), more: items.length === MAX_CHOICES, name, href }
}

/** Finds the field that labels an item: by its name, else the first one of the search, or the first text. */
function findLabelPath({ search, readableFields, shape }: CollectionDefinition): Path | undefined {
  const texts = [...readableFields].flatMap(([name, { kind, uuid }]) =>
    kind === 'string' && !uuid && name !== shape.identity.name ? [name] : [],
  )
  const named = ['name', 'title', 'label'].find(name => texts.includes(name))
  if (named !== undefined) return [named]
  return search?.[0] ?? (texts[0] === undefined ? undefined : [texts[0]])
}
