// What a zod schema says of its fields, as tables; and which schemas are accepted.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blob } from '../../src/index.ts'
import { fieldsOf } from '../../src/rules/index.ts'
import { checkObjectSchema } from '../../src/schema/accepted.ts'
import type { Fields } from '../../src/schema/fields.ts'
import type { Schema } from '../../src/schema/zod-fields.ts'

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
      'what a default keeps from being absent',
      z.object({ a: z.string().optional().default('x'), b: z.string().optional().prefault('x') }),
      { a: 'string', b: 'string?' },
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
})

describe('accepted are', () => {
  const Node = z.object({
    name: z.string(),
    get kids() {
      return z.array(Node)
    },
  })
  it.each<[string, z.ZodType]>([
    ['texts and their formats', z.email()],
    ['texts that are cleaned', z.string().trim().toLowerCase().normalize()],
    ['overwrites', z.int().overwrite(Math.abs)],
    ['templates', z.templateLiteral(['a', z.int()])],
    ['numbers', z.number().min(5)],
    ['whole numbers', z.int32()],
    ['switches', z.boolean()],
    ['enums', z.enum(['a', 'b'])],
    ['literals', z.literal(['a', 5, true, null])],
    ['coercion', z.coerce.number()],
    ['refinements', z.string().refine(text => text !== 'x')],
    ['asynchronous ones', z.string().refine(async text => text !== 'x')],
    ['lists', z.array(z.int()).min(1)],
    ['tuples', z.tuple([z.int()], z.string())],
    ['records', z.record(z.enum(['a']), z.int())],
    ['partial ones', z.partialRecord(z.enum(['a']), z.int())],
    ['objects', z.object({ a: z.int() })],
    ['strict ones', z.strictObject({ a: z.int() })],
    ['loose ones', z.looseObject({ a: z.int() })],
    ['open ones', z.object({}).catchall(z.int())],
    ['unions', z.union([z.int(), z.strictObject({ a: z.int() }), z.looseObject({}), z.null()])],
    ['unions of open objects', z.union([z.object({}).catchall(z.int()), z.int()])],
    [
      'discriminated unions',
      z.discriminatedUnion('k', [
        z.object({ k: z.literal('a') }),
        z.object({ k: z.literal('b'), x: z.object({}) }),
      ]),
    ],
    ['JSON', z.json()],
    ['anything', z.any()],
    ['unknown values', z.unknown()],
    ['nothing', z.null()],
    ['what may be absent or null', z.string().nullish()],
    ['what must be there after all', z.nonoptional(z.string().optional())],
    ['defaults', z.int().default(5)],
    ['computed defaults', z.iso.datetime().default(() => new Date().toISOString())],
    ['defaults before the check', z.string().trim().prefault(' x')],
    [
      'defaults of an asynchronous check',
      z
        .string()
        .refine(async () => false)
        .default('x'),
    ],
    ['brands', z.string().brand('Id')],
    ['what is read-only', z.object({ a: z.int() }).readonly()],
    ['recursive schemas', z.lazy(() => Node)],
    ['a file', blob()],
  ])('%s', (_what, part) => {
    expect(() => checkObjectSchema('cars', z.object({ a: part }))).not.toThrow()
  })
})

describe('a TypeError for', () => {
  it.each<[string, z.ZodType, RegExp]>([
    [
      'a transform',
      z.string().transform(text => text.length),
      /z\.transform\(\), .*: use \.trim\(\), .*\.overwrite\(\).*hook$/,
    ],
    ['a pipe', z.string().pipe(z.string()), /z\.pipe\(\), .*: use one schema of what is stored/],
    ['a preprocess', z.preprocess(Number, z.int()), /z\.preprocess\(\), .*: use z\.coerce/],
    [
      'a codec',
      z.codec(z.string(), z.int(), { decode: Number, encode: String }),
      /z\.codec\(\), .*hook$/,
    ],
    ['a switch of words', z.stringbool(), /z\.stringbool\(\), .*: use z\.boolean\(\)/],
    ['a catch', z.int().catch(5), /z\.catch\(\), .*: use \.default\(\)/],
    ['a success', z.success(z.int()), /z\.success\(\), .*: use z\.boolean\(\)/],
    [
      'an intersection',
      z.object({}).and(z.object({})),
      /z\.intersection\(\), .*: use .*\.extend\(\)/,
    ],
    ['a date', z.date(), /z\.date\(\), .*: use z\.iso\.datetime\(\) or z\.iso\.date\(\)$/],
    ['a coerced date', z.coerce.date(), /z\.date\(\)/],
    ['a bigint', z.bigint(), /z\.bigint\(\), .*: use z\.int\(\), or z\.string\(\)/],
    ['a literal bigint', z.literal([1, 5n]), /z\.bigint\(\)/],
    ['a literal that is undefined', z.literal([undefined]), /z\.undefined\(\), .*\.optional\(\)$/],
    ['a Map', z.map(z.string(), z.int()), /z\.map\(\), .*: use z\.record\(\)$/],
    ['a Set', z.set(z.string()), /z\.set\(\), .*: use z\.array\(\)$/],
    ['a File', z.file(), /z\.file\(\), .*: use blob\(\)$/],
    ['a symbol', z.symbol(), /z\.symbol\(\), .*: use z\.string\(\)$/],
    ['what is not a number', z.nan(), /z\.nan\(\), .*\.nullable\(\)$/],
    ['undefined', z.undefined(), /z\.undefined\(\), .*: use \.optional\(\)$/],
    ['void', z.void(), /z\.void\(\), .*: use \.optional\(\)$/],
    ['what a program checks', z.custom(() => true), /z\.custom\(\), .*\.refine\(\)$/],
    ['an instance', z.instanceof(URL), /z\.custom\(\)/],
    [
      'a promise',
      z.promise(z.string()),
      /z\.promise\(\), which is not accepted: use a schema of JSON values$/,
    ],
    [
      'a function',
      z.function() as unknown as z.ZodType,
      /z\.function\(\), which is not accepted: use a schema/,
    ],
    [
      'a plain object in a union',
      z.union([z.object({}), z.int()]),
      /z\.object\(\) in a z\.union\(\): use z\.strictObject\(\), z\.looseObject\(\) or z\.discriminatedUnion\(\)$/,
    ],
    [
      'one in a list in a union',
      z.union([z.array(z.object({})), z.int()]),
      /z\.object\(\) in a z\.union/,
    ],
    [
      'one in a discriminated union in a union',
      z.union([z.discriminatedUnion('k', [z.object({ k: z.literal('a') })]), z.int()]),
      /in a z\.union/,
    ],
    [
      'the rest of a tuple with an asynchronous check',
      z.tuple([z.int()]).rest(z.string().refine(async () => true)),
      /z\.tuple\(\) whose rest has an asynchronous check: use z\.array\(\)$/,
    ],
    ['a default that JSON cannot hold', z.any().default(5n), /a default that JSON cannot hold: 5$/],
    [
      'a default of nothing',
      z.string().optional().prefault(undefined),
      /JSON cannot hold: undefined$/,
    ],
    [
      'a default that is not a date',
      z.iso.datetime().default(''),
      /the default "", which its own checks refuse \(The value must be a date and time such as .*\): give another, or \.nullable/,
    ],
    [
      'a default that is not a whole number',
      z.int().optional().default(0.5),
      /the default 0\.5, which its own checks refuse/,
    ],
  ])('%s, at any depth', (_what, part, message) => {
    const deep: readonly [string, z.ZodType][] = [
      ['a', z.object({ a: part })],
      ['m.a', z.object({ m: z.object({ a: part.optional() }).nullable() })],
      ['l', z.object({ l: z.array(part) })],
      ['t', z.object({ t: z.tuple([z.int(), part]) })],
      ['t', z.object({ t: z.tuple([z.int()], part) })],
      ['r', z.object({ r: z.record(z.string(), part) })],
      ['u', z.object({ u: z.union([z.int(), part]) })],
      ['lazy', z.object({ lazy: z.lazy(() => part) })],
      ['the schema', z.object({}).catchall(part)],
      ['a', z.discriminatedUnion('k', [z.object({ k: z.literal('x'), a: part })])],
    ]
    for (const [path, schema] of deep) {
      expect(() => checkObjectSchema('cars', schema)).toThrow(TypeError)
      expect(() => checkObjectSchema('cars', schema)).toThrow(message)
      expect(() => checkObjectSchema('cars', schema)).toThrow(RegExp(`^cars: ${path} (?:is|has) `))
    }
  })

  it.each<[string, z.ZodType, RegExp]>([
    ['a text', z.string(), /^cars: the schema must be an object, such as z\.object/],
    ['a list', z.array(z.string()), /must be an object/],
    [
      'a union',
      z.union([z.strictObject({ a: z.int() }), z.strictObject({})]),
      /z\.discriminatedUnion/,
    ],
    [
      'a transform of the whole',
      z.object({}).transform(item => item),
      /^cars: the schema is z\.transform/,
    ],
    [
      'impossible',
      z.object({ a: z.never() }),
      /^cars: a is z\.never\(\), .* no property of that name/,
    ],
    [
      'a blob deep inside',
      z.object({ a: z.object({ b: blob() }) }),
      /^cars: a\.b is a blob\(\), which must be/,
    ],
    ['blobs in a list', z.object({ a: z.array(blob()) }), /^cars: a is a blob\(\)/],
    ['a record of blobs', z.object({ a: z.record(z.string(), blob()) }), /^cars: a is a blob\(\)/],
    [
      'a record by dates',
      z.object({ a: z.record(z.date() as never, z.int()) }),
      /^cars: a is z\.date/,
    ],
  ])('a schema that is %s', (_what, schema, message) => {
    expect(() => checkObjectSchema('cars', schema)).toThrow(TypeError)
    expect(() => checkObjectSchema('cars', schema)).toThrow(message)
  })

  it('a recursive schema that is found in a union too', () => {
    const Tree: z.ZodType = z.lazy(() => z.object({ kids: z.union([z.string(), Tree]) }))
    expect(() => checkObjectSchema('cars', Tree)).toThrow(
      /^cars: kids is a z\.object\(\) in a z\.union/,
    )
  })

  it('a table of what is not an object', () => {
    expect(() => fieldsOf(z.string())).toThrow(/must be an object/)
  })
})
