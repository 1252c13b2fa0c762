// The entry point `rest-conventions/store`: what someone needs who writes a store.

export type { Path } from '../base/paths.ts'
export type { Item, Json } from '../base/values.ts'
export type { Field, Fields } from '../schema/fields.ts'
export { countGroups } from '../store/count-groups.ts'
export {
  DiskFullError,
  KeptError,
  ReadOnlyError,
  ReferenceConflictError,
  RefusedError,
  TooCostlyError,
  UnavailableError,
  UniqueError,
  UnknownOutcomeError,
  UnstorableError,
} from '../store/errors.ts'
export { type Filter, type FilterLeaf, type Operator, toConjunction } from '../store/filter.ts'
export type { Aggregate, DatePart, Group, Grouping, GroupKey } from '../store/groups.ts'
export type { IdempotencyRecord } from '../store/idempotency-record.ts'
export { chosenId, createVersion, nextId, nextUuid } from '../store/ids.ts'
export { toPage } from '../store/page.ts'
export { foldText, searchWords } from '../store/search.ts'
export {
  comparer,
  keyComparer,
  matcher,
  parseLike,
  type Search,
  type Selection,
  type SortKey,
  sortKeyOf,
} from '../store/selection.ts'
export { mergeShapes } from '../store/shapes.ts'
export {
  type Changes,
  type Creation,
  type Deletion,
  type EachLimit,
  type Id,
  type Identity,
  type ItemVersion,
  type KeySlice,
  type ListOptions,
  type PositionSlice,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreFacts,
  type StoreOptions,
  type StorePage,
  type StoreWriteOptions,
  type TotalMode,
  throwIfAborted,
  type Update,
} from '../store/store.ts'
export { UniqueValues } from '../store/unique-values.ts'
export { areCreations, areUpdates, type Rows, writeRows } from '../store/writes.ts'
export { assemble, buildAnswer } from '../store/written.ts'
export { type ItemCalls, oneByOne } from './one-by-one.ts'
export { type ItemPlace, scanStore } from './scan-store.ts'
