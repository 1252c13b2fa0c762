// One operation of an OpenAPI document: its fields, a form that sends it, and lines to copy.
import type { FormAction } from '../formats/page-view.ts'
import type { Field } from '../schema/fields.ts'
import { printCall, printCurl } from './docs-lines.ts'
import {
  describeType,
  type Follow,
  listProperties,
  makeSample,
  refName,
  type Schema,
  toFields,
} from './docs-schema.ts'
import { hidden, printForm, printSelect } from './form.ts'
import { fillForm } from './form-state.ts'
import { type Markup, markup, type Part, raw } from './markup.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Media {
  readonly schema?: Schema
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>
}

interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Media>>
}

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly deprecated?: boolean
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

/** What the operations of a page share. */
export interface Drawing {
  readonly follow: Follow
  /** The path of the pages. */
  readonly page: string
  /** The path of the api's root, and its address, without a slash at the end. */
  readonly base: string
  readonly url: string
  readonly collection: string
  /** The path of the collection: `/v1/cars`. */
  readonly root: string
  /** The values of path parameters that the reader has chosen. */
  readonly values: ReadonlyMap<string, string>
}

export interface Place {
  readonly path: string
  readonly method: string
  readonly operation: Operation
  /** The parameters of the path. */
  readonly ids: readonly Parameter[]
  /** Whether the path has a HEAD too. */
  readonly hasHead: boolean
}

const FILES = 'multipart/form-data'
const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

export function printOperation(place: Place, drawing: Drawing): Markup {
  const { method, path, operation, ids } = place
  const { operationId, summary, deprecated } = operation
  return markup`<details class="operation"${drawing.values.get('operation') === operationId && raw(' open')}><summary><b class="${`method ${method.toLowerCase()}`}">${method}</b> <code>${path}</code> <span>${summary}</span></summary>
<div class="inside" id="${operationId}">
${deprecated && markup`<p class="issue">Deprecated</p>`}
${printSecurity(operation)}
${printParameters(place, drawing)}
${printBody(operation, drawing)}
<h4>Answers</h4>${printResponses(operation, drawing)}
<h4>Try it</h4>${ids.length > 0 && printIdForm(place, drawing)}${printTry(place, drawing)}
<h4>Copy</h4>${printLines(place, drawing)}
</div></details>`
}

function printSecurity(operation: Operation): Part {
  if (!needsCredentials(operation)) return undefined
  const { security = [] } = operation
  const scopes = [...new Set(security.flatMap(each => Object.values(each).flat()))]
  const schemes = security.flatMap(each => Object.keys(each)).join(' or ')
  return markup`<p class="hint">Needs credentials: ${schemes}${scopes.length > 0 && ` with the scopes ${scopes.join(', ')}`}</p>`
}

interface Row {
  readonly name: string
  readonly schema: Schema
  readonly required?: boolean | undefined
  readonly description?: string | undefined
}

export function printRows(rows: readonly Row[], follow: Follow): Markup {
  return markup`<dl class="rows">${rows.map(
    ({ name, schema, required, description }) =>
      markup`<div><dt><code>${name}</code>${required && markup` <b class="needed">required</b>`}</dt><dd>${printType(schema, follow)}<span class="hint">${printMeaning(description ?? follow(schema).description, schema, follow)}</span></dd></div>`,
  )}</dl>`
}

function printMeaning(description: string | undefined, schema: Schema, follow: Follow): Part {
  const { readOnly, default: value, examples } = follow(schema)
  const parts = [
    description,
    readOnly && 'Set by the server',
    value !== undefined && `Default ${JSON.stringify(value)}`,
    examples && `For example ${examples.map(each => JSON.stringify(each)).join(', ')}`,
  ]
  return parts
    .filter(part => part)
    .join('. ')
    .replace(/\.\. /g, '. ')
}

export function printType(schema: Schema, follow: Follow): Part {
  const name = refName(schema) ?? (schema.items && refName(schema.items))
  const text = describeType(schema, follow)
  return name === undefined ? text : markup`<a href="${`#schema-${name}`}">${text}</a>`
}

function listParameters({ operation, ids }: Place, { follow }: Drawing): Parameter[] {
  return [...ids, ...(operation.parameters ?? [])].map(each => follow(each))
}

function printParameters(place: Place, drawing: Drawing): Part {
  const parameters = listParameters(place, drawing)
  const groups = [
    ['Path', 'path'],
    ['Query', 'query'],
    ['Headers', 'header'],
  ] as const
  return groups.map(([title, kind]) => {
    const rows = parameters.filter(each => each.in === kind)
    return rows.length > 0 && markup`<h4>${title}</h4>${printRows(rows, drawing.follow)}`
  })
}

/** The schema that a body is shown and sampled by. */
function findBody({ requestBody }: Operation): { type: string; schema: Schema } | undefined {
  const content = Object.entries(requestBody?.content ?? {})
  const found =
    content.find(([type, { schema }]) => type === JSON_TYPE && schema) ??
    content.find(([, { schema }]) => schema)
  return found?.[1].schema && { type: found[0], schema: found[1].schema }
}

function printBody(operation: Operation, { follow }: Drawing): Part {
  const body = findBody(operation)
  if (!body) return undefined
  const types = Object.keys(operation.requestBody?.content ?? {})
  const rows = listProperties(body.schema, follow).map(({ path, schema, required }) => ({
    name: path,
    schema,
    required,
  }))
  return markup`<h4>Body</h4>${rows.length > 0 ? printRows(rows, follow) : markup`<p>${follow(body.schema).description}</p>`}<p class="hint">As ${types.join(', ')}</p>`
}

function printResponses({ responses }: Operation, { follow }: Drawing): Markup {
  const known = Object.entries(responses).map(([status, response]) => ({
    status,
    ...follow(response),
  }))
  const good = known.filter(({ status }) => /^[23]/.test(status))
  const bad = known.filter(({ status }) => /^[45]/.test(status))
  return markup`<dl>${good.map(({ status, description, content, headers }) => {
    const schema = content?.[JSON_TYPE]?.schema
    const names = Object.keys(headers ?? {})
    return markup`<div><dt><b>${status}</b></dt><dd>${description}${schema && markup`: ${printType(schema, follow)}`}${names.length > 0 && markup`<br><span class="hint">${names.join(', ')}</span>`}</dd></div>`
  })}<div><dt>Errors</dt><dd>${bad.map(({ status, description }, at) => markup`${at > 0 && ', '}${status} ${description}`)}</dd></div></dl>`
}

/** Fills the parameters of a path in; `undefined` while one is not chosen. */
function fillPath({ path, ids }: Place, { values }: Drawing): string | undefined {
  if (!ids.every(({ name }) => values.has(name))) return undefined
  return path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.get(name) ?? ''))
}

function printIdForm({ ids, operation }: Place, { page, collection, values }: Drawing): Markup {
  const { operationId } = operation
  return markup`<form method="get" action="${`${page}#${operationId}`}" class="ids">${hidden('collection', collection)}${hidden('operation', operationId)}${ids.map(
    ({ name, description }) =>
      markup`<div class="field"><label for="${`${operationId}-${name}`}">${description ?? name}</label><input type="text" required id="${`${operationId}-${name}`}" name="${name}" value="${values.get(name)}"></div>`,
  )}<button class="quiet">Use</button></form>`
}

function printTry(place: Place, drawing: Drawing): Part {
  const { method, operation } = place
  const filled = fillPath(place, drawing)
  if (filled === undefined) return undefined
  const href = drawing.base + filled
  if (method === 'GET') return printQueryForm(place, drawing, href)
  const { content = {} } = operation.requestBody ?? {}
  const files = content[FILES]
  const schema = files?.schema ?? findBody(operation)?.schema
  if (schema && !(FORM in content) && !files)
    return markup`<p class="hint">A form of a browser cannot send these media types.</p>`
  const accept = Object.entries(files?.encoding ?? {}).map(([name, each]) => [
    name,
    each.contentType,
  ])
  const fields = schema && toFields(schema, drawing.follow, Object.fromEntries(accept))
  const action: FormAction = { name: operation.operationId, kind: 'action', method, href, fields }
  if (method === 'PATCH') return printPatchForms(action, fields ?? new Map())
  const danger = method === 'DELETE'
  return printForm({ action, state: fillForm(fields), button: method, danger })
}

/** A form sends all of its controls: each property has its own form, so that the others stay. */
function printPatchForms(action: FormAction, fields: ReadonlyMap<string, Field>): Markup {
  return markup`<div class="patches">${[...fields].map(([name, field]) => {
    const own = new Map([[name, { ...field, optional: false, nullable: false }]])
    return printForm({
      action: { ...action, name: `${action.name}.${name}`, fields: own },
      state: fillForm(own),
      button: `PATCH ${name}`,
      quiet: true,
    })
  })}</div>`
}

/** What is left empty does not count: pages skip blanks. */
function printQueryForm(place: Place, drawing: Drawing, href: string): Markup {
  const { operationId } = place.operation
  const parameters = listParameters(place, drawing).filter(each => each.in === 'query')
  return markup`<form method="get" action="${href}">${
    parameters.length > 0 &&
    markup`<div class="fields">${parameters.map(({ name, schema, required }) => {
      const id = `${operationId}-${name.replace(/[^\w.-]/g, '_')}`
      const attributes = markup` id="${id}" name="${name}"${required && raw(' required')}`
      const choices = drawing.follow(schema).enum?.map(String)
      return markup`<div class="field"><label for="${id}">${name}</label>${choices ? printSelect(new Map(choices.map(each => [each, each])), '', attributes) : markup`<input type="text"${attributes}>`}</div>`
    })}</div>`
  }<p><button>GET</button></p></form>`
}

function printLines(place: Place, drawing: Drawing): Markup {
  const { method, path, operation, hasHead } = place
  const { follow, collection, root, values } = drawing
  const parameters = listParameters(place, drawing)
  const content = operation.requestBody?.content[FILES]?.schema
  const properties = Object.entries((content && follow(content).properties) ?? {})
  const files = properties.flatMap(([name, each]) => (each.format === 'binary' ? [name] : []))
  const body = findBody(operation)
  const schema = files.length > 0 ? content : body?.schema
  const sample = schema && makeSample(schema, follow)
  const query = sampleQuery(parameters, follow)
  const url = drawing.url + (fillPath(place, drawing) ?? path)
  const line = {
    method,
    url: query ? `${url}?${new URLSearchParams(query)}` : url,
    type: body?.type,
    body: sample,
    files,
    secured: needsCredentials(operation),
    conditional: parameters.some(({ name }) => name === 'If-Match'),
  }
  const below = path.slice(root.length)
  const isClients = path.startsWith(root) && !path.includes('{parent}') && operation.tags
  const call = {
    collection,
    method,
    below,
    id: values.get('id'),
    body: sample,
    files,
    filter: query,
  }
  return markup`<pre class="copy"><code>${printCurl(line)}</code></pre>${
    method === 'GET' &&
    hasHead &&
    markup`<pre class="copy"><code>${printCurl({ ...line, method: 'HEAD' })}</code></pre>`
  }${isClients && !isDownload(operation) && markup`<pre class="copy"><code>${printCall(call)}</code></pre>`}`
}

/** The content of a file is fetched by its address. */
function isDownload({ responses }: Operation): boolean {
  const types = Object.keys(responses[200]?.content ?? {})
  return types.length > 0 && !types.includes(JSON_TYPE)
}

function needsCredentials({ security }: Operation): boolean {
  return security?.every(each => Object.keys(each).length > 0) ?? false
}

/** A query for the lines: what is required, else the first filter of a list with a few values. */
function sampleQuery(
  parameters: readonly Parameter[],
  follow: Follow,
): Record<string, string> | undefined {
  const queries = parameters.filter(each => each.in === 'query')
  const needed = queries.filter(({ required }) => required)
  const filter = queries.find(({ schema }) => follow(schema).enum !== undefined)
  const chosen = needed.length > 0 ? needed : filter ? [filter] : []
  if (chosen.length === 0) return undefined
  return Object.fromEntries(
    chosen.map(({ name, schema }) => [name, String(makeSample(schema, follow))]),
  )
}
