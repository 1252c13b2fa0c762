// One request, or one call in process, from its arrival to its answer. Steps read and fill it.
import type { Authenticated, Principal } from '../auth/scheme.ts'
import type { Issue } from '../errors.ts'
import type { Representation, Upload } from '../formats/format.ts'
import { NO_PRECONDITIONS, type Preconditions, type Validators } from '../http/conditional.ts'
import type { HeaderList, HttpRequest, HttpResponse } from '../http/message.ts'
import type { Parameter } from '../http/parameters.ts'
import type { Preferences } from '../http/prefer.ts'
import type { Workload } from '../http/timeouts.ts'
import type { ApiDefinition, CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import type { Transaction, TransactionOptions } from '../model/hooks.ts'
import type { CallOptions, Resource } from '../model/resource.ts'
import {
  type CollectionTarget,
  type Match,
  printPath,
  type Router,
  type Target,
} from '../model/routes.ts'
import { type Negotiated, variantOf } from '../negotiate.ts'
import type { BlobRecord } from '../schema/blob.ts'
import type { Awaitable, Item, Json } from '../schema/values.ts'
import type { Stored } from '../store/store.ts'
import { can } from './authorize.ts'

/** An api ready to answer. */
export interface Runtime {
  readonly api: ApiDefinition
  readonly router: Router
  readonly workload: Workload
  /** Creates the resource of a collection; given here, since hooks and actions need it and it needs them. */
  readonly createResource: (scope: CallScope, name: string) => Resource
  /** Runs work in a transaction; given here for the same reason. */
  readonly transaction: <R>(
    scope: CallScope,
    work: (tx: Transaction) => Promise<R>,
    options?: TransactionOptions,
  ) => Promise<R>
}

/** A transaction that runs, as its operations see it. */
export interface RunningTransaction {
  /** Aborted when it is to end. */
  readonly signal: AbortSignal
  /** The store of a collection within the transaction; of one in another database the plain one. */
  storeOf(collection: CollectionDefinition): CollectionDefinition['store']
  /** @throws TypeError for a collection in another database. */
  requireMember(collection: CollectionDefinition): void
  /** Does this once the transaction has happened, not where it is undone. */
  afterCommit(work: () => Awaitable<void>): void
  /** Keeps the uploads that an item holds, if the transaction happens. */
  keep(uploads: Uploads, item: Item): void
  /** Removes the uploads that nothing holds, at the end. */
  discard(uploads: Uploads): void
}

/** What calls of one version share. */
export interface CallScope {
  readonly runtime: Runtime
  readonly version: VersionDefinition
  /** The public address of the api, or its path. */
  readonly base: string
  /** Options in force where a call gives none. */
  readonly defaults?: CallOptions
  /** The transaction that the calls are part of. */
  readonly transaction?: RunningTransaction | undefined
  /** The collection whose hook or action calls. */
  readonly own?: CollectionDefinition
}

/** The body of a request, decoded. */
export interface DecodedBody {
  readonly value: Json
  /** Its media type without parameters; absent where the client did not name one. */
  readonly type: string | undefined
  /** What was wrong with single values before the schema saw them: see {@link ReadContext.issues}. */
  readonly issues?: readonly Issue[]
  /** Whether it was a form. */
  readonly form?: boolean | undefined
}

/**
 * The contents that one request has uploaded so far. What no written item holds when the request ends is
 * removed again.
 */
export interface Uploads {
  /**
   * Stores a content for the property at a dotted path.
   * @throws HttpError 400 where the property takes no file or not this type, 413 over the limit.
   */
  put(field: string, file: Upload): Promise<Json>
  /** Finds the record of a content that this request has uploaded. */
  find(key: string): BlobRecord | undefined
  /** The SHA-256 of such a content: the same bytes sent again have another key. */
  digest(key: string): string | undefined
  /** Marks the contents that an item holds now. */
  keep(item: Item): void
  /** Removes what no item holds. */
  discard(): Promise<void>
}

/** What an operation answers, before any format prints it. */
export interface OperationResult {
  readonly status: number
  readonly headers: HeaderList
  readonly representation?: Representation | undefined
  /** Of what is represented, for `ETag`, `Last-Modified` and the conditions of a read. */
  readonly validators?: Validators | undefined
  /** The request headers that the answer depends on besides `Accept`. */
  readonly vary?: readonly string[]
  /** What hooks get, and programs that call an action or count. */
  readonly value: unknown
  /** The item that programs get, with its version. */
  readonly stored?: Stored | undefined
  /** Whether an earlier request with the same `Idempotency-Key` did the work: hooks ran then. */
  readonly replayed?: true
}

/** One step of a request: it reads and fills the context, and gives a promise only where it waits. */
export type Step = (context: RequestContext) => Awaitable<void>

const NO_PARAMETERS: readonly Parameter[] = []
const NO_PREFERENCES: Preferences = {}

export class RequestContext {
  readonly runtime: Runtime
  readonly api: ApiDefinition
  readonly request: HttpRequest
  /** Whether a program calls: scopes are not checked, preconditions cannot be required. */
  readonly inProcess: boolean
  /** The client's id of the request, or one made when it is first needed. */
  requestId: string | undefined
  started = 0
  /** The steps still to come; a form's `_method` exchanges them. */
  steps: readonly Step[] = []
  position = 0
  response: HttpResponse | undefined

  match: Match | undefined
  target: Target | undefined
  /** The collection's name and the path's pattern, for events: known even where the target is hidden. */
  collectionName: string | undefined
  route: string | undefined
  /** The version whose deprecation the answer states. */
  version: VersionDefinition | undefined
  extension: string | undefined
  /** The effective method. */
  method: string
  /** The name of the operation or action, once it is known. */
  operation = ''
  /** The raw query. */
  query = ''
  parameters = NO_PARAMETERS
  /** The raw query, where the parameters are exactly what it says. */
  plainQuery: string | undefined
  /** The methods that the head names besides its own. */
  overrides: readonly string[] = []
  /** Whether the answer's status may only be 200 or 500. */
  suppressed = false
  /** The public address of the api. */
  base: string
  preconditions: Preconditions = NO_PRECONDITIONS
  preferences = NO_PREFERENCES
  /** What a change is answered with; `undefined` is a redirect. Not always what is preferred. */
  returns: Preferences['return']
  /** The `Range` header, where it counts. */
  range: string | undefined
  idempotencyKey: string | undefined
  /** The same as its store knows it, once it is claimed: the write of the request completes it. */
  claimedKey: string | undefined

  authenticated: Authenticated | undefined
  principal: Principal | undefined
  /** The headers that state the rate limits. */
  limitHeaders: HeaderList | undefined
  /** Whether the request was counted for rate limits. */
  counted = false
  negotiated: Negotiated | undefined
  body: DecodedBody | undefined
  /** What a form held, as it was sent, so that a page can show it again. */
  submitted: readonly (readonly [name: string, part: unknown])[] | undefined
  uploads: Uploads | undefined
  /** The transaction that the operation is part of. */
  transaction: RunningTransaction | undefined
  /** Whether the operation runs: from then on it removes the uploads that no item holds, even after its time. */
  performing = false
  result: OperationResult | undefined
  timings: string[] | undefined

  constructor(runtime: Runtime, request: HttpRequest, base: string, inProcess: boolean) {
    this.runtime = runtime
    this.api = runtime.api
    this.request = request
    this.inProcess = inProcess
    this.method = request.method
    this.base = base
  }

  /** Tells this format's entity tags from those of others. */
  get variant(): string {
    return this.negotiated ? variantOf(this.negotiated) : ''
  }

  /** Whether the format prints lists whole, as a stream. */
  get streams(): boolean {
    return this.negotiated?.format.streams === true
  }

  /** The absolute address of a target. */
  href(target: Target): string {
    return this.base + printPath(target, this.api.formats)
  }

  /** The same with the extension of the requested address, for what continues there in one format. */
  hrefAsRequested(target: Target): string {
    const href = this.href(target)
    return this.extension === undefined ? href : `${href}.${this.extension}`
  }

  /** The store of a collection, for this request. */
  storeOf(collection: CollectionDefinition): CollectionDefinition['store'] {
    return this.transaction ? this.transaction.storeOf(collection) : collection.store
  }

  /** Marks the uploads that a written item holds. */
  keepUploads(item: Item): void {
    if (this.uploads && this.transaction) this.transaction.keep(this.uploads, item)
    else this.uploads?.keep(item)
  }

  /** Whether the client may do something to a collection. A program may do everything. */
  can(collection: CollectionDefinition, operation: string): boolean {
    return this.inProcess || can(this.api, collection, operation, this.principal)
  }
}

/** The context of an operation on a collection. */
export type OperationContext = RequestContext & { readonly target: CollectionTarget }

/** The same request with another target. */
export function withTarget(context: OperationContext, target: CollectionTarget): OperationContext {
  const prototype: RequestContext = RequestContext.prototype
  return Object.assign(Object.create(prototype), context, { target })
}
