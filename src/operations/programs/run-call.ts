// One call of a program: it runs the same operation as a request.

import { TextBudget } from '../../base/text-budget.ts'
import { toJson } from '../../formats/json-value.ts'
import { NO_PRECONDITIONS, type Preconditions } from '../../http/conditional.ts'
import type { ReceivedRequest, RequestHeaders } from '../../http/message.ts'
import type { Preferences } from '../../http/prefer.ts'
import { IdentifiedRequest } from '../../http/request-id.ts'
import type { CollectionTarget } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type {
  CallOptions,
  CreateOptions,
  ManyOptions,
  ReadOptions,
  WriteOptions,
} from '../../model/types/resource.ts'
import * as rule from '../../options.ts'
import { checkOptions, type Rules } from '../../options.ts'
import { hasFiles, readFiles } from '../../schema/blob.ts'
import { neverAborted } from '../../store/abort.ts'
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import { isAborted } from '../../store/watch.ts'
import {
  CallContext,
  type CallScope,
  type OperationResult,
  type Perform,
} from '../calls/context.ts'
import type { SharedWithProgram } from '../calls/derive-call.ts'
import { noteCallError } from '../calls/inner-errors.ts'
import { requireOutside } from '../calls/running-transaction.ts'
import { tryOut } from '../writes/dry-run.ts'
import { compiledOperations, compileOperation } from './compile-operation.ts'

/** What a program calls. */
export interface Call {
  /** The name of the operation or action. */
  readonly operation: string
  readonly place: Omit<CollectionTarget, 'version' | 'collection'>
  /** What it writes, or the input of an action. */
  readonly value?: unknown
  readonly options?: CreateOptions | undefined
  /** Present for a write that may be conditional. */
  readonly preconditions?: Preconditions
  readonly preferences?: Preferences
  /** Does the work in place of the operation. */
  readonly perform?: Perform | undefined
}

interface CallResult {
  readonly result: OperationResult
  /** The collection as the caller may read it. */
  readonly view: CollectionDefinition
}

const NO_HEADERS: RequestHeaders = {}

/** The request of a call in process: it ends with its signal alone. */
class ProgramRequest extends IdentifiedRequest implements ReceivedRequest {
  readonly target = ''
  readonly prefix = ''
  readonly headers = NO_HEADERS
  readonly headerCount = 0
  readonly body = undefined
  readonly address = undefined
  readonly secure = true
  readonly needsHost = false
  readonly textBudget = new TextBudget()
  readonly method: string
  readonly #outer: StoreOptions

  /** @param outer what it ends with: most calls never read its signal. */
  constructor(method: string, outer: StoreOptions) {
    super(NO_HEADERS, 0)
    this.method = method
    this.#outer = outer
  }

  get signal(): AbortSignal {
    return this.#outer.signal ?? neverAborted()
  }

  get aborted(): boolean {
    return isAborted(this.#outer)
  }

  /** Only a request of a client has a time limit. */
  abort(): void {}
}

/** The methods of operations that change something. */
const METHODS: Readonly<Record<string, string>> = {
  create: 'POST',
  replace: 'PUT',
  upsert: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  patchMany: 'PATCH',
  deleteMany: 'DELETE',
}

const CALL_RULES: Rules<CallOptions> = {
  principal: rule.ANYTHING,
  signal: rule.ANYTHING,
  headers: rule.ANYTHING,
}
const CREATE_RULES: Rules<CreateOptions> = { ...CALL_RULES, dryRun: rule.BOOLEAN }
const MANY_RULES: Rules<ManyOptions> = { ...CREATE_RULES, maxAffected: rule.wholeFrom(0) }
const READ_RULES: Rules<ReadOptions> = { ...CALL_RULES, include: rule.listOf(rule.TEXT, 1) }
const WRITE_RULES: Rules<WriteOptions> = {
  ...CREATE_RULES,
  version: rule.TEXT,
  ifMatch: rule.ANYTHING,
  unconditional: rule.ANYTHING,
}

/** The options of calls that differ. */
const RULES: Readonly<Record<string, Rules<CallOptions>>> = {
  create: CREATE_RULES,
  upsert: CREATE_RULES,
  read: READ_RULES,
  patchMany: MANY_RULES,
  deleteMany: MANY_RULES,
}

function checkCallOptions(name: string, { operation, options, preconditions }: Call): void {
  if (!options) return
  const rules = preconditions ? WRITE_RULES : (RULES[operation] ?? CALL_RULES)
  checkOptions(`The options of ${name}.${operation}`, options, rules)
}

/** @throws TypeError for options that the call does not take; HttpError as a request of a client. */
export async function runCall(
  scope: CallScope,
  collection: CollectionDefinition,
  call: Call,
): Promise<CallResult> {
  const { runtime, version, transaction } = scope
  const { operation, options, perform } = call
  if (!transaction) requireOutside(collection.store, collection.name, operation)
  checkCallOptions(collection.name, call)
  const { value: given } = call
  const value = collection.blobs && hasFiles(given) ? await readFiles(given) : given
  const signal = options?.signal ?? scope.signal
  const outer = signal ? { signal } : (transaction ?? scope.request ?? {})
  const target: CollectionTarget = { version, collection, ...call.place }
  const method = target.action?.method ?? METHODS[operation] ?? 'GET'
  const request = new ProgramRequest(method, outer)
  const context = Object.assign(new CallContext(runtime, request, scope.base, true), {
    target,
    operation,
    transaction,
    system: scope.system ?? false,
    forClient: scope.forClient ?? false,
    preconditions: call.preconditions ?? NO_PRECONDITIONS,
    preferences: call.preferences ?? {},
    writeResponse: options?.dryRun ? 'representation' : 'redirect',
    body: value === undefined ? undefined : { value: toJson(value), type: undefined },
    principal: options?.principal ?? scope.principal,
  } satisfies SharedWithProgram & Partial<CallContext>)
  throwIfAborted(request)
  let failure: unknown
  try {
    const { api } = runtime
    const operate = perform
      ? compileOperation(api, target, operation, perform)
      : compiledOperations(api)(collection).get(operation, () =>
          compileOperation(api, target, operation),
        )
    if (options?.dryRun && transaction)
      throw new TypeError(`${collection.name}: a dry run is no part of a transaction`)
    const result = await (options?.dryRun ? tryOut(context, operate) : operate(context))
    return { result, view: context.resultView(collection) }
  } catch (error) {
    failure = error
    noteCallError(error, collection)
    throw error
  } finally {
    await context.discardUploads(failure)
  }
}
