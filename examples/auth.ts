// Who may use the example with `--auth`: tokens of an issuer, a user with a password, or both.
import { type Access, basic, bearerJwt, type Scheme } from 'rest-conventions'
import { equalsInConstantTime } from 'rest-conventions/rules'
import { OptionError } from './options.ts'

export const COLLECTIONS = ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']

/** Reading needs `<collection>:read`, everything else `<collection>:write`. */
export function accessTo(name: string): Access {
  return { list: [`${name}:read`], read: [`${name}:read`], default: [`${name}:write`] }
}

/**
 * Reads the schemes that the environment names: `AUTH_ISSUER` with `AUTH_JWKS_URI`, `BASIC_USER` with
 * `BASIC_PASS`. `AUTH_AUDIENCE` replaces the address of the server as what tokens must be for.
 * @throws OptionError if there is none, or half of one.
 */
export function readSchemes(
  env: Readonly<Record<string, string | undefined>>,
  baseUrl?: string,
): Scheme[] {
  const schemes: Scheme[] = []
  const token = together(env, ['AUTH_ISSUER', 'AUTH_JWKS_URI'])
  if (token) {
    const [issuer = '', jwksUri = ''] = token
    if (!env.AUTH_AUDIENCE && baseUrl === undefined) {
      throw new OptionError(
        'Tokens are for the address of the server: set --public-url, or AUTH_AUDIENCE',
      )
    }
    schemes.push(bearerJwt({ issuer, jwksUri, audience: env.AUTH_AUDIENCE || undefined }))
  }
  const password = together(env, ['BASIC_USER', 'BASIC_PASS'])
  if (password) schemes.push(createBasic(password))
  if (schemes.length > 0) return schemes
  throw new OptionError(
    '--auth needs AUTH_ISSUER and AUTH_JWKS_URI, or BASIC_USER and BASIC_PASS, in the environment',
  )
}

/** Says what clients cannot find out: `/.well-known/oauth-protected-resource` names the address alone. */
export function explainAudience(audience: string, baseUrl: string): string {
  if (audience === baseUrl) return `Tokens must be for ${audience}`
  return `Tokens must be for the audience ${audience}. Clients that discover this server ask for ${baseUrl}: tell them.`
}

function createBasic([user = '', password = '']: readonly string[]): Scheme {
  const scopes = COLLECTIONS.flatMap(name => [`${name}:read`, `${name}:write`])
  return basic({
    verify(name, secret) {
      // Both are always compared, so that the time does not tell which one is wrong.
      const [sameUser, samePassword] = [
        equalsInConstantTime(name, user),
        equalsInConstantTime(secret, password),
      ]
      return sameUser && samePassword ? { id: user, scopes } : undefined
    },
  })
}

/** Reads variables that belong together; `undefined` if none is set. */
function together(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string[] | undefined {
  const values = names.flatMap(name => (env[name] ? [env[name]] : []))
  if (values.length === 0) return undefined
  if (values.length === names.length) return values
  throw new OptionError(`${names.join(', ')} belong together: set all of them`)
}
