// The documents that describe an api: `/openapi.json` and `/docs` for each version, and the catalog of
// them (RFC 9727).
import type { DocsPrinter, DocsView } from '../formats/format.ts'
import { printLink } from '../http/link.ts'
import { splitList } from '../http/message.ts'
import type { ApiDefinition, CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import { listRoutes, printTemplate } from '../model/routes.ts'
import { parseMediaType } from '../negotiate.ts'
import {
  buildDocument,
  DOCS_PATH,
  findDocs,
  OPENAPI_PATH,
  OPENAPI_VERSIONS,
  type OpenApiVersion,
  printWithServer,
  withServer,
} from '../openapi/document.ts'
import { findInputFields } from '../openapi/requests.ts'
import { canAnything, noSuchPath } from '../operations/authorize.ts'
import type { RequestContext } from '../operations/context.ts'
import type { Item } from '../schema/values.ts'
import type { ServedDocument } from './documents.ts'

const CATALOG_PATH = '/.well-known/api-catalog'
const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/** Lists the documents that describe an api, by their paths below its prefix. */
export function* listDescriptions(
  api: ApiDefinition,
): Generator<readonly [string, ServedDocument]> {
  const printer = findDocs(api)
  const versioned = api.versions.filter(({ name }) => name !== '')
  for (const version of [undefined, ...versioned]) {
    const root = version ? pathOf(version) : ''
    const find = createFinder(api, version)
    yield [root + OPENAPI_PATH, openApi(root, find)]
    if (printer) {
      yield [root + DOCS_PATH, docs(api, root, find, printer)]
      yield [`${root}${DOCS_PATH}/style.css`, style(root, printer)]
    }
  }
  yield [CATALOG_PATH, catalog(api)]
}

function pathOf({ name }: VersionDefinition): string {
  return name === '' ? '' : `/${name}`
}

interface Found {
  readonly document: Item
  readonly text: string
}

/** Finds the document for a client; it is built once for each set of collections that principals may see. */
type Find = (context: RequestContext) => Found

function createFinder(api: ApiDefinition, version: VersionDefinition | undefined): Find {
  const { collections } = version ?? api.defaultVersion
  const hideable = [...collections.values()].filter(({ hideExistence }) => hideExistence)
  const kept = new Map<string, Found>()
  return context => {
    context.version = version
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
}

const COMMON = { uncounted: false, addressed: true } as const

function openApi(root: string, find: Find): ServedDocument {
  return {
    ...COMMON,
    name: 'openapi',
    template: root + OPENAPI_PATH,
    read(context) {
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

/** @throws HttpError 404 for a page of an unknown collection */
function docs(api: ApiDefinition, root: string, find: Find, printer: DocsPrinter): ServedDocument {
  const routes = new Map(
    [...listRoutes(api.versions)].map(route => [printTemplate(route.template), route]),
  )
  const findFields: DocsView['findFields'] = (path, method) => {
    const { pattern, methods } = routes.get(path) ?? {}
    const operation = methods?.get(method)
    if (!pattern || pattern.kind === 'root' || operation === undefined) return undefined
    return findInputFields(pattern, operation)
  }
  return {
    ...COMMON,
    name: 'docs',
    template: root + DOCS_PATH,
    type: 'text/html; charset=utf-8',
    read(context) {
      const { document } = find(context)
      const base = new URL(context.base).pathname.replace(/\/$/, '')
      const values = new Map(context.parameters.map(({ name, value }) => [name, value]))
      const tag = values.get('collection')
      const { tags } = document
      const known = Array.isArray(tags) && tags.some(each => Object(each).name === tag)
      if (tag !== undefined && !known) throw noSuchPath(context)
      const href = base + root + DOCS_PATH
      const view = { href, base, openapi: base + root + OPENAPI_PATH, tag, values, findFields }
      const text = printer.print(withServer(document, context.base), view)
      return { data: {}, text, headers: [...printer.headers] }
    },
  }
}

function style(root: string, { style: text }: DocsPrinter): ServedDocument {
  return {
    ...COMMON,
    addressed: false,
    name: 'style',
    template: `${root}${DOCS_PATH}/style.css`,
    type: 'text/css; charset=utf-8',
    read: () => ({ data: {}, text }),
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

function catalog(api: ApiDefinition): ServedDocument {
  const { versions, health } = api
  const hasDocs = findDocs(api) !== undefined
  return {
    ...COMMON,
    name: 'api-catalog',
    template: CATALOG_PATH,
    type: CATALOG_TYPE,
    read({ base }) {
      const linkset = versions.map(version => {
        const root = base + pathOf(version)
        return {
          anchor: `${root}/`,
          'service-desc': [{ href: root + OPENAPI_PATH, type: 'application/json' }],
          ...(hasDocs && { 'service-doc': [{ href: root + DOCS_PATH, type: 'text/html' }] }),
          ...(health && { status: [{ href: `${base}/health`, type: 'application/json' }] }),
        }
      })
      const link = printLink([{ rel: 'api-catalog', href: base + CATALOG_PATH }])
      return { data: { linkset }, headers: ['Link', link] }
    },
  }
}
