// The public address of the api: what `url`, `Location` and `Link` begin with.
import type { ApiDefinition } from './definition.ts'
import { HttpError } from './errors.ts'
import { authorityOf, type HttpRequest, isHost } from './http.ts'

/**
 * The configured `baseUrl`; without one, what the request says: its scheme and `Host` (or the
 * authority of a target in absolute form, RFC 9112 §3.2.2), or what a trusted proxy forwards, and the
 * path under which the api is mounted. No slash at its end.
 * @throws HttpError 400 for a `Host` that is none (RFC 9112 §3.2).
 */
export function baseOf(
  { baseUrl, prefix, trustProxy }: Pick<ApiDefinition, 'baseUrl' | 'prefix' | 'trustProxy'>,
  request: HttpRequest,
): string {
  const { host: named = '' } = request.headers
  const host = authorityOf(request.target) ?? named
  if (!isHost(named) || !isHost(host)) {
    throw new HttpError(400, [
      { message: 'The Host header is missing or is no host', field: 'host', type: 'invalid_host' },
    ])
  }
  if (baseUrl !== undefined) return baseUrl
  const forwarded = trustProxy ? forwardedHost(request) : undefined
  const secure = trustProxy ? (forwardedProto(request) ?? request.secure) : request.secure
  return `http${secure ? 's' : ''}://${forwarded ?? host}${request.prefix}${prefix}`
}

/** The last value counts: the nearest proxy wrote it, the ones before may be the client's own. */
function lastOf(text: string | undefined): string | undefined {
  return text?.split(',').at(-1)?.trim()
}

function forwardedHost({ headers }: HttpRequest): string | undefined {
  const host = lastOf(headers['x-forwarded-host'])
  return host !== undefined && isHost(host) ? host : undefined
}

function forwardedProto({ headers }: HttpRequest): boolean | undefined {
  const proto = lastOf(headers['x-forwarded-proto'])?.toLowerCase()
  return proto === 'https' || proto === 'http' ? proto === 'https' : undefined
}
