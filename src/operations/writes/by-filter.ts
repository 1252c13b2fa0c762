// PATCH and DELETE of a collection: all items that match a filter are changed or deleted, or none. The filter is judged,
// and each item checked, within one transaction.

import type { Json } from '../../base/values.ts'
import { type AnyIssue, HttpError, type Issue } from '../../errors.ts'
import { JSON_PATCH_TYPE } from '../../formats/patch.ts'
import { cutTagsToVersions, evaluate } from '../../http/conditional.ts'
import { printPreferences } from '../../http/prefer.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { FilterOperation } from '../../model/types/operation.ts'
import { INCLUDE } from '../../query/include.ts'
import { listParameters } from '../../query/list-parameters.ts'
import { isAlways } from '../../query/related.ts'
import type { ParsedQuery } from '../../query.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { Id, Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { copyCall } from '../calls/derive-call.ts'
import { chooseTotalMode } from '../reads/list.ts'
import { printPageTag, toStatedTotal, VARY_PREFER } from '../reads/page.ts'
import { compileReaders, prepareQuery } from '../reads/query.ts'
import { listFiles } from './blob-inputs.ts'
import { requireBody, requireMergePatch, withBodyIssues } from './input.ts'
import { compileWrites } from './plan.ts'
import { type ItemIssue, type Many, WriteState } from './steps.ts'

/** Compiles `PATCH /<collection>` or `DELETE`. Its filters are those of the list. */
export function compileByFilter(
  api: ApiDefinition,
  collection: CollectionDefinition,
  operation: FilterOperation,
): Perform {
  const findReaders = compileReaders(api)(collection)
  return async call => {
    const { parameters, preferences } = call
    const issues = [
      ...parameters.flatMap(({ name }) =>
        isOfPage(collection, name) ? refuseParameter(name) : [],
      ),
      ...checkMax(operation, preferences['max-affected']),
    ]
    const query = await withBodyIssues(issues, () => {
      const { query } = findReaders(call).list(parameters, undefined)
      requireFilter(query, `?${collection.shape.identity.name}[exists]=true`)
      return query
    })
    return writeByFilter(call, operation, query)
  }
}

const OF_PAGE = listParameters('orders', 'shows', 'sizes', 'places')

/** Whether a parameter is about a page of a list. */
function isOfPage({ queryFields }: CollectionDefinition, name: string): boolean {
  return OF_PAGE.has(name) && !(name === INCLUDE && queryFields.has(name))
}

function refuseParameter(name: string): Issue {
  const message = `${name} has no meaning here: a write by filter is of all items that match`
  return { message, field: name, type: 'unknown_parameter' }
}

function checkMax(operation: FilterOperation, max: number | undefined): Issue[] {
  const field = 'prefer'
  if (Number.isNaN(max)) {
    const message = 'max-affected must be a whole number: Prefer: max-affected=50'
    return [{ message, field, type: 'invalid_header' }]
  }
  if (operation === 'patchMany' || max !== undefined) return []
  const message = 'Say how many items may be deleted at most: Prefer: max-affected=50'
  return [{ message, field, type: 'max_affected_required' }]
}

/**
 * Changes or deletes all items that match.
 * @param query selects items: see {@link requireFilter}.
 * @throws HttpError; in process ConflictError
 */
export async function writeByFilter(
  call: OperationContext,
  operation: FilterOperation,
  query: ParsedQuery,
): Promise<OperationResult> {
  if (operation === 'patchMany') requireChanges(call)
  return compileWrites(call.target.collection)[operation](
    call,
    new FilteredItems(call, operation, query),
  )
}

/** The items that match a filter. */
class FilteredItems implements Many {
  items: readonly WriteState[] = []
  readonly texts: readonly string[]
  readonly #call: OperationContext
  readonly #operation: FilterOperation
  readonly #query: ParsedQuery

  constructor(call: OperationContext, operation: FilterOperation, query: ParsedQuery) {
    this.#call = call
    this.#operation = operation
    this.#query = query
    this.texts = call.parameters.map(({ raw }) => raw)
  }

  async find({ call }: WriteState): Promise<WriteState[]> {
    const { target } = call
    const operation = ITEM_OPERATIONS[this.#operation]
    const selection = await prepareQuery(copyCall(call, { operation: 'list' }), this.#query)
    await requireUnchangedList(call, selection)
    const found = await findMatching(call, selection)
    return found.map(current => {
      const { id } = current
      const own = copyCall(call, { operation, target: { ...target, kind: 'item', id } })
      return Object.assign(new WriteState(own), { body: call.body?.value, current })
    })
  }

  locate(issues: readonly ItemIssue[]): AnyIssue[] {
    const { name, itemName } = this.#call.target.collection
    const groups = new Map<string, { readonly issue: AnyIssue; readonly ids: Id[] }>()
    for (const { at, issue } of issues) {
      const key = JSON.stringify(issue)
      const group = groups.get(key) ?? { issue, ids: [] }
      groups.set(key, group)
      group.ids.push(this.items[at]?.current?.id ?? '')
    }
    return [...groups.values()].map(({ issue, ids }) => {
      const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''
      const named = `${ids.slice(0, MAX_NAMED).join(', ')}${more}`
      return {
        ...issue,
        message: `${issue.message} (${ids.length === 1 ? itemName : name} ${named})`,
      }
    })
  }

  toAnswer({ length }: readonly Stored[]): Json[] {
    return [length]
  }

  buildResult({ length }: readonly Stored[]): OperationResult {
    return buildResult(this.#call, length)
  }

  replay(answer: Json): OperationResult {
    // `toAnswer` has made it.
    return buildResult(this.#call, Number(Object(answer)[0]))
  }
}

/**
 * @param all what names all items.
 * @throws HttpError 400 for a query that can leave no item out.
 */
export function requireFilter({ where, related = [], search }: ParsedQuery, all: string): void {
  if (search || ![...where, ...related].every(each => isAlways(each))) return
  const message = `This would be done to all items. Send a filter that can leave items out, or for all items ${all}`
  throw new HttpError(400, [{ message, type: 'filter_required' }])
}

/** @throws HttpError 400 for a body that is no patch of many items. */
function requireChanges(call: OperationContext): void {
  const body = requireBody(new WriteState(call))
  if (call.body?.type !== JSON_PATCH_TYPE) requireMergePatch(body)
  const [file] = listFiles(call.target.collection, body)
  if (file === undefined) return
  const message = `A write by filter takes no files: send ${file} to one item`
  throw new HttpError(400, [{ message, field: file, type: 'unexpected_file' }])
}

/** How many items a message names: of issues that are alike one stands for all. */
const MAX_NAMED = 3

/** The operation of each item. */
const ITEM_OPERATIONS = { patchMany: 'patch', deleteMany: 'delete' } as const

/**
 * Finds the items that match, in the order of their ids.
 * @throws HttpError 400 for more than may be affected, 413 for too large ones.
 */
async function findMatching(
  call: OperationContext,
  selection: ParsedQuery,
): Promise<readonly Stored[]> {
  const { api, target, preferences } = call
  const { name, shape } = target.collection
  const max = Math.min(api.limits.affected, preferences['max-affected'] ?? Number.POSITIVE_INFINITY)
  const limit = Math.max(1, max)
  const store = call.storeOf(target.collection)
  const byId = { ...selection, sort: withTieBreak([], shape.identity) }
  const slice = { limit, offset: 0 }
  const { items, more } = await store.list(byId, slice, 'none', call.listOptions)
  if (more && items.length < limit) {
    const message = `The ${name} that match have more than ${api.limits.page} bytes together. Narrow the filter.`
    throw new HttpError(413, [{ message, type: 'affected_too_large' }])
  }
  if (!more && items.length <= max) return items
  const count = await store.count(selection, 'exact', call.listOptions)
  const message = `${count} ${name} match, and at most ${max} may be affected. Narrow the filter.`
  throw new HttpError(400, [{ message, type: 'too_many_affected' }])
}

/**
 * Evaluates preconditions: `If-Match` has the tag of the list with this filter.
 * @throws HttpError 412, 428
 */
async function requireUnchangedList(call: OperationContext, selection: ParsedQuery): Promise<void> {
  const { preconditions, method, inProcess, target } = call
  const { requirePrecondition, maxLimit } = target.collection
  const { ifMatch, ifNoneMatch } = preconditions
  if (!ifMatch && requirePrecondition && !inProcess) {
    const message = 'Changes here need If-Match: send the ETag of the list with the same filter.'
    throw new HttpError(428, [{ message, field: 'if-match', type: 'precondition_required' }])
  }
  if (!ifMatch && !ifNoneMatch) return
  const store = call.storeOf(target.collection)
  const slice = { limit: maxLimit, offset: 0 }
  const mode = chooseTotalMode(call, selection)
  const page = await store.list(selection, slice, mode, call.listOptions)
  // The tag of a part is of no use: the rest could have changed.
  const current = page.more
    ? {}
    : { tag: printPageTag(page.items, { more: false, total: toStatedTotal(call, page.total) }) }
  if (evaluate(cutTagsToVersions(preconditions), method, current) === 'proceed') return
  const message = `The list is not as the request requires, or the tag is of a part of it. Read it again, with limit=${maxLimit}, then decide.`
  throw new HttpError(412, [{ message, type: 'precondition_failed' }])
}

function buildResult(call: OperationContext, count: number): OperationResult {
  const { preferences, writeResponse } = call
  const { 'max-affected': max } = preferences
  const isMinimal = writeResponse === 'minimal'
  const applied = {
    ...(preferences.return === 'minimal' && { return: 'minimal' as const }),
    ...(max !== undefined && { 'max-affected': max }),
  }
  const hasApplied = Object.keys(applied).length > 0
  return {
    status: isMinimal ? 204 : 200,
    headers: hasApplied ? ['Preference-Applied', printPreferences(applied)] : [],
    representation: isMinimal ? undefined : { kind: 'document', name: 'count', data: { count } },
    vary: VARY_PREFER,
    value: count,
  }
}
