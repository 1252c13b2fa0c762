// The documents that describe an api: `/openapi.json` for each version, and the catalog of them (RFC 9727).
import { printLink } from '../http/link.ts'
import { splitList } from '../http/message.ts'
import type { ApiDefinition, CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import { parseMediaType } from '../negotiate.ts'
import {
  buildDocument,
  OPENAPI_PATH,
  OPENAPI_VERSIONS,
  type OpenApiVersion,
  printWithServer,
  withServer,
} from '../openapi/document.ts'
import { canAnything } from '../operations/authorize.ts'
import type { RequestContext } from '../operations/context.ts'
import type { Item } from '../schema/values.ts'
import type { ServedDocument } from './documents.ts'

const CATALOG_PATH = '/.well-known/api-catalog'
const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/** Lists the documents that describe an api, by their paths below its prefix. */
export function* listDescriptions(
  api: ApiDefinition,
): Generator<readonly [string, ServedDocument]> {
  yield [OPENAPI_PATH, openApi(api, undefined)]
  for (const version of api.versions) {
    if (version.name !== '') yield [pathOf(version) + OPENAPI_PATH, openApi(api, version)]
  }
  yield [CATALOG_PATH, catalog(api)]
}

function pathOf({ name }: VersionDefinition): string {
  return name === '' ? '' : `/${name}`
}

/** Serves the OpenAPI document; it is built once for each set of collections that principals may see. */
function openApi(api: ApiDefinition, version: VersionDefinition | undefined): ServedDocument {
  const { collections } = version ?? api.defaultVersion
  const hideable = [...collections.values()].filter(({ hideExistence }) => hideExistence)
  const kept = new Map<string, { readonly document: Item; readonly text: string }>()

  function find(context: RequestContext) {
    const hidden = hideable.filter(collection => !canAnything(context, collection))
    const key = hidden.map(({ name }) => name).join()
    let found = kept.get(key)
    if (!found) {
      const isVisible = (collection: CollectionDefinition) => !hidden.includes(collection)
      const document = buildDocument(api, version, isVisible)
      found = { document, text: JSON.stringify(document) }
      kept.set(key, found)
    }
    return found
  }

  return {
    name: 'openapi',
    template: (version ? pathOf(version) : '') + OPENAPI_PATH,
    uncounted: false,
    addressed: true,
    read(context) {
      context.version = version
      const { document, text } = find(context)
      const { base, request } = context
      const wanted = findOpenApiVersion(request.headers.accept)
      const openapi = wanted ?? '3.1'
      return {
        data: withServer(document, base, openapi),
        text: printWithServer(text, base, openapi),
        ...(wanted && { type: `${OPENAPI_TYPE};version=${wanted}` }),
        vary: VARY_ACCEPT,
      }
    },
  }
}

const OPENAPI_TYPE = 'application/vnd.oai.openapi+json'
const VARY_ACCEPT: readonly string[] = ['Accept']

/** Finds the version of OpenAPI that `Accept` names; `undefined` where it does not name its media type. */
function findOpenApiVersion(accept = ''): OpenApiVersion | undefined {
  const types = splitList(accept).flatMap(each => parseMediaType(each) ?? [])
  const named = types.filter(({ type }) => type === OPENAPI_TYPE)
  if (named.length === 0) return undefined
  const versions = Object.keys(OPENAPI_VERSIONS) as OpenApiVersion[] // Its keys are all of them.
  const wanted = named.map(({ parameters }) => parameters.get('version') ?? '')
  return versions.find(version => wanted.some(text => text.startsWith(version))) ?? '3.1'
}

function catalog({ versions, health }: ApiDefinition): ServedDocument {
  return {
    name: 'api-catalog',
    template: CATALOG_PATH,
    uncounted: false,
    addressed: true,
    type: CATALOG_TYPE,
    read({ base }) {
      const linkset = versions.map(version => {
        const root = base + pathOf(version)
        return {
          anchor: `${root}/`,
          'service-desc': [{ href: root + OPENAPI_PATH, type: 'application/json' }],
          ...(health && { status: [{ href: `${base}/health`, type: 'application/json' }] }),
        }
      })
      const link = printLink([{ rel: 'api-catalog', href: base + CATALOG_PATH }])
      return { data: { linkset }, headers: ['Link', link] }
    },
  }
}
