// How many delimiters a multipart body has (RFC 2046 §5.1.1): busboy leaves parts out without a word
// when it cannot read their headers, and only this count tells.

/** Counts the delimiters of a body that comes in chunks, whose seams may cut a delimiter. */
export class BoundaryCounter {
  /** Delimiters so far, the closing one included: one more than there are parts. */
  count = 0
  readonly #delimiter: Buffer
  #tail: Uint8Array = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  push(chunk: Uint8Array): void {
    const most = this.#delimiter.length - 1
    // Too short at either side to hold a delimiter that does not cross the seam.
    this.#search(Buffer.concat([this.#tail, chunk.subarray(0, most)]))
    this.#search(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    this.#tail =
      chunk.length < most
        ? Buffer.concat([this.#tail, chunk]).subarray(-most)
        : Buffer.from(chunk.subarray(chunk.length - most))
  }

  #search(bytes: Buffer): void {
    let at = bytes.indexOf(this.#delimiter)
    while (at !== -1) {
      this.count++
      at = bytes.indexOf(this.#delimiter, at + this.#delimiter.length)
    }
  }
}
