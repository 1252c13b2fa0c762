// Binary properties in requests: from the inputs of a client to stored records.

import { getValue, type Path } from '../../base/paths.ts'
import { type Awaitable, type Item, isObject, type Json, sameJson } from '../../base/values.ts'
import { oneChunk } from '../../blobs/content.ts'
import { listContents } from '../../blobs/content-places.ts'
import { removeContents } from '../../blobs/store-content.ts'
import { type ErrorType, type Issue, throwIfAny } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { findBlobRecord, listBlobFields } from '../../schema/blob.ts'
import {
  type BlobInput,
  decodeBase64,
  findDataType,
  parseBlobInputs,
} from '../../schema/blob-forms.ts'
import type { OperationContext } from '../calls/context.ts'
import { printBlobAddress, printContents } from '../calls/represent.ts'
import type { Write } from './steps.ts'

/**
 * Replaces every binary property of a body by its record. Files of a multipart body are stored already; Base64
 * is stored here; an address must be the item's own.
 * @throws HttpError 400
 */
export async function receiveContents({
  call,
  candidate,
  current: stored,
}: Write<'candidate'>): Promise<Item> {
  const { collection } = call.target
  const current = stored?.item
  const issues: Issue[] = []
  const received: Item = { ...candidate }
  for (const name of listBlobFields(collection.shape.fields)) {
    const property = { context: call, name, current, issues }
    const input = chooseInput(property, candidate)
    const record = input && (await receiveContent(property, input))
    for (const each of listInputProperties(name)) delete received[each]
    if (record !== undefined) received[name] = record
  }
  throwIfAny(issues)
  return received
}

/** A binary property that a request writes. */
interface WrittenBlob {
  readonly context: OperationContext
  readonly name: string
  /** The item before. */
  readonly current: Item | undefined
  readonly issues: Issue[]
}

/** Finds or stores the record of an input; `undefined` for an issue. */
async function receiveContent(written: WrittenBlob, input: BlobInput): Promise<Json | undefined> {
  const { context, name, current, issues } = written
  if (isUnchanged(written, input)) return current?.[name]
  const fail = (message: string, type: ErrorType) => {
    issues.push({ message, field: name, type })
    return undefined
  }
  switch (input.kind) {
    case 'null':
      return null
    case 'data': {
      const bytes = decodeBase64(input.data)
      if (!bytes) return fail(`${input.property} must be Base64, such as "aGk="`, 'invalid_base64')
      const type = findDataType(input.data)
      return context.uploads?.put(name, { name: undefined, type, content: oneChunk(bytes) })
    }
    case 'url': {
      const message = `${name}_url must be the URL that this API returned for the ${name}. The server does not fetch other URLs: upload the file instead.`
      return fail(message, 'foreign_address')
    }
    case 'record': {
      const record = context.uploads?.find(input.key)
      if (record) return { ...record }
    }
  }
  const prefix = context.target.collection.binary === 'flat' ? `${name}_` : `${name}.`
  const forms = `Base64 in ${prefix}data, or its own address in ${prefix}url`
  return fail(`${name} must be a file of a multipart body, ${forms}`, 'invalid_type')
}

/**
 * Chooses the input of a binary property that is used. Beside a content, a null and what the client has read
 * before (the item's own address, its record) do not count; two new contents are an issue.
 */
function chooseInput(written: WrittenBlob, body: Item): BlobInput | undefined {
  const { name, issues } = written
  const inputs = parseBlobInputs(name, body)
  const contents = inputs.filter(({ kind }) => kind !== 'null')
  const changes = contents.filter(input => !isUnchanged(written, input))
  if (changes.length < 2) return changes[0] ?? contents[0] ?? inputs[0]
  const properties = changes.map(({ property }) => property).join(' and ')
  const message = `${name} is given in ${properties}. Send one of them.`
  issues.push({ message, field: name, type: 'conflicting_keys' })
  return undefined
}

/** Lists the binary properties for which a body has a content of its own. */
export function listFiles(
  { shape, blobs }: CollectionDefinition,
  body: Json | undefined,
): string[] {
  if (!blobs) return []
  return (Array.isArray(body) ? body : [body]).flatMap(item =>
    listBlobFields(shape.fields).filter(
      name =>
        isObject(item) &&
        parseBlobInputs(name, item).some(({ kind }) => kind === 'data' || kind === 'record'),
    ),
  )
}

/** Whether an input is what the item has: its own address, or its record. */
function isUnchanged({ context, name, current }: WrittenBlob, input: BlobInput): boolean {
  if (!current) return false
  if (input.kind === 'url') return input.url === printBlobAddress(context, current, name)
  return input.kind === 'record' && findBlobRecord(current, name)?.key === input.key
}

/**
 * Moves each null for a binary property in a merge patch to the property that items have: the merge would
 * lose it in another one.
 * @throws HttpError 400 for two different changes of one property.
 */
export function moveNulls(
  patch: Item,
  { call, current, printed = current.item }: Write<'current'>,
): Item {
  const { collection } = call.target
  if (!collection.blobs) return patch
  const body = omitSameData(collection, patch, printed)
  const issues: Issue[] = []
  const moved: Item = { ...patch }
  for (const name of listBlobFields(collection.shape.fields)) {
    const property = { context: call, name, current: current.item, issues }
    if (chooseInput(property, body)?.kind !== 'null') continue
    for (const each of listInputProperties(name)) delete moved[each]
    moved[getReadableName(collection, name)] = null
  }
  throwIfAny(issues)
  return moved
}

/** Lists the properties of a body that may hold a binary property. */
function listInputProperties(name: string): string[] {
  return [name, `${name}_url`, `${name}_data`]
}

/** Returns the property by which items have a binary property. */
function getReadableName({ binary }: CollectionDefinition, name: string): string {
  return binary === 'flat' ? `${name}_url` : name
}

/** Marks the uploads that the stored item holds. */
export function keepUploads(write: Write<'stored'>): Awaitable<void> {
  const { call, stored } = write
  return write.afterCommit(() => call.uploads?.keep(stored.item))
}

/** Removes the contents of an item that its new state does not have. */
export function removeReplacedContents(write: Write<'stored'>): Awaitable<void> {
  return removeContentsOf(write, write.stored.item)
}

/** Removes the contents of a deleted item. */
export function removeAllContents(write: Write): Awaitable<void> {
  return removeContentsOf(write, {})
}

function removeContentsOf(write: Write, after: Item): Awaitable<void> {
  const { contents } = write.call.target.collection
  const kept = new Set(listContents(contents, after).map(({ key }) => key))
  const removed = listContents(contents, write.current?.item ?? {}).filter(
    ({ key }) => !kept.has(key),
  )
  return removed.length === 0 ? undefined : write.afterCommit(() => removeContents(removed))
}

/** The item as clients read it: patches name its contents as answers do. */
export function printCurrent({ call, current }: Write<'current'>): Awaitable<Item> {
  return printContents(call, current.item)
}

/** Leaves out inline contents that a patch did not change: they are not stored again. */
export function omitUnchangedContents({ call, candidate, printed = {} }: Write<'candidate'>): Item {
  return omitSameData(call.target.collection, candidate, printed)
}

function omitSameData({ shape, binary }: CollectionDefinition, patched: Item, printed: Item): Item {
  const paths = listBlobFields(shape.fields).map(name =>
    binary === 'flat' ? [`${name}_data`] : [name, 'data'],
  )
  const same = paths.filter(path => sameJson(getValue(patched, path), getValue(printed, path)))
  return same.reduce(without, patched)
}

function without(value: Item, [name = '', ...rest]: Path): Item {
  if (!Object.hasOwn(value, name)) return value
  const { [name]: property = null, ...others } = value
  if (rest.length === 0) return others
  return { ...others, [name]: isObject(property) ? without(property, rest) : property }
}
