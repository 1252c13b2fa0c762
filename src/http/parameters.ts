// Parameters of a query and of an urlencoded form: `a=1&b=2`.
import { type Issue, quote } from '../errors.ts'

/** One `name=value` of a query or of an urlencoded form; `raw` is the pair as sent. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/**
 * Parses `a=1&b=2`, as in a query or in `application/x-www-form-urlencoded`: `+` is a space; every other
 * character that RFC 3986 allows may be unescaped. Empty pairs are skipped.
 * @returns `undefined` for malformed encoding or UTF-8.
 */
export function parseParameters(text: string): Parameter[] | undefined {
  if (text === '') return []
  const parameters: Parameter[] = []
  for (const raw of text.split('&')) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const name = unescapeParameter(equals === -1 ? raw : raw.slice(0, equals))
    const value = equals === -1 ? '' : unescapeParameter(raw.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    parameters.push({ name, value, raw })
  }
  return parameters
}

function unescapeParameter(text: string): string | undefined {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Decodes a percent-encoded text; `undefined` for malformed encoding or UTF-8. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Says what of a text {@link parseParameters} could not read. */
export function describeEscape(where: 'query' | 'body', text: string): string {
  const wrong = text.split(/[&=]/).find(part => unescapeParameter(part) === undefined) ?? text
  return `The ${where} has an escape that is not valid UTF-8: ${quote(wrong)}. Encode names and values by encodeURIComponent; a percent sign is %25.`
}

/** Prints parameters so that {@link parseParameters} gives them back. */
export function printParameters(parameters: Iterable<readonly [string, string]>): string {
  return Array.from(
    parameters,
    ([name, value]) => `${escapeParameter(name)}=${escapeParameter(value)}`,
  ).join('&')
}

function escapeParameter(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+').replaceAll('%2C', ',')
}

/** Finds the value of a parameter that may be sent once; an issue is added where it is sent more often. */
export function single(
  parameters: readonly Parameter[],
  name: string,
  issues: Issue[],
): string | undefined {
  let found: Parameter | undefined
  let times = 0
  for (const parameter of parameters) {
    if (parameter.name !== name) continue
    found ??= parameter
    times++
  }
  if (times > 1) {
    const message = `${name} is sent ${times} times; send it once`
    issues.push({ message, field: name, type: 'repeated_parameter' })
  }
  return found?.value
}

/** The greatest position: no list is so long, and pages can be counted on from it without rounding. */
const MAX_POSITION = 999_999_999_999_999

/** Reads digits as a position; one of 16 digits and more is the greatest. */
export function toPosition(digits: string): number {
  return Math.min(Number(digits), MAX_POSITION)
}

/** Reads a whole number from 0; an issue is added for anything else. */
export function readWholeNumber(
  name: string,
  text: string | undefined,
  issues: Issue[],
): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return toPosition(text)
  const message = `${name} must be a whole number from 0, not ${quote(text, 32)}`
  issues.push({ message, field: name, type: 'invalid_number' })
  return undefined
}
