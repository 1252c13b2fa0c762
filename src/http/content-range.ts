// Positions in a list: `Range` and `Content-Range` with a collection as the unit (RFC 9110 §14).

import { toPosition } from './parameters.ts'

/** First and last position, both inclusive and counted from 0; without a last, everything after the first. */
export interface Range {
  readonly first: number
  readonly last: number | undefined
}

const RANGE = /^(\d+)-(\d*)$/

/**
 * Parses `Range: <unit>=<first>-<last>` of one collection; the last may be left out.
 * @returns `undefined` for another unit, several ranges, a suffix or anything malformed: RFC 9110
 * §14.2 has all of these ignored.
 */
export function parseRange(text: string, unit: string): Range | undefined {
  const value = text.trim()
  const equals = value.indexOf('=')
  if (value.slice(0, equals).toLowerCase() !== unit.toLowerCase()) return undefined
  const [positions, from = '', to = ''] = RANGE.exec(value.slice(equals + 1)) ?? []
  if (positions === undefined) return undefined
  const first = toPosition(from)
  const last = to === '' ? undefined : toPosition(to)
  return last !== undefined && last < first ? undefined : { first, last }
}

/** Prints the value of a `Range` header. */
export function printRange(range: Range, unit: string): string {
  return `${unit}=${range.first}-${range.last ?? ''}`
}

/** The place of a page; `range` is absent for an empty page, `total` where it is unknown. */
export interface ContentRange {
  readonly unit: string
  readonly range?: { readonly first: number; readonly last: number }
  readonly total?: number
}

const CONTENT_RANGE = /^(\S+) (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/

/** Parses `<unit> <first>-<last>/<total>`; `undefined` for anything else. */
export function parseContentRange(text: string): ContentRange | undefined {
  const parts = CONTENT_RANGE.exec(text)
  if (parts?.[1] === undefined) return undefined
  const [, unit, first, last, total] = parts
  if (first === undefined && total === '*') return undefined
  if (first !== undefined && Number(last) < Number(first)) return undefined
  if (last !== undefined && total !== '*' && Number(total) <= Number(last)) return undefined
  return {
    unit,
    ...(first === undefined ? {} : { range: { first: Number(first), last: Number(last) } }),
    ...(total === '*' ? {} : { total: Number(total) }),
  }
}

/** Prints `<unit> <first>-<last>/<total>`, `<unit> *\/<total>` for an empty page, `*` for an unknown total. */
export function printContentRange({ unit, range, total }: ContentRange): string {
  return `${unit} ${range ? `${range.first}-${range.last}` : '*'}/${total ?? '*'}`
}
