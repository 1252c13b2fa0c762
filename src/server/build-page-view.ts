// Builds what surrounds a representation on a page: breadcrumbs, links, and the forms of what the
// client may do there.
import { namesOf, parseControlName } from '../formats/form-values.ts'
import { isWriter, type Representation } from '../formats/format.ts'
import type { FormAction, PageLink, PageView } from '../formats/page-view.ts'
import { type HttpRequest, isRead } from '../http/message.ts'
import { METHOD_PARAMETER } from '../http/method-override.ts'
import type { ActionDefinition, ApiDefinition } from '../model/definition.ts'
import {
  type CollectionTarget,
  type Match,
  parseId,
  printPath,
  type Target,
} from '../model/routes.ts'
import { findInputFields } from '../openapi/requests.ts'
import type { RequestContext } from '../operations/context.ts'
import { mayChange } from '../operations/field-roles.ts'
import { getChoices } from './parent-choices.ts'

/** What the parts of one view share. */
interface Builder {
  readonly context: RequestContext
  readonly api: ApiDefinition
  readonly href: (target: Target) => string
}

export function buildView(
  context: RequestContext,
  {
    status,
    headers,
    representation,
  }: Pick<PageView, 'status' | 'headers'> & { readonly representation: Representation },
): PageView {
  const { api, request, method, parameters } = context
  const submitted = blankWriteOnly(context)
  const base = basePath(api, request)
  const builder: Builder = { context, api, href: to => base + printPath(to, api.formats) }
  // A form that could not be read names its method all the same.
  const named = submitted?.find(([name]) => name === METHOD_PARAMETER)?.[1]
  const operation = context.match?.methods.get(
    typeof named === 'string' ? named.toUpperCase() : method,
  )
  const match = matchGiven(context, representation)
  const target: Target = match?.target ?? { kind: 'root', version: undefined }
  return {
    status,
    operation,
    headers,
    submitted,
    parameters,
    title: target.kind === 'root' ? printRootTitle(target, api) : printTitle(target, api),
    description: target.kind === 'root' ? api.info.description : undefined,
    sort: [],
    choices: getChoices(context),
    href: builder.href(target),
    breadcrumbs: listBreadcrumbs(target, builder),
    kind: match ? 'root' : 'none',
    actions: [],
    related: [],
    versions: [],
    formats: [],
    search: undefined,
    itemName: 'item',
    fields: undefined,
    createdAt: undefined,
    findLink: () => undefined,
    ...(match && describeTarget(target, match.methods, builder, representation)),
  }
}

/** The submitted form without the texts of write-only properties: no page shows them again. */
function blankWriteOnly({ submitted, target }: RequestContext): PageView['submitted'] {
  if (!submitted || !target || target.kind === 'root') return submitted
  const { hidden } = target.collection
  if (hidden.size === 0) return submitted
  return submitted.map(([name, part]) => {
    const [property = ''] = namesOf(parseControlName(name)[0])
    return [name, hidden.has(property) ? '' : part]
  })
}

function describeTarget(
  target: Target,
  methods: Match['methods'],
  builder: Builder,
  representation: Representation,
): Partial<PageView> {
  const { href, context } = builder
  if (target.kind === 'root') {
    const named = target.version ? [] : context.api.versions.filter(({ name }) => name !== '')
    const versions = named.map(version => ({
      name: version.name,
      href: href({ kind: 'root', version }),
    }))
    return { related: listCollections(target.version, builder), versions }
  }
  const { collection, kind } = target
  const { shape, itemName } = collection
  const changeable =
    representation.kind !== 'item' || mayChange(context, collection, representation.data)
  const actions = listActions(target, methods, builder).filter(
    action => context.can(collection, action.name) && (changeable || action.kind === 'action'),
  )
  return {
    kind,
    actions,
    related: listRelated(target, builder),
    formats: listFormats(target, builder),
    search: isList(target) && collection.search ? href(toList(target, 'search')) : undefined,
    itemName,
    ...(kind === 'collection' && { description: collection.description }),
    sort: collection.sort,
    fields: collection.queryFields,
    createdAt: shape.createdAt,
    findLink: createLinkFinder(target, builder),
  }
}

/** The path of the api's root for clients, without a slash at its end. */
function basePath({ baseUrl, prefix }: ApiDefinition, request: HttpRequest): string {
  const path = baseUrl === undefined ? request.prefix + prefix : new URL(baseUrl).pathname
  return path.replace(/^\/+/, '/').replace(/\/$/, '')
}

/** Matches the item that a create or an action gives: its page is shown. */
function matchGiven(
  { api, match, runtime }: RequestContext,
  representation: Representation,
): Match | undefined {
  if (!match || match.target.kind === 'root' || representation.kind !== 'item') return match
  const { action: _action, ...place } = match.target
  if (match.target.kind !== 'collection' && match.target.kind !== 'action') return match
  const value = representation.data[place.collection.shape.identity.name]
  const id = typeof value === 'number' ? value : String(value)
  return runtime.router.match(printPath({ ...place, kind: 'item', id }, api.formats))
}

/** `Used cars v2`. */
function printRootTitle({ version }: Target, { info }: ApiDefinition): string {
  return version?.name ? `${info.title} ${version.name}` : info.title
}

/** `car 5`; a long id is cut to its end, since UUIDv7 begin alike. */
function printTitle(target: Target, api: ApiDefinition): string {
  if (target.kind === 'root') return target.version?.name || api.info.title
  const { collection, kind, id, action, property } = target
  if (kind !== 'item')
    return action?.name ?? property ?? (kind === 'collection' ? collection.name : kind)
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

/** Lists the targets from the root down to this one. */
function listBreadcrumbs(target: Target, { api, href }: Builder): PageLink[] {
  const targets: Target[] = [{ kind: 'root', version: undefined }]
  if (target.version?.name) targets.push({ kind: 'root', version: target.version })
  if (target.kind !== 'root') {
    const { version, parent, id, kind } = target
    if (parent) {
      const { collection } = parent
      targets.push({ kind: 'collection', version, collection })
      targets.push({ kind: 'item', version, collection, id: parent.id })
    }
    targets.push(toList(target, 'collection'))
    if (id !== undefined) targets.push({ ...toList(target, 'item'), id })
    if (kind !== 'collection' && kind !== 'item') targets.push(target)
  }
  return targets.map(each => ({ name: printTitle(each, api), href: href(each) }))
}

/** Lists collections. An anonymous client sees closed ones too: the browser asks it to sign in there. */
function listCollections(version: Target['version'], { api, href, context }: Builder): PageLink[] {
  const { collections } = version ?? api.defaultVersion
  return [...collections.values()]
    .filter(
      collection =>
        (!context.principal && !collection.hideExistence) ||
        context.can(collection, 'list') ||
        context.can(collection, 'create'),
    )
    .map(collection => ({
      name: collection.name,
      href: href({ kind: 'collection', version: version ?? api.defaultVersion, collection }),
      description: collection.description,
    }))
}

/** Lists the writes of the target by their methods, then its actions. */
function listActions(
  target: CollectionTarget,
  methods: Match['methods'],
  { href, context }: Builder,
): FormAction[] {
  const { collection, kind, action } = target
  if (action) return [toFormAction(action, href(target))]
  const choices = getChoices(context)
  const writes = [...methods]
    .filter(([method]) => !isRead(method))
    .map(
      ([method, name]): FormAction => ({
        name,
        kind: name === 'create' || name === 'delete' ? name : 'change',
        method,
        href: href(target),
        fields: findInputFields(target, name),
        choices,
      }),
    )
  const actions = [...collection.actions.values()]
    .filter(({ on }) => on === kind)
    .map(each => toFormAction(each, href({ ...target, kind: 'action', action: each })))
  return [...writes, ...actions]
}

function toFormAction(
  { name, method, inputFields: fields, description }: ActionDefinition,
  href: string,
): FormAction {
  return { name, kind: 'action', method, href, fields, description }
}

/** Lists the count of a list, or the sub-collections of an item. */
function listRelated(target: CollectionTarget, { href, context }: Builder): PageLink[] {
  const { version, collection, kind, id } = target
  if (kind === 'collection') {
    if (!collection.operations.has('count') || !context.can(collection, 'count')) return []
    return [{ name: 'count', href: href(toList(target, 'count')) }]
  }
  if (kind !== 'item' || id === undefined) return []
  return [...version.collections.values()].flatMap(other => {
    const field = other.parents.get(collection.name)
    if (field === undefined || !other.operations.has('list') || !context.can(other, 'list'))
      return []
    const parent = { collection, id, field }
    return [
      { name: other.name, href: href({ kind: 'collection', version, collection: other, parent }) },
    ]
  })
}

function listFormats(target: CollectionTarget, { api, href }: Builder): PageLink[] {
  return api.formats.flatMap(format => {
    const [extension] = format.extensions
    const fits = isWriter(format) && (!format.streams || isList(target))
    return extension !== undefined && fits
      ? [{ name: format.name, href: `${href(target)}.${extension}` }]
      : []
  })
}

function createLinkFinder(target: CollectionTarget, { href }: Builder): PageView['findLink'] {
  const { version, collection } = target
  return (field, value) => {
    const isOwn = field === collection.shape.identity.name
    const to = isOwn
      ? collection
      : version.collections.get(collection.references.get(field)?.collection ?? '')
    if (!to?.operations.has('read')) return undefined
    if (typeof value !== 'string' && typeof value !== 'number') return undefined
    const id = parseId(to, String(value))
    if (id === undefined) return undefined
    const item: Target = isOwn
      ? { ...toList(target, 'item'), id }
      : { kind: 'item', version, collection: to, id }
    return href(item)
  }
}
