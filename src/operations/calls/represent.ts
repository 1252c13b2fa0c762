// Items as they are answered: their contents as addresses, inline where they are small or requested; and their validators.

import { type Path, picker } from '../../base/paths.ts'
import { type Awaitable, andThen, type Item, omit } from '../../base/values.ts'
import { readContent } from '../../blobs/read-content.ts'
import { HttpError } from '../../errors.ts'
import type { Representation } from '../../formats/format.ts'
import { hashTexts, itemTag, type Validators } from '../../http/conditional.ts'
import { DOWNLOAD } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { type BlobRecord, findBlobRecord, listBlobFields } from '../../schema/blob.ts'
import { printBlob } from '../../schema/blob-forms.ts'
import { type Fields, selectFields } from '../../schema/fields.ts'
import type { PrintedStored } from '../../store/printed.ts'
import type { Stored } from '../../store/store.ts'
import { authorize } from './authorize.ts'
import type { OperationContext } from './context.ts'

/**
 * Converts an item to what the client reads: without hidden properties, binary ones in the collection's form,
 * inline too where they are small or `fields` asks for them. There is a promise only for binary properties.
 * @param afterWrite whether a content that cannot be read is given by its address alone, since the change
 * has not failed.
 */
export function toReadable(
  context: OperationContext,
  item: Item,
  fields?: readonly Path[],
  afterWrite = false,
): Awaitable<Item> {
  const { hidden, blobs } = context.target.collection
  const readable = hidden.size === 0 ? item : omit(item, hidden)
  return blobs ? printContents(context, readable, fields, afterWrite) : readable
}

/** Converts items as {@link toReadable} does, or picks some of their properties. */
export function toReadableItems(
  context: OperationContext,
  items: readonly Stored[],
  fields: readonly Path[] | undefined,
): Awaitable<Item[]> {
  const { blobs, hidden } = context.target.collection
  // No query names a hidden property.
  const pick = fields ? picker(fields) : (item: Item) => omit(item, hidden)
  if (!blobs) return items.map(({ item }) => pick(item))
  return Promise.all(items.map(async ({ item }) => pick(await toReadable(context, item, fields))))
}

/** Prints the binary properties of an item in the collection's form. */
export async function printContents(
  context: OperationContext,
  item: Item,
  fields?: readonly Path[],
  afterWrite = false,
): Promise<Item> {
  const { collection } = context.target
  const requested = listRequested(collection, fields)
  const printed: Item = {}
  for (const [name, value] of Object.entries(item)) {
    const field = collection.shape.fields.get(name)
    if (field?.kind !== 'blob') {
      printed[name] = value
      continue
    }
    const record = findBlobRecord(item, name) ?? null
    // A client that may not download the bytes does not get them inline either.
    const isInline =
      requested.includes(name) ||
      (record && record.size <= (field.inlineBelow ?? 0) && context.can(collection, DOWNLOAD))
    const data = record && isInline ? await readBase64(context, record, afterWrite) : undefined
    const url = printBlobAddress(context, item, name)
    Object.assign(printed, printBlob(name, record, collection.binary, url, data))
    // `fields` may ask for the content of the object form by this name too.
    if (data !== undefined && fields) printed[`${name}_data`] = data
  }
  return printed
}

/** Prints the address of a content of an item. */
export function printBlobAddress(context: OperationContext, item: Item, property: string): string {
  const { version, collection } = context.target
  const value = item[collection.shape.identity.name]
  const id = typeof value === 'number' ? value : String(value)
  return context.href({ kind: 'blob', version, collection, id, property })
}

async function readBase64(
  { target, request, api, inProcess }: OperationContext,
  { key }: BlobRecord,
  afterWrite: boolean,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  try {
    const { blobs } = target.collection
    const time = inProcess ? Number.POSITIVE_INFINITY : api.limits.workTime
    const content = blobs && readContent(blobs, key, { signal: request.signal, time })
    let next = await content?.next()
    for (; next?.done === false; next = await content?.next()) chunks.push(next.value)
    if (!next?.value) return undefined
  } catch (error) {
    if (afterWrite) return undefined
    throw error
  }
  return Buffer.concat(chunks).toString('base64')
}

/** Lists the binary properties whose contents `fields` asks for. */
function listRequested({ shape }: CollectionDefinition, fields: readonly Path[] = []): string[] {
  const paths = fields.map(path => path.join('.'))
  return listBlobFields(shape.fields).filter(
    name => paths.includes(`${name}_data`) || paths.includes(`${name}.data`),
  )
}

/**
 * Refuses contents that `fields` asks for to a client that may not download them.
 * @throws HttpError 401, 403
 */
export function authorizeInlineContents(
  context: OperationContext,
  fields: readonly Path[] | undefined,
): void {
  const { collection } = context.target
  if (!collection.blobs || !fields) return
  if (listRequested(collection, fields).length > 0) authorize(context, [DOWNLOAD])
}

/**
 * Refuses more requested contents than one answer may hold inline.
 * @throws HttpError 400
 */
export function requireInlineLimit(
  { target: { collection }, api: { limits } }: OperationContext,
  items: readonly Stored[],
  fields: readonly Path[] | undefined,
): void {
  if (!collection.blobs || !fields) return
  const names = listRequested(collection, fields)
  const sizes = items.flatMap(({ item }) =>
    names.map(name => findBlobRecord(item, name)?.size ?? 0),
  )
  const size = sizes.reduce((sum, each) => sum + each, 0)
  if (size <= limits.inline) return
  const address = collection.binary === 'flat' ? `${names[0]}_url` : `${names[0]}.url`
  const message = `The contents that fields asks for have ${size} bytes together; at most ${limits.inline} are given inline. Ask for fewer items, or for ${address}.`
  throw new HttpError(400, [{ message, field: 'fields', type: 'inline_too_large' }])
}

/** Represents one item, whole or only these fields. */
export function representItem(
  context: OperationContext,
  stored: Stored,
  fields?: readonly Path[],
): Awaitable<Representation> {
  return andThen(toReadable(context, stored.item, fields), item =>
    represent(context, item, fields, item === stored.item ? stored : undefined),
  )
}

/** Represents an item after a change. Its text is not kept: it would double the memory of items nobody reads. */
export function representChanged(
  context: OperationContext,
  { item }: Stored,
): Awaitable<Representation> {
  return andThen(toReadable(context, item, undefined, true), each =>
    represent(context, each, undefined),
  )
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

/** Selects the fields of a representation: all readable ones, or those that were requested. */
export function selectReadableFields(
  { readableFields, selectableFields }: CollectionDefinition,
  fields: readonly Path[] | undefined,
): Fields {
  return fields ? selectFields(selectableFields, fields) : readableFields
}

/** Builds the validators of an item: of its version, its format and the selected fields. */
export function itemValidators(
  stored: PrintedStored,
  variant: string,
  fields?: readonly Path[],
): Validators {
  return {
    tag: itemTag(stored.version, selectedVariant(variant, fields)),
    lastModified: lastModifiedOf(stored),
  }
}

/** Tells the entity tags of selected fields from that of the whole item. */
export function selectedVariant(variant: string, fields: readonly Path[] | undefined): string {
  return fields ? `${variant}.${hashTexts(fields.map(path => path.join('.')))}` : variant
}

/** How long after a change its date is withheld, in milliseconds: another server's clock may be that late. */
const WITHHELD_MS = 2000

/** Returns the date for `Last-Modified`; none soon after the change, which another may follow in its second (RFC 9110 §8.8.2.2). */
export function lastModifiedOf({ updatedAt, printed }: Dated): number | undefined {
  if (updatedAt === undefined) return undefined
  // One that was sent has been late enough before.
  if (printed?.lastModified !== undefined) return updatedAt
  return updatedAt + WITHHELD_MS <= Date.now() ? updatedAt : undefined
}

type Dated = Pick<PrintedStored, 'updatedAt' | 'printed'>
