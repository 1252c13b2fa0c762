// Items as they are answered: their contents as addresses, inline where they are small or requested.

import { HttpError } from '../errors.ts'
import type { Representation } from '../formats/format.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { DOWNLOAD } from '../model/routes.ts'
import { type BlobRecord, findBlobRecord, listBlobFields } from '../schema/blob.ts'
import { printBlob } from '../schema/blob-forms.ts'
import { type Fields, selectFields } from '../schema/fields.ts'
import { type Path, picker } from '../schema/paths.ts'
import { type Awaitable, andThen, type Item, omit } from '../schema/values.ts'
import type { Stored } from '../store/store.ts'
import { authorize } from './authorize.ts'
import type { OperationContext } from './context.ts'

/** How the contents of an item are given. */
interface SerializeOptions {
  /** The properties that `fields` asks for. */
  readonly fields?: readonly Path[] | undefined
  /** Whether small contents are given inline: they are read then, which can fail. Default true. */
  readonly inline?: boolean
}

/** Serializes an item: binary properties in the collection's form, inline too where they are small or requested. */
export async function serialize(
  context: OperationContext,
  item: Item,
  options: SerializeOptions = {},
): Promise<Item> {
  const { collection } = context.target
  const { hidden } = collection
  const readable = hidden.size === 0 ? item : omit(item, hidden)
  if (!collection.blobs) return readable
  const serialized: Item = {}
  for (const [name, value] of Object.entries(readable)) {
    if (collection.shape.fields.get(name)?.kind !== 'blob') {
      serialized[name] = value
      continue
    }
    const record = findBlobRecord(item, name) ?? null
    const inlined = record && isInline(context, name, record, options)
    const data = inlined ? await readBase64(context, record) : undefined
    const url = blobHref(context, item, name)
    Object.assign(serialized, printBlob(name, record, collection.binary, url, data))
  }
  return serialized
}

/** The address of a content of an item. */
function blobHref(context: OperationContext, item: Item, property: string): string {
  const { action: _action, ...at } = context.target
  const id = item[at.collection.shape.identity.name]
  return context.href({
    ...at,
    kind: 'blob',
    id: typeof id === 'number' ? id : String(id),
    property,
  })
}

async function readBase64(
  { target }: OperationContext,
  { key }: BlobRecord,
): Promise<string | undefined> {
  const content = await target.collection.blobs?.get(key)
  if (!content) return undefined
  const chunks: Uint8Array[] = []
  for await (const bytes of content) chunks.push(bytes)
  return Buffer.concat(chunks).toString('base64')
}

function isInline(
  context: OperationContext,
  name: string,
  { size }: BlobRecord,
  { fields, inline = true }: SerializeOptions,
): boolean {
  const { collection } = context.target
  const small = size <= (collection.shape.fields.get(name)?.inlineBelow ?? 0)
  // Who may not download the bytes is not given them with the item either.
  const given = small && inline && context.can(collection, DOWNLOAD)
  return given || listRequested(collection, fields).includes(name)
}

/** Lists the binary properties whose contents `fields` asks for. */
function listRequested(
  { binary, shape }: CollectionDefinition,
  fields: readonly Path[] = [],
): string[] {
  const paths = fields.map(path => path.join('.'))
  const data = binary === 'flat' ? '_data' : '.data'
  return listBlobFields(shape.fields).filter(name => paths.includes(name + data))
}

/**
 * Refuses contents that `fields` asks for to a client that may not download them.
 * @throws HttpError 401, 403
 */
export function requireDownload(
  context: OperationContext,
  fields: readonly Path[] | undefined,
): void {
  const { collection } = context.target
  if (!collection.blobs || !fields) return
  if (listRequested(collection, fields).length > 0) authorize(context, [DOWNLOAD])
}

/**
 * Refuses to hold more contents inline than one answer may; what is given unrequested does not count.
 * @throws HttpError 400
 */
export function requireRoom(
  { target: { collection }, api: { limits } }: OperationContext,
  items: readonly Stored[],
  fields: readonly Path[] | undefined,
): void {
  if (!collection.blobs || !fields) return
  const names = listRequested(collection, fields)
  const size = items.reduce((sum, { item }) => sum + sizeOfContents(item, names), 0)
  if (size <= limits.inline) return
  const address = collection.binary === 'flat' ? `${names[0]}_url` : `${names[0]}.url`
  const message = `The contents that fields asks for have ${size} bytes together; at most ${limits.inline} are given inline. Ask for fewer items, or for ${address}.`
  throw new HttpError(400, [{ message, field: 'fields', type: 'inline_too_large' }])
}

/** Adds up the bytes of the contents of these properties. */
function sizeOfContents(
  item: Item,
  names: readonly string[],
  counts: (name: string, record: BlobRecord) => boolean = () => true,
): number {
  let size = 0
  for (const name of names) {
    const record = findBlobRecord(item, name)
    if (record && counts(name, record)) size += record.size
  }
  return size
}

/** How many bytes of contents a stream reads side by side: one content may be larger. */
const MAX_INLINE_BATCH = 64 * 1024

/** Splits a batch into parts of which each holds few bytes inline. */
export function* splitByContents(
  context: OperationContext,
  batch: readonly Stored[],
  fields: readonly Path[] | undefined,
): Generator<readonly Stored[]> {
  const names = listBlobFields(context.target.collection.shape.fields)
  let part: Stored[] = []
  let size = 0
  for (const stored of batch) {
    const own = sizeOfContents(stored.item, names, (name, record) =>
      isInline(context, name, record, { fields }),
    )
    if (size + own > MAX_INLINE_BATCH && part.length > 0) {
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
 * Serializes an item after a change: a content that cannot be read then is given by its address alone,
 * since the change has not failed.
 */
export function serializeChanged(context: OperationContext, item: Item): Awaitable<Item> {
  if (isAnsweredAsStored(context)) return item
  return serialize(context, item).catch(() => serialize(context, item, { inline: false }))
}

function isAnsweredAsStored({ target: { collection } }: OperationContext): boolean {
  return !collection.blobs && collection.hidden.size === 0
}

/** Represents one item, whole or only these fields. */
export function representItem(
  context: OperationContext,
  stored: Stored,
  fields?: readonly Path[],
): Awaitable<Representation> {
  if (isAnsweredAsStored(context)) return represent(context, stored.item, fields, stored)
  return serialize(context, stored.item, { fields }).then(item => represent(context, item, fields))
}

/** Represents an item after a change. Its text is not kept: it would double the memory of items nobody reads. */
export function representChanged(
  context: OperationContext,
  { item }: Stored,
): Awaitable<Representation> {
  return andThen(serializeChanged(context, item), each => represent(context, each, undefined))
}

function represent(
  { target: { collection } }: OperationContext,
  item: Item,
  fields: readonly Path[] | undefined,
  stored?: Stored,
): Representation {
  return {
    kind: 'item',
    name: collection.itemName,
    fields: selectReadableFields(collection, fields),
    data: fields ? picker(fields)(item) : item,
    stored: fields ? undefined : stored,
  }
}

/** The fields of a representation: all readable ones, or those that were requested. */
export function selectReadableFields(
  { readableFields, selectableFields }: CollectionDefinition,
  fields: readonly Path[] | undefined,
): Fields {
  return fields ? selectFields(selectableFields, fields) : readableFields
}
