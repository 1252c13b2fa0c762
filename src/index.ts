// The names of `rest-conventions`: what one needs to declare, serve, guard and store. Pure functions are in
// `rest-conventions/rules`, helpers for stores in `rest-conventions/store`.
export {
  type Api,
  type ApiOptions,
  defineApi,
  defineVersion,
  type Resources,
  type VersionedApi,
  type VersionOptions,
} from './api.ts'
export type { Access, AccessRule } from './auth/access.ts'
export { basic } from './auth/basic.ts'
export { bearerJwt } from './auth/bearer-jwt.ts'
export { introspection } from './auth/introspection.ts'
export type { Limiter, RateLimitOptions, RateLimitPolicy } from './auth/rate-limit.ts'
export type { ChallengeParameters, Principal, Scheme } from './auth/scheme.ts'
export type { Item, Json } from './base/values.ts'
export type { BlobStore } from './blobs/blob-store.ts'
export { fileBlobs } from './blobs/file-blobs.ts'
export { memoryBlobs } from './blobs/memory-blobs.ts'
export {
  type ChangesOf,
  type Collection,
  defineCollection,
  type ItemOf,
  type NewOf,
} from './collection.ts'
export { AnyHttpError as HttpError, type ErrorType, type Issue } from './errors.ts'
export { csv } from './formats/csv.ts'
export { form } from './formats/form.ts'
export type { Format, ReadContext, Representation } from './formats/format.ts'
export { json } from './formats/json.ts'
export { multipart } from './formats/multipart/multipart.ts'
export { ndjson } from './formats/ndjson.ts'
export { xml } from './formats/xml/xml.ts'
export type { CorsOptions } from './http/cors.ts'
export type { Limits } from './http/limits.ts'
export type { HttpRequest } from './http/message.ts'
export { memoryStore } from './memory/memory-store.ts'
export { DEFAULT_FORMATS } from './model/compile/build-api.ts'
export { ConflictError } from './model/conflict-error.ts'
export type { CollectionOptions } from './model/types/collection-options.ts'
export type { AnyCollection } from './model/types/collection-types.ts'
export type { FieldContext, FieldRole, OwnerOptions } from './model/types/field-roles.ts'
export type {
  HookContext,
  Hooks,
  OperationEvent,
  RunContext,
  Transaction,
  TransactionOptions,
} from './model/types/hooks.ts'
export type { Filters, Query } from './model/types/list-query.ts'
export type { Operation } from './model/types/operation.ts'
export type { Contact, Failure, Message, Messages, Policies } from './model/types/policies.ts'
export type { ReferenceOptions } from './model/types/references.ts'
export type {
  Callable,
  CallOptions,
  CreateOptions,
  List,
  Page,
  Resource,
  Target,
  WriteOptions,
} from './model/types/resource.ts'
export type { SearchOptions } from './model/types/search.ts'
export { type OpenApiOptions, openApiDocument } from './openapi/document.ts'
export { versionOf } from './operations/calls/program-items.ts'
export { sweepBlobs } from './operations/calls/uploads.ts'
export type { PoisonEvent } from './operations/programs/take.ts'
export type { Dialect } from './query.ts'
export { type BlobOptions, type BlobRecord, type BlobValue, blob } from './schema/blob.ts'
export {
  onPoison,
  onRequest,
  onResponse,
  onWork,
  type RequestEvent,
  type ResponseEvent,
} from './server/events.ts'
export type { Fetch } from './server/handlers/fetch-handler.ts'
export type { Handler } from './server/handlers/node-handler.ts'
export type {
  LeaseEvent,
  OrphanEvent,
  RetryEvent,
  SlowCountEvent,
  WaitEvent,
  WorkEvent,
} from './store/events.ts'
export type { Id, Store } from './store/store.ts'
export { type DefineCollection, withPrincipal } from './with-principal.ts'
