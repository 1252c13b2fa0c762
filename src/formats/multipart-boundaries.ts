// The delimiters of a multipart body (RFC 2046 §5.1.1). busboy silently skips parts whose headers it
// cannot read; only this count reveals them.

/** Counts the delimiters of a body in chunks, also those cut by the end of a chunk. */
export class BoundaryCounter {
  /** The delimiters so far, with the closing one: one more than the parts. */
  count = 0
  readonly #delimiter: Buffer
  #tail: Uint8Array = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  push(chunk: Uint8Array): void {
    const max = this.#delimiter.length - 1
    // Each side is too short to hold a whole delimiter.
    this.#search(Buffer.concat([this.#tail, chunk.subarray(0, max)]))
    this.#search(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    this.#tail =
      chunk.length < max
        ? Buffer.concat([this.#tail, chunk]).subarray(-max)
        : Buffer.from(chunk.subarray(chunk.length - max))
  }

  #search(bytes: Buffer): void {
    let at = bytes.indexOf(this.#delimiter)
    while (at !== -1) {
      this.count++
      at = bytes.indexOf(this.#delimiter, at + this.#delimiter.length)
    }
  }
}
