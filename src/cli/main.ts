#!/usr/bin/env node
// The commands of the package, such as `npx rest-conventions types https://api.example > api.ts`.
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { CommandError } from './output/command-error.ts'
import { printTypes } from './print-types.ts'
import { readDocument, TOKEN } from './read-document.ts'

const TYPES = `Usage: npx rest-conventions types <source> > api.ts

Prints the types of an API of rest-conventions as a module of TypeScript, for
createClient<Api>(…) of rest-conventions/client in another repository.

<source> is the address of the API, or of its OpenAPI document; the path of a
file with that document; or - for the standard input.

${TOKEN} in the environment is sent as a bearer token, to the origin
of the address alone. "Basic …" and other schemes are sent as they are.
`

const PULL = `Usage: npx rest-conventions pull [<database>] > collections.ts

Prints a collection for each table of a database, as a module of TypeScript.
It reads the catalog, and no rows.

<database> is the URL of a PostgreSQL, or the path of a file of SQLite. Default:
DATABASE_URL in the environment. The driver is the one that your project has.

  --schema <name>   a schema of PostgreSQL other than the first of its search path
  --diff <file>     prints what the database says otherwise than that file
`

const USAGE = `Usage: npx rest-conventions <command>

  types <source>       the types of an API, for clients in another repository
  pull [<database>]    the tables of a database as collections
  check-rows <module>  the rows that the schemas of an API refuse
  help <command>       how to use one of them
`

const CHECK_ROWS = `Usage: npx rest-conventions check-rows <module> [<collection>]

Prints the ids of the items that the schema of their collection refuses, each
with what is wrong. It reads one item after another, and changes nothing. It
ends with 1 if there are any.

<module> is a file that exports an API, such as collections.ts.
`

const HELP: Readonly<Record<string, string>> = {
  types: TYPES,
  pull: PULL,
  'check-rows': CHECK_ROWS,
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  schema: { type: 'string' },
  diff: { type: 'string' },
} as const

/** @returns what goes to the standard output. @throws CommandError */
async function run(args: readonly string[]): Promise<string> {
  const { values, positionals } = readArguments(args)
  const [command = '', source, name, ...others] = positionals
  const help = Object.hasOwn(HELP, command) ? HELP[command] : undefined
  if (values.help) return help ?? USAGE
  if (command === 'help')
    return (source !== undefined && Object.hasOwn(HELP, source) && HELP[source]) || USAGE
  const isLong = name !== undefined && command !== 'check-rows'
  if (!help || isLong || others.length > 0) throw new CommandError(help ?? USAGE)
  const hasOptions = values.schema !== undefined || values.diff !== undefined
  if (command === 'check-rows') {
    if (source === undefined || hasOptions) throw new CommandError(CHECK_ROWS)
    const { checkRows } = await import('./check-rows.ts')
    const refused = await checkRows({ path: source, collection: name }, printLine)
    if (refused > 0) process.exitCode = 1
    return ''
  }
  if (command === 'types') {
    if (source === undefined || hasOptions) throw new CommandError(TYPES)
    return printTypes(await readDocument(source, process.env[TOKEN]?.trim() || undefined))
  }
  const database = source ?? process.env.DATABASE_URL
  if (!database) throw new CommandError(PULL)
  const { pull } = await import('./pull/pull.ts')
  return pull({ source: database, schema: values.schema, diff: values.diff })
}

/** Prints a line, and waits where the output is slow. */
function printLine(line: string): unknown {
  return process.stdout.write(line) || once(process.stdout, 'drain')
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch {
    const [command = ''] = args
    throw new CommandError((Object.hasOwn(HELP, command) && HELP[command]) || USAGE)
  }
}

try {
  process.stdout.write(await run(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
