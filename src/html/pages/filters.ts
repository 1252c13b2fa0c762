// The forms of a list's page: filters, with the operators that people know, and the choice of columns.

import type { ErrorEntry } from '../../errors.ts'
import type { Parameter } from '../../http/parameters.ts'
import { COLUMN_CONTROL, NO_VALUE, OPERATOR_CONTROL, SEARCH } from '../../query/form-query.ts'
import { isGroupParameter } from '../../query/groups.ts'
import { BOUNDS, RESERVED } from '../../query/list-parameters.ts'
import { type Field, isFilterable } from '../../schema/fields.ts'
import { listOperators, type OperatorWord } from '../../store/operators.ts'
import { type Markup, markup, raw } from '../markup/markup.ts'
import {
  controlId,
  hidden,
  INSTANT,
  INSTANT_HINT,
  listChoices,
  printField,
  printIssues,
  printParentInput,
  printSelect,
} from './form.ts'
import { isReachable } from './form-state.ts'
import { isKept, listColumns } from './list.ts'
import type { FieldChoices, PageView } from './page-view.ts'

/** The controls of one field in the filter form; two inputs are a range. */
interface FilterControl {
  readonly label: string
  readonly inputs: readonly FilterInput[]
  readonly type: 'text' | 'number' | 'date' | 'date-time'
  readonly choices?: ReadonlyMap<string, string> | undefined
  readonly parents?: FieldChoices | undefined
  /** What a select offers to compare by, and what is chosen there. */
  readonly operators?: ReadonlyMap<string, string>
  readonly operator?: string
}

interface FilterInput {
  readonly name: string
  /** The name of the parameter that it shows: without an operator beside it that of the input. */
  readonly parameter: string
  readonly value: string
}

/** Lists the columns that a parameter can name. */
function listNamed({ fields = new Map() }: PageView) {
  return listColumns(fields).filter(({ path }) => path.every(isReachable))
}

/** Lists the controls of the filter form. */
function listFilters(view: PageView): FilterControl[] {
  const show = (parameter: string): FilterInput => {
    const value = view.parameters.find(({ name }) => name === parameter)?.value ?? ''
    return { name: parameter, parameter, value }
  }
  return listNamed(view).flatMap(({ name: label, path, title, field }): FilterControl[] => {
    const named = path.length === 1 && view.findLink(label, field.kind === 'integer' ? 1 : 'x')
    if (field.accept || !isFilterable(field) || (field.serverOwned && named)) return []
    if (label === view.createdAt)
      return [{ label: title, inputs: ['since', 'until'].map(show), type: 'date-time' }]
    const name = RESERVED.has(label) ? `filter[${label}]` : label
    const type = RANGES.get(field.kind)
    const choices = listChoices(field.element ?? field)
    if (type && !choices && !named)
      return [{ label: title, inputs: [`${name}[gte]`, `${name}[lte]`].map(show), type }]
    const parents = view.choices.get(label)
    const isText = !choices && !named && field.kind !== 'array'
    const search = isText ? nameSearch(label, view) : []
    const compared = compareBy(name, new Map([...search, ...listWords(field, isText)]), view)
    return [{ label: title, type: 'text', choices, parents, ...compared }]
  })
}

/** Names the search of a list for a field that is searched: it finds words in the other searched fields too. */
function nameSearch(label: string, { searched }: PageView): readonly (readonly [string, string])[] {
  if (!searched.includes(label)) return []
  const others = searched.filter(name => name !== label)
  return [[SEARCH, others.length === 0 ? 'contains' : `contains, here or in ${others.join(', ')}`]]
}

/** Lists the operators that a field permits, as people say them. */
function listWords(field: Field, isText: boolean): ReadonlyMap<string, string> {
  if (field.kind === 'array' || field.kind === 'boolean') return new Map([['eq', 'is']])
  const permitted = new Map(listOperators(field).map(word => [word, WORDS[word]]))
  const words = isText ? (['like', 'prefix', 'eq', 'ne'] as const) : (['eq', 'ne'] as const)
  const pairs = words.map(word => [word, permitted.get(word) ?? ''] as const)
  const absent = field.optional || field.nullable ? ([[NO_VALUE, 'is empty']] as const) : []
  return new Map([...pairs.filter(([, text]) => text !== ''), ...absent])
}

const WORDS: Partial<Readonly<Record<OperatorWord, string>>> = {
  like: 'contains, as written',
  prefix: 'begins with',
  eq: 'is',
  ne: 'is not',
}

/** Finds what an input shows beside a select of operators. */
function compareBy(name: string, operators: ReadonlyMap<string, string>, view: PageView) {
  const found = [...operators.keys()].flatMap(operator => {
    const parameter = operator === 'eq' ? name : `${name}[${operator}]`
    const absent = operator === NO_VALUE ? `${name}[exists]` : undefined
    return view.parameters.flatMap(({ name: sent, value }) => {
      if (sent === parameter) return [{ operator, parameter, value: toPart(operator, value) }]
      const isAbsent = sent === absent && value === 'false'
      return isAbsent ? [{ operator, parameter: sent, value: '' }] : []
    })
  })
  const [first = { operator: [...operators.keys()][0] ?? 'eq', parameter: name, value: '' }] = found
  const { operator, ...shown } = first
  return { operators, operator, inputs: [{ name, ...shown }] }
}

/** A pattern as `tidyQuery` makes it of a part. */
function toPart(operator: string, value: string): string {
  return operator === 'like' ? value.replace(/^\*([^*]*)\*$/, '$1') : value
}

const RANGES: ReadonlyMap<Field['kind'], 'number' | 'date' | 'date-time'> = new Map([
  ['number', 'number'],
  ['integer', 'number'],
  ['date', 'date'],
  ['date-time', 'date-time'],
])

/** The values that an input of a type can show; others get a text input. */
const SHOWABLE: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d\d-\d\d$/,
  number: /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i,
}

/** Prints a form with a control for every comparable field. */
export function printFilters(view: PageView, errors: readonly ErrorEntry[] = []): Markup {
  const { parameters, href } = view
  const all = listFilters(view)
  const shown = new Set([
    ...all.flatMap(({ inputs }) => inputs.map(({ parameter }) => parameter)),
    'limit',
  ])
  const isFirst = (each: Parameter) => parameters.find(({ name }) => name === each.name) === each
  // Parameters without a control stay in force, unless they are wrong.
  const others = parameters.filter(
    each =>
      isKept(each) &&
      !(shown.has(each.name) && isFirst(each)) &&
      !errors.some(({ field }) => field === each.name || field?.startsWith(`${each.name}.`)),
  )
  const focus = [...shown].find(name => errors.some(({ field }) => field === name))
  const limit = parameters.find(({ name }) => name === 'limit')?.value ?? ''
  const filters = describeFilters(view)
  return markup`<details class="filters"${errors.length > 0 && raw(' open')}><summary>Filter${filters !== '' && `: ${filters}`}</summary>
<form method="get" action="${href}" autocomplete="off"><div class="fields">${all.map(each => printFilter(each, errors, focus))}
${printField('filter-limit', 'Items per page', markup`<input type="number" min="1" id="filter-limit" name="limit" value="${limit}">`)}</div>
${others.map(({ name, value }) => hidden(name, value))}
<p><button>Filter</button> <a class="button plain" href="${href}">Clear</a></p></form></details>`
}

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
  { label, inputs, type, choices, parents, operators, operator = '' }: FilterControl,
  errors: readonly ErrorEntry[],
  focus: string | undefined,
): Markup {
  const isWrong = ({ parameter }: FilterInput) => errors.some(({ field }) => field === parameter)
  const issues = errors.filter(({ field }) => inputs.some(({ parameter }) => field === parameter))
  const id = controlId('filter', inputs[0]?.name ?? label)
  const controls = inputs.map((input, at) => {
    const { name, parameter, value } = input
    const range = inputs.length > 1 && ['from', 'to'][at]
    const attributes = markup` id="${controlId('filter', name)}" name="${name}"${range && markup` aria-label="${label} ${range}" title="${range}"`}${isWrong(input) && markup` aria-invalid="true" aria-describedby="${id}-issue"`}${parameter === focus && raw(' autofocus')}`
    if (choices) return printSelect(choices, value, attributes)
    if (parents) return markup`<div>${printParentInput(parents, value, attributes, id)}</div>`
    const shown = value === '' || (SHOWABLE[type]?.test(value) ?? true) ? type : 'text'
    if (shown === 'date-time') return markup`<input${INSTANT} value="${value}"${attributes}>`
    return markup`<input type="${shown}"${shown === 'number' && raw(' step="any"')} value="${value}"${range && markup` placeholder="${range}"`}${attributes}>`
  })
  const message = printIssues(id, issues)
  if (inputs.length > 1)
    return markup`<div class="field" role="group" aria-label="${label}"><span class="group">${label}${type !== 'number' && markup` <span class="hint">from – to${type === 'date-time' && `: a day, or a date and time, ${INSTANT_HINT}`}</span>`}</span><div class="pair">${controls}</div>${message}</div>`
  const compared =
    operators !== undefined &&
    operators.size > 1 &&
    markup`<select class="operator" name="${`${inputs[0]?.name}${OPERATOR_CONTROL}`}" aria-label="${label}: how to compare">${[...operators].map(([value = '', text]) => markup`<option value="${value}"${value === operator && raw(' selected')}>${text}</option>`)}</select>`
  return printField(id, label, markup`<div class="pair">${compared}${controls}</div>${message}`)
}

/** Prints a form that chooses the columns of the table: without any `fields` of the query all of them. */
export function printColumns(view: PageView): Markup | undefined {
  const { parameters, href, id } = view
  const names = listNamed(view).map(({ name }) => name)
  const choices = names.filter(name => name !== id)
  if (choices.length < 2) return undefined
  const wanted = parameters.flatMap(({ name, value }) =>
    name === 'fields' ? value.split(',') : [],
  )
  const isShown = (name: string) =>
    wanted.length === 0 || wanted.some(each => name === each || name.startsWith(`${each}.`))
  const shown = choices.filter(isShown)
  const others = parameters.filter(({ name }) => name !== 'fields')
  const all = others.map(({ raw: pair }) => pair).join('&')
  // What has no box here stays: the properties of what is included.
  const unlisted = wanted.filter(
    each => !choices.some(name => name === each || name.startsWith(`${each}.`)),
  )
  return markup`<details class="columns"><summary>Columns${shown.length < choices.length && `: ${shown.length} of ${choices.length}`}</summary>
<form method="get" action="${href}" autocomplete="off">${others.map(({ name, value }) => hidden(name, value))}${[...new Set([id, ...unlisted])].map(name => name !== undefined && hidden(COLUMN_CONTROL, name))}
<div class="checks">${choices.map(name => markup`<label><input type="checkbox" name="${COLUMN_CONTROL}" value="${name}"${isShown(name) && raw(' checked')}> ${name}</label>`)}</div>
<p><button>Show</button> <a class="button plain" href="${all === '' ? href : `${href}?${all}`}">All</a></p></form></details>`
}
