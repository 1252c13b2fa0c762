// The query of a list, a search or a count: what reads it, what comes before the store, and its equivalent GET.
// The readers know the collections around theirs as the client sees them: relations that some principals lack have readers
// of their own, so that an error names none of them.

import { memoize } from '../../base/memoize.ts'
import { type Awaitable, andThen } from '../../base/values.ts'
import type { HeaderList } from '../../http/message.ts'
import { CollectionScope, operationOf } from '../../model/compile/relations.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  RelationDefinition,
} from '../../model/types/definition.ts'
import { compileListReader, type ListReader } from '../../pagination/list-reader.ts'
import { QUERY_TYPES } from '../../query/body.ts'
import type { QueryScope } from '../../query/relation.ts'
import { compileQueryReader, type ParsedQuery, type QueryReader } from '../../query.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { buildReachFilters, requireParent } from '../calls/items.ts'
import { runBefore } from '../calls/run-hooks.ts'
import { resolveRelated } from './related.ts'

export interface Readers {
  readonly list: ListReader
  readonly search: ListReader
  /** Of the filters of a count by groups. */
  readonly filters: QueryReader
  /** For the `fields` and `include` of an item. */
  readonly scope: QueryScope
}

/** How far a query reaches. */
const MAX_LEVELS = 3

/** How many sets of readers are kept for a collection whose surroundings differ by principal. */
const MAX_KEPT = 16

/** What the client sees of the relations that not everybody sees alike, in their order. */
type Seen = readonly (CollectionDefinition | undefined)[]

/** Compiles the function that finds the readers of a collection for a client. */
export const compileReaders = memoize((api: ApiDefinition) =>
  memoize((collection: CollectionDefinition) => {
    const guarded = listGuarded(api, collection)
    const kept: { readonly seen: Seen; readonly readers: Readers }[] = []
    return (context: OperationContext): Readers => {
      const seen = guarded.map(relation => seeRelation(context, relation))
      const known = kept.find(each => each.seen.every((view, at) => view === seen[at]))
      if (known) return known.readers
      const views = new Map(guarded.map((relation, at) => [relation, seen[at]]))
      const readers = buildReaders(api, collection, views)
      if (kept.length === MAX_KEPT) kept.shift()
      kept.push({ seen, readers })
      return readers
    }
  }),
)

/** Finds the collection of a relation as the client sees it; `undefined` where it hides from the client that it exists. */
function seeRelation(
  context: OperationContext,
  relation: RelationDefinition,
): CollectionDefinition | undefined {
  const { collection } = relation
  const isHidden = collection.hideExistence && !context.can(collection, operationOf(relation))
  return isHidden ? undefined : context.view(collection)
}

/** Lists the relations within reach that not every principal sees alike. */
function listGuarded(api: ApiDefinition, collection: CollectionDefinition): RelationDefinition[] {
  const found = new Set<RelationDefinition>()
  const visit = ({ relations }: CollectionDefinition, levels: number): void => {
    for (const relation of levels === 0 ? [] : relations.values()) {
      if (isGuarded(api, relation.collection)) found.add(relation)
      visit(relation.collection, levels - 1)
    }
  }
  visit(collection, MAX_LEVELS)
  return [...found]
}

/** Whether not every principal sees a collection alike. */
function isGuarded(
  { schemes }: ApiDefinition,
  { hideExistence, fieldAccess }: CollectionDefinition,
): boolean {
  return schemes.length > 0 && (hideExistence || fieldAccess !== undefined)
}

function buildReaders(
  api: ApiDefinition,
  collection: CollectionDefinition,
  views: ReadonlyMap<RelationDefinition, CollectionDefinition | undefined>,
): Readers {
  const { shape, search } = collection
  const scope = new CollectionScope(collection, relation => {
    const { collection: other } = relation
    if (!other.operations.has(operationOf(relation))) return undefined
    // Beyond the reach of a query an error could still name it.
    return views.has(relation) || isGuarded(api, other) ? views.get(relation) : other
  })
  const options = {
    fields: collection.queryFields,
    selectable: collection.selectableFields,
    scope,
    id: shape.identity.name,
    idParts: shape.identity.parts,
    sort: collection.sort,
    limits: api.limits,
    ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
    ordered: shape.identity.ordered !== false,
    unit: collection.name,
    defaultLimit: collection.defaultLimit,
    maxLimit: collection.maxLimit,
    byOffset: collection.store.pages === 'offset',
    folds: shape.search !== undefined,
  }
  const searched = compileListReader({ ...options, ...(search && { search }) })
  // The clients of the dialects search by `q` on the list itself.
  const asSearch = api.dialects.length > 0 && search && !shape.fields.has('q')
  return {
    list: asSearch ? searched : compileListReader(options),
    search: searched,
    filters: compileQueryReader({ ...options, ...(asSearch && { search }) }),
    scope,
  }
}

/** Prepares a query for the store: finds the parent, runs the `before` hook, adds the row policy. */
export function prepareQuery(
  context: OperationContext,
  query: ParsedQuery,
): Awaitable<ParsedQuery> {
  const admitted = andThen(requireParent(context), () => runBefore(context, {}, undefined))
  return andThen(admitted, () => {
    const scope = buildReachFilters(context)
    if (query.related)
      return andThen(resolveRelated(context, query.related), related => ({
        ...query,
        where: [...scope, ...query.where, ...related],
      }))
    return scope.length === 0 ? query : { ...query, where: [...scope, ...query.where] }
  })
}

// A QUERY has an equivalent GET (RFC 10008 §2.4): `Location` names it, and its links are those of that GET.

/** What a link may add to the address of its list: a place. */
const MAX_PLACE = 1100

/** Answers a GET, and says by which media types the same can be asked with QUERY; a QUERY as its GET. */
export function withEquivalentGet(perform: Perform): Perform {
  return context => {
    const result = perform(context)
    if (context.method !== 'QUERY') return andThen(result, addAcceptQuery)
    return andThen(andThen(result, addAcceptQuery), done => addEquivalent(context, done))
  }
}

function addAcceptQuery(result: OperationResult): OperationResult {
  result.headers.push('Accept-Query', QUERY_TYPES)
  return result
}

/** An address that is too long is not named, nor is a link that would be one: its page is asked for by `offset`. */
function addEquivalent(context: OperationContext, result: OperationResult): OperationResult {
  const { target, parameters, api } = context
  const query = parameters.map(({ raw }) => raw).join('&')
  const href = `${context.hrefAsRequested(target)}${query === '' ? '' : `?${query}`}`
  const isLinkable = href.length + MAX_PLACE <= api.limits.target
  const headers = isLinkable ? result.headers : withoutLinks(result.headers)
  if (href.length <= api.limits.target) headers.push('Location', href)
  return { ...result, headers, vary: addContentType(result.vary ?? NOTHING) }
}

const NOTHING: readonly string[] = []

/** Adds to a list that is always the same one, as `Vary` is printed once for each. */
const addContentType = memoize((vary: readonly string[]): readonly string[] => [
  ...vary,
  'Content-Type',
])

function withoutLinks(headers: HeaderList): HeaderList {
  return headers.filter((_, at) => headers[at - (at % 2)] !== 'Link')
}
