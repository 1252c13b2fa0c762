// The choices of fields that refer to a parent: the parents with their labels.
import type { FieldChoices } from '../formats/page-view.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/definition.ts'
import type { CollectionTarget, Target } from '../model/routes.ts'
import { type OperationContext, RequestContext } from '../operations/context.ts'
import { compileOperation } from '../operations/perform.ts'
import { getValue, type Path } from '../schema/paths.ts'
import { type Awaitable, type Item, isObject } from '../schema/values.ts'

/** The maximum of parents that a control offers, and of characters of each. */
const MAX_CHOICES = 100
const MAX_LABEL = 80

/** How long the parents of a page may take, in milliseconds; after that it has plain inputs. */
const TIMEOUT_MS = 1000

/** Whether the pages of a target have controls that name a parent. */
export function offersParents({ formats }: ApiDefinition, target: Target): boolean {
  return (
    target.kind !== 'root' &&
    target.collection.parents.size > 0 &&
    formats.some(({ page }) => page !== undefined)
  )
}

/** Loads the choices of a page: the parents that the principal may list. Other formats load nothing. */
export function loadChoices(context: RequestContext): Awaitable<void> {
  const { target, negotiated } = context
  if (!negotiated?.format.page || !target || target.kind === 'root') return undefined
  return load(context, target).then(choices => {
    context.choices = choices
  })
}

async function load(
  context: RequestContext,
  target: CollectionTarget,
): Promise<RequestContext['choices']> {
  const { version, collection, parent } = target
  const entries = [...collection.parents].map(async ([name, field]) => {
    const to = version.collections.get(name)
    if (!to?.operations.has('list') || field === parent?.field || !context.can(to, 'list'))
      return []
    // After any error the page is shown without them.
    const place = { version, collection: to, kind: 'collection' } as const
    const items = await list(context, place).catch(() => [])
    return items.length > 0 ? [[field, toChoices(to, items, context.href(place))] as const] : []
  })
  return new Map((await Promise.all(entries)).flat())
}

/** Lists the first items as the principal may, without a total. */
async function list(context: RequestContext, target: CollectionTarget): Promise<Item[]> {
  const limit = String(MAX_CHOICES)
  const listing: OperationContext = Object.assign(
    new RequestContext(context.runtime, context.request, context.base, true),
    {
      target,
      operation: 'list',
      method: 'GET',
      parameters: [{ name: 'limit', value: limit, raw: `limit=${limit}` }],
      preferences: { count: 'none' } as const,
      principal: context.principal,
    },
  )
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), TIMEOUT_MS)
  })
  const perform = compileOperation(context.api, target, 'list')
  const result = await Promise.race([perform(listing), late])
  clearTimeout(timer)
  return Array.isArray(result?.value) ? result.value.filter(isObject) : []
}

function toChoices(
  collection: CollectionDefinition,
  items: readonly Item[],
  href: string,
): FieldChoices {
  const { name, shape, maxLimit } = collection
  const path = findLabelPath(collection)
  const labels = items.map((item): [id: string, label: string] => {
    const id = String(item[shape.identity.name])
    const text = path && getValue(item, path)
    return [id, (typeof text === 'string' && text.slice(0, MAX_LABEL)) || id]
  })
  labels.sort(([, one], [, other]) => (one < other ? -1 : 1))
  const more = items.length >= Math.min(MAX_CHOICES, maxLimit)
  return { labels: new Map(labels), more, name, href }
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
