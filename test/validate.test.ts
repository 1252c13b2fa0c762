// What a schema makes of what clients send: every issue reported, nothing changed that nobody wrote.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blob, HttpError, type Item, type Json } from '../src/index.ts'
import { mergePatch } from '../src/rules/index.ts'
import { buildValidator } from '../src/schema/validate.ts'
import type { Schema } from '../src/schema/zod-fields.ts'

const Car = z.object({
  immatriculation: z.string().min(2),
  color: z.enum(['red', 'blue']),
  doors: z.int().min(1).default(5),
  model: z.object({ name: z.string(), year: z.int().optional() }).optional(),
  options: z.array(z.object({ name: z.string() })).default([]),
  rates: z.record(z.string(), z.object({ daily: z.number() })).optional(),
  engine: z
    .discriminatedUnion('fuel', [
      z.object({ fuel: z.literal('petrol'), litres: z.number() }),
      z.object({ fuel: z.literal('electric'), range: z.int().default(300) }),
    ])
    .optional(),
})

/** What was wrong, as `field type`. */
async function issues(work: () => unknown): Promise<string[]> {
  return (await errors(work)).map(({ field, type }) => `${field} ${type}`)
}

async function messages(work: () => unknown): Promise<string[]> {
  return (await errors(work)).map(({ message }) => message)
}

async function errors(work: () => unknown) {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    expect(error.status).toBe(400)
    return error.errors
  }
  return []
}

const create = (schema: Schema, value: unknown) => () => buildValidator(schema).create(value)

describe('issues in a new item', () => {
  const good = { immatriculation: 'AB', color: 'red' }
  const cases: readonly [name: string, value: unknown, list: readonly string[]][] = [
    ['nothing wrong', good, []],
    ['missing', {}, ['immatriculation required', 'color required']],
    ['null is not absent', { ...good, color: null }, ['color invalid_value']],
    ['ill-typed', { ...good, doors: '5' }, ['doors invalid_type']],
    ['2^53+1 for an integer', { ...good, doors: 2 ** 53 + 2 }, ['doors too_big']],
    ['a fraction for an integer', { ...good, doors: 1.5 }, ['doors invalid_type']],
    [
      'out of bounds',
      { ...good, doors: 0, immatriculation: 'A' },
      ['immatriculation too_small', 'doors too_small'],
    ],
    ['unknown', { ...good, colour: 'red' }, ['colour unknown_field']],
    ['unknown, nested', { ...good, model: { name: 'x', yaer: 1 } }, ['model.yaer unknown_field']],
    [
      'unknown in a list',
      { ...good, options: [{ name: 'a' }, { name: 'b', x: 1 }] },
      ['options.1.x unknown_field'],
    ],
    [
      'unknown in a record',
      { ...good, rates: { a: { daily: 1, x: 1 } } },
      ['rates.a.x unknown_field'],
    ],
    [
      'unknown in an option',
      { ...good, engine: { fuel: 'petrol', litres: 1, x: 1 } },
      ['engine.x unknown_field'],
    ],
    [
      'of another option',
      { ...good, engine: { fuel: 'petrol', litres: 1, range: 1 } },
      ['engine.range unknown_field'],
    ],
    ['no such option', { ...good, engine: { fuel: 'steam' } }, ['engine.fuel invalid_union']],
    ['an option that is missing', { ...good, engine: {} }, ['engine.fuel required']],
    [
      'an option that is an object',
      { ...good, engine: { fuel: {} } },
      ['engine.fuel invalid_union'],
    ],
    [
      'all of them together',
      { colour: 1, doors: 'x', model: {} },
      [
        'colour unknown_field',
        'immatriculation required',
        'color required',
        'doors invalid_type',
        'model.name required',
      ],
    ],
    ['an array', [], ['undefined invalid_type']],
    ['a text', 'x', ['undefined invalid_type']],
    ['null', null, ['undefined invalid_type']],
  ]
  for (const [name, value, list] of cases) {
    it(name, async () => {
      expect(await issues(create(Car, value))).toEqual(list)
    })
  }

  interface Tree {
    name: string
    kids?: Tree[] | undefined
    next?: Tree | undefined
  }
  const Tree: z.ZodType<Tree> = z.lazy(() =>
    z.object({ name: z.string(), kids: z.array(Tree).optional(), next: Tree.optional() }),
  )
  const Getters = z.object({
    name: z.string(),
    get kids() {
      return z.array(Getters).optional()
    },
  })
  const kid = { name: 'k', odd: 1 }
  const A = z.object({ a: z.string() })
  it.each<[string, Schema, Json, string]>([
    [
      'in a property of an open object',
      z.looseObject({ m: A }),
      { m: { a: 'x', odd: 1 }, n: 1 },
      'm.odd',
    ],
    ['in other properties', z.object({}).catchall(A), { m: { a: 'x', odd: 1 } }, 'm.odd'],
    [
      'in a tuple',
      z.object({ t: z.tuple([A, z.int()]) }),
      { t: [{ a: 'x', odd: 1 }, 1] },
      't.0.odd',
    ],
    [
      'in the rest of a tuple',
      z.object({ t: z.tuple([z.int()]).rest(A) }),
      { t: [1, { a: 'x' }, { a: 'x', odd: 1 }] },
      't.2.odd',
    ],
    ['in a strict object', z.object({ m: A.strict() }), { m: { a: 'x', odd: 1 } }, 'm.odd'],
    [
      'in a strict option',
      z.object({ u: z.discriminatedUnion('k', [A.strict().extend({ k: z.literal('k') })]) }),
      { u: { k: 'k', a: 'x', odd: 1 } },
      'u.odd',
    ],
    ['beside other properties', z.object({ m: A }).catchall(A), { m: { a: 'x', odd: 1 } }, 'm.odd'],
    ['in a strict schema', A.strict(), { a: 'x', odd: 1 }, 'odd'],
    [
      'in an object of a list that is one of several',
      z.object({ u: z.union([z.string(), z.array(A.loose()), A.strict()]) }),
      { u: { a: 'x', odd: 1 } },
      'u.odd',
    ],
    ['in a recursive schema', Tree, { name: 'a', kids: [{ name: 'b' }, kid] }, 'kids.1.odd'],
    ['in one that is recursive by a getter', Getters, { name: 'a', kids: [kid] }, 'kids.0.odd'],
    [
      'deep in it',
      z.object({ t: Tree }),
      { t: { name: 'a', next: { name: 'b', next: { name: 'c', kids: [kid] } } } },
      't.next.next.kids.0.odd',
    ],
  ])('are reported %s', async (_where, schema, value, field) => {
    const [issue] = await errors(create(schema, value))
    expect(issue?.field).toBe(field)
    const known = JSON.parse(JSON.stringify(value).replace(',"odd":1', ''))
    expect(await buildValidator(schema).create(known)).toEqual(known)
  })

  it('accepts what any option of a union accepts', async () => {
    const schema = z.object({
      u: z.union([z.strictObject({ a: z.int() }), z.record(z.string(), z.string())]),
      json: z.json(),
    })
    for (const u of [{ a: 1 }, { b: 'x' }]) {
      const value = { u, json: [{ a: [1, { b: null }] }] }
      expect(await buildValidator(schema).create(value)).toEqual(value)
    }
  })

  it('a hundred unknown properties are enough', async () => {
    const value = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`x${at}`, 1]))
    expect(await issues(create(z.object({}), value))).toHaveLength(100)
    expect(await issues(create(z.strictObject({}), value))).toHaveLength(100)
  })
})

describe('a message says what would be right', () => {
  const text = z.object({ name: z.string() })
  it.each<[string, Schema, unknown, string]>([
    ['an absent value', Car, { color: 'red' }, 'immatriculation is required'],
    ['an absent value inside', z.object({ m: text }), { m: {} }, 'm.name is required'],
    [
      'a missing discriminator',
      Car,
      { immatriculation: 'AB', color: 'red', engine: {} },
      'engine.fuel is required',
    ],
    [
      'another option',
      z.object({ c: z.enum(['blue', 'red']) }),
      { c: 'x' },
      'c must be one of blue, red',
    ],
    ['an empty choice', z.object({ c: z.enum(['', 'a']) }), { c: 'x' }, 'c must be one of "", a'],
    ['one value alone', z.object({ c: z.literal('a') }), { c: 'x' }, 'c must be a'],
    [
      'another discriminator',
      z.object({ e: z.discriminatedUnion('k', [z.object({ k: z.literal(['a', 'b']) })]) }),
      { e: { k: 'x' } },
      'e.k must be one of a, b',
    ],
    [
      'an empty text',
      z.object({ name: z.string().min(1) }),
      { name: '' },
      'name must not be empty',
    ],
    ['an empty list', z.object({ l: z.array(z.int()).min(1) }), { l: [] }, 'l must not be empty'],
    [
      'a short text',
      z.object({ a: z.string().min(2) }),
      { a: 'x' },
      'a must have at least 2 characters',
    ],
    [
      'a long text',
      z.object({ a: z.string().max(1) }),
      { a: 'xy' },
      'a must have at most 1 character',
    ],
    [
      'a text of another length',
      z.object({ a: z.string().length(3) }),
      { a: 'x' },
      'a must have exactly 3 characters',
    ],
    [
      'a list of another length',
      z.object({ a: z.array(z.int()).length(1) }),
      { a: [] },
      'a must have exactly 1 item',
    ],
    [
      'a low number',
      z.object({ price: z.number().min(0) }),
      { price: -1 },
      'price must be at least 0',
    ],
    ['zero', z.object({ price: z.number().positive() }), { price: 0 }, 'price must be more than 0'],
    ['a high number', z.object({ a: z.int().max(9) }), { a: 10 }, 'a must be at most 9'],
    ['a number at its bound', z.object({ a: z.number().lt(9) }), { a: 9 }, 'a must be less than 9'],
    [
      'a number between steps',
      z.object({ a: z.number().multipleOf(5) }),
      { a: 7 },
      'a must be a multiple of 5',
    ],
    ['a fraction', z.object({ a: z.int() }), { a: 1.5 }, 'a must be a whole number'],
    ['a number for a text', text, { name: 5 }, 'name must be a string'],
    ['a text for a switch', z.object({ a: z.boolean() }), { a: 'x' }, 'a must be true or false'],
    ['a text for a list', z.object({ a: z.array(z.int()) }), { a: 'x' }, 'a must be a list'],
    ['a text for an object', z.object({ m: text }), { m: 'x' }, 'm must be an object'],
    ['a value for null', z.object({ a: z.null() }), { a: 1 }, 'a must be null'],
    [
      'no email address',
      z.object({ email: z.email() }),
      { email: 'x' },
      'email must be an email address',
    ],
    [
      'no date',
      z.object({ a: z.iso.date() }),
      { a: '2024-02-30' },
      'a must be a date that exists, such as 2026-01-31',
    ],
    ['a cuid', z.object({ a: z.cuid2() }), { a: '-' }, 'a must be a valid cuid2'],
    ['a pattern', z.object({ a: z.string().regex(/^x$/) }), { a: 'y' }, 'a must match /^x$/'],
    ['a beginning', z.object({ a: z.string().startsWith('x') }), { a: 'y' }, 'a must start with x'],
    ['an end', z.object({ a: z.string().endsWith('x') }), { a: 'y' }, 'a must end with x'],
    ['a part', z.object({ a: z.string().includes('x') }), { a: 'y' }, 'a must contain x'],
    [
      'none of several types',
      z.object({ a: z.union([z.int(), z.boolean()]) }),
      { a: 'x' },
      'a must be a whole number or true or false',
    ],
    [
      'one of several, of which it may be one',
      z.object({ a: z.xor([z.int(), z.number()]) }),
      { a: 1 },
      'a fits more than one of its types',
    ],
    [
      'none of several, in open space',
      z.looseObject({}).catchall(z.union([z.int(), z.null()])),
      { a: 'x' },
      'a is not valid',
    ],
    [
      'a key',
      z.object({ r: z.record(z.string().min(2), z.int()) }),
      { r: { a: 1 } },
      'r.a is not a valid name here',
    ],
    [
      'an unknown key',
      z.object({ r: z.partialRecord(z.enum(['blue']), z.int()) }),
      { r: { name: 1 } },
      'Unknown field "r.name"',
    ],
    [
      'a near name',
      Car,
      { immatriculation: 'AB', color: 'red', colour: 1 },
      'Unknown field "colour": did you mean color?',
    ],
    [
      'a near name, in a strict object',
      text.strict(),
      { name: 'x', nam: 1 },
      'Unknown field "nam": did you mean name?',
    ],
    [
      'a check without a message',
      z.object({ a: z.int().refine(() => false) }),
      { a: 1 },
      'a is not valid',
    ],
    ['a check of the whole', text.refine(() => false), { name: 'x' }, 'The value is not valid'],
    [
      'an element',
      z.object({ l: z.array(z.int()) }),
      { l: [1, 'x'] },
      'l.1 must be a whole number',
    ],
    ['a file', z.object({ photo: blob() }), {}, 'photo is required'],
    ['what no file became', z.object({ photo: blob() }), { photo: 5 }, 'photo must be a file'],
  ])('%s', async (_what, schema, value, message) => {
    expect(await messages(create(schema, value))).toEqual([message])
  })

  it.each<[string, Schema, unknown]>([
    ['of a check', z.object({ a: z.string().min(1, 'Give a name') }), { a: '' }],
    ['of a type', z.object({ a: z.string('Give a name') }), {}],
    ['of a function', z.object({ a: z.string({ error: () => 'Give a name' }) }), { a: 5 }],
    ['of a refinement', z.object({ a: z.string().refine(() => false, 'Give a name') }), { a: 'x' }],
    [
      'of an asynchronous one',
      z.object({ a: z.string().refine(async () => false, 'Give a name') }),
      { a: 'x' },
    ],
  ])('but one by the author of the schema stays as it is: %s', async (_what, schema, value) => {
    expect(await messages(create(schema, value))).toEqual(['Give a name'])
  })

  it('is short, whatever the body was', async () => {
    const [message] = await messages(create(Car, { ['x'.repeat(9999)]: 1 }))
    expect(message?.length).toBeLessThan(200)
  })
})

describe('checks without a promise', () => {
  it('answers at once without an asynchronous check', () => {
    const validator = buildValidator(Car)
    const stored = validator.create({ immatriculation: 'AB', color: 'red' })
    expect(stored).not.toBeInstanceOf(Promise)
    const item = stored as Item // as the line above has it
    expect(validator.patch(item, { ...item, color: 'blue' })).toMatchObject({ color: 'blue' })
    expect(validator.replace(item, { ...item, color: 'blue' })).toMatchObject({ color: 'blue' })
  })

  it.each<[string, Schema]>([
    ['an async function', z.object({ a: z.string().refine(async text => text !== 'x') })],
    ['a promise', z.object({ a: z.string().refine(text => Promise.resolve(text !== 'x')) })],
    [
      'a promise in a lazy schema',
      z.object({ a: z.lazy(() => z.string().refine(text => Promise.resolve(text !== 'x'))) }),
    ],
    [
      'an async function behind a recursive schema',
      z.object({ j: z.json().optional(), a: z.string().refine(async text => text !== 'x') }),
    ],
  ])('waits for %s', async (_what, schema) => {
    const validator = buildValidator(schema)
    for (let time = 0; time < 2; time++) {
      expect(await validator.create({ a: 'y' })).toEqual({ a: 'y' })
      expect(await issues(() => validator.create({ a: 'x' }))).toEqual(['a custom'])
      expect(await validator.patch({ a: 'y' }, { a: 'z' })).toEqual({ a: 'z' })
    }
  })

  it('passes on an error that a check throws', async () => {
    const failing = () => {
      throw new RangeError('broken')
    }
    await expect(create(z.object({ a: z.string().refine(failing) }), { a: 'x' })).toThrow('broken')
  })
})

/** Stores what a schema makes of an input, then what a patch and a replacement make of it. */
async function changes(schema: Schema, input: Json, patch: Json) {
  const validator = buildValidator(schema)
  const stored = await validator.create(input)
  const patched = await validator.patch(stored, mergePatch(stored, patch))
  const replaced = await validator.replace(stored, mergePatch(stored, patch))
  return { patched, replaced }
}

describe('a patch changes what it names and nothing else', () => {
  let made = 0
  const cases: readonly [name: string, schema: Schema, input: Json, patch: Json, result: Item][] = [
    [
      'an overwrite runs on what is new',
      z.object({ a: z.string().trim().toLowerCase(), b: z.string() }),
      { a: ' X ', b: 'y' },
      { a: ' Z ' },
      { a: 'z', b: 'y' },
    ],
    [
      'an overwrite of a list',
      z.object({ l: z.array(z.string()).overwrite(list => [...list].sort()), b: z.string() }),
      { l: ['b', 'a'], b: 'y' },
      { l: ['c', 'b', 'a'] },
      { l: ['a', 'b', 'c'], b: 'y' },
    ],
    [
      'another type by coercion',
      z.object({ a: z.coerce.number<string>(), b: z.string() }),
      { a: '5', b: 'y' },
      { b: 'z' },
      { a: 5, b: 'z' },
    ],
    [
      'another option takes its defaults',
      z.object({
        u: z.discriminatedUnion('k', [
          z.object({ k: z.literal('a'), x: z.int() }),
          z.object({ k: z.literal('b'), y: z.int().default(3) }),
        ]),
      }),
      { u: { k: 'a', x: 1 } },
      { u: { k: 'b', x: null } },
      { u: { k: 'b', y: 3 } },
    ],
    [
      'a new object takes its defaults',
      z.object({ m: z.object({ x: z.int().default(3) }).optional() }),
      {},
      { m: {} },
      { m: { x: 3 } },
    ],
  ]
  for (const [name, schema, input, patch, result] of cases) {
    it(name, async () => {
      const { patched, replaced } = await changes(schema, input, patch)
      expect(JSON.stringify(patched)).toBe(JSON.stringify(result))
      expect(replaced).toEqual(result)
    })
  }

  it('adds no default to an item from before the default was declared', async () => {
    const validator = buildValidator(
      z.object({
        a: z.string(),
        m: z.object({ n: z.int(), d: z.int().default(1) }).optional(),
        d: z.int().default(1),
        p: z.int().prefault(2),
        l: z.array(z.object({ n: z.int(), d: z.int().default(1) })).default(() => []),
      }),
    )
    const old = { a: 'x', m: { n: 1 }, l: [{ n: 1 }, { n: 2 }] }
    expect(await validator.patch(old, { ...old })).toBe(old)
    const next = { a: 'y', m: { n: 2 }, l: [{ n: 1 }, { n: 3 }, { n: 4 }] }
    expect(await validator.patch(old, { ...old, a: 'y' })).toEqual({ ...old, a: 'y' })
    expect(await validator.patch(old, next)).toEqual({
      ...next,
      l: [{ n: 1 }, { n: 3 }, { n: 4, d: 1 }],
    })
    expect(await validator.replace(old, { a: 'y' })).toEqual({ a: 'y', d: 1, p: 2, l: [] })
  })

  it('still requires a property, also of an item from before it was declared', async () => {
    const validator = buildValidator(z.object({ a: z.int(), b: z.string() }))
    for (const changed of [validator.patch, validator.replace])
      expect(await issues(() => changed({ b: 'y' }, { b: 'z' }))).toEqual(['a required'])
  })

  it('computes a default anew each time', async () => {
    const validator = buildValidator(z.object({ a: z.string(), n: z.int().default(() => ++made) }))
    const first = await validator.create({ a: 'x' })
    const second = await validator.replace(first, { a: 'x' })
    const third = await validator.replace(first, { a: 'y' })
    expect(new Set([first.n, second.n, third.n]).size).toBe(3)
  })

  it('drops what is left of the former option', async () => {
    const kind = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), x: z.int() }),
      z.object({ kind: z.literal('b'), y: z.int() }),
    ])
    const validator = buildValidator(kind)
    const changed = { kind: 'b', x: 1, y: 2 }
    expect(await validator.patch({ kind: 'a', x: 1 }, changed)).toEqual({ kind: 'b', y: 2 })
    expect(await issues(() => validator.create(changed))).toEqual(['x unknown_field'])
  })

  it('still checks the whole', async () => {
    const ordered = z
      .object({ a: z.int(), b: z.int(), m: z.object({ t: z.string(), n: z.int().max(9) }) })
      .refine(({ a, b }) => a < b, { path: ['a'], message: 'a must be below b' })
    const validator = buildValidator(ordered)
    const stored = await validator.create({ a: 1, b: 2, m: { t: 'x', n: 1 } })
    const wrong = async (patched: Json) => issues(() => validator.patch(stored, patched))
    expect(await wrong({ ...stored, b: 0 })).toEqual(['a custom'])
    expect(await wrong({ ...stored, b: 'x', m: { t: 'x', n: 10, z: 1 } })).toEqual([
      'm.z unknown_field',
      'b invalid_type',
      'm.n too_big',
    ])
    expect(await wrong({ a: 1, m: { t: 'x', n: 1 } })).toEqual(['b required'])
    expect(await wrong([])).toEqual(['undefined invalid_type'])
  })
})

describe('properties that only another version declares', () => {
  const Old = z.object({ color: z.string(), doors: z.array(z.object({ side: z.string() })) })
  const stored = { color: 'red', doors: [{ side: 'l' }], tags: ['x'], note: null }
  const blue = { ...stored, color: 'blue' }
  for (const [kind, schema] of [
    ['an object', Old],
    ['a strict object', Old.strict()],
  ] as const) {
    const validator = buildValidator(schema)
    it(`${kind}: are kept by a patch and a replacement, sent back or not`, async () => {
      expect(await validator.patch(stored, blue)).toEqual(blue)
      expect(await validator.replace(stored, blue)).toEqual(blue)
      expect(await validator.replace(stored, { color: 'blue', doors: stored.doors })).toEqual(blue)
    })

    it(`${kind}: cannot be changed or added`, async () => {
      for (const changed of [validator.patch, validator.replace]) {
        const wrong = { ...blue, tags: [], other: 1 }
        expect(await issues(() => changed(stored, wrong))).toEqual([
          'tags unknown_field',
          'other unknown_field',
        ])
      }
    })
  }

  it('are in an open schema like any others', async () => {
    for (const schema of [
      Old.loose(),
      z.discriminatedUnion('color', [Old.loose().extend({ color: z.literal(['red', 'blue']) })]),
    ]) {
      const validator = buildValidator(schema)
      const { tags: _tags, ...less } = blue
      expect(await validator.replace(stored, less)).toEqual(less)
      expect(await validator.patch(stored, { ...blue, tags: 5 })).toEqual({ ...blue, tags: 5 })
    }
  })

  it('inside an object stay as they are, from before the schema lost them', async () => {
    const handler = { side: 'l', locked: true }
    const old = { color: 'red', doors: [handler, { side: 'r', locked: false }] }
    const validator = buildValidator(Old)
    const next = { color: 'blue', doors: [{ ...handler, side: 'L' }, old.doors[1] ?? null] }
    expect(await validator.patch(old, next)).toEqual(next)
  })

  it('stay with each of two elements that are equal without them', async () => {
    const doors = [1, 2].map(locked => ({ side: 'l', locked }))
    const sent = { color: 'blue', doors: [{ side: 'l' }, { side: 'l' }] }
    const next = { color: 'blue', doors }
    expect(await buildValidator(Old).replace({ color: 'red', doors }, sent)).toEqual(next)
  })

  it('come to no element that the schema has put in', async () => {
    const first = { side: 'r' }
    const Sorted = Old.extend({ doors: Old.shape.doors.overwrite(doors => [first, ...doors]) })
    const old = { color: 'red', doors: [{ side: 'l', locked: true }] }
    const sent = { color: 'blue', doors: old.doors }
    const next = { color: 'blue', doors: [first, { side: 'l' }] }
    expect(await buildValidator(Sorted).replace(old, sent)).toEqual(next)
  })
})

describe('a schema returns what JSON keeps', () => {
  const overwritten = (overwrite: (value: unknown) => unknown) =>
    z.object({ deep: z.object({ list: z.array(z.any().overwrite(overwrite)) }) })
  const createFrom = (made: unknown) =>
    create(
      overwritten(() => made),
      { deep: { list: ['abc'] } },
    )

  it.each<[string, unknown, Json]>([
    ['a date as its text', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['no function', { a: 1, b: () => 1 }, { a: 1 }],
    ['a negative zero as zero', -0, 0],
    ['a gap in an array as null', Object.assign([], { 1: 1 }), [null, 1]],
    ['what lies deeper', [{ at: new Date(0), b: undefined }], [{ at: '1970-01-01T00:00:00.000Z' }]],
    ['JSON as it is', [{ a: 'x', b: [true, null, 1.5] }], [{ a: 'x', b: [true, null, 1.5] }]],
  ])('has %s', async (_name, made, kept) => {
    expect(await createFrom(made)()).toStrictEqual({ deep: { list: [kept] } })
  })

  it.each<[string, unknown]>([
    ['an invalid number', Number.NaN],
    ['an invalid date', new Date('')],
  ])('reports %s', async (_name, made) => {
    expect(await issues(createFrom(made))).toEqual(['deep.list.0 invalid_value'])
  })

  it.each<[string, unknown]>([
    ['a Set', new Set()],
    ['a Map', new Map()],
    ['a RegExp', /x/],
    ['a bigint', 5n],
    ['a Uint8Array', new Uint8Array(1)],
  ])('a TypeError tells of %s, which JSON would lose', async (what, made) => {
    expect(createFrom(made)).toThrow(TypeError)
    expect(createFrom(made)).toThrow(`deep.list.0 is ${what}, which JSON cannot hold: use`)
  })

  it('is an object', () => {
    const schema = z.object({ a: z.int() }).overwrite(() => 5 as never) // what the types forbid
    expect(create(schema, { a: 1 })).toThrow(TypeError)
  })
})
