// `GET /<collection>/<id>/<property>`: the bytes of a binary property, whole or in ranges.
import type { BlobStore } from '../blobs/blob-store.ts'
import { HttpError } from '../errors.ts'
import { type ByteRange, parseByteRange, printContentRange } from '../http/byte-range.ts'
import { evaluate, rangeHolds } from '../http/conditional.ts'
import { printDisposition } from '../http/content-disposition.ts'
import type { HeaderList } from '../http/message.ts'
import { type BlobRecord, findBlobRecord } from '../schema/blob.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { runBefore } from './hooks.ts'
import { requireItem } from './items.ts'
import { lastModifiedOf } from './read.ts'

/** What stands on every download: whatever was uploaded, a browser may neither run nor guess at it. */
const INERT: HeaderList = [
  'Content-Security-Policy',
  "sandbox; default-src 'none'",
  'Accept-Ranges',
  'bytes',
]

export async function download(context: OperationContext): Promise<OperationResult> {
  const { target, method, range, preconditions, suppressed } = context
  const { collection, property = '' } = target
  const stored = await requireItem(context)
  await runBefore(context, { stored }, undefined)
  const record = findBlobRecord(stored.item, property)
  if (!record || !collection.blobs) {
    throw new HttpError(404, [
      { message: `This ${collection.itemName} has no ${property}`, type: 'not_found' },
    ])
  }
  const lastModified = lastModifiedOf({ updatedAt: Date.parse(record.updated_at) })
  const validators = { tag: record.key, ...(lastModified !== undefined && { lastModified }) }
  const headers = [...INERT, 'Content-Disposition', printDisposition(record)]
  const common = { status: 200, headers, validators, value: record }
  const whole = { kind: 'bytes', type: record.type, size: record.size } as const
  // A 200 of a part would look like the whole.
  const counts =
    method === 'GET' &&
    range !== undefined &&
    !suppressed &&
    rangeHolds(preconditions.ifRange, validators)
  const part = counts ? parseByteRange(range, record.size) : undefined
  if (!part) {
    return {
      ...common,
      representation: { ...whole, data: contentOf(collection.blobs, record) },
    }
  }
  if (part === 'unsatisfiable') {
    // Conditions come first (RFC 9110 §14.2): their answer is made after the operation.
    if (evaluate(preconditions, method, validators) === 'proceed') throw unsatisfiable(record)
    return { ...common, representation: whole }
  }
  const data = contentOf(collection.blobs, record, part)
  const size = part.last - part.first + 1
  headers.push('Content-Range', printContentRange(part, record.size))
  return { ...common, status: 206, representation: { ...whole, size, data } }
}

/** Opened when it is first read: what is not sent is not opened. */
async function* contentOf(
  blobs: BlobStore,
  { key }: BlobRecord,
  range?: ByteRange,
): AsyncGenerator<Uint8Array> {
  const content = await blobs.get(key, range)
  if (!content) throw new HttpError(404, [{ message: 'The content is gone', type: 'not_found' }])
  yield* content
}

function unsatisfiable({ size }: BlobRecord): HttpError {
  const message = `The range starts behind the last of ${size} bytes`
  return new HttpError(416, [{ message, field: 'range', type: 'range_not_satisfiable' }], {
    headers: ['Content-Range', printContentRange('unsatisfiable', size)],
  })
}
