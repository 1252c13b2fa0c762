// Schemes and access rules, as OpenAPI 3.1.
import { type AccessRule, listScopes } from '../auth/access.ts'
import type { Scheme } from '../auth/scheme.ts'

/** A security scheme: of HTTP, by its name there, or a header of its own. */
export interface SecurityScheme {
  readonly type: 'apiKey' | 'http'
  readonly scheme?: string
  readonly in?: 'header'
  readonly name?: string
  readonly description?: string
}

/** Names each scheme and describes it as a security scheme. */
export function describeSchemes(schemes: readonly Scheme[]): ReadonlyMap<string, SecurityScheme> {
  const described = new Map<string, SecurityScheme>()
  for (const scheme of schemes) {
    const name = scheme.name.toLowerCase().replace(/[^a-z0-9._-]/g, '-')
    let key = name
    for (let number = 2; described.has(key); number++) key = `${name}${number}`
    described.set(key, describeScheme(scheme))
  }
  return described
}

function describeScheme({ name, headers, issuer }: Scheme): SecurityScheme {
  const [header, ...others] = headers ?? []
  const isOwnHeader = header !== undefined && !/^(?:authorization|cookie)$/i.test(header)
  if (isOwnHeader && others.length === 0) return { type: 'apiKey', in: 'header', name: header }
  return {
    type: 'http',
    scheme: name.toLowerCase(),
    ...(issuer !== undefined && {
      description: `Access tokens of ${issuer}`,
      'x-oauth2-metadata-url': metadataUrl(issuer),
    }),
  }
}

/** The metadata of an authorization server (RFC 8414 §3.1). */
function metadataUrl(issuer: string): string | undefined {
  if (!URL.canParse(issuer)) return undefined
  const { origin, pathname } = new URL(issuer)
  return `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`
}

/** Describes rules that must all hold as security requirements: one of the schemes, with these scopes. */
export function describeRules(rules: readonly AccessRule[], schemes: readonly Scheme[]): object[] {
  const sets = rules.reduce<readonly (readonly string[])[]>(
    (known, rule) =>
      known.flatMap(scopes => listScopes(rule).map(more => [...new Set([...scopes, ...more])])),
    [[]],
  )
  const names = [...describeSchemes(schemes).keys()]
  const choices = names.flatMap(name => sets.map(scopes => ({ [name]: scopes })))
  return rules.every(rule => rule === 'public') ? [{}, ...choices] : choices
}
