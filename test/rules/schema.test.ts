// What a zod schema says of its fields, as tables; and what JSON cannot hold.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blob, fieldsOf } from '../../src/index.ts'
import type { Fields } from '../../src/schema/fields.ts'
import { rootField, type Schema } from '../../src/schema/zod-fields.ts'

const table = (schema: Schema, side?: 'input' | 'output') => kinds(fieldsOf(schema, side))

const kinds = (fields: Fields = new Map()) =>
  Object.fromEntries(
    [...fields].map(([name, { kind, optional, nullable }]) => [
      name,
      kind + (optional ? '?' : '') + (nullable ? '|null' : ''),
    ]),
  )

describe('fields', () => {
  it.each<[string, Schema, Record<string, string>]>([
    ['an object', z.object({ a: z.string(), b: z.int() }), { a: 'string', b: 'integer' }],
    [
      'a union of objects has those of all',
      z.union([z.object({ a: z.string() }), z.object({ a: z.int(), b: z.int() })]),
      { a: 'union', b: 'integer?' },
    ],
    [
      'what the options of a union share is as wide as the widest',
      z.discriminatedUnion('type', [
        z.object({ type: z.literal('a'), note: z.string(), tags: z.array(z.string()) }),
        z.object({
          type: z.literal('b'),
          note: z.string().nullable().optional(),
          tags: z.array(z.int()).nullable(),
        }),
      ]),
      { type: 'string', note: 'string?|null', tags: 'array|null' },
    ],
    [
      'in either order',
      z.union([
        z.object({ note: z.string().optional() }),
        z.object({ note: z.string().nullable() }),
      ]),
      { note: 'string?|null' },
    ],
    [
      'a union of an object and null',
      z.object({ a: z.union([z.null(), z.string()]), b: z.union([z.null(), z.null()]) }),
      { a: 'string|null', b: 'any|null' },
    ],
    [
      'what must be there after all',
      z.object({ a: z.nonoptional(z.string().optional()), b: z.string().exactOptional() }),
      { a: 'string', b: 'string?' },
    ],
    [
      'what a default keeps from being absent, and what a catch lets be',
      z.object({
        a: z.string().optional().default('x'),
        b: z.string().optional().catch('x'),
        c: z.string().catch('x'),
        d: z
          .string()
          .transform(text => text || undefined)
          .pipe(z.string().optional())
          .prefault('x'),
      }),
      { a: 'string', b: 'string?', c: 'string', d: 'string?' },
    ],
    [
      'choices of several types',
      z.object({ a: z.literal(['x', 1, true, null]), b: z.literal([null]) }),
      { a: 'union|null', b: 'any|null' },
    ],
  ])('%s', (_, schema, fields) => {
    expect(table(schema)).toEqual(fields)
  })

  it('have as choices the values of an enum, not their names', () => {
    const numbers = z.enum({ 0: 'Low', 1: 'High', Low: 0, High: 1 })
    expect(fieldsOf(z.object({ level: numbers })).get('level')).toEqual({
      kind: 'number',
      choices: [0, 1],
      nullable: false,
      optional: false,
    })
  })

  it('have the choices of all options, or none where an option is free', () => {
    const fields = fieldsOf(
      z.union([
        z.object({ type: z.literal('a'), size: z.literal('s'), id: z.uuid() }),
        z.object({ type: z.enum(['b', 'a']), size: z.string(), id: z.string() }),
      ]),
    )
    const text = { kind: 'string', nullable: false, optional: false }
    expect(Object.fromEntries(fields)).toEqual({
      type: { ...text, choices: ['a', 'b'] },
      size: text,
      id: text,
    })
  })

  it.each([
    ['described', blob({ accept: ['image/*'] }).describe('The front')],
    ['with metadata', blob({ accept: ['image/*'] }).meta({ title: 'Front' })],
    ['refined', blob({ accept: ['image/*'] }).refine(({ size }) => size > 0)],
    [
      'refined twice',
      blob({ accept: ['image/*'] })
        .superRefine(() => {})
        .describe('The front'),
    ],
    ['copied', blob({ accept: ['image/*'] }).clone()],
  ])('a blob is one %s too', (_what, photo) => {
    for (const side of ['input', 'output'] as const) {
      const field = fieldsOf(z.object({ photo }), side).get('photo')
      expect(field).toMatchObject({ kind: 'blob', accept: ['image/*'] })
    }
  })

  it('of a success are whether it was one, and what is tried', () => {
    const schema = z.object({ ok: z.success(z.int()) })
    expect(fieldsOf(schema, 'output').get('ok')?.kind).toBe('boolean')
    expect(fieldsOf(schema, 'input').get('ok')?.kind).toBe('integer')
  })

  it('of an intersection are those of its parts, and of what both have', () => {
    const short = z.string().max(3)
    const A = z.object({ a: z.string(), both: z.string().optional() })
    const B = z.object({ b: z.int(), both: z.string() })
    const schema = z.object({
      a: z.string().and(short),
      b: z.array(z.int()).and(z.array(z.int())),
      none: short.nullable().and(z.string().nullable()),
      list: z.array(A).and(z.array(B)),
      object: z.object({ in: A }).and(z.object({ in: B })),
      any: A.and(z.custom(() => true)),
      text: z.string().and(z.any()),
      same: z.any().and(z.int()),
    })
    expect(table(schema)).toEqual({
      a: 'string',
      b: 'array',
      none: 'string|null',
      list: 'array',
      object: 'object',
      any: 'object',
      text: 'string',
      same: 'integer',
    })
    const fields = fieldsOf(schema)
    const within = { a: 'string', b: 'integer', both: 'string' }
    expect(kinds(fields.get('list')?.element?.properties)).toEqual(within)
    expect(kinds(fields.get('object')?.properties?.get('in')?.properties)).toEqual(within)
    expect(fields.get('any')?.open).toBe(true)
    expect(fields.get('object')?.open).toBeUndefined()
  })

  it('of an intersection with itself, within itself, end', () => {
    const One: z.ZodType = z.lazy(() => z.object({ one: z.string(), kids: z.array(One) }))
    const Two: z.ZodType = z.lazy(() => z.object({ two: z.string(), kids: z.array(Two) }))
    const kid = (schema: z.ZodType) =>
      rootField(schema, 'output').properties?.get('kids')?.element?.again?.()
    expect(kinds(kid(One.and(One))?.properties)).toEqual({ one: 'string', kids: 'array' })
    const both = { one: 'string', two: 'string', kids: 'array' }
    expect(kinds(kid(One.and(Two))?.properties)).toEqual(both)
    const Leaf = z.object({ kids: z.array(z.object({ leaf: z.string() })) })
    expect(kinds(kid(One.and(Leaf))?.properties)).toEqual({
      one: 'string',
      kids: 'array',
      leaf: 'string',
    })
    expect(kinds(kid(Leaf.and(One))?.properties)).toEqual({
      one: 'string',
      kids: 'array',
      leaf: 'string',
    })
  })

  it('have the defaults that fit, and what is caught by a function', () => {
    const schema = z.object({
      at: z.iso.datetime().default(() => new Date().toISOString()),
      on: z.iso.date().catch(''),
      last: z.iso.datetime().nullable().default(null),
      n: z.int().catch(({ issues }) => issues.length),
      none: z.string().optional().catch(undefined),
      day: z.iso
        .datetime()
        .transform(text => text.slice(0, 10))
        .pipe(z.string())
        .default('none'),
    })
    expect(table(schema, 'input')).toMatchObject({ day: 'date-time?' })
    expect(table(schema)).toEqual({
      day: 'string',
      at: 'date-time',
      on: 'date',
      last: 'date-time|null',
      n: 'integer',
      none: 'string?',
    })
  })

  it('taken may be of types that are not kept', () => {
    const date = z.object({ at: z.set(z.string()).transform(String) })
    expect(table(date, 'input')).toEqual({ at: 'any?|null' })
    const big = z.object({ n: z.bigint().default(5n).transform(String).pipe(z.string()) })
    expect(table(big, 'input')).toEqual({ n: 'any?|null' })
    expect(table(big)).toEqual({ n: 'string' })
  })
})

describe('a TypeError for', () => {
  it.each<[string, Schema, RegExp, 'input' | 'output']>([
    ['a schema that is a text', z.string(), /must be an object/, 'output'],
    ['a union with a text', z.union([z.object({}), z.string()]), /must be an object/, 'output'],
    [
      'a union without properties',
      z.union([z.object({}), z.looseObject({})]),
      /an object/,
      'output',
    ],
    ['a date itself', z.date(), /^The schema is z\.date\(\)/, 'output'],
    ['a date', z.object({ at: z.date() }), /^at is z\.date\(\).*z\.iso/, 'output'],
    ['a date that is taken', z.object({ at: z.date() }), /^at is z\.date\(\)/, 'input'],
    ['a literal bigint', z.object({ a: z.literal([1, 5n]) }), /^a is z\.bigint/, 'input'],
    [
      'what a transform gives',
      z.object({ a: z.string() }).transform(({ a }) => ({ b: a })),
      /must be an object, .* behind a transform say what it gives: \.pipe/,
      'output',
    ],
    ['a bigint deep inside', z.object({ a: z.array(z.bigint()) }), /^a.* is z\.bigint/, 'output'],
    ['a blob deep inside', z.object({ a: z.object({ b: blob() }) }), /^a\.b: a blob/, 'output'],
    ['blobs in a list', z.object({ a: z.array(blob()) }), /^a: a blob/, 'input'],
    ['a record of blobs', z.object({ a: z.record(z.string(), blob()) }), /^a: a blob/, 'output'],
    ['a blob or a text', z.object({ a: z.union([blob(), z.string()]) }), /^a: a blob/, 'output'],
    [
      'a default that is none of the moments that lists sort by',
      z.object({ a: z.object({ at: z.iso.datetime().default('') }) }),
      /^a\.at has the default "", which is no date and time; .*\.optional\(\)/,
      'output',
    ],
    [
      'the same as what is caught',
      z.object({ at: z.iso.datetime().nullable().catch('never') }),
      /^at has the default "never", which is no date and time/,
      'output',
    ],
    [
      'a default that is no whole number',
      z.object({ n: z.int().optional().default(0.5) }),
      /^n has the default 0\.5, which is no whole number/,
      'output',
    ],
    [
      'a default of nothing',
      z.object({ a: z.string().optional().prefault(undefined) }),
      /^a has a default that JSON cannot hold: undefined/,
      'input',
    ],
    [
      'a default of the whole that JSON cannot hold',
      z.object({}).default(() => 5n as never),
      /^The schema has a default that JSON cannot hold: 5/,
      'input',
    ],
    [
      'a default that JSON cannot hold',
      z.object({ a: z.any().default(5n) }),
      /^a has a default that JSON cannot hold: 5/,
      'output',
    ],
  ])('%s', (_, schema, message, side) => {
    expect(() => fieldsOf(schema, side)).toThrow(TypeError)
    expect(() => fieldsOf(schema, side)).toThrow(message)
  })
})
