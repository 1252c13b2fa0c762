// How much of anything a request may hold. All are on by default; an invalid one is a `TypeError`.
import { checkOptions, wholeFrom, withDefaults } from '../options.ts'

export interface Limits {
  /** Bytes of a request target. Default 8,192. */
  readonly target: number
  /** Header fields of a request. Default 100. */
  readonly headers: number
  /** Parameters of a query, names in its `fields`, keys of a form, controls that it marks. Default 500. */
  readonly parameters: number
  /** Bytes of a request body, files aside. Default 1 MiB. */
  readonly body: number
  /** Levels of nesting in a body of any format. Default 32. */
  readonly depth: number
  /** Members of objects and elements of lists in a JSON body, or in one key of a form, all levels together. Default 50,000. */
  readonly members: number
  /** Bytes of an item as JSON, as a write would leave it. Default 4 MiB. */
  readonly item: number
  /** Filters of one list request. Default 50. */
  readonly filters: number
  /** Values of one filter. Default 100. */
  readonly values: number
  /** Characters of a pattern of `[like]`, and of one word of a search. Default 100. */
  readonly pattern: number
  /** Different words of one search. Default 16. */
  readonly words: number
  /** Keys of one sort. Default 8. */
  readonly sortKeys: number
  /** Bytes of an `Accept` header. Default 8,192. */
  readonly accept: number
  /** Bytes of one uploaded file. Default 10 MiB. */
  readonly upload: number
  /** Bytes of the contents that `fields` asks for inline, of all items of one answer; a stream holds one item's at a time. Default 10 MiB. */
  readonly inline: number
  /** Parts of a multipart body. Default 50. */
  readonly parts: number
  /** Elements and attributes of an XML body. Default 5,000. */
  readonly elements: number
  /** Operations of one JSON Patch. Default 500. */
  readonly patchOperations: number
  /** Milliseconds that a client may keep the server waiting for a body, beyond what `bodyRate` allows; then 408. Default 5,000. */
  readonly bodyTime: number
  /** Bytes a second that a body must come with in the end: a slow network is fine, a trickle is not. Default 16,384. */
  readonly bodyRate: number
  /** Milliseconds for the work on a request once it is read, and for each piece of an upload to be kept; then 503. Default 5,000. */
  readonly workTime: number
  /** Requests worked on at the same moment; more are answered 503. Default 1,000. */
  readonly concurrency: number
}

/** Some of the limits; what is undefined has its default. */
export type LimitOptions = { readonly [Name in keyof Limits]?: Limits[Name] | undefined }

const DEFAULTS: Limits = {
  target: 8192,
  headers: 100,
  parameters: 500,
  body: 1024 * 1024,
  depth: 32,
  members: 50_000,
  item: 4 * 1024 * 1024,
  filters: 50,
  values: 100,
  pattern: 100,
  words: 16,
  sortKeys: 8,
  accept: 8192,
  upload: 10 * 1024 * 1024,
  inline: 10 * 1024 * 1024,
  parts: 50,
  elements: 5000,
  patchOperations: 500,
  bodyTime: 5000,
  bodyRate: 16 * 1024,
  workTime: 5000,
  concurrency: 1000,
}

const RULES = Object.fromEntries(Object.keys(DEFAULTS).map(name => [name, wholeFrom(1)]))

/**
 * The limits in force: the defaults with what is given in their place.
 * @throws TypeError for an unknown name or anything but a whole number from 1.
 */
export function buildLimits(given: LimitOptions = {}): Limits {
  checkOptions('limits', given, RULES)
  return Object.freeze(withDefaults(DEFAULTS, given))
}
