// The documentation of an api as pages, made from its OpenAPI document: no script, no foreign resource.
import type { DocsPrinter, DocsView } from '../formats/format.ts'
import type { Item } from '../schema/values.ts'
import {
  type Drawing,
  type Operation,
  type Parameter,
  type Place,
  printOperation,
  printRows,
} from './docs-operation.ts'
import { type Follow, listProperties, refName, type Schema } from './docs-schema.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { type Markup, markup, type Part, raw } from './markup.ts'
import { STYLE } from './style.ts'

/** The parts of a document that are read here. */
interface Document {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description?: string
    readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string }
  }
  readonly servers: readonly [{ readonly url: string }]
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly responses?: Readonly<Record<string, ErrorResponse>>
    readonly securitySchemes?: Readonly<Record<string, { readonly description?: string }>>
  }
}

type PathItem = { readonly parameters?: readonly Parameter[] } & Readonly<
  Record<Method, Operation | undefined>
>

interface ErrorResponse {
  readonly description: string
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const
type Method = (typeof METHODS)[number]

export const docs: DocsPrinter = {
  style: `${STYLE}${DOCS_STYLE}`,
  headers: [
    'Content-Security-Policy',
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'Referrer-Policy',
    'same-origin',
  ],
  print(printed, view) {
    // `buildDocument` makes documents of this shape.
    const document = printed as Item & Document
    const { tag } = view
    const content =
      tag === undefined ? printOverview(document, view) : printTag(document, view, tag)
    return printFrame(document, view, content)
  },
}

function printFrame({ info }: Document, { href, base, tag }: DocsView, content: Part): string {
  const title = tag === undefined ? info.title : `${tag} · ${info.title}`
  const crumbs = [
    ['API', `${base}/`],
    ['Documentation', href],
    ...(tag === undefined ? [] : [[tag, toPage(href, tag)] as const]),
  ] as const
  return `<!doctype html>\n${markup`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}</title><link rel="stylesheet" href="${`${href}/style.css`}"></head><body><a class="skip" href="#main">Skip to content</a>
<header><nav class="breadcrumbs" aria-label="Breadcrumb"><ol>${crumbs.map(
    ([name, to], at) =>
      markup`<li><a href="${to}"${at === crumbs.length - 1 && raw(' aria-current="page"')}>${name}</a></li>`,
  )}</ol></nav></header>
<main id="main" tabindex="-1">${content}</main></body></html>`}\n`
}

/** The address of a collection's page. */
function toPage(href: string, tag: string): string {
  return `${href}?collection=${encodeURIComponent(tag)}`
}

function createFollow(document: Document): Follow {
  return part => {
    const { $ref }: { $ref?: unknown } = part
    if (typeof $ref !== 'string') return part
    const names = $ref.split('/').slice(1)
    // A reference leads to a part of the same kind.
    return names.reduce<unknown>((found, name) => Object(found)[name], document) as typeof part
  }
}

/** Lists the operations of a collection, or those of none. A HEAD stands with its GET. */
function listPlaces({ paths }: Document, tag: string | undefined, follow: Follow): Place[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method): Place[] => {
      const operation = item[method]
      if (!operation || operation.tags?.[0] !== tag || (method === 'head' && item.get)) return []
      const ids = (item.parameters ?? []).map(each => follow(each))
      return [{ path, method: method.toUpperCase(), operation, ids, hasHead: !!item.head }]
    }),
  )
}

function printOverview(document: Document, view: DocsView): Markup {
  const { info, tags, components, servers } = document
  const { contact, description, title, version } = info
  const follow = createFollow(document)
  const counts = new Map(tags.map(({ name }) => [name, listPlaces(document, name, follow).length]))
  return markup`<h1>${title} <small>version ${version}</small></h1>
${description !== undefined && markup`<p class="lead">${description}</p>`}
${contact && markup`<p>${contact.name} ${contact.email !== undefined && markup`<code>${contact.email}</code>`} ${contact.url !== undefined && markup`<a href="${contact.url}">${contact.url}</a>`}</p>`}
<p>Base address: <code>${servers[0].url}</code> · <a href="${view.openapi}">The OpenAPI document</a></p>
<ul class="cards">${tags.map(
    ({ name, description: text }) =>
      markup`<li><a href="${toPage(view.href, name)}"><b>${name}</b><span>${text !== undefined && `${text} · `}${counts.get(name)} operations</span></a></li>`,
  )}</ul>
${printSchemes(components.securitySchemes)}
${listPlaces(document, undefined, follow).map(place => printOperation(place, drawingOf(document, view, '')))}
<h2 id="errors">Errors</h2>
<p>An error is an object with a list <code>errors</code>: each has a <code>message</code>, the status as <code>code</code>, the <code>field</code> at fault and a stable <code>type</code>.</p>
<div class="errors">${Object.values(components.responses ?? {})
    .map(response => findTypes(response, follow))
    .sort((one, other) => one.status - other.status)
    .map(printErrorTypes)}</div>`
}

function printSchemes(schemes: Document['components']['securitySchemes']): Part {
  if (!schemes) return undefined
  return markup`<h2>Credentials</h2><ul>${Object.entries(schemes).map(
    ([name, { description }]) =>
      markup`<li><b>${name}</b>${description !== undefined && `: ${description}`}</li>`,
  )}</ul>`
}

interface Types {
  readonly status: number
  readonly description: string
  readonly types: readonly Schema[]
}

function findTypes({ description, content }: ErrorResponse, follow: Follow): Types {
  const schema = content?.['application/json']?.schema
  const { code, type } = (schema && follow(schema).properties?.errors?.items?.properties) ?? {}
  const types = type?.anyOf?.filter(each => each.const !== undefined) ?? []
  return { status: Number(code?.const ?? 0), description, types }
}

function printErrorTypes({ status, description, types }: Types): Part {
  return (
    types.length > 0 &&
    markup`<details><summary>${status} ${description}</summary><div class="inside"><dl>${types.map(
      ({ const: type, description: meaning }) =>
        markup`<div><dt><code>${`${type}`}</code></dt><dd>${meaning}</dd></div>`,
    )}</dl></div></details>`
  )
}

function drawingOf(document: Document, view: DocsView, tag: string): Drawing {
  const collection = Object.entries(document.paths).find(
    ([path, { get, post }]) => (get ?? post)?.tags?.[0] === tag && path.endsWith(`/${tag}`),
  )
  return {
    follow: createFollow(document),
    page: view.href,
    base: view.base,
    url: document.servers[0].url.replace(/\/$/, ''),
    collection: tag,
    root: collection?.[0] ?? `/${tag}`,
    values: view.values,
  }
}

function printTag(document: Document, view: DocsView, tag: string): Markup {
  const follow = createFollow(document)
  const places = listPlaces(document, tag, follow)
  const drawing = drawingOf(document, view, tag)
  const { description } = document.tags.find(({ name }) => name === tag) ?? {}
  const paths = [...new Set(places.map(({ path }) => path))]
  return markup`<h1>${tag}</h1>
${description !== undefined && markup`<p class="lead">${description}</p>`}
${paths.map(
  path =>
    markup`<h2><code>${path}</code></h2>${places.filter(place => place.path === path).map(place => printOperation(place, drawing))}`,
)}
<h2>Schemas</h2>${listSchemas(document, places).map(
    ([name, schema]) =>
      markup`<details><summary>${name}</summary><div class="inside" id="${`schema-${name}`}">${printRows(
        listProperties(schema, follow).map(({ path, schema: property, required }) => ({
          name: path,
          schema: property,
          required,
        })),
        follow,
      )}</div></details>`,
  )}`
}

/** Lists the schemas that operations refer to, and those to which these refer. */
function listSchemas({ components }: Document, places: readonly Place[]): [string, Schema][] {
  const found = new Map<string, Schema>()
  const add = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const name = refName(part)
    const schema = name === undefined ? undefined : components.schemas?.[name]
    if (
      name !== undefined &&
      schema &&
      !found.has(name) &&
      schema !== components.schemas?.Problem
    ) {
      found.set(name, schema)
      add(schema)
    }
    Object.values(part).forEach(add)
  }
  for (const { operation } of places) add([operation.requestBody, operation.responses])
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1))
}
