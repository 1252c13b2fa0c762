// Filters, search, places and order as SQL: what `matcher` and `comparer` mean, for a table.

import { parseInstant } from '../schema/dates.ts'
import { type Field, findField, type Kind } from '../schema/fields.ts'
import { isOfKind } from '../schema/scalars.ts'
import type { Scalar } from '../schema/values.ts'
import {
  type Filter,
  type Operator,
  parseLike,
  type Search,
  type Selection,
  type SortKey,
  searchWords,
} from '../store/selection.ts'
import type { Slice } from '../store/store.ts'
import type { Declared } from './columns.ts'
import type { JsonType, Mixed, SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { Place, TableMapping } from './table-mapping.ts'
import { toColumnText } from './types.ts'

const TRUE = sql`1 = 1`
const FALSE = sql`1 = 0`

/** The condition of filters and search; `undefined` where all items pass. */
export function buildCondition(
  { where, search }: Pick<Selection, 'where' | 'search'>,
  layout: TableMapping,
): Fragment | undefined {
  const conditions = where.map(filter => filterCondition(filter, layout))
  if (search) conditions.push(...searchConditions(search, layout))
  return conditions.length === 0 ? undefined : all(conditions)
}

export function all(conditions: readonly Fragment[]): Fragment {
  return sql.join(conditions, ' and ')
}

function any(conditions: readonly Fragment[]): Fragment {
  return conditions.length === 0 ? FALSE : sql`(${sql.join(conditions, ' or ')})`
}

function filterCondition({ path, operator, values }: Filter, layout: TableMapping): Fragment {
  const place = layout.at(path)
  if (!place) return FALSE
  const { json } = place
  const { dialect } = layout
  if (operator === 'exists') {
    const has = json ? dialect.has(json.column, json.path) : sql`${place.value} is not null`
    if (!json || json.path.names.length === 0) return values[0] === true ? has : sql`not (${has})`
    const above = { ...json.path, names: json.path.names.slice(0, -1) }
    const parent = dialect.holds(json.column, above, 'object')
    return values[0] === true ? sql`${parent} and ${has}` : sql`${parent} and not (${has})`
  }
  if (place.kind !== 'array' || !json) return test(operator, values, place, dialect)
  const element = findField(layout.shape.fields, path)?.element
  const some = (each: Operator) =>
    dialect.anyElement(json.column, json.path, value =>
      test(each, values, elementOperand(value, element, dialect), dialect),
    )
  if (operator !== 'nin') return some(operator)
  return sql`${dialect.holds(json.column, json.path, 'array')} and not ${some('in')}`
}

/** A value to test: of one kind, or of whichever type it is. */
interface Operand {
  readonly kind: Kind
  readonly value: Fragment
  /** Comparable. */
  readonly order: Fragment
  readonly canonical: boolean
  /** As it is compared for being equal; default as it is compared. */
  readonly equal?: Fragment
  readonly declared?: Declared
  readonly mixed?: Mixed
}

function elementOperand(element: Mixed, field: Field | undefined, dialect: SqlDatabase): Operand {
  const kind = field?.kind ?? 'any'
  if (kind === 'any' || kind === 'union') {
    return { kind, value: element.value, order: element.order, canonical: false, mixed: element }
  }
  const value = element.as(kind)
  const order = kind === 'date-time' ? dialect.instant(value) : value
  return { kind, value, order, canonical: false }
}

const COMPARISONS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function test(
  operator: Operator,
  values: readonly Scalar[],
  operand: Operand,
  dialect: SqlDatabase,
): Fragment {
  const { order, mixed } = operand
  const [first = ''] = values
  const only = (type: JsonType, condition: Fragment) =>
    mixed ? sql`(${mixed.is(type)} and ${condition})` : condition
  switch (operator) {
    case 'in':
      return oneOf(values, operand, dialect)
    case 'nin':
      return sql`${order} is not null and not ${oneOf(values, operand, dialect)}`
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      if (!mixed && !holds(operand, first)) return FALSE
      const bound = bind(first, operand, dialect)
      const compared = sql`${order} ${sql.raw(COMPARISONS[operator])} ${bound}`
      // Values of any type have an order; the options of a union are compared each with its like.
      return operand.kind === 'union' ? only(typeOf(first), compared) : compared
    }
    case 'prefix':
      if (!mixed && !isText(operand.kind)) return FALSE
      return only('string', prefixCondition(operand.value, String(first), dialect))
    case 'like':
      if (!mixed && !isText(operand.kind)) return FALSE
      return only('string', dialect.like(operand.value, parseLike(String(first))))
    case 'exists':
      return TRUE
  }
}

function oneOf(values: readonly Scalar[], operand: Operand, dialect: SqlDatabase): Fragment {
  const { mixed, order, equal = order } = operand
  if (!mixed) {
    const bound = values
      .filter(value => holds(operand, value))
      .map(value => bind(value, operand, dialect))
    if (bound.length === 0) return FALSE
    return bound.length === 1 ? sql`${equal} = ${bound[0]}` : sql`${equal} in (${sql.join(bound)})`
  }
  const types = [...new Set(values.map(typeOf))]
  return any(
    types.map(type => {
      const bound = values.filter(value => typeOf(value) === type)
      const list = sql.join(bound.map(value => bind(value, operand, dialect)))
      return sql`(${mixed.is(type)} and ${order} in (${list}))`
    }),
  )
}

function holds({ kind, declared }: Operand, value: Scalar): boolean {
  if (!isOfKind(value, kind)) return false
  return !declared || toColumnText(String(value), declared.type) !== undefined
}

/** As a range, so that an index serves it: from the prefix to the first text that does not start with it. */
function prefixCondition(value: Fragment, prefix: string, dialect: SqlDatabase): Fragment {
  const end = textAfter(prefix)
  const from = sql`${value} >= ${dialect.bind(prefix, 'string')}`
  return end === undefined ? from : sql`${from} and ${value} < ${dialect.bind(end, 'string')}`
}

/** The least text above all that start with a prefix, by code point; `undefined` where there is none. */
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

function typeOf(value: Scalar): JsonType {
  if (typeof value === 'string') return 'string'
  return typeof value === 'number' ? 'number' : 'boolean'
}

/** What is bound for a value, in the form in which the operand is compared. */
function bind(
  value: Scalar,
  { kind, canonical, declared }: Pick<Operand, 'kind' | 'canonical' | 'declared'>,
  dialect: SqlDatabase,
): Fragment {
  if (declared) return declared.own.bind(toColumnText(String(value), declared.type) ?? null)
  if (kind !== 'date-time') return dialect.bind(value, kind)
  const time = parseInstant(String(value))
  if (!canonical) return dialect.bind(time, 'integer')
  return dialect.bind(Number.isNaN(time) ? '' : new Date(time).toISOString(), 'string')
}

function searchConditions({ text, paths }: Search, layout: TableMapping): Fragment[] {
  const places = paths.flatMap(path => {
    const place = layout.at(path)
    return place && (place.mixed || isText(place.kind)) ? [place] : []
  })
  return searchWords(text).map(word =>
    any(
      places.map(({ value, mixed }) => {
        const found = layout.dialect.contains(value, word)
        return mixed ? sql`(${mixed.is('string')} and ${found})` : found
      }),
    ),
  )
}

/** The order, or the same backwards. */
export function buildOrder(
  sort: readonly SortKey[],
  backward: boolean,
  layout: TableMapping,
): Fragment {
  return sql.join(
    sort.flatMap(({ path, descending }) => {
      const place = layout.at(path)
      return place
        ? [layout.dialect.orderBy(place.order, descending !== backward, place.maybe)]
        : []
    }),
  )
}

type Key = NonNullable<Extract<Slice, { backward: boolean }>['key']>

/** Some of what stands after a place, and the order of it that an index has. */
export interface Range {
  readonly condition: Fragment
  readonly order: Fragment
}

/**
 * What stands after a place in a sort (before it, if backward), in the order of the ranges. Where
 * both null and values are left, a database finds the place in two ranges only.
 */
export function rangesAfter(
  sort: readonly SortKey[],
  key: Key,
  backward: boolean,
  layout: TableMapping,
): readonly [Range, ...Range[]] {
  const keys = sort.flatMap(({ path, descending }, at) => {
    const place = layout.at(path)
    const value = key[at] ?? null
    return place ? [{ place, value, down: descending !== backward }] : []
  })
  const order = buildOrder(sort, backward, layout)
  const { dialect } = layout
  const [first, ...others] = keys
  const [by, ...rest] = sort
  const both = first?.place.maybe && (first.value !== null) === first.down && others.length > 0
  if (!both || !by) {
    return [{ condition: afterCondition(keys, dialect), order }]
  }
  // Of equals, the direction of what follows is the one of the index.
  const alike = [{ ...by, descending: rest[0]?.descending ?? false }, ...rest]
  const { place, down } = first
  const bounded = { ...first, place: { ...place, maybe: false } }
  const values = down
    ? afterCondition([bounded, ...others], dialect)
    : sql`${place.order} is not null`
  const isNull = sql`${place.order} is null`
  const nulls = down ? isNull : sql`${isNull} and ${afterCondition(others, dialect)}`
  const ofValues = { condition: values, order }
  const ofNull = { condition: nulls, order: buildOrder(alike, backward, layout) }
  return down ? [ofValues, ofNull] : [ofNull, ofValues]
}

/**
 * Where all keys go one way, rows are compared as they stand in an index; else the first part of the
 * condition bounds the first key alone, which is what a database takes to find about the place.
 */
function afterCondition(keys: readonly PlaceKey[], dialect: SqlDatabase): Fragment {
  const beyond = (at: number): Fragment => {
    const each = keys[at]
    if (!each) return FALSE
    const strictly = strictlyAfter(each, dialect)
    if (at === keys.length - 1) return strictly
    const { place, value } = each
    const same =
      value === null
        ? sql`${place.order} is null`
        : sql`${place.order} = ${bind(value, place, dialect)}`
    return sql`(${strictly} or (${same} and ${beyond(at + 1)}))`
  }
  const whole = keys.length > 1 ? rowCondition(keys, dialect) : undefined
  if (whole) return whole
  const [first] = keys
  const bound = first && keys.length > 1 ? leadingBound(first, dialect) : undefined
  return bound ? sql`${bound} and ${beyond(0)}` : beyond(0)
}

interface PlaceKey {
  readonly place: Place
  readonly value: Scalar | null
  readonly down: boolean
}

/** Rows compared as wholes; `undefined` where null counts or the keys go both ways. */
function rowCondition(keys: readonly PlaceKey[], dialect: SqlDatabase): Fragment | undefined {
  const down = keys[0]?.down ?? false
  const bound: Fragment[] = []
  for (const { place, value, down: each } of keys) {
    if (each !== down || value === null || (down && place.maybe)) return undefined
    bound.push(bind(value, place, dialect))
  }
  const row = sql.join(keys.map(({ place }) => place.order))
  return sql`(${row}) ${sql.raw(down ? '<' : '>')} (${sql.join(bound)})`
}

function strictlyAfter({ place, value, down }: PlaceKey, dialect: SqlDatabase): Fragment {
  if (value === null) return down || !place.maybe ? FALSE : sql`${place.order} is not null`
  const bound = bind(value, place, dialect)
  if (!down) return sql`${place.order} > ${bound}`
  const less = sql`${place.order} < ${bound}`
  return place.maybe ? sql`(${less} or ${place.order} is null)` : less
}

function leadingBound(
  { place, value, down }: PlaceKey,
  dialect: SqlDatabase,
): Fragment | undefined {
  if (value === null) return down ? sql`${place.order} is null` : undefined
  if (down && place.maybe) return undefined
  return sql`${place.order} ${sql.raw(down ? '<=' : '>=')} ${bind(value, place, dialect)}`
}
