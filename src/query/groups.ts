// `by`: counts by the values of fields, with sums of others.
//   by=color,created_at:month&sum=price&sort=-count&limit=10 → what a store counts, and how its groups are printed

import { type Path, toPath } from '../base/paths.ts'
import { type Item, type Json, namesOf } from '../base/values.ts'
import { type ErrorType, type Issue, nearest, quote } from '../errors.ts'
import { type Parameter, readWholeNumber, single } from '../http/parameters.ts'
import {
  describeField,
  type Field,
  type Fields,
  findField,
  unknownField,
} from '../schema/fields.ts'
import type {
  Aggregate,
  AggregateWord,
  DatePart,
  Group,
  Grouping,
  GroupKey,
} from '../store/groups.ts'
import type { SortKey } from '../store/selection.ts'
import { parseSort } from '../store/sort.ts'
import { PLACES } from './list-parameters.ts'

/** The parameter that names what items are grouped by. */
export const BY = 'by'

/** The parameters that name what is computed for each group, and whether dates have it too. */
const AGGREGATES: Readonly<Record<AggregateWord, boolean>> = {
  sum: false,
  avg: false,
  min: true,
  max: true,
}

export const AGGREGATE_WORDS = namesOf(AGGREGATES)

/** The names in a printed group that no field may have by which items are grouped. */
export const GROUP_NAMES: ReadonlySet<string> = new Set(['count', ...AGGREGATE_WORDS])

const PARTS: readonly DatePart[] = ['day', 'month', 'year']

/** How many groups a count may have. */
export const MAX_GROUPS = 1000
export const MAX_KEYS = 4
const MAX_AGGREGATES = 16

/** The keys that `by` may name, by their names: `color`, `created_at`, `created_at:month`. */
export type GroupKeys = ReadonlyMap<string, GroupKey>

/** Lists the keys of declared fields: of a date its parts too. */
export function listGroupKeys(declared: readonly string[], fields: Fields): GroupKeys {
  const keys = new Map<string, GroupKey>()
  for (const dotted of declared) {
    const path = toPath(dotted)
    keys.set(dotted, { path })
    if (!isDate(findField(fields, path))) continue
    for (const part of PARTS) keys.set(`${dotted}:${part}`, { path, part })
  }
  return keys
}

function isDate(field: Field | undefined): boolean {
  return field?.kind === 'date' || field?.kind === 'date-time'
}

/** Whether the values of a field have an aggregate. */
export function hasAggregate(word: AggregateWord, field: Field): boolean {
  if (field.kind === 'number' || field.kind === 'integer') return true
  return AGGREGATES[word] && isDate(field)
}

/** What a count by groups asks for. */
export interface GroupQuery {
  readonly grouping: Grouping
  /** Where the values of a group are printed, with their fields: its keys, its number of items, its aggregates. */
  readonly columns: readonly GroupColumn[]
  readonly sort: readonly SortKey[]
  /** How many groups are returned; all where it is absent. */
  readonly limit: number | undefined
}

type GroupColumn = readonly [path: Path, field: Field]

const UNUSED = [...PLACES, 'fields']
const OWN: ReadonlySet<string> = new Set([BY, ...AGGREGATE_WORDS, 'sort', 'limit', ...UNUSED])

/** Whether a parameter makes a count one by groups; a name of {@link AGGREGATE_WORDS} without `by` may be a filter. */
export function needsGroups(name: string, fields: Fields): boolean {
  return name === BY || (Object.hasOwn(AGGREGATES, name) && !fields.has(name))
}

/** The parameters whose values are names, where a count has `by`. */
export const NAME_LISTS: ReadonlySet<string> = new Set([BY, ...AGGREGATE_WORDS, 'sort'])

/** Whether a parameter is about the groups of a count with `by`; others are filters. */
export function isGroupParameter(name: string): boolean {
  return OWN.has(name)
}

/**
 * Reads the parameters about groups. Issues are added to the list.
 * @param fields those that the client may read.
 * @param keys that `by` may name.
 */
export function readGroupQuery(
  parameters: readonly Parameter[],
  fields: Fields,
  keys: GroupKeys,
  issues: Issue[],
): GroupQuery {
  const add = (field: string, message: string, type: ErrorType) => {
    issues.push({ message, field, type })
  }
  const listNames = (name: string) => {
    const values = parameters.filter(each => each.name === name).map(({ value }) => value)
    return [...new Set(values.join().split(','))].filter(text => text !== '')
  }
  if (!parameters.some(({ name }) => name === BY)) {
    const message = `${AGGREGATE_WORDS.join(', ')} need ${BY}. Send the fields to group by, such as ${BY}=color, or ${BY}= for all items together`
    add(BY, message, 'required')
  }
  for (const name of UNUSED) {
    if (parameters.some(each => each.name === name))
      add(name, `${name} has no meaning with ${BY}`, 'unknown_parameter')
  }
  const grouped = readKeys(listNames(BY), keys, add)
  const aggregates = AGGREGATE_WORDS.flatMap(word =>
    listNames(word).flatMap(dotted => readAggregate(word, dotted, fields, issues) ?? []),
  )
  if (aggregates.length > MAX_AGGREGATES) {
    const message = `A count may have at most ${MAX_AGGREGATES} sums and the like, not ${aggregates.length}`
    add(BY, message, 'too_many_values')
  }
  const columns = listColumns(grouped, aggregates, fields)
  const sort = readSort(single(parameters, 'sort', issues) ?? '', columns, add)
  return {
    grouping: { keys: grouped, aggregates, limit: MAX_GROUPS },
    columns,
    sort: [...sort, ...grouped.map(({ path }) => ({ path, descending: false }))],
    limit: readWholeNumber('limit', single(parameters, 'limit', issues), issues),
  }
}

type AddIssue = (field: string, message: string, type: ErrorType) => void

function readKeys(names: readonly string[], known: GroupKeys, add: AddIssue): GroupKey[] {
  if (names.length > MAX_KEYS) {
    const message = `${BY} names ${names.length} fields; at most ${MAX_KEYS} are allowed`
    add(BY, message, 'too_many_groups')
    return []
  }
  const found: GroupKey[] = []
  for (const name of names) {
    const key = known.get(name)
    if (!key) {
      const near = nearest(name, known.keys())
      const hint =
        near === undefined ? `. Use: ${[...known.keys()].join(', ')}` : `: did you mean ${near}?`
      add(BY, `Items are not counted by ${quote(name)}${hint}`, 'unknown_group')
      continue
    }
    const dotted = key.path.join('.')
    if (found.some(({ path }) => path.join('.') === dotted))
      add(BY, `${BY} names ${dotted} twice: send one of its parts`, 'invalid_value')
    else found.push(key)
  }
  return found
}

function readAggregate(
  of: AggregateWord,
  dotted: string,
  fields: Fields,
  issues: Issue[],
): Aggregate | undefined {
  const path = toPath(dotted)
  const field = findField(fields, path)
  if (field && hasAggregate(of, field)) return { of, path }
  if (!field) issues.push(unknownField(dotted, fields, of))
  else {
    const wanted = AGGREGATES[of] ? 'numbers and dates' : 'numbers'
    const message = `${of} is for ${wanted}; ${dotted.slice(0, 64)} is ${describeField(field)}`
    issues.push({ message, field: of, type: 'not_a_number' })
  }
  return undefined
}

const WHOLE: Field = { kind: 'integer', nullable: false, optional: false }
const NUMBER: Field = { ...WHOLE, kind: 'number' }
const TEXT: Field = { ...WHOLE, kind: 'string' }

/** Lists what is printed of a group. */
function listColumns(
  keys: readonly GroupKey[],
  aggregates: readonly Aggregate[],
  fields: Fields,
): GroupColumn[] {
  const own = (path: Path) => findField(fields, path) ?? TEXT
  return [
    ...keys.map(({ path, part }): GroupColumn => {
      const field = own(path)
      const kind = part === undefined ? field.kind : part === 'day' ? 'date' : 'string'
      const nullable = path.length > 1 || field.nullable || field.optional
      return [path, { ...field, kind, nullable, optional: false }]
    }),
    [['count'], WHOLE],
    ...aggregates.map(({ of, path }): GroupColumn => {
      if (of === 'sum') return [[of, ...path], NUMBER]
      const field = of === 'avg' ? NUMBER : own(path)
      return [[of, ...path], { ...field, nullable: true, optional: false }]
    }),
  ]
}

function readSort(text: string, columns: readonly GroupColumn[], add: AddIssue): SortKey[] {
  const names = columns.map(([path]) => path.join('.'))
  const seen = new Set<string>()
  return parseSort(text).filter(({ path }) => {
    const name = path.join('.')
    if (seen.has(name)) return false
    seen.add(name)
    if (names.includes(name)) return true
    const shown = quote(name)
    add('sort', `Groups are not sorted by ${shown}. Use: ${names.join(', ')}`, 'not_sortable')
    return false
  })
}

/** Describes a group as it is printed. */
export function describeGroup({ columns }: Pick<GroupQuery, 'columns'>): Fields {
  const nested = nest<Field>(columns, properties => ({
    ...WHOLE,
    kind: 'object',
    properties: new Map(properties),
  }))
  return new Map(nested)
}

/** Prints a group: `{ color: 'red', count: 3, sum: { price: 60 } }`. */
export function printGroup({ keys, count, values }: Group, { columns }: GroupQuery): Item {
  const printed = [...keys, count, ...values]
  const entries = columns.map(([path], at): [Path, Json] => [path, printed[at] ?? null])
  return Object.fromEntries(nest<Json>(entries, Object.fromEntries))
}

/** Puts values with paths into each other. @param join makes the value of several properties. */
export function nest<T>(
  entries: readonly (readonly [Path, T])[],
  join: (properties: readonly (readonly [string, T])[]) => T,
): (readonly [string, T])[] {
  const below = new Map<string, (readonly [Path, T])[]>()
  for (const [[name = '', ...rest], value] of entries)
    below.set(name, [...(below.get(name) ?? []), [rest, value]])
  return Array.from(below, ([name, parts]) => {
    const own = parts.find(([rest]) => rest.length === 0)
    return [name, own ? own[1] : join(nest(parts, join))]
  })
}
