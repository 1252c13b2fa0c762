#!/usr/bin/env node
// The command of the package: `npx rest-conventions types https://api.example > api.ts`.
import { CommandError } from './command-error.ts'
import { printTypes } from './print-types.ts'
import { readDocument, TOKEN } from './read-document.ts'

const USAGE = `Usage: npx rest-conventions types <source> > api.ts

Prints the types of an API of rest-conventions as a module of TypeScript, for
createClient<Api>(…) of rest-conventions/client in another repository.

<source> is the address of the API, or of its OpenAPI document; the path of a
file with that document; or - for the standard input.

${TOKEN} in the environment is sent as a bearer token, to the origin
of the address alone. "Basic …" and other schemes are sent as they are.
`

/** @returns what goes to the standard output. @throws CommandError */
async function run(words: readonly string[]): Promise<string> {
  const [command, source, ...others] = words
  if (words.includes('--help') || words.includes('-h')) return USAGE
  if (command !== 'types' || source === undefined || others.length > 0 || /^-./.test(source))
    throw new CommandError(USAGE)
  return printTypes(await readDocument(source, process.env[TOKEN]?.trim() || undefined))
}

try {
  process.stdout.write(await run(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
