#!/usr/bin/env node
// The commands of the package, such as `npx rest-conventions types https://api.example > api.ts`.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { suggestion } from '../errors.ts'
import { CommandError } from './output/command-error.ts'
import { printTypes } from './print-types.ts'
import { readDocument, TOKEN } from './read-document.ts'

const TYPES = `Usage: npx rest-conventions types <source> > api.ts

Prints the types of an API of rest-conventions as a module of TypeScript, for
createClient<Api>(…) of rest-conventions/client in another repository.

<source> is the URL of the API, or of its OpenAPI document; the path of a
file with that document; or - for the standard input.

${TOKEN} in the environment is sent as a bearer token, only to the
origin of the URL. "Basic …" and other schemes are sent as they are.
`

const PULL = `Usage: npx rest-conventions pull [<database>] > collections.ts

Prints a collection for each table of a database, as a module of TypeScript.
It reads the catalog, and no rows.

<database> is the URL of a PostgreSQL, or the path of a SQLite file. Default:
DATABASE_URL in the environment. The driver is the one that your project has.

  --schema <name>   a schema of PostgreSQL other than the first of its search path
  --diff <file>     prints what the database says otherwise than that file
`

const SERVE = `Usage: npx rest-conventions serve <source>

Serves a JSON file, a SQLite file, or a PostgreSQL database as an API with HTML
pages, on this machine. Default of <source>: DATABASE_URL in the environment.

A JSON file holds the data: { "posts": [ … ] }. Each write replaces the file. A
database is read-only unless you add --write. Columns that look like secrets are
left out.

  --port <number>     default 3000; 0 takes a free port
  --host <host>       listens there, and allows that name as Host. Default 127.0.0.1
  --write             writes to a database
  --no-write          only reads a JSON file
  --auth <token>      requires this token of every client, as Authorization: Bearer
                      or as the password in a browser
  --cors <origin>     pages of this origin may call it; repeat it for more origins,
                      or * for all. Default: pages of this machine
  --dialect <name>    query parameters of json-server or simple-rest
  --watch             reads a JSON file again when it changes
  --schema <name>     a schema of PostgreSQL
`

const USAGE = `Usage: npx rest-conventions <command>

  serve <source>       a JSON file or a database as an API with pages
  types <source>       the types of an API, for clients in another repository
  pull [<database>]    the tables of a database as collections
  check-rows <module>  the rows that the schemas of an API refuse
  help <command>       how to use one of them
  --version            the version of the package
`

const CHECK_ROWS = `Usage: npx rest-conventions check-rows <module> [<collection>]

Prints the ids of the items that the schema of their collection refuses, each
with what is wrong. It reads one item after another, and changes nothing. It
ends with 1 if there are any.

<module> is a file that exports an API, such as collections.ts.
`

const OPTION = { type: 'string' } as const
const FLAG = { type: 'boolean' } as const
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  ...{ schema: OPTION, diff: OPTION, port: OPTION, host: OPTION, auth: OPTION, dialect: OPTION },
  ...{ write: FLAG, 'no-write': FLAG, watch: FLAG },
  cors: { type: 'string', multiple: true },
} as const
type OptionName = keyof typeof OPTIONS
type Values = ReturnType<typeof readArguments>['values']

interface Command {
  readonly help: string
  readonly options: readonly OptionName[]
  /** The minimum and the maximum of arguments after its name. */
  readonly words: readonly [number, number]
  /** @returns what goes to the standard output. @throws CommandError */
  run(words: readonly string[], values: Values): Promise<string>
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    help: SERVE,
    options: ['port', 'host', 'write', 'no-write', 'auth', 'cors', 'dialect', 'watch', 'schema'],
    words: [0, 1],
    async run(words, { write, 'no-write': noWrite, ...values }) {
      const source = findSource(words, SERVE)
      if (write && noWrite)
        throw new CommandError(`--write and --no-write exclude each other\n\n${SERVE}`)
      const { serve } = await import('./serve/serve.ts')
      await serve({ ...values, source, write: noWrite ? false : write }, printLine)
      return ''
    },
  },
  types: {
    ...{ help: TYPES, options: [], words: [1, 1] },
    run: async ([source = '']) =>
      printTypes(await readDocument(source, process.env[TOKEN]?.trim() || undefined)),
  },
  pull: {
    ...{ help: PULL, options: ['schema', 'diff'], words: [0, 1] },
    async run(words, { schema, diff }) {
      const source = findSource(words, PULL)
      const { pull } = await import('./pull/pull.ts')
      return pull({ source, schema, diff })
    },
  },
  'check-rows': {
    ...{ help: CHECK_ROWS, options: [], words: [1, 2] },
    async run([path = '', collection]) {
      const { checkRows } = await import('./check-rows.ts')
      if ((await checkRows({ path, collection }, printLine)) > 0) process.exitCode = 1
      return ''
    },
  },
}

/** Finds the URL of a PostgreSQL or the path of a file, which may have `file:` before it. @throws CommandError */
function findSource([source = process.env.DATABASE_URL]: readonly string[], help: string): string {
  const found = source?.replace(/^(?:file|sqlite):(?:\/\/(?=\/))?/i, '')
  if (!found) throw new CommandError(`Neither a source nor DATABASE_URL is given\n\n${help}`)
  const [, scheme] = /^([a-z][a-z+.-]*):\/\//i.exec(found) ?? []
  if (scheme === undefined || /^postgres(?:ql)?$/i.test(scheme)) return found
  throw new CommandError(`Only PostgreSQL and SQLite can be read, not ${scheme}: URLs`)
}

/** @returns what goes to the standard output. @throws CommandError */
async function run(args: readonly string[]): Promise<string> {
  const { values, positionals } = readArguments(args)
  const [first = '', ...words] = positionals
  if (values.version) return readVersion()
  if (first === 'help' || (first === '' && values.help))
    return words[0] === undefined ? USAGE : findCommand(words[0]).help
  const {
    help,
    options,
    words: [least, most],
    ...command
  } = findCommand(first)
  if (values.help) return help
  const given = Object.keys(values) as OptionName[] // parseArgs takes no others
  const foreign = given.find(name => !options.includes(name))
  if (foreign !== undefined)
    throw new CommandError(`${first} has no option --${foreign}.\n\n${help}`)
  if (words.length < least) throw new CommandError(`${first} needs an argument\n\n${help}`)
  if (words.length > most)
    throw new CommandError(`${first} has too many arguments: ${words[most]}\n\n${help}`)
  return command.run(words, values)
}

function findCommand(name: string): Command {
  const found = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (found) return found
  const near = suggestion(name, Object.keys(COMMANDS))
  throw new CommandError(name === '' ? USAGE : `There is no command "${name}"${near}\n\n${USAGE}`)
}

async function readVersion(): Promise<string> {
  const manifest = new URL('../../package.json', import.meta.url)
  return `${JSON.parse(await readFile(manifest, 'utf8')).version}\n`
}

/** Prints a line, and waits where the output is slow. */
function printLine(line: string): unknown {
  return process.stdout.write(line) || once(process.stdout, 'drain')
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const [name = ''] = args
    const [, option = ''] = /option '(--?[^' ]*)/.exec(String(error)) ?? []
    const near = suggestion(
      option,
      Object.keys(OPTIONS).map(name => `--${name}`),
    )
    const what =
      option === '' ? '' : `The option ${option.slice(0, 50)} is unknown or has no value${near}\n\n`
    const help = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.help : undefined
    throw new CommandError(`${what}${help ?? USAGE}`)
  }
}

try {
  process.stdout.write(await run(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
