// The entry point `rest-conventions/types`: what inferred types of a program name in its declarations. No program
// needs to write them.
export type { AnyPrincipal, BasePrincipal } from '../auth/scheme.ts'
export type {
  Def,
  DefChanges,
  DefInput,
  DefItem,
  DefMerge,
  DefStored,
  Made,
  NoBlobs,
  None,
  ServerFields,
  UnknownDef,
} from '../model/types/collection-types.ts'
export type { ResourceOf } from '../model/types/hooks.ts'
export type {
  Bounds,
  Head,
  Matching,
  Rest,
  Selected,
  Where,
  WholeQuery,
} from '../model/types/list-query.ts'
export type { Included, IncludeOf, RelatedItem, RelatedQuery } from '../model/types/related.ts'
export type {
  ActionsOf,
  CreateOptions,
  ManyOptions,
  OperationsOf,
  ReadOptions,
  UpsertManyOptions,
} from '../model/types/resource.ts'
