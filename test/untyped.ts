// Declarations that are made at run time: the names in them are texts, as from JavaScript.
import type { z } from 'zod'
import { type Collection, defineCollection } from '../src/index.ts'
import type {
  ActionContext,
  Action as AnyAction,
  Declaration,
} from '../src/model/types/declaration.ts'

interface Action extends Omit<AnyAction, 'run'> {
  run?(context: ActionContext & { readonly input: Readonly<Record<string, unknown>> }): unknown
}

/** The options of a collection without the types of its schema. */
export interface Untyped extends Omit<Declaration, 'schema' | 'actions'> {
  readonly schema: z.ZodType
  readonly actions?: Readonly<Record<string, Action>> | undefined
}

export function defineUntyped(options: Untyped): Collection {
  return defineCollection(options as never)
}

/** Calls a function as JavaScript may: with anything. */
export function callUntyped<T>(call: (...words: never[]) => T, ...words: unknown[]): T {
  return call(...(words as never[]))
}
