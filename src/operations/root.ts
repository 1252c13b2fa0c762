// The root: what exists (specification, "Resource operations").
import {
  type ApiDefinition,
  type CollectionDefinition,
  OPERATIONS,
  type VersionDefinition,
} from '../model/definition.ts'
import type { Target } from '../model/routes.ts'
import type { Json } from '../schema/values.ts'
import type { OperationResult } from './call.ts'

/** `{ url, resources }` of a version; of the whole api the default version's, with the list of versions. */
export function root(
  api: ApiDefinition,
  version: VersionDefinition | undefined,
  href: (target: Target) => string,
  may: (collection: CollectionDefinition, operation: string) => boolean,
): OperationResult {
  const shown = version ?? api.defaultVersion
  const resources: Record<string, Json> = {}
  for (const collection of shown.collections.values()) {
    if (collection.hideExistence && !mayAny(collection, may)) continue
    resources[collection.name] = { url: href({ kind: 'collection', version: shown, collection }) }
  }
  const data: Record<string, Json> = { url: href({ kind: 'root', version }), resources }
  const versions = api.versions.filter(({ name }) => name !== '')
  if (!version && versions.length > 0) {
    data.versions = Object.fromEntries(
      versions.map(each => [each.name, { url: href({ kind: 'root', version: each }) }]),
    )
  }
  return {
    status: 200,
    headers: [],
    representation: { kind: 'document', name: 'api', data },
    result: data,
  }
}

function mayAny(
  collection: CollectionDefinition,
  may: (collection: CollectionDefinition, operation: string) => boolean,
): boolean {
  return [...OPERATIONS, ...collection.actions.keys()].some(operation => may(collection, operation))
}
