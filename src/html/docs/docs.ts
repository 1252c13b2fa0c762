// The documentation of an api as pages, made from its OpenAPI document: no script, no foreign resource.
import { STATUS_CODES } from 'node:http'
import { ERROR_TYPES } from '../../errors.ts'
import { noSuchPath } from '../../operations/calls/authorize.ts'
import type { DocsPrinter } from '../../operations/calls/context.ts'
import { foldText, searchWords } from '../../store/search.ts'
import { type Markup, markup, type Part } from '../markup/markup.ts'
import { DOCS_STYLE, STYLE } from '../markup/style.ts'
import { printSearch } from '../pages/list.ts'
import { printFrame } from '../pages/page.ts'
import { printAnswerContent } from './docs-answer.ts'
import {
  type DocsOperation,
  type DocsParameter,
  printOperation,
  printSchema,
} from './docs-operation.ts'
import { type DocsSchema, resolveReferences } from './docs-schema.ts'
import { buildDocsView, type DocsView } from './docs-view.ts'

/** The parts of a document that are read here. */
interface Document {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description?: string
    readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string }
  }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly securitySchemes?: Readonly<Record<string, { readonly description?: string }>>
  }
}

type PathItem = { readonly parameters?: readonly DocsParameter[] } & Readonly<
  Record<DocsMethod, DocsOperation | undefined>
>

/** HEAD is not shown: it is where GET is. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
type DocsMethod = (typeof METHODS)[number]

export const docs: DocsPrinter = {
  style: `${STYLE}${DOCS_STYLE}`,
  headers: [
    'Content-Security-Policy',
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'Referrer-Policy',
    'same-origin',
  ],
  print(printed, root, context) {
    const view = buildDocsView(root, context)
    // `buildDocument` makes documents of this shape.
    const document = resolveReferences(printed) as Document
    const { info, tags } = document
    const { tag, href } = view
    if (tag !== undefined && !tags.some(({ name }) => name === tag)) throw noSuchPath(context)
    const print = (content: Markup, current?: { name: string; href?: string }) =>
      printDocsPage(info.title, view, content, current)
    if (tag !== undefined)
      return print(printTag(document, view, tag), { name: tag, href: toPage(href, tag) })
    const q = (view.values.get('q') ?? '').trim()
    return q === ''
      ? print(printOverview(document, view))
      : print(printFound(document, view, q), { name: 'Search' })
  },
  printAnswer(answer, root, context) {
    const view = buildDocsView(root, context)
    return printDocsPage(context.api.info.title, view, printAnswerContent(answer, view), {
      name: 'Answer',
    })
  },
}

function printDocsPage(
  title: string,
  { href, base }: DocsView,
  content: Markup,
  current?: { readonly name: string; readonly href?: string },
): string {
  return printFrame({
    title: current ? `${current.name} · ${title}` : title,
    style: markup`<link rel="stylesheet" href="${`${href}/style.css`}">`,
    breadcrumbs: [
      { name: title, href: `${base}/` },
      { name: 'Documentation', href },
      ...(current ? [current] : []),
    ],
    content,
  })
}

/** The address of a collection's page. */
function toPage(href: string, tag: string): string {
  return `${href}?collection=${encodeURIComponent(tag)}`
}

/** Lists the operations of a collection, or those outside of collections. */
function listOperations(document: Document, tag: string | undefined): DocsOperation[] {
  return listAll(document).filter(({ tags }) => tags?.[0] === tag)
}

function listAll({ paths }: Document): DocsOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap(method => {
      const { [method]: operation, parameters: shared = [] } = item
      if (!operation) return []
      const parameters = [...shared, ...(operation.parameters ?? [])].map(takeValue)
      return [{ ...operation, path, method: method.toUpperCase(), parameters }]
    }),
  )
}

/** A filter takes a value, or an object of operators, which its description lists. */
function takeValue(parameter: DocsParameter): DocsParameter {
  const { style, schema } = parameter
  if (style !== 'deepObject') return parameter
  const { description = schema.description } = parameter
  return {
    ...parameter,
    ...(description !== undefined && { description }),
    schema: schema.anyOf?.[0] ?? schema,
  }
}

/** Prints links to the operations that have each word of a search in their texts. */
function printFound(document: Document, { href }: DocsView, q: string): Markup {
  const words = searchWords(q, true)
  const found = listAll(document).filter(operation => {
    const { method, path, operationId, summary, description, tags = [], parameters } = operation
    const names = parameters.map(({ name }) => name)
    const texts = [method, path, operationId, summary, description, ...tags, ...names].join(' ')
    const folded = foldText(texts)
    return words.every(word => folded.includes(word))
  })
  const links = found.map(({ method, path, operationId, summary, tags: [tag] = [] }) => {
    const chosen = { ...(tag !== undefined && { collection: tag }), operation: operationId }
    const address = `${href}?${new URLSearchParams(chosen)}#${operationId}`
    return markup`<li><a href="${address}"><b>${summary}</b><span><code>${method} ${path}</code></span></a></li>`
  })
  return markup`<div class="bar"><h1>Search</h1>${printSearch(href, q)}</div>
<p role="status">${countOperations(found)} with “${q}”</p>
${links.length > 0 ? markup`<ul class="cards">${links}</ul>` : markup`<p class="empty">No operation has ${words.length > 1 && 'all of '}that in its name, path, texts or parameters.</p>`}`
}

function countOperations({ length }: readonly DocsOperation[]): string {
  return length === 1 ? '1 operation' : `${length} operations`
}

function printOverview(document: Document, view: DocsView): Markup {
  const { info, tags, components } = document
  const { contact, description, title, version } = info
  return markup`<div class="bar"><h1>${title} <small>version ${version}</small></h1>${printSearch(view.href)}</div>
${description !== undefined && markup`<p class="lead">${description}</p>`}
${contact && markup`<p>${contact.name} ${contact.email !== undefined && markup`<code>${contact.email}</code>`} ${contact.url !== undefined && markup`<a href="${contact.url}">${contact.url}</a>`}</p>`}
<p>Base address: <code>${view.url}</code> · <a href="${view.openapi}">The OpenAPI document</a></p>
<ul class="cards">${tags.map(({ name, description: text }) => {
    const count = countOperations(listOperations(document, name))
    return markup`<li><a href="${toPage(view.href, name)}"><b>${name}</b><span>${text === undefined ? count : `${text} · ${count}`}</span></a></li>`
  })}</ul>
${printSchemes(components.securitySchemes)}
${printUntagged(listOperations(document, undefined), view)}
<h2 id="errors">Errors</h2>
<p>An error is an object with a list <code>errors</code>: each has a <code>message</code>, the status as <code>code</code>, the <code>field</code> at fault and a stable <code>type</code>.</p>
<div class="errors">${Object.entries(ERROR_TYPES).map(
    ([status, types]) =>
      markup`<details><summary>${status} ${STATUS_CODES[status]}</summary><div class="inside"><dl>${Object.entries(types).map(([type, meaning]) => markup`<div><dt><code>${type}</code></dt><dd>${printWords(meaning)}</dd></div>`)}</dl></div></details>`,
  )}</div>`
}

/** Prints the operations outside of collections. */
function printUntagged(operations: readonly DocsOperation[], view: DocsView): Part {
  if (operations.length === 0) return undefined
  return markup`<h2>Operations</h2>${operations.map(operation => printOperation(operation, view))}`
}

/** Prints a text whose words of code stand between backticks. */
function printWords(text: string): Part {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : markup`<code>${part}</code>`))
}

function printSchemes(schemes: Document['components']['securitySchemes']): Part {
  if (!schemes) return undefined
  return markup`<h2>Credentials</h2><ul>${Object.entries(schemes).map(
    ([name, { description }]) =>
      markup`<li><b>${name}</b>${description !== undefined && `: ${description}`}</li>`,
  )}</ul>`
}

function printTag(document: Document, view: DocsView, tag: string): Markup {
  const operations = listOperations(document, tag)
  const { description } = document.tags.find(({ name }) => name === tag) ?? {}
  const paths = [...new Set(operations.map(({ path }) => path))]
  return markup`<div class="bar"><h1>${tag}</h1>${printSearch(view.href)}</div>
${description !== undefined && markup`<p class="lead">${description}</p>`}
${paths.map(
  path =>
    markup`<h2><code>${path}</code></h2>${operations.filter(each => each.path === path).map(operation => printOperation(operation, view))}`,
)}
<h2>Schemas</h2>${listSchemas(operations).map(
    ([name, schema]) =>
      markup`<details><summary>${name}</summary><div class="inside" id="${`schema-${name}`}">${printSchema(schema)}</div></details>`,
  )}`
}

/** Lists the shared schemas of bodies and successful answers, with those that they contain. */
function listSchemas(operations: readonly DocsOperation[]): [string, DocsSchema][] {
  const found = new Map<string, DocsSchema>()
  const visit = (part: DocsSchema | object): void => {
    if ('ref' in part && part.ref !== undefined) {
      if (found.has(part.ref)) return
      found.set(part.ref, part)
    }
    for (const each of Object.values(part)) if (Object(each) === each) visit(each)
  }
  for (const { requestBody = {}, responses } of operations) {
    visit(requestBody)
    for (const [status, response] of Object.entries(responses))
      if (/^[23]/.test(status)) visit(response)
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1))
}
