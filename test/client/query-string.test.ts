// The client bundles nothing of the server: what it knows of the grammar must be what the grammar has.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { printQuery } from '../../src/client/query-string.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { listParameters } from '../../src/query/list-parameters.ts'
import { listGroups } from '../../src/query/where.ts'
import { OPERATOR_WORDS } from '../../src/store/operators.ts'

const cars = { name: 'cars' }
const print = (query: object) => decodeURIComponent(printQuery(query, cars))

test.each(OPERATOR_WORDS)('the operator %s is one of the client', word => {
  const name = word === 'eq' ? 'price' : `price[${word}]`
  expect(print({ price: { [word]: 'a,b' } })).toBe(
    `?${name}=${word.endsWith('in') ? String.raw`a\,b` : 'a,b'}`,
  )
  // Nothing that only contains it.
  expect(print({ price: { [`${word}s`]: 1 } })).toBe(`?price.${word}s=1`)
})

test.each([...listParameters('shows', 'orders', 'places', 'sizes', 'bounds')])(
  'the parameter %s is one of the client, and no filter',
  name => {
    expect(print({ [name]: undefined })).toBe('')
    expect(print({ where: { [name]: 1 } })).toBe(`?filter[${name}]=1`)
    expect(() => print({ [`${name}s`]: undefined })).toThrow(TypeError)
  },
)

test('the groups are those of the client', () => {
  expect(listGroups(new Map())).toEqual(['or', 'and', 'not'])
  const group = { or: [{ a: 1 }], and: [{ b: 2 }], not: { c: 3 } }
  expect(print(group)).toBe(`?where=${JSON.stringify(group)}`)
  expect(print({ model: group, price: 1 })).toBe(
    `?price=1&where=${JSON.stringify({ model: group })}`,
  )
})

test('a field may be called as a group is: the server knows which it is', async () => {
  const schema = z.object({ or: z.int(), and: z.array(z.string()), not: z.object({ a: z.int() }) })
  const words = defineCollection({ name: 'words', schema, store: memoryStore(), id: 'integer' })
  const api = defineApi({ collections: { words } })
  const client = createClient<typeof api>('http://localhost', {
    fetch: (url, init) => api.fetch(new Request(url, init)),
  })
  for (const or of [1, 2, 3])
    await client.words.create({ or, and: or === 2 ? ['a'] : ['b'], not: { a: or } })
  for (const { count } of [client.words, api.collection(words)]) {
    expect(await count({ or: 1 })).toBe(1)
    expect(await count({ or: { gte: 2 }, and: 'a' })).toBe(1)
    expect(await count({ and: ['a', 'b'], not: { a: { lt: 3 } } })).toBe(2)
    expect(await count({ where: { or: [2, 3] } })).toBe(2)
    // @ts-expect-error Nothing is no filter.
    await expect(count({ or: undefined })).rejects.toThrow('words: or must be')
  }
})
