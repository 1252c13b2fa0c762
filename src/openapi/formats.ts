// The formats that a document describes.

import { quote } from '../errors.ts'
import type { Format } from '../formats/format.ts'
import type { ApiDefinition } from '../model/types/definition.ts'

/** Finds formats by their names; `unknown` says what is wrong with one that the api lacks. */
export function findFormats(
  { formats }: ApiDefinition,
  names: readonly string[],
): { readonly formats: readonly Format[]; readonly unknown?: string } {
  const unknown = names.find(name => !formats.some(format => format.name === name))
  // Files are sent in it, whatever else is.
  const found = formats.filter(({ name }) => names.includes(name) || name === 'multipart')
  if (unknown === undefined) return { formats: found }
  const known = formats.map(({ name }) => name).join(', ')
  return {
    formats: found,
    unknown: `formats: the api has no format ${quote(unknown)}. It has ${known}`,
  }
}
