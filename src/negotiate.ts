// Which format to write and which to read (RFC 9110 §12, §8.3): URL extension first, then `Accept`
// or `Content-Type`. negotiator is used here and nowhere else.
import Negotiator from 'negotiator'
import { HttpError } from './errors.ts'
import { type Format, isWriter, type Reader } from './formats/format.ts'
import { PROBLEM_TYPE } from './formats/json.ts'
import { splitList } from './http/message.ts'

export interface MediaType {
  /** Type and subtype in lower case. */
  readonly type: string
  /** Parameters by their names in lower case, values unquoted. */
  readonly parameters: ReadonlyMap<string, string>
}

const TYPE = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)\s*(;|$)/i
const PARAMETER = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*(?:;|$)/i

/** Reads a `Content-Type` (§8.3.1); `undefined` where it is none. */
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

/** `application/vnd.acme.car+json` → `json`; `undefined` where there is no suffix. */
function suffixOf(type: string): string | undefined {
  const plus = type.lastIndexOf('+')
  return plus === -1 ? undefined : type.slice(plus + 1)
}

export interface Negotiated {
  readonly format: Format
  /** The media type to print: the format's first, or another of its own that was asked for. */
  readonly type: string
  /** What errors are printed in, where that is something else: problem details (RFC 9457). */
  readonly errors?: Negotiated
}

/** The format that a URL's extension names. */
function formatByExtension(formats: readonly Format[], extension: string): Format | undefined {
  return formats.find(format => format.extensions.includes(extension))
}

/**
 * The format to answer in: by the extension, else the one that `Accept` prefers, else the first. A
 * type with a suffix is served by its base format.
 * @param most the longest `Accept` that is read, in characters.
 * @returns `undefined` where nothing suits: a 406.
 * @throws HttpError 400 for a longer `Accept`, and for more than 100 media types.
 */
export function chooseFormat(
  formats: readonly Format[],
  { extension, accept }: { extension?: string | undefined; accept?: string | undefined },
  most = 8192,
): Negotiated | undefined {
  if (extension !== undefined) {
    const named = formatByExtension(formats.filter(isWriter), extension)
    return named && { format: named, type: named.types[0] ?? '' }
  }
  if (accept === undefined || accept.trim() === '') {
    const first = formats.find(isWriter)
    return first && { format: first, type: first.types[0] ?? '' }
  }
  if (accept.length > most) throw tooLong(`Accept may have at most ${most} characters`)
  return remembered(formats, accept, () => byAccept(formats.filter(isWriter), accept))
}

/** How many media types `Accept` may name: what negotiation costs grows with the square of it. */
const MOST_TYPES = 100

function tooLong(message: string): HttpError {
  return new HttpError(400, [{ message, field: 'accept', type: 'header_too_long' }])
}

/** How many texts are remembered, and how long one may be: strangers choose them. */
const MOST_TEXTS = 200
const MOST_LENGTH = 256

const results = new WeakMap<readonly Format[], Map<string, Negotiated | undefined>>()

/** What an `Accept` came to before, in these formats: asking negotiator again costs a third of a read. */
function remembered(
  formats: readonly Format[],
  accept: string,
  choose: () => Negotiated | undefined,
): Negotiated | undefined {
  const known = results.get(formats) ?? new Map<string, Negotiated | undefined>()
  if (known.has(accept)) return known.get(accept)
  const chosen = choose()
  if (accept.length > MOST_LENGTH) return chosen
  if (known.size >= MOST_TEXTS) known.clear()
  known.set(accept, chosen)
  results.set(formats, known)
  return chosen
}

function byAccept(writers: readonly Format[], accept: string): Negotiated | undefined {
  if (accept.split(',', MOST_TYPES + 1).length > MOST_TYPES) {
    throw tooLong(`Accept may name at most ${MOST_TYPES} media types`)
  }
  const negotiator = new Negotiator({ headers: { accept } })
  const [best] = negotiator.mediaTypes(writers.flatMap(format => [...format.types]))
  const named = (type: string) => writers.find(({ types }) => types.includes(type))
  const base = (type: string) => writers.find(({ name }) => name === suffixOf(type))
  const chosen = (format: Format, type: string, asked = type): Negotiated => {
    const problems = asksForProblem(accept, asked) ? base(PROBLEM_TYPE) : undefined
    return { format, type, ...(problems && { errors: { format: problems, type: PROBLEM_TYPE } }) }
  }
  const known = best === undefined ? undefined : named(best)
  if (known && best !== undefined) return chosen(known, best)
  for (const wanted of negotiator.mediaTypes()) {
    // A type with parameters is served too, though strictly they say something else.
    const type = wanted.toLowerCase()
    const own = named(type)
    if (own) return chosen(own, type)
    const served = base(type)
    if (served) return chosen(served, served.types[0] ?? '', type)
  }
  return undefined
}

/** Whether errors should be problem details: they are accepted by name, and no less than what was chosen. */
function asksForProblem(accept: string, best: string): boolean {
  if (!accept.toLowerCase().includes(PROBLEM_TYPE)) return false
  const qualities = new Map<string, number>()
  for (const property of splitList(accept.toLowerCase())) {
    const [range = '', ...parameters] = property.split(';').map(part => part.trim())
    const quality = parameters.find(part => part.startsWith('q='))?.slice(2)
    qualities.set(range, quality === undefined ? 1 : Number(quality))
  }
  const ranges = [best, `${best.slice(0, best.indexOf('/'))}/*`, '*/*']
  const [known = 0] = ranges.flatMap(range => qualities.get(range) ?? [])
  const quality = qualities.get(PROBLEM_TYPE) ?? 0
  return quality > 0 && quality >= known
}

/** The media types that are written, one for each format. */
export function writtenTypes(formats: readonly Format[]): string[] {
  return formats.flatMap(format => (isWriter(format) ? format.types.slice(0, 1) : []))
}

/** The refusal where no format suits: it lists what exists. */
export function notAcceptable(formats: readonly Format[]): HttpError {
  const types = writtenTypes(formats).join(', ')
  const message = `None of the accepted types exists here; there are ${types}`
  return new HttpError(406, [{ message, field: 'accept', type: 'not_acceptable' }])
}

/**
 * The format to read a body with: by its `Content-Type`, a suffix served by its base format, else by
 * the URL's extension, else the first that reads.
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
  const suffix = suffixOf(content.type)
  return (
    readers.find(({ types }) => types.includes(content.type)) ??
    readers.find(({ name }) => name === suffix)
  )
}

function reads(format: Format): format is Reader {
  return format.read !== undefined
}

/** The media types that are read, one for each format. */
export function readTypes(formats: readonly Format[]): string[] {
  return formats.flatMap(format => (format.read ? format.types.slice(0, 1) : []))
}

/** Where a 415 lists what is taken: RFC 5789 §3.1, Linked Data Platform §7.1, for all else RFC 9110 §15.5.16. */
const LISTS: Readonly<Record<string, string>> = { PATCH: 'Accept-Patch', POST: 'Accept-Post' }

/** The refusal of a body in no known format: it lists those that are, in a header too. */
export function unsupportedMediaType(
  formats: readonly Format[],
  method: string,
  given: string | undefined,
  extra: readonly string[],
): HttpError {
  const types = [...readTypes(formats), ...extra].join(', ')
  const wrong =
    given === undefined ? 'and Content-Type must say which' : `not ${given.slice(0, 64)}`
  return new HttpError(
    415,
    [
      {
        message: `The body must be one of ${types}, ${wrong}`,
        field: 'content-type',
        type: 'unsupported_media_type',
      },
    ],
    { headers: [LISTS[method] ?? 'Accept', types] },
  )
}

/** The format, and the type where it is not the format's first: each representation has its own tag (RFC 9110 §8.8.1). */
export function variantOf({ format, type }: Negotiated): string {
  return type === format.types[0] ? format.name : `${format.name}.${encodeURIComponent(type)}`
}
