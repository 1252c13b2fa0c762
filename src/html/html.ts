// `text/html`: every resource as a page for a person in a browser, with forms for everything that can
// be done. No script: a strict Content-Security-Policy forbids all but our own style sheet.
import { STATUS_CODES } from 'node:http'
import type { ErrorEntry } from '../errors.ts'
import type { Format, Representation } from '../formats/format.ts'
import type { FormAction, PageLink, PageView } from '../formats/page-view.ts'
import { getHeader } from '../http/message.ts'
import { IF_MATCH_PARAMETER } from '../http/method-override.ts'
import type { Fields } from '../schema/fields.ts'
import { type Item, isObject } from '../schema/values.ts'
import { controlId, controlOf, printForm } from './form.ts'
import {
  type FormState,
  isReachable,
  pathsOfControls,
  stateOf,
  stateOfSent,
  valuesSent,
} from './form-state.ts'
import { printFilters, printPages, printSearch, printTable } from './list.ts'
import { type Markup, markup, type Part } from './markup.ts'
import { printPage } from './page.ts'
import { STYLE_SOURCE } from './style.ts'
import { NOWHERE, printItem, printValue } from './values.ts'

const POLICY = [
  "default-src 'none'",
  `style-src ${STYLE_SOURCE}`,
  // A page without an icon of its own would make browsers ask for /favicon.ico.
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** `text/html`, written only: every resource as a page with its forms, for browsers; `.html`. */
export const html: Format = {
  name: 'html',
  extensions: ['html'],
  types: ['text/html'],
  skipsBlanks: true,
  hashed: true,
  headers: [
    'Content-Security-Policy',
    POLICY,
    // With `no-referrer` a browser would send its own forms with `Origin: null`.
    'Referrer-Policy',
    'same-origin',
    'X-Frame-Options',
    'DENY',
  ],
  page: print,
}

function print(representation: Representation, view: PageView): string {
  switch (representation.kind) {
    case 'item':
      return view.operation === 'delete'
        ? deletedPage(representation, view)
        : itemPage(representation, view)
    case 'list':
      return listPage(representation, view)
    case 'document':
      return view.kind === 'root' ? rootPage(view) : documentPage(representation, view)
    case 'errors':
      return errorsPage(representation, view)
    default:
      throw new TypeError(`HTML prints no ${representation.kind}`)
  }
}

type Of<K extends Representation['kind']> = Extract<Representation, { kind: K }>

function rootPage(view: PageView): string {
  const { title, related, versions } = view
  return printPage(
    title,
    view,
    markup`<h1>${title}</h1>
<ul class="cards">${related.map(({ name, href, description }) => markup`<li><a href="${href}"><b>${name}</b>${description !== undefined && markup`<span>${description}</span>`}</a></li>`)}</ul>
${versions.length > 0 && markup`<h2>Versions</h2>${printPlaces(versions)}`}`,
  )
}

function printPlaces(related: readonly PageLink[]): Markup {
  return markup`<ul class="related">${related.map(({ name, href }) => markup`<li><a href="${href}">${name}</a></li>`)}</ul>`
}

function listPage({ name, itemName, fields, data }: Of<'list'>, view: PageView): string {
  const { title, related, actions } = view
  const create = actions.filter(({ kind }) => kind === 'create')
  const others = actions.filter(({ kind }) => kind !== 'create')
  return printPage(
    title,
    view,
    markup`<div class="bar"><h1>${title}</h1>${printSearch(view)}</div>
${printFilters(fields, view)}
${printTable(data, fields, view, name)}
${printPages(view)}
<div class="deeds">${create.map(action => disclose(`New ${itemName}`, newForm(action, 'Create')))}${others.map(action => actionOf(action, view))}</div>
${related.length > 0 && printPlaces(related)}`,
  )
}

function newForm(action: FormAction, button: string): Markup {
  return printForm({ action, state: stateOf(action.fields), errors: [], button })
}

function disclose(summary: string, content: Part): Markup {
  return markup`<details><summary>${summary}</summary>${content}</details>`
}

/** A safe action without input is a link; any other action is a form. */
function actionOf(action: FormAction, view: PageView): Markup {
  const { name, method, href, description, fields } = action
  if (method === 'GET' && !fields) {
    return markup`<p><a class="button quiet" href="${href}">${name}</a>${description !== undefined && markup` ${description}`}</p>`
  }
  const state = stateOf(fields)
  const tag = tagOf(view)
  const form = printForm({ action, state, errors: [], button: name, tag, quiet: !fields })
  if (!fields)
    return markup`<div>${form}${description !== undefined && markup`<p class="hint">${description}</p>`}</div>`
  return disclose(name, [
    description !== undefined && markup`<p class="inside hint">${description}</p>`,
    form,
  ])
}

/** The version that changes must find, as the page shows it. */
function tagOf({ kind, headers }: PageView): string | undefined {
  return kind === 'item' ? getHeader(headers, 'ETag') : undefined
}

function itemPage({ name, fields, data }: Of<'item'>, view: PageView): string {
  const { title, operation, related, actions, parameters, href } = view
  const whole = !parameters.some(parameter => parameter.name === 'fields')
  const edit = editOffer(actions, data, view.fields)
  const others = actions.filter(({ kind }) => kind === 'action')
  const remove = actions.find(({ kind }) => kind === 'delete')
  return printPage(
    title,
    view,
    markup`<h1>${title}</h1>
${operation === 'create' && markup`<div class="notice good" role="status">Created: <a href="${href}">${title}</a></div>`}
<div class="card">${printItem(data, fields, (field, value) => otherThan(href, view.findLink(field, value)))}</div>
${!whole && markup`<p><a href="${href}">Everything of ${title}</a></p>`}
${related.length > 0 && markup`<h2>Belongs to it</h2>${printPlaces(related)}`}
<div class="deeds">${others.map(action => actionOf(action, view))}
${whole && edit && disclose(`Edit ${name}`, editForm(edit, data, view))}
${
  remove &&
  disclose(`Delete ${name}`, [
    markup`<p class="inside">This cannot be undone.</p>`,
    printForm({
      action: remove,
      state: stateOf(),
      errors: [],
      button: `Delete ${title}`,
      danger: true,
      tag: tagOf(view),
    }),
  ])
}</div>`,
  )
}

/** A page does not lead to itself. */
function otherThan(href: string, to: string | undefined): string | undefined {
  return to === href ? undefined : to
}

/**
 * How a form changes an item: by PUT, which can also remove properties and empty objects; by PATCH where
 * the item has properties that no control can hold, so that they stay.
 */
function editOffer(
  actions: readonly FormAction[],
  item: Item,
  fields: Fields | undefined,
): FormAction | undefined {
  const replace = actions.find(({ name }) => name === 'replace')
  const patch = actions.find(({ name }) => name === 'patch')
  if (!replace || !patch) return replace ?? patch
  return Object.keys(item).some(name => isLost(name, fields)) ? patch : replace
}

/** Whether a form cannot send a property back: its name, or the schema, has no control for it. */
function isLost(name: string, fields: Fields | undefined): boolean {
  const field = fields?.get(name)
  if (field) return !field.serverOwned && !isReachable(name)
  return fields?.get(name.replace(/_(?:url|data)$/, ''))?.kind !== 'blob'
}

function editForm(action: FormAction, item: Item, view: PageView): Markup {
  const state = stateOf(action.fields, item, action.method === 'PATCH')
  return printForm({ action, state, errors: [], button: 'Save', item, tag: tagOf(view) })
}

function deletedPage({ fields, data }: Of<'item'>, view: PageView): string {
  const { title, breadcrumbs } = view
  const up = breadcrumbs.at(-2)
  return printPage(
    `${title} is deleted`,
    { ...view, formats: [], breadcrumbs: breadcrumbs.slice(0, -1) },
    markup`<h1>${title}</h1>
<div class="notice good" role="status">Deleted. ${up && markup`Back to <a href="${up.href}">${up.name}</a>`}</div>
<p>This is what it was:</p>
<div class="card">${printItem(data, fields, NOWHERE)}</div>`,
  )
}

/** A count, a description, what an action gave. */
function documentPage({ name, fields, data }: Of<'document'>, view: PageView): string {
  const title = view.title || name
  const up = view.breadcrumbs.at(-2)
  const shown = isObject(data)
    ? printItem(data, fields, NOWHERE)
    : printValue(data, undefined, undefined, NOWHERE)
  return printPage(
    title,
    view,
    markup`<h1>${title}</h1>
<div class="card">${shown}</div>
${view.kind === 'action' && markup`<div class="deeds">${view.actions.filter(action => action.fields && action.name === view.operation).map(action => disclose(`Again: ${action.name}`, resultForm(action, view)))}</div>`}
${up && markup`<p>Back to <a href="${up.href}">${up.name}</a></p>`}`,
  )
}

/** The form of an action that has been run, with the input of that run. */
function resultForm(action: FormAction, view: PageView): Markup {
  return printForm({ action, state: stateGiven(action, view), errors: [], button: action.name })
}

/** What the client said: in a form, or in the query where the action reads. */
function stateGiven(
  { method, fields = new Map() }: FormAction,
  { submitted: sent, parameters }: PageView,
): FormState {
  const query = parameters.map(({ name, value }) => [name, value] as const)
  const given = sent ?? (method === 'GET' ? query : [])
  return given.length > 0 ? stateOfSent(fields, given) : stateOf(fields)
}

/** What was wrong, and the form that was sent, as it was sent: else its values, so that they are not lost. */
function errorsPage({ status, errors }: Of<'errors'>, view: PageView): string {
  const { kind, operation, actions, fields, breadcrumbs, submitted: sent = [] } = view
  const phrase = `${status} ${STATUS_CODES[status] ?? ''}`
  const failed = actions.find(action => action.name === operation)
  const shown = formsAgain(status, failed, view)
  const lost = failed && shown.includes(failed) ? [] : valuesSent(sent)
  const list = kind === 'collection' || kind === 'search'
  const filters = list && operation !== undefined && !failed && fields
  const up =
    kind === 'none' ? breadcrumbs[0] : breadcrumbs.at(status === 404 || kind === 'action' ? -2 : -1)
  return printPage(
    phrase,
    view,
    markup`<h1>${titleOfErrors(status, view)}</h1>
<div class="notice bad" role="alert"><h2>${phrase}</h2><ul>${errors.map(error => markup`<li>${printError(error, failed)}</li>`)}</ul></div>
${filters && printFilters(fields, view, errors)}
<div class="deeds">${shown.map(action => (action === failed ? failedForm(action, errors, status, view) : actionOf(action, view)))}</div>
${lost.length > 0 && markup`<h2>What you sent</h2><div class="card">${printItem(Object.fromEntries(lost), undefined, NOWHERE)}</div>`}
${up && markup`<p><a href="${up.href}">Back to ${up.name}</a></p>`}`,
  )
}

/**
 * The forms to go on with: the one that was sent, or, where the method asked for does not exist, of
 * what can be done. A form without an item's values would erase them.
 */
function formsAgain(
  status: number,
  failed: FormAction | undefined,
  { submitted: sent, actions, operation }: PageView,
): readonly FormAction[] {
  const closed = status === 401 || status === 404
  const unwell = status === 403 || status >= 500
  if (closed || (unwell && !sent)) return []
  if (failed) return holdsAll(failed, sent) ? [failed] : []
  const other = status === 405 && operation === undefined
  return other ? actions.filter(({ kind }) => kind === 'create' || kind === 'action') : []
}

/** Whether what was sent is all of a form: what is missing in one of an item would be erased. */
function holdsAll({ kind, fields = new Map() }: FormAction, sent: PageView['submitted']): boolean {
  if (kind === 'create' || kind === 'action') return true
  if (!sent) return false
  const names = new Set(sent.map(([name]) => name))
  return pathsOfControls(fields, stateOfSent(fields, sent)).every(
    path => names.has(path) || fields.get(path)?.kind === 'blob',
  )
}

const FAILURES: Readonly<Record<string, string>> = {
  create: 'was not created',
  replace: 'was not changed',
  patch: 'was not changed',
  delete: 'was not deleted',
}

function titleOfErrors(
  status: number,
  { operation = '', title, itemName, kind, breadcrumbs }: PageView,
): string {
  if (status === 404 || kind === 'none') return 'Not found'
  const what = FAILURES[operation]
  if (what !== undefined) return `The ${operation === 'create' ? itemName : title} ${what}`
  const [, above = ''] = breadcrumbs.map(({ name }) => name).reverse()
  return kind === 'action' ? `${title}: ${above}` : title
}

function printError({ message, field }: ErrorEntry, action: FormAction | undefined): Markup {
  const path = action && controlOf(field, action.fields)
  if (!action || path === undefined) return markup`${message}`
  return markup`<a href="#${controlId(action.name, path)}">${message}</a>`
}

function failedForm(
  action: FormAction,
  errors: readonly ErrorEntry[],
  status: number,
  view: PageView,
): Markup {
  const state = stateGiven(action, view)
  // The item is not known to be the one that was seen: to insist is to take any.
  const insists = status === 412 || status === 428
  const seen = view.submitted?.find(([name]) => name === IF_MATCH_PARAMETER)?.[1]
  const tag = insists ? '*' : seen
  const form = printForm({
    action,
    state,
    errors,
    button: insists ? 'Do it all the same' : buttonOf(action),
    danger: action.kind === 'delete',
    ...(typeof tag === 'string' && { tag }),
  })
  return markup`<div class="card">${form}</div>`
}

function buttonOf({ kind, name }: FormAction): string {
  return { create: 'Create', change: 'Save', delete: 'Delete', action: name }[kind]
}
