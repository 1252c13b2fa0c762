// The parts of a list's page: the table with its sort links, the filters, the links to other pages.

import { getValue, type Path } from '../../base/paths.ts'
import { type Item, isObject } from '../../base/values.ts'
import { parseContentRange } from '../../http/content-range.ts'
import { parseLink } from '../../http/link.ts'
import { getHeader } from '../../http/message.ts'
import { type Parameter, printParameters } from '../../http/parameters.ts'
import { PLACES } from '../../query/list-parameters.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import { invalidSortReason, parseSort, printSort } from '../../store/sort.ts'
import { type Markup, markup, raw, toLocalPath } from '../markup/markup.ts'
import { areChosen, CHOICE_FORM } from './many.ts'
import type { PageView } from './page-view.ts'
import { printValue } from './values.ts'

interface ListColumn {
  readonly name: string
  readonly path: Path
  /** What people read: the title of a field of the item itself, else the name. */
  readonly title: string
  readonly field: Field
}

/** Lists the columns of a table: every field whose values fit into a cell. */
export function listColumns(fields: Fields, prefix: Path = []): ListColumn[] {
  return [...fields].flatMap(([name, field]): ListColumn[] => {
    const path = [...prefix, name]
    if (field.properties && !field.accept) return listColumns(field.properties, path)
    const { kind, element } = field
    const fits = kind === 'array' ? element && isScalar(element) : isScalar(field) || field.accept
    return fits ? [toColumn(path, field)] : []
  })
}

function toColumn(path: Path, field: Field): ListColumn {
  const name = path.join('.')
  return { name, path, title: path.length === 1 ? (field.title ?? name) : name, field }
}

/** Lists the columns of included lists. */
function listIncluded(fields: Fields, { fields: own }: PageView): ListColumn[] {
  return [...fields].flatMap(([name, field]) =>
    field.kind === 'array' && !own?.has(name) ? [toColumn([name], field)] : [],
  )
}

function isScalar({ kind }: Field): boolean {
  return !['object', 'record', 'array', 'any', 'blob'].includes(kind)
}

/** A link that changes the list starts at its beginning. */
export function isKept({ name }: Parameter): boolean {
  return !PLACES.has(name)
}

export function printTable(
  items: readonly Item[],
  fields: Fields,
  view: PageView,
  name: string,
): Markup {
  if (items.length === 0) return markup`<p class="empty">No ${name} found.</p>`
  const own = listColumns(fields)
  const label = own.filter(column => column.name === view.label)
  const columns = [...new Set([...label, ...own]), ...listIncluded(fields, view)]
  const isChosen = areChosen(view)
  const hint =
    columns.length > MANY_ON_PHONES &&
    markup`<p class="hint sideways${columns.length <= MANY_COLUMNS && ' phone'}">${columns.length} columns: scroll sideways to see them all</p>`
  return markup`${hint}<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table>
<thead><tr>${isChosen && markup`<th scope="col"><span class="hidden">Choose</span></th>`}${columns.map(column => printHead(column, view))}</tr></thead>
<tbody>${items.map(item => markup`<tr>${isChosen && printChoice(item, view)}${columns.map(column => printCell(column, item, view))}</tr>\n`)}</tbody>
</table></div>`
}

/** Prints the checkbox of a row. It belongs to a form below the table. */
function printChoice(item: Item, { id = '', label }: PageView): Markup {
  const named = label === undefined ? undefined : getValue(item, label.split('.'))
  return markup`<td><input type="checkbox" form="${CHOICE_FORM}" name="${id}" value="${String(item[id])}" aria-label="${`Choose ${named ?? item[id]}`}"></td>`
}

/** The numbers of columns that fit on most screens, and on a phone. */
const MANY_COLUMNS = 8
const MANY_ON_PHONES = 3

function printHead({ name, title, field }: ListColumn, view: PageView): Markup {
  const isSortable = view.fields?.has(name.split('.', 1)[0] ?? '') && !invalidSortReason(field)
  if (field.accept || !isSortable) return markup`<th scope="col">${title}</th>`
  const wanted = parseSort(view.parameters.find(each => each.name === 'sort')?.value ?? '')
  const [first] = wanted.length > 0 ? wanted : view.sort
  const sorted = first?.path.join('.') === name ? (first.descending ? 'down' : 'up') : undefined
  const kept = view.parameters.filter(each => isKept(each) && each.name !== 'sort')
  const next = printSort([{ path: name.split('.'), descending: sorted === 'up' }])
  const query = [...kept.map(({ raw: pair }) => pair), printParameters([['sort', next]])].join('&')
  const aria = { up: 'ascending', down: 'descending' }
  return markup`<th scope="col"${sorted && markup` aria-sort="${aria[sorted]}"`}${isNumeric(field) && !view.choices.has(name) && raw(' class="number"')}><a href="${`${view.href}?${query}`}">${title}${sorted && markup`<span class="${sorted}" aria-hidden="true"></span>`}</a></th>`
}

function isNumeric({ kind }: Field): boolean {
  return kind === 'number' || kind === 'integer'
}

function printCell({ name, path, field }: ListColumn, item: Item, view: PageView): Markup {
  const value = getValue(item, path) ?? null
  if (Array.isArray(value) && value.some(isObject))
    return markup`<td data-label="${name}"><details><summary>${value.length}</summary>${printValue(value, field)}</details></td>`
  const kind = isNumeric(field) && !view.choices.has(name) && raw(' class="number"')
  const link = name === view.label ? linkToItem(item, view) : path.length === 1 && view.findLink
  return markup`<td data-label="${name}"${kind}>${printValue(value, field, name, link || undefined)}</td>`
}

/** Links from the label of an item, where its id is shown too. */
function linkToItem(item: Item, { id = '', findLink }: PageView): PageView['findLink'] {
  const to = findLink(id, item[id] ?? null)
  return (_, label) => to && { ...to, label: String(label) }
}

/** Prints the shown range and the total, with the links of the `Link` header. */
export function printPages(view: PageView): Markup | undefined {
  const contentRange = parseContentRange(getHeader(view.headers, 'Content-Range') ?? '')
  const links = new Map(
    parseLink(getHeader(view.headers, 'Link') ?? '').map(({ rel, href }) => [rel, href]),
  )
  const { range, total } = contentRange ?? {}
  const atStart = range?.first === 0
  const atEnd = range !== undefined && range.last + 1 === total
  const moves = ['first', 'previous', 'next', 'last'].flatMap(rel => {
    const href = links.get(rel)
    const here = total === 0 || (rel === 'first' && atStart) || (rel === 'last' && atEnd)
    return href === undefined || here ? [] : [{ rel, href }]
  })
  const shown =
    range && !(atStart && atEnd) && markup`<b>${range.first + 1}–${range.last + 1}</b> of `
  const count = total ?? 'an unknown number'
  return markup`<nav class="pages" aria-label="Pages"><p>${contentRange && markup`${shown}<b>${count}</b>${!shown && ' total'}`}</p>
${moves.length > 0 && markup`<ul>${moves.map(({ rel, href }) => markup`<li><a rel="${rel}" href="${toLocalPath(href)}">${rel}</a></li>`)}</ul>`}</nav>`
}

/** @param href the address of the search; without it there is no form. */
export function printSearch(href: string | undefined, q = ''): Markup | undefined {
  if (href === undefined) return undefined
  return markup`<form class="search" method="get" action="${href}" role="search"><label for="q" class="hidden">Search</label><input type="search" id="q" name="q" value="${q}" placeholder="Search"><button>Search</button></form>`
}
