// The query grammar (specification, "Query parameters"): `fields`, filters, `sort`, `since` and the
// rest → Query.

import type { Path } from './base/paths.ts'
import { Remembered } from './base/remembered.ts'
import type { Item, Json } from './base/values.ts'
import type { ErrorEntry, ErrorType, Issue } from './errors.ts'
import { buildLimits } from './http/limits.ts'
import type { HeaderList } from './http/message.ts'
import { type Parameter, single } from './http/parameters.ts'
import {
  type FilterName,
  type InvalidName,
  parseFilterName,
  type QueryLimits,
  readBound,
  readFilter,
  tooLong,
} from './query/filters.ts'
import { INCLUDE } from './query/include.ts'
import { BOUNDS, RESERVED } from './query/list-parameters.ts'
import {
  findFilterOf,
  isOwn,
  mergeRelated,
  type ParsedFilter,
  throughSteps,
  unsortableIssue,
} from './query/related.ts'
import type { QueryScope } from './query/relation.ts'
import { type RequestedParts, readSelected, takesInclude } from './query/selected.ts'
import { parseWhere, readWhere, WHERE, type WhereTree } from './query/where.ts'
import { type Fields, findField, unknownField } from './schema/fields.ts'
import type { Filter } from './store/filter.ts'
import { searchWords } from './store/search.ts'
import { type Search, type Selection, type SortKey, withTieBreak } from './store/selection.ts'
import { invalidSortReason, parseSort } from './store/sort.ts'

export { RESERVED } from './query/list-parameters.ts'

/** A parsed list request: the selection, and what to return of each item (all of its own properties where absent). */
export interface ParsedQuery extends Selection, RequestedParts {
  /** Further filters, which go through relations: they must hold too. */
  readonly related?: readonly ParsedFilter[]
}

/** What `readQuery` checks a query against. */
export interface QueryOptions {
  /** The fields of the items, the server-owned ones included. */
  readonly fields: Fields
  /** The fields that `fields` may name, where they differ. */
  readonly selectable?: Fields
  /** The collection with its relations. Default: it has none, and `include` is unknown. */
  readonly scope?: QueryScope
  /** The name of the identifying field: the last sort key of every list. */
  readonly id: string
  /** The fields that make up the id and sort instead of it; absent if the id is a separate value. */
  readonly idParts?: readonly string[] | undefined
  /** The order where the request does not say; the id is added. */
  readonly sort?: readonly SortKey[] | undefined
  /** The name of the creation date, if the items have one: for `since` and `until`. */
  readonly createdAt?: string
  /** Whether ids become visible in their order: `since_id` is refused otherwise. Default true. */
  readonly ordered?: boolean
  /** The fields that `q` searches; without them `q` is unknown. */
  readonly search?: readonly Path[]
  /** Whether the search compares folded texts: see `Search`. Default true. */
  readonly folds?: boolean
  /** How much a request may ask for. Default: the `limits` of an api. */
  readonly limits?: QueryLimits
}

const NO_SCOPE = { name: '', itemName: 'item', maxLimit: 0, relations: new Map<string, never>() }

const UNORDERED =
  'since_id would miss items: ids of this collection may become visible in any order; use since'

/** The query language of a stock client. A list request is rewritten before anything reads it. */
export interface Dialect {
  readonly name: string
  /**
   * Rewrites the parameters of the dialect into ours; others stay as they are.
   * @throws HttpError 400
   */
  rewrite(parameters: readonly Parameter[], list: DialectList): readonly Parameter[]
  /** Headers that the client looks for, beside ours. */
  headers?(headers: HeaderList): HeaderList
  /** What stands as `errors` in an answer as JSON, for a client that reads no list. Default: the list. */
  readonly errors?: DialectErrors | undefined
}

/** The errors of an answer in the words of a client. */
export interface DialectErrors {
  /** The JSON Schema of what `print` returns, for the OpenAPI document. */
  readonly schema: object
  /** @param body of the request; `undefined` where there is none, or it was not read. */
  print(errors: readonly ErrorEntry[], body: Json | undefined): Item
}

/** What a dialect may know of the list that is requested. */
export interface DialectList {
  /** The name of the id. */
  readonly id: string
  readonly maxLimit: number
}

const LIMITS = buildLimits()

/** Clients add `_=<time>` to bypass caches: a list or an item without such a field ignores it. */
export const CACHE_BUSTER = '_'

interface ReadSort {
  readonly sort: readonly SortKey[]
  readonly issues: readonly Issue[]
}

/** How many names of filters, and how many sorts, a reader remembers, and of which length. */
const MAX_REMEMBERED = 500
const MAX_REMEMBERED_LENGTH = 128

/** Filters as objects: among the parameters of a query, and as its `where`. */
export interface ObjectFilters {
  readonly query: object
  readonly where: object
}

/**
 * Reads the parameters of a list; issues are added to the list.
 * @param filters of a program: they must hold too.
 */
export type QueryReader = (
  parameters: readonly Parameter[],
  issues: Issue[],
  filters?: ObjectFilters,
) => ParsedQuery

/** Reads the parameters of one list: types come from the fields, and issues are added to the list. */
export function readQuery(
  parameters: readonly Parameter[],
  options: QueryOptions,
  issues: Issue[],
): ParsedQuery {
  return compileQueryReader(options)(parameters, issues)
}

/**
 * Compiles the reader of a collection's lists (conventions, "Reading"). Types come from the fields,
 * never from how a value looks. Issues are an unknown field or operator, an ill-typed value, a
 * single-valued parameter sent twice, and more than the limits allow.
 */
export function compileQueryReader(options: QueryOptions): QueryReader {
  const { fields, selectable = fields, id, limits = LIMITS } = options
  const { search: searched, folds = true } = options
  const scope = options.scope ?? { ...NO_SCOPE, fields, readable: selectable, selectable }
  const reserved = new Set<string>(RESERVED)
  if (searched) reserved.add('q')
  if (!fields.has(WHERE)) reserved.add(WHERE)
  if (options.scope && takesInclude(options.scope)) reserved.add(INCLUDE)
  if (!fields.has(CACHE_BUSTER)) reserved.add(CACHE_BUSTER)
  const identity = { name: id, parts: options.idParts }
  const defaultSort = withTieBreak(options.sort ?? [], identity)
  const names = new Remembered<FilterName | InvalidName>(MAX_REMEMBERED, MAX_REMEMBERED_LENGTH)
  const sorts = new Remembered<ReadSort>(MAX_REMEMBERED, MAX_REMEMBERED_LENGTH)

  function findName(name: string): FilterName | InvalidName {
    const parts = parseFilterName(name)
    if (parts) return findFilterOf(parts.dotted, parts.word, scope)
    return { key: name, issue: unknownField(name, fields, name.slice(0, 64)) }
  }

  /** Reads the value of `sort`; an empty one means the default. */
  function readSort(text: string): ReadSort {
    const keys = parseSort(text)
    if (keys.length === 0) return { sort: defaultSort, issues: [] }
    const issues: Issue[] = []
    if (keys.length > limits.sortKeys) {
      const message = `sort has ${keys.length} keys; at most ${limits.sortKeys} are allowed`
      issues.push({ message, field: 'sort', type: 'too_many_sort_keys' })
      return { sort: defaultSort, issues }
    }
    checkSortKeys(keys, scope, issues)
    return { sort: withTieBreak(keys, identity), issues }
  }

  return (parameters, issues, filters) => {
    const groups: { readonly name: FilterName | InvalidName; readonly texts: string[] }[] = []
    const seen = new Set<string>()
    for (const { name, value } of parameters) {
      if (reserved.has(name)) {
        seen.add(name)
        continue
      }
      const found = names.get(name, findName)
      const group = groups.find(each => each.name.key === found.key)
      if (group) group.texts.push(value)
      else groups.push({ name: found, texts: [value] })
    }

    const selected =
      seen.has('fields') || seen.has(INCLUDE)
        ? readSelected(parameters, scope, issues, limits)
        : undefined
    const search =
      searched && seen.has('q')
        ? readSearch(parameters, { paths: searched, fold: folds }, limits, issues)
        : undefined
    const where: Filter[] = []
    const related: ParsedFilter[] = []
    let count = groups.length
    const trees: WhereTree[] = []
    if (filters) {
      trees.push(readWhere(filters.query, { at: '', scope }, limits, issues))
      trees.push(readWhere(filters.where, { at: WHERE, scope }, limits, issues))
    }
    if (seen.has(WHERE)) {
      const text = single(parameters, WHERE, issues) ?? ''
      trees.push(parseWhere(text, scope, limits, issues))
    }
    for (const tree of trees) {
      for (const filter of tree.filters) (isOwn(filter) ? where : related).push(filter)
      count += tree.count
    }
    if (count > limits.filters) {
      const message = `A list may have at most ${limits.filters} filters, not ${count}`
      issues.push({ message, type: 'too_many_filters' })
    } else {
      const through: ParsedFilter[] = []
      for (const { name, texts } of groups) {
        if ('issue' in name) issues.push(name.issue)
        else {
          const filter = readFilter(name, texts, limits, issues)
          if (filter && name.steps) through.push(throughSteps(filter, name))
          else if (filter) where.push(filter)
        }
      }
      if (through.length > 0) related.push(...mergeRelated(through))
    }
    where.push(...readBounds(parameters, seen, options, issues))
    let sort: readonly SortKey[] = defaultSort
    if (seen.has('sort')) {
      const read = sorts.get(single(parameters, 'sort', issues) ?? '', readSort)
      issues.push(...read.issues)
      sort = read.sort
    }
    const plain = { where, sort, ...selected, ...(search && { search }) }
    return related.length === 0 ? plain : { ...plain, related }
  }
}

/** Reads the bounds of the creation date and of the id. @param seen the names of parameters that are no filters. */
function readBounds(
  parameters: readonly Parameter[],
  seen: ReadonlySet<string>,
  { fields, id, createdAt, ordered = true }: QueryOptions,
  issues: Issue[],
): Filter[] {
  const filters: Filter[] = []
  for (const bound of BOUNDS) {
    const [name] = bound
    if (!seen.has(name)) continue
    if (name === 'since_id' && !ordered) {
      issues.push({ message: UNORDERED, field: name, type: 'not_filterable' })
      continue
    }
    const text = single(parameters, name, issues)
    if (text === undefined) continue
    const path = name.endsWith('_id') ? id : createdAt
    const field = path === undefined ? undefined : fields.get(path)
    if (path === undefined || !field) {
      const message = `${name} needs a creation date, which these items lack`
      issues.push({ message, field: name, type: 'not_filterable' })
      continue
    }
    const filter = readBound(bound, text, field, issues)
    if (filter) filters.push({ path: [path], ...filter })
  }
  return filters
}

/** Reports the sort keys that no field has, and those that have no order. */
function checkSortKeys(keys: readonly SortKey[], scope: QueryScope, issues: Issue[]): void {
  const { fields } = scope
  for (const { path } of keys) {
    const dotted = path.join('.')
    const field = findField(fields, path)
    if (!field) issues.push(unsortableIssue(dotted, scope) ?? unknownField(dotted, fields, 'sort'))
    const reason = field && invalidSortReason(field)
    if (reason === undefined) continue
    const message = `${dotted} ${reason}: it has no order`
    issues.push({ message, field: 'sort', type: 'not_sortable' })
  }
}

function readSearch(
  parameters: readonly Parameter[],
  { paths, fold }: Omit<Search, 'text'>,
  limits: QueryLimits,
  issues: Issue[],
): Search | undefined {
  const text = single(parameters, 'q', issues)?.trim()
  if (!text) return undefined
  const words = searchWords(text, fold)
  // Of marks alone: it would find everything.
  if (words.length === 0) return undefined
  const long = words.find(word => word.length > limits.pattern)
  const add = (what: string, type: ErrorType) =>
    issues.push({ message: `q has ${what}`, field: 'q', type })
  if (words.length > limits.words) {
    add(`${words.length} words; at most ${limits.words} are allowed`, 'too_many_words')
  }
  if (long !== undefined) add(`a word of ${tooLong(long, limits)}`, 'pattern_too_long')
  return { text, paths, fold }
}
