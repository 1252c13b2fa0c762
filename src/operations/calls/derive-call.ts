// How a call makes another. A new member of a context is listed here as a call's own, or goes on to those it makes:
// else this file does not compile.
import type { TextBudget } from '../../base/text-budget.ts'
import type { ReceivedRequest, RequestBody, RequestHeaders } from '../../http/message.ts'
import { createHeaders } from '../../http/request-headers.ts'
import type { CollectionTarget } from '../../model/compile/routes.ts'
import type { ListOptions } from '../../store/store.ts'
import { CallContext, type CallScope, type OperationContext, RequestContext } from './context.ts'
import type { RunningTransaction } from './running-transaction.ts'

/** What each call has for itself: another begins without. */
type OwnMember = keyof Pick<
  CallContext,
  | 'target'
  | 'method'
  | 'operation'
  | 'parameters'
  | 'queryKey'
  | 'suppressed'
  | 'extension'
  | 'preconditions'
  | 'preferences'
  | 'writeResponse'
  | 'range'
  | 'idempotencyKey'
  | 'negotiated'
  | 'body'
  | 'uploads'
  | 'storeTurn'
>

/** What a context computes of the rest. */
type ComputedMember =
  | keyof ListOptions
  | keyof Pick<
      CallContext,
      'api' | 'runningHooks' | 'variant' | 'streams' | 'storeOptions' | 'listOptions'
    >
  | {
      [Name in keyof CallContext]: CallContext[Name] extends AnyMethod ? Name : never
    }[keyof CallContext]

type AnyMethod = (...given: never) => unknown

/** What goes on to another call for the same client, besides what its constructor is given. */
type InheritedMembers = Required<
  Omit<CallContext, OwnMember | ComputedMember | 'runtime' | 'request' | 'base' | 'inProcess'>
>

/** What goes on from a call to those of its hooks and actions: they are a program's, which sends no credentials. */
export type SharedWithProgram = Omit<InheritedMembers, 'authenticated'>

function inherit(call: Readonly<CallContext>): InheritedMembers {
  const { authenticated, principal, system, forClient, transaction } = call
  return { authenticated, principal, system, forClient, transaction }
}

/** Creates the call of another operation for the same client. */
export function deriveCall(
  call: OperationContext,
  target: CollectionTarget,
  operation: string,
): OperationContext {
  const { runtime, request, base, inProcess } = call
  const derived = new CallContext(runtime, request, base, inProcess)
  return Object.assign(derived, inherit(call), { target, operation })
}

/** Creates another request of the same client, which was admitted with the outer one. */
export function deriveRequest<Known extends Partial<RequestContext>>(
  outer: RequestContext,
  request: ReceivedRequest,
  known: Known,
): RequestContext & Known {
  const { runtime, base, inProcess } = outer
  const derived = new RequestContext(runtime, request, base, inProcess)
  return Object.assign(derived, inherit(outer), known)
}

/** Creates the call of one item, or of a part, of a call: with all that it has, but uploads of its own. */
export function copyCall(
  call: OperationContext,
  changes?: Partial<Pick<OperationContext, 'transaction' | 'operation' | 'target'>>,
): OperationContext {
  const { runtime, request, base, inProcess } = call
  return Object.assign(new CallContext(runtime, request, base, inProcess), call, changes)
}

/** Creates the scope of the calls of a hook or an action, without what ends them. */
export function createScope(
  call: OperationContext,
  transaction: RunningTransaction | undefined,
): CallScope {
  const { runtime, target, base, principal, system, forClient } = call
  const { version, collection: own } = target
  const shared: SharedWithProgram = { transaction, principal, system, forClient }
  return { runtime, version, base, own, ...shared }
}

interface InnerOptions {
  readonly method: string
  readonly target: string
  /** Default none. */
  readonly prefix?: string
  /** Values that are `undefined` are not there. */
  readonly headers: RequestHeaders
  readonly body?: RequestBody | undefined
}

/** A request that another one makes in this process: it has the connection of that one, and ends with it. */
export class InnerRequest implements ReceivedRequest {
  readonly target: string
  readonly prefix: string
  readonly headers: RequestHeaders
  readonly headerCount = 0
  readonly body: RequestBody | undefined
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly needsHost: boolean
  readonly method: string
  readonly textBudget: TextBudget
  readonly #outer: ReceivedRequest

  constructor(
    outer: ReceivedRequest,
    { method, target, prefix = '', headers, body }: InnerOptions,
  ) {
    this.#outer = outer
    this.textBudget = outer.textBudget
    this.method = method
    this.target = target
    this.prefix = prefix
    this.headers = Object.assign(createHeaders(), headers)
    this.body = body
    this.address = outer.address
    this.secure = outer.secure
    this.needsHost = outer.needsHost
  }

  get id(): string {
    return this.#outer.id
  }

  get knownId(): string | undefined {
    return this.#outer.knownId
  }

  get signal(): AbortSignal {
    return this.#outer.signal
  }

  get aborted(): boolean {
    return this.#outer.aborted
  }

  abort(reason: Error): void {
    this.#outer.abort(reason)
  }
}
