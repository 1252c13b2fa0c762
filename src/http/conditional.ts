// Validators and preconditions (RFC 9110 §8.8 and §13): from entity tags and dates to a verdict: proceed,
// 304, or 412.
// Reads are evaluated in server/respond.ts, writes in operations/writes/preconditions.ts.

import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { parseHttpDate } from './date.ts'
import type { RequestHeaders } from './message.ts'
import { isConditional } from './methods.ts'

/** An entity tag (§8.8.3) without its quotes. */
export interface EntityTag {
  readonly weak: boolean
  readonly opaque: string
}

/** The value of `If-Match` or `If-None-Match`: tags, or `*` (RFC 9110 §13.1). */
export type EntityTags = '*' | readonly EntityTag[]

const ENTITY_TAG = /\s*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*)?(?:,|$)/y

/** Parses `*` or a list of entity tags, without empty members (§5.6.1.2); `undefined` for anything else. */
export function parseEntityTags(text: string): EntityTags | undefined {
  if (text.trim() === '*') return '*'
  const tags: EntityTag[] = []
  for (ENTITY_TAG.lastIndex = 0; ENTITY_TAG.lastIndex < text.length; ) {
    const member = ENTITY_TAG.exec(text)
    if (!member) return undefined
    const [, weak, opaque] = member
    if (opaque !== undefined) tags.push({ weak: weak !== undefined, opaque })
  }
  return tags.length > 0 ? tags : undefined
}

/** Prints an entity tag, quoted (RFC 9110 §8.8.3). */
export function printEntityTag({ weak, opaque }: EntityTag): string {
  return `${weak ? 'W/' : ''}"${opaque}"`
}

/** Prints the value of `If-Match` or `If-None-Match`. */
export function printEntityTags(tags: EntityTags): string {
  return tags === '*' ? '*' : tags.map(printEntityTag).join(', ')
}

/**
 * Builds the strong entity tag of one representation of an item: its version, then the variant, by which
 * the representations of one version differ (format, `fields`).
 */
export function itemTag(version: string, variant: string): string {
  return `${version}.${variant}`
}

/**
 * Hashes texts for an entity tag to 64 bits, by two interleaved multiply-xor hashes (after cyrb53), as up to 14 characters.
 * @param texts each ends before the next one: joining a page's versions would take as long again.
 */
export function hashTexts(texts: readonly string[]): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (const text of texts) {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      high = Math.imul(high ^ unit, 2654435761)
      low = Math.imul(low ^ unit, 1597334677)
    }
    // No unit is so large.
    high = Math.imul(high ^ 0x10000, 2654435761)
    low = Math.imul(low ^ 0x10000, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (high >>> 0).toString(36) + (low >>> 0).toString(36).padStart(7, '0')
}

/** Parses the version of an entity tag: the write validator, whatever the representation was. */
export function parseVersionTag(opaque: string): string {
  const dot = opaque.indexOf('.')
  return dot === -1 ? opaque : opaque.slice(0, dot)
}

/** The parsed conditions of a request; dates in milliseconds since 1970. */
export interface Preconditions {
  readonly ifMatch?: EntityTags | undefined
  readonly ifNoneMatch?: EntityTags | undefined
  readonly ifModifiedSince?: number | undefined
  readonly ifUnmodifiedSince?: number | undefined
  readonly ifRange?: EntityTag | number | undefined
}

/** The conditions of a request without conditional headers. */
export const NO_PRECONDITIONS: Preconditions = {}
const NO_VALIDATORS: Validators = {}

/**
 * Parses the conditional headers. A malformed one that guards a write is an issue, since ignoring it
 * would let the write through; one that could only save a transfer is ignored. Invalid dates are
 * ignored, as §13.1.3 and §13.1.4 say.
 * @throws HttpError 400
 */
export function readPreconditions(headers: RequestHeaders, method: string): Preconditions {
  if (!hasConditions(headers)) return NO_PRECONDITIONS
  const reads = isConditional(method)
  const issues: Issue[] = []
  const tags = (name: string, text: string | undefined, required: boolean) => {
    const parsed = text === undefined ? undefined : parseEntityTags(text)
    if (text !== undefined && !parsed && required) {
      const message = `${name} must be * or a list of quoted entity tags, such as "abc"`
      issues.push({ message, field: name, type: 'invalid_header' })
    }
    return parsed
  }
  const date = (text: string | undefined) => (text === undefined ? undefined : parseHttpDate(text))
  const ifMatch = tags('if-match', headers['if-match'], true)
  const ifNoneMatch =
    (reads && findOnlyTag(headers['if-none-match'])) ||
    tags('if-none-match', headers['if-none-match'], !reads)
  throwIfAny(issues)
  // Beside `If-None-Match` the date is ignored (§13.1.3).
  const hasTags = headers['if-none-match'] !== undefined
  const ifModifiedSince = hasTags ? undefined : date(headers['if-modified-since'])
  const ifUnmodifiedSince = date(headers['if-unmodified-since'])
  const ifRange = parseIfRange(headers['if-range'])
  return { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange }
}

/** Finds the only, strong tag of a read, as most caches send it. Here a malformed one need not be told from one that is not current. */
function findOnlyTag(text: string | undefined): EntityTags | undefined {
  if (!text?.startsWith('"') || text.indexOf('"', 1) !== text.length - 1) return undefined
  return [{ weak: false, opaque: text.slice(1, -1) }]
}

function hasConditions(headers: RequestHeaders): boolean {
  return (
    headers['if-none-match'] !== undefined ||
    headers['if-match'] !== undefined ||
    headers['if-modified-since'] !== undefined ||
    headers['if-unmodified-since'] !== undefined ||
    headers['if-range'] !== undefined
  )
}

function parseIfRange(text: string | undefined): EntityTag | number | undefined {
  if (text === undefined) return undefined
  const tags = parseEntityTags(text)
  // A malformed condition matches nothing: the whole is sent.
  const never: EntityTag = { weak: true, opaque: '' }
  if (tags === undefined) return parseHttpDate(text) ?? never
  const [only = never, ...others] = tags === '*' ? [] : tags
  return others.length === 0 ? only : never
}

/** The validators of a representation. */
export interface Validators {
  /** The opaque part of its strong entity tag. */
  readonly tag?: string
  /** When it last changed, in milliseconds since 1970; compared by seconds. */
  readonly lastModified?: number | undefined
}

/** What conditional headers decide for a request (RFC 9110 §13.2.2). */
export type Verdict = 'proceed' | 'not-modified' | 'failed'

/**
 * Evaluates preconditions in the order of §13.2.2. `current` is `undefined` without a current
 * representation. `If-Range` is evaluated by {@link rangeHolds}.
 */
export function evaluate(
  conditions: Preconditions,
  method: string,
  current: Validators | undefined,
): Verdict {
  const reads = isConditional(method)
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince } = conditions
  if (ifMatch) {
    if (!matches(ifMatch, current, true)) return 'failed'
  } else if (ifUnmodifiedSince !== undefined && modified(current, ifUnmodifiedSince))
    return 'failed'
  if (ifNoneMatch) {
    if (matches(ifNoneMatch, current, false)) return reads ? 'not-modified' : 'failed'
  } else if (reads && ifModifiedSince !== undefined && unmodified(current, ifModifiedSince)) {
    return 'not-modified'
  }
  return 'proceed'
}

/** Compares tags (§8.8.3.2). A strong comparison never matches a weak tag; our own tags are all strong. */
function matches(tags: EntityTags, current: Validators | undefined, strong: boolean): boolean {
  if (!current) return false
  if (tags === '*') return true
  return tags.some(({ weak, opaque }) => opaque === current.tag && !(strong && weak))
}

function unmodified(current: Validators | undefined, since: number): boolean {
  if (current?.lastModified === undefined) return false
  return Math.floor(current.lastModified / 1000) * 1000 <= since
}

/** A resource without a date counts as unchanged (§13.1.4); a deleted one has changed. */
function modified(current: Validators | undefined, since: number): boolean {
  if (current && current.lastModified === undefined) return false
  return !unmodified(current, since)
}

/** Whether a `Range` applies (§13.1.5): without `If-Range`, or where that names the current representation. */
export function rangeHolds(
  ifRange: EntityTag | number | undefined,
  { tag, lastModified }: Validators,
): boolean {
  if (ifRange === undefined) return true
  if (typeof ifRange !== 'number') return !ifRange.weak && ifRange.opaque === tag
  return lastModified !== undefined && Math.floor(lastModified / 1000) * 1000 === ifRange
}

/** Leaves out the conditions that lead to 304, for clients that cannot read a status. */
export function withoutNotModified({
  ifNoneMatch: _tags,
  ifModifiedSince: _date,
  ...others
}: Preconditions): Preconditions {
  return others
}

/** Cuts every tag to its version, which is what a write compares (see {@link parseVersionTag}). */
export function cutTagsToVersions(conditions: Preconditions): Preconditions {
  const cut = (tags: EntityTags | undefined): EntityTags | undefined =>
    tags === undefined || tags === '*'
      ? tags
      : tags.map(({ weak, opaque }) => ({ weak, opaque: parseVersionTag(opaque) }))
  const { ifMatch, ifNoneMatch } = conditions
  return { ...conditions, ifMatch: cut(ifMatch), ifNoneMatch: cut(ifNoneMatch) }
}

/**
 * Whether a read is answered 304.
 * @throws HttpError 412
 */
export function evaluateRead(
  conditions: Preconditions,
  method: string,
  current: Validators = NO_VALIDATORS,
): boolean {
  if (conditions === NO_PRECONDITIONS) return false
  const verdict = evaluate(conditions, method, current)
  if (verdict === 'failed') throw preconditionFailed(conditions)
  return verdict === 'not-modified'
}

/** Builds the 412 of a failed precondition. */
export function preconditionFailed({ ifMatch, ifNoneMatch }: Preconditions): HttpError {
  // To read again would not help: the client would get the same weak tag.
  const weak = ifMatch && ifMatch !== '*' && ifMatch.every(tag => tag.weak)
  const message = weak
    ? 'If-Match never matches a weak tag, W/"…". A proxy that compresses may have weakened the ETag.'
    : !ifMatch && ifNoneMatch
      ? 'If-None-Match does not hold: the item exists already.'
      : ifMatch === '*'
        ? 'If-Match does not hold: the item does not exist.'
        : 'The item has changed since you read it. Read it again and repeat your change.'
  return new HttpError(412, [{ message, type: 'precondition_failed' }])
}
