// Chooses the format to write and to read (RFC 9110 §12, §8.3): by URL extension, then by `Accept` or
// `Content-Type`. negotiator is used here and nowhere else.
import Negotiator from 'negotiator'
import { memoize } from './base/memoize.ts'
import { Remembered } from './base/remembered.ts'
import { HttpError } from './errors.ts'
import { type Format, isWriter, type Reader } from './formats/format.ts'
import { json, PROBLEM_TYPE } from './formats/json.ts'

/** A media type with its parameters (RFC 9110 §8.3.1). */
export interface MediaType {
  /** Type and subtype in lower case. */
  readonly type: string
  /** Parameters by their names in lower case, values unquoted. */
  readonly parameters: ReadonlyMap<string, string>
}

const TYPE = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)\s*(;|$)/i
const PARAMETER = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*(?:;|$)/i

/** Parses a `Content-Type` (§8.3.1); `undefined` for a malformed one. */
export function parseMediaType(text: string): MediaType | undefined {
  const head = TYPE.exec(text)
  if (head?.[1] === undefined) return undefined
  const parameters = new Map<string, string>()
  let rest = text.slice(head[0].length)
  while (rest.trim() !== '') {
    const found = PARAMETER.exec(rest)
    if (!found) return undefined
    const [whole, name = '', quoted, plain = ''] = found
    const known = name.toLowerCase()
    if (!parameters.has(known)) parameters.set(known, quoted?.replace(/\\(.)/g, '$1') ?? plain)
    rest = rest.slice(whole.length)
  }
  return { type: head[1].toLowerCase(), parameters }
}

/** Finds `json` in `application/vnd.acme.car+json`. */
function findSuffix(type: string): string | undefined {
  const plus = type.lastIndexOf('+')
  return plus === -1 ? undefined : type.slice(plus + 1)
}

/** The chosen format of a response, and the type to name in `Content-Type`. */
export interface Negotiated {
  readonly format: Format
  /** The media type to print: the format's first, or another of its types that the client prefers. */
  readonly type: string
  /** The type as `Content-Type` says it: without a charset many clients read a text as latin1. */
  readonly contentType: string
  /** The format of errors, if it differs: problem details (RFC 9457). */
  readonly errors?: Negotiated
  /** Whether the `Content-Type` of the body chose it. */
  readonly inKind?: true
}

/** JSON, whatever the client accepts. */
export const AS_JSON: Negotiated = {
  format: json,
  type: 'application/json',
  contentType: 'application/json',
}

/**
 * Chooses the format of a response: by the extension, else the one that `Accept` prefers, else that of
 * the body where it is answered in kind, else the first. A type with a suffix is served by its base format.
 * @param requested `content` is the `Content-Type` of a body.
 * @param maxLength of `Accept`, in characters.
 * @returns `undefined` where nothing suits: a 406.
 * @throws HttpError 400 for a longer `Accept`, and for more than 100 media types.
 */
export function chooseFormat(
  formats: readonly Format[],
  requested: {
    readonly extension?: string | undefined
    readonly accept?: string | undefined
    readonly content?: string | undefined
  },
  maxLength = 8192,
): Negotiated | undefined {
  const { extension, accept = '', content } = requested
  if (extension !== undefined)
    return toNegotiated(formats.find(each => isWriter(each) && each.extensions.includes(extension)))
  if (accept.length > maxLength) throw tooLong(`Accept may have at most ${maxLength} characters`)
  if (content !== undefined && (accept === '' || accept === '*/*')) {
    const answered = rememberedKinds(formats).get(content, () => inKind(formats, content))
    if (answered) return answered
  }
  return remembered(formats).get(accept, () => byAccept(formats.filter(isWriter), accept))
}

/** Results by `Content-Type`. */
const rememberedKinds = memoize(
  (_formats: readonly Format[]) => new Remembered<Negotiated | undefined>(200, 128),
)

/** The format of a body, where it is answered in it. */
function inKind(formats: readonly Format[], content: string): Negotiated | undefined {
  const type = parseMediaType(content)
  const reader = type && chooseReader(formats, type)
  if (!reader?.answersInKind || !isWriter(reader)) return undefined
  return { ...withType(reader, reader.types[0] ?? ''), inKind: true }
}

function toNegotiated(format: Format | undefined): Negotiated | undefined {
  return format && withType(format, format.types[0] ?? '')
}

function withType(format: Format, type: string): Negotiated {
  return { format, type, contentType: type.startsWith('text/') ? `${type}; charset=utf-8` : type }
}

/** `Accept` may name this many types: the cost of negotiation grows with their square. */
const MAX_TYPES = 100

function tooLong(message: string): HttpError {
  return new HttpError(400, [{ message, field: 'accept', type: 'header_too_long' }])
}

/** Results by `Accept`: negotiator is dear (docs/decisions/kept-results.md). */
const remembered = memoize(
  (_formats: readonly Format[]) => new Remembered<Negotiated | undefined>(200, 256),
)

function byAccept(writers: readonly Format[], accept: string): Negotiated | undefined {
  if (accept.trim() === '') return toNegotiated(writers[0])
  if (accept.split(',', MAX_TYPES + 1).length > MAX_TYPES) {
    throw tooLong(`Accept may name at most ${MAX_TYPES} media types`)
  }
  const negotiator = new Negotiator({ headers: { accept } })
  const [best] = negotiator.mediaTypes(writers.flatMap(({ types }) => [...types]))
  // A type with parameters is served too, though strictly it is another one.
  const accepted = negotiator.mediaTypes().map(type => type.toLowerCase())
  const named = (type: string) => writers.find(({ types }) => types.includes(type))
  const base = (type: string) => writers.find(({ name }) => name === findSuffix(type))
  const problems = accepted.includes(PROBLEM_TYPE) ? base(PROBLEM_TYPE) : undefined
  for (const type of best === undefined ? accepted : [best]) {
    const format = named(type) ?? base(type)
    if (!format) continue
    return {
      ...withType(format, named(type) ? type : (format.types[0] ?? '')),
      ...(problems && { errors: withType(problems, PROBLEM_TYPE) }),
    }
  }
  return undefined
}

/** Lists the media types of responses, one for each format. */
export function writtenTypes(formats: readonly Format[]): string[] {
  return formats.flatMap(format => (isWriter(format) ? format.types.slice(0, 1) : []))
}

/** The 406 for an `Accept` that no format suits; it lists the types. */
export function notAcceptable(formats: readonly Format[]): HttpError {
  const types = writtenTypes(formats).join(', ')
  const message = `None of the accepted types is available. Accept one of: ${types}`
  return new HttpError(406, [{ message, field: 'accept', type: 'not_acceptable' }])
}

/**
 * Chooses the format of a body: by its `Content-Type` or the suffix of it, else by the URL's
 * extension, else the first that reads.
 * @returns `undefined` where none does: a 415.
 */
export function chooseReader(
  formats: readonly Format[],
  content: MediaType | undefined,
  extension?: string,
): Reader | undefined {
  const readers = formats.filter(reads)
  if (!content) {
    const named = readers.find(({ extensions }) => extensions.some(each => each === extension))
    return named ?? readers[0]
  }
  const suffix = findSuffix(content.type)
  return (
    readers.find(({ types }) => types.includes(content.type)) ??
    readers.find(({ name }) => name === suffix)
  )
}

function reads(format: Format): format is Reader {
  return format.read !== undefined
}

/**
 * Lists the media types of bodies, one for each format.
 * @param takesItems whether a list of items is taken too.
 */
export function readTypes(formats: readonly Format[], takesItems = false): string[] {
  return formats.flatMap(({ read, readItems, types }) =>
    read || (takesItems && readItems) ? types.slice(0, 1) : [],
  )
}

/** The header in which a 415 lists the types: RFC 5789 §3.1, Linked Data Platform §7.1, else RFC 9110 §15.5.16. */
const LIST_HEADERS: Readonly<Record<string, string>> = {
  PATCH: 'Accept-Patch',
  POST: 'Accept-Post',
}

/** The 415 for a body in an unknown format; it lists the types, in a header too. */
export function unsupportedMediaType(
  taken: readonly string[],
  method: string,
  contentType: string | undefined,
): HttpError {
  const types = taken.join(', ')
  const wrong =
    contentType === undefined ? 'named by Content-Type' : `not ${contentType.slice(0, 64)}`
  return new HttpError(
    415,
    [
      {
        message: `The body must be one of ${types}, ${wrong}`,
        field: 'content-type',
        type: 'unsupported_media_type',
      },
    ],
    { headers: [LIST_HEADERS[method] ?? 'Accept', types] },
  )
}

/** Names the format, and its type if not the first: each representation has its own tag (RFC 9110 §8.8.1). */
export function variantOf({ format, type }: Negotiated): string {
  return type === format.types[0] ? format.name : `${format.name}.${encodeURIComponent(type)}`
}
