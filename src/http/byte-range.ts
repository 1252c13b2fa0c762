// Byte ranges (RFC 9110 §14): one part of a content in `Range` and `Content-Range`.

/** A part of a content, in bytes (RFC 9110 §14.1.2). */
export interface ByteRange {
  /** Both inclusive. */
  readonly first: number
  readonly last: number
}

const RANGE = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))$/i

/**
 * Parses `Range: bytes=…` for a content of so many bytes.
 * @returns `undefined` where the whole content is sent: for another unit, a malformed range, several
 * ranges (§14.2 allows it), and for empty content, which has no part.
 */
export function parseByteRange(
  text: string,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [range, from = '', to = '', suffix] = RANGE.exec(text.trim()) ?? []
  if (range === undefined || size === 0) return undefined
  if (suffix !== undefined) {
    if (Number(suffix) === 0) return 'unsatisfiable'
    return { first: Math.max(0, size - Number(suffix)), last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return undefined
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}

/** Prints `Content-Range` of a part, or of a range that cannot be satisfied (§14.4). */
export function printByteContentRange(range: ByteRange | 'unsatisfiable', size: number): string {
  return `bytes ${range === 'unsatisfiable' ? '*' : `${range.first}-${range.last}`}/${size}`
}
