// Hooks by operation, as requests run them.
import type { Stored } from '../../store/store.ts'
import type { HookContext, Hooks, OperationEvent } from './hooks.ts'

export type BeforeHook = (event: OperationEvent) => unknown
export type AfterHook = (event: OperationEvent, result: unknown) => unknown

/** The hooks of a collection by operation and action, in the order in which they run. */
export interface CompiledHooks {
  readonly before: ReadonlyMap<string, readonly BeforeHook[]>
  readonly after: ReadonlyMap<string, readonly AfterHook[]>
  readonly error: readonly NonNullable<Hooks['error']>[]
  /** Whether hooks and write are one transaction. */
  readonly transaction: boolean
}

/** What a hook gets besides the context of its operation. */
export interface HookValues {
  /** The operation whose hooks run. Default: that of the call. */
  readonly operation?: string | undefined
  /** The item as it is before the operation. */
  readonly stored?: Stored | undefined
  readonly input?: unknown
  readonly value?: unknown
}

/** What the hooks of a running call get, and what they share. */
export interface RunningHooks {
  readonly values: HookValues
  readonly state: HookContext['state']
}
