// Field roles and owners, as they are declared and as they are compiled.
import type { AccessRule } from '../../auth/access.ts'
import type { BasePrincipal, Principal } from '../../auth/scheme.ts'

/** The argument of the function of a read-only property. */
export interface FieldContext<P extends BasePrincipal = Principal> {
  /** The principal that creates the item; `undefined` without credentials. */
  readonly principal: P | undefined
}

/**
 * The role of a property.
 *
 * - `'readOnly'`: the server sets it. A value from a client is ignored. A program may set it, in process and in
 *   hooks.
 * - `{ readOnly: fn }`: the same; `fn` returns the value at create, unless a program sets one. It is not awaited.
 * - `'writeOnly'`: no answer has it, and no filter, sort, search or `fields` reaches it. A PUT without it
 *   keeps it.
 * - `'immutable'`: set at create; 400 when changed. A PUT without it keeps it.
 * - `{ read: ['staff'], write: ['staff'] }`: who reads and writes it, by scopes. A rule that is left out limits nobody.
 *   To a principal that may write alone it is write-only, to one that may read alone read-only, and to one that may do
 *   neither it does not exist: to name it is 400 `unknown_field`. As access rules do, they count where the api has
 *   `schemes`. `readOnly` and `read` may stand together.
 */
export type FieldRole<P extends BasePrincipal = Principal> =
  | 'readOnly'
  | 'writeOnly'
  | 'immutable'
  | ReadOnlyRole<P>
  | FieldAccess

/** The role of a property that the server sets. */
export interface ReadOnlyRole<P extends BasePrincipal = Principal>
  extends Pick<FieldRules, 'read'> {
  readonly readOnly: (context: FieldContext<P>) => unknown
  readonly write?: undefined
}

/** Who reads and who writes a property: one of the rules, or both. */
export type FieldAccess = FieldRules &
  ({ readonly read: AccessRule } | { readonly write: AccessRule })

export interface FieldRules {
  /** Default: everybody who may read the item. */
  readonly read?: AccessRule | undefined
  /** Default: everybody who may change the item. */
  readonly write?: AccessRule | undefined
  readonly readOnly?: undefined
}

/** The owner of items. */
export interface OwnerOptions<F extends string = string> {
  /** The property that holds the id of the principal who created the item. */
  readonly field: F
  /** Scopes that allow to change and delete the items of others: one of them is enough. */
  readonly except?: readonly string[] | undefined
}

/** A property that the server sets. */
export interface ReadOnlyField {
  /** Returns the value at create; absent where the schema has a default or none is needed. */
  readonly compute: ((context: FieldContext) => unknown) | undefined
  /** The value of an item without one: null where the schema needs it, else absent. */
  readonly empty: null | undefined
}

/** The roles of a collection's properties, by name. */
export interface FieldRoles {
  readonly readOnly: ReadonlyMap<string, ReadOnlyField>
  readonly writeOnly: ReadonlySet<string>
  readonly immutable: ReadonlySet<string>
}
