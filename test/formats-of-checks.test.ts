// A format that a check adds is the format of the schema: `z.number().int()` is `z.int()`, in tables, filters, documents.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { createTableSql } from '../src/sql/index.ts'

const PAIRS: readonly [
  title: string,
  one: z.core.$ZodType,
  other: z.core.$ZodType,
  wrong: string,
][] = [
  ['z.number().int()', z.number().int(), z.int(), '1.5'],
  ['z.number().min(1).int().max(9)', z.number().min(1).int().max(9), z.int().min(1).max(9), '1.5'],
  ['z.number().int().nullable()', z.number().int().nullable(), z.int().nullable(), '1.5'],
  ['z.number().check(z.int()) of zod/mini', mini.number().check(mini.int()), mini.int(), '1.5'],
  ['z.string().datetime()', z.string().datetime(), z.iso.datetime(), 'today'],
  [
    'z.string().datetime().optional()',
    z.string().datetime().optional(),
    z.iso.datetime().optional(),
    'today',
  ],
  ['z.string().date()', z.string().date(), z.iso.date(), 'today'],
  ['z.iso.date().regex(…)', z.iso.date().regex(/^20/), z.iso.date(), 'today'],
]

const define = (v: z.core.$ZodType) =>
  defineCollection({ name: 'cars', schema: z.object({ v }), store: memoryStore() })

describe.each(PAIRS)('%s', (title, one, other, wrong) => {
  it('has the columns of the schema with the format', () => {
    for (const database of ['postgres', 'sqlite'] as const)
      expect(createTableSql(define(one).shape, { database })).toEqual(
        createTableSql(define(other).shape, { database }),
      )
  })

  it('has its filters', async () => {
    const [first, second] = await Promise.all(
      [one, other].map(async schema => {
        const api = defineApi({ collections: [define(schema)] })
        const response = await api.fetch(new Request(`http://x/cars?v[gte]=${wrong}`))
        return { status: response.status, text: await response.text() }
      }),
    )
    expect(first).toEqual(second)
    expect(first?.status).toBe(400)
  })

  it('has its document', async () => {
    const [first, second] = await Promise.all([one, other].map(printDocument))
    // With another pattern zod prints no format.
    if (title.includes('regex')) expect(first?.type).toBe(second?.type)
    else expect(first).toEqual(second)
  })
})

test('a schema that is read-only in JavaScript alone is not so in the document', async () => {
  const document = await printDocument(z.array(z.string()).readonly())
  expect(document).toEqual({ type: 'array', items: { type: 'string' } })
})

interface Document {
  readonly components: {
    readonly schemas: {
      readonly Car: { readonly properties: { readonly v: { readonly type: string } } }
    }
  }
}

async function printDocument(schema: z.core.$ZodType) {
  const api = defineApi({ collections: [define(schema)] })
  const response = await api.fetch(new Request('http://x/openapi.json'))
  const document: Document = JSON.parse(await response.text())
  return document.components.schemas.Car.properties.v
}
