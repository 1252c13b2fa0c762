// The body of a QUERY: the parameters of the GET as properties.

import { FORM_QUERY, JSON_QUERY } from '../query/body.ts'
import { WHERE } from '../query/where.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { QueryParameter } from './filters.ts'
import { type MethodDescription, shareSchema } from './method.ts'
import { printItemType, toTypeName } from './names.ts'
import { listQueryParameters } from './parameters.ts'

/** Builds the body from the parameters of the GET. Its filters are the same for lists, counts and searches. */
export function buildQuery(described: MethodDescription): object | undefined {
  const { target, name } = described
  const { collection } = target
  if (!collection) return undefined
  const parameters = listQueryParameters(described)
  const filters = parameters.filter(({ filter }) => filter !== undefined)
  const others = parameters.filter(({ filter }) => filter === undefined)
  const type = printItemType(collection)
  const share = (of: string, build: () => JsonSchema) =>
    shareSchema(described, type + of, { owner: collection, part: `query.${of}` }, build)
  const schema = share(`${name === 'list' ? '' : toTypeName(name)}Query`, () => ({
    allOf: [share('Filters', () => toObject(filters)), toObject(others)],
  }))
  const form = { type: 'object', description: 'The query of the GET' }
  return { required: true, content: { [JSON_QUERY]: { schema }, [FORM_QUERY]: { schema: form } } }
}

function toObject(parameters: readonly QueryParameter[]): JsonSchema {
  const properties = parameters.map(({ name, schema }): [string, JsonSchema] => [
    name,
    name === WHERE ? (Object(schema).contentSchema ?? schema) : schema,
  ])
  return { type: 'object', properties: Object.fromEntries(properties) }
}
