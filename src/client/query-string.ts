// Query strings: `{ price: { gte: 10 }, model: { name: { prefix: 'Cl' } } }` → `price[gte]=10&model.name[prefix]=Cl`.

/** The operators; `in` and `nin` take one text of values that are separated by commas. */
const OPERATORS = /^(eq|ne|n?in|[gl]te?|like|prefix|exists)$/
const LISTS = /^n?in$/
const PARAMETERS = /^(sort|fields|include|limit|offset|cursor|until|since(_id)?|max_id)$/
const NAMED = /^(by|sum|avg|min|max)$/

/** What a list is of: the names of the collection and of its id. */
interface Listed {
  readonly name: string
  readonly id: string
}

/**
 * Prints parameters and filters as a query string, with the `?`; empty where there are none. An object whose
 * keys are all operators is a condition; any other object holds conditions of its properties. `where` holds
 * filters for fields whose names are parameters.
 * @param listed absent for the input of an action: no property of it is a filter.
 * @param words what is searched for.
 * @param counts whether `by`, and sums beside it, name the groups of a count; filters of such fields stand in `where`.
 * @throws TypeError for a value that is no filter, with the message of a call in process.
 */
export function printQuery(
  query: object,
  listed?: Listed,
  words?: string,
  counts?: boolean,
): string {
  const parameters = new URLSearchParams()
  const seen = new Set<string>()
  const add = (path: string, name: string, operator: string, value: unknown): void => {
    const key = operator === 'eq' ? name : `${name}[${operator}]`
    // A repeated parameter would mean either value.
    if (listed && seen.has(path + operator))
      throw new TypeError(
        `${listed.name}: the filter ${path} stands there twice. Write { and: [{ … }, { … }] } where both must match`,
      )
    seen.add(path + operator)
    const values = [value].flat().map(toPlain)
    const texts = values.flatMap(each => {
      if (!listed && each === undefined) return []
      if (!listed || /^(str|num|boo)/.test(typeof each)) return `${each}`
      throw notFilter(listed, path, each)
    })
    const isOne = texts.length > 0 && LISTS.test(operator)
    for (const text of isOne ? [texts.map(quote).join()] : texts) parameters.append(key, text)
    // Every item has an id: this matches nothing.
    if (listed && texts.length === 0 && operator[0] !== 'n')
      parameters.set(`${listed.id}[exists]`, 'false')
  }
  const walk = (path: string, value: unknown, isReserved?: boolean): void => {
    const entries = isObject(value) ? Object.entries(value) : []
    const isCondition = listed && entries.every(([key]) => isOperator(key))
    const name = isReserved ? `filter[${path}]` : path
    // An object without keys is a date, or no filter.
    if (entries.length === 0) add(path, name, 'eq', value)
    for (const [key, each] of entries) {
      if (isCondition && isOperator(key)) add(path, name, key, each)
      else walk(`${path}.${key}`, each, isReserved)
    }
  }
  let groups: PrintedGroups | undefined
  /** Takes a group of filters; a field of such a name has other values. */
  const takeGroup = (name: string, value: unknown) => {
    if (!listed || !(isGroup(name, value) || hasGroups(value))) return false
    const group = { [name]: value }
    groups = groups && name in groups ? { and: [groups, group] } : { ...groups, ...group }
    return true
  }
  for (const [name, value] of Object.entries(query)) {
    if (listed && name === 'where') {
      for (const [field, each] of Object.entries(value ?? {}))
        if (!takeGroup(field, each)) walk(field, each, true)
    } else if (takeGroup(name, value)) continue
    else if (counts && 'by' in query && NAMED.test(name) && !isObject(value)) {
      // Beside a filter of a field with such a name. Of no names it is an empty text.
      if (value !== undefined) add(`?${name}`, name, 'eq', `${value}` ? value : '')
    } else if (!listed || !PARAMETERS.test(name)) walk(name, value)
    else if (value !== undefined)
      parameters.set(
        name === 'cursor' && /^\d+$/.test(`${value}`) ? 'offset' : name,
        String(toPlain(value)),
      )
  }
  if (groups && listed) parameters.set('where', printGroups(groups, listed))
  if (words !== undefined) parameters.set('q', words)
  return `${parameters}` && `?${parameters}`
}

function notFilter({ name }: Listed, path: string, value: unknown): TypeError {
  return new TypeError(
    `${name}: the filter ${path} must be a text, number, boolean, date or list of them, not ${String(value)}. Leave it out, or write { exists: false }`,
  )
}

type PrintedGroups = Readonly<Record<string, unknown>>

/** Whether a value is a group of filters, and not a filter of a field with such a name. */
function isGroup(name: string, value: unknown): boolean {
  if (name === 'not') return isObject(value) && !Object.keys(value).every(isOperator)
  return /^(or|and)$/.test(name) && Array.isArray(value) && value.every(isObject)
}

/** Whether filters of related items have groups: only `where` says those. */
function hasGroups(value: unknown): boolean {
  const entries = isObject(value) ? Object.entries(value) : []
  return entries.some(([name, each]) => isGroup(name, each) || hasGroups(each))
}

/** @throws TypeError for a value that JSON would leave out: the filter would match more. */
function printGroups(groups: PrintedGroups, listed: Listed): string {
  return JSON.stringify(groups, (name, value) => {
    if (value === undefined) throw notFilter(listed, name, value)
    return value
  })
}

const isOperator = (word: string) => OPERATORS.test(word)
const quote = (text: string) => text.replace(/[\\,]/g, '\\$&')

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Prints a date as its ISO text, as JSON does; other values stay, an invalid date too. */
function toPlain(value: unknown): unknown {
  return (value as Partial<Pick<Date, 'toJSON'>> | null | undefined)?.toJSON?.() ?? value
}
