// The entry point `rest-conventions/dialects`: the query languages of stock admin clients.
export type { Dialect, DialectErrors, DialectList } from '../query.ts'
export { jsonServer, type SimpleRestOptions, simpleRest } from './dialects.ts'
