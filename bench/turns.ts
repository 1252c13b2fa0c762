// How long a list in memory that no index serves holds the event loop: others wait so long. The longest pause between
// two passes, the time of the answer, and its CPU; the least of five.
//   npx tsx bench/turns.ts [--sizes=10000,100000,1000000] [--build=<folder>]
import { setImmediate as nextPass } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createOne } from '../src/testing/write-items.ts'
import { prepare, published } from './processes.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000,1000000' },
    build: { type: 'string' },
  },
})
const ROUNDS = 5

prepare(options.build)
const { defineApi, defineCollection, memoryStore } = await published()
const rows: string[][] = []
for (const size of options.sizes.split(',').map(Number)) {
  const store = memoryStore()
  const schema = z.object({ text: z.string(), price: z.number() })
  const items = defineCollection({ name: 'items', schema, store, id: 'integer' })
  const api = defineApi({ collections: [items] })
  for (let at = 0; at < size; at++)
    await createOne(store, { text: `one ${(at * 7919) % size}`, price: at })
  for (const path of [
    '/items?sort=text',
    `/items?sort=text&offset=${size / 2}`,
    '/items?price[gt]=5&sort=-text',
    '/items/count?price[gt]=5',
  ]) {
    const measured: Measured[] = []
    for (let round = 0; round < ROUNDS; round++) {
      measured.push(
        await measure(async () => {
          const answer = await api.fetch(new Request(`http://a.example${path}`))
          if (!answer.ok) throw new Error(await answer.text())
          await answer.text()
        }),
      )
    }
    const least = (read: (each: Measured) => number) => Math.min(...measured.map(read)).toFixed(1)
    rows.push([
      size.toLocaleString('en'),
      path.replace(/^\/items/, ''),
      least(({ pause }) => pause),
      least(({ time }) => time),
      least(({ cpu }) => cpu),
    ])
  }
  process.stderr.write('.')
}
process.stderr.write('\n')
printTable(
  'Lists in memory without an index: least of five',
  ['items', 'asked for', 'longest pause, ms', 'answered in, ms', 'CPU, ms'],
  rows,
)
printSetting(`${ROUNDS} requests each, in one process`, ['zod'])

interface Measured {
  readonly pause: number
  readonly time: number
  readonly cpu: number
}

async function measure(work: () => Promise<void>): Promise<Measured> {
  let pause = 0
  let done = false
  const watching = (async () => {
    for (let last = performance.now(); !done; ) {
      await nextPass()
      const now = performance.now()
      pause = Math.max(pause, now - last)
      last = now
    }
  })()
  const before = process.cpuUsage()
  const began = performance.now()
  await work()
  const time = performance.now() - began
  const { user, system } = process.cpuUsage(before)
  done = true
  await watching
  return { pause, time, cpu: (user + system) / 1000 }
}
