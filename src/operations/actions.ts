// Actions: the verbs of a collection or an item (specification, "Resource operations").

import { HttpError, type Issue } from '../errors.ts'
import { formValue } from '../formats/form-values.ts'
import { mergePatch } from '../formats/patch.ts'
import type { ActionDefinition, Calls, MadeIds } from '../model/definition.ts'
import { RESERVED } from '../query.ts'
import { freezeDeep, type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import type { SomeSchema } from '../schema/zod-fields.ts'
import { type Stored, throwIfAborted } from '../store/store.ts'
import { blobPatch } from './blob-inputs.ts'
import {
  atCurrentParent,
  type Call,
  type CallBody,
  inScope,
  type OperationResult,
  refuseIfMatch,
  requireItem,
  requireParent,
  runBefore,
  withoutParent,
} from './call.ts'
import { once } from './idempotency.ts'
import { checkedWith, ownValues, patchedValues } from './input.ts'
import { serializeChanged } from './serialize.ts'
import { changed, requireCurrent, returnApplied, update } from './writes.ts'

/**
 * Runs an action: 200 with what it gives. Where it gives nothing it is answered as a change of the
 * item is, and without an item 303 to the collection.
 */
export async function act(call: Call, action: ActionDefinition): Promise<OperationResult> {
  const { store } = call.target.collection
  const safe = action.method === 'GET'
  const work = async () => {
    const current = await currentOf(call, safe)
    const given = await run(call, action, current, await inputOf(call, action))
    // What an action gives may hold dates and undefined properties: it is kept and sent as JSON.
    return given === undefined ? [] : [JSON.parse(JSON.stringify(given)) as Json]
  }
  const answered = ([data]: readonly Json[]): OperationResult | Promise<OperationResult> => {
    if (data === undefined) return withoutResult(call)
    const { name, outputFields: fields } = action
    return {
      status: 200,
      headers: [],
      representation: { kind: 'document', name, data, ...(fields && { fields }) },
      result: data,
    }
  }
  if (safe) return answered(await work())
  return once(call, work, answered, (key, answer) => store.complete(key, answer))
}

/** The item acted on; preconditions are for actions that change something. */
async function currentOf(call: Call, safe: boolean): Promise<Stored | undefined> {
  const { id } = call.target
  if (id !== undefined && !safe) return requireCurrent(call)
  if (id !== undefined) return requireItem(call)
  await requireParent(call)
  if (!safe) refuseIfMatch(call)
  return undefined
}

async function withoutResult(call: Call): Promise<OperationResult> {
  const { action: _action, id, ...place } = call.target
  const stored =
    id === undefined ? undefined : await call.target.collection.store.get(id, call.caller)
  // An action may do more than its caller, who is shown no item that it could not read.
  if (id !== undefined && stored && inScope(atCurrentParent(call, stored.item), stored.item)) {
    const target = { ...place, id, kind: 'item' } as const
    return { ...(await changed({ ...call, target }, stored)), result: undefined }
  }
  const url = call.href({ ...place, kind: 'collection' })
  const common = { vary: ['Prefer'], result: undefined }
  switch (call.returns) {
    case 'minimal':
      return { ...common, status: 204, headers: returnApplied(call) }
    case 'representation': {
      const representation = { kind: 'document', name: 'place', data: { url } } as const
      return { ...common, status: 200, headers: returnApplied(call), representation }
    }
    default:
      return { ...common, status: 303, headers: ['Location', url] }
  }
}

async function run(
  call: Call,
  action: ActionDefinition,
  current: Stored | undefined,
  input: unknown,
): Promise<unknown> {
  const { principal, caller } = call
  let stored = current
  freezeDeep(current?.item)
  const told = { value: input, ...(current && { item: current.item }) }
  const value = await runBefore(call, told, input)
  const given = await action.run({
    input: value,
    ...(current && { item: current.item, id: current.id }),
    principal,
    signal: caller.signal,
    // A collection's own calls have the types of its schema.
    collection: <S extends SomeSchema, Ids extends keyof MadeIds>(
      given: string | { readonly name: string },
    ) => call.collection(typeof given === 'string' ? given : given.name) as Calls<S, Ids>,
    update: async changes => {
      // The path names the parent that the item has now: a program may give it another.
      stored = await changeItem(withoutParent(call), stored, changes)
      return stored.item
    },
  })
  // The item acted on is given as it is anywhere: its contents by their addresses.
  const acted = [current, stored].find(each => each !== undefined && each.item === given)
  return acted && !call.inProcess
    ? serializeChanged(atCurrentParent(call, acted.item), acted.item)
    : given
}

/** Changes the item acted on, at the version that was read. */
async function changeItem(
  call: Call,
  stored: Stored | undefined,
  changes: Readonly<Record<string, unknown>>,
): Promise<Stored> {
  const { collection } = call.target
  if (!stored) throw new TypeError('update() is for actions on an item')
  throwIfAborted(call.caller)
  // A program's changes are JSON by declaration; the schema checks them.
  const values = await patchedValues(call, stored, shown =>
    mergePatch(shown, blobPatch(call, changes as Item, shown, stored.item)),
  )
  if (sameJson(values, ownValues(collection, stored.item))) return stored
  const changed = await update(call, stored, values)
  if (changed) return changed
  // `*` holds of the item as it is now, too.
  const { ifMatch } = call.preconditions
  const status = ifMatch && ifMatch !== '*' ? 412 : 409
  const message = `The ${collection.itemName} was changed meanwhile; read it again, then decide`
  throw new HttpError(status, [{ message, type: 'changed_meanwhile' }])
}

/** What the client sent, checked: from the query where the method is GET, else from the body. */
async function inputOf(call: Call, action: ActionDefinition): Promise<unknown> {
  // A call in process gives the input of any action as a value.
  const { value: sent, issues } =
    call.body ?? (action.method === 'GET' ? queryInput(call, action) : { value: {} })
  return checkedWith(issues, async () => {
    if (action.check) return action.check(sent)
    if (isObject(sent) && Object.keys(sent).length === 0) return sent
    const message = `${action.name} takes no input`
    throw new HttpError(400, [{ message, type: 'unexpected_input' }])
  })
}

function queryInput(
  { parameters, limits }: Call,
  { inputFields }: ActionDefinition,
): Pick<CallBody, 'value' | 'issues'> {
  const issues: Issue[] = []
  const own = parameters.filter(({ name }) => inputFields?.has(name) || !RESERVED.has(name))
  const value = formValue(
    own.map(({ name, value }) => [name, value]),
    { fields: inputFields, limits, issues },
  )
  return { value, issues }
}
