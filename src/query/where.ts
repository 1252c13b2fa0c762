// Filters as objects, with `or`, `and` and `not` → a tree of conditions. Programs pass them, row policies return them, and
// the parameter `where` has one as JSON.

import { describeInexact, findInexact } from '../base/exact-numbers.ts'
import { toPath } from '../base/paths.ts'
import { isObject, isScalar, namesOf } from '../base/values.ts'
import type { ErrorType, Issue } from '../errors.ts'
import { type Fields, findField } from '../schema/fields.ts'
import { findOperator, takesSeveral } from '../store/operators.ts'
import { type QueryLimits, readValues } from './filters.ts'
import {
  findFilterOf,
  invalidThroughReason,
  mergeRelated,
  type ParsedFilter,
  throughSteps,
  wrapAll,
} from './related.ts'
import { followRelations, type QueryScope, type Relation, unknownRelated } from './relation.ts'

/** The name of the parameter. */
export const WHERE = 'where'

/** Groups may be so deep. */
const MAX_DEPTH = 5

const GROUPS = { or: 'any', and: 'all', not: 'not' } as const

/** A word that combines filters. */
export type GroupWord = keyof typeof GROUPS

const GROUP_WORDS = namesOf(GROUPS)

/** Lists the words that combine filters of these fields: a field of the same name is the field. */
export function listGroups(fields: Fields): GroupWord[] {
  return GROUP_WORDS.filter(word => isGroup(word, fields))
}

/** Whether a property of a filter object combines filters: `or` does, unless a field has that name. */
export function isGroup(name: string, fields: Fields): name is GroupWord {
  return Object.hasOwn(GROUPS, name) && !fields.has(name)
}

/** What a `where` holds. */
export interface WhereTree {
  readonly filters: readonly ParsedFilter[]
  /** The number of its conditions; a group without any counts as one. */
  readonly count: number
}

/**
 * Reads the text of the parameter. Issues are added to the list.
 * @throws nothing: a text that is no JSON is an issue.
 */
export function parseWhere(
  text: string,
  scope: QueryScope,
  limits: QueryLimits,
  issues: Issue[],
): WhereTree {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const message = `${WHERE} is not valid JSON. Send an object such as {"or":[{"color":"red"},{"price":{"lt":1000}}]}, percent-encoded`
    issues.push({ message, field: WHERE, type: 'invalid_value' })
    return { filters: [], count: 0 }
  }
  const inexact = findInexact(text)
  if (inexact) {
    const field = join(WHERE, inexact.path).slice(0, 128)
    const message = `${field} ${describeInexact(inexact.digits)}`
    issues.push({ message, field, type: 'inexact_number' })
    return { filters: [], count: 0 }
  }
  return readWhere(value, { at: WHERE, scope }, limits, issues)
}

/**
 * Reads a filter object: `{ color: ['red', 'blue'], price: { lt: 1000 }, or: [{ … }, { … }], not: { … } }`. Issues
 * are added to the list.
 */
export function readWhere(
  value: unknown,
  place: Pick<FilterPlace, 'at' | 'scope'>,
  limits: QueryLimits,
  issues: Issue[],
): WhereTree {
  const reader = new WhereReader(limits, issues)
  const filters = reader.readObject(value, { ...place, levels: MAX_DEPTH, steps: [] })
  return { filters, count: reader.count }
}

/** Where an object of filters stands. */
interface FilterPlace {
  /** For the names of issues; empty for a whole query. */
  readonly at: string
  readonly scope: QueryScope
  /** How many groups may stand within each other from here on. */
  readonly levels: number
  /** The relations that lead here. */
  readonly steps: readonly Relation[]
}

class WhereReader {
  count = 0
  readonly #limits: QueryLimits
  readonly #issues: Issue[]

  constructor(limits: QueryLimits, issues: Issue[]) {
    this.#limits = limits
    this.#issues = issues
  }

  readObject(value: unknown, place: FilterPlace): readonly ParsedFilter[] {
    const { at, scope, levels } = place
    if (!isObject(value)) {
      const message = `${at} must be an object of filters, such as {"price":{"lt":1000}}`
      return this.#add(at, message, 'invalid_value')
    }
    const filters = Object.entries(value).flatMap(([name, each]): readonly ParsedFilter[] => {
      const within = { ...place, at: join(at, name) }
      if (!isGroup(name, scope.fields)) return this.#readEntry(name, each, within)
      if (levels === 0) {
        const message = `${within.at} is nested too deeply: groups may be ${MAX_DEPTH} deep`
        return this.#add(within.at, message, 'too_deep')
      }
      const member = { ...within, levels: levels - 1 }
      const group = GROUPS[name]
      if (group !== 'not') return this.#readList(group, each, member)
      const inner = this.#readMember(each, member)
      return [{ operator: 'not', filter: { operator: 'all', filters: inner } }]
    })
    return scope.relations.size > 0 ? mergeRelated(filters) : filters
  }

  #readList(operator: 'any' | 'all', value: unknown, place: FilterPlace): ParsedFilter[] {
    const { at } = place
    if (!Array.isArray(value)) {
      const message = `${at} must be a list of objects, such as [{"color":"red"},{"price":{"lt":1000}}]`
      return this.#add(at, message, 'invalid_value')
    }
    if (value.length === 0) this.#spend()
    const filters: ParsedFilter[] = []
    for (const [index, each] of value.entries()) {
      if (this.#isFull()) break
      const member = this.#readMember(each, { ...place, at: join(at, index) })
      filters.push({ operator: 'all', filters: member })
    }
    return [{ operator, filters }]
  }

  /** Reads a member of a group. One without filters would match every item, often by accident. */
  #readMember(value: unknown, place: FilterPlace): readonly ParsedFilter[] {
    const { at } = place
    if (isObject(value) && Object.keys(value).length === 0) {
      const message = `${at} has no filter. Leave it out, or write what it must match`
      return this.#add(at, message, 'invalid_value')
    }
    return this.readObject(value, place)
  }

  /** Reads the filters of a field, or of related items: an object of their filters, which one of them must pass. */
  #readEntry(dotted: string, value: unknown, place: FilterPlace): readonly ParsedFilter[] {
    const { steps, rest, scope } = followRelations(dotted, place.scope)
    const keys = isObject(value) ? Object.keys(value) : []
    const isCondition = keys.every(key => findOperator(key))
    if (steps.length === 0) return this.#readField(dotted, value, place)
    const all = [...place.steps, ...steps]
    const reason = invalidThroughReason(all)
    if (reason !== undefined) return this.#add(place.at, reason, 'not_filterable')
    if (rest === '' && isCondition) return this.#readField(dotted, value, place)
    const inner = { ...place, scope, steps: all }
    const filters =
      rest === '' ? this.readObject(value, inner) : this.#readField(rest, value, inner)
    return filters.length === 0 ? [] : [wrapAll(filters, steps)]
  }

  /** Reads the filters of a field: a value, a list of values, operators, or filters of its properties. */
  #readField(dotted: string, value: unknown, place: FilterPlace): ParsedFilter[] {
    if (this.#isFull()) return []
    const { at, scope } = place
    const below = (name: string) => ({ ...place, at: join(at, name) })
    const entries = isObject(value) ? Object.entries(value) : []
    if (entries.length === 0) return this.#readCondition(dotted, 'eq', value, place)
    if (entries.every(([key]) => findOperator(key)))
      return entries.flatMap(([word, each]) => this.#readCondition(dotted, word, each, below(word)))
    const field = findField(scope.fields, toPath(dotted))
    if (field?.properties)
      return entries.flatMap(([name, each]) =>
        this.#readField(`${dotted}.${name}`, each, below(name)),
      )
    // One of the keys is no operator.
    const [word = ''] = entries.find(([key]) => !findOperator(key)) ?? []
    return this.#readCondition(dotted, word, undefined, place)
  }

  #readCondition(
    dotted: string,
    word: string,
    value: unknown,
    { at, scope }: FilterPlace,
  ): ParsedFilter[] {
    this.#spend()
    if (this.#isFull()) return []
    if (/[[\]]/.test(dotted)) {
      const message = `${at} is no field. Operators stand in an object: {"price":{"gte":10}}`
      return this.#add(at, message, 'unknown_field')
    }
    const found = findFilterOf(dotted, word, scope)
    if ('issue' in found) {
      // Within a filter object no name is that of a parameter: those are not suggested.
      const unknown = found.issue.type === 'unknown_field' && at !== dotted
      const { message, type } = unknown
        ? unknownRelated({ steps: [], rest: dotted, scope }, at)
        : found.issue
      return this.#add(at, message, type)
    }
    const values = Array.isArray(value) ? value : [value]
    if (values.length > 1 && !takesSeveral(found.operator))
      return this.#add(at, `${at} takes one value, not a list`, 'invalid_value')
    if (!values.every(isScalar)) {
      const message = `${at} must be a string, number, boolean or list of them. For items without a value write {"exists":false}`
      return this.#add(at, message, 'invalid_value')
    }
    // As in a program: one of no values matches nothing, none of no values everything.
    if (values.length === 0)
      return [{ operator: found.operator === 'nin' ? 'all' : 'any', filters: [] }]
    const texts = values.map(String)
    if (texts.some(text => text.includes('\0') || !text.isWellFormed())) {
      const message = `${at} has a text with the character U+0000 or half of a surrogate pair, which no item has`
      return this.#add(at, message, 'invalid_value')
    }
    const filter = readValues({ ...found, name: at }, texts, this.#limits, this.#issues)
    return filter ? [throughSteps(filter, found)] : []
  }

  #spend(): void {
    this.count++
  }

  /** Whether there are more conditions than allowed: the rest is not looked at. */
  #isFull(): boolean {
    return this.count > this.#limits.filters
  }

  #add(at: string, message: string, type: ErrorType | undefined): [] {
    this.#issues.push({ message, field: at.slice(0, 128), ...(type && { type }) })
    return []
  }
}

function join(at: string, name: string | number): string {
  return at === '' ? String(name) : `${at}.${name}`
}
