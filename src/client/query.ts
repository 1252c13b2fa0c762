// Query strings: `{ price: { gte: 10 }, model: { name: { prefix: 'Cl' } } }` → `price[gte]=10&model.name[prefix]=Cl`.

const OPERATORS = /^(?:eq|ne|gte?|lte?|n?in|like|prefix|exists)$/

/**
 * Prints parameters and filters as a query string, with the `?`; empty where there are none. An object whose
 * keys are all operators is a condition; any other object holds conditions of its properties.
 * @param id the name of the id. An empty list becomes a filter for items without an id: it matches nothing.
 * @param where filters for fields whose names are parameters.
 */
export function printQuery(query: object, id: string, where?: unknown): string {
  const parameters = new URLSearchParams()
  const add = (path: string, value: unknown, name = path, operator = ''): void => {
    if (Array.isArray(value)) {
      const joined = /^n?in$/.test(operator)
      if (name === 'sort' || name === 'fields') parameters.set(name, value.join())
      else if (value.length === 0) operator === 'nin' || parameters.set(`${id}[exists]`, 'false')
      else if (joined) addText(value.map(each => `${each}`.replace(/[\\,]/g, '\\$&')).join())
      else value.forEach(addText)
    } else if (value && typeof value === 'object') {
      const entries = Object.entries(value)
      const isCondition = entries.every(([key]) => OPERATORS.test(key))
      for (const [key, each] of entries) {
        if (isCondition) add(path, each, name, key)
        else add(`${path}.${key}`, each, name === path ? undefined : `filter[${path}.${key}]`)
      }
    } else if (value !== undefined) addText(value)

    function addText(text: unknown): void {
      parameters.append(operator ? `${name}[${operator}]` : name, `${text}`)
    }
  }
  for (const [name, value] of Object.entries(query)) add(name, value)
  for (const [name, value] of Object.entries(where ?? {})) add(name, value, `filter[${name}]`)
  return parameters.size > 0 ? `?${parameters}` : ''
}
