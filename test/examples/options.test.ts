import { describe, expect, test } from 'vitest'
import { DEFAULTS, OptionError, type Options, parseOptions } from '../../examples/options.ts'

type Env = Record<string, string>

const GOOD: [args: string, env: Env, expected: Partial<Options>][] = [
  ['', {}, {}],
  ['--port 8080', {}, { port: 8080 }],
  ['--port=8080', {}, { port: 8080 }],
  ['--port 0', {}, { port: 0 }],
  ['--port 65535', {}, { port: 65535 }],
  ['--host ::1', {}, { host: '::1' }],
  ['--database :memory:', {}, { database: ':memory:', blobs: ':memory:' }],
  ['--database :memory: --blobs files', {}, { database: ':memory:', blobs: 'files' }],
  ['--blobs /tmp/files', {}, { blobs: '/tmp/files' }],
  ['', { PORT: '81' }, { port: 81 }],
  ['', { PORT: '0' }, { port: 0 }],
  ['', { HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
  ['--public-url https://a.example', {}, { baseUrl: 'https://a.example' }],
  ['', { PUBLIC_URL: 'http://a.example/b' }, { baseUrl: 'http://a.example/b' }],
  ['', { DATABASE: 'a.db' }, { database: 'a.db' }],
  ['', { BLOBS: 'files' }, { blobs: 'files' }],
  ['--store postgres://h/d', {}, { database: 'postgres://h/d' }],
  ['--database a.db', { STORE: 'postgresql://h' }, { database: 'postgresql://h' }],
  ['', { PORT: '', HOST: '', DATABASE: '', BLOBS: '' }, {}],
  ['--port 82', { PORT: '81' }, { port: 82 }],
  ['--port 82', { PORT: 'nonsense' }, { port: 82 }],
  ['--auth', {}, { auth: true }],
  ['--tls-key k --tls-cert c', {}, { tls: { key: 'k', cert: 'c' } }],
  ['--tls-key k', { TLS_CERT: 'c' }, { tls: { key: 'k', cert: 'c' } }],
  ['--rate-limit 5/10', {}, { rateLimit: { limit: 5, window: 10 } }],
  ['--rate-limit off', { RATE_LIMIT: '1/1' }, { rateLimit: undefined }],
  ['', { RATE_LIMIT: '7/60' }, { rateLimit: { limit: 7, window: 60 } }],
  ['--database b.db', { DATABASE: 'a.db', PORT: '81' }, { database: 'b.db', port: 81 }],
]

const BAD: [args: string, env: Env, message: RegExp][] = [
  ['--port 65536', {}, /^--port must be a whole number from 0 to 65535, not "65536"$/],
  ['--port -1', {}, /--port/],
  ['--port=-1', {}, /^--port must be a whole number .* not "-1"$/],
  ['--port 80.5', {}, /not "80.5"$/],
  ['--port 0x50', {}, /not "0x50"$/],
  ['--port http', {}, /not "http"$/],
  ['', { PORT: 'http' }, /^PORT must be a whole number from 0 to 65535, not "http"$/],
  ['--port', {}, /--port/],
  ['--host=', {}, /^--host needs a value$/],
  ['--database=', {}, /^--database needs a value$/],
  [
    '--public-url a.example',
    {},
    /^--public-url must be an address such as https:.* not "a.example"$/,
  ],
  ['--store=', {}, /^--store needs a value$/],
  ['--store mssql://h/d', {}, /^--store must be an address such as postgres:/],
  ['--tls-key k', {}, /^--tls-key and --tls-cert belong together/],
  ['', { TLS_CERT: 'c' }, /belong together/],
  ['--rate-limit 5', {}, /<requests>\/<seconds> or off, not "5"$/],
  ['--rate-limit 0/1', {}, /not "0\/1"$/],
  ['--rate-limit 1/0', {}, /not "1\/0"$/],
  ['', { RATE_LIMIT: 'much' }, /not "much"$/],
  ['--prot 80', {}, /'--prot'/],
  ['8080', {}, /'8080'/],
]

describe('options of the example server', () => {
  test.each(GOOD)('%j with %j', (args, env, expected) => {
    expect(parseOptions(args.split(' ').filter(Boolean), env)).toEqual({ ...DEFAULTS, ...expected })
  })

  test.each(BAD)('%j with %j is refused', (args, env, message) => {
    const parse = () => parseOptions(args.split(' ').filter(Boolean), env)
    expect(parse).toThrow(OptionError)
    expect(parse).toThrow(message)
  })

  test('--help wins over all other options', () => {
    expect(parseOptions(['--help', '--host', 'x'], {})).toBe('help')
  })
})
