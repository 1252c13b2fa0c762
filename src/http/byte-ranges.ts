// Byte ranges (RFC 9110 §14.1.2) and the multipart/byteranges that answers several (§14.6).

export interface ByteRange {
  /** Both inclusive. */
  readonly first: number
  readonly last: number
}

/** How many ranges one request may name; more, or ranges that overlap, are answered with the whole. */
const MOST_RANGES = 16

/**
 * Reads `Range: bytes=…` of a content of so many bytes.
 * @returns `undefined` for what is to be ignored: another unit, malformed, too many, overlapping, and any
 * of an empty content, since a cache that asks in slices would hand the 416 to whoever asked for the whole;
 * an empty list where no range can be satisfied: a 416.
 */
export function parseByteRanges(text: string, size: number): ByteRange[] | undefined {
  const set = /^bytes=(.+)$/i.exec(text.trim())?.[1]
  const specs = set?.split(',') ?? []
  if (size === 0 || specs.length === 0 || specs.length > MOST_RANGES) return undefined
  const ranges: ByteRange[] = []
  for (const spec of specs) {
    const [, first = '', last = ''] = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(spec) ?? []
    if (first === '' && last === '') return undefined
    if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
    const suffix = first === ''
    const range = {
      first: suffix ? Math.max(0, size - Number(last)) : Number(first),
      last: suffix || last === '' ? size - 1 : Math.min(Number(last), size - 1),
    }
    if (range.first < size) ranges.push(range)
  }
  return overlap(ranges) ? undefined : ranges
}

function overlap(ranges: readonly ByteRange[]): boolean {
  const sorted = [...ranges].sort((one, other) => one.first - other.first)
  let end = -1
  for (const { first, last } of sorted) {
    if (first <= end) return true
    end = last
  }
  return false
}

/** The head of one part of a multipart/byteranges body. */
export function printPartHead(
  boundary: string,
  type: string,
  { first, last }: ByteRange,
  size: number,
): string {
  return `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: bytes ${first}-${last}/${size}\r\n\r\n`
}

/** The end of such a body. */
export function printEnd(boundary: string): string {
  return `\r\n--${boundary}--\r\n`
}
