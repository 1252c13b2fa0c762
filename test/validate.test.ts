// What a schema makes of what clients send: every issue told, nothing changed that nobody wrote.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { HttpError, type Item, type Json, mergePatch } from '../src/index.ts'
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

async function issues(work: Promise<unknown>): Promise<string[]> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    expect(error.status).toBe(400)
    return error.errors.map(({ field, type }) => `${field} ${type}`)
  }
  return []
}

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
      'unknown in a union',
      { ...good, engine: { fuel: 'petrol', litres: 1, x: 1 } },
      ['engine.x unknown_field'],
    ],
    ['no such option', { ...good, engine: { fuel: 'steam' } }, ['engine.fuel invalid_union']],
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
    ['no object', [], ['undefined invalid_type']],
    ['a text', 'x', ['undefined invalid_type']],
    ['null', null, ['undefined invalid_type']],
  ]
  for (const [name, value, list] of cases) {
    it(name, async () => {
      expect(await issues(buildValidator(Car).create(value))).toEqual(list)
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
  const kid = { name: 'k', odd: 1 }
  const A = z.object({ a: z.string() })
  it.each<[string, Schema, Json, string]>([
    [
      'in a list that is one of several',
      z.object({ u: z.union([z.string(), z.array(A)]) }),
      { u: [{ a: 'x', odd: 1 }] },
      'u.0.odd',
    ],
    [
      'in a member of an open object',
      z.looseObject({ m: A }),
      { m: { a: 'x', odd: 1 }, more: 1 },
      'm.odd',
    ],
    ['in a recursive schema', Tree, { name: 'a', kids: [{ name: 'b' }, kid] }, 'kids.1.odd'],
    [
      'deep in it',
      z.object({ t: Tree }),
      { t: { name: 'a', next: { name: 'b', next: { name: 'c', kids: [kid] } } } },
      't.next.next.kids.0.odd',
    ],
  ])('are told of what nobody knows %s', async (_where, schema, value, field) => {
    expect(await issues(buildValidator(schema).create(value))).toEqual([`${field} unknown_field`])
    const known = JSON.parse(JSON.stringify(value).replace(',"odd":1', ''))
    expect(await buildValidator(schema).create(known)).toEqual(known)
  })

  it('a field of another option of a union is told as one', async () => {
    const schema = z.object({ u: z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]) })
    const refused = await buildValidator(schema)
      .create({ u: { a: 1, b: 2 } })
      .catch(error => error.errors)
    const message = 'u.b does not go with the other fields here: it is of another option'
    expect(refused).toMatchObject([{ message, field: 'u.b', type: 'unknown_field' }])
  })

  it('what both parts of an intersection have is of both of them', async () => {
    const [A, B] = [z.object({ a: z.string() }), z.object({ b: z.string() })]
    const schema = z
      .object({ in: A, list: z.array(A) })
      .and(z.object({ in: B, list: z.array(B), any: B.and(z.custom(() => true)) }))
    const both = { a: 'x', b: 'y' }
    const value = { in: both, list: [both], any: both }
    expect(await buildValidator(schema).create(value)).toEqual(value)
    const odd = { in: { ...both, odd: 1 }, list: [{ ...both, odd: 1 }], any: both }
    const told = ['in.odd unknown_field', 'list.0.odd unknown_field']
    expect(await issues(buildValidator(schema).create(odd))).toEqual(told)
  })

  it('a name that a record does not take is near none of those beside the record', async () => {
    const A = z.strictObject({ color: z.string().optional() })
    const schema = z.object({
      names: z.partialRecord(z.enum(['blue', 'red']), z.string()),
      strict: z.record(
        z.string(),
        z.preprocess(value => value, A),
      ),
    })
    const value = { names: { name: 'x' }, strict: { a: { colour: 'x' } } }
    const refused = await buildValidator(schema)
      .create(value)
      .catch(error => error.errors)
    const told = refused.map(({ message }: { message: string }) => message)
    expect(new Set(told)).toEqual(
      new Set([
        'There is no field "names.name"',
        'There is no field "strict.a.colour"; did you mean "color"?',
      ]),
    )
  })

  it('JSON of any kind, and what may be meant in ever more ways, cost no more than their size', async () => {
    interface Either {
      next?: Either | undefined
    }
    const Either: z.ZodType<Either> = z.lazy(() => z.union([One, Other]))
    const One = z.object({ next: Either.optional() })
    const Other = z.object({ next: Either.optional(), other: z.string().optional() })
    const validator = buildValidator(z.object({ either: Either, json: z.json() }))
    let either: Json = { odd: 1 }
    for (let level = 0; level < 200; level++) either = { next: either }
    const json = [{ a: [1, { b: null }] }]
    expect(await validator.create({ either: {}, json })).toEqual({ either: {}, json })
    const told = [expect.stringMatching(/^either(\.next)+.* unknown_field$/)]
    expect(await issues(validator.create({ either, json }))).toEqual(told)
  })

  it('takes what any option of a union takes', async () => {
    const open = z.object({ x: z.int() }).catchall(z.string())
    const schema = z.object({
      u: z.union([z.object({ a: z.int() }), z.record(z.string(), z.string()), open]),
    })
    const validator = buildValidator(schema)
    expect(await validator.create({ u: { b: 'x' } })).toEqual({ u: { b: 'x' } })
    expect(await validator.create({ u: { x: 1, b: 'x' } })).toEqual({ u: { x: 1, b: 'x' } })
    const both = z.object({ i: z.object({ a: z.int() }).and(z.record(z.string(), z.int())) })
    expect(await buildValidator(both).create({ i: { a: 1, b: 2 } })).toEqual({ i: { a: 1, b: 2 } })
  })

  it('refuses what the option that the schema takes would drop', async () => {
    const B = z.object({ a: z.int().optional(), b: z.int().optional() })
    const C = z.object({ a: z.int().optional(), c: z.int().optional() })
    const either = z.union([B, C])
    const list = z.object({ l: z.array(z.object({ u: either })) })
    const cases: readonly [z.ZodType, unknown, string[]][] = [
      [z.object({ u: either }), { u: { a: 1, c: 2 } }, ['u.c unknown_field']],
      [z.object({ u: either }), { u: { c: 2 } }, ['u.c unknown_field']],
      [list, { l: [{ u: { a: 1 } }, { u: { c: 2 } }] }, ['l.1.u.c unknown_field']],
      [either, { a: 1, c: 2 }, ['c unknown_field']],
      [z.object({ u: z.union([C, B]) }), { u: { a: 1, c: 2 } }, []],
      [z.object({ u: z.union([B.strict(), C]) }), { u: { a: 1, c: 2 } }, []],
      [z.object({ u: either.catch({}) }), { u: { a: 'x', c: 2 } }, []],
    ]
    for (const [schema, value, list] of cases)
      expect(await issues(buildValidator(schema).create(value))).toEqual(list)

    const validator = buildValidator(z.object({ u: either }))
    const patched = validator.patch({ u: { a: 1 } }, { u: { a: 1, c: 2 } })
    expect(await issues(patched)).toEqual(['u.c unknown_field'])
    await expect(patched).rejects.toThrow(/^u\.c is no field of the first option that u fits$/)
    await expect(buildValidator(either).create({ a: 1, c: 2 })).rejects.toThrow(
      /^c is no field of the first option that the body fits$/,
    )
  })

  it('says what would be right', async () => {
    const wrong = { immatriculation: 'AB', colour: 'red', color: 'pink' }
    await expect(buildValidator(Car).create(wrong)).rejects.toThrow(
      /There is no field "colour"; did you mean "color"\?.*color: .*"red"\|"blue"/,
    )
    await expect(buildValidator(Car).create({})).rejects.toThrow(/immatriculation is required/)
    await expect(buildValidator(Car).create({ ['x'.repeat(9999)]: 1 })).rejects.toThrow(
      /^.{1,300}$/,
    )
  })
})

/** Stores what a schema makes of an input, then what a patch and a replacement make of it. */
async function changes(schema: Schema, input: Json, patch: Json) {
  const validator = buildValidator(schema)
  const stored = await validator.create(input)
  const patched = await validator.patch(stored, mergePatch(stored, patch))
  const replaced = await validator.replace(stored, mergePatch(stored, patch))
  return { stored, patched, replaced }
}

describe('a patch changes what it names and nothing else', () => {
  let made = 0
  const shout = z.string().transform(text => `${text}!`)
  const cases: readonly [name: string, schema: Schema, input: Json, patch: Json, result: Item][] = [
    [
      'a transform does not run again',
      z.object({ a: shout, b: z.string() }),
      { a: 'x', b: 'y' },
      { b: 'z' },
      { a: 'x!', b: 'z' },
    ],
    [
      'it runs on what is new',
      z.object({ a: shout, b: z.string() }),
      { a: 'x', b: 'y' },
      { a: 'z' },
      { a: 'z!', b: 'y' },
    ],
    [
      'nested',
      z.object({ m: z.object({ a: shout, b: z.string() }) }),
      { m: { a: 'x', b: 'y' } },
      { m: { b: 'z' } },
      { m: { a: 'x!', b: 'z' } },
    ],
    [
      'in an optional object',
      z.object({ m: z.object({ a: shout, b: z.string() }).optional() }),
      { m: { a: 'x', b: 'y' } },
      { m: { b: 'z' } },
      { m: { a: 'x!', b: 'z' } },
    ],
    [
      'in a record',
      z.object({ r: z.record(z.string(), shout) }),
      { r: { a: 'x' } },
      { r: { b: 'y' } },
      { r: { a: 'x!', b: 'y!' } },
    ],
    [
      'in a tuple with a rest',
      z.object({ t: z.tuple([shout], shout) }),
      { t: ['a', 'b'] },
      { t: ['a!', 'b!', 'c'] },
      { t: ['a!', 'b!', 'c!'] },
    ],
    [
      'in a tuple that its rest leaves',
      z.object({ t: z.tuple([shout], shout) }),
      { t: ['a', 'b', 'c'] },
      { t: ['a!'] },
      { t: ['a!'] },
    ],
    [
      'beside a tuple with a rest',
      z.object({ t: z.tuple([z.string()], z.int()), b: shout }),
      { t: ['a', 1], b: 'y' },
      { t: ['a', 2] },
      { t: ['a', 2], b: 'y!' },
    ],
    [
      'what only tells whether it would pass',
      z.object({ ok: z.success(z.string()).transform(ok => ok), b: z.string() }),
      { ok: 'x', b: 'y' },
      { b: 'z' },
      { ok: true, b: 'z' },
    ],
    [
      'a catch is told the value itself',
      z.object({ c: z.object({ a: shout }).catch(({ value }) => ({ a: JSON.stringify(value) })) }),
      { c: { a: 'x' } },
      { c: { a: 5 } },
      { c: { a: '{"a":5}' } },
    ],
    [
      'in a list',
      z.object({ l: z.array(shout) }),
      { l: ['a', 'b'] },
      { l: ['b!', 'c'] },
      { l: ['b!', 'c!'] },
    ],
    [
      'in a list of objects',
      z.object({ l: z.array(z.object({ a: shout, b: z.string() })) }),
      { l: [{ a: 'x', b: 'y' }] },
      {
        l: [
          { a: 'x!', b: 'z' },
          { a: 'n', b: 'n' },
        ],
      },
      {
        l: [
          { a: 'x!', b: 'z' },
          { a: 'n!', b: 'n' },
        ],
      },
    ],
    [
      'in a tuple',
      z.object({ t: z.tuple([shout, z.int()]) }),
      { t: ['a', 1] },
      { t: ['a!', 2] },
      { t: ['a!', 2] },
    ],
    [
      'in a union',
      z.object({ u: z.union([z.object({ a: shout, b: z.string() }), z.string()]) }),
      { u: { a: 'x', b: 'y' } },
      { u: { b: 'z' } },
      { u: { a: 'x!', b: 'z' } },
    ],
    [
      'in a discriminated union',
      z.object({
        u: z.discriminatedUnion('k', [
          z.object({ k: z.literal('a'), t: shout, n: z.int() }),
          z.object({ k: z.literal('b') }),
        ]),
      }),
      { u: { k: 'a', t: 'x', n: 1 } },
      { u: { n: 2 } },
      { u: { k: 'a', t: 'x!', n: 2 } },
    ],
    [
      'in an intersection',
      z.object({ i: z.intersection(z.object({ a: shout }), z.object({ b: z.string() })) }),
      { i: { a: 'x', b: 'y' } },
      { i: { b: 'z' } },
      { i: { a: 'x!', b: 'z' } },
    ],
    [
      'in other members of an open object',
      z.object({ a: z.string() }).catchall(shout),
      { a: 'x', b: 'y' },
      { a: 'z' },
      { a: 'z', b: 'y!' },
    ],
    [
      'a codec',
      z.object({
        a: z.codec(z.string(), z.int(), { decode: Number, encode: String }),
        b: z.string(),
      }),
      { a: '7', b: 'x' },
      { b: 'y' },
      { a: 7, b: 'y' },
    ],
    [
      'a preprocess',
      z.object({ a: z.preprocess(value => `${value}?`, z.string()), b: z.string() }),
      { a: 'x', b: 'y' },
      { b: 'z' },
      { a: 'x?', b: 'z' },
    ],
    [
      'an overwrite',
      z.object({ a: z.string().overwrite(text => `${text}.`), b: z.string() }),
      { a: 'x', b: 'y' },
      { b: 'z' },
      { a: 'x.', b: 'z' },
    ],
    [
      'an asynchronous transform',
      z.object({ a: z.string().transform(async text => `${text}!`), b: z.string() }),
      { a: 'x', b: 'y' },
      { b: 'z' },
      { a: 'x!', b: 'z' },
    ],
    [
      'a default that its own checks refuse',
      z.object({ a: z.email().default(''), b: z.string() }),
      { b: 'y' },
      { b: 'z' },
      { a: '', b: 'z' },
    ],
    [
      'a catch',
      z.object({ a: shout.catch('none'), b: z.string() }),
      { a: 1, b: 'y' },
      { b: 'z' },
      { a: 'none', b: 'z' },
    ],
    [
      'a recursive schema',
      z.object({
        get children() {
          return z.array(Node).optional()
        },
        a: shout,
        b: z.string(),
      }),
      { a: 'x', b: 'y', children: [{ a: 'c', b: 'd' }] },
      { b: 'z' },
      { children: [{ a: 'c!', b: 'd' }], a: 'x!', b: 'z' },
    ],
    [
      'a member made from others',
      z
        .object({ first: z.string(), last: z.string(), color: z.string() })
        .transform(it => ({ ...it, full: `${it.first} ${it.last}` })),
      { first: 'A', last: 'B', color: 'red' },
      { first: 'C' },
      { first: 'C', last: 'B', color: 'red', full: 'C B' },
    ],
    [
      'a date of a transform',
      z.object({ at: z.string().transform(text => new Date(text)), b: z.string() }),
      { at: '2024-01-01', b: 'y' },
      { b: 'z' },
      { at: '2024-01-01T00:00:00.000Z', b: 'z' },
    ],
    [
      'a null of a transform, where none may be sent',
      z.object({ a: z.string().transform(text => text || null), b: z.string() }),
      { a: '', b: 'y' },
      { b: 'z' },
      { a: null, b: 'z' },
    ],
    [
      'a null of a transform in a list and in a record',
      z.object({
        l: z.array(z.string().transform(text => text || null)),
        r: z.record(
          z.string(),
          z.string().transform(text => text || null),
        ),
        b: z.string(),
      }),
      { l: ['', 'x'], r: { k: '' }, b: 'y' },
      { b: 'z' },
      { l: [null, 'x'], r: { k: null }, b: 'z' },
    ],
    [
      'a member that a transform leaves out',
      z.object({
        a: z.string().transform(text => text || undefined),
        m: z.object({
          c: z
            .string()
            .transform(text => text || undefined)
            .pipe(z.string().optional()),
          b: z.string(),
        }),
        b: z.string(),
      }),
      { a: '', m: { c: '', b: 'y' }, b: 'y' },
      { m: { b: 'z' } },
      { m: { b: 'z' }, b: 'y' },
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

  it('lets no default in that was not there, as an item from before the default was declared', async () => {
    const validator = buildValidator(
      z.object({
        a: z.string(),
        m: z.object({ n: z.int(), d: z.int().default(1) }).optional(),
        d: z.int().default(1),
        p: z.int().prefault(2),
        l: z.array(z.string()).default(() => ['x']),
      }),
    )
    const old = { a: 'x', m: { n: 1 } }
    expect(await validator.patch(old, { ...old })).toBe(old)
    expect(await validator.patch(old, { a: 'y', m: { n: 1 } })).toEqual({ a: 'y', m: { n: 1 } })
    expect(await validator.patch(old, { a: 'x', m: { n: 2 } })).toEqual({ a: 'x', m: { n: 2 } })
    expect(await validator.replace(old, { a: 'y' })).toEqual({ a: 'y', d: 1, p: 2, l: ['x'] })
  })

  it('still misses what must be there, as in an item from before the member was declared', async () => {
    const a = z
      .string()
      .transform(text => text.length)
      .pipe(z.int())
    const validator = buildValidator(z.object({ a, b: z.string() }))
    for (const changed of [validator.patch, validator.replace])
      expect(await issues(changed({ b: 'y' }, { b: 'z' }))).toEqual(['a required'])
  })

  it('computes a default anew each time', async () => {
    const validator = buildValidator(
      z.object({ a: z.string().transform(text => text), n: z.int().default(() => ++made) }),
    )
    const first = await validator.create({ a: 'x' })
    const second = await validator.replace(first, { a: 'x' })
    const third = await validator.replace(first, { a: 'y' })
    expect(new Set([first.n, second.n, third.n]).size).toBe(3)
  })

  describe('what only another version declares, within lists', () => {
    const [red, bleached] = [
      { size: 1, color: 'red' },
      { size: 2, color: null },
    ]
    const Wheel = z.object({ size: z.int() })
    const wheels = [red, bleached]
    const bare = [{ size: 1 }, { size: 2 }]
    const single = (list: Json): Item => ({ wheels: list })
    const double = (list: Json): Item => ({ wheels: [list] })
    const kinds: readonly [string, (list: Json) => Item, (wheel: z.ZodObject) => z.ZodType][] = [
      ['plain', single, wheel => z.array(wheel)],
      ['in a list', double, wheel => z.array(z.array(wheel))],
      ['with a transform', single, wheel => z.array(wheel.extend({ name: shout.optional() }))],
      ['a tuple', single, wheel => z.tuple([wheel]).rest(wheel)],
      ['of texts too', single, wheel => z.array(z.union([wheel, z.string()]))],
    ]
    const changes: readonly [string, Json, Json][] = [
      ['one is changed', [{ ...red, size: 3 }, bleached], [{ ...red, size: 3 }, bleached]],
      ['one comes', [red, bleached, { size: 3 }], [red, bleached, { size: 3 }]],
      ['one goes', [bleached], [bleached]],
      ['they change places', [bleached, red], [bleached, red]],
      ['one is sent without it', [{ size: 1 }, bleached], [{ size: 1 }, bleached]],
    ]
    for (const [kind, at, listOf] of kinds) {
      for (const wheel of [Wheel, Wheel.strict()]) {
        const row = wheel === Wheel ? kind : `${kind}, strict`
        const validator = buildValidator(z.object({ wheels: listOf(wheel) }))
        it.each(changes)(`${row}: is kept where %s`, async (_row, next, kept) => {
          expect(await validator.patch(at(wheels), at(next))).toEqual(at(kept))
        })

        it(`${row}: may be sent back, and goes with a whole item`, async () => {
          expect(await validator.replace(at(wheels), at([bleached]))).toEqual(at(bare.slice(1)))
        })
      }
    }

    it('goes to no other element where the schema puts them in order, or adds some', async () => {
      const sorted = z.array(Wheel).transform(list => [...list, { size: 9 }].reverse())
      const validator = buildValidator(
        z.object({ wheels: sorted.pipe(z.array(Wheel)), n: z.int() }),
      )
      const patched = { wheels: [red, { size: 5 }], n: 1 }
      expect(await validator.patch({ wheels, n: 1 }, patched)).toEqual({
        wheels: [{ size: 9 }, { size: 5 }, { size: 1 }],
        n: 1,
      })
    })

    it('stays beside a default that the patch did not ask for', async () => {
      const wheel = Wheel.extend({ bolts: z.int().default(5) })
      const validator = buildValidator(z.object({ wheels: z.array(wheel) }))
      const patched = { wheels: [red, { ...bleached, size: 3 }, { size: 4 }] }
      expect(await validator.patch({ wheels }, patched)).toEqual({
        wheels: [
          { ...red, bolts: 5 },
          { ...bleached, size: 3, bolts: 5 },
          { size: 4, bolts: 5 },
        ],
      })
    })
  })

  it('takes no member of another option, as it is or not, which the schema would drop', async () => {
    const A = z.object({ a: z.string(), c: z.string().optional() })
    const either = z.union([A, z.object({ b: z.int() })])
    const cases = [
      [either, (value: Item) => value, 'b'],
      [z.object({ u: z.union([either, z.string()]) }), (value: Item) => ({ u: value }), 'u.b'],
      [z.object({ l: z.array(either) }), (value: Item) => ({ l: [value] }), 'l.0.b'],
    ] as const
    for (const [schema, within, field] of cases) {
      const validator = buildValidator(schema)
      for (const stored of [{ a: 'x' }, { b: 1 }])
        for (const changed of [validator.patch, validator.replace])
          expect(await issues(changed(within(stored), within({ a: 'x', b: 1, c: 'y' })))).toEqual([
            `${field} unknown_field`,
          ])
    }
  })

  it('lets go what is left of the option that was meant before', async () => {
    const kind = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), x: z.int() }),
      z.object({ kind: z.literal('b'), y: z.int() }),
    ])
    const validator = buildValidator(kind)
    const changed = { kind: 'b', x: 1, y: 2 }
    expect(await validator.patch({ kind: 'a', x: 1 }, changed)).toEqual({ kind: 'b', y: 2 })
    expect(await issues(validator.create(changed))).toEqual(['x unknown_field'])
  })

  it('takes back what an option made of others', async () => {
    const made = z.object({ a: z.string() }).transform(({ a }) => ({ a, b: a.length }))
    const validator = buildValidator(
      z.object({ u: z.union([made, z.object({ b: z.int() })]), n: z.int() }),
    )
    const stored = await validator.create({ u: { a: 'x' }, n: 1 })
    expect(await validator.replace(stored, { ...stored, n: 2 })).toEqual({ ...stored, n: 2 })
  })

  it('still checks the whole', async () => {
    const ordered = z
      .object({
        a: z.int().transform(n => n),
        b: z.int(),
        m: z.object({ t: z.string().transform(t => t), n: z.int().max(9) }),
      })
      .refine(({ a, b }) => a < b, { path: ['a'], message: 'a must be below b' })
    const validator = buildValidator(ordered)
    const stored = await validator.create({ a: 1, b: 2, m: { t: 'x', n: 1 } })
    expect(await issues(validator.patch(stored, { ...stored, b: 0 }))).toEqual(['a custom'])
    expect(
      await issues(validator.patch(stored, { ...stored, b: 'x', m: { t: 'x', n: 10, z: 1 } })),
    ).toEqual(['m.z unknown_field', 'b invalid_type', 'm.n too_big'])
    expect(await issues(validator.patch(stored, { a: 1, m: { t: 'x', n: 1 } }))).toEqual([
      'b required',
    ])
    expect(await issues(validator.patch(stored, []))).toEqual(['undefined invalid_type'])
  })
})

const Node = z.object({ a: z.string().transform(text => `${text}!`), b: z.string() })

describe('what is wrong with the whole', () => {
  it.each<[string, Schema, Json, string[]]>([
    [
      'a check of the whole',
      z.object({ a: z.int() }).refine(({ a }) => a > 5, 'too little'),
      { a: 1 },
      ['undefined custom'],
    ],
    [
      'a strict schema',
      z.strictObject({ color: z.string() }),
      { color: 'red', colour: 1 },
      ['colour unknown_field', 'colour unknown_field'],
    ],
    [
      'a strict schema within a transform',
      z.object({ m: z.strictObject({ color: z.string() }).transform(m => m) }),
      { m: { color: 'red', colour: 1 } },
      ['m.colour unknown_field', 'm.colour unknown_field'],
    ],
    [
      'an option of a union that its choices, absent or null, do not rule out',
      z.object({
        u: z.union([
          z.object({ a: z.enum(['x']).optional(), b: z.enum(['y']).nullable(), c: z.int() }),
          z.object({ d: z.int() }),
        ]),
      }),
      { u: { b: null, c: 1 } },
      [],
    ],
    [
      'a tuple with a rest of other members',
      z.object({ t: z.tuple([z.object({ a: z.int() })]).rest(z.object({ b: z.int() })) }),
      { t: [{ a: 1 }, { b: 2 }, { b: 3, c: 4 }] },
      ['t.2.c unknown_field'],
    ],
    [
      'a strict schema of something else',
      z.object({ m: z.unknown().pipe(z.strictObject({})) }),
      { m: { colour: 1 } },
      ['m.colour unknown_field'],
    ],
  ])('%s', async (_, schema, value, wanted) => {
    expect(await issues(buildValidator(schema).create(value))).toEqual(wanted)
  })

  it('a tuple that becomes another', async () => {
    const schema = z.object({ t: z.tuple([z.int(), z.string().transform(text => text)]) })
    const validator = buildValidator(schema)
    const stored = await validator.create({ t: [1, 'x'] })
    for (const [t, type] of [
      [[1, 'x', 2], 't too_big'],
      [[1], 't too_small'],
      ['x', 't invalid_type'],
    ] as const) {
      expect(await issues(validator.patch(stored, { t: structuredClone(t) as Json }))).toEqual([
        type,
      ])
    }
  })

  it('a hundred unknown members are enough to tell', async () => {
    const value = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`x${at}`, 1]))
    expect(await issues(buildValidator(z.object({})).create(value))).toHaveLength(100)
  })

  it('a schema that gives no object is a issue of the program', async () => {
    const schema = z.object({ a: z.int() }).overwrite(() => 5 as never) // what the types forbid
    await expect(buildValidator(schema).create({ a: 1 })).rejects.toThrow(TypeError)
  })
})

describe('what a schema gives is what JSON keeps', () => {
  it('has no undefined members', async () => {
    const validator = buildValidator(
      z.object({ a: z.string().optional().catch(undefined), b: z.string() }),
    )
    expect(Object.keys(await validator.create({ a: 1, b: 'x' }))).toEqual(['b'])
  })

  const cases: readonly [name: string, given: unknown, kept: Json][] = [
    ['a date as its text', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['no function', { a: 1, b: () => 1 }, { a: 1 }],
    ['a negative zero as zero', -0, 0],
    ['a gap in an array as null', Object.assign([], { 1: 1 }), [null, 1]],
    [
      'an object of a class as its members',
      new (class {
        readonly a = 1
      })(),
      { a: 1 },
    ],
    [
      'what lies deeper',
      { list: [{ at: new Date(0) }] },
      { list: [{ at: '1970-01-01T00:00:00.000Z' }] },
    ],
    [
      'JSON as it is',
      { list: [{ a: 'x', b: [true, null, 1.5] }] },
      { list: [{ a: 'x', b: [true, null, 1.5] }] },
    ],
  ]
  it.each(cases)('has %s', async (_name, given, kept) => {
    const schema = z.object({ a: z.string(), made: z.any().default(() => given) })
    const item = await buildValidator(schema).create({ a: 'x' })
    expect(item).toStrictEqual({ a: 'x', made: kept })
  })

  /** A schema whose member gives what a program makes of a text. */
  const making = (make: (text: string) => unknown) =>
    z.object({ deep: z.object({ list: z.array(z.string().transform(make)) }) })
  const sent = { deep: { list: ['abc'] } }

  it.each<[string, (text: string) => unknown]>([
    ['no number', Number],
    ['a number without end', text => text.length / 0],
    ['no date', text => new Date(text)],
  ])('refuses what was sent where it gives %s', async (_name, make) => {
    const work = buildValidator(making(make)).create(sent)
    expect(await issues(work)).toEqual(['deep.list.0 invalid_value'])
  })

  it.each<[string, (text: string) => unknown]>([
    ['a Set', text => new Set([text])],
    ['a Map', text => new Map([[text, 1]])],
    ['a RegExp', text => new RegExp(text)],
    ['a bigint', text => BigInt(text.length)],
  ])('says of %s, which JSON would lose, that it is a issue of the schema', async (what, make) => {
    const work = buildValidator(making(make)).create(sent)
    await expect(work).rejects.toThrow(TypeError)
    await expect(work).rejects.toThrow(`deep.list.0 is ${what}, which JSON cannot hold; give`)
  })
})
