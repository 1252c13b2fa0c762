// One attempt of a write, with fields that its steps fill in; and lists of steps, built at definition and run for each
// write. The types know which fields are filled in by then: a step that needs another one does not compile.

import type { Awaitable, Item, Json } from '../../base/values.ts'
import type { BlobContent } from '../../blobs/content-places.ts'
import type { AnyIssue } from '../../errors.ts'
import type { Parent } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { ValueFilter } from '../../store/filter.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'

/** An item that is deleted: what its store needs, and its contents. */
export interface Doomed extends Pick<Stored, 'id' | 'version'> {
  readonly collection: CollectionDefinition
  readonly contents: readonly BlobContent[]
  /** To items of one wave refers nothing but those of the waves before. */
  readonly wave: number
  /** The place of the item with which it is deleted, among those that a call deletes. */
  readonly root: number
  /** The id of the deletion: the version of the item that the client deletes, because it is unique. */
  readonly deletion: string
}

/** An issue of the item at a place. */
export interface ItemIssue {
  readonly at: number
  readonly issue: AnyIssue
}

/** The items of a call that writes several: those of an array, or those that match a filter. */
export interface Many {
  /** Their writes, once the plan has come to them. Each attempt has new ones. */
  items: readonly WriteState[]
  /** Finds the items, or makes them of what was sent. */
  find(write: WriteState): Awaitable<readonly WriteState[]>
  /** Says in the issues of which items they are. */
  locate(issues: readonly ItemIssue[]): readonly AnyIssue[]
  /** Makes what is kept under the idempotency key. */
  toAnswer(stored: readonly Stored[]): Json[]
  buildResult(stored: readonly Stored[]): Awaitable<OperationResult>
  /** Builds the result from the answer that was kept. */
  replay(answer: Json): Awaitable<OperationResult>
  /** Whether other items exist by now than those that it has found. */
  isOutdated?(call: OperationContext): Awaitable<boolean>
  /** What the request says besides its body. */
  readonly texts?: readonly string[]
}

/** What steps fill in, in the order in which a write comes to it. */
export interface WriteFields {
  /** What the client sent; of `update()` the changes of the action. */
  body: Json
  /** The item that is changed or deleted. */
  current: Stored
  /** Its properties that the schema knows. */
  own: Item
  /** It as clients read it: what a patch is applied to. */
  printed: Item
  /** The item to be, not yet checked. */
  candidate: Item
  /** The same as the schema gave it. */
  checked: Item
  /** The same after the `before` hook: what is stored. */
  values: Item
  /** The items that a deletion deletes. */
  doomed: readonly Doomed[]
  /** The item as it was stored, or deleted. */
  stored: Stored
  result: OperationResult
}

export type FieldName = keyof WriteFields

/** The fields of one attempt: a new attempt has a new object, so that nothing of the last one is left in it. */
export class WriteState implements Partial<Record<FieldName, unknown>> {
  readonly call: OperationContext
  /** The transaction that it is part of at the moment. */
  transaction: RunningTransaction | undefined
  /** The claimed idempotency key as the store knows it. */
  key: string | undefined
  /** Whether it is not the first attempt. */
  repeated = false
  /** The items, if it is the write of a call that has several. */
  many: Many | undefined
  /** The values of a unique set that name the item, in place of its id. */
  named: readonly ValueFilter[] | undefined
  body: Json | undefined
  current: Stored | undefined
  own: Item | undefined
  printed: Item | undefined
  candidate: Item | undefined
  checked: Item | undefined
  values: Item | undefined
  doomed: readonly Doomed[] | undefined
  stored: Stored | undefined
  result: OperationResult | undefined

  constructor(call: OperationContext, transaction = call.transaction) {
    this.call = call
    this.transaction = transaction
  }

  /** Begins the next attempt: what came before all attempts is kept. */
  again(): WriteState {
    const next = new WriteState(this.call)
    next.key = this.key
    next.named = this.named
    next.body = this.body
    next.repeated = true
    return next
  }

  /** The parent that the path names. An action may give its item another one. */
  get parent(): Parent | undefined {
    const { action, parent } = this.call.target
    return action ? undefined : parent
  }

  /** The store of the collection, plain or within the transaction. */
  get store(): KeyedStore {
    return this.call.storeOf(this.call.target.collection, this.transaction)
  }

  /** Does work now, or in a transaction once that is committed. */
  afterCommit(work: () => Awaitable<void>): Awaitable<void> {
    return this.transaction ? this.transaction.afterCommit(work) : work()
  }
}

/** A write in which these fields are filled in. */
export type Write<Filled extends FieldName = never> = Readonly<WriteState> & {
  readonly [Name in Filled]: WriteFields[Name]
}

/** A step as it is run. */
export interface WriteStep {
  readonly name: string
  /** The statuses that it may end in. */
  readonly statuses: readonly number[]
  /** Gives the value of its field, or of a bracket the write to go on with. */
  readonly run: (write: WriteState, steps: readonly WriteStep[]) => Awaitable<unknown>
  /** The field that it fills in. */
  readonly field?: FieldName
  /** Whether the list ends where it gives something. */
  readonly ends?: boolean
  /** The steps of a bracket. */
  readonly steps?: readonly WriteStep[]
}

/** Runs steps within something: a key, a transaction, attempts. It gives the write that went through. */
export type Bracket<None = never> = (
  write: WriteState,
  steps: readonly WriteStep[],
) => Awaitable<WriteState | None>

/** Steps that are not needed are left out. */
type Optional<T> = T | false | undefined

type StepOf<Filled extends FieldName, T> = (write: Write<Filled>) => Awaitable<T>

const NO_STEPS: readonly WriteStep[] = []

/** Builds a list of steps. Its parameter names the fields that are filled in after its last one. */
export class Steps<Filled extends FieldName = never> {
  /** For the compiler alone: more filled fields are as good as few. */
  declare readonly filled: (name: Filled) => void
  readonly list: readonly WriteStep[]

  constructor(list: readonly WriteStep[] = NO_STEPS) {
    this.list = list
  }

  /** Checks something: the step throws, or the write goes on. */
  check(step: Optional<StepOf<Filled, void>>, ...statuses: readonly number[]): Steps<Filled> {
    return this.#add(step, { statuses })
  }

  /** Fills in a field. */
  set<Name extends FieldName>(
    field: Name,
    step: StepOf<Filled, WriteFields[Name]>,
    ...statuses: readonly number[]
  ): Steps<Filled | Name> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in a field where there is something to fill in. */
  try<Name extends FieldName>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name] | undefined>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in fields of each of several items. */
  fill<Name extends FieldName>(
    step: StepOf<Filled, void>,
    ...statuses: readonly number[]
  ): Steps<Filled | Name> {
    return this.#add(step, { statuses })
  }

  /** Replaces the value of a field. */
  refine<Name extends Filled>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name]>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in a field and ends the list, where the step gives a value. */
  endWith<Name extends FieldName>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name] | undefined>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses, ends: true })
  }

  /** Goes on with other steps where a field is empty. */
  otherwise<Name extends FieldName>(
    field: Name,
    build: Optional<(steps: Steps<Filled>) => Steps>,
  ): Steps<Filled | Name> {
    if (!build) return new Steps(this.list)
    const otherwise: Bracket<void> = (write, steps) =>
      write[field] === undefined ? runSteps(steps, write) : undefined
    return this.#add(otherwise, { steps: build(new Steps()).list, ends: true })
  }

  /** Runs steps within a bracket; without one they are steps like the others. */
  within<Inner extends FieldName>(
    bracket: Optional<Bracket>,
    statuses: readonly number[],
    build: (steps: Steps<Filled>) => Steps<Inner>,
  ): Steps<Inner> {
    const { list } = build(new Steps())
    if (!bracket) return new Steps([...this.list, ...list])
    return this.#add(bracket, { statuses, steps: list })
  }

  /** The same with a bracket that runs them until one of them has stored something. */
  attempts<Inner extends FieldName>(
    bracket: Bracket,
    statuses: readonly number[],
    build: (steps: Steps<Filled>) => Steps<Inner>,
  ): Steps<Inner | 'stored'> {
    return this.#add(bracket, { statuses, steps: build(new Steps()).list })
  }

  /** Runs the steps of a whole list. */
  run(write: WriteState): Awaitable<Write<Filled>> {
    return runSteps(this.list, write) as Awaitable<Write<Filled>> // the methods above have checked it
  }

  #add<Next extends FieldName>(
    step: Optional<(write: never, steps: readonly WriteStep[]) => Awaitable<unknown>>,
    more: Partial<WriteStep>,
  ): Steps<Next> {
    if (!step) return new Steps(this.list)
    // The methods above have checked that the fields it needs are filled in by then.
    const run = step as WriteStep['run']
    return new Steps([...this.list, { name: step.name, statuses: [], ...more, run }])
  }
}

/** Runs steps in their order; waits only for those that give a promise. */
export function runSteps(
  steps: readonly WriteStep[],
  write: WriteState,
  from = 0,
): Awaitable<WriteState> {
  let current = write
  for (let at = from; ; at++) {
    const step = steps[at]
    if (!step) return current
    const value = step.run(current, step.steps ?? NO_STEPS)
    if (value instanceof Promise) return resume(value, step, steps, at, current)
    current = fillIn(step, current, value)
    if (step.ends && value !== undefined) return current
  }
}

/** Waits for a step, and runs those behind it. */
async function resume(
  value: Promise<unknown>,
  step: WriteStep,
  steps: readonly WriteStep[],
  at: number,
  write: WriteState,
): Promise<WriteState> {
  const settled = await value
  const next = fillIn(step, write, settled)
  return step.ends && settled !== undefined ? next : runSteps(steps, next, at + 1)
}

function fillIn({ steps, field }: WriteStep, write: WriteState, value: unknown): WriteState {
  if (value === undefined) return write
  if (steps) return value as WriteState // of a bracket
  if (field) write[field] = value as never // `Steps` has checked its type
  return write
}
