// Remembers the last call of a store, for the message of a case that fails.
import { inspect } from 'node:util'
import type { Store } from '../store/store.ts'

/** The maximum of characters of a call, and of its result, in a message. */
const MAX_SHOWN = 1000

const METHODS =
  'attach relate open find list count countBy stream write listEach claim renew complete transaction take'.split(
    ' ',
  )

/**
 * Replaces the methods of a store by recording ones. The object stays the same: transactions and `within`
 * filters know a store by it.
 * @returns a function that adds the last call to the message of an error.
 */
export function recordCalls(store: Store): (error: unknown) => unknown {
  let describeLast = () => ''
  for (const name of METHODS) {
    const method: unknown = Reflect.get(store, name)
    if (typeof method !== 'function') continue
    const call = (...parameters: readonly unknown[]) => {
      const record = (outcome: string, value: unknown) => {
        describeLast = () => {
          const shown = cut(`store.${name}(${parameters.map(show).join(', ')})`)
          return `\n\nThe last call: ${shown}\nIt ${outcome}: ${cut(show(value))}`
        }
      }
      const succeed = (value: unknown) => {
        record('returned', value)
        return value
      }
      const fail = (error: unknown) => {
        record('threw', error)
        throw error
      }
      try {
        const result: unknown = method.apply(store, parameters)
        succeed(result)
        return result instanceof Promise ? result.then(succeed, fail) : result
      } catch (error) {
        return fail(error)
      }
    }
    Object.assign(store, { [name]: call })
  }
  return error => {
    if (error instanceof Error) error.message += describeLast()
    return error
  }
}

function show(value: unknown): string {
  return value instanceof Error ? String(value) : inspect(value, { depth: 5, breakLength: 100 })
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} …` : text
}
