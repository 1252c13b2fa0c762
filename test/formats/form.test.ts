// Forms: names to nested objects, texts to values by the schema, never by how a text looks.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildLimits } from '../../src/http/limits.ts'
import { form, HttpError, type Json, type ReadContext } from '../../src/index.ts'
import { fieldsOf } from '../../src/rules/index.ts'

const schema = z.object({
  name: z.string(),
  code: z.string().nullable(),
  color: z.enum(['red', 'blue']).optional(),
  seats: z.int().nullable(),
  price: z.number().optional(),
  sold: z.boolean(),
  day: z.iso.date().nullable(),
  at: z.iso.datetime({ offset: true }),
  model: z.object({ name: z.string(), year: z.int(), maker: z.object({ city: z.string() }) }),
  tags: z.array(z.string()),
  sizes: z.array(z.int()),
  options: z.array(z.object({ name: z.string(), price: z.number() })),
  rates: z.record(z.string(), z.number()),
  either: z.union([z.int(), z.string()]),
  sized: z.tuple([z.int()]).rest(z.string()),
  extra: z.json(),
  gaps: z.array(z.int().optional()),
})

const context: ReadContext = {
  fields: fieldsOf(schema, 'input'),
  limits: buildLimits({ parameters: 20, depth: 5 }),
  parameters: new Map(),
  length: undefined,
  signal: new AbortController().signal,
}

async function read(text: string | Uint8Array, more: Partial<ReadContext> = {}): Promise<Json> {
  async function* body() {
    yield typeof text === 'string' ? Buffer.from(text) : text
  }
  if (!form.read) throw new TypeError('Forms are read')
  return form.read(body(), { ...context, ...more })
}

async function issues(text: string | Uint8Array) {
  try {
    await read(text)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return { status: error.status, list: error.errors.map(({ field, type }) => `${field} ${type}`) }
  }
  return { status: 200, list: [] }
}

describe('form values', () => {
  const cases: readonly [text: string, value: Json][] = [
    ['', {}],
    ['&&', {}],
    ['name=Clio', { name: 'Clio' }],
    ['name=Clio+II', { name: 'Clio II' }],
    ['name=a%2Bb%26c%3D%25', { name: 'a+b&c=%' }],
    ['name=%C3%A9', { name: 'é' }],
    ['name=é', { name: 'é' }],
    ['name', { name: '' }],
    ['name=', { name: '' }],
    ['name=007', { name: '007' }],
    ['name=true', { name: 'true' }],
    ['name=null', { name: 'null' }],
    ['code=', { code: null }],
    ['code:text=a%0D%0Ab', { code: 'a\nb' }],
    ['tags:lines=a%0D%0A%0D%0Ab', { tags: ['a', 'b'] }],
    ['tags:lines=', { tags: [] }],
    ['rates:json={"daily":1.5}', { rates: { daily: 1.5 } }],
    ['extra:json=7', { extra: 7 }],
    ['unknown:json=7', { 'unknown:json': '7' }],
    ['seats=007', { seats: 7 }],
    ['seats=', { seats: null }],
    ['price=1e3', { price: 1000 }],
    ['price=', {}],
    ['sold=true', { sold: true }],
    ['sold=on', { sold: true }],
    ['sold=0', { sold: false }],
    ['color=red', { color: 'red' }],
    ['color=green', { color: 'green' }],
    ['day=2024-02-29', { day: '2024-02-29' }],
    ['day=', { day: null }],
    ['at=2024-02-29T10:00:00%2B01:00', { at: '2024-02-29T10:00:00+01:00' }],
    ['model.name=Clio&model.year=1990', { model: { name: 'Clio', year: 1990 } }],
    ['model[name]=Clio&model[year]=1990', { model: { name: 'Clio', year: 1990 } }],
    ['model%5Bname%5D=Clio', { model: { name: 'Clio' } }],
    ['model[maker][city]=Paris', { model: { maker: { city: 'Paris' } } }],
    ['model.maker.city=Paris&model.name=x', { model: { maker: { city: 'Paris' }, name: 'x' } }],
    ['model[maker].city=Paris', { model: { maker: { city: 'Paris' } } }],
    ['tags=a', { tags: ['a'] }],
    ['tags=a&tags=b&tags=a', { tags: ['a', 'b', 'a'] }],
    ['tags[]=a&tags[]=b', { tags: ['a', 'b'] }],
    ['tags[0]=a&tags[1]=b', { tags: ['a', 'b'] }],
    ['tags[1]=b&tags[0]=a&tags[10]=c', { tags: ['a', 'b', 'c'] }],
    ['tags=a,b', { tags: ['a,b'] }],
    ['sizes=1&sizes=2', { sizes: [1, 2] }],
    ['options[0][name]=ABS&options[0][price]=1', { options: [{ name: 'ABS', price: 1 }] }],
    ['options.1.name=b&options.0.name=a', { options: [{ name: 'a' }, { name: 'b' }] }],
    ['rates[daily]=1.5&rates.weekly=9', { rates: { daily: 1.5, weekly: 9 } }],
    ['gaps=1&gaps=&gaps=3', { gaps: [1, 3] }],
    ['gaps[0]=1&gaps[1]=&gaps[2]=3', { gaps: [1, 3] }],
    ['either=7', { either: 7 }],
    ['either=x', { either: 'x' }],
    ['sized=7&sized=x&sized=y', { sized: [7, 'x', 'y'] }],
    ['extra=7', { extra: '7' }],
    ['unknown=1', { unknown: '1' }],
    ['unknown[a]=1', { unknown: { a: '1' } }],
  ]
  for (const [text, value] of cases) {
    it(text || 'nothing', async () => expect(await read(text)).toEqual(value))
  }

  const refused: readonly [text: string | Uint8Array, list: readonly string[], status?: number][] =
    [
      ['seats=seven', ['seats invalid_type']],
      ['seats=1.5', ['seats invalid_type']],
      ['seats=9007199254740993', ['seats inexact_number']],
      ['price=1e400', ['price invalid_type']],
      ['price=NaN', ['price invalid_type']],
      ['price=0x10', ['price invalid_type']],
      ['sold=maybe', ['sold invalid_type']],
      ['sold=', ['sold required']],
      ['day=2024-02-30', ['day invalid_type']],
      ['at=yesterday', ['at invalid_type']],
      ['sizes=1&sizes=x', ['sizes invalid_type']],
      ['rates.daily=much', ['rates.daily invalid_type']],
      [
        'seats=x&price=y&model.year=z',
        ['seats invalid_type', 'price invalid_type', 'model.year invalid_type'],
      ],
      ['name=a&name=b', ['name repeated_key']],
      ['tags=a&tags:lines=b', ['tags repeated_key']],
      ['rates:json={', ['rates invalid_json']],
      ['extra=x&extra.name=y', ['extra.name conflicting_keys']],
      ['extra.name=y&extra=x', ['extra conflicting_keys']],
      ['a.b.c.d.e.f=1', ['a.b.c.d.e.f too_deep']],
      ['name=%ff', ['undefined invalid_encoding']],
      ['name=%zz', ['undefined invalid_encoding']],
      [Buffer.from([0x61, 0x3d, 0xff]), ['undefined invalid_encoding']],
      ['name=%00', ['name invalid_value']],
      ['__proto__=1', ['__proto__ invalid_value']],
      ['__proto__[polluted]=1', ['__proto__[polluted] invalid_value']],
      ['model[__proto__][polluted]=1', ['model[__proto__][polluted] invalid_value']],
      ['constructor.prototype.polluted=1', ['constructor.prototype.polluted invalid_value']],
      ['x=1&'.repeat(21), ['undefined too_many_keys'], 413],
    ]
  for (const [text, list, status = 400] of refused) {
    it(`refuses ${String(text).slice(0, 60)}`, async () => {
      expect(await issues(text)).toEqual({ status, list })
      expect('polluted' in {}).toBe(false)
    })
  }

  const received: readonly [parsed: unknown, value: Json][] = [
    [
      { name: 'x', seats: '7' },
      { name: 'x', seats: 7 },
    ],
    [{ model: { name: 'x', year: '1990' } }, { model: { name: 'x', year: 1990 } }],
    [{ 'model[name]': 'x' }, { model: { name: 'x' } }],
    [{ 'model.name': 'x' }, { model: { name: 'x' } }],
    [{ tags: ['a', 'b'] }, { tags: ['a', 'b'] }],
    [{ options: [{ name: 'a' }, { name: 'b' }] }, { options: [{ name: 'a' }, { name: 'b' }] }],
    [Object.assign(Object.create(null), { name: 'x' }), { name: 'x' }],
  ]
  for (const [parsed, value] of received) {
    it(`takes what a host has parsed: ${JSON.stringify(parsed)}`, () => {
      expect(form.receive?.(parsed, context)).toEqual(value)
    })
  }
})
