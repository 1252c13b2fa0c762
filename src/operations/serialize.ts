// Items as they are given: their contents as addresses, inline where they are small or asked for.
import { printBlob } from '../blobs/blob-store.ts'
import { HttpError } from '../errors.ts'
import type { Representation } from '../formats/format.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { DOWNLOAD } from '../model/routes.ts'
import { type BlobRecord, findRecord, listBlobFields } from '../schema/blob.ts'
import { type Fields, selectFields } from '../schema/fields.ts'
import { type Path, picker } from '../schema/paths.ts'
import type { Item } from '../schema/values.ts'
import type { Stored } from '../store/store.ts'
import type { Call } from './call.ts'

/** An item as it is given: its binary properties in the collection's form, inline too where they are small or asked for. */
export async function serialize(call: Call, item: Item, fields?: readonly Path[]): Promise<Item> {
  const { collection } = call.target
  if (!collection.blobs) return item
  const shown: Item = {}
  for (const [name, value] of Object.entries(item)) {
    const field = collection.shape.fields.get(name)
    if (field?.kind !== 'blob') {
      shown[name] = value
      continue
    }
    const record = findRecord(item, name) ?? null
    const data = record && (await inlineData(call, name, record, fields))
    const url = blobHref(call, item, name)
    Object.assign(shown, printBlob(name, record, collection.binary, url, data ?? undefined))
  }
  return shown
}

/** The address of a content of an item. */
function blobHref({ target, href }: Call, item: Item, property: string): string {
  const { action: _action, ...at } = target
  const id = item[target.collection.shape.identity.name]
  return href({ ...at, kind: 'blob', id: typeof id === 'number' ? id : String(id), property })
}

async function inlineData(
  call: Call,
  name: string,
  record: BlobRecord,
  fields: readonly Path[] | undefined,
): Promise<string | undefined> {
  if (!isInline(call, name, record, fields)) return undefined
  const content = await call.target.collection.blobs?.get(record.key)
  if (!content) return undefined
  const chunks: Uint8Array[] = []
  for await (const bytes of content) chunks.push(bytes)
  return Buffer.concat(chunks).toString('base64')
}

function isInline(
  { target: { collection }, may }: Call,
  name: string,
  { size }: BlobRecord,
  fields: readonly Path[] | undefined,
): boolean {
  const small = size <= (collection.shape.fields.get(name)?.inlineBelow ?? 0)
  // Bytes are bytes: who may not download them is not given them with the item either.
  return (small && may?.(collection, DOWNLOAD) !== false) || isAsked(collection, name, fields)
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
 * Refuses contents that `fields` asks for to who may not download them.
 * @throws HttpError 401, 403
 */
export function requireDownload(call: Call, fields: readonly Path[] | undefined): void {
  const { collection } = call.target
  if (!collection.blobs || !fields) return
  const asked = listBlobFields(collection.shape.fields).some(name =>
    isAsked(collection, name, fields),
  )
  if (asked) call.authorize?.(DOWNLOAD)
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
  const names = listBlobFields(collection.shape.fields).filter(name =>
    isAsked(collection, name, fields),
  )
  const size = items.reduce((sum, { item }) => sum + bytesOf(item, names), 0)
  if (size <= limits.inline) return
  const address = collection.binary === 'flat' ? `${names[0]}_url` : `${names[0]}.url`
  const message = `The contents that fields asks for have ${size} bytes together, at most ${limits.inline} are given inline: ask for fewer, or for ${address}`
  throw new HttpError(400, [{ message, field: 'fields', type: 'inline_too_large' }])
}

/** How many bytes the contents of these properties have together. */
function bytesOf(
  item: Item,
  names: readonly string[],
  counts: (name: string, record: BlobRecord) => boolean = () => true,
): number {
  let size = 0
  for (const name of names) {
    const record = findRecord(item, name)
    if (record && counts(name, record)) size += record.size
  }
  return size
}

/** How many bytes of contents a stream reads side by side: one content may be larger. */
const MOST_AT_ONCE = 64 * 1024

/** A batch in parts of which each holds few bytes inline. */
export function* inParts(
  call: Call,
  batch: readonly Stored[],
  fields: readonly Path[] | undefined,
): Generator<readonly Stored[]> {
  const names = listBlobFields(call.target.collection.shape.fields)
  let part: Stored[] = []
  let size = 0
  for (const stored of batch) {
    const own = bytesOf(stored.item, names, (name, record) => isInline(call, name, record, fields))
    if (size + own > MOST_AT_ONCE && part.length > 0) {
      yield part
      part = []
      size = 0
    }
    part.push(stored)
    size += own
  }
  yield part
}

/**
 * An item as it is given when something was done to it: a content that cannot be read then is given by its
 * address alone, as what was done has not failed.
 */
export async function serializeChanged(call: Call, item: Item): Promise<Item> {
  try {
    return await serialize(call, item)
  } catch {
    return serialize({ ...call, may: () => false }, item)
  }
}

/**
 * The representation of one item, whole or only these properties.
 * @param give how its contents are read: {@link serializeChanged} where something was done to it.
 */
export function itemRepresentation(
  call: Call,
  item: Item,
  fields?: readonly Path[],
  give = serialize,
): Representation | Promise<Representation> {
  const { collection } = call.target
  const of = (shown: Item): Representation => ({
    kind: 'item',
    name: collection.itemName,
    fields: selectReadableFields(collection, fields),
    taken: collection.takenFields,
    data: fields ? picker(fields)(shown) : shown,
  })
  return collection.blobs ? give(call, item, fields).then(of) : of(item)
}

/** The same of an item to which something was done. */
export function changedRepresentation(
  call: Call,
  item: Item,
): Representation | Promise<Representation> {
  return itemRepresentation(call, item, undefined, serializeChanged)
}

/** The fields of a representation: all that are given of themselves, or those that were asked for. */
export function selectReadableFields(
  { shownFields, selectableFields }: CollectionDefinition,
  fields: readonly Path[] | undefined,
): Fields {
  return fields ? selectFields(selectableFields, fields) : shownFields
}
