// Query strings: `{ price: { gte: 10 }, model: { name: { prefix: 'Cl' } } }` → `price[gte]=10&model.name[prefix]=Cl`.

/** The operators; `in` and `nin` take one text of values that are separated by commas. */
const OPERATORS = /^(eq|ne|n?in|[gl]te?|like|prefix|exists)$/
const GROUPS = /^(or|and|not)$/
const PARAMETERS = /^(sort|fields|include|limit|offset|cursor|until|since(_id)?|max_id)$/

/** What a list is of: the name of the collection. */
interface Listed {
  readonly name: string
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
  let groups: Readonly<Record<string, unknown>> | undefined

  const notFilter = (path: string, value: unknown) =>
    new TypeError(
      `${listed?.name}: ${path} must be a value, list or object of filters, not ${value}. Leave it out, or write { exists: false }`,
    )

  const addGroup = (name: string, value: unknown): void => {
    const group = { [name]: value }
    groups = groups && name in groups ? { and: [groups, group] } : { ...groups, ...group }
  }

  const add = (path: string, name: string, operator: string, value: unknown) => {
    const key = operator === 'eq' ? name : `${name}[${operator}]`
    const values = [value].flat().map(toPlain)
    if (listed) {
      // A string, a number or a boolean.
      for (const each of values) if (!/^(st|nu|bo)/.test(typeof each)) throw notFilter(path, each)
      // Only `where` says a list of no values, and a filter that is given twice: a repeated parameter would mean either.
      const filter = path + operator
      if (!values.length || seen.has(filter)) return addGroup(path, { [operator]: value })
      seen.add(filter)
    }
    if (operator.endsWith('in'))
      parameters.append(key, values.map(each => `${each}`.replace(/[\\,]/g, '\\$&')).join())
    else for (const each of values) parameters.append(key, `${each}`)
  }

  const walk = (path: string, value: unknown, isReserved?: boolean): void => {
    const entries = isObject(value) ? Object.entries(value) : []
    const isCondition = listed && entries.every(([key]) => OPERATORS.test(key))
    const name = isReserved ? `filter[${path}]` : path
    // An object without keys is a date, or no filter.
    if (!entries.length) add(path, name, 'eq', value)
    for (const [key, each] of entries)
      if (isCondition) add(path, name, key, each)
      else walk(`${path}.${key}`, each, isReserved)
  }

  const filter = (name: string, value: unknown, isReserved?: boolean): void => {
    if (!listed || !hasGroups({ [name]: value })) walk(name, value, isReserved)
    else addGroup(name, value)
  }

  for (const [name, value] of Object.entries(query)) {
    const isParameter =
      listed &&
      (PARAMETERS.test(name) ||
        // Beside a filter of a field with such a name.
        (counts && 'by' in query && /^(by|sum|avg|min|max)$/.test(name) && !isObject(value)))
    if (listed && name === 'where')
      for (const [field, each] of Object.entries(Object(value))) filter(field, each, true)
    else if (!isParameter) filter(name, value)
    else if (value !== undefined)
      parameters.set(
        name === 'cursor' && /^\d+$/.test(`${value}`) ? 'offset' : name,
        String(toPlain(value)),
      )
  }
  if (groups)
    parameters.set(
      'where',
      JSON.stringify(groups, (name, value) => {
        // JSON would leave it out: the filter would match more.
        if (value === undefined) throw notFilter(name, value)
        return value
      }),
    )
  if (words !== undefined) parameters.set('q', words)
  return `${parameters}` && `?${parameters}`
}

/** Whether filters have groups: only `where` says those. The server knows whether it is a field of such a name. */
const hasGroups = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).some(([name, each]) => GROUPS.test(name) || hasGroups(each))

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return !Array.isArray(value) && Object(value) === value
}

/** Prints a date as its ISO text, as JSON does; other values stay, an invalid date too. */
function toPlain(value: unknown): unknown {
  return (value as Partial<Pick<Date, 'toJSON'>> | null | undefined)?.toJSON?.() ?? value
}
