// Actions: the verbs of a collection or an item (specification, "Resource operations").

import {
  type Awaitable,
  andThen,
  freezeDeep,
  type Item,
  isObject,
  type Json,
} from '../../base/values.ts'
import { HttpError, type Issue, isFieldValue } from '../../errors.ts'
import { formValue } from '../../formats/form-values.ts'
import { findOwnAddress } from '../../http/base-url.ts'
import type { HeaderList } from '../../http/message.ts'
import { isSafe, readsBody } from '../../http/methods.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import type { ActionDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { ActionResponse } from '../../model/types/hooks.ts'
import { RESERVED } from '../../query.ts'
import { type Stored, throwIfAborted } from '../../store/store.ts'
import { findOne } from '../../store/writes.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import type { DecodedBody } from '../calls/decoded-body.ts'
import { noteProgramError, toActionError } from '../calls/inner-errors.ts'
import { isVisible, requireItem, requireParent } from '../calls/items.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { itemValidators, representChanged } from '../calls/represent.ts'
import { OperationTools, runAfter, runAfterWithin, runBefore } from '../calls/run-hooks.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { VARY_PREFER } from '../reads/page.ts'
import { keepAnswer, runOncePerKey, toReadableAnswer } from '../writes/idempotency-key.ts'
import { withBodyIssues } from '../writes/input.ts'
import { findActedOn, updateItem } from '../writes/plan.ts'
import { refuseIfMatch } from '../writes/preconditions.ts'
import { addReturnApplied, buildChangedResult, toItemTarget } from '../writes/results.ts'

/**
 * Runs an action and answers 200 with its result. An item of the collection is answered as it is everywhere.
 * An action without a result is answered as a change of its item is; without an item by a 303 to the collection.
 */
export function act(
  context: OperationContext,
  action: ActionDefinition,
): Awaitable<OperationResult> {
  const { hooks } = context.target.collection
  const isRead = isSafe(action.method)
  const withHooks = hooks.transaction && !isRead
  const begin = (key?: string) =>
    action.transaction || withHooks
      ? runInTransaction(context, context.transaction, running =>
          running.run(async () => {
            const done = await doWork(context, action, key, running)
            if (withHooks) await runAfterWithin(context, toHookResult(context, done), running)
            return done
          }),
        )
      : doWork(context, action, key)
  const work = async (key?: string) => {
    const outcome = await begin(key).catch(error => {
      throw toActionError(context, error)
    })
    if (!withHooks && hooks.after.has(action.name))
      await runAfter(context, toHookResult(context, outcome))
    return addCookies(context, await buildResult(context, action, outcome), outcome.headers)
  }
  if (isRead || context.idempotencyKey === undefined) return work()
  return runOncePerKey(context, work, answer =>
    buildResult(context, action, parseKeptAnswer(context, answer)),
  )
}

/** The result of an action: an item of the collection, a value, or nothing. */
interface ActionOutcome {
  readonly stored?: Stored | undefined
  readonly data?: Json | undefined
  /** What it adds to its answer. It is not kept under a key: a cookie is a secret. */
  readonly headers?: HeaderList | undefined
}

/** Does the work of an action, and keeps its outcome under the key. */
async function doWork(
  context: OperationContext,
  action: ActionDefinition,
  key: string | undefined,
  transaction = context.transaction,
): Promise<ActionOutcome> {
  const current = await findItemOf(context, action, transaction)
  const input = await checkInput(context, action)
  const response = new CookieResponse(context.target.collection, action)
  const started = { context, action, current, input, response, transaction }
  const outcome = { ...(await run(started)), headers: response.list }
  if (key !== undefined) await keepAnswer(context, transaction, key, toKeptAnswer(context, outcome))
  return outcome
}

/** The cookies that an action sets. */
class CookieResponse implements ActionResponse {
  readonly list: HeaderList = []
  readonly #where: string
  readonly #cookies: boolean
  readonly headers: ActionResponse['headers'] = {
    append: (name: string, value: string) => {
      if (!this.#cookies)
        throw new TypeError(
          `${this.#where} sets a cookie without cookies: true. Declare cookies: true next to its run.`,
        )
      if (!/^set-cookie$/i.test(name))
        throw new TypeError(`An action may set the header Set-Cookie alone, not ${name}`)
      if (!isFieldValue(value))
        throw new TypeError(
          'Set-Cookie must be a header value on one line, without control characters',
        )
      this.list.push('Set-Cookie', value)
    },
  }

  constructor(collection: CollectionDefinition, { name, cookies }: ActionDefinition) {
    this.#where = `${collection.name}: the action ${name}`
    this.#cookies = cookies
  }
}

/** The parameter that names the path to which a browser is led when it has its cookies. */
export const NEXT_PARAMETER = 'next'

/** Adds the cookies to an answer. A browser that sent a form is led on: to `next`, or to the root. */
function addCookies(
  context: OperationContext,
  result: OperationResult,
  cookies: HeaderList = [],
): OperationResult {
  if (cookies.length === 0) return result
  const isPrivate = true
  const { negotiated, preferences, suppressed, parameters, base } = context
  if (!negotiated?.format.page || preferences.return !== undefined || suppressed)
    return { ...result, headers: [...result.headers, ...cookies], isPrivate }
  const next = parameters.find(({ name }) => name === NEXT_PARAMETER)?.value ?? ''
  const location = findOwnAddress(next, base) ?? context.href({ kind: 'root', version: undefined })
  return { status: 303, headers: ['Location', location, ...cookies], vary: VARY_PREFER, isPrivate }
}

/** Answers with the form of an action, for a page. @throws HttpError 404 */
export function showForm(
  context: OperationContext,
  { name }: ActionDefinition,
): Awaitable<OperationResult> {
  const { id } = context.target
  const found: Awaitable<unknown> = id === undefined ? requireParent(context) : requireItem(context)
  const representation = { kind: 'document', name, data: null, isForm: true } as const
  return andThen(found, () => ({ status: 200, headers: [], representation }))
}

/** Prepares the result of an action for `after` hooks: frozen, with write-only properties protected. */
function toHookResult({ target }: OperationContext, { stored, data }: ActionOutcome): unknown {
  if (stored) return toProgramItem(toWhole(target.collection), stored)
  freezeDeep(data)
  return data
}

function toKeptAnswer({ target }: OperationContext, { stored, data }: ActionOutcome): Json[] {
  const { collection } = target
  if (stored) return [null, toReadableAnswer(collection, stored)]
  if (data === undefined) return []
  return collection.view ? [data, null, collection.view.tag] : [data]
}

/** A value is repeated to who sees what it was made of: the program has read the item as its client did then. */
function parseKeptAnswer({ target }: OperationContext, answer: Json): ActionOutcome {
  const [data, item = null, tag = ''] = Array.isArray(answer) ? answer : []
  if (item !== null) return { stored: item as never } // `toKeptAnswer` has made it
  return { data: tag === (target.collection.view?.tag ?? '') ? data : undefined }
}

function buildResult(
  context: OperationContext,
  { name, outputFields: fields }: ActionDefinition,
  { stored, data }: ActionOutcome,
): Awaitable<OperationResult> {
  if (stored) return buildReturnedItemResult(context, stored)
  if (data === undefined) return buildEmptyResult(context)
  return {
    status: 200,
    headers: [],
    representation: { kind: 'document', name, data, ...(fields && { fields }) },
    value: data,
  }
}

/** Finds the item acted on; preconditions are for actions that change something. */
async function findItemOf(
  context: OperationContext,
  action: ActionDefinition,
  transaction: RunningTransaction | undefined,
): Promise<Stored | undefined> {
  const reads = isSafe(action.method)
  if (action.on === 'item')
    return reads ? requireItem(context, transaction) : findActedOn(context, transaction)
  await requireParent(context, transaction)
  if (!reads) refuseIfMatch({ call: context })
  return undefined
}

/** Finds the item that an action with `output: 'item'` returned. @throws TypeError for anything else. */
async function findReturnedItem(
  context: OperationContext,
  { name }: ActionDefinition,
  value: unknown,
  transaction: RunningTransaction | undefined,
): Promise<Stored> {
  const { collection } = context.target
  const id = isObject(value) ? value[collection.shape.identity.name] : undefined
  const isId = typeof id === 'string' || typeof id === 'number'
  const store = context.storeOf(collection, transaction)
  const found = isId && (await findOne(store, id, context.storeOptions))
  if (found) return found
  throw new TypeError(
    `${collection.name}: the action ${name} has output: 'item', but gave no item of the collection`,
  )
}

/** Answers 200 with an item, where the client may see it; a browser is sent to its page. */
async function buildReturnedItemResult(
  context: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const { collection } = context.target
  if (!(await isVisible(context, collection, stored.item))) return buildEmptyResult(context)
  // Reloading must not send the form again.
  const { method, negotiated, writeResponse } = context
  if (negotiated?.format.page && !isSafe(method) && writeResponse === 'redirect')
    return buildChangedResult(context, stored)
  const location = context.href(toItemTarget(context.target, stored))
  return {
    status: 200,
    headers: isSafe(method) ? [] : ['Content-Location', location],
    representation: await representChanged(context, stored),
    validators: itemValidators(stored, context.variant),
    stored,
  }
}

async function buildEmptyResult(context: OperationContext): Promise<OperationResult> {
  const { action: _action, id, ...place } = context.target
  const { collection } = place
  const stored =
    id === undefined
      ? undefined
      : await findOne(context.storeOf(collection), id, context.storeOptions)
  // An action may reach items that its client may not read.
  if (stored && (await isVisible(context, collection, stored.item)))
    return { ...(await buildChangedResult(context, stored)), stored: undefined }
  const list = { ...place, kind: 'collection' } as const
  const common = { vary: VARY_PREFER }
  switch (context.writeResponse) {
    case 'minimal':
      return { ...common, status: 204, headers: addReturnApplied([], context) }
    case 'representation': {
      const data = { url: context.href(list) }
      const representation = { kind: 'document', name: 'place', data } as const
      return { ...common, status: 200, headers: addReturnApplied([], context), representation }
    }
    default:
      return { ...common, status: 303, headers: ['Location', context.hrefAsRequested(list)] }
  }
}

/** An action whose item is found and whose input is checked. */
interface StartedAction {
  readonly context: OperationContext
  readonly action: ActionDefinition
  readonly current: Stored | undefined
  readonly input: unknown
  readonly response: CookieResponse
  readonly transaction: RunningTransaction | undefined
}

async function run(started: StartedAction): Promise<ActionOutcome> {
  const { context, action, current, input, response, transaction } = started
  /** What the action does not copy by mistake into its result. */
  const collection = context.resultView(context.target.collection)
  let stored = current
  let failedUpdate: unknown
  const item = current && toProgramItem(collection, current)
  /** The items that the action got, each by the object that it got. */
  const items = new Map<unknown, Stored>()
  if (current) items.set(item, current)
  const before = { value: input, input, ...(current && { stored: current }) }
  const checked = await runBefore(context, before, input, transaction)
  const tools = Object.assign(new OperationTools(context, transaction), {
    input: checked,
    response,
    ...(item && { item, id: current.id }),
    update: async (changes: Readonly<Record<string, unknown>>) => {
      if (!stored) throw new TypeError('update() is for actions on an item')
      throwIfAborted(context.storeOptions)
      // A program's changes are JSON by declaration; the schema checks them.
      try {
        stored = await updateItem(context, transaction, stored, changes as Item)
      } catch (error) {
        failedUpdate = error
        throw error
      }
      const changed = toProgramItem(collection, stored)
      items.set(changed, stored)
      return changed
    },
  })
  let value: unknown
  try {
    value = await action.run?.(tools)
  } catch (error) {
    if (error !== failedUpdate) noteProgramError(error)
    throw error
  }
  const known = items.get(value)
  if (known) return { stored: known }
  if (value === undefined || value === null) return { data: value }
  if (action.givesItem)
    return { stored: await findReturnedItem(context, action, value, transaction) }
  // A value may have dates and undefined properties: it is kept and sent as JSON.
  const data: Json = JSON.parse(JSON.stringify(value))
  return { data }
}

/** Checks the input of an action: from the query where the method is GET, else from the body. */
async function checkInput(context: OperationContext, action: ActionDefinition): Promise<unknown> {
  // In process the input of any action is a value.
  const { value: input, issues } =
    context.body ?? (!readsBody(action.method) ? queryInput(context, action) : { value: {} })
  return withBodyIssues(issues, async () => {
    if (action.check) return action.check(input)
    if (isObject(input) && Object.keys(input).length === 0) return input
    const message = `${action.name} takes no input. Send no body and no parameters`
    throw new HttpError(400, [{ message, type: 'unexpected_input' }])
  })
}

function queryInput(
  { parameters, api: { limits } }: OperationContext,
  { inputFields }: ActionDefinition,
): Pick<DecodedBody, 'value' | 'issues'> {
  const issues: Issue[] = []
  const own = parameters.filter(({ name }) => inputFields?.has(name) || !RESERVED.has(name))
  const value = formValue(
    own.map(({ name, value }) => [name, value]),
    { fields: inputFields, limits, issues },
  )
  return { value, issues }
}
