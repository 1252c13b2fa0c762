// Everything that `rest-conventions` exports, by name. Rules that stand alone come with a line in the README.
export { type Api, type ApiOptions, defineApi, type VersionOptions } from './api.ts'
export type { Access, AccessRule } from './auth/access.ts'
export { type BasicOptions, basic, equalsInConstantTime } from './auth/basic.ts'
export { type BearerJwtOptions, bearerJwt } from './auth/bearer-jwt.ts'
export type { Claims } from './auth/bearer-token.ts'
export { printChallenge } from './auth/credentials.ts'
export { type IntrospectionOptions, introspection } from './auth/introspection.ts'
export type {
  Limiter,
  LimiterResult,
  RateLimitOptions,
  RateLimitPolicy,
} from './auth/rate-limit.ts'
export type { ChallengeParameters, Principal, Scheme } from './auth/scheme.ts'
export type { BlobStore } from './blobs/blob-store.ts'
export { fileBlobs } from './blobs/file-blobs.ts'
export { memoryBlobs } from './blobs/memory-blobs.ts'
export { type Collection, defineAction, defineCollection } from './collection.ts'
export { jsonServer, simpleRest } from './dialects/dialects.ts'
export {
  AnyHttpError as HttpError,
  type AnyIssue,
  type ErrorEntry,
  type ErrorType,
  errorBody,
  type Issue,
  problemBody,
} from './errors.ts'
export { csv } from './formats/csv.ts'
export { form } from './formats/form.ts'
export type {
  Format,
  ReadContext,
  Reader,
  Representation,
  Upload,
} from './formats/format.ts'
export { json } from './formats/json.ts'
export { multipart } from './formats/multipart.ts'
export { ndjson } from './formats/ndjson.ts'
export type { FormAction, PageLink, PageView } from './formats/page-view.ts'
export { jsonPatch, mergePatch } from './formats/patch.ts'
export { readBytes } from './formats/read-body.ts'
export { xml } from './formats/xml/xml.ts'
export {
  type EntityTag,
  type EntityTags,
  evaluate,
  itemTag,
  type Preconditions,
  parseEntityTags,
  parseVersionTag,
  printEntityTag,
  printEntityTags,
  rangeHolds,
  readPreconditions,
  type Validators,
  type Verdict,
} from './http/conditional.ts'
export {
  type ContentRange,
  parseContentRange,
  parseRange,
  printContentRange,
  printRange,
  type Range,
} from './http/content-range.ts'
export type { CorsOptions } from './http/cors.ts'
export { parseHttpDate, printHttpDate } from './http/date.ts'
export type { Limits } from './http/limits.ts'
export { type Link, parseLink, printLink } from './http/link.ts'
export type { HeaderList, HttpRequest, RequestHeaders, ResponseBody } from './http/message.ts'
export { effectiveMethod, suppressedStatus } from './http/method-override.ts'
export { type Parameter, parseParameters, printParameters } from './http/parameters.ts'
export { type Preferences, parsePrefer, printPreferences } from './http/prefer.ts'
export { DEFAULT_FORMATS, type Policies } from './model/build-api.ts'
export type { CollectionOptions } from './model/collection-options.ts'
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
} from './model/definition.ts'
export {
  chooseFormat,
  chooseReader,
  type MediaType,
  type Negotiated,
  parseMediaType,
} from './negotiate.ts'
export { sweepBlobs } from './operations/sweep.ts'
export { type Cursor, parseCursor, printCursor } from './pagination/cursor.ts'
export {
  type Found,
  LinkQuery,
  type PageOptions,
  pageHeaders,
  readWindow,
  type Window,
  type WindowOptions,
} from './pagination.ts'
export type { Dialect } from './query.ts'
export {
  printQuery,
  type Query,
  type QueryOptions,
  readQuery,
} from './query.ts'
export type { BlobGiven, BlobOptions, BlobRecord } from './schema/blob.ts'
export { blob } from './schema/blob.ts'
export type { BinaryForm } from './schema/blob-forms.ts'
export type { Field, Fields, Kind } from './schema/fields.ts'
export type { Path } from './schema/paths.ts'
export type { Item, Json, Scalar } from './schema/values.ts'
export {
  fieldsOf,
  type Input,
  type Output,
  type Schema,
  type SomeSchema,
} from './schema/zod-fields.ts'
export {
  onRequest,
  onResponse,
  REQUEST_CHANNEL,
  RESPONSE_CHANNEL,
  type RequestEvent,
  type ResponseEvent,
} from './server/events.ts'
export type { Fetch } from './server/fetch-handler.ts'
export type { Handlers } from './server/handlers.ts'
export type { Handler } from './server/node-handler.ts'
export { type MemoryStoreOptions, memoryStore } from './store/memory-store.ts'
export {
  comparer,
  type Filter,
  matcher,
  type Operator,
  type Search,
  type Selection,
  type SortKey,
} from './store/selection.ts'
export { parseSort, printSort } from './store/sort.ts'
export {
  type Id,
  type IdempotencyRecord,
  type Identity,
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
} from './store/store.ts'
