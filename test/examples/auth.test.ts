// The example server with `--auth` and `--rate-limit`, as a process.
import { expect, test } from 'vitest'
import { readSchemes } from '../../examples/auth.ts'
import { OptionError } from '../../examples/options.ts'
import { start } from './running.ts'

const MEMORY = ['--database', ':memory:', '--port', '0']

async function serve(args: readonly string[], env: Record<string, string> = {}) {
  const server = start('server', [...MEMORY, ...args], env)
  const [, root = ''] = await server.until(/Serving (\S+)/)
  return { server, root }
}

test('--auth requires a password, and counts each client', async () => {
  const env = { BASIC_USER: 'ann', BASIC_PASS: 'x', RATE_LIMIT: '3/60' }
  const { server, root } = await serve(['--auth'], env)
  const as = (user: string) => ({ headers: { authorization: `Basic ${btoa(user)}` } })
  const without = await fetch(`${root}cars`)
  expect([without.status, without.headers.get('www-authenticate')]).toEqual([
    401,
    'Basic realm="api", charset="UTF-8"',
  ])
  expect((await fetch(root)).status).toBe(200)
  expect((await fetch(`${root}cars`, as('ann:y'))).status).toBe(401)
  const statuses = []
  for (let at = 0; at < 4; at++) statuses.push(await fetch(`${root}cars`, as('ann:x')))
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  expect(statuses.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual([
    '2',
    '1',
    '0',
    '0',
  ])
  await server.ended('SIGTERM')
})

test('without --auth everything is open; --rate-limit off removes the default limit', async () => {
  const { server, root } = await serve([])
  expect((await fetch(`${root}cars`)).headers.get('x-ratelimit-limit')).toBe('1000000')
  await server.ended('SIGTERM')
  const free = await serve(['--rate-limit', 'off'])
  expect((await fetch(`${free.root}cars`)).headers.get('x-ratelimit-limit')).toBeNull()
  await free.server.ended('SIGTERM')
})

test.each([
  [{}],
  [{ BASIC_USER: 'ann' }],
  [{ AUTH_ISSUER: 'https://issuer.example' }],
  // Without an address of the server nothing says what tokens must be for.
  [{ AUTH_ISSUER: 'https://issuer.example', AUTH_JWKS_URI: 'https://issuer.example/jwks' }],
  [{ AUTH_ISSUER: 'https://issuer.example', AUTH_AUDIENCE: 'x', BASIC_USER: 'a', BASIC_PASS: 'b' }],
])('--auth with %j is refused', env => {
  expect(() => readSchemes(env)).toThrow(OptionError)
})

test('--auth accepts an issuer and a password together', () => {
  const env = {
    AUTH_ISSUER: 'https://issuer.example',
    AUTH_AUDIENCE: 'x',
    AUTH_JWKS_URI: 'https://issuer.example/jwks',
    BASIC_USER: 'a',
    BASIC_PASS: 'b',
  }
  expect(readSchemes(env).map(({ name }) => name)).toEqual(['Bearer', 'Basic'])
})

test('tokens are for the address of the server; another audience is printed at start', async () => {
  const env = {
    AUTH_ISSUER: 'https://issuer.example',
    AUTH_JWKS_URI: 'https://issuer.example/jwks',
  }
  const [scheme] = readSchemes(env, 'https://cars.example')
  expect(scheme?.needsBaseUrl).toBe(true)
  const other = start('server', [...MEMORY, '--auth', '--public-url', 'https://cars.example'], {
    ...env,
    AUTH_AUDIENCE: 'urn:cars',
  })
  await other.until(
    /^Tokens must be for the audience urn:cars\. Clients that discover this server ask for https:\/\/cars\.example: tell them\.$/m,
  )
  await other.ended('SIGTERM')
})

test('an invalid certificate ends the start with a clear message', async () => {
  const server = start('server', [...MEMORY, '--tls-key', '/nothing', '--tls-cert', '/nothing'])
  expect(await server.ended()).toBe(1)
  expect(server.errors()).toMatch(/^Cannot serve with TLS: .*\/nothing/m)
})
