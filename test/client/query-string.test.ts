// The client bundles nothing of the server: what it knows of the grammar must be what the grammar has.
import { expect, test } from 'vitest'
import { printQuery } from '../../src/client/query-string.ts'
import { listGroups } from '../../src/query/where.ts'
import { OPERATOR_WORDS } from '../../src/store/operators.ts'

const cars = { name: 'cars', id: 'id' }
const print = (query: object) => decodeURIComponent(printQuery(query, cars))

test.each(OPERATOR_WORDS)('the operator %s is one of the client', word => {
  const name = word === 'eq' ? 'price' : `price[${word}]`
  expect(print({ price: { [word]: 'a,b' } })).toBe(
    `?${name}=${word.endsWith('in') ? String.raw`a\,b` : 'a,b'}`,
  )
  // Nothing that only contains it.
  expect(print({ price: { [`${word}s`]: 1 } })).toBe(`?price.${word}s=1`)
})

test('the groups are those of the client', () => {
  expect(listGroups(new Map())).toEqual(['or', 'and', 'not'])
  const group = { or: [{ a: 1 }], and: [{ b: 2 }], not: { c: 3 } }
  expect(print(group)).toBe(`?where=${JSON.stringify(group)}`)
  expect(print({ or: 1, and: ['a'], not: { eq: 2 } })).toBe('?or=1&and=a&not=2')
})
