// The body of a QUERY: the parameters of the GET as properties.

import { FORM_QUERY, JSON_QUERY } from '../query/body.ts'
import { INCLUDE } from '../query/include.ts'
import { WHERE } from '../query/where.ts'
import type { JsonSchema } from '../schema/json-schema.ts'

/** Builds the body from the parameters of the GET. */
export function buildQuery(
  parameters: readonly { readonly name: string; readonly schema: JsonSchema }[],
): object {
  const whereOf = (schema: JsonSchema) => Object(schema).contentSchema ?? schema
  const values = parameters.map(({ name, schema }) => [
    name,
    name === WHERE ? whereOf(schema) : schema,
  ])
  const texts = parameters.map(({ name, schema }) => [
    name,
    name === INCLUDE ? { type: 'string' } : schema,
  ])
  const toSchema = (entries: unknown[][]) => ({
    type: 'object',
    properties: Object.fromEntries(entries),
  })
  return {
    required: true,
    content: {
      [JSON_QUERY]: { schema: toSchema(values) },
      [FORM_QUERY]: { schema: toSchema(texts) },
    },
  }
}
