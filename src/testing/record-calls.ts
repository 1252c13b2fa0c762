// Remembers the last call of a store, for the message of a case that fails.
import { inspect } from 'node:util'
import type { Filter, Selection } from '../store/selection.ts'
import type { Store } from '../store/store.ts'

/** The maximum of characters of a call, and of its result, in a message. */
const MAX_SHOWN = 1000

/** Returns the same store, and a function that adds its last call to the message of an error. */
export function recordCalls(original: Store): {
  store: Store
  explain: (error: unknown) => unknown
} {
  let last = () => ''

  function record(name: string, given: readonly unknown[], outcome: string, value?: unknown) {
    last = () => {
      const call = `store.${name}(${given.map(show).join(', ')})`
      return `\n\nThe last call: ${cut(call)}\nIt ${outcome}: ${cut(show(value))}`
    }
  }

  function call(name: string, method: (...given: unknown[]) => unknown, given: unknown[]): unknown {
    let result: unknown
    try {
      result = method.apply(original, given)
    } catch (error) {
      record(name, given, 'threw', error)
      throw error
    }
    record(name, given, 'returned', result)
    if (!(result instanceof Promise)) return result
    return result.then(
      value => {
        record(name, given, 'returned', value)
        return value
      },
      error => {
        record(name, given, 'threw', error)
        throw error
      },
    )
  }

  const store: Store = new Proxy(original, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      // The methods of a store take and give anything here.
      const method = value as (...given: unknown[]) => unknown
      return (...given: unknown[]) => call(String(name), method, given.map(unwrap))
    },
  })

  /** A transaction takes the stores themselves. */
  function unwrap(given: unknown): unknown {
    if (Array.isArray(given)) return given.map(each => (each === store ? original : each))
    if (!isSelection(given) || !given.where.some(({ operator }) => operator === 'within'))
      return given
    return { ...given, where: given.where.map(unwrapFilter) }
  }

  /** Filters too take the stores themselves. */
  function unwrapFilter(filter: Filter): Filter {
    if (filter.operator !== 'within') return filter
    const { within } = filter
    const where = within.where.map(unwrapFilter)
    const given = within.store === store ? original : within.store
    return { ...filter, within: { ...within, store: given, where } }
  }

  return {
    store,
    explain(error) {
      if (error instanceof Error) error.message += last()
      return error
    },
  }
}

function isSelection(given: unknown): given is Pick<Selection, 'where'> {
  return (
    typeof given === 'object' && given !== null && 'where' in given && Array.isArray(given.where)
  )
}

function show(value: unknown): string {
  return value instanceof Error ? String(value) : inspect(value, { depth: 5, breakLength: 100 })
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} …` : text
}
