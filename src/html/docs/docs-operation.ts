// One operation of an OpenAPI document: its fields, a form that sends it, and lines to copy.
import { STATUS_CODES } from 'node:http'
import type { Item } from '../../base/values.ts'
import { TRY_PARAMETER } from '../../openapi/document.ts'
import { makeSample } from '../../openapi/samples.ts'
import type { Fields } from '../../schema/fields.ts'
import { type Markup, markup, type Part, raw } from '../markup/markup.ts'
import { controlId, hidden, INSTANT, printField, printForm, printSelect } from '../pages/form.ts'
import type { FormAction } from '../pages/page-view.ts'
import { printCall, printCurl } from './docs-samples.ts'
import {
  type DocsSchema,
  describeType,
  findShared,
  listProperties,
  type Property,
} from './docs-schema.ts'
import type { DocsView } from './docs-view.ts'

export interface DocsParameter extends Property {
  readonly in: 'query' | 'header' | 'path'
  readonly style?: string
}

type ContentSchemas = Readonly<Record<string, { readonly schema?: DocsSchema }>>

interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: ContentSchemas
}

export interface DocsOperation {
  readonly path: string
  readonly method: string
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly tags?: readonly string[]
  /** The parameters of the path, then its own. */
  readonly parameters: readonly DocsParameter[]
  readonly requestBody?: { readonly content: ContentSchemas }
  readonly responses: Readonly<Record<string, Response>>
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

const FILES = 'multipart/form-data'
const JSON_TYPE = 'application/json'

export function printOperation(operation: DocsOperation, view: DocsView): Markup {
  const { method, path, operationId, summary, deprecated } = operation
  return markup`<details class="operation"${view.values.get('operation') === operationId && raw(' open')}><summary><b class="${`method ${method.toLowerCase()}`}">${method}</b> <code>${path}</code> <span>${summary}</span></summary>
<div class="inside" id="${operationId}">
${deprecated && markup`<p class="issue">Deprecated</p>`}
${printSecurity(operation)}
${printParameters(operation)}
${printBody(operation)}
<h3>Answers</h3>${printResponses(operation)}
<h3>Try it</h3>${printIdForm(operation, view)}${printTry(operation, view)}
<h3>Copy</h3>${printLines(operation, view)}
</div></details>`
}

function needsCredentials({ security }: DocsOperation): boolean {
  return security?.every(each => Object.keys(each).length > 0) ?? false
}

function printSecurity(operation: DocsOperation): Part {
  if (!needsCredentials(operation)) return undefined
  const { security = [] } = operation
  const scopes = [...new Set(security.flatMap(each => Object.values(each).flat()))]
  const schemes = security.flatMap(each => Object.keys(each)).join(' or ')
  return markup`<p class="hint">Needs credentials: ${schemes}${scopes.length > 0 && ` with the scopes ${scopes.join(', ')}`}</p>`
}

export function printProperties(properties: readonly Property[]): Markup {
  return markup`<dl class="rows">${properties.map(
    ({ name, schema, required, description, condition }) =>
      markup`<div><dt><code>${name}</code>${required && markup` <b class="needed">required</b>`}</dt><dd>${printType(schema)}<span class="hint">${[condition, describe(schema, description)].filter(Boolean).join('. ')}</span></dd></div>`,
  )}</dl>`
}

function describe(schema: DocsSchema, description = schema.description): string {
  const { readOnly, default: value, examples, format, pattern } = schema
  const parts = [
    // A description, or the name of a format, says more than the pattern.
    description ?? (format === undefined && pattern !== undefined && `Matches ${pattern}`),
    readOnly && 'Set by the server',
    value !== undefined && `Default ${JSON.stringify(value)}`,
    examples && `For example ${examples.map(each => JSON.stringify(each)).join(', ')}`,
  ]
  return parts
    .filter(part => part)
    .join('. ')
    .replace(/\.\. /g, '. ')
}

/** Prints what a schema holds: its properties, or the type of a value without any. */
export function printSchema(schema: DocsSchema): Markup {
  const properties = listProperties(schema)
  const { ref: _ref, ...unnamed } = schema
  return properties.length > 0
    ? printProperties(properties)
    : markup`<p>${describeType(unnamed)}<span class="hint">${describe(schema)}</span></p>`
}

function printType(schema: DocsSchema): Part {
  const name = findShared(schema)
  const text = describeType(schema)
  return name === undefined ? text : markup`<a href="${`#schema-${name}`}">${text}</a>`
}

function printParameters({ parameters }: DocsOperation): Part {
  const groups = [
    ['Path', 'path'],
    ['Query', 'query'],
    ['Headers', 'header'],
  ] as const
  return groups.map(([title, place]) => {
    const found = parameters.filter(each => each.in === place)
    return found.length > 0 && markup`<h3>${title}</h3>${printProperties(found)}`
  })
}

/** Finds the body to show: JSON, else the first media type with a schema. */
function findBody({
  requestBody,
}: DocsOperation): { type: string; schema: DocsSchema } | undefined {
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
    schema ? [{ type, schema }] : [],
  )
  return bodies.find(({ type }) => type === JSON_TYPE) ?? bodies[0]
}

function printBody(operation: DocsOperation): Part {
  const schema = findBody(operation)?.schema
  if (!schema) return undefined
  const types = Object.keys(operation.requestBody?.content ?? {})
  return markup`<h3>Body</h3>${printSchema(schema)}<p class="hint">As ${types.join(', ')}</p>`
}

function printResponses({ responses }: DocsOperation): Markup {
  const known = Object.entries(responses)
  const good = known.filter(([status]) => /^[23]/.test(status))
  const bad = known.filter(([status]) => /^[45]/.test(status))
  return markup`<dl>${good.map(([status, { description, content, headers = {} }]) => {
    const schema = content?.[JSON_TYPE]?.schema
    const names = Object.keys(headers)
    return markup`<div><dt><b>${status}</b></dt><dd>${description}${schema && markup`: ${printType(schema)}`}${names.length > 0 && markup`<br><span class="hint">${names.join(', ')}</span>`}</dd></div>`
  })}<div><dt>Errors</dt><dd>${bad.map(([status]) => `${status} ${STATUS_CODES[status]}`).join(', ')}</dd></div></dl>`
}

function listIds({ parameters }: DocsOperation): DocsParameter[] {
  return parameters.filter(each => each.in === 'path')
}

/** Fills the parameters of a path in; `undefined` while one is not chosen. */
function fillPath(operation: DocsOperation, { values }: DocsView): string | undefined {
  if (!listIds(operation).every(({ name }) => values.has(name))) return undefined
  return operation.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(values.get(name) ?? ''),
  )
}

function printIdForm(operation: DocsOperation, { href, tag = '', values }: DocsView): Part {
  const { operationId } = operation
  const ids = listIds(operation)
  if (ids.length === 0) return undefined
  return markup`<form method="get" action="${`${href}#${operationId}`}" class="ids">${hidden('collection', tag)}${hidden('operation', operationId)}${ids.map(
    each => printParameter(operationId, each, each.description, values.get(each.name)),
  )}<button class="quiet">Use</button></form>`
}

function printTry(operation: DocsOperation, view: DocsView): Part {
  const { method, path, operationId } = operation
  const filled = fillPath(operation, view)
  if (filled === undefined) return undefined
  if (method === 'GET') return printQueryForm(operation, view, filled)
  const href = `${view.tryPath}?${new URLSearchParams([[TRY_PARAMETER, filled]])}`
  const fields = view.findFields(path, method)
  const kind = method === 'DELETE' ? 'delete' : 'action'
  const action: FormAction = { name: operationId, kind, method, href, fields }
  if (method === 'PATCH' && fields) return printPatchForms(action, fields)
  return printForm({ action, button: method })
}

/** A form sends all of its controls: each property has its own form, so that the others stay. */
function printPatchForms(action: FormAction, fields: Fields): Markup {
  return markup`<div class="patches">${[...fields].map(([name, field]) => {
    const own = new Map([[name, { ...field, optional: false, nullable: false }]])
    return printForm({
      action: { ...action, name: `${action.name}.${name}`, fields: own },
      button: `PATCH ${name}`,
    })
  })}</div>`
}

/** Prints a form for a query; the server ignores the parameters that stay empty. */
function printQueryForm(
  { operationId, parameters }: DocsOperation,
  { tryPath }: DocsView,
  path: string,
): Markup {
  const controls = parameters
    .filter(each => each.in === 'query')
    .map(each => printParameter(operationId, each))
  return markup`<form method="get" action="${tryPath}">${hidden(TRY_PARAMETER, path)}${controls.length > 0 && markup`<div class="fields">${controls}</div>`}<p><button>GET</button></p></form>`
}

function printParameter(
  form: string,
  { name, schema, required }: DocsParameter,
  label = name,
  value = '',
): Markup {
  const id = controlId(form, name)
  const attributes = markup` id="${id}" name="${name}"${required && raw(' required')}`
  const choices = schema.enum?.map(String)
  const input = choices
    ? printSelect(new Map(choices.map(each => [each, each])), value, attributes)
    : markup`<input${schema.format === 'date-time' ? INSTANT : raw(' type="text"')} value="${value}"${attributes}>`
  return printField(id, label, input)
}

function printLines(operation: DocsOperation, view: DocsView): Markup {
  const { method, path, parameters, requestBody } = operation
  const name = view.findName(path, method)
  const multipart = requestBody?.content[FILES]?.schema
  const files = Object.entries(multipart?.properties ?? {}).flatMap(([name, { format }]) =>
    format === 'binary' ? [name] : [],
  )
  const body = files.length > 0 ? { type: FILES, schema: multipart } : findBody(operation)
  const sample = {
    method,
    name: name ?? '',
    url: view.url + (fillPath(operation, view) ?? path),
    collection: view.tag ?? '',
    id: path.includes('{id}') ? (view.values.get('id') ?? '') : undefined,
    query: sampleQuery(parameters),
    type: body?.type,
    body: body?.schema && makeSample(body.schema),
    files,
    credentials: needsCredentials(operation) ? view.credentials : undefined,
    isConditional: parameters.some(({ name }) => name === 'If-Match'),
  }
  const call = name !== undefined && !path.includes('{parent}') && printCall(sample)
  return markup`<pre class="copy"><code>${printCurl(sample)}</code></pre>${call && markup`<pre class="copy"><code>${call}</code></pre>`}`
}

/** Makes a query: the required parameters, else the first filter of an enumeration, by its own name. */
function sampleQuery(parameters: readonly DocsParameter[]): Item | undefined {
  const queries = parameters.filter(each => each.in === 'query')
  const needed = queries.filter(({ required }) => required)
  const filters = queries.filter(({ name, schema }) => schema.enum && !name.includes('['))
  const chosen = needed.length > 0 ? needed : filters.slice(0, 1)
  if (chosen.length === 0) return undefined
  return Object.fromEntries(chosen.map(({ name, schema }) => [name, makeSample(schema)]))
}
