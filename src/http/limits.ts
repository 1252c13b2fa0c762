// The limits of a request. All of them have defaults; an invalid one is a TypeError.
import { checkOptions, wholeFrom, withDefaults } from '../options.ts'

/** The limits of a request. All have defaults. */
export interface Limits {
  /** Bytes of a request target. Default 8,192. */
  readonly target: number
  /** Header fields of a request. Default 100. */
  readonly headers: number
  /** Parameters of a query, names in its `fields`, keys of a form. Default 500. */
  readonly parameters: number
  /** Bytes of a request body without its files. Default 1 MiB. */
  readonly body: number
  /** Levels of nesting in a body of any format. Default 32. */
  readonly depth: number
  /** Members of objects and elements of lists in a JSON body, or in one key of a form, all levels together. Default 50,000. */
  readonly members: number
  /** Bytes of an item as JSON. Default 4 MiB. */
  readonly item: number
  /** Bytes of the items of one page as JSON, together; a page has at least one item. Default 8 MiB. */
  readonly page: number
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
  /** Bytes of the inline contents that `fields` asks for, of all items of one response, or of each item of a stream. Default 10 MiB. */
  readonly inline: number
  /** Parts of a multipart body. Default 50. */
  readonly parts: number
  /** Elements and attributes of an XML body. Default 5,000. */
  readonly elements: number
  /** Operations of one JSON Patch. Default 500. */
  readonly patchOperations: number
  /** Milliseconds that a body may be behind `bodyRate`; then 408. Default 5,000. */
  readonly bodyTime: number
  /** The minimum rate of a body, in bytes per second. Default 16,384. */
  readonly bodyRate: number
  /** Milliseconds for the work on a request after it is read, and for storing each piece of an upload; then 503. Default 5,000. */
  readonly workTime: number
  /** Bytes of answers that clients have not read yet, over all connections; then large answers are 503. Default 256 MiB. */
  readonly unsent: number
  /** Requests handled at the same time; more are answered 503. Default 1,000. */
  readonly concurrency: number
}

/** Some of the limits. The others have their defaults. */
export type LimitOptions = { readonly [Name in keyof Limits]?: Limits[Name] | undefined }

const DEFAULTS: Limits = {
  target: 8192,
  headers: 100,
  parameters: 500,
  body: 1024 * 1024,
  depth: 32,
  members: 50_000,
  item: 4 * 1024 * 1024,
  page: 8 * 1024 * 1024,
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
  unsent: 256 * 1024 * 1024,
  concurrency: 1000,
}

const RULES = Object.fromEntries(Object.keys(DEFAULTS).map(name => [name, wholeFrom(1)]))

/**
 * Builds the limits in force: the defaults with the given ones in their place.
 * @throws TypeError for an unknown name or anything but a whole number from 1.
 */
export function buildLimits(options: LimitOptions = {}): Limits {
  checkOptions('limits', options, RULES)
  return Object.freeze(withDefaults(DEFAULTS, options))
}
