// `multipart/form-data` (RFC 7578): each part one property, in a format of its own by its
// `Content-Type`. Texts together are as large as a body may be; files are handed on as they come,
// no faster than they are taken. busboy is used here and nowhere else.
import type { Readable } from 'node:stream'
import busboy, { type FieldInfo, type FileInfo } from 'busboy'
import { oneChunk } from '../blobs/blob-store.ts'
import { HttpError, incompleteBody } from '../errors.ts'
import { findField } from '../schema/fields.ts'
import type { Json } from '../schema/values.ts'
import { form } from './form.ts'
import { formValue, namesOf, type Part } from './form-values.ts'
import {
  checkName,
  decodeText,
  type Format,
  followedBy,
  type ReadContext,
  uploadTooLarge,
} from './format.ts'
import { parseJson } from './json.ts'
import { BoundaryCounter } from './multipart-boundaries.ts'
import { parseXml } from './xml/reader.ts'
import { shapeOf } from './xml/shape.ts'
import { xml } from './xml/xml.ts'

/** `multipart/form-data`, read only: forms with files. */
export const multipart: Format = {
  name: 'multipart',
  extensions: [],
  types: ['multipart/form-data'],
  form: true,
  read: readMultipart,
  ...(form.receive && { receive: form.receive }),
}

/**
 * Reads a body part by part. It settles when every file is taken or given up: after an error,
 * uploads that are under way have ended in one, too. A text or a name with U+FFFD is refused, since
 * busboy puts that character in the place of invalid bytes.
 */
async function readMultipart(body: AsyncIterable<Uint8Array>, context: ReadContext): Promise<Json> {
  const { limits, signal } = context
  const boundary = boundaryOf(context)
  const delimiters = new BoundaryCounter(boundary)
  const parser = busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    defParamCharset: 'utf8',
    // busboy cuts what reaches a limit: one more byte tells what is over from what is at it.
    limits: {
      fieldSize: limits.body + 1,
      fileSize: limits.upload + 1,
      fields: limits.parts,
      files: limits.parts,
      parts: limits.parts + 1,
    },
  })
  const reader = partReader(context)
  const parts: [string, Promise<Part | undefined>][] = []
  let failure: { readonly error: unknown } | undefined
  let wake = () => {}

  function fail(error: unknown): void {
    failure ??= { error }
    parser.destroy()
    wake()
  }
  /** Waits for an event, or for a failure. */
  function until(event: 'drain' | 'finish'): Promise<void> {
    return new Promise(resolve => {
      wake = resolve
      parser.once(event, resolve)
    })
  }
  function receive(name: string | undefined, read: (name: string) => Promise<Part | undefined>) {
    // busboy goes on with the chunk at hand after it was destroyed.
    if (failure) return
    try {
      const known = checkPartName(name)
      const part = read(known)
      part.catch(fail)
      parts.push([known, part])
    } catch (error) {
      fail(error)
    }
  }

  parser.on('field', (name, value, info) => {
    receive(name, known => reader.field(known, value, info))
  })
  parser.on('file', (name, stream, info) => {
    stream.on('error', () => {}) // told to whoever reads the stream
    receive(name, known => reader.file(known, stream, info))
    if (failure) stream.destroy()
  })
  parser.on('error', cause => fail(malformed('ends too early, or has a part that is none', cause)))
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    parser.on(event, () => fail(tooManyParts(limits.parts)))
  }
  const abort = () => fail(incompleteBody(signal.reason))
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()

  const chunks = body[Symbol.asyncIterator]()
  try {
    while (!failure) {
      const next = await new Promise<IteratorResult<Uint8Array> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined)
        chunks.next().then(resolve, reject)
      })
      if (failure || !next || next.done) break
      delimiters.push(next.value)
      if (delimiters.count - 1 > limits.parts) throw tooManyParts(limits.parts)
      if (!parser.write(next.value) && !failure) await until('drain')
    }
    if (!failure) {
      parser.end()
      await until('finish')
    }
  } catch (error) {
    fail(error instanceof HttpError ? error : incompleteBody(error))
  }
  const settled = await Promise.allSettled(parts.map(([, part]) => part))
  signal.removeEventListener('abort', abort)
  const pairs: [string, Part][] = []
  for (const [at, outcome] of settled.entries()) {
    const name = parts[at]?.[0]
    if (outcome.status === 'fulfilled' && outcome.value !== undefined && name !== undefined) {
      pairs.push([name, outcome.value])
    }
  }
  // Of a body that was refused this is what came before.
  context.sent?.(pairs)
  if (failure) {
    // Not awaited: a generator that waits for the network does not return before the network does.
    chunks.return?.()?.then(undefined, () => {})
    throw failure.error
  }
  if (delimiters.count - 1 !== parts.length) {
    throw malformed('has a part without a Content-Disposition of form-data')
  }
  return formValue(pairs, context)
}

const BOUNDARY = /^[\w'()+,./:=?!#$%&*^`|~ -]{0,69}[\w'()+,./:=?!#$%&*^`|~-]$/

function boundaryOf({ parameters }: ReadContext): string {
  const boundary = parameters.get('boundary')
  if (boundary === undefined || !BOUNDARY.test(boundary)) {
    throw malformed('needs a boundary of 1 to 70 characters in its Content-Type')
  }
  return boundary
}

interface PartReader {
  /** A part that busboy has read whole. */
  field(name: string, value: string, info: FieldInfo): Promise<Part | undefined>
  /** A part that comes as a stream: a file, or JSON that a browser has given a file name. */
  file(name: string, stream: Readable, info: FileInfo): Promise<Part | undefined>
}

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)$/

function partReader(context: ReadContext): PartReader {
  const { fields, limits, issues, upload } = context
  /** Bytes that texts may still have. */
  let room = limits.body

  function take(name: string, size: number, cut: boolean): void {
    room -= size
    if (room >= 0 && !cut) return
    const message = `${name} is too large: the texts of a form may have ${limits.body} bytes together`
    throw new HttpError(413, [{ message, field: name, type: 'body_too_large' }])
  }

  /** A part in a format of its own; `undefined` where the type is none that is read here. */
  function structured(name: string, type: string, text: () => string): Part | undefined {
    const names = namesOf(name)
    if (JSON_TYPE.test(type)) {
      const depth = Math.max(1, limits.depth - names.length)
      return { json: parseJson(text(), depth, limits.members) }
    }
    if (!xml.types.includes(type)) return undefined
    const shape = shapeOf(fields && findField(fields, names))
    return { json: parseXml(text(), shape, limits, issues, names.join('.')) }
  }

  async function send(
    name: string,
    file: string | undefined,
    type: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<Part> {
    if (!upload) {
      const message = `${name} is a file, and files are not taken here`
      throw new HttpError(400, [{ message, field: name, type: 'no_files' }])
    }
    return { json: await upload(namesOf(name).join('.'), { name: file, type, content }) }
  }

  return {
    async field(name, value, { mimeType, valueTruncated, encoding }) {
      checkEncoding(name, encoding)
      // busboy gives `undefined` for a charset that it does not know; its types do not say so.
      if (value === undefined) throw partError(name, 'is in a charset that is not known')
      take(name, Buffer.byteLength(value), valueTruncated)
      if (value.includes('\ufffd')) {
        throw partError(name, 'is not valid UTF-8; a binary part needs a file name')
      }
      if (mimeType === 'text/plain') return value
      const part = structured(name, mimeType, () => value.replace(/^\ufeff/, ''))
      return part ?? send(name, undefined, mimeType, oneChunk(Buffer.from(value)))
    },
    async file(name, stream, { filename, mimeType, encoding }) {
      try {
        checkEncoding(name, encoding)
        if (/[\0-\x1f\x7f]/.test(filename ?? '')) {
          throw partError(name, 'has a file name with control characters')
        }
        if (JSON_TYPE.test(mimeType) || xml.types.includes(mimeType)) {
          const chunks: Uint8Array[] = []
          for await (const chunk of stream) {
            take(name, chunk.length, false)
            chunks.push(chunk)
          }
          take(name, 0, isCut(stream))
          return structured(name, mimeType, () => decodeText(Buffer.concat(chunks)))
        }
        const content: AsyncIterator<Uint8Array, undefined> = stream[Symbol.asyncIterator]()
        const first = await content.next()
        // A file input in which nobody has chosen a file.
        if (first.done && !filename) return undefined
        const part = await send(
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

/** Whether busboy has left out the end of a file. */
function isCut(stream: Readable & { truncated?: boolean }): boolean {
  return stream.truncated === true
}

/** @throws HttpError 400 for a part without a name, or with one that no property can have. */
function checkPartName(name: string | undefined): string {
  if (!name) throw malformed('has a part without a name')
  if (name.includes('\ufffd')) throw malformed('has a part whose name is not valid UTF-8')
  for (const each of namesOf(name)) checkName(each, name)
  return name
}

function checkEncoding(name: string, encoding: string): void {
  if (!/^(?:7bit|8bit|binary)$/i.test(encoding)) {
    throw partError(name, 'has a Content-Transfer-Encoding; parts are sent as they are')
  }
}

function partError(name: string, what: string): HttpError {
  const field = name.slice(0, 128)
  return new HttpError(400, [{ message: `${field} ${what}`, field, type: 'invalid_part' }])
}

function malformed(what: string, cause?: unknown): HttpError {
  const message = `The multipart body ${what}`
  return new HttpError(400, [{ message, type: 'invalid_multipart' }], { cause })
}

function tooManyParts(limit: number): HttpError {
  const message = `The body may have at most ${limit} parts`
  return new HttpError(413, [{ message, type: 'too_many_parts' }])
}
