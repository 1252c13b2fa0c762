// Arbitrary zod schemas, each with values that suit it: for properties that hold for every schema.
import fc from 'fast-check'
import { z } from 'zod'
import type { Json } from '../../src/base/values.ts'

export interface Sample {
  readonly schema: z.ZodType
  readonly value: fc.Arbitrary<Json>
}

const KEPT = (text: string) => !text.includes('\0') && text.isWellFormed()
const FORBIDDEN = ['__proto__', 'constructor', 'prototype']

/** Texts that some format could lose, trim, guess at or break on. */
export const TEXTS = [
  ...[
    '',
    ' ',
    '\n',
    '\r',
    '\r\n',
    '\t x ',
    ' x',
    'x ',
    'a\r\nb\rc\nd',
    ']]>',
    '&lt;',
    '&',
    '<',
    '>',
  ],
  ...[
    '<a>b</a>',
    '</car>',
    '&#65;',
    '&#0;',
    '"',
    "'",
    'a"b',
    '<!-- x -->',
    '<?x?>',
    '<![CDATA[x]]>',
  ],
  ...[
    '007',
    '1',
    '-0',
    '1e400',
    'true',
    'null',
    '[]',
    '{}',
    '\u0001',
    '\u0007bell',
    '\u007f\u0085',
  ],
  ...[
    '\ufeffx',
    '\ufffe',
    '\uffff',
    '\ufffd',
    '\u2028',
    'é',
    '漢字',
    '😀',
    '=1+1',
    '+1',
    '-1',
    '@x',
  ],
]

export const text: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: 'binary' }).filter(KEPT),
  fc.string({ unit: 'grapheme' }).filter(KEPT),
)

const number = fc.oneof(
  fc.constantFrom(0, 1e21, -1e21, -0.5, 0.1, 5e-324, Number.MAX_VALUE, 2 ** 53, 1e-7),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
)

export const memberName: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom('id', 'color', 'model', 'updated_at', 'member', 'item', 'name', 'type', 'nil'),
    fc.constantFrom('toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'xml', 'xmlns'),
    fc.constantFrom(
      '',
      'a b',
      '1a',
      'x:y',
      'é',
      'a"b',
      '<',
      '&',
      ':@',
      '#text',
      '#cdata',
      'a\u0001',
    ),
    fc.constantFrom('a\nb', '\r', '-a', '.', '\ufffe', '😀', '漢'),
    fc.string({ unit: 'binary' }).filter(KEPT),
  )
  .filter(name => !FORBIDDEN.includes(name))

const leaf: fc.Arbitrary<Sample> = fc.constantFrom<Sample[]>(
  { schema: z.string(), value: text },
  { schema: z.number(), value: number },
  { schema: z.int(), value: fc.maxSafeInteger() },
  { schema: z.boolean(), value: fc.boolean() },
  { schema: z.iso.date(), value: fc.constantFrom('2024-02-29', '0001-01-01') },
  {
    schema: z.iso.datetime(),
    value: fc.constantFrom('2024-02-29T23:59:59Z', '2024-01-01T00:00:00.123Z'),
  },
  { schema: z.enum(['red', ' blue ', '5']), value: fc.constantFrom('red', ' blue ', '5') },
  { schema: z.literal([5, 'five', true]), value: fc.constantFrom<Json>(5, 'five', true) },
  { schema: z.null(), value: fc.constant(null) },
  {
    schema: z.any(),
    value: fc.jsonValue({ stringUnit: 'grapheme' }).filter(isKept).map(plain),
  },
)

/** JSON without names and numbers that no format keeps. */
function isKept(value: unknown): boolean {
  const printed = JSON.stringify(value)
  return !/\\u0000/.test(printed) && !FORBIDDEN.some(name => printed.includes(`"${name}"`))
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}

const { sample } = fc.letrec<{ sample: Sample; object: Sample }>(tie => ({
  sample: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('object'),
    tie('sample').map(({ schema, value }) => ({
      schema: z.array(schema),
      value: fc.array(value, { maxLength: 3 }),
    })),
    tie('sample').map(({ schema, value }) => ({
      schema: z.nullable(schema),
      value: fc.option(value),
    })),
    tie('sample').map(({ schema, value }) => ({
      schema: z.record(z.string(), schema),
      value: fc.dictionary(memberName, value, { maxKeys: 3 }).map(plain),
    })),
    fc.array(tie('sample'), { minLength: 2, maxLength: 3 }).map(samples => ({
      schema: z.union(samples.map(({ schema }) => schema)),
      value: fc.oneof(...samples.map(({ value }) => value)),
    })),
  ),
  object: objectOf(tie('sample')),
}))

function objectOf(member: fc.Arbitrary<Sample>): fc.Arbitrary<Sample> {
  const members = fc.dictionary(memberName, fc.tuple(member, fc.boolean()), { maxKeys: 5 })
  return members.map(shape => {
    const entries = Object.entries(shape)
    const values = entries.map(([name, [{ value }]]) => [name, value] as const)
    const required = entries.filter(([, [, optional]]) => !optional).map(([name]) => name)
    return {
      schema: z.object(
        Object.fromEntries(
          entries.map(([name, [{ schema }, optional]]) => [
            name,
            optional ? schema.optional() : schema,
          ]),
        ),
      ),
      value: fc.record(Object.fromEntries(values), { requiredKeys: required }).map(plain),
    }
  })
}

/** A schema of an item, and values for it. */
export const itemSample: fc.Arbitrary<Sample> = objectOf(sample)

/** Any value that JSON can hold and that a body may bring. */
export const anyJson: fc.Arbitrary<Json> = fc
  .jsonValue({ stringUnit: 'grapheme', maxDepth: 4 })
  .filter(isKept)
  .map(plain)
