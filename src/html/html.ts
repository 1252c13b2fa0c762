// `text/html`: every resource as a page in a browser, with forms for everything that can be done. A strict
// Content-Security-Policy forbids all but our own style sheet, and the script of live lists on their pages.

import { isObject } from '../base/values.ts'
import type { Format, Representation } from '../formats/format.ts'
import { parseLink } from '../http/link.ts'
import { getHeader } from '../http/message.ts'
import type { PageRequest, Pages } from '../operations/calls/context.ts'
import { printAsHttp } from './as-http.ts'
import { docs } from './docs/docs.ts'
import { chooseCredentials } from './docs/docs-samples.ts'
import { type Markup, markup, toLocalPath } from './markup/markup.ts'
import { STYLE_SOURCE } from './markup/style.ts'
import { buildPageView } from './pages/build-page-view.ts'
import { printErrorPage } from './pages/error-page.ts'
import { printColumns, printFilters } from './pages/filters.ts'
import { disclose, printAction, printForm } from './pages/form.ts'
import { restoreForm } from './pages/form-state.ts'
import { printPages, printSearch, printTable } from './pages/list.ts'
import { printLiveScript, SCRIPT_SOURCE } from './pages/live-script.ts'
import { printMany, printManyResult } from './pages/many.ts'
import { printPage } from './pages/page.ts'
import type { PageLink, PageView } from './pages/page-view.ts'
import { printItem, printValue } from './pages/values.ts'

const POLICY = [
  "default-src 'none'",
  `style-src ${STYLE_SOURCE}`,
  // Browsers ask for /favicon.ico when a page has no icon.
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headersWith = (policy: string) => [
  'Content-Security-Policy',
  policy,
  // With `no-referrer` a browser would send its own forms with `Origin: null`.
  'Referrer-Policy',
  'same-origin',
  'X-Frame-Options',
  'DENY',
]

const format: Format = {
  name: 'html',
  extensions: ['html'],
  types: ['text/html'],
  headers: headersWith(POLICY),
  page: true,
}

const liveHeaders = headersWith(`${POLICY}; script-src ${SCRIPT_SOURCE}; connect-src 'self'`)

/** `text/html`, written only: every resource as a page with forms, for browsers; `.html`. `/docs` shows the api. */
export const html: Pages = { format, liveHeaders, print, docs }

async function print(representation: Representation, request: PageRequest): Promise<string> {
  const view = await buildPageView(representation, request)
  const { api, principal } = request.context
  const credentials = principal && chooseCredentials(api.schemes)
  switch (representation.kind) {
    case 'item':
      return view.operation === 'delete'
        ? printDeletedItem(representation, view)
        : printItemPage(representation, view, credentials)
    case 'list':
      return printListPage(representation, view, credentials)
    case 'document':
      if (representation.isForm) return printActionPage(view)
      return view.kind === 'root' ? printRoot(view) : printDocument(representation, view)
    case 'errors':
      return printErrorPage(representation, view)
    default:
      throw new TypeError(`HTML cannot print ${representation.kind}`)
  }
}

type Of<K extends Representation['kind']> = Extract<Representation, { kind: K }>

function printRoot(view: PageView): string {
  const { title, description, related, versions, headers } = view
  const links = parseLink(getHeader(headers, 'Link') ?? '').flatMap(({ rel, href }) => {
    const name = DOCUMENTS[rel]
    return name === undefined ? [] : [{ name, href: toLocalPath(href) }]
  })
  return printPage(
    view,
    markup`<h1>${title}</h1>
${description !== undefined && markup`<p class="lead">${description}</p>`}
<ul class="cards">${related.map(({ name, href, description }) => markup`<li><a href="${href}"><b>${name}</b>${description !== undefined && markup`<span>${description}</span>`}</a></li>`)}</ul>
${versions.length > 0 && markup`<h2>Versions</h2>${printLinks(versions)}`}
${links.length > 0 && markup`<h2>Documentation</h2>${printLinks(links)}`}`,
  )
}

/** The documents that the root names in `Link`, by their relation (RFC 8631). */
const DOCUMENTS: Readonly<Record<string, string>> = {
  'service-doc': 'All operations, to read and to try',
  'service-desc': 'OpenAPI document',
}

function printLinks(links: readonly PageLink[]): Markup {
  return markup`<ul class="related">${links.map(({ name, href }) => markup`<li><a href="${href}">${name}</a></li>`)}</ul>`
}

function printListPage(
  { name, fields, data }: Of<'list'>,
  view: PageView,
  credentials: string | undefined,
): string {
  const { title, description, related, actions } = view
  const create = actions.find(({ kind }) => kind === 'create')
  const others = actions.filter(action => action !== create && !action.many)
  const list = markup`${printTable(data, fields, view, name)}
${printMany(data, view)}
${printPages(view)}`
  return printPage(
    view,
    markup`<div class="bar"><div><h1>${title}</h1>${description !== undefined && markup`<p class="lead">${description}</p>`}</div>${printSearch(view.search, view.parameters.find(({ name }) => name === 'q')?.value)}</div>
${create && markup`<div class="actions">${printAction(create, view)}</div>`}
${printFilters(view)}${printColumns(view)}
${view.isLive ? markup`<div data-list>${list}</div>` : list}
${others.length > 0 && markup`<div class="actions">${others.map(action => printAction(action, view))}</div>`}
${related.length > 0 && printLinks(related)}
${printAsHttp([...data], view, credentials)}${printLiveScript(view)}`,
  )
}

function printItemPage(
  { fields, data: item }: Of<'item'>,
  view: PageView,
  credentials: string | undefined,
): string {
  const { title, operation, related, actions, parameters, href } = view
  const isWhole = !parameters.some(({ name }) => name === 'fields')
  const find = (operation: string) => actions.find(({ name }) => name === operation)
  // A patch keeps the properties that have no control.
  const edit = isWhole && (find('patch') ?? find('replace'))
  const others = [...actions.filter(({ kind }) => kind === 'action'), find('delete')]
  return printPage(
    view,
    markup`<h1>${title}</h1>
${operation === 'create' && markup`<div class="notice good" role="status">Created: <a href="${href}">${title}</a></div>`}
${edit && markup`<div class="actions">${printAction(edit, view, item)}</div>`}
<div class="card">${printItem(item, fields, view.findLink)}</div>
${!isWhole && markup`<p><a href="${href}">Everything of ${title}</a></p>`}
${related.length > 0 && markup`<h2>Related</h2>${printLinks(related)}`}
<div class="actions">${others.map(action => action && printAction(action, view, item))}</div>
${printAsHttp(item, view, credentials)}`,
  )
}

function printDeletedItem({ fields, data }: Of<'item'>, view: PageView): string {
  const { title, breadcrumbs } = view
  const up = breadcrumbs.at(-2)
  return printPage(
    { ...view, formats: [], breadcrumbs: breadcrumbs.slice(0, -1) },
    markup`<h1>${title}</h1>
<div class="notice good" role="status">Deleted. ${up && markup`Back to <a href="${up.href}">${up.name}</a>`}</div>
<p>This is what it was:</p>
<div class="card">${printItem(data, fields)}</div>`,
    `${title} is deleted`,
  )
}

/** Prints an action that no one has run yet: its form, open. */
function printActionPage(view: PageView): string {
  const { title, actions } = view
  return printPage(
    // In other formats it is a 405.
    { ...view, formats: [] },
    actions.map(
      action => markup`<h1>${title}</h1>
${action.description !== undefined && markup`<p class="lead">${action.description}</p>`}
<div class="card">${printForm({ action })}</div>`,
    ),
  )
}

/** Prints a count, a description, or the result of an action with a form to run it again. */
function printDocument(representation: Of<'document'>, view: PageView): string {
  const { title, operation } = view
  if (operation === 'patchMany' || operation === 'deleteMany')
    return printManyResult(representation, view)
  const { data, fields } = representation
  const up = view.breadcrumbs.at(-2)
  const again = view.actions.find(action => action.fields && action.name === view.operation)
  return printPage(
    view,
    markup`<h1>${title}</h1>
<div class="card">${isObject(data) ? printItem(data, fields) : printValue(data)}</div>
${again && markup`<div class="actions">${disclose(`Again: ${again.name}`, printForm({ action: again, controls: restoreForm(again, view) }))}</div>`}
${up && markup`<p>Back to <a href="${up.href}">${up.name}</a></p>`}`,
  )
}
