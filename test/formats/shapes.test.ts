// No body takes more than its length: the CPU of each shape is compared with that of a body eight times as long. A
// reader that looks at everything again for each part takes 64 times as much.
import { describe, expect, it } from 'vitest'
import { createShapesApi, LONGEST, SHAPES, type Shape, type ShapesApi } from './shapes.ts'

const SHORT = 12_500
const TIMES_LONGER = 8
/** Times are noise below it. */
const MIN_MS = 1

async function measure(api: ShapesApi, shape: Shape, bytes: number): Promise<number> {
  const request = shape(bytes)
  const before = process.cpuUsage()
  await (await api.fetch(request)).arrayBuffer()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** How many times as much CPU the longer body takes, by the least of each. */
async function findGrowth(shape: Shape, longest = SHORT * TIMES_LONGER): Promise<number> {
  const api = await createShapesApi()
  let short = Number.POSITIVE_INFINITY
  let long = Number.POSITIVE_INFINITY
  let growth = 0
  for (let round = 0; round < 6; round++) {
    short = Math.min(short, await measure(api, shape, longest / TIMES_LONGER))
    long = Math.min(long, await measure(api, shape, longest))
    growth = long / Math.max(MIN_MS, short)
    if (growth < 2 * TIMES_LONGER) break
  }
  return growth
}

describe.each(Object.entries(SHAPES))('%s takes as long as it is', (format, shapes) => {
  it.each(Object.entries(shapes))('%s', async (_, shape) => {
    expect(await findGrowth(shape, LONGEST[format])).toBeLessThan(3 * TIMES_LONGER)
  })
})
