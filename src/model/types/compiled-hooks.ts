// Hooks by operation, as requests run them.
import type { Hooks, OperationEvent } from './hooks.ts'

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
