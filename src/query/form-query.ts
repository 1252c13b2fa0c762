// The query of a page's form: a browser sends every control, blank ones too, and no control can name another.

import { type Parameter, printParameters } from '../http/parameters.ts'

/** Ends the name of a control that names the operator of another: `color[op]=ne&color=red` is `color[ne]=red`. */
export const OPERATOR_CONTROL = '[op]'

/** Says that a field has no value. */
export const NO_VALUE = 'none'

/** Says that a value is searched for: it is one of the words of `q`. */
export const SEARCH = 'search'

/** The name of the controls for columns, as `fields[]=id&fields[]=color` is `fields=id,color`. */
export const COLUMN_CONTROL = 'fields[]'

/** What a form means: the query of a list, or of the search in it. */
interface FormQuery {
  readonly query: string
  readonly isSearch: boolean
}

/** Finds what a form means; `undefined` where that is what was sent. */
export function tidyQuery(sent: readonly Parameter[]): FormQuery | undefined {
  const operators = new Map(
    sent.flatMap(({ name, value }) =>
      name.endsWith(OPERATOR_CONTROL) ? [[name.slice(0, -OPERATOR_CONTROL.length), value]] : [],
    ),
  )
  const columns = sent.filter(({ name }) => name === COLUMN_CONTROL).map(({ value }) => value)
  if (operators.size === 0 && columns.length === 0 && sent.every(({ value }) => value !== ''))
    return undefined
  const isWord = ({ name, value }: Parameter) => operators.get(name) === SEARCH && value !== ''
  const isSearch = sent.some(isWord)
  const words = sent.filter(each => isWord(each) || (isSearch && each.name === 'q'))
  const kept = sent.flatMap(each => {
    const { name, value, raw } = each
    const isControl = name.endsWith(OPERATOR_CONTROL) || name === COLUMN_CONTROL
    if (isControl || value === '' || operators.get(name) === NO_VALUE || words.includes(each))
      return []
    const operator = operators.get(name) ?? ''
    return operator === '' || operator === 'eq' ? [raw] : [printFilter(name, operator, value)]
  })
  const absent = [...operators].flatMap(([name, operator]) =>
    operator === NO_VALUE ? [printFilter(name, 'exists', 'false')] : [],
  )
  const chosen = columns.length > 0 ? [printParameters([['fields', columns.join(',')]])] : []
  const text = words.map(({ value }) => value).join(' ')
  const searched = isSearch ? [printParameters([['q', text]])] : []
  return { query: [...searched, ...kept, ...absent, ...chosen].join('&'), isSearch }
}

/** A pattern without a `*` would be the whole text. */
function printFilter(name: string, operator: string, value: string): string {
  const isPart = operator === 'like' && !value.includes('*')
  return printParameters([[`${name}[${operator}]`, isPart ? `*${value}*` : value]])
}
