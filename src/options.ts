// The options of a declaration: a name that is none, or a value of another kind, is a TypeError. The
// types say the same; it is told here to who writes JavaScript.
import { isFieldName, suggestion } from './errors.ts'
import { isObject } from './schema/values.ts'

/** What an option must be. */
export interface Rule {
  /** In words that stand behind "must be". */
  readonly wanted: string
  readonly fits: (value: unknown) => boolean
  /** Whether it must be given. Default false. */
  readonly needed?: boolean
}

/** A rule for each option: none can be forgotten. */
export type Rules<Options> = { readonly [Name in keyof Options]-?: Rule }

export const TEXT: Rule = { wanted: 'a text', fits: value => typeof value === 'string' }
export const FILLED_TEXT: Rule = {
  wanted: 'a text that is not empty',
  fits: value => typeof value === 'string' && value !== '',
}
export const BOOLEAN: Rule = { wanted: 'true or false', fits: value => typeof value === 'boolean' }
export const FUNCTION: Rule = { wanted: 'a function', fits: value => typeof value === 'function' }
export const OBJECT: Rule = { wanted: 'an object', fits: isObject }
export const DATE: Rule = {
  wanted: 'a valid Date',
  fits: value => value instanceof Date && !Number.isNaN(value.getTime()),
}
export const NOT_NEGATIVE: Rule = {
  wanted: 'a number from 0',
  fits: value => Number.isFinite(value) && Number(value) >= 0,
}
/** To browsers and caches `*` is no name but any header. */
export const HEADER_NAME: Rule = {
  wanted: 'the name of a header, such as X-Api-Key',
  fits: value => typeof value === 'string' && value !== '*' && isFieldName(value),
}
/** For what is looked at where it is used. */
export const ANYTHING: Rule = { wanted: 'anything', fits: () => true }

export function needed(rule: Rule): Rule {
  return { ...rule, needed: true }
}

export function oneOf(...values: readonly string[]): Rule {
  const quoted = values.map(value => `"${value}"`)
  const wanted = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].join(' or ')
  return { wanted, fits: value => values.some(known => known === value) }
}

export function wholeFrom(least: number): Rule {
  return {
    wanted: `a whole number from ${least}`,
    fits: value => Number.isSafeInteger(value) && Number(value) >= least,
  }
}

/** A list of at least so many values that fit a rule. */
export function listOf({ wanted, fits }: Rule, least = 0): Rule {
  return {
    wanted: `a list${least > 0 ? ` of at least ${least}` : ''}, each ${wanted}`,
    fits: value => Array.isArray(value) && value.length >= least && value.every(fits),
  }
}

/** An object whose properties all fit a rule. */
export function recordOf({ wanted, fits }: Rule): Rule {
  return {
    wanted: `an object, each property ${wanted}`,
    fits: value => isObject(value) && Object.values(value).every(fits),
  }
}

/** An object with these methods. */
export function having(wanted: string, ...methods: readonly string[]): Rule {
  return {
    wanted,
    fits: value =>
      isObject(value) && methods.every(method => typeof Reflect.get(value, method) === 'function'),
  }
}

/**
 * Checks what a program declares. An object of a class may have more than its options.
 * @param where what is declared, for the message: `cars`.
 * @throws TypeError for what is no object, an unknown name, and a value that does not fit its rule.
 */
export function checkOptions(
  where: string,
  given: object,
  rules: Readonly<Record<string, Rule>>,
): void {
  if (!isObject(given)) throw new TypeError(`${where} must be an object, not ${shown(given)}`)
  for (const name of isPlain(given) ? Object.keys(given) : []) {
    if (Object.hasOwn(rules, name)) continue
    const names = Object.keys(rules)
    const hint = suggestion(name, names) || `; there are ${names.join(', ')}`
    throw new TypeError(`${where}: there is no option "${name}"${hint}`)
  }
  for (const [name, { wanted, fits, needed }] of Object.entries(rules)) {
    const value: unknown = Reflect.get(given, name)
    if (value === undefined ? !needed : fits(value)) continue
    throw new TypeError(`${where}: ${name} must be ${wanted}, not ${shown(value)}`)
  }
}

/** The defaults with what is given in their place; what is undefined is not given. */
export function withDefaults<T extends object>(
  defaults: T,
  given: { readonly [Name in keyof T]?: T[Name] | undefined },
): T {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64))
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (value instanceof Date) return 'an invalid one'
  return isObject(value) ? 'an object' : String(value)
}
