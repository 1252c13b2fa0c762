// The delimiters and the heads of the parts of a multipart body (RFC 2046 §5.1.1), before busboy reads
// them. busboy silently skips parts whose headers it cannot read: only the count of delimiters reveals
// them. It decodes a part without a file name as a text: an image gets a name, which is no file's. It decodes
// texts with U+FFFD for invalid bytes: every text gets the charset latin1, which keeps its bytes.
import { isUtf8 } from 'node:buffer'

/** The file name of a part that has none. */
export const NO_FILE_NAME = 'rest-conventions-no-file-name'

/** The longest head that is held back until it is whole; busboy refuses longer ones. */
export const MAX_HEAD = 17 * 1024
/** The end of a head, which begins within its last line end. */
const HEAD_END = '\r\n\r\n'

/** What busboy does not tell of the head of a part. */
export interface PartHead {
  /** As the part declares it. */
  readonly charset: string
  /** Whether the head itself, with the name of the part, is valid UTF-8. */
  readonly isUtf8: boolean
}

/** Counts the delimiters of a body in chunks, and names the files without a name. */
export class PartHeads {
  /** Of each part, in their order. */
  readonly heads: PartHead[] = []
  /** The delimiters so far, with the closing one: one more than the parts. */
  count = 0
  /** The bytes behind the closing delimiter. */
  after = 0
  readonly #delimiter: Buffer
  /** Whether the closing delimiter was passed: what follows is no part. */
  #closed = false
  #held: Buffer = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Takes a chunk and returns what busboy can read so far. */
  push(chunk: Uint8Array): Buffer {
    return this.#pass(Buffer.concat([this.#held, chunk]), this.#held.length, MAX_HEAD)
  }

  /** Returns the rest, at the end of the body. */
  end(): Buffer {
    const passed = this.#pass(this.#held, 0, 0)
    return this.#closed ? passed : Buffer.concat([passed, this.#held])
  }

  /** @param held how many of the bytes were held back: no head ends in them. */
  #pass(data: Buffer, held: number, maxHead: number): Buffer {
    const passed: Buffer[] = []
    let at = 0
    // No byte is searched twice for the end of a head: delimiters may stand in every fifth.
    let end = 0
    let keepFrom = data.length - this.#delimiter.length + 1
    let start = data.indexOf(this.#delimiter)
    while (start !== -1) {
      const head = start + this.#delimiter.length
      if (end !== -1 && end < head)
        end = data.indexOf(HEAD_END, Math.max(head, held - HEAD_END.length + 1))
      // A delimiter in the head of a part, or after the closing one, is only counted.
      const opens = start >= at && !this.#closed
      if (opens && end === -1 && data.length - head < maxHead) {
        keepFrom = start
        break
      }
      this.count++
      if (opens && data.toString('latin1', head, head + 2) === '--') {
        this.#closed = true
        passed.push(data.subarray(at, head + 2))
        at = head + 2
      } else if (opens && end !== -1 && end - head < MAX_HEAD) {
        const bytes = data.subarray(head, end)
        const charset = CHARSET.exec(bytes.toString('latin1'))?.[2] ?? 'utf-8'
        this.heads.push({ charset, isUtf8: isUtf8(bytes) })
        passed.push(data.subarray(at, head), nameFile(withLatin1(bytes)))
        at = end
      }
      start = data.indexOf(this.#delimiter, head)
    }
    keepFrom = Math.max(at, keepFrom)
    if (this.#closed) this.after += keepFrom - at
    else passed.push(data.subarray(at, keepFrom))
    this.#held = data.subarray(keepFrom)
    return Buffer.concat(passed)
  }
}

const TYPE = /\r\ncontent-type:[ \t]*([\w.+-]+\/[\w.+-]+)/i
const DISPOSITION = /\r\ncontent-disposition:[ \t]*form-data/i
/** Types that are read as values of properties. */
const VALUE = /^text\/(?:plain|xml)$|^application\/(?:xml|json|[\w.-]+\+json)$/i

const CHARSET = /(\r\ncontent-type:[^\r]*?;[ \t]*charset=)"?([^\s;"]+)"?/i

/** Replaces the charset that a part declares. */
function withLatin1(head: Buffer): Buffer {
  const text = head.toString('latin1')
  return CHARSET.test(text) ? Buffer.from(text.replace(CHARSET, '$1latin1'), 'latin1') : head
}

/** Adds a file name to the head of a part of a binary type that has none, or an empty one. */
function nameFile(head: Buffer): Buffer {
  const text = head.toString('latin1').replace(/;[ \t]*filename=""/i, '')
  const type = TYPE.exec(text)?.[1]
  if (type === undefined || VALUE.test(type) || /filename/i.test(text)) return head
  return Buffer.from(text.replace(DISPOSITION, `$&; filename=${NO_FILE_NAME}`), 'latin1')
}
