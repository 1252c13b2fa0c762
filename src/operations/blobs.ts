// Binary properties in requests and answers: contents to the blob store and back, records to the form
// in which the collection gives them.
import { createHash, type Hash } from 'node:crypto'
import {
  type BlobInput,
  type BlobRecord,
  blobNames,
  decodeBase64,
  isAccepted,
  oneChunk,
  printBlob,
  readBlob,
  SNIFFED_BYTES,
  sniffType,
} from '../blobs.ts'
import type { CollectionDefinition } from '../definition.ts'
import { HttpError, type Mistake, refuse } from '../errors.ts'
import {
  type Fields,
  fieldAt,
  type Item,
  isObject,
  type Json,
  type Path,
  picker,
  sameJson,
  selectFields,
  toPath,
  valueAt,
} from '../fields.ts'
import { followedBy, type Representation, uploadTooLarge } from '../formats/format.ts'
import type { Stored } from '../store.ts'
import type { Call, Uploads } from './call.ts'

export interface UploadOptions {
  /** The most bytes of one content. */
  readonly limit: number
  /** Made when a content comes. */
  readonly signal: () => AbortSignal
  /** Whether contents will be compared with those of another request: hashing costs half of an upload. */
  readonly digests: boolean
}

export function uploadsOf(
  { blobs, inputFields }: CollectionDefinition,
  { limit, signal, digests: compared }: UploadOptions,
): Uploads | undefined {
  if (!blobs) return undefined
  const records = new Map<string, BlobRecord>()
  const digests = new Map<string, string>()
  return {
    async put(field, { name, content }) {
      const declared = fieldAt(inputFields, toPath(field))
      if (declared?.kind !== 'blob')
        throw mistake(field, `${field} takes no file`, 'unexpected_file')
      const peeked = await peek(limited(content, limit, field))
      const type = sniffType(peeked.start)
      if (!isAccepted(type, declared.accept)) {
        throw mistake(
          field,
          `${field} must be ${declared.accept?.join(' or ')}, not ${type}`,
          'unaccepted_type',
        )
      }
      const hash = compared ? createHash('sha256') : undefined
      const bytes = hash ? hashed(peeked.content, hash) : peeked.content
      const { key, size } = await blobs.put(bytes, { signal: signal() })
      const record: BlobRecord = {
        key,
        type,
        size,
        updated_at: new Date().toISOString(),
        ...(name !== undefined && { name }),
      }
      records.set(key, record)
      if (hash) digests.set(key, hash.digest('base64url'))
      return { ...record }
    },
    find: key => records.get(key),
    digest: key => digests.get(key),
    keep(item) {
      for (const value of Object.values(item)) if (isRecord(value)) records.delete(value.key)
    },
    async discard() {
      const keys = [...records.keys()]
      records.clear()
      // Whatever happens here, the answer stands: what stays behind is an orphan, which a sweep removes.
      await Promise.allSettled(keys.map(async key => blobs.delete(key)))
    },
  }
}

function mistake(field: string, message: string, type: string): HttpError {
  return new HttpError(400, [{ message, field, type }])
}

/** Ends with a 413 as soon as the content is over the limit. */
async function* limited(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  field: string,
): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > limit) throw uploadTooLarge(field, limit)
    yield chunk
  }
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

/** A content with its first bytes told before anybody takes it. */
async function peek(content: AsyncGenerator<Uint8Array>) {
  const first: Uint8Array[] = []
  let size = 0
  while (size < SNIFFED_BYTES) {
    const { done, value } = await content.next()
    if (done) break
    first.push(value)
    size += value.length
  }
  return { start: Buffer.concat(first), content: followedBy(first, content) }
}

function isRecord(value: Json | undefined): value is Item & BlobRecord {
  return isObject(value) && typeof value.key === 'string' && typeof value.size === 'number'
}

/** The record of a binary property of a stored item. */
export function recordOf(item: Item, name: string): BlobRecord | null | undefined {
  const value = item[name]
  return isRecord(value) ? value : value === null ? null : undefined
}

/**
 * What a client sent with every binary property as the record that it means: new contents are kept,
 * an address must be the item's own.
 */
export async function receiveBlobs(
  call: Call,
  sent: Json,
  current: Item | undefined,
): Promise<Json> {
  const { collection } = call.target
  if (!collection.blobs || !isObject(sent)) return sent
  const names = blobNames(collection.shape.fields)
  const mistakes: Mistake[] = []
  const received: Item = { ...sent }
  for (const name of names) {
    const record = await receiveBlob(call, name, sent, current, mistakes)
    for (const member of [name, `${name}_url`, `${name}_data`]) delete received[member]
    if (record !== undefined) received[name] = record
  }
  refuse(mistakes)
  return received
}

async function receiveBlob(
  call: Call,
  name: string,
  sent: Item,
  current: Item | undefined,
  mistakes: Mistake[],
): Promise<Json | undefined> {
  const [input, ...others] = toldOf(call, name, sent, current)
  const wrong = (message: string, type: string) => {
    mistakes.push({ message, field: name, type })
    return undefined
  }
  if (input === undefined) return undefined
  if (others.length > 0) {
    mistakes.push(toldTwice(name, [input, ...others]))
    return undefined
  }
  const unfit = () => {
    const to = call.target.collection.binary === 'flat' ? `${name}_` : `${name}.`
    const forms = `Base64 in ${to}data or its own address in ${to}url`
    return wrong(`${name} is a file of a multipart body, ${forms}`, 'invalid_type')
  }
  switch (input.said) {
    case 'removed':
      return null
    case 'data': {
      const bytes = decodeBase64(input.data)
      if (!bytes) return wrong(`${name} must be Base64`, 'invalid_base64')
      return call.uploads?.put(name, { name: undefined, type: '', content: oneChunk(bytes) })
    }
    case 'upload': {
      const own = current && recordOf(current, name)
      if (own?.key === input.key) return current?.[name]
      const record = call.uploads?.find(input.key)
      return record ? { ...record } : unfit()
    }
    case 'address': {
      if (current && input.url === ownAddress(call, name)) return current[name]
      return wrong(
        `The address of ${name} must be the item's own; no other is fetched`,
        'foreign_address',
      )
    }
    case 'nonsense':
      return unfit()
  }
}

/**
 * What a client says of a binary property. Beside anything else, what the item is given with says
 * nothing: who sends back what it has read may add a content to it.
 */
function toldOf(call: Call, name: string, sent: Item, current: Item | undefined): BlobInput[] {
  const inputs = readBlob(name, sent)
  if (inputs.length < 2) return inputs
  const told = inputs.filter(input => !isPresent(call, name, input, current))
  const [first] = told.length > 0 ? told : inputs
  const same = told.every(({ said }) => said === 'removed')
  return same && first ? [first] : told
}

/** Whether an input is what the item is given with, or a form left as it was: its own address, its record, a null. */
function isPresent(call: Call, name: string, input: BlobInput, current: Item | undefined): boolean {
  const record = current && recordOf(current, name)
  switch (input.said) {
    case 'address':
      return current !== undefined && input.url === ownAddress(call, name)
    case 'upload':
      return record?.key === input.key
    case 'removed': {
      // A page says null beside every control for a file: it counts where none was chosen.
      if (call.body?.form) return true
      const given = call.target.collection.binary === 'flat' ? `${name}_url` : name
      return !record && input.member === given
    }
    default:
      return false
  }
}

function ownAddress(call: Call, name: string): string | undefined {
  const { id } = call.target
  return id === undefined ? undefined : blobHref(call, id, name)
}

function toldTwice(name: string, inputs: readonly BlobInput[]): Mistake {
  const members = inputs.map(({ member }) => member).join(' and ')
  const message = `${name} is given in ${members}: give it once`
  return { message, field: name, type: 'conflicting_keys' }
}

/**
 * Refuses a merge patch that says two things of one binary property: merged, a `null` leaves no trace.
 * @throws HttpError 400
 */
export function checkBlobPatch(call: Call, patch: Item, shown: Item, current: Item): void {
  const { collection } = call.target
  const sent = collection.blobs && withoutSameData(collection, patch, shown)
  if (!isObject(sent)) return
  refuse(
    blobNames(collection.shape.fields).flatMap(name => {
      const told = toldOf(call, name, sent, current)
      return told.length > 1 ? [toldTwice(name, told)] : []
    }),
  )
}

function blobHref(call: Call, id: string | number, property: string): string {
  const { action: _action, ...target } = call.target
  return call.href({ ...target, kind: 'blob', id, property })
}

/** Removes the contents that an item held and its successor does not hold. */
export async function removeBlobs({ target }: Call, before: Item, after: Item = {}): Promise<void> {
  const { blobs, shape } = target.collection
  if (!blobs) return
  for (const name of blobNames(shape.fields)) {
    const key = recordOf(before, name)?.key
    if (key === undefined || key === recordOf(after, name)?.key) continue
    // The write is done whatever happens here: what stays behind is an orphan, which a sweep removes.
    await blobs.delete(key).catch(() => undefined)
  }
}

/** An item as it is given: its binary properties in the collection's form, inline too where they are small or asked for. */
export async function present(call: Call, item: Item, fields?: readonly Path[]): Promise<Item> {
  const { collection } = call.target
  if (!collection.blobs) return item
  const shown: Item = {}
  for (const [name, value] of Object.entries(item)) {
    const field = collection.shape.fields.get(name)
    if (field?.kind !== 'blob') {
      shown[name] = value
      continue
    }
    const record = recordOf(item, name) ?? null
    const data = record && (await inlineData(collection, name, record, fields))
    const id = item[collection.shape.identity.name]
    const url = blobHref(call, typeof id === 'number' ? id : String(id), name)
    Object.assign(shown, printBlob(name, record, collection.binary, url, data ?? undefined))
  }
  return shown
}

/** A patched item without the contents that were given inline and are still the same: no new ones. */
export function withoutSameData(
  { shape, binary }: CollectionDefinition,
  patched: Json,
  shown: Item,
): Json {
  const paths = blobNames(shape.fields).map(name =>
    binary === 'flat' ? [`${name}_data`] : [name, 'data'],
  )
  const same = paths.filter(path => sameJson(valueAt(patched, path), valueAt(shown, path)))
  return same.reduce<Json>((rest, path) => without(rest, path), patched)
}

function without(value: Json, [name = '', ...rest]: Path): Json {
  if (!isObject(value) || !Object.hasOwn(value, name)) return value
  const { [name]: member = null, ...others } = value
  return rest.length === 0 ? others : { ...others, [name]: without(member, rest) }
}

async function inlineData(
  collection: CollectionDefinition,
  name: string,
  record: BlobRecord,
  fields: readonly Path[] | undefined,
): Promise<string | undefined> {
  if (!isInline(collection, name, record, fields)) return undefined
  const content = await collection.blobs?.get(record.key)
  if (!content) return undefined
  const chunks: Uint8Array[] = []
  for await (const bytes of content) chunks.push(bytes)
  return Buffer.concat(chunks).toString('base64')
}

function isInline(
  collection: CollectionDefinition,
  name: string,
  { size }: BlobRecord,
  fields: readonly Path[] | undefined,
): boolean {
  const small = size <= (collection.shape.fields.get(name)?.inlineBelow ?? 0)
  return small || isAsked(collection, name, fields)
}

function isAsked(
  { binary }: CollectionDefinition,
  name: string,
  fields: readonly Path[] | undefined,
): boolean {
  const wanted = binary === 'flat' ? `${name}_data` : `${name}.data`
  return fields?.some(path => path.join('.') === wanted) === true
}

/**
 * Refuses to hold more contents inline than one answer may; what is given unasked does not count.
 * @throws HttpError 400
 */
export function requireRoom(
  { target: { collection }, limits }: Call,
  items: readonly Stored[],
  fields: readonly Path[] | undefined,
): void {
  if (!collection.blobs || !fields) return
  const names = blobNames(collection.shape.fields).filter(name => isAsked(collection, name, fields))
  const sizes = items.flatMap(({ item }) => names.map(name => recordOf(item, name)?.size ?? 0))
  const size = sizes.reduce((sum, each) => sum + each, 0)
  if (size <= limits.inline) return
  const address = collection.binary === 'flat' ? `${names[0]}_url` : `${names[0]}.url`
  const message = `The contents that fields asks for have ${size} bytes together, at most ${limits.inline} are given inline: ask for fewer, or for ${address}`
  throw new HttpError(400, [{ message, field: 'fields', type: 'inline_too_large' }])
}

/** How many bytes of contents a stream reads side by side: one content may be larger. */
const MOST_AT_ONCE = 64 * 1024

/** A batch in parts of which each holds few bytes inline. */
export function* inParts(
  { target: { collection } }: Call,
  batch: readonly Stored[],
  fields: readonly Path[] | undefined,
): Generator<readonly Stored[]> {
  const names = blobNames(collection.shape.fields)
  let part: Stored[] = []
  let size = 0
  for (const stored of batch) {
    let own = 0
    for (const name of names) {
      const record = recordOf(stored.item, name)
      if (record && isInline(collection, name, record, fields)) own += record.size
    }
    if (size + own > MOST_AT_ONCE && part.length > 0) {
      yield part
      part = []
      size = 0
    }
    part.push(stored)
    size += own
  }
  if (part.length > 0) yield part
}

/** The representation of one item, whole or only these members. */
export function itemRepresentation(
  call: Call,
  item: Item,
  fields?: readonly Path[],
): Representation | Promise<Representation> {
  const { collection } = call.target
  const of = (shown: Item): Representation => ({
    kind: 'item',
    name: collection.itemName,
    fields: fieldsShown(collection, fields),
    data: fields ? picker(fields)(shown) : shown,
  })
  return collection.blobs ? present(call, item, fields).then(of) : of(item)
}

/** The fields of a representation: all that are given of themselves, or those that were asked for. */
export function fieldsShown(
  { shownFields, selectableFields }: CollectionDefinition,
  fields: readonly Path[] | undefined,
): Fields {
  return fields ? selectFields(selectableFields, fields) : shownFields
}
