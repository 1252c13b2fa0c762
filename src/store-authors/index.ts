// The entry point `rest-conventions/store`: what someone needs who writes a store.

export type { Field, Fields } from '../schema/fields.ts'
export type { Path } from '../schema/paths.ts'
export type { Item, Json } from '../schema/values.ts'
export {
  comparer,
  type Filter,
  matcher,
  type Operator,
  type Search,
  type Selection,
  type SortKey,
} from '../store/selection.ts'
export {
  type Id,
  type IdempotencyRecord,
  type Identity,
  type ListOptions,
  type Page,
  ReferenceConflictError,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type TotalMode,
  UnavailableError,
  UniqueError,
  UnstorableError,
  type WriteOptions,
} from '../store/store.ts'
