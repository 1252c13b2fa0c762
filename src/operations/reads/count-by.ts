// Counts by groups: `GET /<collection>/count?by=color&sum=price` (conventions, "Counts by groups").

import type { Awaitable } from '../../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../../errors.ts'
import { hashTexts } from '../../http/conditional.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import {
  describeGroup,
  type GroupQuery,
  isGroupParameter,
  MAX_GROUPS,
  needsGroups,
  printGroup,
  readGroupQuery,
} from '../../query/groups.ts'
import type { ParsedQuery } from '../../query.ts'
import { type Group, MAX_KEY_LENGTH, tooGreat } from '../../store/groups.ts'
import { comparer } from '../../store/selection.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { prepareQuery, type Readers } from './query.ts'

/** Whether a count is one by groups. A field with the name of a sum is a filter where there is no `by`. */
export function asksForGroups(
  { groups, queryFields }: CollectionDefinition,
  names: readonly string[],
): boolean {
  return groups.size > 0 && names.some(name => needsGroups(name, queryFields))
}

/** Compiles the count by groups. */
export function compileCountBy(
  { queryFields, groups }: CollectionDefinition,
  findReaders: (context: OperationContext) => Pick<Readers, 'filters'>,
): (context: OperationContext) => Awaitable<OperationResult> {
  return context => {
    const { parameters } = context
    const issues: Issue[] = []
    const wanted = readGroupQuery(parameters, queryFields, groups, issues)
    const filters = parameters.filter(({ name }) => !isGroupParameter(name))
    const query = findReaders(context).filters(filters, issues)
    if (query.include) {
      const message = 'include has no meaning with by'
      issues.push({ message, field: 'include', type: 'unknown_parameter' })
    }
    throwIfAny(issues)
    return countBy(context, query, wanted)
  }
}

/** Counts the items that match by their groups. @throws HttpError 400 for too many groups. */
export async function countBy(
  context: OperationContext,
  query: ParsedQuery,
  wanted: GroupQuery,
): Promise<OperationResult> {
  const { collection } = context.target
  const store = context.storeOf(collection)
  if (!store.countBy) throw new TypeError(`The store of ${collection.name} has no countBy`)
  const selection = await prepareQuery(context, query)
  const found = await store.countBy(selection, wanted.grouping, context.listOptions)
  requirePrintable(found, wanted)
  const fields = describeGroup(wanted)
  const groups = found.map(group => printGroup(group, wanted)).sort(comparer(wanted.sort, fields))
  const shown = groups.slice(0, wanted.limit)
  const tag = hashTexts([`${groups.length}`, JSON.stringify(shown)])
  return {
    status: 200,
    headers: ['X-Result-Count', String(groups.length)],
    representation: { kind: 'list', name: 'groups', itemName: 'group', fields, data: shown },
    validators: { tag: `${tag}.${context.variant}` },
    value: shown,
  }
}

/** @throws HttpError 400 for more groups than are allowed, too long keys, and sums that are no number. */
function requirePrintable(found: readonly Group[], { grouping, columns }: GroupQuery): void {
  const nameOf = (at: number) => columns[at]?.[0].join('.') ?? ''
  if (found.length > MAX_GROUPS) {
    const message = `There are more than ${MAX_GROUPS} groups. Use filters, or fewer fields in by.`
    throw new HttpError(400, [{ message, field: 'by', type: 'too_many_groups' }])
  }
  for (const { keys, values } of found) {
    const long = keys.findIndex(key => typeof key === 'string' && isLong(key))
    if (long >= 0) {
      const message = `${nameOf(long)} has texts of more than ${MAX_KEY_LENGTH} characters, which are no groups. Use filters, or another field.`
      throw new HttpError(400, [{ message, field: 'by', type: 'too_many_groups' }])
    }
    const great = values.findIndex(value => typeof value === 'number' && !Number.isFinite(value))
    if (great >= 0) {
      const name = nameOf(grouping.keys.length + 1 + great)
      throw tooGreat(name, name)
    }
  }
}

/** Half a surrogate pair is no character. */
function isLong(text: string): boolean {
  return text.length > MAX_KEY_LENGTH && [...text].length > MAX_KEY_LENGTH
}
