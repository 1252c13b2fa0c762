// Values and fields as tables: reading, comparing and picking them, and what is said of issues.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { picker } from '../../src/base/paths.ts'
import type { Scalar } from '../../src/base/values.ts'
import { problemBody, suggestion, toHttpError } from '../../src/errors.ts'
import { HttpError, type Item, type Json } from '../../src/index.ts'
import type { Field } from '../../src/rules/index.ts'
import { describeField, type Kind } from '../../src/schema/fields.ts'
import { toPlainJson } from '../../src/schema/json.ts'
import { isWithin } from '../../src/schema/json-size.ts'
import { compareValues, isOfKind, parseScalars } from '../../src/schema/scalars.ts'
import { runs } from '../random.ts'

const field = (kind: Kind, more: Partial<Field> = {}): Field => ({
  kind,
  nullable: false,
  optional: false,
  ...more,
})

describe('scalarsOf', () => {
  it.each<[string, Field, readonly unknown[]]>([
    ['5', field('integer'), [5]],
    ['5', field('array', { element: field('number') }), [5]],
    ['5', field('array'), []],
    ['5', field('union', { options: [field('integer'), field('string')] }), [5, '5']],
    ['5', field('union'), []],
    ['5', field('object'), []],
    ['no', field('boolean'), [false]],
    ['maybe', field('boolean'), []],
    ['b', field('string', { choices: ['a'] }), []],
  ])('%j for %j: %j', (text, of, values) => {
    expect(parseScalars(text, of)).toEqual(values)
  })
})

describe('toPlainJson', () => {
  it.each<[string, unknown, Json | undefined]>([
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['what says itself what it is', { toJSON: () => [new URL('http://a/')] }, ['http://a/']],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['an empty one', Object.create(null), {}],
    ['nothing', undefined, undefined],
    ['a function', () => 1, undefined],
    ['what is in a list', [undefined, () => 1, -0, { a: undefined }], [null, null, 0, {}]],
  ])('prints %s', (_what, value, json) => {
    expect(toPlainJson(value)).toStrictEqual(json)
  })

  it('makes no prototype of a property', () => {
    expect(Object.keys(Object(toPlainJson(JSON.parse('{"__proto__":{"a":1}}'))))).toEqual([
      '__proto__',
    ])
  })

  it.each<[unknown, typeof HttpError | typeof TypeError, string]>([
    [Number.NaN, HttpError, 'The value is not a number that JSON can hold'],
    [{ a: [new Date('x')] }, HttpError, 'a.0 is not a date that JSON can hold'],
    [new Map([['a', 1]]), TypeError, 'The value is a Map, which JSON cannot hold: use a text,'],
    [{ a: { b: new Set() } }, TypeError, 'a.b is a Set, which'],
    [{ a: new Uint8Array(2) }, TypeError, 'a is a Uint8Array, which'],
    [[1n], TypeError, '0 is a bigint, which'],
  ])('refuses %s', (value, kind, message) => {
    expect(() => toPlainJson(value)).toThrow(kind)
    expect(() => toPlainJson(value)).toThrow(message)
  })
})

describe('isWithin', () => {
  it('counts the bytes of JSON, exactly where they are near', () => {
    const values = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }).map(value => value as Json)
    fc.assert(
      fc.property(values, value => {
        const bytes = Buffer.byteLength(JSON.stringify(value))
        expect(isWithin(value, bytes)).toBe(true)
        expect(isWithin(value, bytes - 1)).toBe(false)
        expect(isWithin(value, bytes * 30)).toBe(true)
      }),
    )
  })
})

describe('expectation', () => {
  it.each<[Field, string]>([
    [field('string', { choices: ['a', 'b'] }), 'one of a, b'],
    [field('any'), 'any value'],
    [field('number'), 'a number'],
    [field('array', { element: field('integer') }), 'a whole number'],
    [field('array'), 'a string'],
    [field('union', { options: [field('boolean'), field('date')] }), 'true or false or a date'],
    [field('union'), ''],
    [field('blob'), 'a file'],
    [field('object'), 'an object'],
    [field('record'), 'an object of named values'],
  ])('%j: %s', (of, text) => {
    expect(describeField(of).startsWith(text)).toBe(true)
    expect(describeField(of) === '').toBe(text === '')
  })
})

describe('picker', () => {
  const item: Item = { id: 1, model: { name: 'Zoé', brand: 'R' }, gone: null, list: [1] }
  it.each<[string[], Item]>([
    [[], {}],
    [['model.name'], { model: { name: 'Zoé' } }],
    [['model', 'model.name'], { model: { name: 'Zoé', brand: 'R' } }],
    [['model.name', 'model'], { model: { name: 'Zoé', brand: 'R' } }],
    [['gone.name', 'list.name'], { gone: null }],
    [['nothing.name'], {}],
  ])('%j', (paths, picked) => {
    expect(picker(paths.map(path => path.split('.')))(item)).toEqual(picked)
  })

  it('picks nothing by the empty path', () => {
    expect(picker([[]])(item)).toEqual({})
  })
})

describe('compareValues puts', () => {
  it.each<[string, Json | undefined, Json | undefined]>([
    ['nothing before everything', undefined, 0],
    ['nothing before a text', null, ''],
    ['numbers by their size', 9, 10],
    ['false before true', false, true],
  ])('%s', (_, less, more) => {
    expect(compareValues(less, more)).toBeLessThan(0)
    expect(compareValues(more, less)).toBeGreaterThan(0)
  })

  it('texts by code point, however long what they begin with', () => {
    const ends = fc.string({ unit: fc.constantFrom('a', 'b', '\uff5e', '😀', '😁'), maxLength: 4 })
    const lengths = fc.constantFrom(0, 1, 510, 511, 512, 513, 1023, 1024, 1025)
    const points = (text: string) => Array.from(text, char => char.codePointAt(0) ?? 0)
    fc.assert(
      fc.property(lengths, ends, ends, (length, one, other) => {
        const start = 'x'.repeat(length)
        const [a, b] = [points(one), points(other)]
        const at = a.findIndex((point, place) => point !== b[place])
        const expected = at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1)
        expect(Math.sign(compareValues(start + one, start + other))).toBe(Math.sign(expected))
      }),
      { numRuns: runs(2000) },
    )
  })
})

it.each<[Scalar, Kind, boolean]>([
  [1, 'number', true],
  ['1', 'integer', false],
  [true, 'boolean', true],
  [0, 'boolean', false],
  ['2024-01-01T00:00:00Z', 'date-time', true],
  ['soon', 'date-time', false],
  ['x', 'string', true],
  [1, 'date', false],
  ['x', 'any', false],
  ['x', 'union', false],
])('%j can be a %s: %j', (value, kind, fit) => {
  expect(isOfKind(value, kind)).toBe(fit)
})

describe('refusals', () => {
  it.each<[number, string]>([
    [404, 'Not Found'],
    [499, 'Error'],
  ])('%d without a message is "%s"', (status, phrase) => {
    const error = new HttpError(status, [])
    expect(error.errors).toEqual([{ message: phrase, code: status }])
    expect(problemBody(error)).toMatchObject({ title: phrase, status, detail: phrase })
  })

  it('are distinguished from failures', () => {
    const refusal = new HttpError(409, 'Sold')
    expect(toHttpError(refusal)).toBe(refusal)
    expect(() => toHttpError(new RangeError('broken'))).toThrow(RangeError)
  })
})

describe('suggestion', () => {
  it.each<[string, string[], string]>([
    ['colour', ['price', 'color'], '; did you mean "color"?'],
    ['colro', ['color'], '; did you mean "color"?'],
    ['clro', ['color'], ''],
    ['bodySize', ['bodyTime', 'body'], '; did you mean "body"?'],
    ['created', ['crated', 'created_at'], '; did you mean "created_at"?'],
    ['ab', ['abcd'], ''],
    ['a', ['b'], '; did you mean "b"?'],
    ['', ['b'], '; did you mean "b"?'],
    ['', ['bc'], ''],
    ['color', [''], ''],
    ['color', ['weight'], ''],
    ['c'.repeat(65), ['c'.repeat(65)], ''],
  ])('%j of %j: %j', (name, names, text) => {
    expect(suggestion(name, names)).toBe(text)
  })
})
