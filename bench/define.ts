// What 300 collections cost until their api can be served, zod's own part included.
//   npx tsx bench/define.ts [--build=<folder of dist>] [--collections=300]
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { median, printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: { build: { type: 'string' }, collections: { type: 'string', default: '300' } },
})
const library: typeof import('../src/index.ts') = await import(
  options.build ? `${options.build}/index.js` : '../src/index.ts'
)
const { defineApi, defineCollection, memoryStore } = library

const schema = () =>
  z.object({
    color: z.enum(['red', 'blue']),
    make: z.string().min(1),
    price: z.number().min(0),
    sold: z.boolean().default(false),
    note: z.string().optional(),
    model: z.object({ name: z.string(), brand: z.string() }),
  })

/** CPU of some work, in ms. */
function measure(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const count = Number(options.collections)
const names = Array.from({ length: count }, (_, at) => `items_${at}`)
const schemas: number[] = []
const apis: number[] = []
for (let round = 0; round < 7; round++) {
  schemas.push(measure(() => names.map(schema)))
  const made = names.map(name => ({ name, schema: schema() }))
  apis.push(
    measure(() => {
      const collections = made.map(each => defineCollection({ ...each, store: memoryStore() }))
      return defineApi({ collections })
    }),
  )
}
const rows = [['schemas of zod alone', schemas] as const, ['collections and api', apis] as const]
printTable(
  `${count} collections`,
  ['part', 'first, ms of CPU', 'median of seven, ms'],
  rows.map(([name, times]) => [name, (times[0] ?? 0).toFixed(0), median(times).toFixed(0)]),
)
printSetting('in one process', ['zod'])
