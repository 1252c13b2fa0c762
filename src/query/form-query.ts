// The query of a page's form: a browser sends every control, blank ones too, and no control can name another.

import { type Parameter, printParameters } from '../http/parameters.ts'

/** Ends the name of a control that names the operator of another: `color[op]=ne&color=red` is `color[ne]=red`. */
export const OPERATOR_CONTROL = '[op]'

/** Says that a field has no value. */
export const NO_VALUE = 'none'

/** The name of the controls for columns, as `fields[]=id&fields[]=color` is `fields=id,color`. */
export const COLUMN_CONTROL = 'fields[]'

/** Finds what a form means, as the query of a list; `undefined` where that is what was sent. */
export function tidyQuery(sent: readonly Parameter[]): string | undefined {
  const operators = new Map(
    sent.flatMap(({ name, value }) =>
      name.endsWith(OPERATOR_CONTROL) ? [[name.slice(0, -OPERATOR_CONTROL.length), value]] : [],
    ),
  )
  const columns = sent.filter(({ name }) => name === COLUMN_CONTROL).map(({ value }) => value)
  if (operators.size === 0 && columns.length === 0 && sent.every(({ value }) => value !== ''))
    return undefined
  const kept = sent.flatMap(({ name, value, raw }) => {
    const isControl = name.endsWith(OPERATOR_CONTROL) || name === COLUMN_CONTROL
    if (isControl || value === '' || operators.get(name) === NO_VALUE) return []
    const operator = operators.get(name) ?? ''
    return operator === '' || operator === 'eq' ? [raw] : [printFilter(name, operator, value)]
  })
  const absent = [...operators].flatMap(([name, operator]) =>
    operator === NO_VALUE ? [printFilter(name, 'exists', 'false')] : [],
  )
  const chosen = columns.length > 0 ? [printParameters([['fields', columns.join(',')]])] : []
  return [...kept, ...absent, ...chosen].join('&')
}

/** A pattern without a `*` would be the whole text. */
function printFilter(name: string, operator: string, value: string): string {
  const isPart = operator === 'like' && !value.includes('*')
  return printParameters([[`${name}[${operator}]`, isPart ? `*${value}*` : value]])
}
