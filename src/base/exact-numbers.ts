// Whole numbers that JavaScript rounds: 9007199254740993 is read as 9007199254740992.

import type { Item, Json } from './values.ts'

/** Most texts hold no number that could be one. */
const MANY_DIGITS = /\d{16}/
const WHOLE = /^[+-]?(\d{16,})$/

/** Whether a text is a whole number that is another one as a JavaScript number. One with a fraction or an exponent is not. */
export function isInexact(text: string): boolean {
  const digits = WHOLE.exec(text)?.[1]
  return digits !== undefined && String(Number(digits)) !== digits.replace(/^0+(?=\d)/, '')
}

/** A number of a JSON text. */
export interface FoundNumber {
  /** The dotted path of the number; empty where it is the whole value. */
  readonly path: string
  readonly digits: string
}

const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/iy

/** Finds the first number that {@link isInexact} in a text that is valid JSON. */
export function findInexact(json: string): FoundNumber | undefined {
  if (!MANY_DIGITS.test(json)) return undefined
  for (const { digits, levels } of walkInexact(json)) return { path: toPath(json, levels), digits }
  return undefined
}

/** Walks along the numbers that {@link isInexact} in a text that is valid JSON. */
function* walkInexact(json: string) {
  // Of each level the place in a list, or `~` where the name of the present property stands.
  const levels: number[] = []
  let quoted = 0
  for (let at = 0; at < json.length; at++) {
    const char = json[at]
    const top = levels.length - 1
    if (char === '"') {
      quoted = at
      at = endOfString(json, at)
    } else if (char === ':') levels[top] = ~quoted
    else if (char === '[' || char === '{') levels.push(0)
    else if (char === ']' || char === '}') levels.pop()
    else if (char === ',') levels[top] = (levels[top] ?? 0) + 1
    else if (char !== undefined && (char === '-' || (char >= '0' && char <= '9'))) {
      NUMBER.lastIndex = at
      const [digits = char] = NUMBER.exec(json) ?? []
      if (digits.length >= 16 && isInexact(digits)) yield { at, digits, levels }
      at += digits.length - 1
    }
  }
}

function endOfString(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}

function toPath(json: string, levels: readonly number[]): string {
  const names = levels.map(level =>
    level < 0 ? JSON.parse(json.slice(~level, endOfString(json, ~level) + 1)) : level,
  )
  return names.join('.')
}

/** Says what is wrong with such a number, to follow the name of its property. */
export function describeInexact(digits: string): string {
  const rounded = String(Number(digits)).slice(0, 64)
  return `must be a number that JavaScript does not round, not ${digits.slice(0, 64)}. Send ${rounded}; only a string keeps more digits`
}

// What other programs have stored is kept beside the value that JavaScript has rounded.

/** The values of a text whose numbers are texts: their digits behind U+0000, which no text that is stored holds. */
const exactValues = new WeakMap<object, Json>()
/** Whether there has ever been one: until then nobody looks for them. */
let hasAny = false

const MARKED = /^\0-?\d{16,}$/
const PRINTED = /"\\u0000(-?\d{16,})"/g

/**
 * Parses JSON from a database. Objects and lists remember the digits of numbers that JavaScript rounds.
 * @throws RangeError for such a number outside of any object or list, because only these can remember digits.
 */
export function parseKept(json: string): Json {
  const value: Json = JSON.parse(json)
  if (!MANY_DIGITS.test(json)) return value
  if (typeof value === 'number' && isInexact(json.trim()))
    throw new RangeError(`${value} is rounded`)
  let marked = ''
  let from = 0
  for (const { at, digits } of walkInexact(json)) {
    marked += `${json.slice(from, at)}"\\u0000${digits}"`
    from = at + digits.length
  }
  if (from > 0) keepDigits(value, JSON.parse(marked + json.slice(from)))
  return value
}

/** Remembers the digits for each object and list that has such numbers. @returns whether there are any. */
export function keepDigits(value: Json, exact: Json): boolean {
  if (typeof value === 'number') return typeof exact === 'string'
  if (typeof value !== 'object' || value === null) return false
  // Both have the same names in the same order.
  const exacts: readonly Json[] = Object.values(exact ?? [])
  let any = false
  for (const [at, each] of Object.values(value).entries()) {
    if (keepDigits(each, exacts[at] ?? null)) any = true
  }
  if (any) exactValues.set(value, exact)
  hasAny ||= any
  return any
}

/** Whether digits are kept beside a value. */
export function hasDigits(value: Json | undefined): value is Item | Json[] {
  return hasAny && typeof value === 'object' && value !== null && exactValues.has(value)
}

/** The value with the digits of its numbers as texts that {@link findDigits} reads, where any are kept beside it. */
export function withDigits(value: Json): Json {
  if (!hasAny || typeof value !== 'object' || value === null) return value
  return exactValues.get(value) ?? value
}

/** The digits of a number in {@link withDigits}; `undefined` for any other text. */
export function findDigits(text: string): string | undefined {
  return hasAny && MARKED.test(text) ? text.slice(1) : undefined
}

/** Prints JSON, each number with the digits that are kept. */
export function printJson(value: unknown): string {
  if (!hasAny) return JSON.stringify(value)
  const text = JSON.stringify(value, (_, each) => withDigits(each))
  return text.replace(PRINTED, '$1')
}
