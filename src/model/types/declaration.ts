// What users declare, without the types of their schemas: what the compilers of this layer read.
import type { Access } from '../../auth/access.ts'
import type { Principal } from '../../auth/scheme.ts'
import type { Schema, SomeSchema } from '../../schema/zod-fields.ts'
import type { Id } from '../../store/store.ts'
import type { CollectionOptions, PlainOptions } from './collection-options.ts'
import type { DefStored, UnknownDef } from './collection-types.ts'
import type { FieldRole } from './field-roles.ts'
import type { ActionResponse, HookContext, Hooks } from './hooks.ts'
import type { References } from './references.ts'

/** Returns filters for the items that a principal sees: `{}` for all, `undefined` for none. */
export type RowRule = (
  principal: Principal | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** A principal sees an item where it sees the item of another collection that this one refers to. */
export interface Through {
  /** The field that holds the reference. */
  readonly through: string
  /** What must hold besides. */
  readonly and?: RowRule | undefined
}

/** The context that an action's `run` is called with, without the types of its declaration. */
export interface ActionContext extends HookContext {
  /** The input, checked by the action's `input` schema. */
  readonly input: unknown
  readonly response: ActionResponse
  /** The item of the action, frozen; absent for an action on the collection. */
  readonly item?: DefStored<UnknownDef>
  readonly id?: Id
  /** Applies a merge patch to the item, if it has not changed since it was read. */
  readonly update: (changes: Readonly<Record<string, unknown>>) => Promise<DefStored<UnknownDef>>
}

/** An action as it is declared, without the types of its declaration. */
export interface Action {
  readonly on: 'collection' | 'item'
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
  readonly input?: SomeSchema | undefined
  readonly output?: SomeSchema | 'item' | undefined
  readonly description?: string | undefined
  /** Whether its work and the record of its idempotency key are one transaction. */
  readonly transaction?: boolean | undefined
  readonly cookies?: boolean | undefined
  readonly crossSite?: boolean | undefined
  readonly run?: ActionRun | undefined
}

export type ActionRun = (context: ActionContext) => unknown

/** The options of a collection without the types of its schema. */
export interface Declaration
  extends Pick<
      CollectionOptions,
      | 'name'
      | 'id'
      | 'timestamps'
      | 'sort'
      | 'indexes'
      | 'unique'
      | 'search'
      | 'groups'
      | 'owner'
      | 'lease'
      | 'attempts'
      | 'trash'
    >,
    PlainOptions {
  readonly schema: Schema
  readonly parents?: References | undefined
  readonly references?: References | undefined
  readonly relation?: References | undefined
  readonly fields?: Readonly<Record<string, FieldRole>> | undefined
  readonly actions?: Readonly<Record<string, Action>> | undefined
  readonly hooks?: Hooks | undefined
  readonly access?: Access | undefined
  readonly visible?: RowRule | Through | undefined
}
