// The ids of link tables, made from two references: `3~7`. `~` and `%` within a value are escaped.

import type { Item, Scalar } from '../base/values.ts'
import { type Fields, findField } from '../schema/fields.ts'
import type { Filter } from './filter.ts'
import type { Identity } from './store.ts'

/** The fields that identify an item, and sort last. */
export function listIdFields({ name, parts = [name] }: Pick<Identity, 'name' | 'parts'>) {
  return parts
}

/** Prints the id of the values of these fields. */
export function printRelationId(parts: readonly string[], values: Item): string {
  const protect = (text: string) => text.replaceAll('%', '%25').replaceAll('~', '%7E')
  return parts.map(name => protect(String(values[name]))).join('~')
}

/** Parses such an id; `undefined` if `printRelationId` cannot have printed it. */
export function parseRelationId(
  parts: readonly string[],
  id: string,
  fields: Fields,
): readonly Scalar[] | undefined {
  const texts = id.split('~').map(part => part.replaceAll('%7E', '~').replaceAll('%25', '%'))
  const values = texts.map((text, at) =>
    findField(fields, [parts[at] ?? ''])?.kind === 'integer' ? Number(text) : text,
  )
  const named = Object.fromEntries(parts.map((name, at) => [name, values[at] ?? null]))
  return texts.length === parts.length && printRelationId(parts, named) === id ? values : undefined
}

/** Builds the filter of items with one of these ids, by the fields that make up the id. */
export function filterByParts(
  parts: readonly string[],
  ids: readonly Scalar[],
  fields: Fields,
): Filter {
  const filters = ids.flatMap((id): Filter[] => {
    const values = parseRelationId(parts, String(id), fields)
    const toFilter = (value: Scalar, at: number): Filter => {
      return { path: [parts[at] ?? ''], operator: 'in', values: [value] }
    }
    return values ? [{ operator: 'all', filters: values.map(toFilter) }] : []
  })
  return { operator: 'any', filters }
}
