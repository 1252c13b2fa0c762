// The entry point `rest-conventions/client`: the collections of an api as typed resources, over HTTP.
export type { ErrorEntry } from '../errors.ts'
export type {
  CallOptions,
  List,
  Page,
  Remote,
  Resource,
  Target,
  WriteOptions,
} from '../model/types/resource.ts'
export {
  type ApiVersion,
  type Client,
  type ClientOf,
  type ClientOptions,
  createClient,
} from './client.ts'
export type { CollectionDescription, DescribedCollection } from './described.ts'
export { ConflictError, ConnectionError, HttpError } from './errors.ts'
export type { FetchOptions, ReceivedResponse } from './fetch-reply.ts'
export type { AuthAttempt, SendOptions } from './send.ts'
export { versionOf } from './versions.ts'
