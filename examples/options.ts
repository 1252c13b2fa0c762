// What the example server is told: by `--name value`, else by the environment, else a default.
import { parseArgs } from 'node:util'

export interface Options {
  /** 0 takes any free port. */
  readonly port: number
  readonly host: string
  /** A SQLite file, made where there is none; `:memory:` keeps nothing. */
  readonly database: string
  /** A directory for the files of photos, made where there is none; `:memory:` keeps nothing. */
  readonly blobs: string
}

/** In the place of a file or a folder: nothing is kept. */
export const MEMORY = ':memory:'

export const DEFAULTS: Options = {
  port: 3000,
  host: '127.0.0.1',
  database: 'data/example.db',
  blobs: 'data/blobs',
}

export const USAGE = `Usage: npm start -- [options]

  --port <number>     PORT      0 takes any free port          (${DEFAULTS.port})
  --host <address>    HOST      the address to listen on       (${DEFAULTS.host})
  --database <file>   DATABASE  a SQLite file, or :memory:     (${DEFAULTS.database})
  --blobs <folder>    BLOBS     where the files of photos live (${DEFAULTS.blobs};
                                with a database in memory, there too)
  --help                        shows this`

/** Why an example cannot start, for a person. */
export class StartError extends Error {}

/** Options that cannot be meant; its message says what would do. */
export class OptionError extends StartError {}

/**
 * Reads the options; an empty variable counts as absent.
 * @returns `help` where only that was asked for.
 * @throws OptionError
 */
export function parseOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Options | 'help' {
  const given = parseFlags(args)
  if (given.help) return 'help'
  const text = (name: keyof Options) => {
    const flag = given[name]
    if (flag === '') throw new OptionError(`--${name} needs a value`)
    return flag ?? (env[name.toUpperCase()] || undefined)
  }
  const database = text('database') ?? DEFAULTS.database
  return {
    port: portOf(text('port'), given.port === undefined ? 'PORT' : '--port'),
    host: text('host') ?? DEFAULTS.host,
    database,
    // Files of items that are gone would only be left over.
    blobs: text('blobs') ?? (database === MEMORY ? MEMORY : DEFAULTS.blobs),
  }
}

function parseFlags(args: readonly string[]) {
  const type = 'string'
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type },
        host: { type },
        database: { type },
        blobs: { type },
        help: { type: 'boolean' },
      },
    })
    return values
  } catch (error) {
    const [message = ''] = error instanceof Error ? error.message.split('. ', 1) : []
    throw new OptionError(message, { cause: error })
  }
}

function portOf(text: string | undefined, source: string): number {
  if (text === undefined) return DEFAULTS.port
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new OptionError(
    `${source} must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
  )
}
