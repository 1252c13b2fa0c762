// The public address of the api: what `url`, `Location` and `Link` begin with.
import { isIP } from 'node:net'
import { HttpError } from '../errors.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { type HttpRequest, isHost, parseAuthority } from './message.ts'

/**
 * The configured `baseUrl`; without one, what the request says: its scheme and `Host` (or the
 * authority of a target in absolute form, RFC 9112 §3.2.2), or what a trusted proxy forwards, and the
 * path under which the api is mounted. No slash at its end.
 * @param shown whether the answer has addresses in it; without any, what is returned may have no host.
 * @throws HttpError 400 for a `Host` that is no host, and for none where one is needed: in HTTP/1.1
 * (RFC 9112 §3.2), and for addresses without a `baseUrl` in HTTP/1.0 too.
 */
export function resolveBaseUrl(
  { baseUrl, prefix, trustProxy }: Pick<ApiDefinition, 'baseUrl' | 'prefix' | 'trustProxy'>,
  request: HttpRequest,
  shown = true,
): string {
  const { host } = request.headers
  const authority = parseAuthority(request.target)
  const counts = host !== undefined || request.needsHost || (shown && baseUrl === undefined)
  if ((counts && !isHost(host ?? '')) || (authority !== undefined && !isHost(authority))) {
    throw new HttpError(400, [
      { message: 'The Host header is missing or is no host', field: 'host', type: 'invalid_host' },
    ])
  }
  if (baseUrl !== undefined) return baseUrl
  const forwarded = trustProxy ? forwardedHost(request) : undefined
  const secure = trustProxy
    ? (forwardedProto(request, trustProxy) ?? request.secure)
    : request.secure
  const named = forwarded ?? authority ?? host ?? ''
  // An empty port is none (RFC 3986 §3.2.3).
  const printed = named.endsWith(':') ? named.slice(0, -1) : named
  return `http${secure ? 's' : ''}://${printed}${request.prefix}${prefix}`
}

/**
 * The origin of a base and the path behind it. A `Host` that may be one need not be an address that
 * `new URL()` takes: `a.b.999` is none.
 */
export function splitBase(base: string): { origin: string; path: string } {
  const slash = base.indexOf('/', base.indexOf('://') + 3)
  return slash === -1
    ? { origin: base, path: '' }
    : { origin: base.slice(0, slash), path: base.slice(slash) }
}

/** The last value counts: the nearest proxy wrote it, the ones before may be the client's own. */
function lastOf(text: string | undefined): string | undefined {
  return outermost(text, 1)
}

/** What the outermost of so many trusted proxies wrote: each adds at the end, if it adds. */
function outermost(text: string | undefined, hops: number): string | undefined {
  const values = text?.split(',') ?? []
  return (values.at(-hops) ?? values.at(-1))?.trim()
}

function forwardedHost({ headers }: HttpRequest): string | undefined {
  const host = lastOf(headers['x-forwarded-host'])
  return host !== undefined && isHost(host) ? host : undefined
}

function forwardedProto({ headers }: HttpRequest, hops: number): boolean | undefined {
  const proto = outermost(headers['x-forwarded-proto'], hops)?.toLowerCase()
  return proto === 'https' || proto === 'http' ? proto === 'https' : undefined
}

/**
 * The request as the outermost trusted proxy took it: the client's address, and whether its
 * connection was over TLS. A proxy that says nothing of the protocol is trusted to have ended TLS.
 * @param hops how many proxies are trusted; with 0 the request itself.
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

/** Each proxy adds at the end whom it got the request from: what stands further in front, anybody may have written. */
function forwardedFor({ headers }: HttpRequest, hops: number): string | undefined {
  const named = headers['x-forwarded-for']?.split(',').at(-hops)?.trim() ?? ''
  const bare =
    /^\[([0-9a-f:.]+)\](?::\d+)?$/i.exec(named)?.[1] ?? named.replace(/^([\d.]+):\d+$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}
