// Builds what a page shows besides the representation: breadcrumbs, links, and forms for what the
// client may do.

import { randomUUID } from 'node:crypto'
import type { Item } from '../../base/values.ts'
import { namesOf, parseControlName } from '../../formats/form-values.ts'
import { isWriter, type Representation } from '../../formats/format.ts'
import { splitBase } from '../../http/base-url.ts'
import type { HttpRequest } from '../../http/message.ts'
import { findText, KEY_PARAMETER, METHOD_PARAMETER } from '../../http/method-override.ts'
import { isSafe } from '../../http/methods.ts'
import { printParameters } from '../../http/parameters.ts'
import { TRASH } from '../../model/compile/compile-trash.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import {
  type CollectionTarget,
  type Match,
  parseId,
  printPath,
  type RouteTarget,
} from '../../model/compile/routes.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import { isHidden, isKnown, mayChange } from '../../operations/calls/authorize.ts'
import type { PageRequest, RequestContext } from '../../operations/calls/context.ts'
import { NEXT_PARAMETER } from '../../operations/programs/actions.ts'
import { listBelow } from '../../operations/reads/root.ts'
import type { Fields } from '../../schema/fields.ts'
import { toLocalPath } from '../markup/markup.ts'
import { loadCurrent } from './current-item.ts'
import type { FormAction, PageLink, PageView } from './page-view.ts'
import { findLabel, findLabelPath, loadChoices, loadLabels } from './parent-choices.ts'

/** Statuses of requests that were not admitted: their pages load nothing. */
const NOT_ADMITTED: ReadonlySet<number> = new Set([401, 429, 503])

/** What the parts of one view share. */
interface Builder {
  readonly context: RequestContext
  readonly choices: PageView['choices']
  readonly labels: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly href: (target: RouteTarget) => string
}

/** Finds what a page shows besides the representation. */
export async function buildPageView(
  representation: Representation,
  { headers, context }: PageRequest,
): Promise<PageView> {
  const { api, request, method, parameters } = context
  const isAdmitted = representation.kind !== 'errors' || !NOT_ADMITTED.has(representation.status)
  const submitted = blankWriteOnly(context)
  const base = basePath(api, request)
  const choices: PageView['choices'] = isAdmitted ? await loadChoices(context) : new Map()
  const isStale = representation.kind === 'errors' && representation.status === 412
  const current = isStale ? await loadCurrent(context) : undefined
  const items = current ? [current.item] : listItems(representation)
  const builder: Builder = {
    context,
    choices,
    labels: isAdmitted ? await loadLabels(context, items, choices) : new Map(),
    href: to => base + printPath(to, api.formats),
  }
  // A form that could not be read names its method all the same.
  const named = submitted?.find(([name]) => name === METHOD_PARAMETER)?.[1]
  const operation = context.match?.methods.get(
    typeof named === 'string' ? named.toUpperCase() : method,
  )
  const matched = matchRepresentedItem(context, representation)
  // Who is asked to sign in is told no more.
  const match = matched && isHidden(context, matched) ? undefined : matched
  const place: RouteTarget = match?.target ?? { kind: 'root', version: undefined }
  // An error may come before the principal is known: then it is the view of nobody.
  const target = place.kind === 'root' ? place : context.viewTarget(place)
  const { collection } = target
  const [item] = representation.kind === 'list' ? [] : items
  const label = collection && item && findLabel(collection, item)
  return {
    operation,
    headers,
    submitted,
    parameters,
    kind: match ? target.kind : 'none',
    title: collection
      ? (target.kind === 'item' && label) || printTitle(target, api)
      : printRootTitle(target, api),
    description: (collection ?? api.info).description,
    href: builder.href(target),
    url: splitBase(context.base).origin + builder.href(target),
    current,
    breadcrumbs: listBreadcrumbs(target, builder, label),
    itemName: collection?.itemName ?? 'item',
    sort: collection?.sort ?? [],
    fields: collection?.queryFields,
    isLive:
      representation.kind === 'list' && target.kind === 'collection' && target.collection.live,
    id: collection?.shape.identity.name,
    label: collection && findLabelPath(collection)?.join('.'),
    createdAt: collection?.shape.createdAt,
    choices: builder.choices,
    actions:
      match && target.collection ? listActions(target, match.methods, builder, representation) : [],
    related: target.collection
      ? listRelated(target, builder)
      : listCollections(target.version, builder),
    versions: target.kind === 'root' && !target.version ? listVersions(builder) : [],
    formats:
      target.collection && representation.kind !== 'errors' ? listFormats(target, builder) : [],
    signIn: api.signIn && addNext(api.signIn, builder.href(target), context),
    searched:
      collection?.search && context.can(collection, 'search')
        ? collection.search.map(path => path.join('.'))
        : [],
    search:
      collection?.search && isList(target) ? builder.href(toList(target, 'search')) : undefined,
    findLink: target.collection ? createLinkFinder(target, builder) : () => undefined,
  }
}

/** Adds to the address where people sign in the path of the page to which they come back. */
function addNext(signIn: string, href: string, { parameters }: RequestContext): string {
  const query = parameters.map(({ raw }) => raw).join('&')
  const next = printParameters([[NEXT_PARAMETER, query === '' ? href : `${href}?${query}`]])
  return `${signIn}${signIn.includes('?') ? '&' : '?'}${next}`
}

/** Lists the items that a page shows. */
function listItems(representation: Representation): readonly Item[] {
  if (representation.kind === 'list') return representation.data
  return representation.kind === 'item' ? [representation.data] : []
}

/** The submitted form without the texts of write-only properties: no page shows them again. */
export function blankWriteOnly({ submitted, target }: RequestContext): PageView['submitted'] {
  if (!target?.collection) return submitted
  const { hidden } = toWhole(target.collection)
  if (hidden.size === 0) return submitted
  return submitted?.map(([name, part]) => {
    const [property = ''] = namesOf(parseControlName(name)[0])
    return [name, hidden.has(property) ? '' : part]
  })
}

/** The path of the api's root for clients, without a slash at its end. */
function basePath({ baseUrl, prefix }: ApiDefinition, request: HttpRequest): string {
  const path = baseUrl === undefined ? request.prefix + prefix : new URL(baseUrl).pathname
  return path.replace(/^\/+/, '/').replace(/\/$/, '')
}

/** Finds the route of the item that was created, or that an action returned: its page is shown. */
function matchRepresentedItem(
  { api, match, runtime }: RequestContext,
  representation: Representation,
): Match | undefined {
  const { target } = match ?? {}
  if (!target?.collection || representation.kind !== 'item') return match
  if (target.kind !== 'collection' && target.kind !== 'action') return match
  const { action: _action, ...place } = target
  const value = representation.data[place.collection.shape.identity.name]
  const id = typeof value === 'number' ? value : String(value)
  return runtime.router.match(printPath({ ...place, kind: 'item', id }, api.formats))
}

/** `Used cars v2`. */
function printRootTitle({ version }: RouteTarget, { info }: ApiDefinition): string {
  return version?.name ? `${info.title} ${version.name}` : info.title
}

/** `car 5`; a long id is cut to its end, since UUIDv7 begin alike. */
function printTitle(target: RouteTarget, api: ApiDefinition): string {
  if (target.kind === 'root') return target.version?.name || api.info.title
  const { collection, kind, id, action, property } = target
  if (kind === 'collection') return collection.trashOf ? TRASH : collection.name
  if (kind !== 'item') return action?.name ?? property ?? kind
  const text = String(id)
  return `${collection.itemName} ${text.length > 16 ? `…${text.slice(-8)}` : text}`
}

function toList(target: CollectionTarget, kind: CollectionTarget['kind']): CollectionTarget {
  const { version, collection, parent } = target
  return { version, collection, kind, ...(parent && { parent }) }
}

function isList({ kind }: CollectionTarget): boolean {
  return kind === 'collection' || kind === 'search'
}

/** Lists the links from the root down to a target. @param label of its item. */
function listBreadcrumbs(
  target: RouteTarget,
  { context: { api }, href, labels }: Builder,
  label: string | undefined,
): PageLink[] {
  const link = (to: RouteTarget, name = printTitle(to, api)) => ({ name, href: href(to) })
  const links = [link({ kind: 'root', version: undefined })]
  if (target.version?.name) links.push(link({ kind: 'root', version: target.version }))
  if (target.kind === 'root') return links
  const { version, parent, id, kind } = target
  if (parent) {
    const { collection } = parent
    const text = String(parent.id)
    const known = labels.get(parent.field)?.get(text)
    links.push(link({ kind: 'collection', version, collection }))
    links.push(
      link(
        { kind: 'item', version, collection, id: parent.id },
        known === text ? undefined : known,
      ),
    )
  }
  const { trashOf } = target.collection
  if (trashOf) links.push(link({ kind: 'collection', version, collection: trashOf }))
  links.push(link(toList(target, 'collection')))
  if (id !== undefined) links.push(link({ ...toList(target, 'item'), id }, label))
  if (kind !== 'collection' && kind !== 'item') links.push(link(target))
  return links
}

/** Lists collections. An anonymous client sees closed ones too: the browser asks it to sign in there. */
function listCollections(
  requested: RouteTarget['version'],
  { href, context }: Builder,
): PageLink[] {
  const version = requested ?? context.api.defaultVersion
  const { collections } = version
  return [...collections.values()]
    .filter(
      collection =>
        isKnown(context, collection) &&
        (!context.principal ||
          context.can(collection, 'list') ||
          context.can(collection, 'create')),
    )
    .map(collection => ({
      name: collection.name,
      href: href({ kind: 'collection', version, collection }),
      description: collection.description,
    }))
}

/** Finds the fields that a client may write by an operation or action; `undefined` where it takes no input. */
export function findInputFields(
  { collection, kind, action, parent }: CollectionTarget,
  operation: string,
): Fields | undefined {
  if (action) return action.inputFields
  if (operation === 'delete') return undefined
  const isNew = kind !== 'item' && operation !== 'patchMany'
  const fixed = [isNew ? undefined : collection.shape.identity.name, parent?.field]
  const fields = [...collection.inputFields].filter(
    ([name, { role }]) => !fixed.includes(name) && (operation === 'create' || role !== 'immutable'),
  )
  return new Map(fields)
}

/** Whether a page has forms to write many items: a form has no tag of a list. */
function writesMany(
  { requirePrecondition }: CollectionDefinition,
  name: string,
  { kind }: Representation,
): boolean {
  return (name === 'patchMany' || name === 'deleteMany') && kind === 'list' && !requirePrecondition
}

/** Lists what the client may do: the writes of the target by their methods, then its actions. */
function listActions(
  target: CollectionTarget,
  methods: Match['methods'],
  { href, context, choices }: Builder,
  representation: Representation,
): FormAction[] {
  const { collection, kind, action } = target
  const writes = [...methods].flatMap(([method, name]): FormAction[] => {
    const many = target.kind === 'collection' && name !== 'create'
    // Of an error there are no items to choose. A PUT by a unique set has no form.
    if (isSafe(method) || action || (many && !writesMany(collection, name, representation)))
      return []
    const isDeletion = name === 'delete' || name === 'deleteMany'
    const kind = name === 'create' ? name : isDeletion ? 'delete' : 'change'
    const fields = isDeletion ? undefined : findInputFields(target, name)
    const hasKey = name === 'create' && collection.store.idempotency !== 'none'
    const key = hasKey ? (findText(context.submitted, KEY_PARAMETER) ?? randomUUID()) : undefined
    return [{ name, kind, method, href: href(target), fields, choices, key, many }]
  })
  const wanted = context.parameters.find(({ name }) => name === NEXT_PARAMETER)?.value
  const next = wanted === undefined ? '' : `?${printParameters([[NEXT_PARAMETER, wanted]])}`
  const declared = action
    ? [action]
    : [...collection.actions.values()].filter(({ on }) => on === kind)
  const actions = declared.map(
    (action): FormAction => ({
      name: action.name,
      kind: 'action',
      method: action.method,
      href: href({ ...target, kind: 'action', action }) + (action.cookies ? next : ''),
      fields: action.inputFields,
      description: action.description,
    }),
  )
  const isChangeable =
    representation.kind !== 'item' || mayChange(context, collection, representation.data)
  return [...(isChangeable ? writes : []), ...actions].filter(({ name }) =>
    context.can(collection, name),
  )
}

/** Lists the count of a list, or the sub-collections of an item. */
function listRelated(target: CollectionTarget, { context }: Builder): PageLink[] {
  const { version, collection, kind, id } = target
  const below = listBelow(context, kind === 'item' ? { version, collection, kind, id } : target)
  const counts = ['count', TRASH].flatMap(name => {
    const found = below.actions?.[name]
    return found ? [[name, found] as const] : []
  })
  const lists = Object.entries(kind === 'item' ? (below.resources ?? {}) : {}).filter(
    ([, { methods }]) => methods.includes('GET'),
  )
  return [...counts, ...lists].map(([name, { url }]) => ({ name, href: toLocalPath(url) }))
}

/** Lists the versions that have a root of their own. */
function listVersions({ context: { api }, href }: Builder): PageLink[] {
  return api.versions.flatMap(version =>
    version.name === '' ? [] : [{ name: version.name, href: href({ kind: 'root', version }) }],
  )
}

function listFormats(target: CollectionTarget, { context: { api }, href }: Builder): PageLink[] {
  return api.formats.flatMap(format => {
    const [extension] = format.extensions
    const fits = isWriter(format) && (!format.streams || isList(target))
    return extension !== undefined && fits
      ? [{ name: format.name, href: `${href(target)}.${extension}` }]
      : []
  })
}

function createLinkFinder(
  target: CollectionTarget,
  { context, href, labels }: Builder,
): PageView['findLink'] {
  const { version, collection } = target
  return (field, value) => {
    const isOwn = field === collection.shape.identity.name
    const to = isOwn
      ? collection
      : version.collections.get(collection.references.get(field)?.collection ?? '')
    if (!to?.operations.has('read')) return undefined
    if (to.hideExistence && !context.can(to, 'read')) return undefined
    if (typeof value !== 'string' && typeof value !== 'number') return undefined
    const id = parseId(to, String(value))
    if (id === undefined) return undefined
    const item: RouteTarget = isOwn
      ? { ...toList(target, 'item'), id }
      : { kind: 'item', version, collection: to, id }
    const address = href(item)
    if (address === href(target)) return undefined
    return { href: address, label: labels.get(field)?.get(String(value)) }
  }
}
