// Hooks by operation, as requests run them.
import type { Hooks, OperationEvent } from './hooks.ts'

export type BeforeHook = (event: OperationEvent) => unknown
export type AfterHook = (event: OperationEvent, result: unknown) => unknown

/** The hooks of a collection by operation and action. */
export interface CompiledHooks {
  readonly before: ReadonlyMap<string, BeforeHook>
  readonly after: ReadonlyMap<string, AfterHook>
  readonly error: Hooks['error']
}
