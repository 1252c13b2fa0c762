// The root: what exists (specification, "Resource operations").
import { printLink } from '../http/link.ts'
import { type CollectionDefinition, OPERATIONS } from '../model/definition.ts'
import type { RootTarget } from '../model/routes.ts'
import { OPENAPI_PATH } from '../openapi/document.ts'
import type { Json } from '../schema/values.ts'
import type { OperationResult, RequestContext } from './context.ts'

/** `{ url, resources }` of a version; of the whole api the default version's, with the list of versions. */
export function describeRoot(context: RequestContext, { version }: RootTarget): OperationResult {
  const { api } = context
  const shown = version ?? api.defaultVersion
  const resources: Record<string, Json> = {}
  for (const collection of shown.collections.values()) {
    if (collection.hideExistence && !canAnything(context, collection)) continue
    const target = { kind: 'collection', version: shown, collection } as const
    resources[collection.name] = { url: context.href(target) }
  }
  const data: Record<string, Json> = { url: context.href({ kind: 'root', version }), resources }
  const versions = api.versions.filter(({ name }) => name !== '')
  if (!version && versions.length > 0) {
    data.versions = Object.fromEntries(
      versions.map(each => [each.name, { url: context.href({ kind: 'root', version: each }) }]),
    )
  }
  const prefix = version?.name ? `/${version.name}` : ''
  const service = { rel: 'service-desc', href: `${context.base}${prefix}${OPENAPI_PATH}` }
  return {
    status: 200,
    headers: ['Link', printLink([service])],
    representation: { kind: 'document', name: 'api', data },
    value: data,
  }
}

/** Whether the principal may do anything to a collection. */
export function canAnything(context: RequestContext, collection: CollectionDefinition): boolean {
  const operations = [...OPERATIONS, ...collection.actions.keys()]
  return operations.some(operation => context.can(collection, operation))
}
