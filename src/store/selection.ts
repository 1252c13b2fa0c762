// Which items a list holds and in which order: what filters, search and sort mean, as a matcher and a
// comparison of items in memory. Every store agrees with these.

import { getValue, type Path } from '../base/paths.ts'
import type { TextBudget } from '../base/text-budget.ts'
import { type Awaitable, type Item, isObject, type Json, type Scalar } from '../base/values.ts'
import { type Fields, findField, type Kind } from '../schema/fields.ts'
import { compareValues, isOfKind } from '../schema/scalars.ts'
import { TooCostlyError } from './errors.ts'
import {
  type Filter,
  type FilterGroup,
  isLeaf,
  listLeaves,
  type NotFilter,
  type Operator,
  type ValueFilter,
  type WithinFilter,
} from './filter.ts'
import { readsWhole } from './operators.ts'
import { foldText, isAscii, lowerAscii, searchWords, splitWords } from './search.ts'

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

/**
 * Compiles filters and search to a test of an item: the meaning that every store must agree with.
 * @param budget of the request: the test throws a `TooCostlyError` where that is spent. Default: no limit.
 */
export function matcher(
  { where, search }: FilterSet,
  fields: Fields,
  budget: TextBudget = { left: Number.POSITIVE_INFINITY },
): (item: Item) => boolean {
  const tests = where.map(filter => filterTest(filter, fields, budget))
  if (search) tests.push(searchTest(search, budget))
  return item => tests.every(test => test(item))
}

function spend(budget: TextBudget, characters: number): void {
  budget.left -= characters
  if (budget.left < 0) {
    const message =
      'There is too much text to look through. Use a shorter pattern, fewer words, or other filters.'
    throw new TooCostlyError(message, 'text')
  }
}

function filterTest(filter: Filter, fields: Fields, budget: TextBudget): (item: Item) => boolean {
  if (!isLeaf(filter)) return groupTest(filter, fields, budget)
  if (filter.operator === 'within') return withinTest(filter, budget)
  const { path, operator, values } = filter
  if (operator === 'exists') return existsTest(path, values[0] === true)
  const field = findField(fields, path)
  const leaf = field?.kind === 'array' ? field.element : field
  const test = valueTest(operator, values, leaf?.kind, budget)
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
  budget: TextBudget,
): (item: Item) => boolean {
  if (filter.operator === 'not') {
    const test = filterTest(filter.filter, fields, budget)
    return item => !test(item)
  }
  const tests = filter.filters.map(each => filterTest(each, fields, budget))
  return filter.operator === 'all'
    ? item => tests.every(test => test(item))
    : item => tests.some(test => test(item))
}

/** Looks into the other store, which is in memory too and answers at once. */
function withinTest({ path, within }: WithinFilter, budget: TextBudget): (item: Item) => boolean {
  const { store, fields, where, key } = within
  if (!key) {
    const tests = where.map(filter => filterTest(filter, fields, budget))
    return item => {
      const id = getValue(item, path)
      if (typeof id !== 'string' && typeof id !== 'number') return false
      const [found] = atOnce(store.find([id]))
      return found !== undefined && tests.every(test => test(found.item))
    }
  }
  let values: ReadonlySet<Json | undefined> | undefined
  return item => {
    values ??= new Set(
      atOnce(store.list({ where, sort: [] }, ALL, 'none', { textBudget: budget })).items.map(
        other => getValue(other.item, key),
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
  budget: TextBudget,
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
      const matches = likeTest(parseLike(String(first)), budget)
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

/** Lists the filters that read whole texts. */
export function listPatterns(where: readonly Filter[]): readonly ValueFilter[] {
  return listLeaves(where).flatMap(leaf =>
    leaf.operator !== 'within' && readsWhole(leaf.operator) ? [leaf] : [],
  )
}

/** Counts the patterns and the words that are compared with each item. */
export function countPatterns({ where, search }: FilterSet): number {
  return listPatterns(where).length + (search ? splitWords(search.text).length : 0)
}

/** What a test of a pattern costs besides, however short the text is. */
const TEST_COST = 32

/** To search a text costs an eighth of comparing each of its characters. */
const LITERAL_SHIFT = 3

/** Says by how many bits what a search for a word costs is less than its text: `aaaab` is compared anew at each `a`. */
function shiftOf(word: string): number {
  return new Set(word).size * 4 > word.length ? LITERAL_SHIFT : 0
}

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
function likeTest(steps: readonly LikeStep[], budget: TextBudget): (text: string) => boolean {
  const literal = findLiteral(steps)
  const shift = literal === undefined ? LITERAL_SHIFT : shiftOf(literal)
  return text => {
    spend(budget, TEST_COST + (text.length >> shift))
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
        spend(budget, Math.max(1, at - tried))
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

function searchTest({ text, paths, fold }: Search, budget: TextBudget): (item: Item) => boolean {
  const words = searchWords(text, fold)
  const shifts = words.map(shiftOf)
  const toComparable = fold ? foldText : lowerAscii
  return item => {
    const texts = paths.map(path => getValue(item, path)).filter(value => typeof value === 'string')
    for (const each of texts) {
      const { length } = each
      const factor = fold && !isAscii(each) ? FOLD_FACTOR : 1
      spend(budget, length * factor)
      for (const shift of shifts) spend(budget, length >> shift)
    }
    const comparable = texts.map(toComparable)
    // A character may be folded to 18 of them.
    for (const { length } of comparable) spend(budget, length)
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
export function withTieBreak(
  sort: readonly SortKey[],
  {
    name: id,
    parts = [id],
  }: { readonly name: string; readonly parts?: readonly string[] | undefined },
): SortKey[] {
  const keys = new Map<string, SortKey>()
  let descending = false
  for (const key of sort) {
    const name = key.path.join('.')
    if (!keys.has(name)) descending = key.descending
    if (name === id) break
    if (!keys.has(name)) keys.set(name, key)
  }
  for (const name of parts) if (!keys.has(name)) keys.set(name, { path: [name], descending })
  return [...keys.values()]
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
