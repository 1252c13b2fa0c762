// Converts zod's issues to messages that people understand, each with its field and type.
import type { z } from 'zod'
import { type Issue, listNames, MAX_ISSUES, nearest, quote } from '../errors.ts'
import {
  describeChoices,
  describeField,
  type Field,
  type Fields,
  getPropertyField,
  hasOneType,
} from './fields.ts'

/** zod's codes for a value of another type. An absent value has one of them too. */
const WRONG_TYPE: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/**
 * Converts issues of zod: where, what, and what would be right.
 * @param value what was checked.
 * @param root the field of the whole.
 */
export function toIssues(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  root?: Field,
): Issue[] {
  return issues.slice(0, MAX_ISSUES).flatMap(issue => {
    const path = issue.path.map(String)
    const field = path.join('.')
    const known = path.reduce<Field | undefined>(getPropertyField, root)
    if (issue.code === 'unrecognized_keys') {
      return issue.keys
        .slice(0, MAX_ISSUES)
        .map(key => unknownProperty(field ? `${field}.${key}` : key, known?.properties))
    }
    const missing = WRONG_TYPE.has(issue.code) && field && valueAt(value, issue.path) === undefined
    const ours = `${field || 'The value'} ${missing ? 'is required' : describeIssue(issue, known)}`
    const type = missing ? 'required' : issue.code
    return [{ message: issue.message || ours, ...(field && { field }), type }]
  })
}

/** Creates the issue of an unknown property. */
export function unknownProperty(field: string, known: Fields | undefined): Issue {
  const name = field.slice(field.lastIndexOf('.') + 1)
  // A union knows the names of all its options.
  const others = [...(known ?? [])].filter(([each]) => each !== name)
  const near = nearest(
    name,
    others.map(([each]) => each),
  )
  const writable = others.flatMap(([each, { serverOwned }]) => (serverOwned ? [] : [each]))
  const hint = near === undefined ? listNames(writable) : `: did you mean ${near}?`
  const message = `Unknown field ${quote(field)}${hint}`
  return { message, field: field.slice(0, 128), type: 'unknown_field' }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? Reflect.get(parent, key)
        : undefined,
    value,
  )
}

/** Says what would be right, to follow the name of the field: `must be at least 0`. */
function describeIssue(issue: z.core.$ZodIssue, field: Field | undefined): string {
  switch (issue.code) {
    case 'invalid_type':
      if (field && (hasOneType(field.kind) || field.kind === 'blob'))
        return `must be ${describeField(field)}`
      return `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${describeChoices(issue.values)}`
    case 'too_small':
      if (issue.minimum === 1 && issue.origin in UNITS && !issue.exact) return 'must not be empty'
      return mustBe(issue, issue.minimum, 'at least', 'more than')
    case 'too_big':
      return mustBe(issue, issue.maximum, 'at most', 'less than')
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format':
      return describeFormat(issue)
    case 'invalid_union':
      if (issue.inclusive === false) return 'fits more than one of its types'
      if (issue.options) return `must be ${describeChoices(issue.options)}`
      return field ? `must be ${describeField(field)}` : 'is not valid'
    case 'invalid_key':
      return 'is not a valid name here'
    default:
      return 'is not valid'
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
}

/** The units of the size of a text or a list. */
const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item' }

function mustBe(
  { origin, inclusive, exact }: { origin: string; inclusive?: boolean; exact?: boolean },
  limit: number | bigint,
  within: string,
  beyond: string,
): string {
  const bound = exact ? 'exactly' : inclusive ? within : beyond
  const unit = UNITS[origin]
  if (unit === undefined) return `must be ${bound} ${limit}`
  return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`
}

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  uuid: 'a UUID',
  guid: 'a UUID',
  date: 'a date that exists, such as 2026-01-31',
  datetime: 'a date and time such as 2026-01-31T12:00:00Z',
  time: 'a time such as 12:00:00',
  duration: 'a duration such as P1D',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  cidrv4: 'a range of IPv4 addresses',
  cidrv6: 'a range of IPv6 addresses',
  base64: 'Base64',
  base64url: 'Base64 for URLs',
  e164: 'a phone number such as +14155550123',
  json_string: 'JSON',
  jwt: 'a JWT',
  lowercase: 'in lower case',
  uppercase: 'in upper case',
}

function describeFormat(issue: z.core.$ZodIssueInvalidStringFormat): string {
  // Some formats have a property of their own, which zod's type leaves out.
  const { format, pattern, prefix, suffix, includes } =
    issue as z.core.$ZodIssueInvalidStringFormat &
      Readonly<Partial<Record<'prefix' | 'suffix' | 'includes', string>>>
  const known = FORMATS[format]
  if (known !== undefined) return `must be ${known}`
  if (prefix !== undefined) return `must start with ${prefix}`
  if (suffix !== undefined) return `must end with ${suffix}`
  if (includes !== undefined) return `must contain ${includes}`
  if (format === 'regex' || format === 'template_literal') return `must match ${pattern}`
  return `must be a valid ${format}`
}
