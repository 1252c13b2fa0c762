// The root: what exists (specification, "Resource operations").
import { printLink } from '../http/link.ts'
import type { RootTarget } from '../model/routes.ts'
import { DOCS_PATH, findDocs, OPENAPI_PATH } from '../openapi/document.ts'
import type { Json } from '../schema/values.ts'
import { canAnything } from './authorize.ts'
import { listBelow } from './below.ts'
import type { OperationResult, RequestContext } from './context.ts'

/** `{ url, resources }` of a version; of the whole api the default version's, with the list of versions. */
export function describeRoot(context: RequestContext, root: RootTarget): OperationResult {
  const { api } = context
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
    ...(findDocs(api) ? [{ rel: 'service-doc', href: at + DOCS_PATH }] : []),
  ]
  return {
    status: 200,
    headers: ['Link', printLink(services)],
    representation: { kind: 'document', name: 'api', data },
    value: data,
  }
}

/** Lists the collections that the client may know, by name: address and what lies below. */
export function listResources(
  context: RequestContext,
  { version = context.api.defaultVersion }: RootTarget,
): Record<string, Json> {
  const visible = [...version.collections.values()].filter(
    collection => !collection.hideExistence || canAnything(context, collection),
  )
  return Object.fromEntries(
    visible.map(collection => {
      const target = { kind: 'collection', version, collection } as const
      return [collection.name, { url: context.href(target), ...listBelow(context, target) }]
    }),
  )
}
