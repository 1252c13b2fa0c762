// Which items a list holds and in which order: what filters, search and sort mean, as a matcher and a
// comparison of items in memory. Every store agrees with these.

import { getValue, type Path } from '../base/paths.ts'
import { type Awaitable, type Item, isObject, type Json, type Scalar } from '../base/values.ts'
import { type Fields, findField, type Kind } from '../schema/fields.ts'
import { compareValues, isOfKind } from '../schema/scalars.ts'
import { TooCostlyError } from './errors.ts'
import {
  type Filter,
  type FilterGroup,
  isLeaf,
  type NotFilter,
  type Operator,
  type WithinFilter,
} from './filter.ts'
import { foldText, isAscii, lowerAscii, searchWords } from './search.ts'

/** One key of a sort: a path and its direction. */
export interface SortKey {
  readonly path: Path
  readonly descending: boolean
}

/** A text search: every word stands in one of the fields. */
export interface Search {
  readonly text: string
  readonly paths: readonly Path[]
  /**
   * Whether words and texts are compared folded, without diacritics and capital letters, as `foldText` does it. False:
   * as they are, ASCII letters in either case.
   */
  readonly fold: boolean
}

/** Filters, which must all hold, and a search. */
export interface FilterSet {
  readonly where: readonly Filter[]
  readonly search?: Search | undefined
}

/** Which items a list has and in which order: the sort ends with the id. */
export interface Selection extends FilterSet {
  readonly sort: readonly SortKey[]
}

/** How many characters may still be compared with patterns and words of a search. */
interface Effort {
  left: number
}

/** So many take a quarter of a second. */
const MAX_EFFORT = 50_000_000

/**
 * Compiles filters and search to a test of an item: the meaning that every store must agree with.
 * @param bounded whether all the items together may cost no more than a list may; the test then throws a
 * `TooCostlyError`.
 */
export function matcher(
  { where, search }: FilterSet,
  fields: Fields,
  bounded = false,
): (item: Item) => boolean {
  const effort = { left: bounded ? MAX_EFFORT : Number.POSITIVE_INFINITY }
  const tests = where.map(filter => filterTest(filter, fields, effort))
  if (search) tests.push(searchTest(search, effort))
  return item => tests.every(test => test(item))
}

function spend(effort: Effort, characters: number): void {
  effort.left -= characters
  if (effort.left < 0) {
    const message =
      'There is too much text to look through. Use a shorter pattern, fewer words, or other filters.'
    throw new TooCostlyError(message, 'text')
  }
}

function filterTest(filter: Filter, fields: Fields, effort: Effort): (item: Item) => boolean {
  if (!isLeaf(filter)) return groupTest(filter, fields, effort)
  if (filter.operator === 'within') return withinTest(filter, effort)
  const { path, operator, values } = filter
  if (operator === 'exists') return existsTest(path, values[0] === true)
  const field = findField(fields, path)
  const leaf = field?.kind === 'array' ? field.element : field
  const test = valueTest(operator, values, leaf?.kind, effort)
  if (field?.kind !== 'array') {
    return item => {
      const value = getValue(item, path)
      return value !== undefined && value !== null && test(value)
    }
  }
  // A filter on a list holds where it holds for one of its elements; `nin` where none is among the values.
  const every = operator === 'nin'
  return item => {
    const list = getValue(item, path)
    if (!Array.isArray(list)) return false
    const scalars = list.filter(value => value !== null)
    return every ? scalars.every(test) : scalars.some(test)
  }
}

function groupTest(
  filter: FilterGroup | NotFilter,
  fields: Fields,
  effort: Effort,
): (item: Item) => boolean {
  if (filter.operator === 'not') {
    const test = filterTest(filter.filter, fields, effort)
    return item => !test(item)
  }
  const tests = filter.filters.map(each => filterTest(each, fields, effort))
  return filter.operator === 'all'
    ? item => tests.every(test => test(item))
    : item => tests.some(test => test(item))
}

/** Looks into the other store, which is in memory too and answers at once. */
function withinTest({ path, within }: WithinFilter, effort: Effort): (item: Item) => boolean {
  const { store, fields, where, key } = within
  if (!key) {
    const tests = where.map(filter => filterTest(filter, fields, effort))
    return item => {
      const id = getValue(item, path)
      if (typeof id !== 'string' && typeof id !== 'number') return false
      const found = atOnce(store.get(id))
      return found !== undefined && tests.every(test => test(found.item))
    }
  }
  let values: ReadonlySet<Json | undefined> | undefined
  return item => {
    values ??= new Set(
      atOnce(store.list({ where, sort: [] }, ALL, 'none')).items.map(other =>
        getValue(other.item, key),
      ),
    )
    const value = getValue(item, path)
    return value !== undefined && value !== null && values.has(value)
  }
}

const ALL = { limit: Number.MAX_SAFE_INTEGER - 1, offset: 0 }

function atOnce<T>(found: Awaitable<T>): T {
  if (found instanceof Promise) throw new TypeError('The stores of a filter share no memory')
  return found
}

function existsTest(path: Path, wanted: boolean): (item: Item) => boolean {
  const parent = path.slice(0, -1)
  return item => {
    if (!isObject(getValue(item, parent))) return false
    return ((getValue(item, path) ?? null) !== null) === wanted
  }
}

function valueTest(
  operator: Exclude<Operator, 'exists'>,
  values: readonly Scalar[],
  kind: Kind | undefined,
  effort: Effort,
): (value: Json) => boolean {
  const [first = null] = values
  switch (operator) {
    case 'in':
    case 'nin': {
      // A set: comparing every item with many long values that begin alike would take long.
      const wanted: ReadonlySet<Json> = new Set(values)
      const same =
        kind === 'date-time'
          ? (value: Json) => values.some(other => compareValues(value, other, kind) === 0)
          : (value: Json) => wanted.has(value)
      return operator === 'in' ? same : value => !same(value)
    }
    case 'gt':
      return value => compareValues(value, first, kind) > 0
    case 'gte':
      return value => compareValues(value, first, kind) >= 0
    case 'lt':
      return value => compareValues(value, first, kind) < 0
    case 'lte':
      return value => compareValues(value, first, kind) <= 0
    case 'prefix':
      return value => typeof value === 'string' && value.startsWith(String(first))
    case 'like': {
      const matches = likeTest(parseLike(String(first)), effort)
      return value => typeof value === 'string' && matches(value)
    }
  }
}

/** One step of a pattern: any run of characters, any one character, or this one. */
export type LikeStep = 'run' | 'one' | { readonly char: string }

/** Reads the pattern of `[like]`: `%` and `*` any run, `_` any one, `\` takes the next character literally. */
export function parseLike(pattern: string): LikeStep[] {
  const steps: LikeStep[] = []
  let literal = false
  for (const char of pattern) {
    if (literal) steps.push({ char })
    else if (char === '%' || char === '*') {
      if (steps.at(-1) !== 'run') steps.push('run')
    } else if (char === '_') steps.push('one')
    else if (char !== '\\') steps.push({ char })
    literal = !literal && char === '\\'
  }
  return literal ? [...steps, { char: '\\' }] : steps
}

/** To search a text costs an eighth of comparing each of its characters. */
const LITERAL_SHIFT = 3

/** A shorter text is found as fast by the pattern itself. */
const MIN_LITERAL = 4

/** Finds the longest text that every match contains behind a run; `undefined` where it is short. */
export function findLiteral(steps: readonly LikeStep[]): string | undefined {
  let longest = ''
  let literal = ''
  for (const step of steps.slice(steps.indexOf('run') + 1)) {
    literal = typeof step === 'object' ? literal + step.char : ''
    if (literal.length > longest.length) longest = literal
  }
  return steps.includes('run') && longest.length >= MIN_LITERAL ? longest : undefined
}

/**
 * Compiles a pattern to a test. After a mismatch the last run alone takes one more character, so that at
 * worst every character of the text is compared with every one of the pattern.
 */
function likeTest(steps: readonly LikeStep[], effort: Effort): (text: string) => boolean {
  const literal = findLiteral(steps)
  return text => {
    spend(effort, text.length >> LITERAL_SHIFT)
    if (literal !== undefined && !text.includes(literal)) return false
    let at = 0
    let step = 0
    /** Where what follows the last run was tried; -1 before the first run. */
    let tried = -1
    let afterRun = 0
    while (at < text.length) {
      const wanted = steps[step]
      if (wanted === 'run') {
        step++
        afterRun = step
        tried = at
        if (step === steps.length) return true
      } else if (wanted === 'one') {
        step++
        at += isPair(text, at) ? 2 : 1
      } else if (wanted && text.startsWith(wanted.char, at)) {
        step++
        at += wanted.char.length
      } else {
        if (tried === -1) return false
        const next = steps[afterRun]
        if (typeof next === 'object') tried = text.indexOf(next.char, tried + 1)
        else tried += isPair(text, tried) ? 2 : 1
        if (tried === -1) return false
        // What was compared since the last run is compared again.
        spend(effort, Math.max(1, at - tried))
        step = afterRun
        at = tried
      }
    }
    return step === steps.length || (steps[step] === 'run' && step === steps.length - 1)
  }
}

function isPair(text: string, at: number): boolean {
  const leads = (text.charCodeAt(at) & 0xfc00) === 0xd800
  return leads && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
}

/** Beyond ASCII a character takes so many times as long to fold. */
const FOLD_FACTOR = 4

function searchTest({ text, paths, fold }: Search, effort: Effort): (item: Item) => boolean {
  const words = searchWords(text, fold)
  const toComparable = fold ? foldText : lowerAscii
  return item => {
    const texts = paths.map(path => getValue(item, path)).filter(value => typeof value === 'string')
    for (const each of texts) {
      const { length } = each
      const factor = fold && !isAscii(each) ? FOLD_FACTOR : 1
      spend(effort, length * factor + words.length * (length >> LITERAL_SHIFT))
    }
    const comparable = texts.map(toComparable)
    // A character may be folded to 18 of them.
    for (const { length } of comparable) spend(effort, length)
    return words.every(word => comparable.some(value => value.includes(word)))
  }
}

/** Compiles sort keys to a comparison of items. */
export function comparer(
  sort: readonly SortKey[],
  fields: Fields,
): (one: Item, other: Item) => number {
  const compareKeys = keyComparer(sort, fields)
  return (one, other) => compareKeys(sortKeyOf(one, sort), sortKeyOf(other, sort))
}

/** Compiles sort keys to a comparison of places, as {@link sortKeyOf} gives them. */
export function keyComparer(
  sort: readonly SortKey[],
  fields: Fields,
): (one: readonly Json[], other: readonly Json[]) => number {
  const kinds = sort.map(({ path }) => findField(fields, path)?.kind)
  return (one, other) => {
    for (let at = 0; at < sort.length; at++) {
      const order = compareValues(one[at], other[at], kinds[at])
      if (order !== 0) return sort[at]?.descending ? -order : order
    }
    return 0
  }
}

/**
 * Ends a sort with the id, so that no two items are equal in it; keys after an id are dropped. The id
 * takes the direction of the key before it: one index then serves the sort both ways.
 */
export function withTieBreak(sort: readonly SortKey[], id: string): SortKey[] {
  const keys = new Map<string, SortKey>()
  let descending = false
  for (const key of sort) {
    const name = key.path.join('.')
    if (keys.has(name)) continue
    keys.set(name, key)
    if (name === id) return [...keys.values()]
    descending = key.descending
  }
  return [...keys.values(), { path: [id], descending }]
}

/** The values of an item's sort keys: its place in the list, as a cursor holds it. */
export function sortKeyOf(item: Item, sort: readonly SortKey[]): (Scalar | null)[] {
  // Fields that sort have no lists and no objects: their definition has made sure.
  return sort.map(({ path }) => (getValue(item, path) ?? null) as Scalar | null)
}

/** Whether a cursor's key can be a place in this sort: as many values, each of its field's type. */
export function isSortKey(
  key: readonly Json[],
  sort: readonly SortKey[],
  fields: Fields,
): key is (Scalar | null)[] {
  return (
    key.length === sort.length &&
    sort.every(({ path }, at) => {
      const value = key[at]
      if (value === null) return at < sort.length - 1
      return isOfKind(value, findField(fields, path)?.kind ?? 'any')
    })
  )
}
