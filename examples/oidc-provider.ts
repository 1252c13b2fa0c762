// An issuer of access tokens to try `--auth` with, by oidc-provider: `npx tsx examples/oidc-provider.ts`.
// Everybody can read its clients and their secrets here: use it on your machine only.
import { createServer } from 'node:http'
import * as jose from 'jose'
import Provider from 'oidc-provider'
import { COLLECTIONS } from './auth.ts'
import { listen } from './listen.ts'

/** What tokens are for: the example's `AUTH_AUDIENCE`. */
const AUDIENCE = 'urn:cars'
const port = Number(process.env.PORT ?? 3001)
const issuer = `http://localhost:${port}`
const scope = COLLECTIONS.flatMap(name => [`${name}:read`, `${name}:write`]).join(' ')

function client(name: string) {
  return {
    client_id: name,
    client_secret: `${name}-secret`,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  }
}

const { privateKey } = await jose.generateKeyPair('RS256', { extractable: true })
const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await jose.exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
  // The tokens of `late` have expired when it gets them.
  clients: [client('robot'), client('late')],
  scopes: scope.split(' '),
  ttl: { ClientCredentials: 600 },
  formats: {
    customizers: {
      jwt(_context: unknown, { clientId }: { clientId: string }, { payload }: { payload: Claims }) {
        if (clientId === 'late') payload.exp = payload.iat - 60
      },
    },
  },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope,
        audience: AUDIENCE,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})

/** When a token was made and when it ends, in seconds since 1970. */
interface Claims {
  iat: number
  exp: number
}

await listen(createServer(provider.callback()), port, '127.0.0.1')
console.log(`Issuing tokens for ${AUDIENCE} at ${issuer}/token, its keys are at ${issuer}/jwks`)
