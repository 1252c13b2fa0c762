// The texts of the example api are bounded: what a client stores, others pay for with every list.
import { expect, it } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { memoryBlobs, memoryStore } from '../../src/index.ts'

const BOUNDS = ['maxLength', 'enum', 'const', 'format', 'pattern']

function listUnbounded(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own =
    'type' in schema && schema.type === 'string' && !BOUNDS.some(name => name in schema)
      ? [path]
      : []
  const below = Object.entries(schema).flatMap(([name, value]) =>
    listUnbounded(value, `${path}.${name}`),
  )
  return [...own, ...below]
}

it('every text has a maximum', () => {
  const made = carsApi(() => memoryStore(), memoryBlobs())
  for (const { name, schema } of [made.cars, made.options, made.models, made.accounts]) {
    expect(listUnbounded(z.toJSONSchema(schema), name)).toEqual([])
  }
})
