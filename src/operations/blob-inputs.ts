// Binary properties in requests: what a client says of them, to the records that are kept.

import { oneChunk } from '../blobs/blob-store.ts'
import { type ErrorType, type Issue, throwIfAny } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import type { Parent } from '../model/routes.ts'
import { findRecord, listBlobFields } from '../schema/blob.ts'
import { type BlobInput, decodeBase64, readBlob } from '../schema/blob-forms.ts'
import { getValue, type Path } from '../schema/paths.ts'
import { type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import type { OperationContext } from './context.ts'
import { removeContents } from './uploads.ts'

/**
 * What a client sent with every binary property as the record that it means: new contents are kept,
 * an address must be the item's own.
 */
export async function receiveBlobs(
  context: OperationContext,
  sent: Json,
  current: Item | undefined,
): Promise<Json> {
  const { collection } = context.target
  if (!collection.blobs || !isObject(sent)) return sent
  const names = listBlobFields(collection.shape.fields)
  const issues: Issue[] = []
  const received: Item = { ...sent }
  for (const name of names) {
    const record = await receiveBlob(context, name, sent, current, issues)
    for (const property of propertiesOf(name)) delete received[property]
    if (record !== undefined) received[name] = record
  }
  throwIfAny(issues)
  return received
}

async function receiveBlob(
  context: OperationContext,
  name: string,
  sent: Item,
  current: Item | undefined,
  issues: Issue[],
): Promise<Json | undefined> {
  const [input, ...others] = toldOf(context, name, sent, current)
  const wrong = (message: string, type: ErrorType) => {
    issues.push({ message, field: name, type })
    return undefined
  }
  if (input === undefined) return undefined
  if (others.length > 0) {
    issues.push(toldTwice(name, [input, ...others]))
    return undefined
  }
  const unfit = () => {
    const to = context.target.collection.binary === 'flat' ? `${name}_` : `${name}.`
    const forms = `Base64 in ${to}data or its own address in ${to}url`
    return wrong(`${name} is a file of a multipart body, ${forms}`, 'invalid_type')
  }
  switch (input.said) {
    case 'removed':
      return null
    case 'data': {
      const bytes = decodeBase64(input.data)
      if (!bytes) return wrong(`${name} must be Base64`, 'invalid_base64')
      return context.uploads?.put(name, { name: undefined, type: '', content: oneChunk(bytes) })
    }
    case 'upload': {
      const own = current && findRecord(current, name)
      if (own?.key === input.key) return current?.[name]
      const record = context.uploads?.find(input.key)
      return record ? { ...record } : unfit()
    }
    case 'address': {
      if (current && isOwnAddress(context, name, input.url, current)) return current[name]
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
function toldOf(
  context: OperationContext,
  name: string,
  sent: Item,
  current: Item | undefined,
): BlobInput[] {
  const inputs = readBlob(name, sent)
  if (inputs.length < 2) return inputs
  const told = inputs.filter(input => !isPresent(context, name, input, current))
  const [first = inputs.find(({ said }) => said !== 'removed') ?? inputs[0]] = told
  const same = told.every(({ said }) => said === 'removed')
  return same && first ? [first] : told
}

/** Whether an input is what the item is given with, or a form left as it was: its own address, its record, a null. */
function isPresent(
  context: OperationContext,
  name: string,
  input: BlobInput,
  current: Item | undefined,
): boolean {
  const record = current && findRecord(current, name)
  switch (input.said) {
    case 'address':
      return current !== undefined && isOwnAddress(context, name, input.url, current)
    case 'upload':
      return record?.key === input.key
    case 'removed': {
      // A page says null beside every control for a file: it counts where none was chosen.
      if (context.body?.form) return true
      return !record && input.property === givenProperty(context.target.collection, name)
    }
    default:
      return false
  }
}

/** Whether an address is the item's own: in its collection, or below one of its parents. */
function isOwnAddress(
  context: OperationContext,
  property: string,
  url: Json,
  current: Item,
): boolean {
  const { version, collection, id } = context.target
  const parents = [...collection.parents].flatMap(([name, field]): Parent[] => {
    const parent = version.collections.get(name)
    const parentId = current[field]
    const isId = typeof parentId === 'string' || typeof parentId === 'number'
    return parent && isId ? [{ collection: parent, id: parentId, field }] : []
  })
  return [undefined, ...parents].some(
    parent => url === context.href({ kind: 'blob', version, collection, parent, id, property }),
  )
}

function toldTwice(name: string, inputs: readonly BlobInput[]): Issue {
  const named = inputs.map(({ property }) => property).join(' and ')
  const message = `${name} is given in ${named}: give it once`
  return { message, field: name, type: 'conflicting_keys' }
}

/**
 * A merge patch with every null for a binary property where the item is given with it: anywhere else it
 * would be merged without a trace.
 * @throws HttpError 400 for a patch that says two things of one property.
 */
export function patchBlobs(
  context: OperationContext,
  patch: Item,
  shown: Item,
  current: Item,
): Item {
  const { collection } = context.target
  const sent = collection.blobs && withoutSameData(collection, patch, shown)
  if (!isObject(sent)) return patch
  const issues: Issue[] = []
  const placed: Item = { ...patch }
  for (const name of listBlobFields(collection.shape.fields)) {
    const told = toldOf(context, name, sent, current)
    if (told.length > 1) issues.push(toldTwice(name, told))
    if (told[0]?.said !== 'removed') continue
    for (const property of propertiesOf(name)) delete placed[property]
    placed[givenProperty(collection, name)] = null
  }
  throwIfAny(issues)
  return placed
}

/** The properties that a client may say a binary property in. */
function propertiesOf(name: string): string[] {
  return [name, `${name}_url`, `${name}_data`]
}

/** The property that an item is given with, its null included. */
function givenProperty({ binary }: CollectionDefinition, name: string): string {
  return binary === 'flat' ? `${name}_url` : name
}

/** Removes the contents that an item held and its successor does not hold. */
export async function removeBlobs(
  { target }: OperationContext,
  before: Item,
  after: Item = {},
): Promise<void> {
  const { blobs, shape } = target.collection
  if (!blobs) return
  const keys = listBlobFields(shape.fields).flatMap(name => {
    const key = findRecord(before, name)?.key
    return key === undefined || key === findRecord(after, name)?.key ? [] : [key]
  })
  await removeContents(blobs, keys)
}

/** A patched item without the contents that were given inline and are still the same: no new ones. */
export function withoutSameData(
  { shape, binary }: CollectionDefinition,
  patched: Json,
  shown: Item,
): Json {
  const paths = listBlobFields(shape.fields).map(name =>
    binary === 'flat' ? [`${name}_data`] : [name, 'data'],
  )
  const same = paths.filter(path => sameJson(getValue(patched, path), getValue(shown, path)))
  return same.reduce<Json>((rest, path) => without(rest, path), patched)
}

function without(value: Json, [name = '', ...rest]: Path): Json {
  if (!isObject(value) || !Object.hasOwn(value, name)) return value
  const { [name]: property = null, ...others } = value
  return rest.length === 0 ? others : { ...others, [name]: without(property, rest) }
}
