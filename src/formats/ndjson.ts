// `application/x-ndjson`: one JSON value on each line.
import { printBatches } from './chunks.ts'
import type { Format, Representation } from './format.ts'

/** `application/x-ndjson`, written only: a list is streamed whole, one item on each line; `.ndjson`. */
export const ndjson: Format = {
  name: 'ndjson',
  extensions: ['ndjson'],
  types: ['application/x-ndjson'],
  streams: true,
  write: printNdjson,
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
  return `${JSON.stringify(value)}\n`
}
