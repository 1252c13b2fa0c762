// The public address of the api, with which `url`, `Location` and `Link` begin; what trusted proxies forward.
import { isIP } from 'node:net'
import { HttpError } from '../errors.ts'
import type { HttpRequest, ReceivedRequest, RequestHeaders } from './message.ts'
import { isHost, parseAuthority } from './target.ts'

export interface BaseUrlOptions {
  /** The configured address; without one the request decides. No slash at its end. */
  readonly baseUrl: string | undefined
  /** The path of the api below the one where it is mounted: `''` or `/v1`. */
  readonly prefix: string
  /** How many proxies are trusted. */
  readonly trustProxy: number
}

/**
 * Resolves the public address of the api: the configured `baseUrl`, or the scheme and `Host` of the
 * request (the authority of a target in absolute form, RFC 9112 §3.2.2; what a trusted proxy forwards)
 * and the path under which the api is mounted. No slash at its end.
 * @param printed whether the response has addresses in it; without any, the result may lack a host.
 * @throws HttpError 400 for an invalid `Host`, and for a missing one where one is needed: in HTTP/1.1
 * (RFC 9112 §3.2), and for addresses without a `baseUrl`.
 */
export function resolveBaseUrl(
  { baseUrl, prefix, trustProxy }: BaseUrlOptions,
  request: ReceivedRequest,
  printed = true,
): string {
  const { host } = request.headers
  const authority = parseAuthority(request.target)
  const needed = host !== undefined || request.needsHost || (printed && baseUrl === undefined)
  if ((needed && !isHost(host ?? '')) || (authority !== undefined && !isHost(authority))) {
    const message = host ? 'The Host header is not a host' : 'The Host header is missing'
    throw new HttpError(400, [{ message, field: 'host', type: 'invalid_host' }])
  }
  if (baseUrl !== undefined) return baseUrl
  const forwarded = trustProxy ? forwardedHost(request) : undefined
  // A port may be empty (RFC 3986 §3.2.3).
  const named = (forwarded ?? authority ?? host ?? '').replace(/:$/, '')
  return `http${request.secure ? 's' : ''}://${named}${request.prefix}${prefix}`
}

/** Splits a base address into its origin and path. `new URL()` would throw for hosts such as `a.b.999`. */
export function splitBase(base: string): { origin: string; path: string } {
  const slash = base.indexOf('/', base.indexOf('://') + 3)
  return slash === -1
    ? { origin: base, path: '' }
    : { origin: base.slice(0, slash), path: base.slice(slash) }
}

/**
 * Finds the address of a path of this api, such as `/api/cars?color=red`. Anything else is `undefined`: it might lead to
 * another server.
 */
export function findOwnAddress(path: string, base: string): string | undefined {
  // A browser reads a backslash as a slash, and leaves out tabs and line breaks.
  const isPath = /^\/(?!\/)[^\\\x00-\x1f\x7f]*$/.test(path)
  const own = splitBase(base)
  const url = isPath && URL.canParse(path, PLACE) ? new URL(path, PLACE) : undefined
  if (url?.origin !== PLACE || !`${url.pathname}/`.startsWith(`${own.path}/`)) return undefined
  return own.origin + url.pathname + url.search + url.hash
}

const PLACE = 'http://localhost'

/** Finds the value of the outermost of so many trusted proxies: each one appends its own at the end. */
function findForwarded(text: string | undefined, hops: number): string | undefined {
  const values = text?.split(',') ?? []
  return (values.at(-hops) ?? values.at(-1))?.trim()
}

function forwardedHost({ headers }: HttpRequest): string | undefined {
  // The nearest proxy wrote the last value; the ones before may be the client's own.
  const host = findForwarded(headers['x-forwarded-host'], 1)
  return host !== undefined && isHost(host) ? host : undefined
}

/** The client at the other end of a connection, or in front of the proxies there. */
type ClientAddress = Pick<HttpRequest, 'address' | 'secure'>

/**
 * Resolves the client as the outermost trusted proxy saw it.
 * @param connection the address of the nearest proxy, and whether its connection to this process is over TLS.
 * @param hops how many proxies are trusted; with 0 the connection itself is the client's.
 */
export function resolveClient(
  headers: RequestHeaders,
  connection: ClientAddress,
  hops: number,
): ClientAddress {
  if (hops === 0) return connection
  const proto = findForwarded(headers['x-forwarded-proto'], hops)?.toLowerCase()
  const forwarded = proto === 'https' || proto === 'http' ? proto === 'https' : undefined
  return {
    address: forwardedFor(headers, hops) ?? connection.address,
    secure: forwarded ?? (connection.secure || undefined),
  }
}

/** Each proxy appends the address that it received the request from; anyone may have written the others. */
function forwardedFor(headers: RequestHeaders, hops: number): string | undefined {
  const named = headers['x-forwarded-for']?.split(',').at(-hops)?.trim() ?? ''
  const bare =
    /^\[([0-9a-f:.]+)\](?::\d+)?$/i.exec(named)?.[1] ?? named.replace(/^([\d.]+):\d+$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}
