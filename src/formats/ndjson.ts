// `application/x-ndjson`: one JSON value on each line.
import { printJson } from '../base/exact-numbers.ts'
import type { Json } from '../base/values.ts'
import { printBatches } from './chunks.ts'
import type { Format, ReadContext, Representation } from './format.ts'
import { parseJson, tooManyMembers } from './json.ts'
import { locateLine } from './json-value.ts'
import { readText } from './read-body.ts'

/**
 * `application/x-ndjson`: a list is streamed whole, one item on each line; `.ndjson`. It is read as an array of items to
 * create.
 */
export const ndjson: Format = {
  name: 'ndjson',
  extensions: ['ndjson'],
  types: ['application/x-ndjson'],
  streams: true,
  write: printNdjson,
  readItems: readNdjson,
}

/** Reads the value of each line that is not empty. @throws HttpError 400 that names the line, 413 */
async function readNdjson(body: AsyncIterable<Uint8Array>, context: ReadContext): Promise<Json[]> {
  const { depth, members } = context.limits
  const text = await readText(body, context)
  const items: Json[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    if (items.length >= members) throw tooManyMembers(members)
    try {
      items.push(parseJson(line, depth, members))
    } catch (error) {
      throw locateLine(error, at + 1)
    }
    context.lines?.push(at + 1)
  }
  return items
}

function printNdjson(representation: Representation): string | AsyncIterable<Uint8Array> {
  switch (representation.kind) {
    case 'item':
    case 'document':
      return printLine(representation.data)
    case 'list':
      return representation.data.map(printLine).join('')
    case 'errors':
      return representation.errors.map(printLine).join('')
    case 'stream':
      return printBatches(representation.data, printLine)
    default:
      throw new TypeError(`NDJSON cannot print ${representation.kind}`)
  }
}

function printLine(value: unknown): string {
  return `${printJson(value)}\n`
}
