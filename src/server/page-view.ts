// What lies around a representation, for formats that show people where they are and what they can
// do: made of the target, its methods and the headers of the answer.
import type { Principal } from '../auth/scheme.ts'
import { isWriter, type Representation } from '../formats/format.ts'
import type { FormAction, PageLink, PageView } from '../formats/page-view.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import { METHOD_PARAMETER } from '../http/method-override.ts'
import type { Parameter } from '../http/parameters.ts'
import type { ActionDefinition, ApiDefinition, CollectionDefinition } from '../model/definition.ts'
import {
  type CollectionTarget,
  type Match,
  parseId,
  printPath,
  type Router,
  type Target,
} from '../model/routes.ts'
import type { RequestContext } from '../operations/context.ts'
import type { Json } from '../schema/values.ts'
import type { Id } from '../store/store.ts'

type May = (collection: CollectionDefinition, operation: string) => boolean

/** What is answered. */
export interface ViewOutput {
  readonly status: number
  readonly headers: HeaderList
  readonly representation: Representation
}

export function buildView(
  context: RequestContext,
  { status, headers, representation }: ViewOutput,
): PageView {
  const { api, request, method, match: asked, parameters, sent, principal } = context
  const { router } = context.runtime
  const may: May = (collection, operation) => context.can(collection, operation)
  const base = basePath(api, request)
  const href = (to: Target) => base + printPath(to, api.formats)
  // A form that could not be read names its method all the same.
  const named = sent?.find(([name]) => name === METHOD_PARAMETER)?.[1]
  const operation = asked?.methods.get(typeof named === 'string' ? named.toUpperCase() : method)
  const match = operation === 'create' ? createdMatch(api, router, asked, representation) : asked
  const common = {
    status,
    operation,
    parameters: linkable(api, parameters),
    headers,
    submitted: sent,
  }
  const root: Target = { kind: 'root', version: undefined }
  if (!match || match.target.kind === 'root') {
    const target = match?.target ?? root
    return {
      ...common,
      ...NOTHING,
      kind: match ? 'root' : 'none',
      title: titleOf(target),
      href: href(target),
      breadcrumbs: trailOf(target, href),
      related: match ? collectionsOf(api, target, href, principal, may) : [],
      versions: match && target.version === undefined ? versionsOf(api, href) : [],
    }
  }
  const { target, methods } = match
  const { collection, kind } = target
  const { shape } = collection
  return {
    ...common,
    kind,
    title: titleOf(target),
    href: href(target),
    breadcrumbs: trailOf(target, href),
    actions: offersOf(target, methods, href).filter(({ name }) => may(collection, name)),
    related: placesOf(target, href, may),
    versions: [],
    formats: formatsOf(api, target, href(target)),
    search: isList(target) && collection.search ? href(listOf(target, 'search')) : undefined,
    itemName: collection.itemName,
    fields: shape.fields,
    createdAt: shape.createdAt,
    findLink: linker(target, href),
  }
}

/** The query, where an address can carry it: one that came in a form may be too long for any link. */
function linkable({ limits }: ApiDefinition, parameters: readonly Parameter[]) {
  const length = parameters.reduce((sum, { raw }) => sum + raw.length + 1, 0)
  return length > limits.target ? [] : parameters
}

const NOTHING = {
  actions: [],
  related: [],
  versions: [],
  formats: [],
  search: undefined,
  itemName: 'item',
  fields: undefined,
  createdAt: undefined,
  findLink: () => undefined,
} satisfies Partial<PageView>

/** The path under which clients reach the api's root; no slash at its end. */
function basePath({ baseUrl, prefix }: ApiDefinition, request: HttpRequest): string {
  const path = baseUrl === undefined ? request.prefix + prefix : new URL(baseUrl).pathname
  return path.replace(/^\/+/, '/').replace(/\/$/, '')
}

/** After a create the created item is what is shown. */
function createdMatch(
  { formats }: ApiDefinition,
  router: Router,
  match: Match | undefined,
  representation: Representation,
): Match | undefined {
  if (match?.target.kind !== 'collection' || representation.kind !== 'item') return match
  const { target } = match
  const own = representation.data[target.collection.shape.identity.name]
  const id = typeof own === 'number' ? own : String(own)
  return router.match(printPath({ ...target, kind: 'item', id }, formats))
}

/** `car 5`; of an id too long to be read, its end: the beginnings of UUIDv7 are alike. */
function itemTitle({ itemName }: CollectionDefinition, id: Id): string {
  const text = String(id)
  return `${itemName} ${text.length > 16 ? `…${text.slice(-8)}` : text}`
}

function titleOf(target: Target): string {
  if (target.kind === 'root') return target.version?.name || 'API'
  const { collection, kind, id, action, property } = target
  if (kind === 'item' && id !== undefined) return itemTitle(collection, id)
  return action?.name ?? property ?? (kind === 'collection' ? collection.name : kind)
}

function listOf(target: CollectionTarget, kind: CollectionTarget['kind']): CollectionTarget {
  const { version, collection, parent } = target
  return { version, collection, kind, ...(parent && { parent }) }
}

function isList({ kind }: CollectionTarget): boolean {
  return kind === 'collection' || kind === 'search'
}

/** The targets above a target, and itself. */
function trailOf(target: Target, href: (target: Target) => string): PageLink[] {
  const targets: Target[] = [{ kind: 'root', version: undefined }]
  if (target.version?.name) targets.push({ kind: 'root', version: target.version })
  if (target.kind !== 'root') {
    const { version, parent, id, kind } = target
    if (parent) {
      const { collection } = parent
      targets.push({ kind: 'collection', version, collection })
      targets.push({ kind: 'item', version, collection, id: parent.id })
    }
    targets.push(listOf(target, 'collection'))
    if (id !== undefined) targets.push({ ...listOf(target, 'item'), id })
    if (kind !== 'collection' && kind !== 'item') targets.push(target)
  }
  return targets.map(each => ({ name: titleOf(each), href: href(each) }))
}

/** Who has not said who it is may sign in at any that is not hidden: a browser asks where one is closed. */
function collectionsOf(
  { defaultVersion }: ApiDefinition,
  target: Target,
  href: (target: Target) => string,
  principal: Principal | undefined,
  may: May,
): PageLink[] {
  const version = target.version ?? defaultVersion
  return [...version.collections.values()]
    .filter(
      collection =>
        (!principal && !collection.hideExistence) ||
        may(collection, 'list') ||
        may(collection, 'create'),
    )
    .map(collection => ({
      name: collection.name,
      href: href({ kind: 'collection', version, collection }),
      ...(collection.description !== undefined && { description: collection.description }),
    }))
}

function versionsOf({ versions }: ApiDefinition, href: (target: Target) => string): PageLink[] {
  return versions
    .filter(({ name }) => name !== '')
    .map(version => ({ name: version.name, href: href({ kind: 'root', version }) }))
}

/** Everything that can be done here besides reading: writes by their methods, actions of the item or the list. */
function offersOf(
  target: CollectionTarget,
  methods: Match['methods'],
  href: (target: Target) => string,
): FormAction[] {
  const { collection, kind, action, parent } = target
  if (action) return [actionOffer(action, target, href)]
  const without = [kind === 'item' ? collection.shape.identity.name : undefined, parent?.field]
  const fields = new Map([...collection.inputFields].filter(([name]) => !without.includes(name)))
  const writes = [...methods]
    .filter(([method]) => method !== 'GET' && method !== 'HEAD')
    .map(([method, name]) => ({
      name,
      kind: kindOf(name),
      method,
      href: href(target),
      ...(name !== 'delete' && { fields }),
    }))
  const on = kind === 'item' ? 'item' : 'collection'
  const actions = [...collection.actions.values()]
    .filter(each => each.on === on && (kind === 'item' || kind === 'collection'))
    .map(each => actionOffer(each, { ...target, kind: 'action', action: each }, href))
  return [...writes, ...actions]
}

function kindOf(operation: string): FormAction['kind'] {
  return operation === 'create' || operation === 'delete' ? operation : 'change'
}

function actionOffer(
  { name, method, inputFields, description }: ActionDefinition,
  target: CollectionTarget,
  href: (target: Target) => string,
): FormAction {
  return {
    name,
    kind: 'action',
    method,
    href: href(target),
    ...(inputFields && { fields: inputFields }),
    ...(description !== undefined && { description }),
  }
}

/** The count of a list, the sub-collections of an item. */
function placesOf(
  target: CollectionTarget,
  href: (target: Target) => string,
  may: May,
): PageLink[] {
  const { version, collection, kind, id } = target
  if (kind === 'collection') {
    if (!collection.operations.has('count') || !may(collection, 'count')) return []
    return [{ name: 'count', href: href(listOf(target, 'count')) }]
  }
  if (kind !== 'item' || id === undefined) return []
  return [...version.collections.values()].flatMap(other => {
    const field = other.parents.get(collection.name)
    if (field === undefined || !other.operations.has('list') || !may(other, 'list')) return []
    const parent = { collection, id, field }
    const place = href({ kind: 'collection', version, collection: other, parent })
    return [{ name: other.name, href: place }]
  })
}

function formatsOf({ formats }: ApiDefinition, target: CollectionTarget, path: string): PageLink[] {
  return formats.flatMap(format => {
    const [extension] = format.extensions
    const fits = isWriter(format) && (!format.streams || isList(target))
    return extension !== undefined && fits
      ? [{ name: format.name, href: `${path}.${extension}` }]
      : []
  })
}

function linker(
  target: CollectionTarget,
  href: (target: Target) => string,
): (field: string, value: Json) => string | undefined {
  const { version, collection } = target
  const parents = new Map([...collection.parents].map(([name, field]) => [field, name]))
  return (field, value) => {
    const own = field === collection.shape.identity.name
    const to = own ? collection : version.collections.get(parents.get(field) ?? '')
    if (!to?.operations.has('read')) return undefined
    if (typeof value !== 'string' && typeof value !== 'number') return undefined
    const id = parseId(to, String(value))
    if (id === undefined) return undefined
    return href(
      own ? { ...listOf(target, 'item'), id } : { kind: 'item', version, collection: to, id },
    )
  }
}
