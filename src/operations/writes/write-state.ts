// One attempt of a write: its fields, each filled by the step that the plan names.

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
