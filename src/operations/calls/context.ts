// One request, or one call in process: what operations read of both, and what is HTTP's alone.
import { findAccessRules, satisfies } from '../../auth/access.ts'
import type { Authenticated, Principal } from '../../auth/scheme.ts'
import type { Awaitable, Item } from '../../base/values.ts'
import type { Format, LiveRepresentation, Representation } from '../../formats/format.ts'
import { NO_PRECONDITIONS, type Preconditions, type Validators } from '../../http/conditional.ts'
import type { HeaderList, HttpResponse, ReceivedRequest } from '../../http/message.ts'
import type { Parameter } from '../../http/parameters.ts'
import type { Preferences } from '../../http/prefer.ts'
import type { Workload } from '../../http/timeouts.ts'
import { findView } from '../../model/compile/compile-views.ts'
import {
  type CollectionTarget,
  type Match,
  printPath,
  type Router,
  type RouteTarget,
} from '../../model/compile/routes.ts'
import type { RunningHooks } from '../../model/types/compiled-hooks.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../../model/types/definition.ts'
import type {
  NamedCollection,
  OwnTransaction,
  TransactionOptions,
} from '../../model/types/hooks.ts'
import type { CallOptions, Resource } from '../../model/types/resource.ts'
import { type Negotiated, variantOf } from '../../negotiate.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { ListOptions, Stored, StoreOptions } from '../../store/store.ts'
import type { DecodedBody } from './decoded-body.ts'
import { type RunningTransaction, requireOutside } from './running-transaction.ts'
import { createUploads, type Uploads } from './uploads.ts'

/** An api ready to answer. */
export interface Runtime {
  readonly api: ApiDefinition
  readonly router: Router
  readonly workload: Workload
  /** Called when the api closes: streams end then. */
  readonly onClose: Set<() => void>
  /** What prints pages, where the api has them. */
  readonly pages: Pages | undefined
  /** Creates the resource of a collection. It is here since hooks and actions need it, and it needs them. */
  readonly createResource: (scope: CallScope, collection: NamedCollection) => Resource
  /** Runs work in a transaction. It is here for the same reason. */
  readonly runTransaction: <R>(
    outer: CallScope,
    work: (tx: OwnTransaction) => Promise<R>,
    options?: TransactionOptions,
  ) => Promise<R>
}

/** What calls share. Its options are in force where a call gives none. */
export interface CallScope extends CallOptions {
  readonly runtime: Runtime
  /** Where their collections are looked for first. */
  readonly version: VersionDefinition
  /** The public address of the api, or its path. */
  readonly base: string
  /** The transaction that the calls are part of. */
  readonly transaction?: RunningTransaction | undefined
  /** The request whose hook or action calls: it ends with the time of its transaction. */
  readonly request?: Pick<ReceivedRequest, 'abort' | 'signal' | 'aborted'> | undefined
  /** Whether the calls skip row policies and owners: those of `asSystem()`. */
  readonly system?: boolean | undefined
  /** Whether what the calls give may reach a client: those of an action, and of the hooks of a request. */
  readonly forClient?: boolean | undefined
  /** The collection whose hook or action calls. */
  readonly own?: CollectionDefinition | undefined
}

/** The result of an operation, before any format prints it. */
export interface OperationResult {
  readonly status: number
  readonly headers: HeaderList
  readonly representation?: Representation | LiveRepresentation | undefined
  /** The validators of the representation, for `ETag`, `Last-Modified` and the conditions of a read. */
  readonly validators?: Validators | undefined
  /** The request headers that the answer depends on besides `Accept`. */
  readonly vary?: readonly string[]
  /** The item that hooks and programs get, with its version. */
  readonly stored?: Stored | undefined
  /** Whether no cache may keep it: it sets a cookie, or its form has a key. A stream may not be held back by a compressor either. */
  readonly isPrivate?: true | 'stream' | undefined
  /** The value for hooks and programs where there is no item: of a list, a count, an action. */
  readonly value?: unknown
}

/** Does the work of an operation. It throws `HttpError`s, and what the store, hooks and actions throw. */
export type Perform = (context: OperationContext) => Awaitable<OperationResult>

/** How a change is answered: with the item, with a status alone, or with a redirect (303). */
export type WriteResponse = 'representation' | 'minimal' | 'redirect'

const NO_PARAMETERS: readonly Parameter[] = []
const NO_PREFERENCES: Preferences = {}

/** What operations read of a request, or of a call in process. What is HTTP's alone is in {@link RequestContext}. */
export class CallContext implements ListOptions {
  readonly runtime: Runtime
  readonly api: ApiDefinition
  readonly request: ReceivedRequest
  /** Whether a program calls: scopes are not checked, preconditions cannot be required. */
  readonly inProcess: boolean
  /** Whether row policies and owners do not count. Only a program can say so. */
  system = false
  /** Whether its result may reach a client. */
  forClient: boolean
  target: RouteTarget | undefined
  /** The effective method. */
  method: string
  /** The name of the operation or action, once it is known. */
  operation = ''
  parameters = NO_PARAMETERS
  /** The raw query: the key of a remembered list request; `undefined` where the parameters are not just it. */
  queryKey: string | undefined
  /** Whether the answer's status may only be 200 or 500. */
  suppressed = false
  extension: string | undefined
  /** The public address of the api. */
  base: string
  preconditions: Preconditions = NO_PRECONDITIONS
  preferences = NO_PREFERENCES
  writeResponse: WriteResponse = 'redirect'
  /** The `Range` header; the operation decides whether it applies. */
  range: string | undefined
  idempotencyKey: string | undefined
  authenticated: Authenticated | undefined
  principal: Principal | undefined
  negotiated: Negotiated | undefined
  body: DecodedBody | undefined
  /** The transaction that the call is part of. */
  transaction: RunningTransaction | undefined
  /** Lets creates of a batch, which run at the same time, come to their store in order. */
  storeTurn: { run<R>(store: () => Awaitable<R>): Promise<R> } | undefined
  #uploads: Uploads | undefined
  #runningHooks: RunningHooks | undefined

  constructor(runtime: Runtime, request: ReceivedRequest, base: string, inProcess: boolean) {
    this.runtime = runtime
    this.api = runtime.api
    this.request = request
    this.inProcess = inProcess
    this.forClient = !inProcess
    this.method = request.method
    this.base = base
  }

  /** The contents that it uploads; `undefined` where its collection takes none. */
  get uploads(): Uploads | undefined {
    this.#uploads ??= createUploads(this)
    return this.#uploads
  }

  /** Continues with the uploads of a call whose work this one does. */
  shareUploads({ uploads }: Readonly<CallContext>): void {
    this.#uploads = uploads
  }

  /** What its hooks get, and share; `undefined` before they run. A call that it makes has its own. */
  get runningHooks(): RunningHooks | undefined {
    return this.#runningHooks
  }

  beginHooks(hooks: RunningHooks): void {
    this.#runningHooks = hooks
  }

  /** Does the work of the call as a part of a transaction. */
  async within<R>(transaction: RunningTransaction, work: () => Awaitable<R>): Promise<R> {
    this.transaction = transaction
    try {
      return await transaction.run(work)
    } finally {
      this.transaction = undefined
    }
  }

  /** Removes the uploads that no written item holds: now, or at the end of the transaction. */
  discardUploads(error?: unknown): Awaitable<void> {
    return this.#uploads?.discard(this.transaction, error)
  }

  /** Tells the entity tags of this format, and of these properties, from those of others. */
  get variant(): string {
    const format = this.negotiated ? variantOf(this.negotiated) : ''
    const collection = this.target?.collection
    const lacksContents = collection?.blobs && !this.can(collection, 'download')
    const tag = (collection?.view?.tag ?? '') + (lacksContents ? '-' : '')
    return tag ? `${tag}.${format}` : format
  }

  /** Whether the format prints lists whole, as a stream. */
  get streams(): boolean {
    return this.negotiated?.format.streams === true
  }

  /** The options of a call of a store: no copy, which would create the signal. */
  get storeOptions(): StoreOptions {
    return this.request
  }

  /** The options of a list or a count in a store. */
  get listOptions(): ListOptions {
    return this
  }

  get signal(): AbortSignal {
    return this.request.signal
  }

  get aborted(): boolean | undefined {
    return this.request.aborted
  }

  get textBudget(): StoreOptions['textBudget'] {
    return this.request.textBudget
  }

  /** The maximum bytes of a page. Programs get whole lists. */
  get maxBytes(): number | undefined {
    return this.inProcess ? undefined : this.api.limits.page
  }

  /** A little less than the time for work, so that the store can report first that it was too short. */
  get maxTime(): number | undefined {
    return this.inProcess ? undefined : this.api.limits.workTime * 0.9
  }

  /** The largest total that its list states; `undefined` if the client asks for it, or a program, or one of a dialect. */
  get exactUpTo(): number | undefined {
    const { target, preferences, operation, inProcess, api } = this
    if (!target || target.kind === 'root' || operation === 'count') return undefined
    const isExact = inProcess || preferences.count !== undefined || api.dialects.length > 0
    return isExact ? undefined : target.collection.exactUpTo
  }

  /** The absolute address of a target. */
  href(target: RouteTarget): string {
    return this.base + printPath(target, this.api.formats)
  }

  /** The same with the extension of the requested address, so that the client goes on in one format. */
  hrefAsRequested(target: RouteTarget): string {
    const href = this.href(target)
    return this.extension === undefined ? href : `${href}.${this.extension}`
  }

  /** The store of a collection, for this call or a transaction within it. @throws TypeError outside of one that runs here. */
  storeOf(collection: CollectionDefinition, transaction = this.transaction): KeyedStore {
    if (transaction) return collection.bind(transaction.storeOf(collection))
    requireOutside(collection.store, collection.name)
    return collection.items
  }

  /** Whether the client may do something to a collection, or to the root. A program may do everything. */
  can(collection: CollectionDefinition | undefined, operation: string): boolean {
    const { api, inProcess, principal } = this
    if (inProcess || api.schemes.length === 0) return true
    return findAccessRules(api, collection, operation).every(rule => satisfies(rule, principal))
  }

  /** Returns a collection as the client sees it, with the properties that it may read and write. A program sees all. */
  view(collection: CollectionDefinition): CollectionDefinition {
    return this.inProcess ? collection : this.resultView(collection)
  }

  /** Returns a target in the collection as the client sees it. */
  viewTarget(target: CollectionTarget): CollectionTarget {
    const collection = this.view(target.collection)
    return collection === target.collection ? target : { ...target, collection }
  }

  /** Returns a collection as it is to be in the result: for a program that acts for a principal as the client sees it. */
  resultView(collection: CollectionDefinition): CollectionDefinition {
    const { api, principal, forClient, system } = this
    if (collection.view || system || !(forClient || principal) || api.schemes.length === 0)
      return collection
    return findView(collection, principal)
  }

  /** Forgets the target: the answer is the same as where nothing exists. */
  forgetTarget(): void {
    this.target = undefined
  }
}

/** The context of an operation on a collection: nothing of it changes while the operation runs. */
export type OperationContext = Readonly<CallContext> & { readonly target: CollectionTarget }

/**
 * One step of a request: it reads and fills the context, and gives a promise only where it waits. Where it returns
 * steps, the request goes on with those in place of the rest.
 */
export interface Step {
  (context: RequestContext): Awaitable<readonly Step[] | undefined> | Awaitable<void>
  /** The statuses that it may end in. */
  readonly statuses?: readonly number[]
}

/** The context of a request, from its arrival to its answer. */
export class RequestContext extends CallContext {
  started = 0
  response: HttpResponse | undefined
  match: Match | undefined
  /** The collection's name and the route's pattern, for events: known even where the target is hidden. */
  collectionName: string | undefined
  route: string | undefined
  /** The version whose deprecation the answer states. */
  version: VersionDefinition | undefined
  /** The methods that the head, and then a form, names besides its own. */
  overrides: readonly string[] = []
  /** The headers that state the rate limits. */
  limitHeaders: HeaderList | undefined
  /** Whether the request was counted for rate limits. */
  counted = false
  /** What a form held, as it was sent, so that a page can show it again. */
  submitted: readonly (readonly [name: string, part: unknown])[] | undefined
  /** Resolves when the operation has ended, which may be after its time, to its error; then it is `undefined`. */
  runningOperation: Promise<unknown> | undefined
  result: OperationResult | undefined
  timings: string[] | undefined

  /** Notes an operation that runs, until it has ended. */
  noteOperation(operation: Promise<unknown>): void {
    const end = (error?: unknown) => {
      this.runningOperation = undefined
      return error
    }
    this.runningOperation = operation.then(() => end(), end)
  }

  override forgetTarget(): void {
    this.match = undefined
    this.version = undefined
    super.forgetTarget()
  }
}

/** The context of a request for a collection. */
export type CollectionContext = RequestContext & { readonly target: CollectionTarget }

/** The steps of a route that is not the root have a collection as target: routes are compiled so. */
export function toCollectionContext(context: RequestContext): CollectionContext {
  return context as CollectionContext
}

/** Prints every resource, and the documentation of the api, for browsers: `html` of `rest-conventions/html`. */
export interface Pages {
  /** What is negotiated: its name, extensions and media types, with `page: true`. */
  readonly format: Format
  /** Header fields of the page of a live list, in place of those of the format. */
  readonly liveHeaders?: HeaderList
  /**
   * Prints a representation as a page. The `ETag` covers its text, and there is no `Last-Modified`. Empty query
   * parameters are ignored, since a browser sends every field of a form.
   */
  print(representation: Representation, page: PageRequest): Awaitable<string>
  /** Prints the documentation at `/docs`. */
  readonly docs: DocsPrinter
}

/** The request that a page answers: `buildPageView()` of `rest-conventions/html` finds what a page shows. */
export interface PageRequest {
  /** The headers of the response: `Link`, `Content-Range`, and as `ETag` the tag of the item or the list. */
  readonly headers: HeaderList
  readonly context: RequestContext
}

/** Prints documentation as HTML. */
export interface DocsPrinter {
  /** The style sheet that pages link to: `style.css` below their path. */
  readonly style: string
  /** Header fields of every page. */
  readonly headers: HeaderList
  /**
   * @param document in OpenAPI 3.1.
   * @param root the path of the described version below the api: `/v1`, or empty.
   * @throws HttpError
   */
  print(document: Item, root: string, context: RequestContext): string
  /** Prints the answer to a request that a form has sent to `try`, with the path in `_path`. Default: nothing is there. */
  printAnswer?(answer: TriedAnswer, root: string, context: RequestContext): string
}

/** The answer to a request that was tried on a page of the documentation. */
export interface TriedAnswer extends Omit<HttpResponse, 'body'> {
  /** The request that was tried. Where it was refused early, only the start of it was read. */
  readonly tried: RequestContext
  /** A body of text, up to 64 KiB of it; absent of any other. */
  readonly text: string | undefined
  readonly isCut: boolean
}
