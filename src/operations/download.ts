// `GET /<collection>/<id>/<property>`: the bytes of a binary property, whole or in ranges.
import { randomBytes } from 'node:crypto'
import { type BlobRecord, type BlobStore, printDisposition } from '../blobs.ts'
import { type ByteRange, parseByteRanges, printEnd, printPartHead } from '../byte-ranges.ts'
import { rangeHolds } from '../conditional.ts'
import { HttpError } from '../errors.ts'
import type { HeaderList } from '../http.ts'
import { recordOf } from './blobs.ts'
import { type Call, inScope, notFound, type Outcome, requireParent, runBefore } from './call.ts'

/** What stands on every download: whatever was uploaded, a browser may neither run nor guess at it. */
const INERT: HeaderList = [
  'Content-Security-Policy',
  "sandbox; default-src 'none'",
  'Accept-Ranges',
  'bytes',
]

export async function download(call: Call): Promise<Outcome> {
  const { target, method, range, preconditions } = call
  const { collection, id = '', property = '' } = target
  await requireParent(call)
  const stored = await collection.store.get(id, call.caller)
  if (!stored || !inScope(call, stored.item)) throw notFound(collection, id)
  await runBefore(call, { item: stored.item }, undefined)
  const record = recordOf(stored.item, property)
  if (!record || !collection.blobs) {
    throw new HttpError(404, [
      { message: `This ${collection.itemName} has no ${property}`, type: 'not_found' },
    ])
  }
  const lastModified = Date.parse(record.updated_at)
  const fresh = Math.floor(lastModified / 1000) >= Math.floor(Date.now() / 1000)
  const validators = { tag: record.key, ...(!fresh && { lastModified }) }
  const counts =
    method === 'GET' && range !== undefined && rangeHolds(preconditions.ifRange, validators)
  const ranges = counts ? parseByteRanges(range, record.size) : undefined
  const headers = [...INERT, 'Content-Disposition', printDisposition(record)]
  const common = { validators, result: record }
  if (!ranges) {
    const content = await contentOf(collection.blobs, record)
    return {
      ...common,
      status: 200,
      headers,
      representation: { kind: 'bytes', type: record.type, size: record.size, data: content },
    }
  }
  const [first] = ranges
  if (!first) throw unsatisfiable(record)
  if (ranges.length === 1) {
    const content = await contentOf(collection.blobs, record, first)
    const size = first.last - first.first + 1
    return {
      ...common,
      status: 206,
      headers: [...headers, 'Content-Range', `bytes ${first.first}-${first.last}/${record.size}`],
      representation: { kind: 'bytes', type: record.type, size, data: content },
    }
  }
  return {
    ...common,
    status: 206,
    headers,
    representation: severalRanges(collection.blobs, record, ranges),
  }
}

async function contentOf(
  blobs: BlobStore,
  { key }: BlobRecord,
  range?: ByteRange,
): Promise<AsyncIterable<Uint8Array>> {
  const content = await blobs.get(key, range)
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
