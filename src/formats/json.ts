// JSON (RFC 8259), also for `+json` types and problem details (RFC 9457).

import { printJson as printValue } from '../base/exact-numbers.ts'
import { andThen, type Json } from '../base/values.ts'
import { AnyHttpError, HttpError, problemBody } from '../errors.ts'
import { printItem } from '../store/printed.ts'
import type { Stored } from '../store/store.ts'
import type { Format, Representation } from './format.ts'
import { checkExact, checkJson, isValidJson, tooDeep } from './json-value.ts'
import { printNested } from './nested.ts'
import { readText } from './read-body.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** `application/json`: the specification's most common format. */
export const json: Format & Required<Pick<Format, 'write' | 'read' | 'receive'>> = {
  name: 'json',
  extensions: ['json'],
  types: ['application/json'],
  write: printJson,
  printStored,
  printNested(nested) {
    const { json: body, bytes: length } = 'item' in nested ? nested.print() : printNested(nested)
    return { body: body ?? printValue(nested), length }
  },
  read(body, context) {
    const { depth, members } = context.limits
    return andThen(readText(body, context), text => parseJson(text, depth, members))
  },
  receive(parsed, { limits }) {
    checkJson(parsed, '', limits.depth)
    return parsed
  },
}

function printJson(representation: Representation, type: string): string {
  switch (representation.kind) {
    case 'item':
    case 'list':
      return printValue(representation.data)
    case 'document':
      return representation.text ?? printValue(representation.data)
    case 'errors': {
      const { status, errors, message, printed = errors } = representation
      return JSON.stringify(
        type === PROBLEM_TYPE
          ? problemBody(new AnyHttpError(status, errors))
          : { message, errors: printed },
      )
    }
    default:
      throw new TypeError(`JSON cannot print ${representation.kind}`)
  }
}

function printStored(stored: Stored | readonly Stored[]) {
  if ('item' in stored) {
    const { json: body = printValue(stored.item), bytes: length } = printItem(stored)
    return { body, length }
  }
  let body = '['
  let length = 2
  for (const each of stored) {
    const { json: text, bytes } = printItem(each)
    if (text === undefined) return printLarge(stored)
    body += length === 2 ? text : `,${text}`
    length += length === 2 ? bytes : bytes + 1
  }
  return { body: `${body}]`, length }
}

/** Prints each large item as a piece, so that a piece that was sent takes no memory while others wait. */
function printLarge(list: readonly Stored[]) {
  let length = 0
  const body = list.map((each, at) => {
    const { json: text = printValue(each.item), bytes } = printItem(each)
    const isLast = at === list.length - 1
    const piece = Buffer.allocUnsafe(bytes + (isLast ? 2 : 1))
    piece[0] = at === 0 ? 0x5b : 0x2c
    piece.write(text, 1)
    if (isLast) piece[bytes + 1] = 0x5d
    length += piece.length
    return piece
  })
  return { body, length }
}

/**
 * Parses a JSON text. Of a repeated name the last value counts.
 * @param path of the value, for the message of a number that JavaScript would round.
 * @throws HttpError 400 for an invalid text or value, 413 for too many properties and elements.
 */
export function parseJson(text: string, maxDepth: number, maxMembers: number, path = ''): Json {
  // Each property or element takes a character.
  if (text.length > maxMembers) checkExtent(text, maxDepth, maxMembers)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') throw invalidJson('The body is empty; send a JSON value')
    throw invalidJson(`The body is not valid JSON${describeInvalid(text, error)}`)
  }
  // Without a backslash no text holds U+0000 or half of a surrogate pair.
  const isPlain = !text.includes('\\') && text.isWellFormed()
  if (isPlain && isValidJson(value, maxDepth)) return value
  checkExact(text, path)
  checkJson(value, '', maxDepth)
  return value
}

/** Says where JSON goes wrong. V8's message quotes the input, of which only one character is repeated. */
function describeInvalid(text: string, error: unknown): string {
  const position = findPosition(error) ?? searchPosition(text)
  if (position >= text.length || /end of JSON/.test(String(error))) return ': it ends too early'
  const [char] = text.slice(position, position + 2)
  if (char === undefined) return ''
  const lines = text.slice(0, position).split('\n')
  const column = (lines.at(-1)?.length ?? 0) + 1
  return ` at line ${lines.length}, column ${column}: ${JSON.stringify(char)} cannot stand there`
}

function findPosition(error: unknown): number | undefined {
  const [, position] = /position (\d+)/.exec(String(error)) ?? []
  return position === undefined ? undefined : Number(position)
}

/** Finds where a shorter text begins to be invalid, since V8 does not say it of words such as `NaN`; NaN if unknown. */
function searchPosition(text: string): number {
  if (text.length > MAX_SEARCHED) return Number.NaN
  let [valid, invalid] = [0, text.length]
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1
    if (isInvalidWithin(text.slice(0, middle))) invalid = middle
    else valid = middle
  }
  return valid
}

/** Longer texts would cost more than they tell. */
const MAX_SEARCHED = 10_000

/** Whether a text is invalid before its end, so that no longer one is valid. */
function isInvalidWithin(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return !/end of JSON/.test(String(error)) && (findPosition(error) ?? 0) < text.length
  }
}

function invalidJson(message: string): HttpError {
  return new HttpError(400, [{ message, type: 'invalid_json' }])
}

export function tooManyMembers(max: number): HttpError {
  return new HttpError(413, [
    { message: `The body has more than ${max} members`, type: 'too_many_members' },
  ])
}

/**
 * Counts nested brackets, properties and elements outside of strings, before anything is parsed.
 * @throws HttpError 400 for too many levels, 413 for too many properties and elements.
 */
function checkExtent(text: string, maxDepth: number, maxMembers: number): void {
  let depth = 0
  let members = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (quoted) {
      if (char === 0x5c) at++
      else if (char === 0x22) quoted = false
    } else if (char === 0x22) quoted = true
    else if (char === 0x2c) members++
    else if (char === 0x5b || char === 0x7b) {
      members++
      if (++depth > maxDepth) throw tooDeep(maxDepth)
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  if (members > maxMembers) throw tooManyMembers(maxMembers)
}
