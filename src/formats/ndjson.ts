// `application/x-ndjson`: one JSON value on each line. It only writes; a list is streamed whole.
import type { Json } from '../schema/values.ts'
import { type Format, inChunks, type Representation } from './format.ts'

/** `application/x-ndjson`, written only: a list, whole, an item on each line; `.ndjson`. */
export const ndjson: Format = {
  name: 'ndjson',
  extensions: ['ndjson'],
  types: ['application/x-ndjson'],
  streams: true,
  write: printNdjson,
}

function printNdjson(representation: Representation): string | AsyncIterable<string> {
  switch (representation.kind) {
    case 'item':
    case 'document':
      return line(representation.data)
    case 'list':
      return lines(representation.data)
    case 'errors':
      return lines(representation.errors)
    case 'stream':
      return chunks(representation.data)
    default:
      throw new TypeError(`NDJSON prints no ${representation.kind}`)
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function lines(values: readonly unknown[]): string {
  let text = ''
  for (const value of values) text += line(value)
  return text
}

async function* chunks(batches: AsyncIterable<readonly Json[]>): AsyncGenerator<string> {
  for await (const batch of batches) yield* inChunks(batch, line)
}
