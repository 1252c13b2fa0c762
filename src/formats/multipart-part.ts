// One part of a multipart body: a text, JSON or XML by its `Content-Type`, or a file.
import type { Readable } from 'node:stream'
import type { FieldInfo, FileInfo } from 'busboy'
import { followedBy, oneChunk, uploadTooLarge } from '../blobs/content.ts'
import { HttpError } from '../errors.ts'
import { findField } from '../schema/fields.ts'
import { namesOf, type Part } from './form-values.ts'
import type { ReadContext } from './format.ts'
import { parseJson } from './json.ts'
import { valueIssue } from './json-value.ts'
import { NO_FILE_NAME } from './multipart-heads.ts'
import { decodeText } from './read-body.ts'
import { parseXml } from './xml/reader.ts'
import { shapeOf } from './xml/shape.ts'
import { xml } from './xml/xml.ts'

export interface PartReader {
  /** Reads a part that busboy has buffered. */
  field(name: string, value: string, info: FieldInfo): Promise<Part | undefined>
  /** Reads a part that streams: a file, or JSON with the file name that browsers add. */
  file(name: string, stream: Readable, info: FileInfo): Promise<Part | undefined>
}

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)$/

export function createPartReader(context: ReadContext): PartReader {
  const { fields, limits, issues, upload } = context
  let remaining = limits.body

  function countText(name: string, size: number, cut: boolean): void {
    remaining -= size
    if (remaining >= 0 && !cut) return
    const message = `${name} is too large: the texts of a form may have ${limits.body} bytes together`
    throw new HttpError(413, [{ message, field: name, type: 'body_too_large' }])
  }

  /** Parses JSON or XML; `undefined` for other types. */
  function parseStructured(name: string, type: string, text: () => string): Part | undefined {
    const names = namesOf(name)
    if (JSON_TYPE.test(type)) {
      const depth = Math.max(1, limits.depth - names.length)
      return { json: parseJson(text(), depth, limits.members) }
    }
    if (!xml.types.includes(type)) return undefined
    const shape = shapeOf(fields && findField(fields, names))
    return { json: parseXml(text(), shape, limits, issues, names.join('.')) }
  }

  async function store(
    name: string,
    file: string | undefined,
    type: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<Part> {
    if (!upload) {
      const message = `${name} is a file, and files are not accepted here`
      throw new HttpError(400, [{ message, field: name, type: 'no_files' }])
    }
    return { json: await upload(namesOf(name).join('.'), { name: file, type, content }) }
  }

  return {
    async field(name, value, { mimeType, valueTruncated, encoding }) {
      checkEncoding(name, encoding)
      // busboy gives `undefined` for an unknown charset, against its types.
      if (value === undefined) throw partError(name, 'is in an unknown charset')
      countText(name, Buffer.byteLength(value), valueTruncated)
      if (value.includes('\ufffd')) {
        throw partError(name, 'is not valid UTF-8; a binary part needs a file name')
      }
      if (mimeType === 'text/plain') return value
      const part = parseStructured(name, mimeType, () => value.replace(/^\ufeff/, ''))
      return part ?? store(name, undefined, mimeType, oneChunk(Buffer.from(value)))
    },
    async file(name, stream, { filename: given, mimeType, encoding }) {
      const filename = given === NO_FILE_NAME ? undefined : given
      try {
        checkEncoding(name, encoding)
        if (/[\0-\x1f\x7f]/.test(filename ?? '')) {
          throw partError(name, 'has a file name with control characters')
        }
        if (JSON_TYPE.test(mimeType) || xml.types.includes(mimeType)) {
          const chunks: Uint8Array[] = []
          for await (const chunk of stream) {
            countText(name, chunk.length, false)
            chunks.push(chunk)
          }
          countText(name, 0, isCut(stream))
          return parseStructured(name, mimeType, () => decodeText(Buffer.concat(chunks)))
        }
        const content: AsyncIterator<Uint8Array, undefined> = stream[Symbol.asyncIterator]()
        const first = await content.next()
        // A file input without a chosen file.
        if (first.done && !filename) return undefined
        const part = await store(
          name,
          filename || undefined,
          mimeType,
          followedBy(first.done ? [] : [first.value], content),
        )
        if (!stream.readableEnded)
          throw new TypeError(`The upload of ${name} was not read to its end`)
        if (isCut(stream)) throw uploadTooLarge(name, limits.upload)
        return part
      } finally {
        stream.destroy()
      }
    },
  }
}

/** Whether busboy has cut a file at its limit. */
function isCut(stream: Readable & { truncated?: boolean }): boolean {
  return stream.truncated === true
}

function checkEncoding(name: string, encoding: string): void {
  if (!/^(?:7bit|8bit|binary)$/i.test(encoding)) {
    throw partError(name, 'has a Content-Transfer-Encoding; send it unencoded')
  }
}

function partError(name: string, what: string): HttpError {
  return new HttpError(400, [valueIssue(name, what, 'invalid_part')])
}
