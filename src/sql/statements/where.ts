// Builds the conditions of filters and search in SQL, with the meaning that `matcher` defines.

import { parseInstant } from '../../base/dates.ts'
import type { Scalar } from '../../base/values.ts'
import { findField, type Kind } from '../../schema/fields.ts'
import { isOfKind } from '../../schema/scalars.ts'
import {
  type Filter,
  type FilteredStore,
  type FilterLeaf,
  isLeaf,
  listLeaves,
  type Operator,
  toConjunction,
  type Within,
} from '../../store/filter.ts'
import { filterByParts } from '../../store/relation-ids.ts'
import { foldText, lowerAscii, splitWords } from '../../store/search.ts'
import { type FilterSet, parseLike, type Search } from '../../store/selection.ts'
import type { Id } from '../../store/store.ts'
import type { NativeType, SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { ColumnExpression } from '../table/column-expression.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** The tables of stores, for filters that reach into another one. */
const mappings = new WeakMap<FilteredStore, TableMapping>()

/** Remembers the table of a store, once its catalog is read. */
export function setMapping(store: FilteredStore, mapping: TableMapping): void {
  mappings.set(store, mapping)
}

/** @throws TypeError for a store of another database. */
function getMapping(store: FilteredStore): TableMapping {
  const mapping = mappings.get(store)
  if (mapping) return mapping
  throw new TypeError('The stores of a filter are in different databases')
}

/** Lists the stores that filters reach into. */
export function listStores(where: readonly Filter[]): FilteredStore[] {
  return listLeaves(where).flatMap(filter =>
    filter.operator === 'within' ? [filter.within.store, ...listStores(filter.within.where)] : [],
  )
}

export const FALSE = sql`1 = 0`
const TRUE = sql`1 = 1`

/** Builds the condition of filters and search; `undefined` where all items pass. */
export function buildCondition(
  { where, search }: FilterSet,
  mapping: TableMapping,
): Fragment | undefined {
  const conditions = toConjunction(where).map(filter => filterCondition(filter, mapping))
  if (search) conditions.push(searchCondition(search, mapping))
  return conditions.length === 0 ? undefined : all(conditions)
}

/** Builds the `where` of a statement: all of the conditions, nothing if there are none. */
export function whereClause(conditions: readonly (Fragment | undefined)[]): Fragment {
  const present = conditions.filter(condition => condition !== undefined)
  return present.length === 0 ? sql`` : sql` where ${all(present)}`
}

function all(conditions: readonly Fragment[]): Fragment {
  return sql.join(conditions, ' and ')
}

function any(conditions: readonly Fragment[]): Fragment {
  return conditions.length === 0 ? FALSE : sql`(${sql.join(conditions, ' or ')})`
}

function filterCondition(filter: Filter, mapping: TableMapping): Fragment {
  if (isLeaf(filter)) return leafCondition(filter, mapping)
  // The condition on an absent value is null in SQL: its complement is not `not`.
  if (filter.operator === 'not')
    return sql`(${filterCondition(filter.filter, mapping)}) is not true`
  const conditions = filter.filters.map(each => filterCondition(each, mapping))
  if (filter.operator === 'any') return any(conditions)
  return conditions.length === 0 ? TRUE : all(conditions)
}

function leafCondition(filter: FilterLeaf, mapping: TableMapping): Fragment {
  const { path, operator, values } = filter
  const { shape } = mapping
  const { name, parts } = shape.identity
  if (parts && path.join('.') === name && (operator === 'in' || operator === 'nin')) {
    const one = filterByParts(parts, values, shape.fields)
    return filterCondition(operator === 'in' ? one : { operator: 'not', filter: one }, mapping)
  }
  const expression = mapping.find(path)
  if (operator === 'within') return withinCondition(expression, filter.within)
  const { json, column, list } = expression
  const { database } = mapping
  if (operator === 'exists') {
    // The column itself, so that an index serves it.
    if (column) return sql`${column} is ${values[0] === true ? sql`not null` : sql`null`}`
    const has = json ? database.has(json.column, json.path) : FALSE
    const wanted = values[0] === true ? has : sql`not (${has})`
    if (!json || json.path.length === 0) return wanted
    return sql`${database.holds(json.column, json.path.slice(0, -1), 'object')} and ${wanted}`
  }
  if (expression.kind !== 'array' || !json) return test(operator, values, expression, database)
  const kind = findField(mapping.shape.fields, path)?.element?.kind ?? 'any'
  const overlap = column && list?.overlap?.(column, values)
  if (overlap && operator === 'in') return overlap
  if (overlap && operator === 'nin') return sql`not (${overlap})`
  const some = (each: Comparison) =>
    database.anyElement(json.column, json.path, kind, value => {
      const order = kind === 'date-time' ? database.instant(value) : value
      return test(each, values, { kind, value, order }, database)
    })
  if (operator !== 'nin') return some(operator)
  return sql`${database.holds(json.column, json.path, 'array')} and not ${some('in')}`
}

/** Builds the condition that a row in the other table has this value, as its id or its key; both in a form that compares. */
function withinCondition(expression: ColumnExpression, { store, where, key }: Within): Fragment {
  const other = getMapping(store)
  const id = other.find(key ?? [other.id.name])
  const alike = !expression.native === !id.native
  const compared = ({ value, order, equal = order }: ColumnExpression) => (alike ? equal : value)
  const condition = whereClause([buildCondition({ where }, other)])
  return sql`${compared(expression)} in (select ${compared(id)} from ${other.from}${condition})`
}

/** An operator that compares a value with others. */
type Comparison = Exclude<Operator, 'exists'>

/** A value to test. */
type Operand = Omit<ColumnExpression, 'nullable' | 'json' | 'list'>

const COMPARISONS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function test(
  operator: Comparison,
  values: readonly Scalar[],
  operand: Operand,
  database: SqlDatabase,
): Fragment {
  const { order, value } = operand
  const [first = ''] = values
  switch (operator) {
    case 'in':
      return oneOf(values, operand, database)
    case 'nin':
      return sql`${order} is not null and not ${oneOf(values, operand, database)}`
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      if (!holds(operand, first)) return FALSE
      return sql`${order} ${sql.raw(COMPARISONS[operator])} ${bindValue(first, operand, database)}`
    }
    case 'prefix':
      if (!isText(operand.kind)) return FALSE
      return prefixCondition(value, String(first), database)
    case 'like':
      if (!isText(operand.kind)) return FALSE
      return database.like(value, parseLike(String(first)))
  }
}

function oneOf(values: readonly Scalar[], operand: Operand, database: SqlDatabase): Fragment {
  const { order, equal = order, column = order, alike } = operand
  const held = values.filter(value => holds(operand, value) && isKept(value, alike))
  if (held.length === 0) return FALSE
  const bound = held.map(value => bindValue(value, operand, database))
  const found = isIn(equal, bound)
  const isIndexed = held.every(value => alike?.indexes?.(String(value)) ?? true)
  if (!alike?.own || !isIndexed) return found
  const near = held.map(value => alike.bind(String(value)))
  return sql`(${isIn(alike.own(column), near)} and ${found})`
}

function isKept(value: Scalar, type: NativeType | undefined): boolean {
  return !type || type.toColumnText(String(value)) === value
}

function isIn(value: Fragment, bound: readonly Fragment[]): Fragment {
  return bound.length === 1 ? sql`${value} = ${bound[0]}` : sql`${value} in (${sql.join(bound)})`
}

function holds({ kind, native }: Operand, value: Scalar): boolean {
  if (!isOfKind(value, kind)) return false
  return !native || native.toColumnText(String(value)) !== undefined
}

/** Builds a range, which an index serves: from the prefix to the first text that does not start with it. */
function prefixCondition(value: Fragment, prefix: string, database: SqlDatabase): Fragment {
  const end = textAfter(prefix)
  const from = sql`${value} >= ${database.bind(prefix, 'string')}`
  return end === undefined ? from : sql`${from} and ${value} < ${database.bind(end, 'string')}`
}

/** Finds the first text after all that start with a prefix, by code point; `undefined` if none exists. */
function textAfter(prefix: string): string | undefined {
  const chars = Array.from(prefix)
  for (let last = chars.pop(); last !== undefined; last = chars.pop()) {
    const point = last.codePointAt(0) ?? 0
    if (point === 0x10ffff) continue
    const next = point === 0xd7ff ? 0xe000 : point + 1
    return chars.join('') + String.fromCodePoint(next)
  }
  return undefined
}

function isText(kind: Kind): boolean {
  return kind === 'string' || kind === 'date' || kind === 'date-time'
}

/** Binds a value in the form in which the operand is compared. */
export function bindValue(
  value: Scalar,
  { kind, canonical, native }: Pick<Operand, 'kind' | 'canonical' | 'native'>,
  database: SqlDatabase,
): Fragment {
  if (native) return native.bind(String(value))
  if (kind !== 'date-time') return database.bind(value, kind)
  const time = parseInstant(String(value))
  if (!canonical) return database.bind(time, 'integer')
  return database.bind(new Date(time).toISOString(), 'string')
}

/** A search, and the items that it finds among those whose texts are not folded. */
export interface TableSearch extends Search {
  readonly found?: readonly Id[] | undefined
}

/** Compares a text that the table does not keep folded as a search that does not fold. */
function searchCondition(
  { text, paths, fold, found = [] }: TableSearch,
  mapping: TableMapping,
): Fragment {
  const { database, shape } = mapping
  const tests = paths.map(path => {
    const folded = fold ? mapping.findFolded(path) : undefined
    const value = folded?.ref ?? sql`lower(${mapping.find(path).value})`
    // A date is folded as it is.
    const isFolded = folded || (fold && findField(shape.fields, path)?.kind !== 'string')
    const toComparable = isFolded ? foldText : lowerAscii
    return (word: string) => database.contains(value, toComparable(word), folded !== undefined)
  })
  const words = splitWords(text).filter(word => !fold || foldText(word) !== '')
  const conditions = words.map(word => any(tests.map(test => test(word))))
  const matches = conditions.length === 0 ? TRUE : all(conditions)
  if (found.length === 0) return matches
  const isFound = { path: [shape.identity.name], operator: 'in', values: found } as const
  return any([matches, filterCondition(isFound, mapping)])
}
