// The public address of the api, with which `url`, `Location` and `Link` begin; what proxies forward.
import { isIP } from 'node:net'
import { HttpError } from '../errors.ts'
import type { HttpRequest } from './message.ts'
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
  request: HttpRequest,
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
  const secure = trustProxy
    ? (forwardedProto(request, trustProxy) ?? request.secure)
    : request.secure
  // A port may be empty (RFC 3986 §3.2.3).
  const named = (forwarded ?? authority ?? host ?? '').replace(/:$/, '')
  return `http${secure ? 's' : ''}://${named}${request.prefix}${prefix}`
}

/** Splits a base address into its origin and path. `new URL()` would throw for hosts such as `a.b.999`. */
export function splitBase(base: string): { origin: string; path: string } {
  const slash = base.indexOf('/', base.indexOf('://') + 3)
  return slash === -1
    ? { origin: base, path: '' }
    : { origin: base.slice(0, slash), path: base.slice(slash) }
}

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

function forwardedProto({ headers }: HttpRequest, hops: number): boolean | undefined {
  const proto = findForwarded(headers['x-forwarded-proto'], hops)?.toLowerCase()
  return proto === 'https' || proto === 'http' ? proto === 'https' : undefined
}

/**
 * Returns the request as the outermost trusted proxy received it: with the address of the client, and
 * whether that connection was over TLS. A proxy that does not forward the protocol is taken to end TLS.
 * @param hops how many proxies are trusted; with 0 the request itself is returned.
 */
export function resolveProxies(request: HttpRequest, hops: number): HttpRequest {
  if (hops === 0) return request
  return new ProxiedRequest(request, hops)
}

class ProxiedRequest implements HttpRequest {
  readonly method: string
  readonly target: string
  readonly prefix: string
  readonly headers: HttpRequest['headers']
  readonly headerCount: number
  readonly body: HttpRequest['body']
  readonly address: string | undefined
  readonly secure: boolean
  readonly needsHost: boolean
  readonly #request: HttpRequest

  constructor(request: HttpRequest, hops: number) {
    this.method = request.method
    this.target = request.target
    this.prefix = request.prefix
    this.headers = request.headers
    this.headerCount = request.headerCount
    this.body = request.body
    this.address = forwardedFor(request, hops) ?? request.address
    this.secure = forwardedProto(request, hops) ?? true
    this.needsHost = request.needsHost
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  get aborted(): boolean {
    return this.#request.aborted
  }

  abort(reason: Error): void {
    this.#request.abort(reason)
  }
}

/** Each proxy appends the address that it received the request from; anyone may have written the others. */
function forwardedFor({ headers }: HttpRequest, hops: number): string | undefined {
  const named = headers['x-forwarded-for']?.split(',').at(-hops)?.trim() ?? ''
  const bare =
    /^\[([0-9a-f:.]+)\](?::\d+)?$/i.exec(named)?.[1] ?? named.replace(/^([\d.]+):\d+$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}
