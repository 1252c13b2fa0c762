import { expect, test } from 'vitest'
import { createWithin, type Filter, listLeaves, toConjunction } from '../../src/store/filter.ts'

const leaf = (name: string): Filter => ({ path: [name], operator: 'in', values: [1] })
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(leaf) as [Filter, Filter, Filter, Filter]
const all = (...filters: Filter[]): Filter => ({ operator: 'all', filters })
const any = (...filters: Filter[]): Filter => ({ operator: 'any', filters })
const not = (filter: Filter): Filter => ({ operator: 'not', filter })

/** Prints `a & (b | !c)`. */
function print(filter: Filter): string {
  if ('path' in filter) return filter.path.join('.')
  if (filter.operator === 'not') return `!${print(filter.filter)}`
  const parts = filter.filters.map(print)
  return `(${parts.join(filter.operator === 'all' ? ' & ' : ' | ')})`
}

test.each<[string, Filter[], string[]]>([
  ['nothing', [], []],
  ['conditions', [a, b], ['a', 'b']],
  ['a group of all', [a, all(b, all(c, d))], ['a', 'b', 'c', 'd']],
  ['a group of any', [a, any(b, c)], ['a', '(b | c)']],
  ['any in any', [any(a, any(b, c), all(d))], ['(a | b | c | d)']],
  ['groups of one', [any(all(any(a)))], ['a']],
  ['an empty all', [all(), a], ['a']],
  ['an empty any', [any(), a], ['()', 'a']],
  ['not of a condition', [not(a)], ['!a']],
  ['not of not', [not(not(a)), b], ['a', 'b']],
  ['not of all', [not(all(a, b))], ['(!a | !b)']],
  ['not of any', [not(any(a, b)), c], ['!a', '!b', 'c']],
  ['not of an empty any', [not(any()), c], ['c']],
  ['not of an empty all', [not(all()), c], ['()', 'c']],
  ['not deep inside', [not(any(a, not(all(b, not(c)))))], ['!a', 'b', '!c']],
  ['mixed', [not(all(any(a, b), not(c)))], ['((!a & !b) | c)']],
])('toConjunction brings up what must hold: %s', (_name, where, expected) => {
  expect(toConjunction(where).map(print)).toEqual(expected)
})

test('toConjunction returns conditions alone as they are', () => {
  const where = [a, b]
  expect(toConjunction(where)).toBe(where)
  expect(listLeaves(where)).toBe(where)
})

test('listLeaves lists the conditions at any depth, but not those of another selection', () => {
  const store = { find: () => [], list: () => ({ items: [] }) }
  const others = { name: 'others', store, fields: new Map(), identity: { name: 'id' } }
  const within = createWithin(['e'], { ...others, where: [any(a)] })
  const leaves = listLeaves([not(any(a, all(b, not(c)))), within, d])
  expect(leaves.map(print)).toEqual(['a', 'b', 'c', 'e', 'd'])
})
