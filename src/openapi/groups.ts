// Counts by groups in OpenAPI: the parameters of `GET /<collection>/count?by=`, and a group.

import { type Path, toPath } from '../base/paths.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
import { AGGREGATE_WORDS, BY, hasAggregate, MAX_GROUPS, MAX_KEYS, nest } from '../query/groups.ts'
import { type Fields, findField, listPaths } from '../schema/fields.ts'
import { fieldSchema, type JsonSchema } from '../schema/json-schema.ts'
import type { AggregateWord } from '../store/groups.ts'

/** The names of parameters that are about groups where a count has `by`: fields of such a name are `filter[sum]`. */
export function isGroupName(name: string): boolean {
  return name === BY || AGGREGATE_WORDS.some(word => word === name)
}

/** A parameter: its name, its schema, its description. */
export type GroupParameter = readonly [name: string, schema: JsonSchema, description: string]

const DESCRIPTIONS: Readonly<Record<AggregateWord, string>> = {
  sum: 'With `by`: fields whose sum each group has',
  avg: 'With `by`: fields whose average each group has',
  min: 'With `by`: fields whose least value each group has',
  max: 'With `by`: fields whose greatest value each group has',
}

/** Lists the parameters about groups. */
export function listGroupParameters({
  groups,
  queryFields,
}: CollectionDefinition): GroupParameter[] {
  const aggregates = AGGREGATE_WORDS.flatMap((word): GroupParameter[] => {
    const paths = listAggregated(word, queryFields)
    return paths.length === 0 ? [] : [[word, listOf(paths), DESCRIPTIONS[word]]]
  })
  return [
    [
      BY,
      { ...listOf([...groups.keys()]), maxItems: MAX_KEYS },
      `Counts by groups: at most ${MAX_GROUPS}, with the day, month or year of dates in UTC. Empty: one group of all items`,
    ],
    ...aggregates,
    [
      'sort',
      { type: 'string' },
      'With `by`: the order of the groups, such as `-count` or `-sum.price`',
    ],
    ['limit', { type: 'integer', minimum: 0 }, 'With `by`: how many groups are returned'],
  ]
}

function listOf(names: readonly string[]): JsonSchema {
  return { type: 'array', items: { type: 'string', enum: names } }
}

function listAggregated(word: AggregateWord, fields: Fields): string[] {
  return listPaths(fields).filter(dotted => {
    const field = findField(fields, toPath(dotted))
    return field && hasAggregate(word, field)
  })
}

const COUNT: JsonSchema = { type: 'integer', minimum: 0 }

/** Builds the schema of groups. Which keys and aggregates they have depends on the request. */
export function groupsSchema({ groups, queryFields }: CollectionDefinition): JsonSchema {
  const keys = [...groups.values()].map(({ path, part }): [Path, JsonSchema] => {
    const field = findField(queryFields, path)
    // A date, or a part of one.
    return [path, orNull(part || !field ? { type: 'string' } : fieldSchema(field))]
  })
  const aggregates = AGGREGATE_WORDS.flatMap(word =>
    listAggregated(word, queryFields).map((dotted): [Path, JsonSchema] => {
      const path = toPath(dotted)
      const field = findField(queryFields, path)
      const isOwn = field && (word === 'min' || word === 'max')
      const schema = isOwn ? fieldSchema(field) : { type: 'number' }
      return [[word, ...path], word === 'sum' ? schema : orNull(schema)]
    }),
  )
  const toObject = (properties: readonly (readonly [string, JsonSchema])[]): JsonSchema => ({
    type: 'object',
    properties: Object.fromEntries(properties),
  })
  const columns = [
    ...new Map([...keys, ...aggregates].map(each => [each[0].join('.'), each])).values(),
  ]
  const group = toObject([['count', COUNT], ...nest(columns, toObject)])
  return { type: 'array', items: { ...group, required: ['count'] } }
}

function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] }
}
