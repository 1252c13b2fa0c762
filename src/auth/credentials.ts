// `Authorization` and `WWW-Authenticate` (RFC 9110 §11): credentials in, challenges out.
import type { HttpRequest } from '../http/message.ts'

/** Prints a challenge (RFC 9110 §11.6.1), parameters as quoted strings; those without a value are left out. */
export function printChallenge(
  name: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const printed = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}="${toQuotable(value)}"`],
  )
  return printed.length > 0 ? `${name} ${printed.join(', ')}` : name
}

/** Replaces the characters that RFC 6750 §3 does not allow in a challenge, such as quotes. */
function toQuotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'")
}

/** Parses the credentials of a scheme in `Authorization`; `undefined` without any of it. */
export function parseCredentials({ headers }: HttpRequest, name: string): string | undefined {
  const { authorization } = headers
  if (authorization === undefined) return undefined
  const space = authorization.indexOf(' ')
  const scheme = space === -1 ? authorization : authorization.slice(0, space)
  if (scheme.toLowerCase() !== name.toLowerCase()) return undefined
  return space === -1 ? '' : authorization.slice(space + 1).trim()
}
