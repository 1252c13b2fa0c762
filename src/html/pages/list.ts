// The parts of a list's page: the table with its sort links, the filters, the links to other pages.

import { getValue, type Path } from '../../base/paths.ts'
import { type Item, isObject } from '../../base/values.ts'
import type { ErrorEntry } from '../../errors.ts'
import { parseContentRange } from '../../http/content-range.ts'
import { parseLink } from '../../http/link.ts'
import { getHeader } from '../../http/message.ts'
import { type Parameter, printParameters } from '../../http/parameters.ts'
import { isGroupParameter } from '../../query/groups.ts'
import { RESERVED } from '../../query.ts'
import { type Field, type Fields, isFilterable } from '../../schema/fields.ts'
import { invalidSortReason, parseSort, printSort } from '../../store/sort.ts'
import { type Markup, markup, raw, toLocalPath } from '../markup.ts'
import { printValue } from '../values.ts'
import {
  controlId,
  hidden,
  listChoices,
  printIssues,
  printParentInput,
  printSelect,
} from './form.ts'
import type { FieldChoices, PageView } from './page-view.ts'

interface ListColumn {
  readonly name: string
  readonly path: Path
  readonly field: Field
}

/** Lists the columns of a table: every field whose values fit into a cell. */
export function listColumns(fields: Fields, prefix: Path = []): ListColumn[] {
  return [...fields].flatMap(([name, field]): ListColumn[] => {
    const path = [...prefix, name]
    if (field.properties && !field.accept) return listColumns(field.properties, path)
    const { kind, element } = field
    const fits = kind === 'array' ? element && isScalar(element) : isScalar(field) || field.accept
    return fits ? [{ name: path.join('.'), path, field }] : []
  })
}

/** Lists the columns of included lists. */
function listIncluded(fields: Fields, { fields: own }: PageView): ListColumn[] {
  return [...fields].flatMap(([name, field]) =>
    field.kind === 'array' && !own?.has(name) ? [{ name, path: [name], field }] : [],
  )
}

function isScalar({ kind }: Field): boolean {
  return !['object', 'record', 'array', 'any', 'blob'].includes(kind)
}

/** A link that changes the list starts at its beginning. */
function isKept({ name }: Parameter): boolean {
  return name !== 'cursor' && name !== 'offset'
}

export function printTable(
  items: readonly Item[],
  fields: Fields,
  view: PageView,
  name: string,
): Markup {
  if (items.length === 0) return markup`<p class="empty">No ${name} found.</p>`
  const columns = [...listColumns(fields), ...listIncluded(fields, view)]
  const hint =
    columns.length > MANY_ON_PHONES &&
    markup`<p class="hint sideways${columns.length <= MANY_COLUMNS && ' phone'}">${columns.length} columns: scroll sideways to see them all</p>`
  return markup`${hint}<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table>
<thead><tr>${columns.map(column => printHead(column, view))}</tr></thead>
<tbody>${items.map(item => markup`<tr>${columns.map(column => printCell(column, item, view))}</tr>\n`)}</tbody>
</table></div>`
}

/** The numbers of columns that fit on most screens, and on a phone. */
const MANY_COLUMNS = 8
const MANY_ON_PHONES = 3

function printHead({ name, field }: ListColumn, view: PageView): Markup {
  const isSortable = view.fields?.has(name.split('.', 1)[0] ?? '') && !invalidSortReason(field)
  if (field.accept || !isSortable) return markup`<th scope="col">${name}</th>`
  const wanted = parseSort(view.parameters.find(each => each.name === 'sort')?.value ?? '')
  const [first] = wanted.length > 0 ? wanted : view.sort
  const sorted = first?.path.join('.') === name ? (first.descending ? 'down' : 'up') : undefined
  const kept = view.parameters.filter(each => isKept(each) && each.name !== 'sort')
  const next = printSort([{ path: name.split('.'), descending: sorted === 'up' }])
  const query = [...kept.map(({ raw: pair }) => pair), printParameters([['sort', next]])].join('&')
  const aria = { up: 'ascending', down: 'descending' }
  return markup`<th scope="col"${sorted && markup` aria-sort="${aria[sorted]}"`}${isNumeric(field) && !view.choices.has(name) && raw(' class="number"')}><a href="${`${view.href}?${query}`}">${name}${sorted && markup`<span class="${sorted}" aria-hidden="true"></span>`}</a></th>`
}

function isNumeric({ kind }: Field): boolean {
  return kind === 'number' || kind === 'integer'
}

function printCell({ name, path, field }: ListColumn, item: Item, view: PageView): Markup {
  const value = getValue(item, path) ?? null
  if (Array.isArray(value) && value.some(isObject))
    return markup`<td data-label="${name}"><details><summary>${value.length}</summary>${printValue(value, field)}</details></td>`
  const kind = isNumeric(field) && !view.choices.has(name) && raw(' class="number"')
  const link = path.length === 1 ? view.findLink : undefined
  return markup`<td data-label="${name}"${kind}>${printValue(value, field, name, link)}</td>`
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

export function printSearch({ search, parameters }: PageView): Markup | undefined {
  if (search === undefined) return undefined
  const q = parameters.find(({ name }) => name === 'q')?.value ?? ''
  return markup`<form class="search" method="get" action="${search}" role="search"><label for="q" class="hidden">Search</label><input type="search" id="q" name="q" value="${q}" placeholder="Search"><button>Search</button></form>`
}

/** The controls of one field in the filter form; two parameters are a range. */
interface FilterControl {
  readonly label: string
  readonly parameters: readonly string[]
  readonly type: 'text' | 'number' | 'date' | 'datetime-local'
  readonly choices?: ReadonlyMap<string, string>
  readonly parents?: FieldChoices | undefined
  readonly hint?: string
}

/** Lists the controls of the filter form. */
function listFilters(view: PageView): FilterControl[] {
  return listColumns(view.fields ?? new Map()).flatMap(
    ({ name: label, path, field }): FilterControl[] => {
      const named = path.length === 1 && view.findLink(label, field.kind === 'integer' ? 1 : 'x')
      if (field.accept || !isFilterable(field) || (field.serverOwned && named)) return []
      if (label === view.createdAt) return [{ label, parameters: ['since', 'until'], type: 'date' }]
      const name = RESERVED.has(label) ? `filter[${label}]` : label
      const choices = listChoices(field.element ?? field)
      if (choices) return [{ label, parameters: [name], type: 'text', choices }]
      if (field.kind === 'array' || named)
        return [{ label, parameters: [name], type: 'text', parents: view.choices.get(label) }]
      const type = RANGES.get(field.kind)
      if (type) return [{ label, parameters: [`${name}[gte]`, `${name}[lte]`], type }]
      return [{ label, parameters: [`${name}[like]`], type: 'text', hint: '* stands for anything' }]
    },
  )
}

const RANGES: ReadonlyMap<Field['kind'], 'number' | 'date' | 'datetime-local'> = new Map([
  ['number', 'number'],
  ['integer', 'number'],
  ['date', 'date'],
  ['date-time', 'datetime-local'],
])

/** The values that an input of a type can show; others get a text input. */
const SHOWABLE: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'datetime-local': /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/,
  number: /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i,
}

/** Prints a form with a control for every comparable field. */
export function printFilters(view: PageView, errors: readonly ErrorEntry[] = []): Markup {
  const { parameters, href } = view
  const all = listFilters(view)
  const controls = new Set([...all.flatMap(({ parameters: names }) => names), 'limit'])
  const isFirst = (each: Parameter) => parameters.find(({ name }) => name === each.name) === each
  // Parameters without a control stay in force, unless they are wrong.
  const others = parameters.filter(
    each =>
      isKept(each) &&
      !(controls.has(each.name) && isFirst(each)) &&
      !errors.some(({ field }) => field === each.name || field?.startsWith(`${each.name}.`)),
  )
  const focus = [...controls].find(name => errors.some(({ field }) => field === name))
  const limit = parameters.find(({ name }) => name === 'limit')?.value ?? ''
  const filters = describeFilters(view)
  return markup`<details class="filters"${errors.length > 0 && raw(' open')}><summary>Filter${filters !== '' && `: ${filters}`}</summary>
<form method="get" action="${href}" autocomplete="off"><div class="fields">${all.map(each => printFilter(each, view, errors, focus))}
<div class="field"><label for="filter-limit">Items per page</label><input type="number" min="1" id="filter-limit" name="limit" value="${limit}"></div></div>
${others.map(({ name, value }) => hidden(name, value))}
<p><button>Filter</button> <a class="button plain" href="${href}">Clear</a></p></form></details>`
}

/** Parameters that select items but are not fields. */
const BOUNDS: ReadonlySet<string> = new Set(['since', 'until', 'since_id', 'max_id'])

/** Describes the filters of the list: `color = red, price[lte] = 10`. */
function describeFilters({ parameters, kind }: PageView): string {
  const isFilter = ({ name }: Parameter) =>
    BOUNDS.has(name) ||
    !(
      RESERVED.has(name) ||
      (kind === 'search' && name === 'q') ||
      (kind === 'count' && isGroupParameter(name))
    )
  const filters = parameters.filter(isFilter)
  return filters.map(({ name, value }) => `${name} = ${value}`).join(', ')
}

function printFilter(
  { label, parameters, type, choices, parents, hint }: FilterControl,
  view: PageView,
  errors: readonly ErrorEntry[],
  focus: string | undefined,
): Markup {
  const issues = errors.filter(({ field }) => field !== undefined && parameters.includes(field))
  const [first = label] = parameters
  const id = controlId('filter', first)
  const inputs = parameters.map((parameter, at) => {
    const value = view.parameters.find(({ name }) => name === parameter)?.value ?? ''
    const invalid = errors.some(({ field }) => field === parameter)
    const range = parameters.length > 1 && ['from', 'to'][at]
    const attributes = markup` id="${controlId('filter', parameter)}" name="${parameter}"${range && markup` aria-label="${label} ${range}" title="${range}${type === 'datetime-local' && ' (UTC)'}"`}${invalid && markup` aria-invalid="true" aria-describedby="${id}-issue"`}${parameter === focus && raw(' autofocus')}`
    if (choices) return printSelect(choices, value, attributes)
    if (parents) return printParentInput(parents, value, attributes, id)
    const shown = value === '' || (SHOWABLE[type]?.test(value) ?? true) ? type : 'text'
    return markup`<input type="${shown}"${shown === 'number' && raw(' step="any"')} value="${value}" placeholder="${range || hint}"${attributes}>`
  })
  const message = printIssues(id, issues)
  return parameters.length === 1
    ? markup`<div class="field"><label for="${id}">${label}</label>${inputs}${message}</div>`
    : markup`<div class="field" role="group" aria-label="${label}"><span class="group">${label}${type !== 'number' && markup` <span class="hint">from – to${type === 'datetime-local' && ', UTC'}</span>`}</span><div class="pair">${inputs}</div>${message}</div>`
}
