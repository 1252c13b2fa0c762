// Cross-site request forgery: writes that a page of another origin makes a browser send.
import type { HttpRequest } from '../http/message.ts'

/** The schemes whose credentials a browser sends by itself, once it has them. */
const AMBIENT = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i

/** Whether a request has credentials that a browser adds by itself: cookies, or passwords. */
export function hasAmbientCredentials({ headers }: HttpRequest): boolean {
  const { cookie, authorization } = headers
  return cookie !== undefined || (authorization !== undefined && AMBIENT.test(authorization))
}

/**
 * Whether a page of another origin made a browser send a request. Other clients send neither `Sec-Fetch-Site` nor
 * `Origin`.
 * @param own the origin of the api.
 * @param allowed whether pages of an origin may write here.
 */
export function isCrossSite(
  { headers }: Pick<HttpRequest, 'headers'>,
  own: string,
  allowed: (origin: string) => boolean,
): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && allowed(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin !== own
}
