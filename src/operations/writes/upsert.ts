// Upsert: creates or replaces the item that the values of a unique set name instead of its id.

import { memoize } from '../../base/memoize.ts'
import { getValue } from '../../base/paths.ts'
import { type Item, isObject, isScalar, type Json } from '../../base/values.ts'
import { HttpError, type Issue } from '../../errors.ts'
import { listKeys } from '../../model/compile/unique-keys.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import { show } from '../../options.ts'
import type { ParsedQuery } from '../../query.ts'
import type { ValueFilter } from '../../store/filter.ts'
import type { OperationContext, Perform } from '../calls/context.ts'
import type { DecodedBody } from '../calls/decoded-body.ts'
import { copyCall } from '../calls/derive-call.ts'
import { parameter } from '../calls/program-filters.ts'
import { runErrorHooks } from '../calls/run-hooks.ts'
import { compileReaders } from '../reads/query.ts'
import type { Key } from './named-item.ts'
import { planUpsert } from './plan.ts'
import { WriteState } from './steps.ts'

/** Compiles `PUT /<collection>?plate=AB-123`. */
export function compileUpsert(api: ApiDefinition, collection: CollectionDefinition): Perform {
  const findReaders = compileReaders(api)(collection)
  const sets = listKeys(collection)
  const { path } = collection
  const names = sets
    .map(set => `PUT ${path}?${set.map(name => `${name}=…`).join('&')}`)
    .join(' or ')
  return upsertBy(call => {
    const { parameters } = call
    const key = findKey(sets, findReaders(call).list(parameters, undefined).query)
    if (key?.length === parameters.length) return key
    const message = `A PUT to a list needs a unique set in its query, and no other parameter: ${names}. By the id of the item it is PUT ${path}/<id>`
    throw new HttpError(400, [{ message, type: 'unique_set_required' }])
  })
}

/** Finds the values of one of these sets; `undefined` for a query of anything else. */
export function findKey(
  sets: readonly (readonly string[])[],
  { where, related = [], search }: ParsedQuery,
): Key | undefined {
  const key = where.filter(
    (filter): filter is ValueFilter => filter.operator === 'in' && filter.values.length === 1,
  )
  if (key.length < where.length || related.length > 0 || search) return undefined
  const names = key.map(nameOf)
  const isNamed = (set: readonly string[]) =>
    set.length === names.length && set.every(name => names.includes(name))
  return sets.some(isNamed) ? key : undefined
}

function nameOf({ path }: ValueFilter): string {
  return path.join('.')
}

/** Creates the item that a key names, or replaces it. @param readKey throws HttpError 400, or a TypeError for a program. */
export function upsertBy(readKey: (call: OperationContext) => Key): Perform {
  return async outer => {
    // It becomes the call of a create or of a replacement, as each attempt finds the item.
    const call = copyCall(outer)
    call.shareUploads(outer)
    try {
      const named = readKey(call)
      Object.assign(call, { body: nameInBody(call, named) })
      const write = Object.assign(new WriteState(call), { named })
      const { result } = await compileSteps(call.target.collection).run(write)
      return result
    } catch (error) {
      await runErrorHooks(call, error)
      throw error
    }
  }
}

/** Compiled once for a collection, or a view of it, for as long as that is. */
const compileSteps = memoize(planUpsert)

/** Puts the values of a key into a body that lacks them, and adds an issue for each that differs. */
function nameInBody(call: OperationContext, key: Key): DecodedBody | undefined {
  const { body } = call
  if (!body || !isObject(body.value)) return body
  const value: Item = { ...body.value }
  const issues: Issue[] = []
  for (const filter of key) {
    const [name = '', ...below] = filter.path
    const [wanted = null] = filter.values
    if (below.length === 0 && !Object.hasOwn(value, name)) value[name] = wanted
    const sent = getValue(value, filter.path)
    if (isSame(call, filter, sent)) continue
    const message = `${nameOf(filter)} must be ${show(wanted)}, which names the item, not ${show(sent)}. Send that value.`
    issues.push({ message, field: nameOf(filter), type: 'immutable_field' })
  }
  return { ...body, value, issues: [...(body.issues ?? []), ...issues] }
}

/** Whether a value of a body equals the one of the key. A form sends strings, and a date may have another notation. */
function isSame(call: OperationContext, filter: ValueFilter, sent: Json | undefined): boolean {
  const [wanted] = filter.values
  if (!isScalar(sent)) return false
  if (String(sent) === String(wanted)) return true
  if (typeof sent !== 'string' || typeof wanted !== 'string') return false
  const { list } = compileReaders(call.api)(call.target.collection)(call)
  const [read] =
    findKey([[nameOf(filter)]], list([parameter(nameOf(filter), sent)], undefined).query) ?? []
  return read?.values[0] === wanted
}
