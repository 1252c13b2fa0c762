// What several collections on one store have in common, and the lists that indexes are kept in.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineCollection, memoryStore } from '../../src/index.ts'
import { SortedList } from '../../src/memory/sorted-list.ts'
import type { Field } from '../../src/rules/index.ts'
import type { Schema } from '../../src/schema/zod-fields.ts'
import { mergeShapes } from '../../src/store/shapes.ts'
import type { Shape } from '../../src/store/store.ts'

function shape(schema: Schema, more: Partial<Shape> = {}): Shape {
  const options = {
    name: 'cars',
    schema: schema as ReturnType<typeof z.object>,
    store: memoryStore(),
  }
  return { ...defineCollection({ ...options, timestamps: false }).shape, ...more }
}

/** A field as a text: `string?` may be absent, `string|null` may be null. */
const show = ({ kind, optional, nullable, properties, element, open }: Field): unknown => {
  const own = kind + (optional ? '?' : '') + (nullable ? '|null' : '') + (open ? ' and more' : '')
  if (properties)
    return [own, Object.fromEntries([...properties].map(([name, each]) => [name, show(each)]))]
  return element ? [own, show(element)] : own
}

describe('the shape of two versions', () => {
  it.each<[string, Schema, Schema, unknown]>([
    ['the same field', z.string(), z.string(), 'string'],
    ['a field that may be null in one', z.string(), z.string().nullable(), 'string|null'],
    ['a field that may be absent in one', z.string().optional(), z.string(), 'string?'],
    ['unions', z.union([z.int(), z.string()]), z.union([z.int(), z.boolean()]), 'union'],
    [
      'objects',
      z.object({ a: z.int(), b: z.enum(['x']) }).nullable(),
      z.object({ b: z.enum(['x', 'y']), a: z.int() }),
      ['object|null', { b: 'string', a: 'integer' }],
    ],
    [
      'objects that are open in both',
      z.looseObject({ a: z.int() }),
      z.looseObject({ a: z.int() }),
      ['object and more', { a: 'integer' }],
    ],
    ['lists', z.array(z.int()), z.array(z.int().max(5)), ['array', 'integer']],
  ])('has %s', (_, one, other, merged) => {
    const both = mergeShapes(shape(z.object({ a: one })), shape(z.object({ a: other })))
    const field = both.fields.get('a')
    expect(field && show(field)).toEqual(merged)
    expect(both).not.toHaveProperty('createdAt')
  })

  const A = z.object({ a: z.int() })
  it.each<[string, Schema, Schema]>([
    ['the kind', z.string(), z.int()],
    ['an object', A, A.extend({ b: z.int() })],
    ['an object that is open in one', A, A.loose()],
    ['an object inside', z.object({ m: A }), z.object({ m: z.object({ b: z.int() }) })],
    ['an object in a list', z.array(A), z.array(A.extend({ b: z.int() }))],
    ['a property inside that may be null in one', A, z.object({ a: z.int().nullable() })],
    ['the elements of a list', z.array(z.int()), z.array(z.string())],
    [
      'an option of a union',
      z.discriminatedUnion('k', [A.extend({ k: z.literal('a') })]),
      z.discriminatedUnion('k', [
        A.extend({ k: z.literal('a') }),
        z.object({ k: z.literal('b'), b: z.int() }),
      ]),
    ],
  ])('is a TypeError where they differ in %s', (_, one, other) => {
    const merge = () => mergeShapes(shape(z.object({ a: one })), shape(z.object({ a: other })))
    expect(merge).toThrow(TypeError)
    expect(merge).toThrow('cars and cars share a store but not the values of a: declare the same')
  })

  it('is open where one is', () => {
    const [one, other] = [shape(z.object({ a: z.int() })), shape(z.looseObject({ b: z.int() }))]
    for (const both of [mergeShapes(one, other), mergeShapes(other, one)]) {
      expect(both.open).toBe(true)
      expect([...both.fields.keys()].sort()).toEqual(['a', 'b', 'id'])
    }
  })

  it('has dates where one has', () => {
    const bare = shape(z.object({ a: z.int() }))
    const dated = { ...bare, createdAt: 'made', updatedAt: 'changed' }
    const dates = { createdAt: 'made', updatedAt: 'changed' }
    expect([mergeShapes(bare, dated), mergeShapes(dated, bare)]).toMatchObject([dates, dates])
  })
})

test('nothing can be removed of a list that is empty', () => {
  const list = new SortedList<number, number>()
  list.remove(key => key - 1)
  expect([list.rank(() => -1), [...list.slice(0, 5)], list.at(0)]).toEqual([0, [], undefined])
})

describe('an index of several fields', () => {
  const store = memoryStore()
  const things = defineCollection({
    name: 'things',
    schema: z.object({
      size: z.int(),
      on: z.boolean(),
      at: z.iso.datetime(),
    }),
    store,
    indexes: ['size', 'on', ['on', 'at']],
    id: 'integer',
  })
  const ask = async (query: string) => {
    const answer = await things.fetch(new Request(`http://a.example/things?${query}`))
    const items: readonly { id: number }[] = JSON.parse(await answer.text())
    return items.map(({ id }) => id)
  }

  it('gives what a scan would give', async () => {
    for (const [size, on] of [
      [5, true],
      [5, false],
      [6, true],
    ] as const) {
      await things.fetch(
        new Request('http://a.example/things', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ size, on, at: '2026-01-01T00:00:00Z' }),
        }),
      )
    }
    expect(await ask('size=5')).toEqual([1, 2])
    expect(await ask('size[ne]=6&on=true')).toEqual([1])
    expect(await ask('on=true&sort=-at,id')).toEqual([1, 3])
    expect(await ask('on=true&sort=-size')).toEqual([3, 1])
  })
})
