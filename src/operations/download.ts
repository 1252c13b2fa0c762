// `GET /<collection>/<id>/<property>`: the bytes of a binary property, whole or in ranges.
import { randomBytes } from 'node:crypto'
import { type BlobStore, printDisposition } from '../blobs/blob-store.ts'
import { HttpError } from '../errors.ts'
import { type ByteRange, parseByteRanges, printEnd, printPartHead } from '../http/byte-ranges.ts'
import { evaluate, rangeHolds } from '../http/conditional.ts'
import type { HeaderList } from '../http/message.ts'
import { type BlobRecord, findRecord } from '../schema/blob.ts'
import { type Call, lastModifiedOf, type OperationResult, requireItem, runBefore } from './call.ts'

/** What stands on every download: whatever was uploaded, a browser may neither run nor guess at it. */
const INERT: HeaderList = [
  'Content-Security-Policy',
  "sandbox; default-src 'none'",
  'Accept-Ranges',
  'bytes',
]

export async function download(call: Call): Promise<OperationResult> {
  const { target, method, range, preconditions } = call
  const { collection, property = '' } = target
  const stored = await requireItem(call)
  await runBefore(call, { item: stored.item }, undefined)
  const record = findRecord(stored.item, property)
  if (!record || !collection.blobs) {
    throw new HttpError(404, [
      { message: `This ${collection.itemName} has no ${property}`, type: 'not_found' },
    ])
  }
  const lastModified = lastModifiedOf({ updatedAt: Date.parse(record.updated_at) })
  const validators = { tag: record.key, ...(lastModified !== undefined && { lastModified }) }
  const headers = [...INERT, 'Content-Disposition', printDisposition(record)]
  const common = { status: 200, headers, validators, result: record }
  const whole = { kind: 'bytes', type: record.type, size: record.size } as const
  const counts =
    method === 'GET' && range !== undefined && rangeHolds(preconditions.ifRange, validators)
  const ranges = counts ? parseByteRanges(range, record.size) : undefined
  if (!ranges) {
    return {
      ...common,
      representation: { ...whole, data: contentOf(collection.blobs, record) },
    }
  }
  const [first] = ranges
  if (!first) {
    // Conditions count first (RFC 9110 §14.2): what they make of it is said after the operation.
    if (evaluate(preconditions, method, validators) === 'proceed') throw unsatisfiable(record)
    return { ...common, representation: whole }
  }
  const partial = { ...common, status: 206 }
  if (ranges.length > 1) {
    return { ...partial, representation: severalRanges(collection.blobs, record, ranges) }
  }
  const data = contentOf(collection.blobs, record, first)
  const size = first.last - first.first + 1
  headers.push('Content-Range', `bytes ${first.first}-${first.last}/${record.size}`)
  return { ...partial, representation: { ...whole, size, data } }
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
    headers: ['Content-Range', `bytes */${size}`],
  })
}

function severalRanges(blobs: BlobStore, record: BlobRecord, ranges: readonly ByteRange[]) {
  const boundary = randomBytes(12).toString('hex')
  const heads = new Map(
    ranges.map(range => [range, printPartHead(boundary, record.type, range, record.size)]),
  )
  const end = printEnd(boundary)
  const sizes = [...heads].map(([{ first, last }, head]) => head.length + last - first + 1)
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (const [range, head] of heads) {
      yield Buffer.from(head)
      yield* contentOf(blobs, record, range)
    }
    yield Buffer.from(end)
  }
  const size = sizes.reduce((sum, each) => sum + each, end.length)
  return {
    kind: 'bytes',
    type: `multipart/byteranges; boundary=${boundary}`,
    size,
    data: parts(),
  } as const
}
