// Everything that `rest-conventions` exports, by name. Rules that stand alone come with a line in the README.
export { type Api, type ApiOptions, defineApi, type VersionOptions } from './api.ts'
export { type BasicOptions, basic, sameText } from './auth/basic.ts'
export { type BearerJwtOptions, bearerJwt } from './auth/bearer-jwt.ts'
export { type IntrospectionOptions, introspection } from './auth/introspection.ts'
export type { Claims } from './auth/tokens.ts'
export {
  type Access,
  type AccessRule,
  type ChallengeParameters,
  type Principal,
  printChallenge,
  type Scheme,
} from './auth.ts'
export type { BinaryForm, BlobGiven, BlobOptions, BlobRecord, BlobStore } from './blobs.ts'
export { type Collection, defineAction, defineCollection } from './collection.ts'
export type { CollectionOptions } from './collection-options.ts'
export {
  type EntityTag,
  type EntityTags,
  evaluate,
  itemTag,
  type Preconditions,
  parseEntityTags,
  printEntityTag,
  printEntityTags,
  rangeHolds,
  readPreconditions,
  type Validators,
  type Verdict,
  versionOf,
} from './conditional.ts'
export type { CorsOptions } from './cors.ts'
export type {
  Action,
  ActionContext,
  ApiDefinition,
  CallOptions,
  Calls,
  CollectionDefinition,
  Failure,
  Hooks,
  ItemOf,
  ListParameters,
  MadeIds,
  Operation,
  OperationEvent,
  RowRule,
  VersionDefinition,
} from './definition.ts'
export { type Dialect, jsonServer, simpleRest } from './dialects.ts'
export { type ErrorEntry, errorBody, HttpError, type Mistake, problemBody } from './errors.ts'
export {
  onRequest,
  onResponse,
  REQUEST_CHANNEL,
  RESPONSE_CHANNEL,
  type RequestEvent,
  type ResponseEvent,
} from './events.ts'
export { effectiveMethod, suppressedStatus } from './fallbacks.ts'
export type { Fetch } from './fetch.ts'
export type { Field, Fields, Item, Json, Kind, Path, Scalar } from './fields.ts'
export { csv } from './formats/csv.ts'
export { form } from './formats/form.ts'
export {
  type Format,
  type Offer,
  type Place,
  type ReadContext,
  type Reader,
  type Representation,
  readBytes,
  type Upload,
  type View,
} from './formats/format.ts'
export { html } from './formats/html.ts'
export { json } from './formats/json.ts'
export { multipart } from './formats/multipart.ts'
export { ndjson } from './formats/ndjson.ts'
export { xml } from './formats/xml.ts'
export { type HardenOptions, harden, shutDown } from './harden.ts'
export {
  type HeaderList,
  type HttpRequest,
  type Parameter,
  parseHttpDate,
  parseParameters,
  printHttpDate,
  printParameters,
  type RequestHeaders,
  type ResponseBody,
} from './http.ts'
export type { Limits } from './limits.ts'
export {
  chooseFormat,
  chooseReader,
  type MediaType,
  type Negotiated,
  parseMediaType,
} from './negotiate.ts'
export type { Handler } from './node.ts'
export {
  type ContentRange,
  type Cursor,
  type Found,
  type Link,
  pageHeaders,
  parseContentRange,
  parseCursor,
  parseLink,
  parseRange,
  printContentRange,
  printCursor,
  printLink,
  printRange,
  type Range,
  readWindow,
  type Window,
  type WindowOptions,
} from './pagination.ts'
export { jsonPatch, mergePatch } from './patch.ts'
export { type Preferences, parsePrefer, printPreferences } from './prefer.ts'
export {
  printQuery,
  type Query,
  type QueryOptions,
  readQuery,
} from './query.ts'
export type {
  Limiter,
  LimiterResult,
  RateLimitOptions,
  RateLimitPolicy,
} from './rate-limit.ts'
export { blob, fieldsOf, type Input, type Output, type Schema, type SomeSchema } from './schema.ts'
export {
  comparer,
  type Filter,
  matcher,
  type Operator,
  type Search,
  type Selection,
  type SortKey,
} from './selection.ts'
export { DEFAULT_FORMATS, type Doors, type Policies } from './serve.ts'
export { parseSort, printSort } from './sort.ts'
export {
  type Attempt,
  ConflictError,
  type Id,
  type Identity,
  type Page,
  type Shape,
  type Slice,
  type Store,
  type Stored,
  type StoreOptions,
  type TotalMode,
  UnavailableError,
  UniqueError,
  UnstorableError,
} from './store.ts'
export { fileBlobs } from './stores/file-blobs.ts'
export { type MemoryStoreOptions, memoryStore } from './stores/memory.ts'
export { memoryBlobs } from './stores/memory-blobs.ts'
export { sweepBlobs } from './sweep.ts'
