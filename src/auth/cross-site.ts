// Cross-site request forgery: writes that a page of another origin makes a browser send.
import type { HttpRequest } from '../http/message.ts'

/** The schemes whose credentials a browser sends by itself, once it has them. */
const AMBIENT = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i

/**
 * Whether a request is a cross-site request with ambient credentials (CSRF): a page of another origin
 * made the browser send cookies or passwords that it adds by itself. Other clients send neither
 * `Sec-Fetch-Site` nor `Origin`.
 * @param own the origin of the api.
 * @param allowed whether pages of an origin may write here.
 */
export function isCrossSite(
  { headers }: HttpRequest,
  own: string,
  allowed: (origin: string) => boolean,
): boolean {
  const ambient = headers.cookie !== undefined || AMBIENT.test(headers.authorization ?? '')
  if (!ambient) return false
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && allowed(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin !== own
}
