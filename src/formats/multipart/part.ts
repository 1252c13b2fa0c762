// One part of a multipart body: a text, JSON or XML by its `Content-Type`, or a file.
import type { Readable } from 'node:stream'
import type { FieldInfo, FileInfo } from 'busboy'
import { prependChunks, uploadTooLarge } from '../../blobs/content.ts'
import { HttpError } from '../../errors.ts'
import { type Field, findValueField } from '../../schema/fields.ts'
import { type FormPart, namesOf } from '../form-values.ts'
import type { ReadContext } from '../format.ts'
import { parseJson } from '../json.ts'
import { valueIssue } from '../json-value.ts'
import { decodeText } from '../read-body.ts'
import { parseXml } from '../xml/reader.ts'
import { shapeOf } from '../xml/shape.ts'
import { xml } from '../xml/xml.ts'
import { NO_FILE_NAME } from './heads.ts'

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)$/

/** Reads the parts of one body. */
export class PartReader {
  readonly #context: ReadContext
  /** The bytes that further texts may have. */
  #remaining: number

  constructor(context: ReadContext) {
    this.#context = context
    this.#remaining = context.limits.body
  }

  /**
   * Reads a part that busboy has buffered.
   * @param latin1 one character for each byte.
   */
  async readField(
    name: string,
    latin1: string,
    info: FieldInfo,
    charset: string,
  ): Promise<FormPart> {
    checkEncoding(name, info)
    this.#countText(name, latin1.length, info.valueTruncated)
    const value = decodePart(name, Buffer.from(latin1, 'latin1'), charset)
    return (await this.#parse(name, info.mimeType, () => value.replace(/^\ufeff/, ''))) ?? value
  }

  /** Reads a part that streams: a file, or for another property JSON with the file name that browsers add. */
  async readFile(name: string, stream: Readable, info: FileInfo): Promise<FormPart | undefined> {
    const { mimeType } = info
    const filename = info.filename === NO_FILE_NAME ? undefined : info.filename
    try {
      checkEncoding(name, info)
      if (/[\0-\x1f\x7f]/.test(filename ?? '')) {
        throw partError(name, 'has a file name with control characters')
      }
      const isFile = this.#findField(name)?.kind === 'blob'
      if (!isFile && (JSON_TYPE.test(mimeType) || xml.types.includes(mimeType))) {
        const chunks: Uint8Array[] = []
        for await (const chunk of stream) {
          this.#countText(name, chunk.length, false)
          chunks.push(chunk)
        }
        this.#countText(name, 0, isCut(stream))
        return await this.#parse(name, mimeType, () => decodeText(Buffer.concat(chunks)))
      }
      return await this.#store(name, filename || undefined, mimeType, stream)
    } finally {
      stream.destroy()
    }
  }

  #findField(name: string): Field | undefined {
    const { fields } = this.#context
    return fields && findValueField(fields, namesOf(name))
  }

  #countText(name: string, size: number, cut: boolean): void {
    this.#remaining -= size
    if (this.#remaining >= 0 && !cut) return
    const { body } = this.#context.limits
    const message = `${name} is too large: the texts of a form may have ${body} bytes together`
    throw new HttpError(413, [{ message, field: name, type: 'body_too_large' }])
  }

  /** Parses JSON or XML; `undefined` for other types. */
  async #parse(name: string, type: string, text: () => string): Promise<FormPart | undefined> {
    const { limits, issues } = this.#context
    const names = namesOf(name)
    if (JSON_TYPE.test(type)) {
      const depth = Math.max(1, limits.depth - names.length)
      return { json: parseJson(text(), depth, limits.members, names.join('.')) }
    }
    if (!xml.types.includes(type)) return undefined
    const shape = shapeOf(this.#findField(name))
    return { json: await parseXml(text(), shape, limits, { path: names.join('.'), issues }) }
  }

  /** Stores a file; `undefined` of a file input without a chosen file. */
  async #store(
    name: string,
    filename: string | undefined,
    type: string,
    stream: Readable,
  ): Promise<FormPart | undefined> {
    const { limits, upload } = this.#context
    const chunks: AsyncIterator<Uint8Array, undefined> = stream[Symbol.asyncIterator]()
    const first = await chunks.next()
    if (first.done && filename === undefined) return undefined
    if (!upload) {
      const message = `${name} is a file, and files are not accepted here`
      throw new HttpError(400, [{ message, field: name, type: 'no_files' }])
    }
    const content = prependChunks(first.done ? [] : [first.value], chunks)
    const json = await upload(namesOf(name).join('.'), { name: filename, type, content })
    if (!stream.readableEnded) throw new TypeError(`The upload of ${name} was not read to its end`)
    if (isCut(stream)) throw uploadTooLarge(name, limits.upload)
    return { json }
  }
}

/** @throws HttpError 400 for bytes that are invalid in their charset. */
function decodePart(name: string, bytes: Uint8Array, charset: string): string {
  const decoder = createDecoder(name, charset)
  try {
    return decoder.decode(bytes)
  } catch {
    throw partError(name, `is not valid ${decoder.encoding}; a binary part needs a file name`)
  }
}

function createDecoder(name: string, charset: string) {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true })
  } catch {
    throw partError(name, 'is in an unknown charset')
  }
}

/** Whether busboy has cut a file at its limit. */
function isCut(stream: Readable & { truncated?: boolean }): boolean {
  return stream.truncated === true
}

function checkEncoding(name: string, { encoding }: FieldInfo | FileInfo): void {
  if (/^(?:7bit|8bit|binary)$/i.test(encoding)) return
  throw partError(name, 'has a Content-Transfer-Encoding; send it unencoded')
}

function partError(name: string, what: string): HttpError {
  return new HttpError(400, [valueIssue(name, what, 'invalid_part')])
}
