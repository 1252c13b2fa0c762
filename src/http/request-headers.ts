// The header fields of a request as one object of one shape.

import { Remembered } from '../base/remembered.ts'
import type { RequestHeaders } from './message.ts'

/** The fields that the core or many clients use: all objects begin with these, so that they share one shape. */
class KnownHeaders {
  [name: string]: string | undefined
  host = undefined
  connection = undefined
  accept = undefined
  'accept-encoding' = undefined
  'accept-language' = undefined
  authorization = undefined
  'cache-control' = undefined
  'content-encoding' = undefined
  'content-length' = undefined
  'content-range' = undefined
  'content-type' = undefined
  cookie = undefined
  expect = undefined
  forwarded = undefined
  'idempotency-key' = undefined
  'if-match' = undefined
  'if-modified-since' = undefined
  'if-none-match' = undefined
  'if-range' = undefined
  'if-unmodified-since' = undefined
  origin = undefined
  prefer = undefined
  range = undefined
  referer = undefined
  'sec-fetch-dest' = undefined
  'sec-fetch-mode' = undefined
  'sec-fetch-site' = undefined
  'sec-fetch-user' = undefined
  'transfer-encoding' = undefined
  'user-agent' = undefined
  'x-forwarded-for' = undefined
  'x-forwarded-host' = undefined
  'x-forwarded-proto' = undefined
  'x-http-method-override' = undefined
  'x-request-id' = undefined
}

// A polluted `Object.prototype` must not look like a header of the request.
Object.setPrototypeOf(KnownHeaders.prototype, null)

type MutableHeaders = { -readonly [Name in keyof RequestHeaders]: RequestHeaders[Name] }

/** Creates empty headers; those that are not set are `undefined`. */
export function createHeaders(): MutableHeaders {
  // Any other name gives `undefined` too: the prototype is null.
  return new KnownHeaders()
}

/** Adds a field to the headers of a request. */
type AddField = (to: MutableHeaders, value: string) => void

/** Fields that most requests have. An access by a name that is computed takes ten times as long. */
// biome-ignore format: a table
const FREQUENT: Readonly<Record<string, AddField>> = {
  'accept': (to, value) => { to.accept = join(to.accept, value) },
  'accept-encoding': (to, value) => { to['accept-encoding'] = join(to['accept-encoding'], value) },
  'accept-language': (to, value) => { to['accept-language'] = join(to['accept-language'], value) },
  'authorization': (to, value) => { to.authorization = join(to.authorization, value) },
  'connection': (to, value) => { to.connection = join(to.connection, value) },
  'content-length': (to, value) => { to['content-length'] = join(to['content-length'], value) },
  'content-type': (to, value) => { to['content-type'] = join(to['content-type'], value) },
  'cookie': (to, value) => { to.cookie = join(to.cookie, value, '; ') },
  'host': (to, value) => { to.host = join(to.host, value) },
  'if-match': (to, value) => { to['if-match'] = join(to['if-match'], value) },
  'if-none-match': (to, value) => { to['if-none-match'] = join(to['if-none-match'], value) },
  'origin': (to, value) => { to.origin = join(to.origin, value) },
  'referer': (to, value) => { to.referer = join(to.referer, value) },
  'user-agent': (to, value) => { to['user-agent'] = join(to['user-agent'], value) },
}

function join(known: string | undefined, value: string, separator = ', '): string {
  return known === undefined ? value : known + separator + value
}

/** By the names as clients write them. */
const fields = new Remembered<AddField>(500, 64)

function findField(written: string): AddField {
  const name = written.toLowerCase()
  const add: AddField = (to, value) => {
    to[name] = join(to[name], value)
  }
  return (Object.hasOwn(FREQUENT, name) && FREQUENT[name]) || add
}

/**
 * Reads the raw list of node:http. Repeated fields are joined, so that a second `Host` or `Content-Type`
 * makes the value invalid instead of being dropped.
 */
export function readRawHeaders(raw: readonly string[]): RequestHeaders {
  const headers = createHeaders()
  for (let at = 0; at < raw.length; at += 2) {
    const addTo = fields.get(raw[at] ?? '', findField)
    addTo(headers, raw[at + 1] ?? '')
  }
  return headers
}
