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

const lowerCase = new Remembered<string>(500, 64)

function toLowerCase(name: string): string {
  return name.toLowerCase()
}

/**
 * Reads the raw list of node:http. Repeated fields are joined, so that a second `Host` or `Content-Type`
 * makes the value invalid instead of being dropped.
 */
export function readRawHeaders(raw: readonly string[]): RequestHeaders {
  const headers = createHeaders()
  for (let at = 0; at < raw.length; at += 2) {
    const name = lowerCase.get(raw[at] ?? '', toLowerCase)
    const value = raw[at + 1] ?? ''
    const known = headers[name]
    headers[name] =
      known === undefined ? value : `${known}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return headers
}
