// The types of hooks, and of the contexts that hooks and actions are called with.
import type { BasePrincipal, Principal } from '../../auth/scheme.ts'
import type { Awaitable } from '../../base/values.ts'
import type { Input, Output, SomeSchema } from '../../schema/zod-fields.ts'
import type { Id, Shape } from '../../store/store.ts'
import type {
  AnyCollection,
  AnyNames,
  Def,
  DefMerge,
  DefStored,
  IdOf,
  MadeIds,
  OwnFields,
  UnknownDef,
} from './collection-types.ts'
import type { Callable, CallOptions, Member, Resource } from './resource.ts'

/** The types of a collection without its actions: these are not yet known where its hooks are declared. */
export interface OwnDef<
  S extends SomeSchema = UnknownDef['schema'],
  I extends keyof MadeIds = keyof MadeIds,
  P extends BasePrincipal = Principal,
  Sql = unknown,
  Dates = true,
> extends Def {
  readonly principal: P
  readonly schema: S
  readonly id: I
  readonly sql: Sql
  readonly on: Readonly<Record<never, never>>
  readonly readOnly: never
  readonly writeOnly: never
  readonly immutable: never
  readonly binary: never
  readonly lease: never
  readonly trash: never
  readonly own: OwnFields<I, Dates>
}

/** The types of one collection of an api. */
export type DefOf<Named, N extends keyof Named> = string extends keyof Named
  ? UnknownDef
  : Named[N] extends AnyCollection
    ? Named[N]['def']
    : never

/** The resource of a collection, or of a name. */
export type ResourceOf<Named, T> = T extends AnyCollection
  ? CallableOf<T['def'], Named>
  : T extends keyof Named
    ? CallableOf<DefOf<Named, T>, Named>
    : Resource

/** A collection of unknown type has a looser resource. */
type CallableOf<D extends Def, Named> = string extends D['readOnly'] ? Resource : Callable<D, Named>

/** A collection by its name, or as it was declared. */
export type NamedCollection =
  | string
  | { readonly name: string; readonly shape?: Pick<Shape, 'identity'> | undefined }

/** Finds the resource of a collection in the same api, as the same principal, with the same signal. */
export interface Find<Own extends Def = UnknownDef, Named = AnyNames> {
  /** The collection itself. */
  (): Resource<Own>
  /** By name and schema: for a collection that is declared later and refers back to this one. */
  <S extends SomeSchema>(name: string, schema: S): Resource<OwnDef<S>>
  /**
   * By the collection or its name: that of the same version, otherwise of the newest version that has it.
   * @throws TypeError if no version has it.
   */
  <T extends keyof Named | AnyCollection>(collection: T): ResourceOf<Named, T>
}

/** The query builder of a collection's store: the `Kysely<DB>` of `sqlStore<DB>`. */
type SqlOf<Named, T> = T extends AnyCollection
  ? T['def']['sql']
  : T extends keyof Named
    ? DefOf<Named, T>['sql']
    : unknown

/**
 * Finds the query builder of a collection's database, for statements of your own in the transaction: the Kysely that you
 * gave to `sqlStore`. Each statement waits its turn, and fails alone if you catch its error. No hook, row policy or
 * role applies to it.
 * @throws TypeError without a transaction, and for a store without SQL, such as one in memory.
 */
export interface FindSql<Own extends Def = UnknownDef, Named = AnyNames> {
  /** That of the collection itself. */
  (): Own['sql']
  <T extends keyof Named | AnyCollection>(collection: T): SqlOf<Named, T>
}

/** The argument of the work of a transaction. */
export interface Transaction<Named = AnyNames> {
  /** Finds the resource of a collection: its operations are part of the transaction. */
  collection<T extends keyof Named | AnyCollection>(collection: T): ResourceOf<Named, T>
  /** Finds the query builder of a collection's database, as {@link HookContext.sql} says: its statements are part of the transaction. */
  sql<T extends keyof Named | AnyCollection>(collection: T): SqlOf<Named, T>
  /** The same without row policies (`visible`) and owners, for jobs. */
  asSystem(): Transaction<Named>
}

/** Options of a transaction: the defaults of its calls. */
export interface TransactionOptions<P extends BasePrincipal = Principal>
  extends Omit<CallOptions<P>, 'headers'> {
  /** A collection of the database, for an api with several databases. */
  readonly of?: NamedCollection | undefined
}

/** The same within a hook or an action. */
export interface OwnTransaction<Own extends Def = UnknownDef, Named = AnyNames> {
  /** Finds the resource of a collection: its operations are part of the transaction. */
  readonly collection: Find<Own, Named>
  /** Finds the query builder of a collection's database: its statements are part of the transaction. */
  readonly sql: FindSql<Own, Named>
  /** The same without row policies (`visible`) and owners: for rows that the principal may not see, such as an audit. */
  readonly asSystem: () => OwnTransaction<Own, Named>
}

/** The properties that every context of a hook or action has. */
export interface HookContext<Own extends Def = UnknownDef, Named = AnyNames> {
  readonly principal: Own['principal'] | undefined
  /** Whether the call is one of `asSystem()`: its own calls skip row policies and owners, too. */
  readonly system: boolean
  /** Aborted when the client has gone or its time is over; of an `after` hook of what is done never. */
  readonly signal: AbortSignal
  /** A place for what the hooks of one operation, or an action and its hooks, tell each other: empty at first. */
  readonly state: Record<string, unknown>
  /** The resources of the same api, as this principal. */
  readonly collection: Find<Own, Named>
  /**
   * In a transaction: finds the query builder of a collection's database, the Kysely of its `sqlStore`. Each statement waits
   * its turn, and fails alone if you catch its error. No hook, row policy or role applies to it.
   * @throws TypeError without a transaction, and for a store without SQL, such as one in memory.
   */
  readonly sql: FindSql<Own, Named>
  /**
   * Runs work as one transaction: all of its changes happen, or none. The work may run more than once and must
   * have no effect outside `tx`. Within a transaction it becomes a part of that, and undoes it if it fails, even if
   * the error is caught.
   * @throws TypeError where the store of the collection has no transactions.
   */
  readonly transaction: <R>(work: (tx: OwnTransaction<Own, Named>) => Promise<R>) => Promise<R>
}

interface Changed<D extends Def, N> extends HookContext<D, N> {
  readonly id: IdOf<D>
}
interface OnItem<D extends Def, N> extends Changed<D, N> {
  /** The item as it is before the operation, frozen. */
  readonly item: DefStored<D>
}
interface OnValue<D extends Def, In> {
  /** The new item, checked by the schema. A `before` hook may change it in place. */
  readonly value: Output<D['schema']>
  /** The input before the schema saw it; of a patch the merge patch, of a JSON Patch the properties it changes. */
  readonly input: In
}
interface Creating<D extends Def, N> extends HookContext<D, N>, OnValue<D, Input<D['schema']>> {}
interface Replacing<D extends Def, N> extends OnItem<D, N>, OnValue<D, Input<D['schema']>> {}
interface Patching<D extends Def, N>
  extends OnItem<D, N>,
    OnValue<D, DefMerge<Input<D['schema']>>> {}

/** The result of a `before` hook: a value that replaces the given one, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement gives void
type Instead<D extends Def> = Awaitable<Output<D['schema']> | undefined | void>

/** Functions before operations. An error that one throws is answered. */
export interface Before<D extends Def = UnknownDef, N = AnyNames> {
  /** Before lists, searches and streams. */
  list?(event: HookContext<D, N>): Awaitable<void>
  count?(event: HookContext<D, N>): Awaitable<void>
  /** Before reads and downloads. */
  read?(event: OnItem<D, N>): Awaitable<void>
  create?(event: Creating<D, N>): Instead<D>
  /** A PUT that creates an item runs `create` instead. */
  replace?(event: Replacing<D, N>): Instead<D>
  patch?(event: Patching<D, N>): Instead<D>
  delete?(event: OnItem<D, N>): Awaitable<void>
  /** Before an item is taken out of the trash. */
  restore?(event: OnItem<D, N>): Awaitable<void>
}

/**
 * Functions after successful operations; `result` is the item after the operation, frozen. The event is that of
 * `before`: `value` is what was stored, frozen.
 */
export interface After<D extends Def = UnknownDef, N = AnyNames> {
  create?(event: Creating<D, N>, result: DefStored<D>): Awaitable<void>
  /** A PUT that creates an item runs `create` instead. */
  replace?(event: Replacing<D, N>, result: DefStored<D>): Awaitable<void>
  patch?(event: Patching<D, N>, result: DefStored<D>): Awaitable<void>
  delete?(event: OnItem<D, N>, result: DefStored<D>): Awaitable<void>
  restore?(event: OnItem<D, N>, result: DefStored<D>): Awaitable<void>
}

/** The context of a hook for every operation. */
export interface OperationEvent<P extends BasePrincipal = Principal>
  extends HookContext<UnknownDef<P>> {
  /** The name of the collection. */
  readonly collectionName: string
  /** The name of the operation or action. */
  readonly operation: string
  /** Set where the write is only tried: it is undone at its end, and no `after` hook follows. */
  readonly dryRun?: true
  readonly id?: Id
  /** The item as it is before the operation, frozen. */
  readonly item?: DefStored<UnknownDef>
  /** The input before the schema saw it; for a patch the patch alone. */
  readonly input?: unknown
  /** The new item, or the input of an action, checked. A `before` hook may change it in place. */
  readonly value?: unknown
}

/** One function for every operation and action, functions by operation, or both: then the first runs first. */
type HooksBy<Table, Every> = Table | Every | readonly [Every, Table] | undefined

/**
 * Functions around the operations of one collection. Each is awaited. An error of `before` or `error` is answered,
 * an `HttpError` as it is.
 */
export interface Hooks<D extends Def = UnknownDef, N = AnyNames> {
  /**
   * Runs before the store changes or lists anything: by operation, or one function for every operation and
   * action. A returned object replaces `value`: dates become texts, and changed properties are checked by the
   * schema (400). The input of an action is not checked again.
   */
  readonly before?: HooksBy<Before<D, N>, (event: OperationEvent<D['principal']>) => unknown>
  /**
   * Runs after success; `result` is the item, the items, the count or the result of the action, frozen. It runs once
   * the change is committed: in a transaction after that, and not where it is undone. An error that it throws goes to
   * `onError`, and the client has its answer. It runs once for each `Idempotency-Key`.
   */
  readonly after?: HooksBy<
    After<D, N>,
    (event: OperationEvent<D['principal']>, result: unknown) => unknown
  >
  /** Runs after every failure, also after a 4xx. */
  readonly error?: ((event: OperationEvent<D['principal']>, error: unknown) => unknown) | undefined
  /**
   * Whether `before`, the change and `after` are one transaction: all of it happens, or none. An error of `after` is
   * answered then. The database may ask for another run, so hooks may run several times, for `workTime` at most; what
   * they do elsewhere is not undone. Reads and GET actions run without. Default false.
   * @throws TypeError where the store has no transactions.
   */
  readonly transaction?: boolean | undefined
}

type CheckedInput<In> = In extends SomeSchema ? Output<In> : undefined

/** The result of `run`, by the action's `output`. */
export type ActionResult<D extends Def, Out> = Out extends 'item'
  ? DefStored<D>
  : Out extends SomeSchema
    ? Output<Out>
    : unknown

/** What an action adds to its answer. */
export interface ActionResponse {
  readonly headers: {
    /**
     * Adds a cookie (RFC 6265 §4.1): `headers.append('Set-Cookie', '__Host-session=…; Secure; HttpOnly; Path=/')`. No
     * cache keeps the answer then. An answer that is repeated for an `Idempotency-Key` has none, nor has a call in
     * process.
     * @throws TypeError for another header, for an invalid value, and in an action without `cookies: true`.
     */
    readonly append: (name: 'Set-Cookie', value: string) => void
  }
}

/** The context of an action's `run`; an action on an item has the item too. */
export type RunContext<D extends Def, On, In, N = AnyNames> = On extends 'item'
  ? OnItem<D, N> & {
      readonly input: CheckedInput<In>
      readonly response: ActionResponse
      /**
       * Applies a merge patch to the item, if it has not changed since it was read.
       * @throws ConflictError where it was changed meanwhile.
       */
      readonly update: (changes: DefMerge<Input<D['schema']>>) => Promise<DefStored<D>>
    }
  : HookContext<D, N> & { readonly input: CheckedInput<In>; readonly response: ActionResponse }

/** The functions that `defineApi({ actions })` declares for one collection. */
export type RunOf<D extends Def, N> = {
  readonly [K in keyof D['on']]?: (
    context: RunContext<D, D['on'][K], Member<D['input'], K>, N>,
  ) => Awaitable<ActionResult<D, Member<D['output'], K>>>
}
