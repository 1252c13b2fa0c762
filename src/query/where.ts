// `where`: a filter as an object, with `or`, `and` and `not` → a tree of conditions. It is the value of a parameter,
// and what programs pass.

import { toPath } from '../base/paths.ts'
import { isObject, isScalar, namesOf } from '../base/values.ts'
import type { ErrorType, Issue } from '../errors.ts'
import { type Fields, findField, unknownField } from '../schema/fields.ts'
import type { Filter } from '../store/filter.ts'
import { findOperator, takesSeveral } from '../store/operators.ts'
import { findFilter, type QueryLimits, readValues } from './filters.ts'

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
  readonly filters: readonly Filter[]
  /** The number of its conditions; a group without any counts as one. */
  readonly count: number
}

/**
 * Reads the text of the parameter. Issues are added to the list.
 * @throws nothing: a text that is no JSON is an issue.
 */
export function parseWhere(
  text: string,
  fields: Fields,
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
  return readWhere(value, WHERE, fields, limits, issues)
}

/**
 * Reads a filter object: `{ color: ['red', 'blue'], price: { lt: 1000 }, or: [{ … }, { … }], not: { … } }`. Issues
 * are added to the list.
 * @param at where the object stands, for the names of issues; empty for a whole query.
 */
export function readWhere(
  value: unknown,
  at: string,
  fields: Fields,
  limits: QueryLimits,
  issues: Issue[],
): WhereTree {
  const reader = new WhereReader(fields, limits, issues)
  const filters = reader.readObject(value, at, MAX_DEPTH)
  return { filters, count: reader.count }
}

class WhereReader {
  count = 0
  readonly #fields: Fields
  readonly #limits: QueryLimits
  readonly #issues: Issue[]

  constructor(fields: Fields, limits: QueryLimits, issues: Issue[]) {
    this.#fields = fields
    this.#limits = limits
    this.#issues = issues
  }

  /** @param levels how many groups may stand within each other from here on. */
  readObject(value: unknown, at: string, levels: number): Filter[] {
    if (!isObject(value)) {
      const message = `${at} must be an object of filters, such as {"price":{"lt":1000}}`
      return this.#add(at, message, 'invalid_value')
    }
    return Object.entries(value).flatMap(([name, each]) => {
      const within = join(at, name)
      if (!isGroup(name, this.#fields)) return this.#readField(name, each, within)
      if (levels === 0) {
        const message = `${within} is nested too deeply: groups may be ${MAX_DEPTH} deep`
        return this.#add(within, message, 'too_deep')
      }
      const group = GROUPS[name]
      if (group === 'not') {
        const filters = this.#readMember(each, within, levels - 1)
        return { operator: 'not', filter: { operator: 'all', filters } }
      }
      return this.#readList(group, each, within, levels - 1)
    })
  }

  #readList(operator: 'any' | 'all', value: unknown, at: string, levels: number): Filter[] {
    if (!Array.isArray(value)) {
      const message = `${at} must be a list of objects, such as [{"color":"red"},{"price":{"lt":1000}}]`
      return this.#add(at, message, 'invalid_value')
    }
    if (value.length === 0) this.#spend()
    const filters: Filter[] = []
    for (const [index, each] of value.entries()) {
      if (this.#isFull()) break
      filters.push({ operator: 'all', filters: this.#readMember(each, join(at, index), levels) })
    }
    return [{ operator, filters }]
  }

  /** Reads a member of a group. One without filters would match every item, often by accident. */
  #readMember(value: unknown, at: string, levels: number): Filter[] {
    if (isObject(value) && Object.keys(value).length === 0) {
      const message = `${at} has no filter. Leave it out, or write what it must match`
      return this.#add(at, message, 'invalid_value')
    }
    return this.readObject(value, at, levels)
  }

  /** Reads the filters of a field: a value, a list of values, operators, or filters of its properties. */
  #readField(dotted: string, value: unknown, at: string): Filter[] {
    if (this.#isFull()) return []
    const entries = isObject(value) ? Object.entries(value) : []
    if (entries.length === 0) return this.#readCondition(dotted, 'eq', value, at)
    if (entries.every(([key]) => findOperator(key)))
      return entries.flatMap(([word, each]) =>
        this.#readCondition(dotted, word, each, join(at, word)),
      )
    const field = findField(this.#fields, toPath(dotted))
    if (field?.properties)
      return entries.flatMap(([name, each]) =>
        this.#readField(`${dotted}.${name}`, each, join(at, name)),
      )
    // One of the keys is no operator.
    const [word = ''] = entries.find(([key]) => !findOperator(key)) ?? []
    return this.#readCondition(dotted, word, undefined, at)
  }

  #readCondition(dotted: string, word: string, value: unknown, at: string): Filter[] {
    this.#spend()
    if (this.#isFull()) return []
    if (/[[\]]/.test(dotted)) {
      const message = `${at} is no field. Operators stand in an object: {"price":{"gte":10}}`
      return this.#add(at, message, 'unknown_field')
    }
    const found = findFilter(dotted, word, this.#fields)
    if ('issue' in found) {
      // A name that is no field is no parameter either: those are not suggested.
      const unknown = found.issue.type === 'unknown_field'
      const { message, type } = unknown ? unknownField(dotted, this.#fields, at) : found.issue
      return this.#add(at, message, type)
    }
    const values = Array.isArray(value) ? value : [value]
    if (values.length > 1 && !takesSeveral(found.operator))
      return this.#add(at, `${at} takes one value, not a list`, 'invalid_value')
    if (!values.every(isScalar)) {
      const message = `${at} must be a text, number, boolean or list of them. For items without a value write {"exists":false}`
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
    return filter ? [filter] : []
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
