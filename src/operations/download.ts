// `GET /<collection>/<id>/<property>`: the bytes of a binary property, whole or in ranges.
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { type BlobRecord, type BlobStore, printDisposition } from '../blobs.ts'
import { type ByteRange, parseByteRanges, printEnd, printPartHead } from '../byte-ranges.ts'
import { evaluate, rangeHolds } from '../conditional.ts'
import { HttpError } from '../errors.ts'
import type { HeaderList } from '../http.ts'
import { recordOf } from './blobs.ts'
import { type Call, lastModifiedOf, type Outcome, requireItem, runBefore } from './call.ts'

/** What stands on every download: whatever was uploaded, a browser may neither run nor guess at it. */
const INERT: HeaderList = [
  'Content-Security-Policy',
  "sandbox; default-src 'none'",
  'Accept-Ranges',
  'bytes',
]

export async function download(call: Call): Promise<Outcome> {
  const { target, method, range, preconditions } = call
  const { collection, property = '' } = target
  const stored = await requireItem(call)
  await runBefore(call, { item: stored.item }, undefined)
  const record = recordOf(stored.item, property)
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
  // Conditions count before a range does (RFC 9110 §14.2), and nothing is opened that is not sent.
  const sends = method === 'GET' && evaluate(preconditions, method, validators) === 'proceed'
  if (!sends) return { ...common, representation: whole }
  const counts = range !== undefined && rangeHolds(preconditions.ifRange, validators)
  const ranges = counts ? parseByteRanges(range, record.size) : undefined
  if (!ranges) {
    const data = await contentOf(collection.blobs, record)
    return { ...common, representation: { ...whole, data } }
  }
  const [first] = ranges
  if (!first) throw unsatisfiable(record)
  const partial = { ...common, status: 206 }
  if (ranges.length > 1) {
    return { ...partial, representation: severalRanges(collection.blobs, record, ranges) }
  }
  const data = await contentOf(collection.blobs, record, first)
  const size = first.last - first.first + 1
  headers.push('Content-Range', `bytes ${first.first}-${first.last}/${record.size}`)
  return { ...partial, representation: { ...whole, size, data } }
}

async function contentOf(
  blobs: BlobStore,
  { key }: BlobRecord,
  range?: ByteRange,
): Promise<AsyncIterable<Uint8Array>> {
  const content = await blobs.get(key, range)
  // One that fails before it is read tells its reader: without a listener it would end the process.
  if (content instanceof Readable) content.on('error', () => undefined)
  if (content) return content
  throw new HttpError(404, [{ message: 'The content is gone', type: 'not_found' }])
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
      yield* await contentOf(blobs, record, range)
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
