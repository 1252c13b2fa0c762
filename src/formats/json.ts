// JSON (RFC 8259), and what is served by it: every `+json` type, problem details (RFC 9457).
import { AnyHttpError, HttpError, problemBody } from '../errors.ts'
import type { Item, Json } from '../schema/values.ts'
import { checkJson, decodeText, type Format, type Representation, readBytes } from './format.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** `application/json`: the specification's most common format. */
export const json: Format & Required<Pick<Format, 'write' | 'read' | 'receive'>> = {
  name: 'json',
  extensions: ['json'],
  types: ['application/json'],
  write: printJson,
  read: async (body, context) =>
    parseJson(
      decodeText(await readBytes(body, context), context.parameters.get('charset')),
      context.limits.depth,
      context.limits.members,
    ),
  receive(parsed, { limits }) {
    checkJson(parsed, '', limits.depth)
    return parsed
  },
}

function printJson(representation: Representation, type: string): string {
  switch (representation.kind) {
    case 'item':
      return itemText(representation.data)
    case 'list':
      return listText(representation.data)
    case 'document':
      return JSON.stringify(representation.data)
    case 'errors': {
      const { status, errors } = representation
      return JSON.stringify(
        type === PROBLEM_TYPE ? problemBody(new AnyHttpError(status, errors)) : { errors },
      )
    }
    case 'stream':
    case 'bytes':
      throw new TypeError(`JSON prints no ${representation.kind}`)
  }
}

/** The texts of items that a store keeps and never changes, for as long as they live. */
const texts = new WeakMap<Item, string>()

function itemText(item: Item): string {
  const known = texts.get(item)
  if (known !== undefined) return known
  const text = JSON.stringify(item)
  // Others are made anew by each read: to keep their texts would only burden the collector.
  if (Object.isFrozen(item)) texts.set(item, text)
  return text
}

/** The brackets stand in the first and the last text: put around the joined one they would copy it once more. */
function listText(items: readonly Item[]): string {
  const texts = items.map(itemText)
  const last = texts.length - 1
  if (last < 0) return '[]'
  texts[0] = `[${texts[0]}`
  texts[last] += ']'
  return texts.join(',')
}

/**
 * Parses a JSON text. Levels and members are counted before parsing; of a repeated name the last
 * value counts.
 * @throws HttpError 400 for anything else than one JSON value that can be given back, 413 for too many members.
 */
export function parseJson(text: string, maxDepth: number, maxMembers: number): Json {
  if (text.trim() === '') throw invalid('The body is empty; send a JSON value')
  const { depth, members } = extentOf(text, maxDepth)
  if (depth > maxDepth) {
    throw new HttpError(400, [
      { message: `The body is nested deeper than ${maxDepth} levels`, type: 'too_deep' },
    ])
  }
  if (members > maxMembers) throw tooManyMembers(maxMembers)
  const value: unknown = parse(text)
  checkJson(value)
  return value
}

export function tooManyMembers(most: number): HttpError {
  return new HttpError(413, [
    { message: `The body has more than ${most} members`, type: 'too_many_members' },
  ])
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // V8 quotes the input in its message: the position is all that is told.
    const position = /position (\d+)/.exec(String(error))?.[1]
    throw invalid(
      `The body is not valid JSON${position === undefined ? '' : ` (at character ${position})`}`,
    )
  }
}

function invalid(message: string): HttpError {
  return new HttpError(400, [{ message, type: 'invalid_json' }])
}

/**
 * How deep brackets nest outside strings, and how many members and elements they hold at most;
 * counting ends one level above `most`.
 */
function extentOf(text: string, most: number): { depth: number; members: number } {
  let depth = 0
  let deepest = 0
  let members = 0
  let quoted = false
  for (let at = 0; at < text.length && deepest <= most; at++) {
    const char = text.charCodeAt(at)
    if (quoted) {
      if (char === 0x5c) at++
      else if (char === 0x22) quoted = false
    } else if (char === 0x22) quoted = true
    else if (char === 0x2c) members++
    else if (char === 0x5b || char === 0x7b) {
      members++
      deepest = Math.max(deepest, ++depth)
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return { depth: deepest, members }
}
