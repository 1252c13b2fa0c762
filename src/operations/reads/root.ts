// What exists: the root (specification, "Resource operations"), and what lies below a collection or an item.

import type { Json } from '../../base/values.ts'
import { printLink } from '../../http/link.ts'
import { findTrash, TRASH } from '../../model/compile/compile-trash.ts'
import {
  type CollectionTarget,
  printUriTemplate,
  type RootTarget,
} from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { DOCS_PATH, OPENAPI_PATH } from '../../openapi/document.ts'
import { isKnown } from '../calls/authorize.ts'
import type { OperationResult, RequestContext } from '../calls/context.ts'

/** Describes a version as `{ url, resources }`; the whole api as its default version, with a list of all versions. */
export function describeRoot(context: RequestContext, root: RootTarget): OperationResult {
  const { api, runtime } = context
  const { version } = root
  const resources = listResources(context, root)
  const data: Record<string, Json> = { url: context.href({ kind: 'root', version }), resources }
  const versions = api.versions.filter(({ name }) => name !== '')
  if (!version && versions.length > 0) {
    data.versions = Object.fromEntries(
      versions.map(each => [each.name, { url: context.href({ kind: 'root', version: each }) }]),
    )
  }
  const prefix = version?.name ? `/${version.name}` : ''
  const at = context.base + prefix
  const services = [
    { rel: 'service-desc', href: at + OPENAPI_PATH },
    ...(runtime.pages ? [{ rel: 'service-doc', href: at + DOCS_PATH }] : []),
  ]
  return {
    status: 200,
    headers: ['Link', printLink(services)],
    representation: { kind: 'document', name: 'api', data },
  }
}

/** Lists the collections that the client may know by name, each with its address and what lies below. */
export function listResources(
  context: RequestContext,
  { version = context.api.defaultVersion }: RootTarget,
): Record<string, Json> {
  const known = [...version.collections.values()].filter(collection => isKnown(context, collection))
  return Object.fromEntries(
    known.map(collection => {
      const target = { kind: 'collection', version, collection } as const
      return [collection.name, { url: context.href(target), ...listBelow(context, target) }]
    }),
  )
}

/** Actions by their names, each with its method and address, and sub-collections with theirs. */
export interface Below {
  readonly actions?: Readonly<Record<string, { method: string; url: string }>>
  readonly resources?: Readonly<Record<string, { methods: string[]; url: string }>>
}

/** Lists what lies below a target, for this client. An address that needs an id is a template with `{id}`. */
export function listBelow(context: RequestContext, target: CollectionTarget): Below {
  const { kind, collection, parent, version } = target
  if (kind !== 'collection' && kind !== 'item') return {}
  const isShown = (to: CollectionDefinition, operation: string) =>
    !context.authenticated || context.can(to, operation)
  const urlOf = (place: CollectionTarget) => context.base + printUriTemplate(place)
  const actions: Record<string, { method: string; url: string }> = {}
  const { operations, search } = collection
  const list = { ...target, id: undefined }
  if (kind === 'collection' && operations.has('count') && isShown(collection, 'count'))
    actions.count = { method: 'GET', url: urlOf({ ...list, kind: 'count' }) }
  if (kind === 'collection' && search && operations.has('list') && isShown(collection, 'search'))
    actions.search = { method: 'GET', url: urlOf({ ...list, kind: 'search' }) }
  const trash = kind === 'collection' && !parent ? findTrash(collection) : undefined
  if (trash && isShown(collection, TRASH))
    actions[TRASH] = { method: 'GET', url: urlOf({ ...list, collection: trash.deleted }) }
  for (const action of collection.actions.values()) {
    const { name, method, on } = action
    if ((kind === 'collection' || on === 'item') && isShown(collection, name))
      actions[name] = { method, url: urlOf({ ...target, kind: 'action', action }) }
  }
  const resources: Record<string, { methods: string[]; url: string }> = {}
  for (const other of parent ? [] : version.collections.values()) {
    const field = other.parents.get(collection.name)
    if (field === undefined || !isKnown(context, other)) continue
    const methods = (['list', 'create'] as const)
      .filter(operation => other.operations.has(operation) && isShown(other, operation))
      .map(operation => (operation === 'list' ? 'GET' : 'POST'))
    const above = { collection, id: target.id ?? '', field }
    const place = { kind: 'collection', version, collection: other, parent: above } as const
    if (methods.length > 0) resources[other.name] = { methods, url: urlOf(place) }
  }
  return {
    ...(Object.keys(actions).length > 0 && { actions }),
    ...(Object.keys(resources).length > 0 && { resources }),
  }
}
