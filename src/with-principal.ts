// `withPrincipal`: `defineCollection` for principals whose claims have known types.

import type { BasePrincipal, Principal } from './auth/scheme.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import { type Collection, defineCollection } from './collection.ts'
import type { CollectionOptions, Places, Timestamps } from './model/types/collection-options.ts'
import type { MadeIds } from './model/types/collection-types.ts'
import type { Operation } from './model/types/operation.ts'
import type { BinaryForm } from './schema/blob-forms.ts'
import type { SomeSchema } from './schema/zod-fields.ts'
import type { Made, NoBlobs, None } from './types/index.ts'

/**
 * `defineCollection` for principals of type `P`. Its type parameters stand here again: as one generic type the plain
 * function would cost the type checker half as much again (`npx vitest run test/types.test.ts`: 8,508 instantiations for 50
 * collections, not 5,308).
 */
export type DefineCollection<P extends BasePrincipal> = <
  const N extends string,
  S extends SomeSchema,
  I extends keyof MadeIds = 'uuid',
  On extends Places = None,
  In extends object = None,
  const Out extends object = None,
  const Roles = None,
  const Owner extends string = never,
  const Methods extends object = None,
  Key extends 'id' | 'identifier' = 'id',
  Operations extends Operation = never,
  Search extends string = never,
  Blobs extends BlobStore = NoBlobs,
  Binary extends BinaryForm = never,
  const Parents = None,
  const Relation = None,
  const References = None,
  Rows = never,
  Groups extends string = never,
  Sql = unknown,
  Lease extends string = never,
  const Trash extends string = never,
  const Dates extends boolean | Timestamps = true,
>(
  options: CollectionOptions<
    N,
    S,
    I,
    On,
    In,
    Out,
    Roles,
    Owner,
    Methods,
    Key,
    Operations,
    Search,
    Blobs,
    Binary,
    Parents,
    Relation,
    References,
    Rows,
    P,
    Groups,
    Sql,
    Lease,
    Trash,
    Dates
  >,
) => Collection<
  Made<
    N,
    S,
    I,
    On,
    In,
    Out,
    Roles,
    NoInfer<Owner>,
    Methods,
    Key,
    Operations,
    Search,
    Blobs,
    Binary,
    Parents & Relation,
    References,
    P,
    Groups,
    Sql,
    Lease,
    NoInfer<Trash>,
    Dates
  >
>

/**
 * Returns `defineCollection` with types for the claims of principals: in row policies, hooks, actions and read-only
 * properties, and in the option `principal` of calls. It is the same function; tokens are not checked for the
 * claims: the `schemes` of an api with such collections must return principals that have them, or do not compile.
 * @example
 * import { memoryStore, withPrincipal } from 'rest-conventions'
 * import { z } from 'zod'
 * const { defineCollection } = withPrincipal<{ tenant: string }>()
 * const notes = defineCollection({
 *   name: 'notes',
 *   schema: z.object({ tenant: z.string(), text: z.string() }),
 *   store: memoryStore(),
 *   visible: principal => principal && { tenant: principal.tenant },
 * })
 */
export function withPrincipal<Claims extends object>(): {
  readonly defineCollection: DefineCollection<Principal<Claims>>
} {
  return { defineCollection: defineCollection as never } // types are all that differs
}
