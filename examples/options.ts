// The options of the example server: `--name value`, else the environment, else a default.
import { parseArgs } from 'node:util'

export interface Options {
  /** 0 takes any free port. */
  readonly port: number
  readonly host: string
  /** The public address of the server; `undefined` takes that of each request. */
  readonly baseUrl: string | undefined
  /** A SQLite file, created if it is missing; `:memory:` keeps nothing; or the address of a server. */
  readonly database: string
  /** A directory for the files of photos, created if it is missing; `:memory:` keeps nothing. */
  readonly blobs: string
  /** Whether clients must authenticate. */
  readonly auth: boolean
  /** The files of a key and its certificate, as PEM; `undefined` serves without TLS. */
  readonly tls: { readonly key: string; readonly cert: string } | undefined
  /** How many requests a client may make in how many seconds; `undefined` is no limit. */
  readonly rateLimit: { readonly limit: number; readonly window: number } | undefined
}

/** In place of a file or a folder: nothing is kept. */
export const MEMORY = ':memory:'

export const DEFAULTS: Options = {
  port: 3000,
  host: '127.0.0.1',
  baseUrl: undefined,
  database: 'data/example.db',
  blobs: 'data/blobs',
  auth: false,
  tls: undefined,
  rateLimit: { limit: 1_000_000, window: 60 },
}

export const USAGE = `Usage: npm start -- [options]

  --port <number>     PORT      0 takes any free port          (${DEFAULTS.port})
  --host <address>    HOST      the address to listen on       (${DEFAULTS.host})
  --public-url <address>  PUBLIC_URL  the public address, if not that of each request
  --database <file>   DATABASE  a SQLite file, or :memory:     (${DEFAULTS.database})
  --store <address>   STORE     postgres://…: there instead
  --blobs <folder>    BLOBS     where the files of photos live (${DEFAULTS.blobs};
                                with a database in memory, there too)
  --auth                        clients must authenticate: set AUTH_ISSUER and AUTH_JWKS_URI,
                                or BASIC_USER and BASIC_PASS, or all. Tokens must be for
                                --public-url, or for AUTH_AUDIENCE: tell clients of the latter
  --tls-key <file>    TLS_KEY   with --tls-cert: https
  --tls-cert <file>   TLS_CERT
  --rate-limit <n>/<s>  RATE_LIMIT  requests in seconds, or off (1000000/60)
  --help                        shows this`

/** Why an example cannot start; its message is for people. */
export class StartError extends Error {}

/** Invalid options; the message says what would be right. */
export class OptionError extends StartError {}

/**
 * Reads the options; an empty variable counts as absent.
 * @returns `help` if only that was asked for.
 * @throws OptionError
 */
export function parseOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Options | 'help' {
  const flags = parseFlags(args)
  if (flags.help) return 'help'
  const text = (
    name: Exclude<keyof Options, 'auth' | 'baseUrl' | 'rateLimit' | 'tls'> | FlagPart,
  ) => {
    const flag = flags[name]
    if (flag === '') throw new OptionError(`--${name} needs a value`)
    return flag ?? (env[name.toUpperCase().replace('-', '_')] || undefined)
  }
  const database = parseStore(text('store')) ?? text('database') ?? DEFAULTS.database
  return {
    port: parsePort(text('port'), flags.port === undefined ? 'PORT' : '--port'),
    host: text('host') ?? DEFAULTS.host,
    baseUrl: parseBaseUrl(text('public-url')),
    database,
    // Files would outlast their items.
    blobs: text('blobs') ?? (database === MEMORY ? MEMORY : DEFAULTS.blobs),
    auth: flags.auth === true,
    tls: parseTls(text('tls-key'), text('tls-cert')),
    rateLimit: parseRateLimit(flags['rate-limit'] ?? (env.RATE_LIMIT || undefined)),
  }
}

/** Flags that are part of another option. */
type FlagPart = 'public-url' | 'store' | 'tls-key' | 'tls-cert'

function parseFlags(args: readonly string[]) {
  const type = 'string'
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type },
        host: { type },
        'public-url': { type },
        database: { type },
        store: { type },
        blobs: { type },
        auth: { type: 'boolean' },
        'tls-key': { type },
        'tls-cert': { type },
        'rate-limit': { type },
        help: { type: 'boolean' },
      },
    })
    return values
  } catch (error) {
    const [message = ''] = error instanceof Error ? error.message.split('. ', 1) : []
    throw new OptionError(message, { cause: error })
  }
}

/** Finds the system that serves the address of a database; `undefined` for a file. */
export function findSystem(database: string): 'postgres' | undefined {
  return /^postgres(?:ql)?:\/\//.test(database) ? 'postgres' : undefined
}

function parseBaseUrl(text: string | undefined): string | undefined {
  if (text === undefined || /^https?:\/\/[^?#]+$/.test(text)) return text
  throw new OptionError(
    `--public-url must be an address such as https://api.example, not "${text}"`,
  )
}

function parseStore(text: string | undefined): string | undefined {
  if (text === undefined || findSystem(text)) return text
  const example = 'postgres://user:password@host/database'
  throw new OptionError(`--store must be an address such as ${example}; a file is a --database`)
}

function parseTls(key: string | undefined, cert: string | undefined): Options['tls'] {
  if (key === undefined && cert === undefined) return undefined
  if (key !== undefined && cert !== undefined) return { key, cert }
  throw new OptionError('--tls-key and --tls-cert belong together: give both')
}

function parseRateLimit(text: string | undefined): Options['rateLimit'] {
  if (text === undefined) return DEFAULTS.rateLimit
  if (text === 'off') return undefined
  const [, limit, window] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? []
  if (limit !== undefined) return { limit: Number(limit), window: Number(window) }
  const shown = JSON.stringify(text)
  throw new OptionError(`The rate limit must be <requests>/<seconds> or off, not ${shown}`)
}

function parsePort(text: string | undefined, source: string): number {
  if (text === undefined) return DEFAULTS.port
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new OptionError(
    `${source} must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
  )
}
