// The limits of a request. All of them have defaults; an invalid one is a TypeError.
import { checkOptions, rulesFor, wholeFrom, withDefaults } from '../options.ts'

const DEFAULTS = {
  /** Bytes of a request target. Default 8,192. */
  target: 8192,
  /** Header fields of a request. Default 100. */
  headers: 100,
  /** Parameters of a query, names in its `fields`, keys of a form. Default 500. */
  parameters: 500,
  /** Bytes of a request body without its files. Default 1 MiB. */
  body: 1024 * 1024,
  /** Levels of nesting in a body of any format. Default 32. */
  depth: 32,
  /** Members of objects and elements of lists in a JSON body, or in one key of a form, all levels together. Default 50,000. */
  members: 50_000,
  /** Bytes of an item as JSON. Default 4 MiB. */
  item: 4 * 1024 * 1024,
  /** Bytes of the items of one page as JSON, together; a page has at least one item. Default 8 MiB. */
  page: 8 * 1024 * 1024,
  /** Filters of one list request. Default 50. */
  filters: 50,
  /** Values of one filter. Default 100. */
  values: 100,
  /** Characters of a pattern of `[like]`, and of one word of a search. Default 100. */
  pattern: 100,
  /** Different words of one search. Default 16. */
  words: 16,
  /** Keys of one sort. Default 8. */
  sortKeys: 8,
  /** Bytes of an `Accept` header. Default 8,192. */
  accept: 8192,
  /** Bytes of one uploaded file. Default 10 MiB. */
  upload: 10 * 1024 * 1024,
  /** Bytes of the inline contents that `fields` asks for, of all items of one response, or of each item of a stream. Default 10 MiB. */
  inline: 10 * 1024 * 1024,
  /** Parts of a multipart body. Default 50. */
  parts: 50,
  /** Elements and attributes of an XML body. Default 5,000. */
  elements: 5000,
  /** Operations of one JSON Patch. Default 500. */
  patchOperations: 500,
  /** Steps of one batch. Default 100. */
  steps: 100,
  /** Items of an array that is created. Default 1,000. */
  arrayItems: 1000,
  /** Items that one PATCH or DELETE by filter may change or delete. Default 1,000. */
  affected: 1000,
  /** Milliseconds that a body may be behind `bodyRate`; then 408. Default 5,000. */
  bodyTime: 5000,
  /** The minimum rate of a body, in bytes per second. Default 16,384. */
  bodyRate: 16 * 1024,
  /** Milliseconds for the work on a request after it is read, and for storing each piece of an upload; then 503. Default 5,000. */
  workTime: 5000,
  /** Bytes of answers that clients have not read yet, over all connections; then large answers are 503. Default 256 MiB. */
  unsent: 256 * 1024 * 1024,
  /**
   * Bytes of the answer that is kept of a write with an `Idempotency-Key`, as JSON. Of a larger one id and version are
   * kept. Default 64 KiB.
   */
  keyAnswer: 64 * 1024,
  /** Milliseconds for which that answer is kept; then its key is new. Default 86,400,000, a day. */
  keyTime: 86_400_000,
  /** Lists that are followed at the same time; more are answered 503. They do not count for `concurrency`. Default 10,000. */
  watchers: 10_000,
  /** Items of a list that is followed; more are answered 400. Default 10,000. */
  maxLive: 10_000,
  /** Requests handled at the same time; more are answered 503. Default 1,000. */
  concurrency: 1000,
}

/** The limits of a request. All have defaults. */
export type Limits = Readonly<typeof DEFAULTS>

/** Some of the limits. The others have their defaults. */
export type LimitOptions = { readonly [Name in keyof Limits]?: Limits[Name] | undefined }

const BYTES = wholeFrom(1, 'bytes')
const MILLISECONDS = wholeFrom(1, 'milliseconds')
const RULES = {
  ...rulesFor(Object.keys(DEFAULTS), wholeFrom(1)),
  ...rulesFor(['target', 'body', 'item', 'page', 'accept', 'upload', 'inline'], BYTES),
  ...rulesFor(['unsent', 'keyAnswer', 'bodyRate'], BYTES),
  ...rulesFor(['bodyTime', 'workTime', 'keyTime'], MILLISECONDS),
}

/**
 * Builds the limits in force: the defaults with the given ones in their place.
 * @throws TypeError for an unknown name or anything but a whole number from 1.
 */
export function buildLimits(options: LimitOptions = {}): Limits {
  checkOptions('limits', options, RULES)
  return Object.freeze(withDefaults(DEFAULTS, options))
}
