// `multipart/form-data` (RFC 7578): each part one property, in a format of its own by its
// `Content-Type`. Texts together are as large as a body may be; files are handed on as they come,
// no faster than they are read. busboy is used here and nowhere else.
import { once } from 'node:events'
import busboy from 'busboy'
import type { Json } from '../../base/values.ts'
import { HttpError, incompleteBody } from '../../errors.ts'
import { form } from '../form.ts'
import { type FormPart, formValue, namesOf } from '../form-values.ts'
import type { Format, ReadContext } from '../format.ts'
import { checkName } from '../json-value.ts'
import { MAX_HEAD, type PartHead, PartHeads } from './heads.ts'
import { PartReader } from './part.ts'

/** `multipart/form-data`, read only: forms with files. */
export const multipart: Format = {
  name: 'multipart',
  extensions: [],
  types: ['multipart/form-data'],
  form: true,
  read: readMultipart,
  ...(form.receive && { receive: form.receive }),
}

type NamedPart = readonly [name: string, part: FormPart | undefined]

/** Reads a body part by part. It settles when every upload is stored or has failed. */
async function readMultipart(body: AsyncIterable<Uint8Array>, context: ReadContext): Promise<Json> {
  const { limits, signal } = context
  const boundary = boundaryOf(context)
  const heads = new PartHeads(boundary)
  const parser = busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    defParamCharset: 'utf8',
    defCharset: 'latin1',
    // busboy cuts at a limit: one more byte shows that there was more.
    limits: { fieldSize: limits.body + 1, fileSize: limits.upload + 1, parts: limits.parts + 1 },
  })
  const reader = new PartReader(context)
  const parts: Promise<NamedPart>[] = []
  let failure: { readonly error: unknown } | undefined
  let stop = () => {}
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })

  function fail(error: unknown): void {
    failure ??= { error }
    parser.destroy()
    stop()
  }
  function receive(
    name: string | undefined,
    read: (name: string, charset: string) => Promise<FormPart | undefined>,
  ) {
    // A destroyed busboy still parses the present chunk.
    if (failure) return
    try {
      const head = heads.heads[parts.length]
      const known = checkPartName(name, head)
      const part = read(known, head?.charset ?? 'utf-8').then((value): NamedPart => [known, value])
      part.catch(fail)
      parts.push(part)
    } catch (error) {
      fail(error)
    }
  }
  async function passOn(): Promise<void> {
    // No limit of the parts ends a text before its delimiter, nor what stands around the parts.
    let left = limits.body + limits.parts * (MAX_HEAD + (context.upload ? limits.upload : 0))
    for await (const chunk of body) {
      if (failure) return
      left -= chunk.length
      if (left < 0) throw tooLarge(limits)
      const isFull = !parser.write(heads.push(chunk))
      if (heads.after > MAX_HEAD) throw malformed('goes on after its closing delimiter')
      if (isFull) await Promise.race([once(parser, 'drain'), stopped])
    }
    parser.end(heads.end())
    await Promise.race([once(parser, 'finish'), stopped])
  }

  parser.on('field', (name, value, info) => {
    receive(name, (known, charset) => reader.readField(known, value, info, charset))
  })
  parser.on('file', (name, stream, info) => {
    stream.on('error', () => {}) // the reader of the stream gets it
    receive(name, known => reader.readFile(known, stream, info))
    if (failure) stream.destroy()
  })
  parser.on('partsLimit', () => {
    const message = `The body may have at most ${limits.parts} parts`
    fail(new HttpError(413, [{ message, type: 'too_many_parts' }]))
  })
  parser.on('error', cause => fail(malformed('ends too early, or has a malformed part', cause)))
  const abort = () => fail(incompleteBody(signal.reason))
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const passed = passOn().catch(error =>
    fail(error instanceof HttpError ? error : incompleteBody(error)),
  )
  // A failure does not wait for the network.
  await Promise.race([stopped, passed])
  const settled = await Promise.allSettled(parts)
  signal.removeEventListener('abort', abort)
  const pairs = settled.flatMap((outcome): [string, FormPart][] => {
    const [name, part] = outcome.status === 'fulfilled' ? outcome.value : []
    return name === undefined || part === undefined ? [] : [[name, part]]
  })
  context.submitted?.(pairs)
  if (failure) throw failure.error
  if (heads.count - 1 !== parts.length) {
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

/** @throws HttpError 400 for a part without a name, or with one that no property can have. */
function checkPartName(name: string | undefined, head: PartHead | undefined): string {
  if (!name) throw malformed('has a part without a name')
  // busboy puts U+FFFD in the place of invalid bytes.
  if (name.includes('\ufffd') && !head?.isUtf8)
    throw malformed('has a part whose name is not valid UTF-8')
  for (const each of namesOf(name)) checkName(each, name)
  return name
}

function tooLarge({ body, upload, parts }: ReadContext['limits']): HttpError {
  const message = `The body is too large: ${parts} parts, texts of ${body} bytes together and files of ${upload} bytes each are allowed`
  return new HttpError(413, [{ message, type: 'body_too_large' }])
}

function malformed(what: string, cause?: unknown): HttpError {
  const message = `The multipart body ${what}`
  return new HttpError(400, [{ message, type: 'invalid_multipart' }], { cause })
}
