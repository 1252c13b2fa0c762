// HTTP Basic (RFC 7617): user and password in UTF-8, never in clear text over a network.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { HttpRequest } from '../http/message.ts'
import { checkOptions, FUNCTION, needed, type Rules, TEXT } from '../options.ts'
import { parseCredentials, printChallenge } from './credentials.ts'
import type { BasePrincipal, Principal, Scheme } from './scheme.ts'

export interface BasicOptions<P extends BasePrincipal = Principal> {
  /**
   * Returns the principal of the credentials, `undefined` for wrong ones. Compare secrets with
   * {@link equalsInConstantTime}, and take as long for a user that does not exist.
   */
  readonly verify: (
    user: string,
    password: string,
    request: HttpRequest,
  ) => P | undefined | Promise<P | undefined>
  /** Default `api`. */
  readonly realm?: string | undefined
}

const RULES: Rules<BasicOptions> = { verify: needed(FUNCTION), realm: TEXT }

/**
 * Checks user and password. Answers 403 where the connection is neither TLS nor loopback.
 * @example
 * import { basic } from 'rest-conventions'
 * import { equalsInConstantTime } from 'rest-conventions/rules'
 * const scheme = basic({
 *   verify: (user, password) => (equalsInConstantTime(password, 'secret') ? { id: user } : undefined),
 * })
 */
export function basic<const P extends BasePrincipal = Principal>(
  options: BasicOptions<P>,
): Scheme<P> {
  checkOptions('basic', options, RULES)
  const { verify, realm = 'api' } = options
  return {
    name: 'Basic',
    headers: ['Authorization'],
    challenge: () => printChallenge('Basic', { realm, charset: 'UTF-8' }),
    offers: isConfidential,
    async authenticate(request) {
      const credentials = parseCredentials(request, 'Basic')
      if (credentials === undefined) return undefined
      if (!isConfidential(request)) {
        const message =
          'Passwords must be sent over TLS. Change this one: others may have read it. ' +
          'If TLS ends at a proxy, the server needs trustProxy; in a fetch handler, clientAddress.'
        throw new HttpError(403, [{ message, type: 'insecure_transport' }])
      }
      const pair = parsePair(credentials)
      const principal = pair && (await verify(pair.user, pair.password, request))
      if (principal) return principal
      throw new HttpError(401, [
        { message: 'User or password is wrong', type: 'invalid_credentials' },
      ])
    },
  }
}

/** A trusted proxy that does not say how the client came is taken to end TLS. */
function isConfidential({ secure, address }: HttpRequest): boolean {
  return secure !== false || (address !== undefined && /^(?:::ffff:)?127\.|^::1$/i.test(address))
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses `base64(user:password)`; `undefined` for anything else, and for control characters (§2). */
function parsePair(credentials: string): { user: string; password: string } | undefined {
  const bytes = Buffer.from(credentials, 'base64')
  if (bytes.toString('base64').replace(/={1,2}$/, '') !== credentials.replace(/={1,2}$/, ''))
    return undefined
  try {
    const text = UTF8.decode(bytes)
    const colon = text.indexOf(':')
    if (colon === -1 || /\p{Cc}/u.test(text)) return undefined
    return { user: text.slice(0, colon), password: text.slice(colon + 1) }
  } catch {
    return undefined
  }
}

/** Created by the first comparison: Workers have no randomness while they load. */
let key: Uint8Array | undefined

/** Whether two texts are equal. How long it takes depends neither on where they differ nor on their length. */
export function equalsInConstantTime(actual: string, expected: string): boolean {
  key ??= randomBytes(32)
  const secret = key
  const digest = (text: string) => createHmac('sha256', secret).update(text).digest()
  return timingSafeEqual(digest(actual), digest(expected))
}
