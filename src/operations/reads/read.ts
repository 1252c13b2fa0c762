// read and download (specification, "Resource operations").

import type { Path } from '../../base/paths.ts'
import { type Awaitable, andThen } from '../../base/values.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { readContent } from '../../blobs/read-content.ts'
import { HttpError, type Issue, throwIfAny } from '../../errors.ts'
import { NestedOne } from '../../formats/nested.ts'
import { type ByteRange, parseByteRange, printByteContentRange } from '../../http/byte-range.ts'
import { evaluate, hashTexts, itemTag, rangeHolds } from '../../http/conditional.ts'
import { printDisposition } from '../../http/content-disposition.ts'
import type { HeaderList } from '../../http/message.ts'
import { SUPPRESS_PARAMETER } from '../../http/method-override.ts'
import { isRanged } from '../../http/methods.ts'
import { INCLUDE, printInclude } from '../../query/include.ts'
import { type RequestedParts, readSelected, takesInclude } from '../../query/selected.ts'
import { CACHE_BUSTER } from '../../query.ts'
import { type BlobRecord, findBlobRecord } from '../../schema/blob.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { requireItem } from '../calls/items.ts'
import {
  authorizeInlineContents,
  itemValidators,
  lastModifiedOf,
  representItem,
  requireInlineLimit,
  selectedVariant,
  selectReadableFields,
} from '../calls/represent.ts'
import { runBefore } from '../calls/run-hooks.ts'
import {
  describeIncluded,
  type Level,
  prepareIncludes,
  readIncluded,
  refuseLists,
} from './include.ts'
import { compileReaders } from './query.ts'

/** `GET /<collection>/<id>`. */
export function read(context: OperationContext): Awaitable<OperationResult> {
  const selected = context.parameters.length === 0 ? WHOLE : readSelection(context)
  const { fields, include } = selected
  if (fields) authorizeInlineContents(context, fields)
  const levels = include && prepareIncludes(context, include)
  return andThen(requireItem(context), stored =>
    andThen(runBefore(context, { stored }, undefined), () =>
      levels
        ? buildNestedResult(context, stored, selected, levels)
        : buildItemResult(context, stored, fields),
    ),
  )
}

const WHOLE: RequestedParts = {}

const MEANT_FOR_ITEMS = new Set(['fields', INCLUDE, SUPPRESS_PARAMETER, CACHE_BUSTER])

/** Reads what an item is answered with, the only parameters there. @throws HttpError 400 */
function readSelection(context: OperationContext): RequestedParts {
  const { parameters, api, target } = context
  const issues: Issue[] = []
  const { scope } = compileReaders(api)(target.collection)(context)
  const selected = readSelected(parameters, scope, issues, api.limits)
  for (const { name } of parameters) {
    if (MEANT_FOR_ITEMS.has(name) && (name !== INCLUDE || takesInclude(scope))) continue
    const field = name.slice(0, 64)
    const message = `${field} has no meaning for a single item`
    issues.push({ message, field, type: 'unknown_parameter' })
  }
  throwIfAny(issues)
  if (selected.include) refuseLists(context, selected.include)
  return selected
}

function buildItemResult(
  context: OperationContext,
  stored: Stored,
  fields: readonly Path[] | undefined,
): Awaitable<OperationResult> {
  if (fields) requireInlineLimit(context, [stored], fields)
  return andThen(representItem(context, stored, fields), representation => ({
    status: 200,
    headers: [],
    representation,
    validators: itemValidators(stored, context.variant, fields),
    stored,
  }))
}

/** Builds the answer of an item with what it includes: its tag covers that, and no date does. */
async function buildNestedResult(
  context: OperationContext,
  stored: Stored,
  selected: RequestedParts,
  levels: readonly Level[],
): Promise<OperationResult> {
  const { collection } = context.target
  const { include = [], fields } = selected
  const { nested } = await readIncluded(context, levels, [stored], selected)
  const [item] = nested
  if (!item) throw new Error('An item is left with what it includes, or that is an error')
  const versions = [printInclude(include)]
  item.addVersions(versions)
  const variant = `${hashTexts(versions)}.${selectedVariant(context.variant, fields)}`
  const own = selectReadableFields(collection, fields)
  const representation = new NestedOne(collection.itemName, describeIncluded(include)(own), item)
  const validators = { tag: itemTag(stored.version, variant) }
  return { status: 200, headers: [], representation, validators, stored }
}

/** Headers of every download: a browser must not run what was uploaded, nor guess its type. */
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
  const { blobs } = collection
  if (!record || !blobs) {
    throw new HttpError(404, [
      { message: `This ${collection.itemName} has no ${property}`, type: 'not_found' },
    ])
  }
  const lastModified = lastModifiedOf({ updatedAt: Date.parse(record.updated_at) })
  const validators = { tag: record.key, lastModified }
  const headers = [...INERT, 'Content-Disposition', printDisposition(record)]
  const common = { status: 200, headers, validators, value: record }
  const whole = { kind: 'bytes', type: record.type, size: record.size } as const
  // A part that is answered with 200 would look like the whole.
  const applies =
    isRanged(method) &&
    range !== undefined &&
    !suppressed &&
    rangeHolds(preconditions.ifRange, validators)
  // Conditions come first (RFC 9110 §14.2): their answer is made after the operation, and is of no part.
  const part =
    applies && evaluate(preconditions, method, validators) === 'proceed'
      ? parseByteRange(range, record.size)
      : undefined
  if (part === 'unsatisfiable') throw unsatisfiable(record)
  if (!part)
    return { ...common, representation: { ...whole, data: contentOf(context, blobs, record) } }
  const data = contentOf(context, blobs, record, part)
  const size = part.last - part.first + 1
  headers.push('Content-Range', printByteContentRange(part, record.size))
  return { ...common, status: 206, representation: { ...whole, size, data } }
}

/** Reads a content. It is opened when it is first read, so never for a HEAD or a 304. */
async function* contentOf(
  { request, api }: OperationContext,
  blobs: BlobStore,
  { key }: BlobRecord,
  range?: ByteRange,
): AsyncGenerator<Uint8Array> {
  const options = { range, signal: request.signal, time: api.limits.workTime }
  if (yield* readContent(blobs, key, options)) return
  throw new HttpError(404, [{ message: 'The content is gone', type: 'not_found' }])
}

function unsatisfiable({ size }: BlobRecord): HttpError {
  const message = `The range starts behind the last of ${size} bytes`
  return new HttpError(416, [{ message, field: 'range', type: 'range_not_satisfiable' }], {
    headers: ['Content-Range', printByteContentRange('unsatisfiable', size)],
  })
}
