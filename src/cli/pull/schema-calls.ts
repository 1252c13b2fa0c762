// A zod schema as a list of calls, which `pull` prints and `serve` runs.
import { printLiteral, printQuoted } from '../output/source-text.ts'

/** `['max', 20]` is `.max(20)`. */
export type SchemaCall = readonly [name: string, argument?: SchemaArgument]
/** `[['int'], ['min', 0]]` is `z.int().min(0)`. */
export type SchemaCalls = readonly SchemaCall[]

type SchemaArgument =
  | string
  | number
  | boolean
  | null
  /** The labels of an enum; also an empty list as a default. */
  | readonly string[]
  | { readonly element?: SchemaCalls; readonly description?: string }

/** Prints a schema: `z.string().max(20)`. */
export function printSchema(calls: SchemaCalls): string {
  const print = ([name, ...args]: SchemaCall) => `.${name}(${args.map(printArgument).join('')})`
  return `z${calls.map(print).join('')}`
}

function printArgument(argument: SchemaArgument | undefined): string {
  if (typeof argument === 'string') return printQuoted(argument)
  if (isList(argument)) return `[${argument.map(printQuoted).join(', ')}]`
  const { element, description } = Object(argument)
  if (element) return printSchema(element)
  if (description !== undefined) return `{ description: ${printQuoted(description)} }`
  return typeof argument === 'object' && argument !== null ? '{}' : printLiteral(argument)
}

export function isList(argument: SchemaArgument | undefined): argument is readonly string[] {
  return Array.isArray(argument)
}
