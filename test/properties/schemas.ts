// Generated schemas, each with values that it takes: every kind that is accepted.
import fc from 'fast-check'
import { z } from 'zod'
import type { Json } from '../../src/index.ts'
import { hasAsyncCheck } from '../../src/schema/parse.ts'

/** A schema and what may be sent for it; `undefined` stands for a member that is left out. */
export interface Sample {
  readonly schema: z.ZodType
  readonly values: fc.Arbitrary<Json | undefined>
}

const text = fc
  .string({ unit: 'grapheme', maxLength: 8 })
  .filter(value => value.isWellFormed() && !value.includes('\0'))
const word = fc.stringMatching(/^[a-z]{1,6}$/)
const whole = fc.integer({ min: -1000, max: 1000 })

/** Names that no body may hold. */
const REFUSED = /__proto__|prototype|constructor/g

const LEAVES: readonly Sample[] = [
  { schema: z.string(), values: text },
  { schema: z.string().min(1).max(6), values: word },
  { schema: z.string().trim().toLowerCase(), values: text },
  { schema: z.int(), values: whole },
  { schema: z.number(), values: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { schema: z.boolean(), values: fc.boolean() },
  { schema: z.enum(['red', 'blue']), values: fc.constantFrom('red', 'blue') },
  { schema: z.iso.date(), values: fc.constantFrom('2024-02-29', '0001-01-01') },
  {
    schema: z.json(),
    values: fc
      .jsonValue({ maxDepth: 2 })
      .map(value => JSON.parse(JSON.stringify(value).replace(REFUSED, 'p')) as Json),
  },
  {
    schema: z.string().overwrite(value => (value.endsWith('.') ? value : `${value}.`)),
    values: text,
  },
  { schema: z.coerce.number<string>(), values: whole.map(String) },
  {
    schema: z.string().refine(value => value !== 'x'),
    values: word.filter(value => value !== 'x'),
  },
  {
    schema: z.string().refine(async value => value !== 'x'),
    values: word.filter(value => value !== 'x'),
  },
  { schema: z.email().default('c@d.example'), values: fc.constantFrom('a@b.example', undefined) },
  { schema: z.array(z.int()).default([7]), values: fc.constantFrom([], [1, 2], undefined) },
  {
    schema: z.strictObject({ on: z.boolean().default(true) }).default({ on: false }),
    values: fc.constantFrom({}, { on: true }, undefined),
  },
  { schema: z.union([z.int(), z.string().trim()]), values: fc.oneof(whole, text) },
  {
    schema: z.union([z.strictObject({ size: z.int().default(3) }), z.looseObject({ n: z.int() })]),
    values: fc.constantFrom({}, { size: 5 }, { n: 1, m: 'x' }),
  },
]

const leaf = fc.constantFrom(...LEAVES)

function wrapped(sample: Sample): fc.Arbitrary<Sample> {
  const { schema, values } = sample
  const absent = fc.oneof(values, fc.constant(undefined))
  const filled = values.filter(value => value !== undefined)
  const plain: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
    sample,
    sample,
    { schema: schema.optional(), values: absent },
    { schema: schema.nullable(), values: fc.oneof(values, fc.constant(null)) },
    { schema: schema.nullish(), values: fc.oneof(absent, fc.constant(null)) },
    { schema: schema.readonly(), values },
    { schema: schema.nullable().default(null), values: fc.oneof(absent, fc.constant(null)) },
    { schema: z.lazy(() => schema), values },
  )
  const prefault = filled.map(value => ({
    schema: schema.prefault(value as never),
    values: absent,
  }))
  return fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: prefault })
}

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e f', 'g-h'), {
  minLength: 1,
  maxLength: 4,
})

function container(inner: fc.Arbitrary<Sample>): fc.Arbitrary<Sample> {
  return fc.oneof(
    objectOf(inner),
    objectOf(inner).map(({ schema, values }) => ({
      schema: (schema as z.ZodObject).strict(),
      values,
    })),
    inner.map(({ schema, values }) => ({
      schema: z.object({ own: z.string() }).catchall(schema),
      values: fc.record({
        own: word,
        x: present(values),
        y: present(values),
      }) as fc.Arbitrary<Json>,
    })),
    inner.map(({ schema, values }) => ({
      schema: z.array(schema),
      values: fc.array(present(values), { maxLength: 3 }) as fc.Arbitrary<Json>,
    })),
    inner.map(({ schema, values }) => ({
      schema: z.tuple([schema, z.string()]),
      values: fc.tuple(present(values), text) as fc.Arbitrary<Json>,
    })),
    fc.tuple(objectOf(inner), inner.filter(isSync)).map(([first, { schema, values }]) => ({
      schema: z.tuple([first.schema]).rest(schema),
      values: fc
        .tuple(first.values, fc.array(present(values), { maxLength: 2 }))
        .map(([item, rest]) => [item, ...rest]) as fc.Arbitrary<Json>,
    })),
    inner.map(({ schema, values }) => ({
      schema: z.record(z.string(), schema),
      values: fc.dictionary(word, present(values), { maxKeys: 3 }) as fc.Arbitrary<Json>,
    })),
    fc.tuple(objectOf(inner), objectOf(inner)).map(([one, other]) => ({
      schema: z.discriminatedUnion('kind', [
        (one.schema as z.ZodObject).extend({ kind: z.literal('one') }),
        (other.schema as z.ZodObject).extend({ kind: z.literal('other') }),
      ]),
      values: fc.oneof(
        one.values.map(value => ({ ...(value as object), kind: 'one' })),
        other.values.map(value => ({ ...(value as object), kind: 'other' })),
      ) as fc.Arbitrary<Json>,
    })),
    objectOf(leaf).map(({ schema, values }) => ({
      schema: z.union([(schema as z.ZodObject).strict(), z.string()]),
      values: fc.oneof(values, text),
    })),
  )
}

/** Whether all checks answer at once, as in the rest of a tuple. */
function isSync({ schema }: Sample): boolean {
  return !hasAsyncCheck(schema)
}

/** A list, a record and the like hold values, not absences. */
function present(values: fc.Arbitrary<Json | undefined>): fc.Arbitrary<Json> {
  return values.filter(value => value !== undefined) as fc.Arbitrary<Json>
}

function objectOf(inner: fc.Arbitrary<Sample>): fc.Arbitrary<Sample> {
  return names.chain(keys =>
    fc.array(inner, { minLength: keys.length, maxLength: keys.length }).map(samples => ({
      schema: z.object(
        Object.fromEntries(keys.map((key, at) => [key, samples[at]?.schema ?? z.never()])),
      ),
      values: fc
        .tuple(...samples.map(({ values }) => values))
        .map(list =>
          Object.fromEntries(
            keys.flatMap((key, at) => (list[at] === undefined ? [] : [[key, list[at]]])),
          ),
        ) as fc.Arbitrary<Json>,
    })),
  )
}

function nested(depth: number): fc.Arbitrary<Sample> {
  if (depth === 0) return leaf.chain(wrapped)
  return fc.oneof(leaf.chain(wrapped), container(nested(depth - 1)).chain(wrapped))
}

/** Object schemas, three levels deep at most. */
export const samples: fc.Arbitrary<Sample> = objectOf(nested(2))

/** A schema in short, for who reads of a counterexample. */
export function tell(schema: z.core.$ZodType): string {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const parts: string[] = []
  if (def.type === 'object') {
    parts.push(...Object.entries(def.shape).map(([name, part]) => `${name}: ${tell(part)}`))
    if (def.catchall) parts.push(`...${tell(def.catchall)}`)
  }
  if (def.type === 'array') parts.push(tell(def.element))
  if (def.type === 'tuple') {
    parts.push(...def.items.map(tell))
    if (def.rest) parts.push(`...${tell(def.rest)}`)
  }
  if (def.type === 'record') parts.push(tell(def.valueType))
  if (def.type === 'union') parts.push(...def.options.map(tell))
  // A recursive one is told by its name alone.
  const inside = def.type === 'lazy' ? def.getter() : undefined
  if (inside && inside._zod.def.type !== 'union') parts.push(tell(inside))
  if (def.type === 'literal') parts.push(String(def.values))
  if ('innerType' in def) parts.push(tell(def.innerType))
  if (def.type === 'default' || def.type === 'prefault')
    parts.push(JSON.stringify(def.defaultValue))
  return `${def.type}(${parts.join(', ')})`
}
