// Checks the options of every builder: an unknown name or a wrong value is a TypeError, in JavaScript
// too. Not by zod: building its schemas for all options would take 10 ms of every start.
import { isFieldName, quote, suggestion } from './errors.ts'

/** What the value of an option must be. */
export interface Rule {
  /** In words that follow "must be". */
  readonly wanted: string
  readonly fits: (value: unknown) => boolean
  /** Whether the option is required. Default false. */
  readonly needed?: boolean
  /** What each element, or the value of each property, must be: a message names the one that is not. */
  readonly each?: Rule
}

/** A rule for each option, so that none is forgotten. */
export type Rules<Options> = { readonly [Name in keyof Options]-?: Rule }

export const TEXT: Rule = { wanted: 'a string', fits: value => typeof value === 'string' }
export const FILLED_TEXT: Rule = {
  wanted: 'a string that is not empty',
  fits: value => typeof value === 'string' && value !== '',
}
export const BOOLEAN: Rule = { wanted: 'true or false', fits: value => typeof value === 'boolean' }
export const FUNCTION: Rule = { wanted: 'a function', fits: value => typeof value === 'function' }
export const OBJECT: Rule = { wanted: 'an object', fits: isObject }
export const DATE: Rule = {
  wanted: 'a valid Date',
  fits: value => value instanceof Date && !Number.isNaN(value.getTime()),
}
export const SECONDS: Rule = {
  wanted: 'a number of seconds from 0',
  fits: value => Number.isFinite(value) && Number(value) >= 0,
}
/** To browsers and caches `*` means any header. */
export const HEADER_NAME: Rule = {
  wanted: 'the name of a header, such as X-Api-Key',
  fits: value => typeof value === 'string' && value !== '*' && isFieldName(value),
}
/** For values that are checked where they are used. */
export const ANYTHING: Rule = { wanted: 'anything', fits: () => true }

export function needed(rule: Rule): Rule {
  return { ...rule, needed: true }
}

export function oneOf(...values: readonly string[]): Rule {
  const quoted = values.map(value => `"${value}"`)
  const wanted = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].join(' or ')
  return { wanted, fits: value => values.some(known => known === value) }
}

/** @param unit of what, in the plural: `bytes`. */
export function wholeFrom(min: number, unit?: string): Rule {
  return {
    wanted: `a whole number ${unit ? `of ${unit} ` : ''}from ${min}`,
    fits: value => Number.isSafeInteger(value) && Number(value) >= min,
  }
}

/** The same rule for each of these options. */
export function rulesFor(names: readonly string[], rule: Rule): Readonly<Record<string, Rule>> {
  return Object.fromEntries(names.map(name => [name, rule]))
}

/** A text that matches a pattern. */
export function matching(wanted: string, pattern: RegExp): Rule {
  return { wanted, fits: value => typeof value === 'string' && pattern.test(value) }
}

/** A value that fits one of these rules. */
export function either(wanted: string, ...rules: readonly Rule[]): Rule {
  return { wanted, fits: value => rules.some(({ fits }) => fits(value)) }
}

/** An array of at least so many values that fit a rule. */
export function listOf(each: Rule, min = 0): Rule {
  const { wanted, fits } = each
  return {
    each,
    wanted: `an array${min > 0 ? ` of at least ${min}` : ''}, each ${wanted}`,
    fits: value => Array.isArray(value) && value.length >= min && value.every(fits),
  }
}

/** An object whose properties all fit a rule. */
export function recordOf(each: Rule): Rule {
  const { wanted, fits } = each
  return {
    each,
    wanted: `an object, each property ${wanted}`,
    fits: value => isObject(value) && Object.values(value).every(fits),
  }
}

/** An object, or a function, with these methods. */
export function having(wanted: string, ...methods: readonly string[]): Rule {
  return {
    wanted,
    fits: value =>
      (isObject(value) || typeof value === 'function') &&
      methods.every(method => typeof Reflect.get(value, method) === 'function'),
  }
}

/**
 * Checks the options of a builder. An instance of a class may have other properties too.
 * @param where the start of each message: the builder, or the name of what it builds.
 * @throws TypeError for anything but an object, for an unknown option, and for a wrong value.
 */
export function checkOptions(
  where: string,
  options: object,
  rules: Readonly<Record<string, Rule>>,
): void {
  if (!isObject(options)) {
    const needed = Object.keys(rules).filter(name => rules[name]?.needed)
    const shown = needed.length > 0 ? needed : Object.keys(rules).slice(0, 1)
    throw new TypeError(
      `${where} needs an object of options, such as { ${shown.join(', ')} }, not ${show(options)}`,
    )
  }
  for (const name of isPlain(options) ? Object.keys(options) : []) {
    if (Object.hasOwn(rules, name)) continue
    const names = Object.keys(rules)
    const hint = suggestion(name, names) || `. Options: ${names.join(', ')}`
    throw new TypeError(`${where}: unknown option "${name}"${hint}`)
  }
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = Reflect.get(options, name)
    if (value === undefined ? !rule.needed : rule.fits(value)) continue
    throw new TypeError(`${where}: ${describeWrong(name, rule, value)}`)
  }
}

/** Says what does not fit: the element or the property itself, as deep as the rule knows. */
function describeWrong(at: string, { wanted, each }: Rule, value: unknown): string {
  if (each && typeof value === 'object' && value !== null)
    for (const [key, part] of Object.entries(value))
      if (!each.fits(part))
        return describeWrong(Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`, each, part)
  return `${at} must be ${wanted}, not ${show(value)}`
}

/** @throws TypeError with the message, where a declaration is not as it must be. */
export function assertValid(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message)
}

/** Replaces defaults by the given options; `undefined` keeps the default. */
export function withDefaults<T extends object>(
  defaults: T,
  options: { readonly [Name in keyof T]?: T[Name] | undefined },
): T {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is an object that no class has made. */
export function isPlain(value: unknown): value is object {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** Prints a value for a message. */
export function show(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value instanceof Date) return 'an invalid one'
  return isObject(value) ? 'an object' : String(value)
}
