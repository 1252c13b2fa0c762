// A form sent back untouched leaves the item as it is, whatever the item holds.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../src/base/values.ts'
import { formValue, mergeForm } from '../../src/formats/form-values.ts'
import { html as pages } from '../../src/html/index.ts'
import { printForm } from '../../src/html/pages/form.ts'
import { fillForm } from '../../src/html/pages/form-state.ts'
import type { FormAction } from '../../src/html/pages/page-view.ts'
import { buildLimits } from '../../src/http/limits.ts'
import {
  defineApi,
  defineCollection,
  form,
  type Item,
  type Json,
  json,
  memoryStore,
} from '../../src/index.ts'
import { fieldsOf, type Schema } from '../../src/schema/zod-fields.ts'
import { runs } from '../random.ts'
import { formsOf } from './reading.ts'

/** What a server makes of the form for an item, sent as it is but for the controls that are emptied. */
function sentBack(
  schema: Schema,
  item: Item | undefined,
  method: 'POST' | 'PUT' | 'PATCH',
  emptied: (name: string) => boolean = () => false,
): Item {
  const fields = fieldsOf(schema, 'input')
  const action: FormAction = { name: 'edit', kind: 'change', method, href: '/cars/1', fields }
  const controls = fillForm(fields, item)
  const html = printForm({ action, controls, errors: [], button: 'Save', item }).toString()
  const pairs = (formsOf(html)[0]?.pairs ?? [])
    .filter(([name]) => name !== '_method')
    .map(([name, value]) => [name, emptied(name) ? '' : value] as const)
  return formValue(pairs, { fields, limits: buildLimits(), method })
}

const Everything = z.object({
  text: z.string(),
  maybe: z.string().optional(),
  nullable: z.string().nullable(),
  both: z.string().nullable().optional(),
  count: z.int(),
  price: z.number().nullable().optional(),
  sold: z.boolean(),
  electric: z.boolean().nullable().optional(),
  color: z.enum(['red', 'blue', 'a"b<c>']).optional(),
  size: z.literal([1, 2, 3]).nullable(),
  day: z.iso.date().optional(),
  at: z.iso.datetime({ offset: true }).nullable().optional(),
  tags: z.array(z.string()),
  words: z.array(z.string()).nullable().optional(),
  numbers: z.array(z.number()).optional(),
  model: z
    .object({
      name: z.string(),
      year: z.int().optional(),
      made: z.object({ in: z.string().optional() }).optional(),
    })
    .optional(),
  maker: z.object({ name: z.string() }).nullable(),
  owner: z.object({ name: z.string().nullable(), since: z.int().nullable().optional() }).nullable(),
  seller: z.object({ name: z.string().nullable() }).optional(),
  rates: z.record(z.string(), z.number()).optional(),
  parts: z.array(z.object({ name: z.string() })).optional(),
  mixed: z.union([z.string(), z.number()]).optional(),
  letter: z.union([z.literal('a'), z.literal('b')]),
  code: z.string().min(3).or(z.literal('')).optional(),
  when: z.union([z.iso.date(), z.iso.datetime()]).nullable().optional(),
  label: z.union([z.iso.date(), z.string()]).optional(),
  open: z.looseObject({ a: z.string().optional() }).optional(),
  any: z.json().optional(),
})

const word = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '',
      ' x ',
      'a\nb',
      '\n\na',
      'a\r\nb',
      '\r',
      'true',
      '7',
      '007',
      'null',
      '<b>&"\'',
      '[]',
      '{"a":1}',
      'x'.repeat(200),
    ),
  )
  .filter(text => text.isWellFormed() && !text.includes('\0'))
const number = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(0, 1e21, -1e-7),
  )
  .map(value => (Object.is(value, -0) ? 0 : value))
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const year = fc.integer({ min: -9999, max: 9999 })

const items = fc
  .record({
    text: word,
    maybe: optional(word),
    nullable: fc.option(word),
    both: optional(fc.option(word)),
    count: fc.maxSafeInteger(),
    price: optional(fc.option(number)),
    sold: fc.boolean(),
    electric: optional(fc.option(fc.boolean())),
    color: optional(fc.constantFrom('red', 'blue', 'a"b<c>')),
    size: fc.constantFrom(1, 2, 3, null),
    day: optional(fc.constantFrom('2026-01-31', '0001-01-01')),
    at: optional(fc.constantFrom('2026-01-31T12:00:00Z', '2026-01-31T12:00:00.123+01:00', null)),
    tags: fc.array(word, { maxLength: 3 }),
    words: optional(fc.option(fc.array(word, { maxLength: 3 }))),
    numbers: optional(fc.array(number, { maxLength: 3 })),
    model: optional(
      fc.record(
        { name: word, year, made: fc.record({ in: word }, { requiredKeys: [] }) },
        { requiredKeys: ['name'] },
      ),
    ),
    maker: fc.option(fc.record({ name: word })),
    owner: fc.option(
      fc.record({ name: fc.option(word), since: fc.option(year) }, { requiredKeys: ['name'] }),
    ),
    seller: optional(fc.record({ name: fc.option(word) })),
    rates: optional(
      fc.dictionary(
        fc
          .string({ maxLength: 3 })
          .filter(name => !['__proto__', 'constructor', 'prototype'].includes(name)),
        number,
        { maxKeys: 3 },
      ),
    ),
    parts: optional(fc.array(fc.record({ name: word }), { maxLength: 2 })),
    mixed: optional(fc.oneof(word, number)),
    letter: fc.constantFrom('a', 'b'),
    code: optional(fc.oneof(fc.constant(''), word)),
    when: optional(fc.constantFrom('2026-01-31', '2026-01-31T12:00:00Z', null)),
    label: optional(fc.oneof(word, fc.constant('2026-01-31'))),
    open: optional(fc.record({ a: word, more: fc.boolean() }, { requiredKeys: [] })),
    any: optional(fc.oneof(word, number, fc.boolean(), fc.array(word, { maxLength: 2 }))),
  })
  // Absent members are absent, not undefined.
  .map((item): Item => JSON.parse(JSON.stringify(item)))

/** An item without null, empty texts, lists and objects. */
function dropEmpty(value: Json): Json {
  if (!isObject(value)) return value
  const kept = Object.entries(value).map(([name, each]) => [name, dropEmpty(each)] as const)
  return Object.fromEntries(
    kept.filter(([, each]) => !['null', '""', '[]', '{}'].includes(JSON.stringify(each))),
  )
}

test('PUT: a form sent back untouched keeps every value that is not empty', () => {
  fc.assert(
    fc.property(items, item => {
      expect(dropEmpty(sentBack(Everything, item, 'PUT'))).toEqual(dropEmpty(item))
    }),
    { numRuns: runs(300) },
  )
})

test('PATCH: a form sent back untouched changes nothing', () => {
  fc.assert(
    fc.property(items, item => {
      const sent = sentBack(Everything, item, 'PATCH')
      expect(mergeForm(item, sent, fieldsOf(Everything, 'input'))).toEqual(item)
    }),
    { numRuns: runs(300) },
  )
})

describe('a union of texts', () => {
  const schema = z.object({
    letter: z.union([z.literal('a'), z.literal('b')]),
    code: z.string().min(3).or(z.literal('')),
    when: z.union([z.iso.date(), z.iso.datetime()]),
    mixed: z.union([z.string(), z.number()]),
  })
  const fields = fieldsOf(schema, 'input')
  const action: FormAction = {
    name: 'create',
    kind: 'create',
    method: 'POST',
    href: '/cars',
    fields,
  }
  const html = printForm({ action, button: 'x' }).toString()

  it.each([
    [
      'letter',
      /<select id="create-letter" name="letter" required><option value="">–<\/option><option value="a">/,
    ],
    ['code', /<input type="text" value="" id="create-code" name="code" required>/],
    ['when', /<input type="text" value="" id="create-when" name="when" required /],
    ['mixed', /<textarea rows="3" class="code" spellcheck="false" id="create-mixed"/],
  ])('has a fitting control: %s', (_, control) => {
    expect(html).toMatch(control)
  })

  it.each([
    ['a', 'abc', '2026-01-31'],
    ['b', '', '2026-01-31T12:00:00Z'],
  ])('is typed plainly: %s, %s, %s', (letter, code, when) => {
    const typed = new Map(Object.entries({ letter, code, when, mixed: '"x"' }))
    const pairs = (formsOf(html)[0]?.pairs ?? []).map(
      ([name, value]) => [name, typed.get(name.replace(':json', '')) ?? value] as const,
    )
    const value = formValue(pairs, { fields, limits: buildLimits() })
    expect(value).toEqual({ letter, code, when, mixed: 'x' })
    expect(schema.safeParse(value).success).toBe(true)
  })
})

describe('a form with emptied controls', () => {
  const Car = z.object({
    doors: z.int().nullable(),
    note: z.string().optional(),
    price: z.number().nullable().optional(),
    model: z.object({ name: z.string(), year: z.int().nullable() }).optional(),
    maker: z.object({ name: z.string() }).nullable(),
    owner: z.object({ name: z.string(), home: z.object({ town: z.string() }) }).optional(),
  })
  const item = {
    doors: 5,
    note: 'x',
    price: 1,
    model: { name: 'Clio', year: 1990 },
    maker: { name: 'Renault' },
    owner: { name: 'Ann', home: { town: 'Ulm' } },
  }
  const nothing = { doors: null, maker: null }
  it.each<['PUT' | 'PATCH', string[], Item]>([
    ['PATCH', Object.keys(item), nothing],
    ['PUT', Object.keys(item), nothing],
    [
      'PATCH',
      ['doors', 'model.year'],
      { ...item, doors: null, model: { name: 'Clio', year: null } },
    ],
    ['PATCH', ['model'], { ...item, model: undefined } as unknown as Item],
    ['PATCH', ['maker'], { ...item, maker: null }],
    ['PUT', ['maker'], { ...item, maker: null }],
    ['PATCH', ['owner'], { ...item, owner: undefined } as unknown as Item],
  ])('by %s, %j', (method, emptied, left) => {
    const blank = (name: string) =>
      emptied.some(path => name === path || name.startsWith(`${path}.`))
    const sent = sentBack(Car, item, method, blank)
    const saved = method === 'PUT' ? sent : mergeForm(item, sent, fieldsOf(Car, 'input'))
    expect(saved).toEqual(left)
    expect(Car.safeParse(saved).success).toBe(true)
  })
})

describe('an untouched form for a new item', () => {
  it('leaves out optional properties, so that defaults come in', () => {
    const schema = z.object({
      doors: z.int().default(5),
      tags: z.array(z.string()).default(['new']),
      color: z.enum(['red', 'blue']).default('red'),
      note: z.string().optional(),
      model: z.object({ name: z.string() }).optional(),
      maker: z.object({ name: z.string() }).nullable(),
      sold_to: z.string().nullable(),
    })
    expect(sentBack(schema, undefined, 'POST')).toEqual({ maker: null, sold_to: null })
  })
})

describe('a text with a long maximum', () => {
  const long = z.string().max(2000)
  const Note = z.object({
    note: long,
    draft: long.optional(),
    title: z.string().max(255),
    mail: z.email().max(320),
    secret: long.meta({ format: 'password' }),
  })
  const fields = fieldsOf(Note, 'input')

  it.each([
    ['note', /<textarea rows="3" id="create-note" name="note:text" required>/],
    ['draft', /<textarea rows="3" id="create-draft" name="draft:text">/],
    ['title', /<input type="text" value="" id="create-title"/],
    ['mail', /<input type="text" value="" id="create-mail"/],
    ['secret', /<input type="password"[^>]* id="create-secret"/],
  ])('has an area, but nothing else has: %s', (_, control) => {
    const action: FormAction = { name: 'create', kind: 'create', method: 'POST', href: '/', fields }
    expect(printForm({ action }).toString()).toMatch(control)
  })

  it('is read back with its line breaks, and left out where it is blank', async () => {
    const notes = defineCollection({
      name: 'notes',
      schema: Note.pick({ note: true, draft: true }),
      store: memoryStore(),
    })
    const api = defineApi({ collections: { notes }, pages, formats: [json, form] })
    const create = async (note: string, draft: string) => {
      const body = new URLSearchParams({ 'note:text': note, 'draft:text': draft })
      const headers = { accept: 'application/json' }
      const answer = await api.fetch(
        new Request('http://a.example/notes', { method: 'POST', headers, body }),
      )
      return answer.json()
    }
    expect(await create('one\r\ntwo', '')).not.toHaveProperty('draft')
    expect(await create('one\r\ntwo', 'x')).toMatchObject({ note: 'one\ntwo', draft: 'x' })
  })
})
