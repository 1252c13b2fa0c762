// Filters through relations: `model.name=Clio`, `options.label=GPS`, `options[exists]=false` say which items of the list are
// found. Those of one query, or of one object, that go through one relation are about the same item.

import { type Issue, nearest, quote } from '../errors.ts'
import type { Filter, FilterLeaf } from '../store/filter.ts'
import { EXISTS, type FilterName, findFilter, type InvalidName } from './filters.ts'
import {
  type Followed,
  followRelations,
  invalidStepsReason,
  type QueryScope,
  type Relation,
  unknownRelated,
} from './relation.ts'

/** Holds where an item has a related one that passes these filters. No store gets it: operations make a `within` of it. */
export interface RelatedFilter {
  readonly operator: 'related'
  readonly relation: Relation
  readonly where: readonly ParsedFilter[]
}

/** A filter as a query has it. */
export type ParsedFilter =
  | FilterLeaf
  | RelatedFilter
  | { readonly operator: 'all' | 'any'; readonly filters: readonly ParsedFilter[] }
  | { readonly operator: 'not'; readonly filter: ParsedFilter }

/** Whether a filter goes through no relation. */
export function isOwn(filter: ParsedFilter): filter is Filter {
  switch (filter.operator) {
    case 'related':
      return false
    case 'all':
    case 'any':
      return filter.filters.every(isOwn)
    case 'not':
      return isOwn(filter.filter)
    default:
      return true
  }
}

/**
 * Whether a filter lets every item through, or with `false` none, by its groups alone: `nin: []`, `not` of `in: []`. Of
 * a condition that is never said, whatever the items are.
 */
export function isAlways(filter: ParsedFilter, wanted = true): boolean {
  switch (filter.operator) {
    case 'not':
      return isAlways(filter.filter, !wanted)
    case 'all':
    case 'any': {
      const test = (each: ParsedFilter) => isAlways(each, wanted)
      const needsAll = (filter.operator === 'all') === wanted
      return needsAll ? filter.filters.every(test) : filter.filters.some(test)
    }
    default:
      return false
  }
}

/** Finds the filter that a field, maybe one of a related item, and an operator name. */
export function findFilterOf(
  dotted: string,
  word: string,
  scope: QueryScope,
): FilterName | InvalidName {
  const followed = followRelations(dotted, scope)
  const { steps, rest } = followed
  if (steps.length === 0) {
    const found = findFilter(dotted, word, scope.fields, explainPlace(dotted, scope))
    return suggestRelation(found, followed)
  }
  const key = `${dotted}[${word}]`
  const name = word === 'eq' ? dotted : key
  const isWhole = rest === '' && word !== 'exists'
  const reason = invalidThroughReason(steps) ?? (isWhole ? wholeItemReason(steps) : undefined)
  const field = name.slice(0, 128)
  if (reason !== undefined)
    return { key, issue: { message: reason, field, type: 'not_filterable' } }
  if (rest === '') return { key, name, word, path: [], operator: 'exists', field: EXISTS, steps }
  const found = findFilter(rest, word, followed.scope.fields)
  if (!('issue' in found)) return { ...found, key, name, steps }
  const isUnknown = found.issue.type === 'unknown_field'
  return { key, issue: isUnknown ? unknownRelated(followed, field) : { ...found.issue, field } }
}

/** Why no filter reaches through these relations; `undefined` where one does. */
export function invalidThroughReason(steps: readonly Relation[]): string | undefined {
  const reason = invalidStepsReason(steps)
  return reason ?? steps.find(({ unfilterable }) => unfilterable !== undefined)?.unfilterable
}

/** Adds to the issue of an unknown dotted name the relation that may be meant. */
function suggestRelation(found: FilterName | InvalidName, followed: Followed): typeof found {
  const { rest, scope } = followed
  const [head = '', ...below] = rest.split('.')
  if (!('issue' in found) || found.issue.type !== 'unknown_field' || below.length === 0)
    return found
  const near = nearest(head, [...scope.relations.keys()])
  if (near === undefined) return found
  const hint = `: did you mean ${[near, ...below].join('.')}?`
  const message = `Unknown field ${quote(rest)}${hint.slice(0, 128)}`
  return { ...found, issue: { ...found.issue, message } }
}

/** Says where the collection takes a parameter of counts by groups or of searches, which have paths of their own. */
function explainPlace(
  name: string,
  { name: list, groups, searches }: QueryScope,
): string | undefined {
  if (!groups) return undefined
  if (/^(?:q|query|search)$/i.test(name))
    return searches
      ? `Use ${list}/search?q=…`
      : `${list} has no search. To add one, declare search: [<its fields>]`
  if (!/^(?:by|group_?by)$/i.test(name)) return undefined
  const [group] = groups
  return group
    ? `Use ${list}/count?by=${group}`
    : `${list} has no groups. To add them, declare groups: [<its fields>]`
}

function wholeItemReason(steps: readonly Relation[]): string {
  const names = steps.map(({ name }) => name).join('.')
  const [field = 'id'] = steps.at(-1)?.scope.fields.keys() ?? []
  return `${names} stands for other items: filter by ${names}[exists], or by a field such as ${names}.${field}`
}

/** Makes a filter of the list of one of a related item. */
export function throughSteps(
  filter: Filter,
  { steps, path }: Pick<FilterName, 'steps' | 'path'>,
): ParsedFilter {
  if (!steps) return filter
  const last = steps.at(-1)
  if (path.length > 0 || !last || !('values' in filter)) return wrapAll([filter], steps)
  const exists: ParsedFilter = { operator: 'related', relation: last, where: [] }
  const wanted = filter.values[0] === true
  return wrapAll([wanted ? exists : { operator: 'not', filter: exists }], steps.slice(0, -1))
}

/** Makes a filter of the list of those of a related item, which must all hold. */
export function wrapAll(
  filters: readonly ParsedFilter[],
  steps: readonly Relation[],
): ParsedFilter {
  const where = steps.reduceRight<readonly ParsedFilter[]>(
    (inner, relation) => [{ operator: 'related', relation, where: inner }],
    filters,
  )
  const [only] = where
  return only && where.length === 1 ? only : { operator: 'all', filters: where }
}

/** Merges filters that must all hold: those through one relation are about the same related item. */
export function mergeRelated(filters: readonly ParsedFilter[]): ParsedFilter[] {
  const merged: ParsedFilter[] = []
  const byRelation = new Map<Relation, ParsedFilter[]>()
  for (const filter of filters) {
    if (filter.operator !== 'related') {
      merged.push(filter)
      continue
    }
    const known = byRelation.get(filter.relation)
    if (known) known.push(...filter.where)
    else byRelation.set(filter.relation, [...filter.where])
  }
  for (const [relation, where] of byRelation)
    merged.push({ operator: 'related', relation, where: mergeRelated(where) })
  return merged
}

/** Creates the issue of a sort by a field of a related item; `undefined` where the name is none. */
export function unsortableIssue(dotted: string, scope: QueryScope): Issue | undefined {
  const { steps } = followRelations(dotted, scope)
  if (steps.length === 0) return undefined
  const message = `${dotted} is of other items: a list is sorted by its own fields`
  return { message, field: 'sort', type: 'not_sortable' }
}
