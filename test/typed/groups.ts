import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    color: z.string().optional(),
    price: z.number(),
    sold: z.boolean(),
    built: z.iso.date().nullable(),
    model: z.object({ name: z.string(), year: z.int() }).optional(),
  }),
  store: memoryStore(),
  groups: ['color', 'created_at', 'model.name'],
})
const api = defineApi({ collections: { cars } })
const calls = api.collection(cars)
export const n: Promise<number> = calls.count({ color: 'red' })
const groups = await calls.count({
  by: ['color', 'created_at:month'],
  sum: 'price',
  max: ['built', 'model.year'],
  price: { gt: 1 },
  sort: '-count',
  limit: 3,
})
for (const { color, created_at, count, sum, max } of groups) {
  const a: string | null = color
  const b: string = created_at
  const c: number = count + sum.price
  const d: string | null = max.built
  const e: number | null = max.model.year
  console.log(a, b, c, d, e)
  // @ts-expect-error
  const f: string = color
  console.log(f)
}
const whole = await calls.count({ by: [], avg: 'model.year' })
export const g: number | null | undefined = whole[0]?.avg.model.year
const one = await calls.count({ by: 'model.name' })
export const h: string | null | undefined = one[0]?.model.name
// @ts-expect-error
calls.count({ by: 'price' })
// @ts-expect-error
calls.count({ by: 'color', sum: 'color' })
// @ts-expect-error
calls.count({ by: 'color', sum: 'prize' })
// @ts-expect-error
calls.count({ by: 'color', max: 'sold' })
// @ts-expect-error
whole[0]?.sum
